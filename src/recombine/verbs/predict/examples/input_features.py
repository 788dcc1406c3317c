"""What a model looks at, as an array with a row of numbers for each example.

| given | what it is |
|---|---|
| `"width"`, `["width", "height"]` | columns of numbers |
| `"embedding"` | a column of lists of numbers, all of one length |
| `"picture"` | a column of images: bytes, Hugging Face's dictionaries, or names of files |
| `"pictures/"` | a folder of images: a column of the table names them, else they are sorted as the table's rows are |
| `"vectors.npy"`, `"vectors.safetensors"` | a file with an array, a row for each row of the table |
| an array, a tensor | the same, in memory |

A model's own features at a layer are made by `recombine_lab.features(module, inputs, layer="encoder.norm")` first.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from recombine.base.errors import ColumnError, SettingError, SourceError, TableError, nearest
from recombine.base.plugins import needed
from recombine.base.words import listing, percent
from recombine.data.media import ENDINGS, read_npy, read_picture
from recombine.numerics.groups import Numbers
from recombine.verbs.predict.answers import Answers
from recombine.verbs.predict.examples.example_rows import Fetched, Glance

PICTURES = tuple(ENDINGS)
_LARGEST_SIDE = 64
"""Pixels; larger pictures are made smaller. A dense kernel sees no more in finer ones, and they take their square."""
_BATCH = 256


@dataclass(frozen=True)
class Columns:
    """Inputs in columns of the table."""

    names: tuple[str, ...]
    ordered: bool = field(default=False, init=False)


@dataclass(frozen=True, eq=False)
class ByRow:
    """Inputs in an array, in the order of the table."""

    array: Any
    name: str
    ordered: bool = field(default=True, init=False)
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Folder:
    """Inputs in a folder of images; the column that names them, or none where they stand in the table's order."""

    path: Path
    names: tuple[str, ...]

    @property
    def ordered(self) -> bool:
        """Whether the table's order tells which image belongs to a row."""
        return not self.names


Inputs = Columns | ByRow | Folder


def inputs_of(given: Any, glance: Glance) -> Inputs:
    """What was given, beside the columns that the table has."""
    known = glance.columns
    if isinstance(given, str | Path):
        return _named(str(given), glance)
    if isinstance(given, list | tuple) and given and all(isinstance(name, str) for name in given):
        return _columns(given, known)
    if isinstance(given, tuple) and len(given) == 2 and isinstance(given[1], str):
        raise SettingError(
            f"inputs=({type(given[0]).__name__}, {given[1]!r})",
            why="a module's features hang on the tensors that it is shown",
            instead=f"make them first: inputs=recombine_lab.features(module, tensors, layer={given[1]!r})",
        )
    return ByRow(_array(given), "the array of inputs")


def _columns(names: Sequence[str], known: dict[str, Any]) -> Columns:
    for name in names:
        if name not in known:
            raise ColumnError(
                f"no column {name!r} (given as an input)",
                why="the table has no such column",
                instead=nearest(name, known),
            )
    return Columns(tuple(names))


def _named(given: str, glance: Glance) -> Inputs:
    """A column, several, a folder, or a file; a column's name comes first."""
    known = glance.columns
    if given in known:
        return Columns((given,))
    if "," in given and all(part.strip() in known for part in given.split(",")):
        return Columns(tuple(part.strip() for part in given.split(",")))
    path = Path(given).expanduser()
    if path.is_dir():
        return _folder(path, glance)
    if given.endswith(".npy"):
        return ByRow(read_npy(path), f"'{given}'")
    if ".safetensors" in given:
        return ByRow(_from_safetensors(given), f"'{given}'")
    raise ColumnError(
        f"inputs={given!r}",
        why="the table has no such column, and there is no such folder, .npy or .safetensors file",
        instead=nearest(next(part.strip() for part in given.split(",") if part.strip() not in known), known),
    )


def _array(given: Any) -> Any:
    if hasattr(given, "detach"):  # a tensor of torch
        given = given.detach().cpu().numpy()
    try:
        found = given if hasattr(given, "shape") else np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise SettingError(
            f"inputs was given a {type(given).__name__}",
            why="it is no array: a row of numbers for each row of the table, all of one length",
            instead="give an array, columns of the table, a folder of images, or a .npy or .safetensors file",
        ) from error
    if callable(given):
        raise SettingError(
            f"inputs was given a {type(given).__name__}",
            why="a model has features only of something that it is shown",
            instead="make them first: inputs=recombine_lab.features(module, tensors, layer='…')",
        )
    return found


def _from_safetensors(given: str) -> Any:
    text, _, name = given.partition(".safetensors:")
    path = Path(given if not name else f"{text}.safetensors").expanduser()
    tensors = needed("safetensors.numpy", "inputs in a safetensors file", extra="examples")
    try:
        found = tensors.load_file(path)
    except Exception as error:  # its own exceptions share no parent but Exception
        raise SourceError(
            f"cannot read '{path}'", why=str(error).splitlines()[0], instead="give the path of a safetensors file"
        ) from error
    if name and name not in found:
        raise SourceError(f"no tensor {name!r} in '{path}'", why="it holds others", instead=nearest(name, found))
    if not name and len(found) != 1:
        raise SourceError(
            f"'{path}' holds {len(found):,} tensors",
            why="nobody knows which of them are the inputs",
            instead=f"name one: {path}:{next(iter(found), 'inputs')}",
        )
    return found[name] if name else next(iter(found.values()))


def _folder(path: Path, glance: Glance) -> Folder:
    """A folder, and the column whose first texts are all names of files in it; without one the table's order tells."""
    for name in glance.first.column_names:
        texts = [one for one in glance.first[name].to_pylist() if one]
        if texts and all(_file(path, str(one)).is_file() for one in texts):
            return Folder(path, (name,))
    return Folder(path, ())


def _file(folder: Path, name: str) -> Path:
    """A file by the name that a column has for it: within the folder, or with a path that ends there."""
    found = folder / name
    return found if found.is_file() else folder / Path(name).name


def check_length(inputs: Inputs, rows: int) -> None:
    """Arrays and folders have one input for each row of the table."""
    if isinstance(inputs, ByRow):
        given, what = int(np.shape(inputs.array)[0]) if np.ndim(inputs.array) else 0, inputs.name
    elif isinstance(inputs, Folder) and not inputs.names:
        given, what = len(_pictures(inputs.path)), f"the folder '{inputs.path}', whose files no column names,"
    else:
        return
    if not given and isinstance(inputs, Folder):
        raise TableError(
            f"the folder '{inputs.path}' holds no pictures",
            why=f"the endings of pictures are {listing(PICTURES)}",
            instead="name the folder that they lie in, or a column with their names",
        )
    if given != rows:
        raise TableError(
            f"{what} has {given:,} inputs, and the table {rows:,} rows",
            why="the i-th input belongs to the i-th row",
            instead="give one for each row, in the same order; rows that are left out keep their place",
        )


def _pictures(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.suffix.lower() in PICTURES)


def values(inputs: Inputs, rows: Fetched, notes: list[str]) -> Numbers:
    """The inputs of these rows, (n, d)."""
    if isinstance(inputs, ByRow):
        return _finite(_by_row(inputs, rows), inputs.name, rows)
    if isinstance(inputs, Folder):
        return _images(_in_folder(inputs, rows), notes)
    parts = [_finite(_of_column(rows.columns[name], name, notes), f"the input {name!r}", rows) for name in inputs.names]
    return np.concatenate(parts, axis=1)


def _finite(found: Numbers, what: str, rows: Fetched) -> Numbers:
    """Refuse NaN and infinity, and say where they stand: by the table's own rows where these are known."""
    bad = np.flatnonzero(~np.isfinite(found).all(axis=1))
    if len(bad):
        first = "" if rows.place is None else f"; the first is row {int(rows.place[bad[0]]) + 1:,} of the table"
        raise TableError(
            f"{what} holds NaN or infinite numbers in {len(bad):,} of the {len(found):,} rows that were looked at",
            why=f"such a row is like no other{first}",
            instead="leave those rows out (where=, --where), or fill the gaps first",
        )
    return found


def _by_row(inputs: ByRow, rows: Fetched) -> Numbers:
    assert rows.place is not None  # noqa: S101 - inputs by row are fetched with their places
    found = np.asarray(inputs.array[rows.place])
    if found.dtype.kind not in "fiub":
        raise SettingError(
            f"{inputs.name} holds {found.dtype}", why="inputs are numbers", instead="give an array of numbers"
        )
    return np.asarray(found, dtype=np.float64).reshape(len(found), -1)


def _in_folder(folder: Folder, rows: Fetched) -> list[Any]:
    if folder.names:
        return [_file(folder.path, str(name)) for name in rows.columns[folder.names[0]].to_pylist()]
    assert rows.place is not None  # noqa: S101
    files = _pictures(folder.path)
    return [files[int(place)] for place in rows.place]


def _of_column(column: pa.ChunkedArray, name: str, notes: list[str]) -> Numbers:
    kind = column.type
    _refuse_missing(column, name)
    if (
        pa.types.is_floating(kind)
        or pa.types.is_integer(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_decimal(kind)
    ):
        return np.asarray(column.cast(pa.float64()).to_numpy(), dtype=np.float64)[:, None]
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return _of_lists(column, name)
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_struct(kind):
        return _images(column.to_pylist(), notes)
    texts = column.to_pylist()
    if pa.types.is_string(kind) and str(texts[0]).lstrip().startswith(("[", "(")):
        raise ColumnError(
            f"the input {name!r} holds lists that are written as text",
            why="a CSV file has no lists",
            instead="write the table as Parquet, or one column for each number: --inputs x1,x2,…",
        )
    if pa.types.is_string(kind) and str(texts[0]).lower().endswith(PICTURES):
        return _images([Path(text) for text in texts], notes)
    raise ColumnError(
        f"the input {name!r} is of type {kind}",
        why="inputs are numbers, lists of numbers, or images",
        instead="turn it into numbers first: text by the embeddings of a model, in a column of lists",
    )


def _refuse_missing(column: pa.ChunkedArray, name: str) -> None:
    absent = column.null_count
    if absent:
        raise TableError(
            f"the input {name!r} is missing in {absent:,} of {len(column):,} rows",
            why="such a row is an example of nothing",
            instead=f"leave those rows out: where='{name} IS NOT NULL' (--where)",
        )


def _of_lists(column: pa.ChunkedArray, name: str) -> Numbers:
    lengths = pc.unique(pc.list_value_length(column)).to_pylist()
    if len(lengths) != 1:
        raise ColumnError(
            f"the lists in {name!r} have from {min(lengths):,} to {max(lengths):,} items",
            why="every row has the same inputs",
            instead="write lists of one length",
        )
    flat = pc.list_flatten(column)
    while pa.types.is_list(flat.type) or pa.types.is_large_list(flat.type) or pa.types.is_fixed_size_list(flat.type):
        flat = pc.list_flatten(flat)
    if not (pa.types.is_floating(flat.type) or pa.types.is_integer(flat.type) or pa.types.is_boolean(flat.type)):
        raise ColumnError(
            f"the lists in {name!r} hold {flat.type}", why="inputs are numbers", instead="write lists of numbers"
        )
    numbers = np.asarray(pc.fill_null(flat.cast(pa.float64()), float("nan")).to_numpy(), dtype=np.float64)
    return numbers.reshape(len(column), -1)


def _images(given: Sequence[Any], notes: list[str]) -> Numbers:
    """Images as numbers from 0 to 1, all of one size: that of the first, or smaller."""
    absent = [one for one in given if isinstance(one, Path) and not one.is_file()]
    if absent:
        raise SourceError(
            f"{len(absent):,} of {len(given):,} images are missing, the first is '{absent[0]}'",
            why="there is no such file",
            instead="check the folder and the column that names the images",
        )
    opened = (_opened(one, f"of row {place + 1:,}") for place, one in enumerate(given))
    first = next(iter(opened))
    mode = "L" if first.mode in ("1", "L", "I;16") else "RGB"
    scale = min(1.0, _LARGEST_SIDE / max(first.size))
    size = tuple(max(1, round(side * scale)) for side in first.size)
    others = 0
    found = np.empty((len(given), size[0] * size[1] * (1 if mode == "L" else 3)))
    for place, one in enumerate(_chained(first, opened)):
        others += one.size != first.size
        resized = one.convert(mode) if one.size == size else one.convert(mode).resize(size)
        found[place] = np.asarray(resized, dtype=np.float64).ravel() / 255
    if others or scale < 1:
        notes.append(f"Pictures were brought to {size[0]} × {size[1]} pixels.")
    return found


def _chained(first: Any, others: Iterable[Any]) -> Iterable[Any]:
    yield first
    yield from others


def _opened(one: Any, name: str) -> Any:
    """An image from a file, from bytes, from Hugging Face's dictionary, or as it is."""
    content = one.get("bytes") if isinstance(one, dict) else one
    if isinstance(one, dict) and content is None:
        content = Path(str(one.get("path")))
    if isinstance(content, Path):
        name = f"'{content}'"
    return read_picture(content, name=name) if isinstance(content, Path | bytes) else content


def below_one_answer(seen_score: float | None, answers: Answers) -> list[str]:
    """A sentence where a seen score is no better than one answer for all."""
    base = 0.0
    if answers.kind == "label":
        counts = np.bincount(answers.labels, answers.counts, minlength=len(answers.classes))
        base = float(counts.max() / counts.sum())
    if seen_score is None or seen_score > base:
        return []
    said = percent(base) if answers.kind == "label" else "an R² of 0"
    return [f"A seen score of {seen_score:g} is no better than one answer for all, which has {said}."]
