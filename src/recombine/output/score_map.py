"""The score of every pair of values, packed for the map that the page's script draws.

Three planes of a map follow one another and are deflated together, as those of the other pages are:

    one byte a cell          whether it was tested, whether it was trained on, whether it can occur
    two bytes a tested cell  its score between the lowest and the highest of the page, high bytes before low bytes
    a varint a tested cell   how many rows were scored
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import isfinite
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from recombine.output.combination_cube import codes
from recombine.output.headline import shorten, value, whole
from recombine.output.map_packing import deflated, varints
from recombine.output.pictures import widened
from recombine.output.score_pictures import score_name

Data = Mapping[str, Any]
Tables = Mapping[str, pa.Table]
Ints = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.float64]
TESTED, TRAINED, IMPOSSIBLE = 1, 2, 4
MOST_VALUES = 256
MOST_CELLS = 200_000
MOST_MAPS = 10
LONGEST = 120
OUTLYING = 0.02  # of the cells at each end do not stretch the colours


@dataclass(frozen=True, eq=False)
class Axis:
    """The values of one factor on a map, the most tested first; `kept` are their places among all of them."""

    factor: str
    kept: Ints
    names: Sequence[str]
    rows: Numbers
    scores: Numbers
    total: int


@dataclass(frozen=True, eq=False)
class ScoreMap:
    """One pair of factors: a state, a score and a number of rows for each cell."""

    rows: Axis
    columns: Axis
    state: npt.NDArray[np.uint8]
    score: Numbers
    count: Ints

    @property
    def tested(self) -> npt.NDArray[np.bool_]:
        """The cells with a scored row."""
        return (self.state & TESTED) > 0

    @property
    def cut(self) -> str:
        """Which values are not drawn, in words."""
        said = [
            f"the {whole(len(axis.kept))} most tested of {whole(axis.total)} values of {shorten(value(axis.factor))}"
            for axis in (self.rows, self.columns)
            if len(axis.kept) < axis.total
        ]
        return " and ".join(said)


def score_maps(data: Data, tables: Tables) -> list[ScoreMap]:
    """A map for each pair of factors whose scores are known, as many as a page should hold."""
    by_value, by_pair = tables.get("by_value"), tables.get("by_pair")
    if by_value is None or by_pair is None or not by_pair.num_rows:
        return []
    axes = _axes(by_value)
    found: list[ScoreMap] = []
    cells = 0
    sets = {one["name"] for one in data.get("set_factors") or ()}
    of_elements = [(k, k) for k, axis in enumerate(axes) if axis.factor in sets]
    for first, second in [*combinations(range(len(axes)), 2), *of_elements]:
        lines = _lines(by_pair, axes[first].factor, axes[second].factor)
        cells += len(axes[first].kept) * len(axes[second].kept)
        if lines.num_rows and len(found) < MOST_MAPS and cells <= MOST_CELLS:
            found.append(_map(data, tables, axes, (first, second), lines))
    return sorted(found, key=lambda one: -_contrast(one, share=bool(data["score"].get("share"))))


def _contrast(one: ScoreMap, *, share: bool) -> float:
    """How far the cells of a map differ in their scores, by rows: the page opens where most is to be seen.

    Of shares, what as many cells of as many rows would differ by luck is taken away: small cells look lively.
    """
    known = one.tested & np.isfinite(one.score)
    rows, score = one.count[known].astype(np.float64), one.score[known]
    if not rows.sum():
        return 0.0
    mean = float((rows * score).sum() / rows.sum())
    luck = (len(rows) - 1) * mean * (1 - mean) if share else 0.0
    return float(((rows * np.square(score - mean)).sum() - luck) / rows.sum())


def maps_payload(maps: Sequence[ScoreMap], data: Data) -> dict[str, Any]:
    """Everything that the page's script needs to draw the maps."""
    known = np.concatenate([one.score[np.isfinite(one.score)] for one in maps] or [np.zeros(0)])
    if not known.size:
        return {}
    low, high = float(known.min()), float(known.max())
    # scores that cells do have: of few cells the very worst, which the legend names
    ends = (
        float(np.quantile(known, OUTLYING, method="lower")),
        float(np.quantile(known, 1 - OUTLYING, method="higher")),
    )
    worst, best = _colour_ends(ends, data["score"])
    return {
        "low": low,
        "high": high,
        "worst": worst,
        "best": best,
        "share": bool(data["score"].get("share")),
        "score": shorten(score_name(data["score"])),
        "trained": data.get("training") is not None,
        "maps": [
            {"rows": _side(one.rows), "columns": _side(one.columns), "cells": _packed(one, low, high)} for one in maps
        ],
    }


def _colour_ends(ends: tuple[float, float], score: Data) -> tuple[float, float]:
    """Where the colours begin and end: the worst first. The best of a loss is none at all."""
    if score["better"] == "lower":
        return ends[1], min(ends[0], 0.0)
    return widened(ends) if score.get("share") else ends


def _axes(by_value: pa.Table) -> list[Axis]:
    axes = []
    for factor in by_value["factor"].unique().to_pylist():
        mine = by_value.filter(pc.equal(by_value["factor"], factor))
        rows = np.asarray(mine["rows"].to_numpy(), dtype=np.float64)
        kept = np.argsort(-rows, kind="stable")[:MOST_VALUES]
        scores = np.asarray(mine["score"].cast(pa.float64()).fill_null(float("nan")).to_numpy())
        names = mine["value"].take(pa.array(kept)).to_pylist()
        axes.append(Axis(factor, kept, names, rows[kept], scores[kept], mine.num_rows))
    return axes


def _lines(by_pair: pa.Table, first: str, second: str) -> pa.Table:
    return by_pair.filter(pc.and_(pc.equal(by_pair["factor_a"], first), pc.equal(by_pair["factor_b"], second)))


def _map(data: Data, tables: Tables, axes: Sequence[Axis], pair: tuple[int, int], lines: pa.Table) -> ScoreMap:
    rows, columns = (axes[k] for k in pair)
    at_row, at_column = (
        np.asarray(
            pc.fill_null(pc.index_in(lines[f"value_{letter}"], pa.array(axis.names, pa.string())), -1).to_numpy()
        )
        for letter, axis in (("a", rows), ("b", columns))
    )
    drawn = (at_row >= 0) & (at_column >= 0)
    cell = at_row[drawn].astype(np.int64) * len(columns.kept) + at_column[drawn]
    size = len(rows.kept) * len(columns.kept)
    score, count = np.full(size, np.nan), np.zeros(size, dtype=np.int64)
    score[cell] = np.asarray(lines["score"].cast(pa.float64()).fill_null(float("nan")).to_numpy())[drawn]
    count[cell] = lines["rows"].to_numpy()[drawn]
    if pair[0] == pair[1]:  # two elements of one set, in either order; with itself an element is any set that holds it
        turned = at_column[drawn].astype(np.int64) * len(columns.kept) + at_row[drawn]
        own = np.arange(len(rows.kept)) * (len(columns.kept) + 1)
        score[turned], count[turned] = score[cell], count[cell]
        score[own], count[own] = rows.scores, rows.rows
    held = [_held(data, tables, axis.factor) for axis in (rows, columns)]
    state = np.where(count > 0, TESTED, 0) | _trained(tables.get("training_support"), rows, columns, pair, held)
    state |= _impossible(data, rows, columns, pair) if held == [None, None] else 0
    return ScoreMap(rows, columns, state.astype(np.uint8), score, count)


def _held(data: Data, tables: Tables, factor: str) -> list[list[int]] | None:
    """The elements of each set of a factor, by their places; None of a factor whose values are no sets."""
    if factor not in {one["name"] for one in data.get("set_factors") or ()}:
        return None
    written, elements = (
        tables[name].filter(pc.equal(tables[name]["factor"], factor))["value"].to_pylist()
        for name in ("values", "elements")
    )
    place = {json.dumps(json.loads(one)): k for k, one in enumerate(elements)}
    return [[place[json.dumps(part)] for part in json.loads(one)] for one in written]


def _trained(
    training: pa.Table | None,
    rows: Axis,
    columns: Axis,
    pair: tuple[int, int],
    held: Sequence[list[list[int]] | None],
) -> Ints:
    """The pairs that stand together in some combination that was trained on."""
    grid = np.zeros((len(rows.kept), len(columns.kept)), dtype=np.int64)
    if training is None or not training.num_rows:
        return grid.ravel()
    codes = [training[f"code{k}"].to_numpy() for k in pair]
    if any(held):  # what each set holds meets what the other does
        met = [
            (one, other)
            for a, b in set(zip(*(column.tolist() for column in codes), strict=True))
            for one in (held[0][a] if held[0] else [a])
            for other in (held[1][b] if held[1] else [b])
        ]
        codes = list(np.array(met, dtype=np.int64).reshape(-1, 2).T)
    at = [_places(axis)[column] for axis, column in zip((rows, columns), codes, strict=True)]
    drawn = (at[0] >= 0) & (at[1] >= 0)
    grid[at[0][drawn], at[1][drawn]] = TRAINED
    return grid.ravel()


def _impossible(data: Data, rows: Axis, columns: Axis, pair: tuple[int, int]) -> Ints:
    """The pairs that were declared impossible whatever the other factors are."""
    grid = np.zeros((len(rows.kept), len(columns.kept)), dtype=np.int64)
    for pattern in data.get("impossible") or []:
        if all(code < 0 for k, code in enumerate(pattern) if k not in pair):
            at = [
                axis.kept == code if code >= 0 else np.ones(len(axis.kept), dtype=bool)
                for axis, code in zip((rows, columns), (pattern[k] for k in pair), strict=True)
            ]
            grid[np.ix_(*at)] = IMPOSSIBLE
    return grid.ravel()


def _places(axis: Axis) -> Ints:
    """From a value's code to its place on the map, -1 where it is not drawn."""
    places = np.full(axis.total, -1, dtype=np.int64)
    places[axis.kept] = np.arange(len(axis.kept))
    return places


def _side(axis: Axis) -> dict[str, Any]:
    return {
        "factor": shorten(value(axis.factor), 80),
        "names": [shorten(value(name), LONGEST) for name in axis.names],
        "counts": axis.rows.tolist(),
        "scores": [round(number, 6) if isfinite(number) else None for number in axis.scores.tolist()],
    }


def _packed(one: ScoreMap, low: float, high: float) -> str:
    steps = codes(one.score[one.tested], low, high).astype(np.uint16)
    planes = [one.state, (steps >> 8).astype(np.uint8), (steps & 255).astype(np.uint8), varints(one.count[one.tested])]
    return deflated(planes)
