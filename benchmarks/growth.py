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
    figure, axes = plt.subplots(figsize=(7.2, 4.2), layout="constrained")
    looks = {"read + audit": ("#1a1a1a", "o"), "read": ("#0072b2", "s"), "audit": ("#d55e00", "^")}
    ends = np.array([rows[0], rows[-1]])
    in_step = lines["read + audit"][0] * ends / ends[0]
    axes.plot(ends, in_step, color="0.6", linewidth=1, linestyle=(0, (4, 3)))
    for name, seconds in lines.items():
        colour, mark = looks[name]
        axes.plot(rows, seconds, color=colour, marker=mark, markersize=5, linewidth=1.6)
    labels = {f"{name}  (slope {slope(rows, line):.2f})": line[-1] for name, line in lines.items()}
    labels["in step with the rows  (slope 1)"] = in_step[-1]
    colours = [*(looks[name][0] for name in lines), "0.45"]
    for (label, height), colour in zip(_apart(labels).items(), colours, strict=True):
        place = {"xy": (rows[-1], height), "xytext": (10, 0), "textcoords": "offset points"}
        axes.annotate(label, **place, va="center", color=colour)
    axes.set(xscale="log", yscale="log", xlabel="rows (and combinations seen)", ylabel="seconds")
    axes.set_xticks(rows, [f"{row:,}\n({seen:,})" for row, seen in zip(rows, combinations, strict=True)])
    axes.minorticks_off()
    axes.yaxis.set_major_formatter("{x:g}")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="0.92")
    axes.set_axisbelow(True)
    axes.set_title("Time to read and audit three factors of 500, 40 and 100 values", loc="left", fontsize=11)
    for ending in ("png", "svg"):
        figure.savefig(out.with_suffix(f".{ending}"), dpi=160)
    plt.close(figure)


def _apart(heights: dict[str, float]) -> dict[str, float]:
    """Where to write beside the lines' ends so that no two labels touch."""
    placed: dict[str, float] = {}
    for label in sorted(heights, key=heights.__getitem__):
        placed[label] = max(heights[label], max(placed.values(), default=0.0) * 1.45)
    return {label: placed[label] for label in heights}


def main() -> None:
    """Run it."""
    parser = measure.options(__doc__)
    parser.add_argument("--data", type=Path, help="keep the tables here (default: a temporary folder)")
    given = parser.parse_args()
    sizes, rounds = (SMOKE, 1) if given.smoke else (FULL, 5)
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
