"""MLflow, Weights & Biases (offline) and TensorBoard: what was logged is read back from the packages' own files."""

import json
from types import SimpleNamespace

import pandas as pd
import pytest

from recombine import RecombineError
from tests.integrations import worlds


def filled():
    board = worlds.board()
    for epoch, wrong in enumerate((40, 20), start=1):
        said = [
            worlds.CLASSES[1 - worlds.CLASSES.index(y)] if k < wrong else y for k, y in enumerate(worlds.EVAL["label"])
        ]
        board.score(said, step=10 * epoch, epoch=epoch)
    return board


@pytest.fixture
def mlflow(tmp_path, monkeypatch):
    found = pytest.importorskip("mlflow")
    pytest.importorskip("mlflow.models.evaluation.base", reason="mlflow-skinny has no evaluation")
    monkeypatch.chdir(tmp_path)
    found.set_tracking_uri(f"sqlite:///{tmp_path / 'mlflow.db'}")
    yield found
    found.set_tracking_uri(None)


@pytest.mark.process
def test_mlflow_in_a_loop(mlflow, tmp_path):
    from recombine.integrations.mlflow import log, log_summary  # noqa: PLC0415

    board = filled()
    with mlflow.start_run() as run:
        log(board)
        log_summary(board)
    kept = mlflow.get_run(run.info.run_id).data.metrics
    assert kept["recombine_unseen_accuracy"] == board.compute()["unseen_accuracy"]
    assert "recombine_novel_accuracy" not in kept  # which was not tested
    combinations = mlflow.load_table("recombine_combinations.json", run_ids=[run.info.run_id])
    assert set(worlds.FACTORS) <= set(combinations.columns)
    page = mlflow.artifacts.load_text(f"{run.info.artifact_uri}/recombine_scoreboard.html")
    assert "Over training" in page


class Model:
    """Always one class, or none where it is asked with the factors it does not know."""

    def predict(self, frame):
        return ["warm" if colour in ("red", "green") else "cold" for colour in frame["colour"]]


@pytest.mark.slow
def test_mlflow_evaluates_by_the_entry_point(mlflow):
    from mlflow.models.evaluation.evaluator_registry import _model_evaluation_registry as registry  # noqa: PLC0415

    from recombine.integrations.mlflow import ScoreboardEvaluator  # noqa: PLC0415

    registry.register("recombine", ScoreboardEvaluator)  # as the entry point does where recombine is installed
    frame = pd.DataFrame(worlds.EVAL)
    settings = {"factors": worlds.FACTORS, "train": pd.DataFrame(worlds.TRAIN)}
    with mlflow.start_run():
        found = mlflow.models.evaluate(
            lambda rows: pd.Series(Model().predict(rows)),
            frame,
            targets="label",
            model_type="classifier",
            evaluators=["recombine"],
            evaluator_config={"recombine": settings},
        )
    places = [worlds.CLASSES.index(label) for label in Model().predict(frame)]
    assert found.metrics["recombine_unseen_accuracy"] == worlds.whole(places)["unseen_accuracy"]
    assert not ScoreboardEvaluator.can_evaluate(model_type="classifier", evaluator_config={})
    with mlflow.start_run(), pytest.raises(RecombineError, match="without 'train'"):
        ScoreboardEvaluator().evaluate(dataset=None, run_id="", evaluator_config={"factors": ["a"]})


def scored(monkeypatch, answers, *, data=None, **settings) -> dict:
    """The metrics of what MLflow made of the data and hands to an evaluator, not logged anywhere."""
    from mlflow.data.evaluation_dataset import EvaluationDataset  # noqa: PLC0415

    from recombine.integrations import mlflow  # noqa: PLC0415

    monkeypatch.setattr(mlflow, "log", lambda board, **_: mlflow.last_scores(board)[1])
    monkeypatch.setattr(mlflow, "log_summary", lambda board, **_: None)
    found = mlflow.ScoreboardEvaluator().evaluate(
        dataset=EvaluationDataset(**({"data": pd.DataFrame(worlds.EVAL), "targets": "label"} | (data or {}))),
        run_id="",
        evaluator_config={"factors": worlds.FACTORS, "train": pd.DataFrame(worlds.TRAIN)} | settings,
        model=SimpleNamespace(predict=lambda _: answers),
    )
    return found.metrics


def test_mlflow_scores_an_array_by_the_names_of_its_features(mlflow, monkeypatch):
    frame = pd.DataFrame(worlds.EVAL)
    array = {
        "data": frame[worlds.FACTORS].to_numpy(),
        "targets": frame["label"].to_numpy(),
        "feature_names": worlds.FACTORS,
    }
    answers = Model().predict(frame)
    assert scored(monkeypatch, answers, data=array, target="label") == scored(monkeypatch, answers)


@pytest.mark.parametrize(
    ("answers", "settings", "words"),
    [
        ([2**70] * 96, {}, "labels of one kind"),
        ([float("nan")] * 96, {}, "are NaN"),
        (None, {}, "an answer is a class"),
        (["warm"], {}, "have no answer yet"),
        (["warm"] * 96, {"target": "colour"}, "a column of the features too"),
        (["warm"] * 96, {"bogus": 1}, "no such setting"),
        (["warm"] * 96, {"data": {"targets": None}}, "true answer is missing"),
        (["warm"] * 96, {"data": {"data": [["red"], ["blue"]], "targets": ["warm", "cold"]}}, "'feature_1'"),
    ],
)
def test_what_mlflow_hands_over_is_refused_in_words(mlflow, monkeypatch, answers, settings, words):
    with pytest.raises(RecombineError) as caught:
        scored(monkeypatch, answers, **settings)
    assert words in str(caught.value)


@pytest.mark.process
def test_weights_and_biases_offline(tmp_path, monkeypatch):
    wandb = pytest.importorskip("wandb")
    from recombine.integrations.wandb import log, log_summary  # noqa: PLC0415

    with pytest.raises(RecombineError, match="no run"):
        log(filled())
    monkeypatch.setenv("WANDB_SILENT", "true")
    board = filled()
    run = wandb.init(mode="offline", project="toy", dir=str(tmp_path))
    log(board)
    log_summary(board)
    assert run.summary["recombine/unseen_accuracy"] == board.compute()["unseen_accuracy"]
    run.finish()
    tables = list(tmp_path.rglob("*.table.json"))
    assert len(tables) == 1
    assert set(worlds.FACTORS) <= set(json.loads(tables[0].read_text())["columns"])
    assert any("Over training" in page.read_text() for page in tmp_path.rglob("*.html"))


def test_tensorboard(tmp_path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator  # noqa: PLC0415
    from torch.utils.tensorboard import SummaryWriter  # noqa: PLC0415

    from recombine.integrations.tensorboard import add_scalars  # noqa: PLC0415

    with pytest.raises(RecombineError, match="nothing to log"):
        add_scalars(None, worlds.board())
    board = filled()
    with SummaryWriter(str(tmp_path)) as writer:
        add_scalars(writer, board)
    events = EventAccumulator(str(tmp_path))
    events.Reload()
    (event,) = events.Scalars("recombine/unseen_accuracy")
    assert (event.step, event.value) == (20, pytest.approx(board.compute()["unseen_accuracy"], abs=1e-6))
