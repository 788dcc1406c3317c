"""`recombine runs`: what is in a run store, how runs compare, and what can go."""

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recombine.base.errors import RecordError, SettingError
from recombine.base.redaction import redacted
from recombine.base.words import json_text
from recombine.cli import options, outputs, table_options
from recombine.cli.help import EXAMPLES, Command, CommandGroup
from recombine.cli.terminal import Watch, page_written, say, warnings_as_notes
from recombine_lab.commands import run_tables

if TYPE_CHECKING:
    from recombine_lab.runs.listing import RunLine
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
        found = _lines(_open(place), where, check=check)
    if as_json:
        content = {"store": redacted(place), "runs": [_plain(line) for line in found]}
        say(json_text(content))
    else:
        shown = _metrics(found, metric)
        run_tables.listed(redacted(place), found, shown, everything=everything, filtered=bool(where))


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
    from recombine_lab.runs.listing import find  # noqa: PLC0415 - it brings Arrow

    outputs.Outputs(out=out, force=force).check("run", inputs=[])
    store = _open(place)
    full = find(store, key)
    if not store.has(full):
        _show_failures(store, full, as_json=as_json)
        return
    run, stored = store.get(full), store.summary(full)
    if out is not None:
        store.copy(full, out, force=force)
    if as_json:
        say(json_text(run.record().to_json()))
    else:
        run_tables.one(run, sorted(stored.parts), place=redacted(place), folder=out or _folder(store, full))
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
    from recombine_lab.runs.listing import find  # noqa: PLC0415
    from recombine_lab.runs.run_comparison import compare as compared  # noqa: PLC0415 - it brings Arrow

    with Watch("reading the store"):
        store = _open(place)
        found = _lines(store, where, only={find(store, key) for key in keys} if keys else None)
    if not found:
        raise SettingError(
            f"nothing to compare in '{redacted(place)}'",
            why="no run fulfils the conditions" if where else "the store holds no runs",
            instead=f"`recombine runs list {redacted(place)}` shows what is there",
        )
    made = compared(found, by=options.names(by) or None, metrics=options.names(metric) or None)
    if as_json:
        say(json_text(run_tables.for_machines(made)))
    else:
        run_tables.compared(made, found)


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

    with Watch("reading the store") as watch:
        store = _open(place)
        found = removable(store, older=_age(older), status=_statuses(status), superseded=_superseded(keep_code))
        if yes:
            watch.now("removing")
            remove(store, found)
    if as_json:
        content = {"store": redacted(place), "removed": yes, "found": [vars(one) for one in found]}
        say(json_text(content))
    else:
        run_tables.pruned(found, done=yes)


def _open(place: str) -> "Store":
    from recombine_lab.runs.store import Store  # noqa: PLC0415 - it brings Arrow

    with warnings_as_notes():
        return Store.open(place, create=False)


def _lines(store: "Store", where: list[str], *, only: set[str] | None = None, check: bool = False) -> "list[RunLine]":
    from recombine_lab.runs import listing  # noqa: PLC0415 - it brings Arrow

    conditions = options.assignments("--where", where)
    found = listing.lines(store, only=only, check=check)
    return listing.where(found, conditions) if conditions else found


def _metrics(found: "list[RunLine]", asked: list[str]) -> list[str]:
    from recombine_lab.runs.run_comparison import compare as compared  # noqa: PLC0415 - it brings Arrow

    return list(compared(found, by=[], metrics=options.names(asked) or None).metrics)


def _plain(line: "RunLine") -> dict[str, Any]:
    return {**vars(line), "settings": dict(line.settings), "metrics": dict(line.metrics)}


def _folder(store: "Store", key: str) -> Path | None:
    """Where a run's files lie, if other commands can read them there."""
    from recombine_lab.runs.run_files import folder_of  # noqa: PLC0415 - it brings Arrow

    return Path(store.place) / folder_of(key) if store.files.moves_folders else None


def _show_failures(store: "Store", key: str, *, as_json: bool) -> None:
    found = [failure for failure in store.failures() if failure.key == key]
    if not found:
        raise RecordError(f"no run {key!r}", why="it was removed just now", instead="list the store again")
    if as_json:
        say(json_text([json.loads(failure.to_json()) for failure in found]))
    else:
        run_tables.failed(found)


def _age(written: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd])", written)
    if found is None:
        raise SettingError(
            f"--older {written}", why="it is not a number with s, m, h or d", instead="write for example --older 12h"
        )
    return float(found[1]) * _SECONDS[found[2]]


def _statuses(given: list[str]) -> list[str]:
    asked = options.names(given)
    for status in asked:
        if status not in _REMOVABLE:
            raise SettingError(
                f"--status {status}",
                why="only runs that did not end well are removed by their status",
                instead=f"write one of {', '.join(_REMOVABLE)}",
            )
    return asked


def _superseded(keep_code: str | None) -> bool:
    if keep_code not in (None, "latest"):
        raise SettingError(
            f"--keep-code {keep_code}", why="only 'latest' can be kept", instead="write --keep-code latest"
        )
    return keep_code is not None
