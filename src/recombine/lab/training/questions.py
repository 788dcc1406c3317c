"""What is asked of a model while it is trained: fixed sets of examples, and how well it does on them."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from recombine.lab.tasks.exposure import Source
from recombine.lab.tasks.task import Batch, Shapes, Task
from recombine.lab.training.cells import Cells
from recombine.lab.training.examples import rendered
from recombine.lab.training.losses import Loss, answers
from recombine.seeds import derived

Floats = npt.NDArray[np.float64]
_CHUNK = 1000
_MOST_KEPT = 2**24  # numbers of a set that is kept rendered, 64 MiB


@dataclass(frozen=True, eq=False, kw_only=True)
class Answered:
    """How a model did on a set: `error` of each example, a squared error or 1 for a wrong answer."""

    loss: float
    score: float
    error: Floats
    targets: Tensor | None
    predictions: Tensor | None


@dataclass(eq=False)
class Question:
    """A named set of examples, drawn once for a run."""

    name: str
    task: Task
    latents: Tensor
    seed: int
    _kept: list[Batch] | None = field(init=False, default=None)

    @cached_property
    def cells(self) -> Cells:
        """The combinations of its examples."""
        return Cells.of(self.task.space, self.task.combinations(self.latents))

    def chunks(self) -> Iterator[Batch]:
        """The examples, rendered; a large set is rendered anew each time rather than kept."""
        if self._kept is not None:
            yield from self._kept
            return
        shapes = self.task.shapes
        keep = len(self.latents) * (np.prod(shapes.inputs) + np.prod(shapes.outputs)) <= _MOST_KEPT
        made: list[Batch] = []
        for place, piece in enumerate(torch.split(self.latents, _CHUNK)):
            made.append(rendered(self.task, piece, seed=derived(self.seed, "render", place), part="test"))
            yield made[-1] if keep else made.pop()
        self._kept = made if keep else None


def question_of(name: str, task: Task, source: Source, *, samples: int, seed: int) -> Question:
    """The examples of a test: all of a source that has no more than are asked for, else drawn from it.

    Where an example looks different each time, as a digit does, it is asked about several times.
    """
    own = derived(seed, "test", name)
    listed = source.every()
    if listed is None or len(listed) > samples:
        return Question(name, task, source.draw(samples, seed=own), own)
    times = samples // max(len(listed), 1) if _varies(task, listed[:8]) else 1
    return Question(name, task, listed.repeat(times, 1), own)


def _varies(task: Task, latents: Tensor) -> bool:
    """Whether chance decides how examples look: drawn twice, they differ."""
    one, other = (task.render(latents, seed=seed, part="test") for seed in (1, 2))
    return not (torch.equal(one.inputs, other.inputs) and torch.equal(one.targets, other.targets))


@torch.no_grad()
def ask(module: nn.Module, question: Question, loss: Loss) -> Answered:
    """How a model does on a set, its weights as they stand."""
    shapes = question.task.shapes
    was_training = module.training
    module.eval()
    marks = [_mark(module, batch, shapes, loss) for batch in question.chunks() if len(batch)]
    module.train(was_training)
    if not marks:
        return Answered(loss=np.nan, score=np.nan, error=np.zeros(0), targets=None, predictions=None)
    sizes = np.array([len(mark.error) for mark in marks], dtype=np.float64)
    error = np.concatenate([mark.error for mark in marks])
    single = marks[0].predictions is not None
    targets = torch.cat([mark.targets for mark in marks])
    return Answered(
        loss=float(np.average([mark.loss for mark in marks], weights=sizes)),
        score=_explained(error, targets) if shapes.kind == "values" else float(1 - error.mean()),
        error=error,
        targets=targets.reshape(-1) if single else None,
        predictions=torch.cat([mark.predictions for mark in marks if mark.predictions is not None]) if single else None,
    )


@dataclass(frozen=True, eq=False)
class _Marked:
    loss: float
    error: Floats
    targets: Tensor
    predictions: Tensor | None


def _mark(module: nn.Module, batch: Batch, shapes: Shapes, loss: Loss) -> _Marked:
    said = answers(module, batch, shapes).float()
    value, targets = float(loss(said, batch.targets)), batch.targets
    predictions: Tensor | None = None
    if shapes.kind == "values":
        missed = (said - targets).double().square().flatten(1).mean(1)
        predictions = said.reshape(-1) if said.numel() == len(said) else None
    elif shapes.kind == "classes":
        predictions = said.argmax(dim=-1)
        missed = (predictions != targets).double()
    else:
        answered = module.answer(batch.inputs, targets.shape[1])  # type: ignore[operator]
        # Targets end with a symbol of their own: a sentence that says more than the target differs there.
        missed = ((answered != targets) & (targets != 0)).any(dim=1).double()
    return _Marked(value, missed.numpy(), targets, predictions)


def _explained(error: Floats, targets: Tensor) -> float:
    """R² of the whole set: 1 - all squared error / all squared deviation from each output's mean."""
    values = targets.flatten(1).double()
    spread = float((values - values.mean(0)).square().sum())
    return 1 - float(error.sum()) * values.shape[1] / spread if spread > 0 else np.nan
