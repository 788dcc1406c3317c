"""Where unseen combinations miss whole pairs of values, whole pairs are held out of a forecast's back-test too."""

from typing import Any

import numpy as np
import pytest

import recombine
from recombine.verbs.predict.answers import answers
from recombine.verbs.predict.backtest import held_out
from recombine.verbs.predict.block_record import held_out_classes
from recombine.verbs.predict.kernel.salience_fit import resolve
from recombine.verbs.predict.learner import learn

SIZES = (6, 6, 4)
NAMES = ["a", "b", "c"]
TARGET: Any = {"target": "y", "target_kind": "number"}
Table = dict[str, list[Any]]


def pair_world(seed: int, interaction: float, *, missing: int = 8) -> tuple[Table, Table]:
    """Effects of three factors and of pairs of the first two; some of these pairs were never seen."""
    rng = np.random.default_rng(seed)
    effects = [rng.normal(size=size) for size in SIZES]
    pairs = interaction * rng.normal(size=SIZES[:2])
    unseen = rng.permutation(SIZES[0] * SIZES[1])[:missing]
    tables: tuple[Table, Table] = ({name: [] for name in [*NAMES, "y"]}, {name: [] for name in [*NAMES, "y"]})
    for a, b, c in np.ndindex(*SIZES):
        values = (a, b, c, effects[0][a] + effects[1][b] + effects[2][c] + pairs[a, b])
        for name, value in zip([*NAMES, "y"], values, strict=True):
            tables[int(a * SIZES[1] + b in unseen)][name].append(value)
    return tables


def predictions(found: recombine.Prediction) -> dict[tuple[int, ...], float]:
    """What is predicted for each combination of whole numbers."""
    values = [[int(value) for value in found.table[name].to_pylist()] for name in NAMES]
    return dict(zip(zip(*values, strict=True), found.table["prediction"].to_pylist(), strict=True))


def test_each_block_is_said_by_a_learner_that_saw_nothing_of_it() -> None:
    """The twin: the table without the block, learnt anew."""
    seen, _ = pair_world(0, 1.0)
    support = recombine.read(seen, factors=NAMES, target="y")
    own = answers(support)
    learner = learn(support, own, resolve("relu:2", support), loss="squared", ridge=0.0)
    unseen = support.space.every()
    unseen = unseen[support.groups(range(3)).lookup(unseen) < 0]
    alone = held_out(learner, "relu:2").tried
    found = held_out_classes(learner, "relu:2", alone, unseen, np.arange(len(unseen)))
    (pairs,) = found.tested
    assert pairs.missing.factors == (0, 1)
    assert not found.untested
    assert found.members[0].tolist() == list(range(len(unseen)))
    assert not len(found.unlike)
    for piece in np.unique(pairs.pieces)[:3]:
        mine = pairs.pieces == piece
        codes = pairs.tried.codes[mine]
        assert len(np.unique(codes[:, :2], axis=0)) == 1
        assert len(codes) == SIZES[2]
        kept = [row for row in zip(*seen.values(), strict=True) if row[:2] != tuple(codes[0, :2])]
        rest = {name: [row[k] for row in kept] for k, name in enumerate(seen)}
        again = predictions(recombine.predict(rest, factors=NAMES, salience="relu:2", backtest=False, **TARGET))
        assert pairs.tried.said["kernel"][mine, 0] == pytest.approx([again[tuple(row)] for row in codes.tolist()])


def test_two_factors_are_held_out_one_at_a_time() -> None:
    rows = [(a, b, a + 2.0 * b) for a in range(5) for b in range(5) if a + b < 8]
    table = {name: [row[k] for row in rows] for k, name in enumerate("aby")}
    found = recombine.predict(table, factors=["a", "b"], **TARGET)
    assert found.expected is not None
    assert found.expected.tested == len(rows)


def test_pairs_that_cannot_be_held_out_are_said() -> None:
    """Three of four pairs of values: without another one, what the two factors add is open."""
    rows = [(a, b, c, float(a + 2 * b + c)) for a in range(2) for b in range(2) for c in range(5) if a + b < 2]
    table = {name: [row[k] for row in rows] for k, name in enumerate([*NAMES, "y"])}
    found = recombine.predict(table, factors=NAMES, **TARGET)
    assert found.grade == "untested"
    assert "no tested combination was missing a whole pair of values (a with b), as these are" in found.verdict


@pytest.mark.slow
def test_intervals_hold_where_pairs_are_missing() -> None:
    told, held, wide = 0, 0, 0
    worlds = [(seed, interaction) for seed in range(20) for interaction in (0.0, 0.7, 2.0)]
    for seed, interaction in worlds:
        seen, unseen = pair_world(100 + seed, interaction)
        found = recombine.predict(seen, factors=NAMES, **TARGET)
        said, truth = predictions(found), np.array(unseen["y"])
        error = np.array([said[row] for row in zip(*(unseen[name] for name in NAMES), strict=True)]) - truth
        score = 1 - np.square(error).sum() / np.square(truth - np.mean(seen["y"])).sum()
        assert found.expected is not None
        if found.expected.low is None or found.expected.high is None:  # any score would fit: it says nothing
            continue
        told += 1
        held += bool(found.expected.low <= score <= found.expected.high)
        wide += found.expected.low < 0
    assert told >= 0.9 * len(worlds)
    assert held >= 0.88 * told
    assert wide < told


def test_whoever_asks_about_nothing_gets_an_answer() -> None:
    seen, _ = pair_world(0, 1.0)
    found = recombine.predict(seen, factors=NAMES, combinations=[], **TARGET)
    assert found.verdict.startswith("No combination was asked about.")
