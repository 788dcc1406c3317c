"""Subnetworks: known networks by every estimator, untrained networks that must not be called modular, memory and time.

    python benchmarks/probe_subnetworks.py --write              everything, into docs/measured/probe_subnetworks.json
    python benchmarks/probe_subnetworks.py --only untrained     200 untrained networks alone

Known networks are those of the tests (tests/probes/masks/toys.py): two blocks of hidden units, one shared block, two
copies of each block, and small trained ones. Untrained networks are asked with the check of the whole network's
accuracy switched off: as it stands it refuses every one of them, which would prove nothing about the masks.
"""
# ruff: noqa: PLC0415 - torch is loaded after the options were read

import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import measure

ROOT = Path(__file__).parents[1]
RESULT = ROOT / "docs" / "measured" / "probe_subnetworks.json"
sys.path.insert(0, str(ROOT))
NETWORKS = 200
ESTIMATORS: dict[str, dict[str, Any]] = {
    "continuous": {},
    "continuous, against the others": {"against": 1.0},
    "hard concrete": {"estimator": "hard concrete"},
    "straight through": {"estimator": "straight through"},
    "published": {"published": True, "steps": 300},
    "rows, mean ablation": {"group": "row", "ablation": "mean", "parameters": "0.weight"},
}


def known_networks() -> dict[str, tuple[Any, Any]]:
    """Networks whose answer is known, and trained ones whose answer is not; with their components."""
    from tests.probes.masks import toys

    plain, moved = toys.components(), toys.components(shared=True)
    return {
        "two blocks": (toys.two_blocks(), plain),
        "one shared block": (toys.one_shared_block(), moved),
        "two copies of each block": (toys.two_blocks(2), plain),
        "trained, 12 hidden units": (toys.trained(12), plain),
        "trained, 32 hidden units": (toys.trained(32), plain),
        "trained, shared answers": (toys.trained(12, shared=True), moved),
        "untrained, 32 hidden units": (toys.plain(32), plain),
    }


def known(smoke: bool) -> list[dict[str, Any]]:
    """Every estimator on every known network."""
    from recombine.probes import subnetworks

    networks = dict(list(known_networks().items())[:2]) if smoke else known_networks()
    rows = []
    for network, (model, components) in networks.items():
        for name, settings in dict(list(ESTIMATORS.items())[:1]).items() if smoke else ESTIMATORS.items():
            asked = {"steps": 40 if smoke else 300, "seeds": 2 if smoke else 4, **settings}
            start = time.process_time()
            found = subnetworks(model, components=components, base_accuracy=0.0, **asked)
            numbers = found.numbers
            rows.append(
                {
                    "network": network,
                    "estimator": name,
                    "outcome": found.outcome,
                    "grade": found.grade,
                    "kept contrast": _kept_contrast(found),
                    "kept contrast, re-initialised": _kept_contrast(found, "re-initialised"),
                    **{key: value for key, value in numbers.items() if key != "masked weights"},
                    "seconds": time.process_time() - start,
                }
            )
            print(f"{network}; {name}: {found.outcome}, {numbers['selectivity']:.2f}")
    return rows


def _kept_contrast(found: Any, who: str = "measured") -> float:
    """The published contrast of the parts alone, Target minus Other, in the mean over components."""
    rows = [row for row in found.table.to_pylist() if row["measure"] == "kept" and row["who"] == who]
    own = [row["value"] for row in rows if len(set(row["where"].split(" on "))) == 1]
    others = [row["value"] for row in rows if len(set(row["where"].split(" on "))) > 1]
    return sum(own) / len(own) - sum(others) / len(others)


def untrained(smoke: bool) -> dict[str, Any]:
    """How often networks that nobody trained are called modular, by what is shipped and by what was published."""
    from tests.probes.masks import toys

    from recombine.probes import subnetworks

    outcomes, refused, alone, best, sufficient = Counter[str](), 0, 0, 0, 0
    count = 3 if smoke else NETWORKS
    for seed in range(count):
        width = (32, 64, 128, 256)[seed % 4]
        model, components = toys.plain(width, 10_000 + seed), toys.components(300, 200, seed=seed)
        refused += subnetworks(model, components=components).outcome == "not sufficient"
        asked = {"steps": 100, "seeds": 3, "rates": (0.03,), "controls": ("re-initialised", "random"), "seed": seed}
        found = subnetworks(model, components=components, base_accuracy=0.0, **asked)
        outcomes[found.outcome] += 1
        passed = found.outcome != "not sufficient"
        sufficient += passed
        alone += passed and _kept_contrast(found) > 0.1
        rows = [row for row in found.tables["search"].to_pylist() if row["who"] == "measured" and row["sufficient"]]
        best += any(row["selectivity"] > 0.1 for row in rows)
        if seed % 10 == 0:
            print(f"{seed + 1} of {count}: {dict(outcomes)}")
    low, high = clopper_pearson(outcomes["modular"], count)
    return {
        "networks": count,
        "outcomes without the check of the whole network": dict(outcomes),
        "called modular": outcomes["modular"],
        "share, low": low,
        "share, high": high,
        "refused by the check of the whole network": refused,
        "masks that suffice in both components": sufficient,
        "of these, kept contrast above .1": alone,
        "a sufficient mask of the search with selectivity above .1": best,
    }


def clopper_pearson(hits: int, tries: int) -> tuple[float, float]:
    """The exact 95 % interval of a share."""
    from scipy.stats import beta

    low = float(beta.ppf(0.025, hits, tries - hits + 1)) if hits else 0.0
    return low, float(beta.ppf(0.975, hits + 1, tries - hits)) if hits < tries else 1.0


def memory(smoke: bool) -> dict[str, Any]:
    """Bytes a masked weight and seconds a step, of a network of square layers, one mask."""
    import torch
    from torch import nn

    from recombine.probes.masks.data import Component, Data
    from recombine.probes.masks.learning import Job, Learner, Subject
    from recombine.probes.masks.network import Asker, accuracy, layouts_of, state_of
    from recombine.probes.masks.settings import Configuration, Search

    width, depth = (512, 4) if smoke else (2048, 24)
    parts = [part for _ in range(depth) for part in (nn.Linear(width, width), nn.ReLU())]
    model, data = nn.Sequential(*parts), Data(torch.randn(16, width), torch.randint(width, (16,)))
    layouts = layouts_of(model, parameters=None, group="weight", heads=None)
    weights = sum(layout.size for layout in layouts)
    search = Search(configurations=(Configuration(0.01, 0.1, 0.1),), steps=3, batch=16)
    learner = Learner(Asker(model, accuracy), layouts, search, 0, 1.0)
    before, start = _resident(), time.process_time()
    job = Job("measured", "a", search.configurations[0], 1)
    learner.learn([job], [Subject(state_of(model), Component("a", data, data, data), ())], lambda _: None)
    peak = _high_water() - before
    return {
        "masked weights": weights,
        "peak bytes a weight, above the network": peak / weights,
        "seconds a step, one thread": (time.process_time() - start) / 3,
    }


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _high_water() -> int:
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


PARTS: dict[str, Callable[[bool], Any]] = {"memory": memory, "known": known, "untrained": untrained}


def main() -> None:
    parser = measure.options(__doc__)
    parser.add_argument("--only", choices=list(PARTS), help="one part alone")
    parser.add_argument("--write", action="store_true", help=f"into {RESULT.relative_to(ROOT)}, beside the other parts")
    given = parser.parse_args()
    import torch

    torch.set_num_threads(1)
    figures = {name: part(given.smoke) for name, part in PARTS.items() if given.only in (None, name)}
    if given.write and not given.smoke:
        kept = json.loads(RESULT.read_text()) if RESULT.is_file() else {}
        RESULT.write_text(json.dumps(kept | figures, indent=1) + "\n")
    else:
        measure.write("probe_subnetworks", given, figures)
    print(json.dumps({name: one for name, one in figures.items() if name != "known"}, indent=1))


if __name__ == "__main__":
    main()
