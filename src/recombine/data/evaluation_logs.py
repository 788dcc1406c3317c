"""Logs of language-model evaluations: a row for each sample and epoch. What wrote them is not needed to read them.

| written by | a log is | its columns beside what the author wrote about each sample |
|---|---|---|
| inspect_ai | `.eval`, a zip file; `.json` | model, task, id, epoch, target; each scorer's number and answer |
| lm-evaluation-harness | `samples_*.jsonl` | model, task, doc_id, filter, target, answer; each metric |
| others | lines of JSON with `scores`, or `metadata` beside a score | the line's other fields |

Logs in a folder are one table: several models side by side, told apart by `model`. Lists of values (tools, tags,
skills) are columns of lists, which `--set tools=tools` reads as sets.
"""

import codecs
import json
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from recombine.base.decoding import MalformedError, parsed
from recombine.base.words import listing
from recombine.data.inspect_logs import inspect_samples
from recombine.data.readers import Convention, Reader
from recombine.data.sample_rows import (
    Columns,
    Sample,
    known_fields,
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
    samples = [one for log, *_ in logs for one in (_of_lines(log) if _is_lines(log) else inspect_samples(log, known))]
    return sample_table(samples, source=str(path), instead=_INSTEAD)


def _is_lines(log: Path) -> bool:
    return log.suffix.lower() == ".jsonl"


@dataclass(frozen=True)
class _HarnessSample:
    """What is read of a sample of lm_eval; its metrics stand beside these, each under its name."""

    doc_id: int | str
    doc: Mapping[str, Any]
    target: Any
    filtered_resps: tuple[Any, ...]
    filter: str = "none"
    metrics: tuple[str, ...] = ()


def _of_lines(log: Path) -> Iterator[Sample]:
    """The lines that say something. Only a line feed ends one: texts may hold what else Unicode calls so."""
    shared: Columns | None = None
    with log.open("rb") as file:
        for number, line in enumerate(file, 1):
            said = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
            if said.strip():
                where = f"line {number:,} of '{log.name}'"
                with reading_sample(where, instead=_INSTEAD):
                    content = parsed(said, finite=False)
                    of_harness = "doc_id" in content
                    if of_harness and shared is None:
                        shared = _beside_lines(log)
                    yield _of_harness(content, shared or (), where) if of_harness else _of_other(content, where)


def _beside_lines(log: Path) -> Columns:
    """The model and task of lm_eval's samples: by the results beside them, or by the names of folder and file."""
    named = _HARNESS.fullmatch(log.name)
    results = log.with_name(f"results_{named['date']}.json") if named else log
    model = log.absolute().parent.name
    with suppress(OSError, ValueError, LookupError):  # the folder is named after the model, too
        model = str(parsed(results.read_bytes(), finite=False)["model_name"]) if results != log else model
    return (("model", model), ("task", named["task"] if named else None))


def _of_harness(content: Mapping[str, Any], shared: Columns, where: str) -> Sample:
    sample: _HarnessSample = known_fields(_HarnessSample, content)
    asked = (("doc_id", sample.doc_id), ("filter", sample.filter), ("target", str(sample.target)))
    own = (*shared, *asked, ("answer", _answer(sample.filtered_resps)))
    # a metric called `target` has replaced the target in the log itself, and stands there as text
    names = [name for name in sample.metrics if name in dict(own) or isinstance(content.get(name), int | float)]
    scores = tuple((name, content.get(name)) for name in names)
    return Sample(where, own, scores, tuple(plain_fields(sample.doc)), "doc.")


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


def _of_other(content: Mapping[str, Any], where: str) -> Sample:
    metadata, scores = (content.get(name) or {} for name in ("metadata", "scores"))
    if not isinstance(metadata, Mapping) or not isinstance(scores, Mapping):
        raise MalformedError("its metadata or scores are no object")
    own = tuple(plain_fields({name: content[name] for name in content if name not in ("metadata", "scores")}))
    told = tuple(score_columns(scores, [name for name, _ in own]))
    return Sample(where, own, told, tuple(plain_fields(metadata)), "metadata.")


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
