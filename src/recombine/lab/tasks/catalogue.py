"""The tasks by name. One line a task; listing them loads none."""

from recombine.catalogue import Catalogue

TASKS = Catalogue(
    "task",
    {
        "addition": "recombine.lab.tasks.conjunctions.addition:Addition",
        "agreement": "recombine.lab.tasks.agreement.task:Agreement",
        "bumps": "recombine.lab.tasks.bumps.task:Bumps",
        "cogs": "recombine.lab.tasks.cogs:Cogs",
        "context_dependence": "recombine.lab.tasks.conjunctions.context:ContextDependence",
        "digit_pairs": "recombine.lab.tasks.digits.pairs:DigitPairs",
        "from_table": "recombine.lab.tasks.from_table:FromTable",
        "invariance": "recombine.lab.tasks.conjunctions.corners:Invariance",
        "partial_exposure": "recombine.lab.tasks.conjunctions.corners:PartialExposure",
        "relations": "recombine.lab.tasks.relations.task:Relations",
        "scan": "recombine.lab.tasks.scan.task:Scan",
        "sprites": "recombine.lab.tasks.sprites.task:Sprites",
        "toy": "recombine.lab.tasks.toy:Toy",
        "transitive_equivalence": "recombine.lab.tasks.conjunctions.transitive:TransitiveEquivalence",
        "transitive_ordering": "recombine.lab.tasks.conjunctions.transitive:TransitiveOrdering",
    },
)
