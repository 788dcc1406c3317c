"""The user's own inputs, one for each row of a table: an array, columns, pictures, texts, or the items of a torch
dataset; and checksums of them.

Bytes (uint8) become floats from 0 to 1; other numbers stay what they are, as float32; tokens are int64. A fingerprint
is equal for equal contents, so that a run's key changes when the data do.
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import torch
from torch import Tensor

from recombine.base.errors import ColumnError, SettingError, SourceError, nearest
from recombine.data.media import read_npy, read_picture
from recombine_lab.base.source_versions import MEMORY

Array = npt.NDArray[Any]
ARRAYS = (".npy", ".safetensors")
_PIECE = 2**22


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
    def shape(self) -> tuple[int, ...]:
        """All axes but the first; a single number is a vector of one."""
        return tuple(self.array.shape[1:]) or (1,)

    def rows(self, places: Array) -> Tensor:
        """Only the rows asked for are read."""
        return floats(self.array[places]).reshape(len(places), *self.shape)

    def __len__(self) -> int:
        return len(self.array)


@dataclass(frozen=True, eq=False)
class Tokens(Inputs):
    """Rows of token numbers (n, length), 0 for padding; `words` is how many there are.

    >>> Tokens(np.array([[2, 3, 0]]), 4).rows(np.array([0]))
    tensor([[2, 3, 0]])
    """

    array: npt.NDArray[np.int64]
    words: int

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of the longest."""
        return tuple(self.array.shape[1:])

    def rows(self, places: Array) -> Tensor:
        """The tokens of these rows."""
        return torch.from_numpy(self.array[places])

    def __len__(self) -> int:
        return len(self.array)


@dataclass(frozen=True, eq=False)
class RowPictures(Inputs):
    """A picture for each row. Each is read when it is first needed, and kept; all are of one size."""

    count: int
    read: Callable[[int], Any]
    named: Callable[[int], str]

    @property
    def shape(self) -> tuple[int, ...]:
        """(channels, height, width) of the first."""
        return tuple(self._kept.shape[1:])

    def rows(self, places: Array) -> Tensor:
        """The pictures of these rows."""
        for place in np.unique(places[~self._known[places]]):
            picture = pixels(self.read(place))
            if picture.shape != self.shape:
                raise SourceError(
                    f"the picture {self.named(place)} is of size {picture.shape}",
                    why=f"the picture {self.named(0)} is of size {self.shape}, and one network takes one size",
                    instead="bring all pictures to one size first, or by transform=…, a function of a picture",
                )
            self._kept[place], self._known[place] = picture, True
        return floats(self._kept[places])

    def __len__(self) -> int:
        return self.count

    @cached_property
    def _kept(self) -> npt.NDArray[np.uint8]:
        # the system gives memory only for the rows that are written to
        return np.empty((self.count, *pixels(self.read(0)).shape), dtype=np.uint8)

    @cached_property
    def _known(self) -> npt.NDArray[np.bool_]:
        return np.zeros(self.count, dtype=bool)


@dataclass(frozen=True, eq=False)
class Items(Inputs):
    """Inputs that are made one by one, each time: of a torch dataset, or by the user's own `transform`."""

    count: int
    read: Callable[[int], Any]
    transform: Callable[[Any], Any] | None = None

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """That of the first."""
        return tuple(self.item(0).shape)

    def rows(self, places: Array) -> Tensor:
        """The inputs of these rows."""
        made = [self.item(int(place)) for place in places]
        for place, one in zip(places, made, strict=True):
            if tuple(one.shape) != self.shape:
                raise SourceError(
                    f"input {place:,} is of shape {tuple(one.shape)}",
                    why=f"input 0 is of shape {self.shape}, and one network takes one shape",
                    instead="bring all inputs to one shape by transform=…, a function of one input",
                )
        return torch.stack(made) if made else torch.zeros(0, *self.shape)

    def item(self, place: int) -> Tensor:
        """One input."""
        read = self.read(place)
        return as_tensor(read if self.transform is None else self.transform(read))

    def __len__(self) -> int:
        return self.count


def as_tensor(item: Any) -> Tensor:
    """A tensor, an array, a number or a picture as a tensor; whole numbers wider than a byte are tokens."""
    if isinstance(item, Tensor):
        return item.float().div(255) if item.dtype == torch.uint8 else item if _is_token(item) else item.float()
    if hasattr(item, "getbands"):  # a picture of Pillow's
        return floats(pixels(item))
    array = np.asarray(item)
    if array.dtype.kind not in "biuf":
        raise SourceError(
            f"an input is {type(item).__name__}",
            why="a network takes a tensor, an array or a picture",
            instead="turn it into one by transform=…, a function of one input",
        )
    return torch.from_numpy(array) if array.dtype == np.int64 and array.ndim else floats(array)


def _is_token(item: Tensor) -> bool:
    return item.dtype in (torch.int64, torch.int32)


def floats(array: Array) -> Tensor:
    """Numbers as float32; bytes from 0 to 1."""
    if array.dtype == np.uint8:
        return torch.from_numpy(np.array(array)).float().div_(255)
    return torch.from_numpy(np.ascontiguousarray(array, dtype=np.float32))


def read_array(place: str) -> Array:
    """The array in a file: `inputs.npy`, mapped, or `inputs.safetensors`, with `#name` where it holds several."""
    path, _, name = place.partition("#")
    try:
        array = read_npy(Path(path)) if path.endswith(".npy") else _tensor(path, name)
    except (SettingError, SourceError):
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


@dataclass(frozen=True)
class Making:
    """How inputs are made of a column: the folder of the table, the user's own transform, and the user's tokenizer."""

    folder: Path
    transform: Callable[[Any], Any] | None = None
    tokenizer: Any = None


def column_inputs(column: pa.ChunkedArray, name: str, how: Making) -> Inputs:
    """A column as inputs: texts, pictures or names of picture files, or lists of numbers."""
    kind = column.type
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    if text and how.tokenizer is not None:
        return tokens_of([str(one) for one in column.to_pylist()], how.tokenizer)
    if text or pa.types.is_struct(kind) or pa.types.is_binary(kind):
        return _made(pictures_of(column, name, how.folder), how.transform)
    if not (pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind) or pa.types.is_large_list(kind)):
        raise ColumnError(
            f"the column {name!r} (given as the inputs) is of type {kind}",
            why="inputs are names of picture files, pictures, texts with a tokenizer, or lists of numbers",
            instead="name such a column, several columns of numbers, or an array file: inputs='images.npy'",
        )
    try:
        array = np.array(column.to_pylist(), dtype=np.float32)
    except (ValueError, TypeError) as error:
        raise ColumnError(
            f"the column {name!r} holds lists of different lengths",
            why="one network takes one length",
            instead="bring them to one length first",
        ) from error
    return array_inputs(checked(array, f"the column {name!r}"), how.transform)


def columns_inputs(table: pa.Table, names: Sequence[str]) -> Inputs:
    """Several columns of numbers, side by side."""
    for name in names:
        if not (pa.types.is_floating(table[name].type) or pa.types.is_integer(table[name].type)):
            raise ColumnError(
                f"the column {name!r} (given as one of the inputs) is of type {table[name].type}",
                why="several columns are taken side by side as numbers",
                instead="name columns of numbers, or one column alone",
            )
    array = np.stack([table[name].to_numpy().astype(np.float32) for name in names], axis=1)
    return ArrayInputs(checked(array, "the columns of inputs"))


def array_inputs(array: Array, transform: Callable[[Any], Any] | None) -> Inputs:
    """An array, or what a transform makes of each of its rows."""
    plain = ArrayInputs(array)
    if transform is None:
        return plain
    return Items(len(array), lambda place: plain.rows(np.array([place]))[0], transform)


def _made(pictures: RowPictures, transform: Callable[[Any], Any] | None) -> Inputs:
    return pictures if transform is None else Items(len(pictures), pictures.read, transform)


def pictures_of(column: pa.ChunkedArray, name: str, folder: Path) -> RowPictures:
    """Pictures by the names of their files, as bytes, as Hugging Face holds them, or as places within tar files."""
    kind = column.type
    if pa.types.is_struct(kind):
        held = {field.name for field in kind}
        if not held & {"bytes", "path"}:
            raise ColumnError(
                f"the column {name!r} (given as the inputs) is of type {kind}",
                why="a picture is held as {bytes, path}, and this holds something else",
                instead="name a column of pictures, of file names, or of lists of numbers",
            )
    rows = column.to_pylist() if not pa.types.is_binary(kind) else [{"bytes": one} for one in column.to_pylist()]
    held_rows = [one if isinstance(one, Mapping) else {"path": one} for one in rows]

    def read(place: int) -> Any:
        one = held_rows[place]
        return read_picture(_content(one, folder), name=named(place))

    def named(place: int) -> str:
        held = held_rows[place]
        if not held.get("path"):
            return f"of row {place:,}"
        file = f"'{folder / held['path']}'"
        return file if held.get("offset") is None else f"of row {place:,} in {file}"

    return RowPictures(len(held_rows), read, named)


def _content(held: Mapping[str, Any], folder: Path) -> Path | bytes:
    """Something that a picture can be opened from."""
    if held.get("bytes") is not None:
        return bytes(held["bytes"])
    path = folder / str(held.get("path"))
    if held.get("offset") is None:
        return path
    with path.open("rb") as file:
        file.seek(held["offset"])
        return file.read(int(held["size"]))


def tokens_of(texts: Sequence[str], tokenizer: Any) -> Tokens:
    """Texts as rows of token numbers: by words, by characters, or by the user's own tokenizer.

    A tokenizer gives the numbers of one text, as a list or as something with `input_ids`. Its 0 is taken for padding;
    one of Hugging Face that pads by another number keeps it for itself.

    >>> tokens_of(["a big dog", "a dog"], "words").array
    array([[1, 2, 3],
           [1, 3, 0]])
    """
    if tokenizer in ("words", "characters"):
        pieces = [text.split() if tokenizer == "words" else list(text) for text in texts]
        known = {word: place + 1 for place, word in enumerate(sorted({word for row in pieces for word in row}))}
        rows = [[known[word] for word in row] for row in pieces]
    elif isinstance(tokenizer, str):
        raise SettingError(
            f"tokenizer={tokenizer!r}",
            why="there is none of that name, and one of your own is an object or is written package.module:function",
            instead=nearest(tokenizer, list(_BUILT_IN)),
        )
    else:
        rows = [_numbers_of(tokenizer(text), text) for text in texts]
    padding = int(getattr(tokenizer, "pad_token_id", None) or 0)
    array = np.full((len(rows), max([1, *map(len, rows)])), padding, dtype=np.int64)
    for place, row in enumerate(rows):
        array[place, : len(row)] = row
    most = int(array.max()) + 1
    return Tokens(
        array, max(most, len(tokenizer) if hasattr(tokenizer, "__len__") and tokenizer not in _BUILT_IN else 0)
    )


_BUILT_IN = ("words", "characters")


def _numbers_of(said: Any, text: str) -> list[int]:
    numbers = said["input_ids"] if isinstance(said, Mapping) or hasattr(said, "input_ids") else said
    whole = isinstance(numbers, Sequence) and not isinstance(numbers, str)
    if not whole or not all(isinstance(one, int) and one >= 0 for one in numbers):
        raise SourceError(
            f"the tokenizer makes {numbers!r:.80} of {text[:40]!r}",
            why="a text becomes a list of whole numbers from 0 on",
            instead="give a tokenizer of Hugging Face's, a function from a text to such a list, or tokenizer='words'",
        )
    return list(numbers)


def pixels(image: Any) -> npt.NDArray[np.uint8]:
    """A picture of Pillow's as (channels, height, width)."""
    array = np.asarray(image if image.mode in ("L", "RGB") else image.convert("RGB"), dtype=np.uint8)
    return array[None] if array.ndim == 2 else array.transpose(2, 0, 1)


def of_items(items: Any) -> str:
    """A torch dataset: every item is read once.

    >>> of_items([np.zeros(2)]) == of_items([np.zeros(2)]) != of_items([np.ones(2)])
    True
    """
    summed = hashlib.sha256()
    for place in range(len(items)):
        item = items[place]
        for part in item if isinstance(item, tuple | list) else (item,):
            array = as_tensor(part).numpy()
            summed.update(f"{array.dtype.str}{array.shape}".encode())
            summed.update(np.ascontiguousarray(array).data)
    return MEMORY + summed.hexdigest()


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
