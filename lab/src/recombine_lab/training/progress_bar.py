"""How far a training is: a line on a terminal, or below the cell of a notebook.

A `progress` is a function of a text and the share that is done (`recombine.base.progress`), here as in the verbs of the
instrument: `progress_bar` draws it, and None is silent.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from time import monotonic
from typing import Any

from recombine.base.progress import Progress
from recombine.cli.terminal import Watch

_EVERY = 0.2  # seconds: a step can be shorter than the drawing of a bar, which in a notebook goes through sockets


class ProgressBar:
    """A `progress` that draws. The first share opens the line and 1 closes it, so one bar serves every training."""

    def __init__(self) -> None:
        self._watch: Watch | None = None
        self._cell: Any = None

    def __call__(self, text: str, share: float | None) -> None:
        """Draw how far it is."""
        if self._watch is None and self._cell is None:
            self._cell = _notebook_line()
            self._watch = Watch(text).__enter__() if self._cell is None else None
        if self._watch is not None:
            self._watch.step(text, share)
        else:
            from IPython.display import HTML  # noqa: PLC0415 - it is loaded, and needed here only

            bar = "" if share == 1 else f" <progress value='{share or 0}'></progress> {share or 0:.0%}"
            self._cell.update(HTML(f"{escape(text)}{bar}"))  # type: ignore[no-untyped-call]
        if share == 1:
            if self._watch is not None:
                self._watch.__exit__(None, None, None)
            self._watch = self._cell = None


progress_bar = ProgressBar()
"""What `fit` and `sweep` draw with by default. One is enough: a terminal has one line that is drawn again."""


def _notebook_line() -> Any:
    """A line below the cell that can be written again; None where this is no notebook."""
    if "IPython" not in sys.modules:
        return None
    from IPython import display, get_ipython  # noqa: PLC0415 - it is loaded, and needed here only

    if not hasattr(get_ipython(), "kernel"):
        return None
    return display.display(display.HTML(""), display_id=True)  # type: ignore[no-untyped-call]


@contextmanager
def count_steps(progress: Progress | None, text: str, total: int) -> Iterator[Callable[[int], None]]:
    """Something to call with the number of steps that were just done; `progress` hears of it a few times a second.

    However the training ends, the last share that is told is 1, with the steps and the time in its text.

    >>> with count_steps(lambda text, share: print(f"{text[:19]} {share}"), "training", 10) as advance:
    ...     advance(5)
    training 0.5
    training: 5 steps i 1.0
    """
    if progress is None:
        yield lambda _: None
        return
    done, told, began = 0, 0.0, monotonic()

    def advance(steps: int) -> None:
        nonlocal done, told
        done += steps
        if done < total and monotonic() - told >= _EVERY:
            progress(text, done / total)
            told = monotonic()

    try:
        yield advance
    finally:
        progress(f"{text}: {done:,} steps in {monotonic() - began:.1f} s", 1.0)
