"""Rates of a yes/no target by group: as fairlearn has them and by their definitions, their intervals, what is worse."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from fairlearn.metrics import (
    MetricFrame,
    false_negative_rate,
    false_positive_rate,
    mean_prediction,
    selection_rate,
)
from sklearn.metrics import accuracy_score

import recombine
from recombine.numerics.resampling import IntervalSettings
from recombine.verbs.evaluate.group_rates import ERRORS, group_rates
from tests.evaluate.test_anatomy import label_outcomes
from tests.twins import every, support_of

FACTORS = ["sex", "race", "age"]
FEW = IntervalSettings(draws=200)
THEIRS = {
    "accuracy": accuracy_score,
    "false_positive_rate": false_positive_rate,
    "false_negative_rate": false_negative_rate,
    "selection_rate": selection_rate,
}


def people(seed: int = 0, rows: int = 6_000) -> pd.DataFrame:
    """Loans: four times as many false positives for women of race B as their parts have; a pair was never tested."""
    rng = np.random.default_rng(seed)
    sex, race = rng.choice(["female", "male"], rows), rng.choice(list("ABCD"), rows, p=[0.5, 0.3, 0.15, 0.05])
    age = rng.choice(["old", "young"], rows)
    true = rng.random(rows) < 0.4 + 0.1 * (sex == "male")
    false, missed = np.where((sex == "female") & (race == "B"), 0.4, 0.1), np.where(age == "old", 0.25, 0.15)
    said = np.where(true, rng.random(rows) > missed, rng.random(rows) < false)
    share = np.clip(np.where(true, 0.7, 0.3) + 0.1 * rng.normal(size=rows), 0.01, 0.99)
    table = pd.DataFrame({"sex": sex, "race": race, "age": age, "loan": true, "said": said, "share": share})
    return table[~((table.race == "D") & (table.age == "young"))].reset_index(drop=True)


PEOPLE = people()
ASKED = {"factors": FACTORS, "target": "loan", "intervals": FEW, "causes": False}
FOUND = recombine.evaluate(PEOPLE, prediction="said", **ASKED)


def by_definition(rows: pd.DataFrame) -> dict[str, float]:
    """Each rate counted row by row."""
    false = sum(said and not true for said, true in zip(rows.said, rows.loan, strict=True))
    missed = sum(true and not said for said, true in zip(rows.said, rows.loan, strict=True))
    yes = sum(rows.loan)
    return {
        "accuracy": sum(said == true for said, true in zip(rows.said, rows.loan, strict=True)) / len(rows),
        "false_positive_rate": false / (len(rows) - yes),
        "false_negative_rate": missed / yes,
        "selection_rate": sum(rows.said) / len(rows),
        "calibration": sum(rows.said) / len(rows) - yes / len(rows),
    }


def test_every_group_has_the_rates_of_their_definitions():
    assert FOUND.rates.positive == "true"
    assert len(FOUND.rates.groups) == (2 + 4 + 2) + (8 + 4 + 7)
    for one in (FOUND.rates.overall, *FOUND.rates.groups):
        rows = PEOPLE
        for factor, value in one.group.items():
            rows = rows[rows[factor] == value]
        assert one.rows == len(rows)
        assert one.positives == rows.loan.sum()
        for name, value in by_definition(rows).items():
            low, found, high = one.rates[name]
            assert found == pytest.approx(value, abs=1e-12)
            assert low <= found <= high


@pytest.mark.parametrize("features", [*([name] for name in FACTORS), *map(list, combinations(FACTORS, 2))])
def test_the_rates_are_those_of_fairlearn(features):
    theirs = MetricFrame(
        metrics=THEIRS, y_true=PEOPLE.loan, y_pred=PEOPLE.said, sensitive_features=PEOPLE[features]
    ).by_group.dropna()
    ours = {tuple(one.group.values()): one.rates for one in FOUND.rates.groups if list(one.group) == features}
    assert len(ours) == len(theirs)
    for group, line in theirs.iterrows():
        place = group if isinstance(group, tuple) else (group,)
        for name in THEIRS:
            assert ours[place][name][1] == pytest.approx(line[name], abs=1e-12)


@pytest.mark.parametrize("columns", ["share", {"true": "share", "false": "rest"}, {"false": "rest", "true": "share"}])
def test_calibration_is_the_mean_of_the_probabilities_less_the_share(columns):
    table = PEOPLE.assign(rest=1 - PEOPLE.share)
    found = recombine.evaluate(table, prediction=columns, score="logloss", **ASKED)
    theirs = MetricFrame(
        metrics=mean_prediction, y_true=table.loan, y_pred=table.share, sensitive_features=table.race
    ).by_group
    for race, expected in theirs.items():
        one = next(one for one in found.rates.groups if one.group == {"race": race})
        assert one.rates["calibration"][1] == pytest.approx(expected - table.loan[table.race == race].mean(), abs=1e-12)
    assert recombine.Evaluation.from_record(found.record()).rates == found.rates


def test_what_is_worse_than_its_parts_and_what_was_not_tested_is_said():
    worse = FOUND.rates.worse["false_positive_rate"]
    assert worse[0].group == {"sex": "female", "race": "B"}
    assert worse[0].deviation == pytest.approx(0.3, abs=0.05)
    assert not FOUND.rates.worse["false_negative_rate"]
    assert FOUND.rates.untested == ({"race": "D", "age": "young"},)
    said = FOUND.rates.sentence
    assert said in FOUND.reasons
    assert "at most 41 % (" in said
    assert "where sex=female, race=B" in said
    assert "More false positives than the parts give: sex=female, race=B by 3" in said
    assert "1 value or pair of values never tested, such as race=D, age=young" in said


def test_a_group_without_a_class_has_no_rate_and_is_named():
    table = PEOPLE[~((PEOPLE.race == "C") & PEOPLE.loan)]
    found = recombine.evaluate(table, prediction="said", **ASKED).rates
    one = next(one for one in found.groups if one.group == {"race": "C"})
    assert one.rates["false_negative_rate"] is None
    assert one.rates["false_positive_rate"] is not None
    assert {"race": "C"} in found.thin
    assert "with fewer than 10 rows of a class, such as race=C" in found.sentence


def test_several_classes_and_numbers_have_none_and_the_target_is_no_group():
    rng = np.random.default_rng(0)
    other = PEOPLE.assign(loan=rng.choice(list("xyz"), len(PEOPLE)), said="x")
    assert recombine.evaluate(other, prediction="said", **ASKED).rates is None
    assert recombine.evaluate(PEOPLE.assign(loan=PEOPLE.share), prediction="share", **ASKED).rates is None
    found = recombine.evaluate(PEOPLE, prediction="said", **ASKED | {"factors": ["sex", "loan"]}).rates
    assert [one.group for one in found.groups] == [{"sex": "female"}, {"sex": "male"}]


def test_the_page_lists_them(tmp_path):
    page = FOUND.page(tmp_path / "rates.html").read_text()
    assert "Rates by group" in page
    assert "false positive rate" in page


def worlds(seed, *, differ=0.0):
    """Ten combinations of 60 rows; where they `differ`, false positives do, and their mean is what is asked about."""
    rng = np.random.default_rng(seed)
    cells = every((2, 10))
    true = rng.random((len(cells), 60)) < 0.5
    rate = np.clip(0.1 + differ * rng.normal(size=len(cells)), 0.0, 1.0)
    said = np.where(true, rng.random(true.shape) < 0.9, rng.random(true.shape) < rate[:, None])
    codes = np.repeat(cells, 60, axis=0)
    return label_outcomes(support_of(cells), codes, true.ravel().astype(int), said.ravel().astype(int))


@pytest.mark.slow
@pytest.mark.parametrize("differ", [0.0, 0.08])
def test_intervals_hold_what_they_promise(differ):
    expected = np.clip(0.1 + differ * np.random.default_rng(9).normal(size=10**6), 0.0, 1.0).mean()
    held, false = [], 0
    for seed in range(60):
        found = group_rates(worlds(seed, differ=differ), FEW)
        false += bool(found.worse["false_positive_rate"] or found.worse["false_negative_rate"])
        low, _, high = found.groups[0].rates["false_positive_rate"]
        held.append(low <= expected <= high)
    assert np.mean(held) >= 0.9
    assert false <= 5
    assert set(found.worse) == set(ERRORS)
