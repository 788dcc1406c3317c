"""The user's own examples as a task: a table of factors, an input for each row, a target.

What is decided:
- A row is an example. With any splitter each row of the training side is one training example, but for those that are
  held back, so that combinations occur as often as they do in the table; `balance` is asked for where they should not.
  What is held out is a row too.
- A combination exists where the table has a row of it. `every()` goes over those alone; the space is still the whole
  product. Asking for a combination without rows is an error; asked for by itself, it is one of its rows, drawn by the
  seed.
- What is asked was never trained on. Without a `split` column, and with a splitter that holds out whole combinations, a
  share of the rows of each shown combination is held back for the test `seen` (`held_back`), the same rows in every
  run; asked about training rows, a network that only memorised them would seem to fail at unseen combinations alone.
  With a `split` column each part has its own rows.
- A row without a factor or without a target is refused.
- The checksums of the data are part of the settings, so a run's key changes when the data do. What is given in memory
  stands there by its checksum alone, and cannot be found again by another process.
"""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import torch
from torch import Tensor
from torch.utils.data import IterableDataset

from recombine.base.errors import SettingError, SourceError, TableError
from recombine.base.object_paths import found, is_place
from recombine.base.seeds import derived
from recombine.data.frames import as_arrow
from recombine.data.space import Space
from recombine_lab.base.source_versions import MEMORY, place_of, source_version
from recombine_lab.tasks import table_inputs as fingerprints
from recombine_lab.tasks.exposure import FiniteSource, Parts, parts_of_rows
from recombine_lab.tasks.table_inputs import (
    ARRAYS,
    Inputs,
    Items,
    Making,
    Tokens,
    array_inputs,
    checked,
    column_inputs,
    columns_inputs,
    read_array,
)
from recombine_lab.tasks.table_rows import (
    Ints,
    RowChoice,
    TableRows,
    TargetForm,
    Targets,
    choices,
    is_shards,
    read_shards,
    read_table,
    require_columns,
    shard_paths,
    with_class_names,
)
from recombine_lab.tasks.task import Batch, Codes, DiscreteTask, Part, Shapes, factor_columns, one_of

Balance = Literal["combinations", "target"]


@dataclass(frozen=True, kw_only=True)
class TableTask(DiscreteTask):
    """Examples of one's own.

    - `source`: a file that `recombine.read` reads (CSV, Parquet, JSON lines), a frame or a Hugging Face dataset in
      memory, or tar files of WebDataset or img2dataset (`shards/*.tar`, `shards/{000..010}.tar`).
    - `inputs`: a column with pictures, names of picture files, lists of numbers, or texts; several columns of numbers;
      a .npy or .safetensors file or an array, row by row beside the table; a torch dataset, row by row too, or
      `package.module:function`, which makes one.
    - `factors`: columns. `target`: a column of labels (text, booleans, up to 100 whole numbers), of numbers or of lists
      of numbers; several columns of numbers; nothing, where a torch dataset gives (input, target). `form` settles
      whether whole numbers are classes or values.
    - `tokenizer`, for texts: "words", "characters", or the user's own, an object or `package.module:function`.
    - `transform`: a function of one input (a picture is Pillow's), or `package.module:function`. Chance in it is drawn
      from torch's generator, which is seeded for each batch.
    - `balance`: "combinations" or "target" draws rows so that each of these comes as often as any other in training.
    - `split`: a column that says `train` or `test`; rows that say anything else are not used.
    - `held_back`: without `split`, the share of the rows of each shown combination that is not trained on but asked as
      `seen`: at least one of two or more, and never the only one. With 0 all are trained on, and nothing is `seen`.
    - `sha256` is filled in, and where it is given, checked.

    >>> table = {"colour": ["red", "red", "blue"], "shape": ["disc", "bar", "disc"], "price": [1.0, 2.0, 4.0]}
    >>> task = TableTask(source=table, inputs=np.eye(3), factors=("colour", "shape"), target="price")
    >>> task.tensors([[1, 0]], seed=0)
    Batch(inputs=tensor([[0., 1., 0.]]), targets=tensor([[2.]]))
    """

    source: Any
    inputs: Any
    factors: tuple[str, ...]
    target: Any = None
    form: TargetForm = "auto"
    split: str | None = None
    tokenizer: Any = None
    transform: Any = None
    balance: Balance | None = None
    held_back: float = 0.2
    sha256: tuple[tuple[str, str], ...] = ()
    _memory: Mapping[str, Any] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        one_of("form", self.form, TargetForm)
        if self.balance is not None:
            one_of("balance", self.balance, Balance)
        if (
            isinstance(self.held_back, bool)
            or not isinstance(self.held_back, int | float)
            or not 0 <= self.held_back < 1
        ):
            raise SettingError(
                f"held_back={self.held_back!r}",
                why="it is the share of the rows of each shown combination that is not trained on but asked as 'seen'",
                instead="write a number from 0 to below 1, for example held_back=0.2",
            )
        object.__setattr__(self, "factors", tuple(self.factors))
        if not isinstance(self.target, str | None):
            object.__setattr__(self, "target", tuple(self.target))
        memory: dict[str, Any] = {}
        for name, keep in (("source", _table), ("inputs", _inputs), ("tokenizer", _function), ("transform", _function)):
            given = getattr(self, name)
            if isinstance(given, str) and given.startswith(MEMORY):
                raise _lost(name)
            setting, held = keep(given)
            object.__setattr__(self, name, setting)
            memory |= {} if held is None else {name: held}
        object.__setattr__(self, "_memory", memory)
        object.__setattr__(self, "sha256", self._checked_sums())

    @property
    def space(self) -> Space:
        """The product of the values that occur in the table."""
        return self._rows.support.space

    def listed(self) -> Codes:
        """The combinations that have rows."""
        return np.ascontiguousarray(self._rows.support.codes.astype(np.int64))

    @property
    def shapes(self) -> Shapes:
        """An input, and a class or numbers."""
        names = self._targets.classes
        outputs = self._targets.width if names is None else len(names)
        words = (self._inputs.words, outputs) if isinstance(self._inputs, Tokens) else None
        kind: Literal["values", "classes"] = "values" if names is None else "classes"
        return Shapes(inputs=self._inputs.shape, outputs=(outputs,), kind=kind, names=names or (), vocabularies=words)

    @property
    def classes(self) -> tuple[Any, ...]:
        """What each class stands for, in order; nothing where the target is a number."""
        return self._targets.classes or ()

    def truth(self, combinations: Codes) -> npt.NDArray[Any] | None:
        """The mean of the rows of each combination, or their commonest class (of equals the first)."""
        places = self._found(combinations)
        return None if self._targets.numbers.ndim > 1 else np.asarray(self._answers[places])

    def render(self, latents: Tensor, *, seed: int, part: Part) -> Batch:
        """Inputs and targets of rows: those that a column beyond the factors names, else drawn by the seed."""
        wanted = latents.cpu().numpy().astype(np.int64)
        if wanted.shape[1] > len(self.factors):
            rows = wanted[:, len(self.factors)]
        else:
            places = self._found(wanted)
            choice = self._choices[part]
            self._refuse_bare(wanted, choice.counts[places] == 0, f"no row whose {self.split!r} is {part!r}")
            rows = choice.draw(places, seed=derived(seed, "rows"))
        targets = torch.from_numpy(self._targets.numbers[rows])
        targets = targets.float().reshape(len(rows), -1) if self._targets.classes is None else targets.long()
        return Batch(self._rendered(rows, seed).to(latents.device), targets.to(latents.device))

    def _rendered(self, rows: Ints, seed: int) -> Tensor:
        """Inputs of rows; the chance in a transform of the user's own comes from the seed."""
        if not isinstance(self._inputs, Items):
            return self._inputs.rows(rows)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(derived(seed, "transform"))
            return self._inputs.rows(rows)

    def own_parts(self, *, seed: int) -> Parts:  # noqa: ARG002 - the rows are fixed
        """Each row of the split column once; the test rows by whether their combination was trained on."""
        if self.split is None:
            raise SettingError(
                "this table has no split of its own",
                why="no column says which rows are for training",
                instead="name it: TableTask(…, split='split'), or give a splitter",
            )
        return parts_of_rows(self, *(self._choices[part].rows for part in ("train", "test")))

    def rows_table(self) -> pa.Table:
        """The factors and the target of every row, as a splitter takes them."""
        columns = factor_columns(self.space, self._codes(np.arange(len(self._table))))
        numbers = self._targets.numbers
        whole = numbers.astype(np.int64) if self._targets.classes is not None else numbers
        return pa.table(columns if numbers.ndim > 1 else columns | {"target": pa.array(whole)})

    def rows_of(self, part: Part) -> Ints:
        """The rows that may be used for a part, in their order."""
        return np.sort(self._choices[part].rows)

    def row_source(self, rows: Ints, *, part: Part) -> FiniteSource:
        """These rows, each of them an example; in training by weight where a balance is asked for."""
        latents = torch.from_numpy(np.concatenate([self._codes(rows), rows[:, None]], axis=1, dtype=np.int64))
        return FiniteSource(latents, self._weights(rows) if part == "train" and self.balance else None)

    def spared(self, train: Ints) -> Ints:
        """The share of each combination's training rows that is asked as `seen`; the same rows in every run."""
        if self.split is not None or not self.held_back:
            return train[:0]
        mixed = np.random.default_rng(derived(0, "held back")).permutation(train)
        groups = self._rows.combination[mixed]
        order = np.argsort(groups, kind="stable")
        _, starts, counts = np.unique(groups[order], return_index=True, return_counts=True)
        many = np.minimum(np.maximum(np.rint(self.held_back * counts).astype(np.int64), 1), counts - 1)
        within = np.arange(len(order)) - np.repeat(starts, counts)
        return np.sort(mixed[order][within < np.repeat(many, counts)])

    def _weights(self, rows: Ints) -> npt.NDArray[np.float64]:
        """One over how many rows share a row's combination or class."""
        if self.balance == "target" and self._targets.classes is None:
            raise SettingError(
                "balance='target' with a target of numbers",
                why="numbers have no classes that could come equally often",
                instead="write balance='combinations', or form='classes'",
            )
        groups = self._rows.combination if self.balance == "combinations" else self._targets.numbers.astype(np.int64)
        return np.asarray(1.0 / np.bincount(groups[rows])[groups[rows]])

    def _codes(self, rows: Ints) -> Codes:
        return self._rows.support.codes[self._rows.combination[rows]].astype(np.int64)

    def _found(self, codes: Codes) -> Ints:
        places = self._rows.find(codes)
        self._refuse_bare(codes, places < 0, "no row")
        return places

    def _refuse_bare(self, codes: Codes, bare: npt.NDArray[np.bool_], has: str) -> None:
        if not bare.any():
            return
        first = codes[np.flatnonzero(bare)[0]]
        named = [
            f"{factor.name} = {factor.labels[code] if code >= 0 else '(left out)'}"
            for factor, code in zip(self.space.factors, first, strict=False)
        ]
        raise TableError(
            f"the table has {has} for {', '.join(named)}",
            why="an example of one's own cannot be made up",
            instead="ask for combinations that have rows: they are in `every()`; or collect one",
        )

    @cached_property
    def _table(self) -> pa.Table:
        if "source" in self._memory:
            table = self._memory["source"]
        else:
            table = read_shards(shard_paths(self.source)) if is_shards(self.source) else read_table(self.source)
        if not len(table):
            raise TableError("the table has no rows", why="there is no example", instead="give a table with rows")
        return table

    @cached_property
    def _rows(self) -> TableRows:
        return TableRows.of(self._table, self.factors)

    @cached_property
    def _choices(self) -> dict[Part, RowChoice]:
        return choices(self._table, self.split, self._rows)

    @cached_property
    def _targets(self) -> Targets:
        if self.target is not None:
            return Targets.of(self._table, self.target, self.form)
        if not isinstance(self._dataset, _PairDataset):
            raise SettingError(
                "no target",
                why="a task asks for something, and these inputs come without it",
                instead="name the target's column: TableTask(…, target='label')",
            )
        count = len(self._inputs)  # as many as there are rows, or refused
        return Targets.of_items([self._dataset[place][1] for place in range(count)], self._dataset, self.form)

    @cached_property
    def _answers(self) -> npt.NDArray[Any]:
        return self._targets.by_combination(self._rows.combination, len(self._rows.support))

    @cached_property
    def _inputs(self) -> Inputs:
        inputs = self._opened_inputs()
        if len(inputs) != len(self._table):
            raise TableError(
                f"{len(inputs):,} inputs beside {len(self._table):,} rows",
                why="input i belongs to row i of the table",
                instead="give one for each row, in their order",
            )
        return inputs

    def _opened_inputs(self) -> Inputs:
        transform = self._called("transform")
        if self._dataset is not None:
            dataset = self._dataset
            read = (lambda place: dataset[place][0]) if isinstance(dataset, _PairDataset) else dataset.__getitem__
            return Items(len(dataset), read, transform)
        if "inputs" in self._memory:
            return array_inputs(checked(self._memory["inputs"], "the array of inputs"), transform)
        if self._input_file is not None:
            return array_inputs(read_array(self.inputs), transform)
        names = (self.inputs,) if isinstance(self.inputs, str) else self.inputs
        require_columns(self._table, names, role="the inputs")
        if not isinstance(self.inputs, str):
            return columns_inputs(self._table, self.inputs)
        how = Making(self._folder, transform, self._called("tokenizer"))
        return column_inputs(self._table[self.inputs], self.inputs, how)

    @cached_property
    def _dataset(self) -> Any:
        """The torch dataset that was given or is made by name; None where the inputs are something else."""
        given = self._memory.get("inputs")
        if given is None and is_place(self.inputs):
            given = found(self.inputs)()
        if given is None or isinstance(given, np.ndarray):
            return None
        first = given[0]
        return _PairDataset(given) if isinstance(first, tuple | list) and len(first) == 2 else given

    def _called(self, name: str) -> Any:
        """The user's own function of that name: held in memory, found by its place, or a word for a built-in one."""
        setting = getattr(self, name)
        return self._memory.get(name, found(setting) if is_place(setting) else setting)

    @property
    def _folder(self) -> Path:
        in_memory = "source" in self._memory or is_shards(self.source)
        return Path() if in_memory else Path(self.source).expanduser().parent

    @property
    def _input_file(self) -> str | None:
        path = self.inputs.partition("#")[0] if isinstance(self.inputs, str) else ""
        return path if path.endswith(ARRAYS) else None

    def _checked_sums(self) -> tuple[tuple[str, str], ...]:
        """The checksum of every file and the version of every function, held against those that were given."""
        sums = self._sums()
        for name, given in self.sha256:
            if sums.get(name) != given:
                raise SourceError(
                    f"{name} has changed",
                    why=f"its checksum is {sums.get(name)}, and these settings were made for {given}",
                    instead="leave sha256 out to work with the data as they are now",
                )
        return tuple(sorted(sums.items()))

    def _sums(self) -> dict[str, str]:
        sums = {name: fingerprints.of_files([Path(name).expanduser()]) for name in self._files()}
        named = (self.inputs, self.tokenizer, self.transform)
        sums |= {place: source_version(place) for place in named if is_place(place)}
        if is_place(self.inputs):
            sums[f"the items of {self.inputs!r}"] = fingerprints.of_items(found(self.inputs)())
        paths = self._picture_files()
        if paths:
            sums[f"{len(paths):,} files of {self.inputs!r}"] = fingerprints.of_files(paths)
        if self.tokenizer is not None and isinstance(self._inputs, Tokens):
            sums[f"the tokens of {self.inputs!r}"] = fingerprints.of_memory(self._inputs.array)
        return sums

    def _files(self) -> list[str]:
        named = [] if "source" in self._memory else [self.source]
        if is_shards(self.source):
            named = [str(path) for path in shard_paths(self.source)]
        return named if self._input_file is None else [*named, self._input_file]

    def _picture_files(self) -> list[Path]:
        """The files that a column of the table names."""
        a_column = isinstance(self.inputs, str) and "inputs" not in self._memory and self._input_file is None
        if not a_column or self.tokenizer is not None or is_place(self.inputs):
            return []
        require_columns(self._table, (self.inputs,), role="the inputs")
        column = self._table[self.inputs]
        if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
            return []
        if is_shards(self.source):
            raise SourceError(
                f"the column {self.inputs!r} of '{self.source}' holds texts",
                why="pictures of tar files lie in them, and are not read from other files",
                instead="name the ending of the pictures, for example inputs='jpg'; for texts write tokenizer='words'",
            )
        paths = [self._folder / str(path) for path in column.to_pylist()]
        if not paths[0].is_file() and not any(path.is_file() for path in paths):
            raise SourceError(
                f"no file '{paths[0]}'",
                why=f"the texts of {self.inputs!r} are taken for names of picture files, and none of them is one",
                instead="name a column of file names; for texts write tokenizer='words', or give your own tokenizer",
            )
        return paths


@dataclass(frozen=True, eq=False)
class _PairDataset:
    """A torch dataset of (input, target)."""

    items: Any

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, place: int) -> Any:
        return self.items[place]

    @property
    def classes(self) -> Any:
        return getattr(self.items, "classes", None)


def _table(given: Any) -> tuple[Any, Any]:
    """A table as a setting, and what of it is held in memory."""
    if isinstance(given, str | Path):
        return str(given), None
    held = with_class_names(as_arrow(given), getattr(given, "features", None))
    return fingerprints.of_memory(held), held


def _inputs(given: Any) -> tuple[Any, Any]:
    """Inputs as a setting, and what of them is held in memory."""
    if isinstance(given, str | Path):
        return str(given), None
    if isinstance(given, list | tuple) and given and all(isinstance(one, str) for one in given):
        return tuple(given), None
    if isinstance(given, IterableDataset):
        raise SettingError(
            f"inputs of {type(given).__name__}, an IterableDataset",
            why="input i belongs to row i of the table, and of this dataset nobody can ask for one by its place",
            instead="give a dataset with __getitem__ and __len__, or for tar shards source='shards/{000..010}.tar'",
        )
    if isinstance(given, Mapping):
        raise SettingError(
            "inputs is a mapping of names",
            why="input i belongs to row i of the table, and a mapping has no place i",
            instead="name a column or a file, or give an array or a dataset with a row for each row of the table",
        )
    sized = hasattr(given, "__getitem__") and hasattr(given, "__len__")
    if sized and not hasattr(given, "__array__") and not isinstance(given, list | tuple):
        return fingerprints.of_items(given), given
    held = np.asarray(given)
    return fingerprints.of_memory(held), held


def _function(given: Any) -> tuple[Any, Any]:
    """A function of one's own as a setting; one that cannot be named gets a new name each time: never found again."""
    if given is None or isinstance(given, str):
        return given, None
    place = place_of(given)
    return (place, None) if place is not None else (f"{MEMORY}{uuid.uuid4().hex}", given)


def _lost(name: str) -> SourceError:
    return SourceError(
        f"the {name} of this task was in the memory of another process",
        why="only its checksum was kept",
        instead=f"save it as a file, and give its path as {name}; a function is given as package.module:function",
    )
