"""Theory beside measurement: is the score what was forecast, and is trouble where a `Prediction` expects it?

The forecast of the score on unseen combinations stands beside the measured one, with the miss (`forecast_comparison`).

Then the two are joined on the combination. What is compared, on combinations that the theory was not given:

- numbers: how far the theory's answer is from the truth, |prediction − mean true answer|, against the measured score;
- classes: the theory's margin for the true class, its score less the best other one's (of two classes: the score,
  with the sign of the true one), against the measured score. Where a combination's rows differ in their truth, the
  commonest true class is taken.

The rank correlation is signed so that positive means: where the theory expects better, the model is better. Its
interval is over combinations.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from recombine.base.errors import SettingError
from recombine.base.grades import Expected
from recombine.base.words import count, free_name, measure, percent
from recombine.data.row_codes import value_codes
from recombine.data.space import Space, text
from recombine.data.support import LabelTarget, NumberTarget
from recombine.numerics.groups import Codes, Ints, Numbers, group, totals
from recombine.numerics.rank_correlation import Rank, spearman
from recombine.verbs.evaluate.forecast_comparison import ForecastBeside, compare_forecast
from recombine.verbs.evaluate.outcomes import Outcomes
from recombine.verbs.predict.diagnosis import VERDICTS
from recombine.verbs.predict.effect_transfer import thinned
from recombine.verbs.predict.prediction import Prediction

POINTS = 2_000  # that a picture shows; ranks are of all of them
_ALL_SEEN = (
    "The prediction and the measurement have no unseen combination in common, as the prediction was made from a table "
    "that holds all of them: make it from the training rows alone (recombine predict … --where \"split = 'train'\")."
)


@dataclass(frozen=True)
class Verdict:
    """The measured score of the combinations with one of the theory's verdicts: over their rows, and over them."""

    verdict: str
    combinations: int
    rows: float
    score: float
    macro: float


@dataclass(frozen=True)
class BesideTheory:
    """The theory and the measurement of the same combinations.

    `points` are (what the theory expects, what was measured, the theory's verdict), as named in `across` and `up`.
    `said` correlates the answers themselves: the theory's number and the model's mean. `same_answer` is the share
    of rows that answer with the theory's class. `joined` unseen combinations stand in both; `missing` tested ones
    have no row in the prediction.
    """

    verdict: str
    across: str
    up: str
    rank: Rank
    said: Rank | None
    same_answer: float | None
    joined: int
    missing: int
    verdicts: tuple[Verdict, ...]
    points: tuple[tuple[float, float, str], ...]
    forecast: ForecastBeside | None = None

    @property
    def reasons(self) -> tuple[str, ...]:
        """What there is to say: the forecast and its miss first."""
        return (self.verdict,) if self.forecast is None else (self.forecast.verdict, self.verdict)


def beside(
    outcomes: Outcomes,
    prediction: Prediction,
    *,
    measured_score: Expected | None = None,
    confidence: float = 0.95,
    seed: int = 0,
) -> BesideTheory | None:
    """Join a prediction with what was measured; None where the truth is not known, so that nothing can be expected.

    `measured_score` is the score on all unseen combinations, to be held against the forecast of it.

    >>> import recombine
    >>> from recombine.verbs.evaluate.outcomes import Score
    >>> from recombine.data.space import Space
    >>> from recombine.data.support import LabelTarget, NumberTarget, Support
    >>> rows = [(a, b, float(a + b)) for a in range(4) for b in range(4)]
    >>> table = {name: [row[k] for row in rows if 0 in row[:2]] for k, name in enumerate("aby")}
    >>> training = recombine.read(table, factors=["a", "b"], target="y")
    >>> asked = np.asfortranarray([row[:2] for row in rows if 0 not in row[:2]], dtype=np.int32)
    >>> true = asked.sum(axis=1).astype(float)
    >>> said = 0.7 * true  # a model that carries over seven tenths
    >>> empty, ones = np.zeros(0, int), np.ones(9)
    >>> outcomes = Outcomes(
    ...     tested=Support(training.space, asked, ones, NumberTarget("y", ones, true, true**2)), training=training,
    ...     kind="number", classes=(), combination=empty, truth=empty, said=empty, count=np.zeros(0),
    ...     total=(said - true) ** 2, squares=ones, prediction_total=said, score=Score("mse", "lower"))
    >>> beside(outcomes, recombine.predict(training)).rank.value > 0.9
    True
    """
    _refuse_other(outcomes, prediction)
    joined = _join(outcomes, prediction)
    expected = _expect(outcomes, prediction, joined)
    if expected is None:
        return None
    across, sign, values = expected
    better = 1.0 if outcomes.score.better == "higher" else -1.0
    measured = outcomes.mean[joined.tested]
    use = np.flatnonzero(~joined.seen & np.isfinite(values) & np.isfinite(measured))
    rank = spearman(_snap_ties(sign * values[use]), _snap_ties(better * measured[use]), confidence=confidence)
    shown = thinned(use.tolist(), POINTS, seed=seed)
    unseen = outcomes.training is None or bool(outcomes.unseen[joined.tested].any())
    # the prediction was given what the model was not: no combination is unseen to it
    all_given = bool(len(joined.seen)) and bool(joined.seen.all()) and unseen
    names = [VERDICTS[code] for code in joined.verdict[shown]]
    return BesideTheory(
        verdict=_ALL_SEEN if all_given else _sentence(rank, len(use), confidence),
        across=across,
        up=f"measured {outcomes.score.name}",
        rank=rank,
        said=_answers(outcomes, joined, use, confidence),
        same_answer=_same_answer(outcomes, joined, use),
        joined=len(use),
        missing=len(outcomes) - len(joined.tested),
        verdicts=_by_verdict(outcomes, joined),
        points=tuple(zip(values[shown].tolist(), measured[shown].tolist(), names, strict=True)),
        forecast=compare_forecast(prediction.expected, measured_score) if len(use) else None,
    )


def _refuse_other(outcomes: Outcomes, prediction: Any) -> None:
    if not isinstance(prediction, Prediction):
        raise SettingError(
            f"the theory is a {type(prediction).__name__}",
            why="it is what recombine.predict gives",
            instead="write theory=recombine.predict(recombine.read(train, factors=[…], target='…'))",
        )
    ours, theirs = outcomes.tested.space.names, prediction.support.space.names
    if ours != theirs:
        raise SettingError(
            f"the theory has the factors {', '.join(theirs)}",
            why=f"the predictions were read with {', '.join(ours)}",
            instead="use the same factors, in the same order, for both",
        )
    kind = prediction.learner.answers.kind
    if outcomes.kind not in (kind, "score"):
        raise SettingError(
            f"the theory predicts a {kind}",
            why=f"the evaluated answers are of the kind {outcomes.kind}",
            instead="predict the target that is evaluated",
        )


@dataclass(frozen=True, eq=False)
class _Joined:
    """One line for each tested combination that the prediction has a row for."""

    tested: Ints  # its place among the tested combinations
    row: Ints  # its row of the prediction
    seen: npt.NDArray[np.bool_]
    verdict: Ints
    prediction: pa.ChunkedArray


def _join(outcomes: Outcomes, prediction: Prediction) -> _Joined:
    table, space = prediction.table, outcomes.tested.space
    codes = _encode(table, space)
    whole = np.flatnonzero((codes >= 0).all(axis=1))
    place = np.full(len(outcomes), -1, dtype=np.int64)
    if len(whole):
        groups = group(codes[whole], sizes=space.sizes, factors=tuple(range(len(space.sizes))))
        found = groups.lookup(outcomes.tested.codes)
        place = np.where(found >= 0, whole[groups.representatives[found]], -1)
    tested = np.flatnonzero(place >= 0)
    row = place[tested]
    verdicts = (
        pc.index_in(table[free_name("verdict", space.names)], pa.array(VERDICTS)).to_numpy()[row].astype(np.int64)
    )
    answers = table[free_name("prediction", space.names)].take(pa.array(row))
    return _Joined(tested, row, verdicts == VERDICTS.index("seen"), verdicts, answers)


def _encode(table: pa.Table, space: Space) -> Codes:
    """The factor columns of a table as positions of this space's values, -1 where it has no such value."""
    columns = [value_codes(table[factor.name], factor) for factor in space.factors]
    return np.asfortranarray(np.stack(columns, axis=1), dtype=np.int32)


def _expect(outcomes: Outcomes, prediction: Prediction, joined: _Joined) -> tuple[str, float, Numbers] | None:
    """What the theory expects of each joined combination, its name, and the sign with which more of it is better."""
    target, kind = outcomes.tested.target, prediction.learner.answers.kind
    if kind == "number" and isinstance(target, NumberTarget):
        true = target.mean[joined.tested]
        said = joined.prediction.to_numpy().astype(np.float64)
        return "theory's distance from the truth", -1.0, np.abs(said - true)
    truth = _commonest_truth(outcomes)
    if kind == "number" or truth is None:
        return None
    return "theory's margin for the true class", 1.0, _margins(outcomes, prediction, joined, truth[joined.tested])


def _margins(outcomes: Outcomes, prediction: Prediction, joined: _Joined, truth: Ints) -> Numbers:
    """The score of the true class less the best other one's; NaN for a class that the theory does not know."""
    own = prediction.learner.answers
    places = {text(value): place for place, value in enumerate(own.classes)}
    theirs = np.array([places.get(text(value), -1) for value in outcomes.classes], dtype=np.int64)
    true = np.where(truth >= 0, theirs[truth], -1)
    scores = prediction.learner.fitted.scores(_encode(prediction.table.take(joined.row), prediction.support.space))
    if own.questions == 1:
        return np.where(true >= 0, np.where(true == 1, scores[:, 0], -scores[:, 0]), np.nan)
    lines = np.arange(len(true))
    mine = scores[lines, true]
    scores[lines, true] = -np.inf
    return np.where(true >= 0, mine - scores.max(axis=1), np.nan)


def _commonest_truth(outcomes: Outcomes) -> Ints | None:
    """The commonest true class of each tested combination, -1 where it has none."""
    target = outcomes.tested.target
    lines = (outcomes.combination, outcomes.truth, outcomes.count)
    if isinstance(target, LabelTarget):
        lines = (target.combination, target.label, target.count)
    elif not len(outcomes.count):
        return None
    table = _by_class(outcomes, *lines)
    return np.where(table.sum(axis=1) > 0, table.argmax(axis=1), -1)


def _by_class(outcomes: Outcomes, combination: Ints, label: Ints, weight: Numbers) -> Numbers:
    size, width = len(outcomes), len(outcomes.classes)
    return totals(combination * width + label, weight, size * width).reshape(size, width)


def _answers(outcomes: Outcomes, joined: _Joined, use: Ints, confidence: float) -> Rank | None:
    """The theory's number beside the model's mean answer: does the model say what the theory says?"""
    if outcomes.kind != "number" or outcomes.prediction_total is None:
        return None
    model = (outcomes.prediction_total / outcomes.rows)[joined.tested[use]]
    theory = joined.prediction.to_numpy().astype(np.float64)[use]
    return spearman(_snap_ties(theory), _snap_ties(model), confidence=confidence)


def _snap_ties(values: Numbers) -> Numbers:
    """Without what a solver's rounding adds: numbers that differ by it alone are ties."""
    if not len(values):
        return values
    apart = values - values.mean()
    # iterative solvers stop within some 1e-10 of the spread; subtracting the mean leaves 1e-16 of the size
    rounding = max(1e-9 * float(np.abs(apart).max()), 1e-13 * float(np.abs(values).max()))
    return np.asarray(np.round(apart / rounding)) if rounding > 0 else apart


def _same_answer(outcomes: Outcomes, joined: _Joined, use: Ints) -> float | None:
    """The share of the rows on joined unseen combinations that answer with the theory's class."""
    if outcomes.kind != "label" or not len(use):
        return None
    places = {text(value): place for place, value in enumerate(outcomes.classes)}
    theory = np.array([places.get(text(value), -1) for value in joined.prediction.to_pylist()], dtype=np.int64)[use]
    said = _by_class(outcomes, outcomes.combination, outcomes.said, outcomes.count)[joined.tested[use]]
    agreed = np.where(theory >= 0, said[np.arange(len(use)), theory], 0.0)
    return float(agreed.sum() / said.sum()) if said.sum() else None


def _by_verdict(outcomes: Outcomes, joined: _Joined) -> tuple[Verdict, ...]:
    found = []
    for code, name in enumerate(VERDICTS):
        mine = joined.tested[joined.verdict == code]
        if len(mine):
            rows = float(outcomes.rows[mine].sum())
            score, macro = float(outcomes.total[mine].sum()) / rows, float(outcomes.mean[mine].mean())
            found.append(Verdict(name, len(mine), rows, score, macro))
    return tuple(found)


def _sentence(rank: Rank, joined: int, confidence: float) -> str:
    if not joined:
        return "The prediction and the measurement have no unseen combination in common: nothing can be compared."
    on = f"{count(joined)} unseen combinations"
    if rank.value is None:
        return f"On {on} the theory or the score is the same everywhere, so their ranks cannot be compared."
    if rank.low is None or rank.high is None:
        return f"Rank correlation of theory and score on {on}: {measure(rank.value)}; too few for an interval."
    around = f"{percent(confidence)} interval {measure(rank.low)} to {measure(rank.high)}"
    said = f"(rank correlation {measure(rank.value)}, {around})"
    if rank.low > 0:
        return f"On {on} the model does better where the theory expects it {said}."
    if rank.high < 0:
        return f"On {on} the model does worse where the theory expects better {said}."
    return f"On {on} the theory does not tell where the model does better {said}."
