"""A network while it is trained: modules, or state dicts that are put into copies of it, by step."""

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor, nn

from recombine.errors import SettingError

Checkpoints = Mapping[Any, nn.Module | Mapping[str, Tensor]] | Sequence[tuple[Any, nn.Module | Mapping[str, Tensor]]]


def snapshots_of(module: nn.Module, checkpoints: Checkpoints | None) -> dict[str, nn.Module]:
    """A module for each step, in the order of the steps.

    >>> network = nn.Linear(1, 1)
    >>> list(snapshots_of(network, {10: network.state_dict(), 1: network}))
    ['1', '10']
    """
    pairs = list(checkpoints.items()) if isinstance(checkpoints, Mapping) else list(checkpoints or [])
    if any(not isinstance(pair, tuple | list) or len(pair) != 2 for pair in pairs):
        raise SettingError(
            "checkpoints without steps",
            why="a network is shown by step",
            instead="write checkpoints={step: state dict}",
        )
    ordered = sorted(pairs, key=lambda pair: (not isinstance(pair[0], int), pair[0] if isinstance(pair[0], int) else 0))
    return {str(step): _made(module, step, one) for step, one in ordered}


def _made(module: nn.Module, step: Any, one: Any) -> nn.Module:
    if isinstance(one, nn.Module):
        return one
    made = copy.deepcopy(module)
    try:
        made.load_state_dict(one)
    except (RuntimeError, TypeError, AttributeError) as error:
        raise SettingError(
            f"the checkpoint of step {step}",
            why=f"it does not fit the model: {str(error).strip().splitlines()[-1].strip()}",
            instead="give state dicts of the same network, or modules",
        ) from error
    return made
