"""torchmetrics: a scoreboard as a `Metric`, for a `MetricCollection`, a tracker or `self.log`.

A scoreboard already has `update`, `compute` and `reset`, and is enough on one process. As a `Metric` its answers are
gathered from all processes before scores are computed.
"""

from typing import Any

import numpy as np

from recombine.base.plugins import needing
from recombine.integrations.failsafe import Failsafe
from recombine.integrations.trainer_answers import known
from recombine.verbs.evaluate.scoreboard.answer_arrays import as_array
from recombine.verbs.evaluate.scoreboard.scoreboard import Scoreboard

with needing(__name__, "torchmetrics", "torch", extra="torchmetrics"):
    import torch
    from torchmetrics import Metric
    from torchmetrics.utilities import dim_zero_cat

__all__ = ["Scoreboard", "ScoreboardMetric"]


class ScoreboardMetric(Metric):
    """`update(preds, target, ids)`: answers as numbers or logits, and the places of their rows in the table.

    The target is held against the table's own, where it is given; without ids rows come in the table's order.
    """

    full_state_update = False
    preds: list[torch.Tensor]
    rows: list[torch.Tensor]

    def __init__(self, board: Scoreboard, **given: Any) -> None:
        super().__init__(**given)
        self.board = board
        self._failsafe = Failsafe()
        self.add_state("preds", default=[], dist_reduce_fx="cat")
        self.add_state("rows", default=[], dist_reduce_fx="cat")

    def update(self, preds: torch.Tensor, target: torch.Tensor | None = None, ids: torch.Tensor | None = None) -> None:
        """Take the answers to some rows."""
        self._failsafe(lambda: self._take(preds, target, ids))

    def _take(self, preds: torch.Tensor, target: torch.Tensor | None, ids: torch.Tensor | None) -> None:
        first = sum(len(one) for one in self.rows)
        rows = torch.arange(first, first + len(preds)) if ids is None else torch.as_tensor(ids)
        if target is not None:
            self.board.reset()
            self.board.update(preds, ids=rows, truth=target)
        self.preds.append(preds.detach())
        self.rows.append(rows.to(preds.device))

    def compute(self) -> dict[str, torch.Tensor]:
        """The scores of all rows; rows that a distributed sampler repeats count once."""
        found = known(self._failsafe(self._scores) or {})
        return {name: torch.tensor(value, dtype=torch.float64) for name, value in found.items()}

    def _scores(self) -> dict[str, float]:
        said, rows = dim_zero_cat(self.preds), as_array(dim_zero_cat(self.rows))
        _, first = np.unique(rows, return_index=True)
        self.board.reset()
        self.board.update(said[torch.as_tensor(first)], ids=rows[first])
        return self.board.compute()
