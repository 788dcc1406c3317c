"""Arrays in memory or on a device: the same code for NumPy and for torch, which is loaded when it is asked for.

Legend used in this room: n training rows, m other rows, d inputs, q outputs, k factors, c combinations.
"""

from importlib import import_module
from typing import Any

import numpy as np

from recombine.algebra.groups import Numbers
from recombine.errors import SettingError, TableError
from recombine.theory.learner import SHARE, installed

_NUMBER = 8  # bytes
_AT_ONCE = 4
"""Matrices that stand beside the kernels: products, angles, one on the way, and a factor. Asked rows double it all."""


def placed(array: Numbers, device: str | None) -> Any:
    """The array itself, or a copy of it on a device, by torch."""
    if device is None:
        return array
    torch = _torch(device)
    try:
        return torch.as_tensor(array, device=device)
    except (RuntimeError, AssertionError) as error:
        raise SettingError(
            f"device={device!r}",
            why=f"torch cannot use it: {str(error).splitlines()[0]}",
            instead="write device='cpu', or leave it out",
        ) from error


def _torch(device: str) -> Any:
    try:
        return import_module("torch")
    except ModuleNotFoundError as error:
        raise SettingError(
            f"device={device!r}",
            why="arrays are moved by PyTorch, which is not installed",
            instead="pip install 'recombine[train]', or leave device out",
        ) from error


def library(array: Any) -> Any:
    """NumPy, or torch for its tensors: the names that are used here are the same in both."""
    return np if isinstance(array, np.ndarray) else import_module("torch")


def fetched(array: Any) -> Numbers:
    """Back to NumPy."""
    return array if isinstance(array, np.ndarray) else np.asarray(array.cpu().numpy())


def refuse_too_large(rows: int, *, kernels: int = 1) -> None:
    """Refuse kernels that would not fit into half of the memory, before any of them is written."""
    needed = float(_NUMBER * (_AT_ONCE + kernels)) * rows * rows * 2
    room = SHARE * installed()
    if needed > room:
        fits = int((room / (_NUMBER * (_AT_ONCE + kernels) * 2)) ** 0.5) // 1000 * 1000
        raise TableError(
            f"a kernel of {rows:,} rows",
            why=f"it would take about {needed / 1e9:,.1f} GB of memory, and may take {room / 1e9:,.1f} GB here",
            instead=f"take fewer rows, drawn within each combination: rows={max(fits, 1000)} (--rows)",
        )
