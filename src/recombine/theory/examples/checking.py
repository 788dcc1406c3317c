"""Arrays as they are given, held against one another: rows with their inputs, answers and combinations."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from recombine.algebra.groups import Codes, Numbers
from recombine.errors import SettingError, TableError
from recombine.tables.pilot import LARGEST
from recombine.theory.examples.machines import Answered, Kind


@dataclass(frozen=True, eq=False)
class Examples:
    """Rows with their inputs, answers and combinations."""

    inputs: Numbers
    answers: Answered
    codes: Codes

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, rows: Any) -> "Examples":
        return Examples(self.inputs[rows], self.answers[rows], self.codes[rows])


def read(
    x: Any, y: Any, codes: Any, x_unseen: Any, codes_unseen: Any, truth: Any, kind: Kind | None
) -> tuple[Examples, Examples | None, Answered | None]:
    """The arrays, checked to be in step with one another."""
    inputs = checked_inputs(x)
    refuse_constant(inputs)
    own_codes = codes_of(codes, None)
    targets = np.asarray(y)
    _in_step(len(inputs), len(targets), "y")
    _in_step(len(inputs), len(own_codes), "codes")
    answers, known = answered(targets, None if truth is None else np.asarray(truth), kind)
    train = Examples(inputs, answers, own_codes)
    if x_unseen is None or known is None:
        return train, None, known
    others = checked_inputs(x_unseen, width=inputs.shape[1])
    other_codes = codes_of(codes_unseen, own_codes.shape[1])
    _in_step(len(others), len(known), "truth_unseen")
    _in_step(len(others), len(other_codes), "codes_unseen")
    return train, Examples(others, known, other_codes), known


def answered(y: Any, truth: Any | None, kind: Kind | None) -> tuple[Answered, Answered | None]:
    """Targets and truths with one numbering of their classes; whole numbers and text are labels unless told."""
    number = kind == "number" or (kind is None and (y.ndim > 1 or y.dtype.kind == "f"))
    if number:
        own = _numbers(y, "y")
        others = None if truth is None else Answered("number", _numbers(truth, "truth_unseen"))
        return Answered("number", own), others
    classes, places = np.unique(y if truth is None else np.concatenate([y, truth]), return_inverse=True)
    values = places.astype(np.float64)[:, None]
    own_labels = Answered("label", values[: len(y)], len(classes))
    if not own_labels.varies:
        raise TableError(
            "every training row has the same answer",
            why="with one class only, every learner answers that class everywhere",
            instead="choose a target with at least two classes, or read more rows",
        )
    return own_labels, None if truth is None else Answered("label", values[len(y) :], len(classes))


def _numbers(values: Any, name: str) -> Numbers:
    found = np.asarray(values, dtype=np.float64).reshape(len(values), -1)
    if not (np.abs(found) <= LARGEST).all():
        raise TableError(
            f"{name} holds numbers that are missing or infinite, or some beyond {LARGEST}",
            why="an error of such a row is not a number",
            instead="leave those rows out, with their inputs",
        )
    return found


def codes_of(codes: Any, factors: int | None) -> Codes:
    """The place of a value for each row and factor."""
    found = np.asarray(codes)
    if found.ndim != 2 or (factors is not None and found.shape[1] != factors):
        raise SettingError(
            f"codes of shape {found.shape}",
            why="each row has the place of a value for each factor" + (f", {factors} of them" if factors else ""),
            instead="give whole numbers of shape (rows, factors)",
        )
    return found.astype(np.int32)


def _in_step(inputs: int, others: int, name: str) -> None:
    if inputs != others:
        raise SettingError(
            f"{inputs:,} rows of inputs and {others:,} of {name}",
            why="row i of one belongs to row i of the other",
            instead="give them in the same order, one for each row",
        )


def checked_inputs(given: Any, *, width: int | None = None) -> Numbers:
    """Inputs as rows of numbers, none of them missing."""
    found = np.asarray(given, dtype=np.float64)
    found = found.reshape(len(found), -1) if found.ndim else found.reshape(0, 0)
    if not len(found) or not found.shape[1]:
        raise TableError(
            f"inputs of shape {np.shape(given)}",
            why="there is nothing to compare",
            instead="give an array with a row of numbers for each example",
        )
    if width is not None and found.shape[1] != width:
        raise SettingError(
            f"{found.shape[1]:,} inputs for the rows of unseen combinations",
            why=f"the other rows have {width:,}",
            instead="make both by the same features",
        )
    bad = ~(np.abs(found) <= LARGEST).all(axis=1)
    if bad.any():
        raise TableError(
            f"the inputs of {bad.sum():,} of {len(found):,} rows hold NaN or infinite numbers, or some beyond "
            f"{LARGEST}",
            why=f"such a row is like no other; the first is number {int(bad.argmax()) + 1:,} of those that were drawn",
            instead="leave those rows out, or fill the gaps first",
        )
    return found


def refuse_constant(inputs: Numbers) -> None:
    """Refuse inputs that are the same in every row."""
    if not np.ptp(inputs, axis=0).any():
        raise TableError(
            f"the inputs are the same in all {len(inputs):,} rows",
            why="from them no row can be told from another",
            instead="check the column or file: an embedding of the wrong layer, or of an empty text, looks like this",
        )
