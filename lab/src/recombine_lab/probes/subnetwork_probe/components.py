"""What is asked of a network: for each component examples to learn its mask from, and others to judge the mask by."""

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from recombine.base.errors import SettingError
from recombine.base.seeds import derived
from recombine_lab.models.layers import length, rows_of

_FEWEST = 10
_HELD_OUT = 0.2
"""The share of the mask training examples by which configurations are chosen."""


@dataclass(frozen=True, eq=False)
class ComponentData:
    """Inputs (a tensor, or tensors by name) and their targets, row by row."""

    inputs: Any
    targets: Tensor

    def __len__(self) -> int:
        return len(self.targets)

    def rows(self, which: Any) -> "ComponentData":
        """Some of the rows."""
        return ComponentData(rows_of(self.inputs, which), self.targets[which])

    @property
    def tensors(self) -> dict[str, Tensor]:
        """Every tensor of the inputs, by name."""
        return dict(self.inputs) if isinstance(self.inputs, Mapping) else {"": self.inputs}


@dataclass(frozen=True, eq=False)
class Component:
    """A component: what its mask is learned from, what its configuration is chosen by, what it is judged by."""

    name: str
    fit: ComponentData
    held_out: ComponentData
    test: ComponentData


def components_of(given: Any, *, seed: int, allow_repeats: bool) -> tuple[Component, ...]:
    """The components that are asked about, checked and split."""
    if given is None:
        raise SettingError(
            "no components",
            why="a network, or a run, does not say which examples ask for which component",
            instead="write components={'a': (mask_train, test), 'b': (mask_train, test)}, or a file that says so",
        )
    if not isinstance(given, Mapping) or len(given) < 2:
        raise SettingError(
            f"components={_shortly(given)}",
            why="a part is judged by what it does to its own component and to the others, so there are two or more",
            instead="write components={'a': (mask_train, test), 'b': (mask_train, test)}",
        )
    pairs = {str(name): _pair(str(name), value) for name, value in given.items()}
    if not allow_repeats:
        _check_disjoint(pairs)
    return tuple(_split(name, train, test, seed) for name, (train, test) in pairs.items())


def _pair(name: str, value: Any) -> tuple[ComponentData, ComponentData]:
    if not isinstance(value, Sequence) or len(value) != 2:
        raise SettingError(
            f"components[{name!r}] is {_shortly(value)}",
            why="a component is two sets of examples: one to learn its mask from, one to judge it by",
            instead=f"write {{{name!r}: ((inputs, targets), (inputs, targets))}}",
        )
    train, test = (_data(value[k], f"{part} of {name!r}") for k, part in enumerate(("mask_train", "test")))
    if len(train) < _FEWEST:
        raise SettingError(
            f"the mask_train of {name!r} has {len(train)} rows",
            why=f"some of them choose the configuration, so at least {_FEWEST} are needed",
            instead="give more examples",
        )
    return train, test


def _data(value: Any, what: str) -> ComponentData:
    if not isinstance(value, Sequence) or len(value) != 2:
        raise SettingError(
            f"the {what} is {_shortly(value)}", why="examples are a pair", instead="write (inputs, targets)"
        )
    inputs, targets = value
    if isinstance(inputs, Mapping):
        found: Any = {str(name): _tensor(one, f"{name!r} of the {what}") for name, one in inputs.items()}
        if not found:
            raise SettingError(f"the {what} has no inputs", why="the mapping is empty", instead="give tensors by name")
    else:
        found = _tensor(inputs, f"inputs of the {what}")
    data = ComponentData(found, _tensor(targets, f"targets of the {what}"))
    lengths = {len(one) for one in data.tensors.values()} | {len(data.targets)}
    if len(lengths) > 1 or not length(found):
        raise SettingError(
            f"the {what} has {', '.join(map(str, sorted(lengths)))} rows",
            why="every row has inputs and a target, and there is at least one",
            instead="give tensors of the same length",
        )
    return data


def _tensor(value: Any, what: str) -> Tensor:
    try:
        tensor = value if isinstance(value, Tensor) else torch.as_tensor(np.asarray(value))
    except (TypeError, ValueError, RuntimeError) as error:
        raise SettingError(
            f"the {what} are {type(value).__name__}",
            why=f"no tensor can be made of them: {error}",
            instead="give an array",
        ) from error
    if tensor.ndim == 0:
        raise SettingError(f"the {what} are a single number", why="they are a row each", instead="give an array")
    if tensor.is_floating_point() and not bool(torch.isfinite(tensor).all()):
        raise SettingError(
            f"the {what} have numbers that are not finite",
            why="nothing is learned from them",
            instead="drop those rows",
        )
    return tensor.detach()


def _check_disjoint(pairs: Mapping[str, tuple[ComponentData, ComponentData]]) -> None:
    tests = {name: set(_digests(test)) for name, (_, test) in pairs.items()}
    for name, (train, _) in pairs.items():
        seen = set(_digests(train))
        for other, test in tests.items():
            shared = len(seen & test)
            if shared:
                raise SettingError(
                    f"{shared:,} inputs of the mask_train of {name!r} are in the test of {other!r}",
                    why="a mask that has met the examples that it is judged by says nothing about others",
                    instead="split them apart, or write allow_repeats=True where there are no other inputs",
                )


def _digests(data: ComponentData) -> list[bytes]:
    """A digest for the inputs of every row."""
    arrays = [one.detach().cpu().contiguous().reshape(len(one), -1) for one in data.tensors.values()]
    raw = [one.view(torch.uint8).numpy() if one.numel() else np.zeros((len(one), 0), np.uint8) for one in arrays]
    return [
        hashlib.blake2b(b"".join(part[k].tobytes() for part in raw), digest_size=16).digest() for k in range(len(data))
    ]


def digest(data: ComponentData) -> str:
    """A digest of everything in it, targets too."""
    whole = hashlib.blake2b(b"".join(_digests(data)), digest_size=16)
    whole.update(data.targets.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
    return whole.hexdigest()


def _split(name: str, train: ComponentData, test: ComponentData, seed: int) -> Component:
    order = torch.randperm(len(train), generator=torch.Generator().manual_seed(derived(seed, "held out", name)))
    held_out = math.ceil(_HELD_OUT * len(train))
    return Component(name, train.rows(order[held_out:]), train.rows(order[:held_out]), test)


def poolable(components: Sequence[Component]) -> bool:
    """Whether examples of one component can stand among those of another: they look alike, tensor by tensor."""
    forms = {
        tuple((name, tuple(one.shape[1:]), one.dtype) for name, one in [*data.tensors.items(), (None, data.targets)])
        for component in components
        for data in (component.fit, component.held_out)
    }
    return len(forms) == 1


def shuffled(components: Sequence[Component], seed: int) -> tuple[Component, ...]:
    """The same components, but every mask is learned from a random share of everybody's examples.

    Sizes, inputs and answers stay what they are, and so does what the network must do; only what makes a component one
    is gone. A mask that is special to its component must not come out of this.
    """
    chance = torch.Generator().manual_seed(derived(seed, "shuffled components"))

    def mixed(part: str) -> list[ComponentData]:
        sets = [getattr(component, part) for component in components]
        whole = stacked_rows(sets)
        order = torch.randperm(len(whole), generator=chance)
        return [whole.rows(rows) for rows in torch.split(order, [len(one) for one in sets])]

    parts = zip(components, mixed("fit"), mixed("held_out"), strict=True)
    return tuple(Component(component.name, fit, held_out, component.test) for component, fit, held_out in parts)


def stacked_rows(sets: Sequence[ComponentData]) -> ComponentData:
    """Several sets as one."""
    targets = torch.cat([one.targets for one in sets])
    if isinstance(sets[0].inputs, Mapping):
        return ComponentData({name: torch.cat([one.inputs[name] for one in sets]) for name in sets[0].inputs}, targets)
    return ComponentData(torch.cat([one.inputs for one in sets]), targets)


def side_by_side(sets: Sequence[ComponentData]) -> ComponentData:
    """(b, n, …) Several sets of the same size, one beside the other."""
    targets = torch.stack([one.targets for one in sets])
    if isinstance(sets[0].inputs, Mapping):
        return ComponentData(
            {name: torch.stack([one.inputs[name] for one in sets]) for name in sets[0].inputs}, targets
        )
    return ComponentData(torch.stack([one.inputs for one in sets]), targets)


def _shortly(value: Any) -> str:
    return type(value).__name__ if not isinstance(value, Mapping) else f"{{{', '.join(map(repr, value))}}}"
