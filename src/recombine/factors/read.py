"""Read a table's support: one GROUP BY is pushed to the engine, and only the counts come back.

What is decided about untidy tables: a row that misses a factor holds no combination, so it is left out,
counted and reported (or kept with `missing="value"`, as a value of its own); a row that misses only the
target still shows its combination.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from recombine.errors import ColumnError, RecombineError, SettingError, SpaceError, TableError, nearest
from recombine.factors import columns
from recombine.factors.columns import Bins, Key
from recombine.factors.engine import Progress, run
from recombine.factors.groups import Codes, Ints, Numbers, group
from recombine.factors.sources import Source, opened, unreadable
from recombine.factors.space import Factor, Space, Value, text
from recombine.factors.support import LabelTarget, NumberTarget, Support, Target
from recombine.records import Provenance

MISSING = "(missing)"
_MOST_VALUES = 10**6
_MOST_COMBINATIONS = 5 * 10**7
_LONGEST_VALUE = 10_000
_MOST_CLASSES = 100

TargetKind = Literal["label", "number"]
Where = str | Callable[[Any], Any]


@dataclass(frozen=True, kw_only=True)
class Question:
    """What is asked of a table, checked once."""

    factors: tuple[str, ...]
    target: str | None = None
    target_kind: TargetKind | None = None
    where: Where | None = None
    bins: Mapping[str, Bins] = field(default_factory=dict)
    domain: Mapping[str, Sequence[Value]] = field(default_factory=dict)
    impossible: tuple[Mapping[str, Value], ...] = ()
    weight: str | None = None
    missing: Literal["leave out", "value"] = "leave out"
    table: str | None = None

    def __post_init__(self) -> None:
        _check_factor_names(self.factors)
        for setting, given in (("bins", self.bins), ("domain", self.domain)):
            for name in given:
                if name not in self.factors:
                    raise SettingError(
                        f"{setting} were given for {name!r}",
                        why="it is not among the factors",
                        instead=nearest(name, self.factors),
                    )
        both = sorted(set(self.bins) & set(self.domain))
        if both:
            raise SettingError(
                f"{both[0]!r} has both bins and a domain",
                why="bins already say which values there are",
                instead="give one of the two",
            )
        if self.missing not in ("leave out", "value"):
            raise SettingError(
                f"missing={self.missing!r}", why="it says nothing", instead="write 'leave out' or 'value'"
            )
        if self.target in self.factors:
            raise SettingError(
                f"{self.target!r} is both a factor and the target",
                why="a factor that is the answer tells the whole answer",
                instead="take it off one of the two",
            )

    @property
    def columns(self) -> list[str] | None:
        """The columns it needs, or None where a filter may need any."""
        named = [*self.factors, self.target, self.weight]
        return None if self.where else [name for name in named if name is not None]

    def settings(self) -> dict[str, Any]:
        """What was asked, as it is saved with a result."""
        given = {name: value for name, value in asdict(self).items() if value}
        if not isinstance(self.where, str | None):
            given["where"] = repr(self.where)
        return {name: _plain(value) for name, value in given.items()}


def read(  # noqa: PLR0913 - each is one plain question, and all but two have an answer already
    source: Any,
    *,
    factors: Sequence[str],
    target: str | None = None,
    target_kind: TargetKind | None = None,
    where: Where | None = None,
    bins: Mapping[str, Bins] | None = None,
    domain: Mapping[str, Sequence[Value]] | None = None,
    impossible: Iterable[Mapping[str, Value]] = (),
    weight: str | None = None,
    missing: Literal["leave out", "value"] = "leave out",
    table: str | None = None,
    command: str | None = None,
    progress: Progress | None = None,
) -> Support:
    """Count a table's combinations where the table lies.

    `source` is a path or glob (Parquet, CSV, JSON lines, compressed or not, also `s3://…`), a frame of pandas
    or Polars, an Arrow table, a Hugging Face dataset, a dict of columns, an Ibis table, or a database URI
    with `table`.

    `where` is an SQL condition in the engine's dialect, or a function from an Ibis table to a condition.
    `domain` lists values that could occur, seen or not. `impossible` lists conjunctions that cannot occur.
    `weight` names a column that says how many examples a row stands for.

    >>> table = {"material": ["wool", "wool", "silk"], "garment": ["coat", "hat", "hat"], "price": [9, 2, 5]}
    >>> read(table, factors=["material", "garment"], target="price")
    Support(3 combinations of material 2 x garment 2; 3 rows)
    """
    question = Question(
        factors=(factors,) if isinstance(factors, str) else tuple(factors),
        target=target,
        target_kind=target_kind,
        where=where,
        bins=dict(bins or {}),
        domain={name: list(values) for name, values in (domain or {}).items()},
        impossible=tuple(impossible),
        weight=weight,
        missing=missing,
        table=table,
    )
    try:
        answer = _count(source, question, progress, sniff_all=False)
    except duckdb.ConversionException:
        # a CSV column whose first 20,480 lines look like another type than the rest: look at all lines, once
        answer = _count(source, question, progress, sniff_all=True)
    return _assemble(answer, question, command)


@dataclass(frozen=True)
class _Answer:
    counted: pa.Table
    keys: tuple[Key, ...]
    kind: TargetKind | None
    source: str


def _count(source: Any, question: Question, progress: Progress | None, *, sniff_all: bool) -> _Answer:
    with opened(source, table=question.table, columns=question.columns, sniff_all=sniff_all) as lent:
        try:
            keys, kind, expression = _expression(lent, question)
            counted = run(lent.backend, expression, progress)
        except duckdb.ConversionException as error:
            if lent.whole_file_sniffed:
                raise unreadable(lent.name, error) from error
            raise
        except RecombineError:
            raise
        except Exception as error:
            raise unreadable(lent.name, error, engine=lent.backend.name) from error
    return _Answer(counted, keys, kind, lent.name)


def _expression(lent: Source, question: Question) -> tuple[tuple[Key, ...], TargetKind | None, Any]:
    """The one aggregate: rows per combination, and per class or with sums for the target."""
    table = _filtered(lent.table, question.where, lent.backend)
    columns.require(table, question.factors, role="a factor")
    keys = tuple(
        columns.key(table, name, bins=question.bins.get(name), declared=name in question.domain, backend=lent.backend)
        for name in question.factors
    )
    by = {f"f{place}": key.expression for place, key in enumerate(keys)}
    weight = _weight(table, question.weight)
    sums = {"rows": table.count(), "weight": table.count() if weight is None else weight.sum()}
    if weight is not None:
        sums |= {"weight_known": weight.count(), "weight_least": weight.min()}
    kind = _target_kind(table, question, lent.backend)
    if kind == "label":
        by["target"] = columns.as_value(table[question.target])
    elif kind == "number":
        number = columns.without_nan(table[question.target].cast("float64"), lent.backend)
        sums["target_count"] = number.count() if weight is None else number.notnull().ifelse(weight, 0).sum()
        sums["target_total"] = number.sum() if weight is None else (number * weight).sum()
        sums["target_squares"] = (number * number if weight is None else number * number * weight).sum()
    return keys, kind, table.group_by(**by).aggregate(**sums).limit(_MOST_COMBINATIONS + 1)


def _filtered(table: Any, where: Where | None, backend: Any) -> Any:
    if where is None:
        return table
    if callable(where):
        return table.filter(_condition(where, table))
    # A filter leaves the columns as they are, so the schema is told, not asked; the SQL is the user's own.
    query = f"SELECT * FROM ({backend.compile(table)}) AS source WHERE {where}"  # noqa: S608
    filtered = backend.sql(query, schema=table.schema())
    try:
        backend.to_pyarrow(filtered.limit(0))
    except Exception as error:
        raise SettingError(
            f"where={where!r}",
            why=f"the engine cannot understand it: {str(error).splitlines()[0]}",
            instead="write an SQL condition over its columns, such as \"split = 'train' AND year > 2020\"",
        ) from error
    return filtered


def _condition(where: Callable[[Any], Any], table: Any) -> Any:
    try:
        condition = where(table)
    except Exception as error:
        raise SettingError(
            f"where={where!r}",
            why=f"it fails with {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}",
            instead="give a function from an Ibis table to a condition: lambda table: table.year > 2020",
        ) from error
    if not hasattr(condition, "type") or not condition.type().is_boolean():
        raise SettingError(
            f"where={where!r}",
            why=f"it gives {type(condition).__name__}, not a condition",
            instead="give a function from an Ibis table to a condition: lambda table: table.year > 2020",
        )
    return condition


def _weight(table: Any, name: str | None) -> Any:
    if name is None:
        return None
    columns.require(table, [name], role="the weight")
    if not table[name].type().is_numeric():
        raise ColumnError(
            f"the weight {name!r} is of type {table[name].type()}",
            why="a weight says how many examples a row stands for",
            instead="name a column of numbers, or leave the weight out",
        )
    return table[name].cast("float64")


def _target_kind(table: Any, question: Question, backend: Any) -> TargetKind | None:
    if question.target is None:
        return None
    columns.require(table, [question.target], role="the target")
    column = table[question.target]
    kind = column.type()
    if question.target_kind is not None and columns.is_plain(kind):
        return _checked_kind(kind, question)
    if columns.is_whole(kind):  # digits are labels, prices are numbers: few distinct values make a label
        few = table.select(target=column).distinct().limit(_MOST_CLASSES + 1).count()
        return "label" if backend.to_pyarrow(few).as_py() <= _MOST_CLASSES else "number"
    if kind.is_numeric():
        return "number"
    if kind.is_string() or kind.is_boolean():
        return "label"
    raise ColumnError(
        f"the target {question.target!r} is of type {kind}",
        why="a target is a label (text, boolean, whole number) or a number",
        instead="choose another column, or turn it into text or a number first",
    )


def _checked_kind(kind: Any, question: Question) -> TargetKind:
    if question.target_kind == "number" and not (kind.is_numeric() or kind.is_boolean()):
        raise SettingError(
            f"target_kind='number' for {question.target!r}",
            why=f"it is of type {kind}",
            instead="write target_kind='label'",
        )
    if question.target_kind not in ("number", "label"):
        raise SettingError(
            f"target_kind={question.target_kind!r}",
            why="it says nothing",
            instead="write 'label' or 'number'",
        )
    return question.target_kind


def _assemble(answer: _Answer, question: Question, command: str | None) -> Support:
    """The engine's lines as a support in canonical order."""
    counted = answer.counted
    rows = _whole(counted["rows"])
    if not rows.sum():
        raise TableError(
            f"'{answer.source}' holds no rows" + (" that fulfil `where`" if question.where else ""),
            why="there is nothing to count",
            instead="loosen `where`" if question.where else "give a table with rows",
        )
    if len(counted) > _MOST_COMBINATIONS:
        raise TableError(
            f"'{answer.source}' has more than {_MOST_COMBINATIONS:,} distinct combinations",
            why="a factor is probably an identifier, or a number without bins",
            instead="leave that factor out, or bin it",
        )
    kept, left_out = _without_missing(counted, answer.keys, rows, question)
    space, codes = _encoded(kept, answer.keys, question)
    order, starts = _sorted_distinct(codes, space.sizes)
    totals = _totals(kept, question)[order]
    support_codes = np.asfortranarray(codes[order][starts])
    return Support(
        space,
        support_codes,
        np.add.reduceat(totals, starts),
        target=_target(answer.kind, kept, order, starts, totals, question),
        rows=int(rows.sum()),
        left_out=left_out,
        source=Provenance(source=answer.source, settings=question.settings(), command=command),
    )


def _without_missing(
    counted: pa.Table, keys: Sequence[Key], rows: Ints, question: Question
) -> tuple[pa.Table, dict[str, int]]:
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
        worst = max(left_out, key=lambda name: left_out[name])
        raise TableError(
            f"no row holds a whole combination: "
            f"{worst!r} is missing in {left_out[worst]:,} of {int(rows.sum()):,} rows",
            why="a row that misses a factor is left out",
            instead="leave that factor out, or treat missing as a value: missing='value' (--missing value)",
        )
    left_out["(any)"] = int(rows[~whole].sum())
    return (counted, {}) if whole.all() else (counted.filter(pa.array(whole)), left_out)


def _encoded(counted: pa.Table, keys: Sequence[Key], question: Question) -> tuple[Space, Codes]:
    factors = []
    codes = np.empty((len(counted), len(keys)), dtype=np.int32, order="F")
    for place, key in enumerate(keys):
        factor, codes[:, place] = _factor(counted[f"f{place}"], key, question.domain.get(key.name))
        factors.append(factor)
    return Space(tuple(factors)).forbidding(question.impossible), codes


def _factor(column: pa.ChunkedArray, key: Key, domain: Sequence[Value] | None) -> tuple[Factor, Codes]:
    """One factor's values in their order, and where each line stands among them."""
    dictionary = pc.dictionary_encode(column, null_encoding="encode").combine_chunks()
    _check_values(dictionary.dictionary, key)
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


def _check_values(values: pa.Array, key: Key) -> None:
    if len(values) > _MOST_VALUES:
        raise ColumnError(
            f"the factor {key.name!r} has {len(values):,} distinct values",
            why=f"that is an identifier rather than a factor, and more than {_MOST_VALUES:,} is too many",
            instead="choose a column with fewer values, or group them first",
        )
    if key.most is not None and len(values) > key.most:
        raise columns.needs_bins(key.name, f"{len(values):,} different whole numbers")
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        longest = pc.max(pc.utf8_length(values)).as_py() or 0
        if longest > _LONGEST_VALUE:
            raise ColumnError(
                f"the factor {key.name!r} holds a value of {longest:,} characters",
                why="a value is a short name; this looks like a document or an encoded file",
                instead="choose another column, or shorten its values first",
            )


def _declared(key: Key, seen: set[Any], domain: Sequence[Value] | None) -> list[Value]:
    if domain is None:  # bins: the inner ones are declared, the open ends only where something fell there
        return [name for name in key.names or () if name in key.declares or name in seen]
    known = {text(value) for value in domain}
    if len(known) != len(domain):
        twice = next(text(value) for value in domain if [text(v) for v in domain].count(text(value)) > 1)
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
    ids = group(codes, sizes=sizes, factors=tuple(range(len(sizes)))).ids
    order = np.argsort(ids, kind="stable")
    starts = np.flatnonzero(np.diff(ids[order], prepend=-1))
    return order, starts


def _totals(counted: pa.Table, question: Question) -> Numbers:
    totals = _floats(counted["weight"])
    if question.weight is None:
        return totals
    unknown = int((_whole(counted["rows"]) - _whole(counted["weight_known"])).sum())
    negative = bool((np.nan_to_num(_floats(counted["weight_least"])) < 0).any())
    if unknown or negative or not np.isfinite(totals).all():
        fault = (
            f"is missing in {unknown:,} rows" if unknown else "is negative somewhere" if negative else "is not finite"
        )
        raise ColumnError(
            f"the weight {question.weight!r} {fault}",
            why="a weight says how many examples a row stands for",
            instead="repair the column, or leave such rows out with `where`",
        )
    return totals


def _target(
    kind: TargetKind | None, counted: pa.Table, order: Ints, starts: Ints, totals: Numbers, question: Question
) -> Target | None:
    if kind is None or question.target is None:
        return None
    if kind == "number":
        sums = [
            np.add.reduceat(_floats(pc.fill_null(counted[name], 0))[order], starts)
            for name in ("target_count", "target_total", "target_squares")
        ]
        if not all(np.isfinite(total).all() for total in sums):
            raise ColumnError(
                f"the target {question.target!r} holds an infinite number, or one whose square is",
                why="its mean and spread cannot be computed",
                instead="repair the column, or leave such rows out with `where`",
            )
        return NumberTarget(question.target, *sums)
    dictionary = pc.dictionary_encode(counted["target"]).combine_chunks()
    raw = dictionary.dictionary.to_pylist()
    classes = columns.ordered(set(raw))
    place = {value: position for position, value in enumerate(classes)}
    recode = np.array([place[value] for value in raw] + [-1])
    label = recode[pc.fill_null(dictionary.indices, len(raw)).to_numpy()][order]
    combination = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(order)))
    known = label >= 0
    within = np.lexsort((label[known], combination[known]))
    return LabelTarget(
        question.target,
        tuple(classes),
        combination[known][within],
        label[known][within],
        totals[known][within],
    )


def _check_factor_names(names: tuple[str, ...]) -> None:
    if len(names) < 2:
        raise SettingError(
            f"factors={list(names)!r}" if names else "no factors were given",
            why="a combination needs at least two factors",
            instead="name two or more columns: factors=['material', 'garment'] (--factors material,garment)",
        )
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise SettingError(
            f"the factor {twice[0]!r} is named twice", why="a factor is named once", instead="remove one"
        )


def _whole(column: pa.ChunkedArray) -> Ints:
    return np.asarray(column.cast(pa.int64()).to_numpy(), dtype=np.int64)


def _floats(column: pa.ChunkedArray) -> Numbers:
    return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64)


def _plain(value: Any) -> Any:
    """Settings as JSON can hold them."""
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value if isinstance(value, str | int | float | bool | None) else text(value)
