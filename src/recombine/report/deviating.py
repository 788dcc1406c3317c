"""Is it the combination or a hard part? Every tested combination against what its parts give elsewhere."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from recombine.report.plots import Axes, Mark, Plot, around
from recombine.report.scores import difference, score_name
from recombine.report.wording import decimal, shorten, value, whole

Data = Mapping[str, Any]
MOST_NAMED = 200
MOST_PLAIN = 1_000
STRONGEST = 12.0  # p-values below 1e-12 say no more than that one

Numbers = npt.NDArray[np.float64]


def volcano(data: Data, table: pa.Table | None) -> Plot | None:
    """How far each combination is from what its parts give, and how little luck explains it."""
    names = [one["name"] for one in data.get("factors") or []]
    if table is None or not (data.get("deviations") or {}).get("testable"):
        return None
    apart, luck, q = (_numbers(table, len(names), name) for name in ("deviation", "p", "q"))
    known = np.flatnonzero(np.isfinite(apart) & np.isfinite(luck))
    if known.size < 2:
        return None
    rate = data["deviations"]["rate"]
    firm = -np.log10(np.maximum(luck, 10.0**-STRONGEST))
    named = known[q[known] <= rate]
    named = named[np.argsort(-firm[named], kind="stable")][:MOST_NAMED]
    plain = known[q[known] > rate]
    plain = plain[np.linspace(0, plain.size - 1, min(plain.size, MOST_PLAIN)).astype(int)]
    axes = Axes(_both_ways(apart[known]), (0.0, max(1.5, 1.08 * float(firm[known].max()))))
    marks = [Mark(axes.across(apart[at]), axes.up(firm[at]), "plain", "") for at in plain.tolist()]
    titles = _titles(table, names, named, data)
    marks += [
        Mark(axes.across(apart[at]), axes.up(firm[at]), "deviating", title)
        for at, title in zip(named.tolist(), titles, strict=True)
    ]
    zero = axes.path([(0.0, axes.y[0]), (0.0, axes.y[1])], "now")
    sentence = _sentence(len(marks), known.size, rate, luck)
    unit = " (points)" if data["score"].get("share") else ""
    across = f"{score_name(data['score'])} less what its parts give{unit}"
    steps = axes.x_ticks(lambda number: difference(data["score"], number).removesuffix(" points"))
    return Plot(across, "−log₁₀ p", steps, axes.y_ticks(), [zero], marks, [], sentence)


def _numbers(table: pa.Table, factors: int, name: str) -> Numbers:
    """A column of measures, which stand after the factors; a factor of the same name pushed an underscore on it."""
    place = [one.rstrip("_") for one in table.column_names[factors:]].index(name) + factors
    return np.asarray(table.column(place).cast(pa.float64()).fill_null(math.nan).to_numpy())


def _both_ways(numbers: Numbers) -> tuple[float, float]:
    low, high = around([float(numbers.min()), float(numbers.max()), 0.0])
    return low, high


def _titles(table: pa.Table, names: Sequence[str], places: npt.NDArray[np.int64], data: Data) -> list[str]:
    picked = table.take(pa.array(places))
    columns = [picked.column(k).to_pylist() for k in range(min(len(names), 6))]
    apart = _numbers(picked, len(names), "deviation")
    named = [" × ".join(shorten(value(one)) for one in line) for line in zip(*columns, strict=True)]
    return [f"{name}: {difference(data['score'], float(by))}" for name, by in zip(named, apart, strict=True)]


def _sentence(drawn: int, known: int, rate: float, luck: Numbers) -> str:
    few = "" if drawn == known else f" {whole(drawn)} of {whole(known)} are drawn."
    capped = f" What luck explains least is drawn at {decimal(STRONGEST)}." if np.nanmin(luck) < 10**-STRONGEST else ""
    return (
        "Each point is a tested combination. At the middle line it does as well as its parts do elsewhere; the higher, "
        f"the less luck explains it. Filled: named, with a false discovery rate of {decimal(rate)}.{few}{capped}"
    )
