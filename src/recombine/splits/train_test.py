"""A look-alike of scikit-learn's `train_test_split` that holds out combinations."""

from typing import Any

from recombine.algebra.groups import Ints
from recombine.errors import SettingError
from recombine.splits.combinations import Guarantee, HoldOutCombinations
from recombine.splits.table import Names
from recombine.splits.tabular import row_count


def train_test_split(
    *arrays: Any,
    factors: Names,
    test_size: float = 0.2,
    seed: int = 0,
    guarantee: Guarantee = "values",
    strata: str | int | None = None,
    table: Any = None,
) -> list[Any]:
    """Split tables and arrays of one length: training and test of the first, of the second and so on.

    The factors are columns of the first, or of `table`. `test_size` is the share of **combinations** that are held
    out. What goes in comes out: frames as frames, arrays as arrays, lists as lists, datasets as datasets. With
    `strata="y"` the second one gives the classes.

    >>> table = {"colour": ["red", "red", "blue", "blue"], "shape": ["disc", "bar", "disc", "bar"]}
    >>> train, test, y_train, y_test = train_test_split(table, [1, 2, 3, 4], factors=["colour", "shape"])
    >>> len(y_train), len(y_test)
    (3, 1)
    """
    _check_arrays(arrays)
    splitter = HoldOutCombinations(
        factors,
        table=table,
        share=_share(test_size),
        n_splits=1,
        seed=seed,
        guarantee=guarantee,
        strata=strata,
    )
    train, test = next(splitter.split(arrays[0], arrays[1] if len(arrays) > 1 else None))
    return [taken(array, side) for array in arrays for side in (train, test)]


def taken(array: Any, rows: Ints) -> Any:
    """Some rows of a table or array, as the same kind of thing.

    >>> import numpy as np
    >>> taken([10, 20, 30], np.array([0, 2])), taken({"a": [1, 2]}, np.array([1]))
    ([10, 30], {'a': [2]})
    """
    if isinstance(array, dict):
        return {name: taken(column, rows) for name, column in array.items()}
    if hasattr(array, "iloc"):  # pandas
        return array.iloc[rows]
    if hasattr(array, "select_columns") or not hasattr(array, "__getitem__"):  # Hugging Face
        return array.select(rows)
    if hasattr(array, "column_names") or type(array).__module__.startswith("pyarrow"):
        return array.take(rows)
    if isinstance(array, list | tuple):
        return type(array)(array[row] for row in rows.tolist())
    return array[rows]  # NumPy, SciPy's sparse rows, torch, Polars


def _share(test_size: Any) -> float:
    if isinstance(test_size, bool) or not isinstance(test_size, float) or not 0 < test_size < 1:
        raise SettingError(
            f"test_size={test_size!r}",
            why="it is the share of the combinations that are held out, and neither side may be empty",
            instead="write a number between 0 and 1, such as test_size=0.2",
        )
    return test_size


def _check_arrays(arrays: tuple[Any, ...]) -> None:
    if not arrays:
        raise SettingError(
            "nothing was given", why="there is nothing to split", instead="give a table: train_test_split(X, y, …)"
        )
    lengths = [row_count(array) for array in arrays]
    if len(set(lengths)) > 1:
        raise SettingError(
            f"the arrays have {', '.join(f'{length:,}' for length in lengths)} rows",
            why="row i of each belongs to one example",
            instead="give arrays of one length",
        )
