"""What a run of the lab says by itself: its points, its composition, the true components, and what it learned."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from recombine.base.errors import SettingError
from recombine.base.seeds import derived
from recombine_lab.models.layers import evaluating
from recombine_lab.probes.run_inputs import RunInputs, run_name
from recombine_lab.probes.support_probe.component_outputs import Components
from recombine_lab.runs.run import Run
from recombine_lab.tasks.sprites import Sprites
from recombine_lab.tasks.task import ContinuousTask

_FRESH = 10_000
"""Points that stand for those of a run which drew new ones at every step."""
_ASKED = 512


@dataclass(frozen=True, eq=False)
class RunPoints:
    """What a run gives to the probe; `learned` is None where its network has no components, and `said` tells why."""

    points: dict[str, npt.NDArray[np.float64]]
    slots: dict[str, list[str]]
    query: npt.NDArray[np.float64]
    composition: str
    truth: Sprites
    learned: Components | None
    said: str | None


def points_of_run(run: Any, *, seed: int) -> RunPoints:
    """The run's own settings, or why it has none."""
    if not isinstance(run, Run):
        raise SettingError(
            f"model of type {type(run).__name__}",
            why="only a run of the lab says by itself which points it was shown and how they are composed",
            instead="give points=, slots=, composition= and components=model",
        )
    known = RunInputs.of(run)
    task = known.task
    if not isinstance(task, Sprites) or task.slots < 2:
        raise SettingError(
            f"{run_name(run)} is of the task {run.configuration.task.get('name')!r}",
            why="of the lab's tasks only sprites with two slots or more have a known composition of slots",
            instead="give points=, slots= and composition= yourself, or ask recombine.audit about combinations",
        )
    shown = known.shown(_FRESH, seed=known.member.seed)[0].numpy().astype(np.float64)
    return RunPoints(
        points=_named(task, shown),
        slots={
            _called(slot): [name for name in task.space.names if name.endswith(str(slot))] for slot in range(task.slots)
        },
        query=np.random.default_rng(derived(seed, "cube")).random((_ASKED, len(task.ranges))),
        composition=task.composition,
        truth=task,
        **_learned(known, task),
    )


def _called(slot: int) -> str:
    return f"slot {slot}"


def _named(task: ContinuousTask, rows: npt.NDArray[np.float64]) -> dict[str, npt.NDArray[np.float64]]:
    return {latent.name: rows[:, place] for place, latent in enumerate(task.ranges)}


def _learned(known: RunInputs, task: Sprites) -> dict[str, Any]:
    module = known.module
    own = getattr(module, "composition", None)
    if not hasattr(module, "components"):
        kind = known.run.configuration.model.get("name")
        said = f"A {kind} network has no components of its own, so none were compared."
        return {"learned": None, "said": said}
    if own != task.composition:
        said = f"The network composes by {own}, the data by {task.composition}: its components are of another kind."
        return {"learned": None, "said": said}
    return {"learned": Components("learned", _giver(module, task)), "said": None}


def _giver(module: nn.Module, task: Sprites) -> Callable[[Tensor], Tensor]:
    def give(latents: Tensor) -> Tensor:
        with evaluating(module), torch.no_grad():
            found: Tensor = module.components(task.values(latents).flatten(1))  # type: ignore[operator]
        return found

    return give
