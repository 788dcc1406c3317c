"""Rows of unseen combinations put together from rows of seen ones, where nobody has any.

Inputs are looked at one by one. An input that one factor alone accounts for (a pixel of the left picture, a unit of a
one-hot code, a number of the first word's vector) is that factor's: it is copied from a row that has the value. An
input on which several factors act is added up: the factors' main effects, by least squares, and the residual of the row
that the others were copied from. All inputs of one factor come from one row, so what varies together stays together.

If inputs stand side by side, or add up, and what varies within a combination does not depend on the other factors, such
rows are drawn from where the true ones come from. Whether it is so can be seen in part, and is measured: `apart` is the
share of what combinations differ by that one factor accounts for; `adding` the share that main effects do, where there
are combinations enough to tell.
"""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from recombine.base.seeds import derived
from recombine.numerics.additive_fit import design_matrix, main_effects
from recombine.numerics.groups import Codes, Ints, Numbers
from recombine.verbs.predict.examples import example_rows

MOST_DRAWN = 50
"""Composed rows of one combination: more would hardly move its score."""
_BEYOND_CHANCE = 4.0
"""An F from which on another factor acts on an input as well; with hundreds of inputs some exceed 2 by chance."""
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class InputParts:
    """What the inputs of seen rows are made up of, and rows that lend theirs.

    Legend: n lenders, d inputs, k factors, v values of all factors.
    """

    inputs: Numbers  # (n, d)
    codes: Codes  # (n, k)
    sizes: tuple[int, ...]
    owner: Ints  # (d,) the factor that accounts for most of an input
    several: npt.NDArray[np.bool_]  # (d,) whether others act on it as well
    effects: Numbers  # (v + 1, several) the main effects of those
    apart: float
    adding: float | None
    noise: float  # the share of the variance that main effects leave

    @property
    def exact(self) -> float:
        """The share of what combinations differ by that is copied, or was seen to add up."""
        return self.apart if self.adding is None else max(self.apart, self.adding)

    def lent_by(self, inputs: Numbers, codes: Codes) -> "InputParts":
        """The same with other lenders: rows that no machine was fitted to."""
        return replace(self, inputs=inputs, codes=codes)

    def rows(self, asked: Codes, *, draws: int, seed: int) -> tuple[Ints, Numbers]:
        """For each composed row which of the asked combinations it is of, and its inputs (c · draws, d)."""
        place = np.repeat(np.arange(len(asked)), draws)
        lent = np.stack([lenders(self.codes, asked, k, draws=draws, seed=seed) for k in range(asked.shape[1])])
        found = np.empty((len(place), self.inputs.shape[1]))
        for k, rows in enumerate(lent.reshape(len(lent), -1)):
            own = np.flatnonzero(self.owner == k)
            found[:, own] = self.inputs[rows[:, None], own]
            added = np.flatnonzero(self.several & (self.owner == k))
            if len(added):
                effects = self.effects[:, np.searchsorted(np.flatnonzero(self.several), added)]
                there = design_matrix(asked, self.sizes, constant=True)[place]
                moved = there - design_matrix(self.codes, self.sizes, constant=True)[rows]
                found[:, added] += moved @ effects
        return place, found


def parts_of(inputs: Numbers, codes: Codes, asked: Codes) -> InputParts:
    """What the inputs are made up of; `asked` are combinations that may be asked for.

    >>> codes = np.array([(a, b) for a in range(3) for b in range(3) if a + b < 4])
    >>> found = parts_of(np.eye(3)[codes].reshape(-1, 6), codes, np.array([[2, 2]]))
    >>> found.owner.tolist(), found.apart, found.rows(np.array([[2, 2]]), draws=1, seed=0)[1].tolist()
    ([0, 0, 0, 1, 1, 1], 1.0, [[0.0, 0.0, 1.0, 0.0, 0.0, 1.0]])
    """
    sizes = tuple((np.concatenate([codes, asked]).max(axis=0) + 1).tolist())
    centred = inputs - inputs.mean(axis=0)
    total = np.square(centred).sum(axis=0)
    by_factor, degrees = zip(*(_left_by(centred, codes[:, k]) for k in range(codes.shape[1])), strict=True)
    unexplained = np.array(by_factor)  # (k, d)
    owner = unexplained.argmin(axis=0)
    least = unexplained.min(axis=0)
    effects, rank = main_effects(codes, sizes, centred, constant=True)
    residual = np.square(centred - design_matrix(codes, sizes, constant=True) @ effects).sum(axis=0)
    more = np.maximum(rank - np.array(degrees)[owner], 1)
    noise = residual / max(len(codes) - rank, 1)
    several = (least - residual) / more > _BEYOND_CHANCE * noise + _ROUNDING * total / len(codes)
    explained = np.maximum(total - residual - (rank - 1) * noise, 0.0)
    apart = float(explained[~several].sum() / max(float(explained.sum()), _ROUNDING))
    adding = _adding(centred, codes, residual, rank, explained)
    left = float(residual.sum() / max(float(total.sum()), _ROUNDING))
    return InputParts(inputs, codes, sizes, owner, several, effects[:, several], apart, adding, left)


def _left_by(centred: Numbers, values: Codes | Ints) -> tuple[Numbers, int]:
    """(d,) The squares that the means by one factor leave, and how many values it has."""
    kept, place = np.unique(values, return_inverse=True)
    counts = np.bincount(place)
    sums = np.stack([np.bincount(place, column) for column in centred.T], axis=1)
    return np.square(centred).sum(axis=0) - (np.square(sums) / counts[:, None]).sum(axis=0), len(kept)


def _adding(centred: Numbers, codes: Codes, residual: Numbers, rank: int, explained: Numbers) -> float | None:
    """The share of what combinations differ by that adds up, over all inputs; None where any would."""
    place, _ = example_rows.numbered(codes)
    within, combinations = _left_by(centred, place)
    free = combinations - rank
    if free < 1:
        return None
    noise = within / max(len(codes) - combinations, 1)
    missed = max(float((residual - within - free * noise).sum()), 0.0)
    return float(explained.sum()) / max(float(explained.sum()) + missed, _ROUNDING)


def lenders(codes: Codes, asked: Codes, factor: int, *, draws: int, seed: int) -> Ints:
    """(c, draws) For each combination, rows that share this factor's value, and of those that share as many others as
    any does; drawn again where there are few. A value that no row has is lent by rows of any.
    """
    rng = np.random.default_rng(derived(seed, "composed", str(factor)))
    found = np.empty((len(asked), draws), dtype=np.int64)
    for place, one in enumerate(asked):
        shared = (codes == one).sum(axis=1) + codes.shape[1] * (codes[:, factor] == one[factor])
        near = np.flatnonzero(shared == shared.max())
        found[place] = rng.permutation(near)[:draws] if len(near) >= draws else rng.choice(near, draws)
    return found
