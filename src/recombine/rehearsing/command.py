"""A command that reads a table and writes predictions, as a learner.

`python train.py {train} {test} {out}`: for each round the rows to learn from and the rows to answer are written as CSV
files with all columns of the table (the target of the latter left out), and the command is run without a shell. It
writes a CSV file to {out} with a line for each row of {test}, in its order, under the target's name or under
`prediction`. `{seed}` stands for the round's seed.
"""

import shlex
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc

from recombine.algebra.groups import Numbers
from recombine.errors import SettingError, SourceError, TableError
from recombine.rehearsing.examples import Examples
from recombine.tables.space import Factor
from recombine.words import listing, span

TIME_LIMIT = 3600.0
"""Seconds for one run, unless somebody says otherwise."""
_PLACES = ("{train}", "{test}", "{out}")
_ANSWER = "prediction"
_SAID = 400  # characters of what it said last
_GRACE = 5.0
_NAMED = 5  # classes that an error names


def is_command(text: str) -> bool:
    """Whether a learner's name is a command: it has places for files, or several words.

    >>> is_command("python train.py {train} {test} {out}"), is_command("relu:2")
    (True, False)
    """
    return any(place in text for place in _PLACES) or " " in text.strip()


@dataclass(frozen=True)
class Command:
    """A command with {train}, {test} and {out} in it."""

    line: str
    time_limit: float | None = None
    level: Literal["combinations", "rows"] = "rows"

    def __post_init__(self) -> None:
        absent = [place for place in _PLACES if place not in self.line]
        if absent:
            raise SettingError(
                f"the command {self.line!r}",
                why=f"it has no {' and no '.join(absent)}, the files that it is to read and write",
                instead='write for example "python train.py {train} {test} {out}"',
            )

    @property
    def name(self) -> str:
        """The program and its script."""
        return " ".join(word for word in shlex.split(self.line)[:2] if "{" not in word)

    def answer(self, train: Examples, test: Examples, *, seed: int) -> Numbers:
        """Write the files, run it, read its answers."""
        assert train.rows is not None  # noqa: S101 - its level says that it takes rows
        assert test.rows is not None  # noqa: S101
        assert train.support.target is not None  # noqa: S101
        target = train.support.target.name
        with tempfile.TemporaryDirectory(prefix="recombine-") as folder:
            files = {name: Path(folder) / f"{name}.csv" for name in ("train", "test", "out")}
            _write(train.rows.table, files["train"])
            _write(test.rows.table.drop_columns([target]), files["test"])
            self._run({**{name: str(path) for name, path in files.items()}, "seed": str(seed)})
            return _read(files["out"], target, test.classes, len(test.rows.table), self.line)

    def _run(self, places: dict[str, str]) -> None:
        words = [_filled(word, places) for word in shlex.split(self.line)]
        limit = self.time_limit or TIME_LIMIT
        try:
            running = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)  # noqa: S603
        except OSError as error:
            raise SourceError(
                f"cannot run {words[0]!r}",
                why=error.strerror or str(error),
                instead="give a program that is on the path, for example python",
            ) from error
        try:
            _, said = running.communicate(timeout=limit)
        except subprocess.TimeoutExpired as error:
            _stop(running)
            raise SettingError(
                f"the command {self.line!r} did not end",
                why=f"it ran for {span(limit)}, which is the limit",
                instead="give it less to do, or more time: time_limit=7200 (--time-limit 7200)",
            ) from error
        except BaseException:  # Ctrl-C among them: what was started is stopped
            _stop(running)
            raise
        if running.returncode:
            raise SourceError(
                f"the command {self.line!r} failed with exit code {running.returncode}",
                why=_last_words(said),
                instead="run it by hand on a table split in two, and mend it",
            )


def _filled(word: str, places: dict[str, str]) -> str:
    for name, path in places.items():
        word = word.replace(f"{{{name}}}", path)
    return word


def _stop(running: "subprocess.Popen[str]") -> None:
    """Ask it to end, and end it where it does not."""
    running.terminate()
    try:
        running.communicate(timeout=_GRACE)
    except subprocess.TimeoutExpired:
        running.kill()
        running.communicate()


def _last_words(said: str | None) -> str:
    lines = [line.strip() for line in (said or "").splitlines() if line.strip()]
    return lines[-1][-_SAID:] if lines else "it said nothing on standard error"


def _write(table: pa.Table, path: Path) -> None:
    """Columns that a CSV file cannot hold are left out: lists, structs, bytes."""
    flat = [field.name for field in table.schema if not pa.types.is_nested(field.type)]
    plain = table.select(flat)
    for place, field in enumerate(plain.schema):
        if pa.types.is_dictionary(field.type):
            plain = plain.set_column(place, field.name, plain[field.name].cast(field.type.value_type))
    pc.write_csv(plain, path)


def _read(path: Path, target: str, classes: tuple[Any, ...] | None, rows: int, line: str) -> Numbers:
    again = f"write a CSV file with the column {target!r} or {_ANSWER!r}, a line for each row of {{test}}"
    if not path.is_file():
        raise SourceError(f"the command {line!r} wrote no {{out}}", why="it ended without one", instead=again)
    try:
        options = pc.ConvertOptions(column_types={} if classes is None else {target: pa.string(), _ANSWER: pa.string()})
        table = pc.read_csv(path, convert_options=options)
    except (pa.ArrowException, OSError) as error:
        raise SourceError(f"cannot read what {line!r} wrote", why=str(error).splitlines()[0], instead=again) from error
    column = next((name for name in (target, _ANSWER) if name in table.column_names), None)
    if column is None:
        raise TableError(
            f"the command {line!r} wrote the columns {', '.join(table.column_names[:5])}",
            why=f"none of them is {target!r} or {_ANSWER!r}",
            instead=again,
        )
    if len(table) != rows:
        raise TableError(
            f"the command {line!r} wrote {len(table):,} answers",
            why=f"it was asked about {rows:,} rows",
            instead=again,
        )
    return _answers(table[column].to_pylist(), target, classes, line)


def _places(said: list[Any], known: Factor, line: str) -> Numbers:
    """Places of classes. Python writes True where the table says true, so booleans are told by their letters alone."""
    if all(isinstance(one, bool) for one in known.values):
        said = [str(one).lower() for one in said]
    places = np.array([known.code(one) for one in said], dtype=np.float64)
    if (places < 0).any():
        raise TableError(
            f"the command {line!r} answered {said[int((places < 0).argmax())]!r}",
            why=f"the classes of {known.name!r} are {listing([repr(name) for name in known.labels[:_NAMED]])}"
            + (" and others" if len(known.labels) > _NAMED else ""),
            instead="write them as they stand in {train}; pandas turns '01' into 1 unless it is told dtype=str",
        )
    return places


def _answers(said: list[Any], target: str, classes: tuple[Any, ...] | None, line: str) -> Numbers:
    """Places of classes, or numbers."""
    if classes is not None:
        return _places(said, Factor(target, classes), line)
    try:
        found = np.array(said, dtype=np.float64)
    except (TypeError, ValueError):
        found = np.full(1, np.nan)
    if not np.isfinite(found).all():
        raise TableError(
            f"the command {line!r} wrote answers that are not numbers",
            why=f"{target!r} is a number",
            instead="write a finite number on every line, or say target_kind='label'",
        )
    return found
