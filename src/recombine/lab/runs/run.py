"""What a run was, and how it went."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal

import pyarrow as pa

from recombine.decoding import revive_all
from recombine.lab.runs.configuration import Configuration
from recombine.records import Provenance, Record
from recombine.results import Result

Status = Literal["finished", "diverged", "failed"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Run(Result):
    """One trained model: what it was asked to do, how it went, and its answers.

    `metrics` holds the last value of every measurement, for example `unseen.score`. Tables:

    - `curve`: step, part (`train` or the name of a test), n, loss, error, score
    - `combinations`: step, part, a column for each factor, count, error
    - `predictions`, of the last step: part, a column for each factor, target and prediction (where they are single
      values), error
    - `support`: a column for each factor, count; what the training examples were

    `error` is a squared error (mean over outputs), or 1 for a wrong answer; `score` is R², or the share of right
    answers.

    >>> from recombine.records import Provenance
    >>> parts = {"task": {"name": "addition"}, "split": {"name": "own"}, "model": {"name": "mlp"}, "recipe": {}}
    >>> run = Run(
    ...     configuration=Configuration(**parts, seed=0, code="0.1.0"),
    ...     status="finished",
    ...     reason=None,
    ...     steps=10,
    ...     seconds=1.0,
    ...     together=1,
    ...     metrics={"seen.score": 1.0, "unseen.score": 0.75},
    ...     tables={},
    ...     provenance=Provenance(source="addition"),
    ... )
    >>> run
    Run(87bef679 addition · mlp · seed 0: finished, unseen.score 0.75)
    """

    kind: ClassVar[str] = "run"
    configuration: Configuration
    status: Status
    reason: str | None
    steps: int
    seconds: float
    together: int
    metrics: Mapping[str, float | None]
    tables: Mapping[str, pa.Table]
    provenance: Provenance

    def __repr__(self) -> str:
        made = self.configuration
        names = " · ".join(str(part.get("name")) for part in (made.task, made.model))
        scores = {name: value for name, value in self.metrics.items() if name.endswith("score") and value is not None}
        name = "unseen.score" if "unseen.score" in scores else next(iter(scores), None)
        score = "" if name is None else f", {name} {scores[name]:.3g}"
        return f"Run({self.key[:8]} {names} · seed {made.seed}: {self.status}{score})"

    @property
    def key(self) -> str:
        """Its address in a store."""
        return self.configuration.key

    def record(self) -> Record:
        """As plain data."""
        data: dict[str, Any] = {
            "key": self.key,
            "configuration": self.configuration.plain(),
            "status": self.status,
            "reason": self.reason,
            "steps": self.steps,
            "seconds": self.seconds,
            "together": self.together,
            "metrics": {name: _finite(value) for name, value in self.metrics.items()},
        }
        return Record("run", data, self.tables, self.provenance)

    @classmethod
    def from_record(cls, record: Record) -> "Run":
        """Back from plain data."""
        # In an object store a table's name goes on with its checksum, after a dot.
        tables = {name.partition(".")[0]: table for name, table in record.tables.items()}
        return cls(**revive_all(cls, _PLAIN, record.data), tables=tables, provenance=record.provenance)


_PLAIN = tuple(field.name for field in fields(Run) if field.name not in ("tables", "provenance"))


def _finite(value: float | None) -> float | None:
    """What is not a number is not there: JSON has no word for it."""
    return value if value is not None and math.isfinite(value) else None
