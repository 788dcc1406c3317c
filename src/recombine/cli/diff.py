"""`recombine diff`: two saved results of the same verb, and what changed from one to the other."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.markup import escape
from rich.padding import Padding

import recombine
from recombine.base.checks import check_choice
from recombine.base.grades import EXIT_CODES
from recombine.base.words import count
from recombine.cli import gates, options, outputs
from recombine.cli.table_options import takes_groups
from recombine.cli.terminal import Watch, extend_command, named_shortly, number_table, reasons, short, show_result

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
        content=lambda: gates.told(found.record()) | {"changes": found.table.slice(0, _LISTED).to_pylist()},
        show=lambda: summary(found),
    )
    raise typer.Exit(EXIT_CODES[found.grade] if fail_on else 0)


def summary(found: "recombine.Diff") -> None:
    """The diff on one screen."""
    page = None if found.unchanged else ("--report -r", "--report diff.html", "see every change")
    gate = ("--fail-on", "--fail-on worse", "use as a CI gate")
    changes = _changes(found) if found.table.num_rows else None
    parts = [number_table(("", "before", "now"), _facts(found)), changes, reasons(found.reasons)]
    show_result(found, parts, following=extend_command(found, "diff", page, gate))


def _facts(found: "recombine.Diff") -> Iterator[tuple[str, ...]]:
    yield f"[bold]{found.of}[/]", escape(short(found.old.name)), escape(short(found.new.name))
    yield "[bold]grade[/]", found.old.grade, found.new.grade
    changes: list[Any] = [*found.counted, *found.told]
    for one in changes:
        if one.old != one.new:
            ends = (count(end) if isinstance(end, int) else escape(short(end)) for end in (one.old, one.new))
            yield f"[bold]{escape(short(one.name))}[/]", *ends


def _changes(found: "recombine.Diff") -> RenderableType:
    """The first few changes, for the worse first."""
    # The columns beside the factors, by names that were free: what, old, new, way, old rows, new rows, p and q.
    names = [name for name in found.table.column_names if name not in found.factors]
    shown = found.table.slice(0, _SHOWN)
    rows = []
    for line in shown.to_pylist():
        what, old, new, _, _, _, _, q = (line[name] for name in names)
        combination = named_shortly({name: line[name] for name in found.factors})
        chance = "" if q is None else "under 0.001" if q < 0.001 else f"{q:.2g}"
        rows.append([what, *(escape(short(one or "–")) for one in (combination, old, new)), chance])
    more = found.table.num_rows - _SHOWN
    rows += [["…", f"{count(more)} more", "", "", ""]] if more > 0 else []
    table = number_table(("change", "combination", "before", "now", "q"), rows)
    known = shown[names[-1]].null_count < len(shown)
    return Group(table, Padding(f"[dim]{_Q}[/]", (0, 2))) if known else table
