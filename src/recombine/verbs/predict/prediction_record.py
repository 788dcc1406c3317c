"""A prediction's smaller parts, how each is written into a record, and how it is read back."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from recombine.base.decoding import Unbounded, Unknown, revive
from recombine.base.records import Record, plain
from recombine.data.space import Space
from recombine.verbs.predict.answers import Truth
from recombine.verbs.predict.backtest import Backtest
from recombine.verbs.predict.ensemble_members import Panel, named
from recombine.verbs.predict.kernel.order_weights import Weights, WeightsBySize
from recombine.verbs.predict.kernel.salience import Salience, members
from recombine.verbs.predict.learner import FittedLearner


@dataclass(frozen=True)
class FailingCombination:
    """A combination that would go wrong, and why."""

    combination: dict[str, str]
    verdict: str
    prediction: str | float
    truth: str | float | None
    why: str


@dataclass(frozen=True)
class NamedError:
    """A measure of error by its name; NaN where nothing was known."""

    name: str
    value: Unknown


@dataclass(frozen=True)
class TruthScore:
    """How the predictions compare with the true answers of unseen combinations."""

    source: str
    known: int
    wrong: int
    error: NamedError


@dataclass(frozen=True)
class _Weight:
    """The weight of one set of factors, as it stands in a record; none for a free intercept."""

    factors: tuple[str, ...]
    weight: Unbounded


@dataclass(frozen=True)
class _DescribedSalience:
    """What stands in a record of a salience."""

    name: str
    noise: float
    note: str
    weights: tuple[_Weight, ...]
    orders: tuple[Unbounded, ...] = ()  # in place of the weights, where sets of one size share theirs


def describe_salience(salience: Salience, names: tuple[str, ...]) -> dict[str, Any]:
    """Every weight by the names of its factors; none for a free intercept."""
    return {
        "name": salience.name,
        "noise": salience.noise,
        "note": salience.note,
        **_describe_weights(salience.weights, names),
    }


def _describe_weights(weights: Weights, names: tuple[str, ...]) -> dict[str, Any]:
    if isinstance(weights, WeightsBySize):
        return {"weights": [], "orders": plain(weights.orders)}
    return {
        "weights": [
            {"factors": [names[k] for k in members(mask)], "weight": plain(weight)}
            for mask, weight in enumerate(weights)
        ]
    }


@dataclass(frozen=True)
class _DescribedPanel:
    """What stands in a record of the learners that were asked: their names."""

    members: tuple[str, ...]
    beside: tuple[str, ...]


def describe_panel(panel: Panel) -> dict[str, Any]:
    """Whose mean the forecast is, and who was asked beside them."""
    return {"members": list(panel.names), "beside": [named(one) for one in panel.beside]}


def revive_panel(saved: dict[str, Any] | None, learner: FittedLearner) -> Panel:
    """The same learners, fitted again only when they are asked; in older records there is one alone."""
    if saved is None:
        return Panel(learner, (learner,))
    found = revive(_DescribedPanel, saved, at="panel")
    return Panel.of(learner, found.members, found.beside)


def describe_backtest(record: Backtest | None) -> dict[str, Any] | None:
    """The track record, its rungs by the names of the methods."""
    if record is None:
        return None
    names = [method.name for method in record.methods]
    rungs = [
        {"rung": one.rung, "tested": one.tested, **dict(zip(names, one.scores, strict=True))} for one in record.rungs
    ]
    return {**plain(record), "rungs": plain(rungs), "repeats": record.folds}


def revive_salience(saved: dict[str, Any]) -> Salience:
    """A salience as it was."""
    found = revive(_DescribedSalience, saved, at="salience")
    if found.orders:
        return Salience(len(found.orders) - 1, WeightsBySize(found.orders), found.noise, found.name, found.note)
    weights = tuple(one.weight for one in found.weights)
    return Salience(len(weights).bit_length() - 1, weights, found.noise, found.name, found.note)


def revive_backtest(saved: dict[str, Any] | None) -> Backtest | None:
    """The track record as it was."""
    if saved is None:
        return None
    names = [method["name"] for method in saved["methods"]]
    rungs = [
        {"rung": one["rung"], "tested": one["tested"], "scores": [one[name] for name in names]}
        for one in saved["rungs"]
    ]
    kept = {key: value for key, value in saved.items() if key != "repeats"}
    revived: Backtest = revive(Backtest, kept | {"rungs": rungs}, at="backtest")
    return revived


def truth_table(truth: Truth, space: Space) -> pa.Table:
    """The true answers as a record keeps them; sets as lists, since one that was never read has no code that stays."""
    columns = {
        f"code{k}": codes if factor.sets is None else factor.column(codes)
        for k, (factor, codes) in enumerate(zip(space.factors, truth.codes.T, strict=True))
    }
    return pa.table(columns | {"value": truth.values, "count": truth.counts})


def revive_truth(record: Record, space: Space) -> Truth | None:
    """The true answers as they were."""
    if "truth" not in record.tables:
        return None
    table = record.tables["truth"]
    columns = [
        table[f"code{k}"].to_numpy() if factor.sets is None else factor.codes(table[f"code{k}"].to_pylist())
        for k, factor in enumerate(space.factors)
    ]
    codes = np.stack(columns, axis=1).astype(np.int32)
    return Truth(record.data["truth"]["source"], codes, table["value"].to_numpy(), table["count"].to_numpy())
