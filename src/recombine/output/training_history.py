"""The scores of a training run over time, beside what simple rules get: two small plots and a list."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from recombine.output.headline import decimal, percent
from recombine.output.page_lists import Data, PageList, listed, shown_of, within
from recombine.output.pictures import Axes, Bounds, Label, Path, Plot, around, beside, widened

_TIMES = (("epoch", "epoch"), ("step", "step"), ("computed", "times that scores were computed"))
Points = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class OverTraining:
    """The plots, and what became of the scores in a sentence."""

    scores: Plot
    gaps: Plot | None
    sentence: str


def over_training(history: pa.Table | None, score: Data) -> OverTraining | None:
    """Seen and unseen scores and their gap over time; None where there is no history, or one moment only.

    >>> lines = {"computed": [1, 2], "epoch": [1.0, 2.0], "seen_accuracy": [0.5, 0.9], "unseen_accuracy": [0.4, 0.6]}
    >>> lines |= {"gap": [0.1, 0.3], "unseen_best_rule_accuracy": [0.5, 0.5]}
    >>> over_training(pa.table(lines), {"name": "accuracy", "share": True}).sentence.replace("\u00a0", " ")
    'From first to last, seen combinations go from 50 % to 90 % and unseen ones from 40 % to 60 %.'
    """
    if history is None or len(history) < 2:
        return None
    name, share = score["name"], bool(score.get("share"))
    times, called = _times(history)
    lines = {side: _points(history, f"{side}_{name}", times) for side in ("seen", "unseen", "novel")}
    lines = {side: points for side, points in lines.items() if len(points) > 1}
    if not lines:
        return None
    rule = _points(history, f"unseen_best_rule_{name}", times)
    every = [y for points in [*lines.values(), rule] for _, y in points]
    bounds = widened(around(every)) if share else around(every)
    axes = Axes(_with_room(times), bounds)
    paths = [axes.path(points, f"side-{side}") for side, points in lines.items()]
    paths += [axes.path(rule, "random")] if rule else []
    labels = _beside(axes, [*lines.items(), ("best simple rule", rule)])
    return OverTraining(
        _plot(axes, called, frame_name(name), paths, labels, share=share),
        _gaps(history, times, called, share),
        _told(lines, share),
    )


def frame_name(name: str) -> str:
    """A score as an axis calls it."""
    return {"r2": "R²", "mse": "mean squared error"}.get(name, name)


def history_list(history: pa.Table | None) -> list[PageList]:
    """The history as a list that can be downloaded, the last moment first."""
    if history is None or not len(history):
        return []
    kept = [name for name in history.column_names if history[name].null_count < len(history)]
    rows = [[_rounded(line[name]) for name in kept] for line in reversed(history.to_pylist())]
    shown = rows[: listed(len(kept))]
    lead = f"{shown_of(len(shown), len(rows))} moments, the last one first."
    download = (kept, within(rows))
    numeric = range(len(kept))
    return [PageList("Scores over training", "history.csv", lead, kept, shown, numeric, download=download)]


def _rounded(cell: Any) -> Any:
    if not isinstance(cell, float):
        return cell
    return float(f"{cell:.6g}") if math.isfinite(cell) else None


def _times(history: pa.Table) -> tuple[list[float], str]:
    for name, called in _TIMES:
        if name in history.column_names and not history[name].null_count:
            found = [float(time) for time in history[name].to_pylist()]
            if len(set(found)) == len(found):
                return found, called
    return [float(number) for number in range(1, len(history) + 1)], _TIMES[-1][1]


def _points(history: pa.Table, name: str, times: Sequence[float]) -> list[tuple[float, float]]:
    if name not in history.column_names:
        return []
    both = zip(times, history[name].to_pylist(), strict=True)
    return [(time, y) for time, y in both if y is not None and math.isfinite(y)]


def _gaps(history: pa.Table, times: list[float], called: str, share: bool) -> Plot | None:
    named = {"gap": "gap", "matched gap": "matched_gap"}
    lines = {name: _points(history, column, times) for name, column in named.items()}
    lines = {name: points for name, points in lines.items() if len(points) > 1}
    if not lines:
        return None
    axes = Axes(_with_room(times), around([0.0, *(y for points in lines.values() for _, y in points)]))
    kinds = {"gap": "curve", "matched gap": "diagonal"}
    paths = [axes.level(0.0, "now")]
    paths += [axes.path(points, kinds[name]) for name, points in lines.items()]
    return _plot(axes, called, "unseen worse by", paths, _beside(axes, list(lines.items())), share=share)


def _plot(axes: Axes, across: str, up: str, paths: Sequence[Path], labels: Sequence[Label], *, share: bool) -> Plot:
    spoken = percent if share else decimal
    there = [tick for tick in axes.x_ticks() if tick.at <= min((label.x for label in labels), default=math.inf)]
    return Plot(across, up, there, axes.y_ticks(spoken), paths, (), labels, f"{up} by {across}")


def _with_room(times: Sequence[float]) -> Bounds:
    """Bounds of the times, with room on the right for the lines' names."""
    low, high = around(times, 0.02)
    return low, high + 0.3 * (high - low)


def _beside(axes: Axes, lines: Sequence[tuple[str, Points]]) -> list[Label]:
    """The names of the lines, where the longest of them ends."""
    ends = [(axes.up(points[-1][1]), name) for name, points in lines if points]
    return beside(ends, max(axes.across(points[-1][0]) for _, points in lines if points) + 6)


def _told(lines: dict[str, list[tuple[float, float]]], share: bool) -> str:
    spoken = percent if share else decimal
    called = {"seen": "seen combinations go", "unseen": "unseen ones"}
    ways = [
        f"{called[side]} from {spoken(points[0][1])} to {spoken(points[-1][1])}"
        for side, points in lines.items()
        if side in called
    ]
    return f"From first to last, {' and '.join(ways)}." if ways else ""
