"""The examples at the end of every help page, by command; tests run those of the table verbs on the demo's table."""

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
    "sweep": (
        ("recombine sweep sweep.yaml --dry-run", "what would be trained, and how long it would take"),
        ("recombine sweep sweep.yaml --store runs --workers 0", "train all of it in this process"),
    ),
    "demo": (
        ("recombine demo", "write products.csv"),
        ("recombine demo other.csv --seed 1", "another table, to another file"),
    ),
    "probe": (
        ("recombine probe geometry features.parquet", "how layers hold the factors, from their features"),
        ("recombine probe geometry runs --run 3f9a", "the same of a run in a store"),
    ),
    "probe support": (
        ("recombine probe support spec.py", "what spec.py says: the components and the seen points"),
        ("recombine probe support spec.py --report probe.html", "with a page to look at"),
    ),
    "probe geometry": (
        ("recombine probe geometry features.parquet", "features that were written before"),
        ("recombine probe geometry runs --run 3f9a --report probe.html", "a run in a store, with a page"),
    ),
    "probe influence": (
        ("recombine probe influence spec.py", "what spec.py says: the model and its inputs"),
        ("recombine probe influence runs --run 3f9a", "a run in a store"),
    ),
    "probe subnetworks": (
        ("recombine probe subnetworks spec.py", "what spec.py says: the model and its components"),
        ("recombine probe subnetworks runs --run 3f9a", "a run in a store"),
    ),
    "runs": (
        ("recombine runs list runs", "what is in the store `runs`"),
        ("recombine runs compare runs --by model,split", "groups of runs side by side"),
    ),
    "runs list": (
        ("recombine runs list runs", "all of them"),
        ("recombine runs list runs --where task=sprites --metric unseen.score", "some of them, by one score"),
    ),
    "runs show": (
        ("recombine runs show runs 3f9a", "by the beginning of its key"),
        ("recombine runs show runs 3f9a --out run", "copy it to a folder"),
    ),
    "runs compare": (
        ("recombine runs compare runs --by model,split", "groups by model and split"),
        ("recombine runs compare runs 3f9a 77c0", "two runs"),
    ),
    "runs prune": (
        ("recombine runs prune runs", "what could go; nothing is removed yet"),
        ("recombine runs prune runs --status failed --older 7d --yes", "remove what failed, and week-old left-overs"),
    ),
    "study": (
        ("recombine study list", "what there is"),
        ("recombine study run supports --preset smoke", "try one, in seconds"),
    ),
    "study list": (
        ("recombine study list", "what there is"),
        ("recombine study run supports --preset smoke", "try one, in seconds"),
    ),
    "study run": (
        ("recombine study run supports --preset smoke", "in seconds, and it decides nothing"),
        ("recombine study run all --dry-run", "what all of them would cost"),
    ),
    "study report": (
        ("recombine study report all --out pages", "pages of what the store holds"),
        ("recombine study report supports --json", "one of them, for machines"),
    ),
}
