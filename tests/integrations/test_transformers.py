"""The real Trainer with a tiny BERT and a tiny ViT: whole and batched metrics, the callback, and rows out of order."""

import warnings

import numpy as np
import pytest

pytest.importorskip("accelerate", reason="the Trainer needs accelerate")
datasets = pytest.importorskip("datasets")
transformers = pytest.importorskip("transformers")

from recombine.integrations.transformers import ScoreboardCallback, compute_metrics  # noqa: E402
from tests.integrations import worlds  # noqa: E402


def trainer(folder, ours, kind: str = "sentences", rows=worlds.EVAL, **given):
    settings = {"report_to": [], "disable_tqdm": True, "use_cpu": True, "save_strategy": "no", "max_steps": 4}
    transformers.set_seed(0)
    named = {name: given.pop(name) for name in ("callbacks", "eval_dataset", "train_dataset") if name in given}
    return transformers.Trainer(
        model=worlds.bert() if kind == "sentences" else worlds.vit(),
        args=transformers.TrainingArguments(str(folder), **(settings | given)),
        compute_metrics=compute_metrics(ours),
        **{"train_dataset": worlds.Rows(worlds.TRAIN, kind), "eval_dataset": worlds.Rows(rows, kind)} | named,
    )


def answers(made, rows) -> list[int]:
    return made.predict(rows).predictions.argmax(axis=1).tolist()


@pytest.mark.parametrize("kind", ["sentences", "pictures"])
@pytest.mark.parametrize("batched", [False, True])
def test_metrics_are_the_evaluations(tmp_path, kind, batched):
    ours = worlds.board()
    made = trainer(tmp_path, ours, kind, batch_eval_metrics=batched, per_device_eval_batch_size=40)
    made.train()
    found = made.evaluate()
    expected = worlds.whole(answers(trainer_without(made), worlds.Rows(worlds.EVAL, kind)))
    assert {name: found[f"eval_{name}"] for name in expected} == pytest.approx(expected, abs=1e-12)
    assert {f"eval_{name}" for name, value in ours.compute().items() if np.isfinite(value)} <= set(found)


def trainer_without(made):
    """The same trainer, asked for answers alone."""
    made.compute_metrics = None
    return made


def test_factors_survive_the_removal_of_unused_columns(tmp_path):
    rows = [worlds.Rows(worlds.EVAL, "sentences")[place] for place in range(len(worlds.EVAL["label"]))]
    columns = {name: [row[name].tolist() for row in rows] for name in ("input_ids", "labels")}
    data = datasets.Dataset.from_dict(columns | worlds.EVAL | {"label": worlds.EVAL["label"]}).remove_columns("label")
    made = trainer(tmp_path, worlds.board(), eval_dataset=data, remove_unused_columns=True)
    assert np.isfinite(made.evaluate()["eval_unseen_accuracy"])


def test_the_callback_knows_step_and_epoch_and_writes_the_page(tmp_path):
    ours = worlds.board()
    page = tmp_path / "board.html"
    made = trainer(
        tmp_path / "out",
        ours,
        callbacks=[ScoreboardCallback(ours, page=page)],
        eval_strategy="steps",
        eval_steps=2,
        logging_steps=2,
    )
    made.train()
    assert ours.history["step"].to_pylist() == [2, 4]
    assert all(epoch > 0 for epoch in ours.history["epoch"].to_pylist())
    assert "Over training" in page.read_text()


@pytest.mark.parametrize("metric", ["unseen_accuracy", "novel_accuracy"])
def test_the_best_model_can_be_chosen_by_it(tmp_path, metric):
    """By a score that is not known none is the best, and training goes on."""
    ours = worlds.board()
    made = trainer(
        tmp_path,
        ours,
        eval_strategy="steps",
        eval_steps=2,
        save_strategy="steps",
        save_steps=2,
        load_best_model_at_end=True,
        metric_for_best_model=metric,
    )
    made.train()
    found = [value for value in ours.history[metric].to_pylist() if np.isfinite(value)]
    assert made.state.best_metric == pytest.approx(max(found, default=-np.inf))
    assert made.state.global_step == 4


def test_rows_in_another_order_are_noticed(tmp_path):
    other = {name: column[::-1] for name, column in worlds.EVAL.items()}
    made = trainer(tmp_path, worlds.board(), rows=other)
    with pytest.warns(UserWarning, match="another truth in the table"):
        assert "eval_gap" not in made.evaluate()


@pytest.mark.parametrize("batched", [False, True])
@pytest.mark.parametrize("scored", [["long"], ["short"], ["long", "short"], ["long", "twin", "short"]])
def test_a_dict_of_eval_sets(tmp_path, scored, batched):
    """Each set is scored by its own scoreboard, and a set without one is told of once."""
    sets = {"long": worlds.EVAL, "short": worlds.table(60, 7, unseen=True)}
    sets |= {"twin": worlds.EVAL} if "twin" in scored else {}
    boards = {name: worlds.board(sets[name]) for name in scored}
    one = boards[scored[0]] if len(scored) == 1 else boards
    steps = {"eval_strategy": "steps", "eval_steps": 1, "max_steps": 2}
    data = {name: worlds.Rows(rows, "sentences") for name, rows in sets.items()}
    made = trainer(tmp_path, one, eval_dataset=data, batch_eval_metrics=batched, **steps)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        made.train()
    told = [str(line.message) for line in caught if "leaves this out" in str(line.message)]
    assert len(told) == (len(sets) > len(scored))
    logged = {name for line in made.state.log_history for name in line if name.endswith("_unseen_accuracy")}
    assert logged == {f"eval_{name}_unseen_accuracy" for name in scored}
    assert [board.history.num_rows for board in boards.values()] == [2] * len(boards)


def test_rows_that_are_missing_are_told_and_the_next_evaluation_begins_anew(tmp_path):
    ours = worlds.board()
    made = trainer(tmp_path, ours)
    few = {name: column[:50] for name, column in worlds.EVAL.items()}
    with pytest.warns(UserWarning, match="46 of 96 rows have no answer yet"):
        made.evaluate(worlds.Rows(few, "sentences"))
    assert "eval_gap" in made.evaluate()
