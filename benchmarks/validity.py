"""Do forecasts of the score on unseen combinations come true? Cells that were trained, and what was forecast of each.

    python benchmarks/validity.py [--open] [--group G] [--forecaster F] [--cache DIR] [--write]
    python benchmarks/validity.py --train --cache DIR

A cell is task × support × model × noise (`validity_cells/cell_list.py`). What its networks came to is kept in
docs/measured/validity_cells.json, so nothing is trained here unless asked for; its rows are made anew, the same every
time. A third of the cells is sealed: `--open` leaves them out, and forecasts are developed with nothing else.
`--write` keeps the result (docs/measured/validity.json) and draws the tables and the picture of docs/forecasts.md;
`--track-record` writes how far the forecasts of open cells were off, which the library's intervals are made of.
"""

import argparse
import json
import statistics
import subprocess
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import measure
from validity_cells.cell import Cell, sealed
from validity_cells.cell_list import cells, smoke_cells
from validity_cells.forecasters import (
    FORECASTERS,
    SCORED,
    SEEN,
    TOGETHER,
    WITHOUT_LIBRARY,
    Forecast,
    ask,
    together,
)
from validity_cells.page import draw_page, shown
from validity_cells.scoring import LEAST, Told, by_grade, summary

ROOT = Path(__file__).parents[1]
MEASURED = ROOT / "docs" / "measured" / "validity_cells.json"
RESULT = ROOT / "docs" / "measured" / "validity.json"
RECORD = ROOT / "src" / "recombine" / "verbs" / "predict" / "track_record.json"
BASES = {
    "combinations": "predict",
    "examples": "predict, unseen inputs",
    "composed": "predict, seen inputs",
    "rehearsal": "rehearse",
}
PARTS = ("all", "open", "sealed", "with inputs", "with inputs, sealed", "worlds, sealed")
PARTS += ("symbols", "pictures", "points", "table", "worlds", "drawings")
_MATCHED = 0.92
_LEAST_SD = 0.03
Lines = dict[str, dict[str, Any]]


def train_all(listed: Sequence[Cell], folder: Path) -> None:
    """Train every cell that the cache has no result of; a sealed one's score is written, never printed."""
    import torch  # noqa: PLC0415 - forecasts need none

    from validity_cells.train import train  # noqa: PLC0415

    torch.set_num_threads(1)
    closed = sealed(listed)
    for cell in listed:
        own = folder / "sealed" if cell.name in closed else folder
        own.mkdir(parents=True, exist_ok=True)
        file = own / f"{cell.file}.json"
        if file.exists():
            continue
        data = cell.make()
        about = {"name": cell.name, "group": cell.group, "kind": data.kind, "learner": cell.learner}
        about |= {
            "known": cell.known,
            "model": repr(cell.model),
            "steps": cell.recipe.steps,
            "batch": cell.recipe.batch,
        }
        found = train(cell, data)
        words = {name: np.array(about[name]) for name in ("group", "kind", "learner", "model")}
        np.savez_compressed(own / f"{cell.file}.npz", **data.arrays(), **words)
        file.write_text(json.dumps(about | found, indent=1))
        said = "" if cell.name in closed else f"  seen {_mean(found['seen'])}  unseen {_mean(found['unseen'])}"
        with (folder / "log.txt").open("a") as log:
            log.write(f"{cell.name} | {cell.group} | {found['seconds']:.1f} s a run{said}\n")


def _mean(scores: list[float | None]) -> str:
    kept = [score for score in scores if score is not None]
    return f"{np.mean(kept):.2f}" if kept else "-"


def collect(listed: Sequence[Cell], folder: Path) -> Lines:
    """What was trained, by the name of the cell. A cell that is not there yet is left out."""
    closed, found = sealed(listed), {}
    for cell in listed:
        file = (folder / "sealed" if cell.name in closed else folder) / f"{cell.file}.json"
        if file.exists():
            found[cell.name] = json.loads(file.read_text()) | {"sealed": cell.name in closed}
    return found


def forecasts(
    cell: Cell, names: Sequence[str], folder: Path | None, *, seen: float, reuse: bool = False, only_kept: bool = False
) -> dict[str, Forecast]:
    """What each forecaster says of a cell; what was said before, by the same source, is not asked again.

    `reuse` takes what the source of another commit said, the latest of them; its commit stays with it. `only_kept`
    asks nobody.
    """
    said = {name: found for name in names if (found := _said_before(cell, name, folder, reuse=reuse))}
    wanted = [name for name in names if name not in said and not only_kept]
    data = cell.make() if wanted else None
    for name in wanted:
        said[name] = replace(ask(name, cell, data, seen=seen), commit=version())
        if file := _kept(cell, name, folder):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(said[name].plain()))
    return {name: said[name] for name in names if name in said}


def _said_before(cell: Cell, name: str, folder: Path | None, *, reuse: bool) -> Forecast | None:
    file = _kept(cell, name, folder)
    if file and file.exists():
        return replace(Forecast(**json.loads(file.read_text())), commit=version())  # the same source, whoever asked it
    if reuse and folder:
        others = (folder / "forecasts").glob(f"*/{name}/{_question(cell, name)}.json")
        file = max(others, key=lambda other: other.stat().st_mtime, default=None)
        return Forecast(**json.loads(file.read_text())) if file else None
    return None


def _kept(cell: Cell, name: str, folder: Path | None) -> Path | None:
    """Where a forecast is kept: by the state of the source, where it depends on it."""
    state = "always" if name in WITHOUT_LIBRARY else source_state() if folder else None
    return folder / "forecasts" / state / name / f"{_question(cell, name)}.json" if folder and state else None


def _question(cell: Cell, name: str) -> str:
    """What a forecast is kept by: the rows, and where it knows of the model, the cell."""
    return cell.file if name in ("predict, matched", SCORED) else cell.rows


@cache
def source_state() -> str | None:
    """The content of src; None where it was changed and not committed."""
    return None if _git("status", "--short", "src") else _git("rev-parse", "--short=10", "HEAD:src")


@cache
def version() -> str:
    """The commit, and whether the source differs from it."""
    if not (ROOT / ".git").exists():
        return "unknown"
    told = [_git("rev-parse", "--short=10", "HEAD"), "changed" if _git("status", "--short", "src") else ""]
    return " ".join(filter(None, told))


def _git(*words: str) -> str:
    return subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=True).stdout.strip()


def bench(listed: Sequence[Cell], measured: Lines, names: Sequence[str], folder: Path | None, **taking: bool) -> Lines:
    """Every cell with what was measured and what was said."""
    found = {}
    for cell in listed:
        started = time.perf_counter()
        seen = _average(measured[cell.name]["seen"])
        said = forecasts(cell, names, folder, seen=seen, **taking)
        if best := together(cell, said):
            said[TOGETHER] = best
        said[SEEN] = Forecast(seen, seconds=measured[cell.name]["seconds"])
        about = {name: measured[cell.name][name] for name in ("group", "kind", "learner", "sealed", "known")}
        scores = {"seen": seen, "unseen": _average(measured[cell.name]["unseen"])}
        found[cell.name] = about | scores | {"train_seconds": measured[cell.name]["seconds"]}
        found[cell.name]["forecasts"] = {name: one.plain() for name, one in said.items()}
        print(f"{cell.name}: {time.perf_counter() - started:.1f} s", flush=True)
    return found


def _average(scores: list[float | None]) -> float:
    kept = [max(score, LEAST) for score in scores if score is not None]
    return float(np.mean(kept)) if kept else float("nan")


def told(lines: Lines, name: str) -> list[Told]:
    """One forecaster on every cell that it was asked about and that has a score."""
    keep = ("value", "low", "high", "grade", "seconds")
    return [
        Told(cell, line["group"], line["sealed"], line["unseen"], **{key: one.get(key) for key in keep})
        for cell, line in lines.items()
        if (one := line["forecasts"].get(name)) is not None and np.isfinite(line["unseen"])
    ]


def added(before: Lines, now: Lines) -> Lines:
    """What others said of a cell before, each with the commit it was said at, beside what is said now."""
    return {
        cell: line | {"forecasts": before.get(cell, {}).get("forecasts", {}) | line["forecasts"]}
        for cell, line in now.items()
    }


def figures(lines: Lines) -> dict[str, Any]:
    """Every forecaster's figures: over all cells, the open and the sealed ones, and each group."""
    groups = dict.fromkeys(line["group"] for line in lines.values())
    found: dict[str, Any] = {}
    for name in (SEEN, *FORECASTERS, TOGETHER):
        own = told(lines, name)
        if not own:
            continue
        parts = {
            "all": own,
            "open": [one for one in own if not one.sealed],
            "sealed": [one for one in own if one.sealed],
        }
        looked = [one for one in own if one.group not in ("symbols", "drawings")]
        parts |= {"with inputs": looked, "with inputs, sealed": [one for one in looked if one.sealed]}
        parts |= {"worlds, sealed": [one for one in looked if one.sealed and one.group == "worlds"]}
        parts |= {"known": [one for one in own if lines[one.cell]["known"]]}
        parts |= {group: [one for one in own if one.group == group] for group in groups}
        rich = {cell for cell, line in lines.items() if line["learner"].startswith("rich")}
        parts |= {
            "symbols, wide networks": [one for one in own if one.group == "symbols" and one.cell not in rich],
            "symbols, small first weights": [one for one in own if one.group == "symbols" and one.cell in rich],
        }
        found[name] = {part: summary(some) for part, some in parts.items() if some}
        found[name]["grades"] = {part: by_grade(parts[part]) for part in ("all", "open", "sealed")}
    return found


def commits(lines: Lines) -> dict[str, list[str]]:
    """The state of the source that each forecaster's forecasts were made at."""
    found: dict[str, set[str]] = {}
    for line in lines.values():
        for name, one in line["forecasts"].items():
            if name in FORECASTERS and name not in WITHOUT_LIBRARY:
                found.setdefault(name, set()).add(one.get("commit", "unknown"))
    return {name: sorted(made) for name, made in found.items()}


def track_record(lines: Lines) -> dict[str, dict[str, Any]]:
    """How far the forecasts of open cells were off, by what they rest on and by score.

    Of combinations alone only symbols are asked: what else a network may make of noisy examples is allowed for apart.
    Drawings are left out: without a seen score nobody forecasts them.
    Misses have longer tails than a normal distribution, so its deviation is matched where it counts, at the miss that
    a share of `_MATCHED` stays below. A miss of R² is taken relative to an error that is larger than the mean's own.
    """
    found: dict[str, dict[str, Any]] = {}
    for basis, name in BASES.items():
        for score, kind in (("accuracy", "label"), ("R²", "number")):
            own = [
                abs(one.miss) / max(1.0, 1 - max(one.value, LEAST))
                for one in told(lines, name)
                if one.value is not None and not one.sealed and lines[one.cell]["kind"] == kind
                if one.group != "drawings"
                if basis != "combinations" or one.group == "symbols"
            ]
            sd = float(np.quantile(own, _MATCHED)) / statistics.NormalDist().inv_cdf((1 + _MATCHED) / 2)
            found.setdefault(basis, {})[score] = {"sd": round(max(sd, _LEAST_SD), 3), "cells": len(own)}
    return found


def smoke() -> None:
    """A few tiny cells, trained and forecast; the figures must be those of the lines that they come from."""
    from validity_cells.train import train  # noqa: PLC0415

    listed = smoke_cells()
    about = [{"group": cell.group, "learner": cell.learner, "known": False, "sealed": False} for cell in listed]
    made = [(cell, cell.make()) for cell in listed]
    measured = {c.name: one | {"kind": d.kind} | train(c, d) for one, (c, d) in zip(about, made, strict=True)}
    lines = bench(listed, measured, list(FORECASTERS), None)
    found = figures(lines)
    for name in found:
        said = [line["forecasts"][name].get("value") for line in lines.values()]
        assert found[name]["all"]["cells"] == len(said)
        assert found[name]["all"]["abstained"] == said.count(None)
    assert found["predict"]["all"]["abstained"] < len(listed), "nothing was forecast"
    print(shown(found, "all"))


def main() -> None:
    """Run it."""
    given = _options()
    if given.smoke:
        smoke()
        return
    listed = [cell for cell in cells() if given.group in (None, cell.group)]
    if given.train:
        train_all(listed, given.cache)
    measured = json.loads(MEASURED.read_text()) | (collect(listed, given.cache) if given.cache else {})
    if given.collect:
        MEASURED.write_text(json.dumps(measured, indent=1, ensure_ascii=False) + "\n")
        return
    closed = sealed(listed)
    asked = [cell for cell in listed if cell.name in measured and not (given.open and cell.name in closed)]
    lines = bench(asked, measured, given.forecaster, given.cache, reuse=given.reuse, only_kept=given.only_kept)
    if given.add:
        lines = added(json.loads(RESULT.read_text())["cells"], lines)
    found = figures(lines)
    for part in PARTS:
        print(f"\n{part}\n{shown(found, part)}")
    result = {"commits": commits(lines), "cells": lines, "figures": found}
    if given.track_record:
        RECORD.write_text(json.dumps(track_record(lines), indent=1, ensure_ascii=False) + "\n")
    if given.write:
        RESULT.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n")
        draw_page(ROOT / "docs", result)
    measure.write("validity", given, result)


def _options() -> argparse.Namespace:
    parser = measure.options(__doc__)
    parser.add_argument("--train", action="store_true", help="train what the cache does not hold")
    parser.add_argument("--collect", action="store_true", help="write what the cache holds to docs/measured")
    parser.add_argument("--cache", type=Path, help="a folder for trained cells and forecasts")
    parser.add_argument("--open", action="store_true", help="leave the sealed cells out")
    parser.add_argument("--group")
    parser.add_argument("--forecaster", choices=list(FORECASTERS), nargs="+", default=list(FORECASTERS))
    parser.add_argument("--reuse", action="store_true", help="take forecasts of the cache that other commits made")
    parser.add_argument("--only-kept", action="store_true", help="ask nobody: only what the cache holds")
    parser.add_argument("--add", action="store_true", help="keep what forecasters that are not asked have said before")
    parser.add_argument("--write", action="store_true", help="keep the result, and draw the page")
    parser.add_argument("--track-record", action="store_true", help="write what the library's intervals are made of")
    return parser.parse_args()


if __name__ == "__main__":
    main()
