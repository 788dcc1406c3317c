"""A target that never varies is told by nothing; a value never seen leaves no grade untouched."""

import json
import math
from typing import Any

import numpy as np
import pytest

import recombine
from recombine.base.errors import TableError
from recombine.base.words import json_text
from recombine.data.support import NumberTarget, Support
from recombine.output.pages import draw

GRID = {"a": [0, 0, 1, 1, 2, 2, 0], "b": [0, 1, 0, 1, 0, 1, 0]}
CONSTANTS: dict[str, Any] = {
    "a tenth": [0.1] * 7,
    "large": [1e17 + 64] * 7,
    "tiny": [1e-200] * 7,
    "zero": [0.0] * 7,
    "label": ["u"] * 7,
    "with gaps": [0.1, None, 0.1, None, 0.1, 0.1, None],
}


@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("values", CONSTANTS.values(), ids=CONSTANTS)
def test_a_constant_target_tells_nothing(values: list[Any], weight: str | None) -> None:
    table = GRID | {"y": values, "w": [0.3, 0.7, 1.1, 0.1, 2.3, 0.9, 0.2]}
    support = recombine.read(table, factors=["a", "b"], target="y", weight=weight)
    found = recombine.audit(support)
    assert found.redundancy is not None
    assert found.redundancy.parts == ()
    assert "y never varies, so there is nothing for the factors to tell." in found.reasons
    assert not any("tells" in reason for reason in found.reasons)
    assert "y never varies" in draw(found.record())
    if values[0] == "u":
        with pytest.raises(TableError, match="every row has the same 'y'"):
            recombine.predict(support)
    else:
        said = recombine.predict(support)
        assert said.verdict.startswith("y never varies, so there is nothing to tell.")
        assert said.grade == "untested"


def test_sums_that_only_rounding_tells_apart() -> None:
    """Seen before: sums of 0.1 that differ in the last digit, and a factor that tells 100 % of it."""
    counts = np.array([3.0, 7.0, 10.0, 1.0])
    target = NumberTarget("y", counts, np.array([0.1] * 4) * counts, np.array([0.1**2] * 4) * counts)
    assert not target.varies
    plain = recombine.read({"a": [0, 0, 1, 1], "b": [0, 1, 0, 1]}, factors=["a", "b"])
    found = recombine.audit(Support(plain.space, plain.codes, counts, target, rows=21))
    assert found.redundancy is not None
    assert found.redundancy.parts == ()


def test_a_hair_is_not_nothing() -> None:
    table = GRID | {"y": [1e8, 1e8, 1e8, 1e8, 1e8, 1e8 + 1e-6, 1e8]}
    found = recombine.audit(recombine.read(table, factors=["a", "b"], target="y"))
    assert found.redundancy is not None
    assert len(found.redundancy.parts) == 3


def test_no_target_at_all() -> None:
    table = GRID | {"y": np.full(7, math.nan)}
    found = recombine.audit(recombine.read(table, factors=["a", "b"], target="y"))
    assert "No row has a y, so there is nothing for the factors to tell." in found.reasons


def test_evaluate_says_it_of_truth_and_of_answers() -> None:
    table = GRID | {"y": ["u"] * 7, "said": ["u", "v"] * 3 + ["u"]}
    found = recombine.evaluate(table, factors=["a", "b"], target="y", prediction="said")
    assert any(reason.startswith("y is the same in every tested row") for reason in found.reasons)
    turned = recombine.evaluate(table, factors=["a", "b"], target="said", prediction="y")
    assert any(reason.startswith("The model answers 'u' in every tested row") for reason in turned.reasons)
    both = GRID | {"y": [0.1] * 7, "said": np.arange(7.0)}
    number = recombine.evaluate(both, factors=["a", "b"], target="y", prediction="said", score="r2")
    assert number.sides[0].score is None
    assert any(reason.startswith("y is the same in every tested row") for reason in number.reasons)


@pytest.mark.parametrize(
    ("rows", "before"),
    [
        ([(0, 0), (0, 1), (1, 0), (1, 1)], "sound"),
        ([(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (2, 0), (2, 1)], "plausible"),
        ([(0, 0), (0, 1), (1, 0)], "untested"),
    ],
)
def test_a_declared_value_never_seen_breaks_the_grade(rows: list[tuple[int, int]], before: str) -> None:
    """Seen before: *complete*, with a third of the declared space novel."""
    table = {"a": [row[0] for row in rows], "b": [row[1] for row in rows]}
    plain = recombine.audit(recombine.read(table, factors=["a", "b"]))
    assert plain.grade in (before, "weak")
    found = recombine.audit(recombine.read(table, factors=["a", "b"], domain={"a": [0, 1, 2, 9]}))
    assert found.grade == "failing"
    assert "hold a value never seen: nothing can be promised there." in found.verdict


def test_json_has_no_word_for_what_is_no_number() -> None:
    content = {"a": [1.5, math.nan, {"b": (math.inf, -math.inf, None)}], "c": "NaN", "d": True}
    told = json.loads(json_text(content), parse_constant=pytest.fail)
    assert told == {"a": [1.5, None, {"b": [None, None, None]}], "c": "NaN", "d": True}
