"""`fit`: what it takes, what it gives, and what it refuses."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load
from torch import Tensor, nn

from recombine import Donut, HoldOutCombinations
from recombine.base import records
from recombine.base.errors import RecordError, SettingError
from recombine_lab.models import mlp
from recombine_lab.models.model import Model
from recombine_lab.runs.run import Run
from recombine_lab.runs.store import Store
from recombine_lab.tasks.catalogue import TASKS
from recombine_lab.tasks.exposure import Everything, Exposure, HeldOut, Parts, split_of, split_spec
from recombine_lab.tasks.task import Batch, Shapes
from recombine_lab.training.configurations import configurations
from recombine_lab.training.fit import fit
from recombine_lab.training.loop import StepEvent
from recombine_lab.training.pack import signature, train
from recombine_lab.training.recipe import Recipe
from tests.lab.training.toys import SPLIT, Broken, Echo, Memory, Net, Sum, same

ADDITION, MLP = "addition", {"name": "mlp", "hidden": [8]}
RECIPE = {"steps": 12, "lr": 0.01, "batch": 8, "evaluations": 4}


def test_a_run_tells_what_it_was_and_how_it_went() -> None:
    (run,) = fit(ADDITION, SPLIT, MLP, RECIPE)
    assert (run.status, run.reason, run.steps, run.together) == ("finished", None, 12, 1)
    assert run.configuration.model["hidden"] == [8]
    assert run.configuration.recipe["optimiser"] == "adam"
    assert run.configuration.split["factors"] == ["first", "second"]
    assert run.configuration.code == "task 1, split 1, model 1, training 1"
    curve = run.tables["curve"].to_pylist()
    assert {(line["step"], line["part"]) for line in curve} == {
        (step, part) for step in (0, 1, 3, 12) for part in ("train", "seen", "unseen") if (step, part) != (0, "train")
    }
    assert run.metrics["unseen.score"] == curve[-1]["score"]
    cells = run.tables["combinations"].to_pylist()
    last = [line for line in cells if line["step"] == 12 and line["part"] == "unseen"]
    mean = sum(line["count"] * line["error"] for line in last) / sum(line["count"] for line in last)
    assert mean == pytest.approx(run.metrics["unseen.error"])
    shown = {(line["first"], line["second"]) for line in run.tables["support"].to_pylist()}
    assert not shown & {(line["first"], line["second"]) for line in last}
    predictions = run.tables["predictions"].to_pylist()
    assert predictions[0]["error"] == pytest.approx((predictions[0]["target"] - predictions[0]["prediction"]) ** 2)


def test_a_run_is_kept_as_every_result_is(tmp_path: Any) -> None:
    (run,) = fit(ADDITION, SPLIT, MLP, RECIPE)
    run.save(tmp_path / "run")
    assert Run.from_record(records.load(tmp_path / "run", "run")) == run


def test_objects_names_and_mappings_mean_the_same() -> None:
    named = fit(ADDITION, SPLIT, MLP, RECIPE)[0]
    task = TASKS.build(ADDITION)
    split = HoldOutCombinations(task.space.names, test_size=0.25)
    made = fit(task, split, mlp.MLP(hidden=(8,)), Recipe(**RECIPE))[0]
    assert named.configuration == made.configuration
    assert same(named, made)


def test_the_same_seed_gives_the_same_numbers_and_another_others() -> None:
    first, second = fit(ADDITION, SPLIT, MLP, RECIPE, seeds=(3, 4))
    again = fit(ADDITION, SPLIT, MLP, RECIPE, seeds=(3, 4))
    assert same(first, again[0])
    assert same(second, again[1])
    assert first.metrics != second.metrics


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"task": "additon"}, "did you mean 'addition'?"),
        ({"model": "mpl"}, "did you mean 'mlp'?"),
        ({"split": "hold_out_combination"}, "did you mean 'hold_out_combinations'?"),
        ({"task": {"name": ADDITION, "number": 3}}, "has no setting 'number'"),
        ({"model": {"name": "mlp", "hiden": [3]}}, "did you mean 'hidden'?"),
        ({"model": {"name": "mlp", "hidden": "wide"}}, "cannot be made of"),
        ({"model": {"hidden": [3]}}, "a model without a name"),
        ({"split": 7}, "7 is not a split"),
        ({"task": 7}, "7 is not a task"),
        ({"model": object}, "is not a model"),
        ({"seeds": ()}, "seeds=()"),
        ({"seeds": (0, -1)}, "a whole number from 0 on"),
        ({"seeds": 0}, "at least one run"),
        ({"seeds": True}, "seeds=True"),
        ({"seeds": np.array([0.0, 1.0])}, "a whole number from 0 on"),
        ({"seeds": (4, 2, 4)}, "the seed 4 is listed 2 times"),
        ({"store": 7}, "store=7"),
        ({"recipe": []}, "no recipe"),
        ({"recipe": {"steps": 5, "loss": "hinge"}}, "whose targets are values"),
        ({"model": "lstm_seq2seq"}, "tokens"),
        ({"split": "everything", "recipe": {"steps": 5, "patience": 1, "loss": "mse"}}, None),
    ],
)
def test_bad_input_is_refused_in_words(changed: dict[str, Any], words: str | None) -> None:
    given: dict[str, Any] = {"task": ADDITION, "split": SPLIT, "model": MLP, "recipe": RECIPE} | changed
    if words is None:
        assert fit(**given)[0].status == "finished"
        return
    with pytest.raises(SettingError) as refused:
        fit(**given)
    assert words in str(refused.value)


def test_a_split_that_empties_training_is_refused() -> None:
    class All:
        def split(self, table: Any) -> Any:
            yield [], list(range(len(table)))

    with pytest.raises(SettingError, match="leaves nothing to train on"):
        fit(Sum(), All(), Net(), RECIPE)
    with pytest.raises(SettingError, match="its own"):
        fit(Sum(), "own", Net(), RECIPE)


@pytest.mark.parametrize(
    ("sides", "words"),
    [
        (([0, 1, 2, 3], [3, 2, 24]), "2 combinations on both sides"),
        (([0, 1], [25]), "positions from 0 to 24"),
        (([0, -1], [2]), "positions from 0 to 24"),
        (([True] * 25, [2]), "rows that the task does not have"),
    ],
)
def test_what_a_splitter_from_elsewhere_gives_is_checked(sides: Any, words: str) -> None:
    class Elsewhere:
        def split(self, table: Any) -> Any:
            yield sides

    with pytest.raises(SettingError, match=words):
        fit(Sum(), Elsewhere(), Net(), RECIPE)
    with pytest.raises(SettingError, match="gives 1 splits, counted from 0"):
        fit(Sum(), HeldOut(Elsewhere(), fold=1), Net(), RECIPE)


@pytest.mark.parametrize("seeds", [2, np.int64(2), np.arange(2), [0, 1], range(2)])
def test_a_number_of_seeds_means_the_first(seeds: Any) -> None:
    assert [run.seed for run in configurations(ADDITION, SPLIT, MLP, RECIPE, seeds)] == [0, 1]


def test_a_store_is_opened_where_a_place_is_given(tmp_path: Path) -> None:
    (run,) = fit(ADDITION, SPLIT, MLP, RECIPE, store=tmp_path / "runs")
    assert same(fit(ADDITION, SPLIT, MLP, RECIPE, store=str(tmp_path / "runs"))[0], run)
    assert Store.open(tmp_path / "runs").keys() == {run.key}
    assert repr(run).startswith(f"Run({run.key[:8]} addition · mlp · seed 0: finished, unseen.score ")


def test_a_model_that_answers_in_another_shape_is_refused() -> None:
    @dataclass(frozen=True)
    class Wide(Model):
        def build(self, shapes: Shapes) -> nn.Module:
            return nn.Linear(shapes.inputs[0], 3)

    with pytest.raises(SettingError, match=r"answers \(\d+, 3\) where the targets are \(\d+, 1\)"):
        fit(Sum(), SPLIT, Wide(), RECIPE)


def test_things_of_ones_own_are_named_by_their_place_with_a_store_and_without() -> None:
    runs = [fit(Sum(), SPLIT, Net(), RECIPE, store=store)[0] for store in (None, Memory())]
    for run in runs:
        assert run.configuration.task == {
            "name": "tests.lab.training.toys:Sum",
            "values": 5,
            "classes": False,
            "noise": 0.05,
        }
    assert runs[0].key == runs[1].key


def test_what_no_other_process_can_import_works_without_a_store_alone() -> None:
    @dataclass(frozen=True)
    class Inner(Sum):
        pass

    (run,) = fit(Inner(), SPLIT, Net(), RECIPE)
    assert run.configuration.task["values"] == "5"
    assert run.module()(torch.zeros(2, 10)).shape == (2, 1)
    with pytest.raises(SettingError, match="cannot be found again by another process") as refused:
        fit(Inner(), SPLIT, Net(), RECIPE, store=Memory())
    assert "without a store" in refused.value.instead


@pytest.mark.slow
def test_a_run_that_diverges_is_recorded_and_the_others_go_on() -> None:
    rates = [0.01, 1e25, 0.02]
    recipes = [RECIPE | {"optimiser": "sgd", "lr": lr, "evaluations": 3} for lr in rates]
    for together in ("always", "never"):
        runs = fit(ADDITION, SPLIT, MLP, [one | {"together": together} for one in recipes])
        assert [run.status for run in runs] == ["finished", "diverged", "finished"]
        lost = runs[1]
        assert lost.reason is not None
        assert lost.reason.endswith(f"at step {lost.steps}")
        assert all(value is None for value in lost.metrics.values())
        assert len(lost.tables["predictions"]) == 0
        for place in (0, 2):
            (without,) = fit(ADDITION, SPLIT, MLP, recipes[place] | {"together": together})
            assert same(runs[place], without)


def test_a_model_that_raises_is_told_before_anything_is_trained() -> None:
    with pytest.raises(SettingError, match="ArithmeticError: this model is broken"):
        fit(Sum(), SPLIT, Broken(), RECIPE, seeds=(0, 1))


@pytest.mark.slow
def test_training_stops_when_what_is_seen_gets_no_better() -> None:
    common = {"steps": 400, "lr": 0.05, "samples": "every", "batch": None, "evaluations": 20, "patience": 3}
    for together in ("never", "always"):
        runs = fit(Sum(noise=0.0), SPLIT, Net(), common | {"optimiser": "sgd", "together": together}, seeds=(0, 1, 2))
        patient = fit(
            Sum(noise=0.0),
            SPLIT,
            Net(),
            common | {"optimiser": "sgd", "together": together, "patience": 19},
            seeds=(0,),
        )
        assert patient[0].steps == 400
        for run in runs:
            scores = [x["score"] for x in run.tables["curve"].to_pylist() if x["part"] == "seen"]
            stopped = [i for i in range(3, len(scores)) if max(scores[i - 2 : i + 1]) <= max(scores[: i - 2])]
            assert (run.steps < 400) == bool(stopped)
            assert run.reason is None if not stopped else run.reason is not None and "stopped early" in run.reason
            assert not stopped or stopped == [len(scores) - 1]


def test_early_stop_ends_a_run_for_sure() -> None:
    """Nothing is learnt at a rate of nearly nothing: the run ends as soon as patience allows."""
    recipe = {"steps": 100, "lr": 1e-30, "optimiser": "sgd", "evaluations": 10, "patience": 2, "together": "always"}
    runs = fit(Sum(), SPLIT, Net(), recipe, seeds=(0, 1))
    assert [run.steps for run in runs] == [2, 2]


@dataclass(frozen=True)
class OnlyUnseen(Exposure):
    def parts(self, task: Any, *, seed: int) -> Parts:
        whole = Everything().parts(task, seed=seed)
        return Parts(whole.train, {"unseen": whole.train})


def test_early_stop_never_looks_at_what_is_unseen() -> None:
    with pytest.raises(SettingError, match="stops early by the test 'seen'"):
        fit(Sum(), OnlyUnseen(), Net(), RECIPE | {"patience": 1})


def test_callbacks_are_told_of_every_step() -> None:
    moments: list[StepEvent] = []
    runs = fit(Sum(), SPLIT, Net(), RECIPE | {"together": "always"}, seeds=(0, 1), callbacks=[moments.append])
    assert [event.step for event in moments] == list(range(13))
    assert all(len(event.losses) == 2 for event in moments[1:])
    asked = [event.step for event in moments if event.evaluations]
    assert asked == [0, 1, 3, 12]
    assert moments[-1].evaluations[1][1].score == runs[1].metrics["unseen.score"]


def test_tokens_are_learnt_and_scored_as_sentences() -> None:
    recipe = {"steps": 60, "lr": 0.1, "samples": "every", "batch": None}
    (run,) = fit(Echo(), "everything", Net(), recipe)
    assert run.metrics["seen.score"] == 1.0
    assert "prediction" not in run.tables["predictions"].column_names


def test_half_precision_runs_and_is_near() -> None:
    whole = fit(Sum(), SPLIT, Net(), RECIPE | {"steps": 40})[0]
    for together in ("never", "always"):
        half = fit(Sum(), SPLIT, Net(), RECIPE | {"steps": 40, "precision": "bfloat16", "together": together})[0]
        assert half.metrics != whole.metrics
        assert half.metrics["seen.error"] == pytest.approx(whole.metrics["seen.error"], abs=0.1)


def test_a_compiler_that_is_absent_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def without(module: nn.Module) -> Any:
        def call(*_: Tensor) -> Tensor:
            raise RuntimeError("InvalidCxxCompiler: no working C++ compiler found")

        return call

    monkeypatch.setattr(torch, "compile", without)
    with pytest.raises(SettingError, match="install a C\\+\\+ compiler"):
        fit(Sum(), SPLIT, Net(), RECIPE | {"compile": True})


def test_compiling_changes_nothing_but_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the backend that makes no code: what torch captures of a step is the step."""
    compiled = torch.compile
    monkeypatch.setattr(torch, "compile", lambda module: compiled(module, backend="eager"))
    plain, made = (fit(Sum(), SPLIT, Net(), RECIPE | {"compile": way})[0] for way in (False, True))
    assert made.metrics["seen.error"] == pytest.approx(plain.metrics["seen.error"], rel=1e-5)


def test_finished_runs_are_not_trained_again() -> None:
    store = Memory()
    first = fit(ADDITION, SPLIT, MLP, RECIPE, seeds=(0,), store=store)
    told: list[StepEvent] = []
    again = fit(ADDITION, SPLIT, MLP, RECIPE, seeds=(0, 1), store=store, callbacks=[told.append])
    assert again[0] is first[0]
    assert len(store.runs) == 2
    assert max(len(event.losses) for event in told) == 1
    assert store.states == {}


def test_a_model_is_kept_on_demand() -> None:
    store = Memory()
    for together in ("always", "never"):
        (run,) = fit(ADDITION, SPLIT, MLP, RECIPE | {"keep_model": True, "together": together}, store=store)
        tensors = load(store.files[run.key]["model.safetensors"])
        module = nn.Sequential(nn.Flatten(), nn.Linear(18, 8), nn.ReLU(), nn.Linear(8, 1))
        module.load_state_dict(tensors)
        line = run.tables["predictions"].to_pylist()[0]
        task = TASKS.build(ADDITION)
        codes = [[task.space.factors[k].code(line[name]) for k, name in enumerate(("first", "second"))]]
        batch: Batch = task.tensors(codes, seed=0)
        assert module(batch.inputs).item() == pytest.approx(line["prediction"], rel=1e-5)


def test_a_state_of_another_model_is_refused_in_words() -> None:
    store = Memory()
    (small,) = configurations(ADDITION, SPLIT, MLP, RECIPE, seeds=(0,))
    (large,) = configurations(ADDITION, SPLIT, {"name": "mlp", "hidden": [9]}, RECIPE, seeds=(0,))

    def stop(event: StepEvent) -> None:
        if event.step == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train([small], store=store, callbacks=[stop], checkpoint_every=1)
    store.states[large.key] = store.states.pop(small.key)
    with pytest.raises(RecordError) as refused:
        train([large], store=store)
    assert "is of another model" in str(refused.value)
    assert "(8, 18), where the model has (9, 18)" in str(refused.value)
    content, meta = store.states[large.key]
    store.states[large.key] = content[:-20], meta
    with pytest.raises(RecordError, match="cannot be read"):
        train([large], store=store)


def test_what_may_be_trained_as_one() -> None:
    def of(**changed: Any) -> str:
        given: dict[str, Any] = {"task": ADDITION, "split": SPLIT, "model": MLP, "recipe": RECIPE, "seeds": (0,)}
        return signature(configurations(**(given | changed))[0])

    base = of()
    assert of(seeds=(5,)) == base
    assert of(recipe=RECIPE | {"lr": 0.5, "weight_decay": 0.1}) == base
    assert of(model=MLP | {"scale": 0.1}) == base
    assert of(model=MLP | {"hidden": [9]}) != base
    assert of(recipe=RECIPE | {"batch": 9}) != base
    assert of(split="everything") != base


def test_runs_of_several_shapes_come_in_the_order_asked() -> None:
    asked = [
        configurations(ADDITION, SPLIT, {"name": "mlp", "hidden": [width]}, RECIPE, seeds=(seed,))[0]
        for seed in (0, 1)
        for width in (4, 5)
    ]
    assert [run.configuration for run in train(asked, store=None)] == asked


@pytest.mark.parametrize(
    "spec",
    [
        "everything",
        {"name": "hold_out_combinations", "test_size": 0.3, "fold": 2},
        {"name": "donut", "hole": [2, 6]},
        {"name": "combination_k_fold", "n_splits": 3},
    ],
)
def test_a_split_is_found_again_from_its_spec(spec: Any) -> None:
    task = Sum(values=9)
    exposure = split_of(spec, task)
    again = split_of(split_spec(exposure), task)
    tests, found = (one.parts(task, seed=0).tests for one in (exposure, again))
    for name in tests:
        assert torch.equal(tests[name].every(), found[name].every())
    if isinstance(exposure, HeldOut) and exposure.fold:
        assert split_spec(exposure)["fold"] == exposure.fold
    assert isinstance(split_of(Donut(["a", "b"], hole=(2, 6)), task), HeldOut)


def test_an_unseen_part_that_is_empty_has_no_score() -> None:
    class Nothing:
        def split(self, table: Any) -> Any:
            yield list(range(len(table))), []

    (run,) = fit(Sum(), Nothing(), Net(), RECIPE)
    assert run.metrics["unseen.score"] is None
    assert run.metrics["seen.score"] is not None
    assert not any(isinstance(v, float) and math.isnan(v) for v in run.metrics.values())
