"""How much memory a prediction would take, told before it is taken.

K factors have 2^K sets, and each has a group for every seen conjunction: the arrays are small one by one and many
together. What is counted here are the arrays that grow with both sets and combinations, each at the size that it can
reach: a table of 12 factors with 5,000 combinations was measured at 1.3 GB, and is counted as 3.3.
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from recombine.algebra.groups import Numbers
from recombine.errors import TableError
from recombine.tables.support import Support
from recombine.theory.squared import LARGEST_MATRIX, MANY_SETS, SMALL
from recombine.theory.variance import MOST_DRAWN

SHARE = 0.5
"""Of the machine's memory, for one prediction: the rest is for the table, the engine, and whoever else is there."""
_NUMBER = 8  # bytes
_MATRICES = 5  # of combinations by combinations: who agrees on what, the kernel, its factor, and two on the way
_MOST_DRAWS = 64
_LINKED_BY_ONE = 30  # beyond this many sets only those are linked that differ by one factor, as in `design`


def refuse_too_large(support: Support, weights: Sequence[float], *, questions: int, rows: int = 0) -> None:
    """Refuse what this machine cannot hold, in words; `rows` are the combinations that will be asked for."""
    sizes, seen = support.space.sizes, len(support)
    room = SHARE * installed()
    if (needed := _needed(sizes, weights, seen, questions, rows)) <= room:
        return
    fewer = [k for k in range(2, len(sizes)) if _needed_by_few(sizes, k, seen, questions, rows) <= room]
    raise TableError(
        f"a prediction over {len(weights):,} sets of {len(sizes)} factors with {seen:,} combinations",
        why=f"it would take about {_gigabytes(needed)} of memory, and may take {_gigabytes(room)} here",
        instead=f"name at most {fewer[-1]} factors: those that matter most"
        if fewer
        else "name fewer factors, or predict from fewer combinations (`where`), or on a larger machine",
    )


def installed() -> float:
    """The machine's memory in bytes, or what a container was given of it."""
    found = float(os.sysconf("SC_PAGE_SIZE")) * float(os.sysconf("SC_PHYS_PAGES"))
    with suppress(OSError, ValueError):  # no such limit, or none set ("max")
        found = min(found, float(Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii")))
    return found


def _gigabytes(amount: float) -> str:
    return f"{amount / 1e9:,.1f} GB"


def _needed_by_few(sizes: Sequence[int], few: int, seen: int, questions: int, rows: int) -> float:
    """The same with only some of the factors, those with most values, if every set of them had a weight."""
    kept = sorted(sizes, reverse=True)[:few]
    return _needed(kept, [1.0] * 2**few, min(seen, int(np.prod(kept, dtype=np.float64))), questions, rows)


def _needed(sizes: Sequence[int], weights: Sequence[float], seen: int, questions: int, rows: int) -> float:
    """Bytes: groups of every set, the coefficients of two learners, and what solving and its variances take."""
    groups = _groups(sizes, seen)
    weighty = np.flatnonzero(np.asarray(weights)[1:-1]) + 1
    numbered = seen * len(groups) + 2 * groups.sum()  # a number for each combination, a key and one member a group
    learnt = 2 * questions * groups[weighty].sum()
    drawn = _MOST_DRAWS * groups[weighty].sum()
    if seen <= LARGEST_MATRIX and len(weighty) > MANY_SETS:
        solved = _MATRICES * float(seen) ** 2 + min(drawn, MOST_DRAWN)
    elif seen <= SMALL:
        solved = _MATRICES * float(seen) ** 2
    else:
        links = sum(int(mask).bit_count() for mask in weighty) if len(weighty) > _LINKED_BY_ONE else len(weighty) ** 2
        solved = 2 * links * groups[weighty].mean() + drawn if len(weighty) else 0.0
        solved += rows * len(weighty)
    return float(_NUMBER * (numbered + learnt + solved))


def _groups(sizes: Sequence[int], seen: int) -> Numbers:
    """For each set of factors, as many groups as it can have: its conjunctions, or the seen combinations."""
    conjunctions = np.ones(1)
    for size in sizes:
        conjunctions = np.concatenate([conjunctions, np.minimum(conjunctions * size, seen)])
    return conjunctions
