"""The command line: one short file a command."""

import sys


def main() -> None:
    """Run the command. Its parts are loaded here, so that an interrupt at any moment ends in a word."""
    try:
        from recombine.cli.app import run  # noqa: PLC0415

        run()
    except KeyboardInterrupt:
        sys.stderr.write("Stopped. Nothing was left half-written.\n")
        sys.exit(130)
