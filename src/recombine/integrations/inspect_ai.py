"""inspect_ai: the samples of an evaluation's log as a table for `recombine.evaluate`, grouped by any of their metadata.

    rows = samples("logs/2026-11-16_geography.eval")
    recombine.evaluate(rows, factors=["topic", "language"], score="match")

inspect_ai's own `grouped` takes one key; here combinations of several are told apart.
"""

from pathlib import Path
from typing import Any

import pyarrow as pa

from recombine.extras import needing
from recombine.integrations.sample_logs import beside, plain_fields, sample_table

with needing(__name__, "inspect_ai", extra="inspect"):
    from inspect_ai.log import EvalLog, read_eval_log
    from inspect_ai.scorer import value_to_float


def samples(log: EvalLog | str | Path, *, prefix: str = "") -> pa.Table:
    """A row for each sample and epoch: id, epoch, target, the metadata, and each scorer's score and answer.

    `log` is a file (.eval or .json), or a log that was read already. A scorer's number stands under its own name (C, P
    and I as 1, 0.5 and 0), its answer under `answer.<scorer>`; of a score with several values `<scorer>.<value>`.
    """
    found = log if isinstance(log, EvalLog) else read_eval_log(str(log))
    source = str(found.location or "a log of inspect_ai")
    return sample_table([_row(sample, prefix, source) for sample in found.samples or []], source=source)


def _row(sample: Any, prefix: str, source: str) -> dict[str, Any]:
    target = sample.target if isinstance(sample.target, str) else " | ".join(sample.target)
    own = {"id": sample.id, "epoch": sample.epoch, "target": target, "completion": sample.output.completion}
    number = value_to_float()
    for name, score in (sample.scores or {}).items():
        if isinstance(score.value, dict):
            own |= {f"{name}.{part}": number(value) for part, value in score.value.items()}
        elif not isinstance(score.value, list):
            own[name] = number(score.value)
        own[f"answer.{name}"] = score.answer
    return beside(own, plain_fields(sample.metadata or {}, prefix=prefix), source=source)
