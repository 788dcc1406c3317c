"""Noise and a table of exceptions look alike to every rule: rows that repeat tell them apart."""

import numpy as np
import pytest

import recombine
from recombine.cli.audit import following

FACTORS = ["a", "b"]


def table(kind: str, *, rows: int = 6, seed: int = 0) -> dict[str, list]:
    """28 of 36 combinations: nothing but noise, a number of its own each, or effects that add up."""
    rng = np.random.default_rng(seed)
    grid = np.indices((6, 6)).reshape(2, -1).T
    seen = grid[np.sort(rng.permutation(36)[:28])]
    own = {"noise": np.zeros((6, 6)), "own": rng.normal(size=(6, 6)), "adds": np.add.outer(*rng.normal(size=(2, 6)))}
    codes = np.repeat(seen, rows, axis=0)
    answers = own[kind][codes[:, 0], codes[:, 1]] + 0.5 * rng.normal(size=len(codes))
    return {"a": codes[:, 0].tolist(), "b": codes[:, 1].tolist(), "y": answers.tolist()}


@pytest.mark.parametrize("verb", [recombine.audit, recombine.predict])
@pytest.mark.parametrize(
    ("kind", "said", "grade"),
    [("noise", "Nothing to learn was found", "failing"), ("own", "Each combination has its own fixed y", "weak")],
)
def test_the_first_sentence_says_which(verb, kind, said, grade):
    found = verb(table(kind), factors=FACTORS, target="y", target_kind="number")
    assert found.verdict.startswith(said)
    assert found.grade == grade


@pytest.mark.parametrize("rows", [1, 6])
def test_where_a_rule_is_found_nothing_of_it_is_said(rows):
    found = recombine.audit(table("adds", rows=rows), factors=FACTORS, target="y", target_kind="number")
    assert found.additive.rule_found
    assert found.additive.without_rule is None


def test_with_one_row_each_nobody_can_tell():
    found = recombine.audit(table("own", rows=1), factors=FACTORS, target="y", target_kind="number")
    assert found.additive.explainable is None
    assert found.verdict.startswith("On held-out combinations adding up")


@pytest.mark.parametrize(("kind", "suggested"), [("noise", set()), ("own", {"predict"}), ("adds", {"predict"})])
def test_what_cannot_help_is_not_suggested(kind, suggested, tmp_path):
    """Nothing is to be learnt from noise; of answers of their own a learner may know a rule that was not tried."""
    found = recombine.audit(table(kind), factors=FACTORS, target="y", target_kind="number")
    verbs = {command.split()[1] for command, _ in following(found)}
    assert verbs & {"predict", "plan"} == suggested
    found.save(tmp_path / "saved")
    assert recombine.load(tmp_path / "saved").additive == found.additive
