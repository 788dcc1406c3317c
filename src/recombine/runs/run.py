"""What a run was, and how it went."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa

from recombine.records import Provenance, Record, Result
from recombine.runs.configuration import Configuration

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
    """

    configuration: Configuration
    status: Status
    reason: str | None
    steps: int
    seconds: float
    together: int
    metrics: Mapping[str, float | None]
    tables: Mapping[str, pa.Table]
    provenance: Provenance

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
        data = {name: value for name, value in record.data.items() if name not in ("key", "store")}
        configuration = Configuration(**data.pop("configuration"))
        # In an object store a table's name goes on with its checksum, after a dot.
        tables = {name.partition(".")[0]: table for name, table in record.tables.items()}
        return cls(configuration=configuration, tables=tables, provenance=record.provenance, **data)


def _finite(value: float | None) -> float | None:
    """What is not a number is not there: JSON has no word for it."""
    return value if value is not None and math.isfinite(value) else None
