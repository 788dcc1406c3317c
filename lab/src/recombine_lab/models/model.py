"""What a model is: settings that build a torch module for the shapes of a task; and what it may need of a task.

A module takes `inputs` and gives
- for `values`: floats of the targets' shape,
- for `classes`: one score for each class,
- for `tokens`: called with `(inputs, targets)` the scores of each next token, (n, length, tokens), the true tokens
  before it given; its `answer(inputs, length)` gives the tokens it would say by itself.
A module may have a method `penalty()`, a scalar that is added to the loss.

Where a task gives something else than a model needs, or a setting means nothing, it is refused in words.

A network of one's own: any `nn.Module` class, or a function that makes one, as a model of the lab.
"""

import inspect
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from math import prod
from numbers import Integral
from typing import Any, final

import torch
from torch import Tensor, nn

from recombine.base.checks import WordedSettings
from recombine.base.errors import SettingError
from recombine.base.object_paths import found, is_place
from recombine_lab.base.source_versions import TRUSTED, place_of
from recombine_lab.tasks.task import Shapes

Image = tuple[int, int, int]


class Model(metaclass=WordedSettings):
    """Settings of a network. Concrete ones are frozen dataclasses."""

    @abstractmethod
    def build(self, shapes: Shapes) -> nn.Module:
        """A new module, its weights drawn from torch's generator as it stands."""

    @property
    def kernel_family(self) -> str | None:
        """The kind and depth of wide network that it is most like, as `recombine.predict` writes them; None if none."""
        return None

    @final
    def start(self, shapes: Shapes, *, seed: int) -> nn.Module:
        """A new module whose weights depend on the seed alone."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return self.build(shapes)


def count_parameters(module: nn.Module) -> int:
    """How many numbers are trained."""
    return sum(parameter.numel() for parameter in module.parameters() if parameter.requires_grad)


def refusal(model: object, shapes: Shapes, *, needs: str, instead: str) -> SettingError:
    """The error of a model that cannot serve a task.

    >>> shapes = Shapes(inputs=(8,), outputs=(20,), kind="tokens")
    >>> print(refusal("", shapes, needs="an image", instead="take another"))
    str cannot serve this task: it gives inputs (8,), outputs (20,), kind 'tokens'
      why      str needs an image
      instead  take another
    """
    name = type(model).__name__
    return SettingError(
        f"{name} cannot serve this task: it gives inputs {shapes.inputs}, outputs {shapes.outputs},"
        f" kind {shapes.kind!r}",
        why=f"{name} needs {needs}",
        instead=instead,
    )


def answer_shape(model: object, shapes: Shapes) -> tuple[int, ...]:
    """The shape of an answer: that of the values, or a score for each class. Sentences are refused."""
    if shapes.kind == "tokens":
        raise refusal(
            model,
            shapes,
            needs="values or classes to answer, and numbers as inputs, not tokens",
            instead="use lstm_seq2seq or transformer_seq2seq",
        )
    return shapes.outputs if shapes.kind == "values" else shapes.outputs[:1]


def code_length(model: object, shapes: Shapes) -> int:
    """How many numbers a code has, for a model that takes a code."""
    answer_shape(model, shapes)
    if len(shapes.inputs) != 1:
        raise refusal(
            model,
            shapes,
            needs="a code, one row of numbers, as input",
            instead="use mlp or cnn for images, or the task's one-hot code where it has one",
        )
    return shapes.inputs[0]


def image_taken(model: object, shapes: Shapes) -> Image:
    """Channels, height and width, for a model that takes an image."""
    answer_shape(model, shapes)
    if len(shapes.inputs) != 3:
        raise refusal(
            model,
            shapes,
            needs="an image (channels, height, width) as input",
            instead="use mlp, which takes inputs of any shape",
        )
    channels, height, width = shapes.inputs
    return channels, height, width


def image_given(model: object, shapes: Shapes) -> Image:
    """Channels, height and width, for a model that draws an image."""
    if shapes.kind != "values" or len(shapes.outputs) != 3:
        raise refusal(
            model,
            shapes,
            needs="an image (channels, height, width) to draw",
            instead="use mlp, which gives outputs of any shape",
        )
    channels, height, width = shapes.outputs
    return channels, height, width


def as_tuples(model: object, *names: str) -> None:
    """Make settings that hold a number for each layer tuples, whatever row of numbers they were given as."""
    for name in names:
        value = getattr(model, name)
        row = tuple(value) if isinstance(value, Iterable) and not isinstance(value, str) else None
        if row is None or any(isinstance(entry, bool) or not isinstance(entry, Integral) for entry in row):
            raise SettingError(
                f"{type(model).__name__}({name}={value!r})",
                why=f"{name} is a row of whole numbers",
                instead=f"write {name}=({value},)"
                if isinstance(value, Integral)
                else f"write for example {name}=(2, 4)",
            )
        object.__setattr__(model, name, tuple(map(int, row)))


def check_positive(model: object, **settings: float | tuple[int, ...]) -> None:
    """Refuse sizes below one and widths that are missing."""
    for name, value in settings.items():
        entries = value if isinstance(value, tuple) else (value,)
        if any(entry <= 0 for entry in entries):
            raise SettingError(
                f"{type(model).__name__}({name}={value!r})",
                why="a size is a number above zero",
                instead=f"write a number above zero for {name}",
            )


def check_attention(model: object, *, width: int, heads: int, dropout: float) -> None:
    """Refuse a width that heads cannot share, and a dropout that is not a share."""
    name = type(model).__name__
    if width % heads:
        fitting = max(fewer for fewer in range(1, heads) if width % fewer == 0)
        raise SettingError(
            f"{name}(width={width}, heads={heads})",
            why="each head takes an equal part of the width",
            instead=f"write for example heads={fitting}, or width={heads * (width // heads + 1)}",
        )
    if not 0 <= dropout < 1:
        raise SettingError(
            f"{name}(dropout={dropout})",
            why="it is the share of activations left out of a step",
            instead="write a number from 0 to below 1",
        )


class Shaped(nn.Module):
    """Rows of numbers, given the shape of an answer."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__()
        self.shape = shape

    def forward(self, rows: Tensor) -> Tensor:
        """(n, numbers) as (n, *shape)."""
        return rows.reshape(rows.shape[0], *self.shape)


def head(width: int, shape: tuple[int, ...]) -> nn.Sequential:
    """A linear layer from `width` features to an answer of a shape."""
    return nn.Sequential(nn.Linear(width, prod(shape)), Shaped(shape))


_SHAPES = "shapes"


@dataclass(frozen=True)
class CustomModel(Model):
    """A class or function by its place, or itself, and what it is called with.

    One that has a parameter `shapes` is given what the task takes and gives. Written down it is
    `{"name": "package.module:Class", **settings}`.

    >>> model = CustomModel("torch.nn:Linear", {"in_features": 2, "out_features": 3})
    >>> model.build(Shapes(inputs=(2,), outputs=(3,), kind="values"))
    Linear(in_features=2, out_features=3, bias=True)
    """

    module: str | Callable[..., nn.Module]
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        made = self.module
        if isinstance(made, nn.Module):
            raise SettingError(
                f"a {type(made).__name__} that is made already",
                why="every run begins with weights of its own, drawn by its seed",
                instead=f"give the class and its settings: recombine_lab.models.wrap({type(made).__name__}, …)",
            )
        named = is_place(made) if isinstance(made, str) else callable(made)
        if not named or (isinstance(made, type) and not issubclass(made, nn.Module)):
            raise SettingError(
                f"{made!r} is not a model",
                why="a model of your own is an nn.Module class, or a function that makes an nn.Module",
                instead="write for example recombine_lab.models.wrap(Net, width=8), or 'package.module:Net'",
            )

    @property
    def adapted(self) -> Any:
        """The class or function."""
        return found(self.module) if isinstance(self.module, str) else self.module

    def build(self, shapes: Shapes) -> nn.Module:
        """A new network."""
        made: Any = CustomModel(self.adapted).module  # checked again: a name says nothing of what it stands for
        given = dict(self.settings)
        if _SHAPES in inspect.signature(made).parameters:
            given.setdefault(_SHAPES, shapes)
        try:
            inspect.signature(made).bind(**given)
        except TypeError as error:
            called = f"{getattr(made, '__qualname__', made)}({', '.join(f'{name}=…' for name in given)})"
            raise SettingError(
                called,
                why=str(error),
                instead=f"its signature is {inspect.signature(made)}; `shapes` is filled in where it is asked for",
            ) from error
        module = made(**given)
        if not isinstance(module, nn.Module):
            raise SettingError(
                f"{getattr(made, '__qualname__', made)} gives {type(module).__name__}",
                why="a model of your own makes an nn.Module",
                instead="let the function return one",
            )
        return module


def wrap(module: Callable[..., nn.Module], /, **settings: Any) -> CustomModel:
    """An `nn.Module` class, or a function that makes one, as a model; the settings are what it is called with.

    >>> import recombine_lab
    >>> recipe = {"steps": 5, "samples": 50}
    >>> (run,) = recombine_lab.fit("toy", "own", wrap(nn.Linear, in_features=2, out_features=2), recipe)
    >>> run.configuration.model["name"]
    'torch.nn.modules.linear:Linear'
    """
    TRUSTED.add(place_of(module) or "")
    return CustomModel(module, settings)
