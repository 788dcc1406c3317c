"""Which side of a split a row stands on."""

import pytest

from recombine.base.errors import ColumnError, SettingError
from recombine.data.split_sides import sides_of


def test_usual_names_in_any_case() -> None:
    assert sides_of("split", ["Train", "VAL", "held-out"]) == {
        "Train": "train",
        "VAL": "validation",
        "held-out": "test",
    }


def test_values_of_no_side_are_left_out() -> None:
    assert sides_of("split", ["train", "extra"]) == {"train": "train"}


def test_named_sides_replace_the_usual_names() -> None:
    """A column whose `test` is not the test side must not be read as one."""
    assert sides_of("split", ["a", "b", "test"], train=["a"], test=["b"]) == {"a": "train", "b": "test"}


def test_whole_numbers_are_named_as_they_are_written() -> None:
    assert sides_of("fold", [0, 1], train=["0"], test=["1"]) == {0: "train", 1: "test"}


def test_names_that_mean_nothing_are_asked_about() -> None:
    with pytest.raises(ColumnError, match="'combo_seen1'") as caught:
        sides_of("split", ["combo_seen1", "combo_seen2"])
    assert caught.value.instead == "say which of them it is: train=['VALUE'] (--train-side VALUE)"


def test_the_likeliest_name_is_offered_as_the_caller_writes_it() -> None:
    with pytest.raises(ColumnError) as caught:
        sides_of("split", ["Hold-Out!", "Training Set"], option="split=SplitColumn('split', train=[{!r}])")
    assert caught.value.instead == (
        "say which value it is, such as split=SplitColumn('split', train=['Training Set']) "
        "(--train-side 'Training Set')"
    )


def test_a_value_named_as_test_is_not_offered_as_training() -> None:
    with pytest.raises(ColumnError) as caught:
        sides_of("split", ["train_b", "a"], test=["train_b"])
    assert "train=['a'] (--train-side a)" in caught.value.instead
    with pytest.raises(ColumnError) as caught:
        sides_of("split", ["train_b"], test=["train_b"])
    assert caught.value.instead == "give a column that says which rows were trained on"


def test_a_name_that_is_not_there_is_refused_with_the_nearest() -> None:
    with pytest.raises(SettingError, match="'trian'") as caught:
        sides_of("split", ["train", "test"], train=["trian"])
    assert "did you mean 'train'?" in caught.value.instead


def test_a_value_stands_on_one_side() -> None:
    with pytest.raises(SettingError, match="both the train and the test side"):
        sides_of("split", ["a", "b"], train=["a"], test=["a"])


def test_an_empty_column_has_no_training_side() -> None:
    with pytest.raises(ColumnError, match="no value of 'split'"):
        sides_of("split", [])
