"""What the components give: the true ones, learned ones, or random smooth ones; and what the composition makes of them.

Letters: n points, D entries, K slots, C channels of a component, P sites (pixels), O channels of the whole.

Where the composition has a name, no pixel depends on another one and its derivative is a small block (O, C) at each
site. Any other differentiable function is one site: its derivative is written out where a component has few outputs,
and only ever multiplied with vectors where it has many (`ranks.py`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from recombine.base.errors import SettingError
from recombine_lab.models.layers import evaluating
from recombine_lab.probes.asked_module import refusing
from recombine_lab.probes.support_probe.points import SupportPoints
from recombine_lab.tasks.compositions import composition, jacobian
from recombine_lab.tasks.sprites import Sprites

Numbers = npt.NDArray[np.float64]
Compose = Callable[[Tensor], Tensor]
DENSE = 128
"""Outputs of a component up to which the derivative of any function is written out."""
_BATCH = 256
_RANDOM_SIDE = 4
_FEATURES = 64
_SMOOTH = 0.5
"""How far random components reach, in shares of an entry's range."""


@dataclass(frozen=True, eq=False)
class Components:
    """The components of points (n, D), as (n, K, …); `kind` says whose they are."""

    kind: str
    give: Callable[[Tensor], Tensor]

    def at(self, rows: Numbers) -> Tensor:
        """(n, K, …) Their outputs, a few points at a time, in double precision."""
        given = torch.as_tensor(rows, dtype=torch.float32)
        with torch.no_grad():
            found = torch.cat([self.give(piece).to(torch.float64) for piece in torch.split(given, _BATCH)])
        if not torch.isfinite(found).all():
            raise SettingError(
                f"the {self.kind} components are not finite at some points",
                why="a derivative there means nothing",
                instead="mend the components, or leave these points out",
            )
        return found


def components_of(
    given: Any, points: SupportPoints, *, shape: tuple[int, ...] | None, seed: int, kind: str
) -> Components:
    """What was given as components, in any of its forms; random ones of a shape where nothing was."""
    if given is None:
        if shape is None:
            raise SettingError(
                "components are missing",
                why="of a composition function of your own nobody knows what its components look like",
                instead="give components: one function for each slot, or one function (values, slot)",
            )
        return random_components(points, shape, seed=seed)
    if isinstance(given, Components):
        return _checked(given, points)
    return _checked(Components(kind, _giver(given, points)), points)


def _giver(given: Any, points: SupportPoints) -> Callable[[Tensor], Tensor]:
    slots = points.slots
    if isinstance(given, Sprites):
        return lambda rows: given.renderer.components(given.values(rows))
    if isinstance(given, nn.Module) and hasattr(given, "components"):
        return _module_giver(given)
    if isinstance(given, Sequence | nn.ModuleList):
        parts = list(given)
        if len(parts) != len(slots) or not all(callable(part) for part in parts):
            raise SettingError(
                f"components is a list of {len(parts)}",
                why=f"there are {len(slots)} slots, and each has a function of its own",
                instead="give one function for each slot, in their order",
            )
        return lambda rows: _stacked([part(rows[:, list(s.columns)]) for part, s in zip(parts, slots, strict=True)])
    if not callable(given):
        raise SettingError(
            f"components of type {type(given).__name__}",
            why="they are asked what they give for values",
            instead="give one function for each slot, one function (values, slot), or a model with .components(points)",
        )
    return lambda rows: _stacked([given(rows[:, list(slot.columns)], k) for k, slot in enumerate(slots)])


def _module_giver(module: Any) -> Callable[[Tensor], Tensor]:
    def give(rows: Tensor) -> Tensor:
        with evaluating(module):
            found: Tensor = module.components(rows)
        return found

    return give


def _stacked(parts: Sequence[Any]) -> Tensor:
    tensors = [torch.as_tensor(part) for part in parts]
    if len({part.shape for part in tensors}) > 1:
        raise SettingError(
            f"components of shapes {', '.join(str(tuple(part.shape)) for part in tensors)}",
            why="the composition takes them as one tensor (n, slots, …)",
            instead="give components of one shape; fill up smaller ones, or project them first",
        )
    return torch.stack([part.detach() for part in tensors], 1)


def _checked(components: Components, points: SupportPoints) -> Components:
    """The same components, asked about two points first."""
    widths = ", ".join(f"(n, {slot.width})" for slot in points.slots)
    with refusing(
        f"the {components.kind} components cannot be asked",
        instead=f"let them take float tensors of values {widths}, and give a tensor whose first axis is the point",
    ):
        found = components.at(points.seen[:2])
    if found.ndim < 3 or found.shape[:2] != (2, len(points.slots)):
        raise SettingError(
            f"the {components.kind} components of 2 points have the shape {tuple(found.shape)}",
            why=f"each of {len(points.slots)} slots gives a vector or a picture: (2, {len(points.slots)}, …)",
            instead="keep the first axis for the points, and give no single numbers",
        )
    return components


def random_components(points: SupportPoints, shape: tuple[int, ...], *, seed: int) -> Components:
    """Smooth functions drawn at random, positive and below 1: what is said of them hangs on the composition alone."""
    generator = torch.Generator().manual_seed(seed)
    size = int(np.prod(shape))
    low, span = (torch.as_tensor(one, dtype=torch.float32) for one in (points.low, points.span))
    drawn = [
        (
            torch.randn(slot.width, _FEATURES, generator=generator) / _SMOOTH,
            2 * np.pi * torch.rand(_FEATURES, generator=generator),
            torch.randn(_FEATURES, size, generator=generator) * (2 / _FEATURES) ** 0.5,
        )
        for slot in points.slots
    ]

    def give(rows: Tensor) -> Tensor:
        unit = (rows - low) / span
        parts = [
            torch.sigmoid(2 * torch.cos(unit[:, list(slot.columns)] @ turn + phase) @ weight)
            for slot, (turn, phase, weight) in zip(points.slots, drawn, strict=True)
        ]
        return torch.stack(parts, 1).reshape(len(rows), len(points.slots), *shape)

    return Components("random", give)


# -- what they are composed by ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Composed:
    """A composition function: its name in the registry, or a function of one's own; and the sites that are looked at.

    `sites` are places of a flattened picture; None for all of them, and for a function of one's own.
    """

    name: str | None
    compose: Compose
    sites: tuple[int, ...] | None = None

    @property
    def called(self) -> str:
        """What it is called in a sentence."""
        return str(self.name or getattr(self.compose, "__name__", "a function of its own"))

    def blocks(self, outputs: Tensor, slot: int) -> Tensor:
        """(n, P, O, C) The derivatives with respect to one slot's output, of outputs (n, K, …)."""
        if self.name is None:
            return _written_out(self.compose, outputs, slot)[:, None]
        pictures = self.at_sites(outputs)[..., None]
        return jacobian(self.name, pictures, slot).flatten(1, 2)

    def at_sites(self, outputs: Tensor) -> Tensor:
        """(n, K, C, P) Outputs at the sites that are looked at; a function of one's own has one site."""
        if self.name is None:
            return outputs.flatten(2)[..., None]
        flat = _as_pictures(outputs).flatten(3)
        return flat if self.sites is None else flat[..., list(self.sites)]

    def looked_at(self, most: int, outputs: Tensor, rng: np.random.Generator) -> "Composed":
        """With at most so many sites, those at which the components vary preferred."""
        if self.name is None:
            return self
        flat = _as_pictures(outputs).flatten(3)
        count = flat.shape[-1]
        if count <= most:
            return replace(self, sites=None)
        varies = flat.var(0).sum((0, 1)).numpy() + 1e-12
        chosen = rng.choice(count, most, replace=False, p=varies / varies.sum())
        return replace(self, sites=tuple(sorted(int(one) for one in chosen)))


def composed_of(given: Any) -> Composed:
    """A composition by its name, or as a function (n, K, …) -> (n, …)."""
    if isinstance(given, str):
        return Composed(given, composition(given).compose)
    if callable(given):
        return Composed(None, given)
    raise SettingError(
        f"composition={given!r}",
        why="it is how the components' outputs become one",
        instead="write a name such as 'soft_occlusion', or a function of a tensor (n, slots, …)",
    )


def usual_shape(composed: Composed) -> tuple[int, ...] | None:
    """The shape of random components: a few pixels of what the composition takes; None where nobody knows."""
    if composed.name is None:
        return None
    return (composition(composed.name).channels or 3, _RANDOM_SIDE, _RANDOM_SIDE)


def check_composes(composed: Composed, components: Components, points: SupportPoints) -> Tensor:
    """The outputs at a few points; refuses what does not compose."""
    outputs = components.at(points.seen[:8])
    with refusing(
        f"{composed.called} does not compose components of shape {tuple(outputs.shape)}",
        instead="give a function of a tensor (n, slots, …) that returns (n, …), with torch's own operations",
    ):
        if composed.name is not None:
            taken = composition(composed.name).channels
            if taken is not None and _as_pictures(outputs).shape[2] != taken:
                raise SettingError(
                    f"components of {_as_pictures(outputs).shape[2]} channels",
                    why=f"the composition {composed.name!r} takes {taken}",
                    instead=f"give components (n, {taken}, rows, columns)",
                )
            composed.compose(_as_pictures(outputs))
        else:
            whole = composed.compose(outputs)
            if not isinstance(whole, Tensor) or whole.ndim < 1 or len(whole) != len(outputs):
                raise TypeError(f"it gives {getattr(whole, 'shape', type(whole).__name__)} for {len(outputs)} points")
    return outputs


def _as_pictures(outputs: Tensor) -> Tensor:
    """(n, K, C, H, W), whatever the components are: vectors are pictures of one pixel."""
    missing = 5 - outputs.ndim
    if missing < 0:
        return outputs.flatten(4)
    return outputs.reshape(*outputs.shape, *([1] * missing))


def outputs_per_slot(outputs: Tensor) -> int:
    """M, how many numbers a component gives."""
    return int(outputs[0, 0].numel())


def _written_out(compose: Compose, outputs: Tensor, slot: int) -> Tensor:
    """(n, O, M) The whole derivative of any function, one point after the other."""

    def whole(own: Tensor, rest: Tensor) -> Tensor:
        parts = torch.cat([rest[:slot], own[None], rest[slot:]])
        return compose(parts[None])[0].flatten()

    others = torch.cat([outputs[:, :slot], outputs[:, slot + 1 :]], 1)
    try:
        found: Tensor = torch.func.vmap(torch.func.jacrev(whole))(outputs[:, slot], others)
    except RuntimeError as error:
        raise SettingError(
            "the composition cannot be differentiated",
            why=str(error).splitlines()[0],
            instead="write it with torch's own operations, nothing in place, and none of .item(), .numpy() or if",
        ) from error
    return found.flatten(2)
