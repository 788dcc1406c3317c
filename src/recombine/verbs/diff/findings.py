"""What a comparison of two results is made of, whatever the verb: counts and words side by side, scores, changes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from recombine.base.words import free_name
from recombine.data.space import Space
from recombine.numerics.groups import Codes, Numbers
from recombine.numerics.hypothesis_tests import false_discovery

Outcome = Literal["better", "worse", "within chance", "not enough evidence", "the same"]
Way = Literal["worse", "better", "other"]
WAYS: tuple[Way, ...] = ("worse", "better", "other")
RATE = 0.05
"""Of the combinations that are said to differ by more than chance, how many may be luck."""
COLUMNS = ("what", "old", "new", "way", "old_rows", "new_rows", "p", "q")
"""What is said of a change, beside its combination."""

NO_VALUE = "no such value"
"""Where a combination stands in a table that does not have one of its values."""
HELD_OUT = "held-out"
"""The name of the score of adding up effects, which is of combinations that were held out."""

Words = npt.NDArray[np.str_]
Said = str | None | Sequence[str | None] | Words
"""What is said of each of some combinations; one word where it is the same of all."""


@dataclass(frozen=True)
class CountChange:
    """How many of something there were, and are."""

    name: str
    old: int
    new: int


@dataclass(frozen=True)
class ChangedWord:
    """A word that was said of the whole, and is said now."""

    name: str
    old: str
    new: str


@dataclass(frozen=True)
class ValueChange:
    """Values of a factor that came or went: how many, and the first few of them."""

    factor: str
    gained: int
    lost: int
    new_ones: tuple[str, ...]
    gone: tuple[str, ...]


@dataclass(frozen=True)
class ScoreChange:
    """A score before and now, the new one less the old one, and whether that is more than chance.

    `name` says of which combinations: held-out, unseen, seen or tested ones. `combinations` counts those that both
    scores are of, `paired` tells whether they were compared one by one; if not, each score keeps the interval that it
    had, as if they were of different combinations. Where whole blocks were held out, these are so many `pieces` of
    evidence.
    """

    name: str
    score: str
    share: bool
    better: Literal["higher", "lower"]
    combinations: int
    old: float | None
    new: float | None
    difference: float | None
    low: float | None
    high: float | None
    outcome: Outcome
    paired: bool = True
    pieces: int | None = None

    @classmethod
    def of(
        cls,
        name: str,
        score: str,
        values: tuple[float | None, float | None, float | None],
        ends: tuple[float, float] | None,
        *,
        share: bool,
        combinations: int,
        same: bool,
        better: Literal["higher", "lower"] = "higher",
        pieces: int | None = None,
    ) -> "ScoreChange":
        """A score compared one by one: `values` are the old, the new and the difference, `ends` its interval."""
        low, high = ends or (None, None)
        said = outcome(low, high, better, same=same)
        return cls(name, score, share, better, combinations, *values, low, high, said, pieces=pieces)

    @property
    def worst(self) -> float | None:
        """How much better it is at the worst end of the interval; below 0 it is worse."""
        if self.low is None or self.high is None:
            return None
        return self.low if self.better == "higher" else -self.high


@dataclass(frozen=True, eq=False)
class Findings:
    """Everything that was found, before it is put into words."""

    table: pa.Table
    factors: tuple[str, ...]
    counted: tuple[CountChange, ...] = ()
    told: tuple[ChangedWord, ...] = ()
    values: tuple[ValueChange, ...] = ()
    scores: tuple[ScoreChange, ...] = ()
    unscored: str | None = None
    """Why no score was compared, where there was one in either."""
    by_redraw: tuple[str, ...] = ()
    """Respects (lost, rung) in which combinations changed no more than another draw of the rows would change them."""
    notes: tuple[str, ...] = field(default=())


def outcome(low: float | None, high: float | None, better: str, *, same: bool) -> Outcome:
    """What an interval of a difference says of a change; `same` where not one combination scores otherwise.

    >>> outcome(-0.2, -0.05, "higher", same=False), outcome(-0.2, 0.1, "higher", same=False)
    ('worse', 'within chance')
    """
    if same:
        return "the same"
    if low is None or high is None:
        return "not enough evidence"
    if low <= 0 <= high:
        return "within chance"
    return "better" if (low > 0) == (better == "higher") else "worse"


_HEIGHT = {"seen": 3, "thin": 3, "determined": 2, "undetermined": 1, "novel": 0, NO_VALUE: 0}


def rung_way(was: str, now: str) -> Way:
    """Up or down the ladder; what is unknown or impossible has no place on it, and a thin one is seen.

    >>> rung_way("seen", "determined"), rung_way("novel", "undetermined"), rung_way("seen", "thin")
    ('worse', 'better', 'other')
    """
    if now == "impossible" and was in ("seen", "thin"):
        return "worse"
    if was not in _HEIGHT or now not in _HEIGHT or _HEIGHT[was] == _HEIGHT[now]:
        return "other"
    return "better" if _HEIGHT[now] > _HEIGHT[was] else "worse"


@dataclass(frozen=True, eq=False)
class Changes:
    """Some changed combinations, all in one respect."""

    codes: Codes
    what: str
    old: Sequence[str | None]
    new: Sequence[str | None]
    way: Sequence[str]
    old_rows: Numbers | None = None
    new_rows: Numbers | None = None
    p: Numbers | None = None
    q: Numbers | None = None


def changes_at(
    chosen: npt.NDArray[np.bool_],
    codes: Codes,
    what: str,
    old: Said,
    new: Said,
    way: Way | Callable[[str, str], Way] = "other",
    numbers: Sequence[Numbers] = (),
) -> Changes:
    """The chosen ones of some combinations, of each of which `old`, `new` and `numbers` say something.

    One word stands for the same word of each; `way` is told by what was and is said, or is the same for all.
    """
    where = np.flatnonzero(chosen)
    was, now = (
        [said] * len(where) if isinstance(said, str | None) else [said[k] for k in where.tolist()]
        for said in (old, new)
    )
    ways = [way if isinstance(way, str) else way(str(a), str(b)) for a, b in zip(was, now, strict=True)]
    return Changes(codes[where], what, was, now, ways, *(part[where] for part in numbers))


def table_of(space: Space, changes: Sequence[Changes]) -> pa.Table:
    """A row for each change, the worst first, then the most surprising, then those with the most rows."""
    parts = [_part(space, one) for one in changes]
    names = column_names(space.names)
    nothing = Changes(np.zeros((0, len(space.names)), dtype=np.int32), "", [], [], [])
    table = pa.concat_tables(parts or [_part(space, nothing)])
    rank = {way: str(place) for place, way in enumerate(WAYS)}
    keys = pa.table(
        {
            "way": [rank[way] for way in table[names["way"]].to_pylist()],
            "q": table[names["q"]],
            "rows": np.nan_to_num(np.fmax(*(table[names[name]].to_numpy() for name in ("old_rows", "new_rows")))),
        }
    )
    order = [("way", "ascending"), ("q", "ascending"), ("rows", "descending")]
    return table.take(pc.sort_indices(keys, sort_keys=order)) if table.num_rows else table


def column_names(factors: Sequence[str]) -> dict[str, str]:
    """How our columns are called beside the factors, which may bear one of their names."""
    return {name: free_name(name, set(factors)) for name in COLUMNS}


def correct_for_many(p: Numbers, others: int = 0) -> Numbers:
    """Chances that allow for how many were looked at; `others` more were, and are not surprising at all.

    >>> correct_for_many(np.array([0.01, 0.5]), others=2).round(3).tolist()
    [0.04, 1.0]
    """
    return false_discovery(np.concatenate([p, np.ones(others)]))[: len(p)]


def _part(space: Space, one: Changes) -> pa.Table:
    count = len(one.codes)
    own: Mapping[str, Any] = {
        "what": pa.array([one.what] * count, pa.string()),
        "old": pa.array(list(one.old), pa.string()),
        "new": pa.array(list(one.new), pa.string()),
        "way": pa.array(list(one.way), pa.string()),
        "old_rows": _numbers(one.old_rows, count),
        "new_rows": _numbers(one.new_rows, count),
        "p": _numbers(one.p, count),
        "q": _numbers(one.q, count),
    }
    names = column_names(space.names)
    return pa.table(space.labels(one.codes) | {names[name]: column for name, column in own.items()})


def _numbers(given: Numbers | None, count: int) -> pa.Array:
    numbers = np.full(count, np.nan) if given is None else np.asarray(given, dtype=np.float64)
    return pa.array(numbers, pa.float64(), from_pandas=True)
