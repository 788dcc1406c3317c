"""The rows of a user's table: which combination each holds, and which rows each combination has."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from recombine.errors import TableError
from recombine.lab.tasks.task import Codes, Part
from recombine.tables.columns import require
from recombine.tables.read import read
from recombine.tables.sources import opened
from recombine.tables.space import Factor
from recombine.tables.support import Support

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Rows:
    """The combinations of a table, and for each row the place of its own among them."""

    support: Support
    combination: Ints

    @classmethod
    def of(cls, table: pa.Table, factors: tuple[str, ...]) -> "Rows":
        """Read the factors of every row."""
        require_columns(table, factors, role="a factor")
        for name in factors:
            refuse_gaps(table, name)
        support = read(table.select(list(factors)), factors=factors)
        codes = [_codes(table[factor.name], factor) for factor in support.space.factors]
        combination = support.groups(range(len(factors))).lookup(np.stack(codes, axis=1).astype(np.int32))
        return cls(support, combination)

    def find(self, codes: Codes) -> Ints:
        """The place of each combination, -1 where the table has no row of it."""
        return self.support.groups(range(codes.shape[1])).lookup(codes.astype(np.int32))


@dataclass(frozen=True, eq=False)
class Choice:
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
        chance = np.random.default_rng(seed).random(len(places))
        within = (chance * self.counts[places]).astype(np.int64)
        return np.asarray(self._ordered[self._starts[places] + within])

    @cached_property
    def _ordered(self) -> Ints:
        return self.rows[np.argsort(self.combination[self.rows], kind="stable")]

    @cached_property
    def _starts(self) -> Ints:
        return np.cumsum(self.counts) - self.counts


def choices(table: pa.Table, split: str | None, rows: Rows) -> dict[Part, Choice]:
    """The rows of each part: those that the split column gives to it, or all of them where there is no such column."""
    size = len(rows.support)
    if split is None:
        both = Choice(np.arange(len(table)), rows.combination, size)
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
    return {part: Choice(np.flatnonzero(says == part), rows.combination, size) for part in parts}


def read_table(path: str | Path) -> pa.Table:
    """All rows of a table's file, in their order."""
    with opened(path, sniff_all=True) as lent:
        lent.backend.con.execute("SET preserve_insertion_order = true")
        table: pa.Table = lent.backend.to_pyarrow(lent.table)
    return table


def require_columns(table: pa.Table, names: tuple[str, ...], *, role: str) -> None:
    """Every named column is there, else the nearest one is suggested."""
    require(_Named(table.column_names), names, role=role)


def refuse_gaps(table: pa.Table, name: str) -> None:
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


def _codes(column: pa.ChunkedArray, factor: Factor) -> npt.NDArray[Any]:
    """Where each row's value stands among the factor's values."""
    encoded = pc.dictionary_encode(column).combine_chunks()
    found = np.array([factor.code(value) for value in encoded.dictionary.to_pylist()], dtype=np.int64)
    return np.asarray(found[encoded.indices.to_numpy()])
