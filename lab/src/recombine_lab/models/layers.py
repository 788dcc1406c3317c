"""What the layers of any torch module give: plain forward hooks, and a module that is left as it was found.

`recombine_lab.probes` looks at any module through this; a run's `latents` are the same for the lab's own tasks.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from recombine.base.errors import SettingError, nearest

Forward = Callable[[nn.Module, Any], Any]
"""How a module is asked about a batch, where `module(batch)` or `module(**batch)` is not the way."""
BATCH = 256


def layer_of(module: nn.Module, name: str) -> nn.Module:
    """The part of a module that has this name among its `named_modules()`."""
    known = [one for one, _ in module.named_modules() if one]
    if name not in known:
        raise SettingError(
            f"no layer {name!r}",
            why=f"the network is a {type(module).__name__}, and none of its parts is called so",
            instead=nearest(name, known) if known else "it has no parts: call the module yourself",
        )
    return module.get_submodule(name)


def tensor_of(output: Any, layer: str) -> Tensor:
    """What a layer gives, as one tensor: the first of several, as LSTMs and transformers give them."""
    first = output[0] if isinstance(output, tuple | list) and len(output) else output
    for field in ("last_hidden_state", "logits"):  # what Hugging Face's models wrap their answers in
        first = getattr(first, field, first)
    if isinstance(first, Tensor):
        return first
    raise SettingError(
        f"the layer {layer!r} gives {type(output).__name__}",
        why="what is kept for each example is a tensor",
        instead="name a layer inside it",
    )


def uncompiled(module: Any) -> Any:
    """The module inside of what `torch.compile` made: hooks, copies and other weights need it; others as they are."""
    return getattr(module, "_orig_mod", module)


@contextmanager
def evaluating(module: nn.Module) -> Iterator[nn.Module]:
    """The module in evaluation mode, and afterwards every part of it in the mode that it was in.

    >>> network = nn.Sequential(nn.Linear(1, 1), nn.Dropout())
    >>> with evaluating(network):
    ...     network[1].training
    False
    >>> network[1].training
    True
    """
    before = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        yield module
    finally:
        for part, mode in before:
            part.training = mode


@contextmanager
def watching(module: nn.Module, layers: Sequence[str]) -> Iterator[dict[str, Tensor]]:
    """What the named layers gave when the module was last asked; hooks are removed in any case."""
    kept: dict[str, Tensor] = {}

    def keep(name: str) -> Callable[[Any, Any, Any], None]:
        return lambda _module, _inputs, output: kept.__setitem__(name, tensor_of(output, name))

    hooks = [layer_of(module, name).register_forward_hook(keep(name)) for name in layers]
    try:
        yield kept
    finally:
        for hook in hooks:
            hook.remove()


def asked(module: nn.Module, batch: Any, forward: Forward | None = None) -> Any:
    """The module's answer to a batch: tensors by keyword where the batch is a mapping, as in Hugging Face."""
    if forward is not None:
        return forward(module, batch)
    return module(**batch) if isinstance(batch, Mapping) else module(batch)


def rows_of(inputs: Any, rows: Any) -> Any:
    """Some rows of the inputs, in each of their tensors where they are a mapping."""
    if isinstance(inputs, Mapping):
        return {name: value[rows] for name, value in inputs.items()}
    return inputs[rows]


def length(inputs: Any) -> int:
    """How many rows the inputs have."""
    return len(next(iter(inputs.values()))) if isinstance(inputs, Mapping) else len(inputs)


def activations(
    module: nn.Module,
    inputs: Any,
    layers: Sequence[str],
    *,
    forward: Forward | None = None,
    batch_size: int = BATCH,
) -> dict[str, npt.NDArray[np.float32]]:
    """(n, …) What each layer gives for every row of the inputs; the layer "" is the answer of the whole module.

    >>> network = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    >>> {name: found.shape for name, found in activations(network, torch.ones(5, 3), ["1", ""]).items()}
    {'1': (5, 4), '': (5, 2)}
    """
    found: dict[str, list[npt.NDArray[np.float32]]] = {name: [] for name in layers}
    named = [name for name in layers if name]
    with evaluating(module), torch.no_grad(), watching(module, named) as kept:
        for start in range(0, length(inputs), batch_size):
            answer = asked(module, rows_of(inputs, slice(start, start + batch_size)), forward)
            for name in layers:
                tensor = kept[name] if name else tensor_of(answer, "")
                found[name].append(tensor.detach().float().cpu().numpy())
    return {name: np.concatenate(parts) for name, parts in found.items()}


def features(module: nn.Module, inputs: Any, *, layer: str, batch_size: int = BATCH) -> npt.NDArray[np.float64]:
    """(n, d) What a module holds at a named layer for each input, to be given to `recombine.predict` as `inputs`.

    >>> network = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    >>> features(network, torch.zeros(5, 3), layer="1").shape
    (5, 4)
    """
    found = activations(module, inputs, [layer], batch_size=batch_size)[layer]
    return found.reshape(len(found), -1).astype(np.float64)
