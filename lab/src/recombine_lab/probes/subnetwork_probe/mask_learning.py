"""Masks are learned: scores by Adam, the weights frozen, several masks side by side where the network allows it.

What is kept for each group of weights is its score and the two moments of Adam: 12 bytes. Everything else is made again
when it is needed.

Continuous sparsification with its slope by hand, so that a mask of a large network costs little.

Autograd would keep a mask as large as the weights, twice. Here it is computed a second time on the way back. What stays
is 12 bytes a weight (the score and two moments of Adam), and 4 more, the masked weights, while the network is asked.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.optim.adam import adam

from recombine.base.seeds import derived
from recombine_lab.probes.subnetwork_probe.components import Component, ComponentData, side_by_side
from recombine_lab.probes.subnetwork_probe.mask_settings import (
    PUBLISHED_EPOCHS,
    MaskConfiguration,
    Search,
    expected_open,
    hard_mask,
    soft_mask,
    start_scale,
    temperature,
)
from recombine_lab.probes.subnetwork_probe.masked_network import Asker, ParameterLayout, State, by_group


class Continuous(torch.autograd.Function):
    """(b, …) Weights times sigmoid(T s) times a scale, and (b,) the sum of the sigmoids, with the slope of both.

    What autograd would keep for the way back, a mask as large as the weights, is computed a second time.
    """

    @staticmethod
    def forward(
        ctx: Any, scores: Tensor, weight: Tensor, heat: Tensor, scale: Tensor, layout: ParameterLayout
    ) -> tuple[Tensor, Tensor]:
        """Of scores (b, mask), weights (b or 1, …), temperatures and scales (b, 1, …)."""
        ctx.save_for_backward(scores, weight, heat, scale)
        ctx.layout = layout
        mask = (scores * heat).sigmoid_()
        opened = mask.flatten(1).sum(1)
        return layout.times(weight, mask.mul_(scale)), opened

    @staticmethod
    def backward(ctx: Any, grad: Tensor, grad_opened: Tensor) -> tuple[Tensor | None, ...]:
        """The slope of sigmoid(T s) is T m (1 - m)."""
        scores, weight, heat, scale = ctx.saved_tensors
        felt = ctx.layout.times(grad, ctx.layout.seen(weight)).reshape(len(scores), *ctx.layout.view)
        felt = felt.float().sum_to_size(scores.shape)
        felt = felt.mul_(heat * scale).add_(heat * grad_opened.reshape(heat.shape))
        mask = (scores * heat).sigmoid_()
        return torch.ops.aten.sigmoid_backward(felt, mask), None, None, None, None


Mask = Mapping[str, Tensor]
"""(mask shape) For each masked parameter, which of its groups are kept."""
_BETAS = (0.9, 0.999)
_FEW = 1_000_000
"""Scores up to which the gradients of all wait for one step; beyond, each is let go as soon as it was used."""
_ROWS = 512
"""Rows that are asked about at once, when nothing is learned."""
_MOST = 1024
"""Rows that a slope is taken over, all of which are held in memory."""


@dataclass(frozen=True)
class MaskJob:
    """One mask to learn: on whom, for which component, how, with which seed."""

    who: str
    component: str
    configuration: MaskConfiguration
    seed: int

    @property
    def key(self) -> str:
        """A name for files and for chance."""
        made = self.configuration
        return f"{self.who}-{self.component}-{made.rate:g}-{made.start:g}-{made.penalty:g}-{self.seed}"


@dataclass(frozen=True, eq=False)
class Learned:
    """A mask, and how its learning went: how much of it is open, and what the held-out examples say."""

    mask: Mask
    density: float
    held_out: float
    soft_gap: float
    undecided: float


@dataclass(frozen=True, eq=False)
class Subject:
    """A network to learn masks on: weights, the component of this mask, and the others (for `against`)."""

    state: State
    component: Component
    others: tuple[Component, ...]


@dataclass(eq=False)
class _Moments:
    first: Tensor
    second: Tensor
    step: int = 0


@dataclass(frozen=True, eq=False)
class MaskLearner:
    """Learns masks on a network by one search's settings."""

    asker: Asker
    layouts: tuple[ParameterLayout, ...]
    search: Search
    seed: int
    ceiling: float
    """The loss at chance, beyond which the other components are not lowered."""
    device: Any = "cpu"

    def steps(self, subject: Subject) -> int:
        """How many steps a mask takes."""
        if self.search.steps is not None:
            return self.search.steps
        return PUBLISHED_EPOCHS * _per_epoch(len(subject.component.fit), self.search.batch)

    def learn(
        self, jobs: Sequence[MaskJob], subjects: Sequence[Subject], told: Callable[[float], None]
    ) -> list[Learned]:
        """The masks of some jobs that take equally many steps, learned side by side; by the gradient, one by one."""
        if self.search.estimator == "gradient":
            return [self._by_gradient(job, subject) for job, subject in zip(jobs, subjects, strict=True)]
        steps = self.steps(subjects[0])
        made = _Chunk(self, jobs, subjects)
        for step in range(steps):
            made.step(step, steps)
            if step % 20 == 0:
                told(step / steps)
        return made.finished()

    def _by_gradient(self, job: MaskJob, subject: Subject) -> Learned:
        """The mask that is best to first order: kept is what the loss, with its penalty, is lower for.

        The loss of the masked network is taken as linear in the mask, about the whole network. Each mask seed looks at
        another half of the examples, so that masks of several seeds say how sure the slopes are.
        """
        chance = torch.Generator().manual_seed(derived(self.seed, "mask", job.key))
        count = min(_MOST, -(-len(subject.component.fit) // 2))
        rows = torch.randperm(len(subject.component.fit), generator=chance)[:count]
        weights = {one.name: subject.state[one.name].detach().clone().requires_grad_() for one in self.layouts}
        fixed = {name: value for name, value in subject.state.items() if name not in weights}
        loss = self._mean_loss(weights, fixed, subject.component.fit.rows(rows))
        if self.search.against:
            others = [self._mean_loss(weights, fixed, one.fit.rows(slice(0, count))) for one in subject.others]
            loss = loss - self.search.against * torch.stack(others).mean()
        slopes = torch.autograd.grad(loss, list(weights.values()), allow_unused=True)
        total = sum(one.size for one in self.layouts)
        mask = {}
        for one, slope in zip(self.layouts, slopes, strict=True):
            weight = subject.state[one.name]
            rise = by_group(one, weight * (torch.zeros_like(weight) if slope is None else slope))
            worth = one.size / one.groups / total if self.search.penalty_shared else 1.0
            mask[one.name] = hard_mask(-rise - job.configuration.penalty * worth).cpu()
        kept = {
            one.name: one.times(subject.state[one.name], mask[one.name].to(subject.state[one.name].device))
            for one in self.layouts
        }
        right = rights(self.asker, {name: one[None] for name, one in kept.items()}, fixed, subject.component.held_out)
        return Learned(mask, density(mask, self.layouts), float(right.float().mean()), 0.0, 0.0)

    def _mean_loss(self, weights: State, fixed: State, rows: ComponentData) -> Tensor:
        return self.asker.one(weights, fixed, rows.inputs, rows.targets)[0].mean()


class _Chunk:
    """Some masks while they are learned. Legend: b masks, n rows of a batch."""

    def __init__(self, learner: MaskLearner, jobs: Sequence[MaskJob], subjects: Sequence[Subject]) -> None:
        self.learner, self.jobs, self.subjects = learner, jobs, subjects
        self.search = learner.search
        chances = [torch.Generator().manual_seed(derived(learner.seed, "mask", job.key)) for job in jobs]
        self.scores = {one.name: self._start(one, chances) for one in learner.layouts}
        self.moments = {name: _Moments(torch.zeros_like(s), torch.zeros_like(s)) for name, s in self.scores.items()}
        self.rates = torch.tensor([job.configuration.rate for job in jobs], device=learner.device)
        self.penalties = torch.tensor([job.configuration.penalty for job in jobs], device=learner.device)
        self.weights, self.open, self.shared = _held(subjects, learner.layouts)
        self.batches = [
            _batches(subject.component.fit, self.search.batch, chance)
            for subject, chance in zip(subjects, chances, strict=True)
        ]
        self.others = [
            [_batches(other.fit, self.search.batch, chance) for other in subject.others]
            for subject, chance in zip(subjects, chances, strict=True)
        ]
        self.chances = chances
        self.noise: dict[str, Tensor] = {}
        self.alone = len(jobs) == 1 and self.rates.device.type in ("cpu", "cuda")
        self.at_end = self.alone and sum(one.numel() for one in self.scores.values()) <= _FEW
        for name, scores in () if self.at_end else self.scores.items():
            step = partial(self._adam_alone, [name]) if self.alone else partial(self._adam, self.moments[name])
            scores.register_post_accumulate_grad_hook(step)  # type: ignore[no-untyped-call]

    def _start(self, layout: ParameterLayout, chances: Sequence[torch.Generator]) -> Tensor:
        spread = self.search.spread
        rows = [
            job.configuration.start + spread * torch.randn(layout.mask, generator=chance)
            if spread
            else torch.full(layout.mask, job.configuration.start)
            for job, chance in zip(self.jobs, chances, strict=True)
        ]
        return torch.stack(rows).to(self.learner.device).requires_grad_()

    def _adam(self, moments: _Moments, scores: Tensor) -> None:
        """One step of Adam as soon as a gradient is there, which is then let go."""
        grad = scores.grad
        if grad is None:
            return
        scores.grad = None
        with torch.no_grad():
            moments.step += 1
            moments.first.lerp_(grad, 1 - _BETAS[0])
            moments.second.mul_(_BETAS[1]).addcmul_(grad, grad, value=1 - _BETAS[1])
            size = moments.second.sqrt().div_(math.sqrt(1 - _BETAS[1] ** moments.step)).add_(self.search.eps)
            step = torch.div(moments.first, size, out=size)
            rate = self.rates / (1 - _BETAS[0] ** moments.step)
            scores.sub_(step.mul_(rate.reshape(-1, *[1] * (scores.ndim - 1))))

    @torch.no_grad()
    def _adam_alone(self, names: Sequence[str], _: Tensor | None = None) -> None:
        """The same for a mask that is learned alone, in a single pass over memory: a third of the time."""
        found = [(self.scores[name], self.moments[name]) for name in names if self.scores[name].grad is not None]
        grads = [scores.grad for scores, _ in found if scores.grad is not None]
        steps = [torch.tensor(float(moments.step), device=self.rates.device) for _, moments in found]
        for scores, moments in found:
            scores.grad = None
            moments.step += 1
        adam(
            [scores for scores, _ in found],
            grads,
            [moments.first for _, moments in found],
            [moments.second for _, moments in found],
            [],
            steps,
            fused=True,
            amsgrad=False,
            beta1=_BETAS[0],
            beta2=_BETAS[1],
            lr=self.jobs[0].configuration.rate,
            weight_decay=0.0,
            eps=self.search.eps,
            maximize=False,
        )

    def heats(self, step: int, steps: int) -> tuple[Tensor, Tensor]:
        """(b,) The temperature, and what masks are multiplied by."""
        search, made = self.search, []
        for job, subject in zip(self.jobs, self.subjects, strict=True):
            progress = step / steps
            if search.per_epoch:
                epoch = _per_epoch(len(subject.component.fit), search.batch)
                progress = (step // epoch) / max(1, math.ceil(steps / epoch))
            scale = start_scale(job.configuration.start, progress) if search.scaled else 1.0
            made.append((temperature(progress, search.final), scale))
        both = torch.tensor(made, dtype=torch.float32, device=self.learner.device)
        return both[:, 0], both[:, 1]

    def masked(self, heat: Tensor, scale: Tensor) -> tuple[dict[str, Tensor], Tensor]:
        """(b, …) The weights under their soft masks; (b,) how much of the masks is open.

        That is a share of the weights, or, as published, the sum over the masks.
        """
        drawn = self.search.estimator == "hard concrete"
        self.noise = {one.name: self._noise(one) for one in self.learner.layouts} if drawn else {}
        total = sum(layout.size for layout in self.learner.layouts)
        products = {layout.name: self._product(layout, heat, scale) for layout in self.learner.layouts}
        worth = [one.size / one.groups / total if self.search.penalty_shared else 1.0 for one in self.learner.layouts]
        opened = torch.stack([opened for _, opened in products.values()], dim=1)
        return {name: product for name, (product, _) in products.items()}, opened @ torch.tensor(worth).to(opened)

    def _product(self, layout: ParameterLayout, heat: Tensor, scale: Tensor) -> tuple[Tensor, Tensor]:
        """(b, …) One parameter under its soft masks, and (b,) how many of its groups are open."""
        scores, weight = self.scores[layout.name], self.weights[layout.name]
        lead = (-1, *[1] * len(layout.mask))
        heat, scale = heat.reshape(lead), scale.reshape(lead)
        if self.search.estimator == "continuous":
            found: tuple[Tensor, Tensor] = Continuous.apply(scores, weight, heat, scale, layout)  # type: ignore[no-untyped-call]
            return found
        mask = soft_mask(self.search.estimator, scores, heat, self.noise.get(layout.name))
        return layout.times(weight, mask * scale), expected_open(self.search.estimator, scores, heat).flatten(1).sum(1)

    def _noise(self, layout: ParameterLayout) -> Tensor:
        rows = [torch.rand(layout.mask, generator=chance) for chance in self.chances]
        return torch.stack(rows).clamp_(1e-6, 1 - 1e-6).logit_().to(self.learner.device)

    def step(self, step: int, steps: int) -> None:
        """One step of every mask."""
        self._loss(*self.heats(step, steps)).backward()  # type: ignore[no-untyped-call]
        if self.at_end:
            self._adam_alone(list(self.scores))

    def _loss(self, heat: Tensor, scale: Tensor) -> Tensor:
        """The sum over masks of the mean loss on a batch of the mask's component, less that of the others, penalised.

        Masked weights are named here alone, so that each of them can be let go on the way back.
        """
        masked, opened = self.masked(heat, scale)
        weights = {**self.open, **masked}
        data = side_by_side([next(one) for one in self.batches])
        loss = self.learner.asker.many(weights, self.shared, data, own=True)[0].mean(1)
        if self.search.against:
            loss = loss - self.search.against * self._of_others(weights)
        return (loss + self.penalties * opened).sum()

    def _of_others(self, weights: State) -> Tensor:
        """(b,) The loss on the other components, as far as it is below that of an answer by chance."""
        found = []
        for k in range(len(self.subjects[0].others)):
            data = side_by_side([next(others[k]) for others in self.others])
            loss = self.learner.asker.many(weights, self.shared, data, own=True)[0]
            found.append(loss.clamp(max=self.learner.ceiling).mean(1))
        return torch.stack(found).mean(0)

    @torch.no_grad()
    def finished(self) -> list[Learned]:
        """The hard masks, with what they do on the held-out examples beside what the soft ones do."""
        self.moments.clear()  # nothing is learned any more, and what follows needs the room
        masks = {name: hard_mask(scores) for name, scores in self.scores.items()}
        hot = torch.full_like(self.rates, temperature(1.0, self.search.final))
        undecided = self._undecided(hot)
        soft = self._held_out(self.masked(hot, torch.ones_like(hot))[0])
        layouts = self.learner.layouts
        hard = self._held_out({one.name: one.times(self.weights[one.name], masks[one.name]) for one in layouts})
        found = []
        for k in range(len(self.jobs)):
            mask = {name: one[k].cpu().clone() for name, one in masks.items()}
            found.append(Learned(mask, density(mask, layouts), hard[k], abs(hard[k] - soft[k]), undecided[k]))
        return found

    def _held_out(self, masked: State) -> list[float]:
        """The share of held-out examples that each of the masked networks answers rightly."""
        weights, found = {**self.open, **masked}, []
        for k, subject in enumerate(self.subjects):
            mine = {name: one[k : k + 1] if len(one) > 1 else one for name, one in weights.items()}
            right = rights(self.learner.asker, mine, self.shared, subject.component.held_out)
            found.append(float(right.float().mean()))
        return found

    def _undecided(self, heat: Tensor) -> list[float]:
        """The share of groups whose soft mask is between .1 and .9 at the end."""
        between, groups = torch.zeros_like(heat), sum(layout.groups for layout in self.learner.layouts)
        for scores in self.scores.values():
            lead = (-1, *[1] * (scores.ndim - 1))
            opened = expected_open(self.search.estimator, scores, heat.reshape(lead)).flatten(1)
            between += ((opened > 0.1) & (opened < 0.9)).sum(1)
        return [float(one) / groups for one in between]


def rights(asker: Asker, weights: State, shared: State, data: ComponentData) -> Tensor:
    """(b, n) What b networks answer rightly, some rows at a time."""
    with torch.no_grad():
        parts = [
            asker.many(weights, shared, data.rows(slice(start, start + _ROWS)), own=False)[1]
            for start in range(0, len(data), _ROWS)
        ]
    return torch.cat(parts, dim=1)


def density(mask: Mask, layouts: Sequence[ParameterLayout]) -> float:
    """The share of the masked weights that a mask keeps."""
    kept = sum(float(mask[one.name].sum()) * one.size / one.groups for one in layouts)
    return kept / sum(one.size for one in layouts)


def _held(
    subjects: Sequence[Subject], layouts: Sequence[ParameterLayout]
) -> tuple[dict[str, Tensor], dict[str, Tensor], dict[str, Tensor]]:
    """The weights under masks (b or 1, …), those beside them that differ from mask to mask, and those that do not."""
    names = [layout.name for layout in layouts]
    states = [subject.state for subject in subjects]
    same = all(state is states[0] for state in states)
    if same:
        rest = {name: value for name, value in states[0].items() if name not in names}
        return {name: states[0][name][None] for name in names}, {}, rest
    stacks = {name: torch.stack([state[name] for state in states]) for name in states[0]}
    masked = {name: stacks.pop(name) for name in names}
    return masked, stacks, {}


def _per_epoch(rows: int, batch: int) -> int:
    return max(1, math.ceil(rows / batch))


def _batches(data: ComponentData, size: int, chance: torch.Generator) -> Iterator[ComponentData]:
    """Batches without end, all rows once an epoch; of equal size, so that they fit side by side."""
    size = min(size, len(data))
    while True:
        order = torch.randperm(len(data), generator=chance)
        for start in range(0, len(data), size):
            rows = order[start : start + size]
            if len(rows) < size:  # the last ones are filled up with others
                rows = torch.cat([rows, order[: size - len(rows)]])
            yield data.rows(rows)
