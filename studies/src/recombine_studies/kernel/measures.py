"""What is measured of each run: one row for its network, and rows for its combinations and some of its examples.

What a network answered, by combination, beside what a kernel would answer; and how additive its answers are.

A kernel's answers follow from what is seen, from the loss, and from how much each set of factors counts for it. For
networks on symbols that is taken from the kernel of a wide layer, for networks on pictures it is measured in the
network before training, as the paper does.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt
from torch import nn

from recombine.base.seeds import derived
from recombine.data.read import read
from recombine.data.space import Space
from recombine.data.support import Support
from recombine.numerics.groups import Codes, Ints
from recombine.verbs.evaluate.additivity import Additivity, additivity
from recombine.verbs.evaluate.outcomes import Outcomes, Score
from recombine.verbs.predict.answers import answers
from recombine.verbs.predict.effect_transfer import line
from recombine.verbs.predict.kernel.salience import Salience
from recombine.verbs.predict.learner import Loss, learn
from recombine_lab.models.layers import activations
from recombine_lab.runs.run import Run
from recombine_lab.tasks.conjunction_tasks import ConjunctionTask
from recombine_lab.training.pack import job_of
from recombine_studies.kernel.grids import DEEP, LAZY, RICH
from recombine_studies.rows import Row
from recombine_studies.study import Bench, Evidence, Step

Numbers = npt.NDArray[np.float64]
Side = Literal["seen", "unseen"]
_CLASSES = ("score_0", "score_1")
_LEAST_MEMORY = 1e-3
_BODY = "body"
"""Where the networks of Hugging Face keep all but their last layer."""


@dataclass(frozen=True, eq=False)
class NetworkScores:
    """A score for each example that a network was asked about, and the combination that it is of.

    A score is the number that was given, or by how much the score of +1 is above that of -1. `codes` has a row for each
    combination, `of` says of which combination an example is.
    """

    task: ConjunctionTask
    codes: Ints
    of: npt.NDArray[np.int64]
    score: Numbers

    @cached_property
    def truth(self) -> Numbers:
        """The right answer to each combination, -1 or +1 where there are two."""
        return self.task.answers(self.codes)

    @cached_property
    def seen(self) -> npt.NDArray[np.bool_]:
        """Which combinations were shown."""
        return self.task.is_shown(self.codes)

    @cached_property
    def counts(self) -> Numbers:
        """Examples of each combination."""
        return np.bincount(self.of, minlength=len(self.codes)).astype(np.float64)

    @cached_property
    def mean(self) -> Numbers:
        """The mean score of each combination."""
        return np.bincount(self.of, self.score, minlength=len(self.codes)) / self.counts

    @property
    def noise(self) -> float | None:
        """The share of the spread of unseen means that is due to few examples; None where each has one only."""
        apart = np.bincount(self.of, (self.score - self.mean[self.of]) ** 2, minlength=len(self.codes))
        mine = ~self.seen & (self.counts > 1)
        spread = float(self.mean[mine].var()) if mine.sum() > 1 else 0.0
        if spread <= 0:
            return None
        return float((apart[mine] / (self.counts[mine] - 1) / self.counts[mine]).mean()) / spread

    @property
    def scale(self) -> float:
        """What scores are divided by to be held against a kernel's: 1, or for classes the mean right-signed seen score.

        A margin has no unit of its own: a network that trains longer has larger scores and the same signs.
        """
        if self.task.form == "values":
            return 1.0
        return float((self.truth * self.mean)[self.seen].mean())

    def accuracy(self, side: Side) -> float:
        """The share of examples whose score has the right sign."""
        asked = self.seen[self.of] == (side == "seen")
        return float((self.score * self.truth[self.of] > 0)[asked].mean())


def answered(run: Run) -> NetworkScores:
    """What a run answered to its tests."""
    task = task_of(run)
    table = run.tables["predictions"]
    given = (table[name].to_numpy().astype(np.float64) for name in _CLASSES)
    score = table["prediction"].to_numpy() if task.form == "values" else -np.subtract(*given)
    columns = []
    for factor in task.space.factors:
        places = {value: place for place, value in enumerate(factor.values)}
        columns.append([places[value] for value in table[factor.name].to_pylist()])
    codes, of = np.unique(np.array(columns, dtype=np.int64).T, axis=0, return_inverse=True)
    return NetworkScores(task, codes, of.reshape(-1), np.asarray(score, dtype=np.float64))


def task_of(run: Run) -> ConjunctionTask:
    """The task of a run."""
    return cast("ConjunctionTask", job_of(run).task)


def loss_of(task: ConjunctionTask) -> Loss:
    """What training comes to in the end: the smallest squared error, or the largest margin."""
    return "squared" if task.form == "values" else "margin"


def kernel_answers(task: ConjunctionTask, salience: Salience, codes: Ints) -> Numbers:
    """What a kernel with these weights answers to combinations, once it was taught those that the task shows."""
    every = task.every()
    table = task.table(every[task.is_shown(every)])
    kind: Literal["number", "label"] = "number" if task.form == "values" else "label"
    domain = {factor.name: list(factor.values) for factor in task.space.factors}
    support = read(table, factors=list(task.space.names), target="target", target_kind=kind, domain=domain)
    weights = salience if loss_of(task) == "squared" else memorising(salience)
    learner = learn(support, answers(support), weights, loss=loss_of(task), ridge=0.0)
    return np.asarray(learner.fitted.scores(np.asfortranarray(codes)))[:, 0]


def memorising(salience: Salience) -> Salience:
    """With some weight on the full combination: without any, a margin may not exist, where estimates came out at 0.

    >>> memorising(Salience.by_order([0, 0.5, 0])).full, memorising(Salience.by_order([0, 0.3, 0.4])).full
    (0.001, 0.4)
    """
    least = _LEAST_MEMORY * sum(salience.weights[1:])
    return replace(salience, weights=(*salience.weights[:-1], max(salience.full, least)))


def wide_layers(task: ConjunctionTask, kind: str = "relu", depth: int = 1) -> Salience:
    """How much each set of factors counts for a network of wide hidden layers."""
    return Salience.network(kind, depth=depth, factors=len(task.space.factors))


def untrained(run: Run, *, images: int) -> Salience:
    """How much each set of factors counts for a run's network before training, from some images of each combination."""
    task = task_of(run)
    module = job_of(run).model.start(task.shapes, seed=run.configuration.seed)
    codes = np.repeat(task.every(), images, axis=0)
    batch = task.tensors(codes.tolist(), seed=derived(run.configuration.seed, "salience"))
    layer = _measured_layer(module)
    features = activations(module, batch.inputs, [layer])[layer]
    return Salience.measured(features.reshape(len(features), -1), codes, names=task.space.names).clipped()


def _measured_layer(module: nn.Module) -> str:
    """The rectifier after the last convolution, or all but the last layer."""
    parts = dict(module.named_modules())
    if _BODY in parts:
        return _BODY
    names = list(parts)
    last = max(place for place, name in enumerate(names) if isinstance(parts[name], nn.Conv2d))
    return str(next(name for name in names[last:] if isinstance(parts[name], nn.ReLU)))


def share_of_one(salience: Salience) -> float:
    """S(1;K): the mean weight of single factors, as a share of all that varies.

    >>> round(share_of_one(Salience.network("relu", depth=1, factors=2)), 4)
    0.4264
    """
    singles = [salience.weights[1 << k] for k in range(salience.factors)]
    return float(np.mean(singles) / np.sum(salience.weights[1:]))


def slope(truth: Numbers, scores: Numbers) -> float | None:
    """By how much a score rises where the right answer rises by one."""
    found = line(truth, scores)
    return None if found is None else found[0]


def additive(space: Space, seen: Codes, asked: Codes, scores: Numbers) -> Additivity:
    """How additive scores on unseen combinations are: sums over the conjunctions that were seen.

    >>> space = Space.of({"a": range(4), "b": range(4)})
    >>> cells = np.array([(a, b) for a in range(4) for b in range(4)], dtype=np.int32)
    >>> shown = (cells == 0).any(axis=1)
    >>> found = additive(space, cells[shown], cells[~shown], cells[~shown].sum(axis=1).astype(float))
    >>> found.r2, found.rank, found.combinations
    (1.0, 5.0, 9)
    """
    none = np.zeros(0, dtype=np.int64)
    outcomes = Outcomes(
        tested=Support(space, np.asfortranarray(asked), np.ones(len(asked))),
        training=Support(space, np.asfortranarray(seen), np.ones(len(seen))),
        kind="number",
        classes=(),
        combination=none,
        truth=none,
        said=none,
        count=np.zeros(0),
        total=np.zeros(len(asked)),
        squares=np.zeros(len(asked)),
        prediction_total=scores,
        score=Score("mse", "lower"),
    )
    # It is None without a training table or without answers, and there are both.
    return cast("Additivity", additivity(outcomes))


def together(one: Sequence[float] | Numbers, other: Sequence[float] | Numbers) -> float | None:
    """The correlation of two rows of numbers; None where one of them does not vary.

    >>> together([1, 2, 3], [2, 4, 6])
    1.0
    """
    first, second = (np.asarray(values, dtype=np.float64) for values in (one, other))
    if len(first) < 3 or first.std() <= 1e-9 or second.std() <= 1e-9:
        return None
    return round(float(np.corrcoef(first, second)[0, 1]), 12)


@lru_cache(maxsize=64)
def kernel_of_symbols(task: ConjunctionTask, kind: str = "relu", depth: int = 1) -> Numbers:
    """The answers of the kernel of wide layers to every combination of a task; the same for every seed."""
    return kernel_answers(task, wide_layers(task, kind, depth), task.every())


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
    >>> network_name({"model": "mlp", "model.hidden": [DEEP, DEEP]})
    'MLP of depth 2'
    """
    if row["model"] == "mlp":
        if set(row.get("model.hidden") or ()) == {DEEP}:
            return f"MLP of depth {len(row['model.hidden'])}"
        scale = row["model.scale"]
        kind = {LAZY: "lazy MLP", RICH: "rich MLP"}.get(scale, f"MLP of scale {scale:g}")
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
        if row.get("task.dispersed"):
            return f"addition dispersed, shuffle {row['task.shuffle']}"
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
            **{f"tangent_{name}": value for name, value in _tangent(run, said).items()},
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
        depth = depth_of(run)
        return wide_layers(said.task, depth=depth), said, _in_order(said, kernel_of_symbols(said.task, depth=depth))
    salience = _untrained(run.key, run, images)
    return salience, said, kernel_answers(said.task, salience, said.codes)


def depth_of(run: Run) -> int:
    """How many hidden layers the network on symbols has."""
    return len(run.configuration.model["hidden"])


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


def _tangent(run: Run, said: NetworkScores) -> dict[str, float | None]:
    """The same of the tangent kernel, in which all layers learn; for networks on symbols alone."""
    if said.task.code != "onehot":
        return {"slope": None}
    return {"slope": _both_sides(said, _in_order(said, kernel_of_symbols(said.task, "ntk", depth_of(run))))["slope"]}


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
