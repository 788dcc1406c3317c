"""How the time of `recombine.read` and `recombine.audit` grows with the rows, from 10^5 to 10^7.

The table is that of `rows.py`: three text factors with 500, 40 and 100 values, 2 million combinations in all.
As the rows grow, so do the combinations seen, until nearly all are. Prints the slope of each line on log-log
axes (1 means that twice the rows take twice the time) and draws them.
"""
# ruff: noqa: PLC0415 - a process imports only what it measures

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import measure
from rows import FACTORS, write_rows

FULL = (100_000, 316_000, 1_000_000, 3_160_000, 10_000_000)
SMOKE = (1_000, 10_000, 100_000)


def read_and_audit(glob: str) -> Callable[[], dict[str, float]]:
    """Seconds of both steps, and the combinations found."""
    from recombine import audit, read

    audit(read({"a": ["x", "x", "y"], "b": ["x", "y", "y"]}, factors=["a", "b"]))

    def work() -> dict[str, float]:
        started = time.perf_counter()
        support = read(glob, factors=list(FACTORS))
        between = time.perf_counter()
        audit(support)
        ended = time.perf_counter()
        return {"read": between - started, "audit": ended - between, "combinations": len(support)}

    return work


def slope(rows: list[int], seconds: list[float]) -> float:
    """How steep a line is on log-log axes."""
    return float(np.polyfit(np.log(rows), np.log(seconds), 1)[0])


def draw(rows: list[int], lines: dict[str, list[float]], combinations: list[int], out: Path) -> None:
    """The picture, as PNG and SVG."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    mpl.rcParams.update({"font.family": "sans-serif", "font.size": 10, "svg.fonttype": "none"})
    figure, axes = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
    colours = {"read + audit": "#1a1a1a", "read": "#0072b2", "audit": "#d55e00"}
    marks = {"read + audit": "o", "read": "s", "audit": "^"}
    for name, seconds in lines.items():
        axes.plot(rows, seconds, color=colours[name], marker=marks[name], markersize=5, linewidth=1.6)
    for name, height in zip(lines, _apart([line[-1] for line in lines.values()]), strict=True):
        steep = slope(rows, lines[name])
        axes.annotate(
            f"{name}  (slope {steep:.2f})",
            (rows[-1], height),
            xytext=(9, 0),
            textcoords="offset points",
            va="center",
            color=colours[name],
        )
    ends = np.array([rows[0], rows[-1]])
    axes.plot(
        ends,
        lines["read + audit"][0] * ends / ends[0],
        color="0.6",
        linewidth=1,
        linestyle=(0, (4, 3)),
        zorder=0,
    )
    axes.set(xscale="log", yscale="log", xlabel="rows (and combinations seen)", ylabel="seconds")
    axes.set_xticks(rows, [f"{row:,}\n({seen:,})" for row, seen in zip(rows, combinations, strict=True)])
    axes.minorticks_off()
    axes.yaxis.set_major_formatter("{x:g}")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="0.92")
    axes.set_axisbelow(True)
    for ending in ("png", "svg"):
        figure.savefig(out.with_suffix(f".{ending}"), dpi=160)
    plt.close(figure)


def _apart(heights: list[float]) -> list[float]:
    """Where to write beside the lines' ends so that no two labels touch."""
    placed: dict[int, float] = {}
    for place in np.argsort(heights):
        floor = max(placed.values(), default=0.0) * 1.35
        placed[int(place)] = max(heights[place], floor)
    return [placed[place] for place in range(len(heights))]


def main() -> None:
    """Run it."""
    parser = measure.options(__doc__)
    parser.add_argument("--data", type=Path, help="keep the tables here (default: a temporary folder)")
    given = parser.parse_args()
    sizes, rounds = (SMOKE, 1) if given.smoke else (FULL, 3)
    with tempfile.TemporaryDirectory(prefix="recombine-growth-") as temporary:
        globs = {size: write_rows(given.data or Path(temporary), size) for size in sizes}
        found = measure.take_turns({str(size): (read_and_audit, globs[size]) for size in sizes}, rounds=rounds)
    steps = {
        name: [float(np.median([run.answer[name] for run in one.runs])) for one in found.values()]
        for name in ("read", "audit")
    }
    lines: dict[str, list[float]] = {"read + audit": [one.median for one in found.values()], **steps}
    combinations = [int(one.answer["combinations"]) for one in found.values()]
    peaks = [one.peak_gib for one in found.values()]
    rows = list(sizes)
    table: list[list[Any]] = [
        [f"{size:,}", *numbers] for size, *numbers in zip(rows, combinations, *lines.values(), peaks, strict=True)
    ]
    measure.table(["rows", "combinations", *lines, "peak GiB"], table)
    slopes = {name: slope(rows, seconds) for name, seconds in lines.items()}
    print("log-log slope: " + ", ".join(f"{name} {steep:.2f}" for name, steep in slopes.items()))
    measure.write("growth", given, {"rows": rows, "combinations": combinations, "seconds": lines, "slopes": slopes})
    picture = measure.RESULTS / ("growth-smoke.png" if given.smoke else "growth.png")
    draw(rows, lines, combinations, picture)
    print(f"drawn: {picture.name} and {picture.with_suffix('.svg').name} in {picture.parent.name}/")


if __name__ == "__main__":
    main()
