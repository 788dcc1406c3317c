"""Scores by side, value, pair and combination: as scikit-learn and fairlearn compute them; nothing is never a 0."""

import json
import math

import numpy as np
import pytest
from fairlearn.metrics import MetricFrame
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, log_loss, mean_squared_error, r2_score

import recombine
from recombine.base.errors import SettingError
from recombine.base.records import Record
from recombine.numerics.resampling import IntervalSettings
from recombine.verbs.evaluate.evaluation import Evaluation, evaluate
from recombine.verbs.evaluate.outcomes import Outcomes, Score
from recombine.verbs.evaluate.scores import shrunk, worst_first
from tests.evaluate import twins
from tests.properties import examples

FEW = IntervalSettings(draws=200)
FACTORS = ["colour", "shape"]
FRAME = twins.predictions()
SIDES = twins.test_sides(FRAME, FACTORS)
LABELS = {"x": "p_x", "y": "p_y", "z": "p_z"}


def found(frame=FRAME, **given) -> Evaluation:
    settings = {"factors": FACTORS, "target": "label", "prediction": "said", "split": "split", "intervals": FEW}
    return evaluate(frame, **settings | given)


BASE = found()

PEERS = {
    "accuracy": ({}, lambda rows: accuracy_score(rows.label, rows.said)),
    "mse": ({"target": "value", "prediction": "guess"}, lambda rows: mean_squared_error(rows.value, rows.guess)),
    "r2": ({"target": "value", "prediction": "guess"}, lambda rows: r2_score(rows.value, rows.guess)),
    "logloss": (
        {"prediction": LABELS},
        lambda rows: log_loss(rows.label, rows[list(LABELS.values())].to_numpy(), labels=list(LABELS)),
    ),
    "p_x": ({"target": None, "prediction": None}, lambda rows: rows.p_x.mean()),
}


@pytest.mark.parametrize("score", PEERS)
def test_every_side_is_scored_as_scikit_learn_does(score):
    settings, peer = PEERS[score]
    ours = found(score=score, **settings)
    for name, rows in SIDES.items():
        side = ours.side(name)
        assert side.rows == len(rows)
        assert side.score is None if not len(rows) else side.score == pytest.approx(peer(rows), abs=1e-12)


def test_a_binary_probability_is_scored_as_scikit_learn_does():
    ours = found(target="yes", prediction="p_yes", score="logloss").side("unseen").score
    rows = SIDES["unseen"]
    assert ours == pytest.approx(log_loss(rows.yes, rows.p_yes), abs=1e-12)


def test_r2_of_large_numbers_keeps_its_digits():
    far = FRAME.assign(value=FRAME.value + 1e6, guess=FRAME.guess + 1e6)
    rows = far[far.split == "test"]
    ours = found(far, target="value", prediction="guess", score="r2")
    assert ours.side("all").score == pytest.approx(r2_score(rows.value, rows.guess), abs=1e-9)


def test_r2_without_a_spread_is_unknown():
    ours = found(FRAME.assign(value=1.0), target="value", prediction="guess", score="r2")
    assert ours.side("all").score is None
    assert ours.side("all").note == "The true answers do not vary here, so R² means nothing."


def test_groups_are_scored_as_fairlearn_does():
    rows = SIDES["all"]

    def frame(columns):
        grouped = rows[columns]
        return MetricFrame(
            metrics=accuracy_score, y_true=rows.label, y_pred=rows.said, sensitive_features=grouped
        ).by_group

    for (colour, shape), score in frame(FACTORS).dropna().items():
        line = next(r for r in BASE.table.to_pylist() if (r["colour"], r["shape"]) == (colour, shape))
        assert line["score"] == pytest.approx(score, abs=1e-12)
    by_value = {(r["factor"], r["value"]): r["score"] for r in BASE.by_value.to_pylist()}
    for factor in FACTORS:
        for value, score in frame([factor]).items():
            assert by_value[factor, value] == pytest.approx(score, abs=1e-12)


def test_macro_counts_every_combination_once():
    rows = SIDES["unseen"]
    by_hand = (rows.label == rows.said).groupby([rows.colour, rows["shape"]]).mean().mean()
    assert BASE.side("unseen").macro == pytest.approx(by_hand, abs=1e-12)


def test_the_gap_is_positive_where_unseen_is_worse_whatever_the_score():
    assert BASE.gap.value == pytest.approx(BASE.side("seen").score - BASE.side("unseen").score)
    worse = found(target="value", prediction="guess")
    assert worse.gap.value == pytest.approx(worse.side("unseen").score - worse.side("seen").score)
    assert BASE.gap.low < BASE.gap.value < BASE.gap.high


@pytest.mark.slow
@examples(12)
@given(st.integers(0, 10**6), st.integers(5, 80))
def test_sides_of_random_tables(seed, rows):
    frame = twins.predictions(seed, rows)
    if not {"train", "test"} <= set(frame.split) or frame.colour.nunique() < 2 or frame["shape"].nunique() < 2:
        return
    if not set(frame[frame.split == "test"].said) & set(frame.label):
        return
    ours = found(frame, intervals=IntervalSettings(draws=100))
    for name, part in twins.test_sides(frame, FACTORS).items():
        side = ours.side(name)
        assert (side.rows, side.combinations) == (len(part), len(part[FACTORS].drop_duplicates()))
        if len(part):
            assert side.score == pytest.approx((part.label == part.said).mean(), abs=1e-12)
        else:
            assert (side.score, side.macro, side.low) == (None, None, None)
            assert side.note
    json.dumps(ours.record().to_json(), allow_nan=False)


def test_perfect_a_model_that_is_always_right():
    ours = found(prediction="label_again", frame=FRAME.assign(label_again=FRAME.label))
    assert [ours.side(name).score for name in ("all", "seen", "unseen")] == [1.0, 1.0, 1.0]
    assert 0.5 < ours.side("unseen").low < 1.0
    assert ours.worst[0].score == 1.0
    assert ours.deviations.found == 0


def test_adversarial_three_unlucky_rows_are_not_the_worst():
    codes = [[v, 0] for v in range(12)]
    rows = [3.0, 200, *[100.0] * 10]
    right = [0.0, 60, *[90.0 - v for v in range(10)]]
    outcomes = twins.outcomes(codes, rows, right, sizes=(12, 2))
    pulled = shrunk(outcomes, IntervalSettings())
    assert outcomes.mean[0] < outcomes.mean[1]
    assert pulled.score[0] > pulled.score[1]
    assert pulled.low[0] < pulled.low[1] or pulled.high[0] > pulled.high[1]


@pytest.mark.parametrize("right", [[0.0, 0, 1, 3, 20], [13.0, 6, 1, 3, 20], [0.0, 0, 0, 0, 0]])
def test_adversarial_one_row_is_never_certain(right):
    """All rows of each combination agree, so the moments alone would take one row for the whole truth."""
    rows = [13.0, 6, 1, 3, 20]
    pulled = shrunk(twins.outcomes([[v, 0] for v in range(5)], rows, right, sizes=(5, 2)), IntervalSettings())
    assert ((pulled.low < pulled.score) & (pulled.score < pulled.high)).all()
    assert (pulled.high - pulled.low > 0.01).all()
    if len(set(np.array(right) / rows)) > 1:
        assert pulled.high[2] - pulled.low[2] > 0.5
        assert pulled.score[2] < pulled.score[3] < pulled.score[4]


def test_shrinkage_lowers_the_error():
    """Against the true shares of simulated combinations, where the raw shares of few rows err more."""
    rng = np.random.default_rng(0)
    truth = rng.beta(8, 2, 400)
    rows = rng.integers(1, 12, 400)
    right = rng.binomial(rows, truth)
    codes = np.array([[v // 20, v % 20] for v in range(400)])
    outcomes = twins.outcomes(codes, rows, right)
    pulled = shrunk(outcomes, IntervalSettings())
    assert np.mean((pulled.score - truth) ** 2) < 0.5 * np.mean((outcomes.mean - truth) ** 2)
    assert np.mean((pulled.low <= truth) & (truth <= pulled.high)) > 0.93


def test_shrinkage_of_numbers_keeps_its_promise():
    rng = np.random.default_rng(1)
    truth = 5 + rng.normal(size=300)
    rows = rng.integers(2, 12, 300)
    ids = np.repeat(np.arange(300), rows)
    scores = truth[ids] + 2 * rng.normal(size=len(ids))
    sums = [np.bincount(ids, weights=power) for power in (scores, scores**2)]
    codes = np.array([[v // 20, v % 20] for v in range(300)])
    pulled = shrunk(twins.outcomes(codes, rows, *sums, score=Score("mine", "higher")), IntervalSettings())
    assert np.mean((pulled.score - truth) ** 2) < 0.6 * np.mean((sums[0] / rows - truth) ** 2)
    assert np.mean((pulled.low <= truth) & (truth <= pulled.high)) > 0.93


def of_many(true: np.ndarray, rows: int, rng: np.random.Generator) -> Outcomes:
    """So many rows of each combination, right with its own chance."""
    codes = [[v // 8, v % 8] for v in range(len(true))]
    return twins.outcomes(codes, np.full(len(true), float(rows)), rng.binomial(rows, true))


@pytest.mark.parametrize("world", ["alike", "one is bad", "differ", "one row each"])
def test_the_worst_that_are_listed_have_intervals_that_know_they_were_picked(world):
    """Around the shrunk score, as if nobody had picked it, those of the first held in 97, 24, 91 and 51 of 100."""
    rng, held = np.random.default_rng(3), []
    for _ in range(300):
        true = np.full(64, 0.9)
        true[0] = 0.5 if world == "one is bad" else 0.9
        true = rng.beta(8, 2, 64) if world in ("differ", "one row each") else true
        outcomes = of_many(true, 1 if world == "one row each" else 10, rng)
        worst = shrunk(outcomes, IntervalSettings())
        place = worst_first(outcomes, worst.score)[[0, 2, 9]]
        held.append((worst.low <= true)[place] & (true <= worst.high)[place])
    assert (np.mean(held, axis=0) >= 0.93).all()


@pytest.mark.parametrize("better", ["higher", "lower"])
def test_the_worst_of_numbers_have_intervals_that_know_they_were_picked(better):
    rng, held = np.random.default_rng(4), []
    codes, ids = [[v // 8, v % 8] for v in range(64)], np.repeat(np.arange(64), 6)
    for _ in range(200):
        true = np.where(np.arange(64) == 0, 3.0 if better == "lower" else -3.0, rng.normal(0, 0.3, 64))
        scores = true[ids] + rng.normal(size=len(ids))
        sums = [np.bincount(ids, power) for power in (scores, scores**2)]
        outcomes = twins.outcomes(codes, np.full(64, 6.0), *sums, score=Score("mine", better))
        worst = shrunk(outcomes, IntervalSettings())
        place = worst_first(outcomes, worst.score)[[0, 2, 9]]
        held.append((worst.low <= true)[place] & (true <= worst.high)[place])
    assert (np.mean(held, axis=0) >= 0.93).all()


def test_the_table_and_the_list_show_one_interval():
    table = {tuple(row[name] for name in FACTORS): (row["low"], row["high"]) for row in BASE.table.to_pylist()}
    for one in BASE.worst:
        assert table[tuple(one.combination[name] for name in FACTORS)] == (one.low, one.high)


def test_a_worst_case_fails_only_where_its_being_picked_does_not_explain_it():
    worst = BASE.worst[0]
    assert worst.low <= worst.shrunk <= worst.high
    assert BASE.at_best("worst") == worst.high
    assert BASE.at_best("unseen") == BASE.share("unseen")
    assert BASE.at_best("worst") > BASE.share("worst")


def test_the_untested_are_listed_and_never_pass_a_worst_case():
    rows = FRAME[~((FRAME.split == "test") & (FRAME.colour == "b") & (FRAME["shape"] == "cube"))]
    rows = rows[~((rows.colour == "v") & (rows["shape"] == "star"))]
    ours = found(rows)
    named = {tuple(one.combination.values()): one.seen for one in ours.untested.listed}
    assert named == {("b", "cube"): True, ("v", "star"): False}
    assert (ours.untested.total, ours.untested.seen, ours.untested.unseen) == (2, 1, 1)
    assert ours.untested.complete
    assert ours.thin("worst")
    assert not BASE.thin("worst")
    assert any("2 combinations of the space were not tested, 1 of them seen in training" in r for r in ours.reasons)


def test_a_declared_value_without_a_row_is_listed_by_value():
    ours = found(domain={"colour": [*"roygbv", "white"]})
    line = next(row for row in ours.by_value.to_pylist() if row["value"] == "white")
    assert (line["rows"], line["score"], line["low"]) == (0, None, None)
    assert ours.untested.total == BASE.untested.total + 5


def test_pairs_of_three_factors_are_scored():
    frame = FRAME.assign(size=np.where(FRAME.id % 3 == 0, "small", "large"))
    ours = found(frame, factors=[*FACTORS, "size"])
    rows = frame[frame.split == "test"]
    right = (rows.label == rows.said).groupby([rows.colour, rows["size"]]).mean()
    lines = [r for r in ours.by_pair.to_pylist() if (r["factor_a"], r["factor_b"]) == ("colour", "size")]
    assert len(lines) == len(right)
    assert all(r["score"] == pytest.approx(right[r["value_a"], r["value_b"]], abs=1e-12) for r in lines)
    assert any(r["low"] is not None and r["low"] < r["score"] < r["high"] for r in lines)
    assert all(r["low"] is None for r in lines if r["combinations"] < 5)


@pytest.mark.parametrize("score", ["accuracy", "mse", "r2", "logloss"])
def test_two_models_are_compared_on_the_same_rows(score):
    given = {
        "accuracy": {"against": "said_b"},
        "mse": {"target": "value", "prediction": "guess", "against": "guess_b"},
        "r2": {"target": "value", "prediction": "guess", "against": "guess_b"},
        "logloss": {"target": "yes", "prediction": "p_yes", "against": "p_y"},
    }[score]
    ours = found(score=score, **given)
    alone = found(score=score, **{**given, "prediction": given["against"], "against": None})
    for side in ours.against.sides:
        if side.rows:
            assert side.own == pytest.approx(ours.side(side.name).score)
            assert side.other == pytest.approx(alone.side(side.name).score)
            assert side.difference == pytest.approx(side.other - side.own)
    assert ours.against.verdict in ours.reasons


def test_a_model_against_itself_differs_by_nothing():
    twice = found(FRAME.assign(again=FRAME.said), against="again")
    unseen = twice.against.sides[2]
    assert (unseen.difference, unseen.low, unseen.better) == (0.0, -unseen.high, "cannot tell")
    assert 0 < unseen.high < 0.5


def test_grades():
    assert found(twins.predictions(1, 3_000, unseen_right=0.3)).grade == "failing"
    assert found(twins.predictions(1, 20_000, unseen_right=0.95)).grade == "sound"
    assert found(split=None).grade == "untested"


def test_the_verdict_is_a_sentence_with_the_numbers():
    assert BASE.verdict.startswith(f"On {BASE.side('unseen').combinations} unseen combinations it gets 50 % right (")
    assert '. Always answering "x" gets 37 %, which it does not beat by more than chance explains (' in BASE.verdict
    assert "worse than the seen ones (" in BASE.verdict
    assert "; a match among these was found for 6 of 8 unseen combinations (72 % of their rows)." in BASE.verdict
    assert repr(BASE) == f"Evaluation({BASE.verdict!r})"
    assert "<b>" in BASE._repr_html_()


def test_without_training_it_says_so():
    ours = found(split=None)
    assert "It was not told what the model was trained on" in ours.verdict
    assert ours.side("all").rows == len(FRAME)
    assert ours.side("seen").note.startswith("It was not told")


def test_gates():
    assert BASE.share("unseen") == BASE.side("unseen").score
    assert BASE.share("worst") == BASE.worst[0].shrunk
    assert math.isnan(BASE.share("novel"))
    with pytest.raises(SettingError, match="no side 'unsen'"):
        BASE.share("unsen")
    with pytest.raises(SettingError, match="of which less is better"):
        found(target="value", prediction="guess").share("unseen")


@pytest.mark.parametrize(
    "given", [{}, {"target": "value", "prediction": "guess", "score": "r2"}, {"split": None}], ids=str
)
def test_saved_and_loaded_it_is_the_same(tmp_path, given):
    ours = found(**given)
    again = Evaluation.load(ours.save(tmp_path / "evaluation"))
    assert again == ours
    assert again.outcomes.tested == ours.outcomes.tested
    assert again.outcomes.training == ours.outcomes.training
    assert found(**given, intervals=IntervalSettings(draws=200, seed=1)) != ours
    record = again.record()
    assert isinstance(record, Record)
    json.dumps(record.to_json(), allow_nan=False)


def test_row_order_and_engine_threads_change_nothing():
    shuffled = found(FRAME.sample(frac=1, random_state=5))
    assert shuffled.sides == BASE.sides
    assert shuffled.table.equals(BASE.table)


def test_theory_is_set_beside_the_measurement(tmp_path):
    support = recombine.read(FRAME[FRAME.split == "train"], factors=FACTORS, target="label")
    theory = recombine.predict(support)
    theory.save(tmp_path / "theory")
    ours, loaded = found(theory=theory), found(theory=tmp_path / "theory")
    assert ours.theory == loaded.theory
    assert ours.theory.verdict in ours.reasons


@pytest.mark.parametrize("score", ["mse", "r2"])
def test_a_deterministic_model_that_was_asked_twice(score) -> None:
    """Rows of one combination that are all alike carry no luck, and nothing may be divided by it."""
    cells = [(str(i), str(j)) for i in range(5) for j in range(5)] * 2
    truth = np.array([int(i) + int(j) for i, j in cells], dtype=float)
    said = truth * 0.9 + np.array([int(i) * int(j) for i, j in cells]) * 0.1
    table = {"a": [i for i, _ in cells], "b": [j for _, j in cells], "target": truth, "said": said}
    train = {name: [cell[k] for cell in cells if "0" in cell] for k, name in enumerate("ab")}
    found = recombine.evaluate(table, factors=["a", "b"], target="target", prediction="said", train=train, score=score)
    assert "rows that do not differ" in found.record().data["deviations"]["sentence"]
