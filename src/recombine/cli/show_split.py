"""What `recombine split` prints: the answer first, then the sides and what was promised, then what to do next."""

from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from recombine.cli.options import quoted
from recombine.cli.show import console_for, next_commands
from recombine.splits.writing.destination import place_beside
from recombine.words import percent

_PLAIN_NAMES = ("split", "held")


def summary(split: Any, out: Path) -> None:
    """The split on one screen."""
    console = console_for()
    width = min(console.width, 100)
    console.print()
    console.print(Padding(f"[bold green]{escape(split.verdict)}[/]", (0, 2)), width=width)
    console.print()
    console.print(_sides(split))
    for reason in split.reasons:
        console.print()
        console.print(Padding(escape(reason), (0, 2)), width=width)
    console.print()
    for path in (out, place_beside(out)):
        console.print(f"  wrote  {escape(str(path))}", soft_wrap=True)
    next_commands(console, _next(split, out))


def _sides(split: Any) -> Table:
    table = Table(box=None, show_header=False, padding=(0, 2), pad_edge=True)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(justify="right")
    table.add_column(justify="right")
    table.add_column()
    for side in split.sides:
        share = percent(side.rows / split.rows) if split.rows else ""
        name = f"fold {side.name}" if side.name.isdigit() else side.name
        table.add_row(name, f"{side.rows:,} rows", share, f"{side.combinations:,} combinations")
    return table


def _next(split: Any, out: Path) -> list[tuple[str, str]]:
    asked = f"{quoted(str(out))} --factors {quoted(','.join(split.factors))}"
    column = "" if split.column == "split" else f" --split {quoted(split.column)}"
    lint = f"recombine lint {asked}{column}"
    folds = [side.name for side in split.sides if side.name.isdigit()]
    if folds:
        return [_next_of_folds(split, lint, folds)]
    where = quoted(f"{_in_sql(split.column)} = 'train'")
    if split.takes_away:
        lint += " --expect rows"
    return [
        (lint, "check it, now or in CI"),
        (f"recombine audit {asked} --where {where}", "what training still tells"),
    ]


def _next_of_folds(split: Any, lint: str, folds: list[str]) -> tuple[str, str]:
    """The check of a fold: the first that leaves every value in training, as another could not pass as it stands."""
    lost = split.takes_away
    test = next((fold for fold in folds if fold not in lost), folds[0])
    train = ",".join(fold for fold in folds if fold != test)
    sides = f"{lint} --train-side {train} --test-side {test}"
    if test in lost:
        return f"{sides} --expect rows", "check a fold; every fold takes values out of training"
    return sides, f"check fold {test}" + ("; a fold that takes a value away would fail" if lost else ", and so on")


def _in_sql(column: str) -> str:
    """A column's name in a condition; quoted, as it may hold a space or be a word of SQL."""
    return column if column in _PLAIN_NAMES else '"' + column.replace('"', '""') + '"'
