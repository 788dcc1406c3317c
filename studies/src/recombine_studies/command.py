"""`recombine study`: the papers behind this library, re-run, with their claims as checks."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from recombine.base.words import amount, json_text, span
from recombine.cli import table_options
from recombine.cli.help import EXAMPLES, Command, CommandGroup
from recombine.cli.terminal import Watch, console_for, lead, next_commands, page_written, say, warnings_as_notes
from recombine_lab.commands.sweep import print_interruption

EXAMPLES |= {
    "study": (
        ("recombine study list", "what there is"),
        ("recombine study run supports --preset smoke", "try one, in seconds"),
    ),
    "study list": (
        ("recombine study list", "what there is"),
        ("recombine study run supports --preset smoke", "try one, in seconds"),
    ),
    "study run": (
        ("recombine study run supports --preset smoke", "in seconds, and it decides nothing"),
        ("recombine study run all --dry-run", "what all of them would cost"),
    ),
    "study report": (
        ("recombine study report all --out pages", "pages of what the store holds"),
        ("recombine study report supports --json", "one of them, for machines"),
    ),
}

ALL = "all"
_INTERRUPTED = 130
_COLOURS = {"holds": "green", "holds in part": "yellow", "mixed": "yellow", "does not hold": "red"} | {
    "not enough evidence": "dim",
    "not applicable": "dim",
}

study = typer.Typer(
    cls=CommandGroup,
    help="The papers behind recombine, re-run: each claim beside what was measured, every seed shown.",
    no_args_is_help=True,
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="A study of `recombine study list`, or all.")]
Preset = Annotated[
    str, typer.Option(help="smoke (seconds, decides nothing), small (this machine), paper (as published; a cluster).")
]
Place = Annotated[str, typer.Option("--store", "-s", help="Where runs and measurements are kept: a folder, or s3://…")]
Workers = Annotated[
    int | None,
    typer.Option(
        "--workers",
        "-n",
        min=0,
        help="How many at once; 0 does all in this process, without Ray. Without it: one for each processor, and 0 for "
        "the preset smoke.",
    ),
]
Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", help="A folder for the pages: HTML, Markdown, figures as SVG, every run as Parquet."),
]


@study.command("list", cls=Command)
def list_studies() -> None:
    """The studies: what each asks, of which paper, and how many claims it checks."""
    from recombine_studies.catalogue import study_of  # noqa: PLC0415 - other commands need no study

    table = Table(box=None, padding=(0, 2), pad_edge=True)
    for title in ("study", "asks", "paper", "claims"):
        table.add_column(title, justify="right" if title == "claims" else "left")
    for name in _names(ALL):
        found = study_of(name)
        table.add_row(f"[bold]{name}[/]", escape(found.question), escape(found.paper), str(len(found.claims)))
    console = console_for()
    console.print(table)
    next_commands(
        console,
        [
            ("recombine study run supports --preset smoke", "try one, in seconds"),
            ("recombine study run all --preset small", "all of them, on this machine; Ctrl-C stops, and it goes on"),
        ],
    )


@study.command("run", cls=Command)
def run(
    name: Name,
    preset: Preset = "small",
    store: Place = "studies",
    address: Annotated[
        str | None,
        typer.Option(help="A Ray cluster for the training: auto, or its address. Without it: Ray on this machine."),
    ] = None,
    workers: Workers = None,
    out: Out = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Build everything, train it for a few updates, and say what it would cost."),
    ] = False,
    as_json: table_options.AsJson = False,
) -> None:
    """Train and measure what the store does not hold yet, then check every claim; stop and resume at any time."""
    names = _names(name)
    if dry_run:
        for one in names:
            _try(one, preset, as_json=as_json)
        return
    with _stoppable(), warnings_as_notes():
        for one in names:
            _run_one(one, preset, store, address, workers, out, as_json=as_json)


@study.command("report", cls=Command)
def report(
    name: Name = ALL,
    preset: Preset = "small",
    store: Place = "studies",
    out: Out = None,
    as_json: table_options.AsJson = False,
) -> None:
    """Check the claims on what the store holds, without training, and write the pages."""
    from recombine_studies.study_run import report_study  # noqa: PLC0415 - it loads torch

    with warnings_as_notes():
        for one in _names(name):
            found = report_study(one, preset=preset, store=store)
            _tell(found, out, as_json=as_json)


def _run_one(
    name: str,
    preset: str,
    store: str,
    address: str | None,
    workers: int | None,
    out: Path | None,
    *,
    as_json: bool,
) -> None:
    from recombine_studies.study_run import run_study  # noqa: PLC0415 - it loads torch

    with ExitStack() as shown:
        watch: Watch | None = None

        def progress(text: str, share: float | None) -> None:
            """The sweep has a table of its own; the line begins where that ends."""
            nonlocal watch
            watch = watch or shown.enter_context(Watch(text))
            watch.step(text, share)

        found = run_study(
            name,
            preset=preset,
            store=store,
            address=address,
            workers=workers,
            progress=progress,
            shown=not as_json,
        )
    _tell(found, out, as_json=as_json)


def _tell(found: Any, out: Path | None, *, as_json: bool) -> None:
    written = _pages(found, out) if out is not None else []
    if as_json:
        say(json_text(found.record().to_json()))
        return
    summary(found, paged=out is not None)
    page_written(*written)


def _pages(found: Any, out: Path) -> list[Path]:
    from recombine_studies.study_pages import write_pages  # noqa: PLC0415 - only where pages were asked for

    return write_pages(found.record(), out)


def _names(name: str) -> Sequence[str]:
    """The studies that are meant; one that there is not, or that cannot be run here, is told before anything else."""
    from recombine_studies.catalogue import STUDIES, study_of  # noqa: PLC0415 - other commands need no study

    names = tuple(STUDIES) if name == ALL else (name,)
    for one in names:
        study_of(one)
    return names


@contextmanager
def _stoppable() -> Iterator[None]:
    """Ctrl-C in a sweep says what is safe; the same command goes on."""
    from recombine_lab.sweeps.sweep import InterruptedSweep  # noqa: PLC0415 - it loads torch

    try:
        yield
    except InterruptedSweep as stopped:
        print_interruption(stopped.result)
        raise typer.Exit(_INTERRUPTED) from stopped


def summary(found: Any, *, paged: bool) -> None:
    """The study on one screen: the claims, what was measured, what they came to; and its pages, if it has none yet."""
    console = console_for()
    from recombine_studies.study_page import MEANING  # noqa: PLC0415 - a template engine

    lead(console, found, why=MEANING[found.grade])
    table = Table(box=None, padding=(0, 2), pad_edge=True)
    for title in ("claim", "measured", "outcome"):
        table.add_column(title, no_wrap=title == "outcome", ratio=None if title == "outcome" else 1)
    for one in found.findings:
        colour = _COLOURS[one.outcome]
        table.add_row(escape(one.says), escape(one.measured), f"[{colour}]{one.outcome}[/]")
        table.add_row("", "", "")
    console.print(table, width=min(console.width, 140))
    spent = f"{span(found.seconds)} of training and measuring by the clock, run by run"
    console.print(f"  {found.title}, preset {found.preset}; {spent}.")
    _next(console, found, paged=paged)


def _next(console: Console, found: Any, *, paged: bool) -> None:
    if found.missing:
        next_commands(console, [(found.provenance.command, "make what is missing; what is there is kept")])
    elif not paged:
        next_commands(
            console, [(f"recombine study report {found.study} --preset {found.preset} --out pages", "every seed")]
        )


def _try(name: str, preset: str, *, as_json: bool) -> None:
    from recombine_studies.cost_estimate import try_preset  # noqa: PLC0415 - it loads torch

    with Watch(f"{name}: a few updates of everything") as watch:
        tried = try_preset(name, preset=preset, tell=watch.tell)
    if as_json:
        say(json_text([asdict(one) for one in tried]))
        return
    console = console_for()
    table = Table(box=None, padding=(0, 2), pad_edge=True)
    for title in ("what", "how many", "updates", "an update", "in all, here", "on a GPU"):
        table.add_column(title, justify="left" if title == "what" else "right")
    for one in tried:
        each = "–" if one.seconds is None else _each(one.seconds)
        here, there = (None if (total := one.total(gpu=gpu)) is None else span(total) for gpu in (False, True))
        updates = "–" if one.updates is None else f"{one.updates:,}"
        table.add_row(escape(one.name), f"{one.count:,}", updates, each, here or one.problem or "–", there or "–")
    console.print()
    console.print(Padding(f"[bold]{escape(_cost(name, preset, tried))}[/]", (0, 2)), width=min(console.width, 100))
    console.print()
    console.print(table)


def _each(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds >= 1 else f"{seconds * 1e3:.3g} ms"


def _cost(name: str, preset: str, tried: Sequence[Any]) -> str:
    from recombine_studies.cost_estimate import LEAST, SUSTAINED  # noqa: PLC0415 - it loads torch

    here, there = (sum(one.total(gpu=gpu) or 0.0 for one in tried) for gpu in (False, True))
    failed = [one.name for one in tried if one.problem]
    said = f"{name}, preset {preset}: {amount(sum(one.count for one in tried), 'run')} and measurements, "
    said += f"about {span(here)} of one processor here; training on one GPU about {span(there)}, if it sustains "
    said += f"{SUSTAINED / 1e12:g} TFLOP/s and starts an update in {LEAST * 1e3:g} ms."
    return said + (
        f" Could not be tried: {', '.join(failed)}." if failed else " A few runs of every kind were built and tried."
    )
