"""Small tables written by hand, and brute-force twins of what the library computes cleverly."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from recombine.data.space import Factor, Space
from recombine.data.support import LabelTarget, NumberTarget, Support


def support_of(rows: Sequence[Sequence[Any]], *, sizes: Sequence[int] | None = None) -> Support:
    """A support whose values are 0, 1, 2 …; each row listed is one example."""
    codes = np.array(rows, dtype=np.int32)
    sizes = sizes or tuple(int(column.max()) + 1 for column in codes.T)
    space = Space(tuple(Factor(f"f{k}", tuple(range(size)), declared=True) for k, size in enumerate(sizes)))
    distinct, counts = np.unique(codes, axis=0, return_counts=True)
    return Support(space, np.asfortranarray(distinct), counts.astype(float), rows=len(codes))


def numbers(
    codes: Any, values: Any, *, sizes: Sequence[int] | None = None, counts: Any = None, name: str = "y"
) -> Support:
    """A support in which each combination, listed once, answers with a number; all its examples say the same."""
    codes, order = _sorted(codes)
    values = np.asarray(values, dtype=float)[order]
    counts = np.ones(len(codes)) if counts is None else np.asarray(counts, dtype=float)[order]
    plain = support_of(codes, sizes=sizes)
    target = NumberTarget(name, counts, values * counts, values**2 * counts)
    return Support(plain.space, np.asfortranarray(codes), counts, target, rows=int(counts.sum()))


def labels(
    codes: Any, places: Any, *, classes: Sequence[Any] = ("no", "yes"), sizes: Sequence[int] | None = None
) -> Support:
    """A support in which each combination, listed once, has one class, given by its place."""
    codes, order = _sorted(codes)
    plain = support_of(codes, sizes=sizes)
    ones = np.ones(len(codes))
    target = LabelTarget("y", tuple(classes), np.arange(len(codes)), np.asarray(places, dtype=np.int64)[order], ones)
    return Support(plain.space, np.asfortranarray(codes), ones, target, rows=len(codes))


def _sorted(codes: Any) -> tuple[np.ndarray, np.ndarray]:
    """Combinations in the order of the values, as a support holds them, and where each came from."""
    codes = np.asarray(codes, dtype=np.int32)
    order = np.lexsort(codes.T[::-1])
    return codes[order], order


def digits(text: str) -> Support:
    """`digits("000 011 111")`: three combinations of three factors."""
    return support_of([[int(digit) for digit in word] for word in text.split()])


def doubling(steps: int) -> list[tuple[int, int, int]]:
    """Differences that double from value to value: the leverage of the last is about 4 to the number of steps.

    A fresh value of the last factor ties two sums of the others together: first a_i = b_i, then a_i+1 = a_i + b_i.
    """
    rows, fresh = [(0, 0, 0), (1, 0, 0)], 1
    for i in range(1, steps):
        rows += [(i, 0, fresh), (0, i, fresh), (i + 1, 0, fresh + 1), (i, i, fresh + 1)]
        fresh += 2
    return rows


def every(sizes: Sequence[int]) -> np.ndarray:
    """The whole space, listed: only for small ones."""
    return np.array(list(itertools.product(*map(range, sizes))), dtype=np.int32)


def one_hot(codes: np.ndarray, sizes: Sequence[int]) -> np.ndarray:
    """The design matrix, written out."""
    return np.concatenate([np.eye(size)[codes[:, k]] for k, size in enumerate(sizes)], axis=1)


def brute_determined(support: Support) -> np.ndarray:
    """For every combination of the space, whether its one-hot row lies in the row space of the seen ones."""
    sizes = support.space.sizes
    design = one_hot(support.codes, sizes)
    rows = one_hot(every(sizes), sizes)
    leftover = rows @ (np.eye(design.shape[1]) - np.linalg.pinv(design) @ design)
    return np.abs(leftover).max(axis=1) < 1e-8


def brute_leverage(support: Support) -> np.ndarray:
    """For every combination of the space a (A'A)+ a', or NaN where it is not determined."""
    sizes = support.space.sizes
    design = one_hot(support.codes, sizes)
    rows = one_hot(every(sizes), sizes)
    leverage = np.einsum("ij,jk,ik->i", rows, np.linalg.pinv(design.T @ design), rows)
    return np.where(brute_determined(support), leverage, np.nan)


def brute_kernel(one: np.ndarray, other: np.ndarray, weights: Sequence[float]) -> np.ndarray:
    """For every pair of rows the weights of the sets of factors on which they agree, a set at a time."""
    total = np.zeros((len(one), len(other)))
    for mask, weight in enumerate(weights):
        chosen = [k for k in range(one.shape[1]) if mask >> k & 1]
        total += weight * (one[:, None, chosen] == other[None][:, :, chosen]).all(axis=2)
    return total


def brute_scores(
    seen: np.ndarray, values: np.ndarray, asked: np.ndarray, weights: Sequence[float], ridge: Any = 0.0
) -> np.ndarray:
    """What the squared loss answers, by one dense solve; `ridge` is what the diagonal gets beside the kernel's own.

    An infinite constant is a free intercept: one more unknown, and the dual weights add up to nothing.
    """
    free = np.isinf(weights[0])
    weights = (0.0, *weights[1:]) if free else weights
    matrix = brute_kernel(seen, seen, weights) + np.diag(np.broadcast_to(ridge, len(seen)))
    if not free:
        return brute_kernel(asked, seen, weights) @ np.linalg.solve(matrix, values)
    ones = np.ones((len(seen), 1))
    bordered = np.block([[matrix, ones], [ones.T, np.zeros((1, 1))]])
    solved = np.linalg.solve(bordered, np.concatenate([values, np.zeros_like(values[:1])]))
    return brute_kernel(asked, seen, weights) @ solved[:-1] + solved[-1]


@st.composite
def supports(draw: Any, *, most_factors: int = 4, most_values: int = 5) -> Support:
    """Random small tables, some of whose declared values may never occur."""
    width = draw(st.integers(2, most_factors))
    sizes = draw(st.tuples(*[st.integers(2, most_values)] * width))
    row = st.tuples(*[st.integers(0, size - 1) for size in sizes])
    rows = draw(st.lists(row, min_size=1, max_size=25))
    return support_of(rows, sizes=sizes)
