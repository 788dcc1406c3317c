"""The seen points, whose columns belong to slots, and the points that are asked about.

Letters: n seen points, m points asked about, D entries in all, w entries of one slot, K slots.

A component's value is the whole vector of its slot. Entries are compared in shares of their own range, and two values
are as far apart as their entries are at most (the maximum norm), so that a bandwidth says the same of every entry.
An entry with few distinct values is a list of levels: two of them are equal, or too far apart for any bandwidth.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from recombine.base.checks import is_whole
from recombine.base.errors import ColumnError, SettingError, TableError, nearest
from recombine_lab.probes.columns import check_even, read_parquet

Numbers = npt.NDArray[np.float64]
LEVELS = 12
"""An entry with so many distinct values or fewer is a list of levels."""
MOST_ASKED = 512
"""Points asked about, where they are drawn here."""


@dataclass(frozen=True)
class Slot:
    """One component: its name, and the columns that hold its value."""

    name: str
    columns: tuple[int, ...]

    @property
    def width(self) -> int:
        """How many entries its value has."""
        return len(self.columns)


@dataclass(frozen=True, eq=False)
class SupportPoints:
    """What was seen and what is asked, as (n, D) and (m, D); `query_is` says what is asked, in words.

    `low` and `span` (D,) are the range of each entry over both, `levels` (D,) the number of levels of an entry that is
    a list of them, and 0 for a number. `own` says that what is asked about was put together from seen values.
    """

    names: tuple[str, ...]
    slots: tuple[Slot, ...]
    seen: Numbers
    query: Numbers
    query_is: str
    own: bool
    low: Numbers
    span: Numbers
    levels: npt.NDArray[np.int64]

    def scaled(self, rows: Numbers, columns: Sequence[int]) -> Numbers:
        """Some columns of rows in shares of their ranges; levels one apart."""
        chosen = list(columns)
        unit = np.where(self.levels > 0, np.maximum(self.levels - 1, 1), 1.0)
        return np.asarray(((rows - self.low) / self.span * unit)[:, chosen])

    def rest(self, slot: Slot) -> tuple[int, ...]:
        """The columns of all other slots."""
        return tuple(column for other in self.slots if other is not slot for column in other.columns)

    def box(self, n: int, rng: np.random.Generator) -> Numbers:
        """(n, D) Points drawn evenly over the range of each entry, each entry by itself."""
        even = rng.random((n, len(self.names)))
        steps = np.maximum(self.levels - 1, 1)
        stepped = np.minimum(np.floor(even * np.maximum(self.levels, 1)), steps) / steps
        return np.asarray(self.low + self.span * np.where(self.levels > 0, stepped, even))

    def diagonal(self, n: int, rng: np.random.Generator) -> Numbers:
        """(n, D) Points whose slots are all alike: entry by entry at the same place of its range."""
        even = self.box(n, rng)
        first = (even - self.low) / self.span
        widest = max(self.slots, key=lambda slot: slot.width)
        for slot in self.slots:
            alike = first[:, list(widest.columns[: slot.width])]
            steps = np.maximum(self.levels[list(slot.columns)] - 1, 1)
            stepped = np.where(self.levels[list(slot.columns)] > 0, np.rint(alike * steps) / steps, alike)
            even[:, list(slot.columns)] = self.low[list(slot.columns)] + self.span[list(slot.columns)] * stepped
        return np.asarray(even)

    def showing(self, seen: Numbers) -> "SupportPoints":
        """The same questions of other seen points."""
        return replace(self, seen=seen, own=False)


def points_of(points: Any, *, slots: Any, query: Any, seed: int) -> SupportPoints:
    """What was given, checked; what is asked is drawn where it was not given."""
    names, seen = _numbers(points, "points")
    made = _slots(slots, names)
    seen = _checked(seen, "points", names)
    rng = np.random.default_rng(seed)
    own = query is None
    if own:
        asked = product_of_marginals(seen, made, MOST_ASKED, rng)
        words = "new combinations of the seen values"
    elif isinstance(query, str) and query == "box":
        asked, words = seen[:0], "the whole range of every entry"
    else:
        other, asked = _numbers(query, "query")
        if len(other) != len(names):
            raise SettingError(
                f"query has {len(other)} columns",
                why=f"the points have {len(names)}, and both speak of the same entries",
                instead=f"give it the columns {', '.join(names[:6])}{'…' if len(names) > 6 else ''}",
            )
        asked, words = _checked(asked, "query", names, least=2), "the points given as query"
    both = np.concatenate([seen, asked])
    low, high = both.min(0), both.max(0)
    span = np.where(high > low, high - low, 1.0)
    _check_varies(both, made, names)
    levels = _levels(both, low, span, rows=len(seen))
    if levels.all():
        raise SettingError(
            "every entry is a list of levels",
            why="values that are equal or not have no slices, no stretches between them and no derivatives",
            instead="ask recombine.audit(table, factors=[…]), which has the algebra of combinations",
        )
    found = SupportPoints(names, made, seen, asked, words, own, low, span, levels)
    if len(asked):
        return found
    return replace(found, query=found.box(MOST_ASKED, rng))


def product_of_marginals(seen: Numbers, slots: Sequence[Slot], n: int, rng: np.random.Generator) -> Numbers:
    """(n, D) Each slot's value is that of a seen point, drawn by itself.

    >>> two = (Slot("a", (0,)), Slot("b", (1,)))
    >>> drawn = product_of_marginals(np.array([[0.0, 0.0], [1.0, 1.0]]), two, 50, np.random.default_rng(0))
    >>> sorted({tuple(row) for row in drawn.tolist()})
    [(0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0)]
    """
    made = np.empty((n, seen.shape[1]))
    for slot in slots:
        columns = list(slot.columns)
        made[:, columns] = seen[rng.integers(0, len(seen), n)][:, columns]
    return made


# -- what may be given -----------------------------------------------------------------------------------------------


def _numbers(given: Any, called: str) -> tuple[tuple[str, ...], npt.NDArray[Any]]:
    """Names and numbers of an array, a tensor, a table, a mapping of columns, or a Parquet file."""
    if isinstance(given, str | Path):
        given = read_parquet(given)
    if isinstance(given, Mapping):
        check_even(given, called)
        given = pa.table(dict(given))
    if not isinstance(given, pa.Table) and hasattr(given, "__dataframe__"):
        given = pa.interchange.from_dataframe(given)
    if isinstance(given, pa.Table):
        columns = [_column(given[name], name) for name in given.column_names]
        return tuple(given.column_names), np.stack(columns, 1) if columns else np.zeros((0, 0))
    if hasattr(given, "detach"):
        given = given.detach().cpu().numpy()
    array = np.asarray(given)
    if array.ndim != 2 or array.dtype.kind not in "fiub":
        raise SettingError(
            f"{called} of shape {array.shape} and type {array.dtype}",
            why="a point is a row of numbers, and its entries are columns",
            instead=f"give {called} as an array (n, entries), a table, or a Parquet file",
        )
    return tuple(f"entry {place}" for place in range(array.shape[1])), array.astype(np.float64)


def _column(column: pa.ChunkedArray, name: str) -> Numbers:
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_boolean(kind):
        _, codes = np.unique(np.asarray(column.to_pylist(), dtype=str), return_inverse=True)
        return codes.astype(np.float64)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return np.asarray(column.to_numpy(), dtype=np.float64)
    raise ColumnError(
        f"column '{name}' of type {kind}",
        why="an entry is a number, or a text that stands for a level",
        instead=f"leave '{name}' out, or write it as numbers",
    )


def _checked(rows: Numbers, called: str, names: Sequence[str], *, least: int = 4) -> Numbers:
    if len(rows) < least:
        raise TableError(
            f"{called} has {len(rows)} rows",
            why=f"at least {least} are needed to say anything of what lies between them",
            instead="give all the points that the model is trained on",
        )
    bad = ~np.isfinite(rows).all(0)
    if bad.any():
        name = names[int(np.flatnonzero(bad)[0])]
        raise TableError(
            f"{called} has {int((~np.isfinite(rows)).any(1).sum()):,} rows that are not finite, as in '{name}'",
            why="a point that is not known lies nowhere",
            instead="leave these rows out, or fill them",
        )
    return rows


def _slots(given: Any, names: Sequence[str]) -> tuple[Slot, ...]:
    """Slots by name, by columns, or as a number of equal parts."""
    width = len(names)
    if is_whole(given):
        if given < 2 or width % given:
            raise SettingError(
                f"slots={given} for {width} columns",
                why="a number of slots cuts the columns into so many equal parts, two or more",
                instead='say which columns belong together: slots={"front": [0, 1, 2], "back": [3, 4]}',
            )
        part = width // int(given)
        return tuple(Slot(f"slot {k}", tuple(range(k * part, (k + 1) * part))) for k in range(int(given)))
    if isinstance(given, Mapping):
        items = [(str(name), columns) for name, columns in given.items()]
    elif isinstance(given, Sequence) and not isinstance(given, str):
        items = [(f"slot {k}", columns) for k, columns in enumerate(given)]
    else:
        raise SettingError(
            f"slots={given!r}",
            why="it says which columns hold the value of which component",
            instead='write slots=2, or slots={"front": ["x0", "hue0"], "back": ["x1", "hue1"]}',
        )
    made = tuple(Slot(name, tuple(_place(one, names) for one in _listed(columns))) for name, columns in items)
    taken = [column for slot in made for column in slot.columns]
    if len(made) < 2 or len(set(taken)) != len(taken) or any(not slot.columns for slot in made):
        raise SettingError(
            f"slots={given!r}",
            why="there are two slots or more, each has a column at least, and no column belongs to two",
            instead="give each slot columns of its own",
        )
    left = [name for place, name in enumerate(names) if place not in taken]
    if left:
        raise SettingError(
            f"the column '{left[0]}' belongs to no slot",
            why="what else the data vary by would be taken for chance",
            instead=f"put '{left[0]}' into a slot, or leave it out of the points",
        )
    return made


def _listed(columns: Any) -> list[Any]:
    if isinstance(columns, str) or is_whole(columns):
        return [columns]
    return list(columns)


def _place(column: Any, names: Sequence[str]) -> int:
    if is_whole(column) and -len(names) <= column < len(names):
        return int(column) % len(names)
    if column in names:
        return list(names).index(column)
    instead = nearest(str(column), names)
    raise ColumnError(f"no column {column!r}", why=f"the points have {len(names)} columns", instead=instead)


def _levels(both: Numbers, low: Numbers, span: Numbers, *, rows: int) -> npt.NDArray[np.int64]:
    """The number of levels of each entry that is a list of equally spaced ones, else 0."""
    found = np.zeros(both.shape[1], dtype=np.int64)
    for place in range(both.shape[1]):
        values = np.unique(both[:, place])
        places = (values - low[place]) / span[place] * (len(values) - 1)
        if 1 < len(values) <= LEVELS and rows > 4 * len(values) and np.allclose(places, np.rint(places)):
            found[place] = len(values)
    return found


def _check_varies(both: Numbers, slots: Sequence[Slot], names: Sequence[str]) -> None:
    for slot in slots:
        if not np.ptp(both[:, list(slot.columns)], axis=0).any():
            raise TableError(
                f"every point has the same value in {slot.name} ({', '.join(names[c] for c in slot.columns)})",
                why="a component that never varies cannot be told from the rest",
                instead="give points in which it varies, or a query that asks for other values",
            )
