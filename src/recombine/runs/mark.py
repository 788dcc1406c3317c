"""The mark of a finished run: its `record.json`, which names everything that belongs to the run, with checksums.

It has the form of every saved result of recombine, and one entry more, `store`: what the run is made of, where in its
folder that lies, and a checksum of the mark itself.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from io import BytesIO
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from recombine.records import FILE, FORMAT, Provenance, Record
from recombine.runs.configuration import Configuration
from recombine.runs.run import Run

_KIND = "run"
_SMALL = 2**17
_TABLE = ".parquet"


@dataclass(frozen=True)
class Part:
    """A file of a run: where it lies in the run's folder, its checksum and its size."""

    at: str
    sha256: str
    size: int


@dataclass(frozen=True)
class Mark:
    """What `record.json` says of a run, and the files that belong to it."""

    content: Mapping[str, Any]
    parts: Mapping[str, Part]

    @cached_property
    def configuration(self) -> Configuration:
        """What the run was asked to do."""
        return Configuration(**self.content["configuration"])

    @property
    def provenance(self) -> Provenance:
        """Where it came from."""
        return Provenance(**self.content["provenance"])

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
        data = {name: value for name, value in self.content.items() if name != "provenance"}
        return Run.from_record(Record(_KIND, data, tables, self.provenance))


def encoded(run: Run, files: Mapping[str, bytes], *, hashed: bool) -> dict[str, bytes]:
    """Everything a run is made of, by its name in the run's folder, the mark last.

    `hashed` puts a part of the checksum into every name, so that two writers of one run never write over each other.
    """
    record = run.record()
    contents = {name + _TABLE: _parquet(table) for name, table in record.tables.items()} | dict(files)
    parts = {name: _part(name, content, hashed=hashed) for name, content in contents.items()}
    sums = {part.at.removesuffix(_TABLE): part.sha256 for name, part in parts.items() if name.endswith(_TABLE)}
    content = record.to_json() | {"tables": sums, "store": {"parts": {name: asdict(p) for name, p in parts.items()}}}
    content["store"]["sha256"] = _digest(content)
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    return {parts[name].at: content for name, content in contents.items()} | {FILE: text.encode()}


def decoded(key: str, content: bytes) -> Mark:
    """A mark from its file; a `ValueError` says in what way it is damaged."""
    try:
        found = json.loads(content)
        stored = found["store"]
        if stored.pop("sha256") != _digest(found):
            raise ValueError("it was changed after it was written: its checksum is another")
        if found.pop("kind") != _KIND or found.pop("format") != FORMAT:
            raise ValueError(f"it is not a run of format {FORMAT}")
        mark = Mark(found, {name: Part(**part) for name, part in stored["parts"].items()})
        if mark.configuration.key != key:
            raise ValueError("its settings are those of another run")
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError("it does not hold what a run's record holds") from error
    del found["tables"], found["store"]
    return mark


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
    return Part(f"{stem}.{digest[:16]}{dot}{ending}" if hashed else name, digest, len(content))


def _digest(content: Mapping[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _parquet(table: pa.Table) -> bytes:
    """A small table is mostly its own description: compressing it takes longer and saves nothing."""
    sink = BytesIO()
    small = table.nbytes < _SMALL
    pq.write_table(table, sink, compression="none" if small else "zstd", write_statistics=not small)
    return sink.getvalue()
