"""The scores of a scoreboard as trainers and trackers take them: those that are known, and when."""

import math
from collections.abc import Mapping

from recombine.errors import SettingError
from recombine.scoreboard.scoreboard import Scoreboard

_WHEN = ("computed", "step", "epoch")


def known(scores: Mapping[str, float]) -> dict[str, float]:
    """The scores without NaN, which no log gets: trackers draw it as if it were a score.

    >>> known({"accuracy": 0.5, "novel_accuracy": math.nan})
    {'accuracy': 0.5}
    """
    return {name: value for name, value in scores.items() if math.isfinite(value)}


def last_scores(board: Scoreboard) -> tuple[int, dict[str, float]]:
    """The step that the last scores belong to, and those that are known."""
    if not board.history.num_rows:
        raise SettingError("nothing to log", why="no scores were computed yet", instead="call board.compute() first")
    line = board.history.slice(board.history.num_rows - 1).to_pylist()[0]
    step = line["computed"] if line["step"] is None else line["step"]
    return step, known({name: value for name, value in line.items() if name not in _WHEN})
