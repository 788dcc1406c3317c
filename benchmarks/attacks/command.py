"""A command run in this process, as its user would see it end: exit code, what it printed, what it died of."""
# ruff: noqa: PLC0415 - the library is loaded by those who run cases, and in children after what befalls them

import contextlib
import io
import json
import os
import re
import signal
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from attacks.case import Case, told

CODES = (0, 2, 3, 4)
"""How a command may end: fine, a mistake of the user's in words, a gate that failed, not enough evidence."""
SPOILT = re.compile(r"(?<![\w.'\"-])(nan|-?inf|None(?! of\b))(?![\w'\"=])")
"""A number that is none, in a sentence: names in quotes are the user's own."""


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str
    died: str = ""

    @property
    def words(self) -> str:
        """All that it said."""
        return self.out + self.err


def command(words: Sequence[str], *, folder: Path) -> Ended:
    """Run `recombine …` in a folder, with its output kept."""
    from recombine.cli import main

    out, err = _stream(), _stream()
    code, died = 0, ""
    with (
        contextlib.chdir(folder),
        _streams(out, err, folder),
        _signals(),
        mock.patch.object(sys, "argv", ["recombine", *words]),
    ):
        _as_for_users()
        try:
            main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(bool(end.code))
        except Exception as error:  # noqa: BLE001 - a traceback for the user is what we look for
            code, died = 1, told(error)
    return Ended(code, _text(out), _text(err), died)


def well_ended(case: Case, ended: Ended, words: Sequence[str], *, codes: Sequence[int] = CODES) -> bool:
    """No traceback, and a code that the documentation knows; a refusal says why and what to write instead."""
    said = " ".join(words)[:160]
    if not case.expect(not ended.died, f"{said}: died of {ended.died}"):
        return False
    if not case.expect("Traceback" not in ended.words, f"{said}: traceback {ended.err[-200:]}"):
        return False
    raw = re.search(r"\w+Warning: .*", ended.err)
    case.expect(raw is None, f"{said}: a warning of Python's own is shown, {raw[0] if raw else ''}")
    return case.expect(ended.code in codes, f"{said}: exit code {ended.code}, {ended.err[-160:]}")


def strict_json(case: Case, text: str, what: str) -> Any:
    """Parsed, or a fault: JSON knows no NaN."""
    try:
        return json.loads(text, parse_constant=_refuse)
    except ValueError as error:
        case.expect(False, f"{what}: --json cannot be read by a strict parser: {error}")
        return None


def _refuse(word: str) -> Any:
    raise ValueError(f"it holds {word}")


def _stream() -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    return stream.buffer.getvalue().decode("utf-8", "replace")  # type: ignore[attr-defined]


@contextlib.contextmanager
def _streams(out: io.TextIOWrapper, err: io.TextIOWrapper, home: Path) -> Iterator[None]:
    environment = mock.patch.dict(os.environ, COLUMNS="100", HOME=str(home))  # `~` is nobody's but the case's
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), environment, warnings.catch_warnings():
        yield


def _as_for_users() -> None:
    """The warnings that an interpreter shows if nobody says otherwise."""
    warnings.simplefilter("default")
    for hidden in (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning):
        warnings.simplefilter("ignore", hidden)


@contextlib.contextmanager
def _signals() -> Iterator[None]:
    """A command takes Ctrl-C for itself; whoever runs it here gets it back."""
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
