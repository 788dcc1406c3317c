"""A table that is too large for one likelihood, cut into parts whose likelihoods are added up.

A part holds some values of each factor and every combination among them, because a conjunction shows its effect only
where it is seen together with several others: combinations taken at random would thin the groups out. Many small parts
tell more than one large one at the same cost (`benchmarks/estimate.py` measures it).
"""

from collections.abc import Sequence

import numpy as np

from recombine.algebra.groups import Codes, Groups, Ints
from recombine.theory.estimation.components import Component, by_set, masks_of
from recombine.theory.estimation.likelihood import Data, Dual, Piece, Primal
from recombine.words import count

_PARTS = 20  # into which a table is cut that is too large for one likelihood
_FEW_VALUES = 4  # of each factor are in every part


def pieces_of(
    data: Data, components: Sequence[Component], groups: dict[int, Groups], *, seed: int, most: int
) -> tuple[list[Piece], list[str]]:
    """The whole table where one likelihood can hold it; else parts of it, with a word about that."""
    n, chosen = len(data.codes), tuple(components)
    unknowns = sum(groups[mask].size for mask in masks_of(chosen))
    if 0 < unknowns <= min(most, 0.7 * n):
        return [Primal(data, chosen, groups)], []
    if n <= most:
        return [Dual(data, chosen, groups)], []
    parts = parts_of(data.codes, data.sizes, parts=_PARTS, most=max(most // 3, 3), seed=seed)
    used = len(np.unique(np.concatenate(parts)))
    pieces: list[Piece] = [
        Dual(part, chosen, by_set(part.codes, part.sizes, masks_of(chosen))) for part in map(data.part, parts)
    ]
    return pieces, [f"estimated from {count(used)} of {count(n)} combinations"]


def parts_of(codes: Codes, sizes: tuple[int, ...], *, parts: int, most: int, seed: int) -> list[Ints]:
    """Combinations of each of several parts: among some values of each factor, all that were seen.

    The values of each factor are put in a random order. A combination is in the part when all of its values come
    early enough in theirs; how early is as late as `most` combinations allow.
    """
    chance = np.random.default_rng(seed)
    return [_subgrid(codes, sizes, most, chance) for _ in range(parts)]


def _subgrid(codes: Codes, sizes: tuple[int, ...], most: int, chance: np.random.Generator) -> Ints:
    level = np.zeros(len(codes))
    for column, size in zip(codes.T, sizes, strict=True):
        place = chance.permutation(size)
        level = np.maximum(level, np.where(place < _FEW_VALUES, 0.0, (place + 1) / size)[column])
    level += chance.random(len(codes)) / (2 * max(sizes))  # among the last value's, some
    return np.sort(np.argsort(level, kind="stable")[:most])
