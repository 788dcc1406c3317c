"""Ctrl-C between two steps: an update that is half done is no state to go on from."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def held_back(*, wanted: bool) -> Iterator[Callable[[], bool]]:
    """Within, a first Ctrl-C is only noted, for whoever asks; a second one does not wait.

    One that nobody acted on is handed on at the end, to whoever handled Ctrl-C before. Nothing is held back outside the
    main thread, or where Ctrl-C is ignored.

    >>> with held_back(wanted=True) as interrupted:
    ...     interrupted()
    False
    """
    before = signal.getsignal(signal.SIGINT)
    if not wanted or not callable(before) or threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    noted = False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal noted
        if noted:
            before(number, frame)
        noted = True

    signal.signal(signal.SIGINT, note)
    try:
        yield lambda: noted
    finally:
        signal.signal(signal.SIGINT, before)
    if noted:
        before(signal.SIGINT, None)
