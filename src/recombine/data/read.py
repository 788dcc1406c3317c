"""Read a table's support: one GROUP BY is pushed to the engine, and only the counts come back.

What is decided about untidy tables: a row that misses a factor holds no combination, so it is left out,
counted and reported (or kept with `missing="value"`, as a value of its own); a row that misses only the
target still shows its combination.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, Unpack, cast

from recombine.base.argument_kinds import explain_kinds
from recombine.base.checks import check_choice, check_known
from recombine.base.errors import ColumnError, SettingError
from recombine.data import columns
from recombine.data.centred_sums import Centres, Sums, about, pilots, settled
from recombine.data.columns import Bins
from recombine.data.engine import Progress
from recombine.data.group_counts import Aggregate, EngineCounts, count_table
from recombine.data.set_columns import SetSource, named_factors, set_columns
from recombine.data.space import Impossible, Value
from recombine.data.stored_vectors import read_vectors, stored
from recombine.data.support import Support
from recombine.data.support_assembly import TargetAsked, assemble, floats
from recombine.data.table_query import (
    ReadOptions,
    TableOptions,
    TableQuery,
    TargetKind,
    Where,
    conjunctions,
    declared_bins,
    declared_values,
)
from recombine.data.vector_reader import VectorTarget, is_vector, vector_name

_OF_VECTORS = ("audit",)
"""The verbs that take a vector as the target."""
_MOST_CLASSES = 100  # whole numbers with more different values than this are amounts, not classes


class ListColumnError(ColumnError):
    """A column of lists is the target where one answer for each row is asked for."""


@explain_kinds
def read(  # noqa: PLR0913 - each is one plain question, and all but two have an answer already
    source: Any,
    *,
    factors: Sequence[str] = (),
    target: VectorTarget | None = None,
    target_kind: TargetKind | None = None,
    where: Where | None = None,
    bins: Mapping[str, Bins] | None = None,
    domain: Mapping[str, Sequence[Value]] | None = None,
    impossible: Iterable[Impossible] = (),
    weight: str | None = None,
    missing: Literal["leave out", "value"] = "leave out",
    sets: Mapping[str, SetSource] | None = None,
    table: str | None = None,
    command: str | None = None,
    progress: Progress | None = None,
) -> Support:
    """Count a table's combinations where the table lies.

    `source` is a path or glob (Parquet, CSV, JSON lines, compressed or not, also `s3://…`), a frame of pandas
    or Polars, an Arrow table, a Hugging Face dataset, a dict of columns, an Ibis table, or a database URI
    with `table`.

    `where` is an SQL condition in the engine's dialect, or a function from an Ibis table to a condition.
    `domain` lists values that could occur, seen or not. `impossible` lists conjunctions that cannot occur, and rules
    that hold: `'IF os = "iOS" THEN browser = "Safari"'`.
    `weight` names a column that says how many examples a row stands for; a row that stands for 0 is not there.
    `target` is a column of labels or numbers; or a vector for each row: a column of lists, many columns ("gene_*", or
    their names), an array in step with the rows, or the name of a matrix that lies beside the table in its file (`X`,
    `layer:counts`, `obsm:X_pca` of AnnData). The mean vectors are then in `vectors` (`data.vector_answers`).
    `sets` names factors whose value is a set, and where it is read from: a column of lists, a text with a separator
    (`"condition:+"`), or several columns that could be exchanged. They need not be named among `factors` again.

    >>> table = {"material": ["wool", "wool", "silk"], "garment": ["coat", "hat", "hat"], "price": [9, 2, 5]}
    >>> read(table, factors=["material", "garment"], target="price")
    Support(3 combinations of material 2 x garment 2; 3 rows)
    >>> read({"given": ["A+B", "B+A", "ctrl", "B+ctrl"]}, sets={"drugs": "given:+"}).space.factors[0].labels
    ('control', 'B', 'A + B')
    """
    target = None if target is None else stored(source, target)
    read_from = set_columns(sets)
    question = TableQuery(
        factors=named_factors(factors, read_from),
        sets=read_from,
        target=None if is_vector(target) else cast("str | None", target),
        target_kind=target_kind,
        where=where,
        bins=declared_bins(bins),
        domain=declared_values(domain),
        impossible=conjunctions(impossible),
        weight=weight,
        missing=missing,
        table=table,
    )
    try:
        counts = _count(source, question, progress)
    except ListColumnError:
        question = replace(question, target=None)
        counts = _count(source, question, progress)
    support = assemble(counts, question, target=counts.context, command=command)
    return (
        support if target is None or question.target is not None else _with_vectors(source, support, target, question)
    )


def _count(source: Any, question: TableQuery, progress: Progress | None) -> EngineCounts:
    return settled(
        lambda centres: count_table(
            source,
            question,
            lambda table, backend: aggregate_of(table, question, backend, centres=centres),
            needs=[name for name in (question.target, question.weight) if name is not None],
            progress=progress,
        ),
        _number_sums,
    )


def _with_vectors(source: Any, support: Support, target: VectorTarget, question: TableQuery) -> Support:
    if question.weight is not None or question.target_kind is not None:
        raise SettingError(
            f"weight={question.weight!r} and target_kind={question.target_kind!r} with a vector as the target",
            why="the mean of vectors counts every row once, and each output is a number",
            instead="leave both out, or name one column as the target",
        )
    found = read_vectors(source, support, target, question)
    settings = {**support.source.settings, "target": vector_name(target), "outputs": found.width}
    return replace(support, vectors=found, source=replace(support.source, settings=settings))


def support_of(
    source: Any,
    verb: str,
    *,
    factors: Sequence[str] | None = None,
    target: VectorTarget | None = None,
    progress: Progress | None = None,
    **options: Unpack[TableOptions],
) -> Support:
    """The support that a verb works on: the one that it was given, or that of a table with `factors` beside it."""
    if verb not in _OF_VECTORS and is_vector(target):
        raise _not_of_vectors(verb, vector_name(target))
    support = _given_or_read(source, verb, factors=factors, target=target, progress=progress, **options)
    if verb not in _OF_VECTORS and support.vectors is not None:
        raise _not_of_vectors(verb, support.vectors.name)
    return support


def _not_of_vectors(verb: str, name: str) -> SettingError:
    return SettingError(
        f"recombine.{verb} with the vector {name!r} as the target",
        why="it works with one label or number for each row; vectors are for audit and evaluate_vectors alone, so far",
        instead="name one column as the target, or leave the target out",
    )


def _given_or_read(
    source: Any,
    verb: str,
    *,
    factors: Sequence[str] | None = None,
    target: VectorTarget | None = None,
    progress: Progress | None = None,
    **options: Unpack[TableOptions],
) -> Support:
    check_known(options, list(ReadOptions.__annotations__), who=f"recombine.{verb}")
    named = {name: value for name, value in (("factors", factors), ("target", target)) if value is not None}
    reading = cast("ReadOptions", {**named, **options})
    if isinstance(source, Support):
        if reading:
            raise SettingError(
                f"recombine.{verb} was given a Support and {', '.join(reading)}",
                why="a Support was read already, and these say how to read a table",
                instead=f"leave them out, or give recombine.{verb} the table itself",
            )
        return source
    if "factors" not in reading and not reading.get("sets"):
        raise SettingError(
            f"recombine.{verb} was given a {type(source).__name__} without factors",
            why="it must know which columns make a combination",
            instead=f"write recombine.{verb}(table, factors=['material', 'garment'])",
        )
    return read(source, progress=progress, **reading)


def _number_sums(counts: EngineCounts) -> dict[str, Sums]:
    target: TargetAsked | None = counts.context
    if target is None or target.kind != "number":
        return {}
    count, total, squares = (floats(counts.lines[f"target_{part}"]) for part in ("count", "total", "squares"))
    return {"target": (count, total, squares, target.shift)}


def aggregate_of(table: Any, question: TableQuery, backend: Any, *, centres: Centres | None = None) -> Aggregate:
    """What is asked of each combination: its weight, and its rows by class or the sums of the target."""
    weight = _weight(table, question.weight)
    sums: dict[str, Any] = {}
    if weight is not None:
        sums |= {"weight": weight.sum(), "weight_known": weight.count(), "weight_least": weight.min()}
        sums["weight_nothing"] = (weight == 0).ifelse(1, 0).sum()
    kind = target_kind(table, question, backend)
    if kind is None:
        return Aggregate(sums=sums)
    column = table[question.target]
    if kind == "label":
        return Aggregate({"target": columns.as_value(column)}, sums, TargetAsked(kind))
    shift = (centres or pilots(table, {"target": column}, backend))["target"]
    apart = about(column, shift, backend)
    sums["target_count"] = apart.count() if weight is None else apart.notnull().ifelse(weight, 0).sum()
    sums["target_total"] = apart.sum() if weight is None else (apart * weight).sum()
    sums["target_squares"] = (apart * apart if weight is None else apart * apart * weight).sum()
    return Aggregate(sums=sums, context=TargetAsked(kind, shift))


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


def target_kind(table: Any, question: TableQuery, backend: Any) -> TargetKind | None:
    """Whether the target is a label or a number; None where there is none."""
    if question.target is None:
        return None
    columns.require(table, [question.target], role="the target")
    column = table[question.target]
    kind = column.type()
    if question.target_kind is not None and columns.is_plain(kind):
        return _checked_kind(kind, question.target_kind, question.target)
    if columns.is_whole(kind):  # digits are labels, prices are numbers: few distinct values make a label
        few = table.select(target=column).distinct().limit(_MOST_CLASSES + 1).count()
        return "label" if backend.to_pyarrow(few).as_py() <= _MOST_CLASSES else "number"
    if kind.is_numeric():
        return "number"
    if kind.is_string() or kind.is_boolean():
        return "label"
    if kind.is_array() and kind.value_type.is_numeric():
        raise ListColumnError(
            f"the target {question.target!r} holds lists of numbers",
            why="one answer for each row is asked for here; vectors are for recombine.audit and "
            "recombine.evaluate_vectors alone, so far",
            instead="use one of those, or name a column of labels or numbers",
        )
    raise ColumnError(
        f"the target {question.target!r} is of type {kind}",
        why="a target is a label (text, boolean, whole number) or a number",
        instead="choose another column, or turn it into text or a number first",
    )


def _checked_kind(kind: Any, asked: TargetKind, target: str) -> TargetKind:
    if asked == "number" and not (kind.is_numeric() or kind.is_boolean()):
        raise SettingError(
            f"target_kind='number' for {target!r}",
            why=f"it is of type {kind}",
            instead="write target_kind='label'",
        )
    check_choice("target_kind", asked, ("label", "number"), instead="write 'label' or 'number'")
    return asked
