"""A command without its factors: what the columns look like, and the command to paste; nothing is computed by guess.

The exit code is 2, as for any mistake in what was asked: a gate in CI whose factors were forgotten must not pass.
"""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NoReturn

import typer
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

import recombine
from recombine.base.redaction import redacted
from recombine.base.words import amount, json_text
from recombine.cli import options
from recombine.cli.table_options import RowOptions
from recombine.cli.terminal import Watch, console_for, next_commands, say, short

_MISTAKE = 2
_SHOWN = 30
_EXAMPLES = 3
_ORDER = ("factor", "target", "split", "prediction", "left out")
_NOT_DONE = {
    "audit": "audited",
    "plan": "planned",
    "predict": "predicted",
    "rehearse": "rehearsed",
    "split": "split",
    "lint": "checked",
    "evaluate": "evaluated",
}
_INSTEAD = {
    "predict": ("audit", "predict takes a --target, and none is told by its name: with one, more can be said"),
    "rehearse": ("audit", "rehearse takes a --target, and none is told by its name: with one, more can be said"),
    "evaluate": ("audit", "evaluate takes a model's answers (--prediction), and no column is named like them"),
    "lint": ("split", "no column looks like a split: hold out whole combinations first"),
}


def refuse(
    verb: str,
    source: str,
    reading: RowOptions,
    *,
    as_json: bool,
    given: Iterable[str | None] = (),
    target: str | None = None,
    split: str | None = None,
    prediction: str | None = None,
) -> NoReturn:
    """Say what the columns look like, and how to ask; `given` are columns that were named for something else."""
    with Watch("looking at the columns") as watch:
        found = recombine.propose(source, table=reading.table, where=reading.where, progress=watch.tell)
    named = {name for name in (*given, target, split, prediction) if name}
    factors = [name for name in found.factors if name not in named]
    told = {"target": target, "split": split, "prediction": prediction}
    line = _line(verb, found, factors, told, source, reading)
    if as_json:
        command = None if line is None else line[0]
        say(json_text(found.to_json() | {"factors": factors, "command": command}))
    else:
        _tell(verb, found, line)
    raise typer.Exit(_MISTAKE)


def _line(
    verb: str, found: Any, factors: list[str], told: dict[str, str | None], source: str, reading: RowOptions
) -> tuple[str, str] | None:
    """The command to paste and why; none where fewer than two columns look like factors."""
    if len(factors) < 2 and not found.sets:
        return None
    roles = {role: told[role] or getattr(found, role) for role in told}
    score = found.score if verb == "evaluate" and told["prediction"] is None else None
    if found.arrays or score:  # what is measured is a matrix, or was judged by a target of its own
        roles["target"] = told["target"]
    needed = {"predict": "target", "rehearse": "target", "evaluate": "prediction", "lint": "split"}.get(verb)
    why = "if these are the factors; leave out or add what you know better"
    words = ["recombine", *map(redacted, sys.argv[1:])]
    if needed is not None and roles[needed] is None and score is None:
        verb, why = _INSTEAD[verb]
        words = ["recombine", verb, redacted(source)]
        patterns = (("--pattern", one) for one in reading.pattern)
        concepts = ("--concepts", reading.concepts)
        for option, value in (("--table", reading.table), ("--where", reading.where), *patterns, concepts):
            words += [] if value is None else options.given(option, value)
        told = dict.fromkeys(told)
    for name, written in found.sets.items():
        words += ["--set", f"{name}={written}"]
    words += options.given("--factors", options.listed(factors)) if factors else []
    for role in _TAKEN[verb]:
        if told[role] is None and roles[role] is not None and not (verb == "lint" and roles[role] == "split"):
            words += options.given(f"--{role}", roles[role])
    words += [] if score is None else options.given("--score", score)
    if verb == "split" and not {"--out", "-o"} & set(words):
        words += ["--out", _free("held.parquet")]
        words += ["--column", "held_out"] if any(one.name == "split" for one in found.columns) else []
    return options.pasted(words), why


_TAKEN: dict[str, tuple[str, ...]] = {
    "audit": ("target",),
    "plan": ("target",),
    "predict": ("target",),
    "rehearse": ("target",),
    "split": (),
    "lint": ("split",),
    "evaluate": ("target", "prediction", "split"),
}


def _free(name: str) -> str:
    """A file that is not there yet."""
    path, number = Path(name), 2
    while path.exists():
        path, number = Path(name).with_stem(f"{Path(name).stem}{number}"), number + 1
    return str(path)


def _tell(verb: str, found: Any, line: tuple[str, str] | None) -> None:
    console = console_for()
    width = min(console.width, 100)
    console.print()
    said = f"[bold yellow]Nothing was {_NOT_DONE[verb]}: no factors were named.[/] {escape(found.verdict)}"
    console.print(Padding(said, (0, 2)), width=width)
    console.print()
    console.print(_columns(found), width=width)
    if line is not None:
        next_commands(console, [line, *_trained_alone(found, line[0])])
    else:
        left = "Beside the columns that you have named, fewer than two of these are left. " if found.factors else ""
        console.print()
        console.print(Padding(f"{left}Name at least two: --factors a,b", (0, 2)), width=width)
        console.print()


def _columns(found: Any) -> Table:
    """The columns with what they are proposed as and why, and below it what they hold."""
    table = Table(box=None, show_header=False, padding=(0, 2), pad_edge=True)
    table.add_column(no_wrap=True)
    table.add_column(style="bold")
    table.add_column()
    shown = sorted(found.columns, key=lambda one: _ORDER.index(one.role))[:_SHOWN]
    for one in shown:
        table.add_row(one.role, escape(short(one.name)), escape(one.reason))
        table.add_row("", "", f"[dim]{escape(_holds(one))}[/]")
    if len(found.columns) > len(shown):
        table.add_row("…", "", f"{len(found.columns) - len(shown):,} more; --json lists all of them")
    return table


def _holds(one: Any) -> str:
    such = ", ".join(f"{short(value)}" for value in one.examples[:_EXAMPLES])
    more = ", …" if one.values is not None and one.values > len(one.examples[:_EXAMPLES]) else ""
    missing = f"; missing in {amount(one.missing, 'row')}" if one.missing else ""
    return (
        f"{one.kind if one.kind != 'nested' else one.type}{': ' if such else ''}{such}{more if such else ''}{missing}"
    )


def _trained_alone(found: Any, command: str) -> list[tuple[str, str]]:
    """What was trained on is what an audit is mostly about."""
    if not command.startswith(("recombine audit", "recombine plan")) or "--where" in command or found.split is None:
        return []
    if "train" not in found.column(found.split).examples:
        return []
    where = f"{options.in_sql(found.split)} = 'train'"
    return [(f"{command} --where {options.quoted(where)}", "the same of what a model was trained on")]
