"""The outcome of an influence probe in a word, its grade, and the sentence that one could bet on."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from recombine.base.grades import Grade
from recombine.base.words import NOT_KNOWN, amount, interval_words, measure, percent, percent_range
from recombine.numerics.rank_correlation import Rank
from recombine_lab.probes.influence_probe.factor_measures import FactorEstimate
from recombine_lab.probes.influence_probe.influence_summary import Summed
from recombine_lab.probes.influence_probe.module_answers import Floats
from recombine_lab.probes.influence_probe.sensitivity import FactorSensitivity, SensitivityQuestion, Untrained

OUTCOMES = {
    "own factor": "swapping the target factor changes the answers, swapping the redundant one does not",
    "redundant factor": "swapping the redundant factor changes the answers, swapping the target factor does not",
    "both": "swapping either of them changes the answers",
    "neither": "swapping either of them leaves the answers as they are",
    "neighbours": "what is said of an unseen combination was taught by seen ones that share a value with it, more than"
    " by chance (where inputs are not asked about)",
    "elsewhere": "it was taught by seen combinations that share nothing with it, more than by chance",
    "spread": "neither more nor less than by chance",
    "unclear": "not enough evidence for one of the others",
}
POINT = 0.01
"""How far beyond chance the share from neighbours must lie."""
FEWEST_CONTROLS = 19
"""Networks of which none may reach what was measured, for a chance of 1 in 20."""


@dataclass(frozen=True)
class InfluenceVerdict:
    """A verdict and what leads to it."""

    outcome: str
    grade: Grade
    verdict: str
    reasons: tuple[str, ...]


def said_of_inputs(
    found: Mapping[str, FactorSensitivity],
    control: Untrained,
    ask: SensitivityQuestion,
    right: FactorEstimate,
    majority: float | None,
    least: float,
) -> InfluenceVerdict:
    """What the swaps say of the target factor and of the redundant one."""
    own, other = found[ask.target].swap, found[ask.redundant].swap
    outcome = _outcome(own, other, least)
    reasons = [_as_much(found[name], name) for name in (ask.target, ask.redundant) if _by_any_row(found[name], least)]
    if reasons:
        outcome = "unclear"
    known = right.low if right.low is not None else right.value
    if majority is not None and known is not None and known <= majority:
        reasons.append(
            f"It gets {percent(right.value or 0.0)} of the rows right, not surely more than predicting"
            f" the majority class ({percent(majority)}), so its sensitivities are not evidence."
        )
        outcome = "unclear"
    if other.value == 0 and other.high is not None and other.high >= least:
        reasons.append(
            f"Not one swap of {ask.redundant} changes an answer, but {amount(other.n, other.over[:-1])} are too few to"
            f" show less than {percent(least)}: write a larger `least` if that will do."
        )
    beaten = _beaten(own, other, control, ask)
    learned = _beyond_untrained(other, control.swap.get(ask.redundant))
    if outcome in ("both", "redundant factor") and not learned:
        reasons.append(
            f"Re-initialised networks change their answers as much when {ask.redundant} is swapped: training has not"
            f" taught this one to look at {ask.redundant}, it has not unlearned it either."
        )
    verdict = (
        f"{_LEAD[outcome].format(own=ask.target, other=ask.redundant)}: swapping {ask.redundant} changes"
        f" {_told(other)} of the answers, swapping {ask.target} {_told(own)}{_beside(found, control, ask)}."
    )
    grade = _grade(outcome, control.networks, beaten=beaten, learned=learned)
    return InfluenceVerdict(outcome, grade, verdict, (*reasons, *_warnings(found, ask)))


_LEAD = {
    "own factor": "The answers hang on {own} and not on {other}",
    "redundant factor": "The answers hang on {other}, which they should not, and not on {own}",
    "both": "The answers hang on {other} too, which they should not",
    "neither": "The answers hang neither on {own} nor on {other}",
    "unclear": "It cannot be told whether the answers hang on {own} alone or on {other} too",
}


def _outcome(own: FactorEstimate, other: FactorEstimate, least: float) -> str:
    sides = (_side(own, least), _side(other, least))
    words = {
        (True, False): "own factor",
        (False, True): "redundant factor",
        (True, True): "both",
        (False, False): "neither",
    }
    return words.get(sides, "unclear")  # type: ignore[arg-type]


def _by_any_row(found: FactorSensitivity, least: float) -> bool:
    """Whether answers change, but as much by a row with the same value: then it is not the value that changes them."""
    same = found.same.value if found.same.high is None else found.same.high
    return bool(_side(found.swap, least)) and same is not None and same >= (found.swap.value or 0.0)


def _as_much(found: FactorSensitivity, name: str) -> str:
    return (
        f"A row with the same {name} in its place changes {_told(found.same)} of the answers, one with another {name}"
        f" {_told(found.swap)}: not surely fewer, so that it may not be the value of {name} that changes them."
    )


def _side(found: FactorEstimate, least: float) -> bool | None:
    """Whether answers hang on a factor, surely; None where it cannot be told."""
    if found.low is None or found.high is None:
        return None
    return True if found.low > least else False if found.high < least else None


def _beaten(own: FactorEstimate, other: FactorEstimate, control: Untrained, ask: SensitivityQuestion) -> bool:
    """Whether no untrained network favours the target factor as much."""
    if not control.networks or own.value is None or other.value is None:
        return False
    apart = control.swap[ask.target] - control.swap[ask.redundant]
    return bool(own.value - other.value > np.nanmax(apart))


def _beyond_untrained(found: FactorEstimate, untrained: Floats | None) -> bool:
    """Whether the interval lies above every network that learned nothing; without such networks nothing speaks against.

    A network with new weights answers by all of its inputs, so that a swap of any of them changes many answers; what is
    left of that after training is a fault of the answers, and no finding about what was learned.
    """
    if untrained is None or not len(untrained) or found.low is None:
        return True
    return bool(found.low > np.nanmax(untrained))


def _grade(outcome: str, networks: int, *, beaten: bool, learned: bool) -> Grade:
    if outcome in ("both", "redundant factor"):
        return "failing" if learned else "weak"
    if outcome == "neither":
        return "failing"
    if outcome == "unclear":
        return "untested"
    if not beaten:
        return "weak"
    return "sound" if networks >= FEWEST_CONTROLS else "plausible"


def _told(found: FactorEstimate) -> str:
    if found.value is None:
        return "an unknown share"
    if found.low is None or found.high is None:
        return percent(found.value)
    return f"{percent(found.value)} ({percent_range(found.low, found.high)}, over {amount(found.n, found.over[:-1])})"


def _beside(found: Mapping[str, FactorSensitivity], control: Untrained, ask: SensitivityQuestion) -> str:
    parts = []
    same = found[ask.redundant].same.value
    if same is not None:
        parts.append(f"a row with the same {ask.redundant} in its place changes {percent(same)}")
    if control.networks:
        shares = [percent(float(np.nanmean(control.swap[name]))) for name in (ask.redundant, ask.target)]
        parts.append(
            f"in {amount(control.networks, 're-initialised network')} swapping {ask.redundant} changes {shares[0]},"
            f" swapping {ask.target} {shares[1]}"
        )
    return f"; beside it: {'; '.join(parts)}" if parts else ""


def _warnings(found: Mapping[str, FactorSensitivity], ask: SensitivityQuestion) -> list[str]:
    """What other measures would say, where they would mislead."""
    told = found[ask.redundant]
    reasons = []
    if told.bits.value > told.bits.null_high:
        known = "nothing more" if told.given.value <= told.given.null_high else f"{measure(told.given.value)} bits more"
        reasons.append(
            f"{ask.redundant} tells {measure(told.bits.value)} bits of the answer (by chance at most"
            f" {measure(told.bits.null_high)}); once {ask.target} is known, {known}. The first says nothing of the"
            f" network: in these rows {ask.redundant} goes along with {ask.target}."
        )
    if told.swap.over == "rows":
        reasons.append("There are fewer than five combinations: intervals are over rows, and speak of these alone.")
    return reasons


def said_of_teaching(found: Summed) -> InfluenceVerdict:
    """Who taught the network what it says of unseen combinations."""
    unconfirmed = _unconfirmed(found)
    if found.share is None or found.null is None:
        verdict = _of_the_first(found, unconfirmed or _UNTOLD)
        return InfluenceVerdict("unclear", "untested", verdict, (*([_UNTOLD] if unconfirmed else []), *_checked(found)))
    low, high = found.null
    # What differs by less than a point is written as the same number, and a quantile of chance is no surer than that.
    outcome = "neighbours" if found.share > high + POINT else "elsewhere" if found.share < low - POINT else "spread"
    if unconfirmed:
        outcome = "unclear"
    grade: Grade = "weak"
    if found.rank is not None:
        grade = "untested" if outcome == "unclear" else "sound" if (found.rank.low or 0) > 0.5 else "plausible"
    verdict = (
        f"{_of_the_first(found, unconfirmed)} Of all influence on unseen combinations {percent(found.share)}"
        f"{_interval(found)} comes from seen ones that share a value with them; by chance it would be"
        f" {percent_range(low, high)}."
    )
    return InfluenceVerdict(outcome, grade, verdict, _checked(found))


def _unconfirmed(found: Summed) -> str:
    """Why training again does not bear out what was worked out; nothing where it does, or was not done."""
    if found.rank is None or (found.rank.low is not None and found.rank.low > 0):
        return ""
    again = f"trained again without {amount(found.retrained, 'combination')}"
    if found.rank.value is None or found.rank.low is None:
        return f"It cannot be told who taught it: {again}, which is too few, or changes nothing, to confirm anything."
    return (
        f"It cannot be told who taught it: {again}, the loss does not surely change as worked out; rank correlation"
        f" {_rank_words(found.rank)}."
    )


_UNTOLD = (
    "Whether neighbours taught it more than others cannot be told: there are fewer than five seen combinations, or all"
    " of them share a value with the unseen ones, or none."
)


def _of_the_first(found: Summed, doubt: str) -> str:
    """The strongest influence; behind the doubt, where there is one."""
    sign = "rise" if found.most >= 0 else "fall"
    start = f"{doubt} As worked out, what" if doubt else "What"
    return (
        f"{start} it says of {found.unseen} hangs most on {found.seen}: without it the loss there would {sign} by"
        f" {measure(abs(found.most))} from {measure(found.loss)}."
    )


def _interval(found: Summed) -> str:
    return "" if found.interval is None else f" ({percent_range(*found.interval)})"


def _checked(found: Summed) -> tuple[str, ...]:
    if found.rank is None:
        return ("No network was trained again without a combination, so that this is worked out and not tried.",)
    return (
        f"Trained again without {amount(found.retrained, 'combination')}: rank correlation with what was worked out"
        f" {_rank_words(found.rank)}.",
    )


def _rank_words(rank: Rank) -> str:
    if rank.value is None:
        return NOT_KNOWN
    return interval_words(rank.value, rank.low, rank.high, share=False)
