"""The influence of combinations for networks too large to solve exactly, by dattri's influence functions.

An approximation: conjugate gradients for the inverse Hessian, to first order. dattri scores rows; here they are summed
for each combination, which is what nobody reports.
"""

import copy
from collections.abc import Sequence
from contextlib import redirect_stderr
from importlib import import_module
from io import StringIO
from typing import Any

import numpy as np
from torch import Tensor, nn
from torch.func import functional_call
from torch.utils.data import DataLoader, TensorDataset

from recombine.errors import SettingError
from recombine_lab.probes.influences.examples import Examples, combinations_of
from recombine_lab.probes.influences.outputs import Network, double, loss_of
from recombine_lab.probes.influences.teaching import Taught

DAMPING = 1e-2
_STEPS = 50


def taught_by_dattri(
    module: nn.Module,
    seen: Examples,
    unseen: Examples,
    *,
    loss: str = "auto",
    weight_decay: float = 0.0,
    damping: float | None = None,
    factors: Sequence[str] | None = None,
) -> Taught:
    """As `taught`, to first order and approximately; only `first_order` and, equal to it, `influence` are known."""
    names = list(factors or seen.table.column_names)
    groups, seen_names = combinations_of(seen.table, names)
    asked, unseen_names = combinations_of(unseen.table, names)
    chosen = DAMPING if damping is None else damping
    scores = scores_of(module, seen, unseen, loss=loss, shift=chosen + weight_decay)
    by_seen = np.zeros((len(seen_names), len(unseen)))
    np.add.at(by_seen, groups, scores / len(seen))
    by_both = np.zeros((len(unseen_names), len(seen_names)))
    np.add.at(by_both, asked, by_seen.T)
    by_both /= np.bincount(asked)[:, None]
    rule, outputs = loss_of(loss, seen.targets), _outputs(module, unseen)
    own = rule.value(outputs, unseen.targets).numpy()
    return Taught(
        seen=seen_names,
        unseen=unseen_names,
        influence=by_both,
        first_order=by_both,
        loss=np.bincount(asked, weights=own) / np.bincount(asked),
        rows=np.bincount(groups).astype(np.int64),
        damping=chosen,
        how="dattri, conjugate gradients",
    )


def _outputs(module: nn.Module, rows: Examples) -> Tensor:
    return Network.of(module).outputs(rows.inputs).detach()


def scores_of(module: nn.Module, seen: Examples, unseen: Examples, *, loss: str, shift: float) -> Any:
    """(n, rows asked) dattri's own scores: the slope of each row's loss along what each training row adds."""
    task_room, methods = needed("dattri.task"), needed("dattri.algorithm.influence_function")
    if not isinstance(seen.inputs, Tensor):
        raise SettingError(
            "method='dattri' with inputs by keyword",
            why="dattri's loaders hold plain tensors",
            instead="give `forward` and inputs as one tensor, or wrap the module",
        )
    rule = loss_of(loss, seen.targets)

    def mean_loss(weights: Any, data: Any) -> Tensor:
        inputs, targets = data
        # dattri asks for the loss of a batch, and row by row for that of a row without its axis
        alone = targets.ndim == seen.targets.ndim - 1
        inputs, targets = (inputs[None], targets[None]) if alone else (inputs, targets)
        found = functional_call(module, weights, (inputs,))
        return rule.value(found.reshape(len(found), -1), targets).mean()

    loaders = [
        DataLoader(TensorDataset(double(rows.inputs), _wide(rows.targets)), batch_size=len(rows), shuffle=False)
        for rows in (seen, unseen)
    ]
    module = copy.deepcopy(module).double().eval()
    task = task_room.AttributionTask(loss_func=mean_loss, model=module, checkpoints=module.state_dict())
    steps = min(_STEPS, sum(weight.numel() for weight in module.parameters()))
    while steps:
        attributor = methods.IFAttributorCG(task=task, max_iter=steps, regularization=shift)
        with redirect_stderr(StringIO()):  # its bars
            attributor.cache(loaders[0])
            found = attributor.attribute(*loaders).detach().double().cpu().numpy()
        if np.isfinite(found).all():
            return found
        steps //= 2  # dattri's conjugate gradients divide nothing by nothing once they have converged
    raise SettingError(
        f"method='dattri' with damping={shift:.3g}",
        why="its conjugate gradients give no finite number, whatever the number of steps",
        instead="write a larger damping",
    )


def _wide(targets: Tensor) -> Tensor:
    return targets.double() if targets.is_floating_point() else targets.long()


def needed(module: str) -> Any:
    """A module of dattri, or a sentence that says how to install it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise SettingError(
            "method='dattri'",
            why=f"it takes {error.name}, which is not installed",
            instead="pip install dattri, or write method='exact' for a network of fewer weights",
        ) from error
