"""A network with other weights than its own: which of them are masked, in what groups, and how it is asked.

The module is never changed. Weights are put in its place for one call (`torch.func.functional_call`), with many sets of
them side by side where the module allows it (`torch.func.vmap`).
"""

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import torch
import torch.nn.functional as f
from torch import Tensor, nn
from torch.func import functional_call, vmap
from torch.nn.parameter import UninitializedParameter
from torch.nn.utils import parametrize

from recombine.base.errors import SettingError, nearest
from recombine.base.seeds import derived
from recombine_lab.models.layers import Forward, uncompiled
from recombine_lab.probes.asked_module import AskedModule, refusing
from recombine_lab.probes.new_weights import redraw_weights
from recombine_lab.probes.subnetwork_probe.components import ComponentData, side_by_side

State = Mapping[str, Tensor]
Score = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]
"""From the answers (n, …) and the targets (n, …) to the loss (n,) and to what is right (n,)."""
_TRANSPOSED = (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)


def accuracy(answers: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """Classes: cross-entropy, and whether the largest of the numbers is the right one."""
    return f.cross_entropy(answers.float(), targets, reduction="none"), answers.argmax(-1) == targets


def odd_one_out(answers: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """Vectors (n, items, d): the odd item is the one least like the others, by cosine; the target is its place."""
    unit = f.normalize(answers.float(), dim=-1)
    likeness = (unit * unit.sum(-2, keepdim=True)).sum(-1)
    return f.cross_entropy(-likeness, targets, reduction="none"), (-likeness).argmax(-1) == targets


SCORES: dict[str, Score] = {"accuracy": accuracy, "odd one out": odd_one_out}


def score_of(score: Any) -> Score:
    """The score that is asked for, by its name or as a function."""
    if callable(score):
        return score  # type: ignore[no-any-return]  # what it gives is looked at when it is first asked
    if score not in SCORES:
        raise SettingError(
            f"score={score!r}",
            why="it is the name of a score, or a function (answers, targets) -> (loss per row, right per row)",
            instead=nearest(str(score), SCORES),
        )
    return SCORES[score]


@dataclass(frozen=True)
class ParameterLayout:
    """A masked parameter: its shape, the shape it is seen in, and the shape of its mask, which spreads over that."""

    name: str
    shape: tuple[int, ...]
    view: tuple[int, ...]
    mask: tuple[int, ...]
    axis: int = 0
    """Where its outputs are."""

    @property
    def size(self) -> int:
        """How many weights there are."""
        return math.prod(self.shape)

    @property
    def groups(self) -> int:
        """How many groups they are in."""
        return math.prod(self.mask)

    def times(self, weight: Tensor, mask: Tensor) -> Tensor:
        """Weights (…, shape) times their mask (…, mask)."""
        product = self.seen(weight) * mask.to(weight.dtype)
        return product.reshape(*product.shape[: product.ndim - len(self.view)], *self.shape)

    def seen(self, weight: Tensor) -> Tensor:
        """Weights (…, shape) in the shape that masks spread over."""
        return weight.reshape(*weight.shape[: weight.ndim - len(self.shape)], *self.view)

    def whole(self, mask: Tensor) -> Tensor:
        """A mask for every weight."""
        return mask.expand(self.view).reshape(self.shape)


def by_group(layout: ParameterLayout, values: Tensor) -> Tensor:
    """(mask) Values of weights (shape), summed over each group."""
    summed = values.float().reshape(layout.view)
    for axis, size in enumerate(layout.mask):
        if size == 1:
            summed = summed.sum(axis, keepdim=True)
    return summed


def unwrapped(model: Any) -> nn.Module:
    """The module itself: that of a run, that inside of a compiled one; what cannot be masked is refused."""
    made = getattr(model, "module", None)
    if not isinstance(model, nn.Module) and callable(made):
        model = made()  # a run of a store
    model = uncompiled(model)
    if not isinstance(model, nn.Module):
        raise SettingError(
            f"model is {type(model).__name__}",
            why="masks are put on the weights of a torch module",
            instead="give an nn.Module, or a run of a store with its weights",
        )
    if isinstance(model, torch.jit.ScriptModule):
        raise SettingError(
            "model is a scripted module",
            why="other weights cannot be put in its place for one call",
            instead="give the module that was scripted",
        )
    dressed = [name for name, part in model.named_modules() if parametrize.is_parametrized(part)]
    if dressed:
        raise SettingError(
            f"the part {dressed[0]!r} computes its weights from others",
            why="a mask on those it is computed from is not a mask on the weights that are used",
            instead="call torch.nn.utils.parametrize.remove_parametrizations on it first",
        )
    lazy = [name for name, one in model.named_parameters() if isinstance(one, UninitializedParameter)]
    if lazy:
        raise SettingError(
            f"{lazy[0]!r} has no shape yet", why="the network was never asked", instead="ask it once about a batch"
        )
    return model


def layouts_of(
    model: nn.Module, *, parameters: str | Sequence[str] | None, group: str, heads: int | None
) -> tuple[ParameterLayout, ...]:
    """The parameters that are masked, with their groups.

    Without patterns all that have two dimensions or more, but those of embeddings and of normalisations.
    """
    known = {name: one for name, one in model.named_parameters() if one.is_floating_point()}
    if parameters is None:
        kept = [name for name, one in known.items() if one.ndim >= 2 and not _spared(model, name)]
    else:
        kept = _matching([parameters] if isinstance(parameters, str) else list(parameters), list(known))
    if not kept:
        raise SettingError(
            "no weight to put a mask on",
            why="none of the parameters is a matrix of floating-point numbers outside of embeddings and normalisations",
            instead="name them with parameters=[…]" if known else "give a network that has parameters",
        )
    return tuple(_layout(model, name, known[name], group, heads) for name in kept)


def _matching(patterns: Sequence[str], known: Sequence[str]) -> list[str]:
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in known):
            raise SettingError(
                f"no parameter is called {pattern!r}",
                why="patterns are held against model.named_parameters()",
                instead=nearest(pattern, known),
            )
    return [name for name in known if any(fnmatchcase(name, pattern) for pattern in patterns)]


def _spared(model: nn.Module, name: str) -> bool:
    owners = [owner for owner in model.modules() if any(one is model.get_parameter(name) for one in _own(owner))]
    kinds = [type(owner).__name__.lower() for owner in owners]
    if any("norm" in kind or "embed" in kind for kind in kinds):
        return True
    last = name.rsplit(".", 1)[-1].lower()
    return "embed" in last or last.endswith("token")


def _own(owner: nn.Module) -> list[nn.Parameter]:
    return list(owner.parameters(recurse=False))


def owner_of(model: nn.Module, name: str) -> nn.Module:
    """The part of a module that a parameter belongs to."""
    return model.get_submodule(name.rpartition(".")[0])


def output_axis(owner: nn.Module) -> int:
    """Which dimension of a weight leads to outputs."""
    return 1 if isinstance(owner, _TRANSPOSED) or type(owner).__name__ == "Conv1D" else 0


def _layout(model: nn.Module, name: str, one: Tensor, group: str, heads: int | None) -> ParameterLayout:
    shape, axis = tuple(one.shape), output_axis(owner_of(model, name))
    if group == "weight" or one.ndim < 2:
        return ParameterLayout(name, shape, shape, shape, axis)
    if group in ("row", "channel"):
        kept = axis if group == "row" else 1 - axis
        return ParameterLayout(
            name, shape, shape, tuple(size if k == kept else 1 for k, size in enumerate(shape)), axis
        )
    return _by_head(name, shape, axis, heads)


def _by_head(name: str, shape: tuple[int, ...], axis: int, heads: int | None) -> ParameterLayout:
    parts = 3 if name.endswith("in_proj_weight") else 1  # queries, keys and values one below the other
    if heads is None or shape[axis] % (heads * parts):
        raise SettingError(
            f"heads={heads} for {name!r} of shape {shape}",
            why="a head is a block of as many of its outputs as every other head has",
            instead="name the projections with parameters=[…], and write how many heads they have: heads=8",
        )
    blocks = (parts, heads) if parts > 1 else (heads,)
    view = (*shape[:axis], *blocks, shape[axis] // (heads * parts), *shape[axis + 1 :])
    mask = tuple(size if axis <= k < axis + len(blocks) else 1 for k, size in enumerate(view))
    return ParameterLayout(name, shape, view, mask, axis)


def state_of(model: nn.Module) -> dict[str, Tensor]:
    """The weights of a module as they are, and copies of its buffers, which a call might change."""
    buffers = {name: one.detach().clone() for name, one in model.named_buffers()}
    return {**{name: one.detach() for name, one in model.named_parameters()}, **buffers}


def untrained_state(model: nn.Module, seed: int) -> dict[str, Tensor]:
    """The weights and buffers of the same network before it has learnt anything."""
    return state_of(redraw_weights(model, seed=derived(seed, "re-initialised network")))


class Asker:
    """Asks a network with other weights, many sets of them at once where that is possible."""

    NOT_TRIED = "it was not tried"

    def __init__(self, model: nn.Module, score: Score, forward: Forward | None = None) -> None:
        self.module = AskedModule(model, forward)
        self.score = score
        self.together = False
        self.apart_because = self.NOT_TRIED

    def one(self, weights: State, shared: State, inputs: Any, targets: Tensor) -> tuple[Tensor, Tensor]:
        """(n,) loss and what is right, with one set of weights."""
        loss, right = self.score(self.answers(weights, shared, inputs), targets)
        return loss.float(), right

    def answers(self, weights: State, shared: State, inputs: Any) -> Tensor:
        """(n, …) What is answered with one set of weights."""
        given = {f"module.{name}": value for name, value in {**shared, **weights}.items()}
        found: Tensor = functional_call(self.module, given, (inputs,))
        return found

    def many(self, weights: State, shared: State, data: ComponentData, *, own: bool) -> tuple[Tensor, Tensor]:
        """(b, n) loss and what is right for b sets of weights; with `own` each set has rows of its own (b, n, …)."""
        count = len(next(iter(weights.values())))
        if count > 1 and self.together:
            rows = 0 if own else None
            way = vmap(self.one, in_dims=(0, None, rows, rows), randomness="different")
            return way(weights, shared, data.inputs, data.targets)
        found = []
        for k in range(count):
            mine = {name: one.reshape(one.shape[1:]) if count == 1 else one[k] for name, one in weights.items()}
            rows_of_it = data.rows(k) if own else data
            found.append(self.one(mine, shared, rows_of_it.inputs, rows_of_it.targets))
        losses, rights = zip(*found, strict=True)
        return torch.stack(losses), torch.stack(rights)

    def check(self, state: State, data: ComponentData) -> None:
        """Ask once, so that what does not fit is said before anything is learned."""
        instead = "give inputs that it takes, or forward=lambda model, inputs: …, and a score for its answers"
        with refusing("the network cannot be asked about the examples", instead=instead), torch.no_grad():
            loss, right = self.one({}, state, data.inputs, data.targets)
        if tuple(loss.shape) != (len(data),) or tuple(right.shape) != (len(data),):
            raise SettingError(
                f"the score of {len(data)} rows has the shapes {tuple(loss.shape)} and {tuple(right.shape)}",
                why="it gives a loss and whether it is right for every row",
                instead="return two tensors of shape (rows,)",
            )

    def try_together(self, state: State, layouts: Sequence[ParameterLayout], data: ComponentData) -> None:
        """Whether two sets of weights can be asked as one: they must give what they give one by one."""
        names = [layout.name for layout in layouts]
        weights = {name: torch.stack([state[name], 0.5 * state[name]]).requires_grad_() for name in names}
        shared = {name: value for name, value in state.items() if name not in names}
        apart = self.many(weights, shared, data, own=False)[0].detach()
        self.together = True
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that an operation is looped over is no news to who asked for speed
                loss = self.many(weights, shared, data, own=False)[0]
                own = self.many(weights, shared, side_by_side([data, data]), own=True)[0]
                torch.autograd.grad((loss + own).sum(), list(weights.values()), allow_unused=True)
            limit = 1e-2 * float(apart.abs().max()) + 1e-6
            close = all(torch.allclose(one.detach(), apart, rtol=1e-2, atol=limit) for one in (loss, own))
            self.apart_because = "" if close else "its answers differ when several are asked as one"
        except Exception as error:  # noqa: BLE001 - whatever a user's module does not allow
            # torch's own words go on with advice to its developers
            first = next(iter(str(error).splitlines()), "")
            self.apart_because = first.partition(". ")[0].rstrip(".") or type(error).__name__
        self.together = not self.apart_because
