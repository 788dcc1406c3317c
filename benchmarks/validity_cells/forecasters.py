"""Who forecasts, what they are given, and what they said of a cell.

All but one know nothing of the trained network; "unseen = seen" is its measured score on seen combinations. The truth
of unseen combinations is given (`truth=`): a forecast is then of the learner's answers, not of the rule. *Blind* are
those that are not given it.
"""

import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

import recombine
from recombine import Examples, FitSettings
from recombine.base.errors import RecombineError
from recombine.base.grades import Expected, earned
from validity_cells.cell import Cell
from validity_cells.data import Array, Data, Rows, keys

DEPTHS = {"linear": 1, "toy": 2, "stopped": 2, "cnn": 3}
"""Hidden layers of the learners whose name does not say it."""
ANSWER = "answer"


@dataclass(frozen=True)
class Forecast:
    """What was said of one cell; without a value, why nothing was."""

    value: float | None = None
    low: float | None = None
    high: float | None = None
    grade: str | None = None
    basis: str | None = None
    reason: str | None = None
    seconds: float = 0.0
    commit: str | None = None

    def plain(self) -> dict[str, Any]:
        """As JSON holds it, without what is not there."""
        return {name: value for name, value in asdict(self).items() if value is not None}


Forecaster = Callable[..., Forecast]


def factors(data: Data) -> list[str]:
    """The names of the factors."""
    return [f"factor_{k}" for k in range(len(data.sizes))]


def columns(rows: Rows, data: Data, *, answers: bool = True) -> dict[str, list[Any]]:
    """Rows as a table; values and labels are text, so that nobody takes their numbers for amounts."""
    table: dict[str, list[Any]] = {
        name: [f"v{code}" for code in rows.codes[:, k]] for k, name in enumerate(factors(data))
    }
    labels = [f"c{label}" for label in rows.target] if data.classes else rows.target.tolist()
    return table | {ANSWER: labels if answers else [None] * len(rows)}


def _stacked(one: dict[str, list[Any]], other: dict[str, list[Any]]) -> dict[str, list[Any]]:
    return {name: values + other[name] for name, values in one.items()}


def depth(cell: Cell) -> int:
    """How many hidden layers the trained network has."""
    return DEPTHS.get(cell.learner) or int(cell.learner.split()[-1])


def constant(cell: Cell, data: Data) -> Forecast:  # noqa: ARG001 - every forecaster is asked the same way
    """The commonest label of the seen rows; the mean of what was seen has an R² of 0."""
    if data.classes is None:
        return Forecast(0.0)
    commonest = np.bincount(data.seen.target).argmax()
    return Forecast(float(np.mean(data.unseen.target == commonest)))


def probe(cell: Cell, data: Data) -> Forecast:  # noqa: ARG001
    """Logistic or ridge regression on the inputs, scored on the unseen rows."""
    from sklearn.linear_model import LogisticRegression, RidgeCV  # noqa: PLC0415 - an extra
    from sklearn.pipeline import make_pipeline  # noqa: PLC0415
    from sklearn.preprocessing import StandardScaler  # noqa: PLC0415

    last = RidgeCV(np.logspace(-2, 4, 7)) if data.classes is None else LogisticRegression(C=0.1, max_iter=300)
    said = make_pipeline(StandardScaler(), last).fit(data.seen.flat, data.seen.target).predict(data.unseen.flat)
    return Forecast(score(said, data))


def score(said: Array, data: Data) -> float:
    """Accuracy on the unseen rows, or R² beside the mean of what was seen."""
    if data.classes is not None:
        return float(np.mean(said == data.unseen.target))
    error = np.mean((said - data.unseen.target) ** 2)
    return 1 - float(error / np.mean((data.unseen.target - data.seen.target.mean(axis=0)) ** 2))


def by_combinations(cell: Cell, data: Data) -> Forecast:
    """`predict` as it is, told whether all examples of a combination look the same."""
    return _predicted(data, columns(data.seen, data), Examples(symbols=cell.group == "symbols"))


def matched(cell: Cell, data: Data) -> Forecast:
    """`predict` with the depth of the network, and its loss."""
    loss = "squared" if data.classes is None else "margin"
    how = {"salience": f"relu:{depth(cell)}", "fit": FitSettings(loss)}
    return _predicted(data, columns(data.seen, data), Examples(symbols=cell.group == "symbols"), **how)


def with_unseen_inputs(cell: Cell, data: Data) -> Forecast:  # noqa: ARG001
    """`predict(examples=Examples(…))` where unseen combinations have rows without an answer."""
    if data.seen.target.ndim > 1:
        return _of_arrays(data, data.unseen.flat, data.unseen)
    table = _stacked(columns(data.seen, data), columns(data.unseen, data, answers=False))
    return _predicted(data, table, Examples(np.concatenate([data.seen.flat, data.unseen.flat])))


def blind(cell: Cell, data: Data) -> Forecast:  # noqa: ARG001
    """The same without any true answer of an unseen combination, as everybody has to ask."""
    table = _stacked(columns(data.seen, data), columns(data.unseen, data, answers=False))
    given = Examples(np.concatenate([data.seen.flat, data.unseen.flat]))
    return _said(lambda: recombine.predict(table, examples=given, **_asked(data)), data)


def blind_by_combinations(cell: Cell, data: Data) -> Forecast:
    """`predict` with nothing but the table."""
    given = Examples(symbols=cell.group == "symbols")
    return _said(lambda: recombine.predict(columns(data.seen, data), examples=given, **_asked(data)), data)


def with_seen_score(cell: Cell, data: Data, *, seen: float) -> Forecast:  # noqa: ARG001
    """The same, told how well the trained network does on new rows of combinations that it has seen."""
    return _of_arrays(data, data.unseen.flat, data.unseen, seen_score=min(seen, 1.0))


def with_seen_inputs(cell: Cell, data: Data) -> Forecast:  # noqa: ARG001
    """`predict(examples=Examples(…))` where no input of an unseen combination is there."""
    if data.seen.target.ndim > 1:
        first = np.unique(keys(data.unseen.codes, data.sizes), return_index=True)[1]
        return _of_arrays(data, None, data.unseen[first])
    return _predicted(data, columns(data.seen, data), Examples(data.seen.flat))


def _of_arrays(data: Data, inputs: Array | None, asked: Rows, **told: Any) -> Forecast:
    """What `predict` asks itself, from arrays: a table has no column for a picture as target."""
    from recombine.verbs.predict.examples.forecast import forecast  # noqa: PLC0415 - an extra

    seen = data.seen
    given = (seen.flat, seen.target, seen.codes, inputs, asked.codes, asked.target)
    found = forecast(*given, kind=data.kind, **told).expected
    return _kept(found, earned(found))


def rehearsed(cell: Cell, data: Data) -> Forecast:
    """`rehearse` in closed form: on the inputs; of symbols, which are nothing but their factors, on those."""
    given: dict[str, Any] = {"learner": "relu:2"} if cell.group == "symbols" else {"learner": "examples"}
    given |= {} if cell.group == "symbols" else {"inputs": data.seen.flat}
    return _said(lambda: recombine.rehearse(columns(data.seen, data), **given, **_reading(data)), data)


def _predicted(data: Data, table: dict[str, list[Any]], examples: Examples, **how: Any) -> Forecast:
    return _said(lambda: recombine.predict(table, examples=examples, **how, **_reading(data)), data)


def _reading(data: Data) -> dict[str, Any]:
    return {**_asked(data), "truth": columns(data.unseen, data)}


def _asked(data: Data) -> dict[str, Any]:
    return {"factors": factors(data), "target": ANSWER}


def _said(ask: Callable[[], Any], data: Data) -> Forecast:
    if data.seen.target.ndim > 1:
        return Forecast(reason="a picture for a target: a table has one number in a column")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = ask()
    return _kept(getattr(result, "network", result.expected), result.grade)  # a rehearsal has but one


def _kept(found: Expected | None, grade: str) -> Forecast:
    if found is None or found.abstains:
        return Forecast(grade=grade, reason=getattr(found, "reason", None) or "too few combinations")
    return Forecast(found.value, found.low, found.high, grade, found.basis)


SCORED = "predict, unseen inputs, seen score"
FORECASTERS: dict[str, Forecaster] = {
    "majority or mean": constant,
    "linear probe": probe,
    "predict": by_combinations,
    "predict, matched": matched,
    "predict, unseen inputs": with_unseen_inputs,
    SCORED: with_seen_score,
    "predict, seen inputs": with_seen_inputs,
    "rehearse": rehearsed,
    "predict, unseen inputs, blind": blind,
    "predict, blind": blind_by_combinations,
}
WITHOUT_LIBRARY = ("majority or mean", "linear probe")
SEEN, TOGETHER = "unseen = seen", "all together"


def ask(name: str, cell: Cell, data: Data, *, seen: float) -> Forecast:
    """What a forecaster says of a cell, and in how many seconds. A refusal is an abstention, with its words."""
    started = time.perf_counter()
    try:
        found = FORECASTERS[name](cell, data, **({"seen": seen} if name == SCORED else {}))
    except RecombineError as error:
        found = Forecast(reason=str(error).splitlines()[0])
    return Forecast(**found.plain() | {"seconds": time.perf_counter() - started})


def together(cell: Cell, said: dict[str, Forecast]) -> Forecast | None:
    """The stated rule: symbols are their factors, so their combinations are asked; whatever else has inputs, those.

    Who abstains is followed by the next. None where one of them was not asked.
    """
    order = ("predict",) if cell.group == "symbols" else ("predict, unseen inputs", "predict, seen inputs", "predict")
    if not all(name in said for name in order):
        return None
    return next((said[name] for name in order if said[name].value is not None), said[order[0]])
