"""The track record: hold out combinations that were seen, predict them, and compare with the simplest guesses.

Every combination that has an answer is held out once (in folds of `share` of them), so the unit of evidence is the
combination, and the intervals resample combinations. Weights that are fitted are fitted anew in every fold.

The guesses that a prediction must beat: the mean, the nearest seen combination, and the best additive rule.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from recombine.algebra.groups import Codes, Ints, Numbers
from recombine.checks import check_number, check_whole
from recombine.errors import TableError
from recombine.statistics.distributions import normal_quantile
from recombine.statistics.intervals import Interval, difference_interval, interval
from recombine.statistics.resampling import FEWEST, IntervalSettings, difference, mean, root_difference
from recombine.tables.support import Support
from recombine.theory.answers import Answers, answers
from recombine.theory.diagnosis import Diagnosis
from recombine.theory.learner import Loss, learn
from recombine.theory.resolve import resolve
from recombine.theory.salience import Salience
from recombine.theory.solver import Penalty
from recombine.theory.squared import Fitted, squared

_ALL_FOLDS = 20_000
_DRAWS = 1_000
_LEVELS = (0.5, 0.8, 0.9, 0.95)
_POINTS = 500
KERNEL = "kernel"
_ALMOST_NO_PENALTY = 1e-6


@dataclass(frozen=True)
class Method:
    """One way to predict: its score with a 95 % interval, and the kernel's score less this one's, with another.

    `difference` is (low, found, high). Intervals are None where fewer than five combinations were held out.
    """

    name: str
    score: float
    low: float | None
    high: float | None
    difference: tuple[float, float, float] | None


@dataclass(frozen=True)
class Calibration:
    """How often the truth lay within an interval that promised `nominal`."""

    nominal: float
    found: float


@dataclass(frozen=True)
class Coverage:
    """The same for 95 %, with an interval over combinations."""

    nominal: float
    found: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class RungScore:
    """Scores on one rung of the ladder, in the order of the methods."""

    rung: str
    tested: int
    scores: tuple[float, ...]


@dataclass(frozen=True)
class Backtest:
    """A track record.

    >>> import recombine
    >>> table = {"a": [a for a in range(6) for b in range(6)], "b": [b for a in range(6) for b in range(6)]}
    >>> table["y"] = [a + 2.0 * b for a in range(6) for b in range(6)]
    >>> record = backtest(recombine.read(table, factors=["a", "b"], target="y"), salience="relu:1")
    >>> record.tested, record.methods[1].name, record.methods[1].score < 1e-3
    (36, 'additive', True)
    """

    share: float
    folds: int
    tested: int
    score: str
    better: str
    methods: tuple[Method, ...]
    coverage: Coverage | None
    calibration: tuple[Calibration, ...]
    rungs: tuple[RungScore, ...]
    points: tuple[tuple[float, float, float, float], ...]

    @property
    def beats(self) -> tuple[str, ...]:
        """The methods that the kernel is better than, beyond chance."""
        return tuple(m.name for m in self.methods if m.difference and self._sign * m.difference[2 * self._upper] > 0)

    @property
    def loses_to(self) -> tuple[str, ...]:
        """The methods that are better than the kernel, beyond chance."""
        return tuple(
            m.name for m in self.methods if m.difference and self._sign * m.difference[2 - 2 * self._upper] < 0
        )

    @property
    def _sign(self) -> int:
        return 1 if self.better == "higher" else -1

    @property
    def _upper(self) -> int:
        return int(self.better == "lower")


def backtest(
    support: Support,
    *,
    salience: Salience | str = "relu:3",
    loss: Loss = "squared",
    ridge: float = 0.0,
    share: float = 0.2,
    folds: int | None = None,
    seed: int = 0,
    progress: Callable[[float], None] | None = None,
) -> Backtest:
    """Hold out a share of the seen combinations at a time and predict it from the others.

    `folds` says how often; by default until every combination was held out once, or once where there are very many.
    """
    own = answers(support)
    rounds = _rounds(len(own), share, folds)
    tried = []
    for done, (train, test) in enumerate(_splits(len(own), share, rounds, seed)):
        if progress:
            progress(done / rounds)
        tried.append(_fold(support, own, train, test, salience, loss, ridge, seed))
    return _summary(own, _joined(tried), share=share, folds=rounds, seed=seed)


def _rounds(combinations: int, share: float, folds: int | None) -> int:
    why = "it is the share held out at a time"
    check_number("share", share, above=0, most=0.5, why=why, instead="write share=0.2")
    if combinations < 5:
        raise TableError(
            f"a back-test with {combinations} combinations",
            why="too few to hold some out and learn from the rest",
            instead="back-test a table with at least 5 seen combinations",
        )
    most = round(1 / share)
    wanted = folds if folds is not None else most if combinations <= _ALL_FOLDS else 1
    why = f"with share={share} there are {most}"
    check_whole("folds", wanted, least=1, most=most, why=why, instead=f"write 1 to {most}")
    return wanted


def _splits(combinations: int, share: float, rounds: int, seed: int) -> list[tuple[Ints, Ints]]:
    order = np.random.default_rng(seed).permutation(combinations)
    parts = np.array_split(order, round(1 / share))
    return [(np.sort(np.setdiff1d(order, part)), np.sort(part)) for part in parts[:rounds]]


@dataclass(frozen=True, eq=False)
class _Tried:
    """What was held out and what everybody said. Legend: t combinations, m questions."""

    values: Numbers  # (t, m)
    labels: Ints  # (t,)
    said: dict[str, Numbers]  # (t, m) each
    sd: Numbers  # (t,)
    rungs: npt.NDArray[np.str_]


def _fold(
    support: Support,
    own: Answers,
    train: Ints,
    test: Ints,
    salience: Salience | str,
    loss: Loss,
    ridge: float,
    seed: int,
) -> _Tried:
    known = support.subset(own.rows[train])
    theirs = answers(known, one_class=True)
    learner = learn(known, theirs, resolve(salience, known, seed=seed), loss=loss, ridge=ridge, seed=seed)
    codes = support.codes[own.rows[test]]
    seen = Diagnosis(learner, codes, np.full(len(codes), np.nan))
    measured = (own.within or 0.0) / own.counts[test]
    said = {
        KERNEL: seen.scores,
        "additive": additive_rule(known, theirs, codes),
        "nearest seen": nearest_seen(known, theirs, codes),
        "mean" if own.kind == "number" else "majority": mean_answer(theirs, codes),
    }
    sd = np.sqrt(learner.scale * seen.variances[0] + measured)
    return _Tried(own.values[test], own.labels[test], said, sd, seen.rungs)


def _joined(tried: list[_Tried]) -> _Tried:
    return _Tried(
        np.concatenate([one.values for one in tried]),
        np.concatenate([one.labels for one in tried]),
        {name: np.concatenate([one.said[name] for one in tried]) for name in tried[0].said},
        np.concatenate([one.sd for one in tried]),
        np.concatenate([one.rungs for one in tried]),
    )


def _summary(own: Answers, tried: _Tried, *, share: float, folds: int, seed: int) -> Backtest:
    number = own.kind == "number"
    losses = {name: _losses(own, tried, said) for name, said in tried.said.items()}
    score = _root_mean if number else _plain_mean
    settings = IntervalSettings(draws=_DRAWS, seed=seed)
    return Backtest(
        share=share,
        folds=folds,
        tested=len(tried.labels),
        score="root mean squared error" if number else "accuracy",
        better="lower" if number else "higher",
        methods=tuple(_method(name, losses, settings, number=number) for name in losses),
        coverage=_coverage(tried, settings) if number else None,
        calibration=_calibration(tried) if number else (),
        rungs=_rungs(tried, losses, score),
        points=_points(tried, seed) if number else (),
    )


def _losses(own: Answers, tried: _Tried, said: Numbers) -> Numbers:
    """One number a combination: its squared error, or whether the class was right."""
    if own.kind == "number":
        return np.square((said - tried.values)[:, 0])
    return np.asarray(own.decide(said) == tried.labels).astype(np.float64)


def _root_mean(losses: Numbers) -> Numbers:
    return np.asarray(np.sqrt(np.mean(losses, axis=-1)), dtype=np.float64)


def _plain_mean(losses: Numbers) -> Numbers:
    return np.asarray(losses.mean(axis=-1), dtype=np.float64)


def _method(name: str, losses: dict[str, Numbers], settings: IntervalSettings, *, number: bool) -> Method:
    own = losses[name]
    score = float((_root_mean if number else _plain_mean)(own))
    low, high = _around(own, settings, number=number) or (None, None)
    against = None if name == KERNEL else _kernel_less(losses[KERNEL], own, settings, number=number)
    return Method(name, score, low, high, against)


def _around(losses: Numbers, settings: IntervalSettings, *, number: bool) -> Interval | None:
    """The interval of a score; where every combination has the same error there is nothing to widen it."""
    if len(losses) < FEWEST:
        return None
    statistic = mean(np.ones(len(losses)), losses)
    found = interval(statistic, settings, "score", share=not number, least=0.0) or (statistic.of_all,) * 2
    return (float(np.sqrt(found[0])), float(np.sqrt(found[1]))) if number else found


def _kernel_less(
    kernel: Numbers, other: Numbers, settings: IntervalSettings, *, number: bool
) -> tuple[float, float, float] | None:
    """The kernel's score less another's, both on the same combinations."""
    if len(kernel) < FEWEST:
        return None
    apart = root_difference(other, kernel) if number else difference(np.ones(len(kernel)), other, kernel)
    value = apart.of_all
    low, high = difference_interval(apart, settings, "difference", share=not number) or (value, value)
    return low, value, high


def _within(tried: _Tried, level: float) -> npt.NDArray[np.bool_]:
    reach = normal_quantile((1 + level) / 2) * tried.sd
    values = tried.values[:, 0]
    rounding = 1e-12 * values.std() + 8 * np.finfo(np.float64).eps * np.abs(values).max()
    return np.asarray(np.abs(tried.said[KERNEL][:, 0] - values) <= reach + rounding)


def _coverage(tried: _Tried, settings: IntervalSettings) -> Coverage:
    inside = _within(tried, 0.95).astype(np.float64)
    low, high = _around(inside, settings, number=False) or (None, None)
    return Coverage(0.95, float(inside.mean()), low, high)


def _calibration(tried: _Tried) -> tuple[Calibration, ...]:
    return tuple(Calibration(level, float(_within(tried, level).mean())) for level in _LEVELS)


def _rungs(tried: _Tried, losses: dict[str, Numbers], score: Callable[[Numbers], Numbers]) -> tuple[RungScore, ...]:
    found = []
    for rung in ("determined", "undetermined", "novel"):
        here = tried.rungs == rung
        if here.any():
            found.append(RungScore(rung, int(here.sum()), tuple(float(score(loss[here])) for loss in losses.values())))
    return tuple(found)


def _points(tried: _Tried, seed: int) -> tuple[tuple[float, float, float, float], ...]:
    chosen = np.arange(len(tried.sd))
    if len(chosen) > _POINTS:
        chosen = np.sort(np.random.default_rng(seed).choice(chosen, size=_POINTS, replace=False))
    said, reach = tried.said[KERNEL][chosen, 0], normal_quantile(0.975) * tried.sd[chosen]
    columns = (tried.values[chosen, 0], said, said - reach, said + reach)
    return tuple(zip(*(column.tolist() for column in columns), strict=True))


def mean_answer(answers: Answers, codes: Codes) -> Numbers:
    """The same answer everywhere: the mean over the seen combinations (for classes, the commonest one wins)."""
    return np.tile(answers.values.mean(axis=0), (len(codes), 1))


def nearest_seen(support: Support, answers: Answers, codes: Codes) -> Numbers:
    """The mean answer of the seen combinations that agree on the most factors.

    Where none agrees on more than r factors, each that agrees on r is in exactly one group of r factors, so group sums
    find them all.

    >>> import recombine
    >>> from recombine.theory.answers import answers
    >>> table = {"a": [0, 0, 1], "b": [0, 1, 0], "y": [1.0, 3.0, 7.0]}
    >>> seen = recombine.read(table, factors=["a", "b"], target="y")
    >>> nearest_seen(seen, answers(seen), np.array([[1, 1]])).tolist()
    [[5.0]]
    """
    factors = codes.shape[1]
    middle = answers.values.mean(axis=0)
    apart = answers.values - middle  # sums of large numbers that hardly differ would lose their digits
    found = np.zeros((len(codes), answers.questions))
    open_ = np.ones(len(codes), dtype=bool)
    for order in range(factors, 0, -1):
        total, count = np.zeros((len(codes), answers.questions)), np.zeros(len(codes))
        for chosen in combinations(range(factors), order):
            groups = support.groups(chosen)
            place = groups.lookup(codes)
            there = place >= 0
            sums = np.stack([groups.total(column) for column in apart.T], axis=1)
            total[there] += sums[place[there]]
            count[there] += groups.combinations[place[there]]
        hit = open_ & (count > 0)
        found[hit] = total[hit] / count[hit, None]
        open_ &= ~hit
    return np.asarray(found + middle)


def additive_rule(support: Support, answers: Answers, codes: Codes) -> Numbers:
    """The sum of one number a value that fits the seen answers best; the smallest such numbers where several do."""
    factors = codes.shape[1]
    weights = [0.0] * 2**factors
    weights[0] = np.inf
    for k in range(factors):
        weights[1 << k] = 1.0
    duals = squared(support, tuple(weights), Penalty(_ALMOST_NO_PENALTY), answers.values)
    return Fitted.of(support, tuple(weights), duals).scores(codes)
