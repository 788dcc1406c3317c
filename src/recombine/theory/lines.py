"""A row for each combination, as an Arrow table: what is predicted, how surely, what it is made of, and the verdict."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa

from recombine.algebra.groups import Codes, Ints, Numbers
from recombine.statistics.distributions import normal_quantile
from recombine.tables.space import Factor, Space, rows_of, text
from recombine.theory.diagnosis import VERDICTS, Diagnosis
from recombine.theory.salience import members

_REACH = normal_quantile(0.975)


def read_combinations(space: Space, given: Any) -> Codes:
    """Combinations as tuples, mappings, an Arrow table or a frame, in positions of values."""
    return np.asfortranarray(space.encode(rows_of(given)))


def lines(diagnosis: Diagnosis, *, contributions: bool) -> pa.Table:
    """The table of a prediction."""
    space = diagnosis.learner.support.space
    columns: dict[str, Any] = {}
    for k, factor in enumerate(space.factors):
        columns[factor.name] = _values(factor, diagnosis.codes[:, k])
    ours = _told(diagnosis) | _parts_seen(diagnosis)
    if contributions:
        ours |= _contributions(diagnosis)
    for name, column in ours.items():
        columns[name if name not in columns else f"{name}_"] = column
    return pa.table(columns)


def _values(factor: Factor, codes: Codes) -> pa.Array:
    """A factor's column in the user's own values."""
    return _column(factor.values).take(pa.array(codes, mask=codes < 0))


def _column(values: Sequence[Any]) -> pa.Array:
    """Values as Arrow holds them; as text where they are of several kinds, or beyond 64 bits."""
    for kind in (None, pa.uint64()):
        with suppress(pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
            return pa.array(list(values), kind)
    return pa.array([text(value) for value in values])


def _told(diagnosis: Diagnosis) -> dict[str, Any]:
    learner = diagnosis.learner
    own = learner.answers
    place = learner.seen(diagnosis.codes)
    variance, error = diagnosis.variances
    found: dict[str, Any] = {
        "seen": place >= 0,
        "count": np.where(place >= 0, learner.support.counts[place], 0.0),
        "rung": pa.array(diagnosis.rungs.tolist()),
    }
    if own.kind == "number":
        found |= _numbers(diagnosis)
    else:
        found["prediction"] = _classes(own.classes, diagnosis.predicted)
        found["score"] = own.best(diagnosis.scores)
        found["unleaked"] = own.best(diagnosis.unleaked)
        found["truth"] = _classes(own.classes, np.where(diagnosis.known, diagnosis.truth, -1).astype(np.int64))
    found["error"] = pa.array(diagnosis.errors, from_pandas=True)
    found |= {"variance": variance, "variance_error": error}
    found["verdict"] = pa.array(VERDICTS).take(pa.array(diagnosis.verdicts))
    return found


def _numbers(diagnosis: Diagnosis) -> dict[str, Any]:
    """A number with its 95 % interval, in the target's own units."""
    said = diagnosis.scores[:, 0]
    reach = _REACH * np.sqrt(diagnosis.learner.scale * diagnosis.variances[0])
    return {
        "prediction": said,
        "low": said - reach,
        "high": said + reach,
        "unleaked": diagnosis.unleaked[:, 0],
        "truth": pa.array(diagnosis.truth, from_pandas=True),
    }


def _classes(classes: tuple[Any, ...], places: Ints) -> pa.Array:
    return _column(classes).take(pa.array(places, mask=places < 0))


def _parts_seen(diagnosis: Diagnosis) -> dict[str, Any]:
    """How many of a combination's conjunctions were seen, of every size, itself included."""
    masks = range(1, len(diagnosis.learner.salience.weights))
    seen = np.zeros(len(diagnosis.codes), dtype=np.int64)
    for mask in masks:
        seen += diagnosis.learner.fitted.place(mask, diagnosis.codes) >= 0
    return {"parts_seen": seen, "parts": np.full(len(seen), len(masks))}


def _contributions(diagnosis: Diagnosis) -> dict[str, Any]:
    """What each conjunction adds to the score that is told; null where it was never seen."""
    learner = diagnosis.learner
    names = learner.support.space.names
    question = (
        np.maximum(diagnosis.predicted, 0) if learner.answers.questions > 1 else np.zeros(len(diagnosis.codes), int)
    )
    rows = np.arange(len(diagnosis.codes))
    found: dict[str, Any] = {"from the constant": learner.fitted.constant[question]}
    for mask in range(1, len(learner.salience.weights)):
        part: Numbers = learner.fitted.contribution(mask, diagnosis.codes)[rows, question]
        found["from " + " × ".join(names[k] for k in members(mask))] = pa.array(part, from_pandas=True)
    return found
