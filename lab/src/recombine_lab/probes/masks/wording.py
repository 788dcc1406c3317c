"""What a search for subnetworks says, in sentences: the number, its interval, and the controls beside it."""

from collections.abc import Mapping

from recombine.grades import Grade
from recombine.words import listing, percent, points, points_range
from recombine_lab.probes.masks.outcomes import Estimate
from recombine_lab.probes.masks.summary import MUST_BEAT, PartSummaries, Summary
from recombine_lab.probes.probe import MEASURED

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


def verdict(parts: PartSummaries) -> str:
    """The sentence of a search."""
    outcome, summary = parts.outcome, parts.deciding
    if outcome == "not sufficient":
        return _not_sufficient(parts.carved)
    held, gone = _held(summary), "all that it uses" if summary is parts.used else "its mask"
    if outcome == "modular":
        return f"Separate parts: without {gone} a component loses {held}.{_spare(parts)}"
    target, other = (_mean([summary.left(name)[k] for name in summary.components]) for k in (0, 1))
    rest = f"without {gone} {percent(target)} of a component's own test and {percent(other)} of the others' stay right"
    if outcome == "redundant":
        return f"No separate part is needed: {rest}; it loses {held}."
    if outcome == "collapse":
        return f"Shared parts: {rest}; it loses {held}."
    if outcome == "anti-modular":
        return f"The masks hold the wrong part: {rest}; it loses {held}."
    return f"No clear answer ({_labels(parts)}): without {gone} a component loses {held}."


def _spare(parts: PartSummaries) -> str:
    """That a part is more than its component needs, where its sparsest mask is not missed."""
    spare = [name for name in parts.components if parts.carved.removed(name) == "redundant"]
    return f" Each does without its sparsest mask: there are spare weights in {listing(spare)}." if spare else ""


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


def _labels(parts: PartSummaries) -> str:
    return ", ".join(f"{name} {found}" for name, found in parts.labels.items())


def _not_sufficient(summary: Summary) -> str:
    worst = min(summary.components, key=lambda name: summary.kept(name).value)
    found = summary.kept(worst)
    controls = [f"{percent(summary.kept(worst, who).value)} {CALLED[who]}" for who in MUST_BEAT if who in summary.who]
    return (
        f"Not enough evidence: no part was found that does {worst!r} alone; the chosen masks answer"
        f" {percent(found.value)} of its test rightly (95 %: {percent(found.low)} to {percent(found.high)};"
        f" {', '.join(controls) or 'no control was run'}), and {percent(summary.sufficient)} is asked for."
    )


def grade(parts: PartSummaries, seeds: int) -> Grade:
    """How far the answer can be trusted; without a control that is beaten nothing is above weak."""
    outcome = parts.outcome
    if outcome == "not sufficient" or seeds < 2:
        return "untested"
    if outcome == "modular":
        used = parts.used
        beaten = "shuffled" in used.who and all(_beats(used, name, "shuffled") for name in parts.components)
        return "sound" if beaten and seeds >= 3 else "plausible"
    return "failing" if outcome in ("collapse", "anti-modular") else "weak"


def _beats(summary: Summary, component: str, who: str) -> bool:
    mine, theirs = summary.selectivity(MEASURED, component), summary.selectivity(who, component)
    return mine.low > theirs.high
