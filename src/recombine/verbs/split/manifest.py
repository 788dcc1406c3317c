"""The manifest of a split: a small JSON file beside the table, enough to make the split again and to check it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from recombine.base.decoding import MalformedError, decoding, parsed, revive, revive_all, sealed, unsealed
from recombine.base.errors import RecordError
from recombine.base.overwrite_checks import MANIFEST_ENDING
from recombine.base.records import Provenance, refuse_other_formats
from recombine.base.words import json_text, known_numbers
from recombine.data.columns import Bins
from recombine.data.read import read as read_support
from recombine.data.set_columns import SetColumns
from recombine.verbs.split.checker import digest_of_sides
from recombine.verbs.split.invariants import Invariant
from recombine.verbs.split.lint.lint import lint
from recombine.verbs.split.lint.lint_result import Lint
from recombine.verbs.split.split_result import TOLD, Split, SplitSide

_WRITTEN = f"give the file that `recombine split … --out table.parquet` wrote: table{MANIFEST_ENDING}"


@dataclass(frozen=True)
class FactorReading:
    """How the factors were read when the split was made."""

    bins: Mapping[str, int | str | tuple[float, ...]] = field(default_factory=dict)
    sets: Mapping[str, SetColumns] = field(default_factory=dict)
    missing: Literal["leave out", "value"] = "leave out"


@dataclass(frozen=True)
class Manifest:
    """What a manifest says, and where it lies."""

    path: Path
    file: Path
    column: str
    factors: tuple[str, ...]
    digest: str
    sides: tuple[SplitSide, ...]
    invariants: tuple[Invariant, ...]
    reading: FactorReading

    @property
    def folds(self) -> bool:
        """Whether the column deals folds, of which each is the test side once."""
        return all(side.name.isdigit() for side in self.sides)


def write(split: Split, path: Path) -> None:
    """Write a manifest, where it will be moved from together with its table."""
    path.write_text(json_text(sealed(known_numbers(split.record().to_json()))) + "\n", encoding="utf-8", newline="")


def read(path: str | Path) -> Manifest:
    """Read a manifest, refusing what is not one, or was changed since it was written."""
    place = Path(path)
    try:
        content = parsed(place.read_bytes())
        if content.get("kind") != "split":
            raise MalformedError("it does not say what a manifest says")
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise RecordError(f"'{path}' is not the manifest of a split", why=str(why), instead=_WRITTEN) from error
    with decoding(f"'{path}' is damaged", instead="write the split again, or restore the manifest from a copy"):
        refuse_other_formats(content, "split", place=path)
        return _of(place, unsealed(content))


def _of(place: Path, content: Mapping[str, Any]) -> Manifest:
    told = revive_all(Split, TOLD, {"rungs": (), **content})
    settings = revive(Provenance, content["provenance"], at="provenance").settings
    asked = {name: settings[name] for name in ("bins", "sets", "missing") if name in settings}
    return Manifest(
        path=place,
        file=place.parent / told["file"],
        reading=revive(FactorReading, asked, at="provenance.settings"),
        **{name: told[name] for name in ("column", "factors", "digest", "sides", "invariants")},
    )


def difference(manifest: Manifest) -> str:
    """How a table differs from its manifest, in a sentence; empty where it does not, or lists no combinations."""
    if not manifest.digest:
        return ""
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
    promised = {line.name for line in manifest.invariants if line.holds}
    return lint(
        manifest.file,
        factors=manifest.factors,
        split=manifest.column,
        expect="combinations" if "values" in promised else "rows",
        where=f'"{column}" IS NOT NULL',
        **_reading(manifest),
    )


def _reading(manifest: Manifest) -> dict[str, Any]:
    bins: dict[str, Bins] = dict(manifest.reading.bins)
    return {"bins": bins, "sets": manifest.reading.sets, "missing": manifest.reading.missing}
