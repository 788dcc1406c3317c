"""What `recombine lint` prints: the answer first, then a line for each check, then what to do next."""

import shlex
from typing import Any

from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from recombine.cli.show import console_for, next_commands

_SIGN = {
    "pass": "green",
    "fail": "red",
    "warning": "yellow",
    "not enough evidence": "yellow",
    "told": "default",
}


def summary(lint: Any) -> None:
    """The lint on one screen; checks that were not asked for are left to --json and --out."""
    console = console_for()
    width = min(console.width, 100)
    console.print()
    console.print(Padding(f"[bold {_SIGN[lint.grade]}]{escape(lint.verdict)}[/]", (0, 2)), width=width)
    console.print()
    console.print(_checks(lint), width=max(width, 60))
    next_commands(console, _next(lint))


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


def _next(lint: Any) -> list[tuple[str, str]]:
    command = lint.provenance.command or "recombine lint …"
    words = set(shlex.split(command))
    lines = []
    culprits = any(check.table is not None for check in lint.checks)
    if culprits and not {"--out", "-o"} & words:
        lines.append((f"{command} --out lint", "save the manifest and all culprits"))
    if lint.expect == "combinations" and not {"--expect", "-e"} & words and lint["combinations"].verdict == "fail":
        lines.append((f"{command} --expect rows", "if it was never meant to hold out combinations"))
    if lint.grade == "fail":
        factors = shlex.quote(",".join(lint.factors))
        source = next((word for word in shlex.split(command)[2:] if not word.startswith("-")), "TABLE")
        lines.append(
            (f"recombine split {shlex.quote(source)} --factors {factors} --out split.parquet", "hold out anew")
        )
    return lines
