"""What a forecast from examples found: the value that the ways of making one hand back.

A forecast from examples as plain data with a table of its combinations, and back.

What a forecast from examples says: the sentence that leads, and the reasons below it.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from recombine.base.decoding import Unknown, revive, revive_all
from recombine.base.grades import Expected
from recombine.base.records import plain
from recombine.base.words import free_name, interval_words, percent, points
from recombine.data.space import Space
from recombine.numerics.distributions import normal_quantile
from recombine.numerics.groups import Codes, Ints, Numbers
from recombine.numerics.intervals import wilson
from recombine.numerics.resampling import IntervalSettings

BASIS = "examples"
COMPOSED = "composed"
"""The way, and the name of its track record."""


@dataclass(frozen=True, eq=False)
class ExampleForecast:
    """A forecast from examples. Legend: m members, c combinations, k factors.

    `scores` holds for each member and combination the share of its rows that it gets right, or their mean squared
    error; `base` the same for one answer for all. Where the way is *held out*, the combinations are seen ones.
    """

    expected: Expected
    way: str
    members: tuple[str, ...]
    seen_by_member: tuple[Unknown, ...] | None  # on new rows of combinations that were seen
    codes: Codes  # (c, k)
    counts: Ints  # (c,) rows asked, 0 where they were composed
    scores: Numbers  # (m, c)
    base: Numbers  # (c,)
    probe: float | None  # a linear rule on the inputs
    rows: int
    of_rows: int
    asked_rows: int
    correction: tuple[float, float] | None = None  # of composed rows: how far they were off in rehearsal, and its sd
    notes: tuple[str, ...] = ()
    constant: str | None = None  # one answer for all; of a label its class, as people read it
    fewer: float | None = None  # the score with four fifths of the rows
    assumption: str | None = None  # what is taken for granted, where no true answer is known
    only_if: bool = False  # whether nothing could test that

    @property
    def score(self) -> str:
        """The score's name: accuracy, or R²."""
        return self.expected.score

    @property
    def by_member(self) -> tuple[float, ...]:
        """Each member's score over the combinations; NaN where none could be asked about."""
        if not len(self.base):
            return (float("nan"),) * len(self.members)
        share = self.score == "accuracy"
        return tuple(float(own.mean()) if share else 1 - float(own.sum() / self.base.sum()) for own in self.scores)

    @property
    def seen(self) -> float | None:
        """The members' mean score on held-out rows of seen combinations; None where no combination can spare a row."""
        return None if self.seen_by_member is None else float(np.mean(self.seen_by_member))

    @property
    def drop(self) -> float | None:
        """What the missing of combinations costs: from new rows of seen ones to rows of unseen ones."""
        if self.seen is None or self.expected.value is None:
            return None
        return self.seen - self.expected.value

    @classmethod
    def abstaining(
        cls, expected: Expected, *, way: str, factors: int, of_rows: int, notes: tuple[str, ...]
    ) -> "ExampleForecast":
        """Nobody was asked: `expected` says why."""
        nothing = np.zeros(0)
        return cls(
            expected=expected,
            way=way,
            members=("nobody",),
            seen_by_member=None,
            codes=np.zeros((0, factors), dtype=np.int32),
            counts=np.zeros(0, dtype=np.int64),
            scores=nothing.reshape(1, 0),
            base=nothing,
            probe=None,
            rows=0,
            of_rows=of_rows,
            asked_rows=0,
            notes=notes,
        )


_PLAIN = (
    "way",
    "members",
    "seen_by_member",
    "probe",
    "rows",
    "of_rows",
    "asked_rows",
    "correction",
    "notes",
    "constant",
    "fewer",
    "assumption",
    "only_if",
)


def describe(found: ExampleForecast | None) -> dict[str, Any] | None:
    """All but the combinations, which stand in a table."""
    if found is None:
        return None
    # a rehearsal may have replaced its expected score as the one to rely on
    return {name: plain(getattr(found, name)) for name in (*_PLAIN, "by_member", "seen", "drop", "expected")}


def combinations(found: ExampleForecast) -> pa.Table:
    """A line for each combination: its codes, its rows, one answer for all, and each member's score."""
    codes = {f"code{k}": column for k, column in enumerate(found.codes.T)}
    members = {f"member{m}": line for m, line in enumerate(found.scores)}
    return pa.table({**codes, "rows": found.counts, "base": found.base, **members})


def by_combination(found: ExampleForecast, space: Space) -> pa.Table:
    """A line for each combination: its values, the rows that were asked, the forecast, and how far it may be off.

    Of a label `right` is the share of rows that the machines get right on average, `low` and `high` its 95 % interval:
    Wilson's for so many rows, and the machines' own spread. Of a number `error` is the root mean squared error, `low`
    and `high` those of the best and the worst machine. `one_answer` is the same for one answer for all.
    """
    share = found.score == "accuracy"
    scores, base = (found.scores, found.base) if share else (np.sqrt(found.scores), np.sqrt(found.base))
    value = scores.mean(axis=0) if share else np.sqrt(found.scores.mean(axis=0))
    low, high = _around(scores, value, found.counts) if share else (scores.min(axis=0), scores.max(axis=0))
    told = {"rows": found.counts, "right" if share else "error": value, "low": low, "high": high, "one_answer": base}
    values = space.columns(found.codes)
    return pa.table(values | {free_name(name, values): column for name, column in told.items()})


def _around(scores: Numbers, value: Numbers, rows: Ints) -> tuple[Numbers, Numbers]:
    """Chance over rows and the spread of machines, added in variance; of composed rows, which are none, the spread."""
    settings = IntervalSettings()
    worth = np.maximum(rows, 1).astype(np.float64)
    low, high = wilson(value, worth, np.maximum(worth - 1, 1.0), settings)
    low, high = (np.where(rows > 0, end, value) for end in (low, high))
    spread = scores.std(axis=0, ddof=1) if len(scores) > 1 else np.zeros(len(value))
    reach = float(normal_quantile(1 - settings.tail)) * spread
    return (
        np.clip(value - np.hypot(value - low, reach), 0.0, 1.0),
        np.clip(value + np.hypot(high - value, reach), 0.0, 1.0),
    )


def revived(saved: dict[str, Any] | None, table: pa.Table | None, expected: Expected | None) -> ExampleForecast | None:
    """A forecast as it was. In older records there is no word of fewer rows, nor of an expected score of its own."""
    if saved is None or table is None or expected is None:
        return None
    kept = revive_all(ExampleForecast, _PLAIN, {"fewer": None, "assumption": None, "only_if": False} | saved)
    factors = sum(name.startswith("code") for name in table.column_names)
    return ExampleForecast(
        **kept,
        expected=revive(Expected | None, saved.get("expected"), at="examples.expected") or expected,
        codes=np.stack([table[f"code{k}"].to_numpy() for k in range(factors)], axis=1).astype(np.int32),
        counts=table["rows"].to_numpy(),
        scores=np.stack([table[f"member{m}"].to_numpy() for m in range(len(kept["members"]))]),
        base=table["base"].to_numpy(),
    )


_MUCH = 0.05
"""A difference of scores that is worth a sentence."""
_READABLE = 0.9


def verdict(found: ExampleForecast) -> str:
    """The forecast in one sentence, and what makes it low."""
    expected = found.expected
    if expected.value is None:
        return f"Nothing can be forecast from the examples: {expected.reason}."
    first = _first(found, expected)
    if found.only_if:
        first = f"If unseen combinations answer as the factors suggest, {first[0].lower()}{first[1:]}"
    return " ".join(part for part in (first, found.assumption, _noise(found)) if part)


def _first(found: ExampleForecast, expected: Expected) -> str:
    assert expected.value is not None  # noqa: S101 - who abstains has said so
    share = found.score == "accuracy"
    said = interval_words(expected.value, expected.low, expected.high) if share else _r2_words(expected)
    base = expected.baseline or 0.0
    if share:
        beside = f'always answering "{found.constant}" gets {percent(base)}'
    else:
        beside = f"always answering the mean has {_two(base)}"
    unseen = _unseen(expected.of)
    if found.way == "held out":
        got = (
            f"get {said} of the rows of held-out combinations right"
            if share
            else f"have an R² of {said} on rows of held-out combinations"
        )
        return f"Networks like these {got}; {beside}. They stand for {unseen}."
    got = f"get {said} of the rows of {unseen} right" if share else f"have an R² of {said} on rows of {unseen}"
    how = ", judging by rows put together from seen ones" if found.way == "composed" else ""
    return f"Networks like these would {got}{how}; {beside}."


def _unseen(of: int) -> str:
    return "the unseen combination" if of == 1 else f"the {of:,} unseen combinations"


def _noise(found: ExampleForecast) -> str:
    """Whether rows that are hard to read cost the score, or combinations that were not seen."""
    seen, drop = found.seen, found.drop
    if seen is None or drop is None:
        return ""
    if found.score == "accuracy":
        start = f"On new rows of combinations that were seen they get {percent(seen)}"
    else:
        start = f"On new rows of combinations that were seen their R² is {_two(seen)}"
    if drop < _MUCH:
        return f"{start}: the combinations cost next to nothing, " + (
            "and the rows can be read." if seen >= _READABLE else "what fails is reading the rows."
        )
    if seen >= _READABLE:
        return f"{start}: reading them is not what fails."
    lost = round(seen, 2) - round(seen - drop, 2)  # of the rounded scores, so that the numbers add up
    if found.score == "accuracy":
        return (
            f"{start}: {points(1 - seen)} are lost in reading rows, {points(lost)} more for want of the combinations."
        )
    return f"{start}: reading rows costs {_two(1 - seen)}, the want of the combinations {_two(lost)} more."


def _r2_words(expected: Expected) -> str:
    value, low, high = expected.value or 0.0, expected.low, expected.high
    return _two(value) if low is None or high is None else f"{_two(value)} ({_two(low)} to {_two(high)})"


def _two(r2: float) -> str:
    """An R² in two digits: nobody compares the third.

    >>> _two(-0.00832), _two(0.617)
    ('-0.01', '0.62')
    """
    return f"{round(r2, 2) + 0.0:.3g}"


def reasons(found: ExampleForecast) -> tuple[str, ...]:
    """Which machines were asked, how far they agree, and what was not looked at."""
    said = [_members(found), _rows(found), _probe(found), _composed(found), *found.notes]
    return tuple(sentence for sentence in said if sentence)


def _members(found: ExampleForecast) -> str:
    if not len(found.base):
        return ""
    scores = [value for value in found.by_member if value == value]  # noqa: PLR0124 - NaN is not itself
    if not scores:
        return ""
    low, high = (percent(one) if found.score == "accuracy" else _two(one) for one in (min(scores), max(scores)))
    between = f"{low} to {high}" if low != high else f"all of them {low}"
    rows = f"{found.rows:,} rows" if found.rows == found.of_rows else f"{found.rows:,} of {found.of_rows:,} rows"
    return (
        f"Asked were {len(found.members)} kernel machines that networks tend to, fitted to the inputs of {rows}: "
        f"{between}. Networks that learn features of their own can do better."
    )


def _rows(found: ExampleForecast) -> str:
    """How much the score depends on the number of rows that were looked at."""
    if found.fewer is None or found.rows == found.of_rows:
        return ""
    few = percent(found.fewer) if found.score == "accuracy" else _two(found.fewer)
    return f"With 80 % of these rows the score would be {few} (--rows)."


def _probe(found: ExampleForecast) -> str:
    if found.probe is None:
        return ""
    said = percent(found.probe) if found.score == "accuracy" else f"an R² of {_two(found.probe)}"
    return f"A linear rule on the inputs gets {said}."


def _composed(found: ExampleForecast) -> str:
    if found.way != "composed":
        return ""
    better = "Rows of unseen combinations would make it surer, also without labels: unlabelled= (--unlabelled)."
    if found.correction is None:
        return (
            f"No seen combination could be spared to try it out: it rests on inputs that come apart by factor. {better}"
        )
    moved = found.correction[0]
    if not moved:
        return f"On seen combinations that were held out composed rows fared as true ones did, within chance. {better}"
    size = points(abs(moved)) if found.score == "accuracy" else _two(abs(moved))
    what = "low" if moved > 0 else "high"
    tried = f"On seen combinations that were held out composed rows came out {size} too {what}"
    return f"{tried}, which is corrected for. {better}"
