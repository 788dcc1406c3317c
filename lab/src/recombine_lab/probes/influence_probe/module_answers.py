"""What a module answers: scores, the answer that they mean, and whether two answers are the same.

Classes: the answer is the largest score (of a single score, whether it is above 0), and it changes or it does not.
Values: an answer counts as changed where it moves by more than a tenth of the spread of what it should be.

A module as a function of its weights: outputs, their Jacobian row by row, and losses with their curvature.

Letters: n rows, k outputs of a row, p weights.

Everything is in 64 bits, on a copy. The Jacobian goes through `torch.func`; what that cannot follow (a recurrent layer,
an autograd function written by hand) is followed one output at a time by plain autograd, slower and just as exact.
"""

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.func import functional_call, jacrev, vmap
from torch.nn import functional

from recombine.base.errors import SettingError
from recombine_lab.models.layers import BATCH, Forward, asked, evaluating, length, rows_of, tensor_of
from recombine_lab.probes.asked_module import AskedModule, refusing

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
        what = f"{type(module).__name__} cannot be asked about these inputs"
        with refusing(what, instead="give inputs as it takes them, or forward=a function of the module and a batch"):
            return tensor_of(asked(module, fitting(module, batch), self.forward), "")

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


LossName = Literal["cross_entropy", "mse"]
_MOST_NUMBERS = 2**24  # of a Jacobian that is held at once, 128 MiB
Weights = dict[str, Tensor]


@dataclass(frozen=True, eq=False)
class Network:
    """A copy of a module in 64 bits, in evaluation mode."""

    module: nn.Module
    forward: Forward | None = None

    @classmethod
    def of(cls, module: nn.Module, forward: Forward | None = None) -> "Network":
        """The copy."""
        return cls(copy.deepcopy(module).double().eval().requires_grad_(requires_grad=True), forward)

    @cached_property
    def weights(self) -> Weights:
        """The weights that are trained."""
        return {name: weight.detach() for name, weight in self.module.named_parameters()}

    @property
    def flat(self) -> Tensor:
        """(p,) All weights in a row."""
        return torch.cat([weight.flatten() for weight in self.weights.values()])

    def shaped(self, flat: Tensor) -> Weights:
        """A row of weights by name."""
        parts = torch.split(flat, [weight.numel() for weight in self.weights.values()])
        return {name: part.view_as(weight) for part, (name, weight) in zip(parts, self.weights.items(), strict=True)}

    def outputs(self, inputs: Any, weights: Weights | None = None) -> Tensor:
        """(n, k) What the network gives with some weights."""
        return self._asked(double(inputs), self.weights if weights is None else weights)

    def _asked(self, inputs: Any, weights: Weights) -> Tensor:
        called = AskedModule(self.module, self.forward)
        named = {f"module.{name}": weight for name, weight in weights.items()}
        found: Tensor = functional_call(called, named, (inputs,))
        return found.reshape(len(found), -1)

    def moved(self, inputs: Any, directions: Tensor) -> Tensor:
        """(d, n, k) How the outputs move along directions (d, p), to first order."""
        found = torch.zeros(len(directions), *self.outputs(inputs).shape, dtype=torch.float64)
        for rows, jacobian in self.jacobians(inputs):
            found[:, rows] = torch.einsum("nkp,dp->dnk", jacobian, directions)
        return found

    def jacobians(self, inputs: Any) -> Iterator[tuple[slice, Tensor]]:
        """(rows, k, p) The derivative of each row's outputs by the weights, some rows at a time."""
        inputs = double(inputs)
        with torch.no_grad():
            outputs = self._asked(rows_of(inputs, slice(0, 1)), self.weights).shape[1]
        step = max(1, _MOST_NUMBERS // (outputs * sum(weight.numel() for weight in self.weights.values())))
        for start in range(0, length(inputs), step):
            rows = slice(start, min(start + step, length(inputs)))
            yield rows, self._jacobian(rows_of(inputs, rows))

    def _jacobian(self, inputs: Any) -> Tensor:
        if self._by_func:
            try:
                return self._vectorised(inputs)
            except (RuntimeError, NotImplementedError):
                self.__dict__["_by_func"] = False
        return torch.stack([self._one(rows_of(inputs, slice(k, k + 1))) for k in range(length(inputs))])

    @cached_property
    def _by_func(self) -> bool:
        return not any(isinstance(part, nn.RNNBase) for part in self.module.modules())

    def _vectorised(self, inputs: Any) -> Tensor:
        def of_one(weights: Weights, row: Any) -> Tensor:
            return self._asked({k: v[None] for k, v in row.items()} if isinstance(row, dict) else row[None], weights)[0]

        found = vmap(jacrev(of_one), in_dims=(None, 0))(self.weights, inputs)
        return torch.cat([found[name].flatten(2) for name in self.weights], dim=2).detach()

    def _one(self, row: Any) -> Tensor:
        wanted = [weight for _, weight in self.module.named_parameters()]
        outputs = tensor_of(asked(self.module, row, self.forward), "").flatten()
        found = [torch.autograd.grad(one, wanted, retain_graph=True, allow_unused=True) for one in outputs]
        return torch.stack(
            [
                torch.cat(
                    [
                        torch.zeros(weight.numel(), dtype=torch.float64) if part is None else part.flatten()
                        for part, weight in zip(parts, wanted, strict=True)
                    ]
                )
                for parts in found
            ]
        )


def double(inputs: Any) -> Any:
    """Inputs in 64 bits; tokens stay whole numbers."""
    if isinstance(inputs, Tensor):
        return inputs.double() if inputs.is_floating_point() else inputs
    return {name: double(value) for name, value in inputs.items()}


@dataclass(frozen=True, eq=False)
class RowLoss:
    """The loss of each row, its slope by the outputs, and the root R of its curvature R Rᵀ by the outputs."""

    value: Callable[[Tensor, Tensor], Tensor]
    slope: Callable[[Tensor, Tensor], Tensor]
    root: Callable[[Tensor], Tensor]


def _surprise(outputs: Tensor, targets: Tensor) -> Tensor:
    if outputs.shape[-1] == 1:  # a single score is a logit
        wanted = targets.double().reshape(-1).expand(outputs.shape[:-1])
        return functional.binary_cross_entropy_with_logits(outputs[..., 0], wanted, reduction="none")
    return -functional.log_softmax(outputs, dim=-1).gather(-1, targets[..., None].long())[..., 0]


def _surprise_slope(outputs: Tensor, targets: Tensor) -> Tensor:
    if outputs.shape[-1] == 1:
        return torch.sigmoid(outputs) - targets.double().reshape(-1, 1)
    return torch.softmax(outputs, dim=-1) - functional.one_hot(targets.long(), outputs.shape[-1])


def _surprise_root(outputs: Tensor) -> Tensor:
    """diag(p) - p pᵀ = R Rᵀ with R = diag(√p) - p √pᵀ."""
    if outputs.shape[-1] == 1:
        share = torch.sigmoid(outputs)
        return (share * (1 - share)).sqrt()[..., None]
    share = torch.softmax(outputs, dim=-1)
    return torch.diag_embed(share.sqrt()) - share[..., :, None] * share.sqrt()[..., None, :]


def _squared(outputs: Tensor, targets: Tensor) -> Tensor:
    missed: Tensor = outputs - targets.double().reshape(outputs.shape[-2:])
    return missed.square().mean(dim=-1)


def _squared_slope(outputs: Tensor, targets: Tensor) -> Tensor:
    return 2 * (outputs - targets.double().reshape(outputs.shape)) / outputs.shape[-1]


def _squared_root(outputs: Tensor) -> Tensor:
    eye: Tensor = torch.eye(outputs.shape[-1], dtype=outputs.dtype) * (2 / outputs.shape[-1]) ** 0.5
    return eye.expand(*outputs.shape, outputs.shape[-1])


LOSSES: dict[LossName, RowLoss] = {
    "cross_entropy": RowLoss(_surprise, _surprise_slope, _surprise_root),
    "mse": RowLoss(_squared, _squared_slope, _squared_root),
}


def loss_of(name: str, targets: Tensor) -> RowLoss:
    """A loss by its name; "auto" is the squared error for numbers and the cross-entropy for classes."""
    chosen = ("mse" if targets.is_floating_point() else "cross_entropy") if name == "auto" else name
    found = {key: value for key, value in LOSSES.items() if key == chosen}
    if not found:
        raise SettingError(
            f"loss={name!r}",
            why="influence is worked out with the curvature of the loss, which must be known",
            instead="write loss='cross_entropy', 'mse' or 'auto'",
        )
    return found[chosen]  # type: ignore[index]
