"""A split as one table with a column that tells the side, whatever files it lies in.

A single table stays where it is, in whatever engine. Several tables are copied into one DuckDB of our own, which
spills to a folder that goes away with it: rows on both sides can only be found where both sides are.
"""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import ibis

from recombine.errors import ColumnError, SettingError
from recombine.redaction import redacted
from recombine.splits.writing.streaming import stream
from recombine.tables import columns
from recombine.tables.conditions import filtered
from recombine.tables.engine import Source
from recombine.tables.question import Where
from recombine.tables.sides import Side
from recombine.tables.sources import opened

SIDE = "recombine_side"
"""The column that tells the side where the sides were separate tables."""


@dataclass(frozen=True)
class Part:
    """One table of a split: wholly on one side, or with a column that tells the side."""

    source: Any
    side: Side | None = None


def parts_of(source: Any, sides: dict[Side, Any], against: Sequence[Any]) -> list[Part]:
    """The tables that were given, each with its side; what contradicts itself is refused."""
    given: list[Part] = [Part(table, side) for side, table in sides.items() if table is not None]
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
        raise _same(sides["test"])
    whole = [] if source is None else [Part(source)]
    return [*whole, *given, *(Part(table, "train") for table in against)]


def _same_table(one: Any, other: Any) -> bool:
    """Whether two sides are one file, however its path is written, or one table in memory."""
    if isinstance(one, str | Path) and isinstance(other, str | Path):
        urls = any("://" in str(path) for path in (one, other))
        return str(one) == str(other) if urls else _whole_path(one) == _whole_path(other)
    return one is not None and one is other


def _whole_path(path: str | Path) -> Path:
    return Path(path).expanduser().resolve()


def _same(table: Any) -> SettingError:
    file = isinstance(table, str | Path)
    written = redacted(str(table)) if file else ""
    called = f"the same file '{written}'" if file else "the same table"
    return SettingError(
        f"train and test are {called}",
        why="every row would be on both sides",
        instead="give each side its own table; where a column tells the side, give the table once: "
        f"lint({repr(written) if file else 'table'}, split='split') "
        f"(recombine lint {written if file else 'TABLE'} --split split)",
    )


@contextmanager
def gathered(
    parts: Sequence[Part],
    *,
    split: str,
    needed: Sequence[str],
    identity: str | None,
    where: Where | None,
    table: str | None,
    sniff_all: bool = False,
) -> Iterator[tuple[Source, str]]:
    """The split as one table for the time of one check, and the column that tells the side."""
    wanted = None if identity is None or where is not None else [*needed, identity]
    if len(parts) == 1:
        only = None if wanted is None else [*wanted, split]
        with opened(parts[0].source, table=table, columns=only, sniff_all=sniff_all) as lent:
            columns.require(lent.table, [split], role="the split")
            yield replace(lent, table=filtered(lent.table, where, lent.backend)), split
        return
    with ExitStack() as stack:
        spill = stack.enter_context(tempfile.TemporaryDirectory(prefix="recombine-"))
        backend = ibis.duckdb.connect(":memory:", temp_directory=spill)
        stack.callback(backend.disconnect)
        names, selects = [], []
        for place, part in enumerate(parts):
            told = table if part.side is None else None
            with opened(part.source, table=told, columns=None, sniff_all=sniff_all) as lent:
                _copy(lent, backend, place, part, split=split, wanted=wanted, where=where, needed=needed)
                names.append(lent.name)
            selects.append(f"FROM part{place}")
        # by name: a column that one table lacks is missing there, and types that differ become text
        backend.con.execute(f"CREATE VIEW recombine_split AS {' UNION ALL BY NAME '.join(selects)}")
        yield Source(backend.table("recombine_split"), backend, " + ".join(names)), SIDE


def _copy(
    lent: Source,
    backend: Any,
    place: int,
    part: Part,
    *,
    split: str,
    wanted: Sequence[str] | None,
    where: Where | None,
    needed: Sequence[str],
) -> None:
    """Copy what is needed of one table, with its side, as the table `part<place>`."""
    _require(lent, needed if wanted is None else wanted)
    if part.side is None:
        columns.require(lent.table, [split], role="the split")
    kept = [name for name in lent.table.columns if name not in (split, SIDE) and (wanted is None or name in wanted)]
    rows = filtered(lent.table, where, lent.backend)
    side = ibis.literal(part.side) if part.side else rows[split].cast("string")
    chosen = rows.select(*kept, **{SIDE: side})
    backend.con.register("recombine_part", stream(lent.backend, chosen))
    backend.con.execute(f"CREATE TABLE part{place} AS SELECT * FROM recombine_part")  # noqa: S608
    backend.con.unregister("recombine_part")


def _require(lent: Source, names: Sequence[str]) -> None:
    """As `columns.require`, but with the name of the table: there are several."""
    try:
        columns.require(lent.table, names, role="asked for")
    except ColumnError as error:
        raise ColumnError(f"{error.what} in '{lent.name}'", why=error.why, instead=error.instead) from error


def compared_columns(table: Any, backend: Any, *, side: str) -> list[str]:
    """The columns by which two rows are the same: all but the side, less what an engine cannot compare."""
    schema = table.schema()
    any_kind = backend.name == "duckdb"
    return [name for name in table.columns if name != side and (any_kind or columns.is_plain(schema[name]))]
