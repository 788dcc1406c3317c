"""What is left of a network without a part: set to zero, set anew, or its activations replaced.

Zero and re-init change weights, and answer whether a part can be carved out. Mean and resample replace what whole units
give (or are given) by their mean, or by what another example makes of them, and are nearer to whether a part is used.

Masks are judged: what a part does alone, and what is left without it, on the tests of all components.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from recombine.base.errors import SettingError
from recombine.base.seeds import derived
from recombine_lab.probes.subnetwork_probe.components import Component, ComponentData, stacked_rows
from recombine_lab.probes.subnetwork_probe.mask_learning import Mask, rights
from recombine_lab.probes.subnetwork_probe.masked_network import (
    Asker,
    ParameterLayout,
    State,
    owner_of,
    untrained_state,
)

_CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)


def check_units(model: nn.Module, layouts: Sequence[ParameterLayout], group: str, ablation: str) -> None:
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


def without(layouts: Sequence[ParameterLayout], state: State, mask: Mask, fresh: State | None) -> dict[str, Tensor]:
    """The masked weights with the part set to zero, or to fresh ones."""
    found = {}
    for layout in layouts:
        weight, kept = state[layout.name], mask[layout.name].to(state[layout.name].device)
        found[layout.name] = layout.times(weight, ~kept)
        if fresh is not None:
            found[layout.name] = found[layout.name] + layout.times(fresh[layout.name], kept)
    return found


def units(layout: ParameterLayout, mask: Mask, *, inputs: bool) -> Tensor:
    """(units,) Which outputs, or inputs, of a layer belong to the part."""
    whole = layout.whole(mask[layout.name])
    axis = 1 - layout.axis if inputs else layout.axis
    return whole.movedim(axis, 0).flatten(1).any(1)


def unit_means(
    model: nn.Module,
    layouts: Sequence[ParameterLayout],
    ask: Callable[[ComponentData], Any],
    data: ComponentData,
    *,
    inputs: bool,
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
    layouts: Sequence[ParameterLayout],
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
    layouts: Sequence[ParameterLayout],
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


Right = Mapping[str, npt.NDArray[np.bool_]]
"""For each test, which of its rows are answered rightly."""
_MEAN_ROWS = 2_000
"""Rows over which the mean of a unit is taken, at most, of each component."""


@dataclass(frozen=True, eq=False)
class MaskJudgement:
    """What a mask's part does alone, and what the network does without it."""

    kept: Right
    left: Right


@dataclass(frozen=True, eq=False)
class Judge:
    """Judges masks on the tests of some components, several at once where the network allows it."""

    model: nn.Module
    asker: Asker
    layouts: tuple[ParameterLayout, ...]
    components: tuple[Component, ...]
    group: str
    ablation: str
    seed: int
    at_once: int

    def whole(self, state: State) -> Right:
        """What the whole network does."""
        first = {self.layouts[0].name: state[self.layouts[0].name][None]}
        return self._asked(first, state)

    def judged(self, masks: Sequence[Mask], states: Sequence[State]) -> list[MaskJudgement]:
        """Each mask on its own network."""
        found: list[MaskJudgement] = []
        for start in range(0, len(masks), self.at_once):
            few, theirs = masks[start : start + self.at_once], states[start : start + self.at_once]
            kept = self._split(self._of(few, theirs, part=True), len(few))
            left = self._left(few, theirs)
            found += [MaskJudgement(one, other) for one, other in zip(kept, left, strict=True)]
        return found

    def alone(self, mask: Mask, state: State, data: ComponentData) -> float:
        """The share of some rows that a part answers rightly by itself."""
        weights = {
            one.name: one.times(state[one.name], mask[one.name].to(state[one.name].device)) for one in self.layouts
        }
        shared = {name: value for name, value in state.items() if name not in weights}
        found = rights(self.asker, {name: value[None] for name, value in weights.items()}, shared, data)
        return float(found.float().mean())

    def _left(self, masks: Sequence[Mask], states: Sequence[State]) -> list[Right]:
        if self.ablation in ("zero", "re-init"):
            return self._split(self._of(masks, states, part=False), len(masks))
        # the means of a network's units are the same for all masks on it, and take as long as the judging
        means = {id(state): self._means(state) for state in {id(one): one for one in states}.values()}
        return [self._replaced(mask, state, means[id(state)]) for mask, state in zip(masks, states, strict=True)]

    def _of(self, masks: Sequence[Mask], states: Sequence[State], *, part: bool) -> dict[str, Tensor]:
        """(masks, rows) For each test, what is right with the parts, or without them."""
        fresh = untrained_state(self.model, derived(self.seed, "ablation")) if self.ablation == "re-init" else None
        sets = [
            {one.name: one.times(state[one.name], mask[one.name].to(state[one.name].device)) for one in self.layouts}
            if part
            else without(self.layouts, state, mask, fresh)
            for mask, state in zip(masks, states, strict=True)
        ]
        weights = {name: torch.stack([one[name] for one in sets]) for name in sets[0]}
        shared = {name: value for name, value in states[0].items() if name not in weights}
        if any(state is not states[0] for state in states):
            weights |= {name: torch.stack([state[name] for state in states]) for name in shared}
            shared = {}
        return {one.name: rights(self.asker, weights, shared, one.test) for one in self.components}

    def _means(self, state: State) -> dict[str, Tensor] | None:
        """What the units of a network give in the mean, where they are replaced by that."""
        if self.ablation != "mean":
            return None
        first = {self.layouts[0].name: state[self.layouts[0].name][None]}
        rows = stacked_rows([one.fit.rows(slice(0, _MEAN_ROWS)) for one in self.components])
        ask = lambda data: rights(self.asker, first, state, data)  # noqa: E731 - it is named where it is used
        return unit_means(self.model, self.layouts, ask, rows, inputs=self.group == "channel")

    def _replaced(self, mask: Mask, state: State, means: dict[str, Tensor] | None) -> Right:
        """Without the part's units, which give their means or what other examples make of them."""
        first = {self.layouts[0].name: state[self.layouts[0].name][None]}
        inputs, seed = self.group == "channel", derived(self.seed, "resampled")
        with replaced(self.model, self.layouts, mask, means, inputs=inputs, seed=seed):
            return self._asked(first, state)

    def _asked(self, weights: State, shared: State) -> Right:
        found = {one.name: rights(self.asker, weights, shared, one.test) for one in self.components}
        return self._split(found, 1)[0]

    @staticmethod
    def _split(found: Mapping[str, Tensor], masks: int) -> list[Right]:
        arrays = {name: right.cpu().numpy().astype(bool) for name, right in found.items()}
        return [{name: one[k] for name, one in arrays.items()} for k in range(masks)]
