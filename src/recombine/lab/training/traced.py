"""The update of several runs as one flat list of tensor operations.

`vmap` turns a model of one run into a model of S runs, and `grad_and_value` adds the way back. Both interpret each
operation at every step, which costs more than the small operations themselves. So one step is traced once, and what
is run afterwards is the list of operations that remained.

One thing decides how many rows a trace has. A run's numbers must not depend on which runs it is trained with. Batched
products give each matrix the same bits whatever the batch is, from two matrices on. Some elementwise functions round
differently in the last, incomplete vector of a tensor than in a full one; where a trace holds an operation that is not
known to be free of this, the number of rows is made a multiple of 32, so that no tensor of it has an incomplete vector.
"""

import copy
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad_and_value, vmap
from torch.fx.experimental.proxy_tensor import make_fx

LANES = 32
Stacked = Mapping[str, Tensor]
Update = Callable[[Stacked, Stacked, Tensor, Tensor], tuple[dict[str, Tensor], Tensor]]

_KEPT: dict[tuple[Any, ...], tuple[Update, int]] = {}
_MOST_KEPT = 16
_VIEWS = ("expand", "view", "_unsafe_view", "reshape")

# Exact in any vector (sums, products, comparisons, copies), or tested to be the same in all of them.
_EVEN = frozenset(
    """
    _log_softmax _log_softmax_backward_data _softmax _softmax_backward_data _to_copy _unsafe_view abs add addmm alias
    amax amin arange argmax baddbmm bitwise_not bmm cat clamp clamp_min clone convolution convolution_backward copy
    cos detach div embedding embedding_dense_backward empty empty_like eq exp expand fill flatten full full_like gather
    ge gelu gelu_backward gt index index_select le leaky_relu leaky_relu_backward lift_fresh_copy logical_and
    logical_not lt masked_fill max max_pool2d_with_indices max_pool2d_with_indices_backward maximum mean min minimum mm
    mse_loss mse_loss_backward mul native_layer_norm native_layer_norm_backward ne neg new_empty new_full new_ones
    new_zeros ones ones_like permute pow relu repeat reshape scalar_tensor scatter scatter_add select select_backward
    sign sin slice slice_backward split split_with_sizes sqrt squeeze stack sub sum t tanh tanh_backward
    threshold_backward transpose unbind unsqueeze view where zeros zeros_like
    """.split()  # noqa: SIM905 - a list of words reads as words
)


def traced(
    objective: nn.Module, weights: Stacked, others: Stacked, inputs: Tensor, targets: Tensor, *, name: str | None = None
) -> tuple[Update, int]:
    """The update of the runs whose stacked weights are given, and the number of rows that it wants.

    `others` are what is not trained. Where the number of rows wanted is not the number given, stack as many and trace
    again. A trace that has a name is kept for the next runs of that name and of the same sizes. Raises whatever torch
    raises for a model that cannot be batched.
    """
    key = (name, inputs.shape, inputs.dtype, targets.shape, targets.dtype)
    if name is None or key not in _KEPT:
        found = _trace(objective, weights, others, inputs, targets)
        if name is None:
            return found
        if len(_KEPT) >= _MOST_KEPT:
            _KEPT.pop(next(iter(_KEPT)))
        _KEPT[key] = found
    return _KEPT[key]


def _trace(
    objective: nn.Module, weights: Stacked, others: Stacked, inputs: Tensor, targets: Tensor
) -> tuple[Update, int]:
    base = copy.deepcopy(objective)

    def loss(trained: Stacked, rest: Stacked, x: Tensor, y: Tensor) -> Tensor:
        value: Tensor = functional_call(base, {**trained, **rest}, (x, y))
        return value

    batched = vmap(grad_and_value(loss), randomness="error")
    graph = make_fx(batched)(dict(weights), dict(others), inputs, targets)
    _tidy(graph)
    rows = len(inputs)
    return graph, rows if _is_even(graph) else -(-rows // LANES) * LANES


def _tidy(graph: torch.fx.GraphModule) -> None:
    """Leave out what does nothing: views of the same shape, products with one, a transposition and its way back."""
    for node in graph.graph.nodes:
        if node.op == "call_function" and (same := _same_as(node)) is not None:
            node.replace_all_uses_with(same)
    graph.graph.eliminate_dead_code()
    graph.recompile()


def _same_as(node: torch.fx.Node) -> torch.fx.Node | None:
    """The node that this one repeats, if it does."""
    source = node.args[0] if node.args and isinstance(node.args[0], torch.fx.Node) else None
    if source is None:
        return None
    name, shapes = _name(node.target), [_shape(one) for one in (node, source)]
    if name in _VIEWS and shapes[0] is not None and shapes[0] == shapes[1]:
        return source
    if node.target is torch.ops.aten.mul.Scalar and type(node.args[1]) is int and node.args[1] == 1:
        return source
    both = (torch.ops.aten.transpose.int,) * 2
    if (node.target, source.target) == both and node.args[1:] == source.args[1:]:
        found = source.args[0]
        return found if isinstance(found, torch.fx.Node) else None
    return None


def _shape(node: torch.fx.Node) -> torch.Size | None:
    about = node.meta.get("tensor_meta") or node.meta.get("val")
    found: torch.Size | None = getattr(about, "shape", None)
    return found


def _is_even(graph: torch.fx.GraphModule) -> bool:
    return all(_name(node.target) in _EVEN for node in graph.graph.nodes if node.op == "call_function")


def _name(target: Any) -> str:
    packet = getattr(target, "overloadpacket", None)
    # What is no operation of torch's takes a tuple apart.
    return str(packet.__name__) if packet is not None else "view"
