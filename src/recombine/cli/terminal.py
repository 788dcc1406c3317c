"""What the command prints: the answer first, then a few numbers, then what to do next."""

import shlex
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from rich.console import Console, Group, RenderableType
from rich.constrain import Constrain
from rich.markup import escape
from rich.padding import Padding
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn, TimeElapsedColumn
from rich.table import Table

from recombine.base.errors import RecombineError
from recombine.base.grades import COLOURS
from recombine.base.words import named, percent
from recombine.cli import options
from recombine.cli.gates import Gates
from recombine.cli.gates import lines as gate_lines

_SHOWN_VALUES = 4
_LONGEST = 40
_EVERY = 30.0  # seconds between two lines of progress, where there is no terminal
_WIDEST = 100


def console_for(*, stderr: bool = False) -> Console:
    """Where things are printed: without escape codes where it is not a terminal, and a value `:cat:` as it is."""
    return Console(stderr=stderr, highlight=False, soft_wrap=False, emoji=False)


def say(text: str) -> None:
    """Print a line for people or machines, without markup."""
    console_for().print(text.encode("utf-8", "backslashreplace").decode("utf-8"), markup=False, soft_wrap=True)


def complain(error: RecombineError) -> None:
    """Print what was given, why it is wrong and what to write instead."""
    console = console_for(stderr=True)
    console.print(f"[bold red]error[/]  {escape(error.what)}", soft_wrap=True)
    console.print(f"  [dim]why[/]      {escape(error.why)}", soft_wrap=True)
    console.print(f"  [dim]instead[/]  {escape(error.instead)}", soft_wrap=True)


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Within, what a room of the house warns of is printed as a sentence, once, and not as a line of its source."""
    with warnings.catch_warnings():
        warnings.simplefilter("once", UserWarning)
        warnings.showwarning = lambda message, *_, **__: note(str(message))
        yield


def note(text: str) -> None:
    """Print a sentence beside the results, to people alone."""
    console_for(stderr=True).print(f"[yellow]note[/]   {escape(text)}", soft_wrap=True)


def lead(console: Console, found: Any, *, why: str = "") -> None:
    """The answer first, its first sentence in the colour of its grade; then what to do, and what earned the grade.

    `why` is for a kind of result of another package.
    """
    console.print()
    colour = COLOURS[found.grade]
    first = found.first_screen
    rest = found.verdict[len(first.sentence) :]
    said = [f"[bold {colour}]{escape(first.sentence)}[/]{escape(rest)}"]
    because = why or first.because
    if because:
        said += ["", f"Graded [bold {colour}]{found.grade}[/]: {escape(because)}."]
    said += [f"[bold]Next:[/] {escape(first.next_step)}"] if first.next_step else []
    for line in said:
        console.print(Padding(line, (0, 2)), width=min(console.width, _WIDEST))
    console.print()


class _Left(ProgressColumn):
    """How long it may still take, where that is known."""

    def render(self, task: Task) -> str:
        """The estimate as text: by all that is done, because of steps that take minutes Rich sees one at a time."""
        if not task.completed or task.total is None or task.elapsed is None:
            return ""
        return f"about {task.elapsed * (task.total - task.completed) / task.completed:.0f} s left"


class Watch:
    """A line on the terminal: what is going on, how far it is, how long it may take; gone when it is done.

    Where there is no terminal (a log), what takes long says so every half minute.
    """

    def __init__(self, text: str) -> None:
        console = console_for(stderr=True)
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=30),
            TimeElapsedColumn(),
            _Left(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._progress.add_task(text, total=None)
        self._said = time.monotonic()

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._progress.disable:  # Rich before 14.3 ends with an empty line even what it never showed
            self._progress.stop()

    def tell(self, share: float | None) -> None:
        """How far the present step is."""
        if share is not None:
            self._progress.update(self._task, total=1.0, completed=share)
            if self._progress.disable and time.monotonic() - self._said > _EVERY:
                self._said, task = time.monotonic(), self._progress.tasks[0]
                left = _Left().render(task)
                console_for(stderr=True).print(f"{escape(task.description)}: {percent(share)}, {left}", soft_wrap=True)

    def now(self, text: str) -> None:
        """Another step begins."""
        self._progress.reset(self._task, total=None, description=text)

    def step(self, text: str, share: float | None = None) -> None:
        """A step by its name, and how far it is; a new name begins a new step."""
        if text != self._progress.tasks[0].description:
            self.now(text)
        self.tell(share)


def show_result(
    result: Any,
    parts: Iterable[RenderableType | None],
    *,
    following: Sequence[tuple[str, str]],
    gates: Gates | None = None,
) -> None:
    """A result on one screen: the answer, its parts with an empty line between them, the gates, and what to do next."""
    console = console_for()
    lead(console, result)
    for place, part in enumerate(part for part in parts if part is not None):
        if place:
            console.print()
        console.print(part)
    for line in gate_lines(gates or {}):
        console.print(line)
    next_commands(console, following)


def reasons(said: Sequence[str]) -> RenderableType | None:
    """Sentences below each other, in lines that can be read."""
    width = min(console_for().width, _WIDEST)
    return Group(*(Constrain(Padding(escape(one), (0, 2)), width) for one in said)) if said else None


def fact_table(rows: Iterable[Sequence[str]]) -> Table:
    """Facts below each other: a name in bold, and what there is to say of it."""
    table = Table(box=None, show_header=False, padding=(0, 2), pad_edge=True)
    table.add_column(style="bold", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    return table


def number_table(headings: Sequence[str], rows: Iterable[Sequence[str]], *, padding: int = 2) -> Table:
    """Rows under headings; a column whose heading begins with `>` stands at its right edge."""
    table = Table(box=None, padding=(0, padding), pad_edge=True)
    for heading in headings:
        table.add_column(escape(heading.removeprefix(">")), justify="right" if heading[:1] == ">" else "left")
    for row in rows:
        table.add_row(*row)
    return table


def extend_command(result: Any, verb: str, *offers: tuple[str, str, str] | None) -> list[tuple[str, str]]:
    """The command again with one more option, for each offer: options that would make it pointless, the words, why."""
    command = result.provenance.command or f"recombine {verb} …"
    words = set(shlex.split(command))
    wanted = [offer for offer in offers if offer is not None and not set(offer[0].split()) & words]
    return [(f"{command} {added}", why) for _, added, why in wanted]


def named_shortly(combination: Mapping[str, Any]) -> str:
    """A combination with its factors' names, where there is little room: long values cut, the first few factors."""
    few = list(combination.items())[:_SHOWN_VALUES]
    said = named({short(name): short(str(value)) for name, value in few})
    return f"{said}, …" if len(combination) > len(few) else said


def next_commands(console: Console, lines: Sequence[tuple[str, str]]) -> None:
    """What to do next, as commands that can be pasted, each with its reason."""
    if lines:
        console.print()
    for place, (line, why) in enumerate(lines):
        said = escape(options.without_forms(line))
        console.print(f"  {'[bold]next[/]' if not place else '    '}   {said}", soft_wrap=True)
        console.print(f"         [dim]{why}[/]")
    console.print()


def page_written(*paths: Path | None) -> None:
    """Say where things were written."""
    for path in paths:
        if path is not None:
            say(f"  wrote  {path}")


def short(text: str) -> str:
    """A name that may be long, cut to fit."""
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
