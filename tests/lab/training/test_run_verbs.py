"""A run gives what belongs to it: the verbs in its own space, equal to what one gets by hand, and its network."""

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import recombine
from recombine.base.errors import RecordError, SettingError
from recombine_lab.runs.run import Run
from recombine_lab.runs.run_files import folder_of
from recombine_lab.runs.store import Store
from recombine_lab.tasks.catalogue import TASKS
from recombine_lab.tasks.table_task import TableTask
from recombine_lab.training.fit import fit
from tests.lab.training.toys import SPLIT, Net, Penalised, Sum

ADDITION, MLP = {"name": "addition", "values": 5}, {"name": "mlp", "hidden": [8]}
RECIPE: dict[str, Any] = {"steps": 12, "lr": 0.01, "samples": "every", "batch": None, "evaluations": 2}
FACTORS = ["first", "second"]


@pytest.fixture(scope="module")
def run() -> Run:
    return fit(ADDITION, "hold_out_combinations", MLP, RECIPE, progress=None)[0]


@pytest.fixture(scope="module")
def ordering() -> Run:
    """A task of classes with combinations that cannot occur: nothing is before itself."""
    return fit("transitive_ordering", "own", MLP, RECIPE, progress=None)[0]


def without_provenance(result: Any) -> Any:
    made = result.record()
    # As text: what is not a number does not equal itself.
    tables = {name: str(table.to_pydict()) for name, table in made.tables.items()}
    return {name: value for name, value in made.to_json().items() if name != "provenance"}, tables


def domain(run: Run) -> dict[str, list[Any]]:
    return {factor.name: list(factor.values) for factor in TASKS.build(run.configuration.task).space.factors}


def impossible(run: Run) -> list[dict[str, Any]]:
    space = TASKS.build(run.configuration.task).space
    return [
        {f.name: f.values[code] for f, code in zip(space.factors, row, strict=True) if code >= 0}
        for row in space.impossible
    ]


def test_an_audit_is_that_of_its_training_examples_in_its_own_space(run, ordering):
    for one in (run, ordering):
        by_hand = recombine.read(
            one.tables["support"], factors=one.factors, weight="count", domain=domain(one), impossible=impossible(one)
        )
        assert without_provenance(one.audit()) == without_provenance(recombine.audit(by_hand))
    space = TASKS.build(ordering.configuration.task).space
    assert ordering.support().space == space
    assert len(space.impossible) == 7


def test_a_value_that_was_never_shown_belongs_to_the_space(run):
    support = run.tables["support"]
    fewer = replace(run, tables={**run.tables, "support": support.slice(0, 2)})
    assert fewer.support().space.sizes == (5, 5)


def test_a_prediction_has_its_targets_its_truth_and_its_loss(run, ordering):
    for one, kind, loss in ((run, "number", "squared"), (ordering, "label", "margin")):
        answers = one.tables["predictions"]
        asked: dict[str, Any] = {
            "factors": one.factors, "target": "target", "target_kind": kind,
            "domain": domain(one), "impossible": impossible(one),
        }  # fmt: skip
        taught = recombine.read(answers, where="part = 'seen'", **asked)
        by_hand = recombine.predict(
            taught, fit=recombine.FitSettings(loss=loss), truth=recombine.read(answers, **asked)
        )
        assert without_provenance(one.predict()) == without_provenance(by_hand)
    other = run.predict(salience="order:0,1,0")
    assert without_provenance(other) != without_provenance(run.predict())


def test_an_evaluation_is_that_of_its_answers(run, ordering):
    for one, kind in ((run, "number"), (ordering, "label")):
        by_hand = recombine.evaluate(
            one.tables["predictions"], factors=one.factors, target="target", prediction="prediction", target_kind=kind,
            train=one.tables["support"], domain=domain(one), impossible=impossible(one),
        )  # fmt: skip
        assert without_provenance(one.evaluate()) == without_provenance(by_hand)
    assert run.evaluate(intervals=recombine.IntervalSettings(draws=200)).record() != run.evaluate().record()


def test_answers_that_are_sentences_are_evaluated_by_their_errors():
    model = {"name": "transformer_seq2seq", "width": 8, "layers": 1, "heads": 1}
    recipe = {"steps": 1, "batch": 4, "test_samples": 20, "evaluations": 1}
    (run,) = fit({"name": "scan"}, "own", model, recipe, progress=None)
    assert run.evaluate(causes=False).record().kind == "evaluation"
    with pytest.raises(SettingError, match="have no column 'target'") as error:
        run.predict()
    assert "run.evaluate()" in error.value.instead


def test_a_run_without_answers_says_so():
    (run,) = fit(ADDITION, SPLIT, MLP, RECIPE | {"lr": 1e30, "optimiser": "sgd"}, progress=None)
    assert run.status == "diverged"
    with pytest.raises(SettingError, match="has no answers") as error:
        run.evaluate()
    assert error.value.why.startswith("it diverged: ")
    assert run.audit().record().kind == "audit"


def test_all_of_it_comes_back_from_a_store(ordering, tmp_path):
    store = Store.open(tmp_path / "runs")
    store.put(ordering)
    again = store.get(ordering.key)
    assert again == ordering
    assert again.domain == ordering.domain
    assert without_provenance(again.audit()) == without_provenance(ordering.audit())
    assert Run.load(store.copy(ordering.key, tmp_path / "copy")).support().space == ordering.support().space


def test_a_run_of_an_earlier_version_takes_the_values_of_its_tables(run):
    earlier = replace(run, domain=None)
    with pytest.warns(UserWarning, match="does not list the values of its factors"):
        assert earlier.support().space.sizes == (5, 5)


def test_a_score_of_nothing_is_a_score(run):
    told = replace(run, metrics={"seen.score": 0.5, "unseen.score": 0.0, "other.score": None})
    assert told.verdict == "mlp on addition finished after 12 steps: seen.score 0.5, unseen.score 0."


# The network


@pytest.mark.parametrize("together", ["always", "never"])
def test_the_network_gives_the_answers_of_the_run(together, tmp_path):
    store = Store.open(tmp_path / "runs")
    recipe = RECIPE | {"keep_model": True, "together": together}
    kept, alone = (fit(ADDITION, SPLIT, MLP, recipe, store=place, progress=None)[0] for place in (store, None))
    loaded = Run.load(store.copy(kept.key, tmp_path / "copy"))
    task = TASKS.build(ADDITION)
    line = kept.tables["predictions"].slice(0, 1).to_pylist()[0]
    codes = [[factor.code(line[factor.name]) for factor in task.space.factors]]
    for run in (kept, alone, store.get(kept.key), loaded, pickle.loads(pickle.dumps(kept))):
        module = run.module()
        assert not module.training
        with torch.no_grad():
            assert module(task.tensors(codes, seed=0).inputs).item() == pytest.approx(line["prediction"], rel=1e-5)


def test_weights_that_were_not_kept():
    (run,) = fit(ADDITION, SPLIT, MLP, RECIPE | {"keep_model": False}, progress=None)
    with pytest.raises(SettingError, match="were not kept") as error:
        run.module()
    assert "keep_model=True" in error.value.instead


def test_the_network_of_ones_own_model_is_there_again(tmp_path):
    (run,) = fit(Sum(), SPLIT, Net(), RECIPE, store=tmp_path / "runs", progress=None)
    assert isinstance(Store.open(tmp_path / "runs").get(run.key).module(), Penalised)


def test_weights_that_were_damaged_are_refused(tmp_path):
    store = Store.open(tmp_path / "runs")
    (run,) = fit(ADDITION, SPLIT, MLP, RECIPE | {"keep_model": True}, store=store, progress=None)
    copy = store.copy(run.key, tmp_path / "copy")
    for place, load in (
        (Path(store.place) / folder_of(run.key), lambda: store.get(run.key)),
        (copy, lambda: Run.load(copy)),
    ):
        file = place / "model.safetensors"
        file.write_bytes(file.read_bytes()[::-1])
        with pytest.raises(RecordError, match=r"model\.safetensors' is damaged"):
            load().module()


# Classes


@pytest.fixture(scope="module")
def named() -> tuple[TableTask, Run]:
    """A task of a table whose target is a column of names; of two rows of a combination one is asked as seen."""
    rng = np.random.default_rng(0)
    a, b = (np.tile(column.ravel(), 2) for column in np.meshgrid(range(4), range(4)))
    kinds = np.array(["cat", "dog", "owl"])
    source = {"a": a, "b": b, "kind": kinds[(a + b) % 3]}
    task = TableTask(source=source, inputs=rng.normal(size=(32, 3)), factors=("a", "b"), target="kind")
    return task, fit(task, "hold_out_combinations", MLP, RECIPE, progress=None)[0]


def test_class_names_survive_into_a_runs_answers(named):
    task, run = named
    answers = run.tables["predictions"].to_pylist()
    rule = {(a, b): task.classes[code] for (a, b), code in zip(task.every(), task.truth(task.every()), strict=True)}
    assert {line["target"] for line in answers} == {"cat", "dog", "owl"}
    for line in answers:
        assert line["target"] == rule[line["a"], line["b"]]
        assert line["error"] == (line["prediction"] != line["target"])


def test_scores_of_every_class_are_kept_and_the_answer_has_the_largest(named, ordering):
    for run, names in ((named[1], ["cat", "dog", "owl"]), (ordering, ["0", "1"])):
        answers = run.tables["predictions"]
        assert [name for name in answers.column_names if name.startswith("score_")] == [f"score_{n}" for n in names]
        for line in answers.to_pylist():
            assert str(line["prediction"]) == max(names, key=lambda name: line[f"score_{name}"])
        assert run._target_kind(answers) == "label"
        run.predict()
        run.evaluate()


def test_a_regression_keeps_no_scores(run):
    assert not [name for name in run.tables["predictions"].column_names if name.startswith("score")]


def test_classes_that_are_numbers_stay_labels():
    """A column of decimals that is said to be classes is not read as a number afterwards."""
    a, b = (np.tile(column.ravel(), 2) for column in np.meshgrid(range(3), range(3)))
    source = {"a": a, "b": b, "size": np.array([0.5, 1.5])[(a + b) % 2]}
    task = TableTask(
        source=source, inputs=np.tile(np.eye(9), (2, 1)), factors=("a", "b"), target="size", form="classes"
    )
    run = fit(task, "hold_out_combinations", MLP, RECIPE, progress=None)[0]
    assert set(run.tables["predictions"]["target"].to_pylist()) == {0.5, 1.5}
    assert {"score_0.5", "score_1.5"} <= set(run.tables["predictions"].column_names)
    assert run._target_kind(run.tables["predictions"]) == "label"


def test_a_factor_of_that_name_comes_before_a_score():
    a, b = (column.ravel() for column in np.meshgrid(range(3), range(3)))
    source = {"score_x": a, "b": b, "kind": np.array(["x", "y"])[(a + b) % 2]}
    task = TableTask(source=source, inputs=np.eye(9), factors=("score_x", "b"), target="kind")
    run = fit(task, "hold_out_combinations", MLP, RECIPE, progress=None)[0]
    answers = run.tables["predictions"]
    assert set(answers["score_x"].to_pylist()) <= {0, 1, 2}
    assert "score_y" not in answers.column_names
