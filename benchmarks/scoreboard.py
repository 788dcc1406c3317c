"""What a scoreboard costs per epoch at 10^5 rows and 10^4 combinations, beside a small ViT's evaluation pass.

    python benchmarks/scoreboard.py [--rows 100000] [--repeats 9]

The pass is timed on a part of the rows (it is linear in them), interleaved with the scoreboard so that both meet the
same machine; medians are told. Beside them: a whole `recombine.evaluate` of the same answers, and what fairlearn and
torchmetrics take for the accuracies of all groups alone, where they are installed.
"""

import argparse
import importlib.util
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from transformers import ViTConfig, ViTForImageClassification

import recombine

CLASSES = 10
VALUES = (100, 100)
PART = 512
BATCH = 128


def tables(rows: int) -> tuple[pa.Table, pa.Table]:
    """Two factors with 100 values each: 10^4 combinations, a quarter of them unseen."""
    rng = np.random.default_rng(0)

    def made(count: int, hidden: bool) -> pa.Table:
        codes = np.stack([rng.integers(0, size, 2 * count) for size in VALUES], axis=1)
        if hidden:
            codes = codes[(codes.sum(axis=1) % 4) != 0]
        codes = codes[:count]
        label = (codes[:, 0] // 10 + codes[:, 1] // 10) % CLASSES
        return pa.table({"object": codes[:, 0], "place": codes[:, 1], "label": label})

    return made(rows, True), made(rows, False)


def timed(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def vit() -> torch.nn.Module:
    """A ViT smaller than ViT-Ti: 6 layers of width 192, 64 patches of a picture with 32 × 32 pixels."""
    config = ViTConfig(
        image_size=32,
        patch_size=4,
        hidden_size=192,
        num_hidden_layers=6,
        num_attention_heads=3,
        intermediate_size=768,
        num_labels=CLASSES,
    )
    return ViTForImageClassification(config).eval()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=9)
    given = parser.parse_args()
    torch.set_num_threads(1)
    train, test = tables(given.rows)
    rng = np.random.default_rng(1)
    logits = rng.normal(size=(given.rows, CLASSES)).astype(np.float32)
    logits[np.arange(given.rows), test["label"].to_numpy()] += 2
    made: dict[str, Any] = {}

    def build() -> None:
        made["board"] = recombine.Scoreboard(test, factors=["object", "place"], target="label", train=train)

    building = timed(build)
    board, model, pictures = made["board"], vit(), torch.randn(PART, 3, 32, 32)
    batches = [torch.from_numpy(logits[start : start + BATCH]) for start in range(0, given.rows, BATCH)]

    def epoch() -> None:
        board.reset()
        for batch in batches:
            board.update(batch)
        board.compute()

    def passed() -> None:
        with torch.inference_mode():
            for start in range(0, PART, BATCH):
                model(pixel_values=pictures[start : start + BATCH])

    epoch()
    passed()
    ours, theirs, computing = [], [], []
    for _ in range(given.repeats):
        ours.append(timed(epoch))
        board.reset()
        board.update(logits)
        computing.append(timed(board.compute))
        theirs.append(timed(passed) * given.rows / PART)
    said = board.answers()
    how = {"factors": ["object", "place"], "target": "label", "prediction": "prediction", "train": train}
    whole = [timed(lambda: recombine.evaluate(said, causes=False, **how)) for _ in range(2)]
    cost, model_pass = statistics.median(ours), statistics.median(theirs)
    print(
        f"{given.rows:,} rows, {len(board._yardstick.perfect):,} combinations, one thread, medians of {given.repeats}"
    )
    print(f"scoreboard, one epoch ({len(batches)} updates + compute)  {1e3 * cost:9.1f} ms")
    print(f"  compute alone                                  {1e3 * statistics.median(computing):9.1f} ms")
    print(f"ViT's evaluation pass (from {PART} pictures)          {1e3 * model_pass:9.0f} ms")
    print(f"share of the pass                                {100 * cost / model_pass:9.3f} %   (at most 2 %)")
    print(f"a whole evaluate, without causes                 {1e3 * statistics.median(whole):9.0f} ms")
    print(f"building the scoreboard, once                    {1e3 * building:9.0f} ms")
    beside(said)
    if cost > 0.02 * model_pass:
        raise SystemExit("the scoreboard takes more than 2 % of the pass")


def beside(said: pa.Table) -> None:
    """What others take for the accuracy of every group, without sides, gap or rules."""
    frame = said.to_pandas()
    if importlib.util.find_spec("fairlearn"):
        from fairlearn.metrics import MetricFrame  # noqa: PLC0415 - where it is installed
        from sklearn.metrics import accuracy_score  # noqa: PLC0415

        truth, answers = frame["label"].astype(str), frame["prediction"]
        features = frame[["object", "place"]]

        def grouped() -> None:
            _ = MetricFrame(metrics=accuracy_score, y_true=truth, y_pred=answers, sensitive_features=features).by_group

        print(f"fairlearn, accuracy by group                     {1e3 * timed(grouped):9.0f} ms")
    if importlib.util.find_spec("torchmetrics"):
        from torchmetrics import Accuracy  # noqa: PLC0415 - where it is installed

        metric = Accuracy(task="multiclass", num_classes=CLASSES)
        answers, truth = (torch.tensor(frame[name].astype(int).to_numpy()) for name in ("prediction", "label"))

        def overall() -> None:
            for start in range(0, len(truth), BATCH):
                metric.update(answers[start : start + BATCH], truth[start : start + BATCH])
            metric.compute()

        print(f"torchmetrics, accuracy over all rows alone       {1e3 * timed(overall):9.0f} ms")


if __name__ == "__main__":
    main()
