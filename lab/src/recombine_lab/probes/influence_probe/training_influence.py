"""The second question: which seen combinations taught the network what it says of unseen ones?

The influence of combinations for networks too large to solve exactly, by dattri's influence functions.

An approximation: conjugate gradients for the inverse Hessian, to first order. dattri scores rows; here they are summed
for each combination, which is what nobody reports.
"""

import copy
from collections.abc import Sequence
from contextlib import redirect_stderr
from dataclasses import replace
from importlib import import_module
from io import StringIO
from typing import Any

import numpy as np
import pyarrow as pa
from torch import Tensor, nn
from torch.func import functional_call
from torch.utils.data import DataLoader, TensorDataset

from recombine.base.errors import SettingError
from recombine.base.progress import Progress
from recombine_lab.models.layers import Forward
from recombine_lab.probes.influence_probe.influence_figures import training_figures, training_measures
from recombine_lab.probes.influence_probe.influence_functions import MOST_WEIGHTS, InfluenceMatrix, taught
from recombine_lab.probes.influence_probe.influence_summary import retrained, summed
from recombine_lab.probes.influence_probe.module_answers import Network, double, loss_of
from recombine_lab.probes.influence_probe.probe_examples import ProbeExamples, combinations_of, examples_of
from recombine_lab.probes.influence_probe.questions import Half, TrainingRows
from recombine_lab.probes.influence_probe.verdict import said_of_teaching

DAMPING = 1e-2
_STEPS = 50


def taught_by_dattri(
    module: nn.Module,
    seen: ProbeExamples,
    unseen: ProbeExamples,
    *,
    loss: str = "auto",
    weight_decay: float = 0.0,
    damping: float | None = None,
    factors: Sequence[str] | None = None,
) -> InfluenceMatrix:
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
    return InfluenceMatrix(
        seen=seen_names,
        unseen=unseen_names,
        influence=by_both,
        first_order=by_both,
        loss=np.bincount(asked, weights=own) / np.bincount(asked),
        rows=np.bincount(groups).astype(np.int64),
        damping=chosen,
        how="dattri, conjugate gradients",
    )


def _outputs(module: nn.Module, rows: ProbeExamples) -> Tensor:
    return Network.of(module).outputs(rows.inputs).detach()


def scores_of(module: nn.Module, seen: ProbeExamples, unseen: ProbeExamples, *, loss: str, shift: float) -> Any:
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


RETRAINED = 12
"""Combinations that are left out for real, at most."""


def teaching_half(
    module: nn.Module, given: TrainingRows, forward: Forward | None, *, seed: int, tell: Progress
) -> Half:
    """The second half: the training combinations."""
    rows = {"seen": given.seen, "unseen": given.unseen}
    missing = [name for name, one in rows.items() if one is None]
    if missing:
        raise SettingError(
            f"no {missing[0]}",
            why="what seen combinations taught of unseen ones takes rows of both",
            instead=f"write {missing[0]}=(inputs, targets, table)",
        )
    seen, unseen = (examples_of(one, name) for name, one in rows.items())
    factors = _shared_factors(seen, unseen)
    shared: dict[str, Any] = {"loss": given.loss, "factors": factors}
    held: dict[str, Any] = {"weight_decay": given.weight_decay, "damping": given.damping}
    large = sum(weight.numel() for weight in module.parameters()) > MOST_WEIGHTS
    if given.method == "dattri" or (given.method == "auto" and large):
        found = taught_by_dattri(module, seen, unseen, **shared, **held)
    else:
        more: dict[str, Any] = {"start": given.start, "forward": forward, "progress": tell}
        found = taught(module, seen, unseen, **shared, **held, **more)
    actual = None
    if given.train is not None:
        settings = {**shared, "forward": forward, "most": RETRAINED, "seed": seed}
        actual = retrained(given.train, seen, unseen, **settings, progress=tell)
    total = summed(found, actual, seed=seed)
    listed = found.table()
    if actual is not None:
        plain = [None if not np.isfinite(value) else float(value) for value in actual.flatten()]
        listed = listed.append_column("retrained", pa.array(plain, pa.float64()))
    numbers = {"influence from neighbours": total.share, "damping": found.damping}
    if total.rank is not None:
        numbers["rank correlation with training again"] = total.rank.value
    said = said_of_teaching(total)
    said = replace(said, reasons=(*said.reasons, f"Worked out by {found.how}, damping {found.damping:.3g}."))
    return Half(said, training_measures(total), numbers, {"combinations": listed}, training_figures(found), len(seen))


def _shared_factors(seen: ProbeExamples, unseen: ProbeExamples) -> list[str]:
    factors = [name for name in seen.table.column_names if name in unseen.table.column_names]
    if not factors:
        raise SettingError(
            "seen and unseen have no factor in common",
            why=f"the one has {', '.join(seen.table.column_names)}, the other {', '.join(unseen.table.column_names)}",
            instead="give both tables the same columns",
        )
    return factors
