"""Evaluations of sets: against the same table with a yes or no for each element, and by hand."""

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import recombine
from recombine.base.errors import SettingError
from recombine.cli.app import app
from recombine.numerics.effects import Effects
from recombine.numerics.incidence_fit import incidence_answers, nearest_answers

SETS = {"genes": "given:+"}
ELEMENTS = 6
World = tuple[dict[str, Any], list[tuple[int, ...]]]


def world(seed: int, *, bad: int | None = None, lines: bool = False) -> World:
    """Sets of up to three of six elements with six rows each; a model whose answers are off where `bad` is held."""
    rng = np.random.default_rng(seed)
    every = [one for size in range(4) for one in combinations(range(ELEMENTS), size)]
    sets = [every[k] for k in sorted(rng.choice(len(every), 30, replace=False))]
    held = {sets[k] for k in rng.choice(len(sets), 8, replace=False).tolist()}
    effects, rows = rng.normal(size=ELEMENTS), []
    for one in sets:
        for turn in range(6):
            truth = sum(effects[k] for k in one) + 0.3 * rng.normal()
            said = (truth if bad not in one else 0.6 - truth) + 0.4 * rng.normal()
            text = "+".join(f"g{k}" for k in rng.permutation(one)) or "ctrl"
            side = "test" if one in held or turn < 2 else "train"
            rows.append((text, side, truth, said, f"L{turn % 2}", one))
    given, sides, truths, answers, line, of = (list(column) for column in zip(*rows, strict=True))
    table: dict[str, Any] = {"given": given, "split": sides, "y": truths, "said": answers}
    table |= {"label": np.array(truths) > 0.3, "guess": np.array(answers) > 0.3} | ({"line": line} if lines else {})
    return table, of


def yes_or_no(table: dict[str, Any], of: list[tuple[int, ...]]) -> dict[str, Any]:
    return table | {f"g{k}": ["yes" if k in one else "no" for one in of] for k in range(ELEMENTS)}


ASKED: dict[str, dict[str, Any]] = {
    "number": {"target": "y", "prediction": "said"},
    "label": {"target": "label", "prediction": "guess"},
}


@pytest.mark.parametrize("kind", ASKED)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_elements_are_told_as_columns_of_yes_and_no_are(seed: int, kind: str) -> None:
    """The same sides, the same additive rule, the same expectation of each combination, the same matched gap."""
    table, of = world(seed)
    one = recombine.evaluate(table, sets=SETS, split="split", causes=False, **ASKED[kind])
    names = [f"g{k}" for k in range(ELEMENTS)]
    two = recombine.evaluate(yes_or_no(table, of), factors=names, split="split", causes=False, **ASKED[kind])
    place = {tuple(row[name] == "yes" for name in names): k for k, row in enumerate(two.table.to_pylist())}
    order = [place[tuple(name in row["genes"].split(" + ") for name in names)] for row in one.table.to_pylist()]
    theirs = two.table.take(order)
    assert one.table["rung"].to_pylist() == theirs["rung"].to_pylist()
    assert (one.outcomes.unseen == two.outcomes.unseen[order]).all()
    for name in ("score", "shrunk"):
        np.testing.assert_allclose(one.table[name].to_numpy(), theirs[name].to_numpy(), atol=1e-9)
    if not one.deviations.groups and not two.deviations.groups:  # nothing was taken out of either fit
        mine, other = (part["expected"].to_numpy(zero_copy_only=False) for part in (one.table, theirs))
        np.testing.assert_allclose(mine, other, atol=1e-6)
    rules = [{rule.rule: rule.score for rule in part.baselines.found if rule.side == "unseen"} for part in (one, two)]
    assert rules[0]["additive (by rows)"] == pytest.approx(rules[1]["additive (by rows)"], abs=1e-9)
    # the nearest by elements are the nearest by yes and no: each element that differs is one column that does
    assert rules[0]["nearest seen (by rows)"] == pytest.approx(rules[1]["nearest seen (by rows)"], abs=1e-9)
    if one.matched is not None and one.matched.value is not None:
        assert two.matched is not None
        assert one.matched.value == pytest.approx(two.matched.value, abs=1e-9)


def test_sides_by_element_and_scores_of_elements_and_pairs_are_those_by_hand() -> None:
    table, of = world(3, lines=True)
    found = recombine.evaluate(table, factors=["line"], sets=SETS, split="split", causes=False, **ASKED["label"])
    test = np.array(table["split"]) == "test"
    right = np.array(table["label"]) == np.array(table["guess"])
    trained = {one for one, tested in zip(of, test, strict=True) if not tested}
    alone = {one[0] for one in trained if len(one) == 1}
    met = {k for one in trained for k in one}
    cells = [(one, line) for one, line in zip(of, table["line"], strict=True)]
    seen = {cell for cell, tested in zip(cells, test, strict=True) if not tested}
    unseen = {cell for cell, tested in zip(cells, test, strict=True) if tested and cell not in seen}
    assert found.side("unseen").combinations == sum(met.issuperset(one) for one, _ in unseen)
    assert found.side("novel").combinations == sum(not met.issuperset(one) for one, _ in unseen)
    assert found.side("all seen alone").combinations == sum(alone.issuperset(one) for one, _ in unseen)
    by_value = {row["value"]: row for row in found.by_value.to_pylist() if row["factor"] == "genes"}
    for k in range(ELEMENTS):
        mine = test & np.array([k in one for one in of])
        assert by_value[f"g{k}"]["rows"] == mine.sum()
        assert by_value[f"g{k}"]["score"] == (pytest.approx(right[mine].mean()) if mine.any() else None)
    for row in found.by_pair.to_pylist():
        names = {(row["factor_a"], row["value_a"]), (row["factor_b"], row["value_b"])}
        mine = test & np.array([names <= {("line", line), *(("genes", f"g{k}") for k in one)} for one, line in cells])
        assert row["rows"] == mine.sum()
        assert row["score"] == pytest.approx(right[mine].mean())
    # two elements of one set, and an element in a line: nothing that was tested is left out
    pairs = {frozenset(pair) for one, tested in zip(of, test, strict=True) if tested for pair in combinations(one, 2)}
    assert sum(row["factor_a"] == row["factor_b"] for row in found.by_pair.to_pylist()) == len(pairs)


def test_an_element_that_does_worse_is_named_and_nothing_else() -> None:
    table, _ = world(0, bad=2)
    found = recombine.evaluate(table, sets=SETS, split="split", **ASKED["label"])
    assert [one.group for one in found.deviations.values] == [{"genes": "any with g2"}]
    assert any("genes=any with g2" in one for one in found.reasons)
    assert any("a set has several" in one for one in found.reasons)
    assert found.anatomy is None
    assert found.rates is not None
    worst = max(found.rates.groups, key=lambda one: (one.rates["false_negative_rate"] or (0, 0, 0))[1])
    assert "g2" in worst.group["genes"]


def test_whole_sets_are_swapped() -> None:
    table, _ = world(0, lines=True)
    whole = table | {"genes": ["+".join(sorted(one.split("+"))) for one in table["given"]]}
    found = recombine.evaluate(table, factors=["line"], sets=SETS, split="split", **ASKED["label"])
    plain = recombine.evaluate(whole, factors=["line", "genes"], split="split", **ASKED["label"])
    rates = [
        [(one.changed.share, one.stayed.share, one.within) for one in made.swap.factors] for made in (found, plain)
    ]
    assert rates[0] == rates[1]
    assert "Swapped were whole sets." in found.reasons


def test_two_tables_a_scoreboard_and_a_saved_page_say_the_same(tmp_path: Path) -> None:
    table, _ = world(1)
    test = np.array(table["split"]) == "test"
    tested, train = ({name: np.array(column)[mask] for name, column in table.items()} for mask in (test, ~test))
    one = recombine.evaluate(table, sets=SETS, split="split", **ASKED["label"])
    two = recombine.evaluate(tested, sets=SETS, train=train, **ASKED["label"])
    assert [(side.name, side.score) for side in one.sides] == [(side.name, side.score) for side in two.sides]
    board = recombine.Scoreboard(tested, sets=SETS, target="label", train=train)
    found = board.score(tested["guess"])
    assert found["unseen_accuracy"] == pytest.approx(one.side("unseen").score)
    assert found["matched_gap"] == pytest.approx(one.matched.value)  # type: ignore[union-attr]
    rule = next(rule for rule in one.baselines.found if (rule.rule, rule.side) == ("additive (by rows)", "unseen"))
    assert found["unseen_additive_accuracy"] == pytest.approx(rule.score)
    assert board.evaluation().side("unseen").score == one.side("unseen").score
    one.save(tmp_path / "saved")
    assert recombine.load(tmp_path / "saved") == one
    assert "any with" in one.page(tmp_path / "page.html").read_text()


def test_the_command_takes_a_set_and_says_what_it_leaves_out(tmp_path: Path) -> None:
    table, _ = world(2)
    pq.write_table(pa.table(table), tmp_path / "said.parquet")
    words = ["evaluate", str(tmp_path / "said.parquet"), "--set", "genes=given:+", "--split", "split"]
    told = CliRunner().invoke(app, [*words, "-t", "y", "-p", "said"])
    assert told.exit_code == 0, told.output
    assert "one effect for each element" in " ".join(told.output.split())
    assert any(side in told.output for side in ("all seen alone", "seen with others only"))
    with pytest.raises(SettingError, match="theory with a factor whose value is a set"):
        recombine.evaluate(table, sets=SETS, split="split", theory=forecast(), **ASKED["number"])


def forecast() -> recombine.Prediction:
    small = {"a": [0, 0, 1, 1] * 3, "b": [0, 1, 0, 1] * 3, "y": [0.0, 1.0, 2.0, 3.5] * 3}
    return recombine.predict(small, factors=["a", "b"], target="y")


@pytest.mark.parametrize("seed", range(20))
def test_weighted_answers_are_those_of_a_refit(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table, _ = world(seed)
    space = recombine.read(table, sets=SETS).space
    codes = space.factors[0].codes([tuple(f"g{k}" for k in one) for one in [(), (0,), (1, 2), (2, 3), (1,), (0, 4)]])
    asked = space.factors[0].codes([("g0", "g1"), ("g3",), ("g4", "g1"), ("g5",), ("g2", "g5")])
    values, weights = rng.normal(size=(6, 2)), rng.integers(0, 3, size=6).astype(np.float64)
    weights[0] = 1.0
    effects = Effects([space.factors[0].kind])
    design, rows = (effects.rows(part[:, None]).dense() for part in (codes, asked))
    said = incidence_answers(effects, codes[:, None], values, weights, asked[:, None])
    known = weights > 0
    for row, answer in zip(rows, said, strict=True):
        rank = np.linalg.matrix_rank(design[known])
        if np.linalg.matrix_rank(np.vstack([design[known], row])) > rank:
            assert np.isnan(answer).all()
        else:
            root = np.sqrt(weights[known])[:, None]
            fitted = np.linalg.lstsq(root * design[known], root * values[known], rcond=None)[0]
            np.testing.assert_allclose(answer, row @ fitted, atol=1e-8)
    near = nearest_answers(effects, codes[:, None], values, asked[:, None], weights=weights)
    for row, answer in zip(rows, near, strict=True):
        apart = np.where(known, np.abs(design - row).sum(axis=1), np.inf)
        share = (apart == apart.min()) * weights
        np.testing.assert_allclose(answer, share @ values / share.sum())
