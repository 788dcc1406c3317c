"""Open a saved result of any kind."""

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from recombine import plugins
from recombine.errors import RecordError
from recombine.records import kind_of

if TYPE_CHECKING:
    from recombine.results import Result

_CLASSES = {
    "audit": "recombine.auditing.audit:Audit",
    "diff": "recombine.comparing.diff:Diff",
    "evaluation": "recombine.evaluation.evaluation:Evaluation",
    "lint": "recombine.splits.linting.linted:Lint",
    "plan": "recombine.planning.plan:Plan",
    "prediction": "recombine.theory.prediction:Prediction",
    "rehearsal": "recombine.rehearsing.rehearsal:Rehearsal",
    "split": "recombine.splits.writing.split:Split",
}
"""Which class reads which kind; each is imported only when a folder of its kind is opened."""


def load(folder: str | Path) -> "Result":
    """Open a folder that `.save(folder)` or `--out folder` wrote, whatever kind of result it holds.

    >>> import tempfile, recombine
    >>> found = recombine.audit({"a": ["x", "x", "y"], "b": ["p", "q", "p"]}, factors=["a", "b"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     load(found.save(f"{folder}/audit")) == found
    True
    """
    return cast("Result", _class_of(kind_of(folder), folder).load(folder))


def _class_of(kind: str, folder: str | Path) -> Any:
    if kind in _CLASSES:
        module, _, name = _CLASSES[kind].partition(":")
        return getattr(import_module(module), name)
    made = plugins.load("recombine.results", kind)
    if made is None:
        raise RecordError(
            f"'{folder}' is a saved {kind}",
            why="the package that saved it is not installed here",
            instead=plugins.install_hint(kind) or f"install the package whose results are of the kind {kind!r}",
        )
    return made
