"""How one row is scored, as an expression that the engine carries out.

Every row gets a *state*: it can be scored, or it cannot, for one reason. Rows that merely lack something are left out
and counted; answers that are wrong in themselves (infinite, no probabilities) stop everything with a word.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import or_
from typing import Any, Literal

import ibis
import numpy as np

from recombine.base.checks import check_choice
from recombine.base.errors import ColumnError, SettingError, nearest
from recombine.data import columns
from recombine.data.centred_sums import Centres, difference
from recombine.data.read import target_kind
from recombine.data.space import text
from recombine.data.split_sides import SplitColumn
from recombine.data.table_query import TableQuery
from recombine.verbs.evaluate.outcomes import Kind, Score

Columns = str | Mapping[str, str]
"""One prediction column, or for probabilities one column for each class."""

SCORES: dict[str, Literal["higher", "lower"]] = {
    "accuracy": "higher",
    "mse": "lower",
    "r2": "higher",
    "logloss": "lower",
}
_FOR_LABELS = ("accuracy", "logloss")
_FOR_NUMBERS = ("mse", "r2")
SCORED, NO_TRUTH, NO_ANSWER, INFINITE, OUTSIDE, NOT_ONE, NO_COLUMN, INFINITE_TRUTH = range(8)
_SUM_TOLERANCE = 1e-3  # probabilities in half precision, or written with three digits, are off by about as much
_SMALLEST = float(np.finfo(np.float64).eps)  # where scikit-learn cuts probabilities too


@dataclass(frozen=True, kw_only=True)
class PredictionQuestion:
    """What is asked of a table of predictions."""

    query: TableQuery
    prediction: Columns | None = None
    other: Columns | None = None
    score: str | None = None
    better: Literal["higher", "lower"] | None = None
    split: SplitColumn | None = None
    id: str | None = None

    def __post_init__(self) -> None:
        self._check_answers()
        self._check_score()

    @property
    def target(self) -> str | None:
        """The column with the true answers."""
        return self.query.target

    @property
    def own_score(self) -> str | None:
        """The column with a score for each row, where that is how rows are scored."""
        return None if self.score is None or self.score in SCORES else self.score

    @property
    def kind(self) -> Literal["label", "number"] | None:
        """What the answers must be, where the settings alone tell it."""
        if self.score in _FOR_LABELS or isinstance(self.prediction, Mapping):
            return "label"
        return "number" if self.score in _FOR_NUMBERS else self.query.target_kind

    def needs(self) -> list[str]:
        """The columns that it needs beside the factors."""
        split = None if self.split is None else self.split.name
        named = [self.target, self.own_score, split, self.id, *answer_columns(self.prediction)]
        return [name for name in [*named, *answer_columns(self.other)] if name is not None]

    def _check_answers(self) -> None:
        if self.own_score is None and (self.prediction is None or self.target is None):
            missing = "target" if self.target is None else "prediction"
            raise SettingError(
                f"no {missing} was named",
                why="an answer is scored against the truth",
                instead=f"name the column: {missing}='…' (--{missing} …), or a column with a score for each row: "
                "score='…' (--score …)",
            )
        if isinstance(self.prediction, Mapping) and len(self.prediction) < 2:
            raise SettingError(
                f"prediction={dict(self.prediction)!r}",
                why="probabilities need a column for each class, two at least",
                instead="write {'cat': 'p_cat', 'dog': 'p_dog'} (--prediction cat=p_cat,dog=p_dog)",
            )
        if self.target is not None and self.target in answer_columns(self.prediction):
            raise SettingError(
                f"{self.target!r} is both the target and the prediction",
                why="an answer that is the truth is always right",
                instead="name the model's own column as the prediction",
            )

        if self.target is not None and self.target in answer_columns(self.other):
            raise SettingError(
                f"{self.target!r} is both the target and the other model's answers",
                why="a model that is the truth is always right, so the difference is this model's errors again",
                instead="name the other model's own column: against='…' (--against …)",
            )

    def _check_score(self) -> None:
        if isinstance(self.prediction, Mapping) and self.score in _FOR_NUMBERS:
            raise SettingError(
                f"score={self.score!r} with a probability for each class",
                why="it is for numbers",
                instead="write 'logloss' or 'accuracy'",
            )
        check_choice("better", self.better, (None, "higher", "lower"), instead="write 'higher' or 'lower'")
        if self.better is not None and self.own_score is None and self.better != SCORES[str(self.score)]:
            raise SettingError(
                f"better={self.better!r}",
                why=f"it is known which way {self.score or 'this score'} is better",
                instead="leave it out; it is for a score of your own",
            )
        if self.score == "logloss" and self.query.target_kind == "number":
            raise SettingError(
                "score='logloss' with target_kind='number'", why="log loss is for labels", instead="leave one out"
            )


def answer_columns(columns: Columns | None) -> list[str]:
    """The columns that hold the answers."""
    if columns is None:
        return []
    return [columns] if isinstance(columns, str) else list(columns.values())


@dataclass(frozen=True)
class Scoring:
    """How rows are scored: what the question comes to once the columns' types are known.

    `classes` are those of the probability columns, in their order; `positive` is the class that a single column is
    taken to be the probability of.
    """

    kind: Kind
    score: Score
    classes: tuple[str, ...] = ()
    positive: str | None = None
    guessed: bool = False
    centres: Centres = field(default_factory=dict)
    """What the sums of the tested truth (`target`), the training side's (`taught`) and the `score`s are taken about."""


@dataclass(frozen=True)
class RowScore:
    """One row's expressions: its state, what was said, and its score where the engine computes it.

    Of probabilities of two classes also that of the later class, and that of the true one.
    """

    state: Any
    said: Any = None
    score: Any = None
    later: Any = None
    true: Any = None


def scoring_of(table: Any, question: PredictionQuestion, backend: Any) -> Scoring:
    """What the columns' types say about how to score."""
    _require(table, question)
    if question.own_score is not None and (question.prediction is None or question.target is None):
        return Scoring("score", _score(question, "score"))
    kind, guessed = _kind(table, question, backend)
    score = _score(question, kind)
    if isinstance(question.prediction, Mapping):
        return Scoring(kind, score, tuple(question.prediction))
    if score.name == "logloss":
        classes = _two_classes(table, question, backend)
        return Scoring(kind, score, classes, positive=classes[1])
    _check_answer_type(table, question, kind)
    return Scoring(kind, score, guessed=guessed)


def score_rows(
    table: Any, question: PredictionQuestion, scoring: Scoring, backend: Any, *, answers: Columns | None
) -> RowScore:
    """The expressions for one model's answers."""
    if scoring.kind == "score":
        return _by_column(table, question, backend)
    if scoring.kind == "number":
        found = _by_error(table, question, backend, str(answers))
    elif scoring.classes:
        found = _by_probability(table, question, scoring, backend, answers)
    else:
        truth, said = (clean(table[name], backend) for name in (question.target, answers))
        found = RowScore(ibis.cases((truth.isnull(), NO_TRUTH), (said.isnull(), NO_ANSWER), else_=SCORED), said)
    if question.own_score is None:
        return found
    own = _by_column(table, question, backend)  # labels or numbers, scored by a column of the user's own
    return replace(found, state=ibis.cases((found.state != SCORED, found.state), else_=own.state), score=own.score)


def clean(column: Any, backend: Any) -> Any:
    """A column of labels as values, missing where it is not a number."""
    return columns.as_value(columns.without_nan(column, backend))


def number(table: Any, name: str, backend: Any) -> Any:
    """A column of numbers, missing where it is not one."""
    return columns.without_nan(table[name].cast("float64"), backend)


def infinite(column: Any, backend: Any) -> Any:
    """Which of the numbers are infinite, on engines that know the word and on those that do not."""
    if backend.has_operation(ibis.expr.operations.IsInf):
        return column.isinf()
    return column.abs() > float(np.finfo(np.float64).max)


def _require(table: Any, question: PredictionQuestion) -> None:
    for role, names in (
        ("the target", answer_columns(question.target)),
        ("the prediction", answer_columns(question.prediction)),
        ("the other prediction", answer_columns(question.other)),
        ("the id", answer_columns(question.id)),
        ("the split", [] if question.split is None else [question.split.name]),
    ):
        columns.require(table, names, role=role)
    if question.own_score is not None and question.own_score not in table.columns:
        raise ColumnError(
            f"no score {question.own_score!r}",
            why="it is neither a score that is known nor a column of the table",
            instead=nearest(question.own_score, [*SCORES, *table.columns], most=12),
        )


def _score(question: PredictionQuestion, kind: Kind) -> Score:
    if question.own_score is not None:
        return Score(question.own_score, question.better or "higher")
    name = question.score or ("accuracy" if kind == "label" else "mse")
    if isinstance(question.prediction, Mapping) and question.score is None:
        name = "logloss"
    return Score(name, SCORES[name])


def _kind(table: Any, question: PredictionQuestion, backend: Any) -> tuple[Literal["label", "number"], bool]:
    if question.kind is not None:
        if question.kind == "number" and not _numeric(table[question.target]):
            raise _not_numbers(table, question)
        return question.kind, False
    found = target_kind(table, question.query, backend) or "label"
    floating = isinstance(question.prediction, str) and table[question.prediction].type().is_floating()
    if found == "label" and floating and _numeric(table[question.target]):
        return "number", True  # few whole numbers, but the model answers with fractions: grades, not names
    return found, False


def _numeric(column: Any) -> bool:
    return bool(column.type().is_numeric() or column.type().is_boolean())


def _check_answer_type(table: Any, question: PredictionQuestion, kind: Kind) -> None:
    for name in answer_columns(question.prediction) + answer_columns(question.other):
        column, truth = table[name].type(), table[question.target].type()
        fraction_for_a_name = kind == "label" and column.is_floating() and not truth.is_numeric()
        if fraction_for_a_name or (kind == "number" and not column.is_numeric()):
            raise _other_kind(f"the prediction {name!r} holds {column}, the target {question.target!r} {truth}")


def _other_kind(what: str) -> ColumnError:
    return ColumnError(
        what,
        why="an answer can be compared with the truth where both are labels or both are numbers",
        instead="name the column with the model's own answer, or for probabilities write score='logloss' "
        "(--score logloss), or say target_kind='label' or 'number' (--target-kind)",
    )


def _not_numbers(table: Any, question: PredictionQuestion) -> ColumnError:
    what = f"the target {question.target!r} holds {table[question.target].type()}, not numbers"
    if question.score is None or question.own_score is not None:
        return _other_kind(what)
    return ColumnError(
        what,
        why=f"{question.score} is for numbers, and these are labels",
        instead="write score='accuracy' (--score accuracy), or where the prediction is a probability "
        "score='logloss' (--score logloss)",
    )


def _by_column(table: Any, question: PredictionQuestion, backend: Any) -> RowScore:
    name = str(question.own_score)
    if not _numeric(table[name]):
        raise ColumnError(
            f"the score {name!r} is of type {table[name].type()}",
            why="a score is a number for each row",
            instead=f"name a column of numbers, or one of {', '.join(SCORES)}",
        )
    row = number(table, name, backend)
    state = ibis.cases((row.isnull(), NO_ANSWER), (infinite(row, backend), INFINITE), else_=SCORED)
    return RowScore(state, score=row)


def _by_error(table: Any, question: PredictionQuestion, backend: Any, name: str) -> RowScore:
    truth, said = number(table, str(question.target), backend), number(table, name, backend)
    state = ibis.cases(
        (truth.isnull(), NO_TRUTH),
        (said.isnull(), NO_ANSWER),
        (infinite(said, backend), INFINITE),
        (infinite(truth, backend), INFINITE_TRUTH),
        else_=SCORED,
    )
    error = difference(table[name], table[question.target], backend)
    return RowScore(state, said, error * error)


def _by_probability(
    table: Any, question: PredictionQuestion, scoring: Scoring, backend: Any, answers: Columns | None
) -> RowScore:
    """Log loss of the true class, and the likeliest class as what was said (by its place among the classes)."""
    shares = _shares(table, scoring, backend, answers)
    truth = clean(table[question.target], backend).cast("string")
    total = sum(shares[1:], shares[0])
    outside = reduce(or_, [(share < 0) | (share > 1) for share in shares])
    true_share = ibis.cases(*[(truth == name, share) for name, share in zip(scoring.classes, shares, strict=True)])
    state = ibis.cases(
        (truth.isnull(), NO_TRUTH),
        (total.isnull(), NO_ANSWER),
        (outside, OUTSIDE),
        ((total - 1).abs() > _SUM_TOLERANCE, NOT_ONE),
        (true_share.isnull(), NO_COLUMN),
        else_=SCORED,
    )
    most = ibis.greatest(*shares)
    said = ibis.cases(*[(share == most, place) for place, share in enumerate(shares)])
    score = None if scoring.score.name == "accuracy" else -ibis.least(ibis.greatest(true_share, _SMALLEST), 1.0).log()
    return RowScore(state, said, score, *((shares[1], true_share) if len(shares) == 2 else ()))


def _shares(table: Any, scoring: Scoring, backend: Any, answers: Columns | None) -> list[Any]:
    if isinstance(answers, Mapping):
        return [number(table, name, backend) for name in answers.values()]
    share = number(table, str(answers), backend)
    return [1 - share, share] if scoring.positive == scoring.classes[1] else [share, 1 - share]


def _two_classes(table: Any, question: PredictionQuestion, backend: Any) -> tuple[str, str]:
    """The classes of a two-class target, the one that a single column is the probability of last."""
    column = clean(table[question.target], backend)
    found = backend.to_pyarrow(table.select(target=column).filter(column.notnull()).distinct().limit(3))
    values = columns.ordered(set(found["target"].to_pylist()))
    known = values
    if len(values) == 1 and isinstance(values[0], int) and values[0] in (0, 1):
        known = [False, True] if isinstance(values[0], bool) else [0, 1]  # one class is enough to know both
    if len(known) != 2:
        listed = ", ".join(repr(text(value)) for value in values)
        raise ColumnError(
            f"the target {question.target!r} holds {listed or 'nothing'}{' …' if len(values) > 2 else ''}",
            why="one column of probabilities is enough for two classes only",
            instead="name a column for each class: {'cat': 'p_cat', 'dog': 'p_dog'} (--prediction cat=p_cat,dog=p_dog)",
        )
    return text(known[0]), text(known[1])
