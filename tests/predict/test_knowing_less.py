"""Knowing less never makes an interval narrower: who adds truth, inputs, rows or combinations does not lose by it.

Planted worlds, asked in every state of knowledge. No number is as wide as an interval can be. One world may go the
other way by chance (another answer is nearer to the end of the scale, where intervals are cut off); their mean may not.
Worlds in which a forecast is worse than the mean's (an R² below 0) are left out: how much worse is not compared.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest

import recombine
from recombine import Examples
from recombine.verbs.predict import track_record

VALUES, ROWS, NOISE = 6, 8, 0.6
WIDEST = 2.0  # from -1 to 1
BY_CHANCE, ON_AVERAGE = 0.12, 0.01


class Knowledge(NamedTuple):
    """What is given: true answers, inputs (of nobody, of seen combinations, of all), and how much of it."""

    truth: bool = False
    inputs: str = "all"
    rows: float = 1.0
    combinations: float = 0.65


FACTORS, COMPOSED, BLIND, TOLD = Knowledge(inputs="none"), Knowledge(inputs="seen"), Knowledge(), Knowledge(truth=True)
MORE = {
    "truth, of factors alone": (FACTORS, FACTORS._replace(truth=True)),
    "inputs of seen combinations": (FACTORS, COMPOSED),
    "inputs of seen combinations, with truth": (FACTORS._replace(truth=True), COMPOSED._replace(truth=True)),
    "inputs of unseen combinations": (COMPOSED, BLIND),
    "inputs of unseen combinations, with truth": (COMPOSED._replace(truth=True), TOLD),
    "truth, where rows are composed": (COMPOSED, COMPOSED._replace(truth=True)),
    "truth": (BLIND, TOLD),
    "twice the rows": (BLIND._replace(rows=0.5), BLIND),
    "twice the rows, with truth": (TOLD._replace(rows=0.5), TOLD),
    "more combinations": (BLIND._replace(combinations=0.5), BLIND),
    "more combinations, with truth": (TOLD._replace(combinations=0.5), TOLD),
}


@dataclass(frozen=True, eq=False)
class World:
    """Rows with inputs, of which combination each is, and in which order combinations come to be seen."""

    table: dict[str, np.ndarray[Any, Any]]
    inputs: np.ndarray[Any, Any]
    combination: np.ndarray[Any, Any]
    turn: np.ndarray[Any, Any]

    def ask(self, given: Knowledge) -> float:
        """The width of the interval for the score of a network; the widest where none is given."""
        kept = np.arange(len(self.combination)) < given.rows * len(self.combination)
        seen = self.turn[self.combination] < given.combinations * VALUES**2
        shown = kept & (seen if given.inputs != "all" else np.ones_like(seen))
        table: dict[str, list[Any]] = {name: column[shown].tolist() for name, column in self.table.items()}
        table["y"] = [answer if known else None for answer, known in zip(table["y"], seen[shown], strict=True)]
        found = recombine.predict(
            table,
            factors=["a", "b"],
            target="y",
            truth={name: column.tolist() for name, column in self.table.items()} if given.truth else None,
            examples=Examples(None if given.inputs == "none" else self.inputs[shown]),
        ).network
        assert found is not None
        if found.value is None:
            return WIDEST
        assert found.low is not None
        assert found.high is not None
        return found.high - max(found.low, -1.0) if found.value >= 0 else float("nan")


@cache
def world(kind: str, seed: int) -> World:
    """The first factor's value is the answer, or the sum of an effect of each."""
    rng = np.random.default_rng([seed, kind == "label"])
    codes = np.indices((VALUES, VALUES)).reshape(2, -1).T
    places, effects = rng.normal(size=(2, VALUES, 8)) / np.sqrt(8), rng.normal(size=(2, VALUES))
    turn = rng.permutation(VALUES**2)
    while any(len(np.unique(codes[turn < VALUES**2 / 2, k])) < VALUES for k in range(2)):
        turn = rng.permutation(VALUES**2)
    combination = np.tile(np.arange(VALUES**2), ROWS)
    own = codes[combination]
    clean = np.concatenate([places[k][own[:, k]] for k in range(2)], axis=1)
    answer = (
        np.char.add("c", own[:, 0].astype(str)) if kind == "label" else effects[0][own[:, 0]] + effects[1][own[:, 1]]
    )
    table = {"a": np.char.add("v", own[:, 0].astype(str)), "b": np.char.add("v", own[:, 1].astype(str)), "y": answer}
    return World(table, clean + NOISE * rng.normal(size=clean.shape) / np.sqrt(8), combination, turn)


@cache
def width(kind: str, seed: int, given: Knowledge) -> float:
    return world(kind, seed).ask(given)


@pytest.mark.parametrize("more", ["truth", "inputs of unseen combinations", "inputs of seen combinations"])
@pytest.mark.parametrize("kind", ["label", "number"])
def test_who_knows_less_is_not_surer(kind: str, more: str) -> None:
    less, known = (width(kind, 0, given) for given in MORE[more])
    assert not less < known - BY_CHANCE


@pytest.mark.slow
@pytest.mark.parametrize("more", MORE)
@pytest.mark.parametrize("kind", ["label", "number"])
def test_nor_in_any_of_these_worlds(kind: str, more: str) -> None:
    gained = np.array([width(kind, seed, MORE[more][0]) - width(kind, seed, MORE[more][1]) for seed in range(6)])
    assert np.isfinite(gained).sum() >= 3
    assert np.nanmin(gained) >= -BY_CHANCE
    assert np.nanmean(gained) >= -ON_AVERAGE


@pytest.mark.parametrize("score", ["accuracy", "R²"])
def test_what_rests_on_less_was_off_by_no_less(score: str) -> None:
    rows = track_record.miss("examples", score)
    assert min(track_record.miss(basis, score) for basis in ("composed", "rehearsal")) >= rows


def test_of_factors_alone_no_network_is_forecast_unless_they_are_all_there_is() -> None:
    own = world("label", 0)
    seen = own.turn[own.combination] < 0.65 * VALUES**2
    table = {name: column[seen].tolist() for name, column in own.table.items()}
    alone, symbols = (
        recombine.predict(table, factors=["a", "b"], target="y", examples=Examples(symbols=all_there_is))
        for all_there_is in (False, True)
    )
    assert alone.network.abstains
    assert "reads examples" in alone.network.reason
    assert alone.verdict.endswith("how well a network reads examples, factors alone do not tell.")
    assert alone.expected == alone.held_out == symbols.expected, "over combinations nothing changes"
    if not symbols.network.abstains:
        assert symbols.network.low <= symbols.held_out.low
        assert symbols.network.high >= symbols.held_out.high
