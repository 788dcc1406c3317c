"""The batch of any step, from nothing but the seed and the step: a run can be taken up anywhere.

Letters: S runs that are trained as one, n examples of a run, B examples a step, C distinct combinations, K factors.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from recombine.base.errors import SettingError
from recombine.base.seeds import derived
from recombine.data.space import Space
from recombine.numerics.groups import group
from recombine_lab.tasks.exposure import Source
from recombine_lab.tasks.task import Batch, Codes, Part, Task
from recombine_lab.training.recipe import Recipe

_CHUNK = 4096  # examples rendered at once; part of the numbers, because each chunk has a seed of its own
_MOST_NUMBERS = 2**22  # of a round of fresh examples
_MOST_STEPS = 64  # that one round serves
_MOST_PICKED = 16  # steps whose batches are picked at once
_MOST_PICKED_NUMBERS = 2**17  # of them
_MOST_COUNTED = 20_000  # fresh examples that the support is counted from


def render_chunks(task: Task, latents: Tensor, *, seed: int, part: Part) -> Batch:
    """Latents as tensors, a chunk at a time, each with chance of its own."""
    chunks = [
        task.render(piece, seed=derived(seed, "chunk", place), part=part)
        for place, piece in enumerate(torch.split(latents, _CHUNK) if len(latents) else [latents])
    ]
    inputs, targets = (torch.cat(pieces) for pieces in zip(*((c.inputs, c.targets) for c in chunks), strict=True))
    return Batch(inputs, targets if targets.is_floating_point() else targets.long())


@dataclass(eq=False)
class Fixed:
    """A set that is drawn once, and gone over in a new order each time."""

    task: Task
    latents: Tensor
    seed: int
    batch: int
    data: Batch = field(init=False)

    def __post_init__(self) -> None:
        self.batch = min(self.batch, len(self.latents))
        self.data = render_chunks(self.task, self.latents, seed=derived(self.seed, "train", "render"), part="train")

    def support(self) -> tuple[Codes, Codes]:
        """The combinations that are shown, and how often: each of the set."""
        return count_combinations(self.task.space, self.task.combinations(self.latents))

    @property
    def size(self) -> int:
        """How many examples are held at once: all of the set."""
        return len(self.latents)

    def order(self, epoch: int) -> Tensor:
        """The order in which the set is gone over for the nth time."""
        rng = torch.Generator().manual_seed(derived(self.seed, "order", epoch))
        return torch.randperm(len(self.latents), generator=rng)


@dataclass(eq=False)
class Fresh:
    """New examples at every step. They are drawn for several steps at once, always the same ones for a step."""

    task: Task
    source: Source
    seed: int
    batch: int
    steps: int
    per_round: int = field(init=False)

    def __post_init__(self) -> None:
        shapes = self.task.shapes
        numbers = max(1, self.batch * int(np.prod(shapes.inputs) + np.prod(shapes.outputs)))
        self.per_round = max(1, min(_MOST_STEPS, _MOST_NUMBERS // numbers))

    def latents(self, turn: int) -> Tensor:
        """The latents of one round."""
        return self.source.draw(self.per_round * self.batch, seed=derived(self.seed, "draw", turn))

    def round(self, turn: int) -> Batch:
        """The examples of one round."""
        return render_chunks(
            self.task, self.latents(turn), seed=derived(self.seed, "draw", turn, "render"), part="train"
        )

    def support(self) -> tuple[Codes, Codes]:
        """The first of those that are drawn, 20,000 at most."""
        wanted = min(self.steps * self.batch, _MOST_COUNTED)
        rounds = range(-(-wanted // (self.per_round * self.batch)))
        drawn = torch.cat([self.latents(turn) for turn in rounds])[:wanted]
        return count_combinations(self.task.space, self.task.combinations(drawn))

    @property
    def size(self) -> int:
        """A round."""
        return self.per_round * self.batch


TrainingExamples = Fixed | Fresh
"""The training examples of one run."""


def examples_of(task: Task, source: Source, recipe: Recipe, *, seed: int) -> TrainingExamples:
    """A run's training examples, as its recipe says."""
    if recipe.samples is None and recipe.batch is not None:
        return Fresh(task, source, seed, recipe.batch, recipe.steps)
    if recipe.samples == "every":
        latents = source.every()
        if latents is None:
            raise SettingError(
                "samples='every'",
                why="the examples are points of a continuous task, and cannot be counted",
                instead="write how many are to be drawn, for example samples=1000",
            )
        if getattr(task, "balance", None) is not None:
            raise SettingError(
                "samples='every' with a task that asks for balance",
                why="each row once is what the table holds, and balance draws some rows more often than others",
                instead="write how many are to be drawn, for example samples=1000, or leave samples out",
            )
    else:
        latents = source.draw(int(recipe.samples or 0), seed=derived(seed, "train"))
    if not len(latents):
        raise SettingError(
            "there is nothing to train on",
            why="the split leaves no training examples",
            instead="hold out less",
        )
    return Fixed(task, latents, seed, recipe.batch or len(latents))


class FixedFeed:
    """Batches of sets that are at hand, picked by index, those of a few steps at once."""

    def __init__(self, sets: Sequence[Fixed], *, stacked: bool) -> None:
        self._sets, self._stacked, first = sets, stacked, sets[0]
        whole = [(one.data.inputs, one.data.targets) for one in sets]
        inputs, targets = whole[0] if len(sets) == 1 else map(torch.cat, zip(*whole, strict=True))
        self._inputs, self._targets = inputs, targets
        self._size, self._batch = first.size, first.batch
        numbers = len(sets) * self._batch * (inputs[0].numel() + targets[0].numel())
        # No more steps than a set lasts: the order after the next is not known yet.
        most = min(_MOST_PICKED, _MOST_PICKED_NUMBERS // numbers, self._size // self._batch)
        self._per_turn = max(1, most)
        self._orders: dict[int, Tensor] = {}
        self._turn, self._picked = -1, list[Batch]()
        self._all: Batch | None = None
        if self._batch == self._size:
            parts = [part.view(len(sets), -1, *part.shape[1:]) if stacked else part for part in (inputs, targets)]
            self._all = Batch(*parts)

    def at(self, step: int) -> Batch:
        """The batch of a step: the examples that follow in the present order."""
        if self._all is not None:
            return self._all
        turn, place = divmod(step, self._per_turn)
        if turn != self._turn:
            self._turn, self._picked = turn, self._pick(turn)
        return self._picked[place]

    def _pick(self, turn: int) -> list[Batch]:
        """The batches of a turn's steps."""
        wanted = self._per_turn * self._batch
        rows = self._rows(turn * wanted, wanted).reshape(len(self._sets), self._per_turn, self._batch)
        picked = rows.transpose(0, 1).flatten()
        shape = (self._per_turn, *([len(self._sets)] if self._stacked else []), self._batch)
        parts = [part.index_select(0, picked) for part in (self._inputs, self._targets)]
        inputs, targets = (part.view(*shape, *part.shape[1:]).unbind(0) for part in parts)
        return [Batch(x, y) for x, y in zip(inputs, targets, strict=True)]

    def _rows(self, position: int, wanted: int) -> Tensor:
        """As many rows of each set (S, wanted) as follow a position of the endless order."""
        epoch, start = divmod(position, self._size)
        rows = self._order(epoch)[:, start : start + wanted]
        missing = wanted - rows.shape[1]
        return torch.cat([rows, self._rows((epoch + 1) * self._size, missing)], dim=1) if missing else rows

    def _order(self, epoch: int) -> Tensor:
        if epoch not in self._orders:
            offsets = torch.arange(len(self._sets))[:, None] * self._size
            self._orders = {kept: order for kept, order in self._orders.items() if kept == epoch - 1}
            self._orders[epoch] = torch.stack([one.order(epoch) for one in self._sets]) + offsets
        return self._orders[epoch]


@dataclass(eq=False)
class FreshFeed:
    """Batches of rounds that are drawn when they are needed."""

    sources: Sequence[Fresh]
    stacked: bool
    _turn: int = field(init=False, default=-1)
    _round: Batch | None = field(init=False, default=None)

    def at(self, step: int) -> Batch:
        """The examples of a step, out of its round."""
        first = self.sources[0]
        turn, place = divmod(step, first.per_round)
        if turn != self._turn or self._round is None:
            rounds = [source.round(turn) for source in self.sources]
            if self.stacked:
                pairs = [(one.inputs, one.targets) for one in rounds]
                rounds = [Batch(*(torch.stack(parts) for parts in zip(*pairs, strict=True)))]
            self._round, self._turn = rounds[0], turn
        rows = slice(place * first.batch, (place + 1) * first.batch)
        return self._round[(slice(None), rows) if self.stacked else rows]


Feed = FixedFeed | FreshFeed
"""The batches of one run, or of runs that are trained as one: then with an axis of runs (S, B, …) in front."""


def feed_of(examples: Sequence[TrainingExamples], *, stacked: bool) -> Feed:
    """The batches of one run (not stacked), or of several runs of one size (stacked)."""
    fixed = [one for one in examples if isinstance(one, Fixed)]
    if fixed:
        return FixedFeed(fixed, stacked=stacked)
    return FreshFeed([one for one in examples if isinstance(one, Fresh)], stacked)


@dataclass(frozen=True, eq=False)
class ExampleGroups:
    """The distinct combinations of some examples (C, K), and the place of each example among them (n,).

    >>> space = Space.of({"a": ["x", "y"], "b": ["x", "y"]})
    >>> cells = ExampleGroups.of(space, np.array([[1, 0], [0, 1], [1, 0]]))
    >>> cells.codes.tolist(), cells.place.tolist(), cells.counts.tolist()
    ([[0, 1], [1, 0]], [1, 0, 1], [1, 2])
    """

    codes: Codes
    place: npt.NDArray[np.int64]

    @classmethod
    def of(cls, space: Space, codes: Codes) -> "ExampleGroups":
        """The combinations among codes (n, K), in order; -1 stands for a factor that is left out."""
        sizes = tuple(size + 1 for size in space.sizes)
        groups = group(codes + 1, sizes=sizes, factors=tuple(range(len(sizes))))
        return cls(codes[groups.representatives].astype(np.int64), groups.ids)

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        """How many examples each combination has."""
        return np.bincount(self.place, minlength=len(self.codes)).astype(np.int64)

    def means(self, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """The mean of each combination's examples."""
        return np.bincount(self.place, weights=values, minlength=len(self.codes)) / np.maximum(self.counts, 1)


def count_combinations(space: Space, codes: Codes) -> tuple[Codes, Codes]:
    """The distinct combinations and how often each occurs."""
    cells = ExampleGroups.of(space, codes)
    return cells.codes, cells.counts
