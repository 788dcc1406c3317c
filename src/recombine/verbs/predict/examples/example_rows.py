"""The rows that a forecast looks at, fetched by one query: factors, target and inputs, some rows of each combination.

The engine numbers the rows of each combination in an order that a hash of the row and the seed gives, and sends back
the first `each` of them:

    SELECT factors, target, inputs FROM (
      SELECT *, ROW_NUMBER() OVER (PARTITION BY factors, target IS NULL ORDER BY HASH(row, seed)) AS turn FROM table
    ) WHERE turn <= each

So a warehouse with 10^9 rows of embeddings sends back some thousands of them: it reads the table once, shuffles it by
combination, and only `each` × combinations × inputs travel. The GROUP BY that counts combinations came before and said
how many rows each has, from which `each` follows. The same seed gives the same rows, whatever the order in the table.

Inputs that stand in an array or folder by the table's order need a table that has one: a file, or a table in memory.
There every row's factors and target are fetched (not its inputs), and rows are drawn here.

Which rows are looked at: as many of each combination, so that the frequent ones do not crowd out the rare.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from recombine.base.errors import SettingError
from recombine.base.seeds import derived
from recombine.data import columns
from recombine.data.columns import FactorKey
from recombine.data.engine import OpenTable, explained, sniffing_again
from recombine.data.group_counts import factor_keys
from recombine.data.row_codes import answer_codes, factor_codes, has_order
from recombine.data.sources import opened
from recombine.data.support import LabelTarget, Support
from recombine.data.table_query import TableQuery, filtered
from recombine.numerics.groups import Codes, Ints, Numbers, group

_ROW, _TURN, _TARGET = "recombine_row", "recombine_turn", "recombine_target"
_LOOKED_AT = 20


@dataclass(frozen=True, eq=False)
class Fetched:
    """Some rows of a table. Legend: n rows, k factors."""

    codes: Codes  # (n, k) in the support's space, -1 for a value that it does not have
    targets: Numbers  # (n,) the number, or the place of the class; NaN where it is missing
    place: Ints | None  # (n,) where each row stands in the table, if that was asked for
    columns: pa.Table  # the further columns

    def __len__(self) -> int:
        return len(self.codes)

    def subset(self, rows: Ints) -> "Fetched":
        """Some of the rows."""
        place = None if self.place is None else self.place[rows]
        return Fetched(self.codes[rows], self.targets[rows], place, self.columns.take(pa.array(rows)))


@dataclass(frozen=True, eq=False)
class Glance:
    """The columns of a table with their types, and the first few of its texts."""

    columns: dict[str, Any]
    first: pa.Table


def glance(source: Any, table: str | None) -> Glance:
    """A short look at a table, before it is asked for rows."""
    with opened(source, table=table) as open_table, explained(open_table):
        known = dict(open_table.table.schema().items())
        texts = [name for name, kind in known.items() if kind.is_string()]
        few = open_table.table.select(*texts).limit(_LOOKED_AT) if texts else None
        return Glance(known, pa.table({}) if few is None else open_table.backend.to_pyarrow(few))


def fetch(
    source: Any,
    support: Support,
    question: TableQuery,
    *,
    inputs: Sequence[str],
    each: int | None,
    ordered: bool = False,
    seed: int = 0,
) -> Fetched:
    """Rows of a table: at most `each` of every combination, or all of them; `ordered` asks where each row stands."""
    if ordered:
        refuse_unordered(source)

    def ask(sniff_all: bool) -> Fetched:
        with opened(source, table=question.table, sniff_all=sniff_all) as open_table, explained(open_table):
            return _asked(open_table, support, question, inputs, each, ordered, seed)

    return sniffing_again(ask)


def refuse_unordered(source: Any) -> None:
    """A table of a database has no order that an array could be in step with."""
    if not has_order(source):
        raise SettingError(
            "inputs by row beside a table of a database",
            why="its rows have no order, so nobody knows which input belongs to which row",
            instead="put the inputs into a column (a list of numbers a row), or give the table as a file or in memory",
        )


def _asked(
    open_table: OpenTable,
    support: Support,
    question: TableQuery,
    inputs: Sequence[str],
    each: int | None,
    ordered: bool,
    seed: int,
) -> Fetched:
    table, backend = open_table.table, open_table.backend
    if ordered:
        backend.con.execute("SET preserve_insertion_order = true")
        table = table.mutate(**{_ROW: ibis.row_number()})
    table = filtered(table, question.where, backend)
    columns.require(table, inputs, role="an input")
    keys = factor_keys(table, question, backend)
    named = {f"f{place}": key.expression for place, key in enumerate(keys)}
    if question.target is not None and question.target in table.columns:
        named[_TARGET] = _target(table[question.target], support, backend)
    chosen = table.select(
        **named,
        **{f"x{place}": table[name] for place, name in enumerate(inputs)},
        **({_ROW: table[_ROW]} if ordered else {}),
    )
    if each is not None:
        chosen = _first_of_each(chosen, len(keys), each, seed)
    return _fetched(backend.to_pyarrow(chosen), keys, support, inputs)


def _target(column: Any, support: Support, backend: Any) -> Any:
    if isinstance(support.target, LabelTarget):
        return columns.as_value(column)
    return columns.without_nan(column, backend).cast("float64")


def _first_of_each(table: Any, factors: int, each: int, seed: int) -> Any:
    mixed = ibis.literal(str(seed))
    for name in table.columns:
        mixed = mixed + table[name].hash().cast("string").fill_null("-")
    by = [table[f"f{place}"] for place in range(factors)]
    if _TARGET in table.columns:
        by.append(table[_TARGET].isnull())
    turn = ibis.row_number().over(group_by=by, order_by=mixed.hash())
    numbered = table.mutate(**{_TURN: turn})
    kept = numbered.filter(numbered[_TURN] < each)
    # an engine sends rows in any order, and which of them are held out hangs on it
    return kept.order_by([f"f{place}" for place in range(factors)] + [_TURN]).drop(_TURN)


def _fetched(rows: pa.Table, keys: Sequence[FactorKey], support: Support, inputs: Sequence[str]) -> Fetched:
    place = None
    if _ROW in rows.column_names:  # by the table's own order, where it has one; an engine may send rows in any
        rows = rows.take(pc.sort_indices(rows[_ROW]))
        place = rows[_ROW].to_numpy()
    known = _TARGET in rows.column_names
    targets = answer_codes(rows[_TARGET], support.target) if known else np.full(len(rows), np.nan)
    further = pa.table({name: rows[f"x{place}"] for place, name in enumerate(inputs)})
    return Fetched(factor_codes(rows, support.space, keys), targets, place, further)


HELD_OUT = 0.2
"""Of the rows, where each combination keeps one: on these the ridge is chosen and the seen score is measured."""


def numbered(codes: Codes) -> tuple[Ints, Ints]:
    """For each row the number of its combination, and a row of each combination.

    >>> numbered(np.array([[1, 0], [0, 0], [1, 0]]))
    (array([1, 0, 1]), array([1, 0]))
    """
    sizes = tuple((codes.max(axis=0, initial=0) + 1).tolist())
    found = group(np.asfortranarray(codes, dtype=np.int32), sizes=sizes, factors=tuple(range(codes.shape[1])))
    return found.ids, found.representatives


def drawn(combination: Ints, most: int, *, seed: int) -> Ints:
    """At most so many rows, as evenly over the combinations as they allow, in the order of the rows.

    >>> drawn(np.array([0, 0, 0, 0, 1, 2]), 4, seed=0).tolist()[-2:]
    [4, 5]
    """
    if len(combination) <= most:
        return np.arange(len(combination))
    shuffled = np.random.default_rng(derived(seed, "rows")).permutation(len(combination))
    turn = np.empty(len(combination), dtype=np.int64)
    turn[shuffled] = _turns(combination[shuffled])
    # each combination's first row, then each one's second, and so on
    order = np.lexsort((np.argsort(shuffled), turn))
    return np.sort(order[:most])


def first_of_each(combination: Ints, each: int, *, seed: int) -> Ints:
    """At most so many rows of each combination, in the order of the rows.

    >>> first_of_each(np.array([0, 1, 1, 0]), 2, seed=0).tolist()
    [0, 1, 2, 3]
    """
    shuffled = np.random.default_rng(derived(seed, "rows")).permutation(len(combination))
    return np.sort(shuffled[_turns(combination[shuffled]) < each])


def _turns(combination: Ints) -> Ints:
    """Whether a row is the first of its combination (0), the second (1), and so on."""
    order = np.argsort(combination, kind="stable")
    counts = np.bincount(combination)
    starts = np.cumsum(counts) - counts
    turn = np.empty(len(combination), dtype=np.int64)
    turn[order] = np.arange(len(combination)) - np.repeat(starts, counts)
    return turn


def held_out(combination: Ints, *, seed: int) -> tuple[Ints, Ints]:
    """Rows to fit on, and rows held out whose combination has others among the first; none where all stand alone.

    >>> [part.tolist() for part in held_out(np.array([0, 0, 0, 0, 0, 1]), seed=0)][0][-1]
    5
    """
    rng = np.random.default_rng(derived(seed, "held out"))
    shuffled = rng.permutation(len(combination))
    spare = shuffled[_turns(combination[shuffled]) > 0]
    held = np.sort(rng.permutation(spare)[: max(1, round(HELD_OUT * len(combination)))])
    return np.setdiff1d(np.arange(len(combination)), held), held


def folds(combination: Ints, count: int, *, seed: int) -> list[Ints]:
    """The rows of each part of the combinations, whole combinations to a part."""
    size = int(combination.max(initial=-1)) + 1
    parts = np.array_split(np.random.default_rng(derived(seed, "folds")).permutation(size), min(count, size))
    return [np.flatnonzero(np.isin(combination, part)) for part in parts]
