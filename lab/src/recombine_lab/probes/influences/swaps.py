"""The swap test and permutation importance: what happens to the answers when one factor is taken from another row.

A swap takes the factor from a row that has another value of it. Beside it stands the same with a row of the same value,
which exchanges all that the factor's inputs hold except its value, and the same with the factor's values shuffled.
Intervals are over combinations; with fewer than five of these they are over rows, and speak of these combinations only.
"""

from dataclasses import dataclass

import numpy as np
from torch import Tensor, nn

from recombine.seeds import derived
from recombine.statistics.intervals import difference_interval, interval, student_interval
from recombine.statistics.resampling import FEWEST, IntervalSettings, difference, mean
from recombine_lab.probes.influences.answering import Asking, Floats
from recombine_lab.probes.influences.examples import Ints
from recombine_lab.probes.influences.locating import Located

NONE = -1


@dataclass(frozen=True)
class Estimate:
    """A number with its interval over `n` combinations, or over rows where there are fewer than five of these."""

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    over: str = "combinations"


def donors(codes: Ints, rng: np.random.Generator, *, same: bool) -> Ints:
    """For each row another one, drawn among those with another value (or the same one); -1 where there is none.

    >>> donors(np.array([0, 0, 1]), np.random.default_rng(0), same=True).tolist()
    [1, 0, -1]
    """
    found = np.full(len(codes), NONE, dtype=np.int64)
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[order], codes, side="left")
    ends = np.searchsorted(codes[order], codes, side="right")
    sizes = ends - starts
    if same:
        place = np.empty(len(codes), dtype=np.int64)
        place[order] = np.arange(len(codes))
        able = sizes > 1
        drawn = starts[able] + rng.integers(0, sizes[able] - 1)
        found[able] = order[drawn + (drawn >= place[able])]
        return found
    able = sizes < len(codes)
    drawn = rng.integers(0, (len(codes) - sizes)[able])
    found[able] = order[np.where(drawn >= starts[able], drawn + sizes[able], drawn)]
    return found


def changes(
    module: nn.Module,
    asking: Asking,
    where: Located,
    factor: str,
    chosen: Ints,
    *,
    before: Tensor,
) -> Floats:
    """(n,) Whether each answer changes when the factor comes from the chosen row; NaN where there is none."""
    if not (chosen != NONE).any():
        return np.full(len(chosen), np.nan)
    safe = np.where(chosen == NONE, np.arange(len(chosen)), chosen)
    found = asking.changed(before, asking.scores(module, where.swapped(factor, safe)))
    return np.where(chosen == NONE, np.nan, found)


def swap(
    module: nn.Module,
    asking: Asking,
    where: Located,
    factor: str,
    codes: Ints,
    *,
    before: Tensor,
    seed: int,
    same: bool,
) -> Floats:
    """(n,) The share of swaps, of a few, that change each answer."""
    rng = np.random.default_rng(derived(seed, "swap", factor, "same" if same else "other"))
    drawn = [
        changes(module, asking, where, factor, donors(codes, rng, same=same), before=before) for _ in range(REPEATS)
    ]
    return np.asarray(np.mean(drawn, axis=0))


REPEATS = 4
"""Swaps of each row; rows and combinations, not repetitions, are the evidence."""


def lost(
    module: nn.Module, asking: Asking, where: Located, factor: str, *, before: Tensor, seed: int
) -> tuple[Floats, Floats] | None:
    """How good the answers are, and how good with the factor's inputs permuted among all rows (mean of a few)."""
    own = asking.right(before)
    if own is None:
        return None
    rng = np.random.default_rng(derived(seed, "permutation", factor))
    permuted = [
        asking.right(asking.scores(module, where.swapped(factor, rng.permutation(len(own))))) for _ in range(REPEATS)
    ]
    return own, np.asarray(np.mean([one for one in permuted if one is not None], axis=0))


def share(changed: Floats, combination: Ints, settings: IntervalSettings, name: str) -> Estimate:
    """The share of changed answers with its interval."""
    known = np.isfinite(changed)
    if not known.any():
        return Estimate(None)
    value = float(changed[known].mean())
    rows, total = _grouped(changed[known], combination[known])
    if len(rows) < FEWEST:
        return _over_rows(value, changed[known], settings, shares=True)
    low, high = interval(mean(rows, total), settings, name, share=True) or (None, None)
    return Estimate(value, low, high, len(rows))


def drop(
    own: Floats, other: Floats, combination: Ints, settings: IntervalSettings, name: str, *, shares: bool
) -> Estimate:
    """How much worse the answers become, with its interval."""
    value = float((own - other).mean())
    (rows, mine), (_, theirs) = _grouped(own, combination), _grouped(other, combination)
    if len(rows) < FEWEST:
        return _over_rows(value, own - other, settings, shares=False)
    low, high = difference_interval(difference(rows, theirs, mine), settings, name, share=shares) or (None, None)
    return Estimate(value, low, high, len(rows))


def _over_rows(value: float, values: Floats, settings: IntervalSettings, *, shares: bool) -> Estimate:
    """An interval by formula for the mean of rows, which are many: Student's, or Wilson's for a share."""
    count = len(values)
    error = float(values.std(ddof=1)) / count**0.5 if count > 1 else float("nan")
    low, high = student_interval(np.array([value]), np.array([error]), np.array([count]), settings, share=shares)
    if not np.isfinite(low[0]):
        return Estimate(value, n=count, over="rows")
    return Estimate(value, float(low[0]), float(high[0]), count, "rows")


def _grouped(values: Floats, combination: Ints) -> tuple[Floats, Floats]:
    """How many rows each combination has, and the sum of their values."""
    _, ids = np.unique(combination, return_inverse=True)
    return np.bincount(ids).astype(np.float64), np.bincount(ids, weights=values).astype(np.float64)
