"""`recombine sweep`: train every run of a grid, on this machine or on a Ray cluster."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from recombine.cli import reading
from recombine.cli.show import say
from recombine.errors import SettingError

_SOME_FAILED = 1
_INTERRUPTED = 130


def sweep(
    file: Annotated[Path, typer.Argument(help="The sweep's file, in YAML: tasks, splits, models, recipes, seeds.")],
    address: Annotated[
        str | None,
        typer.Option(help="A Ray cluster: auto, or its address. Without it: Ray on this machine."),
    ] = None,
    store: Annotated[
        str | None, typer.Option("--store", "-s", help="Where runs are kept: a folder, or for example s3://…")
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option("--workers", "-n", min=0, help="How many at once; 0 trains in this process, without Ray."),
    ] = None,
    retries: Annotated[int, typer.Option(min=0, help="How often a run that fails is tried again.")] = 2,
    pack: Annotated[int, typer.Option(min=1, help="How many same-shaped runs are trained as one, at most.")] = 32,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done: runs, packs, what is finished, how long.")
    ] = False,
    as_json: reading.AsJson = False,
) -> None:
    """Train every run of a grid that is not in the store yet; stop and resume at any time."""
    room, ahead = _loaded()
    from recombine.cli import show_sweep  # noqa: PLC0415 - it loads the room too

    if dry_run:
        found = ahead.outlook(file, store=store, workers=workers, pack=pack)
        say(json.dumps(asdict(found), indent=2)) if as_json else show_sweep.outlook(found)
        return
    try:
        result = room.sweep(
            file, store=store, address=address, workers=workers, retries=retries, pack=pack, progress=not as_json
        )
    except room.InterruptedSweep as stopped:
        show_sweep.interrupted(stopped.result)
        raise typer.Exit(_INTERRUPTED) from stopped
    except room.StoppedSweepError as stopped:
        show_sweep.so_far(stopped.result)
        raise
    say(json.dumps(asdict(result), indent=2)) if as_json else show_sweep.summary(result)
    if result.failed:
        raise typer.Exit(_SOME_FAILED)


def _loaded() -> tuple[Any, Any]:
    """The room behind the command, where everything that it needs is installed."""
    try:
        from recombine.sweeps import outlook, sweep  # noqa: PLC0415 - they load torch
    except ImportError as error:
        raise SettingError(
            "this installation cannot train",
            why=str(error),
            instead="pip install 'recombine[sweep]'",
        ) from error
    return sweep, outlook
