"""The command line: one short file a command."""

import _thread
import atexit
import os
import signal
import sys
import threading
from contextlib import suppress
from typing import Any

_INTERRUPTED = 130


class _Interrupt:
    """Ctrl-C, remembered: an engine that is stopped by it may raise an error of its own instead of the interrupt."""

    def __init__(self) -> None:
        self.came = False
        self.said = False
        # A command that was started with the signal ignored (`nohup`, a background job) goes on ignoring it.
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, self._stop)
            sys.unraisablehook = _send_again
        # Registered before anything is imported, so it is the last to be called.
        atexit.register(self._end)

    def _stop(self, *_: Any) -> None:
        self.came = True
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
            os._exit(_INTERRUPTED)

    def ignore(self) -> None:
        """From here on all is said and written, and the interpreter may end in peace."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)


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


def main() -> None:
    """Run the command. Its parts are loaded here, so that an interrupt at any moment ends in a word."""
    interrupt = _Interrupt()
    try:
        from recombine.cli.quick_start import put_off_what_is_not_used  # noqa: PLC0415
        from recombine.cli.streams import prepare  # noqa: PLC0415

        prepare()
        put_off_what_is_not_used(sys.argv[1:])
        from recombine.cli.app import run  # noqa: PLC0415

        run()
    except BaseException as error:
        interrupt.ignore()
        stopped = interrupt.came or isinstance(error, KeyboardInterrupt)
        if not stopped or (isinstance(error, SystemExit) and not error.code):
            raise
        interrupt.said = True
        sys.stderr.write("Stopped. Nothing was left half-written.\n")
        sys.exit(_INTERRUPTED)
    finally:
        interrupt.ignore()
