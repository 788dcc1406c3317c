"""Weights as bytes: of a run that is not finished yet, with all that it goes on from, and of a finished one."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load as tensors_of
from safetensors.torch import save as bytes_of
from torch import Tensor, nn

from recombine.base.errors import RecordError
from recombine_lab.runs.run import Run
from recombine_lab.training.learners import OPTIMISER, WEIGHTS, State
from recombine_lab.training.questions import Evaluated

Way = Literal["alone", "together"]
_CELLS = "evaluation."


@runtime_checkable
class RunStore(Protocol):
    """The part of a run store that training uses."""

    def has(self, key: str) -> bool: ...  # noqa: D102
    def get(self, key: str) -> Run: ...  # noqa: D102
    def file(self, key: str, name: str) -> bytes: ...  # noqa: D102
    def put(self, run: Run, *, files: Mapping[str, bytes] = ...) -> bool: ...  # noqa: D102
    def save_state(self, name: str, state: bytes, meta: Mapping[str, Any]) -> None: ...  # noqa: D102
    def load_state(self, name: str) -> tuple[bytes, dict[str, Any]] | None: ...  # noqa: D102
    def drop_state(self, name: str) -> None: ...  # noqa: D102


@dataclass(frozen=True, eq=False, kw_only=True)
class Unfinished:
    """Where a run stands after `step` updates, and in which way it is trained: it goes on in the same one."""

    step: int
    way: Way
    seconds: float
    tensors: State
    evaluations: tuple[Evaluated, ...]


def save_unfinished(store: RunStore, key: str, run: Unfinished) -> None:
    """Keep a run's state in a store, in place of an earlier one."""
    cells = {f"{_CELLS}{place}": torch.from_numpy(one.cells) for place, one in enumerate(run.evaluations)}
    tensors = {name: value.contiguous() for name, value in (run.tensors | cells).items()}
    curve = [{name: value for name, value in asdict(one).items() if name != "cells"} for one in run.evaluations]
    meta = {"key": key, "step": run.step, "way": run.way, "seconds": run.seconds, "curve": curve}
    store.save_state(key, bytes_of(tensors), meta)


def load_unfinished(store: RunStore, key: str, module: nn.Module) -> Unfinished | None:
    """A run's state, checked against the model that it is for; None where there is none."""
    found = store.load_state(key)
    if found is None:
        return None
    content, meta = found
    try:
        tensors = tensors_of(content)
        step, way, seconds, curve = int(meta["step"]), meta["way"], float(meta["seconds"]), meta["curve"]
        cells = [tensors.pop(f"{_CELLS}{place}").numpy() for place in range(len(curve))]
    except (SafetensorError, KeyError, TypeError, ValueError) as error:
        raise _unusable(key, f"it cannot be read: {error}") from error
    _check_fits(key, tensors, module)
    evaluations = tuple(
        Evaluated(**line, cells=np.asarray(errors, dtype=np.float64)) for line, errors in zip(curve, cells, strict=True)
    )
    return Unfinished(step=step, way=way, seconds=seconds, tensors=tensors, evaluations=evaluations)


def weights_of(state: State) -> bytes:
    """The weights of a state, as they are kept beside a finished run."""
    kept = {name.removeprefix(WEIGHTS): value for name, value in state.items() if name.startswith(WEIGHTS)}
    return bytes_of({name: value.contiguous() for name, value in kept.items()})


def _check_fits(key: str, tensors: Mapping[str, Tensor], module: nn.Module) -> None:
    wanted = {name: tuple(value.shape) for name, value in module.state_dict().items()}
    held = {name.removeprefix(WEIGHTS): tuple(v.shape) for name, v in tensors.items() if name.startswith(WEIGHTS)}
    wrong = [name for name in {**wanted, **held} if wanted.get(name) != held.get(name)]
    slots = [name for name in tensors if name.startswith(OPTIMISER)]
    wrong += [name for name in slots if tuple(tensors[name].shape) != wanted.get(name.split(".", 2)[2])]
    if wrong:
        name = wrong[0]
        plain = name.split(".", 2)[2] if name.startswith(OPTIMISER) else name
        held_shape = tuple(tensors[name].shape) if name in tensors else held.get(name)
        raise _unusable(key, f"its {name!r} is {held_shape}, where the model has {wanted.get(plain)}")


def _unusable(key: str, why: str) -> RecordError:
    return RecordError(
        f"the unfinished state of run {key} is of another model",
        why=why,
        instead=f"drop it, and the run starts again: store.drop_state({key!r}), or `recombine runs prune STORE`",
    )
