"""The tasks by name. One line a task; listing them loads none."""

from recombine.catalogue import Catalogue

TASKS = Catalogue(
    "task",
    {
        "addition": "recombine.tasks.conjunctions.addition:Addition",
        "agreement": "recombine.tasks.agreement.task:Agreement",
        "bumps": "recombine.tasks.bumps.task:Bumps",
        "cogs": "recombine.tasks.cogs:Cogs",
        "context_dependence": "recombine.tasks.conjunctions.context:ContextDependence",
        "digit_pairs": "recombine.tasks.digits.pairs:DigitPairs",
        "from_table": "recombine.tasks.from_table:FromTable",
        "invariance": "recombine.tasks.conjunctions.corners:Invariance",
        "partial_exposure": "recombine.tasks.conjunctions.corners:PartialExposure",
        "relations": "recombine.tasks.relations.task:Relations",
        "scan": "recombine.tasks.scan.task:Scan",
        "sprites": "recombine.tasks.sprites.task:Sprites",
        "toy": "recombine.tasks.toy:Toy",
        "transitive_equivalence": "recombine.tasks.conjunctions.transitive:TransitiveEquivalence",
        "transitive_ordering": "recombine.tasks.conjunctions.transitive:TransitiveOrdering",
    },
)
