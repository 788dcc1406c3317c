"""Tiny data for the examples of this folder: coloured shapes as picture files, and sentences; nothing is downloaded.

Run it once: `python examples/own_data/data.py FOLDER`.
"""

import csv
import itertools
import sys
from pathlib import Path

import numpy as np
from PIL import Image

COLOURS = {"red": (200, 40, 40), "green": (40, 160, 60), "blue": (50, 70, 200), "grey": (120, 120, 120)}
SHAPES = ("square", "bar", "cross")
SIZE = 16


def picture(colour: str, shape: str, rng: np.random.Generator) -> np.ndarray:
    """One shape at a random place, on a noisy ground."""
    image = rng.integers(200, 256, (SIZE, SIZE, 3), dtype=np.uint8)
    x, y = rng.integers(0, SIZE - 7, 2)
    mark = np.zeros((7, 7), dtype=bool)
    mark[{"square": slice(None), "bar": slice(2, 5), "cross": slice(3, 4)}[shape], :] = True
    if shape == "cross":
        mark[:, 3] = True
    image[y : y + 7, x : x + 7][mark] = COLOURS[colour]
    return image


def write(folder: Path, *, rows: int = 12) -> None:
    """`pictures.csv` with a folder of PNG files beside it, and `sentences.csv`."""
    rng = np.random.default_rng(0)
    (folder / "pictures").mkdir(parents=True, exist_ok=True)
    with (folder / "pictures.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["file", "colour", "shape", "answer"])
        for number, (colour, shape, _) in enumerate(itertools.product(COLOURS, SHAPES, range(rows))):
            name = f"pictures/{number}.png"
            Image.fromarray(picture(colour, shape, rng)).save(folder / name)
            table.writerow([name, colour, shape, f"a {shape}"])
    with (folder / "sentences.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["text", "subject", "verb", "mood"])
        subjects, verbs = (
            ("the cat", "a dog", "my friend", "nobody"),
            {"loves": "good", "hates": "bad", "likes": "good"},
        )
        for subject, verb, end in itertools.product(subjects, verbs, ("this", "that", "it all", "them")):
            table.writerow([f"{subject} {verb} {end}", subject, verb, verbs[verb]])


if __name__ == "__main__":
    write(Path(sys.argv[1]))
