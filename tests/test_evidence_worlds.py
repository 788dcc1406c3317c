"""The worlds of `benchmarks/coverage.py`: counted as an engine counts them, and true as they say."""

import sys
from pathlib import Path

import numpy as np
import pytest

import recombine

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

from evidence import audit_worlds, evaluate_worlds, statement_worlds
from evidence.audit_truth import additive_truth
from evidence.counted_tables import INTERVALS, audit_of, evaluation_of
from evidence.coverage_summary import held_lines, share_words, statement_lines
from evidence.drawing import generator, grid, number_world, seen_by_chance


@pytest.mark.parametrize("family", ["hetero", "label_blocks"])
def test_an_audit_of_a_counted_table_says_what_one_of_a_read_table_says(family: str) -> None:
    rng = generator(family)
    world = (audit_worlds.PLANTED | audit_worlds.NEW)[family](rng)
    table = world.table(*world.sample(np.flatnonzero(world.seen), rng))
    read, counted = recombine.audit(table, factors=world.factors, target="y"), audit_of(table, world.factors)
    assert (counted.grade, counted.verdict, counted.reasons) == (read.grade, read.verdict, read.reasons)


@pytest.mark.parametrize("kind", ["labels", "numbers", "groups"])
def test_an_evaluation_of_a_counted_table_says_what_one_of_a_read_table_says(kind: str) -> None:
    rng = generator(kind)
    if kind == "groups":
        table, factors = statement_worlds.GROUPS["16 alike"](rng).table, ["bg", "y"]
    else:
        world = {"labels": evaluate_worlds.few_unseen, "numbers": evaluate_worlds.mse_t3}[kind](rng)
        table, factors = world.table(rng), world.factors
    columns = {"target": "y", "prediction": "said", "split": "split"}
    read = recombine.evaluate(table, factors=factors, causes=False, intervals=INTERVALS, **columns)
    counted = evaluation_of(table, factors)
    assert (counted.grade, counted.verdict, counted.reasons) == (read.grade, read.verdict, read.reasons)
    assert counted.sides == read.sides
    assert counted.group == read.group


def test_effects_that_add_up_without_noise_are_told_exactly() -> None:
    rng = generator("exact")
    codes = grid(5, 6)
    mean = codes @ np.array([1.0, -2.0])
    world = number_world(codes, seen_by_chance(codes, 0.6, rng), mean, rng, noise=0.0)
    rows = world.sample(np.flatnonzero(world.seen), rng)
    true = additive_truth(world, *rows, rng, of=0)
    assert true.of_determined == pytest.approx(1.0)
    assert true.determined == 1.0
    assert true.of_constant == pytest.approx(0.0)


def test_records_are_judged_by_their_numbers_and_words() -> None:
    said = {"verb": "audit", "family": "x", "grade": "sound", "verdict": "", "reasons": []}
    records = [said | {"number": n, "interval": [0.5, 0.9, low, 1.0]} for n, low in enumerate([0.4, 0.8])]
    (line,) = held_lines(records, frozenset())
    assert (line.said, line.held, line.too_high, line.held_or_warned) == (2, 1, 1, 1)
    assert share_words(95, 100) == "95 (89–98)"
    gate = {"verb": "diff", "family": "y", "verdict": "The grade fell from sound to weak.", "worse": False}
    lines = statement_lines([gate | {"number": 0, "grade": "failing"}, gate | {"number": 1, "grade": "sound"}])
    assert lines[0][:3] == ["diff: y", 2, "50 (9–91)"]
