"""Brute-force twins of the planner, and random small tables with impossible conjunctions and prices."""

import itertools
import math
from typing import Any

import numpy as np
from hypothesis import strategies as st

from recombine.data.space import Space
from recombine.data.support import Support
from tests.twins import brute_determined, brute_kernel, every, one_hot, support_of, supports


@st.composite
def tables(draw: Any, *, most_factors: int = 3, most_values: int = 5) -> Support:
    """Random tables with declared values that may never occur, and conjunctions that cannot."""
    plain = draw(supports(most_factors=most_factors, most_values=most_values))
    sizes = plain.space.sizes
    pattern = st.tuples(*[st.integers(-1, size - 1) for size in sizes]).filter(lambda row: max(row) >= 0)
    drawn = draw(st.lists(pattern, max_size=6))
    kept = [row for row in drawn if not Space(plain.space.factors, (row,)).is_impossible(plain.codes).any()]
    space = Space(plain.space.factors, tuple(sorted(set(kept))))
    return Support(space, plain.codes, plain.counts, rows=plain.rows)


@st.composite
def priced(draw: Any, support: Support) -> list[dict[str, Any]]:
    """Random lines of costs, some of which say that something cannot be had."""
    cells = {f.name: st.sampled_from([None, *f.values]) for f in support.space.factors}
    price = st.sampled_from([0.5, 1, 2, 3.5, None, math.inf])
    return draw(st.lists(st.fixed_dictionaries(cells | {"cost": price}), max_size=5))


def brute_price(codes: np.ndarray, support: Support, lines: list[dict[str, Any]]) -> np.ndarray:
    """The price of each combination: line by line, the most specific one, and of these the last."""
    found = np.ones(len(codes))
    for place, row in enumerate(codes.tolist()):
        best = -1
        for line in lines:
            named = {k: f.code(line[f.name]) for k, f in enumerate(support.space.factors) if line[f.name] is not None}
            if all(row[k] == code for k, code in named.items()) and len(named) >= best:
                best, found[place] = len(named), math.inf if line["cost"] is None else line["cost"]
    found[support.space.is_impossible(codes)] = math.inf
    return found


def possible(support: Support) -> np.ndarray:
    """Every possible combination, listed."""
    codes = every(support.space.sizes)
    return codes[~support.space.is_impossible(codes)]


def rank(codes: np.ndarray, sizes: tuple[int, ...]) -> int:
    """The rank of the one-hot design."""
    return int(np.linalg.matrix_rank(one_hot(codes, sizes))) if len(codes) else 0


def brute_cheapest(support: Support, price: np.ndarray) -> tuple[int, float]:
    """Kruskal over every combination with a float rank: size and cost of a cheapest plan that closes all it can."""
    sizes = support.space.sizes
    held, height, size, cost = support.codes, rank(support.codes, sizes), 0, 0.0
    codes = every(sizes)
    for place in np.argsort(price, kind="stable"):
        if math.isinf(price[place]):
            break
        more = np.concatenate([held, codes[place : place + 1]])
        if rank(more, sizes) > height:
            held, height, size, cost = more, height + 1, size + 1, cost + price[place]
    return size, cost


def exhaustive_cheapest(support: Support, price: np.ndarray) -> tuple[int, float] | None:
    """The fewest, and the cheapest, combinations after which all possible ones are determined, by trying all sets."""
    sizes = support.space.sizes
    codes = every(sizes)
    usable = np.flatnonzero(np.isfinite(price))
    wanted = ~support.space.is_impossible(codes)
    found: list[tuple[int, float]] = []
    for size in range(len(usable) + 1):
        for chosen in itertools.combinations(usable.tolist(), size):
            held = support_of(np.concatenate([support.codes, codes[list(chosen)]]), sizes=sizes)
            if brute_determined(held)[wanted].all():
                found.append((size, float(price[list(chosen)].sum())))
        if found:
            break
    return (found[0][0], min(cost for _, cost in found)) if found else None


def determined_count(support: Support, more: np.ndarray) -> int:
    """How many possible combinations are determined once some more are seen."""
    sizes = support.space.sizes
    held = support_of(np.concatenate([support.codes, more]), sizes=sizes)
    return int(brute_determined(held)[~support.space.is_impossible(every(sizes))].sum())


def conjunctions(codes: np.ndarray, order: int) -> set[tuple[Any, ...]]:
    """Every conjunction of an order that some combinations hold."""
    return {
        (chosen, tuple(row[k] for k in chosen))
        for row in codes.tolist()
        for chosen in itertools.combinations(range(codes.shape[1]), order)
    }


def conditioned(codes: np.ndarray, seen: list[int], weights: tuple[float, ...], noise: np.ndarray) -> np.ndarray:
    """The posterior covariance of all combinations given noisy answers of some: one dense formula."""
    matrix = brute_kernel(codes, codes, weights)
    inner = matrix[np.ix_(seen, seen)] + np.diag(noise)
    return matrix - matrix[:, seen] @ np.linalg.solve(inner, matrix[seen])
