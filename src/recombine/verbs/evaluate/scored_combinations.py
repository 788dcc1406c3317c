"""The tested combinations one by one: a table of all of them, and the ones to look at first.

Those that were never tested are counted and listed as such, so that no worst case passes over them.
"""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pyarrow as pa

from recombine.base.words import free_name
from recombine.data.space import Space
from recombine.data.support import Support
from recombine.numerics.groups import Codes, Ints, Numbers, totals
from recombine.verbs.audit.structural_zeros import Zeros, suspect_zeros
from recombine.verbs.evaluate.deviations import RATE, Deviations
from recombine.verbs.evaluate.outcomes import Outcomes
from recombine.verbs.evaluate.scores import Shrunk, known, worst_first

_LISTED = 200  # of each kind: a page shows them, and nobody reads on
_MOST_UNTESTED = 200
_NEVER = 1e-12  # a share of rows that stands for none, whose logarithm is finite
_LISTED_SPACE = 10**6  # combinations of a space that is still written out, 4 bytes a factor each


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


def table(outcomes: Outcomes, pulled: Shrunk, apart: Deviations) -> pa.Table:
    """A row for each tested combination, with the factors as columns."""
    codes = outcomes.tested.codes
    columns = outcomes.tested.space.labels(codes)
    facts = {"rung": pa.array(outcomes.rung.tolist())}
    if outcomes.elements is not None:
        facts["elements"] = pa.array(outcomes.elements.tolist())
    facts |= {"rows": pa.array(outcomes.rows.astype(np.int64))}
    facts |= {name: pa.array(numbers, from_pandas=True) for name, numbers in _numbers(outcomes, pulled, apart).items()}
    return pa.table(columns | {free_name(name, columns): column for name, column in facts.items()})


def _numbers(outcomes: Outcomes, pulled: Shrunk, apart: Deviations) -> dict[str, Numbers]:
    """What is known of each tested combination, in the order of the table's columns."""
    found = {"score": outcomes.mean, "shrunk": pulled.score, "low": pulled.low, "high": pulled.high}
    return found | {name: getattr(apart, name) for name in ("expected", "deviation", "error", "p", "q")}


def worst(outcomes: Outcomes, pulled: Shrunk, apart: Deviations) -> tuple[ScoredCombination, ...]:
    """The worst after shrinkage first, of seen and of other ones as many as are listed."""
    order = worst_first(outcomes, pulled.score)
    seen = outcomes.seen[order]
    shown = np.where(seen, np.cumsum(seen), np.cumsum(~seen)) <= _LISTED
    return _list(outcomes, pulled, apart, order[shown])


def deviating(outcomes: Outcomes, pulled: Shrunk, apart: Deviations) -> tuple[ScoredCombination, ...]:
    """Those that do worse than their parts give elsewhere, the surest first: who does better needs no help."""
    named = np.flatnonzero(apart.q <= RATE)
    order = named[np.lexsort((-np.abs(apart.deviation[named]), apart.p[named]))]
    return _list(outcomes, pulled, apart, order[:_LISTED])


def _list(outcomes: Outcomes, pulled: Shrunk, apart: Deviations, places: Ints) -> tuple[ScoredCombination, ...]:
    names = [field.name for field in fields(ScoredCombination)[3:]]
    numbers = _numbers(outcomes, pulled, apart)
    found = []
    for place in places.tolist():
        measured: list[Any] = [known(numbers[name][place]) for name in names]
        facts = (outcomes.labels(place), str(outcomes.rung[place]), int(outcomes.rows[place]))
        found.append(ScoredCombination(*facts, *measured))
    return tuple(found)


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
    zeros: Zeros | None = None  # pairs that perhaps cannot occur; untested all the same: a gate must not trust that


def list_untested(outcomes: Outcomes) -> Untested:
    """Count and list them, those that one would meet most often first."""
    tested, training = outcomes.tested, outcomes.training
    zeros, _ = suspect_zeros(_either(outcomes))
    met = training if training is not None else tested
    width = range(tested.codes.shape[1])
    total = tested.space.size - len(tested)
    if training is None:
        trained: Codes = np.zeros((0, len(width)), dtype=np.int32)
        often: Numbers = np.zeros(0)
    else:
        absent = tested.groups(width).lookup(training.codes) < 0
        trained, often = training.codes[absent], training.counts[absent]
    listed = [*_list_missing(tested.space, trained, often, seen=True), *_list_unseen(met, tested)]
    shown = tuple(listed[:_MOST_UNTESTED])
    return Untested(total, len(trained), total - len(trained), shown, len(shown) == total, zeros)


def _either(outcomes: Outcomes) -> Support:
    """All rows there are, trained on or tested: what occurs in either can occur."""
    tested, training = outcomes.tested, outcomes.training
    if training is None:
        return tested
    codes, place = np.unique(np.concatenate([tested.codes, training.codes]), axis=0, return_inverse=True)
    counts = totals(place, np.concatenate([tested.counts, training.counts]), len(codes))
    return Support(tested.space, np.asfortranarray(codes), counts)


def _list_unseen(met: Support, tested: Support) -> list[Missing]:
    """Of those neither trained on nor tested, the ones that independent factors would show most often."""
    space = tested.space
    if space.product > _LISTED_SPACE:
        return []
    every = space.every()
    width = range(every.shape[1])
    every = every[(met.groups(width).lookup(every) < 0) & (tested.groups(width).lookup(every) < 0)]
    expected = np.full(len(every), met.total)
    for factor, column, counts in zip(space.factors, every.T, met.effect_counts, strict=True):
        share = counts / met.total
        if factor.sets is None:
            expected *= share[column]
        else:  # each element is in or out by itself
            inside, out = np.log(np.maximum(share, _NEVER)), np.log(np.maximum(1 - share, _NEVER))
            expected *= np.exp(out.sum() + factor.sets.rows(column).sums(inside - out))
    return _list_missing(space, every, expected, seen=False)


def _list_missing(space: Space, codes: Codes, rows: Numbers, *, seen: bool) -> list[Missing]:
    often = np.argsort(-rows, kind="stable")[:_MOST_UNTESTED]
    return [Missing(space.label_row(codes[place]), seen, float(rows[place])) for place in often]
