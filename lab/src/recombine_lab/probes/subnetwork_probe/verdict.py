"""What a search for subnetworks hands back beside its sentence: measures, tables, figures, reasons.

What a search for subnetworks says, in sentences: the number, its interval, and the controls beside it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from recombine.base.grades import Grade
from recombine.base.words import listing, percent, points, points_range
from recombine.output.figures import Cells, Figure, Matrix
from recombine_lab.probes.probe import MEASURED, Measure
from recombine_lab.probes.subnetwork_probe.ablation import Judge, Right
from recombine_lab.probes.subnetwork_probe.accuracy_summary import (
    MUST_BEAT,
    MaskEstimate,
    PartSummaries,
    Rights,
    Summary,
    finite_mean,
    label_of,
    overlap,
    pairwise_overlap,
    quality,
    share_estimate,
)
from recombine_lab.probes.subnetwork_probe.mask_learning import Learned, Mask, MaskJob, density
from recombine_lab.probes.subnetwork_probe.mask_search import Cast, MaskSearchResult
from recombine_lab.probes.subnetwork_probe.mask_settings import Search
from recombine_lab.probes.subnetwork_probe.masked_network import ParameterLayout

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
        return _not_sufficient(parts.carved) if parts.own is None else _not_alone(parts.own, parts.carved.sufficient)
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


def _mean(several: list[MaskEstimate]) -> float:
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


def _not_alone(own: Mapping[str, float], sufficient: float) -> str:
    worst = min(own, key=lambda name: own[name])
    return (
        f"Not enough evidence: no part was found that does {worst!r} where the others are left to chance; masks answer"
        f" {percent(own[worst])} of such examples rightly, and {percent(sufficient)} is asked for."
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


Row = Mapping[str, Any]
Final = Mapping[str, list[tuple[MaskJob, Learned]]]
"""For each component, the masks that are judged."""
USED = "used: "
"""Before the name of a number that is of all that components use, and not of the learned masks."""


def spread(judge: Judge, cast: Cast, found: MaskSearchResult, summary: Summary) -> list[Row]:
    """Every mask of the search, chosen or not, with what the choice did not look at."""
    tried = found.of_search()
    judged = judge.judged([one.mask for _, one in tried], [cast.state_of(job.who, job.seed) for job, _ in tried])
    rows: list[Row] = []
    for (job, learned), one in zip(tried, judged, strict=True):
        chances = summary.chance(job.component)
        kept, beside, target, other, selective = quality(one, job.component, chances)
        chosen = found.chosen[job.who, job.component] == job.configuration
        rows.append(
            {
                **_of_learning(job, learned),
                "chosen": chosen,
                "sufficient": learned.held_out >= summary.sufficient,
                "kept Target": kept,
                "kept Other": beside,
                "left Target": target,
                "left Other": other,
                "selectivity": selective,
                "label": label_of(kept, target, other, chances, summary.sufficient),
            }
        )
    return rows


def masks_table(summary: Summary, final: Mapping[str, Final]) -> pa.Table:
    """Every mask that was judged, with its label by itself."""
    rows = []
    for who, by_component in final.items():
        for name, learned in by_component.items():
            rights = summary.who[who][name]
            whole = [of(part) for part in (rights.kept, rights.left) for of in (rights.target, rights.other)]
            for k, (job, one) in enumerate(learned):
                kept, beside, target, other = (float(part[k].mean()) for part in whole)
                rows.append(
                    {
                        **_of_learning(job, one),
                        "kept Target": kept,
                        "kept Other": beside,
                        "left Target": target,
                        "left Other": other,
                        "label": label_of(kept, target, other, summary.chance(name), summary.sufficient),
                    }
                )
    return pa.Table.from_pylist(rows)


def _of_learning(job: MaskJob, learned: Learned) -> dict[str, Any]:
    made = job.configuration
    return {
        "who": job.who,
        "component": job.component,
        "mask seed": job.seed,
        "rate": made.rate,
        "start": made.start,
        "penalty": made.penalty,
        "held out": learned.held_out,
        "density": learned.density,
        "soft-hard gap": learned.soft_gap,
        "undecided": learned.undecided,
    }


def overlap_table(masks: Mapping[str, list[Mask]], layouts: Sequence[ParameterLayout]) -> pa.Table:
    """How much two components' masks share, and the masks of one component with different seeds."""
    names = list(masks)
    rows = []
    for k, one in enumerate(names):
        for other in names[k:]:
            every = [*masks[one], *(masks[other] if one != other else [])]
            by_pair = (
                pairwise_overlap(masks[one], layouts)
                if one == other
                else between({one: masks[one], other: masks[other]}, layouts)
            )
            rows.append(
                {
                    "first": one,
                    "second": other,
                    "overlap": finite_mean([by_pair]),
                    "of all at once": finite_mean([overlap(every, layouts)]),
                }
            )
    return pa.Table.from_pylist(rows)


def between(masks: Mapping[str, list[Mask]], layouts: Sequence[ParameterLayout]) -> float:
    """The mean overlap of the masks of two components with the same seed."""
    names = list(masks)
    found = finite_mean(
        [
            overlap([one, other], layouts)
            for k, name in enumerate(names)
            for second in names[k + 1 :]
            for one, other in zip(masks[name], masks[second], strict=True)
        ]
    )
    return float("nan") if found is None else found


def numbers(
    parts: PartSummaries,
    masks: Mapping[str, list[Mask]],
    used: Mapping[str, list[Mask]],
    layouts: Sequence[ParameterLayout],
    tried: Sequence[Row],
) -> dict[str, float | None]:
    """What the sentence says, and what stands beside it: of the learned masks, then of all that is used."""
    passing, every = _passing(tried)
    return {
        **_of_parts(parts.carved, masks, layouts),
        "overlap within a component": finite_mean([pairwise_overlap(each, layouts) for each in masks.values()]),
        **{f"{USED}{name}": value for name, value in _of_parts(parts.used, used, layouts).items()},
        "search: sufficient": len(passing) / every,
        "search: lowest selectivity": min(passing, default=None),
        "search: highest selectivity": max(passing, default=None),
        "masked weights": float(sum(layout.size for layout in layouts)),
        **({} if parts.own is None else {"own examples": min(parts.own.values())}),
    }


def _of_parts(
    summary: Summary, masks: Mapping[str, list[Mask]], layouts: Sequence[ParameterLayout]
) -> dict[str, float | None]:
    mine = summary.selectivity_of_all(MEASURED)
    lefts = [summary.left(name) for name in summary.components]
    controls = [who for who in summary.who if who != MEASURED]
    return {
        "selectivity": mine.value,
        "selectivity, low": mine.low,
        "selectivity, high": mine.high,
        **{f"selectivity, {who}": summary.selectivity_of_all(who).value for who in controls},
        "kept Target": finite_mean([summary.kept(name).value for name in summary.components]),
        "left Target": finite_mean([target.value for target, _ in lefts]),
        "left Other": finite_mean([other.value for _, other in lefts]),
        "density": finite_mean([density(mask, layouts) for each in masks.values() for mask in each]),
        "overlap between components": finite_mean([between(masks, layouts)]),
    }


def _passing(tried: Sequence[Row]) -> tuple[list[float], int]:
    """The selectivities of the sufficient masks of the search, and how many masks there were."""
    mine = [row for row in tried if row["who"] == MEASURED]
    return [row["selectivity"] for row in mine if row["sufficient"]], len(mine)


def measures(parts: PartSummaries, whole: Right) -> list[Measure]:
    """Everybody's numbers for every component and test, of the learned masks and of all that is used."""
    return [*whole_measures(whole), *_measures_of(parts.carved, ""), *_measures_of(parts.used, USED)]


def _measures_of(summary: Summary, prefix: str) -> list[Measure]:
    found = []
    for who, by_component in summary.who.items():
        for name, rights in by_component.items():
            target, other = summary.left(name, who)
            named = {
                (name, "selectivity"): summary.selectivity(who, name),
                (name, "kept Target"): summary.kept(name, who),
                (name, "left Target"): target,
                (name, "left Other"): other,
            }
            named |= _by_test(name, rights)
            found += [
                Measure(where, f"{prefix}{called}", one.value, who, one.low, one.high, one.n)
                for (where, called), one in named.items()
            ]
    return found


def whole_measures(whole: Right) -> list[Measure]:
    """What the whole network does on every test."""
    found = []
    for name, right in whole.items():
        one = share_estimate(right[None].astype(float))
        found.append(Measure(name, "whole network", one.value, MEASURED, one.low, one.high, 1))
    return found


def _by_test(name: str, rights: Rights) -> dict[tuple[str, str], MaskEstimate]:
    return {
        (f"{name} on {test}", called): share_estimate(right)
        for called, part in (("kept", rights.kept), ("left", rights.left))
        for test, right in part.items()
    }


def figures(parts: PartSummaries) -> tuple[Figure, ...]:
    """Masks × tests, of the parts alone and without them, and without all that is used; everybody's masks compared."""
    summary = parts.carved
    alone = "The accuracy of each component's mask by itself, on every test. It is high on the diagonal in untrained"
    without = "What is left of every test without each component's mask. Modular is low on the diagonal and high beside"
    all_used = (
        "What is left without everything that a component uses. Separate parts are low on the diagonal, high beside"
    )
    return (
        _tests(summary, "A part alone", f"{alone} networks too, and no evidence.", "kept"),
        _tests(summary, "Without a part", f"{without} it.", "left"),
        _tests(parts.used, "Without all that is used", f"{all_used} it.", "left"),
        _beside(summary),
    )


def _tests(summary: Summary, title: str, sentence: str, part: str) -> Matrix:
    names = tuple(summary.components)
    cells: Cells = tuple(
        tuple(float(getattr(summary.who[MEASURED][name], part)[test].mean()) for test in names) for name in names
    )
    return Matrix(title, sentence, names, names, cells)


def _beside(summary: Summary) -> Matrix:
    rows, cells = [], []
    for who in summary.who:
        for name in summary.components:
            target, other = summary.left(name, who)
            rows.append(f"{name}, {who}")
            selective = summary.selectivity(who, name).value
            cells.append((summary.kept(name, who).value, target.value, other.value, selective))
    return Matrix(
        "Beside the controls",
        "What masks do alone, what is left of their own test and of the others' without them, and the difference.",
        tuple(rows),
        ("kept Target", "left Target", "left Other", "selectivity"),
        tuple(cells),
    )


def reasons(parts: PartSummaries, search: Search, tried: Sequence[Row], *, group: str, ablation: str) -> list[str]:
    """Which question was asked, what stands in the way of an answer, and how wide the search spread."""
    asked = "can the parts be carved out" if ablation in ("zero", "re-init") else "are the parts used"
    published = " with the published settings" if search.published else ""
    passing, every = _passing(tried)
    undecided = max((row["undecided"] for row in tried), default=0.0)
    return [
        f"The question: {asked}? Masks of {group}s, {ablation} ablation, {search.estimator} estimator{published},"
        f" {'with' if search.against else 'without'} the term that lowers the other components.",
        f"By component: {', '.join(f'{name} {found}' for name, found in parts.labels.items())}.",
        *_disturbing(parts),
        *_removals(parts),
        *_not_beaten(parts),
        f"{len(passing)} of {every} masks of the search were sufficient on held-out examples; their selectivity"
        f" goes from {points(min(passing))} to {points(max(passing))}, and had no say in the choice."
        if passing
        else f"None of {every} masks of the search was sufficient on held-out examples of its component.",
        f"At most {percent(undecided)} of a mask was undecided at the end; only hard masks are judged.",
    ]


def _disturbing(parts: PartSummaries) -> list[str]:
    """That components disturb each other, and what is then meant by all that one uses."""
    if parts.own is None:
        return []
    alone = listing([f"{percent(share)} of those of {name!r}" for name, share in parts.own.items()])
    return [
        "The components disturb each other: the whole network does not answer examples of one in which the others are"
        f" left to chance. Masks do {alone}. What a component uses is the mask that was learned without a penalty, and"
        " so leaves out nothing but what disturbs it."
    ]


def _removals(parts: PartSummaries) -> list[str]:
    """What both kinds of parts leave of a component's own test and of the others'."""

    def left(summary: Summary, name: str) -> str:
        target, other = summary.left(name)
        return f"{percent(target.value)} of its own test and {percent(other.value)} of the others'"

    return [
        f"Without its sparsest mask {name!r} keeps {left(parts.carved, name)}, without all that it uses"
        f" {left(parts.used, name)}."
        for name in parts.components
    ]


def _not_beaten(parts: PartSummaries) -> list[str]:
    found = []
    for name in parts.components:
        for who in parts.used.not_beaten(name) if parts.used.removed(name) == "modular" else ():
            called = CALLED[who].removeprefix("in ").removeprefix("for ")
            found.append(
                f"{name!r} looks modular and is not more so, for certain, than {called}."
                if who in parts.used.who
                else f"{name!r} looks modular, but the control {who!r} was not run."
            )
    return found
