"""Two evaluations: the score on the combinations that both tested, side by side, and which of them got better or worse.

A side's score is compared combination by combination, each with the same weight before and now: if a hard combination
has more rows in the new table, the score does not fall for that. The weight is the harmonic mean of its rows, which is
their number where both tables have as many.
"""

import numpy as np

from recombine.base.words import measure, percent
from recombine.data.support import Support
from recombine.numerics.groups import Numbers
from recombine.numerics.hypothesis_tests import bonferroni, means_differ, shares_differ
from recombine.numerics.intervals import difference_interval
from recombine.numerics.resampling import FEWEST, IntervalSettings, Statistic, difference, mean, r2, r2_difference
from recombine.verbs.diff.audit_diff import Mask, value_changes
from recombine.verbs.diff.combination_pairs import MergedSpace, PairedCombinations, paired
from recombine.verbs.diff.findings import (
    RATE,
    Changes,
    CountChange,
    Findings,
    ScoreChange,
    held_to_many,
    outcome,
    table_of,
)
from recombine.verbs.evaluate.evaluation import Evaluation
from recombine.verbs.evaluate.outcomes import Outcomes
from recombine.verbs.evaluate.scores import truth_of

_HEIGHT = {"seen": 3, "determined": 2, "undetermined": 1, "novel": 0}


def compare(old: Evaluation, new: Evaluation, sure: IntervalSettings) -> Findings:
    """What changed from one evaluation to the next."""
    first, second = old.outcomes, new.outcomes
    both = MergedSpace.of(first.tested.space, second.tested.space)
    found = paired(both.space, both.old.merge(first.tested.codes), both.new.merge(second.tested.codes))
    scores = _scores(first, second, found.both, sure)
    changes = [
        *_come_and_gone(first, second, found),
        _rungs(first, second, found.both),
        _moved(first, second, found.both),
    ]
    return Findings(
        table=table_of(both.space, changes),
        factors=both.space.names,
        counted=_counted(old, new),
        values=value_changes(first.tested, second.tested, both),
        scores=scores,
        unscored=None if scores else "no combination was tested in both",
    )


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


def _come_and_gone(old: Outcomes, new: Outcomes, found: PairedCombinations) -> list[Changes]:
    parts = []
    for what, here, there, source in (("lost", found.old, found.new, old), ("gained", found.new, found.old, new)):
        where = np.flatnonzero(there < 0)
        rung, rows = source.rung[here[where]].tolist(), source.rows[here[where]]
        none, nothing = ["not tested"] * len(where), np.zeros(len(where))
        was, now = (rung, none) if what == "lost" else (none, rung)
        before, after = (rows, nothing) if what == "lost" else (nothing, rows)
        way = ["worse" if what == "lost" else "better"] * len(where)
        parts.append(Changes(found.codes[where], what, was, now, way, old_rows=before, new_rows=after))
    return parts


def _rungs(old: Outcomes, new: Outcomes, both: PairedCombinations) -> Changes:
    was, now = old.rung[both.old], new.rung[both.new]
    where = np.flatnonzero(was != now)
    return Changes(
        both.codes[where],
        "rung",
        was[where].tolist(),
        now[where].tolist(),
        [_way(str(was[place]), str(now[place])) for place in where],
        old.rows[both.old][where],
        new.rows[both.new][where],
    )


def _way(was: str, now: str) -> str:
    if was not in _HEIGHT or now not in _HEIGHT:
        return "other"
    return "better" if _HEIGHT[now] > _HEIGHT[was] else "worse"


def _moved(old: Outcomes, new: Outcomes, both: PairedCombinations) -> Changes:
    """Which combinations score otherwise by more than chance, held to how many there are."""
    before, after = old.mean[both.old], new.mean[both.new]
    rows, new_rows = old.rows[both.old], new.rows[both.new]
    p = _chance(old, new, both)
    q = held_to_many(p)
    where = np.flatnonzero(np.nan_to_num(q, nan=1.0) <= RATE)
    up = (after > before)[where]
    higher = old.score.rows_better == "higher"
    written = percent if old.score.is_share else measure
    return Changes(
        both.codes[where],
        "score",
        [written(float(value)) for value in before[where]],
        [written(float(value)) for value in after[where]],
        ["better" if one == higher else "worse" for one in up],
        *(part[where] for part in (rows, new_rows, p, q)),
    )


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
    settings = IntervalSettings(sure.draws, 1 - bonferroni(1 - sure.confidence, asked), sure.seed)
    return tuple(_score(name, old, new, both, mask, settings) for name, mask in sides.items() if mask.any())


def _score(
    name: str, old: Outcomes, new: Outcomes, both: PairedCombinations, mask: Mask, settings: IntervalSettings
) -> ScoreChange:
    before, after, apart = _statistics(old, new, PairedCombinations(both.codes[mask], both.old[mask], both.new[mask]))
    share, value = old.score.is_share, apart.of_all
    same = np.array_equal(old.mean[both.old[mask]], new.mean[both.new[mask]])
    ends = difference_interval(apart, settings, f"difference {name}", share=share) if np.isfinite(value) else None
    low, high = ends or (None, None)
    known = [float(one.of_all) if np.isfinite(one.of_all) else None for one in (before, after, apart)]
    return ScoreChange(
        name=name,
        score=old.score.name,
        share=share,
        better=old.score.better,
        combinations=int(mask.sum()),
        old=known[0],
        new=known[1],
        difference=known[2],
        low=low,
        high=high,
        outcome=outcome(low, high, old.score.better, same=same),
    )


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
