"""`recombine sweep`: train every run of a grid, on this machine or on a Ray cluster."""

import os
import shlex
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
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding

import recombine_lab
from recombine.base.errors import SettingError
from recombine.base.words import amount, count, json_text, span
from recombine.cli import options, table_options
from recombine.cli.help import EXAMPLES
from recombine.cli.terminal import console_for, next_commands, say, warnings_as_notes
from recombine_lab.commands.run_tables import pairs_table

EXAMPLES |= {
    "sweep": (
        ("recombine sweep sweep.yaml --dry-run", "what would be trained, and how long it would take"),
        ("recombine sweep sweep.yaml --store runs --workers 0", "train all of it in this process"),
    ),
}

_SOME_FAILED = 1
_INTERRUPTED = 130


def sweep(
    file: Annotated[Path, typer.Argument(help="The sweep's file, in YAML: tasks, splits, models, recipes, seeds.")],
    address: Annotated[
        str | None,
        typer.Option(help="A Ray cluster: auto, or its address. Without it: Ray on this machine."),
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(
            "--store", "-s", help="Where runs are kept: a folder, or for example s3://… Without it: what the file says."
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers",
            "-n",
            min=0,
            help="How many at once; 0 trains in this process, without Ray. Without it: one for each processor.",
        ),
    ] = None,
    retries: Annotated[int, typer.Option(min=0, help="How often a run that fails is tried again.")] = 2,
    pack: Annotated[int, typer.Option(min=1, help="How many same-shaped runs are trained as one, at most.")] = 32,
    num_gpus: Annotated[
        float, typer.Option(min=0, help="GPUs that Ray sets aside for each pack; 0.25 lets four share one.")
    ] = 0,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done: runs, packs, what is finished, how long.")
    ] = False,
    trust: table_options.Trust = None,
    as_json: table_options.AsJson = False,
) -> None:
    """Train every run of a grid that is not in the store yet; stop and resume at any time."""
    room = _loaded()
    recombine_lab.trust(*trust or ())
    if dry_run:
        with warnings_as_notes():
            size = room.dry_run(file, store=store, workers=workers, pack=pack)
        say(json_text(asdict(size))) if as_json else print_dry_run(size)
        return
    try:
        with _second_interrupt_ends(), warnings_as_notes():
            result = room.sweep(
                file,
                store=store,
                address=address,
                workers=workers,
                retries=retries,
                pack=pack,
                num_gpus=num_gpus,
                progress=None if as_json else room.progress_bar,
            )
    except room.InterruptedSweep as stopped:
        print_interruption(stopped.result)
        raise typer.Exit(_INTERRUPTED) from stopped
    except room.StoppedSweepError as stopped:
        print_kept(stopped.result)
        raise
    say(json_text(asdict(result))) if as_json else print_summary(result)
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
        from recombine_lab.sweeps import sweep as room  # noqa: PLC0415 - it loads torch
    except ImportError as error:
        raise SettingError(
            "this installation cannot train",
            why=str(error),
            instead="pip install 'recombine[lab]'",
        ) from error
    return room


_SHOWN_FAILURES = 5


def print_summary(result: Any) -> None:
    """The whole sweep on one screen."""
    console = console_for()
    console.print()
    colour = "green" if result.complete else "red"
    console.print(Padding(f"[bold {colour}]{escape(_verdict(result))}[/]", (0, 2)), width=min(console.width, 100))
    console.print()
    _counts(console, result)
    _failures(console, result)
    next_commands(console, _next(result))


def _verdict(result: Any) -> str:
    total = len(result.keys)
    if result.failed:
        kept = total - result.failed
        others = f"; the other {kept:,} {_are(kept)} in the store" if kept else ""
        return f"{result.failed:,} of {amount(total, 'run')} failed{others}."
    there = f"{'The run is' if total == 1 else f'All {total:,} runs are'} in the store"
    if result.skipped == total:
        return f"{there}, and {'was' if total == 1 else 'were'} there before: nothing was left to do."
    ends = [f", {result.diverged:,} of them diverged"] if result.diverged else []
    ends += [f"; {_were(len(result.damaged), total)} damaged, and trained again"] if result.damaged else []
    return f"{there}{''.join(ends)}."


def _were(number: int, total: int) -> str:
    return "it was" if total == 1 else f"{number:,} of them {'was' if number == 1 else 'were'}"


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


def _counts(console: Console, result: Any) -> None:
    trained = result.finished + result.diverged
    each = f", {result.seconds / trained:.3g} s for each" if trained else ""
    rows = {"trained": f"{count(trained)} in {span(result.seconds)}{each}" if trained else "0"}
    rows["there before"] = count(result.skipped)
    if result.damaged:
        key, wrong = next(iter(result.damaged.items()))
        example = f"{'for example ' if len(result.damaged) > 1 else ''}{key[:8]}: {wrong}"
        rows["damaged"] = f"{count(len(result.damaged))} of the store's, {example}"
    if result.diverged:
        rows["diverged"] = f"{count(result.diverged)}; they are kept, with the step at which it happened"
    rows |= {name: count(number) for name in ("failed", "left") if (number := getattr(result, name))}
    console.print(pairs_table(rows | {"store": result.store}))


def _failures(console: Console, result: Any) -> None:
    shown = list(result.failures.items())[:_SHOWN_FAILURES]
    if shown:
        console.print()
    for key, reason in shown:
        console.print(Padding(f"[red]failed[/]  {key[:8]}  {escape(reason)}", (0, 2)), soft_wrap=True)
    if len(result.failures) > len(shown):
        console.print(Padding(f"… and {len(result.failures) - len(shown):,} more", (0, 2)))


def _next(result: Any) -> list[tuple[str, str]]:
    store = options.quoted(result.store)
    lines = [(f"recombine runs compare {store} --by model,split", "every seed, beside each other")]
    if not result.complete:
        lines.insert(0, (options.command_line(), "try again what failed; what is finished is kept"))
    return lines


def print_kept(result: Any) -> None:
    """What is safe, of a sweep that could not go on."""
    console = console_for(stderr=True)
    kept = result.finished + result.diverged + result.skipped
    runs = amount(len(result.keys), "run")
    console.print(f"  {kept:,} of {runs} {_are(kept)} finished and kept in {escape(result.store)}.")


def print_interruption(result: Any) -> None:
    """After Ctrl-C: what is safe, and how to go on."""
    print_kept(result)
    console_for(stderr=True).print(f"  Resume with  {escape(options.command_line())}", soft_wrap=True)


def print_dry_run(size: Any) -> None:
    """What a sweep would do."""
    console = console_for()
    console.print()
    verdict = f"{amount(size.runs, 'run')} would be trained."
    if size.finished:
        finished = f"{count(size.finished)} of them {_are(size.finished)} finished"
        verdict = f"{amount(size.runs, 'run')}; {finished}, {count(size.runs - size.finished)} would be trained."
    console.print(Padding(f"[bold]{verdict}[/]", (0, 2)))
    console.print()
    rows = {"damaged": f"{count(size.damaged)} in the store, which would be trained again"} if size.damaged else {}
    rows["groups"] = f"{count(size.groups)}, which differ in more than the seed"
    rows["packs"] = f"{count(size.packs)} for {amount(size.workers, 'worker')}"
    if size.packs == 0:
        rows["time"] = "none"
    elif size.seconds is None:
        rows["time"] = "not known: no run like these is finished in the store yet"
    else:
        took = f"as long as {amount(size.measured, 'finished run')} like these took"
        rows["time"] = f"about {span(size.seconds)}, {took}"
    console.print(pairs_table(rows | {"store": size.store}))
    words = [word for word in shlex.split(options.command_line()) if word != "--dry-run"]
    next_commands(console, [(options.pasted(words), "start it; Ctrl-C stops it, and the same command goes on")])
