"""Numbers in any unit: the same answers in that unit, or a word where a square would vanish or overflow."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import recombine
from recombine.base.errors import RecombineError
from recombine.output.pages import draw
from recombine.verbs.predict.examples import forecast_state
from tests.properties import examples

CELLS = [(a, b) for a in range(6) for b in range(5)]
ANSWERS = np.array([1.0 + 0.7 * a - 0.3 * b + 0.05 * ((7 * a + 3 * b) % 5) for a, b in CELLS])
SAID = ANSWERS + 0.2 * np.sin(np.arange(len(CELLS)))
SEEN = [bool((a + 2 * b) % 4) for a, b in CELLS]
TOO_MUCH = (1e-320, 1e-200, 1e-150, 1e151, 1e160, 1e200, 1e300, 1e307)


def table(unit: float) -> dict[str, list]:
    """Two rows for each combination, the second a little off."""
    rows = [*CELLS, *CELLS]
    return {
        "a": [f"a{a}" for a, _ in rows],
        "b": [f"b{b}" for _, b in rows],
        "y": [*(unit * ANSWERS), *(unit * 1.01 * ANSWERS)],
        "said": [*(unit * SAID)] * 2,
        "split": ["train" if seen else "test" for seen in SEEN] * 2,
    }


def seen(unit: float) -> dict[str, list]:
    kept = [place for place, side in enumerate(table(unit)["split"]) if side == "train"]
    return {name: [column[place] for place in kept] for name, column in table(unit).items() if name in "aby"}


def predicted(unit: float, salience: str) -> np.ndarray:
    support = recombine.read(seen(unit), factors=["a", "b"], target="y")
    return recombine.predict(support, salience=salience).table["prediction"].to_numpy()


def evaluated(unit: float) -> recombine.Evaluation:
    return recombine.evaluate(table(unit), factors=["a", "b"], target="y", prediction="said", split="split")


@pytest.mark.slow
@pytest.mark.parametrize("salience", ["relu:3", "fit", "order:0,1,0"])
@examples(6)
@given(exponent=st.integers(-73, 73))
def test_a_prediction_in_another_unit_is_the_same_one(salience: str, exponent: int) -> None:
    unit = 10.0**exponent
    np.testing.assert_allclose(predicted(unit, salience) / unit, predicted(1.0, salience), rtol=1e-5)


@pytest.mark.slow
@examples(6)
@given(exponent=st.integers(-34, 35))
def test_a_score_in_another_unit_is_the_same_one_with_its_interval(exponent: int) -> None:
    """Targets of a few millionths had scores without an interval: it was held against 1."""
    unit = 10.0**exponent
    found, plain = evaluated(unit).side("unseen"), evaluated(1.0).side("unseen")
    assert plain.low is not None
    numbers = [(one.score, one.low, one.high) for one in (found, plain)]
    assert [number / unit**2 for number in numbers[0]] == pytest.approx(list(numbers[1]), rel=1e-6)


@pytest.mark.parametrize("unit", TOO_MUCH)
@pytest.mark.parametrize("verb", ["audit", "predict", "fit", "plan", "evaluate"])
def test_what_cannot_be_squared_is_said_to_be_so(unit: float, verb: str) -> None:
    def ask() -> object:
        if verb == "evaluate":
            return evaluated(unit)
        support = recombine.read(seen(unit), factors=["a", "b"], target="y")
        if verb == "plan":
            return recombine.plan(support, goal="variance", salience="fit")
        return recombine.audit(support) if verb == "audit" else recombine.predict(support)

    size = "so small that their squares vanish" if unit < 1 else "so large that their squares are"
    with pytest.raises(RecombineError, match=size) as caught:
        ask()
    assert "in another unit" in str(caught.value)


HUGE = {
    "both signs": (1e308, -1e308),
    "always the same": (1e308,),  # about their own mean they look small
    "the same, not the largest": (-1e100,),
    "some": (1e308, *[1.0] * 16),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("numbers", HUGE.values(), ids=list(HUGE))
@pytest.mark.parametrize("verb", ["audit", "predict", "truth", "inputs", "plan", "evaluate", "score", "rehearse"])
def test_numbers_that_overflow_are_refused_before_a_warning(numbers: tuple[float, ...], verb: str) -> None:
    column = [numbers[row % len(numbers)] for row in range(2 * len(CELLS))]
    own, split = {**table(1.0), "y": column}, {"factors": ["a", "b"], "split": "split"}
    asked = {"factors": ["a", "b"], "target": "y"}
    verbs = {
        "audit": lambda: recombine.audit(own, **asked),
        "predict": lambda: recombine.predict(own, **asked),
        "truth": lambda: recombine.predict(seen(1.0), **asked, truth=own),
        "inputs": lambda: recombine.predict(own, **asked, examples=recombine.Examples(inputs=["said"])),
        "plan": lambda: recombine.plan(own, **asked, goal="variance"),
        "evaluate": lambda: recombine.evaluate(own, target="y", prediction="said", **split),
        "score": lambda: recombine.evaluate(own, score="y", **split),
        "rehearse": lambda: recombine.rehearse(own, "additive", **asked),
    }
    with pytest.raises(RecombineError, match="so large that their squares are"):
        verbs[verb]()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("part", ["x", "y"])
def test_arrays_that_overflow_are_refused_before_a_warning(part: str) -> None:
    given = {"x": np.arange(60.0).reshape(30, 2), "y": ANSWERS.copy()}
    given[part][0], given[part][1] = 1e308, -1e308
    with pytest.raises(RecombineError, match=r"or some beyond 1e\+75"):
        forecast_state.read(given["x"], given["y"], np.array(CELLS), None, None, None, "number")


@pytest.mark.parametrize("goal", ["determined", "pairs", "leverage", "variance"])
@pytest.mark.parametrize("cost", [1e16, 1e300, 1e308])
def test_costs_that_cannot_be_added_up_are_refused(goal: str, cost: float) -> None:
    support = recombine.read({"a": ["x", "y", "z"], "b": ["p", "q", "r"]}, factors=["a", "b"])
    with pytest.raises(RecombineError, match="costs are added up"):
        recombine.plan(support, goal=goal, costs=[{"a": "x", "cost": cost}])


@pytest.mark.parametrize("goal", ["determined", "pairs", "leverage", "variance"])
@pytest.mark.parametrize("cost", [0.0, 1e-320, 1e15])
@pytest.mark.parametrize("budget", [None, 10.0, 1e308])
def test_other_costs_and_budgets_end_in_a_plan(goal: str, cost: float, budget: float | None) -> None:
    support = recombine.read({"a": ["x", "y", "z"], "b": ["p", "q", "r"]}, factors=["a", "b"])
    found = recombine.plan(support, goal=goal, budget=budget, costs=[{"a": v, "cost": cost} for v in "xyz"])
    assert all(math.isfinite(line.cost) and math.isfinite(line.spent) for line in found.lines)
    assert len(found.verdict) < 400
    draw(found.record())
