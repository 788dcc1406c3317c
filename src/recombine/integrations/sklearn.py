"""scikit-learn: a scorer for `cross_validate` and `GridSearchCV`, and a display with `plot`.

cross_validate(model, X, y, cv=CombinationKFold(...), scoring=UnseenScorer(table, factors=[...], target="y"))
GridSearchCV(model, grid, scoring=UnseenScorer(...), refit="unseen_accuracy")
"""

import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from recombine.base.errors import ColumnError, SettingError
from recombine.base.plugins import needing
from recombine.base.words import count
from recombine.data.frames import as_arrow
from recombine.integrations.failsafe import Failsafe
from recombine.output.training_history import frame_name
from recombine.verbs.evaluate.outcome_reader import written
from recombine.verbs.evaluate.scoreboard.scoreboard import Scoreboard

__all__ = ["Scoreboard", "ScoreboardDisplay", "UnseenScorer"]

_SIDES = ("seen", "unseen", "novel")


class UnseenScorer:
    """Called as a scorer, it tells every score of a scoreboard of the rows that are asked.

    `table` holds the factors and the target of the rows that are searched over, and of no others: what is not asked
    counts as trained on, as it is in cross-validation, so `return_train_score` means nothing here. Rows are recognised
    by the index of X or of y; where neither has one, as arrays have not, by what they hold: give the whole `X` then.
    Where y is not the table's target there, it is refused.
    """

    def __init__(self, table: Any, *, factors: Sequence[str], target: str, X: Any = None, **settings: Any) -> None:  # noqa: N803
        self._table, self._index = as_arrow(table), getattr(table, "index", None)
        self._asked = {"factors": factors, "target": target, **settings}
        self._names = Scoreboard(self._table, train=self._table, **self._asked).score_names
        self._rows = None if X is None else RowsByContent.of(X, self._table, [*factors, target])
        self._failsafe = Failsafe(stops=False)  # a scorer has no memory: each call is scored for itself

    def __call__(self, estimator: Any, X: Any, y: Any = None) -> dict[str, float]:  # noqa: N803 - scikit-learn's
        """The scores of an estimator on some of the rows; NaN where they cannot be told, with a warning."""
        return self._failsafe(lambda: self._scores(estimator, X, y)) or dict.fromkeys(self._names, math.nan)

    def _scores(self, estimator: Any, X: Any, y: Any) -> dict[str, float]:  # noqa: N803 - scikit-learn's name
        board = self.board(estimator, X, y)
        found = board.compute()
        if math.isnan(found[f"unseen_{board.scored_by}"]):
            warnings.warn(
                f"None of these {count(len(board))} rows is of an unseen combination: the scores on unseen ones are "
                "NaN, and a search that goes by them takes the first candidate. Split by combination, with "
                "cv=recombine.CombinationKFold([…]).",
                UserWarning,
                stacklevel=2,
            )
        return found

    def board(self, estimator: Any, X: Any, y: Any = None) -> Scoreboard:  # noqa: N803 - scikit-learn's name
        """The scoreboard behind one call, for its evaluation or page."""
        asked = self._places(X, y)
        trained = np.setdiff1d(np.arange(len(self._table)), asked)
        found = Scoreboard(self._table.take(pa.array(asked)), train=self._table.take(pa.array(trained)), **self._asked)
        if y is not None:
            _refuse_other_target(found, y)
        found.update(estimator.predict(X))
        return found

    def _places(self, X: Any, y: Any) -> Any:  # noqa: N803 - scikit-learn's name
        index = next((part.index for part in (X, y) if not callable(getattr(part, "index", len))), None)
        if index is None and self._rows is not None and y is not None:
            return self._rows.places(X, y)
        if index is None:
            raise SettingError(
                f"X is a {type(X).__name__}, and neither it nor y has an index",
                why="rows are recognised by an index, or by what they hold",
                instead="give X or y as pandas has them, or tell the scorer the whole of it: UnseenScorer(…, X=X)",
            )
        if self._index is None:
            return np.asarray(index)
        places = self._index.get_indexer(index)
        if (places < 0).any():
            raise SettingError(
                f"the row {index[places < 0][0]!r} is not in the scorer's table",
                why="rows are recognised by the index of X",
                instead="give the scorer the frame that X was taken from",
            )
        return places


class RowsByContent:
    """Recognises rows of an array by what they hold, with their target: those that are equal are taken in turn."""

    def __init__(self, known: dict[bytes, list[int]], target: str) -> None:
        self._known, self._target = known, target

    @classmethod
    def of(cls, X: Any, table: pa.Table, names: Sequence[str]) -> "RowsByContent":  # noqa: N803 - scikit-learn's name
        """The rows of the array that is searched over, beside the table of their factors and target."""
        values = np.asarray(X)
        if values.ndim < 2 or len(values) != len(table) or values.dtype == object:
            raise SettingError(
                f"X is a {type(X).__name__} of shape {values.shape}, and the table has {count(len(table))} rows",
                why="each row of an array of numbers is recognised by what it holds",
                instead="give the whole X as one array, in the order of the table's rows",
            )
        known: dict[bytes, list[int]] = {}
        lines = table.select(list(names)).to_pylist()
        for place, key in enumerate(_row_keys(values, table[names[-1]].to_pylist())):
            known.setdefault(key, []).append(place)
            first = known[key][0]
            if lines[first] != lines[place]:
                raise SettingError(
                    f"rows {first} and {place} of X are equal, and the table has other factors there",
                    why="arrays have no index, so rows are recognised by what they hold",
                    instead="give X as a pandas frame, with the table's index",
                )
        return cls(known, names[-1])

    def places(self, X: Any, y: Any) -> Any:  # noqa: N803 - scikit-learn's name
        """Where some of the rows stand in the table."""
        left = {key: iter(places) for key, places in self._known.items()}
        keys = _row_keys(np.asarray(X), np.asarray(y).tolist())
        found = np.array([next(left.get(key, iter(())), -1) for key in keys], dtype=np.int64)
        if (found < 0).any():
            raise SettingError(
                f"row {int(np.argmax(found < 0))} of the array is not in the scorer's X with that {self._target}",
                why="rows are recognised by what they hold",
                instead="give the scorer the X and the table's target that are searched over",
            )
        return found


def _row_keys(values: Any, target: Sequence[Any]) -> Iterator[bytes]:
    for row, answer in zip(values, target, strict=True):
        yield np.ascontiguousarray(row).tobytes() + written(answer).encode()


def _refuse_other_target(board: Scoreboard, y: Any) -> None:
    """An index that was reset after shuffling names other rows; their target shows it."""
    try:
        board.update(y, truth=y)
    except ColumnError as error:
        raise SettingError(
            "y is not the target of the scorer's table in the rows that the index of X names",
            why=error.what,
            instead="give the scorer the frame that X and y were taken from, with its index as it is in X (neither "
            "reset nor shuffled on one side only)",
        ) from error
    board.reset()


@dataclass(frozen=True, eq=False)
class ScoreboardDisplay:
    """Scores over time, or of one moment, drawn as scikit-learn's displays are.

    `ScoreboardDisplay.from_board(board).plot()`
    """

    history: pa.Table
    score: str

    @classmethod
    def from_board(cls, board: Scoreboard) -> "ScoreboardDisplay":
        """Of everything that a scoreboard has computed."""
        return cls(board.history, board.scored_by)

    def plot(self, ax: Any = None) -> "ScoreboardDisplay":
        """Draw it with matplotlib, on given axes or on new ones; `ax_` and `figure_` hold them."""
        with needing("ScoreboardDisplay.plot", "matplotlib", extra="sklearn"):
            import matplotlib.pyplot as plt  # noqa: PLC0415 - for the picture only
        if not len(self.history):
            raise SettingError("nothing to draw", why="no scores were computed yet", instead="call compute() first")
        axes = plt.subplots()[1] if ax is None else ax
        rule = self.history[f"unseen_best_rule_{self.score}"][-1].as_py()
        if len(self.history) == 1:
            axes.bar(_SIDES, [self.history[f"{side}_{self.score}"][0].as_py() for side in _SIDES])
        else:
            times = self._times()
            for side in _SIDES:
                axes.plot(times, self.history[f"{side}_{self.score}"].to_numpy(), label=side)
            axes.set_xlabel("epoch")
        axes.axhline(rule, linestyle="--", color="grey", label="best simple rule on unseen")
        axes.set_ylabel(frame_name(self.score))
        axes.legend()
        object.__setattr__(self, "ax_", axes)
        object.__setattr__(self, "figure_", axes.figure)
        return self

    def _times(self) -> list[float]:
        known = not self.history["epoch"].null_count
        return list(self.history["epoch" if known else "computed"].to_pylist())
