"""Answers of any library as arrays: labels as places among the classes, numbers as numbers.

No library is imported for it. A tensor of PyTorch says `detach`, `cpu` and `numpy`; everything else (NumPy, JAX,
TensorFlow, pandas, polars, Arrow, lists) can be taken as an array by NumPy.
"""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from recombine.base.errors import ColumnError, SettingError
from recombine.base.words import listing
from recombine.data.space import Value
from recombine.numerics.groups import Ints, Numbers
from recombine.verbs.evaluate.outcome_reader import written

Unknown = Literal["refuse", "wrong"]
"""What becomes of an answer that is none of the classes: an error, or a wrong answer."""


def as_array(answers: Any) -> npt.NDArray[Any]:
    """What a model gave as a NumPy array.

    >>> as_array([0.25, 0.75]).tolist(), as_array(["cat"]).tolist()
    ([0.25, 0.75], ['cat'])
    """
    if hasattr(answers, "detach"):
        answers = answers.detach().cpu()
        half = any(kind in str(answers.dtype) for kind in ("bfloat16", "float8"))  # which NumPy does not have
        answers = (answers.float() if half else answers).numpy()
    try:
        array = np.asarray(answers)
    except (ValueError, TypeError) as error:
        raise ColumnError(
            f"the answers are a {type(answers).__name__} that is no array",
            why=str(error).splitlines()[0],
            instead="give one answer a row, or one number a class and row",
        ) from error
    return array.astype(np.float32) if array.dtype.kind == "V" else array  # JAX's bfloat16


def as_numbers(answers: Any) -> Numbers:
    """Answers to a target of numbers: one finite number a row."""
    array = as_array(answers)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1 or array.dtype.kind not in "fiub":
        raise ColumnError(
            f"the answers are {_describe(array)}",
            why="the target is a number, so an answer is one number",
            instead="give one number a row; where the target is a label say target_kind='label'",
        )
    numbers = array.astype(np.float64)
    _refuse_undefined(~np.isfinite(numbers), "not finite")
    return numbers


class Classes:
    """The classes that an answer can be, and the order in which a model numbers them.

    >>> classes = Classes(("cat", "dog"), order=["dog", "cat"])
    >>> classes.places([0, 1]).tolist(), classes.places(["cat", "dog"]).tolist(), classes.places([[0.9, 0.1]]).tolist()
    ([1, 0], [0, 1], [1])
    """

    def __init__(
        self, classes: Sequence[Value], *, order: Sequence[Any] | None = None, unknown: Unknown = "refuse"
    ) -> None:
        self.known = len(classes)
        self.unknown = unknown
        self._place = {written(value): place for place, value in enumerate(classes)}
        if all(isinstance(value, bool) for value in classes):  # a model says 0 and 1
            self._place |= {written(value, whole=True): place for place, value in enumerate(classes)}
        self.names = [written(value) for value in classes]
        self._order = None if order is None else self._places_in_order(list(order))
        self._refuse_left_out()

    def places(self, answers: Any) -> Ints:
        """Where each answer stands among the classes; beyond them if it is none, and that counts as wrong."""
        array = as_array(answers)
        if array.ndim == 2:
            return self._likeliest(array)
        if array.ndim != 1:
            raise ColumnError(
                f"the answers are {_describe(array)}",
                why="an answer is a class, or one number for each class",
                instead="give one class a row, or rows × classes",
            )
        if array.dtype.kind == "f":
            array = _whole_numbers(array)
        if array.dtype.kind in "iu" and self._order is not None:
            return self._by_number(array, self._order)
        return self._by_name(array)

    def _refuse_left_out(self) -> None:
        """A model that cannot say a class of the table would be wrong there, and nobody would know why."""
        left = [] if self._order is None else sorted(set(range(self.known)) - set(self._order.tolist()))
        if left:
            raise SettingError(
                f"classes=[…] leaves out {listing([repr(self.names[place]) for place in left[:5]])}",
                why=f"the tables have {self.known} classes: {self._list_names()}",
                instead="name every class, in the order of the model's outputs; leave rows of others out with where=…",
            )

    def _likeliest(self, array: npt.NDArray[Any]) -> Ints:
        """The class with the largest of the numbers that were given for the classes."""
        if array.shape[1] < 2 or array.dtype.kind not in "fiu":
            raise ColumnError(
                f"the answers are {_describe(array)}",
                why="rows × classes takes a number for each of two classes at least",
                instead="give one class a row; of a single logit write (logits > 0)",
            )
        _refuse_undefined(np.isnan(array).any(axis=1), "NaN")
        if self._order is None:
            self._order = self._order_by_number(array.shape[1])
        order = self._order
        if len(order) != array.shape[1]:
            raise ColumnError(
                f"the answers have {array.shape[1]} numbers a row, and there are {len(order)} classes",
                why="each number is one class's",
                instead="give classes=[…] with one name for each output of the model, in its order",
            )
        return np.asarray(order[array.argmax(axis=1)])

    def _order_by_number(self, outputs: int) -> Ints:
        """The order of a model whose classes are 0, 1, 2 … in the table too."""
        if not set(self.names[: self.known]) <= {str(number) for number in range(outputs)}:
            raise SettingError(
                f"the answers are {outputs} numbers a row, and the classes are {self._list_names()}",
                why="it is not told which number is which class's",
                instead="give classes=[…] to the scoreboard, in the order of the model's outputs",
            )
        return self._places_in_order(list(range(outputs)))

    def _places_in_order(self, order: list[Any]) -> Ints:
        return np.array([self._add(written(value)) for value in order], dtype=np.int64)

    def _by_number(self, array: npt.NDArray[Any], order: Ints) -> Ints:
        wrong = (array < 0) | (array >= len(order))
        if wrong.any():
            raise ColumnError(
                f"class number {int(array[wrong][0])} of {len(order)} classes",
                why=f"classes=[…] names {len(order)}, which are numbered from 0",
                instead="name every class that the model can say, in the order of its outputs",
            )
        return np.asarray(order[array.astype(np.int64)])

    def _by_name(self, array: npt.NDArray[Any]) -> Ints:
        try:
            encoded = pc.dictionary_encode(pa.array(array))
        except (pa.ArrowException, OverflowError) as error:  # several kinds, or whole numbers beyond 64 bits
            raise ColumnError(
                f"the answers are {_describe(array)}",
                why=str(error).splitlines()[0],
                instead="give labels of one kind: text, whole numbers, or true and false",
            ) from error
        _refuse_undefined(encoded.is_null().to_numpy(zero_copy_only=False), "missing")
        places = np.array([self._place_of(value) for value in encoded.dictionary.to_pylist()], dtype=np.int64)
        return np.asarray(places[encoded.indices.to_numpy()]) if len(places) else places

    def _place_of(self, value: Any) -> int:
        name = written(value)
        if name in self._place or self.unknown == "wrong":
            return self._add(name)
        numbers = isinstance(value, int) and not isinstance(value, bool)
        raise ColumnError(
            f"the answer {name!r} is none of the classes {self._list_names()}",
            why="the tables never say it" + (", and a class's number is not its name" if numbers else ""),
            instead="name the classes in the order of the model's outputs: classes=[…]"
            if numbers
            else "write answers as the target is written, or unknown='wrong' where a model can say anything",
        )

    def _add(self, name: str) -> int:
        if name not in self._place:
            self._place[name] = len(self.names)
            self.names.append(name)
        return self._place[name]

    def _list_names(self) -> str:
        few = [repr(name) for name in self.names[: self.known][:5]]
        return listing(few) if self.known <= len(few) else f"{', '.join(few)} … ({self.known:,} in all)"


def _whole_numbers(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Whole numbers that a library typed as fractions."""
    _refuse_undefined(np.isnan(array), "NaN")
    if not np.equal(np.mod(array, 1), 0).all():
        raise ColumnError(
            f"the answer {float(array[np.mod(array, 1) != 0][0]):.4g} is no class",
            why="the target holds labels, and this is a fraction",
            instead="give classes, or rows × classes of numbers; where the target is a number say target_kind='number'",
        )
    return array.astype(np.int64)


def _refuse_undefined(wrong: npt.NDArray[np.bool_], what: str) -> None:
    if wrong.any():
        raise ColumnError(
            f"{int(wrong.sum()):,} of {len(wrong):,} answers are {what}, the first at place {int(np.argmax(wrong))}",
            why="a model that answers so has diverged, or was not asked",
            instead="look at its loss and its inputs; nothing of this batch was counted",
        )


def _describe(array: npt.NDArray[Any]) -> str:
    kind = {"f": "fractions", "i": "whole numbers", "u": "whole numbers", "b": "true and false"}.get(
        array.dtype.kind, "other things"
    )
    return f"{kind} of shape {' × '.join(map(str, array.shape)) or 'none'}"
