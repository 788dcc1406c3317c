"""The cells of the maps, packed so that a page with a million of them stays a few megabytes.

For each map, four planes follow one another and are deflated together (the browser inflates them itself):

    one byte a cell              its state
    two bytes a determined cell  the logarithm of its leverage in 4,095 steps, high bytes before low bytes
    a varint a seen or thin cell how many rows hold it, exactly
    two bytes a seen or thin cell its mean answer in as many steps, where a target was named
"""

import base64
import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from recombine.base.errors import RecordError
from recombine.output.headline import LONG, shorten, value

UNDETERMINED, DETERMINED, SEEN, NOVEL, IMPOSSIBLE, THIN = range(6)
STATES = ("undetermined", "determined", "seen", "novel", "impossible", "thin")
STEPS = 4094
UNKNOWN = 4095
TEXT_BUDGET = 1_000_000
SHORTEST = 40

Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class LeverageScale:
    """The range of leverages that every map of a page shares, so that two maps can be compared."""

    low: float
    high: float

    def codes(self, leverage: npt.NDArray[np.float64]) -> npt.NDArray[np.uint16]:
        """Leverages as steps on this scale; what is not a number becomes `UNKNOWN`.

        >>> LeverageScale(0.1, 10.0).codes(np.array([0.1, 1.0, 10.0, np.nan])).tolist()
        [0, 2047, 4094, 4095]
        """
        known = np.isfinite(leverage)
        clipped = np.clip(np.where(known, leverage, self.low), self.low, self.high)
        steps = np.log(clipped / self.low) / math.log(self.high / self.low) * STEPS
        return np.where(known, np.rint(steps), UNKNOWN).astype(np.uint16)


@dataclass(frozen=True)
class MapCells:
    """The cells of one map, as they stand in the record's table."""

    state: Bytes
    count: npt.NDArray[np.int64]
    leverage: npt.NDArray[np.float64]
    answer: npt.NDArray[np.float64]
    mirrored: bool = False
    """Whether it shows elements of a set against each other: each pair stands on both sides of the diagonal."""

    @property
    def held(self) -> npt.NDArray[np.bool_]:
        """The cells that rows hold."""
        return np.asarray((self.state == SEEN) | (self.state == THIN))

    def tally(self) -> dict[str, int]:
        """How many cells are in each state; of mirrored ones, each pair once."""
        side = math.isqrt(len(self.state))
        state = self.state.reshape(side, side)[np.triu_indices(side)] if self.mirrored else self.state
        found = np.bincount(state, minlength=len(STATES))
        return {name: int(found[code]) for code, name in enumerate(STATES)}


def cells_of_maps(maps: Sequence[Mapping[str, Any]], table: pa.Table | None) -> list[MapCells]:
    """Cut the record's table into its maps, refusing one that does not fill its grid."""
    if not maps:
        return []
    if table is None:
        raise _misfit("the record lists maps, but holds no table of their cells")
    columns = {name: table.column(name).to_numpy() for name in ("map", "state", "count", "leverage", "answer")}
    edges = np.searchsorted(columns["map"], np.arange(len(maps) + 1))
    sizes = [len(one["row_values"]) * len(one["column_values"]) for one in maps]
    if np.diff(edges).tolist() != sizes or (table.num_rows and columns["state"].max() > THIN):
        raise _misfit("its table of cells does not fill the grids of its maps")
    parts = [slice(a, b) for a, b in pairwise(edges.tolist())]
    leverage, answer = (columns[name].astype(np.float64) for name in ("leverage", "answer"))
    mirrored = [one["factors"][0] == one["factors"][1] for one in maps]
    return [
        MapCells(columns["state"][part], columns["count"][part], leverage[part], answer[part], both)
        for part, both in zip(parts, mirrored, strict=True)
    ]


def shared_scale(cells: Sequence[MapCells]) -> LeverageScale:
    """The scale that holds every leverage, and at least from 1/2 to 2 so that near-equal ones look equal."""
    known = [c.leverage[(c.state == DETERMINED) & np.isfinite(c.leverage) & (c.leverage > 0)] for c in cells]
    known = [part for part in known if part.size]
    low = min((float(part.min()) for part in known), default=0.5)
    high = max((float(part.max()) for part in known), default=2.0)
    return LeverageScale(min(low, 0.5), max(high, 2.0))


def answer_ends(cells: Sequence[MapCells]) -> tuple[float, float] | None:
    """The lowest and the highest answer of a page's maps; None where no target was named."""
    known = np.concatenate([one.answer[np.isfinite(one.answer)] for one in cells] or [np.zeros(0)])
    return (float(known.min()), float(known.max())) if known.size else None


def _answer_codes(cells: MapCells, ends: tuple[float, float] | None) -> npt.NDArray[np.uint16]:
    """Answers as steps between the ends; what is not a number becomes `UNKNOWN`."""
    if ends is None:
        return np.zeros(0, dtype=np.uint16)
    found = cells.answer[cells.held]
    low, high = ends[0] / 2, ends[1] / 2  # what lies between two numbers can be larger than any
    steps = (np.nan_to_num(found, nan=ends[0]) / 2 - low) / max(high - low, 1e-300) * STEPS
    return np.where(np.isfinite(found), np.rint(steps), UNKNOWN).astype(np.uint16)


def pack(cells: MapCells, scale: LeverageScale, ends: tuple[float, float] | None) -> str:
    """One map's cells as text: its planes, deflated, in base 64."""
    answers = _answer_codes(cells, ends)
    codes = scale.codes(cells.leverage[cells.state == DETERMINED])
    planes = [
        cells.state.astype(np.uint8),
        (codes >> 8).astype(np.uint8),
        (codes & 255).astype(np.uint8),
        varints(cells.count[cells.held]),
        (answers >> 8).astype(np.uint8),
        (answers & 255).astype(np.uint8),
    ]
    return deflated(planes)


def deflated(planes: Sequence[Bytes]) -> str:
    """Planes of bytes, one after the other, as text: the browser inflates them itself."""
    return base64.b64encode(zlib.compress(np.concatenate(planes).tobytes(), 9)).decode("ascii")


def varints(numbers: npt.NDArray[np.int64]) -> Bytes:
    """Whole numbers in as few bytes as each needs: seven bits a byte, lowest first, the last byte below 128.

    >>> varints(np.array([1, 300])).tolist()
    [1, 172, 2]
    """
    rest = np.maximum(numbers, 0).astype(np.int64)
    width = max(1, -(-int(rest.max(initial=0)).bit_length() // 7))
    shifted = rest[:, None] >> (7 * np.arange(width))
    used = shifted > 0
    used[:, 0] = True
    more = np.pad(used[:, 1:], ((0, 0), (0, 1))).astype(np.int64) << 7
    packed: Bytes = ((shifted & 127) | more)[used].astype(np.uint8)
    return packed


def maps_payload(maps: Sequence[Mapping[str, Any]], cells: Sequence[MapCells]) -> dict[str, Any]:
    """Everything that the page's script needs to draw the maps. A value's text is written once."""
    scale, ends = shared_scale(cells), answer_ends(cells)
    texts = [value(raw) for one in maps for raw in (*one["row_values"], *one["column_values"])]
    pool = {text: place for place, text in enumerate(dict.fromkeys(texts))}
    most = min(LONG, max(SHORTEST, TEXT_BUDGET // max(1, len(pool))))
    drawn = [_drawn(one, pool) | {"cells": pack(part, scale, ends)} for one, part in zip(maps, cells, strict=True)]
    return {
        "values": [shorten(text, most) for text in pool],
        "low": scale.low,
        "high": scale.high,
        "answers": ends,
        "maps": drawn,
    }


def _drawn(one: Mapping[str, Any], pool: Mapping[str, int]) -> dict[str, Any]:
    return {
        "rows": _axis(one, "row", 0, pool),
        "columns": _axis(one, "column", 1, pool),
    }


def _axis(one: Mapping[str, Any], side: str, place: int, pool: Mapping[str, int]) -> dict[str, Any]:
    return {
        "factor": shorten(value(one["factors"][place]), 80),
        "values": [pool[value(raw)] for raw in one[f"{side}_values"]],
        "total": one[f"{side}s_total"],
        "islands": one.get(f"{side}_islands"),
        "counts": one.get(f"{side}_counts"),
    }


def _misfit(why: str) -> RecordError:
    return RecordError(
        "this audit cannot be drawn",
        why=why,
        instead="make it again with `recombine audit … --report PAGE.html`",
    )
