"""The tasks by name. One line a task; listing them loads none."""

from recombine.catalogue import Catalogue

TASKS = Catalogue(
    "task",
    {
        "addition": "recombine.lab.tasks.conjunctions:Addition",
        "agreement": "recombine.lab.tasks.agreement:Agreement",
        "bumps": "recombine.lab.tasks.bumps:Bumps",
        "cogs": "recombine.lab.tasks.cogs:Cogs",
        "context_dependence": "recombine.lab.tasks.conjunctions:ContextDependence",
        "digit_pairs": "recombine.lab.tasks.digit_pairs:DigitPairs",
        "from": "recombine.lab.tasks.from_data:From",
        "invariance": "recombine.lab.tasks.conjunctions:Invariance",
        "partial_exposure": "recombine.lab.tasks.conjunctions:PartialExposure",
        "relations": "recombine.lab.tasks.relations:Relations",
        "scan": "recombine.lab.tasks.scan:Scan",
        "sprites": "recombine.lab.tasks.sprites:Sprites",
        "toy": "recombine.lab.tasks.toy:Toy",
        "transitive_equivalence": "recombine.lab.tasks.conjunctions:TransitiveEquivalence",
        "transitive_ordering": "recombine.lab.tasks.conjunctions:TransitiveOrdering",
        "two_questions": "recombine.lab.tasks.two_questions:TwoQuestions",
    },
    base="recombine.lab.tasks.task:Task",
)
