"""`recombine mcp`: the verbs as tools for assistants, over the Model Context Protocol.

Each tool is the command of its name, in a process of its own: limited in time and memory, killed where it does not
keep to it, and never in a shell. What it may read are plain files below the folders that the server was started with,
looked up through all links; what it may write are new files in one output folder. No condition in SQL is passed on,
since SQL can name any file. The answer is what `--json` says, its sentence first, with long lists cut short.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from recombine.base import plugins
from recombine.base.decoding import LONGEST_NAME
from recombine.base.errors import SettingError
from recombine.base.overwrite_checks import RESULT_FILE
from recombine.base.version import __version__
from recombine.cli import options

_READ = frozenset((".arrow", ".csv", ".feather", ".jsonl", ".ndjson", ".parquet", ".tsv"))
"""Kinds of tables that hold their rows themselves: a database or a lake's table can name files elsewhere."""
_NO_NAME = re.compile("[][*?{}\0\ud800-\udfff]")
"""Letters of patterns, which would name other files as well, the one that ends a name, and halves of letters."""
_SHOWN = 12
_LISTED = 20 * _SHOWN
_LONGEST = LONGEST_NAME - 55
"""Bytes of a new file's name: it is written under a longer name first."""
_FIRST = ("verdict", "because", "grade", "next_step")
_GRACE = 30.0
"""Seconds beyond the limit: a command ends by itself, with what it has, soon after it."""
_COMPLAINT = re.compile("error (.*?) why (.*?) instead (.*)")
_IN_A_SHELL = " (words that begin with -- are options of the command line, and not of this tool)"
_WORDS_OF_CODES = {3: "a gate failed", 4: "not enough evidence"}

Names = list[str]


@dataclass(frozen=True, kw_only=True)
class Workplace:
    """What tools may read and write, and how much they may take."""

    roots: Sequence[Path]
    out: Path | None = None
    seconds: float = 120.0
    memory: str = "2GB"
    largest: int = 2 * 2**30

    def table(self, named: str) -> str:
        """The file of a table that a client names, absolute or below one of the folders."""
        path = self._below(named)
        if path.suffix.lower() not in _READ:
            raise _refused(named, "it is no table that holds its rows itself", f"one of {', '.join(sorted(_READ))}")
        if not path.is_file():
            raise _refused(named, "there is no such file", "ask the tool `tables` what there is")
        if path.stat().st_size > self.largest:
            raise _refused(named, f"it is larger than {self.largest:,} bytes", "a smaller table")
        return str(path)

    def folder(self, named: str) -> str:
        """A folder that holds a saved result."""
        path = self._below(named)
        if not (path / RESULT_FILE).is_file():
            raise _refused(named, "it holds no saved result", "a folder that `recombine … --out` wrote")
        return str(path)

    def new_file(self, named: str, suffix: str) -> str:
        """A place in the output folder where nothing lies yet."""
        if self.out is None:
            raise _refused(
                named, "this server was started without an output folder", "recombine mcp FOLDER --out PLACE"
            )
        place = self.out / named
        plain = place.name == named and not named.startswith(".") and named.isprintable()
        if not plain or len(named.encode()) > _LONGEST or place.suffix.lower() != suffix or _NO_NAME.search(named):
            raise _refused(named, "it is no plain name of a file", f"a name such as result{suffix}")
        if os.path.lexists(place):
            raise _refused(named, "it is there already, and nothing is replaced", "another name")
        return str(place)

    def listed(self) -> dict[str, list[str]]:
        """The tables and the saved results below each folder, at most a few hundred of each."""
        told: dict[str, list[str]] = {"tables": [], "saved results": []}
        for root in self._readable():
            many = Counter[str]()
            for kind, path in _found(root):
                many[kind] += 1
                if many[kind] <= _LISTED + 1:
                    told[kind].append(str(path) if many[kind] <= _LISTED else f"… and more below {root}")
        return told

    def _below(self, named: str) -> Path:
        if "://" in named or _NO_NAME.search(named):
            raise _refused(named, "it is no plain path of a file", "a path without patterns, and no address")
        for root in self._readable():
            path = Path(os.path.realpath(root / named))  # unlike `resolve`, it takes a name that is too long
            if any(path.is_relative_to(one) for one in self._readable()) and os.path.exists(path):  # noqa: PTH110 - as above
                return path
        raise _refused(named, "it lies in none of the folders that may be read, or is not there", "what `tables` lists")

    def _readable(self) -> list[Path]:
        own = self.out is not None and not any(self.out.is_relative_to(root) for root in self.roots)
        return [*self.roots, *([self.out] if self.out and own else [])]

    def run(self, verb: str, *words: str, limited: bool = True) -> dict[str, Any]:
        """What a command says as JSON, cut short; what it complains of as an error for the client."""
        limits = ["--time-limit", f"{self.seconds:g}", "--memory-limit", self.memory] if limited else []
        # -X utf8: what it says is read as UTF-8 below, whatever the system writes by itself
        # -P: a module that lies in the folder of somebody's tables is not taken for one of ours
        command = [sys.executable, "-X", "utf8", "-P", "-m", "recombine", verb, *words, *limits, "--json"]
        with tempfile.TemporaryDirectory() as empty:
            try:
                done = subprocess.run(  # noqa: S603 - a list of words, and no shell
                    command,
                    check=False,
                    cwd=empty,
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    timeout=self.seconds + _GRACE,
                )
            except subprocess.TimeoutExpired as error:
                raise _refused(
                    verb, f"it took more than {self.seconds:g} s", "fewer factors, or a smaller table"
                ) from error
        return _told(done.returncode, done.stdout.decode(), done.stderr.decode())


def _found(root: Path) -> Iterator[tuple[str, Path]]:
    """Tables and saved results below a folder, hidden folders and what lies inside a saved result apart."""
    for folder, folders, files in os.walk(root):  # follows no links
        if RESULT_FILE in files:
            folders.clear()
            yield "saved results", Path(folder)
            continue
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        paths = (Path(folder, name) for name in sorted(files) if Path(name).suffix.lower() in _READ)
        yield from (("tables", path) for path in paths if not path.is_symlink())


def _refused(named: str, why: str, instead: str) -> SettingError:
    return SettingError(f"{named!r:.200}", why=why, instead=instead)


def _told(code: int, out: str, err: str) -> dict[str, Any]:
    try:
        content = json.loads(out)
    except ValueError:
        said = _COMPLAINT.search(" ".join(err.split()))
        if said is None:
            raise RuntimeError(f"exit code {code}: {err[-1500:]}") from None
        raise SettingError(said[1], why=said[2], instead=said[3] + _IN_A_SHELL * ("--" in said[3])) from None
    first = {name: content.pop(name) for name in _FIRST if name in content}
    ended = {"ended": _WORDS_OF_CODES[code]} if code in _WORDS_OF_CODES else {}
    return {**first, **ended, **{name: short(value) for name, value in content.items()}}


def short(value: Any) -> Any:
    """Lists cut to their first few, with how many are left out.

    >>> short({"seen": list(range(20))})["seen"][-2:]
    [11, '… and 8 more']
    """
    if isinstance(value, dict):
        names = 4 * _SHOWN
        rest = [("…", f"and {len(value) - names} more")] if len(value) > names else []
        return dict([(name, short(one)) for name, one in list(value.items())[:names]] + rest)
    if isinstance(value, list):
        more = [f"… and {len(value) - _SHOWN} more"] if len(value) > _SHOWN else []
        return [short(one) for one in value[:_SHOWN]] + more
    return value


def _asked(factors: Names, target: str | None = None, sets: Names | None = None, **more: Any) -> list[str]:
    if not factors and not sets:
        raise _refused("factors", "none is named", "two or more columns: the tool `columns` says which look like some")
    given = {"factors": options.listed(factors) if factors else None, "target": target, **more}
    for name in (target, more.get("prediction")):  # either may name a file of numbers, too
        if name is not None and (os.sep in name or "/" in name):
            raise _refused(name, "it is no plain name of a column", "a column of this table")
    words = [f"--{name}={value}" for name, value in given.items() if value is not None]
    return words + [f"--set={one}" for one in sets or []]


@dataclass(frozen=True)
class Tools:
    """What a client may ask: the signatures and docstrings are what it reads."""

    place: Workplace

    def tables(self) -> dict[str, list[str]]:
        """The tables that can be asked about, and the saved results that `diff` compares."""
        return self.place.listed()

    def columns(self, table: str) -> dict[str, Any]:
        """What the columns of a table look like, and which of them look like factors and target."""
        return self.place.run("audit", self.place.table(table))

    def audit(
        self, table: str, factors: Names, target: str | None = None, sets: Names | None = None, page: str | None = None
    ) -> dict[str, Any]:
        """Which combinations of factors are missing, and which of them can be worked out from the rest.

        A set is written like genes=condition:+. `page` names an HTML page to write into the output folder.
        """
        report = None if page is None else self.place.new_file(page, ".html")
        found = self.place.run("audit", self.place.table(table), *_asked(factors, target, sets, report=report))
        return found | ({"written": report} if report else {})

    def predict(self, table: str, factors: Names, target: str, sets: Names | None = None) -> dict[str, Any]:
        """What a kernel-like learner would answer on unseen combinations, and the score to expect."""
        return self.place.run("predict", self.place.table(table), *_asked(factors, target, sets))

    def plan(
        self,
        table: str,
        factors: Names,
        goal: Literal["determined", "pairs", "triples", "leverage", "variance", "balance"] = "determined",
        budget: float | None = None,
    ) -> dict[str, Any]:
        """Which combinations to collect next, in which order, and what each of them buys."""
        return self.place.run("plan", self.place.table(table), *_asked(factors, goal=goal, budget=budget))

    def lint(self, table: str, factors: Names, split: str = "split") -> dict[str, Any]:
        """Whether the column of a split holds out combinations as it claims to."""
        return self.place.run("lint", self.place.table(table), *_asked(factors, split=split))

    def evaluate(
        self,
        table: str,
        factors: Names,
        target: str,
        prediction: str,
        split: str | None = None,
        train: str | None = None,
    ) -> dict[str, Any]:
        """How a model's predictions fare on seen and unseen combinations, beside simple rules.

        What was seen is told by the column `split` or by the table `train`.
        """
        seen = None if train is None else self.place.table(train)
        words = _asked(factors, target, prediction=prediction, split=split, train=seen)
        return self.place.run("evaluate", self.place.table(table), *words)

    def split(self, table: str, factors: Names, out: str) -> dict[str, Any]:
        """Hold out a fifth of the combinations: a copy of the table with a column `split`, in the output folder."""
        written = self.place.new_file(out, ".parquet")
        return self.place.run("split", self.place.table(table), *_asked(factors, out=written)) | {"written": written}

    def diff(self, old: str, new: str) -> dict[str, Any]:
        """What changed between two saved results, beyond chance or not."""
        return self.place.run("diff", self.place.folder(old), self.place.folder(new), limited=False)


TOOLS = ("tables", "columns", "audit", "predict", "plan", "lint", "evaluate", "split", "diff")


def server(place: Workplace) -> Any:
    """The server with its tools, for `run()` or a test's client."""
    sdk = plugins.needed("mcp.server.mcpserver", "a server of the Model Context Protocol", extra="mcp")
    made = sdk.MCPServer(
        "recombine",
        instructions="Will a model handle combinations of factors that it has never seen together? Ask `tables` and "
        "`columns` first. Repeat the verdict as it is, with its interval; where the grade is untested, say so.",
        version=__version__,
        log_level="WARNING",
    )
    error = plugins.needed("mcp.server.mcpserver.exceptions", "a server", extra="mcp").ToolError
    for name in TOOLS:
        made.add_tool(_in_words(getattr(Tools(place), name), error), name=name, structured_output=False)
    return made


def _in_words(tool: Callable[..., Any], error: type[Exception]) -> Callable[..., str]:
    """A tool that answers in JSON, and whose refusals reach the client as sentences."""

    def asked(*given: Any, **named: Any) -> str:
        try:
            return _in_unicode(json.dumps(tool(*given, **named), ensure_ascii=False, indent=1))
        except SettingError as refused:
            raise error(_in_unicode(f"{refused.what}: {refused.why}; instead: {refused.instead}")) from refused

    asked.__name__, asked.__doc__ = tool.__name__, tool.__doc__
    asked.__wrapped__ = tool  # type: ignore[attr-defined]
    asked.__annotations__ = tool.__annotations__ | {"return": str}
    return asked


def _in_unicode(text: str) -> str:
    """Some systems take names that are none; the protocol does not, and its client would wait for ever."""
    return text.encode(errors="replace").decode()


def mcp(
    folders: Annotated[list[Path], typer.Argument(help="Folders whose tables may be read, with all below them.")],
    out: Annotated[
        Path | None, typer.Option(help="A folder for new pages and tables; none is written without it.")
    ] = None,
    time_limit: Annotated[float, typer.Option(min=1, help="Seconds that one answer may take.")] = Workplace.seconds,
    memory_limit: Annotated[str, typer.Option(help="Memory that one answer may take, as in 2GB.")] = Workplace.memory,
) -> None:
    """Serve the verbs as tools to an assistant, over the Model Context Protocol on standard input and output."""
    options.size(memory_limit)
    for folder in [*folders, *([out] if out else [])]:
        if not folder.is_dir():
            raise SettingError(f"{str(folder)!r}", why="there is no such folder", instead="make it, or check the path")
    place = Workplace(
        roots=[one.resolve() for one in folders],
        out=out.resolve() if out else None,
        seconds=time_limit,
        memory=memory_limit,
    )
    server(place).run()
