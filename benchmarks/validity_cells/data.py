"""What a cell is made of: rows that were seen, fresh rows of seen combinations, rows of unseen combinations."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Kind = Literal["label", "number"]


@dataclass(frozen=True, eq=False)
class Rows:
    """n rows: inputs (n, …), targets (n,) or (n, outputs), codes (n, factors)."""

    inputs: Array
    target: Array
    codes: Array

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, places: Any) -> "Rows":
        return Rows(self.inputs[places], self.target[places], self.codes[places])

    @cached_property
    def flat(self) -> Array:
        """The inputs as one vector each."""
        return self.inputs.reshape(len(self), -1)


@dataclass(frozen=True, eq=False)
class Data:
    """The rows of a cell. `sizes` says how many values each factor has; `classes` how many labels there are."""

    seen: Rows
    fresh: Rows
    unseen: Rows
    sizes: tuple[int, ...]
    classes: int | None

    @property
    def kind(self) -> Kind:
        """Whether the target is a label or a number (or several)."""
        return "number" if self.classes is None else "label"

    def arrays(self) -> dict[str, Array]:
        """As an npz file holds them."""
        parts = {"seen": self.seen, "fresh": self.fresh, "unseen": self.unseen}
        found: dict[str, Array] = {"shape": np.array(self.seen.inputs.shape[1:]), "sizes": np.array(self.sizes)}
        for name, rows in parts.items():
            found |= {f"{name}_inputs": rows.flat, f"{name}_target": rows.target, f"{name}_codes": rows.codes}
        return found


def data_of(seen: Rows, fresh: Rows, unseen: Rows, *, label: bool) -> Data:
    """Rows as one cell's data, in the types that training takes."""
    parts = [_typed(rows, label=label) for rows in (seen, fresh, unseen)]
    sizes = tuple(int(size) for size in np.max([rows.codes.max(axis=0) for rows in parts], axis=0) + 1)
    classes = int(max(rows.target.max() for rows in parts)) + 1 if label else None
    return Data(*parts, sizes=sizes, classes=classes)


def _typed(rows: Rows, *, label: bool) -> Rows:
    target = rows.target.astype(np.int64 if label else np.float32)
    return Rows(np.ascontiguousarray(rows.inputs, dtype=np.float32), target, rows.codes.astype(np.int64))


def keys(codes: Array, sizes: tuple[int, ...]) -> Array:
    """A number for each combination (n,)."""
    return np.ravel_multi_index(tuple(codes.T), sizes)


def rows_evenly(codes: Array, n: int, rng: np.random.Generator) -> Array:
    """n codes, each of the given combinations as often as every other (give or take one)."""
    order = rng.permutation(len(codes))
    return codes[np.resize(order, n)]
