"""Two questions: the answer is the symbol that is asked for, pairs can be held out, noise is all that chance adds."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from recombine.base.errors import SettingError
from recombine_lab.tasks.exposure import split_of
from recombine_studies.tasks.two_questions import TwoQuestions
from tests.properties import examples


@given(st.integers(2, 9), st.integers(0, 100))
@examples(25)
def test_without_noise_the_inputs_say_everything(values: int, seed: int) -> None:
    task = TwoQuestions(values=values, noise=0.0)
    codes = task.every()
    batch = task.tensors(codes, seed=seed)
    slots = batch.inputs.reshape(len(codes), 3, values)
    assert np.array_equal(slots.argmax(dim=2).numpy(), codes)
    asked = slots[torch.arange(len(codes)), slots[:, 2].argmax(dim=1)]
    assert torch.equal(asked.argmax(dim=1), batch.targets)


def test_noise_is_that_of_the_seed_and_the_part() -> None:
    task, codes = TwoQuestions(noise=0.5), [(0, 1, 0)] * 2000
    train, again, test = (task.tensors(codes, seed=1, part=part).inputs for part in ("train", "train", "test"))
    assert torch.equal(train, again)
    assert not torch.equal(train, test)
    assert abs(float(train.std(dim=0).mean()) - 0.5) < 0.02


def test_a_pair_is_held_out_with_both_of_its_questions() -> None:
    task = TwoQuestions(values=4)
    split = split_of({"name": "hold_out_combinations", "factors": ["first", "second"], "test_size": 0.5}, task)
    parts = split.parts(task, seed=0)
    shown, hidden = ({tuple(row) for row in parts_of[:, :2].tolist()} for parts_of in _rows(parts))
    assert not shown & hidden
    assert len(shown | hidden) == 16


def _rows(parts):
    return parts.train.every(), parts.tests["unseen"].every()


@pytest.mark.parametrize("wrong", [{"values": 1}, {"noise": -0.1}])
def test_settings_that_mean_nothing_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(SettingError):
        TwoQuestions(**wrong)
