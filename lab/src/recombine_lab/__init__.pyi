from . import models as models
from . import probes as probes
from . import tasks as tasks
from .models.layers import features as features
from .runs.run import Run as Run
from .runs.run_comparison import compare as compare
from .runs.scoreboard_run import run_of as run_of
from .runs.store import Store as Store
from .sweeps.ray_pool import over_ray as over_ray
from .sweeps.sweep import SweepResult as SweepResult
from .sweeps.sweep import sweep as sweep
from .training.fit import fit as fit
from .training.recipe import Recipe as Recipe
from .training.rehearsal_learner import learner as learner
from .training.repair import Repaired as Repaired
from .training.repair import repair as repair
from .training.trust import trust as trust

__all__: list[str]
