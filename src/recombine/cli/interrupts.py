"""Ctrl-C while a command works: it tidies up and ends with a word, and always ends."""

import _thread
import atexit
import ctypes
import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial

INTERRUPTED = 130


class Interrupt:
    """Ctrl-C, remembered: an engine that is stopped by it may raise an error of its own instead of the interrupt."""

    def __init__(self) -> None:
        self.came = False
        self.said = False
        self._set_again: Callable[[], object] = lambda: None
        # Registered before anything else is imported, so it is the last to be called.
        atexit.register(self._end)

    def listen(self) -> None:
        """From here on it is raised as a KeyboardInterrupt, so that what was begun is tidied up."""
        signal.signal(signal.SIGINT, self._stop)
        self._set_again = _set_until_it_comes()
        self._set_again()
        sys.unraisablehook = _send_again

    def _stop(self, *_: object) -> None:
        self.came = True
        self._set_again()
        raise KeyboardInterrupt

    def _end(self) -> None:
        """End here after an interrupt, when everything else has been tidied up.

        A thread of DuckDB that was stopped in a query and asks for Python once more, while the interpreter takes itself
        apart, aborts the process (duckdb/duckdb#13904): the command would end with a signal instead of its word.
        """
        if self.said:
            with suppress(OSError):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(INTERRUPTED)

    def ignore(self) -> None:
        """From here on all is said and written, and the interpreter may end in peace."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _set_until_it_comes() -> Callable[[], object]:
    """How to set Python's handler so that a second Ctrl-C ends the process where Python did not hear the first.

    C code may never come back to Python: OpenBLAS does not where memory is refused. The `signal` of System V forgets a
    handler as soon as it is called, and what the system does by itself is to end the process. A Ctrl-C that is heard
    sets the handler again.
    """
    libc = ctypes.CDLL(None) if os.name == "posix" else None
    set_once = getattr(libc, "sysv_signal", None)
    if set_once is None:  # it is glibc's
        return lambda: None
    set_once.restype, set_once.argtypes = ctypes.c_void_p, (ctypes.c_int, ctypes.c_void_p)
    return partial(set_once, signal.SIGINT, set_once(signal.SIGINT, None))


def _send_again(swallowed: "sys.UnraisableHookArgs") -> None:
    """An interrupt that came while Python was tidying up after an object is dropped there, so it has to come again.

    A moment later, and from elsewhere: raised here, it would be dropped once more.
    """
    if issubclass(swallowed.exc_type, KeyboardInterrupt):
        threading.Timer(0.05, _interrupt).start()
    else:
        sys.__unraisablehook__(swallowed)


def _interrupt() -> None:
    if os.name == "nt":  # where a signal to oneself ends the process
        _thread.interrupt_main()
    else:
        os.kill(os.getpid(), signal.SIGINT)  # which also wakes what waits
