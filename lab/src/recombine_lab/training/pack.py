"""Runs of one shape, trained: as one where that is faster, one after another where not, and from where they stood.

A run's numbers depend on its configuration alone. Trained as one, they do not depend on the others in the pack (see
`learners`), on one thread; a run that was interrupted goes on in the way in which it was begun. What may differ is the
way itself: `together="auto"` takes the faster one, and the two round differently in the last digits. Which one is
faster is measured once, then remembered in a small file of the cache folder.
"""

import contextlib
import hashlib
import json
import math
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
from torch import nn

from recombine.base.errors import OutputError, SettingError
from recombine.base.files import write_text
from recombine_lab.models.catalogue import MODELS
from recombine_lab.models.model import Model
from recombine_lab.runs.run import Configuration, Run
from recombine_lab.tasks.catalogue import TASKS
from recombine_lab.tasks.data_files import cache_folder
from recombine_lab.tasks.exposure import Exposure, split_of
from recombine_lab.tasks.task import Batch, Task
from recombine_lab.training.batches import Feed, Fixed, feed_of
from recombine_lab.training.checkpoints import RunStore, Unfinished, Way, load_unfinished
from recombine_lab.training.learners import (
    BatchedLearner,
    CannotBatchError,
    RunTrainer,
    SingleLearner,
    check_batchable,
    mode_of,
)
from recombine_lab.training.loop import Callback, Loop, TrainingContext
from recombine_lab.training.member import Job, Member
from recombine_lab.training.recipe import Recipe, recipe_of
from recombine_lab.training.trust import check_run

_FREE_RECIPE = ("lr", "weight_decay", "momentum")
_FREE_MODEL = ("scale",)
_MOST_RUNS = 64  # trained as one: beyond it a step no longer gets cheaper a run
_MOST_BYTES = 2**30  # of examples that are held at once
_LONG_STEP = 0.03  # seconds: such a step is nearly all arithmetic, and batching saves only the overhead of operations
_WARM, _MEASURED = 3, 7  # steps that are not counted (caches, first allocations), and steps that are
_HOPELESS, _MOST_SECONDS = 2.0, 1.0  # times the rival; and what a measurement may take


def signature(configuration: Configuration) -> str:
    """Equal for runs that can be trained as one: all but the seed, the rates and the initial scale is the same.

    >>> parts = {"task": {"name": "toy"}, "split": {"name": "own"}, "model": {"name": "mlp"}, "code": "0"}
    >>> runs = [Configuration(**parts, recipe={"steps": 9, "lr": lr}, seed=seed) for seed, lr in ((0, 0.1), (1, 0.2))]
    >>> signature(runs[0]) == signature(runs[1])
    True
    """
    same = configuration.plain()
    same.pop("seed")
    same["recipe"] = {name: value for name, value in same["recipe"].items() if name not in _FREE_RECIPE}
    same["model"] = {name: value for name, value in same["model"].items() if name not in _FREE_MODEL}
    text = json.dumps(same, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def train(
    configurations: Sequence[Configuration],
    *,
    store: RunStore | None,
    callbacks: Sequence[Callback] = (),
    threads: int | None = None,
    checkpoint_every: int | None = None,
) -> list[Run]:
    """Train runs, and give them in order.

    What the store holds already is not trained again; what it holds unfinished is taken up; each run is written as soon
    as it is done. A model that raises ends the training: what was finished before stays in the store.
    """
    context = TrainingContext(store=store, callbacks=callbacks, checkpoint_every=checkpoint_every)
    return train_jobs(jobs_of(configurations), context, threads=threads)


def job_of(run: Run) -> Job:
    """The task, the split and the model of a stored run: the one way from a record to anything that is built."""
    check_run(run)
    return jobs_of([run.configuration])[0]


def jobs_of(configurations: Sequence[Configuration]) -> list[Job]:
    """The tasks, splits and models that the user's own configurations name; of a stored run it is `job_of`."""
    jobs = []
    for one in configurations:
        task, split, model, recipe = (json.dumps(part) for part in (one.task, one.split, one.model, one.recipe))
        jobs.append(
            Job(
                configuration=one,
                task=_task(task),
                exposure=_split(task, split),
                model=_model(model),
                recipe=_recipe(recipe),
            )
        )
    return jobs


# A worker trains many packs of few tasks: a task may read files, and a split may count tables.
@lru_cache(maxsize=8)
def _task(text: str) -> Task:
    made: Task = TASKS.build(json.loads(text))
    return made


@lru_cache(maxsize=32)
def _split(task: str, text: str) -> Exposure:
    return split_of(json.loads(text), _task(task))


@lru_cache(maxsize=32)
def _model(text: str) -> Model:
    made: Model = MODELS.build(json.loads(text))
    return made


@lru_cache(maxsize=32)
def _recipe(text: str) -> Recipe:
    return recipe_of(json.loads(text))


def train_jobs(jobs: Sequence[Job], context: TrainingContext, *, threads: int | None = None) -> list[Run]:
    """Train jobs that may be of several shapes, and give their runs in order."""
    store, results, shapes = context.store, dict[int, Run](), dict[str, list[int]]()
    for place, job in enumerate(jobs):
        if store is not None and store.has(job.configuration.key):
            results[place] = store.get(job.configuration.key)
            context.advance(job.recipe.steps)
        else:
            shapes.setdefault(signature(job.configuration), []).append(place)
    for places in shapes.values():
        group = [Member(jobs[place]) for place in places]
        recipe = jobs[places[0]].recipe
        with _threads(threads or recipe.threads), mode_of(recipe):
            _ShapeGroup(group, context).train()
        results |= {place: _result(member) for place, member in zip(places, group, strict=True)}
    return [results[place] for place in range(len(jobs))]


def _result(member: Member) -> Run:
    assert member.result is not None  # noqa: S101 - a loop ends every member or raises
    return member.result


@contextmanager
def _threads(number: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@dataclass(eq=False)
class _Ready:
    """A member with its module, and the state it goes on from."""

    member: Member
    module: nn.Module
    state: Unfinished | None
    way: Way = field(default="alone")

    @property
    def start(self) -> int:
        return self.state.step if self.state else 0

    def fits(self) -> tuple[Any, ...]:
        """What members of one learner have in common."""
        examples = self.member.examples
        return self.start, self.way, examples.batch, examples.size if isinstance(examples, Fixed) else None


class _ShapeGroup:
    """Members of one shape."""

    def __init__(self, members: Sequence[Member], context: TrainingContext) -> None:
        self._members, self._context = members, context
        self._recipe, self._shapes = members[0].job.recipe, members[0].job.task.shapes

    def train(self) -> None:
        """Train all of them, as many at once as memory allows."""
        fresh = self._choose_way()
        at_once = self._at_once(fresh)
        for start in range(0, len(self._members), at_once):
            ready = [self._ready(member, fresh) for member in self._members[start : start + at_once]]
            alike: dict[tuple[Any, ...], list[_Ready]] = {}
            for one in ready:
                alike.setdefault(one.fits(), []).append(one)
            for several in alike.values():
                self._train(several)

    def _ready(self, member: Member, fresh: Way) -> _Ready:
        module = member.start()
        store = self._context.store
        state = load_unfinished(store, member.key, module) if store is not None else None
        if state is not None:
            member.evaluations, member.seconds = list(state.evaluations), state.seconds
        return _Ready(member, module, state, state.way if state is not None else fresh)

    def _train(self, several: Sequence[_Ready]) -> None:
        if several[0].way == "alone":
            for one in several:
                feed = feed_of([one.member.examples], stacked=False)
                self._run([one], self._alone(one.member, one.module), feed)
        else:
            feed = feed_of([one.member.examples for one in several], stacked=True)
            self._run(several, self._batched(several, feed), feed)

    def _run(self, several: Sequence[_Ready], learner: RunTrainer, feed: Feed) -> None:
        for place, one in enumerate(several):
            if one.state is not None:
                learner.load(place, one.state.tensors, step=one.start)
        members = [one.member for one in several]
        Loop(members, learner, feed, way=several[0].way, context=self._context).run(several[0].start)

    def _alone(self, member: Member, module: nn.Module) -> SingleLearner:
        return SingleLearner(module, member.job.recipe, loss=member.loss, shapes=self._shapes, seed=member.seed)

    def _batched(self, several: Sequence[_Ready], feed: Feed) -> BatchedLearner:
        members = [one.member for one in several]
        first = feed.at(several[0].start)
        recipes = [member.job.recipe for member in members]
        modules = [one.module for one in several]
        # The trace of a model that can be named can be used again.
        name = json.dumps(self._work()) if self._members[0].job.configuration.model["name"] in MODELS.names() else None
        try:
            return BatchedLearner(modules, recipes, loss=members[0].loss, shapes=self._shapes, first=first, name=name)
        except CannotBatchError as error:
            raise SettingError(
                f"together='always' with {type(members[0].job.model).__name__}",
                why=f"these runs cannot be trained as one: {error}",
                instead="write together='auto', which trains such models one by one",
            ) from error

    def _choose_way(self) -> Way:
        """The way of runs that begin now."""
        if self._recipe.together == "always":
            return "together"
        if self._recipe.together == "never" or self._recipe.compile or len(self._members) == 1:
            return "alone"
        runs = min(len(self._members), _MOST_RUNS)
        key = choice_key(self._work("batch", "samples", "optimiser", "clip", "threads"), runs=runs)
        known = recall_choice(key)
        return "together" if (self._measure_ways(key, runs) if known is None else known) else "alone"

    def _work(self, *settings: str) -> dict[str, Any]:
        """What a step's work depends on."""
        plain = self._members[0].job.configuration.plain()
        model = {name: value for name, value in plain["model"].items() if name not in _FREE_MODEL}
        recipe = {name: plain["recipe"][name] for name in ("loss", "precision", *settings)}
        recipe |= {"device": plain["recipe"]["device"]} if "device" in plain["recipe"] else {}
        return {"model": model, "shapes": str(self._shapes), "recipe": recipe}

    def _measure_ways(self, key: str, runs: int) -> bool:
        """Both ways, a few steps each, on copies of the first run.

        Alone comes first, since it is cheap to try: a model whose steps are long is not even traced.
        """
        member = self._members[0]
        batch = feed_of([member.examples], stacked=False).at(0)
        with torch.random.fork_rng(devices=[]):
            try:
                check_batchable(member.start())
                single = self._alone(member, member.start())
                alone = seconds_of(lambda step: single.step(batch, step), rival=_LONG_STEP)
                if alone > _LONG_STEP:
                    raise CannotBatchError(f"a step takes {alone:.2g} s, nearly all of it arithmetic")
                together = self._seconds_together(batch, runs, rival=alone)
            except CannotBatchError as error:
                save_choice(key, together=False, reason=str(error).splitlines()[0][:200])
                return False
        save_choice(key, together=together < alone, seconds_alone=alone, seconds_together=together)
        return together < alone

    def _seconds_together(self, batch: Batch, runs: int, *, rival: float) -> float:
        member = self._members[0]
        stacked = Batch(*(torch.stack([part] * runs) for part in (batch.inputs, batch.targets)))
        modules, recipes = [member.start() for _ in range(runs)], [member.job.recipe] * runs
        learner = BatchedLearner(modules, recipes, loss=member.loss, shapes=self._shapes, first=stacked)
        return seconds_of(lambda step: learner.step(stacked, step), rival=rival * runs) / runs

    def _at_once(self, way: Way) -> int:
        """How many runs are prepared at once; one by one, no more than one is."""
        if way == "alone" and not (self._context.store and self._recipe.together != "never"):
            return 1
        examples = self._members[0].examples
        numbers = examples.size * sum(
            torch.Size(shape).numel() for shape in (self._shapes.inputs, self._shapes.outputs)
        )
        return max(1, min(_MOST_RUNS, _MOST_BYTES // (8 * max(numbers, 1))))


def notes() -> Path:
    """The file of measured choices."""
    return cache_folder() / "together.json"


def choice_key(about: dict[str, Any], *, runs: int) -> str:
    """What a measurement holds for: the work of a step, about how many runs, this torch, and this kind of processor."""
    here = {"torch": torch.__version__, "processor": torch.backends.cpu.get_cpu_capability()}
    text = json.dumps(about | here | {"runs": 1 << (runs - 1).bit_length()}, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def recall_choice(key: str) -> bool | None:
    """Whether training as one was faster; None where it was never measured here."""
    try:
        return bool(_read_choices()[key]["together"])
    except (KeyError, TypeError):
        return None


def save_choice(key: str, *, together: bool, **measured: float | str | None) -> None:
    """Note a choice. A folder that cannot be written costs a measurement each time, and nothing else."""
    held = _read_choices() | {key: {"together": together, **measured}}
    with contextlib.suppress(OutputError):
        write_text(notes(), json.dumps(held, indent=1))


def _read_choices() -> dict[str, Any]:
    """All that was noted; nothing where the file is not there or damaged."""
    try:
        return dict(json.loads(notes().read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return {}


def seconds_of(step: Callable[[int], object], *, rival: float = math.inf) -> float:
    """The processor time of a step: the median of a few, after a few that are not counted.

    One that takes far longer than a rival's, the first not counted, is not taken again.
    """
    taken = []
    for place in range(_WARM + _MEASURED):
        began = time.process_time()
        step(place)
        taken.append(time.process_time() - began)
        if place and taken[-1] > _HOPELESS * rival:
            return taken[-1]
        if place >= _WARM and sum(taken) > _MOST_SECONDS:
            break
    return statistics.median(taken[_WARM:])
