"""How predicted vectors fare on combinations that were not trained on: the value, and the function that makes it.

A combination counts once: its measured vector is the mean of its tested rows, and so is its predicted one. Scores are
told for unseen and for seen combinations, each with the range between what the mean of the training combinations gets
and what the noise of the measured vectors allows; on the unseen ones beside rules that anybody could use.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, ClassVar, Unpack

import numpy as np
import pyarrow as pa

from recombine.base import records
from recombine.base.argument_kinds import explain_kinds
from recombine.base.checks import check_known
from recombine.base.decoding import revive_all
from recombine.base.grades import Expected, Grade, earned
from recombine.base.records import Provenance, Record
from recombine.base.result import Result
from recombine.base.words import WORSE_THAN_MEAN, amount, percent, percent_range
from recombine.data.split_sides import SplitColumn
from recombine.data.vector_reader import VectorTarget, vector_name
from recombine.numerics.groups import Flags, Ints, Numbers
from recombine.numerics.resampling import IntervalSettings
from recombine.numerics.simple_rules import MEAN
from recombine.numerics.vector_rules import ADDITIVE, LEAST_SQUARES, NO_CHANGE, SCALED, ControlDesign, LeastSquares
from recombine.numerics.vector_scores import VectorParts, compare, replicate_ceiling
from recombine.numerics.vector_summary import (
    R2,
    OutputScores,
    VectorRule,
    VectorScore,
    output_scores,
    rule_of,
    summarised,
)
from recombine.verbs.audit.set_coverage import ALONE, NEVER, TOGETHER
from recombine.verbs.audit.vector_test import Control, control_design
from recombine.verbs.evaluate.evaluation import EvaluateReading, question_of
from recombine.verbs.evaluate.vector_outcomes import VectorOutcomes, read_outcomes

_WIDEST = 2_000
"""Values and elements of all factors, up to which least squares is solved."""
_MATERIAL = 0.05
_RUNGS = ("determined", "undetermined", "novel", ALONE, TOGETHER, NEVER)


@dataclass(frozen=True)
class VectorSide:
    """The scores on unseen or on seen combinations."""

    name: str
    combinations: int
    rows: int
    replicated: int
    scores: tuple[VectorScore, ...]

    def score(self, name: str) -> VectorScore | None:
        """One of the scores, by its name."""
        return next((one for one in self.scores if one.name == name), None)


@dataclass(frozen=True)
class VectorRung:
    """The unseen combinations that training says as much of: it fixes them or does not, or of sets, what the elements
    were seen in.
    """

    name: str
    combinations: int
    r2: float | None


@dataclass(frozen=True, eq=False, repr=False)
class VectorEvaluation(Result):
    """A verdict on predicted vectors, and the numbers behind it.

    >>> import numpy as np, recombine
    >>> rng = np.random.default_rng(0)
    >>> a, b = np.repeat(np.arange(6), 12), np.tile(np.arange(6), 12)
    >>> y = rng.normal(size=(6, 9))[a] + rng.normal(size=(6, 9))[b] + rng.normal(size=(72, 9)) / 9
    >>> table = {"a": a, "b": b, "split": np.where((a + b) % 4 == 0, "test", "train")}
    >>> found = recombine.evaluate_vectors(table, factors=["a", "b"], target=y, prediction=y + 1 / 9, split="split")
    >>> found.grade, found.side("unseen").combinations, found.rules[0].name
    ('sound', 9, 'least squares')
    """

    kind: ClassVar[str] = "vector_evaluation"
    verdict: str
    grade: Grade
    reasons: tuple[str, ...]
    target: str
    prediction: str
    trained: int
    combinations: int
    rows: int
    unpredicted: int
    sides: tuple[VectorSide, ...]
    expected: Expected
    rungs: tuple[VectorRung, ...]
    rules: tuple[VectorRule, ...]
    outputs: OutputScores
    confidence: float
    draws: int
    seed: int
    table: pa.Table
    by_output: pa.Table
    source: Provenance

    @property
    def provenance(self) -> Provenance:
        """Where it came from."""
        return self.source

    def side(self, name: str) -> VectorSide:
        """The unseen or the seen combinations."""
        return next(one for one in self.sides if one.name == name)

    def record(self) -> Record:
        """The evaluation as plain data, which can be saved, drawn and loaded."""
        data = {name: records.plain(getattr(self, name)) for name in _RESULTS}
        return Record(self.kind, data, {"combinations": self.table, "outputs": self.by_output}, self.source)

    @classmethod
    def from_record(cls, record: Record) -> "VectorEvaluation":
        """Back from plain data."""
        return cls(
            **revive_all(cls, _RESULTS, record.data),
            table=record.tables["combinations"],
            by_output=record.tables["outputs"],
            source=record.provenance,
        )


_APART = ("table", "by_output", "source")
_RESULTS = tuple(field.name for field in fields(VectorEvaluation) if field.name not in _APART)
_INTERVALS = IntervalSettings()


class VectorReading(EvaluateReading, total=False):
    """How the tables are read: these settings of `recombine.read`, by the same names."""

    command: str | None


@explain_kinds
def evaluate_vectors(
    predictions: Any,
    *,
    factors: Sequence[str] = (),
    target: VectorTarget,
    prediction: VectorTarget,
    train: Any = None,
    split: str | SplitColumn | None = None,
    control: Control | None = None,
    intervals: IntervalSettings = _INTERVALS,
    **options: Unpack[VectorReading],
) -> VectorEvaluation:
    """Say how predicted vectors fare on combinations that were trained on, and on those that were not.

    `predictions` is any table with the factors. `target` and `prediction` are vectors for each row: a column of lists,
    many columns ("gene_*", "predicted_*", or their names), or an array in step with the rows. `split` names the column
    that says which rows were trained on; or `train` is the table of those rows, with the same columns. `control` names
    the values that stand for nothing done ({"drug": "DMSO"}, or "ctrl" for all factors): then differences from it are
    scored, and rules that start from it stand beside. Of a factor whose value is a set (`sets`, as in `recombine.read`)
    it is the empty set, and adding up is least squares on elements. Intervals resample combinations.
    """
    known = [*VectorReading.__annotations__, "factors", "target", "prediction", "train", "split", "control"]
    check_known(options, known, who="recombine.evaluate_vectors")
    question = question_of(factors, None, options)
    side = split if isinstance(split, SplitColumn | None) else SplitColumn(split)
    outcomes = read_outcomes(predictions, question, target, prediction, train=train, split=side)
    told = {
        "target": vector_name(target),
        "prediction": vector_name(prediction, "predictions"),
        "split": None if side is None else side.name,
        "train": str(train) if isinstance(train, str) else None,
        "control": control,
    }
    settings = question.settings() | {name: value for name, value in told.items() if value is not None}
    source = replace(outcomes.support.source, settings=settings | asdict(intervals), command=options.get("command"))
    return _measured(outcomes, control, intervals, source)


def _measured(
    outcomes: VectorOutcomes, control: Control | None, intervals: IntervalSettings, source: Provenance
) -> VectorEvaluation:
    scoring = _Scoring(outcomes, control)
    unseen = outcomes.unseen
    seen = np.setdiff1d(outcomes.tested, unseen)
    parts = {name: scoring.of(rows) for name, rows in (("unseen", unseen), ("seen", seen))}
    sides = tuple(
        VectorSide(
            name,
            len(rows),
            int(outcomes.truth.count[rows].sum()),
            found.ceiling.combinations,
            summarised(found.own, found.constant, found.ceiling, intervals) if len(rows) > 1 else (),
        )
        for (name, found), rows in zip(parts.items(), (unseen, seen), strict=True)
    )
    told = parts["unseen"]
    rules, errors = _rules(scoring, unseen, told)
    beside = {name: outcomes.rungs(rows) for name, rows in (("unseen", unseen), ("seen", seen))}
    expected = _expected(told.own, errors, sides[0], outcomes.support.codes[unseen], intervals)
    found = VectorEvaluation(
        verdict="",  # the sentences are made from the numbers, below
        grade=earned(expected),
        reasons=(),
        target=outcomes.truth.name,
        prediction=outcomes.predicted.name,
        trained=len(outcomes.seen),
        combinations=len(outcomes.tested),
        rows=outcomes.support.rows,
        unpredicted=outcomes.unpredicted,
        sides=sides,
        expected=expected,
        rungs=_by_rung(told.own, beside["unseen"]),
        rules=rules,
        outputs=output_scores(told.own, told.ceiling),
        confidence=intervals.confidence,
        draws=intervals.draws,
        seed=intervals.seed,
        table=_table(
            outcomes,
            {name: (found.own, rows) for (name, found), rows in zip(parts.items(), (unseen, seen), strict=True)},
            beside,
        ),
        by_output=_by_output(outcomes, told),
        source=source,
    )
    return replace(found, verdict=_verdict(found), reasons=_reasons(found))


@dataclass(frozen=True, eq=False)
class _SideParts:
    own: VectorParts
    constant: VectorParts
    ceiling: Any
    reference: Numbers | None


class _Scoring:
    """The mean and the control of the training combinations, which every score is taken about."""

    def __init__(self, outcomes: VectorOutcomes, control: Control | None) -> None:
        self.outcomes = outcomes
        self.trained = outcomes.trained.means
        self.mean = self.trained[outcomes.seen].mean(axis=0, dtype=np.float64)
        self.design = self._trained_control(control)

    def _trained_control(self, control: Control | None) -> ControlDesign | None:
        """Only what was trained on may be looked at."""
        design = control_design(self.outcomes.support, control)
        if design is None:
            return None
        known: Flags = np.asarray(self.outcomes.trained.count > 0, dtype=np.bool_)

        def place(codes: Any) -> Ints:
            found = design.place(codes)
            return np.where((found >= 0) & known[found], found, -1)

        return replace(design, place=place)

    def of(self, rows: Ints) -> _SideParts:
        """The scores of the predictions, and of the mean, on some tested combinations."""
        truth, codes = self.outcomes.truth.means[rows], self.outcomes.support.codes[rows]
        reference = None
        if self.design is not None:
            own = self.design.is_control(codes)  # which has no difference from itself
            reference = np.where(own[:, None], np.nan, self.design.no_change(self.trained, codes))
        mean = np.broadcast_to(self.mean, truth.shape)
        halves = self.outcomes.truth.halves(rows)
        return _SideParts(
            compare(truth, self.outcomes.predicted.means[rows], mean=self.mean, control=reference),
            compare(truth, mean, mean=self.mean, control=reference),
            replicate_ceiling(*halves, self.outcomes.truth.count[rows], mean=self.mean, control=reference),
            reference,
        )

    def rules(self, rows: Ints) -> Iterator[tuple[str, Numbers]]:
        """What simple rules say of unseen combinations, NaN where they say nothing; one matrix at a time."""
        support, seen = self.outcomes.support, self.outcomes.seen
        codes, effects = support.codes[rows], support.space.effects
        if effects.width <= _WIDEST:
            fit = LeastSquares.of(effects.rows(support.codes[seen]).dense())
            yield LEAST_SQUARES, fit.at(self.trained[seen], effects.rows(codes).dense())
        if self.design is not None:
            yield NO_CHANGE, self.design.no_change(self.trained, codes)
            yield ADDITIVE, self.design.additive(self.trained, codes)
            yield SCALED, self.design.scaled(self.trained, codes, seen, held_out=False)


def _rules(scoring: _Scoring, rows: Ints, told: _SideParts) -> tuple[tuple[VectorRule, ...], dict[str, Numbers]]:
    """The simple rules on unseen combinations, and the squared error of each; the mean's where one says nothing."""
    truth = scoring.outcomes.truth.means[rows]
    found, errors = [rule_of(MEAN, told.constant, len(rows))], {MEAN: told.constant.error}
    if len(rows) < 2:
        return (), errors
    for name, answers in scoring.rules(rows):
        known = np.isfinite(answers).all(axis=1)
        if known.sum() < 2:
            continue
        reference = None if told.reference is None else told.reference[known]
        parts = compare(truth[known], answers[known], mean=scoring.mean, control=reference)
        found.append(rule_of(name, parts, int(known.sum())))
        errors[name] = told.constant.error.copy()
        errors[name][known] = parts.error
    return tuple(sorted(found, key=lambda one: -(one.r2 if one.r2 is not None else -np.inf))), errors


def _expected(
    own: VectorParts, errors: dict[str, Numbers], side: VectorSide, codes: Any, intervals: IntervalSettings
) -> Expected:
    """The measured R² on unseen combinations, beside the best rule."""
    from recombine.numerics.predictive_intervals import expected_score  # noqa: PLC0415 - SciPy is loaded where needed

    if not side.combinations:
        return Expected(R2, basis="answers", reason="no unseen combination was tested")
    found = expected_score(
        own.error, errors, score="R²", unseen=side.combinations, codes=codes, basis="answers", settings=intervals
    )
    measured = side.score(R2)
    if found.abstains or measured is None:
        return found
    return replace(found, low=measured.low, high=measured.high)


def _by_rung(own: VectorParts, rungs: dict[str, list[str]]) -> tuple[VectorRung, ...]:
    """R² of the unseen combinations rung by rung."""
    found = []
    for places in rungs.values():
        for name in (one for one in _RUNGS if one in places):
            mine = np.array(places) == name
            spread = float(own.spread[mine].sum())
            r2 = float(1 - own.error[mine].sum() / spread) if spread > 0 else None
            found.append(VectorRung(name, int(mine.sum()), r2))
    return tuple(found)


def _table(
    outcomes: VectorOutcomes, parts: dict[str, tuple[VectorParts, Ints]], rungs: dict[str, dict[str, list[str]]]
) -> pa.Table:
    """A line for each tested combination."""
    lines = []
    for name, (found, rows) in parts.items():
        with np.errstate(invalid="ignore", divide="ignore"):
            r2 = 1 - found.error / found.spread
        numbers = {
            "squared_error": found.error,
            "r2": np.where(found.spread > 0, r2, np.nan),
            "cosine_control": found.cosine_control,
            "pearson_control": found.pearson_control,
            "cosine_mean": found.cosine_mean,
            "pearson_mean": found.pearson_mean,
            "discrimination": found.discrimination,
        }
        values = outcomes.support.space.labels(outcomes.support.codes[rows])
        beside = {"side": pa.array([name] * len(rows), pa.string()), "rows": outcomes.truth.count[rows]}
        beside |= {key: pa.array(column, pa.string()) for key, column in rungs[name].items()}
        known = {key: pa.array(column, from_pandas=True) for key, column in numbers.items()}
        lines.append(pa.table({**values, **beside, **known}))
    return pa.concat_tables(lines)


def _by_output(outcomes: VectorOutcomes, told: _SideParts) -> pa.Table:
    """R² of each output on unseen combinations, and what could be reached."""
    return pa.table(
        {
            "output": list(outcomes.truth.outputs),
            "r2": pa.array(told.own.by_output, from_pandas=True),
            "at_best": pa.array(told.ceiling.by_output, from_pandas=True),
        }
    )


def _verdict(found: VectorEvaluation) -> str:
    """What the predictions explain on unseen combinations, of what could be, and what the best rule does."""
    expected, side = found.expected, found.side("unseen")
    tested = f"{amount(side.combinations, 'unseen combination')}"
    if expected.abstains or expected.value is None:
        return f"Not enough evidence: {expected.reason}."
    sure = "" if expected.low is None or expected.high is None else f" ({percent_range(expected.low, expected.high)})"
    if expected.value <= 0:
        said = f"On {tested} the predictions of {found.target} are {WORSE_THAN_MEAN}: they explain "
        said += f"{percent(expected.value)} of what these differ by{sure}."
    else:
        said = f"The predictions explain {percent(expected.value)} of what {tested} differ by in {found.target}{sure}."
    return " ".join(part for part in (said, _reach(side), _against(found)) if part)


def _reach(side: VectorSide) -> str:
    r2 = side.score(R2)
    if r2 is None or r2.positive is None:
        return "How much could be explained is not known: no combination has two tested rows."
    share = "" if r2.reached is None else f": {percent(r2.reached)} of it was reached"
    return f"The noise of their rows leaves {percent(r2.positive)} to be explained{share}."


def _against(found: VectorEvaluation) -> str:
    """The best simple rule beside them."""
    expected = found.expected
    if expected.baseline_name is None or expected.lift is None or expected.baseline is None:
        return ""
    name = "always answering the mean" if expected.baseline_name == MEAN else expected.baseline_name
    gets = f"{name} explains {percent(expected.baseline)}" if expected.baseline else f"{name} explains nothing"
    low, gain, high = expected.lift
    if low > 0:
        return f"The best simple rule is beaten beyond chance: {gets}."
    if high < 0 and gain <= -_MATERIAL:
        return f"A simple rule is better beyond chance: {gets}."
    return f"The best simple rule is as good as far as can be told: {gets}."


def _reasons(found: VectorEvaluation) -> tuple[str, ...]:
    said = []
    one = found.outputs
    if one.lower is not None and one.upper is not None and one.median is not None:
        most = "" if one.reachable_median is None else f"; {percent(one.reachable_median)} can be explained"
        said.append(
            f"Of {one.outputs:,} outputs half are explained by {percent_range(one.lower, one.upper)} "
            f"(median {percent(one.median)}{most})."
        )
    for names in (_RUNGS[:3], _RUNGS[3:]):
        rungs = [one for one in found.rungs if one.name in names]
        if len(rungs) > 1:
            listed = ", ".join(
                f"{one.combinations:,} {one.name}{'' if one.r2 is None else f' ({percent(one.r2)} explained)'}"
                for one in rungs
            )
            said.append(f"Of the unseen combinations, by what training says of them: {listed}.")
    seen = found.side("seen").score(R2)
    if seen is not None and seen.value is not None:
        said.append(f"On seen combinations the predictions explain {percent(seen.value)}.")
    if found.unpredicted:
        said.append(f"{found.unpredicted:,} tested rows have no whole prediction and were left out.")
    return tuple(said)
