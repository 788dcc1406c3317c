"""Do forecasts of the score on unseen combinations come true? Cells that were trained, and what was forecast of each.

python benchmarks/validity.py --train --cache DIR
"""

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np
import torch

from validity_cells.cell import sealed
from validity_cells.listing import cells
from validity_cells.train import train


def train_all(cache: Path) -> None:
    """Train every cell that the cache has no result of; a sealed one's score is written, never printed."""
    torch.set_num_threads(1)
    log = cache / "log.txt"
    closed = sealed(cells())
    for cell in cells():
        folder = cache / "sealed" if cell.name in closed else cache
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"{cell.file}.json"
        if file.exists():
            continue
        started = time.perf_counter()
        data = cell.make()
        about = {
            "name": cell.name,
            "group": cell.group,
            "kind": data.kind,
            "learner": cell.learner,
            "known": cell.known,
        }
        about |= {"model": repr(cell.model), "steps": cell.recipe.steps, "batch": cell.recipe.batch}
        words = {name: np.array(about[name]) for name in ("group", "kind", "learner", "model")}
        found = train(cell, data)
        np.savez_compressed(folder / f"{cell.file}.npz", **data.arrays(), **words)
        file.write_text(json.dumps(about | found, indent=1))
        said = "" if cell.name in closed else f"  seen {_mean(found['seen'])}  unseen {_mean(found['unseen'])}"
        whole = time.perf_counter() - started
        with log.open("a") as lines:
            lines.write(f"{cell.name} | {cell.group} | {found['seconds']:.1f} s a run, {whole:.0f} s in all{said}\n")


def _mean(scores: list[float | None]) -> str:
    kept = [score for score in scores if score is not None]
    return f"{np.mean(kept):.2f}" if kept else "-"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--train", action="store_true")
    parser.add_argument("--cache", type=Path)
    given = parser.parse_args()
    if given.train:
        train_all(given.cache)
    sys.exit(0)
