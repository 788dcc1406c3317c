"""Tables about which one thing is said: a worst group, combinations that deviate, a factor that answers depend on."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from evidence.drawing import (
    CannotPlantError,
    Codes,
    Columns,
    Ints,
    Mask,
    Numbers,
    Rng,
    every_value_seen,
    grid,
    logistic,
    value_columns,
)


@dataclass(frozen=True, eq=False)
class GroupWorld:
    """Groups of a background and a true class; the chance of a right answer in each, background by class."""

    table: Columns
    right: Numbers  # (backgrounds, 2)


def groups(rng: Rng, *, count: int, rows: int, right: float = 0.9, bad: float | None = None) -> GroupWorld:
    """All groups alike, or one of them bad. Every group was trained on."""
    chances = np.full((count // 2, 2), right)
    if bad is not None:
        chances[rng.integers(count // 2), rng.integers(2)] = bad
    background, label = np.repeat(grid(count // 2, 2), rows, axis=0).T
    said = np.where(rng.random(len(label)) < chances[background, label], label, 1 - label)
    words = {"bg": [f"b{one}" for one in background], "y": [f"L{one}" for one in label]}
    words["said"] = [f"L{one}" for one in said]
    table = {name: column * 2 for name, column in words.items()}
    return GroupWorld(table | {"split": ["test"] * len(label) + ["train"] * len(label)}, chances)


@dataclass(frozen=True, eq=False)
class DeviationWorld:
    """Combinations of which some may deviate from what their values say."""

    table: Columns
    codes: Codes
    bad: Mask


def deviations(rng: Rng, *, kind: str, drop: float = 0.0) -> DeviationWorld:
    """Difficulties that add up, in shares or logits, with even rows or a few large ones; three may be worse by `drop`.

    With `drop` 0 whoever is named is named falsely.
    """
    codes, bad = grid(8, 8), np.zeros(64, dtype=bool)
    steps = codes.sum(axis=1) / 7
    rows = np.full(64, 20)
    right = {"logits": logistic(3.5 - 3 * steps), "ceiling": np.full(64, 0.98)}.get(kind, 0.95 - 0.25 * steps)
    if kind == "zipf":
        rows = np.minimum(np.ceil(3 * rng.pareto(1.0, 64) + 2), 300).astype(np.int64)
    if drop:
        bad[rng.choice(64, 3, replace=False)] = True
        right = 0.95 - 0.15 * steps - drop * bad
    unseen = np.isin(np.arange(64), rng.choice(64, 12, replace=False))
    tested, trained = np.repeat(np.arange(64), rows), np.repeat(np.flatnonzero(~unseen), 2)
    truth = rng.integers(0, 4, len(tested) + len(trained))
    wrong = np.concatenate([rng.random(len(tested)) >= right[tested], np.zeros(len(trained), dtype=bool)])
    return DeviationWorld(_answered(codes, tested, trained, truth, (truth + wrong) % 4), codes, bad)


def deviations_of_numbers(rng: Rng, *, kind: str) -> DeviationWorld:
    """Errors of one law in all combinations, with tails of some weight."""
    codes = grid(8, 8)
    tested = np.repeat(np.arange(64), 12)
    errors = {"t3": rng.standard_t(3, 768), "normal": rng.standard_normal(768)}
    truth = rng.standard_normal(768)
    said = truth + errors.get(kind, np.exp(rng.standard_normal(768)))
    table = value_columns(codes[tested]) | {"y": truth.tolist(), "said": said.tolist()}
    return DeviationWorld(table, codes, np.zeros(64, dtype=bool))


@dataclass(frozen=True, eq=False)
class CauseWorld:
    """Errors with a cause or without one. The truth is a class of `a`; `b` does not matter."""

    table: Columns
    followed: str | None  # the factor that wrong answers follow


def causes(rng: Rng, *, kind: str) -> CauseWorld:
    """Nine values each of `a` and `b`, three classes; combinations whose classes agree are seen more often."""
    codes = grid(9, 9)
    truth_of, usual = codes[:, 0] % 3, codes[:, 1] % 3
    seen = rng.random(81) < np.where(truth_of == usual, 0.85, 0.35)
    if not every_value_seen(codes, seen, 1):
        raise CannotPlantError
    tested, trained = np.repeat(np.arange(81), 10), np.repeat(np.flatnonzero(seen), 5)
    said = _ERRORS[kind](codes, tested, ~seen, rng)
    truth = truth_of[np.concatenate([tested, trained])]
    table = _answered(codes, tested, trained, truth, np.concatenate([said, truth_of[trained]]))
    return CauseWorld(table, "b" if kind == "shortcut" else None)


def _any_error(chance: Numbers, codes: Codes, tested: Ints, rng: Rng) -> Ints:
    """Wrong with the chance of each combination, and then one of the two other classes."""
    truth = codes[tested, 0] % 3
    wrong = rng.random(len(tested)) < chance[tested]
    return np.where(wrong, (truth + rng.integers(1, 3, len(tested))) % 3, truth)


def _random_err(codes: Codes, tested: Ints, _: Mask, rng: Rng) -> Ints:
    return _any_error(np.full(81, 0.25), codes, tested, rng)


def _random_err_combo(codes: Codes, tested: Ints, _: Mask, rng: Rng) -> Ints:
    """Each combination has an error rate of its own."""
    return _any_error(rng.beta(1.5, 4, 81), codes, tested, rng)


def _fixed_err_combo(codes: Codes, tested: Ints, _: Mask, rng: Rng) -> Ints:
    """A quarter of the combinations is always answered with one and the same wrong class."""
    wrong = (rng.random(81) < 0.25) * rng.integers(1, 3, 81)
    return (codes[:, 0] % 3 + wrong)[tested] % 3


def _hard_a(codes: Codes, tested: Ints, _: Mask, rng: Rng) -> Ints:
    """Some values of `a` are hard, whatever `b` is."""
    return _any_error(rng.beta(2, 5, 9)[codes[:, 0]], codes, tested, rng)


def _shortcut(codes: Codes, tested: Ints, unseen: Mask, rng: Rng) -> Ints:
    """In unseen combinations two answers in five are what `b` suggests; one row in twenty is a guess."""
    follows = unseen[tested] & (rng.random(len(tested)) < 0.4)
    said = np.where(follows, codes[tested, 1] % 3, codes[tested, 0] % 3)
    return np.where(rng.random(len(tested)) < 0.05, rng.integers(0, 3, len(tested)), said)


_ERRORS: Mapping[str, Callable[[Codes, Ints, Mask, Rng], Ints]] = {
    "random_err": _random_err,
    "random_err_combo": _random_err_combo,
    "fixed_err_combo": _fixed_err_combo,
    "shortcut": _shortcut,
    "hard_a": _hard_a,
}


def _answered(codes: Codes, tested: Ints, trained: Ints, truth: Ints, said: Ints) -> Columns:
    columns = value_columns(codes[np.concatenate([tested, trained])])
    columns |= {"y": [f"L{one}" for one in truth], "said": [f"L{one}" for one in said]}
    return columns | {"split": ["test"] * len(tested) + ["train"] * len(trained)}


GROUPS: Mapping[str, Callable[[Rng], GroupWorld]] = {
    "4 alike": partial(groups, count=4, rows=50),
    "16 alike": partial(groups, count=16, rows=50),
    "40 alike": partial(groups, count=40, rows=30),
    "100 tiny": partial(groups, count=100, rows=12),
    "1 of 4 bad": partial(groups, count=4, rows=50, bad=0.6),
    "1 of 16 bad": partial(groups, count=16, rows=50, bad=0.6),
    "1 of 40 bad": partial(groups, count=40, rows=30, bad=0.5),
}
DEVIATIONS: Mapping[str, Callable[[Rng], DeviationWorld]] = {
    "shares add up": partial(deviations, kind="shares"),
    "logits add up": partial(deviations, kind="logits"),
    "ceiling": partial(deviations, kind="ceiling"),
    "zipf": partial(deviations, kind="zipf"),
    "errors t3": partial(deviations_of_numbers, kind="t3"),
    "errors normal": partial(deviations_of_numbers, kind="normal"),
    "errors lognormal": partial(deviations_of_numbers, kind="lognormal"),
    "3 worse by 30": partial(deviations, kind="shares", drop=0.3),
    "3 worse by 50": partial(deviations, kind="shares", drop=0.5),
}
CAUSES: Mapping[str, Callable[[Rng], CauseWorld]] = {kind: partial(causes, kind=kind) for kind in _ERRORS}
