"""How a model's predictions fare on combinations that it has not seen: the value, and the verb that makes it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, TypedDict, Unpack

import pyarrow as pa

from recombine.base import records
from recombine.base.argument_kinds import explain_kinds
from recombine.base.checks import check_column_names, check_known, check_seed, check_share, check_whole
from recombine.base.decoding import revive_all
from recombine.base.errors import SettingError
from recombine.base.grades import Expected, Grade
from recombine.base.progress import Progress, silent
from recombine.base.records import Provenance, Record
from recombine.base.result import Result
from recombine.data.columns import Bins
from recombine.data.locations import names_a_table
from recombine.data.set_columns import SetSource, named_factors, set_columns
from recombine.data.space import Impossible, Value
from recombine.data.split_sides import SplitColumn
from recombine.data.table_query import TableQuery, TargetKind, Where, conjunctions, declared_bins, declared_values
from recombine.numerics.resampling import IntervalSettings
from recombine.verbs.evaluate import scored_combinations
from recombine.verbs.evaluate import verdict as wording
from recombine.verbs.evaluate.additivity import Additivity, additivity
from recombine.verbs.evaluate.baselines import Baselines, baselines, expected_score, simple_rules
from recombine.verbs.evaluate.deviations import RATE, BadGroup, Deviations, deviations
from recombine.verbs.evaluate.error_causes import Anatomy, anatomy
from recombine.verbs.evaluate.group_rates import RatesByGroup, group_rates
from recombine.verbs.evaluate.matched_gap import (
    Balanced,
    MatchedGap,
    WorstGroup,
    balanced_accuracy,
    matched_gap,
    worst_group,
)
from recombine.verbs.evaluate.model_comparison import ModelComparison, comparison, paired_by_combination
from recombine.verbs.evaluate.outcome_reader import OutcomeReading, outcomes_of
from recombine.verbs.evaluate.outcomes import Outcomes, Score, describe_outcomes, load_outcomes, outcome_tables
from recombine.verbs.evaluate.prediction_query import gather
from recombine.verbs.evaluate.scored_combinations import ScoredCombination, Untested, list_untested
from recombine.verbs.evaluate.scores import ScoreGap, Shrunk, SideScore, masks, parts, scores, shrunk
from recombine.verbs.evaluate.scoring import Columns, PredictionQuestion
from recombine.verbs.evaluate.shortcut_worth import Shortcut, shortcut_worth
from recombine.verbs.evaluate.swap_test import SwapTest, swap_test
from recombine.verbs.evaluate.theory_comparison import BesideTheory, beside
from recombine.verbs.predict.prediction import Prediction


@dataclass(frozen=True)
class Deviating:
    """What does worse than its parts give elsewhere; `rate` of those named may be luck.

    `groups` are the pairs of values and the combinations that do, `values` the values that do worse than the rest. The
    combinations are `found` in all, by themselves or with a pair, and these are `listed`.
    """

    sentence: str
    testable: int
    rank: int
    groups: tuple[BadGroup, ...]
    values: tuple[BadGroup, ...]
    found: int
    rate: float
    listed: tuple[ScoredCombination, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation(Result):
    """A verdict on a model's predictions, and the numbers behind it.

    >>> import recombine
    >>> table = {"colour": ["red", "red", "blue", "blue"], "shape": ["disc", "cube", "disc", "cube"],
    ...          "split": ["train", "train", "train", "test"], "y": ["a", "b", "a", "b"], "said": ["a", "b", "a", "a"]}
    >>> found = recombine.evaluate(table, factors=["colour", "shape"], target="y", prediction="said", split="split")
    >>> found.side("unseen").score, found.side("unseen").low, found.grade
    (0.0, None, 'untested')
    """

    kind: ClassVar[str] = "evaluation"
    verdict: str
    grade: Grade
    reasons: tuple[str, ...]
    score: Score
    confidence: float
    draws: int
    seed: int
    sides: tuple[SideScore, ...]
    expected: Expected
    baselines: Baselines
    balanced: tuple[Balanced, ...]
    gap: ScoreGap | None
    matched: MatchedGap | None
    group: WorstGroup | None
    worst: tuple[ScoredCombination, ...]
    untested: Untested
    deviations: Deviating
    rates: RatesByGroup | None
    against: ModelComparison | None
    anatomy: Anatomy | None
    swap: SwapTest | None
    additivity: Additivity | None
    shortcut: Shortcut | None
    theory: BesideTheory | None
    pairs_left_out: tuple[tuple[str, str], ...]
    table: pa.Table
    by_value: pa.Table
    by_pair: pa.Table
    outcomes: Outcomes

    @property
    def provenance(self) -> Provenance:
        """Where it came from."""
        return self.outcomes.tested.source

    def side(self, name: str) -> SideScore:
        """One side by its name: all, seen, unseen, determined, undetermined, novel."""
        for side in self.sides:
            if side.name == name:
                return side
        raise SettingError(
            f"no side {name!r}",
            why="combinations are seen, unseen or novel",
            instead=f"write one of {', '.join(side.name for side in self.sides)}",
        )

    def share(self, name: str) -> float:
        """A score that a gate can be held against, NaN where it was not tested.

        That of a side; of the `worst` combination after shrinkage (of groups with the true class, as it is); the `lift`
        over the best simple rule on unseen combinations; or the `balanced_accuracy` there, the mean of the classes'
        shares. Without a training side the latter is over all tested rows.
        """
        if name == "lift":
            return float("nan") if self.expected.lift is None else self.expected.lift[1]
        if name == "balanced_accuracy":
            found = self._balanced
            return float("nan") if found is None else found.score
        if self.score.better == "lower":
            raise SettingError(
                f"a gate on {name!r}",
                why=f"the score is {wording.score_name(self.score)}, of which less is better",
                instead="score by accuracy or r2 for a gate (--score r2), or ask for lift",
            )
        if name == "worst":
            return self._worst
        if name not in {side.name for side in self.sides}:
            raise SettingError(
                f"no side {name!r}",
                why="a gate is held against one side, the worst combination, or what is gained over a simple rule",
                instead=f"write one of {', '.join(side.name for side in self.sides)}, {', '.join(_GATES)}",
            )
        score = self.side(name).score
        return float("nan") if score is None else score

    def thin(self, name: str) -> bool:
        """Whether the evidence behind a gate is not enough: no interval, or a worst case with untested ones.

        A lift that chance explains is none.
        """
        if name == "lift":
            return self.expected.lift is None or self.expected.lift[0] <= 0
        if name == "balanced_accuracy":
            return self._balanced is None or self._balanced.low is None
        if name == "worst":
            return self.untested.total > 0 or (self.group is not None and bool(self.group.thin))
        return self.side(name).low is None

    def at_best(self, name: str) -> float:
        """What a score could be as far as luck in its being picked explains it: a gate fails below that alone.

        The worst of many is low by luck too, so of the `worst` it is the upper end of an interval that allows for it;
        everything else was not picked, and is as it is.
        """
        if name != "worst" or self.score.name == "r2":
            return self.share(name)
        high = self.worst[0].high if self.group is None else self.group.high
        return self.share(name) if high is None else high

    @property
    def _worst(self) -> float:
        if self.group is not None:
            return float("nan") if self.group.score is None else self.group.score
        return self.worst[0].shrunk if self.score.name != "r2" else float("nan")

    @property
    def _balanced(self) -> Balanced | None:
        side = "all" if self.outcomes.training is None or self.group is not None else "unseen"
        return next((one for one in self.balanced if one.side == side), None)

    def record(self) -> Record:
        """The evaluation as plain data, which can be saved, drawn and loaded."""
        results = {name: records.plain(getattr(self, name)) for name in _RESULTS}
        tables = {"combinations": self.table, "by_value": self.by_value, "by_pair": self.by_pair}
        return Record(
            "evaluation",
            results | describe_outcomes(self.outcomes),
            outcome_tables(self.outcomes) | tables,
            self.provenance,
        )

    @classmethod
    def from_record(cls, record: Record) -> "Evaluation":
        """Back from plain data."""
        outcomes = load_outcomes(record)
        return cls(
            **revive_all(cls, tuple(name for name in _RESULTS if name != "score"), record.data),
            score=outcomes.score,
            table=record.tables["combinations"],
            by_value=record.tables["by_value"],
            by_pair=record.tables["by_pair"],
            outcomes=outcomes,
        )


_CAUSES_OF_SETS = (
    "What the errors hang on and whether the answers add up was not looked at: these tests ask for one value of each "
    "factor, and a set has several."
)
_GATES = ("worst", "lift", "balanced_accuracy")
_APART = ("table", "by_value", "by_pair", "outcomes")
_RESULTS = tuple(field.name for field in fields(Evaluation) if field.name not in _APART)


_INTERVALS = IntervalSettings()
_SETTINGS = ("factors", "target", "prediction", "train", "split", "score", "against", "theory", "intervals")
_GROUPED = dict.fromkeys(
    ("draws", "confidence", "seed"), "write intervals=IntervalSettings(draws=…, confidence=…, seed=…)"
)
_GROUPED |= dict.fromkeys(("train_side", "test_side"), "write split=SplitColumn('split', train=['…'], test=['…'])")
_GROUPED["better"] = "write score=Score('…', 'lower')"


class EvaluateReading(TypedDict, total=False):
    """How the tables of an evaluation are read: these settings of `recombine.read`, by the same names."""

    target_kind: TargetKind | None
    where: Where | None
    bins: Mapping[str, Bins] | None
    domain: Mapping[str, Sequence[Value]] | None
    impossible: Iterable[Impossible]
    missing: Literal["leave out", "value"]
    sets: Mapping[str, SetSource] | None
    table: str | None


class EvaluateOptions(EvaluateReading, total=False):
    """The rarer settings of an evaluation: how answers are joined to `data` by an `id`, and what is left out."""

    data: Any
    id: str | None
    causes: bool
    command: str | None


@explain_kinds
def evaluate(  # noqa: PLR0913 - each is one plain question, and all but a few have an answer already
    predictions: Any,
    *,
    factors: Sequence[str] = (),
    target: str | None = None,
    prediction: Columns | None = None,
    train: Any = None,
    split: str | SplitColumn | None = None,
    score: str | Score | None = None,
    against: Any = None,
    theory: Prediction | str | Path | None = None,
    intervals: IntervalSettings = _INTERVALS,
    progress: Progress | None = None,
    **options: Unpack[EvaluateOptions],
) -> Evaluation:
    """Say how predictions fare on combinations that were seen in training, and on those that were not.

    `predictions` is any table with the factors, the target and the model's answers; or with `data` a table of ids and
    answers alone, of which `data` holds the rest. `train` is the table that was trained on; or `split` names the
    column that says which rows were: `SplitColumn("fold", train=["0"], test=["1"])` where its words are not the usual
    ones. `score` is accuracy, mse, r2, logloss, or a column with a score for each row: `Score("loss", "lower")` where
    less of it is better. `prediction` is a column, or for log loss a mapping from class to column. `against` is another
    column of answers, or another table of them, whose rows are matched by the column `id`. `theory` is a `Prediction`
    to set beside the measurement: its forecast with the miss, and where it expects trouble.
    The target may be one of the `factors`: then groups hold the true class, and the worst of them is told.
    `causes=False` leaves out the causes of the errors (anatomy, swap test, additivity), which take longer than all the
    rest. `intervals` says how sure the intervals are, from how many draws and which. `target_kind`, `where`, `bins`,
    `domain`, `impossible`, `missing`, `sets` and `table` are those of `recombine.read`. Of sets, groups are made by
    their elements, and the causes are not looked for.
    """
    tell = progress or silent
    check_known(options, [*_SETTINGS, *EvaluateOptions.__annotations__], who="an evaluation", instead=_GROUPED)
    check_share(
        "confidence", intervals.confidence, why="it is the share that an interval promises", instead="write 0.95"
    )
    check_column_names(target=target, prediction=None if isinstance(prediction, Mapping) else prediction)
    check_seed(intervals.seed)
    why = "an interval's ends take 100 draws to be found, and no more than ten million"
    check_whole("draws", intervals.draws, least=100, most=10**7, why=why, instead="write 2000")
    by_id = options.get("id")
    other_table = against if against is not None and names_a_table(against) else None
    question = PredictionQuestion(
        query=question_of(factors, target, options),
        prediction=prediction,
        other=_other_columns(against, prediction, other_table, by_id),
        score=score.name if isinstance(score, Score) else score,
        better=score.better if isinstance(score, Score) else None,
        split=split if isinstance(split, SplitColumn | None) else SplitColumn(split),
        id=by_id,
    )
    forecast = _load_theory(theory)
    if forecast is not None and question.query.sets:
        raise SettingError(
            f"theory with a factor whose value is a set: {', '.join(question.query.sets)}",
            why="a forecast is set beside ordinary factors alone, so far",
            instead="leave one of the two out",
        )
    tell("scoring rows", None)
    gathered = gather(
        predictions,
        question,
        data=options.get("data"),
        train=train,
        against=other_table if by_id is not None else None,
        progress=lambda share: tell("scoring rows", share),
    )
    settings = _settings(question, intervals, gathered.train)
    source = Provenance(source=gathered.source, settings=settings, command=options.get("command"))
    reading = outcomes_of(gathered, question, source)
    if other_table is not None and by_id is None:
        reading = replace(
            reading, paired=paired_by_combination(other_table, question, gathered.scoring, reading.outcomes)
        )
    other = str(against) if isinstance(against, str | Path) else "other"
    measured = _measure(reading, intervals, tell, other=other)
    return _add_causes(measured, forecast, tell, causes=options.get("causes", True))


def question_of(factors: Sequence[str], target: str | None, reading: EvaluateReading) -> TableQuery:
    """What is asked of the tables of an evaluation."""
    sets = set_columns(reading.get("sets"))
    return TableQuery(
        factors=named_factors(factors, sets),
        sets=sets,
        target=target,
        target_kind=reading.get("target_kind"),
        where=reading.get("where"),
        bins=declared_bins(reading.get("bins")),
        domain=declared_values(reading.get("domain")),
        impossible=conjunctions(reading.get("impossible", ())),
        missing=reading.get("missing", "leave out"),
        table=reading.get("table"),
        groups=_holds_class(target, factors, reading),
    )


def _holds_class(target: str | None, factors: Sequence[str], reading: EvaluateReading) -> bool:
    """Whether groups that hold the true class are asked for: worst-group accuracy."""
    if target is None or target not in factors:
        return False
    if target in (reading.get("bins") or {}) or reading.get("target_kind") == "number":
        raise SettingError(
            f"{target!r} is both a factor and a number to be predicted",
            why="groups are made with the true class",
            instead="take it off the factors, or say target_kind='label' (--target-kind label) and bin nothing",
        )
    return True


def _measure(reading: OutcomeReading, settings: IntervalSettings, tell: Progress, *, other: str) -> Evaluation:
    """All that the scores alone say."""
    outcomes = reading.outcomes
    tell("resampling combinations", None)
    sides, (scored, gap) = masks(outcomes), scores(outcomes, settings)
    rules = simple_rules(outcomes)
    beside = baselines(rules, sides, settings)
    unseen = next(side for side in scored if side.name == "unseen")
    tell("comparing combinations", None)
    pulled, apart, by_part = shrunk(outcomes, settings), deviations(outcomes), parts(outcomes, settings)
    missing = list_untested(outcomes)
    found = Evaluation(
        verdict="",  # the sentences are made from the numbers, below
        grade="untested",
        reasons=(),
        score=outcomes.score,
        confidence=settings.confidence,
        draws=settings.draws,
        seed=settings.seed,
        sides=scored,
        expected=expected_score(outcomes, rules, beside, settings, measured=(unseen.low, unseen.high)),
        baselines=beside,
        balanced=balanced_accuracy(outcomes, sides, settings),
        gap=gap,
        matched=matched_gap(outcomes, settings),
        group=worst_group(outcomes, rules, missing.total, settings),
        worst=scored_combinations.worst(outcomes, pulled, apart),
        untested=missing,
        deviations=_list_deviating(outcomes, pulled, apart),
        rates=group_rates(outcomes, settings),
        against=None if reading.paired is None else comparison(outcomes, reading.paired, settings, other=other),
        anatomy=None,
        swap=None,
        additivity=None,
        shortcut=None,
        theory=None,
        pairs_left_out=by_part.left_out,
        table=scored_combinations.table(outcomes, pulled, apart),
        by_value=by_part.values,
        by_pair=by_part.pairs,
        outcomes=outcomes,
    )
    return replace(found, reasons=wording.reasons(found, reading.notes))


def _add_causes(found: Evaluation, theory: Prediction | None, tell: Progress, *, causes: bool) -> Evaluation:
    """The same with the causes of the errors, and the theory beside it."""
    outcomes, seed = found.outcomes, found.seed
    tell("looking at the errors", None)
    cause = swapped = added = beside_theory = None
    sets = outcomes.tested.space.set_factors
    if causes and found.group is None:  # where the class is a factor, it would explain everything
        swapped = swap_test(outcomes, seed=seed)
        if not sets:
            cause, added = anatomy(outcomes, seed=seed), additivity(outcomes, seed=seed)
    if theory is not None:
        beside_theory = beside(outcomes, theory, measured_score=found.expected, confidence=found.confidence, seed=seed)
    said = tuple(part.verdict for part in (cause, swapped, added) if part is not None)
    said += () if beside_theory is None else beside_theory.reasons
    said += (_CAUSES_OF_SETS,) if causes and sets else ()
    said += ("Swapped were whole sets.",) if sets and swapped is not None else ()
    explained = replace(
        found,
        reasons=found.reasons + said,
        anatomy=cause,
        swap=swapped,
        additivity=added,
        shortcut=shortcut_worth(outcomes, swapped),
        theory=beside_theory,
    )
    return replace(explained, verdict=wording.verdict(explained), grade=wording.grade(explained))


def _list_deviating(outcomes: Outcomes, pulled: Shrunk, apart: Deviations) -> Deviating:
    listed = scored_combinations.deviating(outcomes, pulled, apart)
    found = (apart.groups, apart.values, apart.found)
    return Deviating(apart.sentence, apart.testable, apart.rank, *found, RATE, listed)


def _other_columns(against: Any, prediction: Columns | None, table: Any, by_id: str | None) -> Columns | None:
    """The other model's columns: a column of this table, or of another table those with the same names."""
    if against is None or (table is not None and by_id is None):
        return None
    if prediction is None:
        raise SettingError(
            "against without a prediction",
            why="two models are compared by their answers",
            instead="name the prediction too: prediction='…' (--prediction …)",
        )
    return prediction if table is not None else str(against)


def _load_theory(theory: Any) -> Prediction | None:
    if theory is None or isinstance(theory, Prediction):
        return theory
    if isinstance(theory, str | Path):
        return Prediction.load(theory)
    raise SettingError(
        f"theory was given a {type(theory).__name__}",
        why="it is a prediction, or the folder of one",
        instead="give what recombine.predict(…) returned, or the folder of `recombine predict … --out FOLDER`",
    )


def _settings(question: PredictionQuestion, settings: IntervalSettings, train: str | None) -> dict[str, Any]:
    own = {
        "prediction": dict(question.prediction) if isinstance(question.prediction, Mapping) else question.prediction,
        "other": dict(question.other) if isinstance(question.other, Mapping) else question.other,
        "score": question.score,
        "split": None if question.split is None else question.split.name,
        "train": train,
        "id": question.id,
    }
    kept = {name: value for name, value in own.items() if value is not None}
    return question.query.settings() | kept | asdict(settings)
