"""A sweep's file as a list of runs: a grid of tasks × splits × models × recipes × seeds.

`{each: [...]}` in place of a value stands for one variant with each of them. Everything that can be wrong with a file
is found here, before anything is trained: also whether the parts of the grid go together, which is tried.
"""

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from recombine.base.checks import check_listed
from recombine.base.errors import RecombineError, SettingError, nearest
from recombine.base.words import plain_setting
from recombine_lab.base.catalogue import Spec
from recombine_lab.models.catalogue import MODELS
from recombine_lab.runs.run import Configuration
from recombine_lab.sweeps.sweep_file import read_yaml
from recombine_lab.tasks.catalogue import TASKS
from recombine_lab.tasks.exposure import split_of
from recombine_lab.tasks.task import Batch
from recombine_lab.training.configurations import MOST_RUNS, configurations, seeds_of, try_model, two_examples
from recombine_lab.training.recipe import recipe_of
from recombine_lab.training.trust import check_known

_PARTS = ("task", "split", "model", "recipe", "seed")
Entry = str | dict[str, Any]
Named = Annotated[list[Entry], Field(min_length=1)]
EACH = "each"
Where = Callable[[str, Any], str]
"""Where in the file a part of a run stands: `'models', entry 2`, of the name of the field and the part."""


class SweepFile(BaseModel):
    """What a sweep's file may hold.

    >>> SweepFile(tasks=["toy"], splits=["own"], models=["mlp"], recipes=[{"steps": 10}], seeds=2).seeds
    (0, 1)
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    store: str | None = None
    tasks: Named
    splits: Named
    models: Named
    recipes: Annotated[list[dict[str, Any]], Field(min_length=1)]
    seeds: tuple[int, ...] = (0,)
    skip: list[dict[str, Any]] = []

    @field_validator("tasks", "splits", "models", "recipes", "skip", mode="before")
    @classmethod
    def _one_is_a_list(cls, entries: Any) -> Any:
        """One entry may stand without its brackets."""
        return [entries] if isinstance(entries, str | Mapping) else entries

    @field_validator("seeds", mode="before")
    @classmethod
    def _list_seeds(cls, seeds: Any) -> tuple[int, ...]:
        try:
            return seeds_of(seeds)
        except SettingError as error:
            raise ValueError(f"{error.what}: {error.why}") from error  # which Pydantic says with the field's name


@dataclass(frozen=True)
class SweepPlan:
    """The runs of a sweep, in the order of its file, and the store that they go to."""

    source: str
    store: str | None
    runs: tuple[Configuration, ...]

    def __len__(self) -> int:
        return len(self.runs)


def read_plan(content: "str | Path | Mapping[str, Any] | SweepPlan", *, tried: bool = True) -> SweepPlan:
    """A file, or what would stand in it, as the runs that it describes.

    `tried=False` spares the trial of each model on its task, for a plan of which nothing is to be trained.
    """
    if isinstance(content, SweepPlan):
        return content
    source = "the sweep" if isinstance(content, Mapping) else str(content)
    if not isinstance(content, Mapping):
        content = read_yaml(Path(content))
        check_known(content, source=f"'{source}'")
    try:
        file = SweepFile(**{str(name): value for name, value in content.items()})
    except ValidationError as error:
        raise _explain(error, source) from error
    specs = {name: _expand(getattr(file, name), name, source) for name in ("tasks", "splits", "models", "recipes")}
    _refuse_too_many(math.prod(map(len, (*specs.values(), file.seeds))), source)
    _check_names(specs, source)
    with _locate(source):
        runs = [
            run
            for task, split, model, recipe in product(*specs.values())
            for run in configurations(task, split, model, recipe, file.seeds)
        ]
    kept = tuple(_apply_skips(runs, _expand(file.skip, "skip", source), source))
    _refuse_twins(kept, source)
    if tried:
        with _locate(source):
            check_pairs(kept, lambda field, part: _entry(field, part, specs[field]))
    return SweepPlan(source, file.store, kept)


def store_place(plan: SweepPlan, store: str | Path | None = None) -> str:
    """Where the runs of a sweep are kept: where it is asked for, else where its file says."""
    place = store if store is not None else plan.store
    if place is None:
        raise SettingError(
            f"{plan.source}: no store",
            why="neither the file nor the call says where runs are kept",
            instead="write for example store: runs into the file, or give --store runs",
        )
    return str(place) if "://" in str(place) else str(Path(place).absolute())


def _explain(error: ValidationError, source: str) -> SettingError:
    """The first thing that is wrong with a file, with the name of its field."""
    first = error.errors()[0]
    field, *place = (str(part) for part in first["loc"])
    known = list(SweepFile.model_fields)
    if first["type"] == "extra_forbidden":
        return SettingError(
            f"{source}: no setting {field!r}",
            why=f"a sweep's settings are {', '.join(known)}",
            instead=nearest(field, known),
        )
    if first["type"] == "missing":
        return SettingError(
            f"{source}: {field!r} is missing", why="without it the grid is empty", instead=f"write {_example(field)}"
        )
    if first["type"] == "too_short":
        return SettingError(
            f"{source}: {field!r} is empty",
            why="a grid over nothing holds no runs",
            instead=f"write at least one entry: {_example(field)}",
        )
    entry = next((f", entry {int(part) + 1}" for part in place if part.isdigit()), "")
    why = first["msg"].removeprefix("Value error, ")
    return SettingError(
        f"{source}: {field!r}{entry} cannot be {first['input']!r}", why=why, instead=f"write {_example(field)}"
    )


def _example(field: str) -> str:
    return {
        "tasks": "for example tasks: [{name: sprites, size: 32}]",
        "splits": "for example splits: [random, orthogonal]",
        "models": "for example models: [{name: mlp, hidden: [64]}]",
        "recipes": "for example recipes: [{steps: 1000, lr: 0.001}]",
        "seeds": "a number, seeds: 3, or a list of whole numbers, seeds: [0, 1, 2]",
        "skip": "for example skip: [{model: mlp, split: random}]",
        "store": "a folder or an address, for example store: runs",
    }[field]


def _expand(entries: Iterable[Any], field: str, source: str) -> list[Any]:
    expanded: list[Any] = []
    for place, entry in enumerate(entries):
        with _locate(f"{source}: {field!r}, entry {place + 1}"):
            _refuse_too_many(len(expanded) + how_many(entry), source)
            expanded += variants(entry)
    return expanded


@contextmanager
def _locate(place: str, *, foreign: bool = False) -> Iterator[None]:
    """Errors that say where in the file they belong; with `foreign` those too that code of others raises."""
    try:
        yield
    except RecombineError as error:
        raise type(error)(f"{place}: {error.what}", why=error.why, instead=error.instead) from error
    except Exception as error:
        if not foreign:
            raise
        raise SettingError(
            f"{place}: it cannot be made",
            why=f"{type(error).__name__}: {error}",
            instead="change its settings, or leave the pair out with a rule under skip",
        ) from error


def _refuse_too_many(runs: int, source: str) -> None:
    if runs > MOST_RUNS:
        raise SettingError(
            f"{source}: a grid of {runs:,} runs" if runs < 10**15 else f"{source}: a grid of more than 10^15 runs",
            why=f"one sweep holds at most {MOST_RUNS:,}, so that its list can be kept",
            instead="divide it into several files; they may share a store",
        )


def _check_names(specs: Mapping[str, list[Any]], source: str) -> None:
    """Each task and each model by itself, so that the message names the entry rather than a cell of the grid."""
    for field, catalogue in (("tasks", TASKS), ("models", MODELS)):
        for place, spec in enumerate(specs[field]):
            with _locate(f"{source}: {field!r}, entry {place + 1}"):
                built = catalogue.build(spec)
                if field == "tasks":
                    _ = built.shapes  # what it is made of may be on no disk here


def _entry(field: str, part: Spec, specs: list[Any]) -> str:
    """Where a part of a run stands in the file: the first entry that has its name and no setting but its own."""
    for place, spec in enumerate(specs):
        settings = {"name": spec} if isinstance(spec, str) else spec
        if all(name in part and _equal(part[name], plain_setting(value)) for name, value in settings.items()):
            return f"{field!r}, entry {place + 1} ({part['name']})"
    return f"{field!r} ({part['name']})"


def _apply_skips(runs: list[Configuration], skip: list[dict[str, Any]], source: str) -> list[Configuration]:
    """The runs that no rule leaves out; a rule that leaves out nothing is a slip of the pen."""
    for place, rule in enumerate(skip):
        where = f"{source}: 'skip', entry {place + 1}"
        for part in rule:
            check_listed(part, _PARTS, f"{where}: no part {part!r}", why=f"a run's parts are {', '.join(_PARTS)}")
        if not rule or not any(_matches(run, rule) for run in runs):
            raise SettingError(
                f"{where}: {rule!r} leaves out nothing",
                why="no run of the grid has all that it names",
                instead="compare it with the entries above, or take the rule out",
            )
    kept = [run for run in runs if not any(_matches(run, rule) for rule in skip)]
    if not kept:
        raise SettingError(
            f"{source}: 'skip' leaves out all {len(runs):,} runs",
            why="nothing is left to do",
            instead="name more parts in its rules: a rule leaves out what has all that it names",
        )
    return kept


def _matches(run: Configuration, rule: Mapping[str, Any]) -> bool:
    return all(_agrees(getattr(run, part), wanted) for part, wanted in rule.items())


def _agrees(part: Any, wanted: Any) -> bool:
    """Whether a part of a run has what a rule names: its name alone, some of its settings, or one of several seeds."""
    if isinstance(part, Mapping):
        named = wanted if isinstance(wanted, Mapping) else {"name": wanted}
        return all(setting in part and _equal(part[setting], value) for setting, value in named.items())
    return part in wanted if isinstance(wanted, list | tuple) else bool(part == wanted)


def _equal(value: Any, written: Any) -> bool:
    """YAML takes 1e-3 for a word: a number that is written as one is meant as a number."""
    if isinstance(value, float) and isinstance(written, str):
        try:
            return value == float(written)
        except ValueError:
            return False
    return bool(value == written)


def _refuse_twins(runs: Iterable[Configuration], source: str) -> None:
    seen: set[str] = set()
    for run in runs:
        if run.key in seen:
            raise SettingError(
                f"{source}: the same run twice",
                why=f"two entries of the grid come to {run.model}, {run.recipe} on {run.task}, seed {run.seed}",
                instead="take one of them out; a setting that is left open has its default",
            )
        seen.add(run.key)


def variants(entry: Any) -> Iterator[Any]:
    """Every variant of an entry, those of its last `each` changing fastest.

    >>> list(variants({"name": "mlp", "width": {"each": [8, 16]}, "depth": 2}))
    [{'name': 'mlp', 'width': 8, 'depth': 2}, {'name': 'mlp', 'width': 16, 'depth': 2}]
    >>> list(variants({"sizes": [8, 16]}))
    [{'sizes': [8, 16]}]
    """
    if isinstance(entry, Mapping) and EACH in entry:
        for value in _values(entry):
            yield from variants(value)
    elif isinstance(entry, Mapping):
        for items in product(*(list(variants(item)) for item in entry.values())):
            yield dict(zip(entry, items, strict=True))
    elif isinstance(entry, list | tuple):
        yield from (list(items) for items in product(*(list(variants(item)) for item in entry)))
    else:
        yield entry


def how_many(entry: Any) -> int:
    """How many variants an entry has, without making them.

    >>> how_many({"width": {"each": [8, 16]}, "sizes": [{"each": [1, 2, 3]}, 4]})
    6
    """
    if isinstance(entry, Mapping):
        each = EACH in entry
        return sum(map(how_many, _values(entry))) if each else math.prod(map(how_many, entry.values()))
    return math.prod(map(how_many, entry)) if isinstance(entry, list | tuple) else 1


def _values(entry: Mapping[str, Any]) -> list[Any] | tuple[Any, ...]:
    values = entry[EACH]
    if len(entry) > 1:
        others = [str(name) for name in entry if name != EACH]
        raise SettingError(
            f"{EACH!r} beside {', '.join(map(repr, others))}",
            why=f"{{{EACH}: […]}} stands in the place of one value, and has nothing beside it",
            instead=f"write it at the setting that varies, for example lr: {{{EACH}: [0.001, 0.01]}}",
        )
    if not isinstance(values, list | tuple) or not values:
        raise SettingError(
            f"{{{EACH}: {values!r}}}",
            why="it names no values to choose from",
            instead=f"write a list with at least one value, for example {{{EACH}: [0.001, 0.01]}}",
        )
    return values


def check_pairs(runs: Sequence[Configuration], where: Where) -> None:
    """Try each split and each model once on each task that it is to meet; the first that does not fit is told.

    A split is made, and two examples of the task drawn, so that data that are missing are told too; and each model is
    asked about them once.
    """
    tasks: dict[str, Any] = {}
    examples: dict[str, Batch] = {}
    tried: set[tuple[str, str, str]] = set()
    for run in runs:
        on = json.dumps(run.task)
        new = on not in tasks
        task = tasks[on] if on in tasks else tasks.setdefault(on, TASKS.build(run.task))
        place = where("tasks", run.task)
        if (split := (on, "split", json.dumps(run.split))) not in tried:
            with _locate(f"{where('splits', run.split)} on {place}", foreign=True):
                parts = split_of(run.split, task).parts(task, seed=0)
            if new:
                with _locate(place, foreign=True):
                    examples[on] = two_examples(task, parts.train)
        if (model := (on, "model", json.dumps([run.model, run.recipe.get("loss")]))) not in tried:
            with _locate(f"{where('models', run.model)} on {place}", foreign=True):
                _try_model(run, task, examples[on])
        tried |= {split, model}


def _try_model(run: Configuration, task: Any, examples: Batch) -> None:
    try_model(MODELS.build(run.model), task.shapes, examples, recipe_of(run.recipe))
