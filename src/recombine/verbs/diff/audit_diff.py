"""Two audits: what was seen, what would follow, which answers changed, and the additive rule's score.

A space that is small enough is looked at combination by combination; of a larger one those that were seen in either
table are, and the unseen ones are told by their numbers alone.
"""

import numpy as np
import numpy.typing as npt

from recombine.data.support import Support
from recombine.numerics.groups import Codes, Numbers
from recombine.numerics.hypothesis_tests import absent_by_chance, losses_by_redraw
from recombine.numerics.intervals import difference_interval, interval
from recombine.numerics.predictive_intervals import design_effect
from recombine.numerics.resampling import IntervalSettings, Statistic, difference, explained_difference
from recombine.numerics.simple_rules import ADDITIVE, MEAN
from recombine.verbs.audit.additivity import AdditiveTest, Losses, additive_test
from recombine.verbs.audit.audit import Audit
from recombine.verbs.audit.combination_status import rungs_with_thin
from recombine.verbs.audit.structural_zeros import suspect_zeros
from recombine.verbs.diff.answer_diff import answers
from recombine.verbs.diff.combination_pairs import MergedSpace, ValueNumbering
from recombine.verbs.diff.findings import (
    HELD_OUT,
    NO_VALUE,
    Changes,
    CountChange,
    Findings,
    ScoreChange,
    ValueChange,
    Words,
    changes_at,
    correct_for_many,
    rung_way,
    table_of,
)

LISTED = 100_000
"""Combinations up to which a space is looked at one by one, as in the table of an audit."""
_SHOWN = 20  # values of a factor that are named as new or gone

Mask = npt.NDArray[np.bool_]


def compare(old: Audit, new: Audit, sure: IntervalSettings) -> Findings:
    """What changed from one audit to the next."""
    both = MergedSpace.of(old.support.space, new.support.space)
    listed = both.space.product <= LISTED
    seen = both.pair(old.support.codes, new.support.codes)
    codes = both.space.every() if listed else seen.codes
    answered, notes = answers(old.support, new.support, seen.both)
    scores, unscored = _scores(old, new, both, sure)
    if not listed:
        notes += (
            f"There are {both.space.product:,} combinations: those that were seen in either table were compared one by "
            "one, the unseen ones by their numbers alone.",
        )
    zeros, _ = suspect_zeros(new.support, both.new.unmerge(seen.codes))  # what the old table holds can occur
    if zeros is not None:
        notes += (zeros.sentence,)
    counted = ("space", "seen", "thin", "determined", "undetermined", "novel")
    return Findings(
        table=table_of(both.space, [*_rung_changes(old, new, both, codes, len(seen.codes)), *answered]),
        factors=both.space.names,
        counted=(
            *(CountChange(name, getattr(old.counts, name), getattr(new.counts, name)) for name in counted),
            CountChange("islands", old.island_count, new.island_count),
        ),
        values=value_changes(old.support, new.support, both),
        scores=scores,
        unscored=unscored,
        by_redraw=("lost", "rung") if redrawn(old.support, new.support, both) else (),
        notes=notes,
    )


def redrawn(old: Support, new: Support, both: MergedSpace) -> bool:
    """Whether the combinations that were lost are no more than another draw of rows would lose."""
    if not (_counts_rows(old) and _counts_rows(new)):
        return False
    codes = both.pair(old.codes, new.codes).codes
    return losses_by_redraw(rows_of(old, both.old, codes), rows_of(new, both.new, codes))


def _rungs(audit: Audit, side: ValueNumbering, codes: Codes) -> Words:
    own = side.unmerge(codes)
    return np.where((own < 0).any(axis=1), NO_VALUE, rungs_with_thin(audit.support, audit.determinacy, own))


def _rung_changes(old: Audit, new: Audit, both: MergedSpace, codes: Codes, looked_at: int) -> list[Changes]:
    """Lost, gained, and others whose rung is another; not the unseen ones of a value that came or went as a whole."""
    was, now = _rungs(old, both.old, codes), _rungs(new, both.new, codes)
    before, after = (np.isin(rung, ("seen", "thin")) for rung in (was, now))
    old_rows, new_rows = rows_of(old.support, both.old, codes), rows_of(new.support, both.new, codes)
    known = (was != NO_VALUE) & (now != NO_VALUE)
    lost, gained = before & ~after, ~before & after
    either = lost | gained
    p, q = np.full(len(codes), np.nan), np.full(len(codes), np.nan)
    if _counts_rows(old.support) and _counts_rows(new.support):
        p[lost] = absent_by_chance(old_rows[lost], old.support.total, new.support.total)
        p[gained] = absent_by_chance(new_rows[gained], new.support.total, old.support.total)
    q[either] = correct_for_many(p[either], looked_at - int(either.sum()))
    chosen = {"lost": lost, "gained": gained, "rung": ~either & known & (was != now)}
    numbers = (old_rows, new_rows, p, q)
    return [changes_at(mask, codes, what, was, now, rung_way, numbers) for what, mask in chosen.items()]


def rows_of(support: Support, side: ValueNumbering, codes: Codes) -> Numbers:
    """How many rows of each combination there are."""
    place = support.groups(range(codes.shape[1])).lookup(side.unmerge(codes))
    return np.where(place >= 0, support.counts[np.maximum(place, 0)], 0.0) if len(support) else np.zeros(len(codes))


def _counts_rows(support: Support) -> bool:
    """Whether counts are rows: weights say how many examples a row stands for, and not how many were drawn."""
    return "weight" not in support.source.settings and bool((support.counts == np.round(support.counts)).all())


def value_changes(old: Support, new: Support, both: MergedSpace) -> tuple[ValueChange, ...]:
    """Which values, or elements of sets, are seen in one table alone."""
    found = []
    for k, factor in enumerate(both.space.factors):
        before, after = (
            _values_seen(support, side, k, factor.kind.effects) for support, side in ((old, both.old), (new, both.new))
        )
        gained, lost = np.flatnonzero(after & ~before), np.flatnonzero(before & ~after)
        if len(gained) or len(lost):
            fresh, gone = (tuple(factor.effect_labels[v] for v in which[:_SHOWN]) for which in (gained, lost))
            found.append(ValueChange(factor.name, len(gained), len(lost), fresh, gone))
    return tuple(found)


def _values_seen(support: Support, side: ValueNumbering, k: int, size: int) -> Mask:
    counts = support.effect_counts[side.order[k]]
    seen = np.zeros(size, dtype=bool)
    seen[side.merged[k][counts > 0]] = True
    return seen


def _scores(
    old: Audit, new: Audit, both: MergedSpace, sure: IntervalSettings
) -> tuple[tuple[ScoreChange, ...], str | None]:
    """The additive rule on the combinations that could be held out in both tables."""
    if old.support.target is None and new.support.target is None:
        return (), None
    first, second = (additive_test(one.support, additive_only=True) for one in (old, new))
    if first is None or second is None:
        return (), f"only the {'new' if first is None else 'old'} audit has a target"
    for (test, _), name in ((first, "old"), (second, "new")):
        if test.reason is not None:
            return (), f"the {name} audit has no score: {test.reason}"
    return (_additive(first, second, both, sure),), None


def _additive(
    old: tuple[AdditiveTest, Losses], new: tuple[AdditiveTest, Losses], both: MergedSpace, sure: IntervalSettings
) -> ScoreChange:
    found = both.pair(old[1].codes, new[1].codes).both
    own, other = old[1].of_rule[ADDITIVE][found.old], new[1].of_rule[ADDITIVE][found.new]
    share, same = old[0].kind == "label", len(own) > 0 and np.array_equal(own, other)
    if share:
        apart: Statistic = difference(np.ones(len(own)), 1 - own, 1 - other)
        ends = difference_interval(apart, sure, "additive", share=True)
        before, after = (1 - float(part.mean()) if len(own) else None for part in (own, other))
    else:
        constants = old[1].of_rule[MEAN][found.old], new[1].of_rule[MEAN][found.new]
        apart = explained_difference(own, constants[0], other, constants[1])
        ends = interval(apart, sure, "additive")
        before, after = _explained(own, constants[0]), _explained(other, constants[1])
        same = same and np.array_equal(*constants)
    value = apart.of_all if len(own) and np.isfinite(apart.of_all) else None
    if ends is not None and value is not None:
        # errors of combinations with a value in common come together: the interval allows for it
        moved = apart.parts @ apart.slope(apart.parts.sum(axis=0))
        wider = float(np.sqrt(design_effect(moved, found.codes)))
        ends = value - wider * (value - ends[0]), value + wider * (ends[1] - value)
    else:
        ends = None
    values, size = (before, after, value), len(found.codes)
    return ScoreChange.of(HELD_OUT, old[0].score, values, ends, share=share, combinations=size, same=same)


def _explained(lost: Numbers, constant: Numbers) -> float | None:
    return float(1 - lost.sum() / constant.sum()) if constant.sum() > 0 else None
