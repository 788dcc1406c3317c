"""Small files that people write by hand: lists of values, costs, impossible combinations, sweeps."""

import csv
from pathlib import Path

LARGEST_BY_HAND = 10**7
"""The most characters of a file that somebody wrote by hand; what is larger is something else, or has no end."""


def read_text(path: Path) -> str:
    """A text that somebody wrote by hand, in UTF-8, with or without the mark that some editors put in front."""
    with path.open(encoding="utf-8-sig") as file:
        text = file.read(LARGEST_BY_HAND + 1)
    if len(text) > LARGEST_BY_HAND:
        raise ValueError(f"it has more than {LARGEST_BY_HAND:,} characters")
    return text


def read_cells(path: Path) -> tuple[list[str], list[dict[str, str]]]:
    """A CSV file that somebody wrote by hand: its heading, and its lines by the heading's names.

    What does not fit the heading is a `csv.Error`: a name that stands twice, or a line with more cells than names.
    """
    with path.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.reader(file)
        names = next(reader, [])
        twice = next((name for name in names if name and names.count(name) > 1), None)
        if twice is not None:
            raise csv.Error(f"the column {twice!r} stands twice in its heading")
        lines = []
        for cells in reader:
            if any(cells[len(names) :]):
                raise csv.Error(f"line {reader.line_num} has {len(cells)} cells, and the heading {len(names)} names")
            if cells:
                lines.append(dict(zip(names, cells, strict=False)))
    return names, lines
