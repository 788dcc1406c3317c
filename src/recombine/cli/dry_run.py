"""`--dry-run`: what a command would ask of the engine, what that reads, and what would come back."""

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any, NoReturn

import typer

from recombine.base.errors import SettingError
from recombine.base.words import json_text
from recombine.cli import options
from recombine.cli.terminal import say

_TABLES = ("source", "data", "train", "validation", "test")
_UNITS = ("bytes", "kB", "MB", "GB", "TB")
_KNOWN = ("where", "bins", "sets", "table", "target_kind", "weight", "missing")


def tell(given: Mapping[str, Any], reading: Mapping[str, Any]) -> NoReturn:
    """Print the question for each table that was named, and do nothing else."""
    from recombine.data.dry_run import dry_run  # noqa: PLC0415 - help and completion do without engines
    from recombine.data.set_columns import set_columns  # noqa: PLC0415
    from recombine.data.table_query import TableQuery, declared_bins  # noqa: PLC0415

    settings = {name: value for name, value in reading.items() if name in _KNOWN}
    settings["sets"], settings["bins"] = set_columns(settings.get("sets")), declared_bins(settings.get("bins"))
    named = [name for name in options.names(given.get("factors") or []) if name not in settings["sets"]]
    if not named and not settings["sets"]:
        raise SettingError(
            "--dry-run without --factors",
            why="they are what the table would be counted by",
            instead="name them: --factors material,garment",
        )
    query = TableQuery(factors=(*named, *settings["sets"]), target=given.get("target"), **settings)
    sides = [given["split"]] if given.get("split") and not given.get("train") else []
    tables = [one for name in _TABLES for one in _listed(given.get(name)) if one is not None]
    found = [dry_run(one, query, by=sides) for one in dict.fromkeys(tables)]
    if given.get("as_json"):
        say(json_text([asdict(one) for one in found]))
        raise typer.Exit
    for one in found:
        say(f"{one.sql}\n")
        told = {field.name: getattr(one, field.name) for field in fields(one) if field.name != "sql"}
        say(f"  engine    {told['engine']}")
        say(f"  reads     {_number(one.rows, 'rows')}, {_bytes(one.scanned_bytes)}")
        say(f"  answers   {_number(one.lines, 'lines, by its own estimate')}, {_bytes(one.answer_bytes)}\n")
    raise typer.Exit


def _listed(given: Any) -> list[Any]:
    return given if isinstance(given, list) else [given]


def _number(number: int | None, noun: str) -> str:
    return f"{noun} not told" if number is None else f"{number:,} {noun}"


def _bytes(number: int | None) -> str:
    """A size in the largest unit that leaves a digit before the point.

    >>> _bytes(None), _bytes(900), _bytes(332_389_660)
    ('bytes not told', '900 bytes', '332.4 MB')
    """
    if number is None:
        return "bytes not told"
    power = min(max(len(str(number)) - 1, 0) // 3, len(_UNITS) - 1)
    return f"{number:,} bytes" if not power else f"{number / 1000**power:,.1f} {_UNITS[power]}"
