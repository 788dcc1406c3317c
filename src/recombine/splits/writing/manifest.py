"""The manifest of a split: a small JSON file beside the table, enough to make the split again and to check it."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recombine.errors import RecordError
from recombine.factors.read import read as read_support
from recombine.splits.assignment import digest_of_sides
from recombine.splits.linting.lint import lint
from recombine.splits.linting.linted import Lint
from recombine.splits.writing.destination import ENDING
from recombine.splits.writing.split import Split


@dataclass(frozen=True)
class Manifest:
    """What a manifest says, and where it lies."""

    path: Path
    file: Path
    column: str
    factors: tuple[str, ...]
    digest: str
    content: dict[str, Any]

    @property
    def folds(self) -> bool:
        """Whether the column deals folds, of which each is the test side once."""
        return all(side["name"].isdigit() for side in self.content["sides"])


def write(split: Split, path: Path) -> None:
    """Write a manifest, where it will be moved from together with its table."""
    text = json.dumps(split.record().to_json(), indent=2, ensure_ascii=False, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")


def read(path: str | Path) -> Manifest:
    """Read a manifest, refusing what is not one."""
    place = Path(path)
    try:
        content = json.loads(place.read_text(encoding="utf-8"))
        if content["kind"] != "split":
            raise KeyError("kind")
        table = place.parent / content["file"]
        factors = tuple(content["factors"])
        return Manifest(place, table, content["column"], factors, content["digest"], content)
    except (OSError, ValueError, TypeError, KeyError) as error:
        why = error.strerror if isinstance(error, OSError) else "it does not say what a manifest says"
        raise RecordError(
            f"'{path}' is not the manifest of a split",
            why=str(why),
            instead=f"give the file that `recombine split … --out table.parquet` wrote: table{ENDING}",
        ) from error


def difference(manifest: Manifest) -> str:
    """How a table differs from its manifest, in a sentence; empty where it does not."""
    support = read_support(manifest.file, factors=[*manifest.factors, manifest.column], **_reading(manifest))
    if digest_of_sides(support) == manifest.digest:
        return ""
    return (
        f"'{manifest.file}' is not split as '{manifest.path.name}' says: "
        "combinations were added, taken away or moved to another side since it was written."
    )


def lint_again(manifest: Manifest) -> Lint:
    """Hold the table to the claim that no held-out combination is in training; rows of no side are none of it."""
    column = manifest.column.replace('"', '""')
    promised = {line["name"] for line in manifest.content["invariants"] if line["holds"]}
    return lint(
        manifest.file,
        factors=manifest.factors,
        split=manifest.column,
        expect="combinations" if "values" in promised else "rows",
        where=f'"{column}" IS NOT NULL',
        **_reading(manifest),
    )


def _reading(manifest: Manifest) -> dict[str, Any]:
    """How the factors were read when the split was made."""
    settings = manifest.content["provenance"]["settings"]
    return {"bins": settings.get("bins"), "missing": settings.get("missing", "leave out")}
