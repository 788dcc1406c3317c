"""Let the command start without what it never uses of others' libraries, which would be a third of its start-up time.

Ibis loads the SQL compilers of all twenty engines for any one of them. Ibis and Arrow load pandas wherever it is
installed, the one to convert answers that recombine fetches as Arrow, the other to see whether it is there. Both are
put off here, in the process of a command that reads tables and nothing else: a program that imports recombine gets them
as they are, and so do the commands that train.

Standard output and error as a command finds them: in any encoding, full, closed, or with nobody reading on.

What an encoding lacks is written plainly. An output that cannot be written ends the command with a word and an exit
code; a reader who has gone away (`… | head`) is no mistake, and changes neither. Nobody can be told of a standard error
that cannot be written, so it falls silent.
"""

import codecs
import io
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader
from types import FrameType, ModuleType
from typing import Any, TextIO

from recombine.base.errors import OutputError

_READ_TABLES_ONLY = ("audit", "evaluate", "lint", "plan", "predict", "split")
_COMPILERS = "ibis.backends.sql.compilers"
_LATER = ("ibis.examples", "dateutil.parser", "sqlglot.planner")
"""What Ibis loads beside its work, and does not use: each is run when something of it is asked for."""
_PEEKS = ("recombine", "pyarrow", "ibis.formats.pandas")
"""Who asks for pandas without needing it. recombine itself never does, so it is Arrow that asks in its name."""


def put_off_what_is_not_used(command: Sequence[str]) -> None:
    """Call before anything else is imported, with the words of the command."""
    if command and command[0] in _READ_TABLES_ONLY:
        sys.meta_path.insert(0, _Lighter())


class _Lighter(MetaPathFinder):
    """Finds the compilers in another way, and no pandas for those who only look whether it is there."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """None for every other module, which Python then finds by itself."""
        if fullname == "pandas" and _asked_by().startswith(_PEEKS):
            raise ModuleNotFoundError("pandas is not loaded: nothing here needs it", name="pandas")
        late = fullname in _LATER
        spec = PathFinder.find_spec(fullname, path, target) if late or fullname == _COMPILERS else None
        if spec is not None and spec.loader is not None:
            spec.loader = LazyLoader(spec.loader) if late else _OneByOne()
        return spec


def _asked_by() -> str:
    """The module that an import statement stands in."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        name = str(frame.f_globals.get("__name__", ""))
        if name != __name__ and not name.startswith("importlib"):
            return name
        frame = frame.f_back
    return ""


class _OneByOne(Loader):
    """The package of compilers: each is loaded when it is first asked for."""

    def exec_module(self, module: ModuleType) -> None:
        """Leave the package empty, but for a way to its parts."""
        module.__getattr__ = _compiler  # type: ignore[method-assign]


def _compiler(name: str) -> Any:
    """The module `duckdb`, or the class `DuckDBCompiler` that lies in it, and so on for every engine."""
    try:
        module = import_module(f"{_COMPILERS}.{name.removesuffix('Compiler').lower()}")
    except ModuleNotFoundError:
        raise AttributeError(f"module {_COMPILERS!r} has no attribute {name!r}") from None
    return getattr(module, name) if name.endswith("Compiler") else module


_PLAINLY = "recombine.plainly"
_MINE_TO_CHANGE = ("strict", "surrogateescape", "backslashreplace")
"""How Python treats what an encoding lacks if nobody has said anything; what a user asked for stays."""

_PLAIN = {
    "…": "...", "–": "-", "—": "-", "−": "-", "×": "x", "·": "|", "•": "*", "→": "->", "←": "<-", "≤": "<=", "≥": ">=",
    "≈": "~", "²": "^2", "‘": "'", "’": "'", "“": '"', "”": '"', "\xa0": " ", "✓": "ok", "─": "-", "━": "-", "│": "|",
    "┃": "|", "╭": "+", "╮": "+", "╰": "+", "╯": "+",
}  # fmt: skip
"""Marks of ours. A letter is none: it may be all that tells two values apart, so it is escaped."""


_NAMED = "Cramér"  # the one name with such a letter that we say ourselves


def _plainly(error: UnicodeError) -> tuple[str, int]:
    """What an encoding lacks: our own marks as ASCII, the rest by its number; in JSON all of it as JSON writes it."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    for_machines = error.object.lstrip()[:1] in ("{", "[")
    lacking = error.object[error.start : error.end]
    if for_machines:
        return "".join(map(_escaped, lacking)), error.end
    if error.object[max(0, error.start - 4) : error.start + 2] == _NAMED:
        return "e", error.start + 1
    return "".join(_PLAIN.get(mark) or _escaped(mark) for mark in lacking), error.end


def _escaped(mark: str) -> str:
    units = mark.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[place : place + 2].hex()}" for place in range(0, len(units), 2))


class _PlainStream:
    """A stream that says what it can. One that `tells` ends the command where it cannot, unless its reader has left."""

    def __init__(self, stream: TextIO | None, number: int, *, tells: bool) -> None:
        self._stream = stream if stream is not None else io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
        self._was_closed = stream is None
        self._number = number
        self._tells = tells
        if isinstance(self._stream, io.TextIOWrapper) and self._stream.errors in _MINE_TO_CHANGE:
            self._stream.reconfigure(errors=_PLAINLY)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write a text, or be silent where nobody listens."""
        try:
            if self._was_closed:  # before the command began: `>&-`
                raise OSError(None, "it is closed")
            return self._stream.write(text)
        except OSError as error:
            self._give_up(error)
        return len(text)

    def flush(self) -> None:
        """Send what is waiting."""
        try:
            self._stream.flush()
        except OSError as error:
            self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        """What is still waiting goes nowhere, so that the interpreter may end in peace."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._number)
        os.close(nowhere)
        if self._tells and not isinstance(error, BrokenPipeError):
            raise OutputError(
                "cannot write to standard output",
                why=error.strerror or str(error),
                instead="send it to a place that has room, for example with > answer.txt",
            ) from error


def prepare() -> None:
    """Put both streams in order, before anything is written."""
    codecs.register_error(_PLAINLY, _plainly)
    if sys.stdout is None or sys.stderr is None:
        # A file that is opened later must not be taken for a standard stream, and written into.
        while (taken := os.open(os.devnull, os.O_RDWR)) <= 2:
            pass
        os.close(taken)
    sys.stdout = _PlainStream(sys.stdout, 1, tells=True)
    sys.stderr = _PlainStream(sys.stderr, 2, tells=False)
