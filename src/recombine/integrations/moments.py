"""The last scores of a scoreboard, as trackers take them."""

import math

from recombine.errors import SettingError
from recombine.scoreboard.scoreboard import Scoreboard

_WHEN = ("computed", "step", "epoch")


def last_scores(board: Scoreboard) -> tuple[int, dict[str, float]]:
    """The step that the last scores belong to, and those that are known: trackers draw NaN as if it were a score."""
    if not board.history.num_rows:
        raise SettingError("nothing to log", why="no scores were computed yet", instead="call board.compute() first")
    line = board.history.slice(board.history.num_rows - 1).to_pylist()[0]
    step = line["computed"] if line["step"] is None else line["step"]
    return step, {name: value for name, value in line.items() if name not in _WHEN and math.isfinite(value)}
