"""What is left of a network without a part: set to zero, set anew, or its activations replaced.

Zero and re-init change weights, and answer whether a part can be carved out. Mean and resample replace what whole units
give (or are given) by their mean, or by what another example makes of them, and are nearer to whether a part is used.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from recombine.errors import SettingError
from recombine_lab.probes.masks.data import Data
from recombine_lab.probes.masks.learning import Mask
from recombine_lab.probes.masks.network import Layout, State, owner_of

_CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)


def check_units(model: nn.Module, layouts: Sequence[Layout], group: str, ablation: str) -> None:
    """Refuse to replace activations where a group of weights is no unit of a layer."""
    if ablation not in ("mean", "resample"):
        return
    if group == "weight":
        raise SettingError(
            f"ablation={ablation!r} with group='weight'",
            why="one weight has no activation that could be replaced",
            instead="write group='row', 'channel' or 'head', or ablation='zero'",
        )
    for layout in layouts:
        owner = owner_of(model, layout.name)
        plain = isinstance(owner, (nn.Linear, *_CONVOLUTIONS)) or type(owner).__name__ == "Conv1D"
        grouped = group == "channel" and getattr(owner, "groups", 1) != 1
        if not plain or grouped or not layout.name.endswith("weight"):
            raise SettingError(
                f"ablation={ablation!r} for {layout.name!r}",
                why=f"the units of a {type(owner).__name__}{' with groups' if grouped else ''} are not known here",
                instead="name linear layers and convolutions with parameters=[…], or write ablation='zero'",
            )


def without(layouts: Sequence[Layout], state: State, mask: Mask, fresh: State | None) -> dict[str, Tensor]:
    """The masked weights with the part set to zero, or to fresh ones."""
    found = {}
    for layout in layouts:
        weight, kept = state[layout.name], mask[layout.name].to(state[layout.name].device)
        found[layout.name] = layout.times(weight, ~kept)
        if fresh is not None:
            found[layout.name] = found[layout.name] + layout.times(fresh[layout.name], kept)
    return found


def units(layout: Layout, mask: Mask, *, inputs: bool) -> Tensor:
    """(units,) Which outputs, or inputs, of a layer belong to the part."""
    whole = layout.whole(mask[layout.name])
    axis = 1 - layout.axis if inputs else layout.axis
    return whole.movedim(axis, 0).flatten(1).any(1)


def unit_means(
    model: nn.Module, layouts: Sequence[Layout], ask: Callable[[Data], Any], data: Data, *, inputs: bool
) -> dict[str, Tensor]:
    """(units,) What each unit gives, or is given, in the mean over some examples."""
    sums: dict[str, Tensor] = {}
    counts: dict[str, int] = {}

    def add(name: str, axis: int) -> Callable[[Tensor], Tensor]:
        def adding(value: Tensor) -> Tensor:
            flat = value.detach().movedim(axis, 0).flatten(1).double()
            sums[name] = sums.get(name, torch.zeros(len(flat), dtype=torch.float64, device=flat.device)) + flat.sum(1)
            counts[name] = counts.get(name, 0) + flat.shape[1]
            return value

        return adding

    with torch.no_grad(), _hooked(model, layouts, add, inputs=inputs):
        ask(data)
    return {name: total / counts[name] for name, total in sums.items()}


@contextmanager
def replaced(
    model: nn.Module,
    layouts: Sequence[Layout],
    mask: Mask,
    means: Mapping[str, Tensor] | None,
    *,
    inputs: bool,
    seed: int,
) -> Iterator[None]:
    """While this lasts, the part's units give their means, or, without means, what other examples make of them."""
    by_name = {layout.name: layout for layout in layouts}
    chance = torch.Generator().manual_seed(seed)

    def replacing(name: str, axis: int) -> Callable[[Tensor], Tensor]:
        gone = units(by_name[name], mask, inputs=inputs)

        def replace(value: Tensor) -> Tensor:
            shape = [-1 if k == axis % value.ndim else 1 for k in range(value.ndim)]
            if means is not None:
                other = means[name].to(value).reshape(shape)
            else:
                other = value[torch.randperm(len(value), generator=chance).to(value.device)]
            return torch.where(gone.to(value.device).reshape(shape), other, value)

        return replace

    with _hooked(model, layouts, replacing, inputs=inputs):
        yield


@contextmanager
def _hooked(
    model: nn.Module,
    layouts: Sequence[Layout],
    make: Callable[[str, int], Callable[[Tensor], Tensor]],
    *,
    inputs: bool,
) -> Iterator[None]:
    """Plain hooks at the layers of some weights, which are removed in any case."""
    hooks = []
    for layout in layouts:
        owner = owner_of(model, layout.name)
        change = make(layout.name, 1 if isinstance(owner, _CONVOLUTIONS) else -1)
        if inputs:
            hooks.append(
                owner.register_forward_pre_hook(lambda _m, given, change=change: (change(given[0]), *given[1:]))
            )
        else:
            hooks.append(owner.register_forward_hook(lambda _m, _i, output, change=change: change(output)))
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
