"""What the three examples share: a sweep, and the two arms of recombine meeting on its runs.

The sweep trains; `audit` and `predict` speak of the data that it trained on, `evaluate` of the answers that it gave.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

import recombine
from recombine_lab.runs.run import Run
from recombine_lab.runs.store import Store
from recombine_lab.sweeps.sweep import sweep

HERE = Path(__file__).parent
Line = tuple[Any, ...]


@dataclass(frozen=True)
class Options:
    """How an example was asked for: where its files go, and whether a few steps are enough."""

    out: Path
    smoke: bool
    workers: int | None


def asked(doc: str | None) -> Options:
    """The options of an example's command line."""
    parser = argparse.ArgumentParser(description=doc)
    parser.add_argument("--out", type=Path, default=HERE.parent / "runs", help="where the runs and pictures go")
    parser.add_argument("--smoke", action="store_true", help="a few steps, to see that it runs")
    parser.add_argument("--workers", type=int, default=None, help="processes; 0 trains in this one, without Ray")
    return Options(**vars(parser.parse_args()))


def swept(name: str, options: Options, *, smoke: dict[str, Any]) -> list[Run]:
    """Every run of an example's sweep, also those that did not end well; `smoke` is what changes for a short one."""
    plan = yaml.safe_load((HERE / f"{name}.yaml").read_text(encoding="utf-8"))
    if options.smoke:
        recipes = smoke.pop("recipe")
        plan |= smoke
        plan["recipes"] = [{**recipe, **recipes} for recipe in plan["recipes"]]
    place = options.out / (f"{name}-smoke" if options.smoke else name)
    result = sweep(plan, store=place, workers=options.workers)
    print(f"{result.finished} runs trained, {result.skipped} there before, {result.failed} failed; in {place}")
    store = Store.open(place)
    return [store.get(key) for key in result.keys if store.has(key)]


def audited(run: Run, factors: Sequence[str], **reading: Any) -> recombine.Audit:
    """What the training data of a run say about what was not in them."""
    return recombine.audit(recombine.read(run.tables["support"], factors=factors, weight="count", **reading))


def evaluated(run: Run, factors: Sequence[str], **asking: Any) -> recombine.Evaluation:
    """How a run's answers fare on what it had seen, and on what it had not."""
    return recombine.evaluate(run.tables["predictions"], factors=factors, train=run.tables["support"], **asking)


def show(title: str, head: Line, lines: Sequence[Line]) -> None:
    """A table for the terminal."""
    written = [[_text(cell) for cell in line] for line in (head, *lines)]
    widths = [max(map(len, column)) for column in zip(*written, strict=True)]
    print(f"\n{title}")
    for line in written:
        print("  " + "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def _text(cell: Any) -> str:
    return f"{cell:.3f}" if isinstance(cell, float) else str(cell)
