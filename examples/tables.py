"""The real tables behind the example pages: where they lie, what to ask of them, what must come out.

The counts are those that the tables' own publications or README files state.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

MISSING = "(missing)"
FACES = ["Male", "Young", "Smiling", "Eyeglasses", "Wearing_Hat", "Bald", "Blond_Hair", "Heavy_Makeup"]


@dataclass(frozen=True)
class Table:
    """One table, the question, and the counts that are known beforehand."""

    name: str
    title: str
    file: str
    question: dict[str, Any]
    rows: int
    seen: int
    space: int
    sizes: tuple[int, ...] = field(default=())


def data_folder() -> Path | None:
    """Where the tables are: RECOMBINE_DATA, or a folder beside the repository."""
    named = os.environ.get("RECOMBINE_DATA")
    folder = Path(named) if named else Path(__file__).resolve().parents[2] / "shared" / "data"
    return folder if folder.is_dir() else None


def scan_impossible() -> Iterator[dict[str, str]]:
    """What SCAN's grammar rules out: a direction without a mode, turning without either, a second phrase on its own."""
    for half in "12":
        for mode, direction in product(("plain", "opposite", "around"), ("left", "right")):
            yield {f"mode{half}": mode, f"dir{half}": "none"}
            yield {f"mode{half}": "none", f"dir{half}": direction}
        yield {f"verb{half}": "turn", f"mode{half}": "none"}
    parts = {
        "verb2": ("walk", "look", "run", "jump", "turn"),
        "mode2": ("none", "plain", "opposite", "around"),
        "dir2": ("none", "left", "right"),
        "rep2": ("once", "twice", "thrice"),
    }
    for name, values in parts.items():
        yield from ({"conj": "none", name: value} for value in values)
        yield from ({"conj": conjunction, name: MISSING} for conjunction in ("and", "after"))


def question(*factors: str, **more: Any) -> dict[str, Any]:
    """What to ask of a table's training part."""
    return {"factors": list(factors), "where": "split = 'train'"} | more


TABLES = (
    Table(
        "ut_zappos",
        "UT-Zappos: materials and shoes",
        "factors/ut_zappos_pairs.csv",
        question("attr", "obj"),
        rows=83,
        seen=83,
        space=192,
        sizes=(16, 12),
    ),
    Table(
        "mit_states",
        "MIT-States: attributes and objects",
        "factors/mit_states_images.parquet",
        question("attr", "obj"),
        rows=34_562,
        seen=1_262,
        space=28_175,
        sizes=(115, 245),
    ),
    Table(
        "cgqa",
        "C-GQA: attributes and objects",
        "factors/cgqa_pairs.csv",
        question("attr", "obj"),
        rows=5_592,
        seen=5_592,
        space=278_362,
        sizes=(413, 674),
    ),
    Table(
        "celeba",
        "CelebA: eight attributes, and who is called attractive",
        "factors/celeba.parquet",
        question(*FACES, target="Attractive"),
        rows=162_770,
        seen=114,
        space=256,
        sizes=(2,) * 8,
    ),
    Table(
        "waterbirds",
        "Waterbirds: species and backgrounds",
        "factors/waterbirds.parquet",
        question("species", "background_scene", target="bird"),
        rows=4_795,
        seen=579,
        space=800,
        sizes=(200, 4),
    ),
    Table(
        "clevr_cogent",
        "CLEVR-CoGenT, condition A",
        "factors/clevr_cogent_conditions.csv",
        question("shape", "color", "material", "size", where="split = 'A'"),
        rows=64,
        seen=64,
        space=96,
        sizes=(3, 8, 2, 2),
    ),
    Table(
        "scan_jump",
        "SCAN, the add-jump split",
        "scan/scan_factors.parquet",
        question(
            "conj",
            *("verb1", "mode1", "dir1", "rep1"),
            *("verb2", "mode2", "dir2", "rep2"),
            where="split_addprim_jump = 'train'",
            missing="value",
            domain={"verb2": ["walk", "look", "run", "turn", "jump"]},
            impossible=list(scan_impossible()),
        ),
        rows=13_204,
        seen=13_204,
        space=20_910,
    ),
)
