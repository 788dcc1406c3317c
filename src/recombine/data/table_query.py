"""What can be asked of a table, checked before any engine is troubled.

The user's own condition on the rows (`where`) is one condition, put to the engine as one, and the same rows each time.
What is written into SQL is looked at first, word by word in the engine's dialect: it must stay inside the brackets that
are put around it, so that a `LIMIT` or a `UNION` is a mistake that the engine names and not another table. A table is
asked more than once (which types, which bins, how many, and the rows themselves), so a condition that answers
differently each time is refused.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import date
from itertools import zip_longest
from typing import Any, Literal, TypedDict, cast

import sqlglot
from ibis.expr import operations
from sqlglot import TokenType
from sqlglot.errors import SqlglotError

from recombine.base.checks import check_choice, check_listed
from recombine.base.errors import SettingError
from recombine.base.words import plain_setting
from recombine.data.columns import Bins
from recombine.data.set_columns import SetColumns, SetSource
from recombine.data.space import Impossible, Value

TargetKind = Literal["label", "number"]
MOST_VALUES = 10**6
"""The most values that a factor may have, seen or declared."""
Where = str | Callable[[Any], Any]

_EXAMPLE = "write an SQL condition over its columns, such as \"split = 'train' AND year > 2020\""
_ANEW = frozenset(
    [
        "clock_timestamp",
        "gen_random_uuid",
        "generate_uuid",
        "newid",
        "nextval",
        "rand",
        "randn",
        "random",
        "random_normal",
        "randstr",
        "timeofday",
        "uuid",
        "uuid_string",
        "uuidv4",
        "uuidv7",
    ]
)
"""Functions that answer anew for every row and every question: DuckDB's volatile ones, and what others call them."""


class TableOptions(TypedDict, total=False):
    """What a verb may be told of a table beside its `factors` and `target`: settings of `recombine.read`."""

    target_kind: TargetKind | None
    where: Where | None
    bins: Mapping[str, Bins] | None
    domain: Mapping[str, Sequence[Value]] | None
    sets: Mapping[str, SetSource] | None
    impossible: Iterable[Impossible]
    weight: str | None
    missing: Literal["leave out", "value"]
    table: str | None
    command: str | None


class ReadOptions(TableOptions, total=False):
    """All the settings of `recombine.read`, by the same names."""

    factors: Sequence[str]
    target: str | None


def reading_of(factors: Sequence[str] | None, target: str | None, options: TableOptions) -> ReadOptions:
    """What a verb was told of a table, as `recombine.read` takes it; what was left out is not in it."""
    named = {name: value for name, value in (("factors", factors), ("target", target)) if value is not None}
    return cast("ReadOptions", {**named, **options})


@dataclass(frozen=True, kw_only=True)
class TableQuery:
    """What is asked of a table, checked once."""

    factors: tuple[str, ...]
    target: str | None = None
    target_kind: TargetKind | None = None
    where: Where | None = None
    bins: Mapping[str, Bins] = field(default_factory=dict)
    domain: Mapping[str, Sequence[Value]] = field(default_factory=dict)
    impossible: tuple[Impossible, ...] = ()
    weight: str | None = None
    missing: Literal["leave out", "value"] = "leave out"
    table: str | None = None
    sets: Mapping[str, SetColumns] = field(default_factory=dict)
    """The factors whose value is a set, and the columns that it is read from."""
    groups: bool = False
    """Whether the target may be a factor too: for groups that hold the true class, where nothing is learnt from it."""

    def __post_init__(self) -> None:
        _check_factor_names(self.factors, fewest=1 if self.sets else 2)
        for setting, given in (("bins", self.bins), ("domain", self.domain)):
            for name in given:
                check_listed(
                    name, self.factors, f"{setting}: there is an entry for {name!r}", why="it is not among the factors"
                )
        binned = sorted(set(self.bins) & set(self.sets))
        if binned:
            raise SettingError(
                f"{binned[0]!r} is a set and has bins", why="elements are names", instead="leave the bins out"
            )
        both = sorted(set(self.bins) & set(self.domain))
        if both:
            raise SettingError(
                f"{both[0]!r} has both bins and a domain",
                why="bins already say which values there are",
                instead="give one of the two",
            )
        why = "a row that misses a factor is left out, or missing counts as a value"
        check_choice("missing", self.missing, ("leave out", "value"), why=why, instead="write 'leave out' or 'value'")
        if not isinstance(self.where, str | None) and not callable(self.where):
            raise SettingError(
                f"where was given a {type(self.where).__name__}",
                why="the condition is carried out by the engine",
                instead="write it as SQL, such as \"label = 'x'\", or as a function of an Ibis table",
            )
        if self.target in (*self.factors, *self.columns) and not self.groups:
            raise SettingError(
                f"{self.target!r} is both a factor and the target",
                why="a factor that is the answer tells the whole answer",
                instead="take it off one of the two",
            )

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the factors are read from."""
        read = [self.sets[name].columns if name in self.sets else (name,) for name in self.factors]
        return tuple(dict.fromkeys(column for several in read for column in several))

    def settings(self) -> dict[str, Any]:
        """What was asked, as it is saved with a result."""
        given = {name: value for name, value in asdict(self).items() if value}
        if not isinstance(self.where, str | None):
            given["where"] = repr(self.where)
        return {name: plain_setting(value) for name, value in given.items()}


def declared_bins(bins: Any) -> dict[str, Any]:
    """How each factor is binned, by its name.

    >>> declared_bins({"age": [0, 18, 65]}), declared_bins(None)
    ({'age': [0, 18, 65]}, {})
    """
    if not isinstance(bins, Mapping | None):
        raise SettingError(
            f"bins={bins!r:.80}",
            why="it is told for each factor by its name",
            instead="write for example bins=dict(age=[0, 18, 65])",
        )
    return dict(bins or {})


def declared_values(domain: Any) -> dict[str, list[Value]]:
    """The values that could occur, by factor, each checked to be one.

    >>> declared_values({"size": ("S", "M")}), declared_values(None)
    ({'size': ['S', 'M']}, {})
    """
    if not isinstance(domain, Mapping | None):
        raise _no_domain(f"domain={domain!r:.80}")
    found: dict[str, list[Value]] = {}
    for name, values in (domain or {}).items():
        if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
            raise _no_domain(f"the domain of {name!r} is {values!r:.80}")
        found[name] = list(values)
        odd = [value for value in found[name] if not _is_value(value)]
        if odd:
            raise _no_domain(f"the domain of {name!r} lists {odd[0]!r:.80}")
        if len(found[name]) > MOST_VALUES:
            raise SettingError(
                f"the domain of {name!r} lists {len(found[name]):,} values",
                why=f"more than {MOST_VALUES:,} are an identifier rather than a factor",
                instead="group them first, or leave that factor out",
            )
    return found


def conjunctions(given: Any) -> tuple[Impossible, ...]:
    """What cannot occur: each a mapping from factors to values, or a rule that every combination keeps."""
    if isinstance(given, str | Mapping) or not isinstance(given, Iterable):
        raise _no_conjunction(f"impossible={given!r:.80}")
    listed = tuple(given)
    for one in listed:
        if not isinstance(one, Mapping | str):
            raise _no_conjunction(f"impossible holds {one!r:.80}")
    return listed


def _no_conjunction(what: str) -> SettingError:
    return SettingError(
        what,
        why="it lists conjunctions, and a conjunction says which value each of its factors has",
        instead="write impossible=[{'material': 'wool', 'garment': 'boots'}], or a rule in that list",
    )


def _is_value(value: Any) -> bool:
    if isinstance(value, float) or hasattr(value, "dtype"):  # a number of NumPy's is one too, NaN is none
        return bool(value == value)  # noqa: PLR0124
    return isinstance(value, str | bool | int | date)


def _no_domain(what: str) -> SettingError:
    return SettingError(
        what,
        why="a domain lists the values that could occur: texts, numbers, true and false, or dates",
        instead="write domain={'size': ['S', 'M', 'L']} (--domain size=S,M,L); missing is a value with missing='value'",
    )


def _check_factor_names(names: tuple[str, ...], *, fewest: int) -> None:
    strange = [name for name in names if not isinstance(name, str)]
    if strange:
        raise SettingError(
            f"the factor {strange[0]!r} is not a name",
            why="columns are named by text",
            instead="rename the columns first, for example with table.columns = [str(c) for c in table.columns]",
        )
    if len(names) < fewest:
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


def filtered(table: Any, where: Where | None, backend: Any) -> Any:
    """Only the rows that fulfil the user's condition."""
    if where is None:
        return table
    if callable(where):
        return table.filter(_condition(where, table))
    _check_words(where, backend)
    # A filter leaves the columns as they are, so the schema is told, not asked; the SQL is the user's own. The closing
    # bracket stands on a line of its own, so that a remark at the end does not swallow it.
    source = f"FROM ({backend.compile(table)}) AS source"
    kept = backend.sql(f"SELECT * {source} WHERE (\n{where}\n)", schema=table.schema())
    try:
        backend.to_pyarrow(kept.limit(0))
        kind = _kind(f"SELECT (\n{where}\n) {source}", backend)
    except Exception as error:
        raise _not_understood(where, str(error).splitlines()[0]) from error
    if kind != "BOOLEAN":
        raise SettingError(f"where={where!r}", why=f"it is of type {kind}, not true or false", instead=_EXAMPLE)
    return kept


def _kind(question: str, backend: Any) -> str:
    """The type of a condition, where an engine also takes a number or a text for one, as DuckDB does."""
    return str(backend.con.sql(question).types[0]) if backend.name == "duckdb" else "BOOLEAN"


def _check_words(where: str, backend: Any) -> None:
    """One condition: brackets that pair, nothing that ends it, and no function that answers anew each time."""
    try:
        tokens = sqlglot.tokenize(where, read=getattr(backend, "dialect", None))
    except SqlglotError as error:
        raise _not_understood(where, str(error).splitlines()[0]) from error
    if not tokens:
        raise _not_understood(where, "it says nothing")
    depth = 0
    for token, following in zip_longest(tokens, tokens[1:]):
        depth += (token.token_type == TokenType.L_PAREN) - (token.token_type == TokenType.R_PAREN)
        ends = token.token_type == TokenType.SEMICOLON or (token.token_type == TokenType.COMMA and not depth)
        if depth < 0 or ends:
            raise SettingError(
                f"where={where!r}",
                why=f"it is more than one condition: {token.text!r} ends the first",
                instead=_EXAMPLE,
            )
        if _is_called(token, following) and token.text.lower() in _ANEW:
            raise _answers_anew(repr(where), f"{token.text}()")


def _is_called(token: Any, following: Any) -> bool:
    named = token.token_type not in (TokenType.STRING, TokenType.NUMBER)
    return named and following is not None and following.token_type == TokenType.L_PAREN


def _not_understood(where: str, said: str) -> SettingError:
    return SettingError(f"where={where!r}", why=f"the engine cannot understand it: {said}", instead=_EXAMPLE)


def _answers_anew(where: str, function: str) -> SettingError:
    return SettingError(
        f"where={where}",
        why=f"{function} answers anew each time, and the table is asked more than once: its rows would not be the same",
        instead="write the sample into a table first, or take one that stays: hash(id) % 10 < 7, by an id of the rows",
    )


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
    anew = condition.op().find(operations.Impure)
    if anew:
        raise _answers_anew(repr(where), type(anew[0]).__name__)
    return condition
