"""Which sets of factors share a weight, and which have none of their own.

A weight can be estimated only where the seen combinations tell it from the others: not where no two of them agree on
the set, not where all do, and not where other sets group them alike. And many weights at once cost time and are known
badly: with many factors, sets of the same size share one. What is left out is said in notes, because a weight of zero
that nobody could have measured must not read like one that was measured.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from recombine.algebra.groups import Codes, Groups, Numbers, group
from recombine.theory.salience import members
from recombine.words import count, listing

_MOST_SINGLE = 15  # weights that are told apart one by one; above that, one for each number of factors
_MOST_CELLS = 2 * 10**7  # sets of factors times combinations
_TELLING = 0.5


@dataclass(frozen=True)
class Component:
    """Some sets of factors that share one weight."""

    masks: tuple[int, ...]


def masks_of(components: Iterable[Component]) -> list[int]:
    """Every set of factors of some components."""
    return [mask for component in components for mask in component.masks]


def _named(mask: int, names: Sequence[str]) -> str:
    return " × ".join(names[place] for place in members(mask))


def by_set(codes: Codes, sizes: tuple[int, ...], masks: Iterable[int]) -> dict[int, Groups]:
    """The groups of some sets of factors, each built on those without its last factor."""
    known: dict[int, Groups] = {}
    for mask in sorted(masks):
        factors = members(mask)
        known[mask] = group(codes, sizes=sizes, factors=factors, parent=known.get(mask ^ 1 << factors[-1]))
    return known


def groups_of(codes: Codes, sizes: tuple[int, ...]) -> tuple[dict[int, Groups], list[str]]:
    """The groups of every set of factors but the whole; of small sets only, where there are too many."""
    factors, n = len(sizes), len(codes)
    order = _highest_order(factors, n)
    sets = [mask for mask in range(1, 2**factors - 1) if mask.bit_count() <= order]
    note = f"conjunctions of more than {order} factors are part of the whole combination's weight"
    return by_set(codes, sizes, sets), [note] if order < factors - 1 else []


def components_of(groups: dict[int, Groups], names: Sequence[str]) -> tuple[list[Component], list[str]]:
    """One component for each set of factors, or, with many sets, for each number of factors."""
    alone = [mask for mask, one in groups.items() if one.size == len(one.ids)]
    same = [mask for mask, one in groups.items() if one.size == 1]
    notes = []
    if alone:
        notes.append(
            f"{_some(alone, names)}: no two combinations agree on it, so its weight is the whole combination's"
        )
    if same:
        notes.append(f"{_some(same, names)}: all combinations agree on it, so it has no weight")
    useful = sorted(groups.keys() - {*alone, *same}, key=lambda mask: (mask.bit_count(), mask))
    if 2 ** len(names) - 1 <= _MOST_SINGLE:
        return [Component((mask,)) for mask in useful], notes
    notes.append("conjunctions of the same number of factors share one weight")
    orders = groupby(useful, key=int.bit_count)
    return [Component(tuple(masks)) for _, masks in orders], notes


def _highest_order(factors: int, combinations: int) -> int:
    """The largest conjunctions whose sets can all be grouped in reasonable time and memory; at least single factors."""
    order, sets = 1, factors
    while order < factors - 1:
        sets += math.comb(factors, order + 1)
        if sets * combinations > _MOST_CELLS:
            break
        order += 1
    return max(min(order, factors - 1), 1)


def _titled(component: Component, names: Sequence[str]) -> str:
    """A component in a sentence."""
    first = component.masks[0]
    return _named(first, names) if len(component.masks) == 1 else f"conjunctions of {first.bit_count()} factors"


def _some(masks: Sequence[int], names: Sequence[str]) -> str:
    """Sets of factors in a sentence."""
    return _shortened([_named(mask, names) for mask in masks])


def _shortened(items: Sequence[str]) -> str:
    """Things in a sentence, the first few of them."""
    return listing(items) if len(items) <= 3 else f"{', '.join(items[:3])} and {count(len(items) - 3)} more"


def tell_apart(
    overlap: Numbers, own: Numbers, components: Sequence[Component], names: Sequence[str]
) -> tuple[list[int], list[str]]:
    """The components whose kernels are no mixture of the whole combination's and of those before them.

    Lower orders come first: where two explain the same, the simpler one is kept. What is left of a kernel when the
    others are taken out says how well its weight can be known: sqrt(2 / rest) is its standard error in units of the
    answers' variance, were the others all noise. Where that exceeds twice the variance, the answers do not tell.

    `overlap` and `own` are those of the likelihood's pieces: (c, c) and (c,), the whole combination's last.
    """
    last = len(components)
    kept: list[int] = [last]
    lost: list[int] = []
    for place in range(last):
        inner, edge = overlap[np.ix_(kept, kept)], overlap[kept, place]
        rest = overlap[place, place] - edge @ np.linalg.lstsq(inner, edge, rcond=None)[0]
        (kept if rest > _TELLING * own[place] ** 2 else lost).append(place)
    said = [_titled(components[place], names) for place in lost]
    told = [f"{_shortened(said)}: cannot be told from the others, which hold its weight"] if said else []
    return [place for place in kept if place != last], told
