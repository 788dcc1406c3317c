"""Decision boundaries over two inputs, as fields that a page draws."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import nn

from recombine.figures import Field
from recombine_lab.models.layers import evaluating, tensor_of
from recombine_lab.probes.influences.answering import answers_in

SIDE = 41


def boundaries(
    modules: Mapping[str, nn.Module],
    *,
    names: tuple[str, str] = ("x1", "x2"),
    x: tuple[float, float] = (-1.0, 1.0),
    y: tuple[float, float] = (-1.0, 1.0),
    points: Sequence[tuple[float, float, int]] = (),
    side: int = SIDE,
) -> tuple[Field, ...]:
    """Where each module of two inputs changes its answer: one picture a module, by its title.

    >>> figure = boundaries({"untrained": nn.Linear(2, 2)}, side=3)[0]
    >>> figure.title, len(figure.cells), len(figure.cells[0])
    ('untrained', 3, 3)
    """
    across, up = np.linspace(*x, side), np.linspace(y[1], y[0], side)  # row 0 is at the top
    grid = torch.from_numpy(np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2)).float()
    return tuple(
        Field(
            title,
            f"The answer at each {names[0]} and {names[1]}; dark is class 1.",
            *names,
            x,
            y,
            tuple(map(tuple, _answers(module, grid).reshape(side, side).tolist())),
            tuple(points),
        )
        for title, module in modules.items()
    )


def _answers(module: nn.Module, grid: torch.Tensor) -> torch.Tensor:
    with evaluating(module), torch.no_grad():
        return answers_in(tensor_of(module(grid), ""), "classes").double()
