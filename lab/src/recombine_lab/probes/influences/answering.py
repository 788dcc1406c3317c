"""What a module answers: scores, the answer that they mean, and whether two answers are the same.

Classes: the answer is the largest score (of a single score, whether it is above 0), and it changes or it does not.
Values: an answer counts as changed where it moves by more than a tenth of the spread of what it should be.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from recombine.errors import SettingError
from recombine_lab.models.layers import BATCH, Forward, asked, evaluating, length, rows_of, tensor_of

Kind = Literal["classes", "values"]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
TENTH = 0.1


@dataclass(frozen=True, eq=False)
class Asking:
    """How a module is asked, and what its answers are held against."""

    kind: Kind
    truth: Tensor | None
    forward: Forward | None = None

    def scores(self, module: nn.Module, inputs: Any) -> Tensor:
        """(n, …) What the module gives, batch by batch, in evaluation mode."""
        with evaluating(module), torch.no_grad():
            found = [
                self.of_batch(module, rows_of(inputs, slice(start, start + BATCH))).detach()
                for start in range(0, length(inputs), BATCH)
            ]
        scores = torch.cat(found).float()
        if not bool(torch.isfinite(scores).all()):
            raise SettingError(
                f"{type(module).__name__} gives numbers that are not finite",
                why="an answer that is not a number hangs on nothing",
                instead="look at the inputs and the weights first",
            )
        return scores

    def of_batch(self, module: nn.Module, batch: Any) -> Tensor:
        """What the module gives for some rows, their numbers as exact as its weights; what it cannot take is told."""
        try:
            return tensor_of(asked(module, fitting(module, batch), self.forward), "")
        except (RuntimeError, ValueError, TypeError, IndexError, KeyError) as error:
            raise SettingError(
                f"{type(module).__name__} cannot be asked about these inputs",
                why=f"{type(error).__name__}: {(str(error).strip() or 'no reason given').splitlines()[0][:300]}",
                instead="give inputs as it takes them, or forward=a function of the module and a batch",
            ) from error

    def answers(self, scores: Tensor) -> Tensor:
        """(n, …) The answers that scores mean."""
        return answers_in(scores, self.kind)

    def changed(self, before: Tensor, after: Tensor) -> Floats:
        """(n,) 1 where the answer is another one."""
        first, second = self.answers(before), self.answers(after)
        if self.kind == "classes":
            return (
                (first != second).flatten(1).any(dim=1).double().numpy() if first.ndim > 1 else _floats(first != second)
            )
        moved = (first - second).abs().flatten(1).amax(dim=1)
        return _floats(moved > TENTH * self._spread(before))

    def right(self, scores: Tensor) -> Floats | None:
        """(n,) How good each answer is: 1 or 0 for classes, less the squared error for values."""
        if self.truth is None:
            return None
        given = self.answers(scores)
        if self.kind == "classes":
            same = given == self.truth
            return _floats(same.flatten(1).all(dim=1) if same.ndim > 1 else same)
        missed = (given - self.truth.reshape(given.shape)).square().flatten(1).mean(dim=1)
        return _floats(-missed)

    def _spread(self, scores: Tensor) -> float:
        values = scores if self.truth is None else self.truth.float()
        return float(values.std()) or 1.0


def fitting(module: nn.Module, inputs: Any) -> Any:
    """Inputs in the precision of the module's weights; tokens as they are."""
    weight = next((one for one in module.parameters() if one.is_floating_point()), None)
    if weight is None:
        return inputs
    if isinstance(inputs, Tensor):
        return inputs.to(weight.device, weight.dtype if inputs.is_floating_point() else inputs.dtype)
    return {name: fitting(module, value) for name, value in inputs.items()}


def _floats(found: Tensor) -> Floats:
    return np.asarray(found.double().cpu().numpy())


def answers_in(scores: Tensor, kind: Kind) -> Tensor:
    """The answers that scores mean.

    >>> answers_in(torch.tensor([[0.1, 0.9], [2.0, 1.0]]), "classes"), answers_in(torch.tensor([[-1.0]]), "classes")
    (tensor([1, 0]), tensor([0]))
    """
    if kind == "values":
        return scores
    if scores.ndim == 1:
        return (scores > 0).long()
    return (scores[..., 0] > 0).long() if scores.shape[-1] == 1 else scores.argmax(dim=-1)


def asking_of(
    scores: Tensor, targets: Any, codes: npt.NDArray[np.int64] | None, values: list[Any], forward: Forward | None
) -> Asking:
    """How to ask: by the targets given, else by the target factor's values where each has a score of its own."""
    if targets is not None:
        truth = targets if isinstance(targets, Tensor) else torch.as_tensor(np.asarray(targets))
        if len(truth) != len(scores):
            raise SettingError(
                f"targets with {len(truth):,} rows",
                why=f"there are {len(scores):,} inputs",
                instead="give a target for each row, in the same order",
            )
        return Asking("values" if truth.is_floating_point() else "classes", truth, forward)
    outputs = 2 if scores.ndim == 1 or scores.shape[-1] == 1 else scores.shape[-1]
    if codes is not None and scores.ndim <= 2 and outputs == len(values):
        return Asking("classes", torch.from_numpy(codes), forward)
    raise SettingError(
        "no targets",
        why=f"the module gives {tuple(scores.shape[1:])} for each row, and the target factor has {len(values)} values",
        instead="write targets=the number of the right class of each row, or the right value",
    )
