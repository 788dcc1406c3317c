"""How often each combination stands on each side of a split: one GROUP BY, with the side as one more factor.

A split is one table with a column that tells the side, whatever files it lies in. A single table stays where it is, in
whatever engine. Several tables are copied into one DuckDB of our own, which spills to a folder that goes away with it:
rows on both sides can only be found where both sides are.
"""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypedDict

import ibis
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from recombine.base.errors import ColumnError, SettingError
from recombine.base.redaction import redacted
from recombine.data import columns
from recombine.data.columns import Bins, FactorKey
from recombine.data.engine import OpenTable, Progress, stream
from recombine.data.group_counts import Aggregate, EngineCounts, count_groups
from recombine.data.set_columns import SetSource
from recombine.data.sources import opened
from recombine.data.space import Value, text
from recombine.data.split_sides import SEEN, SIDES, Side, SplitColumn, words_of
from recombine.data.support import Support
from recombine.data.support_assembly import TargetAsked, assemble
from recombine.data.table_query import TableQuery, Where, filtered
from recombine.numerics.groups import Ints

SIDE = "recombine_side"
"""The column that tells the side where the sides were separate tables."""
NO_SIDE = "(no side)"
EVERY_SIDE = (*SIDES, SEEN, NO_SIDE)
TRAIN, VALIDATION, TEST = (EVERY_SIDE.index(side) for side in SIDES)


class SplitReading(TypedDict, total=False):
    """How the tables of a split are read: these settings of `recombine.read`, by the same names."""

    where: Where | None
    bins: Mapping[str, Bins] | None
    sets: Mapping[str, SetSource] | None
    missing: Literal["leave out", "value"]
    table: str | None
    command: str | None


@dataclass(frozen=True, kw_only=True)
class SplitQuery(TableQuery):
    """What is asked of a split: how its table is read, what tells the side of a row, and what tells rows apart."""

    column: SplitColumn
    id: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        split = self.column.name
        if split in self.factors or split == self.target:
            raise SettingError(
                f"{split!r} is both the split and {'the target' if split == self.target else 'a factor'}",
                why="the side of a row is not a property of the example",
                instead="take it off one of the two",
            )

    def settings(self) -> dict[str, Any]:
        """How the table was read, as it is saved with a result."""
        return {name: value for name, value in super().settings().items() if name not in ("column", "id")}


@dataclass(frozen=True, eq=False)
class Sided:
    """A support whose last factor is the side, and what the split's own words for the sides stand for."""

    support: Support
    words: Mapping[Value, str]
    no_side: Mapping[str, int]

    @property
    def factors(self) -> tuple[str, ...]:
        """The factors' names, without the side."""
        return self.support.space.names[:-1]

    @cached_property
    def whole(self) -> Support:
        """All combinations, whatever their side."""
        return self.support.project(range(len(self.factors)))

    @cached_property
    def combination(self) -> Ints:
        """The combination of each line of the support."""
        return self.support.groups(range(len(self.factors))).ids

    @cached_property
    def counts(self) -> Ints:
        """Rows by combination and side."""
        side = self.support.codes[:, -1].astype(np.int64)
        sides = len(EVERY_SIDE)
        flat = np.bincount(
            self.combination * sides + side, weights=self.support.counts, minlength=len(self.whole) * sides
        )
        return flat.astype(np.int64).reshape(-1, sides)

    def on(self, side: int) -> npt.NDArray[np.bool_]:
        """Which combinations have rows on a side."""
        return np.asarray(self.counts[:, side] > 0)

    def rows(self, side: int) -> int:
        """How many rows a side has."""
        return int(self.counts[:, side].sum())

    def raw(self, side: str) -> list[Value]:
        """The split column's own words for a side."""
        return [word for word, meant in self.words.items() if meant == side]

    @cached_property
    def training(self) -> Support:
        """The combinations that training holds, over the space of all."""
        return self.whole.subset(np.flatnonzero(self.on(TRAIN)))


def count_sides(open_table: OpenTable, side: str, query: SplitQuery, progress: Progress | None) -> Sided:
    """Count the combinations on each side where the table lies."""

    def aggregate(table: Any, backend: Any) -> Aggregate:
        by = {"side": columns.key(table, side, bins=None, declared=True, backend=backend).expression}
        return Aggregate(by if query.target is None else by | {"target": _label(table, query.target)})

    plain = TableQuery(factors=query.factors, bins=query.bins, sets=query.sets)
    counts = count_groups(open_table, plain, aggregate, progress=progress)
    lines, keys, split = counts.lines, counts.keys, query.column.name
    raw = pc.dictionary_encode(lines["side"], null_encoding="encode").combine_chunks()
    values = raw.dictionary.to_pylist()
    words = (
        words_of(query.column, columns.ordered({value for value in values if value is not None})) if len(lines) else {}
    )
    sides = pa.array([words.get(value, NO_SIDE) for value in values], pa.string())
    column = sides.take(raw.indices) if len(lines) else pa.array([], pa.string())
    lines = lines.append_column(f"f{len(keys)}", column)
    target = None if query.target is None else TargetAsked("label")
    with_side = TableQuery(
        factors=(*query.factors, split),
        target=query.target,
        target_kind=None if target is None else target.kind,
        bins=query.bins,
        sets=query.sets,
        domain={split: EVERY_SIDE},
        missing=query.missing,
    )
    by_side = EngineCounts(lines, (*keys, FactorKey(split, None)), counts.source)
    return Sided(assemble(by_side, with_side, target=target), words, _rows_of_no_side(lines, len(keys), words, query))


def _rows_of_no_side(lines: pa.Table, keys: int, words: Mapping[Value, str], query: SplitQuery) -> dict[str, int]:
    """Rows of each word that stands for no side; rows that miss a factor are told elsewhere."""
    if query.missing != "value":
        for place in range(keys):
            lines = lines.filter(pc.is_valid(lines[f"f{place}"]))
    totals = lines.group_by("side").aggregate([("rows", "sum")]).to_pylist()
    stray = {line["side"]: int(line["rows_sum"]) for line in totals if line["side"] not in words}
    return {"(missing)" if value is None else text(value): rows for value, rows in stray.items()}


def _label(table: Any, target: str) -> Any:
    columns.require(table, [target], role="the target")
    kind = table[target].type()
    if not (kind.is_string() or kind.is_boolean() or columns.is_whole(kind)):
        raise ColumnError(
            f"the target {target!r} is of type {kind}",
            why="the shares of classes are compared, and a class is text, a boolean or a whole number",
            instead="name a column of classes, or leave the target out",
        )
    return columns.as_value(table[target])


@dataclass(frozen=True)
class SplitPart:
    """One table of a split: wholly on one side, or with a column that tells the side."""

    source: Any
    side: Side | None = None


def parts_of(source: Any, sides: dict[Side, Any], against: Sequence[Any]) -> list[SplitPart]:
    """The tables that were given, each with its side; what contradicts itself is refused."""
    given: list[SplitPart] = [SplitPart(table, side) for side, table in sides.items() if table is not None]
    if source is not None and given:
        raise SettingError(
            "both a table with a split column and tables for the sides were given",
            why="a row's side would be told twice",
            instead="give lint(table, split='split'), or lint(train=…, test=…) without a table",
        )
    if source is None and (sides["train"] is None or sides["test"] is None):
        missing = next(side for side in ("train", "test") if sides[side] is None)
        raise SettingError(
            f"no {missing} table was given" if given else "no table was given",
            why="a split has a training and a test side",
            instead="give lint(table, split='split'), or lint(train=…, test=…); on the command line "
            "`recombine lint DATA --split split`, or --train train.csv --test test.csv",
        )
    if _same_table(sides["train"], sides["test"]):
        file = isinstance(sides["test"], str | Path)
        written = redacted(str(sides["test"])) if file else ""
        raise SettingError(
            f"train and test are {f'the same file {written!r}' if file else 'the same table'}",
            why="every row would be on both sides",
            instead="give each side its own table; where a column tells the side, give the table once: "
            f"lint({repr(written) if file else 'table'}, split='split') "
            f"(recombine lint {written if file else 'TABLE'} --split split)",
        )
    whole = [] if source is None else [SplitPart(source)]
    return [*whole, *given, *(SplitPart(table, "train") for table in against)]


def _same_table(one: Any, other: Any) -> bool:
    """Whether two sides are one file, however its path is written, or one table in memory."""
    if not (isinstance(one, str | Path) and isinstance(other, str | Path)):
        return one is not None and one is other
    if any("://" in str(path) for path in (one, other)):
        return str(one) == str(other)
    return Path(one).expanduser().resolve() == Path(other).expanduser().resolve()


@contextmanager
def open_split(
    parts: Sequence[SplitPart], query: SplitQuery, *, sniff_all: bool = False
) -> Iterator[tuple[OpenTable, str]]:
    """The split as one table for the time of one check, and the column that tells the side."""
    split, target, where = query.column.name, query.target, query.where
    needed = [*query.columns, *([target] if target else [])]
    wanted = None if query.id is None or where is not None else [*needed, query.id]
    if len(parts) == 1:
        only = None if wanted is None else [*wanted, split]
        with opened(parts[0].source, table=query.table, columns=only, sniff_all=sniff_all) as open_table:
            _require_split(open_table, query)
            yield replace(open_table, table=filtered(open_table.table, where, open_table.backend)), split
        return
    with ExitStack() as stack:
        spill = stack.enter_context(tempfile.TemporaryDirectory(prefix="recombine-"))
        backend = ibis.duckdb.connect(":memory:", temp_directory=spill)
        stack.callback(backend.disconnect)
        names = []
        for place, part in enumerate(parts):
            table = query.table if part.side is None else None
            with opened(part.source, table=table, columns=None, sniff_all=sniff_all) as open_table:
                if part.side is None:
                    _require_split(open_table, query)
                _require(open_table, needed if wanted is None else wanted)
                rows = filtered(open_table.table, where, open_table.backend)
                kept = [n for n in rows.columns if n not in (split, SIDE) and (wanted is None or n in wanted)]
                side = ibis.literal(part.side) if part.side else rows[split].cast("string")
                chosen = rows.select(*kept, **{SIDE: side})
                backend.con.register("recombine_part", stream(open_table.backend, chosen))
                backend.con.execute(f"CREATE TABLE part{place} AS SELECT * FROM recombine_part")  # noqa: S608
                backend.con.unregister("recombine_part")
                names.append(open_table.name)
        # by name: a column that one table lacks is missing there, and types that differ become text
        union = " UNION ALL BY NAME ".join(f"FROM part{place}" for place in range(len(parts)))
        backend.con.execute(f"CREATE VIEW recombine_split AS {union}")
        yield OpenTable(backend.table("recombine_split"), backend, " + ".join(names)), SIDE


def _require_split(open_table: OpenTable, query: SplitQuery) -> None:
    """The column of the split is there; a table without one is not told of its other columns but how to get it."""
    split = query.column.name
    if split in open_table.table.columns:
        return
    close = get_close_matches(split.lower(), [name.lower() for name in open_table.table.columns], n=1, cutoff=0.7)
    near = next((name for name in open_table.table.columns if name.lower() in close), None)
    plain = ",".join(name for name in query.factors if name not in query.sets)
    named = [f"--factors {plain}"] * bool(plain) + [f"--set {name}={one}" for name, one in query.sets.items()]
    anew = f"recombine split {open_table.name} {' '.join(named)} --out held.parquet"
    raise ColumnError(
        f"no column {split!r} (given as the split)",
        why="the table tells of no row whether it is for training or for test",
        instead=(f"did you mean {near!r}? " if near else "")
        + f"name the column: split='…' (--split …); or hold out combinations first: {anew}",
    )


def _require(open_table: OpenTable, names: Sequence[str]) -> None:
    """As `columns.require`, but with the name of the table: there are several."""
    try:
        columns.require(open_table.table, names, role="asked for")
    except ColumnError as error:
        raise ColumnError(f"{error.what} in '{open_table.name}'", why=error.why, instead=error.instead) from error


def compared_columns(table: Any, backend: Any, *, side: str) -> list[str]:
    """The columns by which two rows are the same: all but the side, less what an engine cannot compare."""
    schema = table.schema()
    any_kind = backend.name == "duckdb"
    return [name for name in table.columns if name != side and (any_kind or columns.is_plain(schema[name]))]
