"""What `recombine evaluate` prints: the answer first, then the scores, the worst combinations, and what to do next."""

import shlex
from typing import Any

from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from recombine.cli.gates import lines as gate_lines
from recombine.cli.show import GRADE_COLOURS, console_for, next_commands, short
from recombine.words import measure, percent

_SHOWN = 5


def summary(found: Any, gates: dict[str, dict[str, Any]], *, split: str | None = None) -> None:
    """The evaluation on one screen; `split` is a column that could tell what was trained on, where nothing did."""
    console = console_for()
    width = min(console.width, 100)
    console.print()
    console.print(Padding(f"[bold {GRADE_COLOURS[found.grade]}]{escape(found.verdict)}[/]", (0, 2)), width=width)
    console.print()
    console.print(_sides(found))
    console.print()
    if found.against is not None:
        console.print(_against(found))
        console.print()
    for reason in found.reasons:
        console.print(Padding(escape(reason), (0, 2)), width=width)
    console.print()
    console.print(_worst(found))
    for line in gate_lines(gates):
        console.print(line)
    next_commands(console, _next(found, split))
    if found.outcomes.training is None and split is None:
        told = "To tell seen from unseen combinations, add --train and the table that the model was trained on."
        console.print(Padding(told, (0, 2, 1, 2)), width=width)


def _sides(found: Any) -> Table:
    table = _table("", *_right("rows", "combinations", short(found.score.name)))
    table.add_column(f"{percent(found.confidence)} interval", no_wrap=True)
    table.add_column("each once", justify="right")
    for side in found.sides:
        repeats = side.name == "determined" and side.rows == found.side("unseen").rows
        if side.rows and not repeats:
            name = f"  {side.name}" if side.name in ("determined", "undetermined") else side.name
            scores = (_amount(found, side.score), _ends(found, side.low, side.high), _amount(found, side.macro))
            table.add_row(name, f"{side.rows:,}", f"{side.combinations:,}", *scores)
        elif side.name in ("seen", "unseen") and not side.rows:
            table.add_row(side.name, "0", "0", "unknown", "", "")
    return table


def _against(found: Any) -> Table:
    table = _table(short(found.against.other), *_right("this", "other", "difference"))
    table.add_column("interval")
    table.add_column("better")
    for side in found.against.sides:
        if side.rows and side.name in ("all", "seen", "unseen", "novel"):
            table.add_row(
                side.name,
                _amount(found, side.own),
                _amount(found, side.other),
                _points(found, side.difference),
                "none" if side.low is None else f"{_points(found, side.low)} to {_points(found, side.high)}",
                side.better,
            )
    return table


def _worst(found: Any) -> Table:
    table = _table("worst tested", *_right("rows", "raw", "shrunk"))
    table.add_column("interval", no_wrap=True)
    table.add_column("parts give", justify="right")
    table.add_column("", no_wrap=True)
    for one in found.worst[:_SHOWN]:
        named = ", ".join(escape(short(value)) for value in one.combination.values())
        table.add_row(
            named,
            f"{one.rows:,}",
            _amount(found, one.score),
            _amount(found, one.shrunk),
            _ends(found, one.low, one.high),
            _amount(found, one.expected),
            one.rung if one.rung != "unknown" else "",
        )
    return table


def _table(first: str, *others: tuple[str, str]) -> Table:
    table = Table(box=None, padding=(0, 1), pad_edge=True)
    table.add_column(first, style="bold")
    for name, justify in others:
        table.add_column(escape(name), justify=justify, no_wrap=True)  # type: ignore[arg-type]
    return table


def _right(*names: str) -> list[tuple[str, str]]:
    return [(name, "right") for name in names]


def _amount(found: Any, number: float | None) -> str:
    if number is None:
        return "unknown"
    return percent(min(max(number, 0.0), 1.0)) if found.score.is_share else measure(number)


def _ends(found: Any, low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return "none"
    return f"{100 * low:.0f} to {100 * high:.0f} %" if found.score.is_share else f"{measure(low)} to {measure(high)}"


def _points(found: Any, number: float | None) -> str:
    if number is None:
        return "unknown"
    return f"{100 * number:+.3g}" if found.score.is_share else f"{number:+.3g}"


def _next(found: Any, split: str | None) -> list[tuple[str, str]]:
    command = found.provenance.command or "recombine evaluate …"
    words = set(shlex.split(command))
    lines = []
    if split is not None:
        lines.append((f"{command} --split {shlex.quote(split)}", "tell seen from unseen combinations"))
    if not {"--report", "-r"} & words:
        lines.append((f"{command} --report evaluation.html", "see the map of scores, and every combination"))
    if "--fail-under" not in words and found.score.better == "higher" and found.side("unseen").rows:
        lines.append((f"{command} --fail-under unseen=0.8", "hold a pipeline to it"))
    return lines
