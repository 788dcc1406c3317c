"""What changed from one saved result to the next: the value, and the verb that makes it."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from recombine import records
from recombine.comparing import wording
from recombine.comparing.findings import Counted, Findings, ScoreChange, Told, ValueChange, column_names
from recombine.comparing.grading import grade
from recombine.comparing.settings import Setting, check_comparable, side_by_side, told
from recombine.decoding import revive_all
from recombine.errors import RecordError, SettingError
from recombine.grades import Grade
from recombine.records import Provenance, Record, kind_of
from recombine.results import Result
from recombine.statistics.resampling import IntervalSettings
from recombine.words import listing

_INTERVALS = IntervalSettings()
_WAYS = {
    "audit": ("recombine.auditing.audit:Audit", "recombine.comparing.audits:compare"),
    "evaluation": ("recombine.evaluation.evaluation:Evaluation", "recombine.comparing.evaluations:compare"),
    "lint": ("recombine.splits.linting.linted:Lint", "recombine.comparing.lints:compare"),
    "plan": ("recombine.planning.plan:Plan", "recombine.comparing.listings:compare_plans"),
    "prediction": ("recombine.theory.prediction:Prediction", "recombine.comparing.predictions:compare"),
    "rehearsal": ("recombine.rehearsing.rehearsal:Rehearsal", "recombine.comparing.listings:compare_rehearsals"),
    "split": ("recombine.splits.writing.split:Split", "recombine.comparing.listings:compare_splits"),
}
"""Which kinds can be compared, and by whom; imported when they are."""


@dataclass(frozen=True)
class Compared:
    """One of the two results: what it was called, when it was made, and what it said."""

    name: str
    created: str
    verdict: str
    grade: Grade


@dataclass(frozen=True, eq=False, repr=False)
class Diff(Result):
    """What changed from one result to another of the same verb.

    `of` is their kind. `table` has a row for each change of a combination: what changed, from what to what, whether
    that is for the worse, and how likely it is by chance (`p`; `q` allows for how many were looked at).

    >>> import recombine
    >>> old = recombine.audit({"a": ["x", "x", "y", "y"], "b": ["p", "q", "p", "q"]}, factors=["a", "b"])
    >>> new = recombine.audit({"a": ["x", "x", "y"], "b": ["p", "q", "p"]}, factors=["a", "b"])
    >>> found = recombine.diff(old, new)
    >>> found.table.select(["a", "b", "what", "old", "new"]).to_pylist()
    [{'a': 'y', 'b': 'q', 'what': 'lost', 'old': 'seen', 'new': 'determined'}]
    >>> recombine.diff(old, old).verdict
    'Nothing changed: both audits say the same of every combination that they speak of.'
    """

    kind: ClassVar[str] = "diff"
    verdict: str
    grade: Grade
    reasons: tuple[str, ...]
    of: str
    old: Compared
    new: Compared
    factors: tuple[str, ...]
    counted: tuple[Counted, ...]
    told: tuple[Told, ...]
    values: tuple[ValueChange, ...]
    scores: tuple[ScoreChange, ...]
    unscored: str | None
    settings: tuple[Setting, ...]
    unchanged: bool
    table: pa.Table
    provenance: Provenance

    @cached_property
    def counts(self) -> Mapping[str, int]:
        """How many combinations changed in which respect."""
        words = self.table[column_names(self.factors)["what"]].to_pylist()
        return {word: words.count(word) for word in dict.fromkeys(words)}

    def record(self) -> Record:
        """The comparison as plain data, which can be saved, drawn and loaded."""
        data = {name: records.plain(getattr(self, name)) for name in _PLAIN} | {"counts": dict(self.counts)}
        return Record("diff", data, {"changes": self.table}, self.provenance)

    @classmethod
    def from_record(cls, record: Record) -> "Diff":
        """Back from plain data."""
        kept = revive_all(cls, _PLAIN, record.data)
        return cls(**kept, table=record.tables["changes"], provenance=record.provenance)


_PLAIN = tuple(field.name for field in fields(Diff) if field.name not in ("table", "provenance"))


def diff(
    old: Result | str | Path,
    new: Result | str | Path,
    *,
    intervals: IntervalSettings = _INTERVALS,
    command: str | None = None,
) -> Diff:
    """Say what changed from one result to another of the same verb, and whether it is more than chance.

    Each is a result, or the folder that one was saved to. `intervals` says how sure the intervals of the scores are.
    """
    for one in (old, new):
        _check_given(one)
    kinds = [one.kind if isinstance(one, Result) else kind_of(one) for one in (old, new)]
    _check_kinds(kinds[0], kinds[1], old, new)
    first, second = (_opened(one, kind) for one, kind in zip((old, new), kinds, strict=True))
    check_comparable(first, second)
    findings: Findings = _named(_WAYS[kinds[0]][1])(first, second, intervals)
    settings = side_by_side(first.provenance, second.provenance)
    unchanged = _same(first, second, findings)
    names = _names(old, new)
    return Diff(
        verdict=wording.verdict(kinds[0], findings, first.grade, second.grade, unchanged=unchanged),
        grade=grade(findings, first.grade, second.grade, unchanged=unchanged),
        reasons=wording.reasons(kinds[0], findings, told(settings)),
        of=kinds[0],
        old=Compared(names[0], first.provenance.created, first.verdict, first.grade),
        new=Compared(names[1], second.provenance.created, second.verdict, second.grade),
        factors=findings.factors,
        counted=findings.counted,
        told=findings.told,
        values=findings.values,
        scores=findings.scores,
        unscored=findings.unscored,
        settings=settings,
        unchanged=unchanged,
        table=findings.table,
        provenance=Provenance(
            source=" → ".join(names),
            settings={"old": _place(old), "new": _place(new)},
            command=command,
        ),
    )


def _check_given(given: object) -> None:
    if not isinstance(given, Result | str | Path):
        raise SettingError(
            f"a diff was given a {type(given).__name__}",
            why="it compares results, not tables",
            instead="give two results, or the folders that they were saved to: diff('march', 'april')",
        )


def _same(old: Result, new: Result, findings: Findings) -> bool:
    """Whether nothing at all is said otherwise; where a table was read from, or when, says nothing."""
    quiet = not findings.table.num_rows and all(score.outcome == "the same" for score in findings.scores)
    counted_alike = all(one.old == one.new for one in findings.counted)
    told_alike = all(one.old == one.new for one in findings.told)
    return quiet and counted_alike and told_alike and (old.verdict, old.grade) == (new.verdict, new.grade)


def _check_kinds(old: str, new: str, *given: Any) -> None:
    if old != new:
        raise RecordError(
            f"{_place(given[0])} holds {_article(old)}, {_place(given[1])} {_article(new)}",
            why="two results of the same verb are compared, an old one and a new one",
            instead=f"give two results of one kind: {listing(sorted(_WAYS))}",
        )
    if old not in _WAYS:
        raise SettingError(
            f"two results of the kind {old!r}",
            why=f"a diff compares two results of one of these kinds: {listing(sorted(_WAYS))}",
            instead=_INSTEAD.get(old, "compare the results that it was made from"),
        )


_INSTEAD = {"run": "recombine runs compare STORE compares runs; or evaluate each, and compare the evaluations"}


def _opened(given: Result | str | Path, kind: str) -> Result:
    if isinstance(given, Result):
        return given
    found: Result = _named(_WAYS[kind][0]).load(given)
    return found


def _named(where: str) -> Any:
    module, _, name = where.partition(":")
    return getattr(import_module(module), name)


def _names(*given: Result | str | Path) -> list[str]:
    """Short names for the two: as much of their folders as tells them apart."""
    parts = [Path(one.provenance.source if isinstance(one, Result) else one).parts for one in given]
    for length in range(1, max(map(len, parts)) + 1):
        names = ["/".join(part[-length:]) for part in parts]
        if names[0] != names[1]:
            return names
    return ["old", "new"]


def _place(given: Result | str | Path) -> str:
    return f"memory: {given.provenance.source}" if isinstance(given, Result) else str(given)


def _article(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"
