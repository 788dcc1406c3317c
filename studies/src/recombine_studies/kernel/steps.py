"""What is measured of each run: one row for its network, and rows for its combinations and some of its examples."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from recombine.verbs.predict.kernel.salience import Salience
from recombine_lab.runs.run import Run
from recombine_lab.tasks.conjunction_tasks import ConjunctionTask
from recombine_studies.kernel.answers import (
    NetworkScores,
    Numbers,
    additive,
    answered,
    kernel_answers,
    kernel_of_symbols,
    share_of_one,
    slope,
    together,
    untrained,
    wide_layer,
)
from recombine_studies.kernel.grids import LAZY
from recombine_studies.rows import Row
from recombine_studies.study import Bench, Evidence, Step

_SHOWN = 40
"""Examples of each run that are drawn; all of them are counted."""
_SUMS = {(0,): "0", (-4,): "-4", (-4, 4): "-4 and 4", (-2, 2): "-2 and 2"}
_NAMES = {
    "transitive_equivalence": "equivalence",
    "transitive_ordering": "ordering",
    "invariance": "invariance",
    "partial_exposure": "partial exposure",
}
_NETWORKS = {"resnet": "ResNet", "vit": "ViT"}


def network_name(row: Row) -> str:
    """A run's network in words.

    >>> network_name({"model": "mlp", "model.scale": 1.0, "model.initialisation": "width"})
    'lazy MLP, by width'
    """
    if row["model"] == "mlp":
        kind = "lazy MLP" if row["model.scale"] == LAZY else "rich MLP"
        return kind if row["model.initialisation"] == "normal" else f"{kind}, by width"
    if row["model"] == "cnn":
        return f"ConvNet, distance {row['task.distance']}"
    return _NETWORKS[row["model"]]


def task_name(row: Row) -> str:
    """A run's task in words.

    >>> task_name({"task": "context_dependence", "task.k": 3, "task.target": "values"})
    'CD-3, squared loss'
    """
    if row["task"] == "addition":
        anchors = row["task.anchors"] or (0,)
        return f"addition {_SUMS.get(tuple(map(int, anchors)), anchors)}"
    if row["task"] == "context_dependence":
        return f"CD-{row['task.k']}" + (", squared loss" if row["task.target"] == "values" else "")
    return _NAMES[row["task"]]


def every_run(evidence: Evidence) -> list[Row]:
    """An item for each run that has answers."""
    images = evidence.settings["images"]
    return [
        {
            "key": row["key"],
            "network": network_name(row),
            "task": task_name(row),
            "seed": row["seed"],
            "images": images,
        }
        for row in evidence.runs
        if row["status"] == "finished"
    ]


def networks(item: Row, bench: Bench) -> Sequence[Row]:
    """One row: slopes, accuracies, margins, how additive the answers are; and the same of a kernel."""
    run = bench.run(item["key"])
    salience, said, kernel = _beside(run, item["images"])
    return [
        {
            **_both_sides(said, said.mean),
            **{f"theory_{name}": value for name, value in _both_sides(said, kernel).items()},
            **{f"tangent_{name}": value for name, value in _tangent(said).items()},
            "accuracy_seen": said.accuracy("seen"),
            "accuracy_unseen": said.accuracy("unseen"),
            "salience": share_of_one(salience),
            "agreement": together(kernel[~said.seen], said.mean[~said.seen]),
            "noise": said.noise,
            **_additive(said),
        }
    ]


def answers_beside(item: Row, bench: Bench) -> Sequence[Row]:
    """A row for each combination and for some unseen examples: what a kernel would answer, and what was answered."""
    run = bench.run(item["key"])
    _, said, kernel = _beside(run, item["images"])
    unit, kernel_unit = said.scale, _unit(said, kernel)
    rows: list[Row] = [
        {
            "level": "combination",
            "combination": " ".join(map(str, _values(said, place))),
            "seen": bool(said.seen[place]),
            "truth": float(said.truth[place]),
            "predicted": float(kernel[place] / kernel_unit),
            "measured": float(said.mean[place] / unit),
        }
        for place in range(len(said.codes))
    ]
    if said.counts.max() > 1:
        rows += _some_examples(said, kernel / kernel_unit, unit, seed=run.configuration.seed)
    return rows


def _some_examples(said: NetworkScores, kernel: Numbers, unit: float, *, seed: int) -> list[Row]:
    asked = np.flatnonzero(~said.seen[said.of])
    drawn = np.random.default_rng(seed).permutation(asked)[:_SHOWN]
    whole = together(kernel[said.of[asked]], said.score[asked])
    return [
        {
            "level": "example",
            "combination": " ".join(map(str, _values(said, said.of[place]))),
            "seen": False,
            "truth": float(said.truth[said.of[place]]),
            "predicted": float(kernel[said.of[place]]),
            "measured": float(said.score[place] / unit),
            "agreement": whole,
        }
        for place in sorted(drawn.tolist())
    ]


def _values(said: NetworkScores, place: int) -> list[Any]:
    return [factor.values[code] for factor, code in zip(said.task.space.factors, said.codes[place], strict=True)]


def _unit(said: NetworkScores, kernel: Numbers) -> float:
    """What a kernel's answers are divided by, as the network's are."""
    return 1.0 if said.task.form == "values" else float((said.truth * kernel)[said.seen].mean())


def _beside(run: Run, images: int) -> tuple[Salience, NetworkScores, Numbers]:
    """The weights, the network's answers, and the kernel's, in one order."""
    said = answered(run)
    if said.task.code == "onehot":
        salience = wide_layer(said.task)
        return salience, said, _in_order(said, kernel_of_symbols(said.task))
    salience = _untrained(run.key, run, images)
    return salience, said, kernel_answers(said.task, salience, said.codes)


_KEPT: dict[tuple[str, int], Salience] = {}


def _untrained(key: str, run: Run, images: int) -> Salience:
    if (key, images) not in _KEPT:
        _KEPT[key, images] = untrained(run, images=images)
    return _KEPT[key, images]


def _in_order(said: NetworkScores, of_every: Numbers) -> Numbers:
    places = {tuple(code): place for place, code in enumerate(said.task.every().tolist())}
    return of_every[[places[tuple(code)] for code in said.codes.tolist()]]


def _both_sides(said: NetworkScores, scores: Numbers) -> dict[str, float | None]:
    """Slopes on both sides, and the mean right-signed score of the unseen as a share of that of the seen."""
    signed = np.sign(said.truth) * scores
    seen, unseen = float(signed[said.seen].mean()), float(signed[~said.seen].mean())
    return {
        "slope_seen": slope(said.truth[said.seen], scores[said.seen]),
        "slope": slope(said.truth[~said.seen], scores[~said.seen]),
        "margin": unseen / seen if seen > 0 else None,
        "right": float((signed > 1e-9)[~said.seen].mean()),
    }


def _tangent(said: NetworkScores) -> dict[str, float | None]:
    """The same of the tangent kernel, in which both layers learn; for networks on symbols alone."""
    if said.task.code != "onehot":
        return {"slope": None}
    return {"slope": _both_sides(said, _in_order(said, kernel_of_symbols(said.task, "ntk")))["slope"]}


def _additive(said: NetworkScores) -> dict[str, float | bool | None]:
    seen = _shown(said.task)
    found = additive(said.task.space, seen, said.codes[~said.seen].astype(np.int32), said.mean[~said.seen])
    free = found.rank
    spare = found.combinations - 1
    return {
        "combinations": found.combinations,
        "rank": free,
        "vacuous": found.vacuous,
        "r2": found.r2,
        "adjusted": found.adjusted,
        "left_out": found.left_out,
        # What scores without any structure would reach: the constant is one of the free numbers, and spent already.
        "by_chance": None if free is None or not spare else (free - 1) / spare,
    }


@lru_cache(maxsize=64)
def _shown(task: ConjunctionTask) -> Any:
    every = task.every()
    return every[task.is_shown(every)].astype(np.int32)


NETWORKS = Step(name="networks", items=every_run, measure=networks)
ANSWERS = Step(name="answers", items=every_run, measure=answers_beside)
