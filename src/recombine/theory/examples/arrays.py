"""Arrays in memory or on a device: the same code for NumPy and for the tensors of the package that knows devices.

Legend used in this room: n training rows, m other rows, d inputs, q outputs, k factors, c combinations.
"""

import sys
from typing import Any

import numpy as np

from recombine import plugins
from recombine.algebra.groups import Numbers
from recombine.errors import SettingError, TableError
from recombine.theory.learner import SHARE, installed

_NUMBER = 8  # bytes
_AT_ONCE = 4
"""Matrices that stand beside the kernels: products, angles, one on the way, and a factor. Asked rows double it all."""


def placed(array: Numbers, device: str | None) -> Any:
    """The array itself, or a copy of it on a device, by what the lab brings for that."""
    if device is None:
        return array
    copied = plugins.load("recombine.devices", "torch")
    if copied is None:
        raise SettingError(
            f"device={device!r}",
            why="other devices than the processor are reached through the lab, which is not installed",
            instead=f"{plugins.install_hint('sweep')}, or leave device out",
        )
    return copied(array, device)


def library(array: Any) -> Any:
    """The package that an array is of: NumPy, or torch, whose names for what is used here are the same."""
    return sys.modules[type(array).__module__.partition(".")[0]]


def fetched(array: Any) -> Numbers:
    """Back to NumPy."""
    return array if isinstance(array, np.ndarray) else np.asarray(array.cpu().numpy())


def most_rows(*, kernels: int = 1) -> int:
    """Rows whose kernels fit into half of the memory."""
    return int((SHARE * installed() / (_NUMBER * (_AT_ONCE + kernels) * 2)) ** 0.5)


def refuse_too_large(rows: int, *, kernels: int = 1) -> None:
    """Refuse kernels that would not fit into half of the memory, before any of them is written."""
    if rows > most_rows(kernels=kernels):
        raise TableError(
            f"a kernel of {rows:,} rows",
            why=f"it would take about {gigabytes(rows, kernels=kernels):,.1f} GB of memory, "
            f"and may take {SHARE * installed() / 1e9:,.1f} GB here",
            instead=f"take fewer rows, drawn within each combination: "
            f"rows={max(most_rows(kernels=kernels) // 1000 * 1000, 1000)} (--rows)",
        )


def gigabytes(rows: int, *, kernels: int = 1) -> float:
    """What kernels of so many rows would take."""
    return _NUMBER * (_AT_ONCE + kernels) * 2 * float(rows) ** 2 / 1e9
