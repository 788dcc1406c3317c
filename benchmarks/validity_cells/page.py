"""The bench as a page: tables in Markdown, and forecasts beside what was measured as a picture."""

from pathlib import Path
from typing import Any

from validity_cells.scoring import GRADES, LEAST

START, END = "<!-- figures: written by benchmarks/validity.py --write -->", "<!-- end of figures -->"
PANELS = ("unseen = seen", "predict", "predict, unseen inputs", "predict, seen inputs", "rehearse", "all together")
COLOURS = {"symbols": "#4477aa", "pictures": "#ee6677", "points": "#228833", "table": "#aa7700", "drawings": "#aa3377"}
COLOURS |= {"worlds": "#66ccee"}
SIDE, GAP, TOP = 210, 40, 34


def shown(figures: dict[str, Any], part: str) -> str:
    """Every forecaster on one part of the cells, as a table."""
    header = [
        "forecast",
        "cells",
        "abstained",
        "rank correlation",
        "mean error",
        "bias",
        "interval held",
        "width",
        "seconds",
    ]
    lines = []
    for name, own in figures.items():
        found = own.get(part)
        if found is None:
            continue
        numbers = [_number(found[key]) for key in ("rank", "error")]
        share = "" if found["covered"] is None else f"{100 * found['covered']:.0f} %"
        bias = "" if found["bias"] is None else f"{found['bias']:+.2f}"
        said = [name, str(found["cells"]), str(found["abstained"]), *numbers, bias, share, _number(found["width"])]
        lines.append([*said, f"{found['seconds']:.1f}"])
    return _table(header, lines)


def grades(figures: dict[str, Any], part: str) -> str:
    """What each grade came to."""
    lines = []
    for name, own in figures.items():
        found = own["grades"].get(part) or {}
        if any(grade != "untested" for grade in found):
            lines.append([name, *(_graded(found.get(grade)) for grade in GRADES)])
    return _table(["forecast", *GRADES], lines)


def seconds(figures: dict[str, Any]) -> str:
    """The median seconds of one forecast in each group; of "unseen = seen" those of training one network."""
    groups = [group for group in COLOURS if any(group in own for own in figures.values())]
    lines = [
        [name, *(f"{own[group]['seconds']:.1f}" if group in own else "" for group in groups)]
        for name, own in figures.items()
    ]
    return _table(["seconds of", *groups], lines)


def _graded(found: dict[str, float] | None) -> str:
    if found is None:
        return ""
    return f"{found['cells']}: {found['mean']:.2f} ({found['worst']:.2f} to {found['best']:.2f})"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _table(header: list[str], lines: list[list[str]]) -> str:
    rows = [header, ["---", *["---:"] * (len(header) - 1)], *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def figures_text(result: dict[str, Any]) -> str:
    """The block of the page that is made of numbers."""
    found, cells = result["figures"], result["cells"]
    closed = sum(line["sealed"] for line in cells.values())
    said = [f"{len(cells)} cells, {closed} of them sealed. {_commits(result['commits'])}"]
    titles = {
        "with inputs": "Pictures, points, tables and small worlds: all cells with inputs",
        "with inputs, sealed": "The same, sealed cells",
        "worlds, sealed": "Small worlds, sealed cells",
        "all": "All cells",
        "open": "Open cells",
        "sealed": "Sealed cells",
        "symbols": "Symbols",
        "symbols, wide networks": "Symbols, wide networks",
        "symbols, small first weights": "Symbols, networks with small first weights",
        "pictures": "Pictures",
        "points": "Noisy points",
        "table": "Real tables",
        "worlds": "Small worlds, ten families",
        "drawings": "Drawings (R² of a picture)",
    }
    for part, title in titles.items():
        if any(part in own for own in found.values()):
            said += [f"### {title}", shown(found, part)]
    said += [
        "### What each grade came to",
        "How many cells: mean measured score (worst to best).",
        grades(found, "all"),
    ]
    said += ["The same on sealed cells alone:", grades(found, "sealed")]
    said += ["### Seconds", "Of one forecast; in the first line, of training one network. One core, beside other work."]
    said += [seconds(found)]
    return "\n\n".join(said)


def _commits(made: dict[str, list[str]]) -> str:
    every = sorted({commit for own in made.values() for commit in own})
    if len(every) == 1:
        return f"All forecasts were made at commit `{every[0]}`."
    named = [f"*{name}* at {', '.join(f'`{one}`' for one in own)}" for name, own in made.items()]
    return f"Forecasts were made at these commits: {'; '.join(named)}." if named else ""


def draw_page(docs: Path, result: dict[str, Any]) -> None:
    """Put the figures in their place on the page, and draw the picture beside it."""
    page = docs / "forecasts.md"
    before, _, rest = page.read_text().partition(START)
    after = rest.partition(END)[2]
    page.write_text(f"{before}{START}\n\n{figures_text(result)}\n\n{END}{after}")
    (docs / "measured" / "forecasts.svg").write_text(picture(result["cells"]))


def picture(cells: dict[str, Any]) -> str:
    """A panel a forecaster: what was forecast across, what was measured upwards; sealed cells are filled."""
    panels = [name for name in PANELS if any(name in line["forecasts"] for line in cells.values())]
    columns = 3
    rows = -(-len(panels) // columns)
    width, height = columns * (SIDE + GAP) + GAP, rows * (SIDE + GAP + TOP) + 40
    drawn = [_panel(name, cells, (k % columns, k // columns)) for k, name in enumerate(panels)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
        f'font-size="12" role="img" aria-label="Forecast and measured scores">\n'
        f'<rect width="{width}" height="{height}" fill="white"/>\n' + "\n".join(drawn) + _legend(height) + "\n</svg>\n"
    )


def _panel(name: str, cells: dict[str, Any], place: tuple[int, int]) -> str:
    left, top = GAP + place[0] * (SIDE + GAP), TOP + place[1] * (SIDE + GAP + TOP)
    parts = [
        f'<g transform="translate({left},{top})">',
        f'<text x="0" y="-10" font-weight="bold">{name}</text>',
        f'<rect width="{SIDE}" height="{SIDE}" fill="none" stroke="#999"/>',
        f'<line x1="0" y1="{SIDE}" x2="{SIDE}" y2="0" stroke="#bbb"/>',
    ]
    for tick in (-1, 0, 1):
        at = _at(tick)
        parts.append(f'<text x="{at:.0f}" y="{SIDE + 15}" text-anchor="middle" fill="#555">{tick}</text>')
        parts.append(f'<text x="-6" y="{SIDE - at + 4:.0f}" text-anchor="end" fill="#555">{tick}</text>')
    parts.append(f'<text x="{SIDE / 2}" y="{SIDE + 28}" text-anchor="middle" fill="#555">forecast</text>')
    for cell, line in cells.items():
        said = line["forecasts"].get(name, {}).get("value")
        if said is not None:
            parts.append(_dot(cell, line, said))
    return "\n".join([*parts, "</g>"])


def _dot(cell: str, line: dict[str, Any], said: float) -> str:
    colour = COLOURS[line["group"]]
    fill = colour if line["sealed"] else "none"
    return (
        f'<circle cx="{_at(said):.1f}" cy="{SIDE - _at(line["unseen"]):.1f}" r="3.5" fill="{fill}" fill-opacity="0.6" '
        f'stroke="{colour}"><title>{cell}: forecast {said:.2f}, measured {line["unseen"]:.2f}</title></circle>'
    )


def _at(score: float) -> float:
    return (min(max(score, LEAST), 1.0) - LEAST) / (1 - LEAST) * SIDE


def _legend(height: int) -> str:
    parts, left = [], GAP
    for group, colour in COLOURS.items():
        parts.append(f'<circle cx="{left}" cy="{height - 18}" r="4" fill="none" stroke="{colour}"/>')
        parts.append(f'<text x="{left + 9}" y="{height - 14}">{group}</text>')
        left += 95
    parts.append(f'<text x="{left}" y="{height - 14}" fill="#555">upwards: measured; filled: sealed</text>')
    return "\n" + "\n".join(parts)
