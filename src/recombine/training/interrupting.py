"""Ctrl-C between two steps: an update that is half done is no state to go on from."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def held_back(*, wanted: bool) -> Iterator[Callable[[], bool]]:
    """Within, a first Ctrl-C is only noted, for whoever asks; a second one does not wait.

    One that nobody acted on is raised at the end. Nothing is held back outside the main thread, or where somebody else
    handles Ctrl-C already.

    >>> with held_back(wanted=True) as interrupted:
    ...     interrupted()
    False
    """
    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not wanted or not usual or threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    noted = False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal noted
        if noted:
            signal.default_int_handler(number, frame)
        noted = True

    signal.signal(signal.SIGINT, note)
    try:
        yield lambda: noted
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if noted:
        raise KeyboardInterrupt
