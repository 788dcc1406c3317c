"""The cube of predictions, packed so that a page with 278,000 cells stays below three megabytes.

The cells, plane after plane, deflated together (the browser inflates them itself):

    one byte a cell             its verdict
    two bytes a cell and field  prediction, sd, truth, ...: 65,535 steps from lowest to highest, high bytes first
    a varint a seen cell        how many rows hold it

The parts, one for each conjunction and score, are what a prediction is the sum of: floating-point numbers, again plane
after plane. Where there are many, each keeps its first three bytes, nearly five digits: the sum still is the prediction
as it is shown.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from recombine.base.errors import RecordError
from recombine.output.headline import LONG, shorten, value
from recombine.output.map_packing import SHORTEST, TEXT_BUDGET, Bytes, deflated, varints

SEEN, FINE, LEAK, SHORTCUT, CANT, UNDETERMINED, UNSURE, NOVEL, IMPOSSIBLE, UNLISTED = range(10)
VERDICTS = (
    "seen",
    "fine",
    "leak",
    "shortcut",
    "can't",
    "not determined",
    "unsure",
    "novel",
    "impossible",
    "not listed",
)
STEPS = 65_534
UNKNOWN = 65_535
MANY_PARTS = 100_000
FRACTIONS = 1000  # weighted rows are counted in thousandths

Floats = npt.NDArray[np.float64]
Data = Mapping[str, Any]


@dataclass(frozen=True)
class Cube:
    """Every combination of the drawn values, as the record's tables hold them."""

    grid: Data
    shape: tuple[int, ...]
    verdict: Bytes
    fields: Mapping[str, Floats]
    count: Floats
    parts: npt.NDArray[np.float32]

    def place(self, combination: Mapping[str, Any]) -> int | None:
        """Where a combination stands in the cube, or None if one of its values is not drawn."""
        codes = [_code(one["values"], combination.get(one["name"])) for one in self.grid["factors"]]
        known = [code for code in codes if code is not None]
        return int(np.ravel_multi_index(known, self.shape)) if len(known) == len(codes) and known else None

    def rows_of(self, factor: int) -> list[float]:
        """How many rows hold each drawn value of a factor, within the cube."""
        others = tuple(axis for axis in range(len(self.shape)) if axis != factor)
        totals: list[float] = self.count.reshape(self.shape).sum(axis=others).tolist()
        return totals


def cube_of(grid: Data, tables: Mapping[str, pa.Table]) -> Cube | None:
    """The cube of a record, or None if it has fewer than two factors; one that does not fit its tables is refused."""
    if len(grid.get("factors") or []) < 2:
        return None
    shape = tuple(len(one["values"]) for one in grid["factors"])
    cells, parts = (tables.get(name) for name in ("cells", "parts"))
    if cells is None or parts is None:
        raise _misfit("the record describes a grid, but holds no table of its cells or of their parts")
    if cells.num_rows != prod(shape) or not prod(shape):
        raise _misfit("its table of cells does not fill its grid")
    verdict = _column(cells, "verdict").astype(np.uint8)
    if verdict.max() > UNLISTED:
        raise _misfit("its table of cells holds a verdict that this version does not know")
    _check_parts(grid, shape, parts)
    return Cube(
        grid,
        shape,
        verdict,
        _fields(cells, verdict),
        np.nan_to_num(_column(cells, "count")),
        _column(parts, "value").astype(np.float32),
    )


def cube_payload(cube: Cube) -> dict[str, Any]:
    """Everything that the page's script needs to draw the grid and to take a prediction apart."""
    grid = cube.grid
    texts = [value(raw) for one in grid["factors"] for raw in one["values"]]
    pool = {text: place for place, text in enumerate(dict.fromkeys(texts))}
    most = min(LONG, max(SHORTEST, TEXT_BUDGET // max(1, len(pool))))
    known = {name: field for name, field in cube.fields.items() if np.isfinite(field).any()}
    ranges = {name: (float(np.nanmin(field)), float(np.nanmax(field))) for name, field in known.items()}
    unit = 1 if np.array_equal(cube.count, np.rint(cube.count)) else FRACTIONS
    return {
        "values": [shorten(text, most) for text in pool],
        "factors": [
            {
                "factor": shorten(value(one["name"]), 80),
                "values": [pool[value(raw)] for raw in one["values"]],
                "counts": cube.rows_of(place),
            }
            for place, one in enumerate(grid["factors"])
        ],
        "sets": grid["sets"],
        "constant": grid["constant"],
        "ranges": ranges,
        "unit": unit,
        "cells": _packed_cells(cube, known, ranges, unit),
        "parts": pack_floats(cube.parts),
    }


def codes(field: Floats, low: float, high: float) -> npt.NDArray[np.uint16]:
    """Numbers as steps from the lowest to the highest; what is not a number becomes `UNKNOWN`.

    >>> codes(np.array([-1.0, 0.0, 1.0, np.nan]), -1.0, 1.0).tolist()
    [0, 32767, 65534, 65535]
    """
    known = np.isfinite(field)
    steps = (np.where(known, field, low) - low) / ((high - low) or 1.0) * STEPS
    return np.where(known, np.rint(steps), UNKNOWN).astype(np.uint16)


def pack_floats(numbers: npt.NDArray[np.float32]) -> str:
    """Numbers as text: the bytes of each, the first three of many, plane after plane, deflated, in base 64."""
    many = numbers.size > MANY_PARTS
    bits = numbers.view(np.uint32).astype(np.uint64) + (128 if many else 0)
    kept = np.where(np.isfinite(numbers), bits, 0x7FC00000).astype(np.uint32)
    return deflated([((kept >> shift) & 255).astype(np.uint8) for shift in ((24, 16, 8) if many else (24, 16, 8, 0))])


def _packed_cells(cube: Cube, known: Mapping[str, Floats], ranges: Mapping[str, tuple[float, float]], unit: int) -> str:
    planes = [cube.verdict]
    for name, field in known.items():
        steps = codes(field, *ranges[name])
        if name == "sd":  # an uncertainty is not read to five digits: a sixteenth of the steps is enough
            coarse = np.minimum((steps.astype(np.int64) + 8) >> 4 << 4, STEPS)
            steps = np.where(steps == UNKNOWN, UNKNOWN, coarse).astype(np.uint16)
        planes += [(steps >> 8).astype(np.uint8), (steps & 255).astype(np.uint8)]
    counts = np.rint(cube.count[cube.verdict == SEEN] * unit).astype(np.int64)
    return deflated([*planes, varints(counts)])


def _fields(cells: pa.Table, verdict: Bytes) -> dict[str, Floats]:
    """The numbers of each cell that the page tells; the answer without a leak only where there is one."""
    fields = {name: _column(cells, name) for name in ("prediction", "sd", "truth", "unleaked")}
    fields["unleaked"] = np.where(verdict == LEAK, fields["unleaked"], np.nan)
    label = _column(cells, "label")
    fields["label"] = np.where(label < 0, np.nan, label)
    return {name: np.where(np.isfinite(field), field, np.nan) for name, field in fields.items()}


def _column(table: pa.Table, name: str) -> Floats:
    column: Floats = table.column(name).to_numpy().astype(np.float64)
    return column


def _check_parts(grid: Data, shape: Sequence[int], parts: pa.Table) -> None:
    scores = len(grid["constant"])
    sizes = [prod(shape[place] for place in one) for one in grid["sets"]]
    sets = np.repeat(np.arange(len(sizes)), np.multiply(sizes, scores))
    score = np.concatenate([np.repeat(np.arange(scores), size) for size in sizes])
    if not (np.array_equal(_column(parts, "set"), sets) and np.array_equal(_column(parts, "score"), score)):
        raise _misfit("its table of parts does not hold one part for each conjunction and score, in order")


def _code(drawn: Sequence[Any], wanted: Any) -> int | None:
    """The place of a value among the drawn ones: as it is written, or as a page writes it."""
    for write in (str, value):
        written = [write(raw) for raw in drawn]
        if write(wanted) in written:
            return written.index(write(wanted))
    return None


def _misfit(why: str) -> RecordError:
    return RecordError(
        "this prediction cannot be drawn",
        why=why,
        instead="make it again with `recombine predict … --report PAGE.html`",
    )
