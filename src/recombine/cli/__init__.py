"""The command line: one short file a command.

Before `main` has begun, an interrupt is a traceback of Python's. So nothing is imported here that takes time.

To add an option or a command: its file here, its line in `app`; what it is given and two examples in `help`. Options
that several commands share stand in the groups of `table_options` (reading) and `outputs` (writing).
"""

import _signal  # type: ignore[import-not-found] # what `signal` is made of: its enumerations take 10 ms
import gc
import os
import sys

_STOPPED = "Stopped. Nothing was left half-written.\n"


def _end_at_once(*_: object) -> None:
    """Ctrl-C while the command is loaded: nothing has been begun, and an import must not be left in the middle.

    Libraries take an interrupt there for a module that is missing, or end with a traceback out of C.
    """
    try:
        os.write(2, _STOPPED.encode())
    finally:
        os._exit(130)


def main() -> None:
    """Run the command. Its parts are loaded here, so that an interrupt at any moment ends in a word."""
    # Loading makes 10^5 objects that stay: looking for garbage among them every 700 takes a tenth of the start.
    gc.set_threshold(100_000, 50, 50)
    # A command that was started with the signal ignored (`nohup`, a background job) goes on ignoring it.
    heard = _signal.getsignal(_signal.SIGINT) != _signal.SIG_IGN
    if heard:
        _signal.signal(_signal.SIGINT, _end_at_once)
    from recombine.cli.interrupts import INTERRUPTED, Interrupt  # noqa: PLC0415

    interrupt = Interrupt()
    try:
        from recombine.cli.startup import prepare, put_off_what_is_not_used  # noqa: PLC0415

        prepare()
        put_off_what_is_not_used(sys.argv[1:])
        from recombine.cli.app import run  # noqa: PLC0415

        if heard:
            interrupt.listen()
        run()
    except BaseException as error:
        interrupt.ignore()
        stopped = interrupt.came or isinstance(error, KeyboardInterrupt)
        if not stopped or (isinstance(error, SystemExit) and not error.code):
            raise
        interrupt.said = True
        sys.stderr.write(_STOPPED)
        sys.exit(INTERRUPTED)
    finally:
        interrupt.ignore()
