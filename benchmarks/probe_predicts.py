"""Does a probe predict? Its numbers beside the score on unseen combinations, over networks that were trained.

    python benchmarks/probe_predicts.py [--networks FOLDER] [--out FILE]

Networks on cells of the bench of forecasts (`validity_cells`), one seed each; networks of the 2-D toy with a redundant
input; networks that answer two questions about an example. For each number of each probe: its rank correlation with the
score on unseen combinations, with an interval over networks; beside it what the forecasts of the same cells said
(docs/measured/validity.json), the score on seen combinations, and what chance would give. Nothing is left out: a
network of which a probe says nothing is counted.
"""

import argparse
import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch

import recombine_lab
from probed.networks import Numbers, Trained, chosen, grid_rows, trained
from probed.two_questions import Asked, networks
from recombine.numerics.rank_correlation import spearman
from recombine_lab.probes import AnswerKey, MaskEvidence, MaskSearch, geometry, influence, subnetworks
from recombine_lab.tasks import Toy
from validity_cells.cell_list import cells, smoke_cells

DOCS = Path(__file__).parents[1] / "docs" / "measured"
FORECASTS = ("predict", "predict, unseen inputs", "predict, seen inputs", "linear probe")
TOYS, STEPS = 60, (16, 64, 256, 1024)
EACH = 6
"""Networks that answer two questions, for each of eight settings."""
REPEATS = 3


def geometry_numbers(network: Trained) -> Numbers:
    """What the geometry probe measures in the last hidden layer and in the answer."""
    inputs, table, seen, _ = grid_rows(network.data)
    found = geometry(network.module, inputs=inputs, table=table, answers=AnswerKey(seen=seen), repeats=REPEATS)
    rows = found.table.to_pylist()
    hidden = next((row["where"] for row in reversed(rows) if row["where"] != "answer"), "answer")
    measured: Numbers = {}
    for place, called in ((hidden, "hidden layer"), ("answer", "answer")):
        own, null = _measures(rows, place, "measured"), _measures(rows, place, "random network")
        measured |= {f"{name}, {called}": value for name, value in own.items() if "factor" not in name}
        both = (own.get("additivity"), null.get("additivity"))
        lead = None if both[0] is None or both[1] is None else both[0] - both[1]
        measured[f"additivity beyond a random network, {called}"] = lead
    return measured


def _measures(rows: list[dict[str, Any]], where: str, who: str) -> Numbers:
    return {row["measure"]: row["value"] for row in rows if row["where"] == where and row["who"] == who}


def influence_numbers(runs: list[Any]) -> list[tuple[Numbers, float]]:
    """What the influence probe measures in each toy network, and its score on the unseen combination."""
    found = []
    for run in runs:
        probe = influence(run, controls=0)
        numbers = {
            f"{row['measure']} of {row['where']}": row["value"]
            for row in probe.table.to_pylist()
            if row["who"] == "measured" and row["measure"] != "right answers"  # that is the score itself
        }
        numbers["score on seen combinations"] = float(run.metrics["seen.score"])
        found.append((numbers, float(run.metrics["unseen.score"])))
    return found


def subnetwork_numbers(network: Asked) -> Numbers:
    """What the probe of subnetworks measures in a network that answers two questions; controls cost and say nothing."""
    found = subnetworks(
        network.module,
        components=network.components,
        search=MaskSearch(steps=150),
        evidence=MaskEvidence(controls=(), seeds=2, base_accuracy=0.0, sufficient=0.8),
    )
    named = ("selectivity", "kept Target", "left Target", "left Other", "density")
    numbers: Numbers = {name: found.numbers[name] for name in (*named, "overlap between components")}
    return numbers | {"score on seen combinations": network.seen}


def toy_runs(seeds: int) -> list[Any]:
    """Networks of the toy, stopped at several steps: from the first lessons to the end."""
    model = {"name": "mlp", "hidden": [8, 8, 8]}
    runs: list[Any] = []
    for steps in STEPS:
        recipe = {"steps": steps, "lr": 0.1, "batch": 10, "optimiser": "sgd", "evaluations": 1, "test_samples": 2000}
        runs += recombine_lab.fit(Toy(), "own", model, recipe, seeds=max(1, seeds // len(STEPS)), progress=None)
    return runs


def correlation(pairs: list[tuple[float | None, float]]) -> dict[str, Any]:
    """The rank correlation over the networks that the number speaks of, and how many those are."""
    known = [(x, y) for x, y in pairs if x is not None and math.isfinite(x) and math.isfinite(y)]
    if len(known) < 4:
        return {"rank": None, "low": None, "high": None, "networks": len(known), "of": len(pairs)}
    found = spearman(np.array([x for x, _ in known]), np.array([y for _, y in known]))
    return {"rank": found.value, "low": found.low, "high": found.high, "networks": len(known), "of": len(pairs)}


def correlations(lines: list[dict[str, Any]]) -> dict[str, Any]:
    """Of every number that any network has."""
    names = list(dict.fromkeys(name for line in lines for name in line["numbers"]))
    return {name: correlation([(line["numbers"].get(name), line["unseen"]) for line in lines]) for name in names}


def looked_at(network: Trained, forecasts: dict[str, Any]) -> dict[str, Any]:
    """All numbers of one network, its score on unseen combinations, and what was forecast of it."""
    said = forecasts.get(network.cell.name, {}).get("forecasts", {})
    numbers = geometry_numbers(network)
    numbers |= {f"forecast: {name}": said.get(name, {}).get("value") for name in FORECASTS if said}
    numbers["score on seen combinations"] = network.seen
    return {"network": network.cell.name, "unseen": network.unseen, "numbers": numbers}


def chance(networks: int) -> float:
    """A rank correlation beyond which chance gets in 5 % of draws."""
    return 1.96 / math.sqrt(max(networks - 1, 1))


def told(figures: dict[str, Any]) -> str:
    """The correlations as a table, the strongest first."""
    lines = []
    for family, part in figures.items():
        lines += [f"\n{family}: {part['networks']} networks; chance stays within ±{part['chance']:.2f}"]
        ranked = sorted(part["correlations"].items(), key=lambda item: -abs(item[1]["rank"] or 0))
        for name, one in ranked:
            spread = "" if one["low"] is None else f"{one['rank']:+.2f} ({one['low']:+.2f} to {one['high']:+.2f})"
            lines.append(f"  {name:58} {spread or 'not known':26} {one['networks']} of {one['of']}")
    return "\n".join(lines)


def as_page(figures: dict[str, Any]) -> str:
    """The same as a table of the documentation: numbers that at least half of the networks have."""
    lines = []
    for family, part in figures.items():
        lines += [
            f"**{family.capitalize()}**: {part['networks']} networks; chance stays within ±{part['chance']:.2f}.",
            "",
        ]
        lines += ["| number | rank correlation with the score on unseen combinations | networks |", "|---|---|---|"]
        known = {name: one for name, one in part["correlations"].items() if 2 * one["networks"] >= one["of"]}
        for name, one in sorted(known.items(), key=lambda item: -abs(item[1]["rank"] or 0)):
            if one["low"] is not None:
                shown = f"{one['rank']:+.2f} ({one['low']:+.2f} to {one['high']:+.2f})"
                lines.append(f"| {name} | {shown} | {one['networks']} |")
        lines.append("")
    return "\n".join(lines)


def main() -> None:
    """Train, probe, correlate."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--networks", type=Path, default=Path("benchmarks/results/networks"))
    parser.add_argument("--out", type=Path, default=None)
    parser.add_argument("--smoke", action="store_true")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    forecasts = json.loads((DOCS / "validity.json").read_text())["cells"]
    todo = chosen(smoke_cells() if asked.smoke else cells())[: 2 if asked.smoke else None]
    lines = []
    for place, cell in enumerate(todo, start=1):
        print(f"{place} of {len(todo)}: {cell.name}", file=sys.stderr, flush=True)
        lines.append(looked_at(trained(cell, asked.networks), forecasts))
    toys = [
        {"network": f"toy {place}", "unseen": unseen, "numbers": numbers}
        for place, (numbers, unseen) in enumerate(influence_numbers(toy_runs(4 if asked.smoke else TOYS)))
    ]
    two = [
        {"network": one.name, "unseen": one.unseen, "numbers": subnetwork_numbers(one)}
        for one in networks(1 if asked.smoke else EACH)[: 2 if asked.smoke else None]
    ]
    families = {
        "cells of the bench of forecasts (geometry)": lines,
        "the toy with a redundant input (influence)": toys,
        "two questions about an example (subnetworks)": two,
    }
    figures = {
        family: {"networks": len(part), "chance": chance(len(part)), "correlations": correlations(part), "lines": part}
        for family, part in families.items()
    }
    print(told(figures))
    if asked.out is not None:
        asked.out.write_text(json.dumps(figures, indent=1) + "\n")
        asked.out.with_suffix(".txt").write_text(as_page(figures))


if __name__ == "__main__":
    main()
