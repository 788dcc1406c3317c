"""A run: what it is before it is trained (`Configuration`), what it became (`Run`), or why it failed (`Failure`).

A `Run` is asked as any table is: `run.audit()`, `run.predict()`, `run.evaluate()`, each in the run's own space.
"""

import hashlib
import json
import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import pyarrow as pa
import pyarrow.compute as pc

from recombine.base import records
from recombine.base.decoding import FileName, MalformedError, beside, decoding, parsed, revive, revive_all
from recombine.base.errors import SettingError
from recombine.base.grades import Grade
from recombine.base.records import FILE, Provenance, Record
from recombine.base.result import Result
from recombine.base.words import plain_setting
from recombine_lab.base.catalogue import Spec
from recombine_lab.base.source_versions import places_in

if TYPE_CHECKING:
    import numpy.typing as npt
    from torch import nn

    from recombine.data.space import Space
    from recombine.data.support import Support
    from recombine.verbs.audit.audit import Audit
    from recombine.verbs.evaluate.evaluation import Evaluation
    from recombine.verbs.predict.prediction import Prediction

Status = Literal["finished", "diverged", "failed"]
PARTS = ("task", "split", "model", "recipe")
"""The parts of a configuration that have settings of their own."""
MODEL_FILE = "model.safetensors"
"""Where the trained weights lie among a run's files, if they were kept."""
SCORE = "score_"
"""The beginning of the columns that hold what was given for each class; the rest is the class's name."""
TEXTS = ("target_text", "prediction_text")
"""The columns that hold sentences in words."""
_CURVE_TYPES = {"step": pa.int64(), "part": pa.string(), "n": pa.int64()}
CURVE = pa.schema([(name, _CURVE_TYPES.get(name, pa.float64())) for name in (*_CURVE_TYPES, "loss", "error", "score")])
"""The columns of a run's curve."""
_NO_FACTOR = ("part", "count", "target", "prediction", "error")


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
        return {setting.name: plain_setting(getattr(self, setting.name)) for setting in fields(self)}

    def own_places(self) -> list[str]:
        """Where all that is the user's own in it is defined, as `package.module:Class`."""
        return places_in(self.plain())

    def flat(self) -> dict[str, Any]:
        """Every setting under a name of its own.

        >>> parts = {"task": {"name": "toy"}, "split": {"name": "own"}, "model": {"name": "mlp", "width": 8}}
        >>> Configuration(**parts, recipe={"lr": 0.1}, seed=0, code="1").flat()
        {'task': 'toy', 'split': 'own', 'model': 'mlp', 'model.width': 8, 'recipe.lr': 0.1}
        """
        settings = self.plain()
        return {name: value for part in PARTS for name, value in _flatten(part, settings[part])}


def _flatten(name: str, value: Any) -> list[tuple[str, Any]]:
    if not isinstance(value, Mapping):
        return [(name, value)]
    own = [(name, value["name"])] if "name" in value else []
    return own + [pair for key, item in value.items() if key != "name" for pair in _flatten(f"{name}.{key}", item)]


@dataclass(frozen=True, eq=False, kw_only=True)
class RunSummary:
    """What is said of a run without its tables.

    `metrics` holds the last value of every measurement, for example `unseen.score`; `together` says how many runs were
    trained as one with it; `domain` lists the values that each factor of its task can have, shown or not (None in runs
    of earlier versions, and where there are too many to list). `scored` says what its scores are: the share of right
    answers, or R²; the two are never compared.
    """

    configuration: Configuration
    status: Status
    reason: str | None
    steps: int
    seconds: float
    together: int
    metrics: Mapping[str, float | None]
    provenance: Provenance
    domain: Mapping[str, tuple[str | bool | int | float, ...]] | None = None
    scored: Literal["r2", "accuracy"] | None = None

    @property
    def key(self) -> str:
        """Its address in a store."""
        return self.configuration.key


SUMMARY = tuple(one.name for one in fields(RunSummary))
_PLAIN = tuple(name for name in SUMMARY if name != "provenance")


def revive_fields(kind: type, names: tuple[str, ...], plain: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of a run from plain data; runs of earlier versions do not say their domain, or what their scores are."""
    return revive_all(kind, names, {"domain": None, "scored": None, **plain})


@dataclass(frozen=True, eq=False, kw_only=True)
class Run(RunSummary, Result):
    """One trained model: what it was asked to do, how it went, and its answers.

    Tables:

    - `curve`: step, part (`train` or the name of a test), n, loss, error, score
    - `combinations`: step, part, a column for each factor, count, error
    - `predictions`, of the last step: part, a column for each factor, target and prediction (where they are single
      values; classes by their names), `score_<class>` for each class, `target_text` and `prediction_text` where they
      are sentences, error
    - `support`: a column for each factor, count; what the training examples were
    - `impossible`, where there are any: the conjunctions of values that cannot occur; what is empty may be any value

    `error` is a squared error (mean over outputs), or 1 for a wrong answer; `score` is R², or the share of right
    answers. `weights` reads the trained weights, unless the recipe said `keep_model=False`; `start` builds the network
    of a run that was just trained in this process, whose model or data may have no name by which it is found again.

    >>> from recombine.base.records import Provenance
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
    weights: Callable[[], bytes] | None = field(default=None, repr=False)
    start: Callable[[], Any] | None = field(default=None, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled: how to build its network is of this process alone."""
        return {name: value for name, value in vars(self).items() if name != "start"}

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
        found = {name: value for name, value in self.metrics.items() if name.endswith("score")}
        scores = [f"{name} {value:.3g}" for name, value in found.items() if value is not None]
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

    @property
    def factors(self) -> tuple[str, ...]:
        """The names of its task's factors."""
        return tuple(name for name in self.tables["support"].column_names if name not in _NO_FACTOR)

    def support(self) -> "Support":
        """The combinations that it was trained on, in its own space."""
        from recombine.data.read import read  # noqa: PLC0415 - a listing of runs needs no engine

        return read(self.tables["support"], factors=self.factors, weight="count", **self._space())

    def audit(self, **settings: Any) -> "Audit":
        """What its training examples say of the combinations that it was not shown; as `recombine.audit`."""
        from recombine.verbs.audit.audit import audit  # noqa: PLC0415 - a listing of runs needs no algebra

        return audit(self.support(), **settings)

    def predict(self, **settings: Any) -> "Prediction":
        """What theory expects of a learner that was shown the same; as `recombine.predict`.

        It is taught the targets of the test `seen`, and held against those of every test. The loss is the run's own:
        "squared" for numbers and "margin" for classes, to which cross-entropy and hinge loss lead in the end.
        """
        from recombine.data.read import read  # noqa: PLC0415 - a listing of runs needs no engine
        from recombine.verbs.predict.learner import FitSettings  # noqa: PLC0415 - nor theory
        from recombine.verbs.predict.predict import predict  # noqa: PLC0415

        answers = self._answers(needs="target")
        taught = answers.filter(pc.equal(answers["part"], "seen"))
        if not len(taught):
            raise SettingError(
                f"run {self.key[:8]} has no test 'seen'",
                why=f"what it was taught is read from that test, and it has {', '.join(_distinct(answers['part']))}",
                instead="read a table of its training examples with their targets, and give that to recombine.predict",
            )
        untold = len(self.tables["support"]) - len(taught.group_by(list(self.factors)).aggregate([]))
        if untold > 0:
            warnings.warn(
                f"the test 'seen' of run {self.key[:8]} has no example of {untold:,} combinations that it was trained "
                "on, so theory is not taught them. Read a table of its training examples with their targets, and give "
                "that to recombine.predict.",
                stacklevel=2,
            )
        kind = self._target_kind(answers)
        asked = {"factors": self.factors, "target": "target", "target_kind": kind, **self._space()}
        fit = FitSettings("squared" if kind == "number" else "margin")
        own: dict[str, Any] = {"fit": fit, "truth": read(answers, **asked)}
        return predict(read(taught, **asked), **(own | settings))

    def evaluate(self, **settings: Any) -> "Evaluation":
        """How its answers hold on combinations that it was not shown; as `recombine.evaluate`."""
        from recombine.verbs.evaluate.evaluation import evaluate  # noqa: PLC0415 - a listing of runs needs no statistics
        from recombine.verbs.evaluate.outcomes import Score  # noqa: PLC0415

        answers = self._answers()
        scored: dict[str, Any] = {"score": Score("error", "lower")}
        if "prediction" in answers.column_names:
            scored = {"target": "target", "prediction": "prediction", "target_kind": self._target_kind(answers)}
        asked = {"factors": self.factors, "train": self.tables["support"], **scored, **self._space()}
        return evaluate(answers, **(asked | settings))

    def module(self) -> "nn.Module":
        """The trained network, ready to be asked: an `nn.Module`, of the user's own class where the model was.

        It needs PyTorch, and weights that were kept.
        """
        # By name, as the public names are: training stands above this room, and this room loads no torch.
        made: nn.Module = import_module("recombine_lab.training.latents").module_of(self)
        return made

    def latents(self, layer: str, *, part: str | None = None) -> "npt.NDArray[Any]":
        """What a layer of the trained network gives for each test example, (n, …), in the order of `predictions`.

        `layer` is a name of `run.module().named_modules()`; `part` chooses one test, for example `unseen`.
        """
        found: npt.NDArray[Any] = import_module("recombine_lab.training.latents").latents_of(self, layer, part)
        return found

    def _answers(self, *, needs: str = "part") -> pa.Table:
        answers = self.tables["predictions"]
        if not len(answers):
            raise SettingError(
                f"run {self.key[:8]} has no answers",
                why=f"it {self.status}" + (f": {self.reason}" if self.reason else ""),
                instead="ask a run that finished",
            )
        if needs not in answers.column_names:
            raise SettingError(
                f"the answers of run {self.key[:8]} have no column {needs!r}",
                why="the targets of its task are no single numbers or classes, but images or sentences",
                instead="ask run.evaluate(), which compares its errors, or run.audit()",
            )
        return answers

    @staticmethod
    def _target_kind(answers: pa.Table) -> Literal["label", "number"]:
        scored = f"{SCORE}{answers['target'][0].as_py()}" in answers.column_names  # classes may be decimals
        return "number" if pa.types.is_floating(answers.schema.field("target").type) and not scored else "label"

    def _space(self) -> dict[str, Any]:
        """What could occur in its task, as every verb takes it."""
        if self.domain is None:
            warnings.warn(
                f"run {self.key[:8]} does not list the values of its factors: it is of an earlier version, or they are "
                "too many. The values in its own tables are taken for all that there are.",
                stacklevel=3,
            )
            tables = [self.tables["support"], self.tables["predictions"]]
            domain = {
                name: _distinct(pa.chunked_array([c for t in tables for c in t[name].chunks])) for name in self.factors
            }
            return {"domain": domain}
        rows = self.tables["impossible"].to_pylist() if "impossible" in self.tables else []
        forbidden = [{name: value for name, value in row.items() if value is not None} for row in rows]
        return {"domain": {name: list(values) for name, values in self.domain.items()}, "impossible": forbidden}

    def record(self) -> Record:
        """As plain data."""
        data: dict[str, Any] = {"key": self.key} | {name: getattr(self, name) for name in _PLAIN}
        data["configuration"] = self.configuration.plain()
        data["domain"] = None if self.domain is None else plain_setting(self.domain)
        data["metrics"] = {name: _finite(value) for name, value in self.metrics.items()}
        return Record("run", data, self.tables, self.provenance)

    @classmethod
    def from_record(cls, record: Record) -> "Run":
        """Back from plain data."""
        # In an object store a table's name goes on with its checksum, after a dot.
        tables = {name.partition(".")[0]: table for name, table in record.tables.items()}
        return cls(**revive_fields(cls, _PLAIN, record.data), tables=tables, provenance=record.provenance)

    @classmethod
    def load(cls, folder: str | Path) -> "Run":
        """Read back a run that was saved or copied to a folder of its own: the same run, with weights if it has any."""

        def made(record: Record) -> "Run":
            run, parts = cls.from_record(record), record.data.get("store", {}).get("parts", {})
            weights = (
                partial(_weights_beside, Path(folder), parts[MODEL_FILE]["sha256"]) if MODEL_FILE in parts else None
            )
            return replace(run, weights=weights)

        return records.loaded(folder, "run", made)


def _weights_beside(folder: Path, sha256: str) -> bytes:
    with decoding(f"'{folder / MODEL_FILE}' is damaged", instead="restore the file from a copy"):
        content = beside(folder, FileName(MODEL_FILE)).read_bytes()
        if hashlib.sha256(content).hexdigest() != sha256:
            raise MalformedError(f"its checksum is not the one noted in {FILE}")
    return content


def domain_of(space: "Space", *, most: int) -> dict[str, tuple[Any, ...]] | None:
    """The values of every factor, as JSON holds them; None where there are too many to be listed with every run."""
    if sum(space.sizes) > most:
        return None
    return {
        factor.name: tuple(
            value if isinstance(value, str | bool | int | float) else label
            for value, label in zip(factor.values, factor.labels, strict=True)
        )
        for factor in space.factors
    }


def _distinct(values: pa.ChunkedArray) -> list[Any]:
    """The values of a column, in order, but for missing ones."""
    return sorted(value for value in values.unique().to_pylist() if value is not None)


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
