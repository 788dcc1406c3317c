"""What counts as one piece of evidence: a combination, or the block that was held out whole."""

import numpy as np
import pytest

import recombine
from recombine.numerics.intervals import difference_interval
from recombine.numerics.resampling import IntervalSettings, difference
from recombine.verbs.evaluate.model_comparison import comparison
from recombine.verbs.evaluate.outcome_reader import PairedOutcomes

CODES = np.array([(a, b, c) for a in range(6) for b in range(6) for c in range(8)])


def evaluated(seed: int, unseen: np.ndarray) -> recombine.Evaluation:
    """A model whose share of right answers belongs to the pair of a and b; c does nothing."""
    rng = np.random.default_rng(seed)
    share = rng.beta(8, 2, (6, 6))
    rows = np.repeat(np.arange(len(CODES)), 4)
    right = rng.random(len(rows)) < share[CODES[rows, 0], CODES[rows, 1]]
    truth = rng.integers(0, 3, len(rows))
    train = np.flatnonzero(~unseen)
    every = np.concatenate([rows, train])
    table = {name: CODES[every, k].tolist() for k, name in enumerate("abc")}
    table["truth"] = [*map(str, truth), *["0"] * len(train)]
    table["said"] = [*map(str, np.where(right, truth, (truth + 1) % 3)), *["0"] * len(train)]
    table["split"] = ["test"] * len(rows) + ["train"] * len(train)
    how = {"target": "truth", "prediction": "said", "split": "split", "causes": False}
    return recombine.evaluate(table, factors=["a", "b", "c"], **how)


def blocks(seed: int) -> np.ndarray:
    pairs = np.zeros(36, dtype=bool)
    pairs[np.random.default_rng([seed, 1]).choice(36, 8, replace=False)] = True
    return pairs[CODES[:, 0] * 6 + CODES[:, 1]]


def test_combinations_of_a_block_count_once():
    found = evaluated(0, blocks(0))
    assert found.side("unseen").combinations == 64
    assert found.side("unseen").pieces == 8
    assert found.side("seen").pieces == 28
    assert any("the 64 unseen combinations count as 8 pieces of evidence" in reason for reason in found.reasons)


def test_blocks_make_an_interval_as_wide_as_it_must_be():
    apart = [evaluated(seed, blocks(seed)) for seed in range(2)]
    alone = [evaluated(seed, np.random.default_rng(seed).random(len(CODES)) < 0.22) for seed in range(2)]
    wide, narrow = (
        np.mean([one.side("unseen").high - one.side("unseen").low for one in several]) for several in (apart, alone)
    )
    assert wide > 1.5 * narrow
    assert all(one.side("unseen").pieces is None for one in alone)


def test_too_few_blocks_have_no_interval():
    found = evaluated(1, (CODES[:, 0] == CODES[:, 1]) & (CODES[:, 0] < 3))
    assert found.side("unseen").pieces == 3
    assert found.side("unseen").low is None
    assert "3 in all: an interval takes 5" in found.side("unseen").note
    assert found.grade == "untested"


def test_another_model_is_compared_by_block():
    """The interval is the one of the blocks' own sums: as if each block were one combination."""
    first, second = (evaluated(seed, blocks(0)).outcomes for seed in (2, 3))
    found = comparison(first, PairedOutcomes(first.rows, first.total, second.total), IntervalSettings(), other="b")
    unseen = next(side for side in found.sides if side.name == "unseen")
    assert (unseen.combinations, unseen.pieces) == (64, 8)
    pair = (CODES[:, 0] * 6 + CODES[:, 1])[first.unseen]
    rows, own, other = (
        np.array([part[first.unseen][pair == one].sum() for one in np.unique(pair)])
        for part in (first.rows, first.total, second.total)
    )
    ends = difference_interval(difference(rows, own, other), IntervalSettings(), "difference unseen", share=True)
    assert (unseen.low, unseen.high) == ends


def test_balanced_accuracy_counts_blocks():
    """Of classes that are equally common it is nearly the accuracy, and no surer than that."""
    apart, alone = evaluated(0, blocks(0)), evaluated(0, np.random.default_rng(0).random(len(CODES)) < 0.22)
    ends = {}
    for name, one in (("apart", apart), ("alone", alone)):
        balanced, side = next(found for found in one.balanced if found.side == "unseen"), one.side("unseen")
        assert balanced.score == pytest.approx(side.score, abs=0.03)
        ends[name] = (balanced.high - balanced.low) / (side.high - side.low)
    assert all(0.75 < ratio < 1.25 for ratio in ends.values())
