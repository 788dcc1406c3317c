"""The rows of a user's table: which combination each holds, which rows each combination has, and their targets.

Tar files of examples, as WebDataset and img2dataset write them: files of one key (`17.jpg`, `17.json`) are one row.

Each ending is a column: what stands in a `.json` becomes a column for each of its names, `.txt` a text, `.cls` a
number; of everything else (pictures) only the place within the tar file is kept, to be read when it is needed. So a
compressed tar file is refused, and with it one that would fill the memory when it is unpacked. Shards are often other
people's: what is read lies in the tar files themselves, never at a path that they name.
"""

import json
import os
import re
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from recombine.base.errors import ColumnError, RecombineError, SourceError, TableError
from recombine.data.columns import require
from recombine.data.read import read
from recombine.data.row_codes import value_codes
from recombine.data.sources import opened
from recombine.data.support import Support
from recombine_lab.tasks.task import Codes, Part

Ints = npt.NDArray[np.int64]
TargetForm = Literal["auto", "classes", "values"]
_MOST_CLASSES = 100


@dataclass(frozen=True, eq=False)
class TableRows:
    """The combinations of a table, and for each row the place of its own among them."""

    support: Support
    combination: Ints

    @classmethod
    def of(cls, table: pa.Table, factors: tuple[str, ...]) -> "TableRows":
        """Read the factors of every row."""
        require_columns(table, factors, role="a factor")
        for name in factors:
            require_no_missing(table, name)
        support = read(table.select(list(factors)), factors=factors)
        codes = [value_codes(table[factor.name], factor) for factor in support.space.factors]
        combination = support.groups(range(len(factors))).lookup(np.stack(codes, axis=1).astype(np.int32))
        return cls(support, combination)

    def find(self, codes: Codes) -> Ints:
        """The place of each combination, -1 where the table has no row of it."""
        return self.support.groups(range(codes.shape[1])).lookup(codes.astype(np.int32))


@dataclass(frozen=True, eq=False)
class RowChoice:
    """Some rows, in the order of their combination, to draw from: `counts[c]` of them from `starts[c]` on."""

    rows: Ints
    combination: Ints
    combinations: int

    @cached_property
    def counts(self) -> Ints:
        """How many rows each combination has."""
        return np.bincount(self.combination[self.rows], minlength=self.combinations)

    def draw(self, places: Ints, *, seed: int) -> Ints:
        """A row of each of these combinations, any of them with equal chance."""
        rng = np.random.default_rng(seed).random(len(places))
        within = (rng * self.counts[places]).astype(np.int64)
        return np.asarray(self._ordered[self._starts[places] + within])

    @cached_property
    def _ordered(self) -> Ints:
        return self.rows[np.argsort(self.combination[self.rows], kind="stable")]

    @cached_property
    def _starts(self) -> Ints:
        return np.cumsum(self.counts) - self.counts


def choices(table: pa.Table, split: str | None, rows: TableRows) -> dict[Part, RowChoice]:
    """The rows of each part: those that the split column gives to it, or all of them where there is no such column."""
    size = len(rows.support)
    if split is None:
        both = RowChoice(np.arange(len(table)), rows.combination, size)
        return {"train": both, "test": both}
    require_columns(table, (split,), role="the split")
    says = np.array([str(side) for side in table[split].to_pylist()])
    parts: tuple[Part, ...] = ("train", "test")
    for part in parts:
        if part not in says:
            raise TableError(
                f"no row says {part!r} in {split!r}",
                why=f"it says {', '.join(sorted(set(says.tolist()))[:5])}",
                instead="let the column say train and test",
            )
    return {part: RowChoice(np.flatnonzero(says == part), rows.combination, size) for part in parts}


def read_table(path: str | Path) -> pa.Table:
    """All rows of a table's file, in their order."""
    with opened(path, sniff_all=True) as source:
        source.backend.con.execute("SET preserve_insertion_order = true")
        table: pa.Table = source.backend.to_pyarrow(source.table)
    return with_class_names(table, _features_of_file(Path(path)))


def with_class_names(table: pa.Table, features: Any) -> pa.Table:
    """Class labels of a Hugging Face dataset by their names: `features` says which column has them.

    >>> with_class_names(pa.table({"y": [1, 0]}), {"y": {"names": ["no", "yes"]}})["y"].to_pylist()
    ['yes', 'no']
    """
    for name in table.column_names if isinstance(features, Mapping) else ():
        about = features.get(name)
        names = about.get("names") if isinstance(about, Mapping) else getattr(about, "names", None)
        if names and pa.types.is_integer(table[name].type):
            column = pc.take(pa.array(names), table[name].combine_chunks())
            table = table.set_column(table.column_names.index(name), name, column)
    return table


def _features_of_file(path: Path) -> Any:
    """What Hugging Face wrote into a Parquet file about its columns; None where there is nothing."""
    if path.suffix != ".parquet" or not path.is_file():
        return None
    noted = (parquet.read_schema(path).metadata or {}).get(b"huggingface")
    try:
        return None if noted is None else json.loads(noted)["info"]["features"]
    except (ValueError, KeyError, TypeError):
        return None


def require_columns(table: pa.Table, names: tuple[str, ...], *, role: str) -> None:
    """Every named column is there, else the nearest one is suggested."""
    require(_Named(table.column_names), names, role=role)


def require_no_missing(table: pa.Table, name: str) -> None:
    """A column that every row fills."""
    absent = pc.sum(pc.is_null(table[name], nan_is_null=True)).as_py()
    if absent:
        raise TableError(
            f"{name!r} is missing in {absent:,} of {len(table):,} rows",
            why="such a row is no example of anything",
            instead="leave those rows out first, with their inputs",
        )


@dataclass(frozen=True)
class _Named:
    columns: list[str]


@dataclass(frozen=True, eq=False)
class Targets:
    """The target of each row: a number, several of them (n, width), or the place of its class among `classes`."""

    numbers: npt.NDArray[np.float64]
    classes: tuple[Any, ...] | None

    @property
    def width(self) -> int:
        """How many numbers a target has."""
        return self.numbers.shape[1] if self.numbers.ndim > 1 else 1

    @classmethod
    def of(cls, table: pa.Table, name: str | tuple[str, ...], form: TargetForm) -> "Targets":
        """Read a column, as `recombine.read` does: text, booleans and few whole numbers are classes.

        Several columns, or one of lists, are several numbers for each row.

        >>> Targets.of(pa.table({"y": ["b", "a", "b"]}), "y", "auto").numbers
        array([1., 0., 1.])
        """
        if not isinstance(name, str):
            return cls(np.stack([cls.of(table, one, "values").numbers for one in name], axis=1), None)
        require_columns(table, (name,), role="the target")
        require_no_missing(table, name)
        column = table[name]
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if pa.types.is_list(column.type) or pa.types.is_fixed_size_list(column.type):
            return cls(_lists(column, name), None)
        if form == "values" or (form == "auto" and _are_numbers(column)):
            return cls(_numbers(column, name), None)
        classes = pc.unique(column).sort()
        places = pc.index_in(column, value_set=classes)
        return cls(np.asarray(places.to_numpy(), dtype=np.float64), tuple(classes.to_pylist()))

    @classmethod
    def of_items(cls, items: Sequence[Any], source: Any, form: TargetForm) -> "Targets":
        """The second of each pair that a torch dataset gives; its `classes` are the names, where it has them."""
        plain = [item.tolist() if hasattr(item, "tolist") else item for item in items]
        names = getattr(source, "classes", None)
        if names and form != "values" and all(isinstance(one, int) and 0 <= one < len(names) for one in plain):
            return cls(np.array(plain, dtype=np.float64), tuple(names))
        return cls.of(pa.table({"target": pa.array(plain)}), "target", form)

    def by_combination(self, combination: Ints, size: int) -> npt.NDArray[Any]:
        """The mean of the rows of each of `size` combinations, or their commonest class (of equals the first)."""
        if self.classes is None:
            totals = np.bincount(combination, self.numbers, minlength=size)
            return np.asarray(totals / np.bincount(combination, minlength=size))
        votes = np.zeros((size, len(self.classes)), dtype=np.int64)
        np.add.at(votes, (combination, self.numbers.astype(np.int64)), 1)
        return np.asarray(votes.argmax(axis=1))


def _lists(column: pa.ChunkedArray, name: str) -> npt.NDArray[np.float64]:
    try:
        numbers = np.array(column.to_pylist(), dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise ColumnError(
            f"the target {name!r} holds lists of different lengths",
            why="every row has a target of one shape",
            instead="bring them to one length first",
        ) from error
    if not np.isfinite(numbers).all():
        raise ColumnError(
            f"the target {name!r} holds NaN or an infinite number",
            why="a network that is taught it learns nothing but NaN",
            instead="leave such rows out, or fill them in",
        )
    return numbers.reshape(len(numbers), -1)


def _are_numbers(column: pa.ChunkedArray) -> bool:
    whole = pa.types.is_integer(column.type)
    return bool(pa.types.is_floating(column.type) or (whole and len(pc.unique(column)) > _MOST_CLASSES))


def _numbers(column: pa.ChunkedArray, name: str) -> npt.NDArray[np.float64]:
    if not (pa.types.is_floating(column.type) or pa.types.is_integer(column.type) or pa.types.is_boolean(column.type)):
        raise ColumnError(
            f"the target {name!r} is of type {column.type}",
            why="form='values' asks for numbers",
            instead="write form='classes', or name a column of numbers",
        )
    return np.asarray(column.to_numpy(), dtype=np.float64)


ENDING = ".tar"
MOST_SHARDS = 100_000
"""Files that a range may stand for; the largest public sets have some ten thousand."""
MOST_TEXT = 2**24
"""Bytes of a .json, .txt or .cls file: it is read as a whole."""
_RANGE = re.compile(r"\{(\d{1,18})\.\.(\d{1,18})\}")
_COMPRESSED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd")
_JSON_KINDS = {list: "a list", str: "a text", bool: "true or false", type(None): "nothing"}
_TEXT = ("txt", "text", "caption")
_KEY = "__key__"


def is_shards(source: object) -> bool:
    """Whether a source names tar files.

    >>> is_shards("shards/{000..010}.tar"), is_shards("rows.csv")
    (True, False)
    """
    return isinstance(source, str) and source.endswith(ENDING)


def shard_paths(source: str) -> list[Path]:
    """The tar files that `shards/*.tar` or `shards/{000..010}.tar` stands for, in order."""
    # What stands between two ranges is every third piece; braces in it are part of the name.
    pieces = _RANGE.split(source)
    ranges = [(low, range(int(low), int(high) + 1)) for low, high in zip(pieces[1::3], pieces[2::3], strict=True)]
    count = prod(max(0, numbers.stop - numbers.start) for _, numbers in ranges)
    if count > MOST_SHARDS:
        raise SourceError(
            f"'{source}' stands for {count:,} files",
            why=f"a range stands for at most {MOST_SHARDS:,}",
            instead="write a shorter range, or a pattern: shards/*.tar",
        )
    written = [[str(number).zfill(len(low)) for number in numbers] for low, numbers in ranges]
    named = [Path(_joined(pieces[::3], chosen)).expanduser() for chosen in product(*written)] if ranges else []
    path = Path(source).expanduser()
    found = named or (sorted(path.parent.glob(path.name)) if "*" in path.name else [path])
    for one in found:
        if not os.path.isfile(one):  # noqa: PTH113 - a Path raises where a name is too long
            raise SourceError(f"no file '{one}'", why="there is no such file", instead="name tar files that are there")
    if not found:
        raise SourceError(
            f"no file '{source}'", why="no tar file is called so", instead="name tar files that are there"
        )
    return found


def _joined(texts: Sequence[str], numbers: Sequence[str]) -> str:
    """A name with a number in each of its ranges.

    >>> _joined(["s", "-", ".tar"], ["00", "7"])
    's00-7.tar'
    """
    return "".join(text + number for text, number in zip(texts, [*numbers, ""], strict=True))


def read_shards(paths: Sequence[Path]) -> pa.Table:
    """One row for each key, in the order of the files."""
    rows = [row for path in paths for row in _rows(path)]
    if not rows:
        raise TableError("the tar files hold no examples", why="no file in them has a name", instead="name others")
    names = dict.fromkeys(name for row in rows for name in row if name != _KEY)
    try:
        return pa.table({name: pa.array([row.get(name) for row in rows]) for name in names})
    except (
        pa.ArrowException,
        ArithmeticError,
        ValueError,
    ) as error:  # also numbers and texts that Arrow has no room for
        raise TableError(
            "the tar files hold columns of several types",
            why=str(error).splitlines()[0],
            instead="write each name in the .json files with values of one type",
        ) from error


def _rows(path: Path) -> list[dict[str, Any]]:
    rows: dict[str, dict[str, Any]] = {}
    try:
        with path.open("rb") as held:
            compressed = held.read(6).startswith(_COMPRESSED)
        if compressed:
            raise ValueError("it is compressed, and pictures are read by their place in the file")
        with tarfile.open(path, "r:") as file:
            for member in file:
                if member.isfile():
                    folder, _, name = member.name.rpartition("/")
                    key, _, ending = name.partition(".")
                    _add(rows.setdefault(f"{folder}/{key}", {}), ending.lower(), member, file, path)
    except RecombineError:
        raise
    except Exception as error:  # tarfile raises whatever it stumbles over in a header
        raise SourceError(
            f"cannot read '{path}'",
            why=str(error) or type(error).__name__,
            instead="give a tar file that is whole and not compressed",
        ) from error
    return list(rows.values())


def _add(row: dict[str, Any], ending: str, member: tarfile.TarInfo, file: tarfile.TarFile, path: Path) -> None:
    if member.issparse():
        raise _unreadable(member, path, "it has holes, which take no room in the file and any amount in memory")
    if ending not in ("json", "cls", *_TEXT):
        row[ending] = {"path": str(path.absolute()), "offset": member.offset_data, "size": member.size}
        return
    if member.size > MOST_TEXT:
        raise _unreadable(member, path, f"it has {member.size:,} bytes, and at most {MOST_TEXT:,} are read")
    held = file.extractfile(member)
    try:
        text = (held.read() if held is not None else b"").decode()
        if ending != "json":
            row[ending] = int(text) if ending == "cls" else text
            return
        told = json.loads(text)
    except RecursionError as error:
        raise _unreadable(member, path, "it is nested too deeply") from error
    except ValueError as error:
        raise _unreadable(member, path, str(error)) from error
    if not isinstance(told, dict):
        raise _unreadable(member, path, f"it holds {_JSON_KINDS.get(type(told), 'a number')}, not names with values")
    row |= {name: value for name, value in told.items() if not isinstance(value, dict | list)}


def _unreadable(member: tarfile.TarInfo, path: Path, why: str) -> SourceError:
    return SourceError(
        f"cannot read {member.name[:200]!r} in '{path}'",
        why=why,
        instead="mend that file or leave it out: a .json holds an object of names and values, a .cls a whole number",
    )
