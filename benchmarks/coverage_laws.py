"""Can the score after collecting more combinations be read off a table by extrapolating? A hypothesis, and its test.

    python benchmarks/coverage_laws.py            # 96 curves, some three minutes of processor time
    python benchmarks/coverage_laws.py --smoke

A planted world has all its combinations. A user has a fifth of them. His learner is taught parts of what he has and
asked about the rest of it; laws are fitted to these errors and extrapolated to once, twice and four times his table,
and held against the learner taught so many combinations and asked about others that nobody had. Errors are shares of
the variance, those above 1 (worse than the mean) counted as 1. Nothing in the laws was chosen by the outcome.

The hypothesis: extrapolating four times is within .1 on 80 % of the curves, and the law says when it cannot.
"""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import nnls
from sklearn.ensemble import RandomForestRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPRegressor

from measure import options, table, write

Numbers = npt.NDArray[np.float64]

LEARNERS: dict[str, Callable[[], Any]] = {
    "ridge": lambda: Ridge(alpha=0.3),
    "products of two": lambda: KernelRidge(kernel="poly", degree=2, gamma=0.5, alpha=0.3),
    "radial kernel": lambda: KernelRidge(kernel="rbf", gamma=0.5, alpha=0.1),
    "forest": lambda: RandomForestRegressor(40, random_state=0, min_samples_leaf=2),
    "network": lambda: MLPRegressor(hidden_layer_sizes=(64, 64), max_iter=300, random_state=0, alpha=1e-3),
    "nearest": lambda: KNeighborsRegressor(3),
}
RULES = ("additive", "weak pairs", "strong pairs", "product", "low rank", "gated", "exclusive or", "noise")
SHARES, TIMES, ROUNDS = (0.3, 0.4, 0.5, 0.65, 0.8), (1, 2, 4), 6
NEAR = 0.1
SURE = 0.15


@dataclass(frozen=True)
class Curve:
    """What a learner missed: on parts of a user's table (combinations, mean, error of the mean), and after more."""

    rule: str
    learner: str
    combinations: int
    own: list[tuple[int, float, float]]
    later: dict[int, float]


def answers(rule: str, codes: npt.NDArray[np.int64], sizes: tuple[int, ...], rng: np.random.Generator) -> Numbers:
    """The answer of every combination, without noise."""
    parts = [rng.standard_normal(size)[codes[:, k]] for k, size in enumerate(sizes)]
    added = np.sum(parts, axis=0)
    if rule.endswith("pairs"):
        own = rng.standard_normal(sizes[:2])[codes[:, 0], codes[:, 1]]
        return added + (0.3 if rule.startswith("weak") else 1.0) * own
    if rule == "low rank":
        one, other = (rng.standard_normal((sizes[k], 3))[codes[:, k]] for k in range(2))
        return (one * other).sum(axis=1) + 0.5 * added
    return {
        "additive": added,
        "product": np.prod([1 + part for part in parts], axis=0),
        "gated": np.where(parts[0] > 0, parts[1], -parts[1]) + 0.3 * added,
        "exclusive or": 2.0 * ((parts[0] > 0) ^ (parts[1] > 0)) + 0.3 * added,
        "noise": rng.standard_normal(len(codes)),
    }[rule]


def world(seed: int, *, large: bool) -> tuple[str, Numbers, Numbers, np.random.Generator]:
    """A rule, one-hot factors and noisy answers of all combinations of two to four factors."""
    rng = np.random.default_rng(seed)
    rule, factors = RULES[seed % len(RULES)], int(rng.integers(2, 5))
    least, most = (700, 2_600) if large else (200, 2_500)
    while True:
        sizes = tuple(int(size) for size in rng.integers(3, 50 if factors == 2 else 13, factors))
        if least <= np.prod(sizes) <= most:
            break
    codes = np.array(list(product(*map(range, sizes))))
    shown = np.concatenate([np.eye(size)[codes[:, k]] for k, size in enumerate(sizes)], axis=1)
    truth = answers(rule, codes, sizes, rng)
    truth = (truth - truth.mean()) / truth.std() + rng.choice([0.1, 0.3, 0.6]) * rng.standard_normal(len(truth))
    return rule, shown, truth, rng


def curve(seed: int, *, large: bool) -> Curve:
    """One world and one learner, taught more and more."""
    rule, shown, truth, rng = world(seed, large=large)
    name = list(LEARNERS)[(seed // len(RULES) + seed) % len(LEARNERS)]

    def missed(train: Any, test: Any) -> float:
        said = LEARNERS[name]().fit(shown[train], truth[train]).predict(shown[test])
        return float(np.mean((truth[test] - said) ** 2) / np.var(truth[test]))

    order = rng.permutation(len(truth))
    asked, pool = np.split(order, [len(truth) // 5])
    has = pool[: len(pool) // 4]
    own = []
    for count in (int(share * len(has)) for share in SHARES):
        errors = []
        for _ in range(ROUNDS):
            mixed = rng.permutation(has)
            errors.append(missed(mixed[:count], mixed[count:]))
        own.append((count, float(np.mean(errors)), float(np.std(errors) / ROUNDS**0.5)))
    later = {
        times: float(
            np.mean([missed(rng.permutation(pool)[: times * len(has)] if times > 1 else has, asked) for _ in "abc"])
        )
        for times in TIMES
    }
    return Curve(rule, name, len(has), own, later)


def _laws(most: int) -> Iterator[Callable[[Numbers], Numbers]]:
    yield np.zeros_like
    for power in (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0):
        yield lambda count, power=power: (count / most) ** -power
    for scale in (0.15, 0.3, 0.6, 1.2):
        yield lambda count, scale=scale: np.exp(-count / most / scale)


def extrapolated(found: Curve, times: int) -> tuple[float, float]:
    """The error to expect, and how far the laws that fit are apart: a floor and a falling part, both at least 0."""
    count, error, spread = np.array(found.own).T
    error, spread = np.minimum(error, 1.2), np.maximum(spread, 0.03 * np.maximum(error, 0.1))
    misfit, said = [], []
    for number, law in enumerate(_laws(found.combinations)):
        design = np.stack([np.ones_like(count), law(count)], axis=1)
        weights, residual = nnls(design / spread[:, None], error / spread)
        misfit.append(residual**2 + (number > 0))
        said.append(weights[0] + weights[1] * law(np.array([times * found.combinations], dtype=float))[0])
    lead = np.array(misfit) - min(misfit)
    good = np.array(said)[lead < 4]
    return min(float(np.average(said, weights=np.exp(-lead / 2))), 1.0), float(np.ptp(good))


def summary(curves: list[Curve]) -> dict[str, dict[int, float]]:
    """By how many times the table: the share within .1 of the law, where the laws agree, and of "as it is now"."""
    found: dict[str, dict[int, float]] = {"law": {}, "law, where laws agree": {}, "they agree": {}, "as now": {}}
    for times in TIMES:
        told = [extrapolated(one, times) for one in curves]
        truth = [min(one.later[times], 1.0) for one in curves]
        near = np.array([abs(said - true) <= NEAR for (said, _), true in zip(told, truth, strict=True)])
        agree = np.array([apart <= SURE for _, apart in told])
        now = [abs(min(one.own[-1][1], 1.0) - true) <= NEAR for one, true in zip(curves, truth, strict=True)]
        found["law"][times] = float(near.mean())
        found["law, where laws agree"][times] = float(near[agree].mean()) if agree.any() else float("nan")
        found["they agree"][times] = float(agree.mean())
        found["as now"][times] = float(np.mean(now))
    return found


def main() -> None:
    """Both sizes of worlds."""
    given = options(__doc__).parse_args()
    warnings.filterwarnings("ignore", module="sklearn")
    told: dict[str, Any] = {}
    for large in (False, True):
        curves = [curve(seed, large=large) for seed in range(1_000, 1_008 if given.smoke else 1_048)]
        sizes = [one.combinations for one in curves]
        name = f"{len(curves)} curves, {min(sizes)} to {max(sizes)} combinations"
        told[name] = summary(curves)
        print(f"\n{name}")
        table(
            ["within .1 after", *(f"{times} x" for times in TIMES)],
            [[row, *(f"{one:.0%}" for one in by.values())] for row, by in told[name].items()],
        )
    write("coverage_laws", given, told)


if __name__ == "__main__":
    main()
