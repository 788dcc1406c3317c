"""Tasks: factors turned into tensors.

The public names of this room. Each is loaded when it is first used: listing them loads no torch.

To add a task: a file, and its line in `catalogue` and here; from another package, an entry point of the group
`recombine_lab.tasks`. A kind of data of one's own: `table_inputs` (what a row
looks like), `table_rows`; its line in `docs/own.md` and `tests/lab/own/test_data.py`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from recombine_lab.tasks.catalogue import TASKS

if TYPE_CHECKING:
    from recombine_lab.tasks.bumps import Bumps as Bumps
    from recombine_lab.tasks.bumps import Stripes as Stripes
    from recombine_lab.tasks.cogs import Cogs as Cogs
    from recombine_lab.tasks.conjunction_tasks import Addition as Addition
    from recombine_lab.tasks.conjunction_tasks import ContextDependence as ContextDependence
    from recombine_lab.tasks.conjunction_tasks import Invariance as Invariance
    from recombine_lab.tasks.conjunction_tasks import PartialExposure as PartialExposure
    from recombine_lab.tasks.conjunction_tasks import Toy as Toy
    from recombine_lab.tasks.conjunction_tasks import TransitiveEquivalence as TransitiveEquivalence
    from recombine_lab.tasks.conjunction_tasks import TransitiveOrdering as TransitiveOrdering
    from recombine_lab.tasks.continuous_supports import DiagonalBand as DiagonalBand
    from recombine_lab.tasks.continuous_supports import Orthogonal as Orthogonal
    from recombine_lab.tasks.continuous_supports import Random as Random
    from recombine_lab.tasks.digit_images import DigitPairs as DigitPairs
    from recombine_lab.tasks.exposure import Everything as Everything
    from recombine_lab.tasks.exposure import Exposure as Exposure
    from recombine_lab.tasks.exposure import HeldOut as HeldOut
    from recombine_lab.tasks.exposure import Own as Own
    from recombine_lab.tasks.exposure import Parts as Parts
    from recombine_lab.tasks.exposure import Source as Source
    from recombine_lab.tasks.scan import Scan as Scan
    from recombine_lab.tasks.sprites import Sprites as Sprites
    from recombine_lab.tasks.table_task import TableTask as TableTask
    from recombine_lab.tasks.task import Batch as Batch
    from recombine_lab.tasks.task import ContinuousTask as ContinuousTask
    from recombine_lab.tasks.task import DiscreteTask as DiscreteTask
    from recombine_lab.tasks.task import Range as Range
    from recombine_lab.tasks.task import Shapes as Shapes
    from recombine_lab.tasks.task import Task as Task

_HOME = {
    "Addition": "recombine_lab.tasks.conjunction_tasks",
    "Batch": "recombine_lab.tasks.task",
    "Bumps": "recombine_lab.tasks.bumps",
    "Cogs": "recombine_lab.tasks.cogs",
    "ContextDependence": "recombine_lab.tasks.conjunction_tasks",
    "ContinuousTask": "recombine_lab.tasks.task",
    "DiagonalBand": "recombine_lab.tasks.continuous_supports",
    "DigitPairs": "recombine_lab.tasks.digit_images",
    "DiscreteTask": "recombine_lab.tasks.task",
    "Everything": "recombine_lab.tasks.exposure",
    "Exposure": "recombine_lab.tasks.exposure",
    "TableTask": "recombine_lab.tasks.table_task",
    "HeldOut": "recombine_lab.tasks.exposure",
    "Invariance": "recombine_lab.tasks.conjunction_tasks",
    "Orthogonal": "recombine_lab.tasks.continuous_supports",
    "Own": "recombine_lab.tasks.exposure",
    "PartialExposure": "recombine_lab.tasks.conjunction_tasks",
    "Parts": "recombine_lab.tasks.exposure",
    "Random": "recombine_lab.tasks.continuous_supports",
    "Range": "recombine_lab.tasks.task",
    "Scan": "recombine_lab.tasks.scan",
    "Shapes": "recombine_lab.tasks.task",
    "Source": "recombine_lab.tasks.exposure",
    "Sprites": "recombine_lab.tasks.sprites",
    "Stripes": "recombine_lab.tasks.bumps",
    "Task": "recombine_lab.tasks.task",
    "Toy": "recombine_lab.tasks.conjunction_tasks",
    "TransitiveEquivalence": "recombine_lab.tasks.conjunction_tasks",
    "TransitiveOrdering": "recombine_lab.tasks.conjunction_tasks",
}

__all__ = [
    "Addition",
    "Batch",
    "Bumps",
    "Cogs",
    "ContextDependence",
    "ContinuousTask",
    "DiagonalBand",
    "DigitPairs",
    "DiscreteTask",
    "Everything",
    "Exposure",
    "HeldOut",
    "Invariance",
    "Orthogonal",
    "Own",
    "PartialExposure",
    "Parts",
    "Random",
    "Range",
    "Scan",
    "Shapes",
    "Source",
    "Sprites",
    "Stripes",
    "TableTask",
    "Task",
    "Toy",
    "TransitiveEquivalence",
    "TransitiveOrdering",
    "register",
]


def register(name: str, task: type[Any]) -> None:
    """A short name, in this process, for a task of one's own, a class that derives from `Task`.

    >>> from recombine_lab.tasks import Addition
    >>> register("sums", Addition)
    """
    TASKS.register(name, task)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'recombine_lab.tasks' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__
