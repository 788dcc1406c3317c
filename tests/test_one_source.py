"""Each number has one source: it lies in its interval, is the same in every verb, and rounding is no chance."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import recombine
from recombine.numerics.intervals import wilson
from recombine.numerics.resampling import IntervalSettings
from recombine.output.pages import draw
from recombine.verbs.audit import combination_status
from recombine.verbs.predict.ensembles import Ensemble, expected_of
from tests.properties import examples

AB = ["a", "b"]
WORLDS = ("noise", "ties", "xor", "one factor", "adds up", "exact", "exact, far from 0")
SPREAD = 1e-9
"""An interval of something of about 1 that is narrower than this is rounding."""


def planted(world: str, seed: int = 0, *, split: bool = False) -> dict[str, list]:
    """A grid of 7 × 6 with holes, four rows a combination, and answers of a known kind."""
    rng = np.random.default_rng(seed)
    one, other = rng.normal(size=7), rng.normal(size=6)
    rows = [cell for cell in product(range(7), range(6)) if (cell[0] + 2 * cell[1]) % 5 or split for _ in range(4)]
    answers: dict[str, Any] = {
        "noise": lambda a, b, k: "yes" if rng.random() < 0.5 else "no",
        "ties": lambda a, b, k: "yes" if (k % 2 if (a + b) % 3 else a < 4) else "no",
        "xor": lambda a, b, k: "yes" if a % 2 != b % 2 else "no",
        "one factor": lambda a, b, k: "yes" if a < 3 else "no",
        "adds up": lambda a, b, k: one[a] + other[b] + 0.5 * rng.normal(),
        "exact": lambda a, b, k: one[a] + other[b],
        "exact, far from 0": lambda a, b, k: 1e4 + 0.1 * (one[a] + other[b]),
    }
    truth = [answers[world](a, b, k) for k, (a, b) in enumerate(rows)]
    table: dict[str, list] = {"a": [a for a, _ in rows], "b": [b for _, b in rows], "y": truth}
    if split:
        table["split"] = ["train" if (a + 2 * b) % 5 and k % 4 else "test" for k, (a, b) in enumerate(rows)]
        table["said"] = [
            (y if rng.random() < 0.8 else truth[0]) if isinstance(y, str) or "exact" not in world else y for y in truth
        ]
    return table


def results(world: str, seed: int = 0) -> dict[str, Any]:
    """What three verbs find in one world."""
    asked = {"factors": AB, "target": "y"}
    tested = planted(world, seed, split=True)
    return {
        "audit": recombine.audit(planted(world, seed), **asked),
        "predict": recombine.predict(planted(world, seed), **asked),
        "evaluate": recombine.evaluate(tested, **asked, prediction="said", split="split"),
    }


def intervals(node: Any, path: str = "") -> Iterator[tuple[str, float, float, float]]:
    """Every interval in a record with what it is one of: (place, low, value, high)."""
    if isinstance(node, dict):
        if node.get("low") is not None and node.get("high") is not None:
            centre = next(name for name in ("shrunk", "value", "score", "found", "share") if node.get(name) is not None)
            yield f"{path}.{centre}", node["low"], node[centre], node["high"]
        for name, part in node.items():
            if name in ("lift", "over_constant", "difference") and part is not None:
                yield f"{path}.{name}", *part
            yield from intervals(part, f"{path}.{name}")
    elif isinstance(node, list | tuple):
        for place, part in enumerate(node):
            yield from intervals(part, f"{path}[{place}]")


@pytest.mark.slow
@pytest.mark.parametrize("world", WORLDS)
@examples(3)
@given(seed=st.integers(0, 10**6))
def test_every_value_lies_in_its_interval_and_rounding_is_none(world: str, seed: int) -> None:
    for verb, found in results(world, seed).items():
        every = list(intervals(found.record().to_json()))
        assert every, verb
        for place, low, value, high in every:
            assert low <= value <= high, (verb, place, low, value, high)
            assert high == low or high - low > SPREAD, (verb, place, low, value, high)


@pytest.mark.parametrize("world", ["noise", "ties", "xor", "one factor"])
def test_always_the_same_answer_gets_the_same_in_every_verb(world: str) -> None:
    """Classes that are equally common in a combination share it: one verb gave them all to the first."""
    audit, prediction = (verb(planted(world), factors=AB, target="y") for verb in (recombine.audit, recombine.predict))
    record = prediction.backtest
    assert record.tested == audit.additive.tested
    mine, theirs = audit.additive.rule("majority").score, record.methods[-1].score
    assert record.methods[-1].name == "majority"
    assert mine == pytest.approx(theirs)
    assert audit.additive.commonest in prediction.verdict or world == "one factor"


@pytest.mark.parametrize("world", ["noise", "xor"])
def test_one_score_has_one_interval(world: str) -> None:
    """The headline drew its combinations once more, and so had other ends than the table below it."""
    table = planted(world, split=True)
    table["said"] = ["yes" if (7 * row) % 5 < 3 else "no" for row in range(len(table["y"]))]
    found = recombine.evaluate(table, factors=AB, target="y", prediction="said", split="split")
    side = found.side("unseen")
    assert side.low is not None
    assert (found.expected.value, found.expected.low, found.expected.high) == (side.score, side.low, side.high)


@pytest.mark.parametrize("far", [1.5, 2.12, 5.0, 100.0])
def test_an_r2_below_minus_one_has_a_low_end_below_it(far: float) -> None:
    """The low end was cut at -1, or at the value itself: [-1.12, -0.50] around -1.12."""
    errors = far * np.array([[0.9] * 8, [1.1] * 8, [1.0] * 8])
    found = expected_of(Ensemble(("one", "two", "three"), errors, np.ones(8), "R²"), basis="combinations")
    assert found.value == pytest.approx(1 - far)
    assert found.value - found.low >= (found.high - found.value) * (1 - 1e-9) > 0


def test_exact_answers_leave_no_interval_of_rounding() -> None:
    """A gap of nothing had an interval of -2.2e-13 to 2.2e-13, and a lead of nothing one of 1e-15."""
    found = recombine.evaluate(planted("exact", split=True), factors=AB, target="y", prediction="said", split="split")
    assert found.expected.lift == (0.0, 0.0, 0.0)
    assert (found.matched.value, found.matched.low, found.matched.high) == (0.0, None, None)
    assert "e-" not in found.verdict
    assert "(0 to 0)" not in found.verdict
    record = recombine.predict(planted("exact"), factors=AB, target="y").backtest
    assert record.methods[1].name == "additive"
    assert (record.methods[1].score, record.methods[1].low, record.methods[1].high) == (0.0, 0.0, 0.0)


@examples(50)
@given(share=st.sampled_from([0.0, 1.0]), worth=st.floats(1, 1e6))
def test_a_share_of_all_or_none_is_an_end_of_its_interval(share: float, worth: float) -> None:
    low, high = wilson(np.array(share), np.array(worth), np.array(max(worth - 1, 1)), IntervalSettings())
    assert low <= share <= high


@pytest.mark.parametrize("verb", ["audit", "predict"])
def test_the_legend_of_a_map_that_was_cut_names_the_whole(monkeypatch, verb: str) -> None:
    """A legend of what is drawn stood beside a headline of everything."""
    monkeypatch.setattr(combination_status, "_MOST_CELLS", 400)
    cells = [(a, b) for a in range(40) for b in range(40) if a == b or not a]
    table = {"a": [a for a, _ in cells], "b": [b for _, b in cells], "y": [float(a + b) for a, b in cells]}
    asked = {"factors": AB, "target": "y"}
    found = recombine.audit(table, **asked) if verb == "audit" else recombine.predict(table, **asked)
    page = draw(found.record())
    if verb == "audit":
        assert f"drawn, of {found.counts.determined:,}</small>" in page
    else:
        assert f'data-verdict="fine" data-total="{found.counts["fine"]}"' in page
