"""Which number of the support probe ranks supports right: its verdicts beside the R² of models that were trained.

    python benchmarks/probe_support.py            about twenty minutes on one core, resumable (--store)
    python benchmarks/probe_support.py --smoke    a few steps, nothing written

Sprites of 16 × 16 pixels, composed by soft occlusion; compositional networks with the true composition, trained on
eight supports with three seeds each and no seed left out. For each the probe is asked before it knows any score. Then
every number is held against the R² on the whole space by rank correlation over the supports, beside the R² that the
paper published at 64 × 64 pixels and 260 times as many steps.

The table of composition functions is worked out anew by the same code as well.
"""

import argparse
import json
import statistics
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch

from recombine.numerics.rank_correlation import spearman
from recombine_lab import fit
from recombine_lab.probes import support
from recombine_lab.probes.support_probe.ranks import ranks
from recombine_lab.tasks import Sprites
from recombine_lab.tasks.compositions import jacobian

OUT = Path(__file__).parents[1] / "docs/measured/probe_support.json"
SUPPORTS: dict[str, dict[str, Any]] = {
    "random": {"name": "random"},
    "diagonal .2": {"name": "diagonal_band", "delta": 0.2},
    "orthogonal+": {"name": "orthogonal", "variant": "plus"},
    "orthogonal": {"name": "orthogonal"},
    "diagonal .1": {"name": "diagonal_band", "delta": 0.1},
    "gap": {"name": "orthogonal", "variant": "gap"},
    "orthogonal*": {"name": "orthogonal", "variant": "star"},
    "diagonal .05": {"name": "diagonal_band", "delta": 0.05},
}
PUBLISHED = {
    "random": (0.957, 0.957),
    "diagonal .2": (0.957, 0.955),
    "orthogonal+": (0.959, 0.954),
    "orthogonal": (0.957, 0.951),
    "diagonal .1": (0.954, 0.945),
    "gap": (0.954, 0.895),
    "orthogonal*": (0.954, 0.869),
    "diagonal .05": (0.867, 0.589),
}
"""R² on the support and on the whole space, compositional model, of the paper's released results."""
RECIPE: dict[str, Any] = {
    "steps": 1500,
    "batch": 64,
    "optimiser": "adamw",
    "lr": 0.002,
    "weight_decay": 1e-5,
    "schedule": "cosine",
    "samples": 10_000,
    "evaluations": 3,
    "together": "never",
}
REACHES = (0.25, 1.0)
SIGNS = {"hole": -1, "error growth": -1, "left open": -1, "left open, with an anchor": -1}
SIGNS |= {"open directions that change the whole": -1}
"""Numbers that are bad where they are large."""


def probed(store: str, seeds: range, recipe: dict[str, Any], names: list[str], size: int) -> list[dict[str, Any]]:
    """Every support and seed: what was measured, and what the probe says."""
    lines = []
    for name in names:
        for seed in seeds:
            (run,) = fit(
                Sprites(size=size), SUPPORTS[name], {"name": "compositional"}, recipe, seeds=[seed], store=store,
                progress=None,
            )  # fmt: skip
            found = support(model=run)
            seen, whole = (float(run.metrics[f"{part}.score"] or 0.0) for part in ("seen", "all"))
            line = {"support": name, "seed": seed, "r2_seen": seen, "r2_all": whole, "outcome": found.outcome}
            lines.append(line | {"verdict": found.verdict, "numbers": dict(found.numbers)})
            print(f"{name:13} {seed}  R² seen {seen:.3f} all {whole:.3f}  {found.outcome}", flush=True)
    return lines


def by_support(lines: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Means over seeds, outcomes of all."""
    found = {}
    for name in dict.fromkeys(line["support"] for line in lines):
        mine = [line for line in lines if line["support"] == name]
        numbers = {
            number: statistics.fmean(line["numbers"][number] for line in mine)
            for number, value in mine[0]["numbers"].items()
            if value is not None
        }
        scores = {part: statistics.fmean(line[part] for line in mine) for part in ("r2_seen", "r2_all")}
        outcomes = [line["outcome"] for line in mine]
        found[name] = scores | {"outcomes": outcomes, "numbers": numbers, "published": PUBLISHED[name]}
    return found


def by_reach(store: str, recipe: dict[str, Any], goals: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """What is left open with other reaches than the usual, of the first seed; and how each ranks the supports."""
    found: dict[str, dict[str, Any]] = {}
    for reach in REACHES:
        left = []
        for name in goals:
            (run,) = fit(
                Sprites(size=16), SUPPORTS[name], {"name": "compositional"}, recipe, seeds=[0], store=store,
                progress=None,
            )  # fmt: skip
            left.append(support(model=run, reach=reach).numbers["left open"])
        numbers = -np.array(left, dtype=float)
        wanted = {"r2_all": [row["r2_all"] for row in goals.values()]}
        wanted["published_r2_all"] = [row["published"][1] for row in goals.values()]
        ranked = {goal: spearman(numbers, np.array(values)).value for goal, values in wanted.items()}
        found[str(reach)] = {"left open": dict(zip(goals, left, strict=True))} | ranked
        print(f"reach {reach}", ranked, flush=True)
    return found


def correlations(found: dict[str, dict[str, Any]]) -> dict[str, dict[str, list[float | None]]]:
    """Rank correlation of each number with the R² on the whole space, measured and published, and with the gap."""
    rows = list(found.values())
    goals = {
        "r2_all": [row["r2_all"] for row in rows],
        "no_gap": [row["r2_all"] - row["r2_seen"] for row in rows],
        "published_r2_all": [row["published"][1] for row in rows],
    }
    names = [name for name in rows[0]["numbers"] if all(name in row["numbers"] for row in rows)]
    return {name: {goal: _ranked(name, rows, wanted) for goal, wanted in goals.items()} for name in names}


def _ranked(name: str, rows: list[dict[str, Any]], wanted: list[float]) -> list[float | None]:
    """The rank correlation over supports with its 95 % interval; none where a number is the same for all."""
    signed = np.array([round(SIGNS.get(name, 1) * row["numbers"][name], 6) for row in rows])
    found = spearman(signed, np.array(wanted))
    return [found.value, found.low, found.high]


def composition_table() -> list[dict[str, Any]]:
    """Single, summed and stacked rank of each composition function, with five random partners at one pixel."""
    rng = torch.Generator().manual_seed(0)
    rows = []

    def line(case: str, name: str, slot: int, own: torch.Tensor, partners: torch.Tensor | None = None) -> None:
        others = torch.rand(5, len(own), 1, 1, generator=rng) if partners is None else partners
        mine = own.reshape(1, -1, 1, 1).expand_as(others)
        both = torch.stack([mine, others] if slot == 0 else [others, mine], 1).double()
        found = ranks(jacobian(name, both, slot).flatten(1, 2)[None])
        rows.append(
            {"case": case, "composition": name, "slot": "front" if slot == 0 else "back", "full": found.full}
            | {rank: int(getattr(found, rank)) for rank in ("single", "sum", "stack")}
        )

    grey, empty = torch.full((3,), 0.4), torch.zeros(3)
    sparse = torch.eye(3).reshape(3, 3, 1, 1)
    line("any", "concatenation", 0, grey)
    line("any", "add", 0, grey)
    line("partners without zeros", "product", 0, grey)
    line("each partner zero but for one entry", "product", 0, grey, sparse)
    line("covering front pixel", "hard_occlusion", 0, grey)
    line("empty front pixel", "hard_occlusion", 0, empty)
    line("behind covered pixels", "hard_occlusion", 1, grey, torch.full((5, 3, 1, 1), 0.4))
    line(
        "behind, uncovered once",
        "hard_occlusion",
        1,
        grey,
        torch.tensor([0.0, 0.4, 0.4]).reshape(3, 1, 1, 1).expand(3, 3, 1, 1),
    )
    line("any", "soft_occlusion", 0, empty)
    line(
        "empty front pixel, yellow behind",
        "soft_occlusion",
        0,
        empty,
        torch.tensor([1.0, 1.0, 0.0]).reshape(1, 3, 1, 1),
    )
    line("any", "soft_occlusion", 1, grey)
    for alpha in (0.0, 0.5, 1.0):
        line(f"opacity {alpha:g}", "alpha", 0, torch.tensor([0.2, 0.5, 0.8, alpha]))
    line("opacity 0.5", "alpha", 1, torch.tensor([0.2, 0.5, 0.8, 0.5]))
    return rows


def show(found: dict[str, dict[str, Any]], ranked: dict[str, dict[str, list[float | None]]]) -> None:
    """The tables on a terminal."""
    for name, row in found.items():
        numbers = row["numbers"]
        print(
            f"{name:13} R² seen {row['r2_seen']:.3f} all {row['r2_all']:.3f} published {row['published'][1]:.3f}"
            f"  slice {numbers['slice variation']:.2f} hole {numbers['hole']:.2f} coverage {numbers['coverage']:.2f}"
            f" left open {numbers['left open']:.3f} recovery {numbers['recovery, elsewhere']:.2f}"
            f"  {', '.join(sorted(set(row['outcomes'])))}"
        )
    for name, goals in ranked.items():
        print(f"{name:42}", *(f"{goal} {'-' if one[0] is None else f'{one[0]:+.2f}'}" for goal, one in goals.items()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", default="benchmarks/results/probe_support", help="where trained runs are kept")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--smoke", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    table = composition_table()
    for row in table:
        print(
            f"{row['composition']:15} {row['slot']:6} {row['case']:36}",
            *(row[k] for k in ("single", "sum", "stack")),
            f"of {row['full']}",
        )
    if options.smoke:
        brief = RECIPE | {"steps": 3, "samples": 400, "test_samples": 32, "evaluations": 1}
        with tempfile.TemporaryDirectory() as place:
            lines = probed(place, range(1), brief, ["random", "diagonal .05"], 8)
        show(by_support(lines), correlations(by_support(lines)))
        return
    lines = probed(options.store, range(options.seeds), RECIPE, list(SUPPORTS), 16)
    found = by_support(lines)
    ranked = correlations(found)
    show(found, ranked)
    record = {
        "recipe": RECIPE,
        "size": 16,
        "seeds": options.seeds,
        "compositions": table,
        "supports": found,
        "rank_correlations": ranked,
        "other_reaches": by_reach(options.store, RECIPE, found),
        "runs": [{key: value for key, value in line.items() if key != "numbers"} for line in lines],
    }
    OUT.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
