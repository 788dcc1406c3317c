"""Lightning: a callback that scores validation and test, with several loaders and on several processes.

    trainer = Trainer(..., callbacks=[ScoreboardCallback(board)])

`validation_step` returns the answers, `{"logits": logits}` for example. They are told apart by the rows that the
loader's sampler draws, or by ids in the batch; so the answers of all processes can be gathered, and rows that a
distributed sampler repeats to fill the last batch count once. Metrics are logged as `val_unseen_accuracy` and so on.
"""

import math
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from recombine.base.errors import SettingError
from recombine.base.object_paths import found, is_place
from recombine.base.plugins import needing
from recombine.base.words import count
from recombine.integrations.failsafe import Failsafe
from recombine.integrations.trainer_answers import answers_of, known
from recombine.verbs.evaluate.scoreboard.answer_arrays import as_array
from recombine.verbs.evaluate.scoreboard.scoreboard import Scoreboard

with needing(__name__, "lightning", "torch", extra="lightning"):
    import torch.distributed as dist
    from lightning.pytorch import Callback
    from torch.utils.data import BatchSampler, DataLoader, DistributedSampler, IterableDataset, SequentialSampler

__all__ = ["Scoreboard", "ScoreboardCallback"]

T = TypeVar("T")
Part = tuple[npt.NDArray[Any], npt.NDArray[Any] | None]
"""Answers, and the ids of their rows; without ids they come in the table's order."""
Boards = Scoreboard | Sequence[Scoreboard | None]
ASKED = "RECOMBINE_SCOREBOARD"
"""The environment variable that names a scoreboard, `package.module:name`, for every Trainer of a process."""


class ScoreboardCallback(Callback):
    """Fills a scoreboard in every validation, and another one in every test.

    With several loaders give one scoreboard for each, None for those that are not scored; the metrics then end in
    `/dataloader_idx_0`, as Lightning's own do. `answers(outputs, batch)` and `ids(batch)` say where these are if
    `validation_step` returns something unusual, or if the loader shuffles.
    """

    def __init__(
        self,
        board: Boards,
        *,
        test: Boards | None = None,
        answers: Callable[[Any, Any], Any] | None = None,
        ids: Callable[[Any], Any] | None = None,
    ) -> None:
        self._boards = {"val": _listed(board), "test": _listed(test)}
        self._answers, self._ids = answers, ids
        self._said: dict[int, list[tuple[Any, Any]]] = {}
        self._begin()

    def _begin(self) -> None:
        self._failsafe, self._over = Failsafe(), False  # over: also told by the other processes
        self._logged: set[str] = set()

    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:  # noqa: ARG002, D102
        self._begin()

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:  # noqa: ARG002, D102
        self._failsafe.before_training(lambda: self._check_loaders(trainer))

    def on_validation_epoch_start(self, trainer: Any, pl_module: Any) -> None:  # noqa: ARG002, D102
        self._said = {}

    def on_validation_batch_end(  # noqa: D102
        self,
        trainer: Any,
        pl_module: Any,  # noqa: ARG002
        outputs: Any,
        batch: Any,
        batch_idx: int,  # noqa: ARG002
        dataloader_idx: int = 0,
    ) -> None:
        self._heard(trainer, "val", outputs, batch, dataloader_idx)

    def on_validation_epoch_end(self, trainer: Any, pl_module: Any) -> None:  # noqa: D102
        self._told(trainer, pl_module, "val")

    def on_test_epoch_start(self, trainer: Any, pl_module: Any) -> None:  # noqa: ARG002, D102
        self._said = {}

    def on_test_batch_end(  # noqa: D102
        self,
        trainer: Any,
        pl_module: Any,  # noqa: ARG002
        outputs: Any,
        batch: Any,
        batch_idx: int,  # noqa: ARG002
        dataloader_idx: int = 0,
    ) -> None:
        self._heard(trainer, "test", outputs, batch, dataloader_idx)

    def on_test_epoch_end(self, trainer: Any, pl_module: Any) -> None:  # noqa: D102
        self._told(trainer, pl_module, "test")

    def _check_loaders(self, trainer: Any) -> None:
        """Refuse what validation could not score, before anything is trained."""
        if trainer.fast_dev_run or trainer.val_dataloaders is None or not any(trainer.num_val_batches):
            return
        for place, board in enumerate(self._boards["val"]):
            if board is None:
                continue
            if place >= len(trainer.num_val_batches):
                raise SettingError(
                    f"{place + 1} scoreboards and {len(trainer.num_val_batches)} loaders of validation rows",
                    why="each loader's rows are scored by its own",
                    instead="give one scoreboard for each loader, or None for one that is not scored",
                )
            if self._ids is None:
                _drawn(trainer, "val", place)
            _refuse_other_length(trainer, board, place)

    def _heard(self, trainer: Any, stage: str, outputs: Any, batch: Any, loader: int) -> None:
        if trainer.fast_dev_run or loader >= len(self._boards[stage]) or self._boards[stage][loader] is None:
            return
        if trainer.sanity_checking:  # the first batches are not scored, but they show whether they could be
            self._failsafe.before_training(lambda: self._answered(stage, outputs, batch))
            return
        self._safely(trainer, lambda: self._said.setdefault(loader, []).append(self._answered(stage, outputs, batch)))

    def _answered(self, stage: str, outputs: Any, batch: Any) -> tuple[npt.NDArray[Any], Any]:
        step = "validation_step" if stage == "val" else "test_step"
        said = answers_of(outputs, step=step) if self._answers is None else self._answers(outputs, batch)
        return as_array(said), None if self._ids is None else as_array(self._ids(batch))

    def _safely(self, trainer: Any, call: Callable[[], T]) -> T | None:
        """While a model is trained nothing is raised; `validate` and `test` are asked for scores, and say why not."""
        return self._failsafe(call) if trainer.state.fn == "fit" else call()

    def _told(self, trainer: Any, pl_module: Any, stage: str) -> None:
        if _rehearsing(trainer):
            return
        for loader, board in enumerate(self._boards[stage]):
            if board is not None:
                ending = f"/dataloader_idx_{loader}" if len(self._boards[stage]) > 1 else ""
                scores = self._scores(trainer, board, stage, loader)
                self._log(pl_module, board, scores, name=f"{stage}_{{}}{ending}")

    def _scores(self, trainer: Any, board: Scoreboard, stage: str, loader: int) -> dict[str, float] | None:
        """The scores of the answers of all processes; None from the first failure on, on whichever it was."""
        if self._over:
            return None
        # also a process that has failed takes part: the others would wait for it for ever
        parts = _gathered(self._safely(trainer, lambda: self._part(trainer, stage, loader)))
        heard = [part for part in parts if part is not None]
        self._over = len(heard) < len(parts)
        if not self._over:
            return self._safely(trainer, lambda: _measured(trainer, board, heard))
        if not self._failsafe.stopped:
            self._failsafe.stop(RuntimeError("it has failed on another process"))
        return None

    def _part(self, trainer: Any, stage: str, loader: int) -> Part:
        """The answers that this process heard, with the places of their rows."""
        said = self._said.get(loader, [])
        answers = np.concatenate([one for one, _ in said]) if said else np.zeros(0)
        if self._ids is not None:
            return answers, np.concatenate([ids for _, ids in said]) if said else None
        drawn = _drawn(trainer, stage, loader)
        return answers, None if drawn is None else drawn[: len(answers)]  # a limit on the batches leaves some out

    def _log(self, pl_module: Any, board: Scoreboard, scores: dict[str, float] | None, *, name: str) -> None:
        """Log the scores; where there are none, callbacks that go by them find the last ones, or NaN that is no log's.

        Without it a checkpoint with one of them as its `monitor` would end the training.
        """
        told = dict.fromkeys(board.score_names, math.nan) if scores is None else known(scores)
        named = {name.format(score): value for score, value in told.items()}
        if scores is not None or self._logged.isdisjoint(named):
            # every process has gathered all answers, so that each logs the same numbers
            everywhere = {"add_dataloader_idx": False, "rank_zero_only": False, "sync_dist": False}
            pl_module.log_dict(named, logger=scores is not None, **everywhere)
            self._logged |= named.keys()


def _listed(given: Boards | None) -> list[Scoreboard | None]:
    if given is None:
        return []
    return [given] if isinstance(given, Scoreboard) else list(given)


def _rehearsing(trainer: Any) -> bool:
    """Whether this is Lightning's own trial of a few batches, of which nothing can be told."""
    return bool(trainer.sanity_checking or trainer.fast_dev_run)


def _refuse_other_length(trainer: Any, board: Scoreboard, place: int) -> None:
    """A limit on the batches, or a loader of other rows, would leave some of the scoreboard's unanswered."""
    loader = _loader(trainer, "val", place)
    if not isinstance(loader, DataLoader) or isinstance(loader.dataset, IterableDataset):
        return  # a stream, whose length is known when it has ended
    rows: int = len(loader.dataset)  # type: ignore[arg-type] # torch does not say that a dataset by place has a length
    batches = len(loader)
    asked, batch = trainer.num_val_batches[place], loader.batch_size
    if asked < batches and batch is None:
        return
    answered = rows if asked >= batches and not loader.drop_last else min(rows, asked * batch * trainer.world_size)
    if answered != len(board):
        limit = f", of which limit_val_batches leaves {count(answered)}" if asked < batches else ""
        raise SettingError(
            f"validation rows: {count(rows)} in the loader{limit}, {count(len(board))} in the scoreboard",
            why="scores of some of the rows would not be those of the table",
            instead="validate on every row of the scoreboard's table (limit_val_batches=1.0, drop_last=False), or give "
            "it the table of those rows alone",
        )


def _gathered(part: Part | None) -> list[Part | None]:
    """What each process heard; None of one that failed."""
    if not (dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1):
        return [part]
    parts: list[Part | None] = [None] * dist.get_world_size()
    dist.all_gather_object(parts, part)
    return parts


def _measured(trainer: Any, board: Scoreboard, parts: Sequence[Part]) -> dict[str, float]:
    board.reset()
    said, ids = _together(parts)
    board.update(said, ids=ids)
    return board.compute(step=trainer.global_step, epoch=trainer.current_epoch)


def _together(parts: Sequence[Part]) -> Part:
    """The answers of all processes with the ids of their rows, each row once."""
    whole = np.concatenate([one for one, _ in parts])
    if parts[0][1] is None:
        return whole, None
    every = np.concatenate([one for _, one in parts])
    _, first = np.unique(every, return_index=True)
    return whole[first], every[first]


def _drawn(trainer: Any, stage: str, place: int) -> npt.NDArray[np.int64] | None:
    """The rows that a loader's sampler draws on this process; None where rows simply come in their order."""
    loader = _loader(trainer, stage, place)
    batches = loader.batch_sampler if isinstance(loader, DataLoader) else None
    sampler = getattr(batches, "sampler", None)
    if isinstance(batches, BatchSampler) and isinstance(sampler, SequentialSampler | DistributedSampler):
        return np.array([row for batch in batches for row in batch], dtype=np.int64)
    if batches is None and trainer.world_size == 1:
        return None
    raise SettingError(
        f"a {stage} loader with a {type(sampler if sampler is not None else loader).__name__}",
        why="it does not tell which rows it draws, so answers cannot be told apart",
        instead="do not shuffle it, or put ids into the batch and say ids=lambda batch: batch['id']",
    )


def _loader(trainer: Any, stage: str, place: int) -> Any:
    found = trainer.val_dataloaders if stage == "val" else trainer.test_dataloaders
    if isinstance(found, Mapping):
        return list(found.values())[place]
    return found[place] if isinstance(found, list | tuple) else found


def callbacks() -> list[Any]:
    """What Lightning's entry point asks for in every Trainer: nothing, unless the environment names a scoreboard.

    `RECOMBINE_SCOREBOARD=package.module:name` names one, or a function that makes one.
    """
    asked = os.environ.get(ASKED, "")
    if not asked:
        return []
    if not is_place(asked):
        raise SettingError(
            f"{ASKED}={asked!r}",
            why="it names a Scoreboard, or a function that makes one",
            instead="write 'package.module:name' of a Scoreboard",
        )
    board = found(asked)
    return [ScoreboardCallback(board if isinstance(board, Scoreboard) else board())]
