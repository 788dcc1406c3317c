"""`--format`: in which forms a command tells what it found, and where each of them goes.

One form goes to standard output, and nothing else does then; any number go to files, `--format junit=lint.xml`, so that
a job which wants a summary, annotations and a page reads its table once.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from recombine.base.errors import SettingError, nearest
from recombine.base.files import place_of
from recombine.base.overwrite_checks import check_file
from recombine.base.words import json_text
from recombine.output.ci_formats import FORMS, NEED_CHECKS, CiSummary

_NAMES = ("text", "markdown", "json", "junit", "sarif", "github", "metrics")
_ONE_TABLE = ("json", "metrics")


@dataclass(frozen=True)
class RequestedFormats:
    """The form that goes to standard output, and the files of the others."""

    shown: str = "text"
    files: Mapping[str, Path] = field(default_factory=dict)

    @property
    def names(self) -> set[str]:
        """Every form that was asked for."""
        return {self.shown, *self.files}


def parse(given: Iterable[str], *, as_json: bool) -> RequestedFormats:
    """Understand `--format`, with `--json` as its short form.

    >>> parse(["markdown", "junit=lint.xml"], as_json=False)
    RequestedFormats(shown='markdown', files={'junit': PosixPath('lint.xml')})
    """
    shown: list[str] = ["json"] if as_json else []
    files: dict[str, Path] = {}
    for written in given:
        name, into, file = written.partition("=")
        _check_name(name, written)
        if not into:
            shown += [name] if name not in shown else []
        elif not file or name == "text" or name in files:
            raise _no_file(name, written, file)
        else:
            files[name] = place_of(file)
    if len(shown) > 1:
        first, second = shown[:2]
        raise SettingError(
            f"--format {first} and --format {second}",
            why="standard output holds one form, so that a machine can read it",
            instead=f"--format {first} --format {second}=FILE",
        )
    return RequestedFormats(shown[0] if shown else "text", files)


def _check_name(name: str, written: str) -> None:
    if name not in _NAMES:
        raise SettingError(f"--format {written}", why="there is no such form", instead=nearest(name, _NAMES))


def _no_file(name: str, written: str, file: str) -> SettingError:
    if not file:
        return SettingError(f"--format {written}", why="no file is named", instead=f"--format {name}=FILE")
    if name == "text":
        return SettingError(f"--format {written}", why="text is for a terminal", instead=f"--format markdown={file}")
    return SettingError(f"--format {written}", why=f"{name} has a file already", instead="name one file for each form")


def check(asked: RequestedFormats, *, inputs: Iterable[Any], others: Iterable[Path | None], force: bool) -> None:
    """Refuse files that must not be written to: what is read, what is there already, one place for two things."""
    read, taken = list(inputs), {place_of(path).absolute() for path in others if path is not None}
    for name, path in asked.files.items():
        if {path.absolute(), *path.absolute().parents} & taken:
            raise SettingError(
                f"--format {name}={path}", why="something else is written there", instead="name another file"
            )
        taken.add(path.absolute())
        check_file(path, force=force, inputs=read)


def check_gates(asked: RequestedFormats, gates: Mapping[str, float], *, example: str) -> None:
    """Refuse forms that only say how checks ended where none was asked for: an empty one looks as if all had passed."""
    found = next((name for name in NEED_CHECKS if name in asked.names), None)
    if found is not None and not gates:
        raise SettingError(
            f"--format {found} without a gate",
            why="it tells which checks passed and which failed, and there is none",
            instead=f"add one, for example --fail-under {example}; or write --format markdown",
        )


def check_tables(asked: RequestedFormats, tables: int, **others: Any) -> None:
    """Refuse what holds one table where several were given."""
    if tables < 2:
        return
    found = [f"--format {name}" for name in _ONE_TABLE if name in asked.names]
    found += [f"--{name.replace('_', '-')}" for name, given in others.items() if given]
    if found:
        raise SettingError(
            f"{found[0]} with {tables} tables",
            why="it holds what was found about one",
            instead="give one table at a time",
        )


def encode(name: str, told: Sequence[CiSummary], content: Callable[[], Any]) -> str:
    """A result in the form of a name."""
    return json_text(content()) + "\n" if name == "json" else FORMS[name](told)
