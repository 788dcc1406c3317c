"""Keras 3, on any of its backends: a callback that asks the model the evaluated rows after each epoch.

    model.fit(..., callbacks=[ScoreboardCallback(board, x_eval)])

The scores stand among the epoch's logs as `val_unseen_accuracy` and so on, for callbacks that come after it
(`EarlyStopping`, `ModelCheckpoint`, `CSVLogger`).
"""

from typing import Any

from recombine.base.errors import SettingError
from recombine.base.plugins import needing
from recombine.integrations.failsafe import Failsafe
from recombine.integrations.trainer_answers import first_of, known
from recombine.verbs.evaluate.scoreboard.scoreboard import Scoreboard

with needing(__name__, "keras", extra="keras"):
    from keras.callbacks import Callback

__all__ = ["Scoreboard", "ScoreboardCallback"]


class ScoreboardCallback(Callback):  # type: ignore[misc]
    """Fills a scoreboard after each epoch; `x` holds the inputs of its rows in their order, as `predict` takes them."""

    def __init__(self, board: Scoreboard, x: Any, *, batch_size: int | None = None) -> None:
        super().__init__()
        self.board, self._x, self._batch_size = board, x, batch_size
        self._failsafe = Failsafe()

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:  # noqa: ARG002
        """Refuse inputs of other rows than the scoreboard's, before anything is trained."""
        self._failsafe = Failsafe()
        self._failsafe.before_training(self._refuse_other_rows)

    def _refuse_other_rows(self) -> None:
        shape = getattr(self._x, "shape", None)  # a generator or several inputs tell their rows when they are asked
        if shape and shape[0] != len(self.board):
            raise SettingError(
                f"x has {shape[0]} rows, and the scoreboard's table {len(self.board)}",
                why="each row of the table is asked once, in its order",
                instead="give the inputs of the scoreboard's rows",
            )

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Ask the model, and put the scores among the logs."""
        found = self._failsafe(lambda: self._scores(epoch + 1))
        if logs is not None and found is not None:
            logs.update({f"val_{name}": value for name, value in known(found).items()})

    def _scores(self, epoch: int) -> dict[str, float]:
        answers = first_of(self.model.predict(self._x, batch_size=self._batch_size, verbose=0))
        return self.board.score(answers, epoch=epoch)
