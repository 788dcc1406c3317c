"""A target whose mean is large beside its spread: the same numbers as around zero, whatever was added to it.

The tolerance of every comparison is what float64 itself leaves: a number of size m is rounded by m / 2^53, so of
mean / sd = r about r / 2^53 of the spread is lost before anybody has computed anything.
"""

from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recombine import audit, evaluate, predict, read
from recombine.data import centred_sums
from recombine.data.support import NumberTarget, Support
from recombine.verbs.predict.answers import answers
from recombine.verbs.predict.kernel.salience_fit import estimate

RATIOS = [1e3, 1e6, 1e7, 1e8, 1e9]
EPSILON = 2.0**-53


def table(offset: float = 0.0, *, rows: int = 2_000, seed: int = 0) -> dict[str, Any]:
    """Two factors that add up, and noise of sd 1; `w` holds small whole weights."""
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 5, rows), rng.integers(0, 4, rows)
    y = 0.7 * a - 0.4 * b + rng.normal(0, 1, rows)
    # rounded where all offsets can hold it, so that adding one changes nothing but the place
    y = np.round(y * 2**20) / 2**20
    return {"a": a, "b": b, "y": y + offset, "w": rng.integers(1, 4, rows)}


def read_at(offset: float, **settings: Any) -> Support:
    return read(table(offset), factors=["a", "b"], target="y", **settings)


def exact(columns: dict[str, Any], *, weight: bool) -> dict[tuple[int, int], tuple[Fraction, Fraction]]:
    """The twin: mean and sum of squares about it, of each combination, in fractions."""
    found: dict[tuple[int, int], list[tuple[Fraction, Fraction]]] = {}
    for a, b, y, w in zip(*(columns[name] for name in "abyw"), strict=True):
        found.setdefault((int(a), int(b)), []).append((Fraction(y), Fraction(int(w) if weight else 1)))
    told = {}
    for key, rows in found.items():
        mean = sum(y * w for y, w in rows) / sum(w for _, w in rows)
        told[key] = (mean, sum(w * (y - mean) ** 2 for y, w in rows))
    return told


@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("offset", RATIOS)
def test_the_sums_are_those_of_exact_arithmetic(offset: float, weight: str | None) -> None:
    support = read_at(offset, weight=weight)
    assert isinstance(support.target, NumberTarget)
    twin = exact(table(offset), weight=weight is not None)
    for place, code in enumerate(support.codes):
        mean, scatter = twin[(int(code[0]), int(code[1]))]
        assert abs(Fraction(support.target.mean[place]) - mean) <= 2 * EPSILON * offset
        # the subtraction is exact; what is left is the rounding of sums of some hundred squares
        assert float(abs(Fraction(support.target.scatter[place]) - scatter) / scatter) < 1e-11


@pytest.mark.parametrize("offset", RATIOS)
def test_the_noise_is_fitted(offset: float) -> None:
    """Seen before: 0.55 of it at 10^6, nothing from 10^7 on."""
    near, far = read_at(0.0), read_at(offset)
    assert answers(far).within == pytest.approx(answers(near).within, rel=1e-11)
    assert answers(far).mixed == answers(near).mixed
    # the combinations' means are float64 numbers of the size of the offset
    rounding = 100 * EPSILON * offset + 1e-9
    assert estimate(far).noise == pytest.approx(estimate(near).noise, rel=rounding)
    assert estimate(far).weights[1:] == pytest.approx(estimate(near).weights[1:], rel=1e3 * rounding)


@pytest.mark.parametrize("offset", RATIOS)
def test_what_factors_tell_is_ranked_alike(offset: float) -> None:
    near, far = (audit(read_at(value)).redundancy for value in (0.0, offset))
    assert near is not None
    assert far is not None
    assert [part.factors for part in far.parts] == [part.factors for part in near.parts]
    for one, other in zip(far.parts, near.parts, strict=True):
        assert one.told == pytest.approx(other.told, abs=1e-9)
        assert one.score_left_out == pytest.approx(other.score_left_out, abs=1e-9)


@pytest.mark.parametrize("offset", RATIOS)
def test_predictions_move_with_the_target(offset: float) -> None:
    """With a free constant: a network's kernel shrinks its answers towards 0, so 0 means something to it."""
    near, far = (predict(read_at(value), salience="fit", backtest=True) for value in (0.0, offset))
    rounding = 1e4 * EPSILON * offset + 1e-8
    said = [np.array(one.table["prediction"].to_pylist()) for one in (near, far)]
    assert said[1] - offset == pytest.approx(said[0], abs=rounding)
    assert near.backtest is not None
    assert far.backtest is not None
    for one, other in zip(far.backtest.methods, near.backtest.methods, strict=True):
        assert (one.name, one.score) == (other.name, pytest.approx(other.score, abs=rounding))
    assert far.backtest.coverage is not None
    assert near.backtest.coverage is not None
    assert far.backtest.coverage.found == near.backtest.coverage.found


def predictions(offset: float, error: float, *, seed: int = 1) -> dict[str, Any]:
    columns = table(offset, rows=1_000)
    noise = np.random.default_rng(seed).normal(0, error, 1_000)
    return columns | {
        "said": columns["y"] + np.round(noise * 2**20) / 2**20,
        "split": np.where(columns["a"] == columns["b"], "test", "train"),
    }


@pytest.mark.parametrize("split", ["split", None])
@pytest.mark.parametrize("score", ["r2", "mse"])
@pytest.mark.parametrize("offset", RATIOS)
def test_scores_do_not_move(offset: float, score: str, split: str | None) -> None:
    settings = {"factors": ["a", "b"], "target": "y", "prediction": "said", "score": score, "split": split}
    near, far = (evaluate(predictions(value, 0.6), **settings) for value in (0.0, offset))
    for one, other in zip(far.sides, near.sides, strict=True):
        assert (one.name, one.rows, one.low is None) == (other.name, other.rows, other.low is None)
        told, before = ([getattr(side, part) for part in ("score", "low", "high")] for side in (one, other))
        assert [x for x in told if x is not None] == pytest.approx([x for x in before if x is not None], rel=1e-9)
    assert near.sides[0].score is not None


@pytest.mark.parametrize("train_first", [True, False])
@pytest.mark.parametrize("apart", RATIOS)
def test_sides_that_lie_far_apart(apart: float, train_first: bool) -> None:
    """Seen before: an R² of 0.69 instead of 0.65 where the test side lies 10^8 away, and 0.99 at 10^9."""
    columns = predictions(0.0, 0.6)
    rows = np.argsort((columns["split"] == "test") == train_first, kind="stable")
    columns = {name: np.asarray(values)[rows] for name, values in columns.items()}
    away = np.where(columns["split"] == "test", apart, 0.0)
    moved = columns | {"y": columns["y"] + away, "said": columns["said"] + away}
    settings = {"factors": ["a", "b"], "target": "y", "prediction": "said", "score": "r2", "split": "split"}
    near, far = (evaluate(table, **settings) for table in (columns, moved))
    assert far.sides[0].score == pytest.approx(near.sides[0].score, rel=1e-9)
    assert far.outcomes.training is not None
    assert near.outcomes.training is not None
    assert far.outcomes.training.target == near.outcomes.training.target


def test_the_better_model_stays_the_better_one() -> None:
    scores = [
        evaluate(predictions(1e8, error), factors=["a", "b"], target="y", prediction="said", score="r2").sides[0].score
        for error in (0.6, 0.8, 1.0)
    ]
    assert scores == sorted(scores, reverse=True)
    truth = table(0.0, rows=1_000)["y"]
    wrong = predictions(0.0, 0.8)["said"] - truth
    assert scores[1] == pytest.approx(1 - (wrong**2).sum() / ((truth - truth.mean()) ** 2).sum(), rel=1e-9)


def test_a_score_of_ones_own_keeps_its_spread() -> None:
    columns = table(0.0, rows=1_000)
    settings = {"factors": ["a", "b"], "score": "y"}
    near, far = (evaluate(columns | {"y": columns["y"] + offset}, **settings) for offset in (0.0, 1e8))
    assert far.outcomes.spread == pytest.approx(near.outcomes.spread, rel=1e-6)
    assert far.outcomes.have_luck()


# ------------------------------------------------------------------------------------------------ the pilot


def test_supports_about_different_numbers_are_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    found = read_at(1e8)
    for centre in (1e8, 1e8 + 3, 1e8 - 100):
        monkeypatch.setattr(centred_sums, "near", lambda _, centre=centre: centre)
        other = read_at(1e8)
        assert other.target.shift == centre
        assert other == found
    monkeypatch.undo()
    moved = table(1e8)
    moved["y"] = moved["y"].copy()
    moved["y"][0] += 1e-3
    assert read(moved, factors=["a", "b"], target="y") != found


def test_first_rows_that_mislead_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table that begins with two thousand rows of another kind: the sums are asked for again, about their mean."""
    columns = {name: np.concatenate([values] * 60) for name, values in table(1e7).items()}
    columns["y"][:2_000] = 0.0
    columns["y"][:2_000:2] = 1.0
    asked = []
    monkeypatch.setattr(centred_sums, "better", _listening(asked, centred_sums.better))
    support = read(columns | {"a": columns["a"] + (columns["y"] < 10) * 10}, factors=["a", "b"], target="y")
    assert asked[0] is None  # so far from each other, the two kinds are the spread
    support = read({**columns, "y": np.where(columns["y"] < 10, np.nan, columns["y"])}, factors=["a", "b"], target="y")
    assert asked[1] == pytest.approx(1e7, abs=10)
    assert support.target.shift == asked[1]
    assert answers(support).within == pytest.approx(1.0, rel=0.1)


def _listening(heard: list[Any], ask: Any) -> Any:
    def listen(*given: Any) -> Any:
        heard.append(ask(*given))
        return heard[-1]

    return listen


def test_an_ordinary_target_is_summed_about_zero() -> None:
    assert read_at(0.0).target.shift == 0.0
    assert read_at(50.0).target.shift == 0.0


@given(st.lists(st.integers(-(10**6), 10**6), min_size=5, max_size=5), st.integers(-(2**40), 2**40))
def test_a_pilot_is_near_and_exactly_subtracted(drawn: list[int], offset: int) -> None:
    quartiles = [float(value + offset) for value in sorted(drawn)]
    centre = centred_sums.near(quartiles)
    spread = (quartiles[3] - quartiles[1]) / 2 or (quartiles[4] - quartiles[0]) / 2
    assert abs(quartiles[2] - centre) <= max(101 * spread, 0.0)
    assert all(Fraction(value - centre) == Fraction(value) - Fraction(centre) for value in quartiles)


# --------------------------------------------------------------------------- more digits than a float64 holds


@pytest.mark.parametrize("kind", [pa.int64(), pa.uint64(), pa.decimal128(22, 2)])
def test_whole_numbers_and_decimals_beyond_a_float64(tmp_path: Path, kind: pa.DataType) -> None:
    """Nanoseconds since 1970: 1.7 · 10^18, where float64 counts in steps of 256."""
    rng = np.random.default_rng(0)
    a, b, y = rng.integers(0, 3, 300), rng.integers(0, 3, 300), rng.integers(0, 50, 300)
    exactly = [Decimal(int(value) + 1_700_000_000_000_000_000) for value in y]
    values = pa.array(exactly, pa.decimal128(22, 2)).cast(kind)
    pq.write_table(pa.table({"a": a, "b": b, "y": values}), tmp_path / "t.parquet")
    far = read(tmp_path / "t.parquet", factors=["a", "b"], target="y", target_kind="number")
    near = read({"a": a, "b": b, "y": y.astype(float)}, factors=["a", "b"], target="y")
    assert far.target.scatter == pytest.approx(near.target.scatter, rel=1e-9)
    assert audit(far).redundancy.parts[0].told == pytest.approx(audit(near).redundancy.parts[0].told, rel=1e-9)


def test_errors_of_whole_numbers_beyond_a_float64() -> None:
    a, b = np.arange(40) % 4, np.arange(40) % 5
    truth = 1_700_000_000_000_000_000 + np.arange(40)
    found = evaluate(
        {"a": a, "b": b, "y": truth, "said": truth + 3},
        factors=["a", "b"], target="y", prediction="said", score="mse", target_kind="number",
    )  # fmt: skip
    assert found.sides[0].score == 9.0


# ---------------------------------------------------------------------------------------- saved and by hand


def test_a_saved_support_keeps_what_it_was_summed_about(tmp_path: Path) -> None:
    found = audit(read_at(1e8))
    found.save(tmp_path / "audit")
    assert type(found).load(tmp_path / "audit").support.target.shift == found.support.target.shift
    assert type(found).load(tmp_path / "audit") == found


def test_by_hand_without_a_shift() -> None:
    target = NumberTarget("y", np.array([2.0]), np.array([6.0]), np.array([20.0]))
    assert (target.mean.tolist(), target.scatter.tolist()) == ([3.0], [2.0])
    assert target.about(3.0) == target
    assert target.about(3.0).squares.tolist() == [2.0]
