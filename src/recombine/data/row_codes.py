"""Row by row: the combination that each row of a table in memory holds, and its answer, in the rows' order.

A support is counted; a learner, a splitter or an array that lies beside the table needs the rows themselves. They are
asked of the same engine with the same expressions as the support was, so that a bin is the same bin in both.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from recombine.data import columns
from recombine.data.columns import Bins, FactorKey
from recombine.data.group_counts import asked_of, factor_keys, folded
from recombine.data.locations import is_database
from recombine.data.set_columns import SetColumns, set_codes
from recombine.data.sources import opened
from recombine.data.space import Factor, Space
from recombine.data.support import LabelTarget, NumberTarget, Support
from recombine.data.table_query import TableQuery, Where, declared_bins, filtered
from recombine.numerics.groups import Codes, Ints, Numbers

_ROW = "recombine_row"


@dataclass(frozen=True, eq=False)
class RowCodes:
    """Of each row the number of its combination in the support, and what it answers. Legend: n rows.

    A row that misses a factor, or that a condition leaves out, has the combination -1. Answers are the class's place
    among the target's classes, or the number; NaN where it is missing. None without a target.
    """

    combination: Ints  # (n,)
    answers: Numbers | None  # (n,)


def has_order(source: Any) -> bool:
    """Whether the rows of a source have an order: those of a table in a database have none.

    >>> has_order({"a": [1]}), has_order("rows.csv"), has_order("postgresql://host/shop")
    (True, True, False)
    """
    in_database = isinstance(source, str | Path) and is_database(str(source))
    return not (in_database or type(source).__module__.startswith("ibis."))


def row_codes(
    arrow: pa.Table,
    support: Support,
    *,
    bins: Mapping[str, Bins] | None = None,
    domain: Mapping[str, Any] | None = None,
    sets: Mapping[str, SetColumns] | None = None,
    where: Where | None = None,
) -> RowCodes:
    """Number the rows of a table in memory, of which the support was counted with the same settings.

    >>> from recombine.data.read import read
    >>> table = pa.table({"a": ["x", "y", "x"], "b": ["p", "p", "q"], "y": [1.5, None, 2.0]})
    >>> found = row_codes(table, read(table, factors=["a", "b"], target="y"))
    >>> found.combination.tolist(), found.answers.tolist()
    ([0, 2, 1], [1.5, nan, 2.0])
    """
    names = support.space.names
    question = TableQuery(factors=names, bins=declared_bins(bins), domain=dict(domain or {}), sets=dict(sets or {}))
    target = support.target
    with opened(arrow.append_column(_ROW, pa.array(np.arange(len(arrow))))) as source:
        table = filtered(source.table, where, source.backend)
        keys = factor_keys(table, question, source.backend)
        asked = asked_of(keys)
        if target is not None:
            asked["target"] = columns.as_value(table[target.name])
        answer = folded(source.backend.to_pyarrow(table.select(table[_ROW].name("row"), **asked)), keys)
    place = answer["row"].to_numpy()
    codes = np.full((len(arrow), len(keys)), -1, dtype=np.int32)
    codes[place] = factor_codes(answer, support.space, keys)
    combination = support.groups(range(len(keys))).lookup(codes)
    if target is None:
        return RowCodes(combination, None)
    answers = np.full(len(arrow), np.nan)
    answers[place] = answer_codes(answer["target"], target)
    return RowCodes(combination, answers)


def factor_codes(rows: pa.Table, space: Space, keys: Sequence[FactorKey]) -> Codes:
    """(n, k) Where the values of each row, in the columns f0, f1 … that an engine answered with, stand in a space."""
    codes = np.empty((len(rows), len(keys)), dtype=np.int32)
    for k, (key, factor) in enumerate(zip(keys, space.factors, strict=True)):
        column = rows[f"f{k}"]
        codes[:, k] = value_codes(column, factor, key) if factor.sets is None else set_codes(column, factor.sets)
    return codes


def answer_codes(column: pa.ChunkedArray, target: LabelTarget | NumberTarget | None) -> Numbers:
    """(n,) The number, or the place of the class among the target's; NaN where it is missing."""
    if not isinstance(target, LabelTarget):
        return np.asarray(pc.fill_null(column.cast(pa.float64(), safe=False), float("nan")).to_numpy())
    labels = value_codes(column, Factor(target.name, target.classes))
    return np.where(labels < 0, np.nan, labels.astype(np.float64))


def value_codes(column: pa.ChunkedArray, factor: Factor, key: FactorKey | None = None) -> Ints:
    """(n,) Where each row's value stands among the factor's values; -1 where it is missing, or is none of them.

    >>> value_codes(pa.chunked_array([["b", None, "c"]]), Factor("letter", ("a", "b"))).tolist()
    [1, -1, -1]
    """
    # a value is looked up once, however many rows hold it
    dictionary = pc.dictionary_encode(column, null_encoding="encode").combine_chunks()
    raw = dictionary.dictionary.to_pylist()
    values = raw if key is None else key.values(raw)
    places = np.array([factor.code(value) for value in values], dtype=np.int64)
    return np.asarray(places[dictionary.indices.to_numpy()])
