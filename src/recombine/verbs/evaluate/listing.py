"""The tested combinations one by one: a table of all of them, and the ones to look at first.

Those that were never tested are counted and listed as such, so that no worst case passes over them.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from recombine.data.space import Space
from recombine.data.support import Support
from recombine.numerics.groups import Codes, Ints, Numbers
from recombine.verbs.evaluate.deviations import RATE, Deviations
from recombine.verbs.evaluate.outcomes import Mask, Outcomes
from recombine.verbs.evaluate.scores import Shrunk

_LISTED = 200
_MOST_UNTESTED = 200
_LISTED_SPACE = 10**6


@dataclass(frozen=True)
class ScoredCombination:
    """One tested combination: its score as it is, shrunk, with an interval; and what its parts would have given."""

    combination: dict[str, str]
    rung: str
    rows: int
    score: float
    shrunk: float
    low: float | None
    high: float | None
    expected: float | None
    deviation: float | None
    q: float | None


def table(outcomes: Outcomes, own: Shrunk, apart: Deviations) -> pa.Table:
    """A row for each tested combination, with the factors as columns."""
    space, codes = outcomes.tested.space, outcomes.tested.codes
    columns = {
        factor.name: pa.array(factor.labels, pa.string()).take(pa.array(codes[:, k]))
        for k, factor in enumerate(space.factors)
    }
    measured = {
        "score": outcomes.mean,
        "shrunk": own.score,
        "low": own.low,
        "high": own.high,
        "expected": apart.expected,
        "deviation": apart.deviation,
        "error": apart.error,
        "p": apart.p,
        "q": apart.q,
    }
    facts = {"rung": pa.array(outcomes.rung.tolist()), "rows": pa.array(outcomes.rows.astype(np.int64))}
    facts |= {name: pa.array(numbers, from_pandas=True) for name, numbers in measured.items()}
    return pa.table(columns | {_free(name, columns): column for name, column in facts.items()})


def worst(outcomes: Outcomes, own: Shrunk, apart: Deviations) -> tuple[ScoredCombination, ...]:
    """The worst after shrinkage first, of seen and of other ones as many as are listed; of two alike the larger."""
    sign = 1 if outcomes.score.rows_better == "higher" else -1
    order = np.lexsort((-outcomes.rows, sign * own.score))
    seen = outcomes.seen[order]
    shown = np.where(seen, np.cumsum(seen), np.cumsum(~seen)) <= _LISTED
    return _listed(outcomes, own, apart, order[shown])


def deviating(outcomes: Outcomes, own: Shrunk, apart: Deviations) -> tuple[ScoredCombination, ...]:
    """Those that do worse than their parts give elsewhere, the surest first: who does better needs no help."""
    named = np.flatnonzero((apart.q <= RATE) & worse(outcomes, apart))
    order = named[np.lexsort((-np.abs(apart.deviation[named]), apart.p[named]))]
    return _listed(outcomes, own, apart, order[:_LISTED])


def worse(outcomes: Outcomes, apart: Deviations) -> Mask:
    """Which combinations do worse than their parts give elsewhere."""
    sign = 1 if outcomes.score.rows_better == "higher" else -1
    return np.asarray(sign * np.nan_to_num(apart.deviation) < 0)


def _listed(outcomes: Outcomes, own: Shrunk, apart: Deviations, places: Ints) -> tuple[ScoredCombination, ...]:
    return tuple(
        ScoredCombination(
            combination=outcomes.labels(int(place)),
            rung=str(outcomes.rung[place]),
            rows=int(outcomes.rows[place]),
            score=float(outcomes.mean[place]),
            shrunk=float(own.score[place]),
            low=_known(own.low[place]),
            high=_known(own.high[place]),
            expected=_known(apart.expected[place]),
            deviation=_known(apart.deviation[place]),
            q=_known(apart.q[place]),
        )
        for place in places
    )


def _known(number: float) -> float | None:
    return float(number) if np.isfinite(number) else None


def _free(name: str, taken: dict[str, pa.Array]) -> str:
    """A column's name that no factor has."""
    while name in taken:
        name += "_"
    return name


@dataclass(frozen=True)
class Missing:
    """One combination without a tested row, and how many rows of it there are, or would be expected, in training."""

    combination: dict[str, str]
    seen: bool
    rows: float


@dataclass(frozen=True)
class Untested:
    """How many combinations of the space have no tested row: of those seen in training, and of the others.

    `complete` tells whether `listed` holds all of them. Of a space too large to be listed only those seen in training
    are.
    """

    total: int
    seen: int
    unseen: int
    listed: tuple[Missing, ...]
    complete: bool


def untested(outcomes: Outcomes) -> Untested:
    """Count and list them, those that one would meet most often first."""
    tested, training = outcomes.tested, outcomes.training
    width = range(tested.codes.shape[1])
    total = tested.space.size - len(tested)
    known = training if training is not None else tested
    if training is None:
        trained: Codes = np.zeros((0, len(width)), dtype=np.int32)
        often: Numbers = np.zeros(0)
    else:
        absent = tested.groups(width).lookup(training.codes) < 0
        trained, often = training.codes[absent], training.counts[absent]
    listed = [*_named(tested.space, trained, often, seen=True), *_unseen(known, tested)]
    shown = tuple(listed[:_MOST_UNTESTED])
    return Untested(total, len(trained), total - len(trained), shown, len(shown) == total)


def _unseen(known: Support, tested: Support) -> list[Missing]:
    """Of those neither trained on nor tested, the ones that independent factors would show most often."""
    space = tested.space
    if space.product > _LISTED_SPACE:
        return []
    every = np.stack(np.unravel_index(np.arange(space.product), space.sizes), axis=1).astype(np.int32)
    width = range(every.shape[1])
    absent = (known.groups(width).lookup(every) < 0) & (tested.groups(width).lookup(every) < 0)
    every = every[absent & ~space.is_impossible(every)]
    expected = np.full(len(every), known.total)
    for k, counts in enumerate(known.value_counts):
        expected *= counts[every[:, k]] / known.total
    return _named(space, every, expected, seen=False)


def _named(space: Space, codes: Codes, rows: Numbers, *, seen: bool) -> list[Missing]:
    found = []
    for place in np.argsort(-rows, kind="stable")[:_MOST_UNTESTED]:
        named = {f.name: f.labels[int(code)] for f, code in zip(space.factors, codes[place], strict=True)}
        found.append(Missing(named, seen, float(rows[place])))
    return found
