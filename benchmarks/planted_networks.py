"""Subnetworks and geometry on networks whose structure was planted: what is said, how surely, and how often rightly.

    python benchmarks/planted_networks.py                       240 searches, five seeds of each network
    python benchmarks/planted_networks.py --seeds 10 11 12      other seeds
    python benchmarks/planted_networks.py --seeds 10 11 12 13 14 --write      into docs/probe_subnetworks.md

Two branches that share nothing are modular, one plain network for everything is shared ("collapse"); three widths, two
depths, classes and numbers, masks of single weights and of rows. Masks are learned quickly here (40 steps), since a
verdict must not hang on how long somebody searched; `--steps 300` asks as by default.
"""
# ruff: noqa: PLC0415 - torch is loaded after the options were read

import json
import sys
import time
from collections.abc import Sequence
from itertools import groupby, product
from pathlib import Path
from typing import Any

import measure

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "probe_subnetworks.md"
RESULT = ROOT / "docs" / "measured" / "planted_networks.json"
sys.path.insert(0, str(ROOT))
WIDTHS, DEPTHS, TARGETS, GROUPS = (16, 32, 64), (1, 2), ("classes", "numbers"), ("weight", "row")
RIGHT = {"branches": "modular", "shared": "collapse"}
CELL = ("planted", "width", "depth", "target", "grouping")


def searched(seeds: Sequence[int], steps: int, *, smoke: bool) -> list[dict[str, Any]]:
    """Every planted network with every grouping and seed, a row each."""
    from tests.probes.masks.planted import KINDS, Planted

    from recombine_lab.probes import subnetworks
    from recombine_lab.probes.probe_file import group_settings

    widths, depths, targets = (WIDTHS[:1], DEPTHS[:1], TARGETS[:1]) if smoke else (WIDTHS, DEPTHS, TARGETS)
    asked = {
        "steps": steps,
        "seeds": 3,
        "rates": (0.05,),
        "penalties": (0.3,),
        "controls": ("re-initialised", "random"),
    }
    rows = []
    for seed, kind, width, depth, target in product(seeds, KINDS, widths, depths, targets):
        planted = Planted(kind, width, depth, target == "numbers", seed)
        network, components = planted.network(), planted.components()
        for group in GROUPS:
            start = time.process_time()
            settings = group_settings(subnetworks, {**asked, "chance": planted.chance, "group": group})
            made = subnetworks(network, planted.score, components=components, **settings)
            rows.append(
                dict(zip(CELL, (kind, width, depth, target, group), strict=True))
                | {"seed": seed, "said": made.outcome, "grade": made.grade, "seconds": time.process_time() - start}
            )
            print(*rows[-1].values())
    return rows


def is_right(row: dict[str, Any]) -> bool:
    """Whether it was called what it is."""
    return bool(row["said"] == RIGHT[row["planted"]])


def is_opposite(row: dict[str, Any]) -> bool:
    """Whether it was called what the other one is, and surely: *failing* is a sure no."""
    other = RIGHT["shared" if row["planted"] == "branches" else "branches"]
    return bool(row["said"] == other and row["grade"] in ("sound", "plausible", "failing"))


def table(rows: list[dict[str, Any]]) -> list[str]:
    """A line for each planted network and grouping, over its seeds; and for each network in all."""
    lines = [f"| {' | '.join(CELL)} | said, grade | right | opposite, surely |", "|---" * (len(CELL) + 3) + "|"]

    def line(cell: Sequence[Any], some: list[dict[str, Any]]) -> str:
        said = sorted(f"{row['said']}, {row['grade']}" for row in some)
        counted = "; ".join(f"{word} ({len(list(each))})" for word, each in groupby(said))
        right, opposite = (sum(map(of, some)) for of in (is_right, is_opposite))
        cells = (*cell, counted, f"{right} of {len(some)}", f"{opposite} of {len(some)}")
        return f"| {' | '.join(map(str, cells))} |"

    def by_cell(row: dict[str, Any]) -> tuple[Any, ...]:
        return tuple(row[name] for name in CELL)

    for cell, some in groupby(sorted(rows, key=by_cell), by_cell):
        lines.append(line(cell, list(some)))
    whole = {kind: [row for row in rows if row["planted"] == kind] for kind in RIGHT}
    return [*lines, *(line((f"**{kind}, all**", "", "", "", ""), some) for kind, some in whole.items())]


def with_table(page: str, rows: list[dict[str, Any]]) -> str:
    """The page with its table made anew."""
    before, rest = page.split("<!-- planted -->\n", 1)
    return (
        f"{before}<!-- planted -->\n"
        + "\n".join(table(rows))
        + "\n<!-- /planted -->"
        + rest.split("<!-- /planted -->", 1)[1]
    )


def main() -> None:
    parser = measure.options(__doc__)
    parser.add_argument("--seeds", nargs="+", type=int, default=list(range(5)))
    parser.add_argument("--steps", type=int, default=40, help="of each learned mask")
    parser.add_argument("--write", action="store_true", help=f"into {PAGE.relative_to(ROOT)}")
    given = parser.parse_args()
    import torch

    torch.set_num_threads(1)
    rows = searched(given.seeds[:1] if given.smoke else given.seeds, given.steps, smoke=given.smoke)
    print("\n".join(table(rows)))
    if given.write and not given.smoke:
        RESULT.write_text(json.dumps(rows, indent=1) + "\n")
        PAGE.write_text(with_table(PAGE.read_text(), rows))
    else:
        measure.write("planted_networks", given, rows)


if __name__ == "__main__":
    main()
