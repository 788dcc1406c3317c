"""Read the matrix that a file holds beside its table: which rows belong to which combination, and their means."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from recombine.base.errors import ColumnError, TableError, nearest
from recombine.data import vector_reader
from recombine.data.engine import explained
from recombine.data.group_counts import asked_of, factor_keys, folded
from recombine.data.locations import reader_table
from recombine.data.readers import in_words
from recombine.data.row_codes import factor_codes
from recombine.data.set_columns import as_read
from recombine.data.sources import opened
from recombine.data.stored_arrays import StoredArray
from recombine.data.support import Support
from recombine.data.table_query import TableQuery, filtered
from recombine.data.vector_answers import VectorAnswers
from recombine.data.vector_reader import VectorTarget, finished, running_means
from recombine.numerics.groups import Ints

_ROW = "recombine_row"


def stored(source: Any, target: VectorTarget) -> VectorTarget:
    """A target; where it is the name of a matrix that the source holds beside its table, that matrix."""
    location = reader_table(source) if isinstance(target, str) else None
    if location is None or location.reader.arrays is None:
        return target
    with in_words(location.path, location.reader):
        held = location.reader.arrays(location.path)
    if isinstance(target, str) and ":" in target and target not in held:
        raise ColumnError(
            f"no matrix {target!r} in '{location.name}'",
            why="a name with a colon is that of a matrix with a row for each row of the table",
            instead=nearest(target, sorted(held)) if held else "name a column",
        )
    return held.get(str(target), target)


def read_vectors(source: Any, support: Support, target: VectorTarget, question: TableQuery) -> VectorAnswers:
    """The mean vector of each combination: of a matrix that lies in a file block by block, of others as they are."""
    if not isinstance(target, StoredArray):
        return vector_reader.read_vectors(source, support, target, question)
    running = running_means(len(support), target.shape[1])
    combination = _combinations(source, support, question, len(target))
    if target.by_column:
        running.add_by_column(combination, target.parts())
    else:
        for place, part in target.parts():
            running.add(combination[place], part)
    return finished(running, target.name, target.names())


def _combinations(source: Any, support: Support, question: TableQuery, length: int) -> Ints:
    """(n,) The number of the combination of each row of a table of n rows, in their order; -1 for none."""
    needed = list(question.columns) if question.where is None else None
    with opened(source, columns=needed) as found:
        found.backend.con.execute("SET preserve_insertion_order = true")
        rows = found.backend.to_pyarrow(found.table)
    if len(rows) != length:
        raise TableError(
            f"a matrix of {length:,} rows beside a table of {len(rows):,}",
            why="each row of the table has a row of the matrix",
            instead="write the file again; a matrix of something else than the rows cannot be the target",
        )
    with opened(rows.append_column(_ROW, pa.array(np.arange(length)))) as numbered, explained(numbered):
        table = filtered(numbered.table, question.where, numbered.backend)
        keys = as_read(factor_keys(table, question, numbered.backend), support.space.factors)
        asked = numbered.backend.to_pyarrow(table.select(**asked_of(keys), **{_ROW: table[_ROW]}))
    lines, which = distinct_lines(asked.drop_columns([_ROW]))
    known = support.groups(range(len(keys))).lookup(factor_codes(folded(lines, keys), support.space, keys))
    combination = np.full(length, -1, dtype=np.int64)
    combination[asked[_ROW].to_numpy()] = known[which]
    return combination


def distinct_lines(rows: pa.Table) -> tuple[pa.Table, Ints]:
    """The different rows of a table, and which of them each row is: a million cells hold some hundred combinations.

    >>> lines, which = distinct_lines(pa.table({"a": ["x", "y", "x"], "b": [1, 1, 1]}))
    >>> lines.to_pylist(), which.tolist()
    ([{'a': 'x', 'b': 1}, {'a': 'y', 'b': 1}], [0, 1, 0])
    """
    which = np.zeros(len(rows), dtype=np.int64)
    first = np.zeros(min(len(rows), 1), dtype=np.int64)
    for column in rows.columns:
        found = pc.dictionary_encode(column.combine_chunks(), null_encoding="encode")
        codes = found.indices.to_numpy(zero_copy_only=False)
        # numbered anew after each column, so that no key is above rows × values
        _, first, which = np.unique(
            which * max(len(found.dictionary), 1) + codes, return_index=True, return_inverse=True
        )
    return rows.take(pa.array(first)), which
