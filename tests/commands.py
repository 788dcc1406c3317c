"""The `recombine` command in this process: a process of its own takes two seconds, and most tests of it need none.

What only a process can show (signals, streams that are full or closed, what is loaded at its start) is tested with one,
by tests marked `process`.
"""

import io
import os
import subprocess
import sys
import traceback
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any
from unittest import mock

from recombine.cli.app import run


def run_command(folder: Path | str, *words: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """What `recombine WORDS` ends with and prints in a folder, on streams that are no terminal."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    with (
        chdir(folder),
        mock.patch.object(sys, "argv", ["recombine", *words]),
        mock.patch.dict(os.environ, environment),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        code = _exit_code()
    said = [stream.buffer.getvalue().decode("utf-8") for stream in (out, err)]
    return subprocess.CompletedProcess(["recombine", *words], code, *said)


def _exit_code() -> int:
    try:
        run()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except Exception:  # noqa: BLE001 - a test that does not expect it reads the traceback
        traceback.print_exc()
        return 1
    return 0


def subcommands(command: Any) -> dict[str, Any]:
    """The commands under one, those of other packages among them, by name; none where it is a command itself."""
    if not hasattr(command, "list_commands"):
        return {}
    context = command.make_context("recombine", [], resilient_parsing=True)
    return {name: command.get_command(context, name) for name in command.list_commands(context)}
