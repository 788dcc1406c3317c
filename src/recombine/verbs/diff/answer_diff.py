"""What the seen combinations answer, in two tables: whose commonest label, or mean, is another one now.

Of labels every combination is told whose commonest label changed, and how likely that is by chance; of numbers, whose
means hardly ever stay the same, only those that moved by more than chance.
"""

import numpy as np
import numpy.typing as npt

from recombine.base.words import amount, measure
from recombine.data.space import Factor
from recombine.data.support import LabelTarget, NumberTarget, Support
from recombine.numerics.groups import Ints, Numbers, number, totals
from recombine.numerics.hypothesis_tests import means_differ, shares_differ
from recombine.verbs.diff.combination_pairs import PairedCombinations
from recombine.verbs.diff.findings import RATE, Changes, changes_at, correct_for_many

WHAT = "answer"

Mask = npt.NDArray[np.bool_]


def answers(old: Support, new: Support, both: PairedCombinations) -> tuple[list[Changes], tuple[str, ...]]:
    """The combinations of both tables whose answer changed, and what cannot be told."""
    first, second = old.target, new.target
    rows = old.counts[both.old], new.counts[both.new]
    if isinstance(first, LabelTarget) and isinstance(second, LabelTarget):
        return [_labels(first, second, both, rows)], ()
    if isinstance(first, NumberTarget) and isinstance(second, NumberTarget):
        return _numbers(first, second, both, rows)
    return [], ()


def _labels(old: LabelTarget, new: LabelTarget, both: PairedCombinations, rows: tuple[Numbers, Numbers]) -> Changes:
    """Fisher's test of the label that both tables together have most of, which looks at neither alone."""
    known = Factor("label", old.classes)
    numbers = np.array([known.code(value) for value in new.classes], dtype=np.int64).reshape(-1)
    numbers[numbers < 0] = len(old.classes) + np.arange(int((numbers < 0).sum()))
    fresh = [value for value, place in zip(new.classes, numbers, strict=True) if place >= len(old.classes)]
    names = Factor("label", (*old.classes, *fresh)).labels
    size, width = len(both.codes), max(len(names), 1)
    first, first_counts = _keys(old, both.old, np.arange(len(old.classes)), size, width)
    second, second_counts = _keys(new, both.new, numbers, size, width)
    keys, ids = number(np.concatenate([first, second]), size * width + 1)
    before, after = (
        totals(ids[: len(first)], first_counts, len(keys)),
        totals(ids[len(first) :], second_counts, len(keys)),
    )
    cell, label = keys // width, keys % width
    top_before, top_after = _commonest(cell, before, size), _commonest(cell, after, size)
    shared = totals(cell, (top_before & top_after).astype(float), size) > 0
    answered = (totals(cell, before, size) > 0) & (totals(cell, after, size) > 0)
    p = _fisher(cell, before, after, size)
    q = correct_for_many(p)
    was, now = (_name_commonest(cell, label, top, size, names) for top in (top_before, top_after))
    chosen = answered & (~shared | (np.nan_to_num(q, nan=1.0) <= RATE))
    return changes_at(chosen, both.codes, WHAT, was, now, numbers=(*rows, p, q))


def _keys(target: LabelTarget, places: Ints, labels: Ints, size: int, width: int) -> tuple[Ints, Numbers]:
    """Each line of a target as one number, of its combination among those of both tables and its label."""
    back = np.full(max(int(target.combination.max(initial=-1)), int(places.max(initial=-1))) + 1, -1, dtype=np.int64)
    back[places] = np.arange(size)
    cell = back[target.combination]
    keep = (cell >= 0) & (target.count > 0)
    return cell[keep] * width + labels[target.label[keep]], target.count[keep]


def _commonest(cell: Ints, count: Numbers, size: int) -> Mask:
    """Which lines hold the most of their combination; several where they tie."""
    most = np.zeros(size)
    np.maximum.at(most, cell, count)
    return np.asarray((count > 0) & (count == most[cell]))


def _fisher(cell: Ints, before: Numbers, after: Numbers, size: int) -> Numbers:
    pooled = before + after
    order = np.lexsort((-pooled, cell))
    _, first = np.unique(cell[order], return_index=True)
    chosen = order[first]
    of = [totals(cell, part, size)[cell[chosen]] for part in (before, after)]
    whole = all(np.array_equal(part, np.round(part)) for part in (before, after))
    p = np.full(size, np.nan)
    if whole and len(chosen):
        p[cell[chosen]] = shares_differ(before[chosen], of[0], after[chosen], of[1])
    return p


def _name_commonest(cell: Ints, label: Ints, top: Mask, size: int, names: tuple[str, ...]) -> list[str | None]:
    """The commonest label of each combination; of several the first in order."""
    found: list[str | None] = [None] * size
    for place, which in zip(cell[top][::-1].tolist(), label[top][::-1].tolist(), strict=True):
        found[place] = names[which]
    return found


def _numbers(
    old: NumberTarget, new: NumberTarget, both: PairedCombinations, rows: tuple[Numbers, Numbers]
) -> tuple[list[Changes], tuple[str, ...]]:
    first, second = old.subset(both.old), new.subset(both.new)
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = [part.scatter / (part.count - 1) for part in (first, second)]
    apart = second.mean - first.mean
    p = means_differ(apart, spread[0], first.count, spread[1], second.count)
    q = correct_for_many(p)
    where = np.flatnonzero(np.nan_to_num(q, nan=1.0) <= RATE)
    moved = np.abs(apart) > 1e-9 * np.maximum(np.abs(first.mean), np.abs(second.mean))
    unknown = int((moved & np.isnan(p)).sum())
    note = (
        f"The mean {old.name} of {amount(unknown, 'more combination')} is another; with a single row, or rows that are "
        "all alike, nothing tells change from chance."
    )
    was, now = ([measure(value) for value in part.mean[where]] for part in (first, second))
    numbers = [part[where] for part in (*rows, p, q)]
    changes = Changes(both.codes[where], WHAT, was, now, ["other"] * len(where), *numbers)
    return [changes], ((note,) if unknown else ())
