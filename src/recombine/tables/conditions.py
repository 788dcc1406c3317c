"""The user's own condition on the rows: one condition, put to the engine as one, and the same rows each time.

What is written into SQL is looked at first, word by word in the engine's dialect: it must stay inside the brackets
that are put around it, so that a `LIMIT` or a `UNION` is a mistake that the engine names and not another table.
A table is asked more than once (which types, which bins, how many, and the rows themselves), so a condition that
answers differently each time is refused.
"""

from collections.abc import Callable
from itertools import zip_longest
from typing import Any

import sqlglot
from ibis.expr import operations
from sqlglot import TokenType
from sqlglot.errors import SqlglotError

from recombine.errors import SettingError
from recombine.tables.question import Where

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
