"""What is read off the runs: their curves, what their answers hang on, where they draw the line, and what they say.

Both labels are independent in the rows that networks are asked about here: what the second one tells of an answer has
come through the network.

Numbers by seed, read off what was measured: how fast a run learns, how far it falls, what its answers hang on.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any, cast

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor, nn

from recombine_lab.models.layers import evaluating
from recombine_lab.probes.influence_probe.factor_locations import Located, located
from recombine_lab.probes.influence_probe.factor_measures import bits, changes, donors, frozen, slopes
from recombine_lab.probes.influence_probe.influence_figures import boundaries
from recombine_lab.probes.influence_probe.module_answers import Asking
from recombine_lab.runs.run import TEXTS, Run
from recombine_lab.tasks.conjunction_tasks import Toy
from recombine_lab.tasks.digit_images import DigitPairs, ImageSet
from recombine_lab.tasks.scan_grammar import ACTION_WORDS
from recombine_lab.tasks.task import Codes
from recombine_lab.training.member import Member
from recombine_lab.training.pack import job_of
from recombine_studies.redundancy.grids import DIGITS, EARLY, SCAN, TOY
from recombine_studies.rows import Row, Rows
from recombine_studies.study import Bench, Evidence, Settings, Step

CURVES, INFLUENCE, BOUNDARIES, ANSWERS = "curves", "influence", "boundaries", "answers"
SETTING, STEPS = "task.setting", "recipe.steps"
SECOND = "second"
OFFSETS = (0, 1)
"""In A the second digit is the first plus one of these: so it suggests itself, and itself less one."""
_WIDTH = 28
_ASKED = {"A": ("seen", "unseen"), "B": ("seen", "test"), "B-noise": ("noised", "unseen")}
"""Of pairs of digits: what is asked as training shows it, and what is held against it."""


# Curves


def curve_items(evidence: Evidence) -> Sequence[Row]:
    """The runs of each task and setting."""
    full = evidence.runs.chosen(lambda row: row["grid"] in (TOY, DIGITS, SCAN))
    return [
        {"grid": grid, "setting": setting, "key": rows.column("key")}
        for (grid, setting), rows in full.by("grid", SETTING).items()
    ]


def measure_curves(item: Row, bench: Bench) -> Sequence[Row]:
    """How each run did at each evaluation: as in training, on the test, and on the test changed like training."""
    return [row for key in item["key"] for row in curve_of(bench.run(key), item["grid"], item["setting"])]


def curve_of(run: Run, grid: str, setting: str) -> list[Row]:
    """The curve of one run."""
    train, test = _ASKED[setting] if grid == DIGITS else ("seen", "unseen")
    named = {train: "train", test: "test", "unseen_replaced": "replaced"}
    found: dict[int, dict[str, Any]] = {}
    for one in run.tables["curve"].to_pylist():
        if one["part"] in named:
            found.setdefault(one["step"], {})[named[one["part"]]] = one["score"]
    own = {"key": run.key, "seed": run.configuration.seed}
    return [{**own, "step": step, "replaced": None, **scores} for step, scores in found.items()]


# What answers hang on


@dataclass(frozen=True, eq=False)
class ExchangeRows:
    """Rows that networks are asked about: `second` can be exchanged in all of them, `few` are followed by derivative.

    `pull` says how far the scores go where the second input pointed in the training of A; it is 0 for a network that
    does not look at it.
    """

    where: Located
    few: Located
    first: Codes
    second: Codes
    pull: Callable[[nn.Module, Tensor], float]
    suggested: Callable[[Tensor], float] | None = None


def influence_items(evidence: Evidence) -> Sequence[Row]:
    """The networks of each task and setting by step; before the first one they are those of A."""
    items: list[Row] = []
    for grid, early in EARLY.items():
        short = evidence.runs.chosen(lambda row, early=early: row["grid"] == early)  # type: ignore[misc]
        seeds = set(short.column("seed"))
        full = evidence.runs.chosen(lambda row, grid=grid, seeds=seeds: row["grid"] == grid and row["seed"] in seeds)  # type: ignore[misc]
        by_step = (short + full).by(SETTING, STEPS)
        first = min((steps for _, steps in by_step), default=0)
        begun = [{"grid": grid, "setting": "A", "step": 0, "key": by_step["A", first].column("key")}] if first else []
        items += begun
        items += [
            {"grid": grid, "setting": setting, "step": steps, "key": rows.column("key")}
            for (setting, steps), rows in by_step.items()
        ]
    return items


def measure_influence(item: Row, bench: Bench) -> Sequence[Row]:
    """How far the answers of each network hang on the second input."""
    asked = asked_of(item["grid"], bench.settings)
    return [
        {"key": run.key, "seed": run.configuration.seed, **leaning(network_of(run, item["step"]), asked)}
        for run in map(bench.run, item["key"])
    ]


def network_of(run: Run, step: int) -> nn.Module:
    """A run's network, or the one that it began with."""
    return run.module() if step else Member(job_of(run)).start()


def asked_of(grid: str, settings: Settings) -> ExchangeRows:
    """The rows of a task."""
    if grid == TOY:
        return toy_rows(settings["rows"], settings["followed"])
    return digit_rows(settings["images"], settings["digit_rows"], settings["followed"])


@cache
def toy_rows(rows: int, followed: int) -> ExchangeRows:
    """The four combinations of the toy, evenly."""
    task = Toy()
    codes = _evenly(task.every(), rows)
    inputs = task.tensors(codes, seed=0, part="test").inputs
    return ExchangeRows(
        *_exchanged(inputs, codes, 1, followed),
        codes[:, 0],
        codes[:, 1],
        lambda module, _: slope_against(module, inputs),
    )


@cache
def digit_rows(images: str, rows: int, followed: int) -> ExchangeRows:
    """The hundred pairs of digits, evenly, as new pictures."""
    task = DigitPairs(images=cast("ImageSet", images))
    codes = _evenly(task.every(), rows)
    inputs = task.tensors(codes, seed=0, part="test").inputs
    places = slice(_WIDTH, 2 * _WIDTH)
    return ExchangeRows(
        *_exchanged(inputs, codes, places, followed),
        codes[:, 0],
        codes[:, 1],
        lambda _, scores: digit_pull(scores, codes),
        lambda scores: suggested_share(scores, codes),
    )


def _evenly(combinations: Codes, rows: int) -> Codes:
    return np.tile(combinations, (max(1, rows // len(combinations)), 1))


def _exchanged(inputs: Tensor, codes: Codes, places: Any, followed: int) -> tuple[Located, Located]:
    table = pa.table({SECOND: codes[:, 1]})
    some = min(followed, len(codes))
    return (
        located(inputs, table, {SECOND: places}, None),
        located(inputs[:some], table.slice(0, some), {SECOND: places}, None),
    )


def leaning(module: nn.Module, asked: ExchangeRows) -> dict[str, float | None]:
    """How far a network's answers hang on the second input, five ways.

    `swap` is the share of answers that change when it comes from a row with another second label; `slope` the mean
    length of the scores' derivative by it; `bits` the information of the second label in the answer, corrected for its
    bias, with `floor`, which 95 of 100 shuffled labels stay below; `pull` and `suggested` as in `ExchangeRows`.
    """
    asking = Asking("classes", None)
    scores = asking.scores(module, asked.where.inputs)
    chosen = donors(asked.second, np.random.default_rng(0), same=False)
    swapped = changes(module, asking, asked.where, SECOND, chosen, before=scores)
    by_output, _ = slopes(module, asking, asked.few, layer=None, seed=0)
    told = bits(asked.second, scores.argmax(dim=1).numpy(), other=asked.first)
    return {
        "swap": float(np.nanmean(swapped)),
        "slope": float(by_output[SECOND].mean()),
        "bits": told.value,
        "floor": told.null_high,
        "pull": asked.pull(module, scores),
        "suggested": None if asked.suggested is None else asked.suggested(scores),
    }


def slope_against(module: nn.Module, inputs: Tensor) -> float:
    """Of the toy: how fast the score of class 1, less that of class 0, falls as the second input rises.

    >>> rule = nn.Linear(2, 2, bias=False)
    >>> _ = rule.weight.data.copy_(torch.tensor([[0.0, 0.5], [1.0, 0.0]]))
    >>> slope_against(rule, torch.zeros(3, 2))
    0.5
    """
    leaf = inputs.detach().clone().requires_grad_()
    with evaluating(module), frozen(module):
        scores = module(leaf)
        moved = torch.autograd.grad((scores[:, 0] - scores[:, 1]).sum(), leaf)[0]
    return float(moved[:, 1].mean())


def digit_pull(scores: Tensor, codes: Codes) -> float:
    """Of pairs that A does not show: the score of the classes that the second digit suggests, less the other wrong.

    >>> codes = np.array([[0, 5], [1, 7]])
    >>> scores = torch.zeros(2, 10)
    >>> scores[0, 4] = scores[0, 5] = scores[1, 6] = scores[1, 7] = 2.0
    >>> digit_pull(scores, codes)
    2.0
    """
    hinted, unseen = hints(codes)
    own = np.eye(scores.shape[1], dtype=bool)[codes[:, 0]]
    numbers = scores.double().numpy()
    other = ~hinted & ~own
    gained = (numbers * hinted).sum(1) / hinted.sum(1) - (numbers * other).sum(1) / other.sum(1)
    return float(gained[unseen].mean())


def suggested_share(scores: Tensor, codes: Codes) -> float:
    """Of pairs that A does not show: how often the answer is one that the second digit suggests, and so is wrong."""
    hinted, unseen = hints(codes)
    return float(hinted[np.arange(len(codes)), scores.argmax(dim=1).numpy()][unseen].mean())


def hints(codes: Codes) -> tuple[Any, Any]:
    """(n, 10) Which classes each second digit suggests, and (n,) whether none of them is right: the pair is unseen."""
    classes = np.arange(len(DigitPairs().space.factors[0].values))
    hinted = np.isin((codes[:, 1:] - classes) % len(classes), OFFSETS)
    return hinted, ~hinted[np.arange(len(codes)), codes[:, 0]]


# Where the toy's networks draw the line


def boundary_items(evidence: Evidence) -> Sequence[Row]:
    """The first seed at every step in both settings, and the first seeds of A at the end."""
    runs = evidence.runs.chosen(lambda row: row["grid"] in (TOY, EARLY[TOY]) and row["seed"] < _pictured(evidence))
    last = max(runs.column(STEPS), default=0)
    first = runs.chosen(lambda row: row["seed"] == 0 or (row[SETTING] == "A" and row[STEPS] == last))
    by_key = {row["key"]: row for row in first}
    items = [_boundary(row, row[STEPS]) for row in by_key.values()]
    begun = {row[SETTING]: row for row in by_key.values() if row["seed"] == 0}
    return [_boundary(row, 0) for row in begun.values()] + items


def _pictured(evidence: Evidence) -> int:
    return int(evidence.settings["pictured"])


def _boundary(row: Row, step: int) -> Row:
    return {"setting": row[SETTING], "seed": row["seed"], "step": step, "key": row["key"]}


def measure_boundary(item: Row, bench: Bench) -> Sequence[Row]:
    """The class at each point of a grid over both inputs, row by row from the top."""
    (field,) = boundaries({"": network_of(bench.run(item["key"]), item["step"])}, side=bench.settings["side"])
    return [{"cells": [cell for row in field.cells for cell in row]}]


# What networks say in SCAN


def answer_items(evidence: Evidence) -> Sequence[Row]:
    """Every run of SCAN."""
    return [
        {"setting": row[SETTING], "seed": row["seed"], "key": row["key"]}
        for row in evidence.runs.chosen(lambda row: row["grid"] == SCAN)
    ]


def measure_answers(item: Row, bench: Bench) -> Sequence[Row]:
    """How many answers are right but for the action words, in each part: the syntax alone."""
    said = Rows(bench.run(item["key"]).tables["predictions"].to_pylist())
    return [
        {"part": part, "syntax": float(np.mean([pattern(row[TEXTS[0]]) == pattern(row[TEXTS[1]]) for row in rows]))}
        for part, rows in said.by("part").items()
    ]


def pattern(actions: str) -> str:
    """A sentence of actions in which one action word is like another.

    >>> pattern("I_TURN_LEFT I_JUMP")
    'I_TURN_LEFT ACT'
    """
    own = {f"I_{word.upper()}" for word in ACTION_WORDS}
    return " ".join("ACT" if action in own else action for action in actions.split())


MEASURED = (
    Step(name=CURVES, items=curve_items, measure=measure_curves),
    Step(name=INFLUENCE, items=influence_items, measure=measure_influence, version=2),
    Step(name=BOUNDARIES, items=boundary_items, measure=measure_boundary),
    Step(name=ANSWERS, items=answer_items, measure=measure_answers),
)


BySeed = Mapping[int, float]


def curves(evidence: Evidence, grid: str, setting: str) -> dict[int, Rows]:
    """The curve of each seed, in order of the steps."""
    rows = evidence.of(CURVES).where(grid=grid, setting=setting)
    return {seed: Rows(sorted(own, key=lambda row: row["step"])) for seed, own in rows.by("seed").items()}


def speeds(evidence: Evidence, grid: str, setting: str) -> BySeed:
    """How fast each seed learns: its training accuracy, averaged over the steps on a logarithmic scale."""
    return {
        seed: average_over_log(own.column("step"), own.column("train"))
        for seed, own in curves(evidence, grid, setting).items()
    }


def average_over_log(steps: Sequence[int], scores: Sequence[float | None]) -> float:
    """The mean height of a curve over log(step), from the first step to the last; what is before any step is left out.

    >>> average_over_log([0, 1, 10, 100], [0.9, 0.0, 0.5, 1.0])
    0.5
    """
    known = [
        (math.log(step), math.nan if score is None else score)
        for step, score in zip(steps, scores, strict=True)
        if step
    ]
    if len(known) < 2:
        return math.nan
    area = sum((right[0] - left[0]) * (left[1] + right[1]) / 2 for left, right in pairwise(known))
    return area / (known[-1][0] - known[0][0])


def lasts(evidence: Evidence, grid: str, setting: str, part: str) -> BySeed:
    """The last score of each seed on `train`, `test` or `replaced`."""
    found = {seed: own[-1].get(part) for seed, own in curves(evidence, grid, setting).items()}
    return {seed: math.nan if value is None else float(value) for seed, value in found.items()}


def at_step(evidence: Evidence, grid: str, setting: str, part: str, step: int) -> BySeed:
    """The score of each seed at one evaluation."""
    found = {seed: own.where(step=step) for seed, own in curves(evidence, grid, setting).items()}
    return {seed: own.number(part) for seed, own in found.items() if len(own)}


def gaps(evidence: Evidence, grid: str, setting: str, part: str = "test") -> BySeed:
    """How far the test is below training at the end, for each seed."""
    return less(lasts(evidence, grid, setting, "train"), lasts(evidence, grid, setting, part))


def less(one: BySeed, other: BySeed) -> BySeed:
    """The difference seed by seed, of seeds that both have.

    >>> less({0: 0.5, 1: 0.75}, {1: 0.25})
    {1: 0.5}
    """
    return {seed: value - other[seed] for seed, value in one.items() if seed in other}


def influences(evidence: Evidence, grid: str, setting: str, name: str, step: int) -> BySeed:
    """One measure of each seed's network at one step; before any step all settings have the same network."""
    rows = evidence.of(INFLUENCE).where(grid=grid, setting=setting if step else "A", step=step)
    return {row["seed"]: float(row[name]) for row in rows if row[name] is not None}


def steps_of(evidence: Evidence, grid: str) -> list[int]:
    """The steps at which networks were asked what they hang on, without the beginning."""
    rows = evidence.of(INFLUENCE)
    return sorted({row["step"] for row in rows if row["grid"] == grid and row["step"]})


def syntax_gaps(evidence: Evidence, setting: str) -> BySeed:
    """Of SCAN: how much more often the syntax is right on commands as in training than on the test."""
    rows = evidence.of(ANSWERS).where(setting=setting)
    seen, unseen = ({row["seed"]: row["syntax"] for row in rows.where(part=part)} for part in ("seen", "unseen"))
    return less(seen, unseen)


def numbers(found: BySeed) -> list[float]:
    """The numbers alone, in order of the seeds."""
    return [found[seed] for seed in sorted(found)]
