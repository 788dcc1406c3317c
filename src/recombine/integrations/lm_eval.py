"""lm-evaluation-harness: the samples that `--log_samples` writes, as a table for `recombine.evaluate`.

    rows = samples("out/model/samples_geography_2026-11-16T10-00-00.jsonl")
    recombine.evaluate(rows, factors=["topic", "language"], score="acc")

The files are plain JSON, a sample a line, so that the harness itself is not needed to read them.
"""

import codecs
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import pyarrow as pa

from recombine.base.decoding import parsed, revive
from recombine.base.errors import SourceError
from recombine.data.locations import check_plain_file
from recombine.integrations.sample_logs import beside, plain_fields, reading_sample, sample_table

_INSTEAD = "give a samples_*.jsonl that `lm_eval … --log_samples --output_path out` wrote"


@dataclass(frozen=True)
class _Sample:
    """What is read of a logged sample, which holds more: its metrics stand beside these, each under its name."""

    doc_id: int | str
    doc: Mapping[str, Any]
    target: Any
    filtered_resps: tuple[Any, ...]
    filter: str = "none"
    metrics: tuple[str, ...] = ()


_NAMES = [field.name for field in fields(_Sample)]


def samples(file: str | Path, *, prefix: str = "") -> pa.Table:
    """A row for each sample and filter: doc_id, filter, target, answer, every metric, the fields of its document."""
    path, rows = Path(file), []
    for number, line in _lines(path):
        where = f"line {number:,} of '{path.name}'"
        with reading_sample(where, instead=_INSTEAD):
            rows.append(_row(parsed(line, finite=False), prefix, where))
    return sample_table(rows, source=path.name)


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The lines of a file that say something. Only a line feed ends one: texts may hold what else Unicode calls so."""
    check_plain_file(path, str(path))
    try:
        content = path.read_bytes().removeprefix(codecs.BOM_UTF8)
    except OSError as error:
        raise SourceError(f"'{path}' cannot be read", why=error.strerror or str(error), instead=_INSTEAD) from error
    return ((number, line) for number, line in enumerate(content.split(b"\n"), 1) if line.strip())


def _row(content: Mapping[str, Any], prefix: str, where: str) -> dict[str, Any]:
    sample: _Sample = revive(_Sample, {name: content[name] for name in _NAMES if name in content}, at="the sample")
    own = {
        "doc_id": sample.doc_id,
        "filter": sample.filter,
        "target": str(sample.target),
        "answer": _answer(sample.filtered_resps),
    }
    # a metric called `target` has replaced the target in the log itself, and stands there as text
    known = [name for name in sample.metrics if name in own or isinstance(content.get(name), int | float)]
    again = "give that metric another name in the task, and log the samples again"
    row = beside(own, ((name, content.get(name)) for name in known), where=where, what="metric", instead=again)
    apart = "give a prefix for the document's own fields: prefix='doc.'"
    return beside(row, plain_fields(sample.doc, prefix=prefix), where=where, what="field", instead=apart)


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
