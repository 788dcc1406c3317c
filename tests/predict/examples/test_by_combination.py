"""The forecast from examples for each combination: the numbers against a twin, the list and the map on the page."""

import math

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import norm, t

import recombine
from recombine.base.grades import Expected, because, earned
from recombine.verbs.predict.examples.example_forecast import by_combination
from recombine.verbs.predict.examples.forecast import ExampleForecast
from tests.predict.examples.test_from_table import HOW, world

pytest.importorskip("sklearn")
SPACE = recombine.read({"p": ["a", "b"], "rows": ["x", "y"]}, factors=["p", "rows"]).space


def made(scores, counts, *, score="accuracy", base=0.5):
    size = len(counts)
    return ExampleForecast(
        expected=Expected(score, 0.7, 0.5, 0.9, 0.5, "majority", (0.0, 0.2, 0.4)),
        way="rows",
        members=tuple(f"m{k}" for k in range(len(scores))),
        seen_by_member=None,
        codes=np.array([(0, 0), (0, 1), (1, 0), (1, 1)][:size], dtype=np.int32),
        counts=np.array(counts),
        scores=np.array(scores),
        base=np.full(size, base),
        probe=None,
        rows=10,
        of_rows=10,
        asked_rows=int(sum(counts)),
    )


def twin(scores, rows):
    """Wilson's interval with Student's quantile, then the machines' spread in quadrature; one combination."""
    value, spread = float(np.mean(scores)), float(np.std(scores, ddof=1))
    low = high = value
    if rows:
        z = t.ppf(0.975, max(rows - 1, 1))
        middle = (value + z * z / (2 * rows)) / (1 + z * z / rows)
        half = z / (1 + z * z / rows) * math.sqrt(value * (1 - value) / rows + z * z / (4 * rows * rows))
        low, high = middle - half, middle + half
    reach = norm.ppf(0.975) * spread
    return max(0.0, value - math.hypot(value - low, reach)), min(1.0, value + math.hypot(high - value, reach))


def test_shares_against_a_twin_and_a_factor_of_the_same_name() -> None:
    scores, counts = [[1.0, 0.5, 0.0], [1.0, 0.7, 0.2]], [3, 40, 0]
    found = by_combination(made(scores, counts), SPACE)
    assert found.column_names == ["p", "rows", "rows_", "right", "low", "high", "one_answer"]
    for place, row in enumerate(found.to_pylist()):
        low, high = twin([one[place] for one in scores], counts[place])
        assert (row["low"], row["high"]) == pytest.approx((low, high), abs=1e-9)
        assert row["low"] <= row["right"] <= row["high"]
    assert found["high"][0].as_py() == 1.0
    assert found["low"][0].as_py() < 0.6, "three rows prove little"


def test_errors_are_roots_and_their_ends_are_the_best_and_worst_machine() -> None:
    found = by_combination(made([[4.0, 1.0], [16.0, 1.0]], [2, 2], score="R²", base=9.0), SPACE).to_pylist()
    assert found[0]["error"] == pytest.approx(math.sqrt(10))
    assert (found[0]["low"], found[0]["high"], found[0]["one_answer"]) == (2.0, 4.0, 3.0)


def test_the_page_lists_and_maps_them(tmp_path) -> None:
    table, _, _, whole = world(labelled=False)
    found = recombine.predict(table, **HOW, examples=recombine.Examples(inputs="embedding"), truth=whole)
    assert len(found.by_combination) == 8
    assert pa.compute.sum(found.by_combination["rows"]).as_py() == found.examples.asked_rows
    page = found.page(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8") if page is None else page.read_text(encoding="utf-8")
    assert "The unseen combinations, from the examples" in text
    assert text.count('<td style="--share:') == 8
    assert "over combinations alone, not the one on top" in text
    assert recombine.predict(table, **HOW, truth=whole).by_combination is None


class TestWhyGraded:
    """The sentence beside a grade holds for the very numbers that it stands beside."""

    def test_every_grade_that_a_score_earns(self) -> None:
        rng = np.random.default_rng(0)
        seen = set()
        for _ in range(3_000):
            low, value, high = np.sort(rng.uniform(0, 1, 3))
            base = rng.uniform(0, 1)
            lift = tuple(np.sort(rng.uniform(-0.5, 0.5, 3)))
            over = tuple(np.sort(rng.uniform(-0.5, 0.5, 3))) if rng.random() < 0.5 else None
            name = "additive" if over else "majority"
            expected = Expected("accuracy", value, low, high, base, name, lift, over, tested=20, of=5)
            grade, words = (made := earned(expected)), because(earned(expected), expected)
            seen.add((grade, words.partition(",")[0][:30]))
            assert words
            if words.startswith("better than") and "only if" not in words:
                assert expected.beats_constant
                assert made == "sound" or lift[0] > 0
            if "is below 80 %" in words:
                assert low < 0.8
            if "reaches 80 %" in words:
                assert low >= 0.8
            if words.startswith("not better than one answer"):
                assert not expected.beats_constant or (name == "majority" and lift[0] <= 0)
            if words.startswith("worse than"):
                assert lift[2] < 0
            if "even at the high end" in words:
                assert high < 0.5
        assert {grade for grade, _ in seen} == {"sound", "plausible", "weak", "failing"}

    def test_a_grade_that_was_lowered_for_what_was_not_tested(self) -> None:
        high = Expected("accuracy", 0.95, 0.9, 1.0, 0.5, "majority", (0.3, 0.4, 0.5), tested=20, of=5)
        wide = Expected("accuracy", 0.95, 0.3, 1.0, 0.5, "majority", (-0.2, 0.4, 0.5), tested=20, of=5)
        assert "it hangs on something that was not tested" in because("plausible", high)
        assert "only if something holds that was not tested" in because("plausible", wide)
        assert "a simple rule did as well" in because("weak", high)
        assert "even if every example can be read" in because("failing", wide)
        assert "not enough evidence" in because("untested", Expected("accuracy"))
