"""A table in memory as a support, and the combination that each of its rows holds.

The support is counted by `recombine.read`, so a frame is read here exactly as a file is elsewhere; a second question
asks the same engine for the value of every row, in the rows' order.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from recombine.algebra.groups import Ints
from recombine.errors import ColumnError, SettingError, TableError
from recombine.splits.tabular import column_name, columns_by_name, known_columns, no_rows, row_count
from recombine.tables import columns
from recombine.tables.columns import Bins, Key
from recombine.tables.read import read
from recombine.tables.sources import as_arrow, opened
from recombine.tables.space import Factor
from recombine.tables.support import LabelTarget, Support

Names = Sequence[str | int]
Missing = Literal["refuse", "value"]

_ROW = "recombine_row"


@dataclass(frozen=True, eq=False)
class Rows:
    """The support of a table; for each row the number of its combination in the support, and of its class."""

    support: Support
    combination: Ints
    label: Ints | None = None

    def __len__(self) -> int:
        return len(self.combination)


def rows_of_table(
    X: Any,  # noqa: N803 - scikit-learn's name
    *,
    factors: Names,
    y: Any = None,
    table: Any = None,
    bins: Mapping[str, Bins] | None = None,
    strata: str | int | None = None,
    missing: Missing = "refuse",
) -> Rows:
    """Read the factors of X, or of the table that is bound to it, and number each row's combination.

    >>> frame = {"colour": ["red", "blue", "red"], "shape": ["disc", "disc", "bar"]}
    >>> rows_of_table(frame, factors=["colour", "shape"]).combination.tolist()
    [2, 0, 1]
    """
    frame = columns_by_name(X if table is None else table)
    _check_length(X, table)
    names = [column_name(frame, factor, role="a factor") for factor in factors]
    target = _target(frame, strata, y)
    if target in names:
        raise SettingError(
            f"{target!r} is both a factor and the strata",
            why="whole combinations are held out, so the values of a factor cannot be shared out like classes",
            instead="leave strata out, or give the classes under another name",
        )
    arrow = _arrow(frame, names, target, y)
    _check_rows(arrow, names, missing)
    support = read(
        arrow,
        factors=names,
        target=target,
        target_kind=None if target is None else "label",
        bins=bins,
        missing="value" if missing == "value" else "leave out",
    )
    return _numbered(arrow, support, bins or {})


def _target(frame: Any, strata: str | int | None, y: Any) -> str | None:
    """The column of the classes: one of the table, else y under its own name."""
    if strata is None:
        return None
    if strata == "y" and "y" not in known_columns(frame):
        if y is None:
            raise SettingError(
                "strata='y'",
                why="no y was given, and the table has no column of that name",
                instead="call split(X, y), or name a column of the table",
            )
        return "y"
    return column_name(frame, strata, role="strata")


def _arrow(frame: Any, names: list[str], target: str | None, y: Any) -> pa.Table:
    bound = target is not None and target in known_columns(frame)
    wanted = [*names, target] if bound and target is not None else names
    arrow = as_arrow(frame, columns=wanted).select(wanted)
    if target is not None and not bound:
        classes = as_arrow({"y": np.asarray(y).tolist()})["y"]
        if len(classes) != len(arrow):
            raise SettingError(
                f"y has {len(classes):,} entries, and the table {len(arrow):,} rows",
                why="each row has one class",
                instead="give X and y of one length",
            )
        arrow = arrow.append_column("y", classes)
    arrow = _plain_text(arrow)
    if target is not None and pa.types.is_floating(arrow[target].type):
        arrow = arrow.set_column(arrow.schema.get_field_index(target), target, _whole_classes(arrow[target], target))
    return arrow


def _whole_classes(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """Classes that were stored as floats; measurements have no classes."""
    if not pc.all(pc.equal(pc.floor(column), column)).as_py():
        raise ColumnError(
            f"the strata {name!r} hold numbers with fractions",
            why="shares are kept for classes, and nearly every row would be a class of its own",
            instead="name a column of classes, or cut the numbers into classes first",
        )
    return column.cast(pa.int64())


def _plain_text(arrow: pa.Table) -> pa.Table:
    """Categories of pandas and Polars as the text that they stand for."""
    for place, field in enumerate(arrow.schema):
        if pa.types.is_dictionary(field.type):
            arrow = arrow.set_column(place, field.name, arrow[field.name].cast(field.type.value_type))
    return arrow


def _check_length(X: Any, table: Any) -> None:  # noqa: N803
    if table is None or X is None:
        return
    given, bound = row_count(X), row_count(table)
    if given != bound:
        raise SettingError(
            f"X has {given:,} rows, and the bound table {bound:,}",
            why="row i of the table tells the factors of row i of X",
            instead="bind a table with the same rows in the same order; inside another split, give the factors in X",
        )


def _check_rows(arrow: pa.Table, names: list[str], missing: Missing) -> None:
    if not len(arrow):
        raise no_rows()
    if missing not in ("refuse", "value"):
        raise SettingError(
            f"missing={missing!r}",
            why="a row that misses a factor is refused, or missing counts as a value",
            instead="write 'refuse' or 'value'",
        )
    for name in names if missing == "refuse" else ():
        absent = pc.sum(pc.is_null(arrow[name], nan_is_null=True)).as_py()
        if absent:
            raise TableError(
                f"{name!r} is missing in {absent:,} of {len(arrow):,} rows",
                why="such a row holds no combination, so it belongs to no side",
                instead="leave those rows out first, or let missing be a value of its own: missing='value'",
            )


def _numbered(arrow: pa.Table, support: Support, bins: Mapping[str, Bins]) -> Rows:
    """The combination of each row, and its class, by the same expressions that the support was counted with."""
    target = support.target
    with opened(arrow.append_column(_ROW, pa.array(np.arange(len(arrow))))) as lent:
        keys = [
            columns.key(lent.table, name, bins=bins.get(name), declared=False, backend=lent.backend)
            for name in support.space.names
        ]
        asked = {f"f{place}": key.expression for place, key in enumerate(keys)}
        if isinstance(target, LabelTarget):
            asked["target"] = columns.as_value(lent.table[target.name])
        answer = lent.backend.to_pyarrow(lent.table.select(lent.table[_ROW].name("row"), **asked))
    place = answer["row"].to_numpy()
    codes = np.empty((len(arrow), len(keys)), dtype=np.int32)
    for k, (key, factor) in enumerate(zip(keys, support.space.factors, strict=True)):
        codes[place, k] = _codes(answer[f"f{k}"], key, factor)
    combination = support.groups(range(len(keys))).lookup(codes)
    if not isinstance(target, LabelTarget):
        return Rows(support, combination)
    label = np.empty(len(arrow), dtype=np.int64)
    label[place] = _codes(answer["target"], None, Factor(target.name, target.classes))
    return Rows(support, combination, label)


def _codes(column: pa.ChunkedArray, key: Key | None, factor: Factor) -> Ints:
    """Where each row's value stands among the factor's values; -1 where it is missing and is no value."""
    dictionary = pc.dictionary_encode(column, null_encoding="encode").combine_chunks()
    raw = dictionary.dictionary.to_pylist()
    values = raw if key is None else key.values(raw)
    found = np.array([factor.code(value) for value in values], dtype=np.int64)
    codes: Ints = found[dictionary.indices.to_numpy()]
    return codes
