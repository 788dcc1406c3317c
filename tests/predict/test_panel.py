"""Who is asked, and what is forecast with nothing said of the learner: known answers, and cells that were trained."""

from itertools import product

import numpy as np
import pytest

import recombine
from recombine.base.errors import SettingError
from recombine.verbs.predict.answers import answers
from recombine.verbs.predict.ensemble_members import PRIOR, Panel, choose_learners, family_of
from recombine.verbs.predict.kernel.salience_fit import resolve
from recombine.verbs.predict.learner import learn


def columns(rows, names):
    return {name: [row[k] for row in rows] for k, name in enumerate(names)}


def addition(anchor=0):
    rows = [(a, b, a + b) for a, b in product(range(-4, 5), repeat=2)]
    asked = {"factors": ["a", "b"], "target": "y", "target_kind": "number", "truth": columns(rows, "aby")}
    return columns([row for row in rows if anchor in row[:2]], "aby"), asked


def context_dependence(contexts=3):
    """Which of two features decides depends on the context; one corner of the features was never seen in the last."""
    high = [0, 0, 0, 1, 1, 1]
    rows = [
        (f"c{c}", f"a{a}", f"b{b}", ("no", "yes")[(high[a], high[b])[c % 2]])
        for c, a, b in product(range(contexts), range(6), range(6))
    ]
    seen = [row for row in rows if (high[int(row[1][1])], high[int(row[2][1])]) != (0, 1)]
    return seen, rows


def modulo_ten(seed=0):
    rng = np.random.default_rng(seed)
    rows = [(f"a{a}", f"b{b}", f"y{(a + b) % 10}") for a, b in product(range(10), repeat=2)]
    kept = rng.random(len(rows)) < 0.7
    return [row for row, keep in zip(rows, kept, strict=True) if keep], rows


def test_nothing_said_is_three_depths_and_the_middle_one_explains():
    seen, asked = addition()
    found = recombine.predict(seen, **asked)
    assert found.panel.names == tuple(f"{one} squared" for one in PRIOR)
    assert (found.salience.name, found.learner.loss) == ("relu:2", "squared")
    each = [recombine.predict(seen, **asked, model=one).expected.value for one in PRIOR]
    assert found.expected.value == pytest.approx(np.mean(each))
    assert found.expected.basis == "combinations"


@pytest.mark.parametrize(("model", "measured"), [("relu:1", 0.91)])
def test_one_hidden_layer_adds_up_as_it_was_measured_to(model, measured):
    seen, asked = addition()
    found = recombine.predict(seen, **asked, model=model, examples=recombine.Examples(symbols=True)).expected
    assert found.value == pytest.approx(0.93, abs=0.005)
    assert found.low <= measured <= found.high


def test_a_salience_that_is_given_is_asked_alone_with_the_squared_loss():
    seen, _rows = context_dependence()
    found = recombine.predict(columns(seen, "cabz"), factors=["c", "a", "b"], target="z", salience="relu:3")
    assert found.panel.names == ("relu:3 squared",)
    assert not found.panel.others
    with_margin = recombine.predict(
        columns(seen, "cabz"), factors=["c", "a", "b"], target="z", fit=recombine.FitSettings(loss="margin")
    )
    assert with_margin.panel.names == tuple(f"{one} margin" for one in PRIOR)


def test_classes_are_told_by_the_margin_and_doubted_by_squares():
    seen, _rows = modulo_ten()
    found = recombine.predict(columns(seen, "abz"), factors=["a", "b"], target="z")
    assert found.learner.loss == "margin"
    assert len(found.panel.beside) == 3
    assert found.grade not in ("sound", "plausible")
    assert found.counts["fine"] == 0


def test_what_losses_or_depths_differ_on_is_unsure():
    seen, _rows = context_dependence()
    how = {"factors": ["c", "a", "b"], "target": "z"}
    found = recombine.predict(columns(seen, "cabz"), **how)
    table = found.table.to_pydict()
    others = [
        recombine.predict(
            columns(seen, "cabz"), **how, salience=salience, fit=recombine.FitSettings(loss=loss), backtest=False
        ).table["prediction"]
        for salience, loss in product(PRIOR, ("margin", "squared"))
    ]
    for row, verdict in enumerate(table["verdict"]):
        said = {str(one[row]) for one in others}
        if len(said) > 1 and not table["seen"][row]:
            assert verdict != "fine"


def test_rows_that_disagree_leave_no_margin_and_that_is_said():
    seen, _ = modulo_ten()
    table = columns([*seen, (*seen[0][:2], seen[1][2])], "abz")
    found = recombine.predict(table, factors=["a", "b"], target="z")
    assert found.learner.loss == "squared"
    assert any("stands in for the margin" in reason for reason in found.reasons)


def test_blind_until_somebody_says_that_examples_are_symbols():
    seen, asked = addition()
    blind, sighted = (
        recombine.predict(seen, **asked, model="relu:1", examples=recombine.Examples(symbols=one))
        for one in (False, True)
    )
    assert blind.expected.low < 0
    assert sighted.expected.low > 0.6
    assert "hard to read is not known" in blind.verdict
    assert "hard to read" not in sighted.verdict
    assert blind.grade == "plausible"


def test_a_forecast_survives_saving(tmp_path):
    seen, asked = addition()
    found = recombine.predict(seen, **asked)
    found.save(tmp_path / "saved")
    back = recombine.load(tmp_path / "saved")
    assert back == found
    assert (back.expected, back.held_out, back.panel.names) == (found.expected, found.held_out, found.panel.names)
    assert back.explain([(-4, -4)]).equals(found.explain([(-4, -4)]))


def test_ties_are_won_as_often_as_a_coin_is():
    rows = [
        ("a", "x", "no"),
        ("b", "y", "yes"),
        ("a", "z", "no"),
        ("b", "z", "yes"),
        ("c", "x", "no"),
        ("c", "y", "yes"),
    ]
    support = recombine.read(columns(rows, "pqr"), factors=["p", "q"], target="r")
    own = answers(support)
    learner = learn(support, own, resolve("relu:2", support), loss="squared", ridge=0.0)
    tie = support.space.encode([("a", "y")])
    assert learner.fitted.scores(tie)[0, 0] == pytest.approx(0, abs=1e-9)
    assert Panel(learner, (learner,)).ensemble(tie, np.array([1.0])).scores.tolist() == [[0.5]]


@pytest.mark.parametrize(("model", "family"), [("relu:4", "relu:4"), ("leaky:2", "leaky:2")])
def test_a_model_by_name(model, family):
    assert family_of(model) == (family, "")


def test_models_of_the_lab_and_modules_say_their_kind():
    torch = pytest.importorskip("torch")
    from recombine_lab import models  # noqa: PLC0415

    assert family_of(models.MLP(hidden=(8, 8)))[0] == "relu:2"
    assert family_of(models.MLP(hidden=(8,), activation="leaky_relu"))[0] == "leaky:1"
    assert family_of(models.MLP(hidden=(8,), activation="tanh"))[0] is None
    nn = torch.nn
    made = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2))
    assert family_of(made)[0] == "relu:2"
    assert family_of(nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Linear(8, 2), nn.Linear(2, 2)))[0] is None


def test_what_is_no_model_is_refused_in_words():
    with pytest.raises(SettingError, match="model was given a int"):
        family_of(3)
    seen, asked = addition()
    with pytest.raises(SettingError, match="both salience='relu:1' and a model"):
        recombine.predict(seen, **asked, salience="relu:1", model="relu:2")


def test_many_combinations_of_many_factors_ask_one_learner_and_say_so():
    rng = np.random.default_rng(0)
    rows = {f"f{k}": rng.integers(0, 12, 4000).tolist() for k in range(4)} | {"y": rng.normal(size=4000).tolist()}
    support = recombine.read(rows, factors=[f"f{k}" for k in range(4)], target="y")
    asked = choose_learners(support, answers(support))
    assert asked.saliences == ("relu:2",)
    assert "depths 1 and 3 were not asked" in asked.notes[0]


def test_what_must_be_beaten_is_the_best_constant_on_the_unseen():
    """Most seen combinations are "no", most unseen ones "yes": who always says "yes" has found that out as well."""
    rows = [(str(a), str(b), "yes" if a + b > 4 else "no") for a in range(5) for b in range(5)]
    seen = [row for row in rows if int(row[0]) + int(row[1]) < 6]
    names = ["p", "q", "r"]
    found = recombine.predict(
        columns(seen, names),
        factors=["p", "q"],
        target="r",
        truth=columns(rows, names),
        examples=recombine.Examples(symbols=True),
    )
    assert found.expected.baseline == 1.0
    assert found.expected.baseline_name == 'always answering "yes"'
    assert 'lways answering "yes" gets 100 %' in found.verdict
    assert found.grade in ("weak", "failing")
