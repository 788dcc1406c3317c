"""What a scoreboard tells in milliseconds equals what a whole evaluation tells of the same answers."""

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import strategies as st

import recombine
from recombine import IntervalSettings, Scoreboard
from tests.properties import examples

FEW = IntervalSettings(draws=100)


def tables(seed: int, *, factors: int, values: int, classes: int, rows: int, kind: str, holes: bool):
    """Rows to train on, rows to be asked, and answers: any mixture of seen, unseen and novel combinations."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, values, size=(2 * rows, factors))
    hidden = (codes.sum(axis=1) * 7 + seed) % 3 == 0
    train = np.flatnonzero(~hidden & (rng.random(2 * rows) < 0.6) & (codes[:, 0] < values - rng.integers(0, 2)))
    test = rng.permutation(2 * rows)[:rows]
    train = train if len(train) > 3 else np.arange(4)
    columns = {f"f{k}": np.array([f"v{v}" for v in range(values)])[codes[:, k]].astype(object) for k in range(factors)}
    if kind == "number":
        truth = codes @ np.arange(1.0, factors + 1) + rng.normal(size=2 * rows)
        said = truth + rng.normal(size=2 * rows) * (1 + 2 * hidden)
    else:
        places = (codes.sum(axis=1) + (rng.random(2 * rows) < 0.2)) % classes
        names = np.array(["a", "b", "c", "d"][:classes]) if kind == "text" else np.arange(classes)
        truth, said = names[places], names[np.where(rng.random(2 * rows) < 0.7, places, (places + 1) % classes)]
    columns["y"] = truth.astype(object)
    if holes:
        columns["f0"][rng.random(2 * rows) < 0.05] = None
        columns["y"][rng.random(2 * rows) < 0.05] = None
    whole = pa.table({name: pa.array(list(column)) for name, column in columns.items()})
    return whole.take(train), whole.take(test), said[test]


def asked(kind: str, *, group: bool, factors: int) -> dict:
    return {
        "factors": [f"f{k}" for k in range(factors)] + (["y"] if group else []),
        "target": "y",
        "target_kind": "number" if kind == "number" else "label",
    }


def same(one: float, other: float | None) -> bool:
    if other is None or math.isnan(other):
        return math.isnan(one)
    return math.isclose(one, other, rel_tol=1e-11, abs_tol=2e-12)


def compare(ours: Scoreboard, whole: recombine.Evaluation, name: str) -> None:
    board = ours.compute()
    assert ours.reasons.keys() == {key for key, value in board.items() if math.isnan(value)}
    for side, key in (("all", ""), ("seen", "seen_"), ("unseen", "unseen_"), ("novel", "novel_")):
        assert same(board[f"{key}{name}"], whole.side(side).score), side
    assert same(board["gap"], None if whole.gap is None else whole.gap.value)
    assert same(board["matched_gap"], None if whole.matched is None else whole.matched.value)
    matched = whole.matched is not None and whole.matched.value is not None
    assert same(board["matched_share"], whole.matched.matched if matched else None)
    worst = whole.group.score if whole.group is not None else whole.worst[0].shrunk if name != "r2" else math.nan
    assert same(board[f"worst_group_{name}"], worst)
    listed = whole.worst[0] if name != "r2" else None
    picked = whole.group if whole.group is not None else listed
    for end in ("low", "high"):
        assert same(board[f"worst_group_{name}_{end}"], getattr(picked, end, None))
    assert board["worst_group_of"] == (whole.group.picked_from if whole.group is not None else len(whole.outcomes))
    rules = {one.rule: one.score for one in whole.baselines.found if one.side == "unseen"}
    best = whole.baselines.best("unseen")
    if "alone decide" in ours.reasons.get("lift", ""):  # an evaluation says so in words, and a number cannot
        return
    if name == "accuracy":
        for short, rule in (("majority", "majority"), ("additive", "additive (by rows)")):
            assert same(board[f"unseen_{short}_accuracy"], rules.get(rule)), rule
        assert same(board["unseen_best_rule_accuracy"], None if best is None else best.score)
    if whole.expected.lift is not None:
        assert same(board["lift"], whole.expected.lift[1])


drawn = {
    "seed": st.integers(0, 10**6),
    "factors": st.integers(2, 3),
    "values": st.integers(2, 5),
    "classes": st.integers(2, 4),
    "rows": st.integers(8, 250),
    "kind": st.sampled_from(["text", "whole", "number", "r2"]),
    "holes": st.booleans(),
    "group": st.booleans(),
}


@pytest.mark.slow
@examples(15, suppress_health_check=list(HealthCheck))
@given(**drawn)
@example(seed=0, factors=2, values=3, classes=2, rows=200, kind="text", holes=True, group=True)
@example(seed=1, factors=3, values=3, classes=3, rows=250, kind="number", holes=True, group=False)
def test_every_number_is_the_evaluations(seed, factors, values, classes, rows, kind, holes, group):
    number, group = kind in ("number", "r2"), group and kind in ("text", "whole")
    made = "number" if number else kind
    train, test, said = tables(seed, factors=factors, values=values, classes=classes, rows=rows, kind=made, holes=holes)
    how = asked(made, group=group, factors=factors) | ({"score": kind} if kind == "r2" else {})
    try:
        whole = recombine.evaluate(
            test.append_column("said", pa.array(said)),
            prediction="said",
            train=train,
            causes=False,
            intervals=FEW,
            **how,
        )
    except recombine.RecombineError:  # a drawn table that cannot be evaluated, such as a factor with one value
        return
    board = Scoreboard(test, train=train, unknown="wrong", **how)
    half = len(test) // 2
    board.update(said[:half])
    board.update(said[half:])
    name = "accuracy" if not number else "r2" if kind == "r2" else "mse"
    compare(board, whole, name)
    again = board.evaluation(causes=False, intervals=FEW)
    assert again.sides == whole.sides
    assert again.matched == whole.matched


def test_rules_of_numbers_are_the_evaluations_too():
    train, test, said = tables(5, factors=2, values=4, classes=2, rows=200, kind="number", holes=False)
    board = Scoreboard(test, train=train, **asked("number", group=False, factors=2))
    board.update(said)
    found, whole = board.compute(), board.evaluation(causes=False, intervals=FEW)
    truth = np.array(test["y"].to_pylist())
    unseen = np.isin(np.arange(len(test)), unseen_rows(train, test))
    nothing = np.mean((truth[unseen] - np.mean(train["y"].to_pylist())) ** 2)
    for one in whole.baselines.found:
        if one.side == "unseen" and one.rule in ("mean", "additive (by rows)"):
            name = one.rule.removesuffix(" (by rows)")
            assert found[f"unseen_{name}_mse"] == pytest.approx(nothing * (1 - one.score), rel=1e-9)


def unseen_rows(train: pa.Table, test: pa.Table) -> list[int]:
    """Row by row, as a person would."""
    names = ["f0", "f1"]
    seen = set(zip(*(train[name].to_pylist() for name in names), strict=True))
    values = [set(train[name].to_pylist()) for name in names]
    rows = list(zip(*(test[name].to_pylist() for name in names), strict=True))
    return [
        place
        for place, row in enumerate(rows)
        if row not in seen and all(value in known for value, known in zip(row, values, strict=True))
    ]


def test_r2_of_each_side_is_the_evaluations():
    train, test, said = tables(9, factors=2, values=4, classes=2, rows=200, kind="number", holes=False)
    board = Scoreboard(test, train=train, **asked("number", group=False, factors=2))
    board.update(said)
    whole = board.evaluation(score="r2", causes=False, intervals=FEW)
    for side in ("seen", "unseen"):
        assert same(board.compute()[f"{side}_r2"], whole.side(side).score)
