"""`recombine diff`: two saved results of the same verb, and what changed from one to the other."""

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

import recombine
from recombine.base.checks import check_choice
from recombine.base.grades import EXIT_CODES, OF_DIFFS
from recombine.base.words import count
from recombine.cli import options, outputs
from recombine.cli.table_options import takes_groups
from recombine.cli.terminal import Watch, console_for, lead, named_shortly, next_commands, short

_SHOWN = 8
_LISTED = 1_000
_WORSE = "worse"
_Q = "q: of the changes with a q as low as this one or lower, the share that is expected to be luck"


@takes_groups(first=("report", "out", "fail_on"), own="Diff")
def diff(
    old: Annotated[
        Path, typer.Argument(metavar="OLD", help="The folder of the older result, written by --out or .save().")
    ],
    new: Annotated[Path, typer.Argument(metavar="NEW", help="The folder of the newer one, of the same verb.")],
    fail_on: Annotated[
        str | None,
        typer.Option(
            "--fail-on",
            help="A CI gate: worse. Exit 3 if combinations were lost, the grade fell or a score is worse beyond "
            "chance; 4 without evidence.",
        ),
    ] = None,
    *,
    output: outputs.Outputs,
) -> None:
    """What changed from one saved result to the next, and is it more than chance?"""
    if fail_on is not None:
        check_choice(
            "--fail-on", fail_on, (_WORSE,), why="a gate fails on what got worse", instead="write --fail-on worse"
        )
    output.check("diff", inputs=[old, new])
    with Watch("comparing") as watch:
        found = recombine.diff(old, new, command=options.command_line())
        output.write(found, watch)
    output.tell(
        content=lambda: found.record().to_json() | {"changes": found.table.slice(0, _LISTED).to_pylist()},
        show=lambda: summary(found),
    )
    raise typer.Exit(EXIT_CODES[found.grade] if fail_on else 0)


def summary(found: Any) -> None:
    """The diff on one screen."""
    console = console_for()
    width = min(console.width, 100)
    lead(console, found, why=OF_DIFFS[found.grade])
    console.print(_facts(found), width=width)
    if found.table.num_rows:
        console.print()
        console.print(_changes(found), width=width)
        chances = found.table.slice(0, _SHOWN)[_ours(found)[-1]]
        if chances.null_count < len(chances):
            console.print(Padding(_Q, (0, 2)), width=width, style="dim")
    if found.reasons:
        console.print()
    for reason in found.reasons:
        console.print(Padding(escape(reason), (0, 2)), width=width)
    next_commands(console, _next(found))


def _facts(found: Any) -> Table:
    table = Table(box=None, padding=(0, 2), pad_edge=True)
    table.add_column("", style="bold", no_wrap=True)
    table.add_column("before")
    table.add_column("now")
    table.add_row(found.of, escape(short(found.old.name)), escape(short(found.new.name)))
    table.add_row("grade", found.old.grade, found.new.grade)
    for one in (*found.counted, *found.told):
        if one.old != one.new:
            table.add_row(escape(short(one.name)), *(_said(one.old), _said(one.new)))
    return table


def _said(value: Any) -> str:
    return count(value) if isinstance(value, int) else escape(short(value))


def _changes(found: Any) -> Table:
    """The first few changes, for the worse first."""
    table = Table(box=None, padding=(0, 2), pad_edge=True)
    for title in ("change", "combination", "before", "now", "q"):
        table.add_column(title)
    names = _ours(found)
    for line in found.table.slice(0, _SHOWN).to_pylist():
        what, old, new, _, _, _, _, q = (line[name] for name in names)
        combination = named_shortly({name: line[name] for name in found.factors})
        chance = "" if q is None else "under 0.001" if q < 0.001 else f"{q:.2g}"
        table.add_row(what, *(escape(short(one or "–")) for one in (combination, old, new)), chance)
    more = found.table.num_rows - _SHOWN
    if more > 0:
        table.add_row("…", f"{count(more)} more", "", "", "")
    return table


def _ours(found: Any) -> list[str]:
    """The columns beside the factors: what, old, new, way, old rows, new rows, p and q, by names that were free."""
    return [name for name in found.table.column_names if name not in found.factors]


def _next(found: Any) -> list[tuple[str, str]]:
    command = found.provenance.command or "recombine diff …"
    words = set(shlex.split(command))
    lines = []
    if not {"--report", "-r"} & words and not found.unchanged:
        lines.append((f"{command} --report diff.html", "see every change"))
    if "--fail-on" not in words:
        lines.append((f"{command} --fail-on worse", "use as a CI gate"))
    return lines
