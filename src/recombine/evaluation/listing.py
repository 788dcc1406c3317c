"""The tested combinations one by one: a table of all of them, and the ones to look at first."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from recombine.algebra.groups import Ints
from recombine.evaluation.deviations import RATE, Deviations
from recombine.evaluation.outcomes import Outcomes
from recombine.evaluation.shrinkage import Shrunk

_LISTED = 200


@dataclass(frozen=True)
class Listed:
    """One tested combination: its score as it is, shrunk, with an interval; and what its parts would have given."""

    combination: dict[str, str]
    rung: str
    rows: int
    score: float
    shrunk: float
    low: float | None
    high: float | None
    expected: float | None
    deviation: float | None
    q: float | None


def table(outcomes: Outcomes, own: Shrunk, apart: Deviations) -> pa.Table:
    """A row for each tested combination, with the factors as columns."""
    space, codes = outcomes.tested.space, outcomes.tested.codes
    columns = {
        factor.name: pa.array(factor.labels, pa.string()).take(pa.array(codes[:, k]))
        for k, factor in enumerate(space.factors)
    }
    measured = {
        "score": outcomes.mean,
        "shrunk": own.score,
        "low": own.low,
        "high": own.high,
        "expected": apart.expected,
        "deviation": apart.deviation,
        "error": apart.error,
        "p": apart.p,
        "q": apart.q,
    }
    facts = {"rung": pa.array(outcomes.rung.tolist()), "rows": pa.array(outcomes.rows.astype(np.int64))}
    facts |= {name: pa.array(numbers, from_pandas=True) for name, numbers in measured.items()}
    return pa.table(columns | {_free(name, columns): column for name, column in facts.items()})


def worst(outcomes: Outcomes, own: Shrunk, apart: Deviations) -> tuple[Listed, ...]:
    """The worst after shrinkage first; of two alike the one with more rows."""
    sign = 1 if outcomes.score.rows_better == "higher" else -1
    order = np.lexsort((-outcomes.rows, sign * own.score))
    return _listed(outcomes, own, apart, order[:_LISTED])


def deviating(outcomes: Outcomes, own: Shrunk, apart: Deviations) -> tuple[Listed, ...]:
    """Those that deviate from what their parts give elsewhere, the surest first."""
    named = np.flatnonzero(apart.q <= RATE)
    order = named[np.lexsort((-np.abs(apart.deviation[named]), apart.p[named]))]
    return _listed(outcomes, own, apart, order[:_LISTED])


def _listed(outcomes: Outcomes, own: Shrunk, apart: Deviations, places: Ints) -> tuple[Listed, ...]:
    return tuple(
        Listed(
            combination=outcomes.labels(int(place)),
            rung=str(outcomes.rung[place]),
            rows=int(outcomes.rows[place]),
            score=float(outcomes.mean[place]),
            shrunk=float(own.score[place]),
            low=_known(own.low[place]),
            high=_known(own.high[place]),
            expected=_known(apart.expected[place]),
            deviation=_known(apart.deviation[place]),
            q=_known(apart.q[place]),
        )
        for place in places
    )


def _known(number: float) -> float | None:
    return float(number) if np.isfinite(number) else None


def _free(name: str, taken: dict[str, pa.Array]) -> str:
    """A column's name that no factor has."""
    while name in taken:
        name += "_"
    return name
