"""What the command prints: the answer first, then a few numbers, then what to do next."""

import shlex
import time
import warnings
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn, TimeElapsedColumn
from rich.table import Table

from recombine.base.errors import RecombineError
from recombine.base.grades import COLOURS
from recombine.base.words import count, measure, named, percent, target_words
from recombine.cli import options
from recombine.cli.gates import lines as gate_lines

_SHOWN_FACTORS = 8
_SHOWN_VALUES = 4
_LONGEST = 40
_EVERY = 30.0  # seconds between two lines of progress, where there is no terminal
_READING = (
    "--factors",
    "-f",
    "--where",
    "-w",
    "--bins",
    "--domain",
    "--impossible",
    "--weight",
    "--missing",
    "--table",
)
_TARGET = ("--target", "-t", "--target-kind")
_UNKNOWN_TO_SPLIT = ("--domain", "--impossible", "--weight")
_FLAGS = ("--json", "--force", "--")


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
    """The answer first, in the colour of its grade; `why` tells the grade itself, and what earned it."""
    console.print()
    colour = COLOURS[found.grade]
    width = min(console.width, 100)
    console.print(Padding(f"[bold {colour}]{escape(found.verdict)}[/]", (0, 2)), width=width)
    if why:
        console.print()
        console.print(Padding(f"Graded [bold {colour}]{found.grade}[/]: {escape(why)}.", (0, 2)), width=width)
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


def summary(audit: Any, gates: dict[str, dict[str, Any]]) -> None:
    """The audit on one screen."""
    console = console_for()
    lead(console, audit)
    console.print(_facts(audit))
    for line in gate_lines(gates):
        console.print(line)
    next_commands(console, following(audit))


def _facts(audit: Any) -> Table:
    table = Table(box=None, show_header=False, padding=(0, 2), pad_edge=True)
    table.add_column(style="bold", no_wrap=True, max_width=_LONGEST)
    table.add_column()
    table.add_column()
    if audit.support.target is not None:
        table.add_row("target", *_target(audit.support.target))
    for factor in audit.factors[:_SHOWN_FACTORS]:
        table.add_row(escape(short(factor.name)), _values(factor), _rarest(factor))
    if len(audit.factors) > _SHOWN_FACTORS:
        table.add_row("…", f"{len(audit.factors) - _SHOWN_FACTORS} more factors", "")
    for name, first, second in (
        _tested(audit),
        _pairs(audit),
        _thin(audit),
        _leverage(audit),
        _dependence(audit),
        _redundancy(audit),
        _left_out(audit),
        ("weight 0", audit.support.weightless or "", ""),
    ):
        if first:
            table.add_row(name, escape(first), escape(second))
    return table


def _target(target: Any) -> tuple[str, str]:
    said, _, hint = target_words(short(target.name), getattr(target, "classes", None)).partition("; ")
    return escape(said), escape(hint)


def _values(factor: Any) -> str:
    seen = "all seen" if factor.seen == factor.values else f"{factor.seen:,} seen"
    return f"{factor.values:,} values, {seen}"


def _rarest(factor: Any) -> str:
    if factor.never_seen:
        return f"never   {escape(short(factor.never_seen[0]))}"
    return f"rarest  {escape(short(factor.rarest[0].value))}  {count(factor.rarest[0].count)}"


def _tested(audit: Any) -> tuple[str, str, str]:
    test = audit.additive
    if test is None or not test.tested:
        return "tested", "", ""
    best = max((one for one in test.rules[1:] if one.name.endswith(" alone")), key=lambda one: one.score)
    others = [one for one in test.rules[1:] if not one.name.endswith(" alone")]
    said = ", ".join(f"{short(one.name)} {percent(max(one.score, 0.0))}" for one in (best, *others))
    lost = f", {test.untestable:,} cannot be held out" if test.untestable else ""
    return "tested", f"{test.tested:,} seen combinations, each held out once{lost}", said


def _thin(audit: Any) -> tuple[str, str, str]:
    if not audit.thin:
        return "thin", "", ""
    first = audit.thin[0]
    rows = f"{count(first.count)} rows, {count(round(first.expected))} if the factors were independent"
    return "thin", f"{audit.counts.thin:,} of {audit.counts.seen:,} seen combinations", rows


def _pairs(audit: Any) -> tuple[str, str, str]:
    share = percent(audit.share("pairs"))
    islands = "one island" if audit.island_count == 1 else f"{audit.island_count:,} islands"
    return "pairs", f"{share} seen", islands


def _leverage(audit: Any) -> tuple[str, str, str]:
    measured = audit.leverage
    if measured is None:
        return "leverage", "", ""
    lost = f"not known for {measured.unknown:,}" if measured.unknown else ""
    if measured.median is None:
        return "leverage", lost, ""
    worst = named_shortly(measured.weakest[0].combination)
    scope = f" of {measured.known:,} drawn" if measured.sampled else ""
    middle = f"median {measure(measured.median)}{scope}" + (f", {lost}" if lost else "")
    return "leverage", middle, f"worst {measure(measured.worst)}  ({worst})"


def named_shortly(combination: Mapping[str, Any]) -> str:
    """A combination with its factors' names, where there is little room: long values cut, the first few factors."""
    few = list(combination.items())[:_SHOWN_VALUES]
    said = named({short(name): short(str(value)) for name, value in few})
    return f"{said}, …" if len(combination) > len(few) else said


def _dependence(audit: Any) -> tuple[str, str, str]:
    strongest = audit.dependence[0]
    if strongest.cramers_v is None:
        return "factors", "", ""
    return (
        "factors",
        f"Cramér's V {strongest.cramers_v:.2f}",
        "highest, " + " and ".join(map(short, strongest.factors)),
    )


def _redundancy(audit: Any) -> tuple[str, str, str]:
    found = audit.redundancy
    if found is None:
        return "", "", ""
    if not found.parts:
        return short(found.target), "nothing to tell", found.nothing or ""
    best = found.shortcut
    if best is None:
        return "", "", ""
    if found.kind == "label":
        alone = f"{short(best.factors[0])} alone gets {percent(best.score_left_out)} of the rows right"
        return short(found.target), alone, f"guessing gets {percent(found.baseline)}"
    return (
        short(found.target),
        f"{short(best.factors[0])} alone explains {percent(best.score_left_out)} of the rows",
        "",
    )


def _left_out(audit: Any) -> tuple[str, str, str]:
    rows = audit.support.left_out.get("(any)", 0)
    return "left out", f"{rows:,} of {audit.support.rows:,} rows" if rows else "", "they miss a factor"


def following(audit: Any) -> list[tuple[str, str]]:
    """What to do after an audit, as commands that can be pasted, each with its reason."""
    command = audit.provenance.command or "recombine audit …"
    words = shlex.split(command)
    lines = [*_zeros(audit, command, words), *_predictions(audit, words), *_plans(audit, words)]
    if not {"--report", "-r"} & set(words):
        lines.append((f"{command} --report audit.html", "see the map"))
    if audit.counts.seen > audit.rank:  # otherwise every seen combination is needed, and a split would be refused
        split = _asked_of("split", words, but=_UNKNOWN_TO_SPLIT)
        # a column name of its own: many tables have a `split` already
        lines.append(
            (f"{split} --column held_out --out held_out.parquet", "hold out whole combinations for an honest test")
        )
    if "--fail-under" not in words:
        lines.append((f"{command} --fail-under determined=0.95", "use as a CI gate"))
    return lines


def _zeros(audit: Any, command: str, words: list[str]) -> list[tuple[str, str]]:
    if audit.zeros is None or "--impossible-out" in words:
        return []
    return [(f"{command} --impossible-out impossible.csv", "pairs that never meet, to be read over for --impossible")]


def _predictions(audit: Any, words: list[str]) -> list[tuple[str, str]]:
    """What a learner would answer, where there is something to learn and something unseen."""
    target = audit.support.target
    if target is None or not target.varies or audit.counts.seen == audit.counts.space:
        return []
    return [
        (
            _asked_of("predict", words, also=_TARGET),
            "what a learner would answer for the unseen ones, and how far to trust it",
        )
    ]


def _plans(audit: Any, words: list[str]) -> list[tuple[str, str]]:
    """What to collect, where something is undetermined or weak."""
    plan = _asked_of("plan", words)
    if audit.counts.undetermined or audit.counts.novel:
        return [(plan, "what to collect, so that all of them can be worked out")]
    if audit.leverage is not None and audit.leverage.weak:
        return [(f"{plan} --goal leverage --budget 10", "what to collect, so that the weak ones become firmer")]
    return []


def _asked_of(verb: str, words: list[str], *, but: Collection[str] = (), also: Collection[str] = ()) -> str:
    """The same table asked of another verb: what says how to read it is kept, what an audit does with it is not."""
    kept, rest = [], iter(words[2:])
    for word in rest:
        name = word.partition("=")[0] if word.startswith("--") else word[:2]
        option = word.startswith("-")
        value = [next(rest, "")] if option and word == name and name not in _FLAGS else []
        if not option or (name in {*_READING, *also} - {*but}):
            kept += [word, *value]
    return options.pasted(["recombine", verb, *kept])


def next_commands(console: Console, lines: list[tuple[str, str]]) -> None:
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
