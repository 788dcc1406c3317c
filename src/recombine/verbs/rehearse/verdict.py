"""What a rehearsal says in words: what was tested, how alike it is to what is unseen, and what cannot be known."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from recombine.base.grades import Expected
from recombine.base.words import amount, listing, percent, percent_range, points
from recombine.numerics.simple_rules import CONSTANTS
from recombine.verbs.rehearse import difficulty
from recombine.verbs.rehearse.kernel_learner import EXAMPLES

_ALIKE = 0.5
"""A gap, in units, that is not worth a word."""
_NAMED = 2
_HIGHER: Mapping[str, str] = {
    difficulty.OPEN: "the unseen ones more often have answers that the others leave open",
    difficulty.DOUBT: "the answers of the unseen ones hang on less evidence",
    difficulty.FEWEST: "the rarest value of an unseen one is known from more combinations",
    difficulty.MOST: "the commonest value of an unseen one is known from more combinations",
    difficulty.NEAR: "the unseen ones have more seen combinations near them",
    difficulty.STRANGE: "the unseen ones hold more pairs of values that were never seen together",
    difficulty.CONFLICT: "the values of an unseen one suggest different answers more often",
    difficulty.BEST: "single values suggest the right answer of an unseen one more often",
    difficulty.WORST: "the values of an unseen one mislead less",
}
_LOWER: Mapping[str, str] = {
    difficulty.OPEN: "what is left more often leaves the answers of held-out ones open",
    difficulty.DOUBT: "the answers of held-out ones hang on less evidence",
    difficulty.FEWEST: "the rarest value of an unseen one is known from fewer combinations",
    difficulty.MOST: "the commonest value of an unseen one is known from fewer combinations",
    difficulty.NEAR: "the unseen ones have fewer seen combinations near them",
    difficulty.STRANGE: "the held-out ones hold more pairs of values that what is left never holds together",
    difficulty.CONFLICT: "the values of an unseen one agree on an answer more often",
    difficulty.BEST: "no single value suggests the right answer of an unseen one as often",
    difficulty.WORST: "some value of an unseen one misleads more",
}


@dataclass(frozen=True)
class RehearsalFindings:
    """All that the words are made from."""

    learner: str
    target: str
    expected: Expected
    naive: Expected | None
    gaps: Mapping[str, float]
    overlap: float
    rounds: int
    held_out: int
    seen: int
    unseen: int
    with_truth: bool
    sampled: bool
    simple: Mapping[str, float]
    miss: float = 0.0  # how far learners that stand for a network were off


def gap_words(gaps: Mapping[str, float], *, least: float = _ALIKE) -> list[str]:
    """The largest gaps in words, the largest first.

    >>> gap_words({"doubt": 0.1, "most": -2.0})
    ['the commonest value of an unseen one is known from fewer combinations']
    """
    ranked = sorted(gaps.items(), key=lambda one: -abs(one[1]))
    return [(_HIGHER if gap > 0 else _LOWER)[name] for name, gap in ranked if abs(gap) >= least][:_NAMED]


def unlike(gaps: Mapping[str, float], overlap: float) -> str:
    """Why held-out combinations do not stand for the unseen ones."""
    said = gap_words(gaps, least=0.0)[:1] if not gap_words(gaps) else gap_words(gaps)
    near = f"; {percent(overlap)} of the unseen ones have a held-out one like them" if overlap < 1 else ""
    return f"held-out and unseen combinations are not alike: {listing(said)}{near}"


def verdict(told: RehearsalFindings) -> str:
    """The answer in a sentence that a person would say."""
    if not told.unseen:
        return "Every combination was seen, so there is nothing to rehearse for."
    if told.expected.abstains:
        return f"No score is forecast: {told.expected.reason}. {_naive(told)}".strip()
    return f"{_score(told)} {_speaks_of(told)}"


def called(learner: str) -> str:
    """A learner as a sentence calls it.

    >>> called("examples"), called("relu:2")
    ('a kernel machine on the inputs', 'relu:2')
    """
    return "a kernel machine on the inputs" if learner == EXAMPLES else learner


def _score(told: RehearsalFindings) -> str:
    expected = told.expected
    value, low, high = (number or 0.0 for number in (expected.value, expected.low, expected.high))
    beside, who = _beside(expected), called(told.learner)
    if expected.score == "accuracy":
        return (
            f"Trained anew without them, {who} gets {percent(value)} of held-out combinations like the unseen "
            f"ones right ({percent_range(low, high)}); {beside}."
        )
    if value <= 0:
        return (
            f"Trained anew without them, {who} answers held-out combinations like the unseen ones no better "
            f"than always answering the mean (R² {value:.2f}, {low:.2f} to {high:.2f})."
        )
    return (
        f"Trained anew without them, {who} explains {percent(value)} of what held-out combinations like the "
        f"unseen ones differ by ({_range(low, high)}); {beside}."
    )


def _range(low: float, high: float) -> str:
    return f"below 0 to {percent(high)}" if low < 0 else percent_range(low, high)


def _beside(expected: Expected) -> str:
    base = expected.baseline or 0.0
    if expected.baseline_name in CONSTANTS:
        rule = "always giving one answer"
        return f"{rule} gets {percent(base)}" if expected.score == "accuracy" else "always answering the mean gets 0 %"
    said = percent(base) if base >= 0 else "less than the mean"
    return f"{expected.baseline_name} alone is better: {said}"


def _speaks_of(told: RehearsalFindings) -> str:
    return (
        f"That speaks of {amount(told.unseen, 'unseen combination')}, from {amount(told.held_out, 'held-out one')} in "
        f"{amount(told.rounds, 'round')}."
    )


def _naive(told: RehearsalFindings) -> str:
    naive = told.naive
    if naive is None or naive.value is None:
        return ""
    said = percent(naive.value) if naive.score == "accuracy" else f"R² {naive.value:.2f}"
    return (
        f"The {amount(told.held_out, 'held-out combination')} themselves came to {said}, which promises nothing here."
    )


def reasons(told: RehearsalFindings) -> tuple[str, ...]:
    """How well the unseen ones could be matched, what else was tried, and what is not known."""
    said = (_alike(told), _plainly(told), _simple(told), _stand_in(told), _without_truth(told), _drawn(told))
    return tuple(filter(None, said))


def _alike(told: RehearsalFindings) -> str | None:
    if told.naive is None or not told.gaps:
        return None
    found = gap_words(told.gaps)
    near = f"{percent(told.overlap)} of the unseen combinations have a held-out one like them"
    return f"{near}; but {listing(found)}." if found else f"{near}, and on average both are equally hard."


def _plainly(told: RehearsalFindings) -> str | None:
    naive = told.naive
    if naive is None or naive.value is None or told.expected.abstains:
        return None
    said = percent(naive.value) if naive.score == "accuracy" else f"R² {naive.value:.2f}"
    return f"The unweighted score of the held-out combinations is {said}."


def _simple(told: RehearsalFindings) -> str | None:
    rules = {name: score for name, score in told.simple.items() if name not in CONSTANTS and math.isfinite(score)}
    if not rules or told.naive is None:
        return None
    accuracy = told.expected.score == "accuracy"
    said = [f"{name} {percent(score) if accuracy else f'{score:.2f}'}" for name, score in rules.items()]
    return f"Simple rules on the same combinations: {', '.join(said)}{'' if accuracy else ' (R²)'}."


def _stand_in(told: RehearsalFindings) -> str | None:
    if not told.miss or told.expected.abstains:
        return None
    who = called(told.learner).replace("a kernel", "A kernel")
    off = points(told.miss) if told.expected.score == "accuracy" else f"{told.miss:.2f}"
    return (
        f"{who} stands for a network; such forecasts were off by {off} from trained ones (one standard deviation), "
        "which the interval holds."
    )


def _without_truth(told: RehearsalFindings) -> str | None:
    if told.with_truth or told.naive is None:
        return None
    return (
        "The right answers of the unseen combinations were not given, so whether single values suggest them was not "
        "compared (truth=…, --truth)."
    )


def _drawn(told: RehearsalFindings) -> str | None:
    return (
        f"{amount(told.unseen, 'unseen combination')} were drawn at random to stand for all." if told.sampled else None
    )
