"""What is asked of a table of predictions, checked before any engine is troubled."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from recombine.checks import check_choice
from recombine.errors import SettingError
from recombine.tables.question import Question

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


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What is asked of a table of predictions."""

    question: Question
    prediction: Columns | None = None
    other: Columns | None = None
    score: str | None = None
    better: Literal["higher", "lower"] | None = None
    split: str | None = None
    train_side: tuple[str, ...] = ()
    test_side: tuple[str, ...] = ()
    id: str | None = None

    def __post_init__(self) -> None:
        self._check_answers()
        self._check_score()
        if (self.train_side or self.test_side) and self.split is None:
            raise SettingError(
                "train_side or test_side without a split",
                why="they name values of the column that says which side a row stands on",
                instead="name that column: split='split' (--split split)",
            )

    @property
    def target(self) -> str | None:
        """The column with the true answers."""
        return self.question.target

    @property
    def own_score(self) -> str | None:
        """The column with a score for each row, where that is how rows are scored."""
        return None if self.score is None or self.score in SCORES else self.score

    @property
    def kind(self) -> Literal["label", "number"] | None:
        """What the answers must be, where the settings alone tell it."""
        if self.score in _FOR_LABELS or isinstance(self.prediction, Mapping):
            return "label"
        return "number" if self.score in _FOR_NUMBERS else self.question.target_kind

    def needs(self) -> list[str]:
        """The columns that it needs beside the factors."""
        named = [self.target, self.own_score, self.split, self.id, *answer_columns(self.prediction)]
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
        if self.better is not None and self.own_score is None:
            raise SettingError(
                f"better={self.better!r}",
                why=f"it is known which way {self.score or 'this score'} is better",
                instead="leave it out; it is for a score of your own",
            )
        if self.score == "logloss" and self.question.target_kind == "number":
            raise SettingError(
                "score='logloss' with target_kind='number'", why="log loss is for labels", instead="leave one out"
            )


def answer_columns(columns: Columns | None) -> list[str]:
    """The columns that hold the answers."""
    if columns is None:
        return []
    return [columns] if isinstance(columns, str) else list(columns.values())
