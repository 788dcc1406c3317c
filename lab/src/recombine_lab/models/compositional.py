"""One network for each slot and a known composition function, against one network for all slots.

After Wiedemer et al., *Compositional Generalization from First Principles* (NeurIPS 2023).
Letters: n examples, K slots.
"""

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import Literal

import torch
from torch import Tensor, nn

from recombine.base.errors import SettingError
from recombine_lab.models.decoders import CNNDecoder, SlotDecoder, SpatialBroadcast
from recombine_lab.models.mlp import MLP
from recombine_lab.models.model import Model, Shaped, answer_shape, check_positive, count_parameters, refusal
from recombine_lab.tasks.compositions import compose, composed_channels, composition
from recombine_lab.tasks.task import Shapes

DecoderName = Literal["slot", "broadcast", "cnn", "mlp"]

_DECODERS: dict[DecoderName, Callable[[int, int], Model]] = {
    "slot": lambda hidden, channels: SlotDecoder(hidden=hidden, channels=channels),
    "broadcast": lambda hidden, _: SpatialBroadcast(width=hidden),
    "cnn": lambda _, channels: CNNDecoder(channels=channels),
    "mlp": lambda hidden, _: MLP(hidden=(hidden,) * 3, activation="elu", initialisation="torch"),
}
_TOLERANCE = 0.01  # how far the sizes of two networks that are compared may differ
_WIDTHS = range(4, 2**14)


@dataclass(frozen=True, kw_only=True)
class Compositional(Model):
    """A decoder for each slot, or one `shared` by all; their images are put together by a composition function.

    The composition is that of the task, if the model shall be able to be exact. `hidden` and `channels` are the widths
    of the decoder's linear and convolutional layers, where it has such. With `alpha` a network can start dead: where
    every opacity starts below 0, which is clamped, no gradient flows, and that seed never learns. About two in five do.

    >>> shapes = Shapes(inputs=(10,), outputs=(3, 64, 64), kind="values", slots=2)
    >>> count_parameters(Compositional().build(shapes))
    554950
    """

    decoder: DecoderName = "slot"
    composition: str = "soft_occlusion"
    shared: bool = False
    hidden: int = 256
    channels: int = 32

    def __post_init__(self) -> None:
        check_positive(self, hidden=self.hidden, channels=self.channels)
        composition(self.composition)

    def build(self, shapes: Shapes) -> nn.Module:
        """A new network for a task whose inputs fall into slots."""
        answer = answer_shape(self, shapes)
        if shapes.slots < 2 or shapes.inputs[0] % shapes.slots:
            raise refusal(
                self,
                shapes,
                needs=f"inputs that fall into two equal parts or more, one for each slot, but the task has"
                f" slots={shapes.slots}",
                instead="use monolithic or mlp, which take the inputs as one",
            )
        part = Shapes(
            inputs=(prod(shapes.inputs) // shapes.slots,), outputs=self._component(shapes, answer), kind="values"
        )
        settings = _DECODERS[self.decoder](self.hidden, self.channels)
        decoders = [settings.build(part) for _ in range(1 if self.shared else shapes.slots)]
        return _ComposedModule(decoders, self.composition, shapes.slots, answer)

    def _component(self, shapes: Shapes, answer: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of what a decoder gives, so that the whole has the shape of an answer."""
        fixed = composition(self.composition).channels
        for channels in (fixed,) if fixed else (answer[0], answer[0] // shapes.slots):
            if composed_channels(self.composition, slots=shapes.slots, channels=channels) == answer[0]:
                return (channels, *answer[1:])
        whole = composed_channels(self.composition, slots=shapes.slots, channels=fixed or 1)
        raise refusal(
            self,
            shapes,
            needs=f"{whole} channels to draw, or a multiple of them, since its composition is {self.composition!r}",
            instead="give the model the task's own composition, or composition='add', which draws any number",
        )


class _ComposedModule(nn.Module):
    def __init__(self, decoders: list[nn.Module], composition: str, slots: int, answer: tuple[int, ...]) -> None:
        super().__init__()
        self.decoders = nn.ModuleList(decoders)
        self.composition = composition
        self.slots = slots
        self.answer = Shaped(answer)

    def forward(self, inputs: Tensor) -> Tensor:
        """Inputs, slot after slot along their first axis, as one image."""
        whole: Tensor = self.answer(compose(self.composition, self.components(inputs)))
        return whole

    def components(self, inputs: Tensor) -> Tensor:
        """The images of the slots, (n, K, channels, height, width); height and width are 1 where there is no image."""
        n = inputs.shape[0]
        codes = inputs.reshape(n, self.slots, -1)
        if len(self.decoders) == 1:
            images: Tensor = self.decoders[0](codes.flatten(0, 1)).unflatten(0, (n, self.slots))
        else:
            images = torch.stack([decoder(codes[:, k]) for k, decoder in enumerate(self.decoders)], 1)
        return images if images.ndim == 5 else images.reshape(*images.shape[:3], -1, 1)


@dataclass(frozen=True, kw_only=True)
class Monolithic(Model):
    """One decoder for all slots together, which has to find the composition by itself.

    `hidden` is 320 unless given; `match` chooses it instead, so that the network has as many parameters as
    `Compositional()` has for the same task, to 1 %. For other settings of that see `matching`.

    >>> shapes = Shapes(inputs=(10,), outputs=(3, 64, 64), kind="values", slots=2)
    >>> [count_parameters(Monolithic(match=match).build(shapes)) for match in (False, True)]
    [587779, 555733]
    """

    decoder: DecoderName = "slot"
    hidden: int | None = None
    channels: int = 64
    match: bool = False

    def __post_init__(self) -> None:
        check_positive(self, hidden=1 if self.hidden is None else self.hidden, channels=self.channels)
        if self.match and self.hidden is not None:
            raise SettingError(
                f"Monolithic(match=True, hidden={self.hidden})",
                why="matching chooses the hidden width",
                instead="leave out one of the two",
            )

    def build(self, shapes: Shapes) -> nn.Module:
        """A new network that takes all inputs as one code."""
        if self.match:
            return self.matching(Compositional(decoder=self.decoder), shapes).build(shapes)
        answer = answer_shape(self, shapes)
        whole = Shapes(inputs=(prod(shapes.inputs),), outputs=answer, kind="values")
        return nn.Sequential(nn.Flatten(), _DECODERS[self.decoder](self.hidden or 320, self.channels).build(whole))

    def matching(self, compositional: Compositional, shapes: Shapes) -> "Monolithic":
        """The same settings with the hidden width that brings the count of parameters nearest to another's.

        >>> shapes = Shapes(inputs=(10,), outputs=(3, 32, 32), kind="values", slots=2)
        >>> Monolithic().matching(Compositional(shared=True), shapes).hidden
        173
        """
        if shapes.slots < 2:
            raise refusal(
                self,
                shapes,
                needs="a task with slots to be matched to a compositional network, which has a part for each",
                instead="write a hidden width instead of match",
            )
        goal, count = parameters(compositional, shapes), partial(self._count, shapes)
        place = bisect_left(_WIDTHS, goal, key=count)
        width = min(_WIDTHS[max(place - 1, 0) : place + 1], key=lambda width: abs(count(width) - goal))
        away = abs(count(width) / goal - 1)
        if away > _TOLERANCE:
            raise SettingError(
                f"{self!r} cannot be matched to the {goal:,} parameters of {compositional!r}",
                why=f"whatever its hidden width, it stays {away:.0%} away",
                instead=f"write other channels than {self.channels}, or a hidden width without match",
            )
        return replace(self, hidden=width, match=False)

    def _count(self, shapes: Shapes, hidden: int) -> int:
        return parameters(replace(self, hidden=hidden, match=False), shapes)


def parameters(model: Model, shapes: Shapes) -> int:
    """How many parameters a model has for a task, counted without any memory for them.

    >>> parameters(Compositional(), Shapes(inputs=(10,), outputs=(3, 16, 16), kind="values", slots=2))
    538438
    """
    with torch.device("meta"):
        return count_parameters(model.build(shapes))
