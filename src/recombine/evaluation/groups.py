"""Groups that hold the true class: balanced accuracy, and the worst group.

Whoever always answers the commonest class gets most rows right where one class is common. The mean of the classes' own
shares (balanced accuracy) does not reward that, and the worst of the groups "class and background" even less. A group
with a handful of rows is untested: it is neither the worst nor left out of the worst case.
"""

from dataclasses import dataclass

import numpy as np

from recombine.algebra.groups import Numbers, totals
from recombine.evaluation.baselines import Rules
from recombine.evaluation.outcomes import Mask, Outcomes
from recombine.expected import FAILING_BELOW, SOUND_FROM
from recombine.grades import Grade
from recombine.statistics.intervals import student_interval, wilson
from recombine.statistics.resampling import IntervalSettings

THIN = 10
"""A group with fewer tested rows is untested."""


@dataclass(frozen=True)
class Balanced:
    """The mean of the classes' shares of right answers on one side, with an interval over combinations."""

    side: str
    score: float
    low: float | None
    high: float | None
    classes: int


@dataclass(frozen=True)
class WorstGroup:
    """The group, a combination with the true class as a factor, of which the fewest rows are answered right.

    `thin` groups have fewer than ten tested rows, and `missing` ones none at all: none of them passes. The interval is
    over the group's rows. `baseline` is the best that a simple rule gets in its own worst group.
    """

    label: str
    combination: dict[str, str] | None
    rows: int
    score: float | None
    low: float | None
    high: float | None
    groups: int
    thin: tuple[dict[str, str], ...]
    missing: int
    baseline: float | None
    baseline_name: str | None

    @property
    def grade(self) -> Grade:
        """Earned by the worst group, and by none where a group could not be tested."""
        if self.score is None or self.low is None or self.high is None:
            return "untested"
        if self.high < max(FAILING_BELOW, self.baseline or 0.0):
            return "failing"
        if self.thin or self.missing or self.baseline is None:
            return "untested"
        if self.low <= self.baseline:
            return "weak"
        return "sound" if self.low >= SOUND_FROM else "plausible"


def balanced(outcomes: Outcomes, sides: dict[str, Mask], settings: IntervalSettings) -> tuple[Balanced, ...]:
    """Balanced accuracy on every side that was tested; nothing for numbers.

    >>> from recombine.evaluation.outcomes import Score
    >>> from recombine.tables.space import Space
    >>> from recombine.tables.support import Support
    >>> space, code = Space.of({"a": [0, 1], "b": [0, 1]}), np.asfortranarray([[0, 0], [1, 0]], dtype=np.int32)
    >>> answers = [np.array(x) for x in ([0, 1], [0, 1], [0, 0])]  # always class 0, of nine to one
    >>> found = Outcomes(Support(space, code, np.array([9.0, 1])), None, "label", (0, 1), *answers,
    ...     np.array([9.0, 1.0]), np.array([9.0, 0]), np.array([9.0, 0]), None, Score("accuracy", "higher"))
    >>> balanced(found, {"all": np.ones(2, bool)}, IntervalSettings())[0].score
    0.5
    """
    if outcomes.kind != "label" or not len(outcomes.count):
        return ()
    return tuple(_balanced(outcomes, side, mask, settings) for side, mask in sides.items() if mask.any())


def _balanced(outcomes: Outcomes, side: str, chosen: Mask, settings: IntervalSettings) -> Balanced:
    here = chosen[outcomes.combination]
    truth, rows, place = outcomes.truth[here], outcomes.count[here], outcomes.combination[here]
    right = rows * (truth == outcomes.said[here])
    size = len(outcomes.classes)
    every, good = totals(truth, rows, size), totals(truth, right, size)
    met = every > 0
    recall = np.divide(good, every, out=np.zeros(size), where=met)
    score = float(recall[met].mean())
    moved = totals(place, (right - recall[truth] * rows) / every[truth] / met.sum(), len(outcomes))
    count = int(chosen.sum())
    error = np.sqrt((moved**2).sum() * count / max(count - 1, 1))
    low, high = student_interval(np.array(score), error, np.array(count), settings, share=True)
    return Balanced(side, score, _known(low), _known(high), int(met.sum()))


def worst_group(outcomes: Outcomes, rules: Rules, missing: int, settings: IntervalSettings) -> WorstGroup | None:
    """The worst of the groups, where the true class is one of the factors; None elsewhere."""
    target = outcomes.tested.target
    if target is None or not holds_class(outcomes):
        return None
    enough = outcomes.rows >= THIN
    thin = tuple(outcomes.labels(int(place)) for place in np.flatnonzero(~enough))
    place = worst_place(outcomes)
    if place is None:
        return WorstGroup(target.name, None, 0, None, None, None, len(outcomes), thin, missing, None, None)
    rows, score = outcomes.rows[place], float(outcomes.mean[place])
    low, high = wilson(np.array(score), rows, rows - 1, settings)
    least = {name: float((right / outcomes.rows)[enough].min()) for name, right in rules.gained.items()}
    best = max(least, key=lambda name: least[name], default=None)
    return WorstGroup(
        target.name,
        outcomes.labels(place),
        int(rows),
        score,
        round(float(low), 9),
        round(float(high), 9),
        len(outcomes),
        thin,
        missing,
        None if best is None else least[best],
        best,
    )


def holds_class(outcomes: Outcomes) -> bool:
    """Whether the true class is one of the factors, so that each combination is a group with one class."""
    target = outcomes.tested.target
    return target is not None and target.name in outcomes.tested.space.names and outcomes.score.is_share


def worst_place(outcomes: Outcomes) -> int | None:
    """The group with the smallest share of right answers, of those with enough rows; None where none has."""
    enough = np.flatnonzero(outcomes.rows >= THIN)
    return int(enough[np.argmin(outcomes.mean[enough])]) if len(enough) else None


def _known(number: Numbers) -> float | None:
    return float(number) if np.isfinite(number) else None
