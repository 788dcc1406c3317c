"""Whether a table has a column that tells trained from tested rows, for those who did not name it."""

from typing import Any

from recombine.errors import RecombineError
from recombine.evaluation.rowscores import clean
from recombine.tables.sides import sides_of
from recombine.tables.sources import opened

_USUAL = ("split", "side", "subset", "partition", "set", "fold", "part")
_MOST = 50


def split_column(source: Any, *, table: str | None = None) -> str | None:
    """The first column with a usual name whose values hold a training and a test side; None where there is none.

    >>> split_column({"a": [1, 2], "Split": ["train", "test"]})
    'Split'
    >>> split_column({"a": [1, 2], "split": ["x", "y"]}) is None
    True
    """
    with opened(source, table=table) as open_table:
        usual = [name for name in open_table.table.columns if name.lower() in _USUAL]
        try:
            return next((name for name in usual if _tells(open_table.table, name, open_table.backend)), None)
        except Exception:  # noqa: BLE001 - any engine's: an offer is not worth an evaluation that is made already
            return None


def _tells(table: Any, name: str, backend: Any) -> bool:
    column = clean(table[name], backend)
    found = backend.to_pyarrow(table.select(side=column).filter(column.notnull()).distinct().limit(_MOST))
    try:
        sides = sides_of(name, found["side"].to_pylist())
    except RecombineError:
        return False
    return {"train", "test"} <= set(sides.values())
