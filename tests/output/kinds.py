"""One result and one page of every kind, made once: for tests of what all of them share."""

import tempfile
from functools import cache

import recombine
from recombine.output.pages import draw
from tests.probes.test_probe import a_probe
from tests.studies.made import a_study

VALUES = ("wool", "silk", "suede", "linen", "denim"), ("coat", "hat", "shoe", "sock", "scarf")
ROWS = [(a, b) for i, a in enumerate(VALUES[0]) for j, b in enumerate(VALUES[1]) if (i + 2 * j) % 5] * 3
TABLE = {
    "material": [a for a, _ in ROWS],
    "garment": [b for _, b in ROWS],
    "price": [10.0 * VALUES[0].index(a) + 3.0 * VALUES[1].index(b) + k % 3 for k, (a, b) in enumerate(ROWS)],
    "part": ["test" if k % 20 % 7 == 0 else "train" for k in range(len(ROWS))],
}
KEPT = [k for k, row in enumerate(ROWS) if row != ROWS[0]]
FEWER = {name: [values[k] for k in KEPT] for name, values in TABLE.items()}
QUESTION = {"factors": ["material", "garment"]}
PRICES = {"target": "price", "target_kind": "number"}
KINDS = (
    "audit",
    "diff",
    "evaluation",
    "lint",
    "plan",
    "prediction",
    "probe",
    "rehearsal",
    "split",
    "study",
    "vector_evaluation",
)


@cache
def every_result() -> dict[str, recombine.Result]:
    """A result of each kind."""
    answers = TABLE | {"said": [price + 1 for price in TABLE["price"]]}
    return {
        "audit": recombine.audit(TABLE, **QUESTION, **PRICES),
        "diff": recombine.diff(*(recombine.audit(one, **QUESTION, **PRICES) for one in (TABLE, FEWER))),
        "evaluation": recombine.evaluate(answers, **QUESTION, **PRICES, prediction="said", split="part"),
        "lint": recombine.lint(TABLE, **QUESTION, split="part"),
        "plan": recombine.plan(TABLE, **QUESTION, goal="leverage", budget=2),
        "prediction": recombine.predict(TABLE, **QUESTION, **PRICES),
        "probe": a_probe(),
        "rehearsal": recombine.rehearse(TABLE, "additive", **QUESTION, **PRICES),
        "split": _split(),
        "study": a_study(),
        "vector_evaluation": _vectors(),
    }


@cache
def every_page() -> dict[str, str]:
    """The page of each kind of record."""
    return {kind: draw(result.record()) for kind, result in every_result().items()}


def _split() -> recombine.Result:
    splitter = recombine.HoldOutCombinations(**QUESTION, test_size=0.2, n_splits=1)
    with tempfile.TemporaryDirectory() as folder:
        return recombine.split(TABLE, by=splitter, out=f"{folder}/table.csv")


def _vectors() -> recombine.Result:
    outputs = {f"out_{k}": [price * (k + 1) for price in TABLE["price"]] for k in range(3)}
    said = {f"said_{k}": [price * (k + 1) + 1 for price in TABLE["price"]] for k in range(3)}
    return recombine.evaluate_vectors(
        TABLE | outputs | said, **QUESTION, target="out_*", prediction="said_*", split="part"
    )
