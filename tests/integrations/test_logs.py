"""NaN stays out of every log: what each trainer and tracker was given holds the known scores, and no others."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from tests.integrations import worlds

pytest.importorskip("keras")
pytest.importorskip("lightning.pytorch")
pytest.importorskip("torchmetrics")
pytest.importorskip("transformers")
pytest.importorskip("mlflow")
pytest.importorskip("wandb")

ANSWERS = torch.tensor([worlds.CLASSES.index(label) for label in worlds.EVAL["label"]])


def transformers(board) -> dict:
    from recombine.integrations.transformers import compute_metrics  # noqa: PLC0415

    return compute_metrics(board)(SimpleNamespace(predictions=ANSWERS.numpy(), label_ids=None))


def keras(board) -> dict:
    from recombine.integrations.keras import ScoreboardCallback  # noqa: PLC0415

    callback, logs = ScoreboardCallback(board, ANSWERS), {}
    callback.set_model(SimpleNamespace(predict=lambda x, **_: x))
    callback.on_epoch_end(0, logs)
    return logs


def lightning(board) -> dict:
    from recombine.integrations.lightning import ScoreboardCallback  # noqa: PLC0415

    logs: dict = {}
    trainer = SimpleNamespace(
        sanity_checking=False,
        fast_dev_run=False,
        world_size=1,
        global_step=1,
        current_epoch=1,
        val_dataloaders=[None],
        state=SimpleNamespace(fn="validate"),
    )
    module = SimpleNamespace(log_dict=lambda scores, **_: logs.update(scores))
    callback = ScoreboardCallback(board)
    callback.on_validation_epoch_start(trainer, module)
    callback.on_validation_batch_end(trainer, module, {"predictions": ANSWERS}, None, 0)
    callback.on_validation_epoch_end(trainer, module)
    return logs


def torchmetrics(board) -> dict:
    from recombine.integrations.torchmetrics import ScoreboardMetric  # noqa: PLC0415

    metric = ScoreboardMetric(board)
    metric.update(ANSWERS)
    return {name: float(value) for name, value in metric.compute().items()}


def mlflow(board, monkeypatch) -> dict:
    from recombine.integrations import mlflow as ours  # noqa: PLC0415

    logs: dict = {}
    monkeypatch.setattr(ours.mlflow, "log_metrics", lambda scores, **_: logs.update(scores))
    board.score(ANSWERS)
    return ours.log(board) | logs


def wandb(board) -> dict:
    from recombine.integrations.wandb import log  # noqa: PLC0415

    logs: dict = {}
    board.score(ANSWERS)
    log(board, run=SimpleNamespace(log=logs.update))
    return logs


def tensorboard(board) -> dict:
    from recombine.integrations.tensorboard import add_scalars  # noqa: PLC0415

    logs: dict = {}
    board.score(ANSWERS)
    add_scalars(SimpleNamespace(add_scalar=lambda name, value, _: logs.update({name: value})), board)
    return logs


@pytest.mark.parametrize("log", [transformers, keras, lightning, torchmetrics, mlflow, wandb, tensorboard])
def test_no_log_holds_nan(log, monkeypatch):
    board = worlds.board()
    logs = log(board, monkeypatch) if log is mlflow else log(board)
    expected = board.compute()
    assert math.isnan(expected["novel_accuracy"])  # there are no novel combinations
    assert any(name.endswith("unseen_accuracy") for name in logs)
    assert len(logs) - ("recombine/step" in logs) == np.isfinite(list(expected.values())).sum()
    assert all(math.isfinite(value) for value in logs.values())
