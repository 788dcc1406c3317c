"""How a result is saved with its provenance, and loaded again.

A record is a folder: `record.json` (what a person reads) and one Parquet file for each table (what a machine reads).
Every result of recombine can turn itself into a `Record` and back, so saving, loading and drawing are written once.

A folder is written beside its final place and moved there whole (`recombine.files`), and takes the place of nothing but
a result of its own kind that was asked to be replaced (`recombine.overwriting`).
"""

import hashlib
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, is_dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Union, final, get_args, get_origin, get_type_hints

import pyarrow as pa
import pyarrow.parquet as pq

from recombine._version import __version__
from recombine.errors import RecordError
from recombine.files import explained, staged
from recombine.overwriting import RESULT_FILE, check_result_folder
from recombine.redaction import redacted_words
from recombine.words import json_text

FORMAT = 1
FILE = RESULT_FILE


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """Where a result came from: enough to make it again, but for passwords.

    >>> Provenance(source="shoes.csv", settings={"factors": ["material", "type"]}).source
    'shoes.csv'
    """

    source: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    command: str | None = None
    created: str = field(default_factory=_now)
    version: str = __version__

    def __post_init__(self) -> None:
        for name in ("source", "settings", "command"):
            object.__setattr__(self, name, _redacted(getattr(self, name)))


def _redacted(value: Any) -> Any:
    """Every text in plain data without the passwords of the addresses that it holds."""
    if isinstance(value, str):
        return redacted_words(value)
    if isinstance(value, Mapping):
        return {name: _redacted(item) for name, item in value.items()}
    return type(value)(map(_redacted, value)) if type(value) in (list, tuple) else value


@dataclass(frozen=True)
class Record:
    """A result as plain data: what it is, its numbers, its tables, and where it came from.

    >>> record = Record("audit", {"verdict": "fine"}, {}, Provenance(source="shoes.csv"))
    >>> record.to_json()["kind"]
    'audit'
    """

    kind: str
    data: Mapping[str, Any]
    tables: Mapping[str, pa.Table]
    provenance: Provenance

    def to_json(self) -> dict[str, Any]:
        """The readable half, as it stands in `record.json` and in a command's `--json`."""
        return {
            "kind": self.kind,
            "format": FORMAT,
            **self.data,
            "provenance": asdict(self.provenance),
        }


class Result(ABC):
    """What every result can do because it can turn itself into a record: be saved, and be compared."""

    @abstractmethod
    def record(self) -> Record:
        """The result as plain data, which can be saved, drawn and loaded."""

    @final
    def save(self, folder: str | Path, *, force: bool = False) -> Path:
        """Write it as a folder: JSON for people, Parquet for machines.

        `force` replaces a saved result of the same kind; nothing else is ever replaced.
        """
        return save(self.record(), folder, force=force)

    @final
    def __eq__(self, other: object) -> bool:
        """Same numbers, tables and provenance."""
        if not isinstance(other, Result) or type(other) is not type(self):
            return NotImplemented
        mine, theirs = self.record(), other.record()
        return mine.to_json() == theirs.to_json() and mine.tables == theirs.tables

    __hash__ = None  # type: ignore[assignment]


def save(record: Record, folder: str | Path, *, force: bool = False) -> Path:
    """Write a record as a folder, all of it or nothing; `force` replaces one of the same kind."""
    source = record.provenance.source
    # a task or a table of a database may bear a folder's name
    read = [] if os.path.isdir(source) else [source]  # noqa: PTH112 - it never raises
    with written_whole(folder, record.kind, force=force, inputs=read) as staging:
        _write(record, staging)
    return Path(folder)


@contextmanager
def written_whole(folder: str | Path, kind: str, *, force: bool = False, inputs: Iterable[Any] = ()) -> Iterator[Path]:
    """A folder to write the files of a result into, which is moved to its place when all of them are there."""
    target, read = Path(folder), tuple(inputs)

    def check() -> None:
        check_result_folder(target, kind, force=force, inputs=read)

    with staged(target, force=force, check=check) as new, explained(target):
        (new / target.name).mkdir()
        yield new / target.name


def load(folder: str | Path, kind: str) -> Record:
    """Read a record back, refusing what is not one, is of another kind, or was changed since."""
    path = Path(folder) / FILE
    if not path.is_file():
        raise RecordError(
            f"no saved {kind} in '{folder}'",
            why=f"the folder holds no {FILE}",
            instead=f"give the folder that was written by `recombine {_verb(kind)} … --out FOLDER`",
        )
    content = _read_json(path)
    if content.pop("kind", None) != kind or content.pop("format", None) != FORMAT:
        raise RecordError(
            f"'{folder}' is not {_article(kind)} that this version can read",
            why=f"it was saved as another kind, or in another format than {FORMAT}",
            instead=f"make it again with `recombine {_verb(kind)} … --out FOLDER`",
        )
    provenance = Provenance(**content.pop("provenance"))
    sums = content.pop("tables", {})
    tables = {name: _read_table(Path(folder), name, digest) for name, digest in sums.items()}
    return Record(kind, content, tables, provenance)


def plain(value: Any) -> Any:
    """A frozen dataclass, or a container of them, as plain data; `revive` turns it back.

    >>> plain((Provenance(source="shoes.csv", created="now", version="0"),))[0]["source"]
    'shoes.csv'
    """
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    if is_dataclass(value) and not isinstance(value, type):
        return plain(asdict(value))
    return {name: plain(item) for name, item in value.items()} if isinstance(value, Mapping) else value


def revive(kind: Any, plain: Any) -> Any:
    """A frozen dataclass, or a container of them, from the plain data that `dataclasses.asdict` made of it.

    >>> revive(Provenance, {"source": "shoes.csv", "version": "0.1.0"}).source
    'shoes.csv'
    """
    if is_dataclass(kind) and isinstance(kind, type):
        hints = get_type_hints(kind)
        return kind(**{name: revive(hints[name], value) for name, value in plain.items()})
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        chosen = next((option for option in arguments if option is not NoneType), Any)
        return None if plain is None else revive(chosen, plain)
    if origin is tuple:
        each = [arguments[0]] * len(plain) if arguments[-1] is Ellipsis else arguments
        return tuple(revive(item, value) for item, value in zip(each, plain, strict=True))
    if origin is Mapping:
        return {name: revive(arguments[1], value) for name, value in plain.items()}
    return plain


def _write(record: Record, folder: Path) -> None:
    sums = {}
    for name, table in record.tables.items():
        path = folder / f"{name}.parquet"
        pq.write_table(table, path, compression="zstd")
        sums[name] = _digest(path)
    text = json_text(record.to_json() | {"tables": sums})
    (folder / FILE).write_text(text + "\n", encoding="utf-8")


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise _damaged(path, error) from error
    if not isinstance(content, dict):
        raise _damaged(path, "it holds no object")
    return content


def _read_table(folder: Path, name: str, digest: str) -> pa.Table:
    path = folder / f"{name}.parquet"
    try:
        found = _digest(path)
        table = pq.read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise _damaged(path, error) from error
    if found != digest:
        raise _damaged(path, f"its checksum is not the one noted in {FILE}")
    return table


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _damaged(path: Path, reason: object) -> RecordError:
    return RecordError(
        f"'{path}' is damaged",
        why=str(reason),
        instead="make the result again, or restore the file from a copy",
    )


def _verb(kind: str) -> str:
    """The command that makes a kind of result."""
    return {"evaluation": "evaluate", "prediction": "predict"}.get(kind, kind)


def _article(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"
