"""What collecting a combination costs: a table with factors as columns and a `cost`, the most specific row wins.

An empty cell stands for any value. The line that names most factors counts, and of two such lines the later one; where
none speaks, a combination costs 1. An empty cost, or `inf`, says that it cannot be collected.
"""

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from recombine.algebra.groups import ANY, Codes, Ints, Numbers, Patterns
from recombine.errors import ColumnError, SettingError, SourceError, SpaceError, nearest
from recombine.handwritten import read_cells
from recombine.tables.space import Space, rows_of, text

COST = "cost"
_MAX_COST = 1e15  # float64 holds whole numbers up to 9e15: sums of costs keep their units
_INSTEAD = "a cost is a number from 0 on; leave it empty, or write inf, for what cannot be collected"


@dataclass(frozen=True, eq=False)
class Costs:
    """What any combination costs, infinity where it cannot be collected.

    >>> space = Space.of({"colour": ["red", "blue"], "shape": ["disc", "cube"]})
    >>> costs = Costs.of([{"colour": "red", "cost": 3}, {"colour": "red", "shape": "cube", "cost": ""}], space)
    >>> costs.to_collect(np.array([[0, 0], [0, 1], [1, 1]])).tolist()
    [3.0, inf, 1.0]
    """

    patterns: Codes
    prices: Numbers
    _found: Patterns

    @classmethod
    def of(cls, given: Any, space: Space) -> "Costs":
        """From a CSV file, a frame, an Arrow table, columns, or a list of mappings; None for 1 each."""
        lines = _lines(given)
        _check_columns(lines, space)
        patterns = np.array([_pattern(line, space) for line in lines], dtype=np.int32)
        patterns = patterns.reshape(len(lines), len(space.factors))
        prices = np.array([_price(line) for line in lines])
        # the most specific line last, and of equally specific ones the later
        order = np.argsort((patterns != ANY).sum(axis=1), kind="stable")
        patterns, prices = patterns[order], prices[order]
        return cls(patterns, prices, Patterns.of(patterns, space.sizes))

    @property
    def uniform(self) -> bool:
        """Whether everything that can be collected costs 1."""
        return bool(np.isin(self.prices, (1.0, math.inf)).all())

    @property
    def uncollectable(self) -> Codes:
        """The lines that say that something cannot be collected; a more specific one may say otherwise."""
        return self.patterns[np.isinf(self.prices)]

    def to_collect(self, codes: Codes) -> Numbers:
        """What each combination costs."""
        line: Ints = self._found.last(codes)
        return np.where(line >= 0, np.append(self.prices, 1.0)[line], 1.0)


def _lines(given: Any) -> list[dict[str, Any]]:
    if given is None:
        return []
    if isinstance(given, str | Path):
        return _from_file(Path(given))
    if isinstance(given, Mapping):
        columns = {name: list(column) for name, column in given.items()}
        return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]
    found = rows_of(given.to_arrow() if hasattr(given, "to_arrow") else given)
    if not all(isinstance(line, Mapping) for line in found):
        raise SettingError(
            "costs that are not lines of factors and a cost",
            why=f"{type(found[0]).__name__} names no factor",
            instead="give a CSV file or a table with factors as columns and 'cost': [{'material': 'wool', 'cost': 3}]",
        )
    return [dict(line) for line in found]


def _from_file(path: Path) -> list[dict[str, Any]]:
    try:
        header, lines = read_cells(path)
    except (OSError, ValueError, csv.Error) as error:
        raise _unreadable(path, error) from error
    if COST not in header:
        raise _no_cost(header)
    return [dict(line) for line in lines]


def _unreadable(path: Path, error: Exception) -> SourceError:
    missing = isinstance(error, FileNotFoundError)
    said = error.strerror if isinstance(error, OSError) else None
    return SourceError(
        f"no file of costs '{path}'" if missing else f"cannot read the costs '{path}'",
        why="there is no such file" if missing else said or str(error),
        instead=f"give a CSV file with factors as columns and a column {COST!r}, one line for what costs other than 1: "
        "an empty cell means any value, an empty cost that it cannot be collected",
    )


def _check_columns(lines: list[dict[str, Any]], space: Space) -> None:
    for line in lines[:1] + [other for other in lines[1:] if other.keys() != lines[0].keys()]:
        for name in line:
            if name not in (*space.names, COST):
                raise ColumnError(
                    f"the costs have a column {name!r}",
                    why=f"it is neither a factor nor {COST!r}",
                    instead=nearest(str(name), (*space.names, COST)),
                )
        if COST not in line:
            raise _no_cost(list(line))


def _no_cost(columns: Sequence[str]) -> ColumnError:
    return ColumnError(
        f"the costs have no column {COST!r}, only {', '.join(map(repr, columns)) or 'none'}",
        why="each line says what something costs",
        instead=f"add a column {COST!r}; factors are the other columns, and an empty cell means any value",
    )


def _pattern(line: Mapping[str, Any], space: Space) -> list[int]:
    pattern = []
    for factor in space.factors:
        value = line.get(factor.name)
        code = ANY if _empty(value) else factor.code(value)
        if code == ANY and not _empty(value):
            raise SpaceError(
                f"the costs speak of {factor.name} = {text(value)!r}",
                why=f"{factor.name!r} has no such value",
                instead=nearest(str(value), factor.labels) + "; values that were never seen are declared with domain",
            )
        pattern.append(code)
    return pattern


def _empty(cell: Any) -> bool:
    return cell is None or cell == "" or (isinstance(cell, float) and math.isnan(cell))


def _price(line: Mapping[str, Any]) -> float:
    cell = line[COST]
    if _empty(cell):
        return math.inf
    try:
        price = float(cell)
    except (TypeError, ValueError):
        price = -1.0
    if not price >= 0:
        raise SettingError(f"a cost of {cell!r}", why="that is not an amount that can be spent", instead=_INSTEAD)
    if _MAX_COST < price < math.inf:
        raise SettingError(
            f"a cost of {cell!r}",
            why=f"costs are added up, and sums beyond {_MAX_COST:.0e} lose their smaller parts",
            instead="give costs in a larger unit; leave one empty, or write inf, for what cannot be collected",
        )
    return price
