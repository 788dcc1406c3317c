"""Tasks: factors turned into tensors.

The public names of this room. Each is loaded when it is first used: listing them loads no torch.
"""

from typing import TYPE_CHECKING, Any

from recombine.extras import loaded
from recombine.lab.tasks.catalogue import TASKS

if TYPE_CHECKING:
    from recombine.lab.tasks.agreement import Agreement as Agreement
    from recombine.lab.tasks.bumps import Bumps as Bumps
    from recombine.lab.tasks.bumps import Stripes as Stripes
    from recombine.lab.tasks.cogs import Cogs as Cogs
    from recombine.lab.tasks.conjunctions import Addition as Addition
    from recombine.lab.tasks.conjunctions import ContextDependence as ContextDependence
    from recombine.lab.tasks.conjunctions import Invariance as Invariance
    from recombine.lab.tasks.conjunctions import PartialExposure as PartialExposure
    from recombine.lab.tasks.conjunctions import TransitiveEquivalence as TransitiveEquivalence
    from recombine.lab.tasks.conjunctions import TransitiveOrdering as TransitiveOrdering
    from recombine.lab.tasks.digit_pairs import DigitPairs as DigitPairs
    from recombine.lab.tasks.exposure import Everything as Everything
    from recombine.lab.tasks.exposure import Exposure as Exposure
    from recombine.lab.tasks.exposure import HeldOut as HeldOut
    from recombine.lab.tasks.exposure import Own as Own
    from recombine.lab.tasks.exposure import Parts as Parts
    from recombine.lab.tasks.exposure import Source as Source
    from recombine.lab.tasks.from_data import From as From
    from recombine.lab.tasks.relations import Relations as Relations
    from recombine.lab.tasks.scan import Scan as Scan
    from recombine.lab.tasks.sprites import Sprites as Sprites
    from recombine.lab.tasks.supports import DiagonalBand as DiagonalBand
    from recombine.lab.tasks.supports import Orthogonal as Orthogonal
    from recombine.lab.tasks.supports import Random as Random
    from recombine.lab.tasks.task import Batch as Batch
    from recombine.lab.tasks.task import ContinuousTask as ContinuousTask
    from recombine.lab.tasks.task import DiscreteTask as DiscreteTask
    from recombine.lab.tasks.task import Range as Range
    from recombine.lab.tasks.task import Shapes as Shapes
    from recombine.lab.tasks.task import Task as Task
    from recombine.lab.tasks.toy import Toy as Toy
    from recombine.lab.tasks.two_questions import TwoQuestions as TwoQuestions

_HOME = {
    "Addition": "recombine.lab.tasks.conjunctions",
    "Agreement": "recombine.lab.tasks.agreement",
    "Batch": "recombine.lab.tasks.task",
    "Bumps": "recombine.lab.tasks.bumps",
    "Cogs": "recombine.lab.tasks.cogs",
    "ContextDependence": "recombine.lab.tasks.conjunctions",
    "ContinuousTask": "recombine.lab.tasks.task",
    "DiagonalBand": "recombine.lab.tasks.supports",
    "DigitPairs": "recombine.lab.tasks.digit_pairs",
    "DiscreteTask": "recombine.lab.tasks.task",
    "Everything": "recombine.lab.tasks.exposure",
    "Exposure": "recombine.lab.tasks.exposure",
    "From": "recombine.lab.tasks.from_data",
    "HeldOut": "recombine.lab.tasks.exposure",
    "Invariance": "recombine.lab.tasks.conjunctions",
    "Orthogonal": "recombine.lab.tasks.supports",
    "Own": "recombine.lab.tasks.exposure",
    "PartialExposure": "recombine.lab.tasks.conjunctions",
    "Parts": "recombine.lab.tasks.exposure",
    "Random": "recombine.lab.tasks.supports",
    "Range": "recombine.lab.tasks.task",
    "Relations": "recombine.lab.tasks.relations",
    "Scan": "recombine.lab.tasks.scan",
    "Shapes": "recombine.lab.tasks.task",
    "Source": "recombine.lab.tasks.exposure",
    "Sprites": "recombine.lab.tasks.sprites",
    "Stripes": "recombine.lab.tasks.bumps",
    "Task": "recombine.lab.tasks.task",
    "Toy": "recombine.lab.tasks.toy",
    "TransitiveEquivalence": "recombine.lab.tasks.conjunctions",
    "TransitiveOrdering": "recombine.lab.tasks.conjunctions",
    "TwoQuestions": "recombine.lab.tasks.two_questions",
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
    "From",
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
    "TwoQuestions",
    "register",
]


def register(name: str, task: type[Any]) -> None:
    """A short name, in this process, for a task of one's own, a class that derives from `Task`.

    >>> from recombine.lab.tasks import Addition
    >>> register("sums", Addition)
    """
    TASKS.register(name, task)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'recombine.lab.tasks' has no attribute {name!r}")
    return loaded(__name__, name, _HOME[name])


def __dir__() -> list[str]:
    return __all__
