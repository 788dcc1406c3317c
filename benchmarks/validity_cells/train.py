"""Train a cell with `recombine.fit`, and say how it did on fresh rows of seen combinations and on unseen ones."""

import time
from typing import Any

import numpy as np
import torch

import recombine_lab
from recombine.data.space import Space
from recombine_lab.tasks.exposure import FiniteSource, Own, Parts
from recombine_lab.tasks.task import Batch, Codes, DiscreteTask, Part, Shapes
from validity_cells.cell import Cell
from validity_cells.data import Array, Data, Rows


class Given(DiscreteTask):
    """A cell's rows as a task. A latent is the codes and the number of the row."""

    def __init__(self, data: Data) -> None:
        self._data = data
        parts = (data.seen, data.fresh, data.unseen)
        self._inputs = torch.from_numpy(np.concatenate([rows.inputs for rows in parts]))
        targets = torch.from_numpy(np.concatenate([rows.target for rows in parts]))
        self._targets = targets.reshape(len(targets), -1) if data.classes is None else targets
        numbers = np.split(np.arange(len(self._inputs)), np.cumsum([len(rows) for rows in parts])[:-1])
        self._sources = [_source(rows, own) for rows, own in zip(parts, numbers, strict=True)]

    @property
    def space(self) -> Space:
        """The factors by number."""
        return Space.of({f"factor {k}": range(size) for k, size in enumerate(self._data.sizes)})

    @property
    def shapes(self) -> Shapes:
        """As the rows are."""
        outputs = (self._data.classes,) if self._data.classes else tuple(self._targets.shape[1:])
        kind = "classes" if self._data.classes else "values"
        return Shapes(inputs=tuple(self._inputs.shape[1:]), outputs=outputs, kind=kind)

    def render(self, latents: torch.Tensor, *, seed: int, part: Part) -> Batch:  # noqa: ARG002 - the rows are fixed
        """The rows of these numbers."""
        rows = latents[:, -1].long()
        return Batch(self._inputs[rows], self._targets[rows])

    def truth(self, combinations: Codes) -> None:
        """None: it is in the rows."""

    def own_parts(self, *, seed: int) -> Parts:  # noqa: ARG002 - the rows are fixed
        """The seen rows, and both sets that are asked about."""
        seen, fresh, unseen = self._sources
        return Parts(seen, {"seen": fresh, "unseen": unseen})


def _source(rows: Rows, numbers: Array) -> FiniteSource:
    return FiniteSource(torch.from_numpy(np.concatenate([rows.codes, numbers[:, None]], axis=1)))


def train(cell: Cell, data: Data) -> dict[str, Any]:
    """Each seed's scores, and the seconds of one run.

    `seen` and `unseen` are accuracies, or R² beside the mean of what was seen, as `Expected` has them;
    `seen_own_mean` and `unseen_own_mean` are the run's own scores, R² beside the mean of the rows asked about.
    """
    started = time.perf_counter()
    runs = recombine_lab.fit(Given(data), Own(), cell.model, cell.recipe, seeds=cell.seeds, progress=None)
    seconds = (time.perf_counter() - started) / cell.seeds
    found: dict[str, Any] = {}
    for part, rows in (("seen", data.fresh), ("unseen", data.unseen)):
        errors = [run.metrics[f"{part}.error"] for run in runs]
        found[part] = [_score(error, rows, data) for error in errors]
        found[f"{part}_own_mean"] = [run.metrics[f"{part}.score"] for run in runs]
    return found | {"seconds": seconds}


def _score(error: float | None, rows: Rows, data: Data) -> float | None:
    if error is None:
        return None
    if data.classes is not None:
        return 1 - error
    return 1 - error / float(np.mean((rows.target - data.seen.target.mean(axis=0)) ** 2))
