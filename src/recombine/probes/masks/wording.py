"""What a search for subnetworks says, in sentences: the number, its interval, and the controls beside it."""

from collections.abc import Mapping

from recombine.grades import Grade
from recombine.probes.masks.outcomes import Estimate
from recombine.probes.masks.summary import MUST_BEAT, Summary
from recombine.probes.probe import MEASURED
from recombine.words import percent, points, points_range

CALLED = {
    "re-initialised": "in the re-initialised network",
    "random": "for random masks of the same size",
    "shuffled": "with shuffled components",
    "magnitude": "for the largest weights",
    "saliency": "for the weights with the most felt gradient",
}


def base_verdict(whole: Mapping[str, float], least: float) -> str:
    """The network itself does not do the components, so that no part of it can be said to."""
    name = min(whole, key=lambda test: whole[test])
    return (
        f"Not enough to look for parts: the whole network answers {percent(whole[name])} of the test of {name!r}"
        f" rightly, and {percent(least)} is asked for, so no mask was searched for and no control run."
    )


def verdict(summary: Summary) -> str:
    """The sentence of a search."""
    outcome = summary.outcome
    if outcome == "not sufficient":
        return _not_sufficient(summary)
    held = _held(summary)
    if outcome == "modular":
        return f"Separate parts: without its mask a component loses {held}."
    target, other = (_mean([summary.left(name)[k] for name in summary.components]) for k in (0, 1))
    rest = f"{percent(target)} of the component's own test and {percent(other)} of the others' stay right"
    if outcome == "redundant":
        return f"No separate part is needed: without a component's mask {rest}; it loses {held}."
    if outcome == "collapse":
        return f"Shared parts: without a component's mask {rest}; it loses {held}."
    if outcome == "anti-modular":
        return f"The masks hold the wrong part: without a component's mask {rest}; it loses {held}."
    return f"No clear answer ({_labels(summary)}): without its mask a component loses {held}."


def _held(summary: Summary) -> str:
    mine = summary.selectivity_of_all(MEASURED)
    beside = [
        f"{points(summary.selectivity_of_all(who).value)} {CALLED[who]}" for who in MUST_BEAT if who in summary.who
    ]
    return (
        f"{points(mine.value)} more than the others (95 %: {points_range(mine.low, mine.high)};"
        f" {', '.join(beside) or 'no control was run'})"
    )


def _mean(several: list[Estimate]) -> float:
    return sum(one.value for one in several) / len(several)


def _labels(summary: Summary) -> str:
    return ", ".join(f"{name} {found}" for name, found in summary.labels.items())


def _not_sufficient(summary: Summary) -> str:
    worst = min(summary.components, key=lambda name: summary.kept(name).value)
    found = summary.kept(worst)
    controls = [f"{percent(summary.kept(worst, who).value)} {CALLED[who]}" for who in MUST_BEAT if who in summary.who]
    return (
        f"Not enough evidence: no part was found that does {worst!r} alone; the chosen masks answer"
        f" {percent(found.value)} of its test rightly (95 %: {percent(found.low)} to {percent(found.high)};"
        f" {', '.join(controls) or 'no control was run'}), and {percent(summary.sufficient)} is asked for."
    )


def grade(summary: Summary, seeds: int) -> Grade:
    """How far the answer can be trusted; without a control that is beaten nothing is above weak."""
    outcome = summary.outcome
    if outcome == "not sufficient" or seeds < 2:
        return "untested"
    if outcome == "modular":
        beaten = "shuffled" in summary.who and all(_beats(summary, name, "shuffled") for name in summary.components)
        return "sound" if beaten and seeds >= 3 else "plausible"
    return "failing" if outcome in ("collapse", "anti-modular") else "weak"


def _beats(summary: Summary, component: str, who: str) -> bool:
    mine, theirs = summary.selectivity(MEASURED, component), summary.selectivity(who, component)
    return mine.low > theirs.high
