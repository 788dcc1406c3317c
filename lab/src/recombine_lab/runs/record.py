"""The mark of a finished run: its `record.json`, which names everything that belongs to the run, with checksums.

It has the form of every saved result of recombine, its own checksum included, and one entry more, `store`: what the run
is made of, and where in its folder that lies.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from io import BytesIO
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from recombine.decoding import SEAL, FileName, MalformedError, parsed, revive, sealed, unsealed
from recombine.records import FILE, refuse_other_formats
from recombine_lab.runs.run import SUMMARY, Run, RunSummary, revived

_KIND = "run"
_FIRST_FORMAT = 1
"""Of marks whose checksum stands inside `store`. They are as sound as later ones, and what they mark took long."""
_SMALL = 2**17  # bytes
_TABLE = ".parquet"


@dataclass(frozen=True)
class Part:
    """A file of a run: where it lies in the run's folder, its checksum and its size."""

    at: FileName
    sha256: str
    size: int


@dataclass(frozen=True, eq=False, kw_only=True)
class StoredRun(RunSummary):
    """What `record.json` says of a run, and the files that belong to it."""

    parts: Mapping[str, Part]

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


def encoded(run: Run, files: Mapping[str, bytes], *, hashed: bool) -> dict[str, bytes]:
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


def decoded(key: str, content: bytes) -> StoredRun:
    """A mark from its file; a `ValueError` says in what way it is damaged, a `RecordError` of which version it is."""
    found = parsed(content)
    if found.get("kind") != _KIND:
        raise MalformedError("it is not the record of a run")
    if found.get("format") != _FIRST_FORMAT:
        refuse_other_formats(found, _KIND, place=key)
    found = _bare(found)
    stored = revive(Mapping[str, Any], found.get("store"), at="store")
    parts = revive(Mapping[FileName, Part], stored.get("parts"), at="store.parts")
    if FILE in parts:
        raise MalformedError(f"it names {FILE} among its files, which is itself")
    stored_run = StoredRun(**revived(StoredRun, SUMMARY, found), parts=parts)
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


def fault(part: Part, content: bytes) -> str | None:
    """What is wrong with a part's bytes, if anything is."""
    if len(content) != part.size:
        return f"it has {len(content):,} bytes instead of {part.size:,}"
    if hashlib.sha256(content).hexdigest() != part.sha256:
        return f"its checksum is not the one noted in {FILE}"
    return None


def _part(name: str, content: bytes, *, hashed: bool) -> Part:
    digest = hashlib.sha256(content).hexdigest()
    stem, dot, ending = name.partition(".")
    return Part(FileName(f"{stem}.{digest[:16]}{dot}{ending}" if hashed else name), digest, len(content))


def _parquet(table: pa.Table) -> bytes:
    """A small table is mostly its own description: compressing it takes longer and saves nothing."""
    sink = BytesIO()
    small = table.nbytes < _SMALL
    pq.write_table(table, sink, compression="none" if small else "zstd", write_statistics=not small)
    return sink.getvalue()
