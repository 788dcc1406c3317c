"""Whether two results can be compared at all, and in which settings they differ.

Other factors, another target, another score or another cut of numbers make other combinations, or other answers: that
is refused. Another part of the table, another model or another seed is what a comparison may be about: that is told.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from recombine.errors import SettingError
from recombine.records import Provenance
from recombine.results import Result
from recombine.tables.support import LabelTarget, Support
from recombine.words import listing

_LONGEST = 300


@dataclass(frozen=True)
class Setting:
    """A setting of both results, as JSON writes it; nothing where it was not given."""

    name: str
    old: str
    new: str

    @property
    def differs(self) -> bool:
        """Whether the two are not the same."""
        return self.old != self.new


def side_by_side(old: Provenance, new: Provenance) -> tuple[Setting, ...]:
    """All settings of both, in the order in which they were noted; first what was read."""
    names = dict.fromkeys([*old.settings, *new.settings])
    read = Setting("table", old.source, new.source)
    version = Setting("version", old.version, new.version)
    return (
        read,
        version,
        *(Setting(name, _written(old.settings, name), _written(new.settings, name)) for name in names),
    )


def _written(settings: Mapping[str, Any], name: str) -> str:
    if name not in settings:
        return ""
    text = json.dumps(settings[name], ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def told(settings: tuple[Setting, ...]) -> tuple[str, ...]:
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
