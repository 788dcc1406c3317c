"""Trained networks with what happened: cells of the bench of forecasts, one seed each, kept as safetensors."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import nn

import recombine_lab
from recombine_lab.tasks.exposure import Own
from validity_cells.cell import Cell
from validity_cells.data import Data
from validity_cells.train import Given

GROUPS = ("points", "table", "symbols")
SLOW = "rich 1"
"""From small weights a network on symbols takes minutes; all others take seconds."""


@dataclass(frozen=True, eq=False)
class Trained:
    """A network, the rows that it was shown and asked about, and how it did."""

    cell: Cell
    data: Data
    module: nn.Module
    seen: float
    unseen: float


def chosen(cells: list[Cell]) -> list[Cell]:
    """Cells whose networks are trained in seconds, and whose inputs are vectors."""
    return [one for one in cells if one.group in GROUPS and not (one.group == "symbols" and one.learner == SLOW)]


def trained(cell: Cell, folder: Path) -> Trained:
    """The cell's network: from the folder where it lies there, else trained and kept."""
    data = cell.make()
    weights, scores = folder / f"{cell.file}.safetensors", folder / f"{cell.file}.json"
    module: nn.Module
    if weights.exists() and scores.exists():
        said = json.loads(scores.read_text())
        module = cell.model.build(Given(data).shapes)
        module.load_state_dict(load_file(weights))
    else:
        run = recombine_lab.fit(Given(data), Own(), cell.model, cell.recipe, seeds=1, progress=None)[0]
        module = run.module()
        said = {part: float(run.metrics[f"{part}.score"] or np.nan) for part in ("seen", "unseen")}
        folder.mkdir(parents=True, exist_ok=True)
        save_file({name: value.contiguous() for name, value in module.state_dict().items()}, weights)
        scores.write_text(json.dumps(said))
    return Trained(cell, data, module.eval(), said["seen"], said["unseen"])


def grid_rows(data: Data) -> tuple[torch.Tensor, dict[str, list[int]], np.ndarray, np.ndarray]:
    """Rows of seen and unseen combinations: inputs, factors, which were seen, targets."""
    parts = (data.fresh, data.unseen)
    inputs = torch.from_numpy(np.concatenate([rows.inputs for rows in parts]))
    codes = np.concatenate([rows.codes for rows in parts])
    seen = np.repeat([True, False], [len(rows) for rows in parts])
    table = {f"factor {k}": codes[:, k].tolist() for k in range(codes.shape[1])}
    return inputs, table, seen, np.concatenate([rows.target for rows in parts])


Numbers = dict[str, float | None]
Probing = Callable[[Trained], Numbers]
