"""How many pairs and triples could occur, under impossible conjunctions of any size: against listing the space."""

from itertools import combinations, product

import numpy as np
import pytest

from recombine.data.space import Factor, Space
from recombine.data.support import Support
from recombine.verbs.audit.coverage import order_coverage


def made(seed: int) -> Support:
    """A small table with a few impossible conjunctions, of one to all factors, that no row of it holds."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 5, size=rng.integers(2, 6)).tolist()
    factors = tuple(Factor(f"f{k}", tuple(range(size)), declared=True) for k, size in enumerate(sizes))
    rows = np.unique(np.stack([rng.integers(0, size, 6) for size in sizes], axis=1), axis=0).astype(np.int32)
    lines = set()
    for _ in range(rng.integers(0, 25)):
        line = [int(rng.integers(0, size)) if rng.random() < 0.6 else -1 for size in sizes]
        held = [all(code in (-1, own) for code, own in zip(line, row, strict=True)) for row in rows.tolist()]
        if max(line) >= 0 and not any(held):
            lines.add(tuple(line))
    return Support(Space(factors, tuple(sorted(lines))), np.asfortranarray(rows), np.ones(len(rows)), rows=len(rows))


def brute_possible(space: Space, order: int) -> int:
    """Conjunctions of so many factors that some combination holds, of which no impossible conjunction is a part."""
    whole = [
        cell
        for cell in product(*map(range, space.sizes))
        if not any(all(code in (-1, own) for code, own in zip(line, cell, strict=True)) for line in space.impossible)
    ]
    chosen = combinations(range(len(space.sizes)), order)
    return sum(len({tuple(cell[k] for k in some) for cell in whole}) for some in chosen)


@pytest.mark.parametrize("part", range(8))
def test_possible_conjunctions_equal_brute_force(part: int) -> None:
    for seed in range(100 * part, 100 * (part + 1)):
        support = made(seed)
        for covered in order_coverage(support):
            assert covered.possible == brute_possible(support.space, covered.order), (seed, covered)
