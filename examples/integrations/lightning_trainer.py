"""A tiny ViT, trained by Lightning; three lines bring the scores on unseen combinations."""

import lightning.pytorch as pl
import torch
from torch.utils.data import DataLoader
from toy import CLASSES, EVAL, TRAIN, Rows
from transformers import ViTConfig, ViTForImageClassification

from recombine.integrations.lightning import Scoreboard, ScoreboardCallback  # added


class Classifier(pl.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
        self.vit = ViTForImageClassification(ViTConfig(image_size=16, patch_size=4, num_labels=2, **sizes))

    def training_step(self, batch: dict, batch_idx: int) -> torch.Tensor:  # noqa: ARG002
        return self.vit(**batch).loss

    def validation_step(self, batch: dict, batch_idx: int) -> dict:  # noqa: ARG002
        made = self.vit(**batch)
        self.log("val_loss", made.loss)
        return {"loss": made.loss, "logits": made.logits}

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.parameters(), lr=3e-3)


if __name__ == "__main__":
    pl.seed_everything(0, verbose=False)
    board = Scoreboard(EVAL, factors=["colour", "shape"], target="label", train=TRAIN, classes=CLASSES)  # added
    quiet = {
        "logger": False,
        "enable_checkpointing": False,
        "enable_progress_bar": False,
        "enable_model_summary": False,
    }
    trainer = pl.Trainer(
        max_epochs=3,
        accelerator="cpu",
        callbacks=[ScoreboardCallback(board)],  # added
        **quiet,
    )
    loaders = [DataLoader(Rows(rows, "pictures"), batch_size=32, shuffle=rows is TRAIN) for rows in (TRAIN, EVAL)]
    trainer.fit(Classifier(), *loaders)
    found = trainer.callback_metrics
    print({name: round(float(found[f"val_{name}"]), 3) for name in ("seen_accuracy", "unseen_accuracy", "gap")})
    print(board.history.select(["epoch", "step", "seen_accuracy", "unseen_accuracy"]).to_pylist())
