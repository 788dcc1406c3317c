"""How much better the plan's order would have been on the table's own past than a random one.

Some seen combinations are kept, the others are taken to be not collected yet. The plan then orders these, and so do
random draws; after each number of combinations collected the same figure is measured. Everything costs 1 here.
"""

from dataclasses import dataclass

import numpy as np

from recombine.base.errors import SettingError
from recombine.base.progress import Progress, silent
from recombine.base.words import count, measure
from recombine.data.support import Support
from recombine.numerics.groups import Codes, Ints, Numbers
from recombine.numerics.intervals import prediction_interval
from recombine.numerics.resampling import IntervalSettings
from recombine.verbs.audit.determinacy import determinacy
from recombine.verbs.plan.collectable import Collectable, Costs
from recombine.verbs.plan.goal_covering import ORDERS, Conjunctions, order_by_gain
from recombine.verbs.plan.goal_determined import plan_determined
from recombine.verbs.plan.goal_leverage import LISTED, leverage_updates, plan_leverage
from recombine.verbs.plan.goal_variance import Posterior, plan_variance
from recombine.verbs.plan.open_directions import OpenDirections
from recombine.verbs.predict.answers import answers
from recombine.verbs.predict.kernel.salience import Salience
from recombine.verbs.predict.kernel.salience_fit import resolve
from recombine.verbs.predict.learner import learn

DRAWS = 20  # random orders
_MOST_REPLAYED = 3_000  # combinations; of more a random part is replayed
_LEAST_REPLAYED = 5  # combinations: one to start from, and a few whose order can matter
_POINTS = 16  # along the curve
_SHARE = {"determined": 0.1, "pairs": 0.1, "triples": 0.1, "leverage": 0.1, "variance": 0.25}


@dataclass(frozen=True)
class Replay:
    """The plan's order beside random ones, after each number of combinations collected.

    `random`, `low` and `high` are the mean and the range in which the next random order lies with 95 %. `area` is by
    how much the plan's order was better on average along the curve (negative: worse), with the same range over random
    orders.
    """

    measure: str
    better: str
    start: int
    pool: int
    draws: int
    collected: tuple[int, ...]
    planned: tuple[float, ...]
    random: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    area: float
    area_low: float
    area_high: float
    said: str


@dataclass(frozen=True, eq=False)
class _Past:
    """A start, what is pretended not to be collected yet, and what no order may collect, to be judged by."""

    support: Support
    start: Ints
    pool: Ints
    aside: Ints

    def first(self) -> Support:
        return self.support.subset(np.sort(self.start))

    def after(self, order: Ints, collected: int) -> Support:
        return self.support.subset(np.sort(np.concatenate([self.start, self.pool[order[:collected]]])))


@dataclass(frozen=True)
class LearnerSettings:
    """What the goal "variance" needs to know of the learner."""

    salience: Salience | str
    ridge: float


def replay(support: Support, goal: str, *, learning: LearnerSettings, seed: int, tell: Progress) -> Replay:
    """Replay a table's past in the plan's order and in random ones."""
    if len(support) < _LEAST_REPLAYED:
        raise SettingError(
            f"a replay of {len(support)} combinations",
            why=f"there is no past to replay with fewer than {_LEAST_REPLAYED}",
            instead="leave the replay out",
        )
    rng = np.random.default_rng([seed, 1])
    kept = support
    if len(support) > _MOST_REPLAYED:
        kept = support.subset(np.sort(rng.permutation(len(support))[:_MOST_REPLAYED]))
    past = _past(kept, goal, rng)
    tell("replaying the past", None)
    planned = _Replayer(goal, learning, seed)
    order, useful = planned.order(past)
    # measured up to three times as far as the plan has use for, or to the end of what there is
    most = min(len(past.pool), max(3 * useful, 12))
    grid = sorted({round(most * step / _POINTS) for step in range(_POINTS + 1)})
    found = planned.along(past, order, grid)
    draws = []
    for draw in range(DRAWS):
        tell("replaying the past", draw / DRAWS)
        draws.append(planned.along(past, rng.permutation(len(past.pool)), grid))
    return _summary(planned, past, grid, found, np.stack(draws), thinned=len(kept) < len(support))


def _past(support: Support, goal: str, rng: np.random.Generator) -> _Past:
    """A small random start; for leverage one that already determines what the whole table does."""
    shuffled = rng.permutation(len(support))
    start = shuffled[: max(1, round(_SHARE[goal] * len(support)))]
    if goal == "leverage":
        one = support.subset(start[:1])
        directions = OpenDirections.of(one, seed=0)
        codes = support.codes[shuffled]
        basis = directions.independent(codes, directions.forms(np.arange(len(directions.open_values))))[0]
        start = np.unique(np.concatenate([start, shuffled[basis]]))
    rest = rng.permutation(np.setdiff1d(np.arange(len(support)), start))
    aside = len(rest) // 3 if goal == "variance" else 0  # judged on what is left over, an order could drop what is hard
    return _Past(support, start, rest[aside:], rest[:aside])


class _Replayer:
    """One goal's order, and its figure along any order."""

    def __init__(self, goal: str, learning: LearnerSettings, seed: int) -> None:
        self.goal, self.learning, self.seed = goal, learning, seed
        self.higher = goal in ("determined", "pairs", "triples")

    def name(self, past: _Past) -> str:
        if self.goal == "variance":
            what = "mean variance of"
            if past.support.target is not None:
                numbers = answers(past.support, one_class=True).kind == "number"
                what = "root mean squared error on" if numbers else "share of wrong labels on"
            return f"{what} combinations set aside"
        return {"determined": "share determined", "leverage": "worst leverage"}.get(self.goal, f"share of {self.goal}")

    def order(self, past: _Past) -> tuple[Ints, int]:
        """The plan's order of the pool, the rest at random behind it; and how many lines the plan has use for."""
        first = past.first()
        plain = Collectable(first, Costs.of(None, first.space))
        pool = past.support.codes[past.pool]
        chosen = self._chosen(plain, pool)
        place = {tuple(row): i for i, row in enumerate(pool.tolist())}
        planned = np.array([place[tuple(row)] for row in chosen.tolist()], dtype=np.int64)
        rest = np.setdiff1d(np.arange(len(pool)), planned)
        shuffled = np.random.default_rng([self.seed, 2]).permutation(rest)
        return np.concatenate([planned, shuffled]), len(planned)

    def _chosen(self, plain: Collectable, pool: Codes) -> Codes:
        if self.goal in ORDERS:
            conjunctions = Conjunctions.of(plain.space, ORDERS[self.goal])
            open_ = ~conjunctions.covered(plain.support.codes)
            order = order_by_gain(pool, np.ones(len(pool)), conjunctions, open_)
            gained = np.asarray(open_[conjunctions.numbers(pool)].any(axis=1))
            return pool[order[gained[order]]]
        if self.goal == "determined":
            return plan_determined(plain, budget=None, seed=self.seed, tell=silent, pool=pool).codes
        budget = float(min(len(pool), 50))
        if self.goal == "leverage":
            return plan_leverage(plain, budget=budget, seed=self.seed, tell=silent, pool=pool).codes
        posterior = self._posterior(plain.support)
        return plan_variance(plain, posterior, budget=budget, seed=self.seed, tell=silent, pool=pool).codes

    def _posterior(self, support: Support) -> Posterior:
        return Posterior(
            support, resolve(self.learning.salience, support, seed=self.seed), self.learning.ridge, self.seed
        )

    def along(self, past: _Past, order: Ints, grid: list[int]) -> Numbers:
        """The goal's figure after each number of combinations collected in an order."""
        if self.goal == "determined":
            return np.array([_share_determined(past.after(order, collected)) for collected in grid])
        if self.goal == "leverage":
            return self._leverage_along(past, order, grid)
        if self.goal == "variance":
            return self._variance_along(past, order, grid)
        return self._covered_along(past, order, grid)

    def _covered_along(self, past: _Past, order: Ints, grid: list[int]) -> Numbers:
        conjunctions = Conjunctions.of(past.support.space, ORDERS[self.goal])
        flags = conjunctions.covered(past.support.codes[past.start])
        found, before = [], 0
        for collected in grid:
            rows = past.support.codes[past.pool[order[before:collected]]]
            flags |= conjunctions.covered(rows)
            found.append(flags.mean())
            before = collected
        return np.array(found)

    def _leverage_along(self, past: _Past, order: Ints, grid: list[int]) -> Numbers:
        first = past.first()
        found = determinacy(first, seed=self.seed)
        plain = Collectable(first, Costs.of(None, first.space))
        rest, _ = plain.unseen(listed=LISTED, drawn=20_000, seed=self.seed)
        pool = past.support.codes[past.pool]
        asked = np.concatenate([pool, rest[found.determined(rest)]])
        asked = asked[np.sort(np.unique(asked, axis=0, return_index=True)[1])]  # the pool first, each once
        firm = leverage_updates(first, found, asked)
        open_ = np.ones(len(asked), dtype=bool)
        worst, before = [], 0
        for collected in grid:
            for line in order[before:collected]:
                firm.add(int(line))
                open_[line] = False
            worst.append(float(firm.leverage[open_].max()) if open_.any() else 0.0)
            before = collected
        return np.array(worst)

    def _variance_along(self, past: _Past, order: Ints, grid: list[int]) -> Numbers:
        asked = past.support.codes[past.aside]
        salience = resolve(self.learning.salience, past.first(), seed=self.seed)
        found = []
        for collected in grid:
            known = past.after(order, collected)
            if past.support.target is not None:
                found.append(self._error(past, known, salience))
                continue
            posterior = Posterior(known, salience, self.learning.ridge, self.seed)
            found.append(float(posterior.uncertainty.of(asked)[0].mean()))
        return np.array(found)

    def _error(self, past: _Past, known: Support, salience: Salience) -> float:
        """Root mean squared error, or the share of wrong labels, on the combinations set aside."""
        own = answers(known, one_class=True)
        learner = learn(known, own, salience, loss="squared", ridge=self.learning.ridge, seed=self.seed)
        truth = answers(past.support, one_class=True)
        asked = np.flatnonzero(np.isin(truth.rows, past.aside))
        scores = own.bounded(learner.fitted.scores(past.support.codes[truth.rows[asked]]))
        if own.kind == "number":
            return float(np.sqrt(np.mean((scores - truth.values[asked]) ** 2)))
        return float((own.decide(scores) != truth.labels[asked]).mean())


def _share_determined(support: Support) -> float:
    found = determinacy(support)
    return (found.count() - found.count_impossible(support)[0]) / support.space.size


def _summary(
    replayed: _Replayer, past: _Past, grid: list[int], planned: Numbers, draws: Numbers, *, thinned: bool
) -> Replay:
    sign = 1 if replayed.higher else -1
    areas = sign * (planned - draws).mean(axis=1)
    settings = IntervalSettings(draws=DRAWS)
    low, high = prediction_interval(draws, settings, least=0.0, most=1.0 if replayed.higher else np.inf)
    area, (area_low, area_high) = float(areas.mean()), map(float, prediction_interval(areas, settings))
    middle = len(grid) // 2
    name = replayed.name(past)
    verdict = (
        "The plan's order was better than chance"
        if area_low > 0
        else "The plan's order was worse than chance"
        if area_high < 0
        else "The plan's order was not clearly better than chance"
    )
    said = (
        f"{verdict} on this table's own past{' (a random part of it)' if thinned else ''}: "
        f"after {count(grid[middle])} more combinations the {name} was {measure(float(planned[middle]))}, "
        f"in random order {measure(float(draws[:, middle].mean()))}; "
        f"along the curve it was better by {measure(area)} on average "
        f"({measure(area_low)} to {measure(area_high)} over {DRAWS} random orders)."
    )
    return Replay(
        measure=name,
        better="higher" if replayed.higher else "lower",
        start=len(past.start),
        pool=len(past.pool),
        draws=DRAWS,
        collected=tuple(grid),
        planned=tuple(planned.tolist()),
        random=tuple(draws.mean(axis=0).tolist()),
        low=tuple(low.tolist()),
        high=tuple(high.tolist()),
        area=area,
        area_low=area_low,
        area_high=area_high,
        said=said,
    )
