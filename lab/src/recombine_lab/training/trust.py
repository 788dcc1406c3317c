"""The gate for everything that comes out of a store, a study or a sweep's file, before anything of it is built.

Anybody can write a record, and to build what it describes is to import modules and to call functions by their names.
So every record is gone through as a whole: each place in it (`package.module:name`), under whatever key, must be known.
Known is what the user has named in this process: by `trust`, by fitting it, or, if it is the class of a network, a task
or a split, by importing its module. Python and its packages hold functions and classes that do anything (`os:abort`):
that they are imported says nothing of them.
"""

import sys
from collections.abc import Callable
from typing import Any

from torch import nn

from recombine.base.errors import SettingError
from recombine.base.object_paths import is_place
from recombine_lab.base.source_versions import TRUSTED, place_of, places_in
from recombine_lab.models.catalogue import MODELS
from recombine_lab.models.model import Model
from recombine_lab.runs.run import Run
from recombine_lab.tasks.catalogue import TASKS
from recombine_lab.tasks.exposure import Exposure
from recombine_lab.tasks.task import Task


def trust(*named: str | Callable[..., Any]) -> None:
    """Say that you know a module, or a class or function in it: what a store or a sweep's file names is then used.

    >>> trust("my_lab", "my_models:make_network")
    """
    for one in named:
        place = one if isinstance(one, str) else place_of(one)
        if place is None or not (is_place(place) or all(part.isidentifier() for part in place.split("."))):
            raise SettingError(
                f"{one!r} is no name of a module or a function",
                why="what is trusted is looked up by its name",
                instead="write for example 'package.module', or 'package.module:function'",
            )
        TRUSTED.add(place)


def check_known(record: Any, *, source: str) -> None:
    """Refuse a record that could import or call what the user has not named in this process."""
    for place in places_in(record):
        if not _is_known(place):
            raise SettingError(
                f"{source} names {place!r}, which is not part of recombine",
                why="it may come from anybody, and to import a module or to call a function is to run it",
                instead=f"if you know it, say so first: recombine_lab.trust({place!r}), or on the command line "
                f"--trust {place}",
            )


def _is_known(place: str) -> bool:
    module, _, attribute = place.partition(":")
    if {place, module} & TRUSTED:
        return True
    made: Any = sys.modules.get(module)
    for name in attribute.split("."):
        made = getattr(made, name, None)
    kinds = (nn.Module, Model, Task, Exposure)
    return isinstance(made, type) and (issubclass(made, kinds) or callable(getattr(made, "split", None)))


def check_run(run: Run) -> None:
    """Refuse a run whose task and model are not known, have no name, or are no longer what they were."""
    check_known(run.configuration.plain(), source=f"run {run.key[:8]}")
    for kind, catalogue, spec in (("model", MODELS, run.configuration.model), ("task", TASKS, run.configuration.task)):
        name = spec.get("name")
        if not catalogue.knows(name):
            raise SettingError(
                f"the {kind} of run {run.key[:8]} cannot be built from its settings",
                why=f"it is {name!r}, which no other process can import by that name",
                instead="build it yourself, and load safetensors.torch.load(run.weights()) into it",
            )
        own = places_in(spec)
        if own and f"{kind} {catalogue.numerics_version(spec)}, " not in run.configuration.code:
            raise SettingError(
                f"the source of {own[0]!r} has changed since run {run.key[:8]} was trained",
                why=f"the weights are those of the {kind} as it was, and would be taken for those of another one",
                instead="train it again, or go back to the source that it was trained with",
            )
