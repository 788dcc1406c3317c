"""Small tasks over a few factors, each with the combinations that its paper shows: what kernels can and cannot do.

A task says which factors there are, what the answer is, and which combinations are shown; what they share is in
`ConjunctionTask`: a code for the factors, the answers' form, and the sets that are shown and asked.

The smallest task with an unseen combination: two numbers, of which only the first matters.
"""

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, final

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn.functional import one_hot

from recombine.base.checks import check_choice, check_whole
from recombine.base.errors import SettingError
from recombine.base.seeds import derived
from recombine.data.space import Space
from recombine_lab.tasks.digit_images import CLASSES, ImageSet, Pictures, permutation
from recombine_lab.tasks.exposure import FiniteSource, Parts, source_of
from recombine_lab.tasks.task import Batch, Codes, ContinuousTask, DiscreteTask, Part, Range, Shapes, at_least, one_of

Code = Literal["onehot", "images"]
Form = Literal["classes", "values"]


@dataclass(frozen=True, kw_only=True)
class ConjunctionTask(DiscreteTask):
    """Settings of the code, the same for all of these tasks.

    `onehot`: a one-hot vector for each factor, one after the other; a factor left out is all zero. `images`: each
    value is a class of a data set of images, each factor has channels of its own, and its image is drawn anew every
    time. The factors' images stand `distance` pixels apart, on a canvas of a fixed width where `canvas` is given;
    `per_class` limits the training images of each class; `augment` shifts and mirrors them; `mapping`, a seed, says
    which class stands for which value.
    """

    code: Code = "onehot"
    images: ImageSet = "mnist"
    distance: int = 0
    canvas: int | None = None
    per_class: int | None = None
    augment: bool = False
    mapping: int | None = None

    @final
    def __post_init__(self) -> None:
        one_of("code", self.code, Code)
        one_of("target", self.form, Form)
        self.check_settings()
        most = max(self.space.sizes)
        if self.code == "images":
            _ = self._pictures.shape(len(self.space.factors))
            if most > CLASSES:
                raise SettingError(
                    f"code='images' with {most} values",
                    why=f"there are images of {CLASSES} classes only",
                    instead="write code='onehot', or ask for fewer values",
                )

    @abstractmethod
    def check_settings(self) -> None:
        """Refuse settings that mean nothing."""

    @property
    @abstractmethod
    def form(self) -> Form:
        """Whether an answer is a class or a number."""

    @abstractmethod
    def answers(self, combinations: Codes) -> npt.NDArray[np.float64]:
        """The answer to each combination, as a number; -1 and +1 where there are two classes."""

    @abstractmethod
    def is_shown(self, combinations: Codes) -> npt.NDArray[np.bool_]:
        """Which combinations the paper trains on."""

    @property
    @final
    def shapes(self) -> Shapes:
        """A vector or a picture, and one number or two classes."""
        sizes = self.space.sizes
        inputs = self._pictures.shape(len(sizes)) if self.code == "images" else (sum(sizes),)
        equal = self.code == "images" or len(set(sizes)) == 1
        outputs = (1,) if self.form == "values" else (2,)
        return Shapes(inputs=inputs, outputs=outputs, kind=self.form, slots=len(sizes) if equal else 1)

    @final
    def truth(self, combinations: Codes) -> npt.NDArray[Any]:
        """The answers: numbers, or the classes 0 (for -1) and 1 (for +1)."""
        if (combinations < 0).any():
            raise SettingError(
                "a combination with a factor left out",
                why="the answer depends on every factor",
                instead="give a value for each factor",
            )
        answers = self.answers(combinations)
        return answers if self.form == "values" else np.asarray(answers > 0, dtype=np.int64)

    @final
    def render(self, latents: Tensor, *, seed: int, part: Part) -> Batch:
        """Codes or pictures, and answers."""
        codes = latents[:, : len(self.space.factors)].cpu().long()
        if self.code == "images":
            classes = torch.from_numpy(permutation(self.mapping))[codes]
            inputs = self._pictures.render(classes, codes < 0, seed=seed, part=part)
        else:
            inputs = multi_hot(codes, self.space.sizes)
        answers = torch.from_numpy(self.truth(codes.numpy()))
        answers = answers.float().unsqueeze(1) if self.form == "values" else answers
        return Batch(inputs.to(latents.device), answers.to(latents.device))

    @final
    def own_parts(self, *, seed: int) -> Parts:  # noqa: ARG002 - the combinations are fixed
        """What the paper shows, and the rest of the space as `unseen`."""
        codes = self.every()
        shown = self.is_shown(codes)
        seen, unseen = (FiniteSource(torch.from_numpy(codes[side])) for side in (shown, ~shown))
        return Parts(seen, {"seen": seen, "unseen": unseen})

    @property
    def _pictures(self) -> Pictures:
        return Pictures.of(self, layout="channels")


@dataclass(frozen=True, kw_only=True)
class SignTask(ConjunctionTask):
    """A task whose answer is -1 or +1: as `target`, the classes 0 and 1, or these values."""

    target: Form = "classes"

    @property
    @final
    def form(self) -> Form:
        """As set."""
        return self.target


def multi_hot(codes: Tensor, sizes: tuple[int, ...]) -> Tensor:
    """A one-hot vector for each factor, one after the other.

    >>> multi_hot(torch.tensor([[1, 0]]), (2, 3))
    tensor([[0., 1., 1., 0., 0.]])
    """
    hots = [one_hot(codes[:, k] + 1, size + 1)[:, 1:] for k, size in enumerate(sizes)]
    return torch.cat(hots, dim=1).float()


def two_items(values: list[Any]) -> Space:
    """A space of two factors that take the same values."""
    return Space.of({"first": values, "second": values})


@dataclass(frozen=True, kw_only=True)
class Addition(ConjunctionTask):
    """Two numbers around 0, `values` of them for each factor, and their sum as target.

    Shown are the pairs that hold one of the `anchors`, (0,) unless given; or, if `dispersed`, two pairs a row in a
    circulant band whose rows are exchanged by the seed `shuffle`, so that the seen pairs form one long cycle.

    >>> task = Addition()
    >>> len(task.own_parts(seed=0).train.every()), len(task.every())
    (17, 81)
    >>> task.tensors([[0, 8], [8, 8]], seed=0).targets
    tensor([[0.],
            [8.]])
    """

    values: int = 9
    anchors: tuple[float, ...] | None = None
    dispersed: bool = False
    shuffle: int = 0

    def check_settings(self) -> None:
        """Anchors that exist, or a band."""
        at_least("values", self.values, 3)
        if self.dispersed and self.anchors is not None:
            raise SettingError(
                f"dispersed=True with anchors={self.anchors!r}",
                why="each of them says alone which pairs are shown",
                instead="leave one of them out",
            )
        wrong = [anchor for anchor in self.anchors or () if anchor not in self._numbers]
        if wrong or self.anchors == ():
            raise SettingError(
                f"anchors={self.anchors!r}",
                why=f"{wrong[0]!r} is not one of the numbers" if wrong else "then no pair is shown",
                instead=f"choose among {self._numbers[0]} to {self._numbers[-1]}, for example anchors=(0,)",
            )
        if self.anchors is None and not self.dispersed and 0 not in self._numbers:
            raise SettingError(
                f"values={self.values} without anchors",
                why="an even number of values leaves no 0 in the middle",
                instead=f"write for example anchors=({self._numbers[0]},)",
            )

    @property
    def form(self) -> Form:
        """A sum is a number."""
        return "values"

    @cached_property
    def space(self) -> Space:
        """The two numbers."""
        return two_items(self._numbers)

    def answers(self, combinations: Codes) -> npt.NDArray[np.float64]:
        """The sums."""
        numbers = np.array(self._numbers, dtype=np.float64)
        return np.asarray(numbers[combinations].sum(axis=1))

    def is_shown(self, combinations: Codes) -> npt.NDArray[np.bool_]:
        """An anchor on either side, or a place in the band."""
        if not self.dispersed:
            places = [self._numbers.index(anchor) for anchor in (self.anchors or (0,))]
            return np.asarray(np.isin(combinations, places).any(axis=1))
        rows = np.random.default_rng(derived(self.shuffle, "rows")).permutation(self.values)
        return np.isin((combinations[:, 1] - rows[combinations[:, 0]]) % self.values, [0, 1])

    @cached_property
    def _numbers(self) -> list[Any]:
        middle = (self.values - 1) / 2
        return [int(number) if number.is_integer() else number for number in (k - middle for k in range(self.values))]


@dataclass(frozen=True, kw_only=True)
class ContextDependence(SignTask):
    """CD-k: the first half of the contexts ask for the first feature, the others for the second.

    The lower half of a feature's `values` means -1, the upper half +1. Left out, in every context: the first feature
    among its first k values, and the second among its first k values that mean +1.

    >>> [int(ContextDependence(k=k).is_shown(ContextDependence(k=k).every()).sum()) for k in (1, 2, 3)]
    [70, 64, 54]
    """

    k: int = 3
    contexts: int = 2
    values: int = 6

    def check_settings(self) -> None:
        """Halves, and a block that fits one of them."""
        for setting, given in (("contexts", self.contexts), ("values", self.values)):
            if given < 2 or given % 2:
                raise SettingError(
                    f"{setting}={given!r}",
                    why="there are two halves of equal size",
                    instead=f"write an even number: {setting}=2, 4 or 6",
                )
        half = self.values // 2
        why = f"k x k values are left out, and half of a feature's values are {half}"
        check_whole("k", self.k, least=1, most=half, why=why, instead=f"write k from 1 to {half}")

    @cached_property
    def space(self) -> Space:
        """The context and two features."""
        feature = range(self.values)
        return Space.of({"context": range(self.contexts), "feature_1": feature, "feature_2": feature})

    def answers(self, combinations: Codes) -> npt.NDArray[np.float64]:
        """The sign of the feature that the context asks for."""
        context, first, second = combinations.T
        decides = np.where(context < self.contexts // 2, first, second)
        return np.where(decides < self.values // 2, -1.0, 1.0)

    def is_shown(self, combinations: Codes) -> npt.NDArray[np.bool_]:
        """All but the block."""
        _, first, second = combinations.T
        half = self.values // 2
        return np.asarray((first >= self.k) | (second < half) | (second >= half + self.k))


@dataclass(frozen=True, kw_only=True)
class Corners(SignTask):
    """Two items, each -1 or +1; the answer is the first."""

    @final
    def check_settings(self) -> None:
        """There is nothing to set."""

    @property
    @final
    def space(self) -> Space:
        """Four corners."""
        return two_items([-1, 1])

    @final
    def answers(self, combinations: Codes) -> npt.NDArray[np.float64]:
        """The first item."""
        return np.asarray(2.0 * combinations[:, 0] - 1.0)


@dataclass(frozen=True, kw_only=True)
class Invariance(Corners):
    """The second item was always -1, and is then +1.

    That is a value never seen, in recombine's words *novel*; it is asked about under the name `unseen` all the same.

    >>> Invariance(target="values").table().to_pydict()
    {'first': [-1, -1, 1, 1], 'second': [-1, 1, -1, 1], 'target': [-1.0, -1.0, 1.0, 1.0]}
    """

    def is_shown(self, combinations: Codes) -> npt.NDArray[np.bool_]:
        """The second item is -1."""
        return np.asarray(combinations[:, 1] == 0)


@dataclass(frozen=True, kw_only=True)
class PartialExposure(Corners):
    """Three corners are shown, and (+1, +1) is asked about.

    >>> PartialExposure().own_parts(seed=0).tests["unseen"].every()
    tensor([[1, 1]])
    """

    def is_shown(self, combinations: Codes) -> npt.NDArray[np.bool_]:
        """Not both are +1."""
        return np.asarray((combinations == 0).any(axis=1))


@dataclass(frozen=True, kw_only=True)
class TransitiveEquivalence(SignTask):
    """Whether two items are of the same class. `classes` holds how many items each class has.

    Shown is every pair that holds one of the first `trained` items of a class. No kernel of this kind can do it: the
    pairs that are left need an interaction that was never seen.

    >>> task = TransitiveEquivalence(classes=(5, 5), trained=4)
    >>> int(task.is_shown(task.every()).sum())
    96
    """

    classes: tuple[int, ...] = (2, 2)
    trained: int = 1

    def check_settings(self) -> None:
        """At least two classes, each with an item that is trained and one that is not."""
        if len(self.classes) < 2 or not 1 <= self.trained < min(self.classes):
            raise SettingError(
                f"classes={self.classes!r} with trained={self.trained!r}",
                why="there are two classes or more, each with items that are trained and items that are not",
                instead="write for example classes=(5, 5), trained=1",
            )

    @cached_property
    def space(self) -> Space:
        """Two items; an item's name says its class: a0, a1, b0, b1."""
        names = "abcdefghijklmnopqrstuvwxyz"
        if len(self.classes) > len(names):
            raise SettingError(
                f"{len(self.classes)} classes", why=f"there are names for {len(names)}", instead="ask for fewer"
            )
        return two_items(
            [f"{name}{item}" for name, size in zip(names, self.classes, strict=False) for item in range(size)]
        )

    def answers(self, combinations: Codes) -> npt.NDArray[np.float64]:
        """+1 for the same class, else -1."""
        classes = np.repeat(np.arange(len(self.classes)), self.classes)[combinations]
        return np.where(classes[:, 0] == classes[:, 1], 1.0, -1.0)

    def is_shown(self, combinations: Codes) -> npt.NDArray[np.bool_]:
        """A trained item on either side."""
        trained = np.concatenate([np.arange(size) < self.trained for size in self.classes])
        return np.asarray(trained[combinations].any(axis=1))


@dataclass(frozen=True, kw_only=True)
class TransitiveOrdering(SignTask):
    """Which of two items comes later: +1 if it is the second. Shown are the neighbours; no item meets itself.

    >>> task = TransitiveOrdering()
    >>> shown = task.is_shown(task.every())
    >>> int(shown.sum()), int((~shown).sum())
    (12, 30)
    """

    items: int = 7

    def check_settings(self) -> None:
        """Enough items for pairs that are no neighbours."""
        at_least("items", self.items, 3)

    @cached_property
    def space(self) -> Space:
        """Two different items."""
        items = list(range(self.items))
        return two_items(items).forbidding({"first": item, "second": item} for item in items)

    def answers(self, combinations: Codes) -> npt.NDArray[np.float64]:
        """The sign of second minus first."""
        return np.asarray(np.sign(combinations[:, 1] - combinations[:, 0]), dtype=np.float64)

    def is_shown(self, combinations: Codes) -> npt.NDArray[np.bool_]:
        """Neighbours."""
        return np.asarray(np.abs(combinations[:, 1] - combinations[:, 0]) == 1)


_MIDDLE = 1 - 2.0**-24  # the number below 1, so that a number is above 0 exactly where its factor is 1
_TRAINING = {
    "A": [(0, 0), (0, 1), (1, 0)],
    # The same share of each y1 as in A, but both y2 alike: x2 is then uniform on [-1, 1], whatever y1 is.
    "B": [(0, 0), (0, 0), (0, 1), (0, 1), (1, 0), (1, 1)],
}


@dataclass(frozen=True, kw_only=True)
class Toy(ContinuousTask):
    """Inputs x1 and x2 in [-1, 1]; the class is y1 = [x1 > 0]. A factor is 1 where its number is above 0.

    With the task's own sets, training has (0, 0), (0, 1) and (1, 0) evenly, and `unseen` asks for (1, 1). So x2 tells
    something of y1. In setting B it does not: in training x2 is uniform on [-1, 1], whatever y1 is. (1, 1) is then no
    longer unseen, which cannot be helped; it keeps its name so that A and B can be held against each other.

    >>> batch = Toy().tensors([[0, 1], [1, 0]], seed=0)
    >>> (batch.inputs > 0).tolist(), batch.targets.tolist()
    ([[False, True], [True, False]], [0, 1])
    """

    setting: Literal["A", "B"] = "A"

    def __post_init__(self) -> None:
        check_choice(
            "setting",
            self.setting,
            _TRAINING,
            why="the second number either tells something of the class, or does not",
            instead="write setting='A' if it shall, setting='B' if not",
        )

    @property
    def ranges(self) -> tuple[Range, ...]:
        """x1 and x2, of which an audit sees the sign."""
        return (Range("y1", -1.0, 1.0, levels=(0, 1)), Range("y2", -1.0, 1.0, levels=(0, 1)))

    @property
    def shapes(self) -> Shapes:
        """Two numbers go in, two classes come out."""
        return Shapes(inputs=(2,), outputs=(2,), kind="classes")

    def render(self, latents: Tensor, *, seed: int, part: Part) -> Batch:  # noqa: ARG002 - nothing is left to chance
        """The numbers, and the class of the first."""
        return Batch(2 * latents - _MIDDLE, (latents[:, 0] >= 0.5).long())

    def truth(self, combinations: Codes) -> Codes:
        """y1."""
        return combinations[:, 0]

    def own_parts(self, *, seed: int) -> Parts:  # noqa: ARG002 - sources draw with seeds of their own
        """The training combinations of the setting, and (1, 1)."""
        train = source_of(self, np.array(_TRAINING[self.setting], dtype=np.int64))
        return Parts(train, {"seen": train, "unseen": source_of(self, np.array([[1, 1]], dtype=np.int64))})
