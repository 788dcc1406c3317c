"""The search: every configuration on everybody, one of them chosen by sufficiency and sparsity, then more seeds of it.

Whoever is a control gets the same search. Nothing that is reported has a say in the choice: not what is left without
the mask, and no test.

Masks that nobody searched for, as large as one that was: random, by magnitude, by gradient.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import torch
from torch import Tensor, nn

from recombine.base.seeds import derived
from recombine_lab.probes.subnetwork_probe.components import Component, ComponentData, shuffled
from recombine_lab.probes.subnetwork_probe.mask_cache import Keeper
from recombine_lab.probes.subnetwork_probe.mask_learning import Learned, Mask, MaskJob, MaskLearner, Subject
from recombine_lab.probes.subnetwork_probe.mask_settings import MaskConfiguration
from recombine_lab.probes.subnetwork_probe.masked_network import (
    Asker,
    ParameterLayout,
    State,
    by_group,
    untrained_state,
)

SEARCH_SEED = 0
"""The mask seed of the search; those of the masks that are judged come after it."""


@dataclass(frozen=True, eq=False)
class Cast:
    """Everybody on whom masks are learned: the network, it re-initialised, and it with shuffled components."""

    model: nn.Module
    state: State
    components: tuple[Component, ...]
    seed: int
    most: int
    """Networks that are kept at hand; others are made again."""
    _states: dict[int, State] = field(default_factory=dict)
    _mixed: dict[int, tuple[Component, ...]] = field(default_factory=dict)

    def state_of(self, who: str, seed: int) -> State:
        """The weights of somebody; each mask seed has a re-initialised network of its own."""
        if who != "re-initialised":
            return self.state
        if seed not in self._states:
            while len(self._states) >= self.most:
                self._states.pop(next(iter(self._states)))
            self._states[seed] = untrained_state(self.model, derived(self.seed, "control", seed))
        return self._states[seed]

    def _shuffled(self, seed: int) -> tuple[Component, ...]:
        """The components mixed by a mask seed; examples may be large, so those of one seed are kept at a time."""
        if seed not in self._mixed:
            self._mixed.clear()
            self._mixed[seed] = shuffled(self.components, derived(self.seed, "control", seed))
        return self._mixed[seed]

    def subject(self, job: MaskJob) -> Subject:
        """Somebody with the examples of a job's component."""
        told = self._shuffled(job.seed) if job.who == "shuffled" else self.components
        mine = next(one for one in told if one.name == job.component)
        others = tuple(one for one in told if one.name != job.component)
        return Subject(self.state_of(job.who, job.seed), mine, others)


@dataclass(frozen=True, eq=False)
class MaskSearchResult:
    """All masks of a search, and for each somebody and component the configuration that was chosen."""

    learned: Mapping[MaskJob, Learned]
    chosen: Mapping[tuple[str, str], MaskConfiguration]
    seeds: Mapping[str, int]
    """For each somebody, how many masks are judged."""

    def final(self, who: str, component: str) -> list[tuple[MaskJob, Learned]]:
        """The masks that are judged: the chosen configuration with each of the mask seeds."""
        made = self.chosen[who, component]
        jobs = [MaskJob(who, component, made, SEARCH_SEED + k) for k in range(1, self.seeds[who] + 1)]
        return [(job, self.learned[job]) for job in jobs]

    def of_search(self) -> list[tuple[MaskJob, Learned]]:
        """The masks of the search itself."""
        return [(job, one) for job, one in self.learned.items() if job.seed == SEARCH_SEED]


Choice = Callable[[Mapping[MaskConfiguration, Learned], float], MaskConfiguration]
"""Which of the configurations that were tried is taken, at an accuracy that suffices."""


def searched(
    learner: MaskLearner,
    cast: Cast,
    keeper: Keeper,
    *,
    seeds: Mapping[str, int],
    sufficient: float,
    at_once: int,
    told: Callable[[float], None],
    choice: Choice | None = None,
) -> MaskSearchResult:
    """Every configuration on everybody in `seeds`, then the chosen ones with as many seeds as stand there."""
    who, pick = list(seeds), choice or choose
    names = [one.name for one in cast.components]
    grid = learner.search.configurations
    # Of one alone there is nothing to choose. A sparse one is learned all the same: the search is listed as a whole.
    tried = grid if len(grid) > 1 or choice is None else ()
    first = [MaskJob(one, name, made, SEARCH_SEED) for one in who for name in names for made in tried]
    share = len(first) / (len(first) + len(names) * sum(seeds.values()))
    learned = _learned(learner, cast, keeper, first, at_once, lambda done: told(share * done))
    chosen = {
        (one, name): pick({made: learned[MaskJob(one, name, made, SEARCH_SEED)] for made in tried}, sufficient)
        if tried
        else grid[0]
        for one in who
        for name in names
    }
    more = [
        MaskJob(one, name, chosen[one, name], SEARCH_SEED + k)
        for one in who
        for name in names
        for k in range(1, seeds[one] + 1)
    ]
    learned |= _learned(learner, cast, keeper, more, at_once, lambda done: told(share + (1 - share) * done))
    return MaskSearchResult(learned, chosen, seeds)


def choose(tried: Mapping[MaskConfiguration, Learned], sufficient: float) -> MaskConfiguration:
    """The sparsest of those that do their component on held-out examples; where none does, the one that does it best.

    >>> tried = {MaskConfiguration(0.01, 0.1, k): Learned({}, k, 0.5 + k, 0.0, 0.0) for k in (0.3, 0.45, 0.5)}
    >>> choose(tried, 0.9).penalty, choose(tried, 2.0).penalty
    (0.45, 0.5)
    """
    passing = [made for made, one in tried.items() if one.held_out >= sufficient]
    if passing:
        return min(passing, key=lambda made: (tried[made].density, -tried[made].held_out))
    return max(tried, key=lambda made: (tried[made].held_out, -tried[made].density))


def choose_largest(tried: Mapping[MaskConfiguration, Learned], sufficient: float) -> MaskConfiguration:
    """The largest of those that do their component on held-out examples; where none does, the one that does it best.

    >>> tried = {MaskConfiguration(k, 0.1, 0.0): Learned({}, k, 0.5 + k, 0.0, 0.0) for k in (0.3, 0.45, 0.5)}
    >>> choose_largest(tried, 0.9).rate, choose_largest(tried, 2.0).rate
    (0.5, 0.5)
    """
    passing = {made: one for made, one in tried.items() if one.held_out >= sufficient}
    if passing:
        return max(passing, key=lambda made: (passing[made].density, passing[made].held_out))
    return max(tried, key=lambda made: (tried[made].held_out, tried[made].density))


def _learned(
    learner: MaskLearner,
    cast: Cast,
    keeper: Keeper,
    jobs: Sequence[MaskJob],
    at_once: int,
    told: Callable[[float], None],
) -> dict[MaskJob, Learned]:
    """What is not kept already is learned, as many masks side by side as may be."""
    found = {job: kept for job in jobs if (kept := keeper.get(job)) is not None}
    groups: dict[object, list[MaskJob]] = {}
    for job in jobs:
        if job not in found:
            groups.setdefault(_alike(learner, cast, job), []).append(job)
    chunks = [group[k : k + at_once] for group in groups.values() for k in range(0, len(group), at_once)]
    missing, done = sum(map(len, chunks)), 0
    for chunk in chunks:
        subjects = [cast.subject(job) for job in chunk]
        made = learner.learn(chunk, subjects, partial(_within, told, done / missing, len(chunk) / missing))
        for job, one in zip(chunk, made, strict=True):
            keeper.put(job, one)
            found[job] = one
        done += len(chunk)
    return found


def _within(told: Callable[[float], None], start: float, share: float, part: float) -> None:
    told(start + share * part)


def _alike(learner: MaskLearner, cast: Cast, job: MaskJob) -> object:
    """Masks can be learned side by side where batches look alike and steps are equally many."""
    component = next(one for one in cast.components if one.name == job.component)
    form = tuple((name, tuple(one.shape[1:])) for name, one in component.fit.tensors.items())
    steps = learner.steps(Subject(cast.state, component, ()))
    rows = min(learner.search.batch, len(component.fit))
    return (steps, rows, form, job.component if learner.search.against else None)


_MOST = 1024
"""Rows that a gradient is taken over."""


def random_mask(like: Mask, layouts: Sequence[ParameterLayout], seed: int) -> dict[str, Tensor]:
    """Groups drawn at random from the whole network, until they have as many weights as the mask has.

    Not layer by layer: where a part is a whole layer, as many weights of that layer are the very same mask.
    """
    chance = torch.Generator().manual_seed(seed)
    drawn = {one.name: torch.rand(one.mask, generator=chance) for one in layouts}
    sizes = {one.name: torch.tensor(one.size / one.groups).expand(one.mask) for one in layouts}
    wanted = sum(float(like[one.name].sum()) * one.size / one.groups for one in layouts)
    return highest(drawn, sizes, wanted)


def highest(scores: Mask, worth: Mask, wanted: float) -> dict[str, Tensor]:
    """The groups of the whole network with the highest scores, as few as are worth so much together.

    >>> scores = {"a": torch.tensor([0.8, 0.1]), "b": torch.tensor([0.5])}
    >>> {name: mask.tolist() for name, mask in highest(scores, {"a": torch.ones(2), "b": torch.ones(1)}, 2).items()}
    {'a': [True, False], 'b': [True]}
    """
    ranked = torch.cat([one.flatten() for one in scores.values()])
    each = torch.cat([worth[name].flatten() for name in scores]).double()
    chosen = torch.zeros(len(ranked), dtype=torch.bool)
    if each[0] > 0 and bool((each == each[0]).all()):  # 25 million weights are not sorted for a random mask
        enough = min(max(math.ceil(wanted / float(each[0])), 0), len(each))
        chosen[ranked.topk(enough, sorted=False).indices] = True
    else:
        order = ranked.argsort(descending=True)
        chosen[order] = each[order].cumsum(0) - each[order] < wanted  # what comes before is not enough yet
    parts = torch.split(chosen, [one.numel() for one in scores.values()])
    return {name: part.reshape(one.shape) for (name, one), part in zip(scores.items(), parts, strict=True)}


def top_mask(like: Mask, worth: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """As many groups in every layer as the mask has: those that are worth most."""
    found = {}
    for name, mask in like.items():
        best = worth[name].flatten().topk(int(mask.sum())).indices
        chosen = torch.zeros(mask.numel(), dtype=torch.bool)
        chosen[best.cpu()] = True
        found[name] = chosen.reshape(mask.shape)
    return found


def magnitude(state: State, layouts: Sequence[ParameterLayout]) -> dict[str, Tensor]:
    """What each group weighs: the sum of its absolute values."""
    return {layout.name: by_group(layout, state[layout.name].abs()) for layout in layouts}


def saliency(asker: Asker, state: State, layouts: Sequence[ParameterLayout], data: ComponentData) -> dict[str, Tensor]:
    """How much each group is felt: |weight times gradient of the loss|, summed, over some examples of the component."""
    weights = {layout.name: state[layout.name].clone().requires_grad_() for layout in layouts}
    shared = {name: value for name, value in state.items() if name not in weights}
    rows = data.rows(slice(0, _MOST))
    loss = asker.one(weights, shared, rows.inputs, rows.targets)[0].mean()
    grads = torch.autograd.grad(loss, list(weights.values()), allow_unused=True)
    felt = zip(layouts, grads, strict=True)
    return {
        one.name: by_group(one, (state[one.name] * (torch.zeros_like(state[one.name]) if grad is None else grad)).abs())
        for one, grad in felt
    }
