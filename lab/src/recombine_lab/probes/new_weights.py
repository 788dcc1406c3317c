"""The same network before it has learnt anything: the control that every measure of a trained network stands beside.

All parameters of a copy are overwritten with NaN before anything is drawn. What is a number afterwards was drawn
without a look at what had been learnt, and what is NaN still was reached by no initialisation: so neither a method that
skips weights (Hugging Face's do, of weights that were loaded), nor one that only rescales them, is taken at its word.

From the inside out, as a network is built: a part's own `reset_parameters` (torch's `MultiheadAttention` and
`Transformer` call it `_reset_parameters`), then the `_init_weights` of the model around it (Hugging Face, timm). What
neither reaches is drawn at the scale that its kind has when it is new (`_draw_by_kind`).

Buffers stay as they are, unless a reset sets them (the running statistics of a batch normalisation): most of them are
constants, such as positions and frequencies, without which it is another architecture.
"""

import copy
import inspect
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parameter import UninitializedParameter
from torch.nn.utils import parametrize

from recombine.base.errors import SettingError

_SMALL = 0.02
"""Standard deviation of positions, class tokens and GPT-2's layers when new: BERT's, GPT's, ViT's and timm's."""
_SMALL_NAMES = ("embed", "token", "pos")
_Initialise = Callable[..., Any]


def redraw_weights(module: nn.Module, *, seed: int) -> nn.Module:
    """A copy of a module with every parameter drawn anew; the module and torch's own stream of chance stay untouched.

    >>> network = nn.Sequential(nn.Linear(2, 2), nn.LayerNorm(2))
    >>> fresh = redraw_weights(network, seed=1)
    >>> bool((fresh[0].weight == network[0].weight).any()), fresh[1].weight.tolist()
    (False, [1.0, 1.0])
    """
    _check(module)
    try:
        fresh = copy.deepcopy(module)
    except Exception as error:  # whatever a part holds that cannot be copied, such as a tensor with a gradient
        raise SettingError(
            f"a {type(module).__name__} that cannot be copied",
            why=f"new weights are drawn on a copy, and {type(error).__name__}: {error}",
            instead="give a module that copy.deepcopy copies; torch.nn.utils.remove_weight_norm may help",
        ) from error
    parts = list(_inside_out(fresh, None, set()))
    shapes = {
        (part, name): getattr(part, name).shape
        for part, _ in parts
        if parametrize.is_parametrized(part)
        for name in part.parametrizations  # type: ignore[union-attr]  # a ModuleDict
    }
    with _own_chance(fresh, seed), torch.no_grad():
        for weight in fresh.parameters():
            weight.fill_(math.nan)
            # Hugging Face leaves a weight alone that it has marked as loaded
            weight.__dict__.pop("_is_hf_initialized", None)
        for (part, name), shape in shapes.items():
            _draw_parametrised(part, name, shape)
        for part, _ in parts:
            for name in ("reset_parameters", "_reset_parameters", "_init_weights"):
                _call(part, getattr(part, name, None))
        for part, initialise in parts:
            _call(part, initialise, part)
        for part, _ in parts:
            _draw_missing(part)
    return fresh


def _check(module: nn.Module) -> None:
    """Refuse what has no weights that could be drawn."""
    for name, weight in module.named_parameters():
        if isinstance(weight, UninitializedParameter):
            raise SettingError(
                f"{name!r} has no shape yet", why="the network was never asked", instead="ask it once about a batch"
            )
        if not weight.is_floating_point() and not weight.is_complex():
            raise SettingError(
                f"the parameter {name!r} is {weight.dtype}",
                why="a control has new weights, and none can be drawn for whole numbers, which no training moves",
                instead="register it as a buffer, or give the network before it was quantised",
            )


def _inside_out(
    part: nn.Module, around: _Initialise | None, known: set[int]
) -> Iterator[tuple[nn.Module, _Initialise | None]]:
    """Each part once, after its own parts, with the `_init_weights(part)` of the nearest model around it."""
    known.add(id(part))
    own = getattr(part, "_init_weights", None)
    around = own if _takes(own, part) else around
    for child in part.children():
        if id(child) not in known:
            yield from _inside_out(child, around, known)
    yield part, around


def _takes(method: Any, *arguments: Any) -> bool:
    if not callable(method):
        return False
    try:
        inspect.signature(method).bind(*arguments)
    except TypeError:
        return False
    return True


def _call(part: nn.Module, method: Any, *arguments: Any) -> None:
    """Let a part initialise itself, where it has a method for it that takes nothing more."""
    if not _takes(method, *arguments):
        return
    try:
        method(*arguments)
    except Exception as error:
        raise SettingError(
            f"{type(part).__name__}.{method.__name__}() cannot be run",
            why=f"a control has new weights, and {type(error).__name__}: {error}",
            instead="mend it: it is called on a copy whose weights are all NaN, and sets them without reading them",
        ) from error


def _draw_parametrised(part: nn.Module, name: str, shape: torch.Size) -> None:
    """A weight that is computed from others (weight or spectral norm): these are found from a new weight.

    Where that cannot be undone they are drawn themselves: a reset would set what is computed, which is kept nowhere.
    """
    originals: nn.Module = part.parametrizations[name]  # type: ignore[index,assignment]  # a ModuleDict
    like: Tensor = next(originals.parameters())
    weight = torch.empty(shape, dtype=like.dtype, device=like.device)
    _draw_by_kind(part, name, weight)
    with suppress(NotImplementedError, RuntimeError, ValueError):
        setattr(part, name, weight)
    _draw_missing(originals)


def _draw_missing(part: nn.Module) -> None:
    """Draw what is NaN still among a part's own parameters."""
    for name, weight in part.named_parameters(recurse=False):
        missing = weight.isnan()
        if missing.any():
            drawn = torch.empty_like(weight)
            _draw_by_kind(part, name, drawn)
            weight.copy_(torch.where(missing, drawn, weight))


def _draw_by_kind(part: nn.Module, name: str, weight: Tensor) -> None:
    """Numbers as a parameter of such a name in such a part has them when it is new."""
    kind, called = type(part).__name__, name.lower()
    if "bias" in called:
        weight.zero_()
    elif "norm" in kind.lower():
        weight.fill_(1.0)
    elif kind == "Conv1D" or any(word in called or word in kind.lower() for word in _SMALL_NAMES):
        weight.normal_(std=_SMALL)
    else:
        # as torch's linear layers and convolutions: each output is a sum over `inputs` numbers of about the same size
        inputs = weight[0].numel() if weight.ndim > 1 else weight.numel()
        reach = 1 / math.sqrt(max(inputs, 1))
        (torch.view_as_real(weight) if weight.is_complex() else weight).uniform_(-reach, reach)


@contextmanager
def _own_chance(module: nn.Module, seed: int) -> Iterator[None]:
    """Torch's streams of chance start at a seed, and afterwards stand where they stood."""
    devices = sorted({weight.device.index for weight in module.parameters() if weight.is_cuda})
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed % 2**63)
        yield
