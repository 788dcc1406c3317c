"""Two digits in one picture, of which one is asked for and the other is redundant: a paired experiment.

In setting A the second digit tells much about the first; in B it tells nothing. All else is equal.

Images of ten classes to draw from by class, and several of them as one input.

They come from MNIST, Fashion-MNIST or CIFAR-10; or they are digits of seven bars drawn here (`glyphs`), for machines
without data sets and for quick tests. `Pictures` puts items beside each other, or in channels of their own and shifted
apart.

Letters: n examples, K items, C channels, H x W pixels of one image.
"""

from dataclasses import dataclass, fields
from functools import cache, cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn.functional import pad

from recombine.base.errors import SettingError
from recombine.base.seeds import derived
from recombine.data.space import Space
from recombine_lab.tasks.data_files import IN_STRIPS, Images, Labels, cifar10, mnist
from recombine_lab.tasks.exposure import FiniteSource, Parts
from recombine_lab.tasks.task import Batch, Codes, DiscreteTask, Part, Shapes, at_least, one_of

ImageSet = Literal["mnist", "fashion_mnist", "cifar10", "synthetic"]
SHAPES: dict[ImageSet, tuple[int, int, int]] = {
    "mnist": (1, 28, 28),
    "fashion_mnist": (1, 28, 28),
    "cifar10": (3, 32, 32),
    "synthetic": (1, 28, 28),
}
"""(C, H, W), known without reading any file."""
CLASSES = 10
Layout = Literal["side", "channels"]
_LARGEST_SHIFT = 4
SIDE = 28
EACH = {"train": 200, "test": 50}
_BARS = {  # rows and columns of each bar
    "a": (slice(4, 7), slice(8, 20)),
    "b": (slice(4, 15), slice(17, 20)),
    "c": (slice(13, 24), slice(17, 20)),
    "d": (slice(21, 24), slice(8, 20)),
    "e": (slice(13, 24), slice(8, 11)),
    "f": (slice(4, 15), slice(8, 11)),
    "g": (slice(12, 15), slice(8, 20)),
}
_DIGITS = ("abcdef", "bc", "abged", "abgcd", "fgbc", "afgcd", "afgedc", "abc", "abcdefg", "abgfcd")
_JITTER = 2


@dataclass(frozen=True, eq=False)
class Pool:
    """Images in the order of their class: those of class c are `counts[c]` of them from `starts[c]` on."""

    images: Tensor
    starts: Tensor
    counts: Tensor

    @classmethod
    def of(cls, images: Images, labels: Labels) -> "Pool":
        """Images and their classes as a pool."""
        order = np.argsort(labels, kind="stable")
        counts = np.bincount(labels, minlength=CLASSES)
        starts = np.cumsum(counts) - counts
        return cls(torch.from_numpy(images[order]), torch.from_numpy(starts), torch.from_numpy(counts))

    def first(self, per_class: int) -> "Pool":
        """Only the first few of each class; the images are shared."""
        return Pool(self.images, self.starts, self.counts.clamp(max=per_class))

    def draw(self, classes: Tensor, *, rng: torch.Generator) -> Tensor:
        """An image of each of these classes, any of them with equal chance: bytes (n, C, H, W)."""
        places = (torch.rand(len(classes), generator=rng, dtype=torch.float64) * self.counts[classes]).long()
        return self.images.index_select(0, self.starts[classes] + places)


def pool(images: ImageSet, part: Part, per_class: int | None = None) -> Pool:
    """The images of a data set. `per_class` limits the training part, never the test part."""
    if per_class is None or part == "test":
        return _whole(images, part)
    return _whole(images, part, few=images == "cifar10" and per_class <= IN_STRIPS).first(per_class)


@cache
def _whole(images: ImageSet, part: Part, *, few: bool = False) -> Pool:
    """All images, read once in a process; of CIFAR-10's training part, where that is enough, a few."""
    if images == "synthetic":
        return Pool.of(*glyphs(part))
    if images == "cifar10":
        return Pool.of(*cifar10(part, per_class=IN_STRIPS if few else None))
    return Pool.of(*mnist(part, folder=images))


@dataclass(frozen=True, kw_only=True)
class Pictures:
    """How K items, each of one of ten classes, become one picture.

    `side`: in the same channels, item k begins k (W + distance) pixels from the first; nothing overlaps. `channels`:
    each item has channels of its own, and item k begins k times `distance` pixels from the first. The canvas is as
    wide as that needs, or `canvas` pixels wide with the items in its middle, so that one network fits every distance.
    `augment` shifts each training image by up to 4 pixels and mirrors half of them.

    >>> Pictures(images="mnist").shape(2)
    (1, 28, 56)
    >>> Pictures(images="mnist", layout="channels", distance=5).shape(2)
    (2, 28, 33)
    """

    images: ImageSet
    layout: Layout = "side"
    distance: int = 0
    canvas: int | None = None
    per_class: int | None = None
    augment: bool = False

    def __post_init__(self) -> None:
        one_of("images", self.images, ImageSet)
        one_of("layout", self.layout, Layout)
        at_least("distance", self.distance, 0)
        if self.per_class is not None:
            at_least("per_class", self.per_class, 1)

    @classmethod
    def of(cls, task: object, **fixed: Any) -> "Pictures":
        """Those of a task that has settings of the same names, but for what is fixed."""
        return cls(**{one.name: getattr(task, one.name) for one in fields(cls) if one.name not in fixed}, **fixed)

    def shape(self, items: int) -> tuple[int, int, int]:
        """(channels, height, width) of a picture of so many items."""
        channels, height, width = SHAPES[self.images]
        needed = width + self._step * (items - 1)
        if self.canvas is not None and self.canvas < needed:
            raise SettingError(
                f"canvas={self.canvas}",
                why=f"{items} images of {width} pixels at distance {self.distance} are {needed} wide",
                instead=f"write canvas={needed} or more, or leave it out",
            )
        return channels * (items if self.layout == "channels" else 1), height, self.canvas or needed

    def render(self, classes: Tensor, hidden: Tensor, *, seed: int, part: Part) -> Tensor:
        """Pictures (n, channels, height, width) of classes (n, K), from 0 to 1; a hidden item is noise."""
        source = pool(self.images, part, self.per_class)
        channels, _, width = SHAPES[self.images]
        shape = self.shape(classes.shape[1])
        # bytes until the last moment: four times less to move
        drawn = torch.zeros(len(classes), *shape, dtype=torch.uint8)
        left = (shape[2] - width - self._step * (classes.shape[1] - 1)) // 2
        for k in range(classes.shape[1]):
            rng = torch.Generator().manual_seed(derived(seed, "item", k))
            item = source.draw(classes[:, k].clamp(min=0), rng=rng)
            if self.augment and part == "train":
                item = augmented(item, rng=rng)
            if hidden[:, k].any():
                noise = torch.randint(256, item.shape, generator=rng, dtype=torch.uint8)
                item = torch.where(hidden[:, k, None, None, None], noise, item)
            first = channels * k if self.layout == "channels" else 0
            start = left + self._step * k
            drawn[:, first : first + channels, :, start : start + width] = item
        return drawn.float().div_(255)

    @property
    def _step(self) -> int:
        return self.distance + (SHAPES[self.images][2] if self.layout == "side" else 0)


def augmented(images: Tensor, *, rng: torch.Generator) -> Tensor:
    """Images (n, C, H, W) moved by up to 4 pixels each way over black, and mirrored with chance one half."""
    n, channels, height, width = images.shape
    padded = pad(images, [_LARGEST_SHIFT] * 4)
    down, right = torch.randint(2 * _LARGEST_SHIFT + 1, (2, n, 1), generator=rng)
    rows, columns = torch.arange(height) + down, torch.arange(width) + right
    mirrored = torch.rand(n, 1, generator=rng) < 0.5
    columns = torch.where(mirrored, columns.flip(1), columns)
    first, second = torch.arange(n)[:, None, None, None], torch.arange(channels)[None, :, None, None]
    return padded[first, second, rows[:, None, :, None], columns[:, None, None, :]]


def glyphs(part: Part) -> tuple[Images, Labels]:
    """Images (n, 1, 28, 28) and their classes, always the same."""
    rng = np.random.default_rng(derived(0, "glyphs", part))
    labels = np.repeat(np.arange(10), EACH[part])
    shapes = np.stack([_digit(bars) for bars in _DIGITS])[labels]
    down, right = rng.integers(-_JITTER, _JITTER + 1, size=(2, len(labels)))
    rows = (np.arange(SIDE)[None] - down[:, None]) % SIDE
    columns = (np.arange(SIDE)[None] - right[:, None]) % SIDE
    moved = shapes[np.arange(len(labels))[:, None, None], rows[:, :, None], columns[:, None, :]]
    lit = moved * rng.uniform(0.7, 1.0, size=(len(labels), 1, 1))
    noisy = np.clip(lit + rng.normal(0.0, 0.08, size=lit.shape), 0.0, 1.0)
    return (noisy[:, None] * 255).round().astype(np.uint8), labels.astype(np.int64)


def _digit(bars: str) -> npt.NDArray[np.float64]:
    drawn = np.zeros((SIDE, SIDE))
    for bar in bars:
        drawn[_BARS[bar]] = 1.0
    # a light blur rounds the corners, as a pen does
    for axis in (0, 1):
        drawn = 0.25 * np.roll(drawn, 1, axis) + 0.5 * drawn + 0.25 * np.roll(drawn, -1, axis)
    return drawn


Rule = Literal["first", "second", "same", "sum", "sum_mod_10"]
Setting = Literal["A", "B", "B-noise"]


@dataclass(frozen=True, kw_only=True)
class DigitPairs(DiscreteTask):
    """Two digits, and a rule that gives the answer.

    Sets of its own: in A the second digit is the first plus one of `offsets`, modulo 10, and the other offsets are
    asked about. In B the second digit is any, so that the pairs asked about have been seen: they are called `test`, not
    `unseen`. B-noise shows the pairs of A, but noise in place of the second image; `noised` asks for them as they are
    shown. The setting says nothing to splitters.

    Rules: `first` and `second` (that digit), `same` (whether they are equal), `sum` (a number) and `sum_mod_10`, the
    two sums over the digits' values: a digit is its own value, unless `mapping`, a seed, exchanges them.

    >>> task = DigitPairs(images="synthetic")
    >>> batch = task.tensors([[3, 4], [0, 9]], seed=0)
    >>> batch.inputs.shape, batch.targets
    (torch.Size([2, 1, 28, 56]), tensor([3, 0]))
    """

    images: ImageSet = "mnist"
    layout: Layout = "side"
    distance: int = 0
    canvas: int | None = None
    per_class: int | None = None
    augment: bool = False
    setting: Setting = "A"
    rule: Rule = "first"
    offsets: tuple[int, ...] = (0, 1)
    mapping: int | None = None

    def __post_init__(self) -> None:
        one_of("setting", self.setting, Setting)
        one_of("rule", self.rule, Rule)
        # raises where the pictures themselves make no sense
        _ = self._pictures.shape(2)
        if not 0 < len({offset % CLASSES for offset in self.offsets}) < CLASSES:
            raise SettingError(
                f"offsets={self.offsets!r}",
                why="some of the ten offsets are shown, and the others are asked about",
                instead="write for example offsets=(0, 1)",
            )

    @property
    def space(self) -> Space:
        """The first digit and the second."""
        return Space.of({"first": range(CLASSES), "second": range(CLASSES)})

    @property
    def shapes(self) -> Shapes:
        """A picture, and a digit, a yes or no, or a number."""
        slots = 2 if self.layout == "channels" else 1
        outputs = {"same": 2, "sum": 1}.get(self.rule, CLASSES)
        kind: Literal["values", "classes"] = "values" if self.rule == "sum" else "classes"
        return Shapes(inputs=self._pictures.shape(2), outputs=(outputs,), kind=kind, slots=slots)

    def truth(self, combinations: Codes) -> npt.NDArray[Any]:
        """What the rule gives for each pair."""
        first, second = combinations[:, 0], combinations[:, 1]
        asked = {"first": first, "second": second}.get(self.rule, combinations)
        if (asked < 0).any():
            raise SettingError(
                f"rule={self.rule!r} with a digit left out",
                why="its answer depends on that digit",
                instead="write rule='first', or give both digits",
            )
        if self.rule == "same":
            return np.asarray(first == second, dtype=np.int64)
        if self.rule in ("first", "second"):
            return np.asarray(asked, dtype=np.int64)
        sums = self._values[first] + self._values[second]
        return sums.astype(np.float64) if self.rule == "sum" else np.asarray(sums % CLASSES, dtype=np.int64)

    def render(self, latents: Tensor, *, seed: int, part: Part) -> Batch:
        """Pictures and answers. A third column that is not 0, or a digit left out, puts noise in the digit's place."""
        codes = latents[:, :2].cpu().long()
        hidden = codes < 0
        if latents.shape[1] > 2:
            hidden[:, 1] |= latents[:, 2].cpu() != 0
        pictures = self._pictures.render(codes, hidden, seed=seed, part=part)
        answers = torch.from_numpy(self.truth(codes.numpy()))
        answers = answers.float().unsqueeze(1) if self.rule == "sum" else answers
        return Batch(pictures.to(latents.device), answers.to(latents.device))

    def own_parts(self, *, seed: int) -> Parts:  # noqa: ARG002 - the pairs are fixed
        """The pairs that the setting shows, and those of the other offsets."""
        codes = self.every()
        shown = self._is_shown(codes)
        band, others = torch.from_numpy(codes[shown]), torch.from_numpy(codes[~shown])
        if self.setting == "B":
            everything = FiniteSource(torch.from_numpy(codes))
            return Parts(everything, {"seen": everything, "test": FiniteSource(others)})
        asked = {"seen": FiniteSource(band), "unseen": FiniteSource(others)}
        if self.setting == "A":
            return Parts(asked["seen"], asked)
        noised = FiniteSource(torch.cat([band, torch.ones_like(band[:, :1])], dim=1))
        return Parts(noised, asked | {"noised": noised})

    def _is_shown(self, codes: Codes) -> npt.NDArray[np.bool_]:
        offsets = [offset % CLASSES for offset in self.offsets]
        return np.isin((codes[:, 1] - codes[:, 0]) % CLASSES, offsets)

    @property
    def _pictures(self) -> Pictures:
        return Pictures.of(self)

    @cached_property
    def _values(self) -> npt.NDArray[np.int64]:
        return permutation(self.mapping)


def permutation(seed: int | None) -> npt.NDArray[np.int64]:
    """The ten classes in their own order, or in one drawn by a seed."""
    if seed is None:
        return np.arange(CLASSES)
    return np.random.default_rng(derived(seed, "mapping")).permutation(CLASSES)
