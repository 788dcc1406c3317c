"""The engine's lines as a support in canonical order: the same for every engine, whatever order it answered in."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from recombine.base.errors import BeyondMemory, ColumnError, SpaceError, TableError, nearest
from recombine.base.records import Provenance
from recombine.data import columns
from recombine.data.centred_sums import out_of_range
from recombine.data.columns import FactorKey
from recombine.data.group_counts import EngineCounts
from recombine.data.set_columns import SetKey, names_twice, set_factor
from recombine.data.space import MISSING, Factor, Space, Value, text
from recombine.data.support import NAMED_TWICE, WEIGHTLESS, LabelTarget, NumberTarget, Support, Target
from recombine.data.table_query import MOST_VALUES, TableQuery, TargetKind
from recombine.numerics.groups import Codes, Ints, Numbers, group

_MOST_WEIGHT = 1e100
"""Products of two sums of weights are taken, and none of them may leave the range of a float64."""
_LONGEST_VALUE = 10_000
_MOST_CLASSES = 10_000


@dataclass(frozen=True)
class TargetAsked:
    """How the target was asked: as a class among the keys, or by its sums about a number near its mean."""

    kind: TargetKind
    shift: float = 0.0


def assemble(
    counts: EngineCounts, question: TableQuery, *, target: TargetAsked | None = None, command: str | None = None
) -> Support:
    """The engine's lines as a support in canonical order."""
    return assemble_lines(counts, question, target=target, command=command)[0]


def assemble_lines(
    counts: EngineCounts, question: TableQuery, *, target: TargetAsked | None = None, command: str | None = None
) -> tuple[Support, pa.Table, Ints]:
    """The same, with the lines that hold a whole combination, and which combination each of them holds."""
    counted = counts.lines
    rows = _whole(counted["rows"])
    refuse_no_rows(rows, counts.source, question)
    kept, left_out = without_missing(counted, counts.keys, rows, question)
    kept, nothing = _without_nothing(kept, question)
    left_out |= {WEIGHTLESS: nothing} if nothing else {}
    space, codes = encoded(kept, counts.keys, question)
    left_out |= _named_twice(kept, counts.keys)
    order, starts = _sorted_distinct(codes, space.sizes)
    totals = _totals(kept, question)[order]
    combination = np.empty(len(order), dtype=np.int64)
    combination[order] = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(order)))
    support = Support(
        space,
        _lines(codes, order[starts]),
        np.add.reduceat(totals, starts),
        target=_target(target, kept, order, starts, totals, question),
        rows=int(rows.sum()),
        left_out=left_out,
        source=Provenance(source=counts.source, settings=question.settings(), command=command),
    )
    return support, kept, combination


def refuse_no_rows(rows: Ints, source: str, question: TableQuery) -> None:
    """A table, or what a condition leaves of it, must hold something."""
    if not rows.sum():
        raise TableError(
            f"'{source}' holds no rows" + (" that fulfil `where`" if question.where else ""),
            why="there is nothing to count",
            instead="loosen `where`" if question.where else "give a table with rows",
        )


def without_missing(
    counted: pa.Table, keys: Sequence[FactorKey], rows: Ints, question: TableQuery
) -> tuple[pa.Table, dict[str, int]]:
    """The lines that hold a whole combination, and how many rows miss each factor, or any."""
    if question.missing == "value":
        return counted, {}
    left_out: dict[str, int] = {}
    whole = np.ones(len(counted), dtype=bool)
    for place, key in enumerate(keys):
        column = counted[f"f{place}"]
        if column.null_count:
            absent = column.is_null().to_numpy()
            left_out[key.name] = int(rows[absent].sum())
            whole &= ~absent
    if not whole.any():
        refuse_none_whole(left_out, int(rows.sum()))
    left_out["(any)"] = int(rows[~whole].sum())
    return (counted, {}) if whole.all() else (counted.filter(pa.array(whole)), left_out)


def refuse_none_whole(left_out: Mapping[str, int], rows: int) -> NoReturn:
    """No row names a value of every factor."""
    worst = max(left_out, key=lambda name: left_out[name])
    raise TableError(
        f"no row holds a whole combination: {worst!r} is missing in {left_out[worst]:,} of {rows:,} rows",
        why="a row that misses a factor is left out",
        instead="leave that factor out, or treat missing as a value: missing='value' (--missing value)",
    )


def _without_nothing(counted: pa.Table, question: TableQuery) -> tuple[pa.Table, int]:
    """The lines that stand for any example at all, and how many rows have weight 0: these stand for none.

    A combination, a value or a class whose rows all have weight 0 is not seen, as if the rows were not there.
    """
    if question.weight is None:
        return counted, 0
    there = _totals(counted, question) > 0
    if not there.any():
        raise ColumnError(
            f"the weight {question.weight!r} is 0 in every row that holds a whole combination",
            why="a weight says how many examples a row stands for, and these stand for none",
            instead="name another column, or leave the weight out",
        )
    nothing = int(_whole(counted["weight_nothing"]).sum())
    return (counted if there.all() else counted.filter(pa.array(there))), nothing


def encoded(counted: pa.Table, keys: Sequence[FactorKey], question: TableQuery) -> tuple[Space, Codes]:
    """The space of the lines' values, and each line's combination in it."""
    factors = []
    codes = np.empty((len(counted), len(keys)), dtype=np.int32, order="F")
    for place, key in enumerate(keys):
        column, domain = counted[f"f{place}"], question.domain.get(key.name)
        factor, codes[:, place] = (
            set_factor(column, key, domain) if isinstance(key, SetKey) else _factor(column, key, domain)
        )
        factors.append(factor)
    return Space(tuple(factors)).forbidding(question.impossible), codes


def _named_twice(counted: pa.Table, keys: Sequence[FactorKey]) -> dict[str, int]:
    """How many rows name an element of a set twice, which then counts once."""
    sets = [place for place, key in enumerate(keys) if isinstance(key, SetKey)]
    twice = np.zeros(len(counted), dtype=bool)
    for place in sets:
        twice |= names_twice(counted[f"f{place}"])
    rows = int(_whole(counted["rows"])[twice].sum())
    return {NAMED_TWICE: rows} if rows else {}


def _factor(column: pa.ChunkedArray, key: FactorKey, domain: Sequence[Value] | None) -> tuple[Factor, Codes]:
    """One factor's values in their order, and where each line stands among them."""
    dictionary = pc.dictionary_encode(column, null_encoding="encode").combine_chunks()
    _check_values(dictionary.dictionary, key, lines=len(column))
    if _is_text(dictionary.dictionary) and not dictionary.dictionary.null_count and domain is None and key.is_plain:
        return _text_factor(dictionary, key.name)
    found = key.values(dictionary.dictionary.to_pylist())
    if None in found and MISSING in found:
        raise ColumnError(
            f"the factor {key.name!r} misses values, and also holds the value {MISSING!r}",
            why="missing='value' would make the two one",
            instead="rename that value, or write missing='leave out'",
        )
    raw = [MISSING if value is None else value for value in found]
    seen = set(raw)
    values = _declared(key, seen, domain) if domain is not None or key.declares else columns.ordered(seen)
    factor = Factor(key.name, tuple(values), declared=domain is not None or bool(key.declares))
    _check_varies(factor)
    recode = np.array([factor.code(value) for value in raw], dtype=np.int32)
    return factor, recode[dictionary.indices.to_numpy()]


def _text_factor(dictionary: pa.DictionaryArray, name: str) -> tuple[Factor, Codes]:
    """The same where the values are text as it is: sorted by Arrow, whose order of bytes is that of characters."""
    order = pc.sort_indices(dictionary.dictionary)
    factor = Factor(name, tuple(dictionary.dictionary.take(order).to_pylist()))
    _check_varies(factor)
    recode = np.empty(len(order), dtype=np.int32)
    recode[order.to_numpy()] = np.arange(len(order), dtype=np.int32)
    return factor, recode[dictionary.indices.to_numpy()]


def _is_text(values: pa.Array) -> bool:
    return bool(pa.types.is_string(values.type) or pa.types.is_large_string(values.type))


def _check_values(values: pa.Array, key: FactorKey, *, lines: int) -> None:
    if MOST_VALUES < len(values) <= lines // 2:
        raise BeyondMemory(
            f"the factor {key.name!r} has {len(values):,} distinct values",
            why=f"more than {MOST_VALUES:,} are not kept in memory by name",
            instead="choose a column with fewer values; recombine.store_counts counts any number on disk",
        )
    if len(values) > MOST_VALUES:
        raise ColumnError(
            f"the factor {key.name!r} has {len(values):,} distinct values",
            why=f"that is an identifier rather than a factor, and more than {MOST_VALUES:,} is too many",
            instead="choose a column with fewer values, or group them first",
        )
    if key.most is not None and len(values) > key.most:
        kind = "whole numbers" if pa.types.is_integer(values.type) else "numbers"
        raise columns.needs_bins(key.name, f"{len(values):,} different {kind}")
    if _is_text(values):
        longest = pc.max(pc.utf8_length(values)).as_py() or 0
        if longest > _LONGEST_VALUE:
            raise ColumnError(
                f"the factor {key.name!r} holds a value of {longest:,} characters",
                why="a value is a short name; this looks like a document or an encoded file",
                instead="choose another column, or shorten its values first",
            )


def _declared(key: FactorKey, seen: set[Any], domain: Sequence[Value] | None) -> list[Value]:
    if domain is None:  # bins: the inner ones are declared, the open ends only where something fell there
        return [name for name in key.names or () if name in key.declares or name in seen]
    known = {text(value) for value in domain}
    if len(known) != len(domain):
        twice = Counter(map(text, domain)).most_common(1)[0][0]
        raise SpaceError(
            f"the domain of {key.name!r} lists {twice!r} twice",
            why="a value is declared once",
            instead="remove one",
        )
    stray = [value for value in columns.ordered(seen) if text(value) not in known and value != MISSING]
    if stray:
        raise SpaceError(
            f"the factor {key.name!r} was seen as {text(stray[0])!r}"
            + (f" and {len(stray) - 1:,} more" if stray[1:] else ""),
            why="its declared domain has no such value",
            instead=f"add it to the domain, or {nearest(text(stray[0]), [text(v) for v in domain])}",
        )
    by_text = {text(value): value for value in seen}
    return [by_text.get(text(value), value) for value in domain] + ([MISSING] if MISSING in seen else [])


def _check_varies(factor: Factor) -> None:
    if len(factor.values) < 2:
        raise SpaceError(
            f"the factor {factor.name!r} has one value: {factor.labels[0]!r}",
            why="a factor that never varies takes part in no combination",
            instead="leave it out, or declare the values it could take with `domain`",
        )


def _sorted_distinct(codes: Codes, sizes: tuple[int, ...]) -> tuple[Ints, Ints]:
    """An order that brings equal combinations together, and where each distinct one starts."""
    groups = group(codes, sizes=sizes, factors=tuple(range(len(sizes))))
    if groups.size == len(codes):  # every line is a combination of its own: group numbers are places
        return groups.representatives, np.arange(len(codes))
    order = np.argsort(groups.ids, kind="stable")
    return order, np.flatnonzero(np.diff(groups.ids[order], prepend=-1))


def _lines(codes: Codes, places: Ints) -> Codes:
    """Some lines of a table that is stored column by column, taken column by column."""
    taken = np.empty((len(places), codes.shape[1]), dtype=np.int32, order="F")
    for k in range(codes.shape[1]):
        np.take(codes[:, k], places, out=taken[:, k])
    return taken


def _totals(counted: pa.Table, question: TableQuery) -> Numbers:
    if question.weight is None:
        return floats(counted["rows"])
    totals = floats(counted["weight"])
    fault = _fault_of_weights(counted, totals)
    if fault is not None:
        raise ColumnError(
            f"the weight {question.weight!r} {fault}",
            why="a weight says how many examples a row stands for",
            instead="repair the column, or leave such rows out with `where`",
        )
    return totals


def _fault_of_weights(counted: pa.Table, totals: Numbers) -> str | None:
    unknown = int((_whole(counted["rows"]) - _whole(counted["weight_known"])).sum())
    least = floats(counted["weight_least"])
    if unknown:
        return f"is missing in {unknown:,} rows"
    if (np.nan_to_num(least) < 0).any():
        return "is negative somewhere"
    if np.isnan(totals).any() or np.isinf(least).any():
        return "is not finite"
    with np.errstate(over="ignore"):
        together = totals.sum()
    if not together <= _MOST_WEIGHT:
        return f"is infinite somewhere, or adds up to more than {_MOST_WEIGHT:.0e}"
    return None


def _target(
    asked: TargetAsked | None, counted: pa.Table, order: Ints, starts: Ints, totals: Numbers, question: TableQuery
) -> Target | None:
    if asked is None or question.target is None:
        return None
    if asked.kind == "number":
        with np.errstate(over="ignore", invalid="ignore"):  # sums that are too large are refused just below
            count, total, squares = (
                np.add.reduceat(floats(pc.fill_null(counted[name], 0))[order], starts)
                for name in ("target_count", "target_total", "target_squares")
            )
        fault = out_of_range(count, total, squares)
        if fault is not None:
            raise ColumnError(
                f"the target {question.target!r} holds numbers that are {fault}",
                why="its mean and spread cannot be computed",
                instead="repair the column, write it in another unit, or leave such rows out with `where`",
            )
        return NumberTarget(question.target, count, total, squares, asked.shift)
    return _label_target(question.target, counted["target"], order, starts, totals)


def _label_target(name: str, column: pa.ChunkedArray, order: Ints, starts: Ints, totals: Numbers) -> LabelTarget:
    dictionary = pc.dictionary_encode(column).combine_chunks()
    if len(dictionary.dictionary) > _MOST_CLASSES:
        raise ColumnError(
            f"the target {name!r} has {len(dictionary.dictionary):,} different labels",
            why=f"that is an identifier or a number rather than a label; at most {_MOST_CLASSES:,} are compared",
            instead="choose another column, or say target_kind='number' (--target-kind number) if it is one",
        )
    raw = dictionary.dictionary.to_pylist()
    classes = columns.ordered(set(raw))
    place = {value: position for position, value in enumerate(classes)}
    recode = np.array([place[value] for value in raw] + [-1])
    label = recode[pc.fill_null(dictionary.indices, len(raw)).to_numpy()][order]
    combination = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(order)))
    known = label >= 0
    within = np.lexsort((label[known], combination[known]))
    return LabelTarget(
        name,
        tuple(classes),
        combination[known][within],
        label[known][within],
        totals[known][within],
    )


def _whole(column: pa.ChunkedArray) -> Ints:
    return np.asarray(column.cast(pa.int64()).to_numpy(), dtype=np.int64)


def floats(column: pa.ChunkedArray) -> Numbers:
    """A column of numbers, NaN where one is missing."""
    return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64)
