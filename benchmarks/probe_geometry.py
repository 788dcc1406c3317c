"""Every geometry measure on what is known not to compose and on what does: which measure was fooled by whom.

    python benchmarks/probe_geometry.py [--smoke] [--seeds 2]
    python benchmarks/probe_geometry.py --alarms 200      how often a network that was never trained is called apart

Bumps of 16 x 16 in a corner split: the upper halves of both coordinates are never shown together. Asked about:
a table of the seen pictures, a readout of random features, the true renderer, and decoders trained here: an MLP and
low-rank filters without penalties, which do not compose, a spatial-broadcast decoder and regularised filters, which do.
A measure is fooled by somebody who fails on unseen places and scores as well as the worst of those who do not.
Writes docs/measured/probe_geometry.json and the tables of docs/probe_geometry.md; a smoke run writes nothing.
"""

import argparse
import json
import time
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import torch
from scipy import special

import recombine
from recombine_lab import Recipe, fit, models
from recombine_lab.probes import AnswerKey, Probe, geometry
from recombine_lab.probes.geometry_probe.answers import AnswerTargets, from_memory, readout
from recombine_lab.probes.geometry_probe.cells import Cells
from recombine_lab.probes.probe_file import group_settings
from recombine_lab.tasks import Bumps

DOCS = Path(__file__).parents[1] / "docs"
FAILS = 0.5
"""Of the trivial error on unseen places: above it somebody does not compose."""
HIGHER = {
    "orthogonality": True,
    "F as published": True,
    "volume warp": None,
    "additivity": True,
    "separability": True,
    "separability, centred": True,
    "linear probe": True,
    "linear probe, unseen": True,
    "salience of 1": True,
    "effective rank": None,
    "directions of 99 %": None,
    "partial input": True,
    "stripes on own axis": True,
    "superposition": False,
    "superposition beyond the truth": False,
    "error on seen / trivial": False,
    "error on unseen / trivial": False,
}
"""Which way a measure is read as good; None where it has none."""


def world(size: int) -> dict[str, Any]:
    """The task, the split, and what is asked of everybody."""
    task = Bumps(size=size, inverted=False, code="onehot")
    codes = task.every()
    batch = task.tensors(codes, seed=0)
    seen = (codes < size // 2).any(axis=1)
    asked = {
        "table": {"x": codes[:, 0], "y": codes[:, 1]},
        "seen": seen,
        "truth": batch.targets,
        "rest": 0.0,
        "axes": {"x": -1, "y": -2},
    }
    return {"task": task, "codes": codes, "batch": batch, "seen": seen, "asked": asked}


def known(size: int) -> dict[str, dict[str, Any]]:
    """Features and answers of those that need no training, as layers."""
    made = world(size)
    truth = made["batch"].targets.numpy()
    flat = truth.reshape(len(truth), -1)
    code = made["batch"].inputs.numpy()
    question = AnswerTargets(
        flat, np.zeros(()), Cells(np.eye(len(flat)), made["codes"], (size, size), seen=made["seen"])
    )
    layer = np.maximum(code @ np.random.default_rng(0).standard_normal((code.shape[1], 512)), 0)
    return {
        "lookup table": {"inner": np.eye(len(flat)), "answer": from_memory(question).reshape(truth.shape)},
        "random features": {
            "inner": layer,
            "answer": readout(layer @ layer.T, question).reshape(truth.shape),
        },
        "true renderer": {"inner": truth, "answer": truth},
    }


def trained(size: int, seeds: range, store: str | None, *, smoke: bool) -> dict[str, tuple[list[Any], list[str]]]:
    """Decoders with the layers that are asked about."""
    made = world(size)
    split = recombine.Corner(["x", "y"], at=size // 2)
    steps = 30 if smoke else 3000
    every = {"batch": 32, "samples": "every", "evaluations": 2}
    plain, careful = Recipe(steps=steps, lr=1e-3, **every), Recipe(steps=steps, lr=3e-3, **every)
    decayed = Recipe(steps=steps, lr=2e-3, optimiser="adamw", weight_decay=1e-4, **every)
    asked = {
        "MLP": (models.MLP(hidden=(256, 256, 256)), plain, ["2", "6", "answer"]),
        "filters, no penalty": (models.LowRankFilters(entropy=0, variance=0), careful, ["x", "merge.1", "answer"]),
        "spatial broadcast": (models.SpatialBroadcast(width=64), decayed, ["code", "rest.2", "answer"]),
        "filters, regularised": (models.LowRankFilters(), careful, ["x", "merge.1", "answer"]),
    }
    return {
        name: (list(fit(made["task"], split, model, recipe, seeds=seeds, store=store, progress=None)), layers)
        for name, (model, recipe, layers) in asked.items()
    }


def row(found: Probe, where: str) -> dict[str, float | None]:
    """The measures of one place."""
    rows = found.table.to_pylist()
    return {one["measure"]: one["value"] for one in rows if one["where"] == where and one["who"] == "measured"}


def averaged(rows: list[dict[str, float | None]]) -> dict[str, float | None]:
    """The mean over seeds of each measure that all of them have."""
    names = rows[0]
    both = {name: [one.get(name) for one in rows] for name in names}
    return {name: None if None in values else mean(values) for name, values in both.items()}  # type: ignore[type-var]


def fooled(table: dict[str, dict[str, float | None]]) -> dict[str, list[str]]:
    """For each measure, those that fail on unseen places and score as well as the worst of those that do not."""
    error = {who: rows["error on unseen / trivial"] or 0.0 for who, rows in table.items()}
    good = [who for who in table if error[who] < FAILS]
    found = {}
    for name, higher in HIGHER.items():
        best = [table[who].get(name) for who in good]
        if higher is None or not best or None in best:
            continue
        sign = 1 if higher else -1
        worst = min(sign * value for value in best if value is not None)
        bad = [who for who in table if who not in good and table[who].get(name) is not None]
        found[name] = [who for who in bad if sign * (table[who][name] or 0.0) >= worst - 1e-9]
    return found


def markdown(table: dict[str, dict[str, float | None]], fooled_by: dict[str, list[str]] | None) -> str:
    """Measures down, whose across."""
    names = [name for name in HIGHER if any(rows.get(name) is not None for rows in table.values())]
    heads = ["measure", *table, *(["fooled by"] if fooled_by is not None else [])]
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    for name in names:
        cells = ["–" if (value := rows.get(name)) is None else f"{value + 0.0:.3g}" for rows in table.values()]
        said = (
            []
            if fooled_by is None
            else [", ".join(fooled_by.get(name, [])) or ("–" if name in fooled_by else "no side")]
        )
        lines.append(f"| {' | '.join([name, *cells, *said])} |")
    return "\n".join(lines)


def timed(size: int = 28) -> dict[str, float]:
    """Processor seconds of one layer of 784 numbers on 28 x 28 places, all controls of an array included."""
    rng = np.random.default_rng(0)
    codes = np.indices((size, size)).reshape(2, -1).T
    start = time.process_time()
    geometry(rng.standard_normal((size * size, 784)), table={"x": codes[:, 0], "y": codes[:, 1]})
    one = time.process_time() - start
    start = time.process_time()
    geometry({k: rng.standard_normal((size * size, 784)) for k in "abcd"}, table={"x": codes[:, 0], "y": codes[:, 1]})
    return {"first layer": one, "each further layer": (time.process_time() - start - one) / 3}


def untrained(draw: int) -> tuple[torch.nn.Module, torch.Tensor, np.ndarray]:
    """A network that nobody trained, of a depth, width, activation and input code drawn at random."""
    rng = np.random.default_rng(draw)
    size = int(rng.integers(6, 11))
    task = Bumps(size=size, code=("onehot", "bump", "ramp")[draw % 3])
    codes = task.every()
    inputs = task.tensors(codes, seed=0).inputs
    torch.manual_seed(draw)
    width, bend = int(rng.integers(8, 200)), (torch.nn.ReLU, torch.nn.Tanh, torch.nn.GELU)[int(rng.integers(3))]
    layers: list[torch.nn.Module] = [torch.nn.Linear(inputs.shape[1], width), bend()]
    for _ in range(int(rng.integers(0, 4))):
        layers += [torch.nn.Linear(width, width), bend()]
    return torch.nn.Sequential(*layers, torch.nn.Linear(width, 3)), inputs, codes


def renderers(sizes: tuple[int, ...], sigmas: tuple[float, ...]) -> dict[str, dict[str, str]]:
    """What is said of true pictures, which compose, without telling the truth: bumps from less than a pixel on."""
    found: dict[str, dict[str, str]] = {}
    for size in sizes:
        for sigma in sigmas:
            task = Bumps(size=size, sigma=sigma, inverted=False)
            codes = task.every()
            pictures = task.tensors(codes, seed=0).targets
            said = geometry(pictures, table={"x": codes[:, 0], "y": codes[:, 1]}).outcome
            found.setdefault(str(size), {})[str(sigma)] = said
    return found


def alarms(count: int) -> dict[str, Any]:
    """Outcomes of networks that were never trained: none of them may be called apart."""
    words: list[str] = []
    for draw in range(count):
        module, inputs, codes = untrained(draw)
        last = str(len(module) - 2)  # type: ignore[arg-type]
        table = {"x": codes[:, 0], "y": codes[:, 1]}
        words.append(geometry(module, inputs=inputs, table=table, layers=[last], seed=draw).outcome)
    called = words.count("apart")
    low = 0.0 if not called else float(special.betaincinv(called, count - called + 1, 0.025))
    high = float(special.betaincinv(called + 1, count - called, 0.975))
    return {
        "networks": count,
        "outcomes": {word: words.count(word) for word in sorted(set(words))},
        "apart": [low, high],
    }


def everybody(size: int, seeds: range, store: str | None, *, smoke: bool) -> tuple[dict[str, Any], ...]:
    """The measures of the answers, of the layer before and of the first layer, and what was said."""
    answers: dict[str, Any] = {}
    inner: dict[str, Any] = {}
    first: dict[str, Any] = {}
    said: dict[str, Any] = {}
    made, repeats = world(size), 3 if smoke else 5
    for who, layers in known(size).items():
        found = geometry(layers, repeats=repeats, **group_settings(geometry, made["asked"]))
        answers[who], inner[who], said[who] = row(found, "answer"), row(found, "inner"), [found.outcome, found.verdict]
    for who, (runs, layers) in trained(size, seeds, store, smoke=smoke).items():
        probes = [geometry(run, layers=layers, answers=AnswerKey(rest=0.0), repeats=repeats) for run in runs]
        first[who], inner[who], answers[who] = (averaged([row(one, where) for one in probes]) for where in layers)
        said[who] = [part for one in probes for part in (one.outcome, one.verdict)]
        print(who, *(one.outcome for one in probes), flush=True)
    # a layer before the answer has no error of its own: who composes is told by the answers
    for who, rows in inner.items():
        rows["error on unseen / trivial"] = answers[who]["error on unseen / trivial"]
    return answers, inner, first, said


def into_page(tables: dict[str, str]) -> None:
    """Each table between its marks on the page."""
    page = DOCS / "probe_geometry.md"
    text = page.read_text(encoding="utf-8")
    for mark, table in tables.items():
        begin, end = f"<!-- {mark} -->", f"<!-- end of {mark} -->"
        head, _, rest = text.partition(begin)
        text = f"{head}{begin}\n{table}\n{end}{rest.partition(end)[2]}"
    page.write_text(text, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="a few seconds: small pictures, hardly trained")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--store", help="a run store that keeps the trained decoders")
    parser.add_argument("--alarms", type=int, default=0, help="only this: so many networks that were never trained")
    given = parser.parse_args()
    torch.set_num_threads(1)
    if given.alarms or given.smoke:
        found = alarms(given.alarms or 3)
        found["true pictures"] = (
            renderers((6,), (1.0,)) if given.smoke else renderers((12, 16), (0.3, 0.5, 1.0, 2.0, 4.0))
        )
        print(found)
        if given.alarms:
            (DOCS / "measured" / "probe_geometry_alarms.json").write_text(json.dumps(found, indent=1) + "\n")
            return
    size, seeds = (6, range(1)) if given.smoke else (16, range(given.seeds))
    answers, inner, first, said = everybody(size, seeds, given.store, smoke=given.smoke)
    told = {"answers": fooled(answers), "layer before": fooled(inner)}
    tables = {"answers": markdown(answers, told["answers"]), "layer before": markdown(inner, told["layer before"])}
    print(*tables.values(), *(f"{who}: {' '.join(words)}" for who, words in said.items()), sep="\n\n")
    if given.smoke:
        return
    record = {
        "command": "python benchmarks/probe_geometry.py",
        "size": size,
        "seeds": len(seeds),
        "answers": answers,
        "layer before": inner,
        "first layer": first,
        "fooled": told,
        "said": said,
        "processor seconds": timed(),
    }
    (DOCS / "measured" / "probe_geometry.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    into_page(tables)


if __name__ == "__main__":
    main()
