"""The examples at the end of every help page, by command; tests run those of the table verbs on the demo's table.

A command of another package adds its own when it is loaded: `EXAMPLES |= {"mine": ((line, why), …)}`.
"""

Lines = tuple[tuple[str, str], ...]

_ASK = "products.csv --factors material,garment"

EXAMPLES: dict[str, Lines] = {
    "": (
        ("recombine demo", "a small made-up table, to try things on"),
        ("recombine audit products.csv", "what its columns look like, and the command that audits it"),
        (f"recombine audit {_ASK} --target label", "which combinations are missing, and which follow from the rest"),
        ("recombine --install-completion", "let the Tab key complete commands, options and columns"),
    ),
    "audit": (
        ("recombine audit products.csv", "no factors yet: what the columns look like, and what to type"),
        (f"recombine audit {_ASK} --target label --report audit.html", "the verdict, and a page to look at"),
        (f"recombine audit {_ASK} --fail-under determined=0.95", "a gate for CI: exit 3 where it fails"),
    ),
    "predict": (
        (f"recombine predict {_ASK} --target label", "what networks would answer for the unseen ones"),
        (f"recombine predict {_ASK} --target label --model relu:1 --symbols", "for a network of one hidden layer"),
    ),
    "rehearse": (
        (f"recombine rehearse {_ASK} --target label", "a network of three hidden layers, trained anew five times"),
        (f"recombine rehearse {_ASK} --target label --learner additive", "a simpler learner, in a moment"),
    ),
    "plan": (
        (f"recombine plan {_ASK}", "what to collect, so that all combinations can be worked out"),
        (f"recombine plan {_ASK} --goal pairs --budget 10", "the ten that add most pairs of values"),
    ),
    "split": (
        (f"recombine split {_ASK} --out held.parquet", "hold out a fifth of the combinations"),
        (f"recombine split {_ASK} --hold material=silk,garment=coat --out one.csv", "hold out this very one"),
        (f"recombine split {_ASK} --by kfold --folds 4 --guarantee none --out folds.parquet", "four folds"),
    ),
    "lint": (
        ("recombine lint held.parquet --factors material,garment", "does its column `split` hold out combinations?"),
        ("recombine lint --train train.csv --test test.csv --factors material,garment", "the sides as two tables"),
    ),
    "evaluate": (
        (
            "recombine evaluate answers.csv --factors material,garment --target label --prediction guess --split split",
            "seen and unseen combinations apart",
        ),
        (
            "recombine evaluate answers.csv --factors material,garment --target label --prediction guess "
            "--train products.csv --fail-under unseen=0.8",
            "a gate for CI on the unseen ones",
        ),
    ),
    "diff": (
        ("recombine diff march april", "two folders that `recombine audit … --out FOLDER` wrote"),
        ("recombine diff march april --fail-on worse --report diff.html", "a gate for CI: exit 3 if it got worse"),
    ),
    "demo": (
        ("recombine demo", "write products.csv"),
        ("recombine demo other.csv --seed 1", "another table, to another file"),
    ),
}
