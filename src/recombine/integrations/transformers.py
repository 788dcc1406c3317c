"""Hugging Face's Trainer: `compute_metrics` for each evaluation, and a callback that knows the step and the epoch.

    trainer = Trainer(..., compute_metrics=compute_metrics(board), callbacks=[ScoreboardCallback(board)])

Metrics come out as `eval_unseen_accuracy` and so on. The factors need not be columns of the dataset: the scoreboard
holds them itself, so `remove_unused_columns` takes nothing away.
"""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from recombine.base.errors import RecombineError
from recombine.base.plugins import needing
from recombine.integrations.failsafe import Failsafe
from recombine.integrations.trainer_answers import first_of, known
from recombine.verbs.evaluate.scoreboard.answer_arrays import as_array
from recombine.verbs.evaluate.scoreboard.scoreboard import Scoreboard

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

    Where `eval_dataset` is a dict of several sets, give a dict with a scoreboard for each that is to be scored. The
    Trainer does not say which set it evaluates: the scoreboard whose rows these are takes it, by their number and
    labels, and rows that are none's are left out with one warning. Logits are taken as they are, of a tuple the first.
    """

    def __init__(self, board: Scoreboard | Mapping[str, Scoreboard]) -> None:
        self._boards = [board] if isinstance(board, Scoreboard) else list(board.values())
        self._open: list[Scoreboard] | None = None  # those whose rows may be evaluated now; None between evaluations
        self._failsafe, self._left_out = Failsafe(), Failsafe(stops=False)
        names = frozenset(name for one in self._boards for name in one.score_names)
        self._logged: type[_Scores] = type("Scores", (_Scores,), {"names": names})  # the Trainer copies it by its class

    def __call__(self, predicted: Any, compute_result: bool = True) -> dict[str, float]:
        """The scores; with batches they are computed after the last one."""
        found: dict[str, float] | None = self._failsafe(lambda: self._scores(predicted, compute_result))
        return self._logged(known(found or {}))

    def _scores(self, predicted: Any, compute_result: bool) -> dict[str, float] | None:
        if self._open is None:
            self._open = list(self._boards)
            for board in self._boards:
                board.reset()
        labels = predicted.label_ids
        plain = labels is not None and not isinstance(labels, tuple | list) and as_array(labels).ndim == 1
        self._open = self._fitting(self._open, first_of(predicted.predictions), labels if plain else None)
        if not compute_result:
            return {}
        still, self._open = self._open, None
        whole = [board for board in still if not board.missing]
        if whole:  # sets with the same labels are evaluated in turn
            return min(whole, key=lambda board: board.history.num_rows).compute()
        return self._left_out(still[0].compute) if still else None

    def _fitting(self, boards: list[Scoreboard], answers: Any, truth: Any) -> list[Scoreboard]:
        """The scoreboards whose next rows these are; why they are none's is told by the last one."""
        found, refused = [], None
        for board in boards:
            try:
                board.update(answers, truth=truth)
                found.append(board)
            except RecombineError as error:
                refused = error
        if not found and refused is not None:
            self._left_out.stop(refused)
        return found


class ScoreboardCallback(TrainerCallback):
    """Tells a scoreboard the step and epoch of each evaluation, and writes its page when training ends."""

    def __init__(self, board: Scoreboard, *, page: str | Path | None = None) -> None:
        self.board, self.path = board, page
        self._failsafe = Failsafe()

    def on_prediction_step(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002
        """Between the batches of an evaluation."""
        self._failsafe(lambda: self.board.at(step=state.global_step, epoch=state.epoch))

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002
        """The last evaluation is the page's, where there was one."""
        if self.path is not None and state.is_world_process_zero and self.board.history.num_rows:
            path = self.path
            self._failsafe(lambda: self.board.page(path, force=True))
