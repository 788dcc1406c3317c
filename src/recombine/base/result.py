"""What every result can do: say its verdict and grade, be drawn, saved, loaded, compared, and seen in a notebook.

All of it rests on one thing that each result does by itself: turning itself into a `Record` and back. `load` opens one
of any kind.
"""

from abc import ABC, abstractmethod
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast, final

import pyarrow as pa

from recombine.base import plugins, records
from recombine.base.errors import RecordError
from recombine.base.files import place_of, write_text
from recombine.base.grades import Grade
from recombine.base.overwrite_checks import check_page
from recombine.base.records import Provenance, Record, kind_of

if TYPE_CHECKING:
    from recombine.output.first_screen import FirstScreen


class Result(ABC):
    """What a verb hands back: a verdict in words, a grade, and a table behind it.

    >>> import recombine
    >>> found = recombine.audit({"colour": ["red", "red", "blue"], "shape": ["disc", "bar", "disc"]},
    ...                         factors=["colour", "shape"])
    >>> isinstance(found, Result), found.grade
    (True, 'untested')
    """

    kind: ClassVar[str]
    """The word under which it is saved: audit, plan, prediction, …"""
    if TYPE_CHECKING:  # a field or a property, as each result has it

        @property
        def verdict(self) -> str:
            """The answer in a sentence that a person would say."""

        @property
        def grade(self) -> Grade:
            """How far to trust it."""

        @property
        def table(self) -> pa.Table:
            """A row for each thing that the verdict speaks of, most often a combination."""

        @property
        def provenance(self) -> Provenance:
            """Where it came from."""

    @abstractmethod
    def record(self) -> Record:
        """The result as plain data, which can be saved, drawn and loaded."""

    @classmethod
    @abstractmethod
    def from_record(cls, record: Record) -> Self:
        """Back from plain data."""

    def checked_record(self) -> Record:
        """What two equal results share, and what a loaded one must repeat to be believed.

        Less than `record` where some of that is computed anew when it is asked for.
        """
        return self.record()

    def shown_record(self) -> Record:
        """What a notebook draws; less than `record` where the rest would take long to compute."""
        return self.record()

    @final
    def page(self, path: str | Path, *, force: bool = False) -> Path:
        """Write it as one self-contained HTML page. `force` replaces a file that is not one of our pages."""
        from recombine.output.pages import draw  # noqa: PLC0415 - a template engine, which a result without a page can spare

        place = place_of(path)
        check_page(place, force=force, inputs=records.sources(self.provenance))
        write_text(place, draw(self.record()))
        return place

    @final
    def save(self, folder: str | Path, *, force: bool = False) -> Path:
        """Write it as a folder: JSON for people, Parquet for machines.

        `force` replaces a saved result of the same kind; nothing else is ever replaced.
        """
        return records.save(self.record(), folder, force=force)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read one back: the same result. `recombine.load` opens a folder of any kind."""
        return records.loaded(folder, cls.kind, cls.from_record, again=lambda found: found.checked_record())

    @property
    def first_screen(self) -> "FirstScreen":
        """What everybody is shown first: one sentence, the one reason for the grade, and what to do next."""
        from recombine.output.first_screen import first_screen  # noqa: PLC0415 - as for a page

        return first_screen(self.kind, self.checked_record().data)

    @final
    def __eq__(self, other: object) -> bool:
        """Same numbers, tables and provenance."""
        if not isinstance(other, Result) or type(other) is not type(self):
            return NotImplemented
        mine, theirs = self.checked_record(), other.checked_record()
        return mine.to_json() == theirs.to_json() and mine.tables == theirs.tables

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.verdict!r})"

    @final
    def _repr_html_(self) -> str:
        """What a notebook shows: the sentence, the grade, and a picture."""
        from recombine.output.pages import view  # noqa: PLC0415 - as for a page

        return view(self.shown_record(), verdict=self.verdict, grade=self.grade, first=self.first_screen)


_CLASSES = {
    "audit": "recombine.verbs.audit.audit:Audit",
    "diff": "recombine.verbs.diff.diff:Diff",
    "evaluation": "recombine.verbs.evaluate.evaluation:Evaluation",
    "lint": "recombine.verbs.split.lint.lint_result:Lint",
    "plan": "recombine.verbs.plan.plan:Plan",
    "prediction": "recombine.verbs.predict.prediction:Prediction",
    "rehearsal": "recombine.verbs.rehearse.rehearsal:Rehearsal",
    "split": "recombine.verbs.split.split_result:Split",
    "stored_audit": "recombine.verbs.audit.stored_audit:StoredAudit",
    "vector_evaluation": "recombine.verbs.evaluate.vector_evaluation:VectorEvaluation",
}
"""Which class reads which kind; each is imported only when a folder of its kind is opened."""


def load(folder: str | Path) -> Result:
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
