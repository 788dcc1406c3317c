"""A batch depends on the seed and the step alone; a set is gone over whole before it begins again."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from recombine.base.errors import SettingError
from recombine_lab.tasks.exposure import BinnedSource, FiniteSource
from recombine_lab.training.batches import Fixed, Fresh, examples_of, feed_of
from recombine_lab.training.recipe import Recipe
from tests.lab.training.toys import Sum
from tests.properties import examples

TASK = Sum()
EVERY = FiniteSource(torch.from_numpy(TASK.every()))


@given(st.integers(1, 30), st.integers(1, 40), st.integers(0, 99))
@examples(40)
def test_each_example_comes_once_in_each_round(n: int, batch: int, seed: int) -> None:
    examples = Fixed(TASK, EVERY.draw(n, seed=0), seed, batch)
    feed = feed_of([examples], stacked=False)
    rounds = 3
    steps = rounds * n  # a multiple of a round, whatever the batch is
    seen = torch.cat([feed.at(step).inputs for step in range(steps)])
    size = min(batch, n)
    assert len(seen) == steps * size
    for start in range(0, len(seen) - n + 1, n):
        one = seen[start : start + n]
        assert sorted(one.tolist()) == sorted(examples.data.inputs.tolist())


@given(st.integers(2, 4), st.integers(3, 12), st.integers(1, 12), st.booleans())
@examples(30)
def test_runs_together_are_shown_what_each_would_be_shown_alone(runs: int, n: int, batch: int, fixed: bool) -> None:
    recipe = Recipe(steps=500, batch=batch, samples=n if fixed else None)
    examples = [examples_of(TASK, EVERY, recipe, seed=seed) for seed in range(runs)]
    together = feed_of(examples, stacked=True)
    for step in (0, 1, 2, 63, 64, 130, 7):
        found = together.at(step)
        for run, one in enumerate(examples):
            alone = feed_of([one], stacked=False).at(step)
            assert torch.equal(found.inputs[run], alone.inputs)
            assert torch.equal(found.targets[run], alone.targets)


def test_fresh_examples_are_new_each_step_and_the_same_again() -> None:
    examples = examples_of(TASK, EVERY, Recipe(steps=200, batch=8), seed=3)
    feed = feed_of([examples], stacked=False)
    once = [feed.at(step).inputs for step in range(150)]
    assert len({tuple(batch.flatten().tolist()) for batch in once}) == 150
    again = feed_of([examples], stacked=False)
    assert torch.equal(again.at(149).inputs, once[149])
    assert torch.equal(again.at(2).inputs, once[2])


def test_the_support_counts_what_is_shown() -> None:
    fixed = examples_of(TASK, EVERY, Recipe(steps=5, samples=37), seed=0)
    assert fixed.support()[1].sum() == 37
    fresh = examples_of(TASK, EVERY, Recipe(steps=5, batch=7), seed=0)
    assert isinstance(fresh, Fresh)
    assert fresh.support()[1].sum() == 35
    long = examples_of(TASK, EVERY, Recipe(steps=10**6, batch=64), seed=0)
    assert long.support()[1].sum() == 20_000


def test_every_needs_what_can_be_counted() -> None:
    assert examples_of(TASK, EVERY, Recipe(steps=1, samples="every"), seed=0).size == 25
    with pytest.raises(SettingError, match="cannot be counted"):
        examples_of(TASK, BinnedSource(TASK, TASK.every()), Recipe(steps=1, samples="every"), seed=0)
    with pytest.raises(SettingError, match="nothing to train on"):
        examples_of(TASK, FiniteSource(torch.zeros(0, 2, dtype=torch.long)), Recipe(steps=1, samples="every"), seed=0)
