"""Splits by name: the splitters, the supports of continuous tasks, the tasks' own sets, and those of the user's own."""

from collections.abc import Mapping
from dataclasses import is_dataclass, replace
from typing import Any

from recombine.importing import is_place
from recombine_lab.base.catalogue import Catalogue, Spec, settings_of
from recombine_lab.tasks.exposure import Exposure, HeldOut, as_exposure
from recombine_lab.tasks.task import Task

SPLITS = Catalogue(
    "split",
    {
        "combination_k_fold": "recombine.splits.combinations:CombinationKFold",
        "corner": "recombine.splits.geometric:Corner",
        "diagonal": "recombine.splits.geometric:Diagonal",
        "diagonal_band": "recombine_lab.tasks.supports:DiagonalBand",
        "donut": "recombine.splits.geometric:Donut",
        "everything": "recombine_lab.tasks.exposure:Everything",
        "hold_out_combinations": "recombine.splits.combinations:HoldOutCombinations",
        "hold_out_conjunctions": "recombine.splits.conjunctions:HoldOutConjunctions",
        "orthogonal": "recombine_lab.tasks.supports:Orthogonal",
        "orthogonal_planes": "recombine.splits.geometric:OrthogonalPlanes",
        "own": "recombine_lab.tasks.exposure:Own",
        "random": "recombine_lab.tasks.supports:Random",
        "stripes": "recombine_lab.tasks.bumps:Stripes",
    },
)
_NESTED, _FOLD = "base", "fold"


def split_of(given: str | Spec | Any, task: Task) -> Exposure:
    """A split as an exposure: from a name, a spec, a splitter, or an exposure.

    A splitter whose spec leaves `factors` open is given all of the task's; `fold` chooses one of a splitter's splits;
    a spec under `base` is itself a split.

    >>> from recombine_lab.tasks.catalogue import TASKS
    >>> split_of({"name": "hold_out_combinations", "test_size": 0.25}, TASKS.build("addition")).splitter.test_size
    0.25
    """
    if not isinstance(given, str | Mapping):
        return as_exposure(given)
    settings: dict[str, Any] = {"name": given} if isinstance(given, str) else dict(given)
    fold = 0 if _has_setting(settings.get("name"), _FOLD) else settings.pop(_FOLD, 0)
    nested = settings.get(_NESTED)
    if isinstance(nested, str | Mapping):
        base = split_of(nested, task)
        settings[_NESTED] = base.splitter if isinstance(base, HeldOut) and not base.fold else base
    made = SPLITS.load(str(settings.get("name")))
    if not (isinstance(made, type) and (issubclass(made, Exposure) or callable(getattr(made, "split", None)))):
        return as_exposure(made)  # which refuses it, before it is called
    built = SPLITS.build(settings, factors=task.space.names)
    return built if isinstance(built, Exposure) else HeldOut(built, fold)


def split_spec(split: Exposure) -> dict[str, Any]:
    """A split as its name and all of its settings, as plain data; `split_of` turns it back."""
    if isinstance(split, HeldOut):
        return _nested_spec(split.splitter) | ({_FOLD: split.fold} if split.fold else {})
    return _nested_spec(split)


def _nested_spec(thing: Any) -> dict[str, Any]:
    nested = getattr(thing, _NESTED, None)
    if is_dataclass(thing) and nested is not None and not isinstance(nested, str | Mapping):
        # first the split within: a spec holds plain data only, and refuses an object
        thing = replace(thing, **{_NESTED: split_spec(as_exposure(nested))})  # type: ignore[type-var]
    return SPLITS.spec(thing)


def _has_setting(name: Any, setting: str) -> bool:
    known = isinstance(name, str) and (name in SPLITS.entries or is_place(name))
    return known and setting in settings_of(SPLITS.load(name))
