"""How far a training is, on a terminal: a bar with an estimate that is gone when it is done."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

_EVERY = 0.1


@contextmanager
def watched(text: str, total: int, *, shown: bool) -> Iterator[Callable[[int], None]]:
    """Something to tell each time that steps are done; silent unless shown, and where there is no terminal.

    >>> with watched("training", 10, shown=False) as advance:
    ...     advance(10)
    """
    console = Console(stderr=True)
    if not shown or not console.is_terminal:
        yield lambda _: None
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(bar_width=30))
    timing = (TimeElapsedColumn(), TextColumn("left about"), TimeRemainingColumn())
    with Progress(*columns, *timing, console=console, transient=True) as progress:
        task = progress.add_task(text, total=total)
        done, told = 0, 0.0

        def advance(steps: int) -> None:
            nonlocal done, told
            done += steps
            # A step can be shorter than the drawing of a bar.
            if time.monotonic() - told >= _EVERY:
                progress.update(task, completed=done)
                told = time.monotonic()

        yield advance
