"""What a rehearsal says in words: what was tested, how alike it is to what is unseen, and what cannot be known."""

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import pyarrow as pa

from recombine.base.grades import Expected
from recombine.base.words import amount, below_zero, listing, percent, percent_range, points
from recombine.numerics.simple_rules import CONSTANTS
from recombine.verbs.audit.rule_choice import rule_words
from recombine.verbs.predict import track_record
from recombine.verbs.rehearse import difficulty
from recombine.verbs.rehearse.kernel_learner import EXAMPLES

if TYPE_CHECKING:
    from recombine.verbs.rehearse.rehearsal import Rehearsal

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
    difficulty.OTHERS: "more of the unseen ones hold an element that was only seen with others",
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
    difficulty.OTHERS: "more of the held-out ones hold an element that is left with others only",
    difficulty.CONFLICT: "the values of an unseen one agree on an answer more often",
    difficulty.BEST: "no single value suggests the right answer of an unseen one as often",
    difficulty.WORST: "some value of an unseen one misleads more",
}


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


def verdict(result: "Rehearsal") -> str:
    """The answer in a sentence that a person would say."""
    if not result.unseen:
        return "Every combination was seen, so there is nothing to rehearse for."
    if not result.expected.abstains:
        held, rounds = amount(_held_out(result), "held-out one"), amount(len(result.rounds), "round")
        unseen = amount(result.unseen, "unseen combination")
        return f"{_score(result)} That speaks of {unseen}, from {held} in {rounds}."
    why, _, more = str(result.expected.reason).partition(": ")  # what they differ in is a sentence of its own
    said = f"No score is forecast: {why}.{f' {more[0].upper()}{more[1:]}.' if more else ''}"
    if result.naive is None or result.naive.value is None:
        return said
    held = amount(_held_out(result), "held-out combination")
    return f"{said} The {held} themselves came to {_written(result.naive)}, which promises nothing here."


def _written(score: Expected) -> str:
    return percent(score.value or 0.0) if score.score == "accuracy" else f"R² {score.value:.2f}"


def _units(result: "Rehearsal") -> Mapping[str, float]:
    return {gap.name: gap.units for gap in result.gaps}


def _unit(result: "Rehearsal") -> str:
    """What has an effect of its own: sets stand as lists in the table."""
    sets = [pa.types.is_list(result.table.schema.field(name).type) for name in result.factors]
    return "element" if all(sets) else "value and element" if any(sets) else "value"


def _held_out(result: "Rehearsal") -> int:
    """How many combinations were held out, each counted once however often it was."""
    return len(set(map(str, result.table.select(list(result.factors)).to_pylist())))  # sets are lists there: no keys


def called(learner: str) -> str:
    """A learner as a sentence calls it.

    >>> called("examples"), called("relu:2")
    ('a kernel machine on the inputs', 'relu:2')
    """
    return "a kernel machine on the inputs" if learner == EXAMPLES else learner


def _score(result: "Rehearsal") -> str:
    expected = result.expected
    value, low, high = (number or 0.0 for number in (expected.value, expected.low, expected.high))
    beside, who = _beside(result), called(result.learner)
    if expected.score == "accuracy":
        return (
            f"Trained anew, {who} gets {percent(value)} of held-out combinations like the unseen ones right "
            f"({percent_range(low, high)}). {beside}."
        )
    if value <= 0:
        return (
            f"Trained anew, {who} answers held-out combinations like the unseen ones no better "
            f"than always answering the mean (R² {value:.2f}, {low:.2f} to {high:.2f})."
        )
    return (
        f"Trained anew, {who} explains {percent(value)} of what held-out combinations like the unseen ones differ by "
        f"({percent_range(low, high)}).{below_zero(low)} {beside}."
    )


def _beside(result: "Rehearsal") -> str:
    expected = result.expected
    base = expected.baseline or 0.0
    if expected.baseline_name in CONSTANTS:
        rule = "Always giving one answer"
        return f"{rule} gets {percent(base)}" if expected.score == "accuracy" else "Always answering the mean gets 0 %"
    rule = rule_words(expected.baseline_name or "", factors=result.factors, unit=_unit(result))
    return f"{rule[0].upper()}{rule[1:]} is better: {percent(base)}"


def reasons(result: "Rehearsal") -> tuple[str, ...]:
    """How well the unseen ones could be matched, what else was tried, and what is not known."""
    said = [] if result.naive is None else list(_of_trials(result, result.naive))
    if result.sampled:
        said.append(f"{amount(result.unseen, 'unseen combination')} were drawn at random to stand for all.")
    return tuple(said)


def _of_trials(result: "Rehearsal", naive: Expected) -> Iterator[str]:
    accuracy, forecast = result.score == "accuracy", not result.expected.abstains
    gaps = gap_words(_units(result))
    near = f"{percent(result.overlap or 0.0)} of the unseen combinations have a held-out one like them"
    yield f"{near}; but {listing(gaps)}." if gaps else f"{near}, and on average both are equally hard."
    if naive.value is not None and forecast:
        yield f"The unweighted score of the held-out combinations is {_written(naive)}."
    rules = [
        f"{name} {percent(score) if accuracy else f'{score:.2f}'}"
        for name, score in result.simple.items()
        if name not in CONSTANTS and score is not None and math.isfinite(score)
    ]
    if rules:
        yield f"Simple rules on the same combinations: {', '.join(rules)}{'' if accuracy else ' (R²)'}."
    if result.stands_for_a_network and forecast:
        miss = track_record.miss("rehearsal", result.score)
        who = called(result.learner).replace("a kernel", "A kernel")
        yield (
            f"{who} stands for a network; such forecasts were off by {points(miss) if accuracy else f'{miss:.2f}'} "
            "from trained ones (one standard deviation), which the interval holds."
        )
    if difficulty.BEST not in _units(result):
        yield (
            "The right answers of the unseen combinations were not given, so whether single values suggest them was "
            "not compared (truth=…, --truth)."
        )
