"""Draw the pictures of docs/predict.md from what the library computes, and that of docs/speed.md from what
`benchmarks/whole_verbs.py` measured, as SVG, into docs/pictures/.

    python examples/draw_docs_pictures.py

`tests/test_docs.py` draws them again and compares, so that no picture can drift from the code.
"""

import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import recombine
from recombine.verbs.predict.effect_transfer import combinations_needed, expected_slope

PICTURES = Path(__file__).resolve().parents[1] / "docs" / "pictures"
LEAKY = "order:0,0.3,0.4"
"""No constant; 0.3 for each of two single factors, 0.4 for the combination: S = 0.3."""
SALIENCE = 0.3

JACKETS = {"hoodie": "casual", "parka": "casual", "denim": "casual", "suit": "smart", "blazer": "smart", "tux": "smart"}
SHOES = {"trainers": "casual", "sandals": "casual", "boots": "casual"}
SHOES |= {"oxfords": "smart", "brogues": "smart", "loafers": "smart"}
ASKED = {"place": "office", "jacket": "hoodie", "shoes": "oxfords"}


# What is drawn


@dataclass(frozen=True)
class Leak:
    """Predictions against truth for two values worn with everything, and the slope for several numbers of them."""

    points: tuple[tuple[float, float], ...]
    slope: float
    curve: tuple[tuple[float, float], ...]
    measured: tuple[tuple[int, float], ...]
    needed: float


@dataclass(frozen=True)
class Shortcut:
    """What each conjunction adds to the score of one outfit, under each loss; None where it was never seen."""

    parts: dict[str, dict[str, float | None]]
    scores: dict[str, float]


def outfits(worn: Iterable[int], values: range) -> tuple[dict[str, list[Any]], dict[str, list[Any]]]:
    """Scores of jackets and trousers that add up: those seen (a worn one is in it), and all of them."""
    chosen = set(worn)
    every = list(product(values, values))
    seen = [pair for pair in every if chosen & set(pair)]
    return _scored(seen), _scored(every)


def _scored(pairs: list[tuple[int, int]]) -> dict[str, list[Any]]:
    return {
        "jacket": [f"{a:+d}" for a, _ in pairs],
        "trousers": [f"{b:+d}" for _, b in pairs],
        "score": [float(a + b) for a, b in pairs],
    }


def adding(worn: Iterable[int], values: range) -> recombine.Prediction:
    """What a learner with S = 0.3 says of the outfits that it has not seen."""
    question: dict[str, Any] = {"factors": ["jacket", "trousers"], "target": "score", "target_kind": "number"}
    seen, every = (recombine.read(table, **question) for table in outfits(worn, values))
    return recombine.predict(seen, salience=LEAKY, truth=every)


def leak() -> Leak:
    """Nine jackets and nine pairs of trousers, worth -4 to 4; then twenty-five, for the longer curve."""
    two = adding([-2, 2], range(-4, 5))
    wide = range(-12, 13)
    sets = [[0], [-2, 2], [-3, -1, 1, 3], [*range(-3, 0), *range(1, 4)], [*range(-6, 0), *range(1, 7)]]
    return Leak(
        points=tuple(sorted({(round(x, 9), round(y, 9)) for x, y, _ in two.slope.points})),
        slope=two.slope.value,
        curve=tuple((p / 4, expected_slope(salience=SALIENCE, seen=p / 4)) for p in range(4, 65)),
        measured=tuple((len(worn), adding(worn, wide).slope.value) for worn in sets),
        needed=combinations_needed(salience=SALIENCE, slope=0.9),
    )


def door() -> tuple[dict[str, list[Any]], dict[str, list[Any]]]:
    """At the office the jacket decides who comes in, at the club the shoes do. No casual jacket with smart shoes."""
    every = list(product(("office", "club"), JACKETS, SHOES))
    seen = [one for one in every if (JACKETS[one[1]], SHOES[one[2]]) != ("casual", "smart")]
    return _judged(seen), _judged(every)


def _judged(rows: list[tuple[str, str, str]]) -> dict[str, list[Any]]:
    smart = [JACKETS[j] if place == "office" else SHOES[s] for place, j, s in rows]
    columns = dict(zip(ASKED, map(list, zip(*rows, strict=True)), strict=True))
    return columns | {"comes in": ["yes" if one == "smart" else "no" for one in smart]}


def shortcut() -> Shortcut:
    """One outfit that was never seen, taken apart under both losses."""
    question: dict[str, Any] = {"factors": list(ASKED), "target": "comes in"}
    seen, every = (recombine.read(table, **question) for table in door())
    parts, scores = {}, {}
    for loss in ("squared", "margin"):
        found = (
            recombine.predict(seen, salience="relu:3", fit=recombine.FitSettings(loss=loss), truth=every)
            .explain([ASKED])
            .to_pylist()[0]
        )
        parts[loss] = {k.removeprefix("from "): v for k, v in found.items() if k.startswith("from ")}
        scores[loss] = found["score"]
    return Shortcut(parts, scores)


# How it is drawn

STYLE = """
  :root { --paper: #ffffff; --ink: #1f2328; --quiet: #59636e; --line: #d1d9e0; --good: #0b62c4; --bad: #c4520a; }
  @media (prefers-color-scheme: dark) {
    :root { --paper: #1b1f24; --ink: #e6edf3; --quiet: #a3adb8; --line: #3d444d; --good: #62a8ff; --bad: #ff9a4d; }
  }
  text { font: 14px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: var(--ink); }
  .paper { fill: var(--paper); stroke: var(--line); }
  .title { font-weight: 600; font-size: 15px; }
  .quiet { fill: var(--quiet); }
  .small { font-size: 12.5px; }
  .strong { font-weight: 600; }
  .axis { stroke: var(--line); fill: none; }
  .zero { stroke: var(--quiet); }
  .right { stroke: var(--quiet); stroke-width: 1.5; stroke-dasharray: 6 5; fill: none; }
  .said { stroke: var(--good); stroke-width: 2; fill: none; }
  .gap { stroke: var(--bad); stroke-width: 1.5; fill: none; }
  .dot { fill: var(--good); stroke: var(--paper); stroke-width: 1.5; }
  .good { fill: var(--good); } .bad { fill: var(--bad); } .sum { fill: var(--ink); }
"""
Scale = Callable[[float], float]


def scale(low: float, high: float, start: float, end: float) -> Scale:
    """From numbers to places on the paper."""
    return lambda value: start + (value - low) / (high - low) * (end - start)


def text(x: float, y: float, words: str, *, style: str = "", anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{style}" text-anchor="{anchor}">{words}</text>'


def stroke(points: Iterable[tuple[float, float]], style: str) -> str:
    return f'<path class="{style}" d="M{" L".join(f"{x:.1f} {y:.1f}" for x, y in points)}"/>'


def dot(x: float, y: float) -> str:
    return f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="5"/>'


def signed(number: float) -> str:
    return f"{number:+.2f}".replace("-", "−")


def paper(width: int, height: int, told: str, shapes: Iterable[str]) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-label="{told}">'
    card = f'<rect class="paper" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8"/>'
    return "\n".join([head, f"<style>{STYLE}</style>", card, *shapes, "</svg>", ""])


def draw_leak(found: Leak) -> str:
    """Left, predictions against truth. Right, how the slope grows with what is seen of each value."""
    told = (
        f"Predictions of unseen outfits lie on a line of slope {found.slope:.2f} instead of 1; "
        "the slope grows with the number of outfits in which each piece is seen."
    )
    return paper(880, 400, told, [*_points(found), *_growth(found)])


def _points(found: Leak) -> Iterator[str]:
    across, up = scale(-8, 8, 70, 400), scale(-8, 8, 330, 60)
    yield text(70, 34, "What it says of unseen outfits", style="title")
    for tick in (-8, -4, 0, 4, 8):
        yield stroke([(across(-8), up(tick)), (across(8), up(tick))], "axis")
        yield text(across(-8) - 8, up(tick) + 4, f"{tick:d}".replace("-", "−"), style="quiet small", anchor="end")
        yield text(across(tick), up(-8) + 20, f"{tick:d}".replace("-", "−"), style="quiet small", anchor="middle")
    yield text(across(0), up(-8) + 44, "true score", anchor="middle", style="quiet")
    yield text(across(-8), up(8) - 8, "predicted", style="quiet small")
    yield stroke([(across(-8), up(-8)), (across(8), up(8))], "right")
    yield stroke([(across(x), up(found.slope * x)) for x in (-8, 8)], "said")
    furthest = found.points[-1]
    yield stroke([(across(furthest[0]), up(furthest[1]) - 7), (across(furthest[0]), up(furthest[0]))], "gap")
    yield text(across(5) - 10, up(5.2), "right", style="quiet", anchor="end")
    yield text(across(furthest[0]) + 8, up((furthest[0] + furthest[1]) / 2) + 4, "leak", style="bad strong")
    yield text(across(0.5), up(-3.4), f"slope {found.slope:.2f}", style="good strong")
    yield from (dot(across(x), up(y)) for x, y in found.points)


def _growth(found: Leak) -> Iterator[str]:
    across, up = scale(0, 16, 510, 840), scale(0, 1, 330, 60)
    yield text(510, 34, "The more seen of a piece, the less leaks", style="title")
    for tick in (0, 0.5, 0.9, 1):
        yield stroke([(across(0), up(tick)), (across(16), up(tick))], "right" if tick == 1 else "axis")
        yield text(across(0) - 8, up(tick) + 4, f"{tick:g}", style="quiet small", anchor="end")
    for tick in (1, 2, 4, 6, 8, 12, 16):
        yield text(across(tick), up(0) + 20, f"{tick}", style="quiet small", anchor="middle")
    yield text(across(8), up(0) + 44, "outfits seen with each piece", anchor="middle", style="quiet")
    yield text(across(0), up(1) - 8, "slope", style="quiet small")
    yield stroke([(across(p), up(m)) for p, m in found.curve], "said")
    yield stroke([(across(found.needed), up(0)), (across(found.needed), up(0.9))], "gap")
    for p, m in found.measured:
        yield dot(across(p), up(m))
        yield text(across(p) + 7, up(m) + 17, f"{m:.2f}", style="good strong small")
    words = f"{found.needed:.0f} for a slope of 0.9"
    yield text(across(found.needed) - 8, up(0.1), words, style="bad strong small", anchor="end")


ROWS = {
    "place": "office",
    "jacket": "hoodie",
    "shoes": "oxfords",
    "place × jacket": "office + hoodie",
    "place × shoes": "office + oxfords",
    "jacket × shoes": "hoodie + oxfords",
    "place × jacket × shoes": "all three",
}


def draw_shortcut(found: Shortcut) -> str:
    """The same outfit twice: bars to the left speak for the right answer, bars to the right against it."""
    told = (
        "Hoodie and oxfords at the office: "
        f"the squared loss adds up to {signed(found.scores['squared'])}, which is right; "
        f"the margin adds up to {signed(found.scores['margin'])}, which is wrong, because office alone pulls to yes."
    )
    left = _bars(found, "squared", "Squared loss says no: right", 160, 480)
    right = _bars(found, "margin", "Margin says yes: wrong", 520, 840)
    names = [text(148, _row(k) + 5, name, anchor="end") for k, name in enumerate(ROWS.values())]
    names.append(text(148, _row(len(ROWS)) + 15, "sum", anchor="end", style="strong"))
    return paper(880, 360, told, [*names, *left, *right])


def _row(place: int) -> float:
    return 88 + 31 * place


def _bars(found: Shortcut, loss: str, title: str, start: float, end: float) -> Iterator[str]:
    across = scale(-0.8, 0.8, start, end)
    yield text(start, 34, title, style="title")
    yield text(across(0) - 8, 60, "← no, right", style="good small", anchor="end")
    yield text(across(0) + 8, 60, "yes, wrong →", style="bad small")
    yield stroke([(across(0), 68), (across(0), _row(len(ROWS)) + 26)], "axis zero")
    for place, name in enumerate(ROWS):
        yield from _bar(across, _row(place), found.parts[loss][name])
    bottom = _row(len(ROWS)) + 10
    yield stroke([(start, bottom - 22), (end, bottom - 22)], "axis")
    yield from _bar(across, bottom, found.scores[loss], style="sum")


def _bar(across: Scale, y: float, size: float | None, *, style: str = "") -> Iterator[str]:
    if size is None:
        yield text(across(0) + 8, y + 4, "never seen", style="quiet small")
        return
    size = round(size, 4) + 0.0  # what is nothing but rounding has no direction
    kind = style or ("bad" if size > 0 else "good")
    x, width = min(across(0), across(size)), abs(across(size) - across(0))
    yield f'<rect class="{kind}" x="{x:.1f}" y="{y - 9:.1f}" width="{width:.1f}" height="18"/>'
    towards = 1 if size >= 0 else -1
    beside = across(size) + 6 * towards
    words = signed(size) if size else "0"
    yield text(beside, y + 4, words, style="small strong", anchor="start" if size >= 0 else "end")


_SIZES, _RAISED = ("rows", "combinations"), str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")  # sizes are powers of ten
_TIMES = (0.003, 300.0)  # processor seconds from end to end of the axis


def draw_speed(lines: list[dict[str, Any]]) -> str:
    """Processor seconds of each verb beside the bare engine's, on a logarithmic axis."""
    told = "Processor seconds of whole verbs beside the bare engine doing the same counting, and the goals"
    return paper(880, 96 + 24 * len(lines), told, _speed(lines))


def _speed(lines: list[dict[str, Any]]) -> Iterator[str]:
    exponent = scale(math.log10(_TIMES[0]), math.log10(_TIMES[1]), 330, 780)
    bottom = 56 + 24 * len(lines)
    yield text(24, 30, "Processor seconds: the bare engine (dot), the verb (bar), the goal (tick)", style="title")
    for tick in (0.01, 0.1, 1, 10, 100):
        x = exponent(math.log10(tick))
        yield stroke([(x, 44), (x, bottom)], "axis")
        yield text(x, bottom + 18, f"{tick:g} s", style="quiet small", anchor="middle")
    for place, line in enumerate(lines):
        y = 62 + 24 * place
        ours, bare = (exponent(math.log10(line[name])) for name in ("cpu", "bare_cpu"))
        rows, combinations = (f"10{str(round(math.log10(line[name]))).translate(_RAISED)}" for name in _SIZES)
        yield text(24, y + 4, line["verb"], style="strong small")
        yield text(316, y + 4, f"{rows} rows, {combinations} combinations", style="quiet small", anchor="end")
        yield f'<rect class="good" x="330" y="{y - 6}" width="{ours - 330:.1f}" height="12"/>'
        yield dot(bare, y)
        if line["goal_cpu"] is not None:
            x = exponent(math.log10(line["goal_cpu"]))
            yield stroke([(x, y - 9), (x, y + 9)], "gap")
        yield text(792, y + 4, f"{line['ratio']:.1f} ×", style="small")


def pictures() -> dict[str, str]:
    """Every picture by the name of its file."""
    measured = json.loads((PICTURES.parent / "measured" / "whole_verbs.json").read_text(encoding="utf-8"))
    lines = [line for line in measured["figures"]["lines"] if "cpu" in line]
    return {
        "leak.svg": draw_leak(leak()),
        "shortcut.svg": draw_shortcut(shortcut()),
        "speed.svg": draw_speed(lines),
    }


def main() -> int:
    PICTURES.mkdir(exist_ok=True)
    for name, drawn in pictures().items():
        (PICTURES / name).write_text(drawn, encoding="utf-8")
        print(f"docs/pictures/{name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
