"""What a layer of a trained network gives for each test example: what probes look at."""

from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from recombine.errors import SettingError, nearest
from recombine.lab.models.layers import layer_of, watching
from recombine.lab.runs.run import Run
from recombine.lab.training.checkpoints import check_known, module_of
from recombine.lab.training.losses import answers
from recombine.lab.training.member import Member
from recombine.lab.training.pack import jobs_of


def latents_of(run: Run, layer: str, part: str | None) -> npt.NDArray[Any]:
    """(n, …) The layer's outputs, in the order of the run's table `predictions`; of one part where one is named."""
    module = module_of(run)
    layer_of(module, layer)
    check_known(run)
    member = Member(jobs_of([run.configuration])[0])
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
