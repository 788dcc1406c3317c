"""Rows that a module is asked about: inputs, what is true of them, and a table of their factors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import torch
from torch import Tensor

from recombine.base.checks import check_listed
from recombine.base.errors import ColumnError, SettingError, TableError
from recombine_lab.models.layers import length
from recombine_lab.probes.columns import check_even

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ProbeExamples:
    """Inputs (a tensor, or tensors by keyword), targets, and a table with a column for each factor, row by row.

    >>> examples_of((torch.zeros(2, 3), [0, 1], {"colour": ["red", "blue"]}), "seen").table.num_rows
    2
    """

    inputs: Any
    targets: Tensor
    table: pa.Table

    def __len__(self) -> int:
        return int(self.table.num_rows)


def examples_of(given: Any, name: str) -> ProbeExamples:
    """Examples as they were given: as such, or as (inputs, targets, table)."""
    if isinstance(given, Mapping) and {"inputs", "targets", "table"} <= given.keys():
        given = (given["inputs"], given["targets"], given["table"])
    if isinstance(given, ProbeExamples):
        given = (given.inputs, given.targets, given.table)
    if not isinstance(given, tuple | list) or len(given) != 3:
        raise SettingError(
            f"{name}={type(given).__name__}",
            why="examples are inputs, targets and a table of factors, row by row",
            instead=f"write {name}=(inputs, targets, table)",
        )
    inputs, table = inputs_of(given[0], name), table_of(given[2], name)
    targets = torch.as_tensor(np.asarray(given[1]) if not isinstance(given[1], Tensor) else given[1])
    check_rows(f"{name}: inputs", length(inputs), table.num_rows)
    check_rows(f"{name}: targets", len(targets), table.num_rows)
    return ProbeExamples(inputs, targets, table)


def check_rows(name: str, found: int, rows: int) -> None:
    """As many rows as the table has."""
    if found != rows:
        raise SettingError(
            f"{name} with {found:,} rows",
            why=f"the table of factors has {rows:,} rows, and they belong together row by row",
            instead="give a row of the table for each example, in the same order",
        )


def inputs_of(given: Any, name: str) -> Any:
    """Inputs as a tensor, or as a mapping of tensors; what is not finite is refused."""
    if given is None:
        raise SettingError(
            f"no {name}", why="a module is asked about examples", instead=f"write {name}=a tensor with a row for each"
        )
    if isinstance(given, Mapping):
        return {key: inputs_of(value, f"{name}[{key!r}]") for key, value in given.items()}
    if isinstance(given, str):
        raise SettingError(
            f"{name}={given!r}", why="inputs are numbers", instead="read the file yourself, and give its numbers"
        )
    tensor = given if isinstance(given, Tensor) else torch.as_tensor(np.asarray(given))
    tensor = tensor.float() if tensor.dtype == torch.float64 else tensor
    if tensor.ndim < 1 or not len(tensor):
        raise SettingError(f"{name} without rows", why="nothing can be asked about nothing", instead="give some rows")
    if tensor.is_floating_point() and not bool(torch.isfinite(tensor).all()):
        raise SettingError(
            f"{name} with numbers that are not finite",
            why="whatever the answer is, it would not hang on a factor",
            instead="leave these rows out, or fill them",
        )
    return tensor


def table_of(given: Any, name: str) -> pa.Table:
    """A table of factors, from anything that PyArrow makes a table of."""
    if isinstance(given, pa.Table):
        table = given
    elif given is None:
        raise SettingError(
            f"no table of {name}", why="rows are told apart by their factors", instead="write table={factor: values}"
        )
    else:
        if isinstance(given, Mapping):
            check_even(given, f"a table of {name}")
        try:
            plain = {key: np.asarray(value) for key, value in given.items()} if isinstance(given, Mapping) else given
            table = pa.table(plain)
        except (TypeError, ValueError, pa.ArrowInvalid) as error:
            raise TableError(
                f"a table of {name} that cannot be read", why=str(error), instead="write {factor: values}"
            ) from error
    if not table.num_rows:
        raise TableError(f"the table of {name} is empty", why="there is nothing to ask about", instead="give some rows")
    return table


def check_column(table: pa.Table, factor: Any, said: str) -> str:
    """A factor of the table, with values in every row; `said` is how the user named it, such as "target='hue'"."""
    check_listed(
        factor, table.column_names, said, why=f"the table has {', '.join(table.column_names)}", error=ColumnError
    )
    if table[factor].null_count:
        raise ColumnError(
            f"{said} has rows without a value",
            why="a value that is missing cannot be swapped",
            instead="leave these rows out",
        )
    return str(factor)


def codes_of(table: pa.Table, factor: str) -> tuple[Ints, list[Any]]:
    """The number of each row's value among the sorted values of a factor.

    >>> codes_of(pa.table({"colour": ["red", "blue", "red"]}), "colour")[0].tolist()
    [1, 0, 1]
    """
    encoded = table[factor].combine_chunks().dictionary_encode()
    values = encoded.dictionary.to_pylist()
    order = sorted(range(len(values)), key=lambda place: values[place])
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return rank[encoded.indices.to_numpy(zero_copy_only=False)], [values[place] for place in order]


def combinations_of(table: pa.Table, factors: Sequence[str]) -> tuple[Ints, list[dict[str, Any]]]:
    """The number of each row's combination of values, and the combinations.

    >>> combinations_of(pa.table({"a": [1, 0, 1], "b": [0, 0, 0]}), ["a", "b"])
    (array([1, 0, 1]), [{'a': 0, 'b': 0}, {'a': 1, 'b': 0}])
    """
    coded = [codes_of(table, factor) for factor in factors]
    rows, ids = np.unique(np.stack([codes for codes, _ in coded], axis=1), axis=0, return_inverse=True)
    named = [
        {factor: coded[k][1][code] for k, (factor, code) in enumerate(zip(factors, row, strict=True))}
        for row in rows.tolist()
    ]
    return ids.reshape(-1).astype(np.int64), named
