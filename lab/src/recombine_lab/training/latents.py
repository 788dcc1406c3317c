"""A run's trained network, and what a layer of it gives for each test example: what probes look at."""

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from safetensors import SafetensorError
from safetensors.torch import load as tensors_of
from torch import nn

from recombine.base.errors import RecordError, SettingError, nearest
from recombine_lab.models.catalogue import MODELS
from recombine_lab.models.layers import layer_of, watching
from recombine_lab.models.model import Model
from recombine_lab.runs.run import Run
from recombine_lab.tasks.catalogue import TASKS
from recombine_lab.training.losses import answers
from recombine_lab.training.member import Member
from recombine_lab.training.pack import job_of
from recombine_lab.training.trust import check_run


def module_of(run: Run) -> nn.Module:
    """The network of a finished run, built from its configuration, with the weights that were kept."""
    if run.weights is None:
        raise SettingError(
            f"the weights of run {run.key[:8]} were not kept",
            why="its recipe says keep_model=False, or an earlier version of recombine trained it",
            instead="train it again with keep_model=True in its recipe",
        )
    module: nn.Module = _build_module(run) if run.start is None else run.start()
    try:
        module.load_state_dict(tensors_of(run.weights()))
    except (SafetensorError, RuntimeError) as error:
        raise RecordError(
            f"the weights of run {run.key[:8]} do not fit its model",
            why=str(error).splitlines()[0],
            instead="train it again with keep_model=True",
        ) from error
    return module.eval()


def _build_module(run: Run) -> nn.Module:
    """As `job_of`, but for the split: earlier versions wrote its settings by other names, and no weight hangs on it."""
    check_run(run)
    model: Model = MODELS.build(run.configuration.model)
    return model.start(TASKS.build(run.configuration.task).shapes, seed=0)


def latents_of(run: Run, layer: str, part: str | None) -> npt.NDArray[Any]:
    """(n, …) The layer's outputs, in the order of the run's table `predictions`; of one part where one is named."""
    module = module_of(run)
    layer_of(module, layer)
    member = Member(job_of(run))
    named = {question.name: question for question in member.questions}
    if part is not None and part not in named:
        raise SettingError(
            f"no part {part!r}", why="the run was not asked about it", instead=nearest(part, list(named))
        )
    found: list[npt.NDArray[Any]] = []
    with torch.no_grad(), watching(module, [layer]) as kept:
        for name, question in named.items():
            for batch in question.chunks() if part in (None, name) else ():
                answers(module, batch, member.job.task.shapes)
                found.append(kept[layer].cpu().numpy())
    return np.concatenate(found) if found else np.zeros((0,))
