"""Small tables written by hand, and brute-force twins of what the library computes cleverly."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from recombine.factors.space import Factor, Space
from recombine.factors.support import Support


def support_of(rows: Sequence[Sequence[Any]], *, sizes: Sequence[int] | None = None) -> Support:
    """A support whose values are 0, 1, 2 …; each row listed is one example."""
    codes = np.array(rows, dtype=np.int32)
    sizes = sizes or tuple(int(column.max()) + 1 for column in codes.T)
    space = Space(tuple(Factor(f"f{k}", tuple(range(size)), declared=True) for k, size in enumerate(sizes)))
    distinct, counts = np.unique(codes, axis=0, return_counts=True)
    return Support(space, np.asfortranarray(distinct), counts.astype(float), rows=len(codes))


def digits(text: str) -> Support:
    """`digits("000 011 111")`: three combinations of three factors."""
    return support_of([[int(digit) for digit in word] for word in text.split()])


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


@st.composite
def supports(draw: Any, *, most_factors: int = 4, most_values: int = 5) -> Support:
    """Random small tables, some of whose declared values may never occur."""
    width = draw(st.integers(2, most_factors))
    sizes = draw(st.tuples(*[st.integers(2, most_values)] * width))
    row = st.tuples(*[st.integers(0, size - 1) for size in sizes])
    rows = draw(st.lists(row, min_size=1, max_size=25))
    return support_of(rows, sizes=sizes)
