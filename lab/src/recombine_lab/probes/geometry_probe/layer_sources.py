"""What each layer gives for each combination: of a module by hooks, of arrays, of list columns of a Parquet file."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from recombine.base.errors import SettingError, TableError, nearest
from recombine.base.seeds import derived
from recombine_lab.models.layers import (
    Forward,
    activations,
    asked,
    evaluating,
    layer_of,
    length,
    rows_of,
    tensor_of,
    watching,
)
from recombine_lab.probes.asked_module import refusing
from recombine_lab.probes.geometry_probe.design import GridDesign, Values
from recombine_lab.probes.new_weights import redraw_weights

ANSWER = "answer"
"""What the whole module gives is called so; arrays can have a layer of that name too."""
MOST_LAYERS = 12
MOST_FEATURES = 32_768
"""Of a layer with more numbers than that a part drawn at random is kept: distances stay, and memory is bounded."""
_ROOM = 2**27
"""Numbers that are kept at a time."""
_FEWEST = 64
_ROWS = 256
_PLAIN = (nn.Identity, nn.Dropout, nn.Flatten, nn.Unflatten)


@dataclass(frozen=True, eq=False)
class LayerOutput:
    """What a layer gives: (c, d) for the combinations, (p, d) for the rows with one factor alone.

    `shape` is the layer's own, None where a part of its numbers was drawn; `width` how many it has.
    """

    name: str
    features: Values
    alone: Values
    shape: tuple[int, ...] | None
    width: int


class LayerSource(ABC):
    """Something that has layers."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The layers that are asked about, the answer last."""

    @abstractmethod
    def layers(self, names: Sequence[str]) -> Iterator[LayerOutput]:
        """What some of them give, one after the other."""

    def redrawn(self, seed: int) -> "LayerSource | None":  # noqa: ARG002
        """The same with weights drawn anew; None where there are no weights."""
        return None


@dataclass(frozen=True, eq=False)
class Arrays(LayerSource):
    """Features that were computed already, by layer: (n, …) each."""

    arrays: Mapping[str, npt.NDArray[Any]]
    design: GridDesign
    seed: int = 0

    def __post_init__(self) -> None:
        for name, array in self.arrays.items():
            if array.ndim < 1 or len(array) != self.design.rows or array.dtype.kind not in "fiub" or not array.size:
                raise SettingError(
                    f"features {name!r} of shape {array.shape} and type {array.dtype}",
                    why=f"the table has {self.design.rows:,} rows, and each has numbers",
                    instead="give an array with a row of numbers for each row of the table",
                )

    @property
    @final
    def names(self) -> tuple[str, ...]:
        """As they were given."""
        return tuple(self.arrays)

    @final
    def layers(self, names: Sequence[str]) -> Iterator[LayerOutput]:
        """Each averaged over the rows of a combination."""
        for name in names:
            gathered = _LayerSums(name, self.design, self.arrays[name].shape[1:], self.seed)
            gathered.take(0, self.arrays[name])
            yield gathered.layer()


@dataclass(frozen=True, eq=False)
class Module(LayerSource):
    """A torch module and its inputs, asked layer by layer with hooks; it is left as it was found."""

    module: nn.Module
    inputs: Any
    design: GridDesign
    chosen: tuple[str, ...]
    forward: Forward | None = None
    seed: int = 0

    @property
    @final
    def names(self) -> tuple[str, ...]:
        """The chosen ones."""
        return self.chosen

    @final
    def layers(self, names: Sequence[str]) -> Iterator[LayerOutput]:
        """As many layers at a time as there is room for."""
        shapes = shapes_of(self.module, self.inputs, self.forward)
        for together in _groups({name: shapes[name] for name in names}, self.design):
            gathered = {name: _LayerSums(name, self.design, shapes[name], self.seed) for name in together}
            for start in range(0, self.design.rows, _ROWS):
                batch = rows_of(self.inputs, slice(start, start + _ROWS))
                wanted = ["" if name == ANSWER else name for name in together]
                found = activations(self.module, batch, wanted, forward=self.forward, batch_size=_ROWS)
                for name in together:
                    gathered[name].take(start, found["" if name == ANSWER else name])
            for name in together:
                yield gathered.pop(name).layer()

    @final
    def redrawn(self, seed: int) -> "Module":
        """The same architecture before training."""
        return replace(self, module=redraw_weights(self.module, seed=seed))


class _LayerSums:
    """Rows of a layer, added up by combination as they come."""

    def __init__(self, name: str, design: GridDesign, shape: tuple[int, ...], seed: int) -> None:
        self.name, self.design, self.width = name, design, int(np.prod(shape, dtype=np.int64))
        self.shape: tuple[int, ...] | None = tuple(shape) or (1,)
        self.kept = kept_numbers(self.width, len(design.cells), seed)
        numbers = self.width
        if not isinstance(self.kept, slice):
            self.shape, numbers = None, len(self.kept)
        self.sums = np.zeros((len(design.cells), numbers), dtype=np.float32)
        self.alone = np.zeros((len(design.alone), numbers), dtype=np.float32)

    def take(self, start: int, found: npt.NDArray[Any]) -> None:
        rows = found.reshape(len(found), -1)[:, self.kept]
        if not np.isfinite(rows).all():
            bad = int((~np.isfinite(rows)).any(axis=1).sum())
            raise TableError(
                f"the layer {self.name!r} gives NaN or infinity for {bad:,} rows",
                why="nothing can be measured of them",
                instead="look for the row that overflows, or name layers before this one",
            )
        own = self.design.cell_of[start : start + len(rows)]
        whole = own >= 0
        if len(np.unique(own[whole])) == whole.sum():
            self.sums[own[whole]] += rows[whole]
        else:
            np.add.at(self.sums, own[whole], rows[whole])
        inside = (self.design.alone[:, 0] >= start) & (self.design.alone[:, 0] < start + len(rows))
        self.alone[inside] = rows[self.design.alone[inside, 0] - start]

    def layer(self) -> LayerOutput:
        counts = self.design.counts[:, None].astype(np.float32)
        features = self.sums if (counts == 1).all() else self.sums / counts
        return LayerOutput(self.name, features, self.alone, self.shape, self.width)


def kept_numbers(width: int, cells: int, seed: int) -> npt.NDArray[np.int64] | slice:
    """Which numbers of a layer or of the truth are kept: all, or as many as there is room for, drawn by their width."""
    most = max(_FEWEST, min(MOST_FEATURES, _ROOM // max(1, cells)))
    if width <= most:
        return slice(None)
    rng = np.random.default_rng(derived(seed, "features", width))
    return np.sort(rng.choice(width, most, replace=False))


def _groups(shapes: Mapping[str, tuple[int, ...]], design: GridDesign) -> Iterator[list[str]]:
    group: list[str] = []
    room = 0
    for name, shape in shapes.items():
        size = max(int(np.prod(shape, dtype=np.int64)) * _ROWS, min(int(np.prod(shape)), MOST_FEATURES) * design.rows)
        if group and room + size > _ROOM:
            yield group
            group, room = [], 0
        group.append(name)
        room += size
    yield group


def shapes_of(module: nn.Module, inputs: Any, forward: Forward | None = None) -> dict[str, tuple[int, ...]]:
    """The shape, without the rows, of what each part gives that is asked and gives something for each row."""
    rows = min(3, length(inputs))
    with evaluating(module), torch.no_grad(), _watching_any(module) as kept:
        answer = _answered(module, rows_of(inputs, slice(0, rows)), forward)
        shapes = {name: tuple(tensor.shape[1:]) for name, tensor in kept.items() if _by_row(tensor, rows)}
    if isinstance(answer, torch.Tensor) and _by_row(answer, rows):
        shapes[ANSWER] = tuple(answer.shape[1:])
    return shapes


@contextmanager
def _watching_any(module: nn.Module) -> Iterator[dict[str, torch.Tensor]]:
    """What all parts give, as far as that is a tensor; a part that gives something else is nobody's mistake here."""
    kept: dict[str, torch.Tensor] = {}

    def keep(name: str) -> Callable[[Any, Any, Any], None]:
        def hook(_module: Any, _inputs: Any, output: Any) -> None:
            with suppress(SettingError):
                kept[name] = tensor_of(output, name)

        return hook

    hooks = [part.register_forward_hook(keep(name)) for name, part in module.named_modules() if name]
    try:
        yield kept
    finally:
        for hook in hooks:
            hook.remove()


def _by_row(tensor: torch.Tensor, rows: int) -> bool:
    return tensor.ndim >= 1 and len(tensor) == rows and tensor.numel() > 0


def _answered(module: nn.Module, batch: Any, forward: Forward | None) -> Any:
    what = f"{type(module).__name__} cannot be asked about the inputs"
    with refusing(what, instead="give inputs as the module takes them, or forward=lambda module, batch: …"):
        answer = asked(module, batch, forward)
    first = answer[0] if isinstance(answer, tuple | list) and len(answer) else answer
    for field in ("last_hidden_state", "logits"):
        first = getattr(first, field, first)
    return first


def chosen_layers(
    module: nn.Module, inputs: Any, layers: Sequence[str] | str | None, forward: Forward | None = None
) -> tuple[str, ...]:
    """The layers to ask about: those named, else parts without parts of their own that hold weights or bend, evenly
    chosen where they are many; and the answer."""
    shapes = shapes_of(module, inputs, forward)
    if layers is not None:
        named = tuple(name or ANSWER for name in ([layers] if isinstance(layers, str) else layers))
        for name in named:
            _check_layer(module, name, shapes)
        return named
    leaves = [name for name, part in module.named_modules() if name in shapes and _telling(part)]
    answering = _answering(module, inputs, leaves, forward)
    leaves = [name for name in leaves if name not in answering]
    if len(leaves) > MOST_LAYERS:
        leaves = [leaves[k] for k in np.linspace(0, len(leaves) - 1, MOST_LAYERS).round().astype(int)]
    if not leaves and ANSWER not in shapes:
        raise SettingError(
            f"no layer of {type(module).__name__} gives a tensor with a row for each input",
            why="what is measured is a vector for each combination",
            instead="give forward=lambda module, batch: … that returns one",
        )
    return (*leaves, *([ANSWER] if ANSWER in shapes else []))


def _answering(module: nn.Module, inputs: Any, leaves: Sequence[str], forward: Forward | None) -> list[str]:
    """The layers whose output is the answer itself, which need not be looked at twice."""
    with evaluating(module), torch.no_grad(), watching(module, leaves) as kept:
        answer = _answered(module, rows_of(inputs, slice(0, 1)), forward)
        # the same numbers in memory: a last layer that only gives them another shape is the answer too
        return [name for name, tensor in kept.items() if _same(tensor, answer)]


def _same(tensor: torch.Tensor, answer: Any) -> bool:
    return isinstance(answer, torch.Tensor) and (tensor.data_ptr(), tensor.numel()) == (
        answer.data_ptr(),
        answer.numel(),
    )


def _check_layer(module: nn.Module, name: str, shapes: Mapping[str, Any]) -> None:
    if name in shapes:
        return
    if name != ANSWER:
        layer_of(module, name)
    raise SettingError(
        f"the layer {name!r} gives no row for each input",
        why="it is not asked in a forward pass, or gives something else, such as positions",
        instead=nearest(name, list(shapes)),
    )


def _telling(part: nn.Module) -> bool:
    """Whether a part has no parts of its own and does something to what it is given."""
    if any(True for _ in part.children()) or isinstance(part, _PLAIN):
        return False
    bends = type(part).__module__.startswith(("torch.nn.modules.activation", "torch.nn.modules.normalization"))
    return bends or any(True for _ in part.parameters(recurse=False))
