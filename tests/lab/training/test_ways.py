"""Runs that are trained as one get the numbers that each gets alone, whoever is trained with them."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from recombine.base.errors import SettingError
from recombine_lab.training import pack
from recombine_lab.training.configurations import describe_thing
from recombine_lab.training.fit import fit
from recombine_lab.training.learners import LANES
from recombine_lab.training.pack import notes
from tests.lab.training.toys import SPLIT, Net, Sum, errors, same
from tests.properties import examples

STEPS = 25
RECIPES: dict[str, dict[str, Any]] = {
    "sgd": {"optimiser": "sgd", "lr": 0.05},
    "momentum": {"optimiser": "sgd", "lr": 0.02, "momentum": 0.9, "weight_decay": 0.01},
    "adam": {"lr": 0.01, "weight_decay": 0.01},
    "adamw": {"optimiser": "adamw", "lr": 0.01, "weight_decay": 0.1},
    "clip": {"optimiser": "sgd", "lr": 0.1, "clip": 0.1},
    "cosine": {"lr": 0.02, "schedule": "cosine", "final_lr": 0.001, "warmup": 5},
    "staircase": {"optimiser": "sgd", "lr": 0.1, "schedule": "staircase", "decay": 0.5, "decay_every": 7},
    "set": {"lr": 0.01, "samples": 30, "batch": 7},
    "whole": {"lr": 0.01, "samples": "every", "batch": None},
}


def _fit(
    recipe: Any,
    *,
    seeds: Any = (0, 1, 2),
    task: Any = Sum(),  # noqa: B008
    model: Any = Net(),  # noqa: B008
    split: Any = SPLIT,
) -> Any:
    return fit(task, split, model, recipe, seeds=seeds, progress=None)


@pytest.mark.parametrize("name", RECIPES)
def test_together_equals_one_by_one(name: str) -> None:
    common = {"steps": STEPS, "batch": 8, "evaluations": 3, **RECIPES[name]}
    alone = _fit(common | {"together": "never"})
    together = _fit(common | {"together": "always"})
    assert [run.together for run in alone] == [1, 1, 1]
    assert [run.together for run in together] == [3, 3, 3]
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_allclose(errors(one), errors(other), rtol=1e-3, atol=1e-5)
        assert one.tables["support"].equals(other.tables["support"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "model"),
    [(Sum(classes=True), Net()), (Sum(), Net(penalty=0.1)), (Sum(classes=True), Net(activation="Sigmoid"))],
)
def test_classes_penalties_and_other_activations_too(task: Sum, model: Net) -> None:
    runs = [
        _fit({"steps": STEPS, "lr": 0.01, "together": together}, task=task, model=model)
        for together in ("never", "always")
    ]
    for one, other in zip(*runs, strict=True):
        assert one.metrics["unseen.loss"] == pytest.approx(other.metrics["unseen.loss"], rel=1e-4)
    plain = _fit({"steps": STEPS, "lr": 0.01, "together": "always"}, task=task)
    assert plain[0].metrics["unseen.loss"] != pytest.approx(runs[1][0].metrics["unseen.loss"]) or model == Net()


def test_rates_of_its_own_for_each_run() -> None:
    rates = [0.001, 0.01, 0.1]
    recipes = [{"steps": STEPS, "optimiser": "sgd", "lr": lr, "weight_decay": lr, "momentum": lr} for lr in rates]
    together = _fit([one | {"together": "always"} for one in recipes], seeds=(0, 1))
    assert [(run.configuration.recipe["lr"], run.configuration.seed) for run in together] == [
        (lr, seed) for lr in rates for seed in (0, 1)
    ]
    assert all(run.together == 6 for run in together)
    alone = _fit([one | {"together": "never"} for one in recipes], seeds=(0, 1))
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_allclose(errors(one), errors(other), rtol=1e-3, atol=1e-5)


@pytest.mark.slow
@given(
    st.permutations(range(6)).flatmap(lambda order: st.integers(1, 6).map(lambda size: order[:size])),
    st.sampled_from(["ReLU", "Tanh", "GELU", "Sigmoid", "SiLU", "Softplus", "ELU"]),
    st.integers(1, 9),
    st.booleans(),
)
@examples(10)
def test_a_runs_bits_do_not_depend_on_its_company(seeds: Any, activation: str, hidden: int, classes: bool) -> None:
    task, model = Sum(values=3, classes=classes), Net(hidden=hidden, activation=activation)
    recipe = {"steps": 6, "lr": 0.05, "batch": 5, "clip": 0.5, "evaluations": 2, "together": "always"}
    given = {"task": task, "model": model, "split": "everything"}
    whole = {run.configuration.seed: run for run in _fit(recipe, seeds=range(6), **given)}
    for run in _fit(recipe, seeds=tuple(seeds), **given):
        assert same(run, whole[run.configuration.seed])


@pytest.mark.slow
def test_functions_that_round_by_place_are_given_full_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    """The guard of the property above: without it, the same comparison finds a difference."""
    recipe = {"steps": 6, "lr": 0.05, "batch": 7, "evaluations": 2, "together": "always"}
    model = Net(hidden=5, activation="Softplus")

    def differs() -> bool:
        whole = _fit(recipe, seeds=range(9), model=model)
        return any(not same(run, whole[place]) for place, run in enumerate(_fit(recipe, seeds=(0, 1), model=model)))

    assert not differs()
    monkeypatch.setattr("recombine_lab.training.learners._is_even", lambda graph: True)
    if torch.backends.cpu.get_cpu_capability() == "AVX512":
        assert differs()
    assert LANES == 32


@pytest.mark.parametrize("model", [Net(dropout=0.5), Net(norm=True)])
def test_what_cannot_be_batched_goes_alone_without_a_fuss(model: Net) -> None:
    runs = _fit({"steps": 5}, model=model)
    assert [run.together for run in runs] == [1, 1, 1]
    with pytest.raises(SettingError, match="cannot be trained as one"):
        _fit({"steps": 5, "together": "always"}, model=model)


def test_dropout_draws_from_the_runs_seed_and_leaves_torchs_generator_alone() -> None:
    torch.manual_seed(1)
    before = torch.random.get_rng_state()
    first = _fit({"steps": 9}, model=Net(dropout=0.5))
    assert torch.equal(torch.random.get_rng_state(), before)
    torch.manual_seed(2)
    second = _fit({"steps": 9}, model=Net(dropout=0.5))
    assert all(same(a, b) for a, b in zip(first, second, strict=True))
    assert not same(first[0], _fit({"steps": 9}, model=Net(dropout=0.4))[0])


@pytest.mark.slow
def test_the_faster_way_is_measured_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RECOMBINE_CACHE", str(tmp_path))
    counted = []
    seconds = iter([0.009, 0.003])  # of a step of one, and of three as one: as one is faster
    monkeypatch.setattr(pack, "seconds_of", lambda step, rival: counted.append(1) or next(seconds))
    assert [run.together for run in _fit({"steps": 5})] == [3, 3, 3]
    assert len(counted) == 2
    assert [run.together for run in _fit({"steps": 6, "lr": 0.1})] == [3, 3, 3]
    assert [run.together for run in _fit({"steps": 5}, seeds=(0, 1, 2, 3))] == [4, 4, 4, 4]
    assert len(counted) == 2
    (held,) = json.loads(notes().read_text()).values()
    assert held == {"together": True, "seconds_alone": 0.009, "seconds_together": 0.001}


def test_the_slower_way_is_not_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RECOMBINE_CACHE", str(tmp_path))
    seconds = iter([0.009, 0.03])
    monkeypatch.setattr(pack, "seconds_of", lambda step, rival: next(seconds))
    assert [run.together for run in _fit({"steps": 5})] == [1, 1, 1]


def test_a_model_whose_steps_are_long_is_not_traced(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RECOMBINE_CACHE", str(tmp_path))
    monkeypatch.setattr(pack, "seconds_of", lambda step, rival: 2 * rival)
    monkeypatch.setattr(pack, "BatchedLearner", lambda *_, **__: pytest.fail("it was traced"))
    for _ in range(2):
        assert [run.together for run in _fit({"steps": 5})] == [1, 1, 1]
    (held,) = json.loads(notes().read_text()).values()
    assert held == {"together": False, "reason": "a step takes 0.06 s, nearly all of it arithmetic"}


def test_what_is_far_slower_than_its_rival_is_not_measured_to_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock of our own."""
    steps: list[int] = []
    second = 1.0
    monkeypatch.setattr(pack, "time", SimpleNamespace(process_time=lambda: second * len(steps)))
    assert pack.seconds_of(steps.append, rival=0.4) == 1.0
    assert len(steps) == 2
    assert pack.seconds_of(steps.append, rival=0.6) == 1.0
    assert len(steps) == 2 + 4
    second = 1 / 16
    assert pack.seconds_of(steps.append, rival=0.6) == second
    assert len(steps) == 2 + 4 + 10


def test_the_choice_holds_in_another_process() -> None:
    """A thing of one's own that says only where it lies in memory lies elsewhere in each process."""

    class Silent:
        pass

    assert describe_thing(Silent())["repr"].endswith("Silent object>")


@pytest.mark.parametrize("content", ["not json", "[]", '{"x": 1}'])
def test_notes_that_are_torn_are_measured_again(content: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RECOMBINE_CACHE", str(tmp_path))
    notes().write_text(content)
    assert all(run.status == "finished" for run in _fit({"steps": 3}))


def test_a_cache_that_cannot_be_written_costs_nothing_but_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("RECOMBINE_CACHE", str(tmp_path / "file" / "below"))
    assert all(run.status == "finished" for run in _fit({"steps": 3}))


def test_threads_are_the_recipes_and_restored() -> None:
    before = torch.get_num_threads()
    seen = []
    fit(Sum(), SPLIT, Net(), {"steps": 2, "threads": 2}, callbacks=[lambda _: seen.append(torch.get_num_threads())])
    assert set(seen) == {2}
    assert torch.get_num_threads() == before
