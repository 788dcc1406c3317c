"""What a learner is shown, and what it is then asked.

An *exposure* says, for any task, where the training examples come from and which sets of examples are asked about:
a splitter of `recombine` over the task's combinations, a sampler over continuous latents, or the sets that a
paper gives with its task. Sources draw latents; the task renders them.

A task's examples through torch's own `DataLoader`, for a training loop of one's own.

Splits by name: the splitters, the supports of continuous tasks, the tasks' own sets, and those of the user's own.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, is_dataclass, replace
from typing import Any, Protocol, final, runtime_checkable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from recombine.base.checks import check_listed, check_whole
from recombine.base.errors import SettingError
from recombine.base.seeds import derived
from recombine_lab.base.catalogue import Catalogue, Spec, settings_of
from recombine_lab.tasks.task import Codes, Part, Task, factor_columns

Rows = npt.NDArray[np.int64]


class Source(ABC):
    """Where examples come from."""

    @abstractmethod
    def draw(self, n: int, *, seed: int) -> Tensor:
        """The latents of n examples."""

    @abstractmethod
    def every(self) -> Tensor | None:
        """The latents of each example once, where they can be counted."""


@dataclass(frozen=True, eq=False)
class FiniteSource(Source):
    """Latents that can be listed, drawn evenly or by weight.

    >>> FiniteSource(torch.tensor([[0, 1], [1, 0]])).draw(3, seed=0).shape
    torch.Size([3, 2])
    """

    latents: Tensor
    weights: npt.NDArray[np.float64] | None = None

    def draw(self, n: int, *, seed: int) -> Tensor:
        """n of them, with replacement."""
        rng = torch.Generator().manual_seed(seed)
        if self.weights is None:
            rows = torch.randint(len(self.latents), (n,), generator=rng)
        else:
            rows = torch.multinomial(torch.from_numpy(self.weights), n, replacement=True, generator=rng)
        return self.latents[rows]

    def every(self) -> Tensor:
        """Each of them once."""
        return self.latents


@dataclass(frozen=True, eq=False)
class BinnedSource(Source):
    """Combinations of a continuous task: each draw is a new point within the bins of one of them."""

    task: Task
    codes: Codes

    def draw(self, n: int, *, seed: int) -> Tensor:
        """n points."""
        rng = torch.Generator().manual_seed(derived(seed, "cells"))
        rows = torch.randint(len(self.codes), (n,), generator=rng).numpy()
        return self.task.latents(self.codes[rows], seed=derived(seed, "points"))

    def every(self) -> None:
        """Points cannot be counted."""


def source_of(task: Task, codes: Codes) -> Source:
    """Combinations of a task as a source."""
    latents = task.latents(codes, seed=0)
    return BinnedSource(task, codes) if latents.is_floating_point() else FiniteSource(latents)


@dataclass(frozen=True, eq=False)
class Parts:
    """The training examples, and the sets that are asked about: usually `seen` and `unseen`, or `seen` and `all`."""

    train: Source
    tests: Mapping[str, Source]


@runtime_checkable
class HasRows(Protocol):
    """A task whose examples are the rows of a table: they are what is split, shown and asked."""

    def rows_table(self) -> pa.Table:
        """The factors and the target of every row."""

    def rows_of(self, part: Part) -> Rows:
        """The rows that may be used for a part."""

    def row_source(self, rows: Rows, *, part: Part) -> FiniteSource:
        """Rows as examples: latents with the number of the row behind the codes."""

    def spared(self, train: Rows) -> Rows:
        """Those of the training rows that are held back to be asked as `seen`."""


def parts_of_rows(task: HasRows, train: Rows, test: Rows) -> Parts:
    """Rows to train on, and rows to ask about, by whether training shows their combination.

    What is trained on is never asked as `seen`: that would take overfitting for a gap between combinations. Where no
    row that is held out has a combination that is shown, `seen` asks rows of the test part that have one, and where
    there are none of these either, training rows that are held back for it. With none to hold back there is no `seen`;
    and where nothing else is asked either, the training rows are asked under the name `trained`.
    """
    every = task.row_source(np.arange(len(task.rows_table())), part="test").every().numpy()[:, :-1]
    groups = np.unique(every, axis=0, return_inverse=True)[1]
    known = np.isin(groups, groups[train])
    asked = test[~np.isin(test, train)]
    seen, unseen = asked[known[asked]], asked[~known[asked]]
    if not len(seen):
        spare = np.setdiff1d(task.rows_of("test"), task.rows_of("train"))
        seen = spare[known[spare]]
    if not len(seen):
        seen = task.spared(train)
        train = train[~np.isin(train, seen)]
    sides = {"seen": seen, "unseen": unseen}
    tests = {name: task.row_source(rows, part="test") for name, rows in sides.items() if len(rows)}
    return Parts(task.row_source(train, part="train"), tests or {"trained": task.row_source(train, part="test")})


class Exposure(ABC):
    """Settings that say, for a task, what is shown and what is asked."""

    @abstractmethod
    def parts(self, task: Task, *, seed: int) -> Parts:
        """The sources, for one run's seed."""


@runtime_checkable
class GivesParts(Protocol):
    """A task that comes with sets of its own."""

    def own_parts(self, *, seed: int) -> Parts:
        """The sets that its paper gives."""


@dataclass(frozen=True)
class Own(Exposure):
    """The sets that the task itself comes with."""

    def parts(self, task: Task, *, seed: int) -> Parts:
        """Those of the task."""
        if not isinstance(task, GivesParts):
            raise SettingError(
                f"{type(task).__name__} has no split of its own",
                why="'own' stands for the sets that a task comes with",
                instead="give a splitter, for example HoldOutCombinations(factors=[…])",
            )
        return task.own_parts(seed=seed)


@dataclass(frozen=True)
class Everything(Exposure):
    """Every combination is shown, and asked about: nothing is unseen."""

    def parts(self, task: Task, *, seed: int) -> Parts:  # noqa: ARG002 - nothing is left to chance
        """All combinations on both sides."""
        if isinstance(task, HasRows):
            return parts_of_rows(task, task.rows_of("train"), task.rows_of("test"))
        source = source_of(task, task.every())
        return Parts(source, {"seen": source})


@dataclass(frozen=True, eq=False)
class HeldOut(Exposure):
    """A splitter of `recombine.verbs.split`, or any that splits as scikit-learn's do, over the task's combinations.

    Of a splitter that gives several splits, `fold` chooses one, counted from 0.
    """

    splitter: Any
    fold: int = 0

    def parts(self, task: Task, *, seed: int) -> Parts:  # noqa: ARG002 - the splitter has a seed of its own
        """Its training side, and both sides to ask about."""
        if isinstance(task, HasRows):
            train, test = self._rows(task.rows_table())
            used = np.intersect1d(train, task.rows_of("train")), np.intersect1d(test, task.rows_of("test"))
            return parts_of_rows(task, self._some(used[0], len(train) + len(test)), used[1])
        codes = task.every()
        train, test = (codes[rows] for rows in self._rows(task.table(codes)))
        self._some(train, len(codes))
        sides = {"seen": source_of(task, train), "unseen": source_of(task, test)}
        return Parts(sides["seen"], sides)

    def _some(self, train: Rows, size: int) -> Rows:
        if not len(train):
            raise SettingError(
                f"{self.splitter!r} leaves nothing to train on",
                why=f"all {size:,} examples of the task are held out, or are no training examples",
                instead="hold out fewer",
            )
        return train

    def _rows(self, table: pa.Table) -> tuple[Rows, Rows]:
        """Both sides. A splitter from elsewhere may know nothing of combinations: what it gives is checked."""
        folds = list(self.splitter.split(table))
        why = f"{self.splitter!r} gives {len(folds)} splits, counted from 0"
        most = len(folds) - 1
        check_whole("fold", self.fold, least=0, most=most, why=why, instead="write the number of one of them")
        train, test = (np.asarray(rows) for rows in folds[self.fold])
        for rows in (train, test):
            if len(rows) and (rows.dtype.kind not in "iu" or rows.min() < 0 or rows.max() >= len(table)):
                raise SettingError(
                    f"{self.splitter!r} gives rows that the task does not have",
                    why=f"rows are positions from 0 to {len(table) - 1:,}, one for each combination of the task",
                    instead="give a splitter that splits the table it is given",
                )
        both = len(np.intersect1d(train, test))
        if both:
            raise SettingError(
                f"{self.splitter!r} has {both:,} combinations on both sides",
                why="what is trained on is not unseen",
                instead="give a splitter whose sides have nothing in common, or Everything() to hold out nothing",
            )
        return train.astype(np.int64), test.astype(np.int64)


def as_exposure(split: Any) -> Exposure:
    """Whatever was given as a split, as an exposure."""
    if isinstance(split, Exposure):
        return split
    if callable(getattr(split, "split", None)):
        return HeldOut(split)
    raise SettingError(
        f"{split!r} is not a split",
        why="it is neither a splitter nor one of the tasks' supports",
        instead="give for example HoldOutCombinations(factors=[…]), or Own() for the task's own sets",
    )


SPLITS = Catalogue(
    "split",
    {
        "combination_k_fold": "recombine.verbs.split.random_holdout:CombinationKFold",
        "corner": "recombine.verbs.split.geometric_holdout:Corner",
        "diagonal": "recombine.verbs.split.geometric_holdout:Diagonal",
        "diagonal_band": "recombine_lab.tasks.continuous_supports:DiagonalBand",
        "donut": "recombine.verbs.split.geometric_holdout:Donut",
        "everything": "recombine_lab.tasks.exposure:Everything",
        "hold_out_combinations": "recombine.verbs.split.random_holdout:HoldOutCombinations",
        "hold_out_conjunctions": "recombine.verbs.split.conjunction_holdout:HoldOutConjunctions",
        "orthogonal": "recombine_lab.tasks.continuous_supports:Orthogonal",
        "orthogonal_planes": "recombine.verbs.split.geometric_holdout:OrthogonalPlanes",
        "own": "recombine_lab.tasks.exposure:Own",
        "random": "recombine_lab.tasks.continuous_supports:Random",
        "stripes": "recombine_lab.tasks.bumps:Stripes",
    },
    group="recombine_lab.splits",
)
_NESTED, _FOLD = "base", "fold"


def split_of(given: str | Spec | Any, task: Task) -> Exposure:
    """A split as an exposure: from a name, a spec, a splitter, or an exposure.

    A splitter whose spec leaves `factors` open is given all of the task's; `fold` chooses one of a splitter's splits;
    a spec under `base` is itself a split.

    >>> from recombine_lab.tasks.catalogue import TASKS
    >>> split_of({"name": "hold_out_combinations", "test_size": 0.25}, TASKS.build("addition")).splitter.test_size
    0.25
    """
    if not isinstance(given, str | Mapping):
        return as_exposure(given)
    settings: dict[str, Any] = {"name": given} if isinstance(given, str) else dict(given)
    fold = 0 if _has_setting(settings.get("name"), _FOLD) else settings.pop(_FOLD, 0)
    nested = settings.get(_NESTED)
    if isinstance(nested, str | Mapping):
        base = split_of(nested, task)
        settings[_NESTED] = base.splitter if isinstance(base, HeldOut) and not base.fold else base
    made = SPLITS.load(str(settings.get("name")))
    if not (isinstance(made, type) and (issubclass(made, Exposure) or callable(getattr(made, "split", None)))):
        return as_exposure(made)  # which refuses it, before it is called
    built = SPLITS.build(settings, factors=task.space.names)
    return built if isinstance(built, Exposure) else HeldOut(built, fold)


def split_spec(split: Exposure) -> dict[str, Any]:
    """A split as its name and all of its settings, as plain data; `split_of` turns it back."""
    if isinstance(split, HeldOut):
        return _nested_spec(split.splitter) | ({_FOLD: split.fold} if split.fold else {})
    return _nested_spec(split)


def _nested_spec(thing: Any) -> dict[str, Any]:
    nested = getattr(thing, _NESTED, None)
    if is_dataclass(thing) and nested is not None and not isinstance(nested, str | Mapping):
        # first the split within: a spec holds plain data only, and refuses an object
        thing = replace(thing, **{_NESTED: split_spec(as_exposure(nested))})  # type: ignore[type-var]
    return SPLITS.spec(thing)


def _has_setting(name: Any, setting: str) -> bool:
    return SPLITS.knows(name) and setting in settings_of(SPLITS.load(name))


_TRAIN = "train"


@final
@dataclass(frozen=True, eq=False)
class PartExamples(Dataset[tuple[Tensor, Tensor]]):
    """The examples of one part of a split, each rendered when it is asked for."""

    task: Task
    latents: Tensor
    part: Part
    seed: int

    def __len__(self) -> int:
        return len(self.latents)

    def __getitem__(self, place: int) -> tuple[Tensor, Tensor]:
        inputs, targets = self.__getitems__([place])
        return inputs[0], targets[0]

    def __getitems__(self, places: Sequence[int]) -> tuple[Tensor, Tensor]:
        """A batch at once, which is how torch's loader asks where it can."""
        seed = derived(self.seed, "render", *places[:1])
        batch = self.task.render(self.latents[list(places)], seed=seed, part=self.part)
        return batch.inputs, batch.targets

    def table(self) -> pa.Table:
        """The factors of each example, in their order, and the target where it is a single value."""
        columns: dict[str, Any] = factor_columns(self.task.space, self.task.combinations(self.latents))
        targets = self.__getitems__(range(len(self)))[1]
        names = self.task.shapes.names
        if self.task.shapes.kind == "classes":
            columns["target"] = pa.array([names[one] if names else one for one in targets.tolist()])
        elif targets.numel() == len(targets):
            columns["target"] = pa.array(targets.reshape(-1).tolist())
        return pa.table(columns)


def loader(
    task: Task, split: Any, *, part: str, batch_size: int, samples: int | None, seed: int
) -> DataLoader[tuple[Tensor, Tensor]]:
    """The batches of a part; see `Task.loader`."""
    parts = split_of(split, task).parts(task, seed=derived(seed, "split"))
    sources = {_TRAIN: parts.train, **parts.tests}
    check_listed(part, list(sources), f"no part {part!r}", why="this split has none of that name")
    source = sources[part]
    weighted = isinstance(source, FiniteSource) and source.weights is not None
    listed = source.every()
    if samples is None and weighted and listed is not None:
        samples = len(listed)
    if samples is None and listed is None:
        raise SettingError(
            f"part={part!r} without samples",
            why="the examples are points of a continuous task, and cannot be counted",
            instead="write how many are to be drawn, for example samples=1000",
        )
    latents = listed if samples is None else source.draw(samples, seed=derived(seed, part))
    side: Part = "train" if part == _TRAIN else "test"
    assert latents is not None  # noqa: S101 - counted or drawn
    return DataLoader(
        PartExamples(task, latents, side, seed),
        batch_size=batch_size,
        shuffle=part == _TRAIN,
        collate_fn=lambda batch: batch,  # it is one already
        generator=torch.Generator().manual_seed(derived(seed, "order")),
    )
