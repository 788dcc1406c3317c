"""What changed from one saved result to the next: the value, and the verb that makes it.

Whether two results can be compared at all, and in which settings they differ.

Other factors, another target, another score or another cut of numbers make other combinations, or other answers: that
is refused. Another part of the table, another model or another seed is what a comparison may be about: that is told.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from recombine.base import records
from recombine.base.argument_kinds import explain_kinds
from recombine.base.decoding import revive_all
from recombine.base.errors import RecordError, SettingError
from recombine.base.grades import Grade
from recombine.base.records import Provenance, Record, kind_of
from recombine.base.result import Result, load
from recombine.base.words import listing
from recombine.data.support import LabelTarget, Support
from recombine.numerics.resampling import IntervalSettings
from recombine.verbs.diff import verdict as wording
from recombine.verbs.diff.findings import ChangedWord, CountChange, Findings, ScoreChange, ValueChange, column_names
from recombine.verbs.diff.verdict import grade

_LONGEST = 300  # characters of a setting: a long list of values would drown the others


@dataclass(frozen=True)
class SettingChange:
    """A setting of both results, as JSON writes it; nothing where it was not given."""

    name: str
    old: str
    new: str

    @property
    def differs(self) -> bool:
        """Whether the two are not the same."""
        return self.old != self.new


def side_by_side(old: Provenance, new: Provenance) -> tuple[SettingChange, ...]:
    """All settings of both, in the order in which they were noted; first what was read."""
    names = dict.fromkeys([*old.settings, *new.settings])
    read = SettingChange("table", old.source, new.source)
    version = SettingChange("version", old.version, new.version)
    return (
        read,
        version,
        *(SettingChange(name, _setting_text(old.settings, name), _setting_text(new.settings, name)) for name in names),
    )


def _setting_text(settings: Mapping[str, Any], name: str) -> str:
    if name not in settings:
        return ""
    text = json.dumps(settings[name], ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def settings_sentence(settings: tuple[SettingChange, ...]) -> tuple[str, ...]:
    """A sentence on the settings that differ, where some do; that the table is another is what a diff is for."""
    apart = [one for one in settings if one.differs and one.name not in ("table", "version")]
    if not apart:
        return ()
    shown = listing([f"{one.name} ({one.old or 'none'} before, {one.new or 'none'} now)" for one in apart[:4]])
    more = f", and {len(apart) - 4} more" if len(apart) > 4 else ""
    return (f"Other settings, which may be why something changed: {shown}{more}.",)


def check_comparable(old: Result, new: Result) -> None:
    """Refuse two results of different questions."""
    before, after = _factors(old), _factors(new)
    if set(before) != set(after):
        alone = [*(name for name in before if name not in after), *(name for name in after if name not in before)]
        raise SettingError(
            f"the old {old.kind} has the factors {listing(list(before))}, the new one {listing(list(after))}",
            why=f"combinations of other factors are other combinations: {listing(alone)} in one of them alone",
            instead="make both results with the same --factors, and compare these",
        )
    _check_sets(old, new)
    _check_target(old, new)
    _check_bins(old, new)
    first, second = (getattr(getattr(one, "score", None), "name", None) for one in (old, new))
    if first != second:
        raise SettingError(
            f"the old evaluation is scored by {first}, the new one by {second}",
            why="a score in other units cannot be subtracted",
            instead=f"evaluate both with the same --score, and compare these: --score {second}",
        )


def _factors(result: Result) -> tuple[str, ...]:
    support = support_of(result)
    return support.space.names if support is not None else tuple(result.factors)  # type: ignore[attr-defined]


def support_of(result: Result) -> Support | None:
    """What a result was counted from, where it keeps that."""
    outcomes = getattr(result, "outcomes", None)
    found = getattr(result, "support", None) if outcomes is None else outcomes.tested
    return found if isinstance(found, Support) else None


def _check_sets(old: Result, new: Result) -> None:
    """A factor is a set in both, or in neither."""
    spaces = [support.space for support in map(support_of, (old, new)) if support is not None]
    sets = [{space.names[k] for k in space.set_factors} for space in spaces]
    apart = sorted(sets[0] ^ sets[1]) if len(sets) == 2 else []
    if apart:
        raise SettingError(
            f"{apart[0]!r} is a set in the {'old' if apart[0] in sets[0] else 'new'} {old.kind} alone",
            why="a set and a value that is written alike are not the same",
            instead=f"read both tables with --set {apart[0]}=…, and compare these",
        )


def _check_target(old: Result, new: Result) -> None:
    names = [one.provenance.settings.get("target") for one in (old, new)]
    if None not in names and names[0] != names[1]:
        raise SettingError(
            f"the target was {names[0]!r} and is {names[1]!r}",
            why="answers to another question are other answers",
            instead="make both results with the same --target, and compare these",
        )
    targets = [support.target for support in map(support_of, (old, new)) if support is not None and support.target]
    kinds = ["label" if isinstance(target, LabelTarget) else "number" for target in targets]
    if len(set(kinds)) > 1:
        raise SettingError(
            f"the target {names[1]!r} was a {kinds[0]} and is a {kinds[1]}",
            why="labels and numbers are scored otherwise",
            instead=f"say --target-kind {kinds[0]} for both, and compare these",
        )


def _check_bins(old: Result, new: Result) -> None:
    """The same edges make the same values; a number of bins, or quantiles, make edges of their own in every table."""
    before, after = (one.provenance.settings.get("bins") or {} for one in (old, new))
    for name in dict.fromkeys([*before, *after]):
        if before.get(name) != after.get(name):
            raise SettingError(
                f"{name!r} was cut into bins by {before.get(name, 'nothing')}, and now by {after.get(name, 'nothing')}",
                why="values that were cut otherwise are other values",
                instead=f"make both results with the same --bins {name}=…, and compare these",
            )
        if _own_edges(before[name]) and _labels(old, name) != _labels(new, name):
            raise SettingError(
                f"{name!r} was cut by bins={before[name]!r}, which gave other edges in each table",
                why="values that were cut otherwise are other values",
                instead=f"give the edges themselves in both: --bins {name}=0,10,20",
            )


def _own_edges(bins: Any) -> bool:
    return isinstance(bins, int) or (isinstance(bins, str) and bins.startswith("quantiles"))


def _labels(result: Result, name: str) -> set[str]:
    support = support_of(result)
    return set() if support is None else set(support.space.factors[support.space.position(name)].labels)


_INTERVALS = IntervalSettings()
_COMPARE = {
    "audit": "audit_diff:compare",
    "evaluation": "evaluation_diff:compare",
    "lint": "lines_diff:compare",
    "plan": "lines_diff:compare_plans",
    "prediction": "prediction_diff:compare",
    "rehearsal": "lines_diff:compare_rehearsals",
    "split": "lines_diff:compare_splits",
}
"""Which kinds can be compared, and by whom; imported when they are."""


@dataclass(frozen=True)
class ComparedResult:
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
    old: ComparedResult
    new: ComparedResult
    factors: tuple[str, ...]
    counted: tuple[CountChange, ...]
    told: tuple[ChangedWord, ...]
    values: tuple[ValueChange, ...]
    scores: tuple[ScoreChange, ...]
    unscored: str | None
    settings: tuple[SettingChange, ...]
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


_FOUND = ("table", "factors", "counted", "told", "values", "scores", "unscored")
_PLAIN = tuple(field.name for field in fields(Diff) if field.name not in ("table", "provenance"))


@explain_kinds
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
        if not isinstance(one, Result | str | Path):
            raise SettingError(
                f"a diff was given a {type(one).__name__}",
                why="it compares results, not tables",
                instead="give two results, or the folders that they were saved to: diff('march', 'april')",
            )
    kinds = [one.kind if isinstance(one, Result) else kind_of(one) for one in (old, new)]
    _check_kinds(kinds[0], kinds[1], old, new)
    first, second = (one if isinstance(one, Result) else load(one) for one in (old, new))
    check_comparable(first, second)
    module, _, function = _COMPARE[kinds[0]].partition(":")
    compare = getattr(import_module(f"recombine.verbs.diff.{module}"), function)
    findings: Findings = compare(first, second, intervals)
    settings = side_by_side(first.provenance, second.provenance)
    unchanged = _same(first, second, findings)
    names = _names(old, new)
    return Diff(
        verdict=wording.verdict(kinds[0], findings, first.grade, second.grade, unchanged=unchanged),
        grade=grade(findings, first.grade, second.grade, unchanged=unchanged),
        reasons=wording.reasons(kinds[0], findings, settings_sentence(settings)),
        of=kinds[0],
        old=ComparedResult(names[0], first.provenance.created, first.verdict, first.grade),
        new=ComparedResult(names[1], second.provenance.created, second.verdict, second.grade),
        settings=settings,
        unchanged=unchanged,
        **{name: getattr(findings, name) for name in _FOUND},
        provenance=Provenance(
            source=" → ".join(names),
            settings={"old": _place(old), "new": _place(new)},
            command=command,
        ),
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
            instead=f"give two results of one kind: {listing(sorted(_COMPARE))}",
        )
    if old not in _COMPARE:
        raise SettingError(
            f"two results of the kind {old!r}",
            why=f"a diff compares two results of one of these kinds: {listing(sorted(_COMPARE))}",
            instead=_INSTEAD.get(old, "compare the results that it was made from"),
        )


_INSTEAD = {"run": "recombine runs compare STORE compares runs; or evaluate each, and compare the evaluations"}


def _names(*given: Result | str | Path) -> list[str]:
    """Short names for the two: as much of their folders as tells them apart."""
    parts = [Path(one.provenance.source if isinstance(one, Result) else one).parts for one in given]
    for length in range(1, max(map(len, parts)) + 1):
        names = ["/".join(part[-length:]) for part in parts]
        if names[0] != names[1]:
            return names
    return ["old", "new"]


def _place(result: Result | str | Path) -> str:
    return f"memory: {result.provenance.source}" if isinstance(result, Result) else str(result)


def _article(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"
