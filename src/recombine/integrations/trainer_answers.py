"""What trainers hand over, and where the answers are in it.

The scores of a scoreboard as trainers and trackers take them: those that are known, and when.
"""

import math
from collections.abc import Mapping
from typing import Any

from recombine.base.errors import SettingError
from recombine.verbs.evaluate.scoreboard.scoreboard import Scoreboard

_ANSWERS = ("predictions", "prediction", "preds", "pred", "logits", "y_hat")


def first_of(given: Any) -> Any:
    """Of several outputs the first, which is the answer wherever models return more than one.

    >>> first_of(("logits", "states")), first_of("logits")
    ('logits', 'logits')
    """
    return given[0] if isinstance(given, tuple) else given


def answers_of(outputs: Any, *, step: str) -> Any:
    """The answers among what a step returned: by a usual name, or the thing itself where it is no single number.

    >>> answers_of({"loss": 0.1, "logits": [[0.2, 0.8]]}, step="validation_step")
    [[0.2, 0.8]]
    """
    if isinstance(outputs, Mapping):
        found = next((outputs[name] for name in _ANSWERS if name in outputs), None)
    elif hasattr(outputs, "logits"):
        found = outputs.logits
    else:
        found = first_of(outputs)
    if found is None or getattr(found, "ndim", 1) == 0:
        keys = f" with {', '.join(map(repr, outputs))}" if isinstance(outputs, Mapping) else ""
        raise SettingError(
            f"{step} returned a {type(outputs).__name__}{keys}",
            why="the scoreboard needs the answers to the batch's rows, and a loss is none",
            instead="let it return {'logits': logits} or {'predictions': …} (with 'loss' beside it), or say where they "
            "are: answers=lambda outputs, batch: …",
        )
    return found


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
