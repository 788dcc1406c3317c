"""What `recombine lint` says of published splits: no false alarm, or an alarm that is right.

Prints one line for each split. The data are looked for where the tests look for them: `RECOMBINE_DATA`, or
`../shared/data`. What makes each alarm right is shown in `tests/split/test_lint.py`.
"""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import measure
import recombine

SCAN = ["conj", "verb1", "mode1", "dir1", "rep1", "verb2", "mode2", "dir2", "rep2"]
PAIRS = ["attr", "obj"]
NATURAL = {"train": ["train"], "validation": ["val_unseen"], "test": ["test_unseen"]}
UNSEEN = "split = 'train' OR NOT seen_in_train"

Case = tuple[str, str, dict[str, Any]]


def scan() -> Iterator[Case]:
    """The splits of SCAN over the factors of its grammar."""
    asked = [("simple", "rows"), ("simple", "combinations"), ("length", "rows"), ("length", "combinations")]
    asked += [("addprim_jump", "combinations"), ("addprim_turn_left", "combinations")]
    asked += [
        (f"template_{name}", "combinations")
        for name in ("around_right", "jump_around_right", "opposite_right", "right")
    ]
    asked += [(f"mcd{k}", "combinations") for k in (1, 2, 3)]
    for name, expect in asked:
        column = f"split_{name}"
        settings = {"factors": SCAN, "split": column, "expect": expect, "missing": "value", "id": "command"}
        yield f"SCAN {name}", "scan/scan_factors.parquet", settings | {"where": f"{column} IS NOT NULL"}


def tables() -> Iterator[Case]:
    """The tables of images and of pairs."""
    pairs, image = {"factors": PAIRS}, {"factors": PAIRS, "id": "image"}
    natural = {"sides": NATURAL}
    yield "MIT-States", "factors/mit_states_images.parquet", image
    yield "MIT-States natural", "factors/mit_states_images.parquet", image | natural | {"split": "natural_pair_group"}
    yield "C-GQA pairs, as published", "factors/cgqa_pairs.csv", pairs
    yield "C-GQA pairs, unseen group", "factors/cgqa_pairs.csv", pairs | {"where": UNSEEN}
    yield "C-GQA images, unseen group", "factors/cgqa_images.parquet", image | natural | {"split": "std_pair_group"}
    yield "C-GQA images, open vocabulary", "factors/cgqa_images.parquet", image
    yield "UT-Zappos pairs, as published", "factors/ut_zappos_pairs.csv", pairs
    yield "UT-Zappos pairs, unseen group", "factors/ut_zappos_pairs.csv", pairs | {"where": UNSEEN}
    hair = {"factors": ["Blond_Hair", "Male"], "id": "image_id", "expect": "rows", "target": "Smiling"}
    yield "CelebA", "factors/celeba.parquet", hair
    birds = {"factors": ["species", "background"], "id": "img_id", "expect": "rows", "target": "bird"}
    yield "Waterbirds", "factors/waterbirds.parquet", birds
    clevr = {"factors": ["shape", "color", "material", "size"], "sides": {"train": ["A"], "test": ["B"]}}
    yield "CLEVR-CoGenT, as published", "factors/clevr_cogent_conditions.csv", clevr
    yield "CLEVR-CoGenT, no spheres", "factors/clevr_cogent_conditions.csv", clevr | {"where": "shape != 'sphere'"}


def main() -> None:
    """Run it."""
    given = measure.options(__doc__).parse_args()
    named = os.environ.get("RECOMBINE_DATA")
    data = Path(named) if named else Path(__file__).parents[2] / "shared" / "data"
    if not data.is_dir():
        raise SystemExit(f"the data sets are not in {data}: set RECOMBINE_DATA to where they are")
    lines = []
    for name, file, asked in [*scan(), *tables()]:
        start = time.process_time()
        found = recombine.lint(data / file, **asked)
        wrong = [f"{one.name} {one.culprits:,}" for one in found.checks if one.verdict == "fail"]
        seconds = time.process_time() - start
        lines.append([name, found.expect, f"{found.rows:,}", found.grade, ", ".join(wrong) or "-", f"{seconds:.2f}"])
    measure.table(["split", "held to", "rows", "grade", "culprits", "CPU seconds"], lines)
    measure.write("lint_published", given, lines)


if __name__ == "__main__":
    main()
