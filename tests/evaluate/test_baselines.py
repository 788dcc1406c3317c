"""Simple rules beside a model: fitted to training alone, scored by hand; a model that beats none is never praised."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import balanced_accuracy_score

from recombine.numerics.resampling import IntervalSettings
from recombine.verbs.evaluate.evaluation import evaluate
from tests.evaluate import twins

FEW = IntervalSettings(draws=200)
FACTORS = ["colour", "shape"]
FRAME = twins.predictions()


def found(frame=FRAME, **given):
    asked = {"factors": FACTORS, "target": "label", "prediction": "said", "split": "split", "intervals": FEW}
    return evaluate(frame, **asked | {"causes": False} | given)


def rules_of(ours, side="unseen"):
    return {one.rule: one.score for one in ours.baselines.found if one.side == side}


def by_hand(train: pd.DataFrame, test: pd.DataFrame, factors: list[str]) -> dict[str, float]:
    """Row by row, without a group sum: shares of right answers, ties counted as the chance to hit."""

    def hit(rows: pd.DataFrame, truth: str) -> float:
        counted = Counter(rows.label)
        best = [name for name, number in counted.items() if number == max(counted.values())]
        return (truth in best) / len(best)

    told = {"majority": [hit(train, row.label) for row in test.itertuples()]}
    for factor in factors:
        alone = [hit(train[train[factor] == getattr(row, factor)], row.label) for row in test.itertuples()]
        told[f"{factor} alone (by rows)"] = alone
    return {name: float(np.mean(numbers)) for name, numbers in told.items()}


def additive_by_hand(train: pd.DataFrame, test: pd.DataFrame, factors: list[str]) -> float:
    """Shares of each class by least squares on a one-hot design, a row a line."""

    def design(rows: pd.DataFrame) -> np.ndarray:
        values = [(factor, value) for factor in factors for value in sorted(FRAME[factor].unique())]
        return np.stack([(rows[factor] == value).to_numpy(float) for factor, value in values], axis=1)

    classes = sorted(train.label.unique())
    truth = np.stack([(train.label == name).to_numpy(float) for name in classes], axis=1)
    said = design(test) @ np.linalg.lstsq(design(train), truth, rcond=None)[0]
    return float(np.mean(np.array(classes)[said.argmax(axis=1)] == test.label))


@pytest.mark.slow
def test_rules_are_what_a_loop_over_rows_says():
    train, sides = FRAME[FRAME.split == "train"], twins.test_sides(FRAME, FACTORS)
    ours = found()
    for side in ("all", "seen", "unseen"):
        told = rules_of(ours, side)
        for name, score in by_hand(train, sides[side], FACTORS).items():
            assert told[name] == pytest.approx(score), (side, name)
    assert rules_of(ours)["additive (by rows)"] == pytest.approx(additive_by_hand(train, sides["unseen"], FACTORS))
    assert rules_of(ours, "seen")["nearest seen (by rows)"] == pytest.approx(
        1.0
    )  # the label is one for each combination


def test_rules_for_numbers_are_scored_against_the_training_mean():
    train, test = FRAME[FRAME.split == "train"], twins.test_sides(FRAME, FACTORS)["unseen"]
    ours = found(target="value", prediction="guess")
    nothing = np.mean((test.value - train.value.mean()) ** 2)
    alone = train.groupby("colour").value.mean()[test.colour].to_numpy()
    told = rules_of(ours)
    assert told["mean"] == pytest.approx(0.0)
    assert told["colour alone (by rows)"] == pytest.approx(1 - np.mean((test.value - alone) ** 2) / nothing)
    assert ours.expected.value == pytest.approx(1 - np.mean((test.value - test.guess) ** 2) / nothing)
    assert (ours.expected.score, ours.expected.basis) == ("R²", "answers")


def test_the_test_side_teaches_no_rule():
    """Other truths on the test side change the rules' scores, never their answers."""
    other = FRAME.assign(label=np.where(FRAME.split == "test", "z", FRAME.label))
    test = twins.test_sides(other, FACTORS)["unseen"]
    train = other[other.split == "train"]
    told = rules_of(found(other))
    assert told["majority"] == pytest.approx(by_hand(train, test, [])["majority"])


def noise(seed: int, *, skew: float = 0.5, answers: str = "constant") -> pd.DataFrame:
    """Labels that no factor tells, and answers that know nothing of them."""
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 6, 900), rng.integers(0, 6, 900)
    held = (a + b) % 4 == 0
    label = np.where(rng.random(900) < skew, "no", "yes")
    said = np.full(900, "no") if answers == "constant" else np.where(rng.random(900) < 0.5, "no", "yes")
    columns = {"colour": a.astype(str), "shape": b.astype(str), "label": label, "said": said}
    return pd.DataFrame(columns | {"split": np.where(held | (rng.random(900) < 0.2), "test", "train")})


@pytest.mark.slow
@pytest.mark.parametrize(("skew", "answers"), [(0.5, "coin"), (0.5, "constant"), (0.95, "constant"), (0.85, "coin")])
def test_noise_is_never_praised(skew, answers):
    for seed in range(15):
        ours = found(noise(seed, skew=skew, answers=answers))
        assert ours.grade in ("weak", "failing")
        assert ours.thin("lift")
    if answers == "constant":
        assert ours.expected.lift[1] <= 0.0
        assert "which it does not beat" in ours.verdict or " more (" in ours.verdict


def test_a_good_model_is_sound_and_says_what_it_beats():
    ours = found(twins.predictions(1, 20_000, unseen_right=0.95))
    assert ours.grade == "sound"
    assert ours.expected.low >= 0.8
    assert ours.share("lift") == ours.expected.lift[1] > 0
    assert not ours.thin("lift")
    assert " less (" in ours.verdict


def test_a_factor_that_tells_the_class_is_no_rule():
    """A perfect model of species and place must not be weak because the species tells the class."""
    rng = np.random.default_rng(0)
    species, place = rng.integers(0, 12, 3_000), rng.integers(0, 8, 3_000)
    label = np.where(species % 2, "water", "land")
    held = (species + 3 * place) % 5 == 0
    frame = pd.DataFrame({"species": species.astype(str), "place": place.astype(str), "label": label, "said": label})
    frame["split"] = np.where(held, "test", np.where(rng.random(3_000) < 0.3, "test", "train"))
    ours = found(frame, factors=["species", "place"])
    assert ours.grade == "sound"
    assert set(rules_of(ours)) == {"majority", "place alone (by rows)"}
    assert any("species tells label in every row" in reason for reason in ours.reasons)


@pytest.mark.parametrize("train", [None, FRAME[FRAME.split == "train"][FACTORS]])
def test_without_training_answers_it_says_which_rules_are_missing(train):
    test = FRAME[FRAME.split == "test"]
    ours = found(test, split=None, train=train)
    assert ours.grade == "untested"
    assert ours.baselines.found == ()
    assert any("No simple rule can be set beside this" in reason for reason in ours.reasons)


@pytest.mark.slow
def test_the_interval_of_the_unseen_score_covers():
    """Combinations that differ: the interval must hold the score of all combinations that could have been unseen."""
    inside = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        a, b = np.divmod(np.arange(100), 10)
        chance = np.clip(0.75 + 0.15 * rng.normal(size=100), 0.05, 0.95)
        unseen = (a + b) % 3 == 0
        rows = np.repeat(np.arange(100), 8)
        truth = rng.integers(0, 3, len(rows))
        said = np.where(rng.random(len(rows)) < chance[rows], truth, (truth + 1) % 3)
        side = np.where(unseen[rows], "test", np.where(np.arange(len(rows)) % 2, "test", "train"))
        columns = {"colour": a[rows].astype(str), "shape": b[rows].astype(str), "label": truth, "said": said}
        ours = found(pd.DataFrame(columns | {"split": side}), target_kind="label")
        inside.append(ours.expected.low <= 0.745 <= ours.expected.high)  # the mean of what is clipped
    assert np.mean(inside) >= 0.88


def test_balanced_accuracy_is_the_mean_of_the_classes_shares():
    ours, rows = found(), twins.test_sides(FRAME, FACTORS)["unseen"]
    assert ours.share("balanced_accuracy") == pytest.approx(balanced_accuracy_score(rows.label, rows.said))
    constant = found(noise(0, skew=0.9))
    assert constant.share("balanced_accuracy") == pytest.approx(0.5)
    assert constant.share("unseen") > 0.8
