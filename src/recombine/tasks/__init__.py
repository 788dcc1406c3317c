"""Tasks: factors turned into tensors.

The public names of this room. Each is loaded when it is first used: listing them loads no torch.
"""

from typing import TYPE_CHECKING, Any

from recombine.extras import loaded

if TYPE_CHECKING:
    from recombine.tasks.agreement.task import Agreement as Agreement
    from recombine.tasks.bumps.stripes import Stripes as Stripes
    from recombine.tasks.bumps.task import Bumps as Bumps
    from recombine.tasks.cogs import Cogs as Cogs
    from recombine.tasks.conjunctions.addition import Addition as Addition
    from recombine.tasks.conjunctions.context import ContextDependence as ContextDependence
    from recombine.tasks.conjunctions.corners import Invariance as Invariance
    from recombine.tasks.conjunctions.corners import PartialExposure as PartialExposure
    from recombine.tasks.conjunctions.transitive import TransitiveEquivalence as TransitiveEquivalence
    from recombine.tasks.conjunctions.transitive import TransitiveOrdering as TransitiveOrdering
    from recombine.tasks.digits.pairs import DigitPairs as DigitPairs
    from recombine.tasks.exposure import Everything as Everything
    from recombine.tasks.exposure import Exposure as Exposure
    from recombine.tasks.exposure import HeldOut as HeldOut
    from recombine.tasks.exposure import Own as Own
    from recombine.tasks.exposure import Parts as Parts
    from recombine.tasks.exposure import Source as Source
    from recombine.tasks.from_table import FromTable as FromTable
    from recombine.tasks.relations.task import Relations as Relations
    from recombine.tasks.scan.task import Scan as Scan
    from recombine.tasks.sprites.supports import DiagonalBand as DiagonalBand
    from recombine.tasks.sprites.supports import Orthogonal as Orthogonal
    from recombine.tasks.sprites.supports import Random as Random
    from recombine.tasks.sprites.task import Sprites as Sprites
    from recombine.tasks.task import Batch as Batch
    from recombine.tasks.task import ContinuousTask as ContinuousTask
    from recombine.tasks.task import DiscreteTask as DiscreteTask
    from recombine.tasks.task import Range as Range
    from recombine.tasks.task import Shapes as Shapes
    from recombine.tasks.task import Task as Task
    from recombine.tasks.toy import Toy as Toy

_HOME = {
    "Addition": "recombine.tasks.conjunctions.addition",
    "Agreement": "recombine.tasks.agreement.task",
    "Batch": "recombine.tasks.task",
    "Bumps": "recombine.tasks.bumps.task",
    "Cogs": "recombine.tasks.cogs",
    "ContextDependence": "recombine.tasks.conjunctions.context",
    "ContinuousTask": "recombine.tasks.task",
    "DiagonalBand": "recombine.tasks.sprites.supports",
    "DigitPairs": "recombine.tasks.digits.pairs",
    "DiscreteTask": "recombine.tasks.task",
    "Everything": "recombine.tasks.exposure",
    "Exposure": "recombine.tasks.exposure",
    "FromTable": "recombine.tasks.from_table",
    "HeldOut": "recombine.tasks.exposure",
    "Invariance": "recombine.tasks.conjunctions.corners",
    "Orthogonal": "recombine.tasks.sprites.supports",
    "Own": "recombine.tasks.exposure",
    "PartialExposure": "recombine.tasks.conjunctions.corners",
    "Parts": "recombine.tasks.exposure",
    "Random": "recombine.tasks.sprites.supports",
    "Range": "recombine.tasks.task",
    "Relations": "recombine.tasks.relations.task",
    "Scan": "recombine.tasks.scan.task",
    "Shapes": "recombine.tasks.task",
    "Source": "recombine.tasks.exposure",
    "Sprites": "recombine.tasks.sprites.task",
    "Stripes": "recombine.tasks.bumps.stripes",
    "Task": "recombine.tasks.task",
    "Toy": "recombine.tasks.toy",
    "TransitiveEquivalence": "recombine.tasks.conjunctions.transitive",
    "TransitiveOrdering": "recombine.tasks.conjunctions.transitive",
}

__all__ = [
    "Addition",
    "Agreement",
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
    "FromTable",
    "HeldOut",
    "Invariance",
    "Orthogonal",
    "Own",
    "PartialExposure",
    "Parts",
    "Random",
    "Range",
    "Relations",
    "Scan",
    "Shapes",
    "Source",
    "Sprites",
    "Stripes",
    "Task",
    "Toy",
    "TransitiveEquivalence",
    "TransitiveOrdering",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'recombine.tasks' has no attribute {name!r}")
    return loaded(__name__, name, _HOME[name])


def __dir__() -> list[str]:
    return __all__
