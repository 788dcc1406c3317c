"""The tasks by name. One line a task; listing them loads none."""

from recombine_lab.base.catalogue import Catalogue

TASKS = Catalogue(
    "task",
    {
        "addition": "recombine_lab.tasks.conjunctions:Addition",
        "agreement": "recombine_lab.tasks.agreement:Agreement",
        "bumps": "recombine_lab.tasks.bumps:Bumps",
        "cogs": "recombine_lab.tasks.cogs:Cogs",
        "context_dependence": "recombine_lab.tasks.conjunctions:ContextDependence",
        "digit_pairs": "recombine_lab.tasks.digit_pairs:DigitPairs",
        "from": "recombine_lab.tasks.from_data:From",
        "invariance": "recombine_lab.tasks.conjunctions:Invariance",
        "partial_exposure": "recombine_lab.tasks.conjunctions:PartialExposure",
        "relations": "recombine_lab.tasks.relations:Relations",
        "scan": "recombine_lab.tasks.scan:Scan",
        "sprites": "recombine_lab.tasks.sprites:Sprites",
        "toy": "recombine_lab.tasks.toy:Toy",
        "transitive_equivalence": "recombine_lab.tasks.conjunctions:TransitiveEquivalence",
        "transitive_ordering": "recombine_lab.tasks.conjunctions:TransitiveOrdering",
        "two_questions": "recombine_lab.tasks.two_questions:TwoQuestions",
    },
    base="recombine_lab.tasks.task:Task",
)
