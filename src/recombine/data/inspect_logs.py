"""Logs of inspect_ai: `.eval`, a zip file with a file of JSON for each sample, and `.json`, which holds them all.

inspect_ai itself is not imported. Of a sample is read what can tell samples apart, and its scores: messages and events,
which make a log large, are parsed and let go.
"""

import codecs
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import ZipFile, ZipInfo

import pyarrow as pa

from recombine.base.decoding import MalformedError, parsed, shown
from recombine.base.errors import SourceError
from recombine.base.words import listing
from recombine.data.sample_rows import (
    Columns,
    Sample,
    as_text,
    known_fields,
    plain_fields,
    reading_sample,
    score_columns,
)

_INSTEAD = "give a whole .eval or .json file that inspect_ai wrote"
_VERSIONS = (1, 2)
"""Of inspect_ai's format."""
_MOST_BYTES, _MOST_INFLATED = 2**30, 200
"""A log may be of any size, and shrink to any; one that does both is made to fill the memory."""
_ZSTANDARD = 93


def inspect_samples(log: Path, known: dict[str, Path]) -> Iterator[Sample]:
    """The samples of one log; `known` are the evaluations that were read before, which must not count twice."""
    return _of_archive(log, known) if log.suffix.lower() == ".eval" else _of_json(log, known)


def _of_archive(log: Path, known: dict[str, Path]) -> Iterator[Sample]:
    """An archive with a file for each sample. Names in it that lead elsewhere do no harm: nothing is unpacked."""
    with ZipFile(log) as archive:
        members = archive.infolist()
        _check_members(log, members)
        named = {member.filename: member for member in members}
        header = named.get("header.json") or named.get("_journal/start.json")
        if header is None:
            raise MalformedError("it holds no header.json")
        shared = _shared(parsed(_content(archive, header), finite=False), log, known)
        for member in members:
            if member.filename.startswith("samples/") and member.filename.endswith(".json"):
                where = f"{shown(member.filename)} of '{log}'"
                with reading_sample(where, instead=_INSTEAD):
                    yield _of_inspect(parsed(_content(archive, member), finite=False), shared, where)


def _check_members(log: Path, members: Sequence[ZipInfo]) -> None:
    for name, times in Counter(member.filename for member in members).items():
        if times > 1:
            raise MalformedError(f"{shown(name)} stands in the log twice")
    unpacked = sum(member.file_size for member in members)
    if unpacked > max(_MOST_BYTES, _MOST_INFLATED * log.stat().st_size):
        raise SourceError(
            f"'{log}' would unpack to {unpacked:,} bytes",
            why=f"that is more than {_MOST_INFLATED} times its size, as no log is",
            instead="if you trust it, write it as .json with inspect_ai: inspect log convert --to json",
        )


def _content(archive: ZipFile, member: ZipInfo) -> bytes:
    """A file of an archive. Zstandard, which newer logs use, is Arrow's to read: Python's own does from 3.14 on."""
    if member.compress_type != _ZSTANDARD:
        return archive.read(member)
    file: Any = archive.fp
    file.seek(member.header_offset + 26)  # where a file's own heading tells how long its name and extras are
    lengths = file.read(4)
    file.seek(int.from_bytes(lengths[:2], "little") + int.from_bytes(lengths[2:], "little"), os.SEEK_CUR)
    packed = file.read(member.compress_size)
    return bytes(pa.decompress(packed, member.file_size, codec="zstd", asbytes=True))


def _of_json(log: Path, known: dict[str, Path]) -> Iterator[Sample]:
    content = parsed(log.read_bytes().removeprefix(codecs.BOM_UTF8), finite=False)
    shared = _shared(content, log, known)
    seen: set[tuple[Any, Any]] = set()
    for place, sample in enumerate(content.get("samples") or ()):
        where = f"sample {place + 1:,} of '{log}'"
        with reading_sample(where, instead=_INSTEAD):
            if not isinstance(sample, dict):
                raise MalformedError("it holds no object")
            found = _of_inspect(sample, shared, where)
            own = dict(found.own)
            if (own["id"], own["epoch"]) in seen:
                raise MalformedError("it stands in the log twice")
            seen.add((own["id"], own["epoch"]))
            yield found


def _shared(header: Mapping[str, Any], log: Path, known: dict[str, Path]) -> Columns:
    """What all samples of a log have in common: the model, the task and its arguments."""
    version, said = header.get("version"), header.get("eval")
    if version not in _VERSIONS:
        raise SourceError(
            f"'{log}' is version {shown(version)} of inspect_ai's format",
            why=f"versions {listing(list(map(str, _VERSIONS)))} are known here",
            instead="look for a newer recombine; or give the samples as lines of JSON",
        )
    if not isinstance(said, Mapping):
        raise MalformedError("its header does not say what was evaluated ('eval')")
    name = str(said.get("eval_id") or log)
    if known.setdefault(name, log) != log:
        raise SourceError(
            f"'{log}' and '{known[name]}' are the same evaluation",
            why="each of its samples would count twice",
            instead="keep one of the two in the folder",
        )
    arguments = said.get("task_args")
    told = plain_fields(arguments if isinstance(arguments, Mapping) else {}, prefix="task_args.")
    return (("model", as_text(said.get("model"))), ("task", as_text(said.get("task"))), *told)


@dataclass(frozen=True)
class _InspectSample:
    """What is read of a sample of inspect_ai, which holds more: messages, events, a store."""

    id: int | str
    epoch: int
    target: str | tuple[str, ...] = ""
    metadata: Mapping[str, Any] | None = None
    scores: Mapping[str, Any] | None = None
    score: Mapping[str, Any] | None = None
    """Where version 1 has its only score."""


def _of_inspect(content: Mapping[str, Any], shared: Columns, where: str) -> Sample:
    sample: _InspectSample = known_fields(_InspectSample, content)
    target = sample.target if isinstance(sample.target, str) else " | ".join(sample.target)
    own = (*shared, ("id", sample.id), ("epoch", sample.epoch), ("target", target))
    scores = sample.scores or ({} if sample.score is None else {"score": sample.score})
    told = tuple(score_columns(scores, [name for name, _ in own]))
    return Sample(where, own, told, tuple(plain_fields(sample.metadata or {})), "metadata.")
