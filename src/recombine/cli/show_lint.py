"""What `recombine lint` prints: the answer first, then a line for each check, then what to do next."""

import shlex
from typing import Any

from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from recombine.cli.options import pasted
from recombine.cli.show import GRADE_COLOURS, console_for, next_commands

_SIGN = {
    "pass": "green",
    "fail": "red",
    "warning": "yellow",
    "not enough evidence": "yellow",
    "told": "default",
}


def summary(lint: Any, *, again: list[str] | None) -> None:
    """The lint on one screen; checks that were not asked for are left to --json and --out.

    `again` are the words by which another command reads the table, None where the split lies in several.
    """
    console = console_for()
    width = min(console.width, 100)
    console.print()
    console.print(Padding(f"[bold {GRADE_COLOURS[lint.grade]}]{escape(lint.verdict)}[/]", (0, 2)), width=width)
    console.print()
    console.print(_checks(lint), width=max(width, 60))
    next_commands(console, _next(lint, again))


def _checks(lint: Any) -> Table:
    table = Table(box=None, show_header=False, padding=(0, 2), pad_edge=True)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column()
    for check in lint.checks:
        if check.verdict != "not asked":
            word = check.verdict if check.verdict != "not enough evidence" else "thin"
            table.add_row(check.name, f"[{_SIGN[check.verdict]}]{word}[/]", escape(check.sentence))
    return table


def _next(lint: Any, again: list[str] | None) -> list[tuple[str, str]]:
    command = lint.provenance.command or "recombine lint …"
    words = set(shlex.split(command))
    lines = []
    culprits = any(check.table is not None for check in lint.checks)
    if culprits and not {"--out", "-o"} & words:
        lines.append((f"{command} --out lint", "save the manifest and all culprits"))
    if lint.expect == "combinations" and not {"--expect", "-e"} & words and lint["combinations"].verdict == "fail":
        lines.append((f"{command} --expect rows", "if it was never meant to hold out combinations"))
    if lint.grade == "failing" and again is not None:
        column = next(name for name in ("held", "held2") if name != lint.provenance.settings["split"])
        anew = ["recombine", "split", *again, "--factors", ",".join(lint.factors), "--column", column]
        lines.append((pasted([*anew, "--out", "anew.parquet"]), "hold out anew"))
    return lines
