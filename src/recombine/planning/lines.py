"""A plan laid out: a line for each combination to collect, and the curve of benefit against cost."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from recombine.algebra.groups import Numbers
from recombine.planning.choice import MOST_POINTS, Choice, points
from recombine.tables.support import Support

COLUMNS = ("cost", "spent", "gain", "after", "benefit", "buys")


@dataclass(frozen=True)
class Line:
    """One combination to collect. `gain` is what it adds to the measure, `benefit` what all lines up to it add.

    A figure is None where it was not taken: a long plan is measured at some of its lines only, and leverage has no
    bound before everything is determined.
    """

    combination: Mapping[str, str]
    cost: float
    spent: float
    gain: float | None
    after: float | None
    benefit: float | None
    buys: str


@dataclass(frozen=True)
class Point:
    """The measure after so many lines, for so much spent; the first point is today."""

    lines: int
    spent: float
    value: float | None


def curve(choice: Choice, spent: Numbers) -> tuple[Point, ...]:
    """The measure against what is spent, at 200 lines at most; the first point is today."""
    known = np.flatnonzero(np.isfinite(choice.after))
    shown = known[[place - 1 for place in points(len(known), MOST_POINTS)]]
    rest = [Point(int(line) + 1, float(spent[line]), float(choice.after[line])) for line in shown]
    if len(spent) and (not rest or rest[-1].lines < len(spent)):
        rest.append(Point(len(spent), float(spent[-1]), None))
    return (Point(0, 0.0, choice.measure.today), *rest)


def table(support: Support, choice: Choice, spent: Numbers) -> pa.Table:
    """A row for each line: the combination, what it costs, what it buys."""
    names = support.space.names
    sign = 1.0 if choice.measure.better == "higher" else -1.0
    today = math.nan if choice.measure.today is None else choice.measure.today
    before = np.concatenate([[today], choice.after])[:-1]
    numbers = {
        "cost": choice.prices,
        "spent": spent,
        "gain": sign * (choice.after - before),
        "after": choice.after,
        "benefit": sign * (choice.after - today),
    }
    columns = [
        pa.array([f.labels[v] for v in choice.codes[:, k]], pa.string()) for k, f in enumerate(support.space.factors)
    ]
    columns += [pa.array(np.asarray(numbers[name], dtype=np.float64), from_pandas=True) for name in numbers]
    columns += [pa.array(choice.words, pa.string())]
    columns += [pa.array(np.asarray(extra, dtype=np.float64), from_pandas=True) for extra in choice.extra.values()]
    own = [_free(name, names) for name in (*COLUMNS, *choice.extra)]
    return pa.Table.from_arrays(columns, names=[*names, *own])


def _free(name: str, taken: tuple[str, ...]) -> str:
    """A column's name that is not a factor's."""
    return name if name not in taken else _free(f"{name} of the plan", taken)
