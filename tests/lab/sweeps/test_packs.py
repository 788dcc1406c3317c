"""Packs: every run once, same-shaped ones together, work for everybody."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recombine.base.errors import SettingError
from recombine_lab.runs.run import Configuration
from recombine_lab.sweeps.progress import groups
from recombine_lab.sweeps.queue import packs


def run(model, seed, **recipe):
    return Configuration(
        task={"name": "t"}, split={"name": "s"}, model={"name": model}, recipe=recipe, seed=seed, code="0"
    )


def shape(found):
    return str(found.model["name"])


@given(st.lists(st.sampled_from("abc"), max_size=80), st.integers(1, 9), st.integers(1, 40))
def test_packs_divide_the_runs(models, workers, most):
    runs = [run(model, seed) for seed, model in enumerate(models)]
    found = packs(runs, alike=shape, workers=workers, most=most)
    assert sorted(one.key for pack in found for one in pack) == sorted(one.key for one in runs)
    assert all(len({shape(one) for one in pack}) == 1 for pack in found)
    largest = min(most, math.ceil(len(runs) / workers)) if runs else 0
    for model in set(models):
        sizes = [len(pack) for pack in found if shape(pack[0]) == model]
        assert max(sizes) <= largest
        if len(found) > workers:  # else some were divided once more, so that nobody is idle
            assert max(sizes) - min(sizes) <= 1
            assert len(sizes) == math.ceil(models.count(model) / largest)  # as few as may be
    assert len(found) >= min(workers, len(runs))


def test_seeds_stay_together_where_there_is_enough_else_to_do():
    runs = [run(model, seed) for model in "abcd" for seed in range(3)]
    assert [len(pack) for pack in packs(runs, alike=shape, workers=2)] == [3, 3, 3, 3]
    assert [len(pack) for pack in packs(runs[:3], alike=shape, workers=2)] == [1, 2]
    assert [len(pack) for pack in packs([run("a", seed) for seed in range(33)], alike=shape, workers=1)] == [16, 17]


def test_a_pack_of_nothing_is_refused():
    with pytest.raises(SettingError, match="packs of 0 runs"):
        packs([run("a", 0)], alike=shape, workers=1, most=0)


def test_groups_are_named_by_what_differs():
    runs = [run(model, seed, lr=lr, steps=9) for model in "ab" for lr in (0.1, 0.2) for seed in (0, 1)]
    found = groups(runs)
    assert [group.recipe for group in found] == ["lr 0.1", "lr 0.2", "lr 0.1", "lr 0.2"]
    assert [group.model for group in found] == ["a", "a", "b", "b"]
    assert [key for group in found for key in group.keys] == [one.key for one in runs]


def test_one_group_has_no_name_beyond_its_parts():
    assert [group.title for group in groups([run("a", 0, steps=9)])] == ["t · s · a"]
