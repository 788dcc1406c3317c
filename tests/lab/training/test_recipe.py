"""Recipes say what they mean or are refused; rates and evaluation steps are as computed by hand."""

import math
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recombine.base.errors import SettingError
from recombine_lab.training.recipe import Recipe, evaluation_steps, is_constant, rate, recipe_of


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"steps": 0}, "steps=0"),
        ({"steps": 1.5}, "steps=1.5"),
        ({"steps": True}, "steps=True"),
        ({"steps": 9, "lr": 0}, "lr=0"),
        ({"steps": 9, "lr": math.nan}, "finite number above 0"),
        ({"steps": 9, "weight_decay": -1}, "from 0.0 on"),
        ({"steps": 9, "clip": 0}, "clip=0"),
        ({"steps": 9, "optimiser": "adamm"}, "did you mean 'adam'?"),
        ({"steps": 9, "loss": "hing"}, "did you mean 'hinge'?"),
        ({"steps": 9, "samples": "all"}, "'every' or None"),
        ({"steps": 9, "momentum": 0.9}, "only optimiser='sgd' uses it"),
        ({"steps": 9, "final_lr": 0.1}, "only schedule='cosine' uses it"),
        ({"steps": 9, "decay": 0.5}, "only schedule='staircase' uses it"),
        ({"steps": 9, "batch": None}, "need a set of examples"),
        ({"steps": 9, "warmup": 10}, "training would end before"),
        ({"steps": 9, "compile": True, "together": "always"}, "compile=True with together='always'"),
        ({"steps": 9, "patience": 0}, "patience=0"),
    ],
)
def test_nonsense_is_refused_in_words(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingError) as refused:
        Recipe(**settings)
    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "steps: Field required"),
        ({"steps": "many"}, "valid integer"),
        ({"steps": 9, "learning_rate": 1}, "has no setting 'learning_rate'"),
        ({"steps": 9, "optimizer": "sgd"}, "did you mean 'optimiser'?"),
        (7, "is not a recipe"),
    ],
)
def test_a_mapping_is_checked_as_a_recipe_is(given: Any, words: str) -> None:
    with pytest.raises(SettingError) as refused:
        recipe_of(given)
    assert words in str(refused.value)


def test_document_4s_last_rate() -> None:
    recipe = Recipe(steps=2000, lr=0.01, schedule="staircase", decay=0.96, decay_every=100)
    assert rate(recipe, 2000) == pytest.approx(0.01 * 0.96**20) == pytest.approx(0.00442, abs=5e-6)
    assert rate(recipe, 99) == 0.01
    assert rate(recipe, 100) == pytest.approx(0.0096)


@given(
    st.integers(1, 500),
    st.sampled_from(["constant", "cosine", "staircase"]),
    st.integers(0, 20),
    st.integers(0, 600),
)
def test_a_rate_is_the_product_of_its_parts(steps: int, schedule: Any, warmup: int, step: int) -> None:
    warmup = min(warmup, steps)
    extra: dict[str, Any] = {
        "constant": {},
        "cosine": {"final_lr": 0.01},
        "staircase": {"decay": 0.5, "decay_every": 7},
    }[schedule]
    recipe = Recipe(steps=steps, lr=0.1, schedule=schedule, warmup=warmup, **extra)
    plain = {
        "constant": 0.1,
        "cosine": 0.01 + 0.09 * (0.5 + 0.5 * math.cos(math.pi * min(step, steps) / steps)),
        "staircase": 0.1 * 0.5 ** (step // 7),
    }[schedule]
    rising = (step + 1) / warmup if step < warmup else 1.0
    assert rate(recipe, step) == pytest.approx(plain * rising)
    assert is_constant(recipe) == (schedule == "constant" and warmup == 0)


@given(st.integers(1, 10**6), st.integers(1, 40))
def test_evaluations_begin_before_training_and_end_after_it(steps: int, evaluations: int) -> None:
    found = evaluation_steps(steps, evaluations)
    assert found[-1] == steps
    assert len(found) <= max(evaluations, 1)
    assert list(found) == sorted(set(found))
    assert found[0] == (0 if evaluations > 1 else steps)
    gaps = [math.log(b / a) for a, b in pairwise(found[1:]) if a > evaluations**2]
    assert not gaps or max(gaps) < 2 * min(gaps) + 1e-9
