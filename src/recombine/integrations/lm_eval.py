"""lm-evaluation-harness: the samples that `--log_samples` writes, as a table for `recombine.evaluate`.

    rows = samples("out/model/samples_geography_2026-11-16T10-00-00.jsonl")
    recombine.evaluate(rows, factors=["topic", "language"], score="acc")

The files are plain JSON, a sample a line, so that the harness itself is not needed to read them.
"""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa

from recombine.errors import SourceError
from recombine.integrations.sample_logs import beside, plain_fields, sample_table


def samples(file: str | Path, *, prefix: str = "") -> pa.Table:
    """A row for each sample and filter: doc_id, filter, target, answer, every metric, the fields of its document."""
    path = Path(file)
    try:
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
        return sample_table([_row(line, prefix, path.name) for line in lines], source=path.name)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise SourceError(
            f"'{path}' cannot be read as samples of lm-evaluation-harness",
            why=str(error).splitlines()[0] if str(error) else type(error).__name__,
            instead="give a samples_*.jsonl that `lm_eval … --log_samples --output_path out` wrote",
        ) from error


def _row(sample: dict[str, Any], prefix: str, source: str) -> dict[str, Any]:
    answers = sample["filtered_resps"]
    own = {
        "doc_id": sample["doc_id"],
        "filter": sample.get("filter", "none"),
        "target": str(sample["target"]),
        "answer": _answer(answers),
    }
    own |= {name: sample[name] for name in sample.get("metrics", ()) if isinstance(sample.get(name), int | float)}
    return beside(own, plain_fields(sample["doc"], prefix=prefix), source=source)


def _answer(answers: list[Any]) -> str:
    """What was generated; of a multiple choice the number of the likeliest choice."""
    if len(answers) > 1 and all(isinstance(one, list) for one in answers):
        return str(max(range(len(answers)), key=lambda place: float(answers[place][0])))
    first = answers[0] if answers else ""
    return str(first[0] if isinstance(first, list) and first else first)
