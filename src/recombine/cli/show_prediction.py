"""What `recombine predict` prints: the answer first, then the numbers and the worst cases, then what to do next."""

import shlex
from typing import Any

from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from recombine.cli.gates import lines as gate_lines
from recombine.cli.show import GRADE_COLOURS, console_for, next_commands, short
from recombine.words import measure, percent

_SHOWN_BAD = 5


def summary(prediction: Any, gates: dict[str, dict[str, Any]]) -> None:
    """The prediction on one screen."""
    console = console_for()
    width = min(console.width, 100)
    console.print()
    sentence = f"[bold {GRADE_COLOURS[prediction.grade]}]{escape(prediction.verdict)}[/]"
    console.print(Padding(sentence, (0, 2)), width=width)
    console.print()
    console.print(_facts(prediction))
    console.print()
    for reason in prediction.reasons:
        console.print(Padding(escape(reason), (0, 2)), width=width)
    if prediction.backtest is not None:
        console.print()
        console.print(_track_record(prediction.backtest))
        console.print()
        console.print(_by_rung(prediction.backtest))
    if prediction.worst:
        console.print()
        console.print(_worst(prediction))
    for line in gate_lines(gates):
        console.print(line)
    next_commands(console, _next(prediction))


def _facts(prediction: Any) -> Table:
    table = _plain_table()
    unseen = sum(count for verdict, count in prediction.counts.items() if verdict != "seen")
    of = f"of {prediction.space:,} possible" + (
        f"; {unseen:,} unseen ones drawn at random" if prediction.sampled else ""
    )
    table.add_row("seen", f"{len(prediction.learner.support):,} combinations", of)
    for verdict, count in prediction.counts.items():
        if verdict != "seen" and count:
            table.add_row(verdict, f"{count:,}", percent(count / unseen))
    if prediction.known is not None and prediction.known.known:
        table.add_row(prediction.known.score, measure(prediction.known.value), f"on {prediction.known.known:,} known")
    return table


def _track_record(record: Any) -> Table:
    """Everybody's score, and how much better or worse the kernel is."""
    table = Table(box=None, padding=(0, 2), pad_edge=True)
    table.add_column(f"{record.tested:,} held out")
    table.add_column("accuracy" if record.better == "higher" else "error", justify="right")
    table.add_column("95 % interval")
    table.add_column("kernel less this")
    for method in record.methods:
        gap = "" if method.difference is None else "{} to {}".format(*map(measure, method.difference[::2]))
        around = "too few" if method.low is None else f"{measure(method.low)} to {measure(method.high)}"
        table.add_row(method.name, measure(method.score), around, gap)
    if record.coverage is not None:
        found = record.coverage
        around = "too few" if found.low is None else f"{percent(found.low)} to {percent(found.high)}"
        table.add_row("95 % intervals hold", percent(found.found), around, "")
    return table


def _by_rung(record: Any) -> Table:
    """The same by how firmly what was held out is fixed by the rest."""
    table = Table(box=None, padding=(0, 2), pad_edge=True)
    table.add_column("of these")
    table.add_column("", justify="right")
    for method in record.methods:
        table.add_column(method.name, justify="right")
    for rung in record.rungs:
        table.add_row(rung.rung, f"{rung.tested:,}", *map(measure, rung.scores))
    return table


def _worst(prediction: Any) -> Table:
    table = _plain_table()
    for one in prediction.worst[:_SHOWN_BAD]:
        named = ", ".join(short(value) for value in one.combination.values())
        said = one.prediction if isinstance(one.prediction, str) else measure(one.prediction)
        table.add_row(one.verdict, escape(named), f"{escape(short(said))}. {escape(one.why)}")
    if len(prediction.worst) > _SHOWN_BAD:
        table.add_row("…", "", "--report or --out for all of them")
    return table


def _plain_table() -> Table:
    table = Table(box=None, show_header=False, padding=(0, 2), pad_edge=True)
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    table.add_column()
    return table


def _next(prediction: Any) -> list[tuple[str, str]]:
    command = prediction.provenance.command or "recombine predict …"
    words = set(shlex.split(command))
    lines = []
    if not {"--report", "-r"} & words:
        lines.append((f"{command} --report predict.html", "see the grid, and click a combination to see why"))
    if "--backtest" not in words and len(prediction.learner.support) >= 5:
        lines.append((f"{command} --backtest", "see its track record on combinations that were seen"))
    if not {"--salience", "-s"} & words:
        lines.append((f"{command} --salience fit", "let the data say what counts"))
    return lines
