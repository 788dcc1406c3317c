"""The lab, for those who train: tasks, models, training, runs, sweeps, and probes that look inside a model.

Who has a table and somebody's answers may ignore it. The public names; each is loaded when it is first used, so that
listing them loads no torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from recombine_lab import models as models
    from recombine_lab import probes as probes
    from recombine_lab import tasks as tasks
    from recombine_lab.models.layers import features as features
    from recombine_lab.runs.run import Run as Run
    from recombine_lab.runs.run_comparison import compare as compare
    from recombine_lab.runs.scoreboard_run import run_of as run_of
    from recombine_lab.runs.store import Store as Store
    from recombine_lab.sweeps.ray_pool import over_ray as over_ray
    from recombine_lab.sweeps.sweep import SweepResult as SweepResult
    from recombine_lab.sweeps.sweep import sweep as sweep
    from recombine_lab.training.fit import fit as fit
    from recombine_lab.training.recipe import Recipe as Recipe
    from recombine_lab.training.rehearsal_learner import learner as learner
    from recombine_lab.training.trust import trust as trust

_HOME = {
    "Recipe": "recombine_lab.training.recipe",
    "Run": "recombine_lab.runs.run",
    "Store": "recombine_lab.runs.store",
    "SweepResult": "recombine_lab.sweeps.sweep",
    "compare": "recombine_lab.runs.run_comparison",
    "features": "recombine_lab.models.layers",
    "fit": "recombine_lab.training.fit",
    "learner": "recombine_lab.training.rehearsal_learner",
    "over_ray": "recombine_lab.sweeps.ray_pool",
    "run_of": "recombine_lab.runs.scoreboard_run",
    "sweep": "recombine_lab.sweeps.sweep",
    "trust": "recombine_lab.training.trust",
}

__all__ = [
    "Recipe",
    "Run",
    "Store",
    "SweepResult",
    "compare",
    "features",
    "fit",
    "learner",
    "models",
    "over_ray",
    "probes",
    "run_of",
    "sweep",
    "tasks",
    "trust",
]

_ROOMS = ("models", "probes", "tasks")
"""Rooms whose names are public too: `recombine_lab.tasks.Sprites`, `recombine_lab.models.MLP`."""


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"recombine_lab.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'recombine_lab' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__
