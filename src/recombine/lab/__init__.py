"""The lab, for those who train: tasks, models, training, runs, sweeps.

Who has a table and somebody's answers may ignore it. The public names; each is loaded when it is first used, so that
listing them loads no torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from recombine.extras import loaded

if TYPE_CHECKING:
    from recombine.lab import models as models
    from recombine.lab import tasks as tasks
    from recombine.lab.runs.comparing import compare as compare
    from recombine.lab.runs.run import Run as Run
    from recombine.lab.runs.store import Store as Store
    from recombine.lab.sweeps.rounds import over_ray as over_ray
    from recombine.lab.sweeps.sweep import SweepResult as SweepResult
    from recombine.lab.sweeps.sweep import sweep as sweep
    from recombine.lab.training.fit import fit as fit
    from recombine.lab.training.recipe import Recipe as Recipe
    from recombine.lab.training.rehearsed import learner as learner
    from recombine.lab.training.trust import trust as trust

_HOME = {
    "Recipe": "recombine.lab.training.recipe",
    "Run": "recombine.lab.runs.run",
    "Store": "recombine.lab.runs.store",
    "SweepResult": "recombine.lab.sweeps.sweep",
    "compare": "recombine.lab.runs.comparing",
    "fit": "recombine.lab.training.fit",
    "learner": "recombine.lab.training.rehearsed",
    "over_ray": "recombine.lab.sweeps.rounds",
    "sweep": "recombine.lab.sweeps.sweep",
    "trust": "recombine.lab.training.trust",
}

__all__ = [
    "Recipe",
    "Run",
    "Store",
    "SweepResult",
    "compare",
    "fit",
    "learner",
    "models",
    "over_ray",
    "sweep",
    "tasks",
    "trust",
]

_ROOMS = ("models", "tasks")
"""Rooms whose names are public too: `recombine.lab.tasks.Sprites`, `recombine.lab.models.MLP`."""


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"recombine.lab.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'recombine.lab' has no attribute {name!r}")
    return loaded(__name__, name, _HOME[name])


def __dir__() -> list[str]:
    return __all__
