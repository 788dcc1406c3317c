"""The track record: hold out combinations that were seen, predict them, and compare with the simplest guesses.

Every combination that has an answer is held out once: one at a time where that has a closed form (`holdout_record`),
else in folds. The unit of evidence is the combination, and the intervals resample combinations.

The guesses that a prediction must beat: always the same answer, one factor alone, the nearest seen combination, and the
best additive rule. A learner that is additive itself can only be as good as the last: to be level with it is no defeat.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from recombine.base import limits
from recombine.base.argument_kinds import explain_kinds
from recombine.base.checks import check_number, check_whole
from recombine.base.errors import TableError
from recombine.base.grades import MATERIAL_LOSS
from recombine.base.progress import Progress
from recombine.data.read import support_of
from recombine.data.table_query import TableOptions, reading_of
from recombine.numerics.distributions import normal_quantile
from recombine.numerics.groups import Ints, Numbers
from recombine.numerics.intervals import Interval, difference_interval, interval
from recombine.numerics.resampling import FEWEST, IntervalSettings, difference, mean, root_difference
from recombine.numerics.simple_rules import is_alone
from recombine.verbs.predict.answers import Answers, answers
from recombine.verbs.predict.diagnosis import WRONG
from recombine.verbs.predict.ensemble_members import choose_learners
from recombine.verbs.predict.holdout_record import KERNEL, HeldOutAnswers, fold, joined, one_at_a_time
from recombine.verbs.predict.kernel.salience import Salience
from recombine.verbs.predict.kernel.salience_fit import resolve
from recombine.verbs.predict.learner import FitSettings, FittedLearner, learn, trained

SHARE = 0.2
"""Of the combinations, held out at a time where it is done in folds."""
_ALL_FOLDS = 20_000
_SAMPLED_FROM = 3_000
"""Combinations above which one fold must do, of at most so many, unless more folds are asked for."""
_SAMPLE = 2_000
_EACH = 25
"""Up to so many combinations, each is held out alone also where there is no closed form."""
_DRAWS = 1_000
_RUNGS = ("determined", "undetermined", "novel")
_LEVELS = (0.5, 0.8, 0.9, 0.95)
_POINTS = 500
_FIT = FitSettings()


@dataclass(frozen=True)
class Method:
    """One way to predict: its score with a 95 % interval, and the kernel's score less this one's, with another.

    `difference` is (low, found, high), over the combinations that the others fix. Intervals are None where fewer than
    five combinations were held out.
    `score` counts every combination alike, by its commonest class; `by_rows` counts every row, by its own class.
    """

    name: str
    score: float
    low: float | None
    high: float | None
    difference: tuple[float, float, float] | None
    by_rows: float | None = None


@dataclass(frozen=True)
class Calibration:
    """How often the truth lay within an interval that promised `nominal`."""

    nominal: float
    found: float


@dataclass(frozen=True)
class IntervalCoverage:
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
    coverage: IntervalCoverage | None
    calibration: tuple[Calibration, ...]
    rungs: tuple[RungScore, ...]
    points: tuple[tuple[float, float, float, float], ...]

    @property
    def beats(self) -> tuple[str, ...]:
        """The methods that the kernel is better than, beyond chance."""
        return tuple(m.name for m in self.methods if m.difference and self._sign * m.difference[2 * self._upper] > 0)

    @property
    def loses_to(self) -> tuple[str, ...]:
        """The methods that are better than the kernel, beyond chance and by what counts."""
        lead = {m.name: -self._sign * (self.methods[0].score - m.score) for m in self.methods}
        return tuple(name for name in self.behind if lead[name] > self._counts)

    @property
    def behind(self) -> tuple[str, ...]:
        """The methods that are better than the kernel, beyond chance, by however little."""
        upper = 2 - 2 * self._upper
        return tuple(m.name for m in self.methods if m.difference and self._sign * m.difference[upper] < 0)

    @property
    def _counts(self) -> float:
        """The least difference that counts: a tenth of the error of always answering the mean; of classes, 5 points."""
        return WRONG * self.methods[-1].score if self.better == "lower" else MATERIAL_LOSS

    @property
    def _sign(self) -> int:
        return 1 if self.better == "higher" else -1

    @property
    def _upper(self) -> int:
        return int(self.better == "lower")


@explain_kinds
def backtest(
    source: Any,
    *,
    factors: Sequence[str] | None = None,
    target: str | None = None,
    salience: Salience | str | None = None,
    fit: FitSettings = _FIT,
    share: float | None = None,
    folds: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    **options: Unpack[TableOptions],
) -> Backtest:
    """Hold out seen combinations and predict them from the others.

    `source` is anything that `recombine.read` takes, with `factors`, `target` and the other settings of `read` beside
    it; or a `Support`, which was read already.

    Without a salience, by the learner that explains a prediction: relu:2, with the margin loss for labels. One at a
    time where that has a closed form (weights that are not fitted, up to 3,000 combinations, 1,500 by the margin).
    Otherwise, or if `share` or `folds` is given, a share at a time: a fifth, until every combination was held out once;
    of more than 3,000 combinations one such fold.
    """
    support = support_of(source, "backtest", **reading_of(factors, target, options))
    own = answers(support)
    if len(own) < FEWEST:
        raise TableError(
            f"a back-test with {len(own)} combinations",
            why="too few to hold some out and learn from the rest",
            instead="back-test a table with at least 5 seen combinations",
        )
    seen = trained(support, own)
    asked = choose_learners(seen, own, salience=salience, loss=fit.loss)
    weights = resolve(asked.explains, seen, seed=seed)
    learner = learn(support, own, weights, loss=asked.loss, ridge=fit.ridge, seed=seed)
    return record_of(learner, held_out(learner, asked.explains, share=share, folds=folds, progress=progress))


@dataclass(frozen=True, eq=False)
class HoldoutPlan:
    """The rounds of a back-test: in each some combinations are learnt from (first), and others predicted (second)."""

    share: float  # held out at a time
    rounds: tuple[tuple[Ints, Ints], ...]

    @classmethod
    def of(cls, combinations: int, *, share: float | None, folds: int | None, seed: int) -> "HoldoutPlan":
        """Cut so many combinations; every one is held out once, unless there are so many that one round must do."""
        usual = 1 / combinations if combinations <= _EACH else min(SHARE, _SAMPLE / combinations)
        part = usual if share is None else share
        why = "it is the share held out at a time"
        check_number("share", part, above=0, most=0.5, why=why, instead="write share=0.2")
        most = round(1 / part)
        few = combinations <= (_SAMPLED_FROM if share is None else _ALL_FOLDS)
        wanted = folds if folds is not None else most if few else 1
        why = f"with share={part} there are {most}"
        check_whole("folds", wanted, least=1, most=most, why=why, instead=f"write 1 to {most}")
        order = np.random.default_rng(seed).permutation(combinations)
        parts = np.array_split(order, most)[:wanted]
        return cls(part, tuple((np.sort(np.setdiff1d(order, test)), np.sort(test)) for test in parts))


@dataclass(frozen=True, eq=False)
class HoldoutScheme:
    """What was held out and what everybody said, how much of it at a time, and how often."""

    tried: HeldOutAnswers
    share: float
    folds: int


def held_out(
    learner: FittedLearner,
    salience: Salience | str,
    *,
    share: float | None = None,
    folds: int | None = None,
    progress: Progress | None = None,
) -> HoldoutScheme:
    """The learner tried on combinations of its own table; `salience` is as it was asked for, to be fitted anew."""
    if share is None and folds is None and salience != "fit":
        tried = one_at_a_time(learner)
        if tried is not None:
            return HoldoutScheme(tried, 1 / len(learner.answers), len(tried))
    plan = HoldoutPlan.of(len(learner.answers), share=share, folds=folds, seed=learner.seed)
    found: list[HeldOutAnswers] = []
    for train, test in limits.within_time(plan.rounds, "rounds of the back-test"):
        if progress:
            progress("back-testing", len(found) / len(plan.rounds))
        found.append(fold(learner, salience, train, test))
    return HoldoutScheme(joined(found), plan.share, len(found))


def record_of(learner: FittedLearner, tested: HoldoutScheme) -> Backtest:
    """Everybody's scores, and how the learner compares."""
    own, number = learner.answers, learner.answers.kind == "number"
    tried = _best_factor_alone(own, tested.tried)
    losses = {name: losses_of(own, tried, said) for name, said in tried.said.items()}
    settings = IntervalSettings(draws=_DRAWS, seed=learner.seed)
    return Backtest(
        share=tested.share,
        folds=tested.folds,
        tested=len(tried),
        score="root mean squared error" if number else "accuracy",
        better="lower" if number else "higher",
        methods=tuple(
            _method(name, losses, _by_rows(own, tried, said), tried, settings, number=number)
            for name, said in tried.said.items()
        ),
        coverage=_coverage(tried, settings) if number else None,
        calibration=tuple(Calibration(at, float(_within(tried, at).mean())) for at in _LEVELS) if number else (),
        rungs=tuple(_rung(rung, tried.rungs == rung, losses, number=number) for rung in _RUNGS if rung in tried.rungs),
        points=_points(own, tried, learner.seed) if number else (),
    )


def _best_factor_alone(own: Answers, tried: HeldOutAnswers) -> HeldOutAnswers:
    """Of the rules that look at one factor, the best alone: the others would only crowd the table."""
    loss = {name: float(losses_of(own, tried, said).mean()) for name, said in tried.said.items() if is_alone(name)}
    if not loss:  # one factor alone is the combination itself
        return tried
    best = (min if own.kind == "number" else max)(loss, key=loss.__getitem__)  # of classes it is a share of hits
    return replace(tried, said={name: said for name, said in tried.said.items() if name == best or name not in loss})


def _by_rows(own: Answers, tried: HeldOutAnswers, said: Numbers) -> float | None:
    """Of all rows of the held-out combinations, the share whose own class was said; None for a number."""
    if own.kind == "number":
        return None
    chosen = own.decide(said)
    shares = (tried.values + 1) / 2
    shares = np.column_stack([1 - shares, shares]) if own.questions == 1 else shares
    return float(np.average(shares[np.arange(len(chosen)), chosen], weights=tried.counts))


def losses_of(own: Answers, tried: HeldOutAnswers, said: Numbers) -> Numbers:
    """One number a combination: its squared error, or whether its class was said; classes equally common share it."""
    if own.kind == "number":
        error = np.abs((own.bounded(said) - tried.values)[:, 0])
        return np.square(np.where(error <= _rounding(tried.values[:, 0]), 0.0, error))
    return np.asarray(own.hits(tried.values)[np.arange(len(said)), own.decide(said)])


def _score(losses: Numbers, *, number: bool) -> float:
    return float(np.sqrt(losses.mean()) if number else losses.mean())


def _method(
    name: str,
    losses: dict[str, Numbers],
    by_rows: float | None,
    tried: HeldOutAnswers,
    settings: IntervalSettings,
    *,
    number: bool,
) -> Method:
    low, high = _around(losses[name], settings, number=number) or (None, None)
    # where the others leave an answer open nobody can be good: such combinations are not compared if there are others
    fair = tried.determined if tried.determined.sum() >= FEWEST else np.ones(len(tried), dtype=bool)
    kernel, other = losses[KERNEL][fair], losses[name][fair]
    against = None if name == KERNEL else _kernel_less(kernel, other, settings, number=number)
    return Method(name, _score(losses[name], number=number), low, high, against, by_rows)


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


def _within(tried: HeldOutAnswers, level: float) -> npt.NDArray[np.bool_]:
    reach = normal_quantile((1 + level) / 2) * tried.sd
    values = tried.values[:, 0]
    return np.asarray(np.abs(tried.said[KERNEL][:, 0] - values) <= reach + _rounding(values))


def _rounding(values: Numbers) -> float:
    """An error no larger than this is nothing but the rounding of these numbers."""
    return float(1e-12 * values.std() + 8 * np.finfo(np.float64).eps * np.abs(values).max(initial=0.0))


def _coverage(tried: HeldOutAnswers, settings: IntervalSettings) -> IntervalCoverage:
    inside = _within(tried, 0.95).astype(np.float64)
    low, high = _around(inside, settings, number=False) or (None, None)
    return IntervalCoverage(0.95, float(inside.mean()), low, high)


def _rung(rung: str, here: npt.NDArray[np.bool_], losses: dict[str, Numbers], *, number: bool) -> RungScore:
    return RungScore(rung, int(here.sum()), tuple(_score(loss[here], number=number) for loss in losses.values()))


def _points(own: Answers, tried: HeldOutAnswers, seed: int) -> tuple[tuple[float, float, float, float], ...]:
    chosen = np.arange(len(tried.sd))
    if len(chosen) > _POINTS:
        chosen = np.sort(np.random.default_rng(seed).choice(chosen, size=_POINTS, replace=False))
    said, reach = tried.said[KERNEL][chosen, 0], normal_quantile(0.975) * tried.sd[chosen]
    columns = (tried.values[chosen, 0], *map(own.bounded, (said, said - reach, said + reach)))
    return tuple(zip(*(column.tolist() for column in columns), strict=True))
