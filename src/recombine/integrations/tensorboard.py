"""TensorBoard: the scores as scalars, `recombine/unseen_accuracy` and so on.

`add_scalars(writer, board)` after each `compute`, with any `SummaryWriter` (of PyTorch, tensorboardX or Lightning's
logger), which writes the files; nothing of TensorBoard is imported here.
"""

from typing import Any

from recombine.integrations.trainer_answers import last_scores
from recombine.verbs.evaluate.scoreboard.scoreboard import Scoreboard


def add_scalars(writer: Any, board: Scoreboard, *, prefix: str = "recombine/") -> None:
    """Write the last scores; what was not tested is left out."""
    step, found = last_scores(board)
    for name, value in found.items():
        writer.add_scalar(f"{prefix}{name}", value, step)
