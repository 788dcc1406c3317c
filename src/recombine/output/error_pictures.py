"""Why a model errs on unseen combinations, as pictures with a sentence each: habits, swaps, theory, deviations."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from recombine.output.headline import decimal, percent, shorten, value, whole
from recombine.output.pictures import Axes, Dot, Dots, Plot, around, widened
from recombine.output.score_pictures import difference, differences, score_name, spoken

Data = Mapping[str, Any]
EXCESS = {"name": "excess", "better": "lower", "share": True}
MOST_CAUSES = 8
MOST_EXAMPLES = 12
MOST_FACTORS = 12
MOST_POINTS = 1_000
SLIGHT = 0.005
GREY = 4
MOST_NAMED = 200
MOST_PLAIN = 1_000
STRONGEST = 12.0  # p-values below 1e-12 say no more than that one

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Cause:
    """One explanation: its stretch of the bar, and beside it what would be expected without it."""

    name: str
    colour: int
    width: float
    share: str
    interval: str
    among_errors: str
    among_right: str
    by_chance: str
    title: str


@dataclass(frozen=True)
class Causes:
    """The errors split among their explanations; unsure where the data cannot tell them apart."""

    causes: Sequence[Cause]
    unsure: bool
    sentence: str
    notes: Sequence[str]
    names: Sequence[str]
    examples: Sequence[Sequence[Any]]


@dataclass(frozen=True)
class Beside:
    """Theory beside measurement: one scatter, and the score under each of the theory's verdicts."""

    picture: Plot | None
    sentence: str
    rows: Sequence[Sequence[str]]
    kinds: Sequence[str]
    forecast: Sequence[Sequence[str]] = ()
    missed: str = ""


def causes(found: Data | None) -> Causes | None:
    """The errors on unseen combinations as one stacked bar."""
    if not found:
        return None
    shares = [one for one in found.get("shares") or [] if one["share"] >= SLIGHT or one["fits"]][:MOST_CAUSES]
    firm = any(one["low"] is not None for one in shares)  # without an interval the split is a guess, and not drawn
    pieces = [_cause(one, colour) for one, colour in zip(shares, _colours(shares), strict=True) if firm]
    examples = list(found.get("examples") or [])[:MOST_EXAMPLES]
    names = list(dict.fromkeys(name for one in examples for name in one["combination"]))
    rows = [
        [
            *(one["combination"].get(name) for name in names),
            one["truth"],
            one["said"],
            whole(one["count"]),
            one["explanation"],
        ]
        for one in examples
    ]
    notes = [one for one in found.get("cannot_tell") or [] if one not in found["verdict"]]
    return Causes(pieces, found.get("leading") is None, found["verdict"], notes, names, rows)


def swaps(found: Data | None) -> Dots | None:
    """How much more often the answer changes when one factor is swapped and the truth stays."""
    asked = list((found or {}).get("factors") or [])[:MOST_FACTORS]
    numbers = [number for one in asked for number in one["excess"].values() if number is not None]
    if not numbers:
        return None
    within = around([*numbers, 0.0], 0.1)
    dots = [
        Dot(
            value(one["factor"]),
            one["excess"]["share"],
            one["excess"]["low"],
            one["excess"]["high"],
            "untested" if one["excess"]["share"] is None else difference(EXCESS, one["excess"]["share"]),
            _changed(one),
            own=(one["excess"]["low"] or 0.0) > 0,
        )
        for one in asked
    ]
    return differences(dots, within, EXCESS)


def _changed(one: Data) -> str:
    changed = one["changed"]["share"]
    return "nothing to swap" if changed is None else f"{percent(changed)} of the answers change"


def beside(found: Data | None, score: Data) -> Beside | None:
    """What the theory expected of each unseen combination, against what was measured."""
    if not found:
        return None
    points = [one for one in found.get("points") or [] if math.isfinite(one[0]) and math.isfinite(one[1])]
    fmt = spoken(score)
    rows = [
        [value(one["verdict"]), whole(one["combinations"]), whole(one["rows"]), fmt(one["score"]), fmt(one["macro"])]
        for one in found.get("verdicts") or []
    ]
    picture = _scatter(found, points) if len({one[0] for one in points}) > 1 else None
    told = found.get("forecast") or {}
    kinds = sorted({one[2] for one in points})
    return Beside(picture, found["verdict"], rows, kinds, _forecast(told), told.get("verdict", ""))


def _forecast(told: Data) -> list[list[str]]:
    """What was forecast, what was measured, and the one less the other: a value and its interval each."""
    if not told.get("miss"):
        return []
    shares = told["forecast"]["score"] == "accuracy"
    scored = [
        [name, *(_spoken(told[name][part], shares=shares) for part in ("value", "low", "high"))]
        for name in ("forecast", "measured")
    ]
    low, missed, high = (f"{100 * part:+.0f} points" if shares else f"{part:+.2f}" for part in told["miss"])
    return [*scored, ["forecast less measured", missed, low, high]]


def _spoken(number: float | None, *, shares: bool) -> str:
    if number is None:
        return "–"
    return percent(number) if shares else f"{number:.2f}"


def _colours(shares: Sequence[Data]) -> list[int]:
    """A colour for each explanation; what none explains is grey."""
    free = iter(colour for colour in range(len(shares) + 1) if colour != GREY)
    return [GREY if one["habit"] == "neither" else next(free) for one in shares]


def _cause(one: Data, colour: int) -> Cause:
    interval = "–" if one["low"] is None else f"{percent(one['low'])} to {percent(one['high'])}"
    fits = f"fits {whole(one['fits'])} errors, {whole(one['only'])} of them alone"
    return Cause(
        value(one["name"]),
        colour,
        100 * one["share"],
        percent(one["share"]),
        interval,
        percent(one["among_errors"]),
        percent(one["among_right"]),
        percent(one["by_chance"]),
        f"{shorten(value(one['name']), 80)}: {percent(one['share'])} of the errors; {fits}",
    )


def _scatter(found: Data, points: Sequence[Sequence[Any]]) -> Plot:
    shown = evenly(points, MOST_POINTS)
    across, up = (
        widened(around(numbers)) if found[name] == "accuracy" else around(numbers)
        for name, numbers in (("across", [one[0] for one in shown]), ("up", [one[1] for one in shown]))
    )
    axes = Axes(across, up)
    marks = [
        axes.mark(x, y, kind, f"{kind}: {found['across']} {decimal(x)}, {found['up']} {decimal(y)}")
        for x, y, kind in shown
    ]
    few = "" if len(shown) == found["joined"] else f" {whole(len(shown))} of them are drawn."
    sentence = f"Each point is one of {whole(found['joined'])} unseen combinations.{few}"
    return axes.plot(found["across"], found["up"], marks=marks, sentence=sentence)


def evenly(points: Sequence[Any], most: int) -> list[Any]:
    """At most so many of the points, taken at even steps.

    >>> evenly(range(10), 4), evenly([1, 2], 4)
    ([0, 2, 5, 7], [1, 2])
    """
    if len(points) <= most:
        return list(points)
    return [points[place * len(points) // most] for place in range(most)]


def additive(found: Data | None) -> list[tuple[str, str]]:
    """What of the answers is a sum over seen conjunctions, as numbers beside their names."""
    if not found or found.get("r2") is None:
        return []
    names = {"r2": "R²", "adjusted": "adjusted for the free numbers", "left_out": "on combinations left out"}
    return [(said, decimal(found[key])) for key, said in names.items() if found.get(key) is not None]


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
    sides = around([float(apart[known].min()), float(apart[known].max()), 0.0])
    axes = Axes(sides, (0.0, max(1.5, 1.08 * float(firm[known].max()))))
    marks = [axes.mark(apart[at], firm[at], "plain", "") for at in plain.tolist()]
    titles = _titles(table, names, named, data)
    marks += [
        axes.mark(apart[at], firm[at], "deviating", title) for at, title in zip(named.tolist(), titles, strict=True)
    ]
    zero = axes.path([(0.0, axes.y[0]), (0.0, axes.y[1])], "now")
    unit = " (points)" if data["score"].get("share") else ""
    across = f"{score_name(data['score'])} less what its parts give{unit}"
    return axes.plot(
        across,
        "−log₁₀ p",
        paths=[zero],
        marks=marks,
        sentence=_sentence(len(marks), known.size, rate, luck),
        x_spoken=lambda number: difference(data["score"], number).removesuffix(" points"),
    )


def _numbers(table: pa.Table, factors: int, name: str) -> Numbers:
    """A column of measures, which stand after the factors; a factor of the same name pushed an underscore on it."""
    place = [one.rstrip("_") for one in table.column_names[factors:]].index(name) + factors
    return np.asarray(table.column(place).cast(pa.float64()).fill_null(math.nan).to_numpy())


def _titles(table: pa.Table, names: Sequence[str], places: npt.NDArray[np.int64], data: Data) -> list[str]:
    picked = table.take(pa.array(places))
    columns = [picked.column(k).to_pylist() for k in range(min(len(names), 6))]
    apart = _numbers(picked, len(names), "deviation")
    named = [
        ", ".join(f"{name}={shorten(value(one))}" for name, one in zip(names, line, strict=False))
        for line in zip(*columns, strict=True)
    ]
    return [f"{name}: {difference(data['score'], float(by))}" for name, by in zip(named, apart, strict=True)]


def _sentence(drawn: int, known: int, rate: float, luck: Numbers) -> str:
    few = "" if drawn == known else f" {whole(drawn)} of {whole(known)} are drawn."
    capped = f" What luck explains least is drawn at {decimal(STRONGEST)}." if np.nanmin(luck) < 10**-STRONGEST else ""
    return (
        "Each point is a tested combination. At the middle line it does as well as its parts do elsewhere; the higher, "
        f"the less luck explains it. Filled: named, with a false discovery rate of {decimal(rate)}.{few}{capped}"
    )
