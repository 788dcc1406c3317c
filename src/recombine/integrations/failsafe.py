"""Nothing of ours ends somebody's training: what fails inside a trainer is told once, and the scoreboard stops.

Every trainer's integration calls the scoreboard through a `Failsafe`. A training that took days is worth more than its
scores; so a mistake that can be seen before training begins is refused there, and after that none is raised.
"""

import sys
import warnings
from collections.abc import Callable
from typing import TypeVar

from recombine.base.errors import RecombineError

T = TypeVar("T")


class Failsafe:
    """Calls what may fail; after the first failure nothing is called any more, or with `stops=False` the next is.

    >>> import warnings
    >>> failsafe = Failsafe()
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     failsafe(lambda: 1 / 0), failsafe(lambda: 2)
    (None, None)
    >>> print(caught[0].message)
    The scoreboard has stopped, and training goes on without it: ZeroDivisionError, division by zero.
    """

    def __init__(self, *, stops: bool = True) -> None:
        self._stops, self.stopped = stops, False
        self._told: set[str] = set()

    def __call__(self, call: Callable[[], T]) -> T | None:
        """What the call returns; None where it fails, or where an earlier one has failed."""
        if self.stopped:
            return None
        try:
            return call()
        except Exception as error:  # noqa: BLE001 - whatever it is, it is not worth the training
            self.stop(error)
            return None

    def before_training(self, call: Callable[[], object]) -> None:
        """Where nothing is lost yet, a mistake of the user's is refused; what else fails stops the scoreboard."""
        try:
            call()
        except RecombineError:
            raise
        except Exception as error:  # noqa: BLE001 - as above
            self.stop(error)

    def stop(self, error: Exception) -> None:
        """Tell why, and call nothing any more."""
        self.stopped = self._stops
        what = "has stopped" if self._stops else "leaves this out"
        self._tell(f"The scoreboard {what}, and training goes on without it: {in_words(error)}.")

    def _tell(self, sentence: str) -> None:
        """Warn, once for each sentence; where warnings are errors it is written and not raised."""
        if sentence in self._told:
            return
        self._told.add(sentence)
        try:
            warnings.warn(sentence, UserWarning, stacklevel=2)
        except UserWarning:
            sys.stderr.write(f"{sentence}\n")


def in_words(error: Exception) -> str:
    """What went wrong in one line: a mistake as its sentences, anything else with its kind.

    >>> in_words(RecombineError("no row", why="the table is empty", instead="give another"))
    'no row (the table is empty; give another)'
    """
    if isinstance(error, RecombineError):
        return f"{error.what} ({error.why}; {error.instead})"
    first = str(error).strip().partition("\n")[0].rstrip(".")
    return f"{type(error).__name__}, {first}" if first else type(error).__name__
