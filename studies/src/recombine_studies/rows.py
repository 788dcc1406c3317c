"""Rows of a table that claims are read off: chosen, grouped, and their numbers taken, none dropped without a word."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, overload

import pyarrow as pa

from recombine.base.errors import SettingError, nearest
from recombine.output.figures import Strip

Row = Mapping[str, Any]


class Rows(Sequence[Row]):
    """Rows in order.

    >>> runs = Rows([{"model": "mlp", "unseen.score": 0.5}, {"model": "cnn", "unseen.score": 0.75}])
    >>> runs.where(model="cnn").numbers("unseen.score")
    [0.75]
    >>> sorted(runs.by("model"))
    ['cnn', 'mlp']
    """

    def __init__(self, rows: Iterable[Row]) -> None:
        self._rows = tuple(rows)

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, place: int) -> Row: ...
    @overload
    def __getitem__(self, place: slice) -> "Rows": ...
    def __getitem__(self, place: int | slice) -> "Row | Rows":
        return Rows(self._rows[place]) if isinstance(place, slice) else self._rows[place]

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    def __add__(self, other: "Rows") -> "Rows":
        return Rows((*self._rows, *other))

    def __repr__(self) -> str:
        return f"Rows({len(self)} × {len(self.columns)})"

    @property
    def columns(self) -> list[str]:
        """Every name that some row has."""
        return list(dict.fromkeys(name for row in self._rows for name in row))

    def where(self, settings: Row | None = None, /, **more: Any) -> "Rows":
        """The rows that have all of some values; names with dots go into a mapping: `{"model.hidden": [8]}`."""
        wanted = {**(settings or {}), **more}
        known = self.columns
        for name in wanted:
            if self._rows and name not in known:
                raise SettingError(f"no column {name!r}", why="no row has it", instead=nearest(name, known))
        return Rows(row for row in self._rows if all(_same(row.get(name), value) for name, value in wanted.items()))

    def chosen(self, test: Callable[[Row], bool]) -> "Rows":
        """The rows of which something is true."""
        return Rows(row for row in self._rows if test(row))

    def by(self, *names: str) -> "dict[Any, Rows]":
        """The rows of each value of a column, or of each tuple of values of several, in order of appearance."""
        found: dict[Any, list[Row]] = {}
        for row in self._rows:
            values = tuple(_hashable(row.get(name)) for name in names)
            found.setdefault(values if len(names) > 1 else values[0], []).append(row)
        return {value: Rows(rows) for value, rows in found.items()}

    def column(self, name: str) -> list[Any]:
        """A value for each row; None where it has none."""
        return [row.get(name) for row in self._rows]

    def numbers(self, name: str) -> list[float]:
        """The numbers of a column, without those that are not known; compare its length with that of the rows."""
        return [float(value) for value in self.column(name) if value is not None and not math.isnan(value)]

    def number(self, name: str) -> float:
        """The number of the only row."""
        (row,) = self._rows
        return float(row[name])

    def with_columns(self, make: Callable[[Row], Row]) -> "Rows":
        """Each row with more columns."""
        return Rows({**row, **make(row)} for row in self._rows)

    def joined(self, other: "Rows", on: str | Sequence[str]) -> "Rows":
        """Each row with the columns of the one row of another table that has the same values, where there is one."""
        names = (on,) if isinstance(on, str) else tuple(on)
        found = {tuple(_hashable(row.get(name)) for name in names): row for row in other}
        return Rows({**found.get(tuple(_hashable(row.get(name)) for name in names), {}), **row} for row in self._rows)

    def table(self) -> pa.Table:
        """As a table; a column that holds several kinds of values is written as text."""
        return pa.table({name: _array(self.column(name)) for name in self.columns})


def strips(rows: Rows, number: str, *names: str, group: str | None = None) -> tuple[Strip, ...]:
    """A strip for each condition: every row of it is a point.

    >>> rows = Rows([{"model": "mlp", "score": 0.5}, {"model": "mlp", "score": None}])
    >>> strips(rows, "score", "model")
    (Strip(name='mlp', values=(0.5, None), group=''),)
    """
    return tuple(
        Strip(
            ", ".join(str(row[name]) for name in names),
            tuple(None if value is None else float(value) for value in chosen.column(number)),
            str(row[group]) if group else "",
        )
        for chosen in rows.by(*names, *([group] if group else [])).values()
        for row in chosen[:1]
    )


def _hashable(value: Any) -> Any:
    if isinstance(value, Mapping):
        return tuple(sorted((name, _hashable(item)) for name, item in value.items()))
    return tuple(map(_hashable, value)) if isinstance(value, list | tuple) else value


def _same(one: Any, other: Any) -> bool:
    return bool(_hashable(one) == _hashable(other))


def _array(values: Sequence[Any]) -> pa.Array:
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if value is None else str(value) for value in values])
