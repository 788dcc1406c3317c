"""The first sentence names what matters most: a shortcut, a bad group, islands, a better rule, and then the score."""

import numpy as np
import pytest

import recombine
from recombine.verbs.evaluate.shortcut_worth import Shortcut
from tests.twins import every


def table(codes, truth, said, *, trained=None):
    """Rows with the factors background, light and so on; `trained` rows are those of the training side."""
    names = ("background", "light", "object")
    columns = zip(names, np.asarray(codes).T, strict=False)
    found = {name: [f"{name[0]}{one}" for one in column] for name, column in columns}
    found |= {"label": [f"c{one}" for one in truth], "said": [f"c{one}" for one in said]}
    return found if trained is None else found | {"split": np.where(trained, "train", "test").tolist()}


def evaluated(rows, **settings):
    factors = [name for name in rows if name not in ("label", "said", "split")]
    split = "split" if "split" in rows else None
    return recombine.evaluate(rows, factors=factors, target="label", prediction="said", split=split, **settings)


def first(found):
    return found.verdict.partition(". ")[0]


def shortcut_rows(follow, *, seed=0, group=False, size=3_000):
    """A background that gives away 95 % of the label; all who have the light 0 and object 0 may be answered wrong."""
    rng = np.random.default_rng(seed)
    thing, light = rng.integers(0, 6, size), rng.integers(0, 5, size)
    truth = thing % 2
    background = np.where(rng.random(size) < 0.95, truth, 1 - truth)
    said = np.where(rng.random(size) < follow, background, truth)
    if group:
        said = np.where((light == 0) & (thing == 0) & (rng.random(size) < 0.6), 1 - truth, said)
    codes = np.stack([background, light, thing], axis=1)
    unseen = (2 * background + 3 * light + thing) % 7 == 0
    return table(codes, truth, said, trained=~unseen & (rng.random(size) < 0.5))


def test_a_shortcut_comes_first_and_is_never_sound():
    found = evaluated(shortcut_rows(0.6))
    assert first(found).startswith("The answers follow background: ")
    assert found.shortcut.factor == "background"
    assert found.shortcut.worth == pytest.approx(0.6, abs=0.1)
    assert found.grade not in ("sound", "plausible")


def test_a_shortcut_that_costs_little_is_no_headline():
    assert "follow" not in evaluated(shortcut_rows(0.0)).verdict
    assert Shortcut("background", 0.95, 0.8, 90).worth < 0.2


def test_a_bad_group_comes_before_the_score_and_is_not_sound():
    found = evaluated(shortcut_rows(0.0, group=True), causes=False)
    assert "light=l0, object=o0 does worse than its parts: " in first(found)
    assert found.grade != "sound"
    assert "unseen combinations it gets" in found.verdict
    assert any("Worse than their parts: " in one and "light=l0, object=o0 by " in one for one in found.reasons)


def test_without_training_the_groups_lead():
    rows = shortcut_rows(0.0, group=True)
    found = evaluated({name: column for name, column in rows.items() if name != "split"}, causes=False)
    assert "l0, o0: " in first(found).partition(" overall; worst group ")[2]
    assert "below what its parts give elsewhere" in first(found)
    good = evaluated({name: column[:200] for name, column in rows.items() if name != "split"}, causes=False)
    assert "groups never tested" in first(good)


def test_islands_come_before_the_score():
    codes = np.repeat(every((4, 4)), 12, axis=0)
    truth = codes.sum(axis=1) % 2
    trained = (codes[:, 0] < 2) == (codes[:, 1] < 2)
    found = evaluated(table(codes, truth, truth, trained=trained & (np.arange(len(codes)) % 2 == 0)), causes=False)
    assert first(found).startswith("Training falls into 2 islands")
    assert "8 of 8 unseen combinations" in first(found)


def test_a_better_rule_comes_before_the_score():
    rng = np.random.default_rng(0)
    codes = np.repeat(every((6, 6)), 20, axis=0)
    truth = np.where(rng.random(len(codes)) < 0.95, codes[:, 0] % 2, 1 - codes[:, 0] % 2)
    unseen = codes.sum(axis=1) % 3 == 0
    found = evaluated(table(codes, truth, rng.integers(0, 2, len(codes)), trained=~unseen), causes=False)
    assert found.verdict.startswith("A simple rule does better on unseen combinations: ")
    assert "On 12 unseen combinations" in found.verdict
    assert found.grade == "failing"
