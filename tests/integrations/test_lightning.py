"""The real Lightning with a tiny ViT: validation, test, several loaders, two processes, and what it cannot know."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch.utils.data import DataLoader

pl = pytest.importorskip("lightning.pytorch")

from recombine import RecombineError  # noqa: E402
from recombine.integrations import lightning as ours  # noqa: E402
from recombine.integrations.lightning import ScoreboardCallback  # noqa: E402
from tests.integrations import worlds  # noqa: E402

BOARD = worlds.board()


def odd() -> dict[str, list]:
    """Rows that two processes cannot share evenly."""
    return {name: column[:91] for name, column in worlds.EVAL.items()}


class Classifier(pl.LightningModule):
    def __init__(self, returned: str = "logits") -> None:
        super().__init__()
        self.net, self.returned = worlds.vit(), returned

    def training_step(self, batch, batch_idx):
        return self.net(**batch).loss

    def validation_step(self, batch, batch_idx, dataloader_idx=0):
        made = self.net(pixel_values=batch["pixel_values"], labels=batch["labels"])
        return {"loss": made.loss, "logits": made.logits} if self.returned == "logits" else made.loss

    test_step = validation_step

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


def trainer(callback, **given):
    quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False}
    settings = {"accelerator": "cpu", "max_epochs": 1, "enable_model_summary": False} | quiet
    return pl.Trainer(callbacks=callback if isinstance(callback, list) else [callback], **(settings | given))


def loader(rows=worlds.EVAL, **given):
    return DataLoader(worlds.Rows(rows, "pictures"), **({"batch_size": 16} | given))


def said(model, rows=worlds.EVAL) -> list[int]:
    pixels = torch.stack([one["pixel_values"] for one in map(worlds.Rows(rows, "pictures").__getitem__, range(96))])
    with torch.inference_mode():
        return model.eval().net(pixel_values=pixels).logits.argmax(dim=1).tolist()


def test_validation_and_test_are_the_evaluations():
    pl.seed_everything(0, verbose=False)
    model, board, tested = Classifier(), worlds.board(), worlds.board()
    made = trainer(ScoreboardCallback(board, test=tested))
    made.fit(model, loader(worlds.TRAIN, shuffle=True), loader())
    expected = worlds.whole(said(model))
    assert {name: float(made.callback_metrics[f"val_{name}"]) for name in expected} == pytest.approx(expected, abs=1e-6)
    assert board.history.num_rows == 1  # the sanity check is no validation
    assert board.history["step"].to_pylist() == [16]
    made.test(model, loader(), verbose=False)
    assert float(made.callback_metrics["test_gap"]) == pytest.approx(expected["gap"], abs=1e-6)


def test_several_loaders():
    other = worlds.table(60, 7, unseen=True)
    boards = [worlds.board(), worlds.board(other)]
    pl.seed_everything(0, verbose=False)
    made = trainer(ScoreboardCallback(boards))
    made.validate(Classifier(), [loader(), loader(other)], verbose=False)
    for place, board in enumerate(boards):
        found = float(made.callback_metrics[f"val_unseen_accuracy/dataloader_idx_{place}"])
        assert found == pytest.approx(board.compute()["unseen_accuracy"], abs=1e-6)
    only = trainer(ScoreboardCallback([None, worlds.board(other)]))
    only.validate(Classifier(), [loader(), loader(other)], verbose=False)
    assert "val_gap/dataloader_idx_0" not in only.callback_metrics


def test_ids_in_the_batch_let_a_loader_shuffle():
    class Numbered(worlds.Rows):
        def __getitem__(self, place):
            return super().__getitem__(place) | {"row": place}

    pl.seed_everything(0, verbose=False)
    model, board = Classifier(), worlds.board()
    made = trainer(ScoreboardCallback(board, ids=lambda batch: batch["row"]))
    made.validate(model, DataLoader(Numbered(worlds.EVAL, "pictures"), batch_size=16, shuffle=True), verbose=False)
    expected = worlds.whole(said(model))
    assert float(made.callback_metrics["val_gap"]) == pytest.approx(expected["gap"], abs=1e-6)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"shuffle": True}, "RandomSampler"),
        ({"rows": {name: column[:40] for name, column in worlds.EVAL.items()}}, "56 of 96 rows have no answer yet"),
    ],
)
def test_what_cannot_be_told_apart_is_said(given, words):
    with pytest.raises(RecombineError, match=words):
        trainer(ScoreboardCallback(worlds.board())).validate(Classifier(), loader(**given), verbose=False)


class Untrained(Classifier):
    def training_step(self, batch, batch_idx):
        raise AssertionError("training has begun")


@pytest.mark.parametrize(
    ("limits", "given", "words"),
    [
        ({"limit_val_batches": 2}, {}, "96 in the loader, of which limit_val_batches leaves 32, 96 in the scoreboard"),
        ({"limit_val_batches": 0.5, "num_sanity_val_steps": 0}, {}, "limit_val_batches leaves 48"),
        ({"overfit_batches": 1}, {}, "limit_val_batches leaves 16"),
        ({}, {"batch_size": 20, "drop_last": True}, "drop_last=False"),
        ({}, {"rows": {name: column[:40] for name, column in worlds.EVAL.items()}}, "40 in the loader, 96 in the"),
        ({}, {"shuffle": True}, "RandomSampler"),
    ],
)
def test_what_validation_could_not_score_is_refused_before_training(limits, given, words):
    made = trainer(ScoreboardCallback(worlds.board()), **limits)
    with pytest.raises(RecombineError, match=words):
        made.fit(Untrained(), loader(worlds.TRAIN), loader(**given))
    assert made.global_step == 0


def test_a_limit_of_the_scoreboards_own_rows_works():
    few = {name: column[:32] for name, column in worlds.EVAL.items()}
    board = worlds.board(few)
    made = trainer(ScoreboardCallback(board), limit_val_batches=2)
    made.fit(Classifier(), loader(few), loader())
    assert (board.history.num_rows, made.global_step) == (1, 2)


def test_a_loss_is_no_answer():
    with pytest.raises(RecombineError, match="validation_step returned a Tensor"):
        trainer(ScoreboardCallback(worlds.board())).validate(Classifier("loss"), loader(), verbose=False)
    with pytest.raises(RecombineError, match="validation_step returned a Tensor"):
        trainer(ScoreboardCallback(worlds.board())).fit(Untrained("loss"), loader(), loader())


@pytest.mark.process
def test_two_processes_tell_what_one_tells(tmp_path):
    """91 rows on two processes: the sampler repeats one, which counts once."""
    script = Path(__file__).with_name("ddp_validation.py")
    environment = os.environ | {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo", "MASTER_ADDR": "127.0.0.1"}
    for processes in (1, 2):
        done = subprocess.run(
            [sys.executable, str(script), str(tmp_path), str(processes)],
            capture_output=True,
            text=True,
            timeout=240,
            env=environment,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-3000:]
    alone, *both = (json.loads((tmp_path / name).read_text()) for name in ("1-0.json", "2-0.json", "2-1.json"))
    assert all(one == pytest.approx(alone, nan_ok=True) for one in both)
    assert alone["val_unseen_accuracy"] >= 0


def test_the_entry_point_adds_nothing_unless_asked(monkeypatch):
    monkeypatch.delenv(ours.ASKED, raising=False)
    assert ours.callbacks() == []
    monkeypatch.setenv(ours.ASKED, f"{__name__}:BOARD")
    assert isinstance(ours.callbacks()[0], ScoreboardCallback)
    monkeypatch.setenv(ours.ASKED, "nowhere")
    with pytest.raises(RecombineError, match="package"):
        ours.callbacks()
