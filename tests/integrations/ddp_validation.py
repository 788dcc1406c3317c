"""Two processes validate one model on gloo; each writes what it logged. Run by test_lightning.py."""

import json
import sys
from pathlib import Path

import lightning.pytorch as pl
import torch
from torch.utils.data import DataLoader

sys.path.insert(0, str(Path(__file__).parents[2]))
from recombine.integrations.lightning import ScoreboardCallback
from tests.integrations import worlds
from tests.integrations.test_lightning import Classifier, odd

if __name__ == "__main__":
    torch.set_num_threads(1)
    folder, processes = Path(sys.argv[1]), int(sys.argv[2])
    pl.seed_everything(0, verbose=False)
    model = Classifier()
    board = worlds.board(odd())
    quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False}
    trainer = pl.Trainer(
        accelerator="cpu",
        devices=processes,
        strategy="ddp" if processes > 1 else "auto",
        max_epochs=1,
        callbacks=[ScoreboardCallback(board)],
        enable_model_summary=False,
        **quiet,
    )
    loader = DataLoader(worlds.Rows(odd(), "pictures"), batch_size=8)
    trainer.validate(model, loader, verbose=False)
    found = {name: float(value) for name, value in trainer.callback_metrics.items()}
    (folder / f"{processes}-{trainer.global_rank}.json").write_text(json.dumps(found))
    trainer.fit(model, DataLoader(worlds.Rows(worlds.TRAIN, "pictures"), batch_size=16), loader)
    assert board.history.num_rows == 2
