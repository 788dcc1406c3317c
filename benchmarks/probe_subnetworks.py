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
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import measure

ROOT = Path(__file__).parents[1]
RESULT = ROOT / "docs" / "measured" / "probe_subnetworks.json"
PAGE = ROOT / "docs" / "probe_subnetworks.md"
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
    from recombine_lab.probes import subnetworks
    from recombine_lab.probes.probe_file import group_settings

    networks = dict(list(known_networks().items())[:2]) if smoke else known_networks()
    rows = []
    for network, (model, components) in networks.items():
        for name, settings in dict(list(ESTIMATORS.items())[:1]).items() if smoke else ESTIMATORS.items():
            asked = {"steps": 40 if smoke else 150, "seeds": 2 if smoke else 3, "base_accuracy": 0.0, **settings}
            start = time.process_time()
            found = subnetworks(model, components=components, **group_settings(subnetworks, asked))
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

    from recombine_lab.probes import subnetworks
    from recombine_lab.probes.probe_file import group_settings

    outcomes, refused, alone, best, sufficient = Counter[str](), 0, 0, 0, 0
    count = 1 if smoke else NETWORKS
    for seed in range(count):
        width = (32, 64, 128, 256)[seed % 4]
        model, components = toys.plain(width, 10_000 + seed), toys.components(300, 200, seed=seed)
        refused += subnetworks(model, components=components).outcome == "not sufficient"
        asked = {
            "steps": 30 if smoke else 100,
            "seeds": 3,
            "base_accuracy": 0.0,
            "rates": (0.03,),
            "controls": ("re-initialised", "random"),
            "seed": seed,
        }
        found = subnetworks(model, components=components, **group_settings(subnetworks, asked))
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


def memory(smoke: bool) -> list[dict[str, Any]]:
    """Bytes a masked weight and seconds a step, one mask of a network of square layers, in a process of its own.

    Twice: as it is, and with glibc told to give large blocks back at once. What it keeps of blocks below 32 MB is not
    in use, but it is resident.
    """
    if smoke:
        return [{"allocator": "as it is", **one_mask(512, 4)}]
    width, depth = 2048, 24
    found = []
    for allocator, more in (("as it is", {}), ("large blocks given back", {"MALLOC_MMAP_THRESHOLD_": "1000000"})):
        command = [sys.executable, __file__, "--measure", str(width), str(depth)]
        done = subprocess.run(command, env={**os.environ, **more}, capture_output=True, text=True, check=True)
        found.append({"allocator": allocator, **json.loads(done.stdout)})
    return found


def one_mask(width: int, depth: int) -> dict[str, Any]:
    """Three steps of one mask: what it takes above the network itself."""
    import torch
    from torch import nn

    from recombine_lab.probes.subnetwork_probe.components import Component, ComponentData
    from recombine_lab.probes.subnetwork_probe.mask_learning import MaskJob, MaskLearner, Subject
    from recombine_lab.probes.subnetwork_probe.mask_settings import MaskConfiguration, Search
    from recombine_lab.probes.subnetwork_probe.masked_network import Asker, accuracy, layouts_of, state_of

    parts = [part for _ in range(depth) for part in (nn.Linear(width, width), nn.ReLU())]
    model, data = nn.Sequential(*parts), ComponentData(torch.randn(16, width), torch.randint(width, (16,)))
    layouts = layouts_of(model, parameters=None, group="weight", heads=None)
    weights = sum(layout.size for layout in layouts)
    search = Search(configurations=(MaskConfiguration(0.01, 0.1, 0.1),), steps=3, batch=16)
    learner = MaskLearner(Asker(model, accuracy), layouts, search, 0, 1.0)
    before, start = _status("VmRSS"), time.process_time()
    job = MaskJob("measured", "a", search.configurations[0], 1)
    learner.learn([job], [Subject(state_of(model), Component("a", data, data, data), ())], lambda _: None)
    return {
        "masked weights": weights,
        "peak bytes a weight, above the network": (_status("VmHWM") - before) / weights,
        "seconds a step, one thread": (time.process_time() - start) / 3,
    }


def _status(name: str) -> int:
    """What Linux says of this process's memory."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(name))
    return int(line.split()[1]) * 1024


def _dot(number: float | None) -> str:
    return "" if number is None else f"{number:.2f}".replace("0.", ".", 1)


def known_lines(rows: list[dict[str, Any]]) -> list[str]:
    """The table of known networks, as it stands on the page."""
    columns = ("selectivity", "selectivity, re-initialised", "selectivity, random", "selectivity, shuffled")
    more = ("selectivity, saliency", "kept contrast", "kept contrast, re-initialised")
    head = (
        "network",
        "estimator",
        "outcome",
        "selectivity",
        "re-initialised",
        "random",
        "shuffled",
        "saliency",
        "alone",
    )
    lines = [f"| {' | '.join((*head, 'alone, re-initialised'))} |", "|---" * (len(head) + 1) + "|"]
    for row in rows:
        cells = [_dot(row.get(name)) for name in (*columns, *more)]
        lines.append(f"| {row['network']} | {row['estimator']} | {row['outcome']} | {' | '.join(cells)} |")
    return lines


def untrained_lines(found: dict[str, Any]) -> list[str]:
    """The table of untrained networks, as it stands on the page."""
    outcomes = found["outcomes without the check of the whole network"]
    said = ", ".join(f"{name} {count}" for name, count in sorted(outcomes.items()))
    share = found["called modular"] / found["networks"]
    return [
        "| untrained networks | |",
        "|---|---|",
        "| refused by the check of the whole network, as it stands |"
        f" {found['refused by the check of the whole network']} of {found['networks']} |",
        f"| without that check: outcomes | {said} |",
        f"| without that check: called modular | {100 * share:.1f} % (95 %: {100 * found['share, low']:.1f} to"
        f" {100 * found['share, high']:.1f} %) |",
        f"| masks suffice in both components | {found['masks that suffice in both components']} |",
        f"| … and alone they look modular (contrast above .1) | {found['of these, kept contrast above .1']} |",
    ]


def memory_lines(found: list[dict[str, Any]]) -> list[str]:
    """The table of memory, as it stands on the page."""
    return [
        "| masked weights | allocator | peak bytes a weight, above the network | seconds a step |",
        "|---|---|---|---|",
        *(
            f"| {one['masked weights']:,} | {one['allocator']} | {one['peak bytes a weight, above the network']:.1f}"
            f" | {one['seconds a step, one thread']:.1f} |"
            for one in found
        ),
    ]


LINES: dict[str, Callable[[Any], list[str]]] = {
    "memory": memory_lines,
    "known": known_lines,
    "untrained": untrained_lines,
}


def with_tables(page: str, figures: dict[str, Any]) -> str:
    """The page with its tables made anew: what stands between `<!-- known -->` and `<!-- /known -->`, and so on."""
    for name, lines in LINES.items():
        if name in figures:
            start, end = f"<!-- {name} -->\n", f"\n<!-- /{name} -->"
            before, rest = page.split(start, 1)
            page = before + start + "\n".join(lines(figures[name])) + end + rest.split(end, 1)[1]
    return page


PARTS: dict[str, Callable[[bool], Any]] = {"memory": memory, "known": known, "untrained": untrained}


def main() -> None:
    parser = measure.options(__doc__)
    parser.add_argument("--only", choices=list(PARTS), help="one part alone")
    parser.add_argument(
        "--write", action="store_true", help=f"into {RESULT.relative_to(ROOT)} and {PAGE.relative_to(ROOT)}"
    )
    parser.add_argument("--measure", nargs=2, type=int, metavar=("WIDTH", "DEPTH"), help="one mask, in this process")
    given = parser.parse_args()
    import torch

    torch.set_num_threads(1)
    if given.measure:
        print(json.dumps(one_mask(*given.measure)))
        return
    figures = {name: part(given.smoke) for name, part in PARTS.items() if given.only in (None, name)}
    if given.write and not given.smoke:
        kept = json.loads(RESULT.read_text()) if RESULT.is_file() else {}
        RESULT.write_text(json.dumps(kept | figures, indent=1) + "\n")
        PAGE.write_text(with_tables(PAGE.read_text(), kept | figures))
    else:
        measure.write("probe_subnetworks", given, figures)
    print(json.dumps({name: one for name, one in figures.items() if name != "known"}, indent=1))


if __name__ == "__main__":
    main()
