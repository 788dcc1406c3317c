"""Where things lie in a run store, and which version of recombine began it.

store.json                            that this is a store, and of which format
runs/3f/3f9a…/record.json             the mark: settings, scores, and the checksum of everything below
runs/3f/3f9a…/curve.parquet …         the tables
runs/3f/3f9a…/model.safetensors …     further files
states/…                              unfinished work, replaced again and again, dropped at the end
failures/3f9a…/1.json …               attempts that failed, and why
tmp/                                  what is being written (folders only)

The mark of a finished run: its `record.json`, which names everything that belongs to the run, with checksums.

It has the form of every saved result of recombine, its own checksum included, and one entry more, `store`: what the run
is made of, and where in its folder that lies.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from io import BytesIO
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

from recombine.base.decoding import SEAL, FileName, MalformedError, parsed, revive, sealed, unsealed
from recombine.base.errors import RecordError, SettingError
from recombine.base.overwrite_checks import STORE_FILE, STORE_KIND
from recombine.base.records import FILE, refuse_other_formats
from recombine.base.version import __version__
from recombine_lab.runs.run import SUMMARY, Run, RunSummary, revive_fields
from recombine_lab.runs.storage import STAGING

FORMAT = 2
"""2 since a run's key names the versions of its numbers, where it held a hash of recombine's source code before, and
splitters have scikit-learn's names for their settings."""
_OLDEST = 1
HEAD = STORE_FILE
RUNS, STATES, FAILURES, MEASURED = "runs", "states", "failures", "measured"
OURS = frozenset({HEAD, RUNS, STATES, FAILURES, MEASURED, STAGING})
KEY = re.compile(r"[0-9a-f]{32}")


class EarlierStoreWarning(UserWarning):
    """A store that an earlier version began: its runs can be read, but `fit` and `sweep` may not find them again."""


def folder_of(key: str) -> str:
    """Where a run lies; a short name for the first letters keeps folders small.

    >>> folder_of("3f" + 30 * "0")
    'runs/3f/3f000000000000000000000000000000'
    """
    if not KEY.fullmatch(key):
        raise SettingError(
            f"{key!r} is not the key of a run",
            why="a key is 32 of the characters 0 to 9 and a to f",
            instead="take it from `Configuration.key` or from `recombine runs list`",
        )
    return f"{RUNS}/{key[:2]}/{key}"


def state_file(name: str) -> str:
    """Where unfinished work lies: one component of a path, whatever its name is.

    Dots too are spelt out, of which some lead upwards.
    """
    return f"{STATES}/{quote(name, safe='').replace('.', '%2E')}"


def new_head() -> bytes:
    """The content of a new store's `store.json`."""
    head = {"kind": STORE_KIND, "format": FORMAT, "version": __version__, "created": now()}
    return (json.dumps(head, indent=2) + "\n").encode()


def notice_of(place: str, content: bytes) -> str | None:
    """What is to be said of a store with this `store.json`; nothing if it is of today's format.

    What is no store, or of a format that cannot be read, is refused.
    """
    try:
        head = parsed(content)
        kind, found, version = head["kind"], int(head["format"]), head.get("version", "of its time")
    except (ValueError, KeyError, TypeError):
        kind, found, version = None, 0, None
    if kind != STORE_KIND:
        raise RecordError(
            f"'{place}' is not a run store",
            why=f"its {HEAD} was not written by recombine, or is damaged",
            instead=f"restore {HEAD} from a copy, or name another place",
        )
    if not _OLDEST <= found <= FORMAT:
        age, instead = (
            ("a newer", "pip install --upgrade recombine")
            if found > FORMAT
            else ("an older", f"read it with recombine {version}, or start a new store")
        )
        raise RecordError(
            f"'{place}' is a run store of {age} version",
            why=f"its format is {found}, and recombine {__version__} reads formats {_OLDEST} to {FORMAT}",
            instead=instead,
        )
    return _earlier(place) if found < FORMAT else None


def _earlier(place: str) -> str:
    return (
        f"'{place}' was begun by an earlier version of recombine: its runs can be listed, shown and compared, but "
        "`fit` and `sweep` may not find them again, because keys and the names of some settings have changed since; "
        "name a new store to train into, and keep this one to read from."
    )


def now() -> str:
    """The time, as files of a store hold it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


_KIND = "run"
_FIRST_FORMAT = 1
"""Of marks whose checksum stands inside `store`. They are as sound as later ones, and what they mark took long."""
_SMALL = 2**17  # bytes
_TABLE = ".parquet"


@dataclass(frozen=True)
class RunFile:
    """A file of a run: where it lies in the run's folder, its checksum and its size."""

    at: FileName
    sha256: str
    size: int


@dataclass(frozen=True, eq=False, kw_only=True)
class StoredRun(RunSummary):
    """What `record.json` says of a run, and the files that belong to it."""

    parts: Mapping[str, RunFile]

    @property
    def tables(self) -> list[str]:
        """The names of its tables."""
        return [name.removesuffix(_TABLE) for name in self.parts if name.endswith(_TABLE)]

    def run(self, contents: Mapping[str, bytes]) -> Run:
        """The run, from the bytes of its tables."""
        tables = {
            name: pq.ParquetFile(pa.BufferReader(contents[name + _TABLE])).read(use_threads=False)
            for name in self.tables
        }
        return Run(**{name: getattr(self, name) for name in SUMMARY}, tables=tables)


def encode_run(run: Run, files: Mapping[str, bytes], *, hashed: bool) -> dict[str, bytes]:
    """Everything a run is made of, by its name in the run's folder, the mark last.

    `hashed` puts a part of the checksum into every name, so that two writers of one run never write over each other.
    """
    record = run.record()
    contents = {name + _TABLE: _parquet(table) for name, table in record.tables.items()} | dict(files)
    parts = {name: _part(name, content, hashed=hashed) for name, content in contents.items()}
    sums = {part.at.removesuffix(_TABLE): part.sha256 for name, part in parts.items() if name.endswith(_TABLE)}
    content = record.to_json() | {"tables": sums, "store": {"parts": {name: asdict(p) for name, p in parts.items()}}}
    text = json.dumps(sealed(content), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    return {parts[name].at: content for name, content in contents.items()} | {FILE: text.encode()}


def decode_run(key: str, content: bytes) -> StoredRun:
    """A mark from its file; a `ValueError` says in what way it is damaged, a `RecordError` of which version it is."""
    found = parsed(content)
    if found.get("kind") != _KIND:
        raise MalformedError("it is not the record of a run")
    if found.get("format") != _FIRST_FORMAT:
        refuse_other_formats(found, _KIND, place=key)
    found = _bare(found)
    stored = revive(Mapping[str, Any], found.get("store"), at="store")
    parts = revive(Mapping[FileName, RunFile], stored.get("parts"), at="store.parts")
    if FILE in parts:
        raise MalformedError(f"it names {FILE} among its files, which is itself")
    stored_run = StoredRun(**revive_fields(StoredRun, SUMMARY, found), parts=parts)
    if stored_run.key != key:
        raise MalformedError("its settings are those of another run")
    return stored_run


def _bare(found: Mapping[str, Any]) -> dict[str, Any]:
    """A mark without its checksum, which must fit."""
    if found.get("format") != _FIRST_FORMAT:
        return unsealed(found)
    stored = revive(Mapping[str, Any], found.get("store"), at="store")
    inner = {name: value for name, value in stored.items() if name != SEAL}
    return unsealed({**found, "store": inner, SEAL: stored.get(SEAL)})


def fault(part: RunFile, content: bytes) -> str | None:
    """What is wrong with a part's bytes, if anything is."""
    if len(content) != part.size:
        return f"it has {len(content):,} bytes instead of {part.size:,}"
    if hashlib.sha256(content).hexdigest() != part.sha256:
        return f"its checksum is not the one noted in {FILE}"
    return None


def _part(name: str, content: bytes, *, hashed: bool) -> RunFile:
    digest = hashlib.sha256(content).hexdigest()
    stem, dot, ending = name.partition(".")
    return RunFile(FileName(f"{stem}.{digest[:16]}{dot}{ending}" if hashed else name), digest, len(content))


def _parquet(table: pa.Table) -> bytes:
    """A small table is mostly its own description: compressing it takes longer and saves nothing."""
    sink = BytesIO()
    small = table.nbytes < _SMALL
    pq.write_table(table, sink, compression="none" if small else "zstd", write_statistics=not small)
    return sink.getvalue()
