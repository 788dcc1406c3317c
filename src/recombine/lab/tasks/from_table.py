"""The user's own examples as a task: a table of factors, an input for each row, a target column.

What is decided:
- A combination exists where the table has a row of it. `every()`, and with it every splitter, goes over those alone;
  the space is still the whole product. Asking for a combination without rows is an error.
- A combination with several rows is rendered as one of them, drawn by the seed.
- Without a `split` column, training and test draw from the same rows: then only what is said of unseen combinations is
  about new examples. With one, each part draws from its own rows, and `own_parts` shows each row once.
- A row without a factor or without a target is refused.
- The checksums of the data are part of the settings, so a run's key changes when the data do. What is given in memory
  stands there by its checksum alone, and cannot be found again by another process.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import torch
from torch import Tensor

from recombine.errors import SettingError, SourceError, TableError
from recombine.lab.tasks import table_inputs as fingerprints
from recombine.lab.tasks.exposure import FiniteSource, Parts
from recombine.lab.tasks.table_inputs import ARRAYS, ArrayInputs, ImageFiles, Inputs, checked, column_inputs, read_array
from recombine.lab.tasks.table_rows import Choice, Ints, Rows, TargetForm, Targets, choices, read_table, require_columns
from recombine.lab.tasks.task import Batch, Codes, DiscreteTask, Part, Shapes, one_of
from recombine.seeds import derived
from recombine.tables.sources import as_arrow
from recombine.tables.space import Space


@dataclass(frozen=True, kw_only=True)
class FromTable(DiscreteTask):
    """Examples of one's own.

    `source`: a file that `recombine.read` reads (CSV, Parquet, JSON lines), or a frame in memory. `inputs`: a .npy or
    .safetensors file or an array, row by row beside the table; or a column of the table, with names of picture files or
    with lists of numbers. `target`: a column of labels (text, booleans, up to 100 whole numbers) or of numbers; `form`
    settles it. `split`: a column that says `train` or `test`; rows that say anything else are not used. `sha256` is
    filled in, and where it is given, checked.

    >>> table = {"colour": ["red", "red", "blue"], "shape": ["disc", "bar", "disc"], "price": [1.0, 2.0, 4.0]}
    >>> task = FromTable(source=table, inputs=np.eye(3), factors=("colour", "shape"), target="price")
    >>> task.tensors([[1, 0]], seed=0)
    Batch(inputs=tensor([[0., 1., 0.]]), targets=tensor([[2.]]))
    """

    source: Any
    inputs: Any
    factors: tuple[str, ...]
    target: str
    form: TargetForm = "auto"
    split: str | None = None
    sha256: tuple[tuple[str, str], ...] = ()
    _memory: Mapping[str, Any] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        one_of("form", self.form, TargetForm)
        object.__setattr__(self, "factors", tuple(self.factors))
        memory = {}
        for name, convert in (("source", as_arrow), ("inputs", np.asarray)):
            given = getattr(self, name)
            if not isinstance(given, str | Path):
                memory[name] = convert(given)
                given = fingerprints.of_memory(memory[name])
            elif str(given).startswith(fingerprints.MEMORY):
                raise _lost(name)
            object.__setattr__(self, name, str(given))
        object.__setattr__(self, "_memory", memory)
        object.__setattr__(self, "sha256", self._checked_sums())

    @property
    @final
    def space(self) -> Space:
        """The product of the values that occur in the table."""
        return self._rows.support.space

    @final
    def listed(self) -> Codes:
        """The combinations that have rows."""
        return np.ascontiguousarray(self._rows.support.codes.astype(np.int64))

    @property
    @final
    def shapes(self) -> Shapes:
        """An input, and a class or a number."""
        if self._targets.classes is None:
            return Shapes(inputs=self._inputs.shape, outputs=(1,), kind="values")
        names = self._targets.classes
        return Shapes(inputs=self._inputs.shape, outputs=(len(names),), kind="classes", names=names)

    @property
    @final
    def classes(self) -> tuple[Any, ...]:
        """What each class stands for, in order; nothing where the target is a number."""
        return self._targets.classes or ()

    @final
    def truth(self, combinations: Codes) -> npt.NDArray[Any]:
        """The mean of the rows of each combination, or their commonest class (of equals the first)."""
        return np.asarray(self._answers[self._found(combinations)])

    @final
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
        targets = targets.float().unsqueeze(1) if self._targets.classes is None else targets.long()
        return Batch(self._inputs.rows(rows).to(latents.device), targets.to(latents.device))

    @final
    def own_parts(self, *, seed: int) -> Parts:  # noqa: ARG002 - the rows are fixed
        """Each row of the split column once; the test rows by whether their combination was trained on."""
        if self.split is None:
            raise SettingError(
                "this table has no split of its own",
                why="no column says which rows are for training",
                instead="name it: FromTable(…, split='split'), or give a splitter",
            )
        train, test = self._choices["train"], self._choices["test"]
        known = train.counts[self._rows.combination[test.rows]] > 0
        tests = {"seen": test.rows[known], "unseen": test.rows[~known]}
        return Parts(self._cells(train.rows), {name: self._cells(rows) for name, rows in tests.items() if len(rows)})

    def _cells(self, rows: Ints) -> FiniteSource:
        codes = self._rows.support.codes[self._rows.combination[rows]]
        return FiniteSource(torch.from_numpy(np.concatenate([codes, rows[:, None]], axis=1, dtype=np.int64)))

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
        table = self._memory["source"] if "source" in self._memory else read_table(self.source)
        if not len(table):
            raise TableError("the table has no rows", why="there is no example", instead="give a table with rows")
        return table

    @cached_property
    def _rows(self) -> Rows:
        return Rows.of(self._table, self.factors)

    @cached_property
    def _choices(self) -> dict[Part, Choice]:
        return choices(self._table, self.split, self._rows)

    @cached_property
    def _targets(self) -> Targets:
        return Targets.of(self._table, self.target, self.form)

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
        if "inputs" in self._memory:
            return ArrayInputs(checked(self._memory["inputs"], "the array of inputs"))
        if self._input_file is not None:
            return ArrayInputs(read_array(self.inputs))
        require_columns(self._table, (self.inputs,), role="the inputs")
        folder = Path() if "source" in self._memory else Path(self.source).expanduser().parent
        return column_inputs(self._table[self.inputs], self.inputs, folder)

    @property
    def _input_file(self) -> str | None:
        path = self.inputs.partition("#")[0]
        return path if path.endswith(ARRAYS) else None

    def _checked_sums(self) -> tuple[tuple[str, str], ...]:
        """The checksum of every file, held against those that were given."""
        sums = {name: fingerprints.of_files([Path(name).expanduser()]) for name in self._files()}
        if "inputs" not in self._memory and self._input_file is None and isinstance(self._inputs, ImageFiles):
            sums[f"{len(self._inputs):,} files of {self.inputs!r}"] = fingerprints.of_files(self._inputs.paths)
        for name, given in self.sha256:
            if sums.get(name) != given:
                raise SourceError(
                    f"{name} has changed",
                    why=f"its checksum is {sums.get(name)}, and these settings were made for {given}",
                    instead="leave sha256 out to work with the data as they are now",
                )
        return tuple(sorted(sums.items()))

    def _files(self) -> list[str]:
        named = [] if "source" in self._memory else [self.source]
        return named if self._input_file is None else [*named, self._input_file]


def _lost(name: str) -> SourceError:
    return SourceError(
        f"the {name} of this task was in the memory of another process",
        why="only its checksum was kept",
        instead=f"save it as a file, and give its path as {name}",
    )
