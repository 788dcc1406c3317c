"""Theory beside measurement: the join, what is compared, rank correlations, and three known answers."""

import json
from dataclasses import asdict, replace

import numpy as np
import pytest
from scipy.stats import spearmanr

import recombine
from recombine.base.decoding import revive
from recombine.base.errors import SettingError
from recombine.base.grades import Expected
from recombine.verbs.evaluate import theory_comparison as module
from recombine.verbs.evaluate.forecast_comparison import compare_forecast
from recombine.verbs.evaluate.theory_comparison import BesideTheory, beside
from tests.evaluate.test_additivity import number_outcomes
from tests.evaluate.test_anatomy import label_outcomes
from tests.twins import every, labels, numbers

CELLS = every((9, 9))
SEEN = (CELLS == 4).any(axis=1)
VALUES = CELLS.sum(axis=1) - 8.0


@pytest.fixture(scope="module")
def theory():
    """Addition: every pair with a middle value is seen; the theory's answers shrink."""
    training = numbers(CELLS[SEEN], VALUES[SEEN], sizes=(9, 9))
    return training, recombine.predict(training, salience="order:0,0.3,0.4")


def measured(training, said, among=~SEEN):
    return number_outcomes(training, CELLS[among], said[among], true=VALUES[among])


def test_a_model_that_does_what_the_theory_says(theory):
    training, prediction = theory
    found = beside(measured(training, 0.428571 * VALUES), prediction)
    assert found.rank.value == pytest.approx(1.0, abs=1e-6)
    assert found.rank.low == pytest.approx(1.0, abs=0.01)
    assert found.said.value == pytest.approx(1.0, abs=1e-6)
    assert (found.joined, found.missing, found.same_answer) == (64, 0, None)
    assert found.verdict.startswith("On 64 unseen combinations the model does better where the theory expects it (rank")
    assert (found.across, found.up) == ("theory's distance from the truth", "measured mse")
    for x, y, _ in found.points:  # the same shrinkage on both sides: the error squared
        assert y == pytest.approx(x**2, abs=1e-4)


def test_a_model_that_does_the_opposite(theory):
    training, prediction = theory
    found = beside(measured(training, VALUES + (9 - np.abs(VALUES))), prediction)
    assert found.rank.value == pytest.approx(-1.0, abs=1e-6)
    assert "the model does worse where the theory expects better" in found.verdict


def test_a_model_that_has_nothing_to_do_with_it(theory):
    training, prediction = theory
    rng = np.random.default_rng(0)
    found = beside(measured(training, VALUES + rng.normal(size=81)), prediction)
    assert found.rank.low < 0 < found.rank.high
    assert "the theory does not tell where the model does better" in found.verdict


def test_a_perfect_model_cannot_be_ranked(theory):
    training, prediction = theory
    found = beside(measured(training, VALUES), prediction)
    assert found.rank.value is None
    assert found.verdict == (
        "On 64 unseen combinations the theory or the score is the same everywhere, so their ranks cannot be compared."
    )


def test_nothing_in_common(theory):
    training, prediction = theory
    found = beside(measured(training, VALUES, SEEN), prediction)
    assert (found.joined, found.points, found.rank.value) == (0, (), None)
    assert [(one.verdict, one.combinations) for one in found.verdicts] == [("seen", 17)]
    assert found.verdict == (
        "The prediction and the measurement have no unseen combination in common: nothing can be compared."
    )


def test_combinations_without_a_row_are_counted(theory):
    training, _ = theory
    few = recombine.predict(training, combinations=CELLS[~SEEN][:20].tolist())
    found = beside(measured(training, 0.5 * VALUES), few)
    assert (found.joined, found.missing) == (20, 44)


def test_scores_by_verdict(theory):
    training, prediction = theory
    outcomes = measured(training, 0.5 * VALUES, np.ones(81, dtype=bool))
    found = beside(outcomes, prediction)
    assert sum(one.combinations for one in found.verdicts) == 81
    names = np.array(prediction.table["verdict"].to_pylist())  # the table lists the space in the order of the values
    for one in found.verdicts:
        assert one.combinations == int((names == one.verdict).sum())
        assert one.score == pytest.approx(outcomes.mean[names == one.verdict].mean())
        assert one.macro == pytest.approx(one.score)


def test_the_values_are_matched_whatever_their_order(theory):
    """The evaluation's space lists other values, and in another order, than the prediction's."""
    _, prediction = theory
    turned = numbers(8 - CELLS[SEEN], VALUES[SEEN], sizes=(10, 9))
    factors = tuple(
        recombine.Factor(f"f{k}", values, declared=True)
        for k, values in enumerate([(8, 7, 6, 5, 4, 3, 2, 1, 0, 99), (8, 7, 6, 5, 4, 3, 2, 1, 0)])
    )
    space = recombine.Space(factors)
    training = recombine.Support(space, turned.codes, turned.counts, turned.target)
    outcomes = number_outcomes(training, 8 - CELLS[~SEEN], 0.428571 * VALUES[~SEEN], true=VALUES[~SEEN])
    assert beside(outcomes, prediction).rank.value == pytest.approx(1.0, abs=1e-6)


def context(cells):
    """Two doors: the first factor says which of the others counts."""
    return np.where(cells[:, 0] == 0, cells[:, 1] >= 3, cells[:, 2] >= 3).astype(int)


@pytest.mark.parametrize("classes", [2, 3])
def test_classes_are_compared_by_the_margin_of_the_true_one(classes):
    cells = every((2, 6, 6))
    left = np.random.default_rng(0).random(len(cells)) < 0.4
    truth = context(cells) + (cells[:, 1] % 2 if classes == 3 else 0)
    names = tuple(f"c{k}" for k in range(classes))
    training = labels(cells[~left], truth[~left], classes=names, sizes=(2, 6, 6))
    prediction = recombine.predict(training, salience="relu:3")
    scores = prediction.learner.fitted.scores(cells[left])
    if classes == 2:
        margin = np.where(truth[left] == 1, scores[:, 0], -scores[:, 0])
    else:
        others = np.where(np.eye(3)[truth[left]] == 1, -np.inf, scores)
        margin = scores[np.arange(len(scores)), truth[left]] - others.max(axis=1)
    said = np.where(margin > np.median(margin), truth[left], (truth[left] + 1) % classes)
    outcomes = label_outcomes(training, cells[left], truth[left], said, classes=classes)
    found = beside(outcomes, prediction)
    assert sorted(x for x, _, _ in found.points) == pytest.approx(sorted(margin))
    assert found.rank.value == pytest.approx(spearmanr(margin, said == truth[left]).statistic, abs=1e-9)
    theory_says = np.array(prediction.table["prediction"].to_pylist())[left]
    assert found.same_answer == pytest.approx(np.mean([f"c{s}" == t for s, t in zip(said, theory_says, strict=True)]))
    assert found.said is None


def test_points_are_thinned_and_the_seed_decides(theory, monkeypatch):
    training, prediction = theory
    monkeypatch.setattr(module, "POINTS", 10)
    outcomes = measured(training, 0.5 * VALUES)
    found = beside(outcomes, prediction, seed=1)
    assert len(found.points) == 10
    assert found == beside(outcomes, prediction, seed=1)
    assert found.points != beside(outcomes, prediction, seed=2).points


def test_it_is_plain_data(theory):
    training, prediction = theory
    for said in (0.5 * VALUES, VALUES):
        found = beside(measured(training, said), prediction)
        assert revive(BesideTheory, json.loads(json.dumps(asdict(found), allow_nan=False))) == found


def test_a_loaded_prediction_gives_the_same(theory, tmp_path):
    training, prediction = theory
    outcomes = measured(training, 0.5 * VALUES)
    loaded = recombine.Prediction.load(prediction.save(tmp_path / "theory"))
    assert beside(outcomes, loaded) == beside(outcomes, prediction)


def test_other_things_are_refused_with_words(theory):
    training, _ = theory
    outcomes = measured(training, VALUES)
    with pytest.raises(SettingError, match="the theory is a str"):
        beside(outcomes, "prediction/")
    other = numbers(every((2, 2, 2)), np.arange(8), sizes=(2, 2, 2))
    with pytest.raises(SettingError, match="the theory has the factors f0, f1, f2"):
        beside(outcomes, recombine.predict(other))
    classes = labels(CELLS[SEEN], VALUES[SEEN] > 0, sizes=(9, 9))
    with pytest.raises(SettingError, match="the theory predicts a label"):
        beside(outcomes, recombine.predict(classes))


def test_what_rounding_alone_tells_apart_is_a_tie():
    """Where the task is symmetric the theory's margins are all the same, and no order may be read into them."""
    cells = every((2, 6, 6))
    left = (cells[:, 1] < 3) & (cells[:, 2] >= 3)
    training = labels(cells[~left], context(cells)[~left], classes=("c0", "c1"), sizes=(2, 6, 6))
    truth = context(cells)[left]
    said = np.where(np.arange(18) % 2, truth, 1 - truth)
    found = beside(label_outcomes(training, cells[left], truth, said), recombine.predict(training))
    assert found.rank.value is None
    assert len({x for x, _, _ in found.points}) > 1  # apart by rounding


def test_the_comparison_with_a_theory_is_read_back():
    table = {"a": [a for a in range(4) for _ in range(4)], "b": [*range(4)] * 4}
    table |= {"y": [float(a + b) for a, b in zip(table["a"], table["b"], strict=True)]}
    table |= {
        "said": [0.9 * y for y in table["y"]],
        "side": ["train" if 0 in ab else "test" for ab in zip(table["a"], table["b"], strict=True)],
    }
    training = recombine.read(table, factors=["a", "b"], target="y", where="side = 'train'")
    asked = {"factors": ["a", "b"], "target": "y", "prediction": "said", "split": "side"}
    found = recombine.evaluate(table, **asked, theory=recombine.predict(training))
    assert recombine.Evaluation.from_record(found.record()).theory == found.theory


def test_a_forecast_stands_beside_what_was_measured(tmp_path):
    """A model that carries over 60 %: what relu:2 forecasts for the middle values, to the digit."""
    truth = numbers(CELLS, VALUES, sizes=(9, 9))
    training = numbers(CELLS[SEEN], VALUES[SEEN], sizes=(9, 9))
    prediction = recombine.predict(training, truth=truth, model="relu:2", examples=recombine.Examples(symbols=True))
    rows = {"f0": [], "f1": [], "y": [], "said": []}
    for codes, value in zip(CELLS.tolist(), VALUES.tolist(), strict=True):
        for name, one in zip(rows, (*codes, value, 0.6 * value), strict=True):
            rows[name].append(one)
    names = training.space.names
    table = dict(zip([*names, "y", "said"], rows.values(), strict=True))
    train = {name: np.asarray(column)[SEEN].tolist() for name, column in table.items()}
    found = recombine.evaluate(
        table, factors=list(names), target="y", prediction="said", train=train, theory=prediction, causes=False
    )
    kept = found.theory.forecast
    assert kept.measured.value == pytest.approx(1 - 0.4**2)
    assert kept.forecast == prediction.expected
    assert kept.miss[1] == pytest.approx(prediction.expected.value - found.expected.value)
    assert kept.miss[0] <= kept.miss[1] <= kept.miss[2]
    assert kept.held
    assert kept.verdict in found.reasons
    assert "within its interval" in kept.verdict
    found.save(tmp_path / "saved")
    assert recombine.load(tmp_path / "saved") == found
    assert "Forecast and measured" in found.page(tmp_path / "page.html").read_text(encoding="utf-8")


def test_a_forecast_that_missed_says_so_and_one_that_abstained_too():
    said = Expected("accuracy", 0.95, 0.9, 1.0, tested=20, of=20)
    found = compare_forecast(said, Expected("accuracy", 0.0, 0.0, 0.1, tested=20, of=20))
    assert (found.held, found.miss[1]) == (False, 0.95)
    assert found.verdict.endswith("95 points too high, and outside of its interval.")
    silent = compare_forecast(Expected("accuracy", reason="the target never varies"), said)
    assert (silent.miss, silent.held, silent.verdict) == (None, None, "Nothing was forecast: the target never varies.")
    assert compare_forecast(Expected("R²", 0.5, 0.4, 0.6, tested=9), said) is None
    assert compare_forecast(None, said) is None
    exact = compare_forecast(said, replace(said, value=0.95))
    assert "what it came to" in exact.verdict
