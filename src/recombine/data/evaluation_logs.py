"""Logs of language-model evaluations: a row for each sample and epoch. What wrote them is not needed to read them.

| written by | a log is | its columns beside what the author wrote about each sample |
|---|---|---|
| inspect_ai | `.eval`, a zip file; `.json` | model, task, id, epoch, target; each scorer's number and answer |
| lm-evaluation-harness | `samples_*.jsonl` | model, task, doc_id, filter, target, answer; each metric |
| others | lines of JSON with `scores`, or `metadata` beside a score | the line's other fields |

Logs in a folder are one table: several models side by side, told apart by `model`. Lists of values (tools, tags,
skills) are columns of lists, which `--set tools=tools` reads as sets. Messages and events, which make a log large, are
parsed and let go.
"""

import codecs
import json
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from pathlib import Path
from typing import Any
from zipfile import ZipFile, ZipInfo

import pyarrow as pa
import pyarrow.compute as pc

from recombine.base.decoding import MalformedError, parsed, shown
from recombine.base.errors import SourceError
from recombine.base.words import listing
from recombine.data.readers import Convention, Reader
from recombine.data.sample_rows import (
    Columns,
    Sample,
    part_of,
    plain_fields,
    reading_sample,
    sample_table,
    score_columns,
)

_INSTEAD = "give a whole log: .eval or .json of inspect_ai, samples_*.jsonl of lm_eval, or lines of JSON"
_LONGEST_LINE = 2**20
"""Bytes of a line that tell what kind of log a file is: lines with long documents are long."""
_HARNESS = re.compile(r"samples_(?P<task>.+?)(?:_(?P<date>\d{4}-\d\d-\d\dT[\d.-]+))?\.jsonl")
_TABLES = (".parquet", ".csv", ".csv.gz", ".jsonl", ".jsonl.gz", ".arrow")
_REPEATED = 3
"""Rows for each element from which lists are sets: those of texts that differ in each sample (choices) are none."""
_VERSIONS = (1, 2)
"""Of inspect_ai's format."""
_MOST_BYTES, _MOST_INFLATED = 2**30, 200
"""A log may be of any size, and shrink to any; one that does both is made to fill the memory."""
_ZSTANDARD = 93


def _holds(path: Path) -> bool:
    """Whether a file is a log, or a folder holds logs and no other table."""
    if not path.is_dir():
        return _is_log(path)
    kinds = {_is_log(file) for file in _files(path) if _is_log(file) or file.name.endswith(_TABLES)}
    return kinds == {True}


def _files(folder: Path) -> Iterator[Path]:
    """The files of a folder and of those below it, in an order of their own."""
    for place, below, names in os.walk(folder):
        below.sort()
        yield from (Path(place, name) for name in sorted(names))


def _is_log(path: Path) -> bool:
    """Whether a file is a log, by its ending and its beginning."""
    ending = path.suffix.lower()
    if ending not in (".eval", ".json", ".jsonl") or not path.is_file():
        return False
    if ending == ".eval":
        return True
    with path.open("rb") as file:
        if ending == ".json":
            head = file.read(4096)
            return re.match(rb'[\xef\xbb\xbf\s]*\{\s*"version"\s*:', head) is not None and b'"eval"' in head
        lines = (file.readline(_LONGEST_LINE).removeprefix(codecs.BOM_UTF8).strip() for _ in range(3))
        first = next(filter(None, lines), b"")
    return _is_sample(first) or (_HARNESS.fullmatch(path.name) is not None and b'"doc_id"' in first)


def _is_sample(line: bytes) -> bool:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return False
    if not isinstance(found, dict):
        return False
    scored = {"score", "correct", "target"} & set(found) and isinstance(found.get("metadata"), dict)
    return bool(scored) or isinstance(found.get("scores"), dict) or {"doc_id", "doc", "filtered_resps"} <= set(found)


def _read(path: Path, _: Sequence[str] | None) -> pa.Table:
    logs = [file for file in _files(path) if _is_log(file)] if path.is_dir() else [path]
    states = ((log, log.stat()) for log in logs)
    return _table(path, tuple((log, state.st_mtime_ns, state.st_size) for log, state in states))


@lru_cache(maxsize=1)  # a verb reads its table several times, and parsing takes longer than anything else
def _table(path: Path, logs: tuple[tuple[Path, int, int], ...]) -> pa.Table:
    known: dict[str, Path] = {}
    return sample_table((one for log, *_ in logs for one in _samples(log, known)), source=str(path), instead=_INSTEAD)


def _samples(log: Path, known: dict[str, Path]) -> Iterator[Sample]:
    """The samples of one log; `known` are the evaluations that were read before, which must not count twice."""
    parts = _PARTS[log.suffix.lower()](log)
    # only a log of inspect_ai begins with a header
    read = partial(_of_line, log) if log.suffix.lower() == ".jsonl" else _of_inspect(next(parts)[1], log, known)
    for where, part in parts:
        with reading_sample(where, instead=_INSTEAD):
            yield read(parsed(part, finite=False) if isinstance(part, bytes) else part, where)


def _lines(log: Path) -> Iterator[tuple[str, bytes]]:
    """The lines that say something. Only a line feed ends one: texts may hold what else Unicode calls so."""
    with log.open("rb") as file:
        for number, line in enumerate(file, 1):
            said = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
            if said.strip():
                yield f"line {number:,} of '{log.name}'", said


def _of_json(log: Path) -> Iterator[tuple[str, Any]]:
    content = parsed(log.read_bytes().removeprefix(codecs.BOM_UTF8), finite=False)
    samples = content.pop("samples", None) or ()
    yield str(log), content
    yield from ((f"sample {place:,} of '{log}'", sample) for place, sample in enumerate(samples, 1))


def _of_archive(log: Path) -> Iterator[tuple[str, Any]]:
    """An archive with a file for each sample. Names in it that lead elsewhere do no harm: nothing is unpacked."""
    with ZipFile(log) as archive:
        members = {member.filename: member for member in archive.infolist()}
        unpacked = sum(member.file_size for member in archive.infolist())
        if unpacked > max(_MOST_BYTES, _MOST_INFLATED * log.stat().st_size):
            raise SourceError(
                f"'{log}' would unpack to {unpacked:,} bytes",
                why=f"that is more than {_MOST_INFLATED} times its size, as no log is",
                instead="if you trust it, write it as .json with inspect_ai: inspect log convert --to json",
            )
        header = members.get("header.json") or members.get("_journal/start.json")
        if header is None:
            raise MalformedError("it holds no header.json")
        yield str(log), parsed(_content(archive, header), finite=False)
        for member in archive.infolist():
            if member.filename.startswith("samples/") and member.filename.endswith(".json"):
                yield f"{shown(member.filename)} of '{log}'", _content(archive, member)


_PARTS: Mapping[str, Callable[[Path], Iterator[tuple[str, Any]]]] = {
    ".eval": _of_archive,
    ".json": _of_json,
    ".jsonl": _lines,
}
"""How a log is taken apart, each part with its place; samples that were not parsed yet are bytes."""


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


def _of_inspect(header: Mapping[str, Any], log: Path, known: dict[str, Path]) -> Callable[[Any, str], Sample]:
    """How a sample of a log with this header is read; the header names the model, the task and its arguments."""
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
    shared = [*((name, said.get(name) and str(said[name])) for name in ("model", "task")), *told]
    seen: set[tuple[Any, Any]] = set()

    def read(content: Any, where: str) -> Sample:
        if not isinstance(content, dict):
            raise MalformedError("it holds no object")
        one = (part_of(content, "id", int | str), part_of(content, "epoch", int))
        if one in seen:
            raise MalformedError("it stands in the log twice")
        seen.add(one)
        target = part_of(content, "target", str | list, "")
        target = target if isinstance(target, str) else " | ".join(map(str, target))
        own = [*shared, ("id", one[0]), ("epoch", one[1]), ("target", target)]
        scores = part_of(content, "scores", dict, {})
        if not scores and content.get("score") is not None:  # where version 1 has its only one
            scores = {"score": content["score"]}
        told = score_columns(scores, own)
        return Sample(where, own, [*told], [*plain_fields(part_of(content, "metadata", dict, {}))], "metadata.")

    return read


def _of_line(log: Path, content: Mapping[str, Any], where: str) -> Sample:
    if "doc_id" in content:
        return _of_harness(_beside_lines(log), content, where)
    metadata, scores = (part_of(content, name, dict, {}) for name in ("metadata", "scores"))
    own = [*plain_fields({name: content[name] for name in content if name not in ("metadata", "scores")})]
    told = [*score_columns(scores, own)]
    return Sample(where, own, told, [*plain_fields(metadata)], "metadata.")


@lru_cache(maxsize=1)
def _beside_lines(log: Path) -> Columns:
    """The model and task of lm_eval's samples: by the results beside them, or by the names of folder and file."""
    named, model = _HARNESS.fullmatch(log.name), log.absolute().parent.name
    if named:
        with suppress(OSError, ValueError, LookupError):  # the folder is named after the model, too
            results = log.with_name(f"results_{named['date']}.json")
            model = str(parsed(results.read_bytes(), finite=False)["model_name"])
    return [("model", model), ("task", named["task"] if named else None)]


def _of_harness(shared: Columns, content: Mapping[str, Any], where: str) -> Sample:
    fields = [*plain_fields(part_of(content, "doc", dict))]
    asked = [("doc_id", part_of(content, "doc_id", int | str)), ("filter", part_of(content, "filter", str, "none"))]
    answer = _answer(part_of(content, "filtered_resps", list))
    own = [*shared, *asked, ("target", str(part_of(content, "target", object))), ("answer", answer)]
    names = part_of(content, "metrics", list, [])
    metrics = [part_of({f"metrics[{place}]": name}, f"metrics[{place}]", str) for place, name in enumerate(names)]
    # a metric called `target` has replaced the target in the log itself, and stands there as text
    numbers = [name for name in metrics if name in dict(own) or isinstance(content.get(name), int | float)]
    scores = [(name, content.get(name)) for name in numbers]
    return Sample(where, own, scores, fields, "doc.")


def _answer(answers: Sequence[Any]) -> str | None:
    """What was generated; of a multiple choice the number of the likeliest choice; None where neither was logged."""
    likelihoods = [one for one in map(_likelihood, answers) if one is not None]
    if 1 < len(answers) == len(likelihoods):
        return None if any(map(math.isnan, likelihoods)) else str(likelihoods.index(max(likelihoods)))
    first = answers[0] if answers else []
    if isinstance(first, list):
        return str(first[0]) if first else None
    return str(first)


def _likelihood(answer: Any) -> float | None:
    """The number that a choice's list begins with, which the harness writes as text."""
    try:
        return float(answer[0]) if isinstance(answer, list) and answer else None
    except (TypeError, ValueError, OverflowError):
        return None


_NO_CONDITIONS = {
    **dict.fromkeys(("id", "doc_id"), "it tells samples apart"),
    "epoch": "it numbers repetitions of a sample",
    "target": "the right answer, which the scores have judged by",
    "answer": "what the model answered",
}


def _recognise(path: Path) -> Convention:
    """Lists whose elements come again are sets; the first score is what an evaluation is about."""
    table = _read(path, None)
    sets = {name: name for name in table.column_names if _is_set(table[name])}
    said = f"{listing(list(sets))} {'hold' if len(sets) > 1 else 'holds'} lists, which are read as sets."
    scores = [name for name in table.column_names if table.field(name).metadata is not None]
    answers = {name: _NO_CONDITIONS["answer"] for name in table.column_names if name.startswith("answer.")}
    others = dict.fromkeys(scores[1:], "another score")
    score = scores[0] if scores else None
    return Convention(sets, said if sets else "", tuple(sets), score=score, aside=_NO_CONDITIONS | answers | others)


def _is_set(lists: pa.ChunkedArray) -> bool:
    if not pa.types.is_list(lists.type):
        return False
    elements = pc.list_flatten(lists)
    named = pa.types.is_string(elements.type) or pa.types.is_integer(elements.type)
    return bool(named and len(elements) and len(lists) >= _REPEATED * len(pc.unique(elements)))


READER = Reader("sample log", _holds, _read, recognise=_recognise)
