"""Hugging Face's Trainer: `compute_metrics` for each evaluation, and a callback that knows the step and the epoch.

    trainer = Trainer(..., compute_metrics=compute_metrics(board), callbacks=[ScoreboardCallback(board)])

Metrics come out as `eval_unseen_accuracy` and so on. The factors need not be columns of the dataset: the scoreboard
holds them itself, so `remove_unused_columns` takes nothing away.
"""

import math
from pathlib import Path
from typing import Any

from recombine.extras import needing
from recombine.integrations.answering import first_of
from recombine.integrations.moments import known
from recombine.scoreboard.answers import as_array
from recombine.scoreboard.scoreboard import Scoreboard

with needing(__name__, "transformers", extra="transformers"):
    from transformers import TrainerCallback

__all__ = ["Scoreboard", "ScoreboardCallback", "compute_metrics"]


class _Scores(dict[str, float]):
    """The scores that are known; one that is not is in no log, and NaN for who asks for it by name.

    So `metric_for_best_model` never ends a training: NaN is better than nothing, and no better than any number.
    """

    names: frozenset[str] = frozenset()

    def __missing__(self, key: str) -> float:
        if key.removeprefix("eval_") in self.names:
            return math.nan
        raise KeyError(key)


class compute_metrics:  # noqa: N801 - what the Trainer's users call it
    """A Trainer's `compute_metrics` that fills a scoreboard; also batch by batch (`batch_eval_metrics=True`).

    Logits are taken as they are, of a tuple the first; where the labels are plain, they are held against the
    scoreboard's own, so that an evaluation in another order is noticed.
    """

    def __init__(self, board: Scoreboard) -> None:
        self.board = board
        self._begun = False
        names = frozenset(board.score_names)
        self._logged = type("Scores", (_Scores,), {"names": names})  # the Trainer copies it by its class

    def __call__(self, predicted: Any, compute_result: bool = True) -> dict[str, float]:
        """The scores; with batches they are computed after the last one."""
        if not self._begun:
            self.board.reset()
        self._begun = True
        answers, labels = first_of(predicted.predictions), predicted.label_ids
        plain = labels is not None and not isinstance(labels, tuple | list) and as_array(labels).ndim == 1
        try:
            self.board.update(answers, truth=labels if plain else None)
            found = self.board.compute() if compute_result else {}
        except Exception:
            self._begun = False  # the next evaluation begins anew, whatever became of this one
            raise
        self._begun = not compute_result
        return self._logged(known(found))


class ScoreboardCallback(TrainerCallback):
    """Tells a scoreboard the step and epoch of each evaluation, and writes its page when training ends."""

    def __init__(self, board: Scoreboard, *, page: str | Path | None = None) -> None:
        self.board, self.path = board, page

    def on_prediction_step(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002
        """Between the batches of an evaluation."""
        self.board.at(step=state.global_step, epoch=state.epoch)

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002
        """The last evaluation is the page's, where there was one."""
        if self.path is not None and state.is_world_process_zero and self.board.history.num_rows:
            self.board.page(self.path, force=True)
