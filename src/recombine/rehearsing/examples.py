"""What a learner is taught with and asked about: combinations with their answers, and their rows where it needs rows.

A learner that works on combinations is content with a support, which any engine counts. One that works on rows gets
them in the table's order, each with the number of its combination; `inputs` are columns of the table, or an array that
stands beside its rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from recombine.algebra.groups import Ints, Numbers
from recombine.errors import ColumnError, SettingError, SourceError, TableError
from recombine.tables import columns
from recombine.tables.question import ReadOptions
from recombine.tables.row_codes import row_codes
from recombine.tables.sources import as_arrow, opened
from recombine.tables.support import LabelTarget, NumberTarget, Support
from recombine.theory.answers import Answers, answers

MOST_ROWS = 5 * 10**6
"""Rows that are read into memory for a learner that needs them."""
Inputs = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of some combinations. Legend: n rows."""

    combination: Ints  # (n,) its place among the combinations
    answers: Numbers  # (n,) the place of its class, or its number
    inputs: Inputs | None  # (n, …)
    table: pa.Table  # all columns

    def at(self, rows: Ints, combination: Ints) -> "Rows":
        """Some of the rows, whose combinations are numbered anew."""
        inputs = None if self.inputs is None else self.inputs[rows]
        return Rows(combination, self.answers[rows], inputs, self.table.take(pa.array(rows)))


@dataclass(frozen=True, eq=False)
class Examples:
    """Combinations that each have an answer; with their rows, where a learner needs them."""

    support: Support
    rows: Rows | None = None

    @property
    def own(self) -> Answers:
        """The answer of each combination."""
        return answers(self.support, one_class=True)

    @property
    def classes(self) -> tuple[Any, ...] | None:
        """The target's classes; None for a number."""
        target = self.support.target
        return target.classes if isinstance(target, LabelTarget) else None

    def part(self, combinations: Ints) -> "Examples":
        """Some of the combinations alone, with their rows in the table's order."""
        rows = None
        if self.rows is not None:
            place = np.full(len(self.support), -1, dtype=np.int64)
            place[combinations] = np.arange(len(combinations))
            kept = np.flatnonzero(place[self.rows.combination] >= 0)
            rows = self.rows.at(kept, place[self.rows.combination[kept]])
        return Examples(self.support.subset(combinations), rows)

    def by_row(self, said: Numbers) -> Numbers:
        """(c,) How good answers to every row are: the share of right ones, or the mean squared error."""
        assert self.rows is not None  # noqa: S101 - whoever answers rows was given them
        good = np.square(said - self.rows.answers) if self.classes is None else (said == self.rows.answers) * 1.0
        size = len(self.support)
        return np.asarray(
            np.bincount(self.rows.combination, good, minlength=size)
            / np.bincount(self.rows.combination, minlength=size)
        )

    def by_combination(self, said: Numbers) -> Numbers:
        """(c,) The same of one answer to each combination, whose rows may differ among themselves."""
        target = self.support.target
        if isinstance(target, NumberTarget):
            return np.asarray(target.scatter / target.count + np.square(target.mean - said))
        assert isinstance(target, LabelTarget)  # noqa: S101 - there is no third kind
        total = np.bincount(target.combination, target.count, minlength=len(self.support))
        right = target.label == said[target.combination]
        return np.asarray(np.bincount(target.combination, target.count * right, minlength=len(self.support)) / total)


def examples_of(support: Support, source: Any, reading: ReadOptions, *, rows: bool, inputs: Any = None) -> Examples:
    """The combinations of a support that have an answer, and their rows where they are needed."""
    own = answers(support)
    whole = support if len(own) == len(support) else support.subset(own.rows)
    if not rows and inputs is None:
        return Examples(whole)
    _refuse_what_has_no_rows(source, reading)
    table = _all_rows(source, reading.get("table"))
    given = None if inputs is None else inputs_of(inputs, table)
    found = row_codes(table, whole, bins=reading.get("bins"), domain=reading.get("domain"), where=reading.get("where"))
    assert found.answers is not None  # noqa: S101 - answers() has refused a support without a target
    kept = np.flatnonzero((found.combination >= 0) & np.isfinite(found.answers))
    every = Rows(found.combination, found.answers, given, table)
    return Examples(whole, every.at(kept, found.combination[kept]))


def _refuse_what_has_no_rows(source: Any, reading: ReadOptions) -> None:
    if isinstance(source, Support):
        raise SettingError(
            "a Support for a learner that works on rows",
            why="a support holds how often each combination occurred, and no rows",
            instead="give the table itself with factors=… and target=…, or a learner by name, such as 'relu:2'",
        )
    if reading.get("weight") is not None:
        raise SettingError(
            f"weight={reading['weight']!r} for a learner that works on rows",
            why="it would be taught every row once, whatever the row stands for",
            instead="leave the weight out, or take a learner by name, such as 'relu:2'",
        )


def _all_rows(source: Any, name: str | None) -> pa.Table:
    """All rows of a table in their order, if it has one and they fit."""
    if not isinstance(source, str | Path) and not type(source).__module__.startswith("ibis."):
        return _few_enough(as_arrow(source), "the table")
    with opened(source, table=name, sniff_all=True) as found:
        if found.backend.name == "duckdb":
            found.backend.con.execute("SET preserve_insertion_order = true")
        rows = int(found.backend.to_pyarrow(found.table.count()).as_py())
        _refuse_many(rows, found.name)
        table: pa.Table = found.backend.to_pyarrow(found.table)
    return table


def _few_enough(table: pa.Table, name: str) -> pa.Table:
    _refuse_many(len(table), name)
    return table


def _refuse_many(rows: int, name: str) -> None:
    if rows > MOST_ROWS:
        raise TableError(
            f"{name} has {rows:,} rows",
            why=f"a learner that works on rows is taught at most {MOST_ROWS:,}, which are held in memory",
            instead="give a sample of its rows, or a learner that works on combinations, such as 'relu:2'",
        )


def inputs_of(given: Any, table: pa.Table) -> Inputs:
    """What a learner is shown of each row: columns of numbers or lists, or an array beside the table's rows.

    >>> inputs_of(["x", "z"], pa.table({"x": [1, 2], "z": [0.5, 1.5]})).tolist()
    [[1.0, 0.5], [2.0, 1.5]]
    """
    if isinstance(given, str) and not given.endswith(".npy"):
        given = [name for name in given.split(",") if name]
    if isinstance(given, list | tuple) and given and all(isinstance(name, str) for name in given):
        return _of_columns(given, table)
    found = _array(given)
    if found.ndim < 1 or len(found) != len(table):
        raise SettingError(
            f"inputs of shape {found.shape}, and a table of {len(table):,} rows",
            why="row i of the inputs belongs to row i of the table",
            instead="give one row of inputs for each row of the table, in its order",
        )
    found = found.reshape(len(found), -1) if found.ndim == 1 else found
    if found.dtype.kind not in "fiub" or not np.isfinite(found).all():
        raise SettingError(
            "inputs that are not finite numbers",
            why="a learner on inputs compares them as numbers",
            instead="fill in or leave out what is NaN or infinite, together with its rows",
        )
    return found


def _array(given: Any) -> Inputs:
    if not isinstance(given, str | Path):
        return np.asarray(given)
    try:
        return np.asarray(np.load(given, allow_pickle=False))
    except (OSError, ValueError) as error:
        raise SourceError(
            f"cannot read the inputs in '{given}'",
            why=str(error).splitlines()[0],
            instead="give a .npy file that holds one row for each row of the table, or names of columns",
        ) from error


def _of_columns(names: Sequence[str], table: pa.Table) -> Inputs:
    columns.require(_Named(table.column_names), names, role="inputs")
    parts = []
    for name in names:
        column = table[name]
        try:
            part = np.array(column.to_pylist(), dtype=np.float64).reshape(len(column), -1)
        except (TypeError, ValueError) as error:
            raise ColumnError(
                f"the input {name!r} is of type {column.type}",
                why="inputs are numbers, or lists of numbers of one length",
                instead="name columns of numbers",
            ) from error
        if not np.isfinite(part).all():
            raise ColumnError(
                f"the input {name!r} is missing or not finite in {int((~np.isfinite(part)).any(axis=1).sum()):,} rows",
                why="a learner on inputs compares them as numbers",
                instead="fill it in, or leave such rows out of the table",
            )
        parts.append(part)
    return np.concatenate(parts, axis=1)


@dataclass(frozen=True)
class _Named:
    columns: list[str]
