"""Figures of the study, and what is said of them; every number is computed from the evidence."""

from collections.abc import Iterator, Sequence
from statistics import fmean

from recombine.base.words import measure
from recombine.output.figures import Figure, PointGroup, Scatter, Strip, Strips
from recombine_studies.kernel.claims import ADDITIVE, testable
from recombine_studies.kernel.steps import ANSWERS, NETWORKS
from recombine_studies.rows import Row, Rows, strips
from recombine_studies.study import Evidence

PUBLISHED_SLOPES = {
    ("lazy MLP", "addition 0"): 0.746,
    ("lazy MLP", "addition -4"): 0.723,
    ("lazy MLP", "addition -4 and 4"): 0.848,
    ("lazy MLP", "addition -2 and 2"): 0.851,
    ("rich MLP", "addition 0"): 0.761,
    ("rich MLP", "addition -4"): 0.368,
    ("rich MLP", "addition -4 and 4"): 0.994,
    ("rich MLP", "addition -2 and 2"): 0.912,
    ("ConvNet, distance 0", "addition 0"): 0.554,
    ("ConvNet, distance 20", "addition 0"): 0.776,
    ("ConvNet, distance 0", "addition -4 and 4"): 0.653,
    ("ConvNet, distance 20", "addition -4 and 4"): 0.834,
    ("ResNet", "addition 0"): 0.396,
    ("ViT", "addition 0"): 0.259,
}
"""Slopes on unseen pairs, read off the figures of Lippl and Stachenfeld (ICLR 2025) to ± .01."""
_CLASSES = ("CD-1", "CD-2", "CD-3", "equivalence", "ordering")


def figures(evidence: Evidence) -> list[Figure]:
    """Predicted against measured, at both levels; slopes; additivity; accuracies."""
    found = evidence.of(NETWORKS.name)
    if not len(found):
        return []
    return [
        _combinations(evidence.of(ANSWERS.name)),
        *_examples(evidence.of(ANSWERS.name)),
        _slopes(found),
        _additivity(found),
        _accuracies(found),
    ]


def _combinations(rows: Rows) -> Scatter:
    unseen = rows.where(level="combination", seen=False)
    groups = tuple(_averaged(name, chosen) for name, chosen in unseen.by("network").items())
    near = [abs(one - other) <= 0.25 for group in groups for one, other in zip(group.x, group.y, strict=True)]
    return Scatter(
        "Predicted against measured, by combination",
        f"Each point is an unseen combination of one task, its answer averaged over seeds; {measure(fmean(near))} of "
        f"{len(near)} lie within .25 of what kernel theory expects. Scores of classes are told as shares of the mean "
        "right-signed score of seen combinations.",
        "answer that kernel theory expects",
        "answer of the networks",
        groups,
        diagonal=True,
    )


def _averaged(network: str, rows: Rows) -> PointGroup:
    """One point for each task and combination: the means over seeds."""
    cells = rows.by("task", "combination")
    return PointGroup(
        network,
        tuple(fmean(chosen.numbers("predicted")) for chosen in cells.values()),
        tuple(fmean(chosen.numbers("measured")) for chosen in cells.values()),
        tuple(f"{task}: {combination}" for task, combination in cells),
    )


def _examples(rows: Rows) -> Iterator[Scatter]:
    unseen = rows.where(level="example")
    if not len(unseen):
        return
    groups = tuple(
        PointGroup(
            network,
            tuple(chosen.numbers("predicted")),
            tuple(chosen.numbers("measured")),
            tuple(f"{row['task']}: {row['combination']}, seed {row['seed']}" for row in chosen),
        )
        for network, chosen in unseen.by("network").items()
    )
    known = {(row["network"], row["task"], row["seed"]): row["agreement"] for row in unseen if row["agreement"]}
    told = f"their mean correlation within a run is {measure(fmean(known.values()))}" if known else "no run varies"
    yield Scatter(
        "Predicted against measured, by example",
        f"Each point is a picture of an unseen combination, {len(unseen):,} drawn of all that were asked; over "
        f"all of them {told}.",
        "answer that kernel theory expects of its combination",
        "answer of the network to the picture",
        groups,
        diagonal=True,
    )


def _named(rows: Rows, name: str) -> Rows:
    return rows.with_columns(lambda row: {"condition": name.format(**row)})


def _slopes(rows: Rows) -> Strips:
    sums = rows.chosen(lambda row: row["task"].startswith("addition"))
    told = sums.with_columns(_beside)
    lazy = sums.where(network="lazy MLP")
    away = [abs(row["slope"] / row["theory_slope"] - 1) for row in lazy if row["slope"] is not None]
    words = f"lazy MLPs are off theory by {measure(fmean(away))} on average" if away else "no lazy MLP was trained"
    return Strips(
        "Slopes on unseen sums",
        f"1 is right, and what is missing is the leak; {words}. Beside each condition: theory, and what was published.",
        "slope of answers against sums",
        strips(told, "slope", "condition", group="network"),
        goal=1.0,
    )


def _beside(row: Row) -> Row:
    theory, published = row["theory_slope"], PUBLISHED_SLOPES.get((row["network"], row["task"]))
    told = [] if theory is None else [f"theory {measure(theory)}"]
    # What theory expects of pictures is measured anew for each seed.
    told = told if row["tangent_slope"] is not None else []
    told += [] if published is None else [f"published {measure(published)}"]
    return {"condition": f"{row['network']}, {row['task']}" + (f" ({', '.join(told)})" if told else "")}


def _additivity(rows: Rows) -> Strips:
    asked = testable(rows)
    told = _named(asked, "{network}, {task} ({rank:.0f} of {combinations} free)")
    good = [row["adjusted"] is not None and row["adjusted"] >= ADDITIVE for row in asked]
    empty = sorted({row["task"] for row in rows if row["vacuous"]})
    words = f" Left out, since any scores would be additive: {', '.join(empty)}." if empty else ""
    return Strips(
        "How additive scores on unseen combinations are",
        f"Adjusted R² of sums over seen conjunctions: 0 for scores without structure, 1 for sums; {sum(good)} of "
        f"{len(good)} networks reach {ADDITIVE}.{words}",
        "adjusted R²",
        strips(told, "adjusted", "condition", group="network"),
        goal=ADDITIVE,
    )


def _accuracies(rows: Rows) -> Strips:
    chosen = rows.chosen(lambda row: row["task"].removesuffix(", squared loss") in _CLASSES)
    below = [row["accuracy_unseen"] < 0.5 for row in chosen]
    made: tuple[Strip, ...] = strips(_named(chosen, "{network}, {task}"), "accuracy_unseen", "condition", group="task")
    return Strips(
        "Right answers to unseen combinations",
        f"Chance is one half; {sum(below)} of {len(below)} networks are below it.",
        "share of right answers",
        made,
        goal=0.5,
    )


def mean_of(rows: Sequence[Row], name: str) -> float | None:
    """The mean of a column's known numbers."""
    known = Rows(rows).numbers(name)
    return fmean(known) if known else None
