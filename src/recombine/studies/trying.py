"""What a preset would cost, from a few updates of everything in it: each kind of run, and each step of the study.

An update of a run is timed as the difference between three updates and one, so that loading and testing do not count.
A GPU's time is estimated from the arithmetic that PyTorch counts, at what a card sustains on such small batches; where
there is little of it, the time that a card needs to start an update's operations decides. Both are assumptions.
"""

import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch.utils.flop_counter import FlopCounterMode

from recombine.errors import RecombineError
from recombine.lab.runs.run import Configuration, Run
from recombine.lab.runs.store import Store
from recombine.lab.sweeps.grid import SweepPlan
from recombine.lab.training.fit import fit
from recombine.lab.training.pack import signature
from recombine.studies.catalogue import settings_of, study_of
from recombine.studies.rows import Rows
from recombine.studies.running import plans_of, row_of
from recombine.studies.study import Bench, Evidence, Settings, Step, Study

SUSTAINED = 10e12
"""Operations a second: about half of what a data-centre card reaches in 32 bits."""
LEAST = 2e-3
"""Seconds in which a card starts the operations of one update, however small they are."""
_FEW, _MORE = 1, 3


@dataclass(frozen=True, kw_only=True)
class Tried:
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

        >>> Tried(name="a run", count=5, updates=100, seconds=0.01).total()
        5.0
        """
        each = self.gpu if gpu else self.seconds
        return None if each is None or self.updates is None else self.count * self.updates * each


def try_preset(study: str | Study, *, preset: str) -> tuple[Tried, ...]:
    """Every kind of run of a preset, built and trained for a few updates, and every step tried on its first item."""
    found = study_of(study) if isinstance(study, str) else study
    settings = settings_of(found, preset)
    plans = plans_of(found, settings)
    return (*_runs(plans), *_steps(found, settings, plans))


def _kinds(plans: Mapping[str, SweepPlan]) -> list[tuple[str, Configuration, int]]:
    """One run of each shape, its grid, and how many there are."""
    runs = [(name, run) for name, plan in plans.items() for run in plan.runs]
    counts = Counter(signature(run) for run in {run.key: run for _, run in runs}.values())
    first = {signature(run): (name, run) for name, run in reversed(runs)}
    return [(name, run, counts[kind]) for kind, (name, run) in first.items()]


def _runs(plans: Mapping[str, SweepPlan]) -> Iterator[Tried]:
    for grid, run, count in _kinds(plans):
        name = f"{grid}: {run.task['name']}, {run.split['name']}, {run.model['name']}"
        updates = int(run.recipe["steps"])
        try:
            seconds, gpu = _an_update(run)
        except RecombineError as error:
            yield Tried(name=name, count=count, updates=updates, problem=error.what)
        else:
            yield Tried(name=name, count=count, updates=updates, seconds=seconds, gpu=gpu)


def _an_update(run: Configuration) -> tuple[float, float]:
    with FlopCounterMode(display=False) as counter:
        _trained(run, _MORE)  # which also loads and allocates what the first call needs once
    taken = []
    for steps in (_FEW, _MORE):
        began = time.perf_counter()
        _trained(run, steps)
        taken.append(time.perf_counter() - began)
    seconds = max(0.0, taken[1] - taken[0]) / (_MORE - _FEW)
    return seconds, max(LEAST, counter.get_total_flops() / _MORE / SUSTAINED)


def _trained(run: Configuration, steps: int, store: Store | None = None) -> Run:
    recipe = {**run.recipe, "steps": steps, "evaluations": 1, "test_samples": 2, "warmup": 0} | _few_samples(run.recipe)
    (made,) = fit(run.task, run.split, run.model, recipe, seeds=[run.seed], store=store, progress=False)
    return made


def _few_samples(recipe: Mapping[str, Any]) -> dict[str, Any]:
    """As many as a few updates go through: drawing 100,000 pictures takes minutes and gigabytes, an update does not."""
    samples, batch = recipe.get("samples"), recipe.get("batch")
    return {"samples": min(samples, _MORE * batch)} if isinstance(samples, int) and batch else {}


def _steps(study: Study, settings: Settings, plans: Mapping[str, SweepPlan]) -> Iterator[Tried]:
    """Steps on runs of two updates, with the settings that make them short."""
    if not study.steps:
        return
    asked = Evidence(Bench("", settings), Rows(row_of(run, name) for name, plan in plans.items() for run in plan.runs))
    small = {**settings, **study.trial}
    with tempfile.TemporaryDirectory() as folder:
        store = Store.open(folder)
        rows = [_row(_trained(run, 2, store), name) for name, run, _ in _kinds(plans)]
        evidence = Evidence(Bench(folder, small), Rows(rows))
        for step in study.steps:
            tried, measured = _step(step, evidence, asked)
            yield tried
            evidence = Evidence(evidence.bench, evidence.runs, {**evidence.measured, step.name: Rows(measured)})


def _row(run: Run, grid: str) -> dict[str, Any]:
    return {**row_of(run.configuration, grid), "status": run.status, "seconds": run.seconds, **run.metrics}


def _step(step: Step, evidence: Evidence, asked: Evidence) -> tuple[Tried, Sequence[dict[str, Any]]]:
    items = list(step.items(evidence))
    count = _counted(step, asked, items)
    updates = None if step.updates is None else step.updates(asked.settings)
    if not items:
        return Tried(name=step.name, count=count, updates=updates, problem="it found nothing to measure"), []
    began = time.perf_counter()
    try:
        rows = step.measure(items[0], evidence.bench)
    except RecombineError as error:
        return Tried(name=step.name, count=count, updates=updates, problem=error.what), []
    seconds = time.perf_counter() - began
    each = seconds / max(1, step.updates(evidence.settings)) if step.updates is not None else seconds
    made = [{**items[0], **row} for row in rows]
    return Tried(name=step.name, count=count, updates=1 if updates is None else updates, seconds=each), made


def _counted(step: Step, asked: Evidence, items: Sequence[Any]) -> int:
    """How many items the preset has; of runs that are not trained yet, as far as can be told without their scores."""
    try:
        return len(step.items(asked))
    except (KeyError, TypeError, ValueError, RecombineError):
        return len(items)
