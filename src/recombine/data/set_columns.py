"""How sets stand in a table, and how they are asked of an engine.

| a table has | `sets` says | on the command line |
|---|---|---|
| a column of lists | `{"tools": "tools"}` | `--set tools=tools` |
| text with a separator, `A+B`, `A_B`, `A \\|\\| B` | `{"genes": "condition:+"}` | `--set genes=condition:+` |
| several columns that could be exchanged | `{"genes": ["gene_a", "gene_b"]}` | `--set genes=gene_a,gene_b` |
| a 0/1 column for each element | `{"tags": ["red", "round", "new"]}` | `--set tags=red,round,new` |
| columns that hold no marks | `{"pair": {"columns": ["a", "b"], "marks": False}}` | `--exchangeable a,b` |
| any of these, of other sizes than were seen | `{"genes": {"columns": "condition:+", "largest": 2}}` | `…,largest=2` |

What stands for nothing (`ctrl`, `control`, `non-targeting`, an empty text) vanishes beside elements, and alone it is
the empty set: `A+ctrl`, `ctrl+A` and `A` are one. An empty cell among several columns is nothing too; where all of
them are empty the row misses its set, as it does where a list or a text is missing. The engine groups by the columns as
they are, and sets are made of its lines: any engine can be asked, and orders of one set meet in one line here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from recombine.base.errors import ColumnError, SettingError, SpaceError, nearest
from recombine.base.words import BETWEEN, text
from recombine.data import columns
from recombine.data.columns import FactorKey
from recombine.data.sets import Sets, distinct_sets, is_nothing, sorted_sets
from recombine.data.space import MISSING, Factor, Value
from recombine.numerics.groups import Codes, Ints
from recombine.numerics.rows import IncidenceRows, ends

SetSource = str | Sequence[str] | Mapping[str, Any]
MOST_ELEMENTS = 10**6


@dataclass(frozen=True)
class SetColumns:
    """The columns that hold a set, what stands between its elements where they are text, and how large a set may be.

    Where nothing is said of its size, it is as large as those that were seen. Several columns hold marks, one for each
    element, or elements; where nothing is said of it, marks if all they hold is 0 and 1.
    """

    columns: tuple[str, ...]
    separator: str | None = None
    smallest: int | None = None
    largest: int | None = None
    marks: bool | None = None

    def __str__(self) -> str:
        """As it is written on the command line."""
        sizes = [f"{key}={size}" for key in ("smallest", "largest") if (size := getattr(self, key)) is not None]
        read = ",".join(self.columns) + ("" if self.separator is None else f":{self.separator}")
        return ",".join([read, *sizes])

    def sizes(self, name: str, seen: Ints) -> dict[str, int]:
        """The smallest and the largest size, of which none was seen outside."""
        least, most = int(seen.min()), int(seen.max())
        found = {
            "smallest": least if self.smallest is None else self.smallest,
            "largest": most if self.largest is None else self.largest,
        }
        if least < found["smallest"] or most > found["largest"]:
            raise SpaceError(
                f"the set {name!r} was seen with {least if least < found['smallest'] else most} elements",
                why=f"its sizes were declared as {found['smallest']} to {found['largest']}",
                instead="declare the sizes that there are, or leave such rows out with `where`",
            )
        return found


def set_columns(given: Mapping[str, SetSource] | None) -> dict[str, SetColumns]:
    """Where each set factor is read from, checked.

    >>> set_columns({"genes": "condition:+", "tools": "tools", "drugs": ["a", "b"]})["genes"]
    SetColumns(columns=('condition',), separator='+', smallest=None, largest=None, marks=None)
    """
    if not isinstance(given, Mapping | None):
        raise _unclear(f"sets={given!r:.80}")
    return {name: _columns_of(name, source) for name, source in (given or {}).items()}


def named_factors(factors: Sequence[Any], sets: Mapping[str, SetColumns]) -> tuple[Any, ...]:
    """The factors, by name or position: a set stands where the columns that it is read from were named, else last.

    >>> named_factors(["p1", "cell", "p2"], {"pair": SetColumns(("p1", "p2")), "tags": SetColumns(("tags",))})
    ('pair', 'cell', 'tags')
    """
    inside = {column: name for name, one in sets.items() for column in one.columns if column not in sets}
    found: list[Any] = []
    for factor in (factors,) if isinstance(factors, str) else factors:
        name = inside.get(factor, factor)
        found += [name] if name not in sets or name not in found else []
    return (*found, *(name for name in sets if name not in found))


def _columns_of(name: Any, source: Any) -> SetColumns:
    if isinstance(source, SetColumns):
        return source
    if isinstance(source, Mapping):
        sizes = {key: source[key] for key in ("smallest", "largest") if source.get(key) is not None}
        unclear = set(source) - {"columns", "smallest", "largest", "marks"} or not all(
            isinstance(size, int) and size >= 0 for size in sizes.values()
        )
        if unclear or not isinstance(source.get("marks"), bool | None):
            raise _unclear(f"the set {name!r} is read from {source!r:.80}")
        return replace(_columns_of(name, source.get("columns")), **sizes, marks=source.get("marks"))
    if isinstance(source, str) and source:
        column, colon, separator = source.partition(":")
        if colon and not separator:
            raise _unclear(f"the set {name!r} is read from {source!r}")
        return SetColumns((column,), separator or None)
    listed = tuple(source) if isinstance(source, Sequence) and not isinstance(source, str) else ()
    if len(listed) < 2 or not all(isinstance(one, str) and one for one in (name, *listed)):
        raise _unclear(f"the set {name!r} is read from {source!r:.80}")
    return SetColumns(listed)


def _unclear(what: str) -> SettingError:
    return SettingError(
        what,
        why="a set is read from a column of lists, from a text with a separator, or from several columns",
        instead="write sets={'tools': 'tools'}, {'genes': 'condition:+'} or {'genes': ['gene_a', 'gene_b']} "
        "(--set tools=tools, --set genes=condition:+, --set genes=gene_a,gene_b); with a size "
        "{'genes': {'columns': 'condition:+', 'largest': 2}} (--set genes=condition:+,largest=2)",
    )


@dataclass(frozen=True)
class SetKey(FactorKey):
    """How a set factor is asked of the engine: by its columns, each as it is."""

    read_from: SetColumns = SetColumns(())
    expressions: tuple[Any, ...] = ()
    marks: bool | None = None
    """Whether several columns hold 0 and 1 alone; None where the lines themselves have to tell."""

    def asked(self, name: str) -> dict[str, Any]:
        """What to group by."""
        return {f"{name}_{place}": one for place, one in enumerate(self.expressions)}

    def folded(self, lines: pa.Table, name: str) -> pa.Table:
        """The engine's lines with one column of lists beside the columns that were asked for."""
        parts = [lines[part].combine_chunks() for part in self.asked(name)]
        return lines.append_column(name, self._lists(parts))

    def _lists(self, parts: list[Any]) -> pa.Array:
        if len(parts) > 1:
            marks = _are_marks(parts) if self.marks is None else self.marks
            return _marked(parts, self.read_from.columns) if marks else _side_by_side(parts)
        if self.read_from.separator is not None:
            return _trimmed(pc.split_pattern(parts[0], self.read_from.separator))
        return parts[0].cast(pa.list_(parts[0].type.value_type))


def set_key(table: Any, name: str, source: SetColumns, *, stand_ins: Mapping[str, str] | None = None) -> SetKey:
    """How to ask the engine for a set factor; `stand_ins` names the columns that are asked in the place of others."""
    columns.require(table, source.columns, role=f"the set {name!r}")
    asked_columns = [(stand_ins or {}).get(column, column) for column in source.columns]
    kinds = [table[column].type() for column in asked_columns]
    if len(kinds) == 1 and source.separator is None and not kinds[0].is_array():
        raise ColumnError(
            f"the set {name!r} is read from {source.columns[0]!r}, which is of type {kinds[0]}",
            why="a column of its own must hold lists, or text with a separator",
            instead=f"say what stands between the elements: {name}={source.columns[0]}:+, or name several columns",
        )
    if source.separator is not None and not kinds[0].is_string():
        raise ColumnError(
            f"the set {name!r} is read from {source.columns[0]!r}, which is of type {kinds[0]}",
            why="only text has a separator",
            instead="leave the separator out" if kinds[0].is_array() else "name a column of text, or several columns",
        )
    odd = [column for column, kind in zip(source.columns, kinds, strict=True) if len(kinds) > 1 and not _is_name(kind)]
    if odd:
        raise ColumnError(
            f"the set {name!r} is read from {odd[0]!r}, which is of type {table[odd[0]].type()}",
            why="an element is a text or a whole number, and a mark is 0 or 1",
            instead="turn it into text first",
        )
    asked = tuple(columns.as_value(table[column]) for column in asked_columns)
    return SetKey(name, asked[0], read_from=source, expressions=asked, marks=source.marks)


def as_read(keys: Sequence[FactorKey], factors: Sequence[Factor]) -> list[FactorKey]:
    """The same keys for a part of the rows of which the factors were read: some rows may hold 0 and 1 alone where
    others name elements by other numbers.
    """
    return [
        replace(key, marks=set(factor.sets.elements) <= set(key.read_from.columns))
        if isinstance(key, SetKey) and key.marks is None and factor.sets is not None
        else key
        for key, factor in zip(keys, factors, strict=True)
    ]


def _is_name(kind: Any) -> bool:
    return bool(kind.is_string() or kind.is_boolean() or columns.is_whole(kind))


def _are_marks(parts: list[pa.Array]) -> bool:
    """Whether columns hold 0 and 1 alone, so that they say whether an element is there and not which one is."""
    kinds = {one.type for one in parts}
    if all(pa.types.is_boolean(kind) for kind in kinds):
        return True
    if not all(pa.types.is_integer(kind) or pa.types.is_boolean(kind) for kind in kinds):
        return False
    return all(set(pc.unique(one.cast(pa.int64())).to_pylist()) <= {0, 1, None} for one in parts)


def _marked(parts: list[pa.Array], names: Sequence[str]) -> pa.Array:
    """Lists of the names of columns that hold a 1; missing where a mark is."""
    marks = np.stack([pc.fill_null(one.cast(pa.int8()), 0).to_numpy(zero_copy_only=False) > 0 for one in parts], axis=1)
    missing = np.stack([one.is_null().to_numpy(zero_copy_only=False) for one in parts], axis=1).any(axis=1)
    _, which = np.nonzero(marks)
    values = pa.array(names, pa.string()).take(pa.array(which))
    return _list_array(marks.sum(axis=1), values, np.asarray(missing))


def _side_by_side(parts: list[pa.Array]) -> pa.Array:
    """Lists of what several columns hold; missing where all of them are empty."""
    kinds = {one.type for one in parts}
    if len(kinds) > 1:
        parts = [one.cast(pa.string()) for one in parts]
    there = np.stack([one.is_valid().to_numpy(zero_copy_only=False) for one in parts], axis=1)
    number = len(parts[0])
    line, which = np.nonzero(there)
    values = pa.concat_arrays(parts).take(pa.array(which * number + line))
    return _list_array(there.sum(axis=1), values, np.asarray(~there.any(axis=1)))


def _list_array(lengths: Ints, values: pa.Array, missing: npt.NDArray[np.bool_]) -> pa.Array:
    return pa.ListArray.from_arrays(pa.array(ends(lengths), pa.int32()), values, mask=pa.array(missing))


def _trimmed(lists: pa.Array) -> pa.Array:
    lists = lists.combine_chunks() if isinstance(lists, pa.ChunkedArray) else lists
    return pa.ListArray.from_arrays(
        lists.offsets, pc.utf8_trim_whitespace(lists.values), mask=lists.is_null() if lists.null_count else None
    )


@dataclass(frozen=True, eq=False)
class _Entries:
    """What the lists of a column hold, one after the other. Legend: e entries of n lists."""

    values: list[Any]  # distinct ones, None for nothing
    which: Ints  # (e,) among these
    owner: Ints  # (e,)
    absent: npt.NDArray[np.bool_]  # (n,) lists that are missing

    @classmethod
    def of(cls, column: pa.ChunkedArray) -> "_Entries":
        lists = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        flat = pc.dictionary_encode(lists.flatten(), null_encoding="encode")
        lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
        values = [None if value is None or is_nothing(value) else value for value in flat.dictionary.to_pylist()]
        owner = np.repeat(np.arange(len(lists)), lengths)
        return cls(values, flat.indices.to_numpy(), owner, lists.is_null().to_numpy(zero_copy_only=False))


def names_twice(column: pa.ChunkedArray) -> npt.NDArray[np.bool_]:
    """Which lists name an element twice.

    >>> names_twice(pa.chunked_array([[["b", "a"], ["ctrl", "ctrl"], ["b", "b"]]])).tolist()
    [False, False, True]
    """
    entries = _Entries.of(column)
    there = np.array([value is not None for value in entries.values], dtype=bool)[entries.which]
    _, twice = sorted_sets(entries.owner[there], entries.which[there], len(column), max(len(entries.values), 1))
    found = np.zeros(len(column), dtype=bool)
    found[twice] = True
    return found


def set_factor(column: pa.ChunkedArray, key: SetKey, domain: Sequence[Value] | None) -> tuple[Factor, Codes]:
    """A factor of sets, and the code of each line's set.

    >>> lists = pa.chunked_array([[["b", "a"], ["ctrl"], ["a", "b", "ctrl"], ["b", "b"]]])
    >>> factor, codes = set_factor(lists, SetKey("genes", None), None)
    >>> factor.labels, codes.tolist()
    (('control', 'b', 'a + b'), [2, 0, 2, 1])
    """
    entries = _Entries.of(column)
    absent = np.flatnonzero(entries.absent)
    seen = {value for value in entries.values if value is not None} | ({MISSING} if len(absent) else set())
    elements = _elements(key, seen, domain)
    members, codes = distinct_sets(_as_rows(entries, elements))
    made = Sets(
        elements,
        members,
        separator=key.read_from.separator,
        **key.read_from.sizes(key.name, members.lengths),
    )
    if made.could < 2:
        raise SpaceError(
            f"the set {key.name!r} has one value: {made.label(0)!r}",
            why="a factor that never varies takes part in no combination",
            instead="leave it out, or check what stands between its elements",
        )
    return Factor(key.name, made, declared=domain is not None), codes


def set_codes(column: pa.ChunkedArray, sets: Sets) -> Ints:
    """(n,) The code of each list among the sets of a factor; -1 where it is missing or holds an unknown element."""
    entries = _Entries.of(column)
    known = {text(value): place for place, value in enumerate(sets.elements)}
    strange = np.array([value is not None and text(value) not in known for value in entries.values], dtype=bool)
    lost = entries.absent & (MISSING not in known)
    lost[entries.owner[strange[entries.which]]] = True
    codes = sets.codes_of(_as_rows(entries, sets.elements)).astype(np.int64)
    return np.where(lost, -1, codes)


def _as_rows(entries: _Entries, elements: Sequence[Any]) -> IncidenceRows:
    """The sets of a column; a missing one, where it counts as a value, is that of an element of its own."""
    place = {text(value): code for code, value in enumerate(elements)}
    recode = np.array([-1 if value is None else place.get(text(value), -1) for value in entries.values], dtype=np.int64)
    absent = np.flatnonzero(entries.absent) if MISSING in place else np.zeros(0, dtype=np.int64)
    owner = np.concatenate([entries.owner, absent])
    parts = np.concatenate([recode[entries.which], np.full(len(absent), place.get(MISSING, -1))])
    there = parts >= 0
    return sorted_sets(owner[there], parts[there], len(entries.absent), max(len(elements), 1))[0]


def _elements(key: SetKey, seen: set[Any], domain: Sequence[Value] | None) -> list[Any]:
    """The elements in their order: those that were seen, or those that were declared."""
    if len(seen) > MOST_ELEMENTS:
        raise ColumnError(
            f"the set {key.name!r} has {len(seen):,} elements",
            why=f"more than {MOST_ELEMENTS:,} are identifiers rather than elements",
            instead="choose another column, or check what stands between its elements",
        )
    odd = [value for value in seen if isinstance(value, str) and BETWEEN in value]
    if odd:
        raise ColumnError(
            f"the set {key.name!r} has the element {odd[0]!r}",
            why=f"{BETWEEN!r} stands between the elements where sets are written",
            instead="name the separator, or rename that element",
        )
    if domain is None:
        return columns.ordered(seen)
    declared = [value for value in domain if not is_nothing(value)]
    known = {text(value) for value in declared}
    stray = [value for value in columns.ordered(seen) if text(value) not in known and value != MISSING]
    if stray:
        raise SpaceError(
            f"the set {key.name!r} was seen with {text(stray[0])!r}",
            why="its declared elements have no such one",
            instead=f"add it to the domain, or {nearest(text(stray[0]), sorted(known))}",
        )
    return declared + ([MISSING] if MISSING in seen else [])
