"""Files that are written whole or not at all, and small files that people write by hand."""

import csv
import tempfile
from pathlib import Path

from recombine.errors import OutputError, SourceError


def write_text(path: str | Path, text: str) -> Path:
    """Write a text file beside its place, then move it there."""
    target = Path(path)
    staging: Path | None = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=target.parent, prefix=f".{target.name}-", delete=False
        ) as file:
            staging = Path(file.name)
            file.write(text)
        staging.chmod(0o644)
        staging.replace(target)
    except OSError as error:
        raise cannot_write(target, error) from error
    finally:
        if staging is not None:
            staging.unlink(missing_ok=True)
    return target


def cannot_write(target: Path, error: OSError) -> OutputError:
    """Why a place cannot be written to."""
    return OutputError(
        f"cannot write '{target}'",
        why=error.strerror or str(error),
        instead="name a place that you may write to and that has room",
    )


def cannot_use(error: OSError) -> SourceError:
    """What the system said of a path that nobody has explained better: one too long, or not allowed."""
    return SourceError(
        f"cannot use '{shortened(str(error.filename))}'",
        why=error.strerror or str(error),
        instead="check the path, and that you may read and write there",
    )


def shortened(path: str, most: int = 200) -> str:
    """A path as a message can hold it.

    >>> shortened("a" * 9, most=4)
    'aa…aa'
    """
    return path if len(path) <= most else f"{path[: most // 2]}…{path[-(most // 2) :]}"


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
