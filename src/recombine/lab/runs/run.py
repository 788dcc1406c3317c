"""A run: what it is before it is trained (`Configuration`), what it became (`Run`), or why it failed (`Failure`)."""

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar, Literal

import pyarrow as pa

from recombine.catalogue import Spec, plain
from recombine.decoding import parsed, revive, revive_all
from recombine.grades import Grade
from recombine.records import Provenance, Record
from recombine.results import Result

Status = Literal["finished", "diverged", "failed"]
PARTS = ("task", "split", "model", "recipe")
"""The parts of a configuration that have settings of their own."""


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """One run: a task, what is shown of it, a model, a recipe, a seed, and the version of the numbers that
    these parts give (`code`).

    >>> parts = {"task": {"name": "toy"}, "split": {"name": "own"}, "model": {"name": "mlp"}, "recipe": {}}
    >>> len(Configuration(**parts, seed=0, code="task 1").key)
    32
    """

    task: Spec
    split: Spec
    model: Spec
    recipe: Spec
    seed: int
    code: str

    @cached_property
    def key(self) -> str:
        """The run's address in a store: the same for the same settings, in whatever order they were written."""
        text = json.dumps(self.plain(), sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def plain(self) -> dict[str, Any]:
        """As JSON holds it."""
        return {setting.name: plain(getattr(self, setting.name)) for setting in fields(self)}

    def flat(self) -> dict[str, Any]:
        """Every setting under a name of its own.

        >>> parts = {"task": {"name": "toy"}, "split": {"name": "own"}, "model": {"name": "mlp", "width": 8}}
        >>> Configuration(**parts, recipe={"lr": 0.1}, seed=0, code="1").flat()
        {'task': 'toy', 'split': 'own', 'model': 'mlp', 'model.width': 8, 'recipe.lr': 0.1}
        """
        settings = self.plain()
        return {name: value for part in PARTS for name, value in _flattened(part, settings[part])}


def _flattened(name: str, value: Any) -> list[tuple[str, Any]]:
    if not isinstance(value, Mapping):
        return [(name, value)]
    own = [(name, value["name"])] if "name" in value else []
    return own + [pair for key, item in value.items() if key != "name" for pair in _flattened(f"{name}.{key}", item)]


@dataclass(frozen=True, eq=False, kw_only=True)
class RunSummary:
    """What is said of a run without its tables.

    `metrics` holds the last value of every measurement, for example `unseen.score`; `together` says how many runs were
    trained as one with it.
    """

    configuration: Configuration
    status: Status
    reason: str | None
    steps: int
    seconds: float
    together: int
    metrics: Mapping[str, float | None]
    provenance: Provenance

    @property
    def key(self) -> str:
        """Its address in a store."""
        return self.configuration.key


SUMMARY = tuple(field.name for field in fields(RunSummary))
_PLAIN = tuple(name for name in SUMMARY if name != "provenance")


@dataclass(frozen=True, eq=False, kw_only=True)
class Run(RunSummary, Result):
    """One trained model: what it was asked to do, how it went, and its answers.

    Tables:

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
    tables: Mapping[str, pa.Table]

    def __repr__(self) -> str:
        made = self.configuration
        names = " · ".join(str(part.get("name")) for part in (made.task, made.model))
        scores = {name: value for name, value in self.metrics.items() if name.endswith("score") and value is not None}
        name = "unseen.score" if "unseen.score" in scores else next(iter(scores), None)
        score = "" if name is None else f", {name} {scores[name]:.3g}"
        return f"Run({self.key[:8]} {names} · seed {made.seed}: {self.status}{score})"

    @property
    def verdict(self) -> str:
        """How it ended, and its scores."""
        names = f"{self.configuration.model.get('name')} on {self.configuration.task.get('name')}"
        scores = [f"{name} {value:.3g}" for name, value in self.metrics.items() if name.endswith("score") and value]
        told = f": {', '.join(scores)}" if scores else ""
        return f"{names} {self.status} after {self.steps:,} steps{told}."

    @property
    def grade(self) -> Grade:
        """A score alone earns none: `evaluate` has the intervals and the comparison that do."""
        return "untested" if self.status == "finished" else "failing"

    @property
    def table(self) -> pa.Table:
        """The answers of the last step, a row each; the curve where there are none."""
        return self.tables.get("predictions", self.tables.get("curve", pa.table({})))

    def record(self) -> Record:
        """As plain data."""
        data: dict[str, Any] = {"key": self.key} | {name: getattr(self, name) for name in _PLAIN}
        data["configuration"] = self.configuration.plain()
        data["metrics"] = {name: _finite(value) for name, value in self.metrics.items()}
        return Record("run", data, self.tables, self.provenance)

    @classmethod
    def from_record(cls, record: Record) -> "Run":
        """Back from plain data."""
        # In an object store a table's name goes on with its checksum, after a dot.
        tables = {name.partition(".")[0]: table for name, table in record.tables.items()}
        return cls(**revive_all(cls, _PLAIN, record.data), tables=tables, provenance=record.provenance)


def _finite(value: float | None) -> float | None:
    """What is not a number is not there: JSON has no word for it."""
    return value if value is not None and math.isfinite(value) else None


@dataclass(frozen=True, kw_only=True)
class Failure:
    """An attempt at a run that failed: which attempt it was, and why it failed."""

    configuration: Configuration
    reason: str
    attempt: int
    created: str

    @property
    def key(self) -> str:
        """The key that the run would have had."""
        return self.configuration.key

    def to_json(self) -> bytes:
        """As a file holds it."""
        content = {"kind": "failure", **vars(self), "configuration": self.configuration.plain()}
        return (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode()

    @classmethod
    def from_json(cls, content: bytes) -> "Failure | None":
        """Back from a file; None where it is damaged: a failure is a note, and no numbers depend on it."""
        try:
            found = parsed(content)
            found.pop("kind")
            failure: Failure = revive(cls, found)
        except (ValueError, KeyError):
            return None
        return failure
