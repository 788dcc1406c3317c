"""Read vectors beside the combinations of a table, some rows at a time: from a list column, from many columns, or from
an array with as many rows as the table.

A support is counted by one GROUP BY; means of 5,000 columns by 10^4 combinations would be 5,000 sums in that question,
which no engine likes. So the rows come as a stream of Arrow batches, each as large as some megabytes, and are added up
here (`vector_answers.RunningMeans`). Never more than one batch of rows is in memory, beside the matrix of the means.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from recombine.base.errors import ColumnError, SettingError, nearest
from recombine.data.engine import explained, sniffing_again, stream
from recombine.data.frames import as_arrow
from recombine.data.group_counts import asked_of, factor_keys, folded
from recombine.data.row_codes import factor_codes, has_order
from recombine.data.set_columns import as_read
from recombine.data.sources import opened
from recombine.data.stored_arrays import StoredArray
from recombine.data.support import Support
from recombine.data.table_query import TableQuery, filtered
from recombine.data.vector_answers import RunningMeans, VectorAnswers
from recombine.numerics.groups import Ints, Numbers

VectorTarget = str | Sequence[str] | npt.NDArray[Any] | StoredArray
"""A list column, a pattern or list of columns, or an array (rows, outputs) in step with the table, here or in its file.
"""

_ENTRIES = 4 * 10**6
"""Numbers of a batch: 32 MB in float64."""
_FEWEST_ROWS = 64
_MOST_ENTRIES = 10**8
"""Combinations times outputs: two sums in float64 and two matrices of float32 are then 2.4 GB."""
_ROW = "recombine_row"


def is_vector(target: Any) -> bool:
    """Whether a target is a vector by the way it is written; a list column is only known by its type.

    >>> is_vector("gene_*"), is_vector(["a", "b"]), is_vector(np.zeros((3, 2))), is_vector("price"), is_vector(None)
    (True, True, True, False, False)
    """
    return target is not None and (not isinstance(target, str) or "*" in target or "?" in target)


def vector_name(target: Any, otherwise: str = "outputs") -> str:
    """What a vector is called in a sentence.

    >>> vector_name("gene_*"), vector_name(["a", "b", "c"]), vector_name(np.zeros((3, 2)))
    ('gene_*', 'a, b, c', 'outputs')
    """
    if isinstance(target, str):
        return target
    if isinstance(target, StoredArray):
        return target.name
    if hasattr(target, "shape"):
        return otherwise
    names = list(map(str, target))
    return ", ".join(names) if len(names) <= 3 else f"{names[0]} … {names[-1]}"


@dataclass(frozen=True, eq=False)
class VectorBatch:
    """Some rows: the number of the combination of each (-1 for none), their vectors, and a further column."""

    combination: Ints
    vectors: Mapping[str, Numbers]  # (b, m) each, NaN where one is missing
    beside: pa.ChunkedArray | None


@dataclass(frozen=True, eq=False)
class _Place:
    """Where a vector stands: in these columns (of which a single one holds lists), or in an array."""

    name: str
    role: str
    columns: tuple[str, ...]
    array: npt.NDArray[Any] | StoredArray | None = None

    @property
    def asked(self) -> dict[str, str]:
        """The columns by the names under which they are asked: a user's own may be that of a factor's key."""
        return {f"{self.role}_{place}": column for place, column in enumerate(self.columns)}

    @property
    def outputs(self) -> tuple[str, ...] | None:
        """The names of the outputs where columns have them."""
        if isinstance(self.array, StoredArray):
            return self.array.names()
        return self.columns if len(self.columns) > 1 else None


@dataclass(eq=False)
class VectorRows:
    """A table's rows with vectors, as a stream that can be read once; `outputs` are known after the first batch."""

    outputs: dict[str, tuple[str, ...]]
    batches: Iterator[VectorBatch]


def read_vectors(source: Any, support: Support, target: VectorTarget, question: TableQuery) -> VectorAnswers:
    """The mean vector of each combination of a support, which was counted with the same settings.

    >>> from recombine.data.read import read
    >>> table = {"a": ["x", "y", "x"], "b": ["p", "p", "p"], "g1": [1.0, 2.0, 3.0], "g2": [0.0, 5.0, 2.0]}
    >>> support = read(table | {"b": ["p", "q", "p"]}, factors=["a", "b"])
    >>> found = read_vectors(table | {"b": ["p", "q", "p"]}, support, "g*", TableQuery(factors=("a", "b")))
    >>> found.outputs, found.of(np.arange(2)).round(6).tolist()
    (('g1', 'g2'), [[2.0, 1.0], [2.0, 5.0]])
    """

    def ask(sniff_all: bool) -> VectorAnswers:
        found = vector_rows(source, support, question, {"target": target}, sniff_all=sniff_all)
        running: RunningMeans | None = None
        for batch in found.batches:
            rows = batch.vectors["target"]
            running = running or running_means(len(support), rows.shape[1])
            running.add(batch.combination, rows)
        return finished(running, vector_name(target), found.outputs.get("target", ()))

    return sniffing_again(ask)


def finished(running: RunningMeans | None, name: str, outputs: tuple[str, ...]) -> VectorAnswers:
    """The answers that were added up, if there are any."""
    if running is None or not running.count.any():
        raise ColumnError(
            f"no row holds a whole vector {name!r}",
            why="a row that misses one of its outputs is left out, and nothing is left",
            instead="fill the gaps, or name outputs that are measured everywhere",
        )
    return running.finished(name, outputs)


def running_means(combinations: int, width: int) -> RunningMeans:
    """Room for the means; refused where it would take gigabytes."""
    if combinations * width > _MOST_ENTRIES:
        raise SettingError(
            f"{combinations:,} combinations of {width:,} outputs",
            why=f"their means would take {combinations * width * 24 / 2**30:,.1f} GiB of memory",
            instead="name fewer outputs, such as the most variable ones or their principal components",
        )
    return RunningMeans.empty(combinations, width)


def vector_rows(
    source: Any,
    support: Support,
    question: TableQuery,
    given: Mapping[str, VectorTarget],
    *,
    beside: str | None = None,
    sniff_all: bool = False,
) -> VectorRows:
    """Rows of a table with one or more vectors each, batch by batch, and with a further column `beside` them."""
    found = VectorRows({}, iter(()))
    found.batches = _batches(source, support, question, given, beside, found.outputs, sniff_all=sniff_all)
    return found


def _batches(
    source: Any,
    support: Support,
    question: TableQuery,
    given: Mapping[str, VectorTarget],
    beside: str | None,
    outputs: dict[str, tuple[str, ...]],
    *,
    sniff_all: bool,
) -> Iterator[VectorBatch]:
    arrays = [name for name, target in given.items() if hasattr(target, "shape")]
    ordered, where = has_order(source), question.where
    if arrays:
        source = _numbered(source, question, [len(given[name]) for name in arrays], sniff_all=sniff_all)
        question = replace(question, table=None)
    with (
        opened(source, table=question.table, sniff_all=sniff_all) as open_table,
        explained(open_table),
    ):
        backend = open_table.backend
        if ordered and backend.name == "duckdb":  # so that the same rows are in the same halves each time
            backend.con.execute("SET preserve_insertion_order = true")
        table = filtered(open_table.table, where, backend)
        places = {name: _find(target, name, table) for name, target in given.items()}
        keys = as_read(factor_keys(table, question, backend), support.space.factors)
        asked = asked_of(keys)
        asked |= {label: table[column] for one in places.values() for label, column in one.asked.items()}
        asked |= {"recombine_beside": table[beside]} if beside is not None else {}
        asked |= {_ROW: table[_ROW]} if arrays else {}
        width = max(_guess_width(one) for one in places.values())
        groups = support.groups(range(len(keys)))
        for batch in stream(backend, table.select(**asked), rows=max(_ENTRIES // width, _FEWEST_ROWS)):
            part = pa.Table.from_batches([batch])
            vectors = {name: _values(part, one) for name, one in places.items()}
            for name, one in places.items():
                _check_width(outputs, name, one, vectors[name].shape[1])
            codes = factor_codes(folded(part, keys), support.space, keys)
            yield VectorBatch(groups.lookup(codes), vectors, part["recombine_beside"] if beside is not None else None)


def _numbered(source: Any, question: TableQuery, lengths: Sequence[int], *, sniff_all: bool) -> pa.Table:
    """A table in memory with the number of each row, for arrays that lie beside it."""
    if not has_order(source):
        raise SettingError(
            "an array beside a table of a database",
            why="its rows have no order, so nobody knows which vector belongs to which row",
            instead="put the vectors into a column of lists, or write the table to a file in the array's order",
        )
    if isinstance(source, str | Path):
        with opened(source, table=question.table, sniff_all=sniff_all) as found, explained(found):
            found.backend.con.execute("SET preserve_insertion_order = true")
            rows: pa.Table = found.backend.to_pyarrow(found.table)
    else:
        rows = as_arrow(source)
    for length in lengths:
        if length != len(rows):
            raise SettingError(
                f"an array of {length:,} rows beside a table of {len(rows):,}",
                why="its rows must be those of the table, in the same order",
                instead="give one vector for each row of the table, those that `where` leaves out too",
            )
    return rows.append_column(_ROW, pa.array(np.arange(len(rows))))


def _find(target: VectorTarget, role: str, table: Any) -> _Place:
    """Where a vector stands in a table."""
    if not isinstance(target, str) and hasattr(target, "shape"):
        if isinstance(target, StoredArray):
            return _Place(target.name, role, (), target)
        array = np.asarray(target)
        if array.ndim != 2 or array.dtype.kind not in "fiub":
            raise SettingError(
                f"an array of shape {array.shape} and type {array.dtype} as the {role}",
                why="a vector for each row is an array of numbers (rows, outputs)",
                instead=f"give it as array.reshape(rows, outputs), or name a column: {role}='…'",
            )
        return _Place(vector_name(target), role, (), array)
    if isinstance(target, str) and target in table.columns and table[target].type().is_array():
        return _Place(target, role, (target,))
    names = _matching(target, table.columns, role)
    for name in names:
        if not (table[name].type().is_numeric() or table[name].type().is_boolean()):
            raise ColumnError(
                f"the output {name!r} is of type {table[name].type()}",
                why="every output of a vector is a number",
                instead="name columns of numbers alone, or a pattern that leaves it out",
            )
    return _Place(vector_name(target), role, names)


def _matching(target: str | Sequence[str], known: Sequence[str], role: str) -> tuple[str, ...]:
    if not isinstance(target, str):
        if not len(target):
            raise SettingError(
                f"no column is named as the {role}",
                why="a vector has outputs",
                instead="name its columns, or write a pattern such as 'gene_*'",
            )
        for name in target:
            if name not in known:
                raise ColumnError(
                    f"no column {name!r} (given as {role})",
                    why="the table has no such column",
                    instead=nearest(str(name), known),
                )
        return tuple(target)
    found = tuple(name for name in known if fnmatchcase(name, target))
    if len(found) < 2:
        raise ColumnError(
            f"{target!r} is the pattern of {len(found)} column{'s' * (len(found) != 1)} (given as {role})",
            why="a vector has at least two outputs",
            instead=nearest(target.strip("*?"), known) if not found else f"name the column itself: {found[0]!r}",
        )
    return found


def _guess_width(place: _Place) -> int:
    """How many outputs there are; of lists it is not known before they are read, so that few are read at a time."""
    if place.array is not None:
        return int(place.array.shape[1])
    return len(place.columns) if len(place.columns) > 1 else 4_096


def _values(part: pa.Table, place: _Place) -> Numbers:
    """(b, m) The vectors of some rows."""
    if place.array is not None:
        return np.asarray(place.array[part[_ROW].to_numpy()], dtype=np.float64)
    if len(place.columns) == 1:
        return _of_lists(part[next(iter(place.asked))].combine_chunks(), place.name)
    found = np.empty((len(part), len(place.columns)))
    for k, label in enumerate(place.asked):
        found[:, k] = part[label].cast(pa.float64(), safe=False).to_numpy()
    return found


def _of_lists(column: Any, name: str) -> Numbers:
    lengths = pc.list_value_length(column)
    bounds = pc.min_max(lengths)
    least, most = bounds["min"].as_py(), bounds["max"].as_py()
    if least != most:
        raise ColumnError(
            f"the lists of {name!r} have {least:,} to {most:,} numbers",
            why="a vector has the same outputs in every row",
            instead="give lists of one length, or leave such rows out with `where`",
        )
    width = int(most or 0)
    found = np.full((len(column), width), np.nan)
    there = pc.is_valid(column)
    flat = pc.list_flatten(column.filter(there)).cast(pa.float64(), safe=False)
    found[there.to_numpy(zero_copy_only=False)] = flat.to_numpy(zero_copy_only=False).reshape(-1, width)
    return found


def _check_width(outputs: dict[str, tuple[str, ...]], name: str, place: _Place, width: int) -> None:
    """Every batch has as many outputs as the first; one whose rows are all without a list has none."""
    known = outputs.setdefault(name, place.outputs or tuple(str(k) for k in range(width)))
    if len(known) != width:
        raise ColumnError(
            f"the lists of {place.name!r} have {len(known):,} numbers in some rows and {width:,} in others",
            why="a vector has the same outputs in every row",
            instead="give lists of one length, or leave such rows out with `where`",
        )
