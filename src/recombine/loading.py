"""Open a saved result of any kind."""

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, cast

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
    "probe": "recombine.probes.probe:Probe",
    "rehearsal": "recombine.rehearsing.rehearsal:Rehearsal",
    "run": "recombine.lab.runs.run:Run",
    "split": "recombine.splits.writing.split:Split",
    "study": "recombine.studies.result:StudyResult",
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
    module, _, name = _CLASSES[kind_of(folder)].partition(":")
    return cast("Result", getattr(import_module(module), name).load(folder))
