"""The evaluation in sentences: the verdict, its grade, and the reasons for it."""

from dataclasses import dataclass

import numpy as np

from recombine.evaluation.comparison import Comparison
from recombine.evaluation.deviations import Deviations
from recombine.evaluation.listing import Untested
from recombine.evaluation.outcomes import Outcomes, Score
from recombine.evaluation.scores import Gap, Side
from recombine.grades import Grade
from recombine.statistics.resampling import FEWEST, IntervalSettings
from recombine.tables.space import text
from recombine.words import count, measure, percent

_SMALL, _LARGE = 0.05, 0.10  # of a share or of R²; in units of the seen score for anything else a fourth and one
_SMALL_RATIO, _LARGE_RATIO = 0.25, 1.0
_NAMES = {"mse": "mean squared error", "r2": "R²", "logloss": "log loss"}


@dataclass(frozen=True, eq=False)
class Findings:
    """All that the sentences speak of."""

    outcomes: Outcomes
    sides: dict[str, Side]
    gap: Gap | None
    untested: Untested
    deviations: Deviations
    comparison: Comparison | None
    notes: tuple[str, ...]
    settings: IntervalSettings

    @property
    def score(self) -> Score:
        """How rows were scored."""
        return self.outcomes.score


def verdict(found: Findings) -> str:
    """The answer in a sentence or two."""
    seen, unseen = found.sides["seen"], found.sides["unseen"]
    if found.outcomes.training is None:
        return (
            f"On {_combinations(found.sides['all'], 'tested')} {_is(found, found.sides['all'])}. It was not told what "
            "the model was trained on, so nothing can be said about seen and unseen ones."
        )
    if not unseen.combinations:
        return _without_unseen(found)
    if not seen.combinations:
        return (
            f"On {_combinations(unseen, 'unseen')} {_is(found, unseen)}. No combination that was seen in training was "
            "tested, so there is nothing to compare this with."
        )
    return (
        f"On {_the(seen)} seen in training {_is(found, seen, interval=False)}; on {count(unseen.combinations)} unseen "
        f"{'one' if unseen.combinations == 1 else 'ones'} {_tells(found, unseen)}: {_gap(found)}."
    )


def grade(found: Findings) -> Grade:
    """Sound where the unseen combinations fare about as well, failing where they clearly and largely do not."""
    gap, unseen = found.gap, found.sides["unseen"]
    if gap is None or gap.low is None or gap.high is None or unseen.score is None:
        return "untested"
    small, large = _thresholds(found)
    if gap.low > 0 and gap.value >= large:
        return "failing"
    if gap.value <= small and gap.high <= large:
        return "sound"
    return "weak"


def reasons(found: Findings) -> tuple[str, ...]:
    """What the verdict rests on, and what must be known to read it."""
    said = [
        _gap_reason(found),
        *_side_reasons(found),
        *_never_varies(found.outcomes),
        _untested(found),
        found.deviations.sentence,
        found.comparison.verdict if found.comparison else "",
        *(_left_out(reason, rows) for reason, rows in found.outcomes.left_out.items()),
        *found.notes,
    ]
    return tuple(sentence for sentence in said if sentence)


def _never_varies(outcomes: Outcomes) -> list[str]:
    """What a score cannot show where every row has one truth, or one answer."""
    target, said = outcomes.tested.target, []
    if target is not None and not target.varies:
        said.append(
            f"{target.name} is the same in every tested row: whoever always answers that is right, "
            "and nothing shows which factors an answer depends on."
        )
    elif outcomes.kind == "label" and len(np.unique(outcomes.said[outcomes.count > 0])) == 1:
        only = text(outcomes.classes[int(outcomes.said[0])])
        said.append(f"The model answers {only!r} in every tested row, so its score is the share of that class.")
    return said


def amount(score: Score, number: float) -> str:
    """A score for people: a share in percent, anything else to three digits.

    >>> amount(Score("accuracy", "higher"), 0.614), amount(Score("mse", "lower"), 0.1234)
    ('61 %', '0.123')
    """
    return percent(number) if score.is_share else measure(number)


def score_name(score: Score) -> str:
    """A score's name in a sentence."""
    return _NAMES.get(score.name, score.name)


def ends(score: Score, low: float, high: float) -> str:
    """Both ends of an interval.

    >>> ends(Score("accuracy", "higher"), 0.52, 0.69), ends(Score("mse", "lower"), 0.1, 0.25)
    ('52 to 69 %', '0.1 to 0.25')
    """
    return f"{100 * low:.0f} to {100 * high:.0f} %" if score.is_share else f"{measure(low)} to {measure(high)}"


def points(score: Score, number: float) -> str:
    """A difference of scores.

    >>> points(Score("accuracy", "higher"), 0.358), points(Score("mse", "lower"), 0.25)
    ('36 points', '0.25')
    """
    if not score.is_share:
        return measure(number)
    return f"{100 * number:.0f} points" if abs(number) >= 0.01 else f"{100 * number:.1g} points"


def _combinations(side: Side, word: str) -> str:
    return f"{count(side.combinations)} {word} combination{'' if side.combinations == 1 else 's'}"


def _the(side: Side) -> str:
    return "the one combination" if side.combinations == 1 else f"the {count(side.combinations)} combinations"


def _is(found: Findings, side: Side, *, interval: bool = True) -> str:
    """The predicate of a sentence about a side."""
    if side.score is None:
        return f"its {score_name(found.score)} cannot be computed"
    told = _tells(found, side) if interval else _plain(found, side)
    return f"it is right {told}" if found.score.is_share else f"its {score_name(found.score)} is {told}"


def _plain(found: Findings, side: Side) -> str:
    written = amount(found.score, side.score or 0.0)
    return f"in {written}" if found.score.is_share else written


def _tells(found: Findings, side: Side) -> str:
    if side.score is None:
        return "it cannot be computed"
    around = (
        f" ({percent(found.settings.confidence)} interval {ends(found.score, side.low, side.high)})"
        if side.low is not None and side.high is not None
        else ""
    )
    return _plain(found, side) + around


def _gap(found: Findings) -> str:
    gap = found.gap
    if gap is None:
        return "the gap cannot be computed"
    if gap.value < 0:
        return f"they fare better, by {points(found.score, -gap.value)}"
    return f"a gap of {points(found.score, gap.value)}"


def _without_unseen(found: Findings) -> str:
    seen, novel = found.sides["seen"], found.sides["novel"]
    if novel.combinations and not seen.combinations:
        return (
            f"All {_combinations(novel, 'tested')} hold a value that was never in training: {_is(found, novel)}. That "
            "says nothing about new combinations of known values."
        )
    also = f", or hold a value that was never there ({count(novel.combinations)})" if novel.combinations else ""
    return (
        f"Nothing is known about unseen combinations: all that were tested were seen in training{also}. "
        f"On {_the(seen)} seen in training {_is(found, seen)}."
    )


def _thresholds(found: Findings) -> tuple[float, float]:
    if found.score.is_share or found.score.name == "r2":
        return _SMALL, _LARGE
    scale = abs(found.sides["seen"].score or 0.0)
    return _SMALL_RATIO * scale, _LARGE_RATIO * scale


def _gap_reason(found: Findings) -> str:
    gap = found.gap
    if gap is None:
        return ""
    if gap.low is None or gap.high is None:
        few = min(found.sides["seen"].combinations, found.sides["unseen"].combinations)
        return f"The gap has no interval: {_without_interval(few)}."
    luck = "" if gap.low > 0 or gap.high < 0 else ", so it may be luck"
    scaled = (100 * gap.low, 100 * gap.high) if found.score.is_share else (gap.low, gap.high)
    unit = " points" if found.score.is_share else ""
    low, high = (f"{end:.0f}" if found.score.is_share else measure(end) for end in scaled)
    named = f"The {percent(found.settings.confidence)} interval of the gap, over combinations,"
    return f"{named} is {low} to {high}{unit}{luck}."


def _without_interval(few: int) -> str:
    if few < FEWEST:
        return f"{count(few)} combination{'' if few == 1 else 's'} on one side {'is' if few == 1 else 'are'} too few"
    return (
        f"with {count(few)} combinations on one side, their scores differ not at all, or so much that it would rule "
        "nothing out"
    )


def _side_reasons(found: Findings) -> list[str]:
    said = []
    for name, what in (
        ("undetermined", "are not fixed by training even under an additive rule"),
        ("novel", "hold a value that was never in training"),
    ):
        side = found.sides[name]
        if side.combinations:
            said.append(f"{_combinations(side, 'tested')} {what}: on them {_is(found, side)}.")
    unseen = found.sides["unseen"]
    if unseen.combinations and unseen.note:
        said.append(unseen.note)
    return said


def _untested(found: Findings) -> str:
    missing = found.untested
    if not missing.total:
        return "Every combination of the space was tested."
    seen = f", {count(missing.seen)} of them seen in training" if missing.seen else ""
    return (
        f"{count(missing.total)} combinations of the space were not tested{seen}: "
        "a worst case is the worst of the tested ones."
    )


def _left_out(reason: str, rows: int) -> str:
    if reason.startswith("on "):
        return f"{count(rows)} rows are {reason} and were not scored."
    flatter = " If these are the hard ones, the scores flatter." if reason.startswith("the prediction") else ""
    return f"In {count(rows)} tested rows {reason}: they were not scored.{flatter}"
