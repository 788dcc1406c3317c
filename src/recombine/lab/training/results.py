"""What is kept of a run: the curve, the errors by combination, the last answers, and what was shown."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from recombine.catalogue import Spec
from recombine.lab.tasks.task import Codes, factor_columns
from recombine.lab.training.questions import Answered, Floats, Question
from recombine.records import Provenance
from recombine.tables.space import Space, Value, text

TRAIN = "train"
_MOST_LISTED = 10_000
"""Values of all factors together, about 100 kB in a run's record."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Evaluated:
    """How a run did on one set at one step; `cells` holds the mean error of each of the set's combinations.

    A number that is not finite is None.
    """

    step: int
    part: str
    n: int
    loss: float | None
    error: float | None
    score: float | None
    cells: Floats


def evaluated(step: int, question: Question, found: Answered) -> Evaluated:
    """An answered question as it is kept."""
    return Evaluated(
        step=step,
        part=question.name,
        n=len(found.error),
        loss=finite(found.loss),
        error=finite(float(found.error.mean())) if len(found.error) else None,
        score=finite(found.score),
        cells=question.cells.means(found.error),
    )


def training_loss(step: int, n: int, loss: float) -> Evaluated:
    """The loss of a step's own batch, before the update."""
    return Evaluated(step=step, part=TRAIN, n=n, loss=finite(loss), error=None, score=None, cells=np.zeros(0))


def finite(value: float) -> float | None:
    """The number, or None where there is none."""
    return value if math.isfinite(value) else None


def metrics(evaluations: Sequence[Evaluated], *, diverged: bool) -> dict[str, float | None]:
    """The last value of every measurement; a run that diverged has none."""
    last = {one.part: one for one in evaluations}
    names = [(part, name) for part in last for name in ("loss", "error", "score") if part != TRAIN or name == "loss"]
    return {f"{part}.{name}": None if diverged else getattr(last[part], name) for part, name in names}


def tables(
    space: Space,
    *,
    evaluations: Sequence[Evaluated],
    questions: Sequence[Question],
    answered: Mapping[str, Answered],
    support: tuple[Codes, Codes],
) -> dict[str, pa.Table]:
    """The tables of a run."""
    codes, counts = support
    # A pattern has -1 for any value, as codes have for a factor left out.
    patterns = np.array(space.impossible, dtype=np.int64)
    impossible = {"impossible": pa.table(factor_columns(space, patterns))} if len(patterns) else {}
    return impossible | {
        "curve": _curve(evaluations),
        "combinations": _combinations(space, evaluations, questions),
        "predictions": _predictions(space, questions, answered),
        "support": pa.table(factor_columns(space, codes) | {"count": pa.array(counts)}),
    }


def provenance(task: Spec) -> Provenance:
    """Where a run came from."""
    return Provenance(source=str(task["name"]))


def domain(space: Space) -> dict[str, tuple[Any, ...]] | None:
    """The values of every factor, as JSON holds them; None where there are too many to be listed with every run."""
    if sum(space.sizes) > _MOST_LISTED:
        return None
    return {factor.name: tuple(map(_plain_value, factor.values)) for factor in space.factors}


def _plain_value(value: Value) -> str | bool | int | float:
    return value if isinstance(value, str | bool | int | float) else text(value)


def _curve(evaluations: Sequence[Evaluated]) -> pa.Table:
    columns = {name: [getattr(one, name) for one in evaluations] for name in _CURVE.names}
    return pa.table(columns, schema=_CURVE)


def _combinations(space: Space, evaluations: Sequence[Evaluated], questions: Sequence[Question]) -> pa.Table:
    of = {question.name: question.cells for question in questions}
    asked = [one for one in evaluations if one.part in of]
    sizes = [len(one.cells) for one in asked]
    codes = _stacked([of[one.part].codes for one in asked], len(space.factors))
    counts = np.concatenate([of[one.part].counts for one in asked] or [np.zeros(0, dtype=np.int64)])
    columns = {"step": pa.array(np.repeat([one.step for one in asked], sizes).astype(np.int64))}
    columns["part"] = pa.array([one.part for one in asked], pa.string()).take(
        pa.array(np.repeat(np.arange(len(asked)), sizes))
    )
    errors = np.concatenate([one.cells for one in asked] or [np.zeros(0)])
    return pa.table(columns | factor_columns(space, codes) | {"count": pa.array(counts), "error": _numbers(errors)})


def _predictions(space: Space, questions: Sequence[Question], answered: Mapping[str, Answered]) -> pa.Table:
    asked = [question for question in questions if question.name in answered]
    found = [answered[question.name] for question in asked]
    codes = _stacked([question.cells.codes[question.cells.place] for question in asked], len(space.factors))
    parts = [name for question, one in zip(asked, found, strict=True) for name in [question.name] * len(one.error)]
    columns = {"part": pa.array(parts, pa.string())} | factor_columns(space, codes)
    filled = [one for one in found if len(one.error)]
    if filled and all(one.predictions is not None for one in filled):
        for name, values in (("target", [o.targets for o in filled]), ("prediction", [o.predictions for o in filled])):
            whole = np.concatenate([value.numpy() for value in values if value is not None])
            columns[name] = _numbers(whole) if whole.dtype.kind == "f" else pa.array(whole)
    errors = np.concatenate([one.error for one in found] or [np.zeros(0)])
    return pa.table(columns | {"error": _numbers(errors)})


def _stacked(codes: Sequence[Codes], factors: int) -> Codes:
    return np.concatenate([np.zeros((0, factors), dtype=np.int64), *codes])


def _numbers(values: Floats) -> pa.Array:
    """Numbers, missing where they are not finite."""
    return pa.array(values, mask=~np.isfinite(values))


_CURVE = pa.schema(
    [
        ("step", pa.int64()),
        ("part", pa.string()),
        ("n", pa.int64()),
        ("loss", pa.float64()),
        ("error", pa.float64()),
        ("score", pa.float64()),
    ]
)
