"""`recombine sweep`: train every run of a grid, on this machine or on a Ray cluster."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer

from recombine.cli import reading
from recombine.cli.show import say, warnings_as_notes
from recombine.errors import SettingError
from recombine.words import json_text

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
    room = _loaded()
    from recombine.cli import show_sweep  # noqa: PLC0415 - it loads the room too

    if dry_run:
        with warnings_as_notes():
            found = room.dry_run(file, store=store, workers=workers, pack=pack)
        say(json_text(asdict(found))) if as_json else show_sweep.dry_run(found)
        return
    try:
        with _second_interrupt_ends(), warnings_as_notes():
            result = room.sweep(
                file, store=store, address=address, workers=workers, retries=retries, pack=pack, progress=not as_json
            )
    except room.InterruptedSweep as stopped:
        show_sweep.interrupted(stopped.result)
        raise typer.Exit(_INTERRUPTED) from stopped
    except room.StoppedSweepError as stopped:
        show_sweep.so_far(stopped.result)
        raise
    say(json_text(asdict(result))) if as_json else show_sweep.summary(result)
    if result.failed:
        raise typer.Exit(_SOME_FAILED)


@contextmanager
def _second_interrupt_ends() -> Iterator[None]:
    """The first Ctrl-C stops the sweep as ever; a second one, while that is being done, ends the process at once.

    Raised in the middle of Ray's own ending, it would leave Ray's library to notice that its servers are gone, and that
    ends a process with an exit code of its own.
    """
    before = signal.getsignal(signal.SIGINT)
    if not callable(before) or threading.current_thread() is not threading.main_thread():
        yield
        return
    came = False

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal came
        if came:
            shown = "\x1b[?25h" if sys.stderr.isatty() else ""  # the cursor, which a live table hides
            os.write(2, f"{shown}Stopped at once. What was finished is kept.\n".encode())
            os._exit(_INTERRUPTED)
        came = True
        before(number, frame)

    signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _loaded() -> Any:
    """The room behind the command, where everything that it needs is installed."""
    try:
        from recombine.lab.sweeps import sweep as room  # noqa: PLC0415 - it loads torch
    except ImportError as error:
        raise SettingError(
            "this installation cannot train",
            why=str(error),
            instead="pip install 'recombine[sweep]'",
        ) from error
    return room
