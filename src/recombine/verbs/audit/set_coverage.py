"""What was seen of a factor whose value is a set: element by element, size by size, and what unseen sets consist of.

An unseen set stands on one of three rungs, by what its elements were seen in: *all seen alone*, *seen with others only*
(at least one of them), *one never seen*. They are counted, not listed.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from recombine.base.words import amount, listing
from recombine.data.sets import Sets
from recombine.data.support import Support
from recombine.numerics.groups import Codes
from recombine.verbs.audit.determined_space import Determinacy
from recombine.verbs.audit.set_determinacy import SetDeterminacy

ALONE, TOGETHER, NEVER = RUNGS = ("all seen alone", "seen with others only", "one never seen")


@dataclass(frozen=True)
class SizeCoverage:
    """Sets of one size: how many there could be, how many were seen, and how many would follow, seen ones included.

    `determined` is None where other factors stand beside the set, or where it was not counted.
    """

    size: int
    possible: int
    seen: int
    determined: int | None


@dataclass(frozen=True)
class SetCoverage:
    """One set factor: its elements, its sizes, and what its unseen sets consist of."""

    name: str
    elements: int
    seen: int
    alone: int
    by_size: tuple[SizeCoverage, ...]
    all_seen_alone: int
    seen_with_others_only: int
    one_never_seen: int
    level_open: bool
    """Whether all seen sets are equally large, and nothing tells the level from the mean effect."""
    exact: bool = True

    @property
    def sentence(self) -> str:
        """Of what the unseen sets consist."""
        rungs = [
            (self.all_seen_alone, "of elements that were each seen alone"),
            (self.seen_with_others_only, "with an element that was only seen with others"),
            (self.one_never_seen, "with an element that was never seen"),
        ]
        said = [f"{number:,} {words}" for number, words in rungs if number]
        return f"Sets of {self.name} that were not seen: {listing(said)}." if said else ""


def set_coverage(support: Support, solved: Determinacy) -> tuple[SetCoverage, ...]:
    """The coverage of every set factor."""
    if not isinstance(solved, SetDeterminacy):
        return ()
    return tuple(_coverage(support, solved, k) for k in support.space.set_factors)


def _coverage(support: Support, solved: SetDeterminacy, k: int) -> SetCoverage:
    factor = support.space.factors[k]
    sets = factor.values
    if not isinstance(sets, Sets):  # pragma: no cover - only set factors are asked for
        raise TypeError(factor.name)
    held = np.unique(support.codes[:, k])
    rows = sets.rows(held)
    seen = rows.counts() > 0
    alone = element_alone(support, k)
    of_alone = int((rows.sums((~alone).astype(np.int64)) == 0).sum())
    largest = rows.lengths.max(initial=0)
    sizes = np.bincount(rows.lengths, minlength=sets.largest + 1)
    single = len(support.space.factors) == 1 and not support.space.impossible
    by_size = tuple(
        SizeCoverage(
            size,
            sets.of_size(size).could,
            int(sizes[size]),
            solved.count_of_size(size) if single and solved.exact else None,
        )
        for size in sets.sizes
    )
    unseen = sets.could - len(held)
    all_alone = sets.ways(int(alone.sum())) - of_alone
    never = sets.could - sets.ways(int(seen.sum()))
    return SetCoverage(
        name=factor.name,
        elements=len(sets.elements),
        seen=int(seen.sum()),
        alone=int(alone.sum()),
        by_size=by_size,
        all_seen_alone=all_alone,
        seen_with_others_only=unseen - all_alone - never,
        one_never_seen=never,
        level_open=bool(solved.effects.constant and len(held) > 0 and (rows.lengths == largest).all() and largest > 0),
        exact=solved.exact,
    )


def element_alone(support: Support, k: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which elements of a set factor were seen in a set of their own."""
    sets = support.space.factors[k].kind
    rows = sets.rows(np.unique(support.codes[:, k]))
    alone = np.zeros(rows.width, dtype=bool)
    alone[rows.columns[rows.starts[:-1][rows.lengths == 1]]] = True
    return alone


def element_rungs(support: Support, codes: Codes) -> list[str]:
    """By what its elements were seen in, the rung of each combination: the lowest of its set factors."""
    worst = np.zeros(len(codes), dtype=np.int64)
    for k in support.space.set_factors:
        rows = support.space.factors[k].kind.rows(codes[:, k])
        seen = support.space.factors[k].kind.rows(support.codes[:, k]).counts() > 0
        never = (rows.sums((~seen).astype(np.int64)) > 0) | (codes[:, k] < 0)
        others = rows.sums((~element_alone(support, k)).astype(np.int64)) > 0
        worst = np.maximum(worst, np.where(never, 2, np.where(others, 1, 0)))
    return [RUNGS[place] for place in worst.tolist()]


def open_sentence(sets: Sequence[SetCoverage]) -> str:
    """Why some sets do not follow, as the end of a sentence."""
    level = next((one for one in sets if one.level_open), None)
    if level is not None:
        size = level.by_size[-1].size
        return (
            f"all seen sets of {level.name} hold {amount(size, 'element')}, and nothing tells the level from the mean "
            "effect: one set of another size would"
        )
    names = listing([one.name for one in sets])
    return f"some elements of {names} were only ever given together with others, and their effects cannot be told apart"
