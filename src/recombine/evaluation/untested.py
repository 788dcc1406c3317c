"""The combinations that were never tested: counted and listed as such, so that no worst case passes over them."""

from dataclasses import dataclass

import numpy as np

from recombine.algebra.groups import Codes, Numbers
from recombine.evaluation.outcomes import Outcomes
from recombine.tables.space import Space
from recombine.tables.support import Support

_LISTED = 200
_LISTED_SPACE = 10**6


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
    return Untested(total, len(trained), total - len(trained), tuple(listed[:_LISTED]), len(listed[:_LISTED]) == total)


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
    for place in np.argsort(-rows, kind="stable")[:_LISTED]:
        named = {f.name: f.labels[int(code)] for f, code in zip(space.factors, codes[place], strict=True)}
        found.append(Missing(named, seen, float(rows[place])))
    return found
