"""The command line: one short file a command."""

from recombine.cli.app import main

__all__ = ["main"]
