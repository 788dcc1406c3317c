"""How similar two examples are to a torch module as it stands: the module's own tangent kernel.

A small step of training on x' moves the answer to x by the product of two gradients. Over the q outputs of a module f
with p parameters w that product is

    k(x, x') = 1/q Σₒ ∇w fₒ(x) · ∇w fₒ(x')

A wide network that is trained by small steps is a kernel machine with this kernel as it was at the start, and then it
is one of those in `input_kernels`. A network that learns features changes it on the way: ask for it again after some
steps.

Gradients of large modules are sketched: every parameter is added, with a random sign, to one of `width` numbers (a
count sketch; Charikar, Chen and Farach-Colton 2002). Products of sketches are right in the mean, and off by a standard
deviation of at most √(2 / width) of the two lengths multiplied: `sketch_error`.
"""

import math
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch.func import functional_call, jacrev, vmap

from recombine.base.checks import check_seed, check_whole
from recombine.base.errors import SettingError, TableError
from recombine.numerics.groups import Numbers
from recombine.verbs.predict.examples.input_kernels import Kernel, fetched
from recombine_lab.models.layers import evaluating

EXACT = 2**15
"""Parameters of a module whose gradients are kept as they are by default."""
WIDTH = 8192
"""Numbers that others are sketched to by default: products are off by at most 1.6 % of the lengths."""
_MOST_HELD = 2**29
"""Numbers of all gradients together: two gigabytes in single precision."""
_MOST_AT_ONCE = 2**25
"""Numbers that one call of automatic differentiation may write."""


def parameters(module: Any) -> int:
    """How many numbers of a module are trained."""
    return sum(weight.numel() for weight in module.parameters() if weight.requires_grad)


def sketch_error(width: int) -> float:
    """How far products of sketched gradients are off: a standard deviation, as a share of the lengths multiplied.

    >>> round(sketch_error(8192), 4)
    0.0156
    """
    return math.sqrt(2 / width)


def gradients(
    module: Any, inputs: Any, *, shape: tuple[int, ...] | None = None, width: int | None = None, seed: int = 0
) -> Any:
    """The gradient of every output of a module at every row: (n, q, p), or (n, q, width) where they are sketched.

    Inputs are rows of numbers; `shape` is what the module takes for one of them, if it is not a plain row. Dropout and
    batch statistics are switched off while it is asked.

    >>> gradients(torch.nn.Linear(2, 1), [[3.0, 4.0]]).tolist()
    [[[3.0, 4.0, 1.0]]]
    """
    _check(module, width, seed)
    size = parameters(module)
    kept = min(width or (size if size <= EXACT else WIDTH), size)
    sketch = _Sketch.of(size, kept, seed) if kept < size else None
    with evaluating(module):
        rows = _rows(module, inputs, shape)
        outputs = _outputs(module, rows)
        _refuse_too_large(len(rows), outputs, kept)
        step = max(1, _MOST_AT_ONCE // (outputs * size))
        parts = [_jacobian(module, part, sketch) for part in rows.split(step)]
    return np.concatenate(parts)


def own_tangent(
    module: Any,
    *,
    shape: tuple[int, ...] | None = None,
    width: int | None = None,
    output: int | None = None,
    seed: int = 0,
    name: str = "own tangent",
) -> Kernel:
    """The tangent kernel of a module as it stands, for the machines of this room.

    Over all outputs, or for one `output` of them. Rows reach the module as they were given. Training the module further
    does not change the kernel: it is of a copy.

    >>> module = torch.nn.Linear(2, 1, bias=False)
    >>> own_tangent(module).between(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0], [1.0, 0.0]])).tolist()
    [[11.0, 1.0]]
    """
    _check(module, width, seed)
    features = _Features(deepcopy(module), shape, width, output, seed)
    return Kernel(
        name,
        lambda x, z: np.asarray(features(x) @ features(z).T, dtype=np.float64),
        lambda x: np.asarray(np.square(features(x)).sum(axis=1), dtype=np.float64),
        scaled=False,
    )


@dataclass(eq=False)
class _Features:
    """Gradients as one line for each row; those of the last two sets of rows are kept, for they are asked for again."""

    module: Any
    shape: tuple[int, ...] | None
    width: int | None
    output: int | None
    seed: int
    kept: list[tuple[Any, Numbers]] = field(default_factory=list)

    def __call__(self, rows: Any) -> Numbers:
        for known, before in self.kept:
            if known is rows:
                return before
        every = gradients(self.module, rows, shape=self.shape, width=self.width, seed=self.seed)
        chosen = every if self.output is None else every[:, [self.output]]
        found: Numbers = chosen.reshape(len(chosen), -1) / math.sqrt(chosen.shape[1])
        self.kept = [*self.kept[-1:], (rows, found)]
        return found


@dataclass(frozen=True, eq=False)
class _Sketch:
    """Where each parameter goes, and with which sign."""

    places: Any  # (p,)
    signs: Any  # (p,)
    width: int

    @classmethod
    def of(cls, size: int, width: int, seed: int) -> "_Sketch":
        rng = np.random.default_rng(seed)
        return cls(rng.integers(width, size=size), rng.integers(2, size=size) * 2 - 1, width)

    def __call__(self, found: Any) -> Any:
        places = torch.as_tensor(self.places, device=found.device)
        signed = found * torch.as_tensor(self.signs, device=found.device, dtype=found.dtype)
        return found.new_zeros((*found.shape[:-1], self.width)).index_add_(-1, places, signed)


def _jacobian(module: Any, rows: Any, sketch: _Sketch | None) -> Numbers:
    """The gradients at a few rows."""
    trained = {name: weight.detach() for name, weight in module.named_parameters() if weight.requires_grad}
    fixed = {name: weight.detach() for name, weight in module.named_parameters() if not weight.requires_grad}
    fixed |= {name: buffer.detach() for name, buffer in module.named_buffers()}

    def answer(weights: Any, row: Any) -> Any:
        return functional_call(module, {**weights, **fixed}, (row[None],)).reshape(-1)

    found = vmap(jacrev(answer), in_dims=(None, 0))(trained, rows)
    flat = torch.cat([part.flatten(start_dim=2) for part in found.values()], dim=2)
    return fetched((sketch(flat) if sketch else flat).detach())


def _outputs(module: Any, rows: Any) -> int:
    with torch.no_grad():
        return int(module(rows[:1]).numel())


def _rows(module: Any, inputs: Any, shape: tuple[int, ...] | None) -> Any:
    weight = next(weight for weight in module.parameters() if weight.requires_grad)
    rows = torch.as_tensor(np.asarray(fetched(inputs) if hasattr(inputs, "cpu") else inputs))
    rows = rows.to(device=weight.device, dtype=weight.dtype)
    if shape is None:
        return rows
    if math.prod(shape) != rows[0].numel():
        raise SettingError(
            f"shape={shape}",
            why=f"a row of the inputs holds {rows[0].numel():,} numbers, and such an example {math.prod(shape):,}",
            instead="write the shape of one example as the module takes it, such as shape=(1, 28, 28)",
        )
    return rows.reshape(len(rows), *shape)


def _check(module: Any, width: Any, seed: Any) -> None:
    check_seed(seed)
    if width is not None:
        check_whole("width", width, least=1, instead=f"write width={WIDTH}")
    if not parameters(module):
        raise SettingError(
            "a module without parameters that are trained",
            why="its tangent kernel is made of the gradients of these",
            instead="switch requires_grad on, or use kernel='linear' on the module's features",
        )


def _refuse_too_large(rows: int, outputs: int, kept: int) -> None:
    if rows * outputs * kept > _MOST_HELD:
        fits = 2 ** int(math.log2(max(_MOST_HELD / (rows * outputs), 1)))
        raise TableError(
            f"gradients of {rows:,} rows, {outputs:,} outputs and {kept:,} numbers each",
            why=f"together they would take {rows * outputs * kept * 4 / 1e9:,.1f} GB",
            instead=f"take fewer rows, or write width={fits} (off by {100 * sketch_error(fits):.1f} % of the lengths)",
        )
