"""A network of one's own: any `nn.Module` class, or a function that makes one, as a model of the lab."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, final

from torch import nn

from recombine.errors import SettingError
from recombine.importing import found, is_place
from recombine_lab.base.source_versions import TRUSTED, place_of
from recombine_lab.models.model import Model
from recombine_lab.tasks.task import Shapes

_SHAPES = "shapes"


@dataclass(frozen=True)
class Own(Model):
    """A class or function by its place, or itself, and what it is called with.

    One that has a parameter `shapes` is given what the task takes and gives. Written down it is
    `{"name": "package.module:Class", **settings}`.

    >>> model = Own("torch.nn:Linear", {"in_features": 2, "out_features": 3})
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
    @final
    def adapted(self) -> Any:
        """The class or function."""
        return found(self.module) if isinstance(self.module, str) else self.module

    @final
    def build(self, shapes: Shapes) -> nn.Module:
        """A new network."""
        made: Any = Own(self.adapted).module  # checked again: a name says nothing of what it stands for
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


def wrap(module: Callable[..., nn.Module], /, **settings: Any) -> Own:
    """An `nn.Module` class, or a function that makes one, as a model; the settings are what it is called with.

    >>> import recombine_lab
    >>> recipe = {"steps": 5, "samples": 50}
    >>> (run,) = recombine_lab.fit("toy", "own", wrap(nn.Linear, in_features=2, out_features=2), recipe)
    >>> run.configuration.model["name"]
    'torch.nn.modules.linear:Linear'
    """
    TRUSTED.add(place_of(module) or "")
    return Own(module, settings)
