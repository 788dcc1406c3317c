"""Cells from the lab's tasks: symbols, pictures of pairs, drawings, the toy of two numbers."""

from dataclasses import replace
from typing import Any

import numpy as np
import torch

from recombine.base.seeds import derived
from recombine_lab.tasks.exposure import Own, as_exposure
from recombine_lab.tasks.task import Task
from validity_cells.data import Array, Data, Rows, data_of, keys
from validity_cells.points import answers, shown


def from_task(task: Task, split: Any = None, *, rows: int | None = None, noise: float = 0.0, asked: int = 800) -> Data:
    """What a split shows of a task. Without `rows`, examples do not vary, and each combination is there once.

    `noise` is the deviation of what is added to every number of the inputs.
    """
    parts = (as_exposure(split) if split is not None else Own()).parts(task, seed=0)
    tests = {name: parts.tests[name] for name in ("seen", "unseen" if "unseen" in parts.tests else "all")}
    shown, known, other = (
        _latents(source, n, name)
        for name, source, n in (("train", parts.train, rows), *((k, v, rows and asked) for k, v in tests.items()))
    )
    seen, fresh, unseen = (
        _rendered(task, latents, seed=seed, part=part)
        for latents, seed, part in ((shown, 1, "train"), (known, 2, "test"), (other, 3, "test"))
    )
    if noise:
        rng = np.random.default_rng(derived(0, "cell", "noise"))
        seen, fresh, unseen = (replace(one, inputs=_noisy(one.inputs, noise, rng)) for one in (seen, fresh, unseen))
    left = ~np.isin(keys(unseen.codes, task.space.sizes), keys(seen.codes, task.space.sizes))
    return data_of(seen, fresh, unseen[left], label=task.shapes.kind == "classes")


def _noisy(inputs: Array, noise: float, rng: np.random.Generator) -> Array:
    return inputs + noise * rng.normal(size=inputs.shape).astype(np.float32)


def _latents(source: Any, n: int | None, name: str) -> torch.Tensor:
    """Each example once, or n of them: as often as each other where they can be listed."""
    listed = source.every()
    if n is None:
        return listed
    if listed is None:
        return source.draw(n, seed=derived(0, "cell", name))
    order = np.random.default_rng(derived(0, "cell", name)).permutation(len(listed))
    return listed[torch.from_numpy(np.resize(order, n))]


def _rendered(task: Task, latents: torch.Tensor, *, seed: int, part: Any) -> Rows:
    batch = task.render(latents, seed=derived(seed, "render"), part=part)
    target: Array = batch.targets.numpy()
    target = target.reshape(len(target), -1) if task.shapes.kind == "values" else target
    target = target[:, 0] if target.ndim == 2 and target.shape[1] == 1 else target
    return Rows(batch.inputs.numpy(), target, task.combinations(latents))


def symbols(sizes: tuple[int, ...], rule: str, support: str) -> Data:
    """A rule of `points`, its values told one unit each: no noise, and every combination once."""
    codes = np.indices(sizes).reshape(len(sizes), -1).T
    rng = np.random.default_rng(derived(0, "symbols", repr((sizes, rule, support))))
    target, label = answers(codes, sizes, rule, rng)
    inputs = np.concatenate([np.eye(size)[codes[:, k]] for k, size in enumerate(sizes)], axis=1)
    rows, seen = Rows(inputs, target, codes), shown(codes, sizes, support, rng)
    return data_of(rows[seen], rows[seen], rows[~seen], label=label)
