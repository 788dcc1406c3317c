"""One task in three settings: A as it is, B with the redundant factor randomised, B-noise with noise in its place.

Tasks that come with such settings of their own (`Toy`, `DigitPairs`) are taken at their word. For any other: in B the
redundant factor of every training example is drawn evenly among its values, whatever the others are. In B-noise the
combinations stay those of A, and every input that the redundant factor ever changes gets the number that it has in
another row, each input from a row of its own, so that nothing is left but its spread. What is asked stays as in A; only
`seen` is asked like the training examples in B. In B the combinations asked about have been seen: it cannot be helped.
"""

from dataclasses import dataclass, replace
from typing import Any, Literal, get_args, get_type_hints

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from recombine.errors import SettingError, nearest
from recombine.seeds import derived
from recombine.tables.space import Space
from recombine_lab.probes.influences.locating import discovered
from recombine_lab.tasks.exposure import Exposure, Parts, Source
from recombine_lab.tasks.splits import split_of
from recombine_lab.tasks.task import Batch, Codes, Part, Shapes, Task

SettingName = Literal["A", "B", "B-noise"]
SETTINGS: tuple[SettingName, ...] = get_args(SettingName)
_TRIED = 64


def in_setting(task: Task, split: Any, redundant: str | None, setting: SettingName) -> tuple[Task, Any]:
    """The task and the split of a setting.

    >>> from recombine_lab.tasks import Toy
    >>> in_setting(Toy(), "own", None, "B")[0].setting
    'B'
    """
    if setting in own_settings(task):
        return replace(task, setting=setting), split  # type: ignore[type-var]
    if setting == "A":
        return task, split
    place = _place(task, redundant)
    if setting == "B":
        _check_redundant(task, place)
        return task, _Randomised(split_of(split, task), place)
    base = split_of(split, task)
    return _Noised(base=task, mask=_mask(task, base, place)), _Marked(base)


def own_settings(task: Task) -> tuple[str, ...]:
    """The settings that a task has itself."""
    return get_args(get_type_hints(type(task)).get("setting"))


def _place(task: Task, redundant: str | None) -> int:
    names = list(task.space.names)
    if redundant not in names:
        raise SettingError(
            f"redundant={redundant!r}",
            why=f"the task's factors are {', '.join(names)}, and one of them is randomised in B",
            instead=nearest(str(redundant), names),
        )
    return names.index(redundant)


def _check_redundant(task: Task, place: int) -> None:
    """A factor that the answer depends on cannot be randomised: the task would be another one."""
    codes = task.every()
    truth = task.truth(codes)
    if truth is None:
        return
    rest = np.unique(np.delete(codes, place, axis=1), axis=0, return_inverse=True)[1].reshape(-1)
    values = np.unique(np.stack([rest, np.unique(truth, return_inverse=True)[1].reshape(-1)], axis=1), axis=0)
    if len(values) > len(np.unique(rest)):
        raise SettingError(
            f"redundant={task.space.names[place]!r}",
            why="the right answer depends on it, so that it is not redundant",
            instead="name a factor that the answer does not depend on",
        )


@dataclass(frozen=True, eq=False)
class _EvenSource(Source):
    """A source with one column of its latents drawn evenly."""

    base: Source
    place: int
    values: Tensor | None

    def draw(self, n: int, *, seed: int) -> Tensor:
        latents = self.base.draw(n, seed=seed).clone()
        rng = torch.Generator().manual_seed(derived(seed, "randomised"))
        if self.values is None:
            latents[:, self.place] = torch.rand(n, generator=rng)
        else:
            latents[:, self.place] = self.values[torch.randint(len(self.values), (n,), generator=rng)]
        return latents

    def every(self) -> Tensor | None:
        listed = self.base.every()
        if listed is None or self.values is None:
            return None
        wide = listed.repeat_interleave(len(self.values), 0)
        wide[:, self.place] = self.values.repeat(len(listed))
        found: Tensor = torch.unique(wide, dim=0)
        return found


@dataclass(frozen=True, eq=False)
class _Randomised(Exposure):
    """Setting B of any split."""

    base: Exposure
    place: int

    def parts(self, task: Task, *, seed: int) -> Parts:
        parts = self.base.parts(task, seed=seed)
        listed = parts.train.every()
        values = None if listed is None else torch.unique(listed[:, self.place])
        train = _EvenSource(parts.train, self.place, values)
        return Parts(train, {name: train if name == "seen" else one for name, one in parts.tests.items()})


@dataclass(frozen=True, eq=False)
class _MarkedSource(Source):
    """A source whose latents say in one column more that noise is to be put in."""

    base: Source

    def draw(self, n: int, *, seed: int) -> Tensor:
        return _marked(self.base.draw(n, seed=seed))

    def every(self) -> Tensor | None:
        listed = self.base.every()
        return None if listed is None else _marked(listed)


def _marked(latents: Tensor) -> Tensor:
    return torch.cat([latents, torch.ones_like(latents[:, :1])], dim=1)


@dataclass(frozen=True, eq=False)
class _Marked(Exposure):
    """Setting B-noise of any split: training is marked, what is asked is not."""

    base: Exposure

    def parts(self, task: Task, *, seed: int) -> Parts:
        own = task.base if isinstance(task, _Noised) else task
        parts = self.base.parts(own, seed=seed)
        return Parts(_MarkedSource(parts.train), parts.tests)


@dataclass(frozen=True, eq=False, kw_only=True)
class _Noised(Task):
    """A task that renders marked latents with noise where a factor is."""

    base: Task
    mask: Tensor

    @property
    def space(self) -> Space:
        return self.base.space

    @property
    def shapes(self) -> Shapes:
        return self.base.shapes

    def truth(self, combinations: Codes) -> npt.NDArray[Any] | None:
        return self.base.truth(combinations)

    def latents(self, combinations: Codes, *, seed: int) -> Tensor:
        return self.base.latents(combinations, seed=seed)

    def combinations(self, latents: Tensor) -> Codes:
        return self.base.combinations(latents[:, : self._width])

    def render(self, latents: Tensor, *, seed: int, part: Part) -> Batch:
        batch = self.base.render(latents[:, : self._width], seed=seed, part=part)
        if latents.shape[1] == self._width:
            return batch
        rng = torch.Generator().manual_seed(derived(seed, "noise"))
        inputs = batch.inputs.clone()
        held = inputs[:, self.mask]
        order = torch.rand(held.shape, generator=rng).argsort(dim=0)
        inputs[:, self.mask] = held.gather(0, order)
        return Batch(inputs, batch.targets)

    @property
    def _width(self) -> int:
        return len(self.base.space.factors)


def _mask(task: Task, split: Exposure, place: int) -> Tensor:
    """The inputs that the factor ever changes."""
    parts = split.parts(task, seed=0)
    latents = torch.cat([one.draw(_TRIED, seed=0) for one in (parts.train, *parts.tests.values())])
    name = task.space.names[place]

    def swapped(_: str, donors: npt.NDArray[np.int64]) -> Tensor:
        changed = latents.clone()
        changed[:, place] = latents[torch.from_numpy(donors), place]
        return task.render(changed, seed=0, part="train").inputs

    found = discovered(task.render(latents, seed=0, part="train").inputs, (name,), swapped)
    if name not in found.masks:
        raise SettingError(
            f"B-noise with redundant={name!r}",
            why="which inputs it changes cannot be found, so that no noise can be put in their place",
            instead="leave B-noise out: settings=('A', 'B')",
        )
    return found.masks[name]
