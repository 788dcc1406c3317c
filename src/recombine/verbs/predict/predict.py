"""The verb behind `recombine.predict`: ask the learners, test them on what was seen, and put it into words."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from recombine.base import limits
from recombine.base.argument_kinds import explain_kinds
from recombine.base.errors import RecombineError, SettingError
from recombine.base.grades import FEWEST_TESTED, Expected
from recombine.base.progress import Progress, silent
from recombine.data.read import support_of
from recombine.data.support import Support
from recombine.data.table_query import TableOptions, reading_of
from recombine.numerics.groups import Codes, Ints
from recombine.verbs.audit.additivity import additive_test
from recombine.verbs.audit.selection_bias import SelectionSign, selection_sign
from recombine.verbs.audit.structural_zeros import Zeros, suspect_zeros
from recombine.verbs.audit.unseen_combinations import draw_unseen
from recombine.verbs.audit.verdict import without_rule
from recombine.verbs.predict import effect_transfer as slopes
from recombine.verbs.predict import verdict
from recombine.verbs.predict.answers import Answers, Truth, answers, class_names, read_truth, truth_of
from recombine.verbs.predict.backtest import Backtest, held_out, record_of
from recombine.verbs.predict.block_record import held_out_classes
from recombine.verbs.predict.diagnosis import (
    CANNOT,
    IMPOSSIBLE,
    LEAK,
    NOT_DETERMINED,
    SHORTCUT,
    UNSURE,
    VERDICTS,
    Diagnosis,
)
from recombine.verbs.predict.effect_transfer import Slope
from recombine.verbs.predict.ensemble_members import ChosenLearners, Panel, choose_learners, fit_panel
from recombine.verbs.predict.examples.joined_forecast import with_examples
from recombine.verbs.predict.examples.table_forecast import Examples
from recombine.verbs.predict.expected_score import (
    TruthForecast,
    expected_from,
    forecast_of,
    like_tested,
    network_score,
    refuted,
    score_of,
)
from recombine.verbs.predict.kernel.salience import Salience
from recombine.verbs.predict.kernel.salience_fit import resolve
from recombine.verbs.predict.learner import FitSettings, FittedLearner, refuse_too_large, trained
from recombine.verbs.predict.prediction import DRAWN, Combinations, Prediction, compared, diagnosed
from recombine.verbs.predict.prediction_record import FailingCombination, NamedError, TruthScore
from recombine.verbs.predict.prediction_table import lines, read_combinations

MOST_LISTED = 10**6
MOST_LISTED_SETS = 10**5
"""The same of sets, each of which gets a code of its own when it is listed."""
_MOST_WORK = 5 * 10**11
"""Combinations times the square of the seen ones: what is waited for to list every combination."""
_WORST = 200
_POINTS = 1_000
_ENOUGH_KNOWN = 5  # true answers for a line through them, unless there are no more
_FIT, _EXAMPLES = FitSettings(), Examples()
_WORST_FIRST = (CANNOT, SHORTCUT, LEAK, NOT_DETERMINED, UNSURE)


@explain_kinds
def predict(  # noqa: PLR0913 - each is one plain question, and all but one have an answer already
    source: Any,
    *,
    factors: Sequence[str] | None = None,
    target: str | None = None,
    salience: Salience | str | None = None,
    model: Any = None,
    fit: FitSettings = _FIT,
    truth: Any = None,
    examples: Examples = _EXAMPLES,
    combinations: Combinations | pa.Table | None = None,
    backtest: bool = True,
    seed: int = 0,
    progress: Progress | None = None,
    **options: Unpack[TableOptions],
) -> Prediction:
    """Say what a learner that weighs conjunctions of factors would answer on every combination, and why.

    `source` is anything that `recombine.read` takes, with `factors`, `target` and the other settings of `read` beside
    it; or a `Support`, which was read already.

    Nothing need be said of the learner. Then wide ReLU networks of one, two and three hidden layers are asked, each as
    likely as the others: the forecast is their mean, the middle one explains, and an answer on which they differ is
    *unsure*. `model` says what will be trained: a model of `recombine_lab`, a torch module, or its kind and depth
    ("relu:1"). `salience` says instead how much each set of factors counts: a network and its depth ("relu:3"), weights
    by order ("order:0,0.3,0.4"), "fit" (estimated from the data), or a `Salience`. `fit` says by which loss it learns.

    `truth` is another table with the true answers, read with the same settings, or its `Support`: then `expected` is
    the score on the unseen combinations that it holds. What a model makes of examples that are hard to read is not in
    that forecast, and its interval says so. A row is given for every combination of the space up to a million, else
    for `combinations`. Where a factor's value is a set (`sets`), what matches are elements, and unseen sets of seen
    elements get a row each up to a hundred thousand; of more, some of each size are drawn.

    `examples` say what a model looks at, and the forecast is then made from that: `Examples("vector")`. Or they say
    that there is nothing to look at but the factors' values: `Examples(symbols=True)`. What `recombine.rehearse` found
    on the same table stands beside the forecast with `with_rehearsal` of what is returned.

    >>> import recombine
    >>> rows = [(a, b, a + b) for a in range(-4, 5) for b in range(-4, 5)]
    >>> every = {name: [row[k] for row in rows] for k, name in enumerate("aby")}
    >>> seen = {name: [row[k] for row in rows if 0 in row[:2]] for k, name in enumerate("aby")}
    >>> how = dict(factors=["a", "b"], target="y", target_kind="number", truth=every)
    >>> how["examples"] = recombine.Examples(symbols=True)
    >>> [round(recombine.predict(seen, **how, model=model).expected.value, 2) for model in ("relu:1", "relu:3", None)]
    [0.93, 0.76, 0.84]
    >>> pairs = {"given": ["ctrl", "A", "B", "B+C", "C+A"], "y": [0.0, 1.0, 2.0, 5.0, 4.0]}
    >>> drugs = recombine.predict(pairs, sets={"drugs": "given:+"}, target="y", backtest=False)
    >>> told = drugs.explain([("A + B",), (["B", "A"],)])["prediction"].to_pylist()
    >>> told[0] == told[1], drugs.counts["seen"], drugs.space
    (True, 5, 7)
    """
    tell: Progress = progress or silent
    reading = reading_of(factors, target, options)
    support = support_of(source, "predict", progress=lambda share: tell("counting combinations", share), **reading)
    own = answers(support)
    _refuse_inputs_of_sets(support, examples)
    examples.check_seen_score(own, truth=truth is not None)
    if reading and not isinstance(truth, Support | None):
        truth = read_truth(truth, support, **reading)
    known = None if truth is None else truth_of(truth, support, own)
    asked, zeros = None if combinations is None else read_combinations(support.space, combinations), None
    if examples.unlabelled is None:  # rows of unseen combinations say themselves what occurs
        zeros, _ = suspect_zeros(support, _occurring(support, known, asked))
    tell("weighing conjunctions", None)
    seen = trained(support, own)
    chosen = choose_learners(seen, own, salience=salience, loss=fit.loss, model=model, with_truth=known is not None)
    weights = resolve(chosen.explains, seen, seed=seed)
    panel = fit_panel(chosen, support, own, weights, ridge=fit.ridge, seed=seed)
    codes, sampled = (asked, False) if asked is not None else _listed(panel.learner, known, seed)
    refuse_too_large(panel.learner.support, weights.weights, questions=own.questions, rows=len(codes))
    tell("predicting", None)
    diagnosis = diagnosed(panel, codes, known)
    unseen = _unseen(support, diagnosis, sampled=sampled)
    tested = _tested(support, diagnosis, chosen, unseen, wanted=backtest, tell=tell)
    diagnosis = diagnosis.judged(refuted=refuted(tested.expected, tested.record))
    found = _PredictionParts(
        panel, chosen, diagnosis, tested, forecast_of(panel, diagnosis, unseen=unseen, symbols=examples.symbols)
    )
    made = _assemble(support, found, known, zeros, sampled=sampled, symbols=examples.symbols)
    return with_examples(made, source, examples, reading, tell=tell)


def _refuse_inputs_of_sets(support: Support, examples: Examples) -> None:
    if support.space.set_factors and examples.inputs is not None:
        raise SettingError(
            "inputs of examples beside a factor whose value is a set",
            why="which rows belong to a combination is found by their values, and not yet by sets",
            instead="leave the inputs out: the forecast is then made from the combinations",
        )


@dataclass(frozen=True, eq=False)
class _BacktestOutcome:
    """What a back-test says, or why there is none."""

    record: Backtest | None
    expected: Expected
    like: npt.NDArray[np.bool_]  # which of the listed combinations are like those that were held out
    without_rule: str = ""  # why no rule is better than one answer for all, where that is known
    selection: SelectionSign | None = None


def _tested(
    support: Support, diagnosis: Diagnosis, chosen: ChosenLearners, unseen: int, *, wanted: bool, tell: Progress
) -> _BacktestOutcome:
    own, nothing = diagnosis.learner.answers, np.zeros(len(diagnosis.codes), dtype=bool)
    why_not = _untestable(support, own, wanted=wanted)
    if why_not:
        return _BacktestOutcome(None, Expected(score_of(own), reason=why_not), nothing)
    try:
        found = held_out(diagnosis.learner, chosen.explains, progress=tell)
    except RecombineError as error:  # what is left after holding some out may be too little for this learner
        return _BacktestOutcome(None, Expected(score_of(own), reason=f"the back-test failed: {error.what}"), nothing)
    asked = np.flatnonzero(~diagnosis.seen & (diagnosis.rungs == "determined"))
    held = held_out_classes(diagnosis.learner, chosen.explains, found.tried, diagnosis.codes, asked, progress=tell)
    like = like_tested(held, diagnosis.doubts)
    listed = int((~diagnosis.seen).sum())
    of = round(unseen * like.sum() / listed) if listed else 0
    expected = expected_from(held, diagnosis, like, unseen=of)
    if not listed:
        expected = replace(expected, reason="every combination was seen")
    return _BacktestOutcome(
        record_of(diagnosis.learner, found),
        expected,
        like,
        _without_rule(support, expected),
        None if expected.abstains else selection_sign(diagnosis.learner.support, diagnosis.determinacy),
    )


def _without_rule(support: Support, expected: Expected) -> str:
    """Whether there is nothing to learn, or nothing that one combination tells of another; as an audit says it."""
    tested = None if expected.abstains or expected.beats_constant else additive_test(support)
    return "" if tested is None else without_rule(tested[0])


def _untestable(support: Support, own: Answers, *, wanted: bool) -> str | None:
    """Why nothing can be held out, if nothing can."""
    if not wanted:
        return "no back-test was run"
    if support.target is not None and not support.target.varies:
        return "the target never varies"
    if len(own) < FEWEST_TESTED:
        return f"only {len(own)} combinations have an answer; to hold some out takes {FEWEST_TESTED}"
    return None


def _unseen(support: Support, diagnosis: Diagnosis, *, sampled: bool) -> int:
    """How many unseen combinations the listed ones stand for."""
    return support.space.size - len(diagnosis.learner.support) if sampled else int((~diagnosis.seen).sum())


def _occurring(support: Support, truth: Truth | None, asked: Codes | None) -> Codes:
    """Combinations that somebody has, or asks about: no pair of theirs is suspected to be impossible."""
    known = support.codes[:0] if truth is None else truth.codes
    return np.concatenate([known, support.codes[:0] if asked is None else asked])


def _listed(learner: FittedLearner, truth: Truth | None, seed: int) -> tuple[Codes, bool]:
    """The combinations that get a row, and whether they are only a sample."""
    support = learner.support
    few = learner.orders is None or support.space.product <= _MOST_WORK // len(support) ** 2
    most = MOST_LISTED_SETS if support.space.set_factors else MOST_LISTED
    if support.space.product <= most and few:
        return support.space.every(), False
    if truth is not None and len(truth.codes):
        return np.asfortranarray(truth.codes.astype(np.int32)), False
    seen_values = [np.flatnonzero(counts) for counts in support.effect_counts]
    drawn = DRAWN if learner.orders is None else compared(learner)
    return draw_unseen(support, seen_values, drawn, seed=seed), True


@dataclass(frozen=True, eq=False)
class _PredictionParts:
    """Everything that was worked out."""

    panel: Panel
    chosen: ChosenLearners
    diagnosis: Diagnosis
    tested: _BacktestOutcome
    forecast: TruthForecast | None  # where the truth of unseen combinations is known

    @property
    def expected(self) -> Expected:
        """The score to expect: against the truth where that is known, else from what was held out."""
        return self.tested.expected if self.forecast is None else self.forecast.expected


def _assemble(
    support: Support, made: _PredictionParts, truth: Truth | None, zeros: Zeros | None, *, sampled: bool, symbols: bool
) -> Prediction:
    diagnosis, tested, learner = made.diagnosis, made.tested, made.panel.learner
    counts = _tally(diagnosis.verdicts)
    known = _known(diagnosis, truth)
    found = verdict.PredictionFindings(
        counts=counts,
        listed=len(diagnosis.codes),
        space=support.space.size,
        unanswered=len(support) - len(learner.support),
        truth_given=truth is not None,
        known=known.known if known else 0,
        wrong=_causes(diagnosis),
        salience=learner.salience,
        loss=learner.loss,
        answers=learner.answers,
        slope=_slope(diagnosis),
        backtest=tested.record,
        expected=tested.expected,
        like=int(tested.like.sum()),
        without_rule=tested.without_rule,
        selection=tested.selection,
        forecast=made.forecast,
        panel=made.panel.names,
        disputed=_disputed(diagnosis),
        notes=made.chosen.notes,
        symbols=symbols,
        varies=support.target is None or support.target.varies,
        row_notes=support.row_notes,
        sampled=sampled,
        zeros=zeros,
        unit=support.space.effect_unit,
    )
    return Prediction(
        verdict=verdict.verdict(found) + limits.partial(),
        grade=verdict.grade(found),
        reasons=verdict.reasons(found),
        counts=counts,
        space=support.space.size,
        sampled=sampled,
        scale=learner.scale,
        known=known,
        slope=found.slope,
        backtest=tested.record,
        expected=made.expected,
        held_out=tested.expected,
        network=network_score(tested.expected, made.forecast, diagnosis, tested.like, symbols=symbols),
        symbols=symbols,
        worst=_worst(diagnosis),
        table=lines(diagnosis, tested.like, contributions=len(diagnosis.codes) * _columns(learner) <= 2 * 10**7),
        panel=made.panel,
        support=support,
        truth=truth,
    )


def _disputed(diagnosis: Diagnosis) -> int:
    """How many are unsure for no other reason than that the learners differ."""
    alone = diagnosis.disputed & (diagnosis.verdicts == UNSURE)
    return int((alone & (diagnosis.known | ~diagnosis.unsure)).sum())


def _columns(learner: FittedLearner) -> int:
    """How many contributions are listed: one for each set of factors, or for each order."""
    return len(learner.salience.weights) if learner.orders is None else len(learner.orders)


def _causes(diagnosis: Diagnosis) -> dict[str, int]:
    """How many of the unseen combinations with a known answer come out wrong, by their verdict."""
    return _tally(diagnosis.verdicts[diagnosis.wrong & ~diagnosis.seen])


def _tally(verdicts: npt.NDArray[np.uint8]) -> dict[str, int]:
    """How many there are of each verdict; the impossible ones do not count."""
    return dict(zip(VERDICTS[:IMPOSSIBLE], np.bincount(verdicts, minlength=len(VERDICTS)).tolist(), strict=False))


def _known(diagnosis: Diagnosis, truth: Truth | None) -> TruthScore | None:
    asked = diagnosis.known & ~diagnosis.seen
    if truth is None:
        return None
    number = diagnosis.learner.answers.kind == "number"
    errors = diagnosis.errors[asked]
    value = float(np.sqrt(np.mean(errors**2)) if number else 1 - errors.mean()) if len(errors) else float("nan")
    wrong = int((diagnosis.wrong & asked).sum())
    error = NamedError("root mean squared error" if number else "accuracy", value)
    return TruthScore(truth.source, int(asked.sum()), wrong, error)


def _slope(diagnosis: Diagnosis) -> Slope | None:
    """Predictions on unseen combinations against the truth, or against what they would be without a leak."""
    learner = diagnosis.learner
    own = learner.answers
    unseen = np.flatnonzero(~diagnosis.seen & (diagnosis.rungs != "novel"))
    with_truth = own.kind == "number" and int(diagnosis.known[unseen].sum()) >= min(_ENOUGH_KNOWN, len(unseen))
    said = own.best(diagnosis.scores)[unseen]
    should = diagnosis.truth[unseen] if with_truth else own.best(diagnosis.unleaked)[unseen]
    line = slopes.line(should, said, among=own.values)
    if line is None:
        return None
    usable = np.flatnonzero(np.isfinite(should))
    shown = slopes.thinned(usable.tolist(), _POINTS, seed=learner.seed)
    points = zip(should[shown].tolist(), said[shown].tolist(), diagnosis.verdicts[unseen][shown].tolist(), strict=True)
    if learner.support.space.set_factors:  # how often an element would have to be seen has no formula yet
        forwards = slopes.Forwards((), ())
    else:
        forwards = slopes.needed(learner.support, learner.salience, own.values, ridge=learner.ridge)
    return Slope(
        against="truth" if with_truth else "an answer without a leak",
        value=line[0],
        offset=line[1],
        points=tuple(points),
        curve=forwards.curve,
        needed=forwards.needed,
    )


def _worst(diagnosis: Diagnosis) -> tuple[FailingCombination, ...]:
    """What one would look at first: out of reach, shortcut, leak, open; the largest errors or variances first."""
    verdicts = diagnosis.verdicts
    badness = np.where(diagnosis.known, np.abs(diagnosis.errors), 0.0) + 1e-6 * diagnosis.variances[0]
    rank = np.full(256, len(_WORST_FIRST))
    rank[list(_WORST_FIRST)] = np.arange(len(_WORST_FIRST))
    asked = np.flatnonzero(rank[verdicts] < len(_WORST_FIRST))
    order: Ints = asked[np.lexsort((-badness[asked], rank[verdicts[asked]]))][:_WORST]
    return tuple(_failing(diagnosis, int(row)) for row in order)


def _failing(diagnosis: Diagnosis, row: int) -> FailingCombination:
    own, space = diagnosis.learner.answers, diagnosis.learner.support.space
    code = int(diagnosis.verdicts[row])
    number = own.kind == "number"
    truth = float(diagnosis.truth[row])
    true: str | float | None = None
    if np.isfinite(truth):
        true = truth if number else class_names(own.classes)[int(truth)]
    said = float(diagnosis.scores[row, 0]) if number else verdict.said(own, diagnosis.scores[row : row + 1])
    return FailingCombination(
        combination=space.label_row(diagnosis.codes[row]),
        verdict=VERDICTS[code],
        prediction=said,
        truth=true,
        why=verdict.why(diagnosis, row, code),
    )
