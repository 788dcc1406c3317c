"""`recombine demo`: a small made-up table, so that the first minute needs no data."""

import csv
import io
import random
from pathlib import Path
from typing import Annotated

import typer

from recombine.cli.show import say
from recombine.files import place_of, write_text
from recombine.overwriting import check_file

_MATERIALS = ("cotton", "denim", "fleece", "leather", "linen", "silk", "suede", "wool")
_GARMENTS = ("boots", "coat", "dress", "gloves", "hat", "jacket", "scarf", "shirt", "skirt", "trousers")
_WARM = {"fleece", "leather", "suede", "wool"}
_ROWS = 400


def demo(
    file: Annotated[Path, typer.Argument(help="Where to write the table.")] = Path("products.csv"),
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
    seed: Annotated[int, typer.Option(help="Another seed, another table.")] = 0,
) -> None:
    """Write a small made-up table to try things on."""
    check_file(place_of(file), force=force)
    write_text(file, _table(seed), force=force)
    say(f"{file} now holds {_ROWS} made-up products: their id, material, garment and label.\n")
    say(f"next   recombine audit {file} --factors material,garment --target label --report audit.html")
    say(f"       recombine predict {file} --factors material,garment --target label")


def _table(seed: int) -> str:
    """Each material is made into some garments only: suede into gloves and nothing else, gloves of suede and nothing
    else.
    """
    draw = random.Random(seed)  # noqa: S311 - made-up data
    others = [garment for garment in _GARMENTS if garment != "gloves"]
    made = {material: draw.sample(others, k=draw.randint(2, 5)) for material in _MATERIALS} | {"suede": ["gloves"]}
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerow(["id", "material", "garment", "label"])
    for row in range(1, _ROWS + 1):
        material = draw.choices(_MATERIALS, weights=range(len(_MATERIALS), 0, -1))[0]
        garment = draw.choice(made[material])
        warm = (material in _WARM) + (garment in ("coat", "gloves", "hat", "scarf")) + draw.random() * 0.5
        writer.writerow([row, material, garment, "warm" if warm > 1 else "light"])
    return lines.getvalue()
