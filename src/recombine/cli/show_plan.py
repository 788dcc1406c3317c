"""What `recombine plan` prints: the answer first, then the first lines of the plan, then what to do next."""

import shlex
from typing import Any

from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from recombine.cli import options
from recombine.cli.gates import lines as gate_lines
from recombine.cli.show import GRADE_COLOURS, console_for, next_commands, short
from recombine.words import count, measure

_SHOWN = 10


def summary(plan: Any, gates: dict[str, dict[str, Any]]) -> None:
    """The plan on one screen."""
    console = console_for()
    width = min(console.width, 100)
    console.print()
    console.print(Padding(f"[bold {GRADE_COLOURS[plan.grade]}]{escape(plan.verdict)}[/]", (0, 2)), width=width)
    if plan.table.num_rows:
        console.print()
        console.print(_lines(plan), width=console.width)
    console.print()
    console.print(_facts(plan))
    if plan.reasons:
        console.print()
    for reason in plan.reasons:
        console.print(Padding(escape(reason), (0, 2)), width=width)
    for line in gate_lines(gates):
        console.print(line)
    next_commands(console, _next(plan))


def _lines(plan: Any) -> Table:
    """The first lines: what to collect, at what cost, and what it buys."""
    table = Table(box=None, padding=(0, 2), pad_edge=True)
    table.add_column("", justify="right")
    table.add_column("collect")
    table.add_column("cost", justify="right")
    table.add_column("buys")
    for place, line in enumerate(plan.first(_SHOWN)):
        named = ", ".join(short(value) for value in line.combination.values())
        table.add_row(str(place + 1), escape(named), count(line.cost), escape(line.buys))
    if plan.table.num_rows > _SHOWN:
        table.add_row("…", f"{plan.table.num_rows - _SHOWN:,} more", "", "--out, --json or --report for all of them")
    return table


def _facts(plan: Any) -> Table:
    table = Table(box=None, show_header=False, padding=(0, 2), pad_edge=True)
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    table.add_column()
    last = plan.curve[-1]
    table.add_row(plan.measure.name, f"today {_figure(plan.measure.today)}", _after(plan, last))
    if plan.budget is not None:
        table.add_row("budget", count(plan.budget), f"{count(last.spent)} spent")
    if plan.needed.combinations:
        cost = "" if plan.needed.cost == plan.needed.combinations else f", cost {count(plan.needed.cost)}"
        table.add_row("needed", f"{plan.needed.combinations:,}{cost}", escape(plan.needed.said))
    return table


def _after(plan: Any, last: Any) -> str:
    full = f" of {count(plan.measure.full)}" if plan.measure.full and plan.measure.better == "higher" else ""
    return f"with the plan {_figure(last.value)}{full}" if last.lines else f"{full.strip()}"


def _figure(value: float | None) -> str:
    if value is None:
        return "without bound"
    return count(value) if float(value).is_integer() else measure(value)


def _next(plan: Any) -> list[tuple[str, str]]:
    command = plan.provenance.command or "recombine plan …"
    words = set(shlex.split(command))
    lines = []
    if not plan.table.num_rows and plan.goal == "determined":
        return [(f"{_without_goal(command)} --goal leverage", "make the weakest of them firmer")]
    if not {"--report", "-r"} & words:
        lines.append((f"{command} --report plan.html", "see the curve and the whole list"))
    if not {"--out", "-o"} & words:
        lines.append((f"{command} --out plan", "save the whole list"))
    if "--replay" not in words and len(plan.support) >= 5:
        lines.append((f"{command} --replay", "see how this order would have done on the table's own past"))
    return lines


def _without_goal(command: str) -> str:
    """The command without its goal, so that another can be named."""
    words = shlex.split(command)
    for name in ("--goal", "-g"):
        if name in words:
            place = words.index(name)
            del words[place : place + 2]
    return options.pasted([word for word in words if not word.startswith("--goal=")])
