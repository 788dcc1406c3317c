"""The command line: one short file a command."""

import signal
import sys
from typing import Any

_INTERRUPTED = 130


class _Interrupt:
    """Ctrl-C, remembered: an engine that is stopped by it may raise an error of its own instead of the interrupt."""

    def __init__(self) -> None:
        self.came = False
        # A command that was started with the signal ignored (`nohup`, a background job) goes on ignoring it.
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, self._stop)

    def _stop(self, *_: Any) -> None:
        self.came = True
        raise KeyboardInterrupt

    def ignore(self) -> None:
        """From here on all is said and written, and the interpreter may end in peace."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)


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
        sys.stderr.write("Stopped. Nothing was left half-written.\n")
        sys.exit(_INTERRUPTED)
    finally:
        interrupt.ignore()
