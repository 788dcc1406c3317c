"""How a result is saved with its provenance, and loaded again.

A record is a folder: `record.json` (what a person reads) and one Parquet file for each table (what a machine reads).
Every result (`base.result`) can turn itself into a `Record` and back, so saving, loading and drawing are written once.
`record.json` holds the checksums of the tables and one of itself, so that what was edited since is noticed.

A folder is written beside its final place and moved there whole (`base.files`), and takes the place of nothing but a
result of its own kind that was asked to be replaced (`base.overwrite_checks`).
"""

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from recombine.base.decoding import (
    SAVED_AS,
    FileName,
    MalformedError,
    beside,
    decoding,
    parsed,
    revive,
    sealed,
    shown,
    unsealed,
)
from recombine.base.errors import RecordError
from recombine.base.files import explained, place_of, staged, undisturbed
from recombine.base.overwrite_checks import MANIFEST_ENDING, RESULT_FILE, check_result_folder, is_kind
from recombine.base.redaction import redacted_words
from recombine.base.version import __version__
from recombine.base.words import json_text, known_numbers

FORMAT = 2
"""2 since records hold a checksum of themselves."""
FILE = RESULT_FILE
_AGAIN = "make the result again, or restore the file from a copy"


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


def save(record: Record, folder: str | Path, *, force: bool = False) -> Path:
    """Write a record as a folder, all of it or nothing; `force` replaces one of the same kind."""
    with written_whole(folder, record.kind, force=force, inputs=sources(record.provenance)) as staging:
        _write(record, staging)
    return Path(folder)


def sources(provenance: Provenance) -> list[str]:
    """The files that a result was made of, which nothing may be written over."""
    source = provenance.source
    # a task or a table of a database may bear a folder's name
    return [] if os.path.isdir(source) else [source]  # noqa: PTH112 - it never raises


@contextmanager
def written_whole(folder: str | Path, kind: str, *, force: bool = False, inputs: Iterable[Any] = ()) -> Iterator[Path]:
    """A folder to write the files of a result into, which is moved to its place when all of them are there."""
    target, read = place_of(folder), tuple(inputs)

    def check() -> None:
        check_result_folder(target, kind, force=force, inputs=read)

    with staged(target, force=force, check=check) as new, explained(target):
        (new / target.name).mkdir()
        yield new / target.name


_Read = TypeVar("_Read")


def _read_between_moves(read: Callable[[str | Path], _Read], folder: str | Path) -> _Read:
    """Read what a folder holds, and look again if that fails: it may have been replaced meanwhile.

    A reader then finds no folder, or a file of the old result beside one of the new.
    """
    with suppress(RecordError):
        return read(folder)
    with undisturbed(Path(folder)):
        return read(folder)


def kind_of(folder: str | Path) -> str:
    """Which kind of result a folder holds."""
    return _read_between_moves(_kind_of, folder)


def _kind_of(folder: str | Path) -> str:
    path = Path(folder) / FILE
    if not path.is_file():
        raise _not_saved(
            folder, "result", "a folder that was written by .save(folder), or by a command with --out FOLDER"
        )
    with decoding(f"'{path}' is damaged", instead=_AGAIN):
        kind = parsed(path.read_bytes()).get("kind")
        if not is_kind(kind):
            raise MalformedError(f"its kind is {shown(kind)}, which recombine {__version__} does not know")
        return str(kind)


def load(folder: str | Path, kind: str) -> Record:
    """Read a record back, refusing what is not one, is of another kind, or was changed since."""
    return _read_between_moves(lambda place: _load(place, kind), folder)


def _load(folder: str | Path, kind: str) -> Record:
    path = Path(folder) / FILE
    if not path.is_file():
        written_by = "split.save(folder)" if kind == "split" else f"`{_command(kind)}`"
        raise _not_saved(folder, kind, f"the folder that {written_by} wrote")
    with decoding(f"'{path}' is damaged", instead=_AGAIN):
        content = parsed(beside(path.parent, FileName(FILE)).read_bytes())
        refuse_other_formats(content, kind, place=folder)
        content = unsealed(content)
        del content["kind"], content["format"]
        provenance = revive(Provenance, content.pop("provenance"), at="provenance")
        sums = revive(Mapping[FileName, str], content.pop("tables"), at="tables")
        data = revive(Mapping[str, Any], content)
        tables = {str(name): _read_table(path.parent, name, digest) for name, digest in sums.items()}
    return Record(kind, data, tables, provenance)


def _not_saved(folder: str | Path, kind: str, wanted: str) -> RecordError:
    """That a folder holds no saved result; the table of a split, which `--out` wrote as well, is told apart."""
    split = _manifest_beside(Path(folder))
    if split is None:
        what, why = f"no saved {kind} in '{folder}'", f"the folder holds no {FILE}"
        return RecordError(what, why=why, instead=f"give {wanted}")
    manifest, content = split
    table = str(manifest.parent / str(content.get("file")))
    asked = f"factors={content.get('factors')!r:.200}, split={content.get('column')!r:.80}"
    return RecordError(
        f"'{folder}' is where a split was written to, not a saved result",
        why=f"it holds the rows of a table, and its manifest is '{manifest.name}'",
        instead=f"recombine.lint({table!r}, {asked}) checks it, and the other verbs read it as any table; "
        "recombine.load opens what split.save(folder) wrote",
    )


def _manifest_beside(path: Path) -> tuple[Path, dict[str, Any]] | None:
    """The manifest of the split that was written to a place, and what it says; it may be given itself."""
    for stem in (path.name.removesuffix(MANIFEST_ENDING), path.stem, Path(path.stem).stem):
        manifest = path.parent / f"{stem}{MANIFEST_ENDING}"
        try:
            content = parsed(manifest.read_bytes())
        except (OSError, ValueError):
            continue
        if content.get("kind") == "split":
            return manifest, content
    return None


class _Recorded(Protocol):
    def record(self) -> Record: ...


_R = TypeVar("_R", bound=_Recorded)


def loaded(
    folder: str | Path,
    kind: str,
    make: Callable[[Record], _R],
    *,
    again: Callable[[_R], Record] = lambda result: result.record(),
) -> _R:
    """A result made of its record, and believed if it would write the same record `again`.

    Most of what a record holds follows from the rest of it: the labels of a map from its values, a side's score from
    its sums. So the comparison finds what no type can tell, and what it lets pass can be saved and drawn.
    """
    record = load(folder, kind)
    with decoding(f"'{Path(folder) / FILE}' is damaged", instead=_AGAIN):
        result = make(record)
        _refuse_unlike(record, again(result))
    return result


def refuse_other_formats(content: Mapping[str, Any], kind: str, *, place: object) -> None:
    """Stop what is of another kind or of another version, and say how to get one that is not."""
    if content.get("kind") != kind:
        raise RecordError(
            f"'{place}' is not {_article(kind)}",
            why="it was saved as another kind of result, or by another program",
            instead=f"give what was written by `{_command(kind)}`",
        )
    found = content.get("format")
    if type(found) is int and found != FORMAT:
        age, instead = (
            ("an older", f"make it again with `{_command(kind)}`")
            if found < FORMAT
            else ("a newer", f"pip install --upgrade recombine, or make it again with `{_command(kind)}`")
        )
        raise RecordError(
            f"'{place}' is {_article(kind)} of {age} version",
            why=f"its format is {shown(found)}, and recombine {__version__} reads format {FORMAT}",
            instead=instead,
        )
    if found != FORMAT:
        raise MalformedError("it does not say which format it has")


def _refuse_unlike(record: Record, again: Record) -> None:
    for name, value in again.data.items():
        if record.data.get(name) != plain(value):
            raise MalformedError(f"its {name!r} does not follow from the rest of it")
    for name, table in again.tables.items():
        found = record.tables[name]
        if found.num_rows != table.num_rows or not found.schema.equals(table.schema):
            raise MalformedError(f"its table {name!r} does not follow from the rest of it")


def plain(value: Any) -> Any:
    """A frozen dataclass, an array, or a container of them, as a file holds it; `revive` turns it back.

    A number that is not known, or not finite, is None.

    >>> plain((Provenance(source="shoes.csv", created="now", version="0"),))[0]["source"]
    'shoes.csv'
    """
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {one.metadata.get(SAVED_AS, one.name): plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, Mapping):
        return {name: plain(item) for name, item in value.items()}
    return known_numbers(value)


def _write(record: Record, folder: Path) -> None:
    sums = {}
    for name, table in record.tables.items():
        path = folder / FileName(f"{name}.parquet")
        pq.write_table(table, path, compression="zstd")
        with path.open("rb") as file:
            sums[name] = hashlib.file_digest(file, "sha256").hexdigest()
    text = json_text(sealed(known_numbers(record.to_json() | {"tables": sums})))
    (folder / FILE).write_text(text + "\n", encoding="utf-8", newline="")


def _read_table(folder: Path, name: FileName, digest: str) -> pa.Table:
    path = folder / f"{name}.parquet"
    # opened once: the file that is read is the one whose checksum was taken, whatever takes its place meanwhile
    with decoding(f"'{path}' is damaged", instead=_AGAIN), beside(folder, FileName(path.name)).open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != digest:
            raise MalformedError(f"its checksum is not the one noted in {FILE}")
        return pq.ParquetFile(file).read()


def _command(kind: str) -> str:
    """The command that makes a kind of result."""
    verb = {
        "diff": "diff OLD NEW",
        "evaluation": "evaluate",
        "prediction": "predict",
        "probe": "probe geometry SPEC",
        "rehearsal": "rehearse",
        "run": "runs show STORE KEY",
        "study": "study run NAME",
        "vector_evaluation": "evaluate",
    }.get(kind, f"{kind} …")
    return f"recombine {verb if ' ' in verb else f'{verb} …'} --out {'FILE' if kind == 'split' else 'FOLDER'}"


def _article(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"
