"""The tasks by name. One line a task; listing them loads none."""

from typing import Any

from recombine_lab.base.catalogue import Catalogue

TASKS = Catalogue(
    "task",
    {
        "addition": "recombine_lab.tasks.conjunction_tasks:Addition",
        "bumps": "recombine_lab.tasks.bumps:Bumps",
        "cogs": "recombine_lab.tasks.cogs:Cogs",
        "context_dependence": "recombine_lab.tasks.conjunction_tasks:ContextDependence",
        "digit_pairs": "recombine_lab.tasks.digit_images:DigitPairs",
        "from": "recombine_lab.tasks.table_task:TableTask",
        "invariance": "recombine_lab.tasks.conjunction_tasks:Invariance",
        "partial_exposure": "recombine_lab.tasks.conjunction_tasks:PartialExposure",
        "scan": "recombine_lab.tasks.scan:Scan",
        "sprites": "recombine_lab.tasks.sprites:Sprites",
        "toy": "recombine_lab.tasks.conjunction_tasks:Toy",
        "transitive_equivalence": "recombine_lab.tasks.conjunction_tasks:TransitiveEquivalence",
        "transitive_ordering": "recombine_lab.tasks.conjunction_tasks:TransitiveOrdering",
    },
    group="recombine_lab.tasks",
    base="recombine_lab.tasks.task:Task",
)


def register(name: str, task: type[Any]) -> None:
    """A short name, in this process, for a task of one's own, a class that derives from `Task`.

    >>> from recombine_lab.tasks import Addition
    >>> register("sums", Addition)
    """
    TASKS.register(name, task)
