"""The user's own inputs, one for each row of a table: an array, or a file for each row; and checksums of them.

Bytes (uint8) become floats from 0 to 1; other numbers stay what they are, as float32. A fingerprint is equal for equal
contents, so that a run's key changes when the data do.
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import torch
from torch import Tensor

from recombine.errors import ColumnError, SettingError, SourceError, nearest

Array = npt.NDArray[Any]
ARRAYS = (".npy", ".safetensors")
_PIECE = 2**22
MEMORY = "memory:"
"""How a setting begins that stands for something in memory."""


class Inputs(ABC):
    """Inputs by row."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """The shape of one input."""

    @abstractmethod
    def rows(self, places: Array) -> Tensor:
        """The inputs of these rows, as float32."""

    @abstractmethod
    def __len__(self) -> int:
        """How many rows there are."""


@dataclass(frozen=True, eq=False)
class ArrayInputs(Inputs):
    """An array in memory or mapped from a file, whose first axis is the row.

    >>> ArrayInputs(np.array([[0, 255]], dtype=np.uint8)).rows(np.array([0, 0]))
    tensor([[0., 1.],
            [0., 1.]])
    """

    array: Array

    @property
    @final
    def shape(self) -> tuple[int, ...]:
        """All axes but the first; a single number is a vector of one."""
        return tuple(self.array.shape[1:]) or (1,)

    @final
    def rows(self, places: Array) -> Tensor:
        """Only the rows asked for are read."""
        return floats(self.array[places]).reshape(len(places), *self.shape)

    @final
    def __len__(self) -> int:
        return len(self.array)


@dataclass(frozen=True, eq=False)
class ImageFiles(Inputs):
    """A picture file for each row. Each is read when it is first needed, and kept; all are of one size."""

    paths: tuple[Path, ...]

    @property
    @final
    def shape(self) -> tuple[int, ...]:
        """(channels, height, width) of the first."""
        return tuple(self._kept.shape[1:])

    @final
    def rows(self, places: Array) -> Tensor:
        """The pictures of these rows."""
        for place in np.unique(places[~self._known[places]]):
            picture = _picture(self.paths[place])
            if picture.shape != self.shape:
                raise SourceError(
                    f"'{self.paths[place]}' is of size {picture.shape}",
                    why=f"'{self.paths[0]}' is of size {self.shape}, and one network takes one size",
                    instead="bring all pictures to one size first",
                )
            self._kept[place], self._known[place] = picture, True
        return floats(self._kept[places])

    @final
    def __len__(self) -> int:
        return len(self.paths)

    @cached_property
    def _kept(self) -> npt.NDArray[np.uint8]:
        # the system gives memory only for the rows that are written to
        return np.empty((len(self.paths), *_picture(self.paths[0]).shape), dtype=np.uint8)

    @cached_property
    def _known(self) -> npt.NDArray[np.bool_]:
        return np.zeros(len(self.paths), dtype=bool)


def floats(array: Array) -> Tensor:
    """Numbers as float32; bytes from 0 to 1."""
    if array.dtype == np.uint8:
        return torch.from_numpy(array).float().div_(255)
    return torch.from_numpy(np.ascontiguousarray(array, dtype=np.float32))


def read_array(place: str) -> Array:
    """The array in a file: `inputs.npy`, mapped, or `inputs.safetensors`, with `#name` where it holds several."""
    path, _, name = place.partition("#")
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False) if path.endswith(".npy") else _tensor(path, name)
    except SettingError:
        raise
    except Exception as error:  # safetensors has no public class for its own
        raise SourceError(
            f"cannot read '{path}'",
            why=str(error).splitlines()[0] if str(error) else type(error).__name__,
            instead="give an array of numbers, as .npy or .safetensors",
        ) from error
    return checked(array, place)


def checked(array: Array, name: str) -> Array:
    """An array of numbers with at least one axis."""
    if array.ndim == 0 or array.dtype.kind not in "biuf":
        raise SourceError(
            f"{name} is of type {array.dtype} and shape {array.shape}",
            why="there is no input for each row that a network can take",
            instead="give an array of numbers whose first axis is the row",
        )
    _require_no_missing(array, name)
    return array


def _require_no_missing(array: Array, name: str) -> None:
    """One number that is none would spread to every weight. Read in pieces: a mapped file may be larger than memory."""
    if array.dtype.kind != "f":
        return
    piece = max(1, _PIECE * len(array) // max(array.size, 1))
    for start in range(0, len(array), piece):
        rows = np.isfinite(array[start : start + piece]).reshape(len(array[start : start + piece]), -1).all(axis=1)
        if not rows.all():
            raise SourceError(
                f"{name} holds NaN or an infinite number, first in row {start + int(np.argmin(rows)):,}",
                why="a network that is shown it learns nothing but NaN",
                instead="leave such rows out, or fill them in",
            )


def _tensor(path: str, name: str) -> Array:
    from safetensors import safe_open  # noqa: PLC0415 - needed for this form only

    with safe_open(path, framework="np") as file:
        names = list(file.keys())
        if not name and len(names) != 1:
            raise SettingError(
                f"'{path}' holds {len(names)} arrays",
                why="it is not clear which of them holds the inputs",
                instead=f"write '{path}#{names[0]}'" if names else "give a file that holds one",
            )
        if name and name not in names:
            raise SettingError(f"no {name!r} in '{path}'", why="it holds no such array", instead=nearest(name, names))
        array: Array = file.get_tensor(name or names[0])
        return array


def column_inputs(column: pa.ChunkedArray, name: str, folder: Path) -> Inputs:
    """A column as inputs: names of picture files, looked for from the table's folder, or lists of numbers."""
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return ImageFiles(tuple(folder / str(path) for path in column.to_pylist()))
    if pa.types.is_list(column.type) or pa.types.is_fixed_size_list(column.type):
        try:
            array = np.array(column.to_pylist(), dtype=np.float32)
        except (ValueError, TypeError) as error:
            raise ColumnError(
                f"the column {name!r} holds lists of different lengths",
                why="one network takes one length",
                instead="bring them to one length first",
            ) from error
        return ArrayInputs(checked(array, f"the column {name!r}"))
    raise ColumnError(
        f"the column {name!r} (given as the inputs) is of type {column.type}",
        why="inputs are names of picture files, or lists of numbers",
        instead="name such a column, or an array file: inputs='images.npy'",
    )


def _picture(path: Path) -> npt.NDArray[np.uint8]:
    from PIL import Image, UnidentifiedImageError  # noqa: PLC0415 - heavy, and needed for this form only

    try:
        with Image.open(path) as image:
            pixels = np.asarray(image if image.mode in ("L", "RGB") else image.convert("RGB"), dtype=np.uint8)
    except (OSError, UnidentifiedImageError) as error:
        raise SourceError(
            f"cannot read the picture '{path}'",
            why=error.strerror or "it is not a picture" if isinstance(error, OSError) else str(error),
            instead="name picture files as they lie from the table's folder",
        ) from error
    return pixels[None] if pixels.ndim == 2 else pixels.transpose(2, 0, 1)


def of_memory(content: pa.Table | np.ndarray[Any, Any]) -> str:
    """A table or an array in memory.

    >>> of_memory(np.zeros(3)) == of_memory(np.zeros(3)), of_memory(np.zeros(3)) == of_memory(np.zeros((3, 1)))
    (True, False)
    """
    summed = hashlib.sha256()
    if isinstance(content, pa.Table):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, content.schema) as stream:
            stream.write_table(content.combine_chunks())
        summed.update(sink.getvalue())
    else:
        summed.update(f"{content.dtype.str}{content.shape}".encode())
        summed.update(np.ascontiguousarray(content).data)
    return MEMORY + summed.hexdigest()


def of_files(paths: Iterable[Path]) -> str:
    """One file, or several in their order."""
    sums = [_of_file(path, *_state(path)) for path in paths]
    return sums[0] if len(sums) == 1 else hashlib.sha256("".join(sums).encode()).hexdigest()


def _state(path: Path) -> tuple[int, int]:
    if not path.is_file():
        raise SourceError(f"no file '{path}'", why="there is no such file", instead="give the path of one file")
    state = path.stat()
    return state.st_size, state.st_mtime_ns


@lru_cache(maxsize=1 << 20)
def _of_file(path: Path, size: int, changed: int) -> str:  # noqa: ARG001 - a file that was written to is read again
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
