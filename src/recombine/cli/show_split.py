"""What `recombine split` prints: the answer first, then the sides and what was promised, then what to do next."""

import shlex
from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from recombine.cli.show import console_for, next_commands
from recombine.splits.writing.destination import place_beside
from recombine.words import percent


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
    factors = shlex.quote(",".join(split.factors))
    column = "" if split.column == "split" else f" --split {shlex.quote(split.column)}"
    if any(side.name.isdigit() for side in split.sides):
        return []
    lint = f"recombine lint {shlex.quote(str(out))} --factors {factors}{column}"
    where = shlex.quote(f"{split.column} = 'train'")
    return [
        (lint, "check it, now or in CI"),
        (f"recombine audit {shlex.quote(str(out))} --factors {factors} --where {where}", "what training still tells"),
    ]
