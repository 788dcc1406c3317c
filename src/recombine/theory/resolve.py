"""A salience by its name: a network and its depth, orders, "fit", or a file with a learner's own representation.

Such a file is Parquet: rows of features with the factors that they belong to as columns. The features are every other
column of numbers, or one column of lists.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from recombine.algebra.groups import Numbers
from recombine.errors import ColumnError, SettingError, SourceError, nearest
from recombine.files import shortened
from recombine.tables.space import Space
from recombine.tables.support import Support
from recombine.theory.estimate import estimate
from recombine.theory.salience import Salience


def resolve(salience: Salience | str, support: Support, *, seed: int = 0) -> Salience:
    """A salience as it was given, or made from its name: a network and its depth, orders, or fitted to the data."""
    names = support.space.names
    found = _from_text(salience, support, seed) if isinstance(salience, str) else salience
    if not isinstance(found, Salience):
        raise SettingError(
            f"salience={salience!r}",
            why="it says how much each set of factors counts",
            instead="write 'fit', a network such as 'relu:3', or a Salience: Salience.by_order([0, 0.3, 0.4])",
        )
    if found.factors != len(names):
        raise SettingError(
            f"a salience of {found.factors} factors",
            why=f"the table has {len(names)}: {', '.join(names)}",
            instead="give one weight for each order from 0 to the number of factors",
        )
    return found


def _from_text(name: str, support: Support, seed: int) -> Salience:
    if name == "fit":
        return estimate(support, seed=seed)
    if name.endswith((".parquet", ".pq")):
        return salience_of_file(name, support.space)
    return Salience.parse(name, names=support.space.names)


def salience_of_file(path: str | Path, space: Space) -> Salience:
    """The salience that a representation gives to each set of factors."""
    if not _is_file(Path(path)):
        raise SourceError(
            f"cannot read the features in '{shortened(str(path))}'",
            why="there is no such file",
            instead="give the path of a Parquet file",
        )
    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise SourceError(
            f"cannot read the features in '{path}'",
            why=str(error).splitlines()[0],
            instead="write them as Parquet: the factors as columns, and the features as columns of numbers",
        ) from error
    for name in space.names:
        if name not in table.column_names:
            raise ColumnError(
                f"the features in '{path}' have no column {name!r}",
                why="each row of features belongs to a combination of the factors",
                instead=nearest(name, table.column_names),
            )
    codes = np.stack([_codes(table[name].to_pylist()) for name in space.names], axis=1)
    return Salience.measured(_features(table.drop_columns(list(space.names)), path), codes, names=space.names)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name that no file can have
        return False


def _codes(values: list[Any]) -> np.ndarray[Any, np.dtype[np.int32]]:
    """Any values as positions: which of them are equal is all that counts."""
    places = {value: place for place, value in enumerate(dict.fromkeys(values))}
    return np.array([places[value] for value in values], dtype=np.int32)


def _lists(rows: list[Any], name: str) -> Numbers:
    lengths = {len(row) if row is not None else 0 for row in rows}
    if len(lengths) != 1:
        raise ColumnError(
            f"the lists in {name!r} have from {min(lengths)} to {max(lengths)} numbers",
            why="every row of a representation has the same features",
            instead="write lists of one length",
        )
    return np.array(rows, dtype=np.float64).reshape(len(rows), -1)


def _features(table: pa.Table, path: str | Path) -> Numbers:
    columns = []
    for name in table.column_names:
        kind = table.schema.field(name).type
        if pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind) or pa.types.is_large_list(kind):
            columns.append(_lists(table[name].to_pylist(), name))
        elif pa.types.is_floating(kind) or pa.types.is_integer(kind):
            columns.append(table[name].to_numpy().astype(np.float64)[:, None])
    if not columns:
        raise ColumnError(
            f"'{path}' holds no features",
            why="beside the factors it has no column of numbers",
            instead="add the representation: one column for each feature, or one column of lists",
        )
    return np.concatenate(columns, axis=1)
