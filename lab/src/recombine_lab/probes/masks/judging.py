"""Masks are judged: what a part does alone, and what is left without it, on the tests of all components."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from recombine.seeds import derived
from recombine_lab.probes.masks.data import Component, Data, stacked_rows
from recombine_lab.probes.masks.learning import Mask, rights
from recombine_lab.probes.masks.network import Asker, Layout, State, reinitialised
from recombine_lab.probes.masks.removing import replaced, unit_means, without

Right = Mapping[str, npt.NDArray[np.bool_]]
"""For each test, which of its rows are answered rightly."""
_MEAN_ROWS = 2_000
"""Rows over which the mean of a unit is taken, at most, of each component."""


@dataclass(frozen=True, eq=False)
class Judged:
    """What a mask's part does alone, and what the network does without it."""

    kept: Right
    left: Right


@dataclass(frozen=True, eq=False)
class Judge:
    """Judges masks on the tests of some components, several at once where the network allows it."""

    model: nn.Module
    asker: Asker
    layouts: tuple[Layout, ...]
    components: tuple[Component, ...]
    group: str
    ablation: str
    seed: int
    at_once: int

    def whole(self, state: State) -> Right:
        """What the whole network does."""
        first = {self.layouts[0].name: state[self.layouts[0].name][None]}
        return self._asked(first, state)

    def judged(self, masks: Sequence[Mask], states: Sequence[State]) -> list[Judged]:
        """Each mask on its own network."""
        found: list[Judged] = []
        for start in range(0, len(masks), self.at_once):
            few, theirs = masks[start : start + self.at_once], states[start : start + self.at_once]
            kept = self._split(self._of(few, theirs, part=True), len(few))
            left = self._left(few, theirs)
            found += [Judged(one, other) for one, other in zip(kept, left, strict=True)]
        return found

    def alone(self, mask: Mask, state: State, data: Data) -> float:
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
        fresh = reinitialised(self.model, derived(self.seed, "ablation")) if self.ablation == "re-init" else None
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
