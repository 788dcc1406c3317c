"""`recombine runs`: what is in a run store, how runs compare, and what can go."""

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from recombine.base.errors import RecordError, SettingError
from recombine.base.redaction import redacted
from recombine.base.words import json_text
from recombine.cli import options, outputs, table_options
from recombine.cli.help import EXAMPLES, Command, CommandGroup
from recombine.cli.terminal import Watch, page_written, say, warnings_as_notes
from recombine_lab.commands import run_tables

if TYPE_CHECKING:
    from recombine_lab.runs.run_list import RunLine
    from recombine_lab.runs.store import Store

EXAMPLES |= {
    "runs": (
        ("recombine runs list runs", "what is in the store `runs`"),
        ("recombine runs compare runs --by model,split", "groups of runs side by side"),
    ),
    "runs list": (
        ("recombine runs list runs", "all of them"),
        ("recombine runs list runs --where task=sprites --metric unseen.score", "some of them, by one score"),
    ),
    "runs show": (
        ("recombine runs show runs 3f9a", "by the beginning of its key"),
        ("recombine runs show runs 3f9a --out run", "copy it to a folder"),
    ),
    "runs compare": (
        ("recombine runs compare runs --by model,split", "groups by model and split"),
        ("recombine runs compare runs 3f9a 77c0", "two runs"),
    ),
    "runs prune": (
        ("recombine runs prune runs", "what could go; nothing is removed yet"),
        ("recombine runs prune runs --status failed --older 7d --yes", "remove what failed, and week-old left-overs"),
    ),
}

runs = typer.Typer(
    cls=CommandGroup, help="What was trained: list, show, compare and prune the runs of a store.", no_args_is_help=True
)

Place = Annotated[
    str, typer.Argument(metavar="STORE", help="The run store: a folder, or a URL such as s3://bucket/path.")
]
Where = Annotated[
    table_options.Many,
    typer.Option("--where", "-w", help="Only runs with this setting: task=sprites, recipe.lr=0.01, seed=3."),
]
Metrics = Annotated[
    table_options.Many, typer.Option("--metric", "-m", help="Which measurements to show: unseen.score,seen.loss.")
]

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_REMOVABLE = ("failed", "diverged", "damaged")


@runs.command("list", cls=Command)
def list_runs(
    place: Place,
    where: Where = [],  # noqa: B006
    metric: Metrics = [],  # noqa: B006
    check: Annotated[bool, typer.Option("--check", help="Read every file and compare its checksum.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="Show every line, however many there are.")] = False,
    as_json: table_options.AsJson = False,
) -> None:
    """Which runs are there, and how did they end?"""
    with Watch("reading the store"):
        lines = _lines(_open(place), where, check=check)
    if as_json:
        runs = [{**vars(line), "settings": dict(line.settings), "metrics": dict(line.metrics)} for line in lines]
        say(json_text({"store": redacted(place), "runs": runs}))
        return
    from recombine_lab.runs.run_comparison import compare as compare_runs  # noqa: PLC0415 - it brings Arrow

    shown = compare_runs(lines, by=[], metrics=options.names(metric) or None).metrics
    run_tables.print_runs(redacted(place), lines, shown, everything=everything, filtered=bool(where))


@runs.command(cls=Command)
def show(
    place: Place,
    key: Annotated[str, typer.Argument(metavar="KEY", help="The run's key, or as much of its beginning as is unique.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Copy the run to a folder, for use with the other commands.")
    ] = None,
    force: table_options.Force = False,
    as_json: table_options.AsJson = False,
) -> None:
    """One run: its settings, its scores, and how to go on with its files."""
    from recombine_lab.runs.run_files import folder_of  # noqa: PLC0415 - it brings Arrow
    from recombine_lab.runs.run_list import find_key  # noqa: PLC0415

    outputs.Outputs(out=out, force=force).check("run", inputs=[])
    store = _open(place)
    full = find_key(store, key)
    if not store.has(full):
        failures = [failure for failure in store.failures() if failure.key == full]
        if not failures:
            raise RecordError(f"no run {full!r}", why="it was removed just now", instead="list the store again")
        if as_json:
            say(json_text([json.loads(failure.to_json()) for failure in failures]))
        else:
            run_tables.print_failures(failures)
        return
    run, stored = store.get(full), store.summary(full)
    if out is not None:
        store.copy(full, out, force=force)
    if as_json:
        say(json_text(run.record().to_json()))
    else:
        # Other commands can read its files where they lie, unless that is behind a URL.
        lies = Path(store.place) / folder_of(full) if store.files.moves_folders else None
        run_tables.print_run(run, sorted(stored.parts), place=redacted(place), folder=out or lies)
        page_written(None, out)


@runs.command(cls=Command)
def compare(
    place: Place,
    keys: Annotated[
        list[str] | None, typer.Argument(metavar="[KEY]...", help="Runs by the beginnings of their keys; else all.")
    ] = None,
    by: Annotated[
        table_options.Many, typer.Option("--by", "-b", help="The settings that make the groups: model,split.")
    ] = [],  # noqa: B006
    where: Where = [],  # noqa: B006
    metric: Metrics = [],  # noqa: B006
    as_json: table_options.AsJson = False,
) -> None:
    """How do runs compare? Every seed is shown, with the median and the range."""
    from recombine_lab.runs.run_comparison import compare as compare_runs  # noqa: PLC0415 - it brings Arrow
    from recombine_lab.runs.run_list import find_key  # noqa: PLC0415

    with Watch("reading the store"):
        store = _open(place)
        lines = _lines(store, where, only={find_key(store, key) for key in keys} if keys else None)
    if not lines:
        raise SettingError(
            f"nothing to compare in '{redacted(place)}'",
            why="no run fulfils the conditions" if where else "the store holds no runs",
            instead=f"`recombine runs list {redacted(place)}` shows what is there",
        )
    made = compare_runs(lines, by=options.names(by) or None, metrics=options.names(metric) or None)
    if as_json:
        say(json_text(run_tables.comparison_json(made)))
    else:
        run_tables.print_comparison(made, lines)


@runs.command(cls=Command)
def prune(
    place: Place,
    older: Annotated[str, typer.Option(help="How old left-overs and unfinished work must be: 30m, 12h, 7d.")] = "1d",
    status: Annotated[
        table_options.Many, typer.Option("--status", help="Also remove runs that ended so: failed, diverged, damaged.")
    ] = [],  # noqa: B006
    keep_code: Annotated[
        str | None, typer.Option(help="latest: remove runs that a later version of the code has run again.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do it; without this it is only told.")] = False,
    as_json: table_options.AsJson = False,
) -> None:
    """Remove what interrupted writers left behind, forgotten unfinished work, and runs that you name."""
    from recombine_lab.runs.pruning import removable, remove  # noqa: PLC0415 - it brings Arrow

    statuses = options.names(status)
    for one in statuses:
        if one not in _REMOVABLE:
            raise SettingError(
                f"--status {one}",
                why="only runs that did not end well are removed by their status",
                instead=f"write one of {', '.join(_REMOVABLE)}",
            )
    if keep_code not in (None, "latest"):
        raise SettingError(
            f"--keep-code {keep_code}", why="only 'latest' can be kept", instead="write --keep-code latest"
        )
    with Watch("reading the store") as watch:
        store = _open(place)
        things = removable(store, older=_age(older), status=statuses, superseded=keep_code is not None)
        if yes:
            watch.now("removing")
            remove(store, things)
    if as_json:
        say(json_text({"store": redacted(place), "removed": yes, "found": [vars(one) for one in things]}))
    else:
        run_tables.print_removals(things, done=yes)


def _open(place: str) -> "Store":
    from recombine_lab.runs.store import Store  # noqa: PLC0415 - it brings Arrow

    with warnings_as_notes():
        return Store.open(place, create=False)


def _lines(store: "Store", where: list[str], *, only: set[str] | None = None, check: bool = False) -> "list[RunLine]":
    from recombine_lab.runs import run_list  # noqa: PLC0415 - it brings Arrow

    conditions = options.assignments("--where", where)
    lines = run_list.list_runs(store, only=only, check=check)
    return run_list.filter_runs(lines, conditions) if conditions else lines


def _age(written: str) -> float:
    age = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd])", written)
    if age is None:
        raise SettingError(
            f"--older {written}", why="it is not a number with s, m, h or d", instead="write for example --older 12h"
        )
    return float(age[1]) * _SECONDS[age[2]]
