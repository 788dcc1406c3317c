"""What a forecast promises was tested: the closed form against refitting, and worlds in which it must say no."""

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import recombine
from recombine.base.grades import earned
from recombine.verbs.predict.answers import answers
from recombine.verbs.predict.holdout_record import KERNEL, fold, one_at_a_time
from recombine.verbs.predict.kernel.salience import Salience
from recombine.verbs.predict.kernel.salience_fit import resolve
from recombine.verbs.predict.learner import learn

Table = dict[str, list[Any]]
SALIENCES = ["relu:3", "relu:1", "ntk:2", "order", "free constant", "lopsided"]


def drawn_table(seed: int, *, factors: int, label: int = 0) -> Table:
    """A small table with some combinations of a grid, several rows for some of them."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 5, factors)
    every = np.array(list(product(*map(range, sizes))))
    seen = every[rng.random(len(every)) < 0.6]
    rows = np.repeat(seen, rng.integers(1, 4, len(seen)), axis=0)
    table: Table = {f"f{k}": rows[:, k].tolist() for k in range(factors)}
    table["y"] = (rng.integers(0, label, len(rows)).astype(str) if label else rng.normal(size=len(rows))).tolist()
    return table


def salience_named(name: str, factors: int, rng: np.random.Generator) -> Salience | str:
    if name == "order":
        return Salience.by_order([0.2, *[0.5] * (factors - 1), 0.3])
    if name == "free constant":
        return Salience(factors, (np.inf, *rng.random(2**factors - 1)))
    if name == "lopsided":
        return Salience(factors, tuple(rng.random(2**factors)))
    return name


@pytest.mark.parametrize("salience", SALIENCES)
@pytest.mark.parametrize("seed", range(6))
def test_leaving_one_out_in_closed_form_is_refitting(salience: str, seed: int) -> None:
    factors, label = 2 + seed % 3, (0, 2, 3)[seed % 3]
    support = recombine.read(
        drawn_table(seed, factors=factors, label=label),
        factors=[f"f{k}" for k in range(factors)],
        target="y",
        target_kind="label" if label else "number",
    )
    own = answers(support)
    weights = resolve(salience_named(salience, factors, np.random.default_rng(seed)), support)
    learner = learn(support, own, weights, loss="squared", ridge=0.1 * (seed % 2))
    found = one_at_a_time(learner)
    assert found is not None
    everybody = np.arange(len(own))
    for held in everybody[:: 1 + len(everybody) // 25]:
        train = np.setdiff1d(everybody, [held])
        again = fold(learner, weights, train, np.array([held]))
        assert found.rungs[held] == again.rungs[0]
        np.testing.assert_allclose(found.said[KERNEL][held], again.said[KERNEL][0], rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(found.doubt[held], again.doubt[0], rtol=1e-6, atol=1e-7)
        for name, said in again.said.items():
            if again.rungs[0] != "determined" and name != KERNEL:
                continue  # what the others leave open has no one answer, and simple rules then fall back on the mean
            np.testing.assert_allclose(found.said[name][held], said[0], rtol=1e-4, atol=1e-4, err_msg=name)


def grid(*sizes: int) -> list[tuple[int, ...]]:
    return list(product(*map(range, sizes)))


def part_of(every: list[tuple[int, ...]], answer: Any, *, seen: int, seed: int) -> Table:
    rng = np.random.default_rng(seed)
    chosen = [every[place] for place in rng.permutation(len(every))[:seen]]
    table: Table = {f"f{k}": [one[k] for one in chosen] for k in range(len(every[0]))}
    return table | {"y": [answer(one, rng) for one in chosen]}


def predicted(table: Table, **settings: Any) -> recombine.Prediction:
    names = [name for name in table if name != "y"]
    return recombine.predict(table, factors=names, target="y", **settings)


@pytest.mark.parametrize("seed", range(10))
def test_coin_labels_are_never_fine(seed: int) -> None:
    """200 of 200 were called fine, beside a back-test of 44 %."""
    table = part_of(grid(20, 20), lambda _, rng: rng.choice(["heads", "tails"]), seen=200, seed=seed)
    found = predicted(table)
    assert found.grade in ("weak", "failing")
    assert found.counts["fine"] == 0
    assert found.share("fine") == 0
    assert "sound" not in found.verdict
    assert found.verdict.startswith("Held-out combinations like these come out right ")
    assert "do not rely on it" in found.verdict


def test_a_sum_modulo_ten_is_never_fine() -> None:
    """29 of 30 were called fine, beside a back-test of 0 of 70."""
    table = part_of(grid(10, 10), lambda one, _: str(sum(one) % 10), seen=70, seed=0)
    found = predicted(table)
    assert found.grade == "failing"
    assert found.counts["fine"] == 0
    assert found.expected is not None
    assert (found.expected.value or 0) < 0.1


@pytest.mark.parametrize("seed", [0, 1, 3, 4])
def test_what_adds_up_is_promised_and_kept(seed: int) -> None:
    effects = np.stack([np.linspace(-1, 1, 12), np.linspace(-0.95, 1.05, 12)])
    every = grid(12, 12)

    def high(one: tuple[int, ...]) -> str:
        return "high" if effects[0, one[0]] + effects[1, one[1]] > 0 else "low"

    table = part_of(every, lambda one, _: high(one), seen=100, seed=seed)
    found = predicted(table)
    expected = found.expected
    assert expected is not None
    assert expected.value is not None
    assert expected.low is not None
    assert expected.high is not None
    seen = set(zip(table["f0"], table["f1"], strict=True))
    rows = {(row["f0"], row["f1"]): row for row in found.table.to_pylist()}
    unseen = [one for one in every if one not in seen]
    right = np.mean([rows[one]["prediction"] == high(one) for one in unseen if rows[one]["like_tested"]])
    assert expected.low <= right <= expected.high
    assert found.backtest is not None
    lost = bool(found.backtest.loses_to)  # adding up by least squares may beat a margin
    assert found.grade in (("weak",) if lost else ("sound", "plausible"))
    assert expected.of == sum(rows[one]["like_tested"] for one in unseen)
    assert found.grade == earned(expected) or expected.of < 0.95 * len(unseen) or lost


def test_a_cross_of_anchors_cannot_spare_anything() -> None:
    """Every value is in one combination beside the anchors: nothing can be held out, and nobody claims otherwise."""
    table: Table = {"f0": [0, 1, 2, 3, 0, 0, 0], "f1": [0, 0, 0, 0, 1, 2, 3], "y": [0.5, 1, 2, 3, 1, 2, 3]}
    found = predicted(table)
    assert found.grade == "untested"
    assert found.expected is not None
    assert found.expected.value is None
    assert found.verdict.startswith("Nothing was tested: none of the 7 seen combinations can be spared, ")
    assert "If the factors add up, a learner like relu:2 would come close to the sum for " in found.verdict


def test_a_learner_that_loses_to_adding_up_is_not_relied_on() -> None:
    table = part_of(grid(12, 10), lambda one, rng: 3.0 * one[0] - one[1] + rng.normal() / 10, seen=80, seed=0)
    found = predicted(table)
    assert found.grade == "weak"
    assert found.counts["fine"] == 0
    assert "adding up one effect for each value does better" in found.verdict
    fitted = predicted(table, salience="fit", examples=recombine.Examples(symbols=True))
    assert fitted.grade == "sound"


def test_rows_and_combinations_are_scored_apart() -> None:
    """A combination is right if its commonest class is said; a row, if its own is."""
    table: Table = {"f0": [], "f1": [], "y": []}
    for a, b in grid(6, 6):
        often, seldom = ("x", "z") if a < 3 else ("z", "x")
        table["f0"] += [a] * 4
        table["f1"] += [b] * 4
        table["y"] += [often] * 3 + [seldom]
    support = recombine.read(table, factors=["f0", "f1"], target="y")
    kernel = recombine.backtest(support).methods[0]
    assert kernel.score == 1
    assert kernel.by_rows == 0.75


def test_without_a_back_test_nothing_is_promised() -> None:
    table = part_of(grid(8, 8), lambda one, _: float(sum(one)), seen=40, seed=0)
    found = predicted(table, backtest=False)
    assert found.backtest is None
    assert found.grade == "untested"
    assert found.expected is not None
    assert found.expected.reason == "no back-test was run"


@pytest.mark.data
def test_counts_of_mit_states_are_not_fine(data: Path) -> None:
    """How many pictures a pair has, as a label: 94 % were called sound, beside a back-test of 4 %."""
    file = data / "factors" / "mit_states_images.parquet"
    support = recombine.read(file, factors=["attr", "obj"], where="split = 'train'")
    names = [factor.labels for factor in support.space.factors]
    table: Table = {f"f{k}": [names[k][code] for code in support.codes[:, k]] for k in range(2)}
    found = predicted(table | {"y": [f"{count:.0f} rows" for count in support.counts]})
    assert found.grade == "failing"
    assert found.counts["fine"] == 0
    assert found.expected is not None
    assert (found.expected.high or 1) < 0.2
    assert "sound" not in found.verdict


@pytest.mark.data
def test_attractive_by_combinations_and_by_rows(data: Path) -> None:
    faces = ["Male", "Young", "Smiling", "Eyeglasses", "Wearing_Hat", "Bald", "Blond_Hair", "Heavy_Makeup"]
    found = recombine.predict(
        data / "factors" / "celeba.parquet", factors=faces, target="Attractive", where="split = 'train'"
    )
    assert found.backtest is not None
    kernel = found.backtest.methods[0]
    assert kernel.by_rows is not None
    assert kernel.score > kernel.by_rows + 0.05
    assert any("of them right, and 7" in reason for reason in found.reasons)


def test_one_answer_for_the_hard_ones_is_what_must_be_beaten_there() -> None:
    """The combinations that are as hard as the unseen ones may have another commonest class than all of them."""
    common = [(a, b, "high" if a + b > 3 else "low") for a in range(7) for b in range(7)]
    rare = [(a, b, "low") for a in range(10) for b in range(10) if max(a, b) >= 7 and (a + 3 * b) % 4 == 0]
    found = predicted({name: [row[k] for row in common + rare] for k, name in enumerate(("f0", "f1", "y"))})
    assert found.expected.baseline_name == 'always answering "low"'
    assert found.expected.baseline == 1.0
    assert found.grade == "failing"
    assert "not reliably better" in found.verdict


def test_nothing_is_sound_whose_rows_differ() -> None:
    """Every combination comes out right; but a quarter of its rows has another answer, which nobody can say."""
    rng = np.random.default_rng(0)
    every = [one for one in grid(12, 12) if rng.random() < 0.7]
    table: Table = {"f0": [], "f1": [], "y": []}
    for one in every:
        often, seldom = ("x", "z") if one[0] < 6 else ("z", "x")
        table["f0"] += [one[0]] * 4
        table["f1"] += [one[1]] * 4
        table["y"] += [often] * 3 + [seldom]
    clean = table | {"y": ["x" if a < 6 else "z" for a in table["f0"]]}
    assert predicted(clean, salience="relu:2", examples=recombine.Examples(symbols=True)).grade == "sound"
    found = predicted(table, salience="relu:2", examples=recombine.Examples(symbols=True))
    assert found.expected is not None
    assert (found.expected.low or 0) >= 0.8
    assert found.grade == "plausible"


def test_nothing_is_sound_whose_examples_nobody_has_looked_at() -> None:
    """What adds up exactly may still be drawn in pictures that a model can't read."""
    table = part_of(grid(12, 10), lambda one, _: "x" if one[0] < 6 else "z", seen=80, seed=0)
    found = predicted(table)
    assert found.expected.low > 0.8
    assert found.grade == "plausible"
    assert predicted(table, examples=recombine.Examples(symbols=True)).grade == "sound"
    assert any("give the inputs" in reason for reason in found.reasons)


def test_worse_by_little_is_not_called_a_tie() -> None:
    table = part_of(grid(8, 8), lambda one, rng: 3.0 * one[0] - one[1] + rng.normal() / 10, seen=46, seed=0)
    found = predicted(table)
    assert found.backtest is not None
    told = " ".join(found.reasons)
    for name in found.backtest.behind:
        assert f"not reliably different from {name}" not in told
    assert found.backtest.behind
    assert set(found.backtest.loses_to) <= set(found.backtest.behind)
