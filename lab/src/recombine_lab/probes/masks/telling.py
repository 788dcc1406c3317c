"""What a search for subnetworks hands back beside its sentence: measures, tables, figures, reasons."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from recombine.figures import Cells, Figure, Matrix
from recombine.words import percent, points
from recombine_lab.probes.masks.judging import Judge, Right
from recombine_lab.probes.masks.learning import Job, Learned, Mask, density
from recombine_lab.probes.masks.network import Layout
from recombine_lab.probes.masks.outcomes import Estimate, overlap, pairwise_overlap, share_estimate
from recombine_lab.probes.masks.searching import Cast, Found
from recombine_lab.probes.masks.settings import Search
from recombine_lab.probes.masks.summary import PartSummaries, Rights, Summary, finite_mean, label_of, quality
from recombine_lab.probes.masks.wording import CALLED
from recombine_lab.probes.probe import MEASURED, Measure

Row = Mapping[str, Any]
Final = Mapping[str, list[tuple[Job, Learned]]]
"""For each component, the masks that are judged."""
USED = "used: "
"""Before the name of a number that is of all that components use, and not of the learned masks."""


def spread(judge: Judge, cast: Cast, found: Found, summary: Summary) -> list[Row]:
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


def _of_learning(job: Job, learned: Learned) -> dict[str, Any]:
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


def overlap_table(masks: Mapping[str, list[Mask]], layouts: Sequence[Layout]) -> pa.Table:
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


def between(masks: Mapping[str, list[Mask]], layouts: Sequence[Layout]) -> float:
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
    layouts: Sequence[Layout],
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
    }


def _of_parts(summary: Summary, masks: Mapping[str, list[Mask]], layouts: Sequence[Layout]) -> dict[str, float | None]:
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


def _by_test(name: str, rights: Rights) -> dict[tuple[str, str], Estimate]:
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
        *_removals(parts),
        *_not_beaten(parts),
        f"{len(passing)} of {every} masks of the search were sufficient on held-out examples; their selectivity"
        f" goes from {points(min(passing))} to {points(max(passing))}, and had no say in the choice."
        if passing
        else f"None of {every} masks of the search was sufficient on held-out examples of its component.",
        f"At most {percent(undecided)} of a mask was undecided at the end; only hard masks are judged.",
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
