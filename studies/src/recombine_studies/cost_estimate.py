"""What a preset would cost, from a few updates of everything in it: each kind of run, and each step of the study.

Runs of one task, splitter, model and recipe cost alike, whatever they hold out and which number stands for which
picture: a few of them, spread over all there are, are built, trained and timed, and their mean stands for the rest. An
update is timed as the difference between three updates and one, so that loading and testing do not count; it is the
processor's time, not the clock's, so that what else runs here does not count either.
A GPU's time is estimated from the arithmetic that PyTorch counts, at what a card sustains on such small batches; where
there is little of it, the time that a card needs to start an update's operations decides. Both are assumptions.
"""

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from torch.utils.flop_counter import FlopCounterMode

from recombine.base.errors import RecombineError
from recombine_lab.runs.run import Configuration, Run
from recombine_lab.runs.store import Store
from recombine_lab.sweeps.grid import SweepPlan
from recombine_lab.training.fit import fit
from recombine_lab.training.pack import signature
from recombine_studies.catalogue import settings_of, study_of
from recombine_studies.rows import Rows
from recombine_studies.study import Bench, Evidence, Settings, Step, Study
from recombine_studies.study_run import plans_of, row_of

SUSTAINED = 10e12
"""Operations a second: about half of what a data-centre card reaches in 32 bits."""
LEAST = 2e-3
"""Seconds in which a card starts the operations of one update, however small they are."""
_FEW, _MORE = 1, 3
_LONG = 5.0
"""Seconds of an update after which one run has to stand for all that cost alike: loading is little beside it."""
Tell = Callable[[float], None]


@dataclass(frozen=True, kw_only=True)
class TrialCost:
    """One kind of run, or one step of the study: how many there are, the updates of each, and what one took here.

    `seconds` is None where it could not be tried (`problem` says why) or where its updates are not known; `gpu` is the
    estimate for one update on a card.
    """

    name: str
    count: int
    updates: int | None
    seconds: float | None = None
    gpu: float | None = None
    problem: str | None = None

    def total(self, *, gpu: bool = False) -> float | None:
        """Seconds for all of them, on one processor here or on one card.

        >>> TrialCost(name="a run", count=5, updates=100, seconds=0.01).total()
        5.0
        """
        each = self.gpu if gpu else self.seconds
        return None if each is None or self.updates is None else self.count * self.updates * each


@dataclass(frozen=True)
class _Alike:
    """Runs that cost alike: how many there are, and the few of them that are tried, each with the name of its grid."""

    count: int
    tried: tuple[tuple[str, Configuration], ...]

    @property
    def name(self) -> str:
        """What they have in common, and the grid where there is but one."""
        grids = {grid for grid, _ in self.tried}
        of = f"{next(iter(grids))}: " if len(grids) == 1 else ""
        _, run = self.tried[0]
        return f"{of}{run.task['name']}, {run.split['name']}, {run.model['name']}"


def try_preset(
    study: str | Study, *, preset: str, of_a_kind: int = 3, tell: Tell = lambda _: None
) -> tuple[TrialCost, ...]:
    """What a preset's runs and steps cost, from a few updates of every kind; `tell` hears how far the trials are.

    `of_a_kind` runs are timed of those that cost alike: three for a figure, one to see that each can be trained.
    """
    found = study_of(study) if isinstance(study, str) else study
    settings = settings_of(found, preset)
    plans = plans_of(found, settings)
    kinds = _kinds(plans, of_a_kind)
    runs = tuple(_runs(kinds, tell))
    few = [run for alike, one in zip(kinds, runs, strict=True) for run in alike.tried[: 1 if _is_long(one) else None]]
    return (*runs, *_steps(found, settings, plans, few))


def _is_long(tried: TrialCost) -> bool:
    return tried.seconds is not None and tried.seconds > _LONG


def _kinds(plans: Mapping[str, SweepPlan], of_a_kind: int) -> list[_Alike]:
    """The runs of all grids, those together that cost alike; a run that stands in several grids is counted once."""
    runs: dict[str, tuple[str, Configuration]] = {}
    groups: dict[str, list[tuple[str, Configuration]]] = {}
    for name, plan in plans.items():
        for run in plan.runs:
            runs.setdefault(run.key, (name, run))
    for name, run in runs.values():
        bare = replace(run, task={"name": run.task["name"]}, split={"name": run.split["name"]})
        groups.setdefault(signature(bare), []).append((name, run))
    return [_Alike(len(group), tuple(_spread(group, of_a_kind))) for group in groups.values()]


def _spread(group: Sequence[tuple[str, Configuration]], count: int) -> list[tuple[str, Configuration]]:
    """The first, the last and what lies evenly between."""
    places = np.linspace(0, len(group) - 1, min(count, len(group))).round().astype(int)
    return [group[place] for place in places]


def _runs(kinds: Sequence[_Alike], tell: Tell) -> Iterator[TrialCost]:
    for place, alike in enumerate(kinds):
        tell(place / len(kinds))
        updates = int(alike.tried[0][1].recipe["steps"])
        try:
            seconds, gpu = np.mean(_updates(alike), axis=0).tolist()
        except RecombineError as error:
            yield TrialCost(name=alike.name, count=alike.count, updates=updates, problem=error.what)
        else:
            yield TrialCost(name=alike.name, count=alike.count, updates=updates, seconds=seconds, gpu=gpu)


def _updates(alike: _Alike) -> list[tuple[float, float]]:
    timed: list[tuple[float, float]] = []
    for _, run in alike.tried:
        timed.append(_an_update(run))
        if timed[-1][0] > _LONG:
            break
    return timed


def _an_update(run: Configuration) -> tuple[float, float]:
    began = time.process_time()
    with FlopCounterMode(display=False) as counter:
        _trained(run, _MORE)  # which also loads and allocates what the first call needs once
    first = (time.process_time() - began) / _MORE
    if first > _LONG:
        return first, max(LEAST, counter.get_total_flops() / _MORE / SUSTAINED)
    taken = []
    for steps in (_FEW, _MORE):
        began = time.process_time()
        _trained(run, steps)
        taken.append(time.process_time() - began)
    seconds = max(0.0, taken[1] - taken[0]) / (_MORE - _FEW)
    return seconds, max(LEAST, counter.get_total_flops() / _MORE / SUSTAINED)


def _trained(run: Configuration, steps: int, store: Store | None = None) -> Run:
    recipe = {**run.recipe, "steps": steps, "evaluations": 1, "test_samples": 2, "warmup": 0} | _few_samples(run.recipe)
    (made,) = fit(run.task, run.split, run.model, recipe, seeds=[run.seed], store=store, progress=None)
    return made


def _few_samples(recipe: Mapping[str, Any]) -> dict[str, Any]:
    """As many as a few updates go through: drawing 100,000 pictures takes minutes and gigabytes, an update does not."""
    samples, batch = recipe.get("samples"), recipe.get("batch")
    return {"samples": min(samples, _MORE * batch)} if isinstance(samples, int) and batch else {}


def _steps(
    study: Study,
    settings: Settings,
    plans: Mapping[str, SweepPlan],
    few: Sequence[tuple[str, Configuration]],
) -> Iterator[TrialCost]:
    """Steps on runs of two updates, with the settings that make them short."""
    if not study.steps:
        return
    asked = Evidence(Bench("", settings), Rows(row_of(run, name) for name, plan in plans.items() for run in plan.runs))
    small = {**settings, **study.trial}
    with tempfile.TemporaryDirectory() as folder:
        store = Store.open(folder)
        rows = [_row(_trained(run, 2, store), name) for name, run in few]
        evidence = Evidence(Bench(folder, small), Rows(rows))
        for step in study.steps:
            tried, measured = _step(step, evidence, asked)
            yield tried
            evidence = Evidence(evidence.bench, evidence.runs, {**evidence.measured, step.name: Rows(measured)})


def _row(run: Run, grid: str) -> dict[str, Any]:
    return {**row_of(run.configuration, grid), "status": run.status, "seconds": run.seconds, **run.metrics}


def _step(step: Step, evidence: Evidence, asked: Evidence) -> tuple[TrialCost, Sequence[dict[str, Any]]]:
    items = list(step.items(evidence))
    count = _counted(step, evidence, asked)
    updates = None if step.updates is None else step.updates(asked.settings)
    if not items:
        return TrialCost(name=step.name, count=count, updates=updates, problem="it found nothing to measure"), []
    began = time.process_time()
    try:
        rows = step.measure(items[0], evidence.bench)
    except RecombineError as error:
        return TrialCost(name=step.name, count=count, updates=updates, problem=error.what), []
    seconds = time.process_time() - began
    each = seconds / max(1, step.updates(evidence.settings)) if step.updates is not None else seconds
    made = [{**items[0], **row} for row in rows]
    return TrialCost(name=step.name, count=count, updates=1 if updates is None else updates, seconds=each), made


def _counted(step: Step, tried: Evidence, asked: Evidence) -> int:
    """How many items the preset has: where that hangs on scores that are not there yet, as many a run as were tried."""
    try:
        return len(step.items(asked))
    except (KeyError, TypeError, ValueError, RecombineError):
        return round(len(step.items(tried)) * len(asked.runs) / max(1, len(tried.runs)))
