"""The smallest budget at which planted parts are found in networks for sentences, by every estimator.

    python benchmarks/planted_sentences.py                           seed 0, the budgets to choose from, few controls
    python benchmarks/planted_sentences.py --seeds 10 11 --write     the study's, on other seeds and with its controls

The task and the sizes are those of the small preset of the study `subnetworks`. Two transformers side by side, one for
each component, are to be called modular; one transformer that was taught whether the two agree answers both tests,
holds neither component, and must not be. Networks: `tests/studies/planted_sentences.py`.
"""
# ruff: noqa: PLC0415 - torch is loaded after the options were read

import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import measure

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "probe_subnetworks.md"
RESULT = ROOT / "docs" / "measured" / "planted_sentences.json"
sys.path.insert(0, str(ROOT))
STEPS = (10, 20, 40)
TOLD = ("own examples", "used: left Target", "used: left Other")


def searched(
    seeds: Sequence[int], budgets: Sequence[int], *, controls: Sequence[str], smoke: bool
) -> list[dict[str, Any]]:
    """Every planted network at every budget, a row for each estimator."""
    from tests.studies.planted_sentences import KINDS, components, planted

    from recombine_lab.probes import subnetworks
    from recombine_lab.probes.probe_file import group_settings
    from recombine_studies.subnetworks.grids import SENTENCES, SMALL

    given = {name: one for name, one in SMALL["search"][SENTENCES].items() if name not in ("problems", "tests")}
    rows = []
    for seed in seeds:
        for kind in KINDS:
            network, parts = planted(kind, seed, **({"steps": 3} if smoke else {})), components(seed)
            for steps in budgets:
                asked = {**given, "steps": steps, "controls": controls, **({"base_accuracy": 0.0} if smoke else {})}
                start = time.process_time()
                found = subnetworks(network, components=parts, **group_settings(subnetworks, asked))
                seconds = time.process_time() - start
                for one in found.tables["estimators"].to_pylist():
                    told = {name: one[name] for name in ("estimator", "outcome", "grade", *TOLD)}
                    rows.append({"planted": kind, "seed": seed, "steps": steps, "together": found.outcome, **told})
                    print(*rows[-1].values(), f"{seconds:.0f} s", flush=True)
    return rows


def table(rows: list[dict[str, Any]]) -> list[str]:
    """A line for each planted network, budget and estimator, over the seeds."""
    head = ("planted", "steps", "estimator", "said", "least of own examples", "Target left", "Other left")
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for cell in dict.fromkeys((row["planted"], row["steps"], row["estimator"]) for row in rows):
        some = [row for row in rows if (row["planted"], row["steps"], row["estimator"]) == cell]
        said = ", ".join(f"{name} {count}" for name, count in Counter(row["outcome"] for row in some).items())
        numbers = [[row[name] for row in some if row[name] is not None] for name in TOLD]
        spans = [f"{min(one):.2f} to {max(one):.2f}" if one else "" for one in numbers]
        lines.append(f"| {' | '.join((*map(str, cell), said, *spans))} |")
    return lines


def with_table(page: str, rows: list[dict[str, Any]]) -> str:
    """The page with its table made anew."""
    start, end = "<!-- sentences -->\n", "<!-- /sentences -->"
    before, rest = page.split(start, 1)
    return before + start + "\n".join(table(rows)) + "\n" + end + rest.split(end, 1)[1]


def main() -> None:
    parser = measure.options(__doc__)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--write", action="store_true", help=f"into {PAGE.relative_to(ROOT)}")
    given = parser.parse_args()
    import torch

    torch.set_num_threads(1)
    from recombine_studies.subnetworks.grids import SENTENCES, SMALL

    chosen = [SMALL["search"][SENTENCES]["steps"]]
    rows = searched(
        given.seeds,
        [2] if given.smoke else chosen if given.write else STEPS,
        controls=("re-initialised", "random") if given.write else ("random",),
        smoke=given.smoke,
    )
    print("\n".join(table(rows)))
    if given.write and not given.smoke:
        RESULT.write_text(json.dumps(rows, indent=1) + "\n")
        PAGE.write_text(with_table(PAGE.read_text(), rows))
    else:
        measure.write("planted_sentences", given, rows)


if __name__ == "__main__":
    main()
