"""An update for each step, and the state of each run by name.

What both ways of training have in common, and one of them, a plain loop over a plain module (`SingleLearner`). The
other, several runs as one, is `BatchedLearner`.

Where a run is trained, and in which mode of torch.

Several runs as one: their weights stand in the rows of one matrix, and each step is one list of operations.

Letters: S rows (the runs, and copies of the last one where more rows are wanted), P numbers a row.

`vmap` turns a model of one run into a model of S runs, and `grad_and_value` adds the way back. Both interpret each
operation at every step, which costs more than the small operations themselves. So one step is traced once, and what
is run afterwards is the list of operations that remained.

One thing decides how many rows a trace has. A run's numbers must not depend on which runs it is trained with. Batched
products give each matrix the same bits whatever the batch is, from two matrices on. Some elementwise functions round
differently in the last, incomplete vector of a tensor than in a full one; where a trace holds an operation that is not
known to be free of this, the number of rows is made a multiple of 32, so that no tensor of it has an incomplete vector.
"""

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad_and_value, vmap
from torch.fx.experimental.proxy_tensor import make_fx

from recombine.base.errors import SettingError
from recombine.base.seeds import derived
from recombine_lab.tasks.task import Batch, Shapes
from recombine_lab.training.losses import Loss, Objective
from recombine_lab.training.recipe import Recipe, is_constant, rate


def device_of(recipe: Recipe) -> torch.device:
    """The device that a recipe means here; one that is not there is refused.

    >>> device_of(Recipe(steps=1))
    device(type='cpu')
    """
    there = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if recipe.device == "auto":
        return torch.device(next(name for name in ("cuda", "mps", "cpu") if there[name]))
    if not there[recipe.device]:
        raise SettingError(
            f"device={recipe.device!r}",
            why="torch finds no such device on this machine",
            instead="write device='auto', which takes the processor where there is no other",
        )
    return torch.device(recipe.device)


@contextmanager
def mode_of(recipe: Recipe) -> Iterator[None]:
    """Torch as a recipe wants it, and afterwards as it was."""
    before = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(recipe.deterministic or before)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before)


State = dict[str, Tensor]
WEIGHTS, OPTIMISER = "weights.", "optimiser."
SLOTS: Mapping[str, tuple[str, ...]] = {
    "sgd": ("momentum_buffer",),
    "adam": ("exp_avg", "exp_avg_sq"),
    "adamw": ("exp_avg", "exp_avg_sq"),
}
"""What an optimiser remembers of each weight."""
_OPTIMISERS: Mapping[str, Any] = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW}


class Optimiser:
    """Torch's own optimiser over groups of weights, each group with a recipe of its own."""

    def __init__(self, groups: Sequence[tuple[Recipe, Sequence[Tensor]]]) -> None:
        self._recipes = [recipe for recipe, _ in groups]
        rates = [
            {"params": list(weights), "lr": rate(recipe, 0), "weight_decay": recipe.weight_decay}
            | ({"momentum": recipe.momentum} if recipe.optimiser == "sgd" else {})
            for recipe, weights in groups
        ]
        # One pass over the weights in one call: the fastest of torch's ways on a processor, and on CUDA.
        fused = groups[0][1][0].device.type in ("cpu", "cuda")
        self.torch: torch.optim.Optimizer = _OPTIMISERS[self._recipes[0].optimiser](rates, fused=fused)
        self._constant = all(map(is_constant, self._recipes))

    def step(self, step: int) -> None:
        """Move the weights along their gradients."""
        if not self._constant:
            for group, recipe in zip(self.torch.param_groups, self._recipes, strict=True):
                group["lr"] = rate(recipe, step)
        self.torch.step()

    def slot(self, weight: Tensor, name: str) -> Tensor | None:
        """What is remembered of a weight."""
        remembered: Tensor | None = self.torch.state[weight].get(name) if weight in self.torch.state else None
        return remembered

    def remember(self, weight: Tensor, slots: Mapping[str, Tensor], *, step: int) -> None:
        """Go on with what was remembered of a weight."""
        if slots:
            # A fused optimiser on a GPU counts there.
            self.torch.state[weight] = {"step": torch.tensor(float(step), device=weight.device), **slots}


class SingleLearner:
    """One run. What its layers draw while it is trained (dropout) comes from the seed and the step."""

    def __init__(self, module: nn.Module, recipe: Recipe, *, loss: Loss, shapes: Shapes, seed: int) -> None:
        self._module, self._recipe, self._seed = module.train(), recipe, seed
        self._objective: nn.Module = Objective(module, loss, shapes, half=recipe.precision == "bfloat16")
        self._call = torch.compile(self._objective) if recipe.compile else self._objective
        self._weights = [weight for weight in module.parameters() if weight.requires_grad]
        self._device = device_of(recipe)
        self._optimiser = Optimiser([(recipe, self._weights)])

    def step(self, batch: Batch, step: int) -> list[float]:
        """One update; the loss before it. Torch's generator is seeded for it: call this under `fork_rng`."""
        if not self._module.training:  # a callback may have asked it
            self._module.train()
        seed = derived(self._seed, "noise", step)
        torch.default_generator.manual_seed(seed)
        if self._device.type != "cpu":
            torch.manual_seed(seed)
        for weight in self._weights:
            weight.grad = None
        loss = self._loss(batch.to(self._device))
        loss.backward()  # type: ignore[no-untyped-call]
        if self._recipe.clip is not None:
            nn.utils.clip_grad_norm_(self._weights, self._recipe.clip)
        self._optimiser.step(step)
        return [loss.item()]

    def module(self, run: int) -> nn.Module:  # noqa: ARG002 - there is one
        """The run's model as it stands: the module itself."""
        return self._module

    def state(self, run: int) -> State:  # noqa: ARG002 - there is one
        """All that the next updates depend on, by name: weights, buffers, and what the optimiser remembers."""
        kept = {WEIGHTS + name: value.detach().cpu().clone() for name, value in self._module.state_dict().items()}
        for name, weight in self._module.named_parameters():
            for slot in SLOTS[self._recipe.optimiser]:
                found = self._optimiser.slot(weight, slot)
                if found is not None:
                    kept[f"{OPTIMISER}{slot}.{name}"] = found.detach().cpu().clone()
        return kept

    def load(self, run: int, state: State, *, step: int) -> None:  # noqa: ARG002 - there is one
        """Go on from a state that was taken after `step` updates."""
        self._module.load_state_dict({k.removeprefix(WEIGHTS): v for k, v in state.items() if k.startswith(WEIGHTS)})
        for name, weight in self._module.named_parameters():
            keys = {slot: f"{OPTIMISER}{slot}.{name}" for slot in SLOTS[self._recipe.optimiser]}
            self._optimiser.remember(
                weight,
                {slot: state[key].to(self._device, copy=True) for slot, key in keys.items() if key in state},
                step=step,
            )

    def _loss(self, batch: Batch) -> torch.Tensor:
        if not self._recipe.compile:
            found: torch.Tensor = self._call(batch.inputs, batch.targets)
            return found
        try:
            return self._call(batch.inputs, batch.targets)  # type: ignore[no-any-return]
        except Exception as error:
            if "compiler" not in f"{type(error).__name__} {error}".lower():
                raise
            raise SettingError(
                "compile=True",
                why=f"torch could not compile the model here: {str(error).splitlines()[0]}",
                instead="install a C++ compiler (g++), or leave compile out",
            ) from error


_PREFIX = "module."
_ALONE = (nn.modules.batchnorm._BatchNorm, nn.RNNBase)
_RANDOM = (nn.modules.dropout._DropoutNd, nn.MultiheadAttention, nn.RReLU)
# Far above what another order of summation does to 32 bits (1e-6), far below what a lost layer or penalty does.
_TOLERANCE = 1e-3
LANES = 32  # numbers of 32 bits in the widest vectors that torch works in, unrolled twice
Stacked = Mapping[str, Tensor]
Update = Callable[[Stacked, Stacked, Tensor, Tensor], tuple[dict[str, Tensor], Tensor]]
_KEPT: dict[tuple[Any, ...], tuple[Update, int]] = {}
_MOST_KEPT = 16  # traces; each holds a graph, and a sweep has few shapes at a time
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


class CannotBatchError(Exception):
    """These runs cannot be trained as one; the reason is for the record, not an error of the user's."""


def check_batchable(module: nn.Module) -> None:
    """Refuse at once what is known not to work: running statistics, recurrent layers, dropout, mixed numbers."""
    for part in module.modules():
        drops = isinstance(part, _RANDOM) and any(getattr(part, name, 0.0) for name in ("p", "dropout", "upper"))
        if isinstance(part, _ALONE) or drops:
            raise CannotBatchError(f"{type(part).__name__} cannot be batched over runs")
    weights = [weight for weight in module.parameters() if weight.requires_grad]
    if not weights or any(weight.dtype != torch.float32 for weight in weights):
        raise CannotBatchError("only weights of 32 bits are batched")


class BatchedLearner:
    """Runs of one shape in training. A run's numbers do not depend on which others are there, on one thread."""

    def __init__(
        self,
        modules: Sequence[nn.Module],
        recipes: Sequence[Recipe],
        *,
        loss: Loss,
        shapes: Shapes,
        first: Batch,
        name: str | None = None,
    ) -> None:
        check_batchable(modules[0])
        self._device = next(modules[0].parameters()).device
        first = first.to(self._device)
        self._runs, self._recipes = len(modules), list(recipes)
        self._shapes, self._loss, self._clip = shapes, loss, recipes[0].clip
        self._template = copy.deepcopy(modules[0]).eval()
        half = recipes[0].precision == "bfloat16"
        objective = Objective(copy.deepcopy(modules[0]).train(), loss, shapes, half=half)
        self._stack(modules, max(2, self._runs))
        try:
            self._update, wanted = trace_update(objective, self._weights, self._others, *self._padded(first), name=name)
            if wanted != self._rows:
                self._stack(modules, wanted)
                self._update, _ = trace_update(objective, self._weights, self._others, *self._padded(first), name=name)
        except Exception as error:
            raise CannotBatchError(f"{type(error).__name__}: {error}") from error
        self._check(modules, first, half=half)
        self._start_optimiser()

    def step(self, batch: Batch, step: int) -> list[float]:
        """One update of every row; the loss of each run before it."""
        gradients, losses = self._update(self._weights, self._others, *self._padded(batch.to(self._device)))
        torch._foreach_copy_(self._gradients, [gradients[name] for name in self._weights])
        if self._clip is not None:
            norms = torch.linalg.vector_norm(self._gradient, dim=1, keepdim=True)
            self._gradient.mul_((self._clip / (norms + 1e-6)).clamp(max=1.0))
        self._optimiser.step(step)
        found: list[float] = losses.tolist()[: self._runs]
        return found

    def module(self, run: int) -> nn.Module:
        """A plain module with the weights of one row."""
        self._template.load_state_dict(self._row(run), strict=False)
        return self._template

    def state(self, run: int) -> State:
        """The run's row, taken apart by name."""
        kept = {WEIGHTS + name: value.detach().cpu().clone() for name, value in self.module(run).state_dict().items()}
        weight, place = self._block_of(run)
        for slot in SLOTS[self._recipes[0].optimiser]:
            found = self._optimiser.slot(weight, slot)
            if found is not None:
                for name, view in self._views(found).items():
                    kept[f"{OPTIMISER}{slot}.{name.removeprefix(_PREFIX)}"] = view[place].cpu().clone()
        return kept

    def load(self, run: int, state: State, *, step: int) -> None:
        """Write a run's state into its row, and into the copies of it."""
        for row in [run, *(range(self._runs, self._rows) if run == self._runs - 1 else [])]:
            for name, stack in {**self._weights, **self._others}.items():
                stack[row].copy_(state[WEIGHTS + name.removeprefix(_PREFIX)])
            self._remember(row, state, step)

    def _remember(self, row: int, state: State, step: int) -> None:
        weight, place = self._block_of(row)
        slots: dict[str, Tensor] = {}
        for slot in SLOTS[self._recipes[0].optimiser]:
            keys = {name: f"{OPTIMISER}{slot}.{name.removeprefix(_PREFIX)}" for name in self._weights}
            if any(key in state for key in keys.values()):
                found = self._optimiser.slot(weight, slot)
                slots[slot] = torch.zeros_like(weight) if found is None else found
                for name, view in self._views(slots[slot]).items():
                    view[place].copy_(state[keys[name]])
        self._optimiser.remember(weight, slots, step=step)

    def _stack(self, modules: Sequence[nn.Module], rows: int) -> None:
        """Write the weights into the rows of one matrix, each weight from a full vector on."""
        self._rows = rows
        copied = [modules[min(row, self._runs - 1)] for row in range(rows)]
        named = [dict(module.named_parameters()) for module in copied]
        trained = [name for name, weight in named[0].items() if weight.requires_grad]
        self._offsets, at = {}, 0
        for name in trained:
            self._offsets[_PREFIX + name] = (at, named[0][name].shape)
            at += -(-named[0][name].numel() // LANES) * LANES
        self._matrix, self._gradient = (torch.zeros(rows, at, device=self._device) for _ in range(2))
        self._weights = self._views(self._matrix)
        self._gradients = list(self._views(self._gradient).values())
        with torch.no_grad():
            for name in trained:
                for row, weights in enumerate(named):
                    self._weights[_PREFIX + name][row].copy_(weights[name])
        states = [module.state_dict(keep_vars=False) for module in copied]
        rest = [name for name in states[0] if _PREFIX + name not in self._weights]
        self._others = {_PREFIX + name: torch.stack([state[name] for state in states]) for name in rest}

    def _views(self, matrix: Tensor) -> dict[str, Tensor]:
        return {
            name: matrix[:, start : start + shape.numel()].view(len(matrix), *shape)
            for name, (start, shape) in self._offsets.items()
        }

    def _start_optimiser(self) -> None:
        """Neighbours with equal rates are one block of rows: one call of the optimiser each."""
        recipes = self._recipes + [self._recipes[-1]] * (self._rows - self._runs)
        self._blocks: list[tuple[int, Tensor]] = []
        groups: list[tuple[Recipe, list[Tensor]]] = []
        for recipe, places in groupby(range(self._rows), key=recipes.__getitem__):
            rows = list(places)
            block = self._matrix[rows[0] : rows[-1] + 1]
            block.grad = self._gradient[rows[0] : rows[-1] + 1]
            self._blocks.append((rows[0], block))
            groups.append((recipe, [block]))
        self._optimiser = Optimiser(groups)

    def _block_of(self, row: int) -> tuple[Tensor, int]:
        start, block = next((start, block) for start, block in reversed(self._blocks) if start <= row)
        return block, row - start

    def _row(self, run: int) -> State:
        return {name.removeprefix(_PREFIX): stack[run] for name, stack in {**self._weights, **self._others}.items()}

    def _padded(self, batch: Batch) -> tuple[Tensor, Tensor]:
        missing = self._rows - self._runs
        if not missing:
            return batch.inputs, batch.targets
        again = [self._runs - 1] * missing
        return torch.cat([batch.inputs, batch.inputs[again]]), torch.cat([batch.targets, batch.targets[again]])

    def _check(self, modules: Sequence[nn.Module], first: Batch, *, half: bool) -> None:
        """A trace that does not give each run's own loss has lost something of the model: then it is not used."""
        _, losses = self._update(self._weights, self._others, *self._padded(first))
        for run, module in enumerate(modules):
            with torch.no_grad():
                own = Objective(module, self._loss, self._shapes, half=half)(first.inputs[run], first.targets[run])
            if not torch.isclose(own.float(), losses[run].float(), rtol=_TOLERANCE, atol=_TOLERANCE, equal_nan=True):
                raise CannotBatchError("the batched model gives another loss than the model itself")


RunTrainer = SingleLearner | BatchedLearner
"""Runs in training, one or several as one."""


def trace_update(
    objective: nn.Module, weights: Stacked, others: Stacked, inputs: Tensor, targets: Tensor, *, name: str | None = None
) -> tuple[Update, int]:
    """The update of the runs whose stacked weights are given, and the number of rows that it wants.

    `others` are what is not trained. Where the number of rows wanted is not the number given, stack as many and trace
    again. A trace that has a name is kept for the next runs of that name and of the same sizes. Raises whatever torch
    raises for a model that cannot be batched.
    """
    key = (name, inputs.shape, inputs.dtype, targets.shape, targets.dtype)
    if name is not None and key in _KEPT:
        return _KEPT[key]
    base = copy.deepcopy(objective)

    def loss(trained: Stacked, rest: Stacked, x: Tensor, y: Tensor) -> Tensor:
        value: Tensor = functional_call(base, {**trained, **rest}, (x, y))
        return value

    batched = vmap(grad_and_value(loss), randomness="error")
    graph = make_fx(batched)(dict(weights), dict(others), inputs, targets)
    # Leave out what does nothing: views of the same shape, products with one, a transposition and its way back.
    for node in graph.graph.nodes:
        if node.op == "call_function" and (same := _same_as(node)) is not None:
            node.replace_all_uses_with(same)
    graph.graph.eliminate_dead_code()
    graph.recompile()
    update = graph, len(inputs) if _is_even(graph) else -(-len(inputs) // LANES) * LANES
    if name is not None:
        if len(_KEPT) >= _MOST_KEPT:
            _KEPT.pop(next(iter(_KEPT)))
        _KEPT[key] = update
    return update


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
