"""Two evaluations: the score on the combinations that both tested, side by side, and which of them got better or worse.

A side's score is compared combination by combination, each with the same weight before and now: if a hard combination
has more rows in the new table, the score does not fall for that. The weight is the harmonic mean of its rows, which is
their number where both tables have as many.

Where whole blocks were held out, what is drawn again are the blocks, as in the evaluations themselves: a model that
has learned another rule answers all of a block otherwise, and that is one piece of evidence.
"""

import numpy as np

from recombine.base.words import measure, percent
from recombine.data.support import Support
from recombine.numerics.groups import Ints, Numbers
from recombine.numerics.hypothesis_tests import means_differ, shares_differ
from recombine.numerics.intervals import difference_interval
from recombine.numerics.resampling import FEWEST, IntervalSettings, Statistic, difference, mean, r2, r2_difference
from recombine.verbs.diff.audit_diff import Mask, redrawn, value_changes
from recombine.verbs.diff.combination_pairs import MergedSpace, PairedCombinations
from recombine.verbs.diff.findings import (
    RATE,
    Changes,
    CountChange,
    Findings,
    ScoreChange,
    changes_at,
    correct_for_many,
    rung_way,
    table_of,
)
from recombine.verbs.evaluate.evaluation import Evaluation
from recombine.verbs.evaluate.outcomes import Outcomes
from recombine.verbs.evaluate.scores import truth_of


def compare(old: Evaluation, new: Evaluation, sure: IntervalSettings) -> Findings:
    """What changed from one evaluation to the next."""
    first, second = old.outcomes, new.outcomes
    both = MergedSpace.of(first.tested.space, second.tested.space)
    found = both.pair(first.tested.codes, second.tested.codes)
    common, scores = found.both, _scores(first, second, found.both, sure)
    was, now = first.rung[common.old], second.rung[common.new]
    rows = first.rows[common.old], second.rows[common.new]
    changes = [
        *_tested_once(first, second, found),
        changes_at(was != now, common.codes, "rung", was, now, rung_way, rows),
        _score_changes(first, second, common),
    ]
    return Findings(
        table=table_of(both.space, changes),
        factors=both.space.names,
        counted=_counted(old, new),
        values=value_changes(first.tested, second.tested, both),
        scores=scores,
        unscored=None if scores else "no combination was tested in both",
        by_redraw=_by_redraw(first, second, both),
    )


def _by_redraw(old: Outcomes, new: Outcomes, both: MergedSpace) -> tuple[str, ...]:
    """What is tested follows the tested rows, and on which rung it stands those of training."""
    trained = None
    if old.training is not None and new.training is not None:
        trained = redrawn(old.training, new.training, MergedSpace.of(old.training.space, new.training.space))
    asked = {"lost": redrawn(old.tested, new.tested, both), "rung": trained}
    return tuple(what for what, yes in asked.items() if yes)


def _counted(old: Evaluation, new: Evaluation) -> tuple[CountChange, ...]:
    sides = {side.name: side.combinations for side in old.sides}, {side.name: side.combinations for side in new.sides}
    named = [
        CountChange(f"{name} combinations tested", sides[0][name], sides[1][name])
        for name in ("seen", "unseen", "novel")
        if sides[0][name] or sides[1][name]
    ]
    total = CountChange("combinations tested", len(old.outcomes), len(new.outcomes))
    rows = CountChange("rows tested", round(old.outcomes.rows.sum()), round(new.outcomes.rows.sum()))
    trained = [0 if one.outcomes.training is None else len(one.outcomes.training) for one in (old, new)]
    return (total, *named, rows, CountChange("combinations trained on", trained[0], trained[1]))


def _tested_once(old: Outcomes, new: Outcomes, pairs: PairedCombinations) -> list[Changes]:
    """The combinations that were tested once only."""
    lost, gained = pairs.new < 0, pairs.old < 0
    # place -1 stands for the last one, which is not looked at where a combination is in one alone
    was, now = (source.rung[places] for source, places in ((old, pairs.old), (new, pairs.new)))
    rows, new_rows = old.rows[pairs.old], new.rows[pairs.new]
    nothing = np.zeros(len(pairs.codes))
    return [
        changes_at(lost, pairs.codes, "lost", was, "not tested", "worse", (rows, nothing)),
        changes_at(gained, pairs.codes, "gained", "not tested", now, "better", (nothing, new_rows)),
    ]


def _score_changes(old: Outcomes, new: Outcomes, both: PairedCombinations) -> Changes:
    """Which combinations score otherwise by more than chance, held to how many there are."""
    before, after = old.mean[both.old], new.mean[both.new]
    rows, new_rows = old.rows[both.old], new.rows[both.new]
    p = _chance(old, new, both)
    q = correct_for_many(p)
    higher = old.score.rows_better == "higher"
    written = percent if old.score.is_share else measure
    where = np.flatnonzero(np.nan_to_num(q, nan=1.0) <= RATE)
    was, now = ([written(float(value)) for value in means[where]] for means in (before, after))
    ways = ["better" if up == higher else "worse" for up in (after > before)[where]]
    return Changes(both.codes[where], "score", was, now, ways, *(part[where] for part in (rows, new_rows, p, q)))


def _chance(old: Outcomes, new: Outcomes, both: PairedCombinations) -> Numbers:
    """Fisher's test of right answers, Welch's of any other score; as if the two had been given other rows."""
    rows, new_rows = old.rows[both.old], new.rows[both.new]
    right, now_right = old.total[both.old], new.total[both.new]
    counts = (right, rows, now_right, new_rows)
    if old.score.is_share and all(np.array_equal(part, np.round(part)) for part in counts):
        return shares_differ(*counts) if len(rows) else np.zeros(0)
    apart = new.mean[both.new] - old.mean[both.old]
    return means_differ(apart, old.spread[both.old], rows, new.spread[both.new], new_rows)


def _scores(old: Outcomes, new: Outcomes, both: PairedCombinations, sure: IntervalSettings) -> tuple[ScoreChange, ...]:
    """The sides that both know, the unseen one first; the more of them are compared, the surer each must be."""
    if not len(both.codes):
        return ()
    trained = old.training is not None and new.training is not None
    sides: dict[str, Mask] = {}
    if trained:
        sides["unseen"] = old.unseen[both.old] & new.unseen[both.new]
        sides["novel"] = old.novel[both.old] & new.novel[both.new]
        sides["seen"] = old.seen[both.old] & new.seen[both.new]
    if not any(mask.any() for mask in sides.values()):
        sides = {"tested": np.ones(len(both.codes), dtype=bool)}
    asked = max(sum(int(mask.sum()) >= FEWEST for mask in sides.values()), 1)
    settings = sure.of_many(asked)
    return tuple(_score(name, old, new, both, mask, settings) for name, mask in sides.items() if mask.any())


def _score(
    name: str, old: Outcomes, new: Outcomes, both: PairedCombinations, mask: Mask, settings: IntervalSettings
) -> ScoreChange:
    chosen = PairedCombinations(both.codes[mask], both.old[mask], both.new[mask])
    before, after, apart = _statistics(old, new, chosen)
    apart = apart.by_piece(_pieces(old, new, chosen))
    share, value = old.score.is_share, apart.of_all
    same = np.array_equal(old.mean[both.old[mask]], new.mean[both.new[mask]])
    ends = difference_interval(apart, settings, f"difference {name}", share=share) if np.isfinite(value) else None
    known = [float(one.of_all) if np.isfinite(one.of_all) else None for one in (before, after, apart)]
    return ScoreChange.of(
        name,
        old.score.name,
        (known[0], known[1], known[2]),
        ends,
        share=share,
        combinations=int(mask.sum()),
        same=same,
        better=old.score.better,
        pieces=apart.combinations if apart.combinations < int(mask.sum()) else None,
    )


def _pieces(old: Outcomes, new: Outcomes, both: PairedCombinations) -> Ints:
    """Which combinations are one piece of evidence: of the two evaluations' own pieces the fewer, hence larger ones.

    They differ where the two were trained on other combinations. A difference is no surer than the less sure of its
    two scores, and joining both kinds of pieces would often make one of all combinations.
    """
    return min(old.pieces[both.old], new.pieces[both.new], key=lambda pieces: len(np.unique(pieces)))


def _statistics(old: Outcomes, new: Outcomes, both: PairedCombinations) -> tuple[Statistic, Statistic, Statistic]:
    rows, new_rows = old.rows[both.old], new.rows[both.new]
    weight = 2 * rows * new_rows / (rows + new_rows)
    own, other = weight * old.mean[both.old], weight * new.mean[both.new]
    if old.score.name != "r2":
        return mean(weight, own), mean(weight, other), difference(weight, own, other)
    total, squares = _truth(old, new, both, weight)
    return (
        r2(weight, own, total, squares),
        r2(weight, other, total, squares),
        r2_difference(weight, own, other, total, squares),
    )


def _truth(old: Outcomes, new: Outcomes, both: PairedCombinations, weight: Numbers) -> tuple[Numbers, Numbers]:
    """The truth's sums and sums of squares, halfway between those of both tables: one spread to hold both errors to."""
    shift = _shift(old.tested)
    parts = []
    for outcomes, places in ((old, both.old), (new, both.new)):
        total, squares = truth_of(outcomes)[:, places] / outcomes.rows[places]
        moved = _shift(outcomes.tested) - shift  # sums about one number, to be added to sums about another
        parts.append((total + moved, squares + 2 * moved * total + moved**2))
    total, squares = (weight * (one + other) / 2 for one, other in zip(*parts, strict=True))
    return total, squares


def _shift(tested: Support) -> float:
    return float(getattr(tested.target, "shift", 0.0))
