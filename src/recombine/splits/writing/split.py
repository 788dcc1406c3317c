"""A split that was made: which combination is on which side, what was promised and kept, and where it was written."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from recombine.decoding import FileName, revive_all
from recombine.errors import SettingError
from recombine.grades import Grade
from recombine.records import Provenance, Record
from recombine.results import Result
from recombine.splits.assignment import TRAIN
from recombine.splits.invariants import Invariant
from recombine.tables.space import MISSING, text


@dataclass(frozen=True)
class SplitSide:
    """How much there is of one side; `combinations` counts those that have rows there."""

    name: str
    rows: int
    combinations: int


@dataclass(frozen=True, eq=False, repr=False)
class Split(Result):
    """Which combination is on which side, with what was promised of it.

    `assignment` has a line for each combination: its values, its side and its rows. Rows kept apart as *seen* are of
    training combinations, which the assignment therefore calls `train`.

    >>> import tempfile, recombine
    >>> table = {"colour": ["red", "red", "blue", "blue"], "shape": ["disc", "bar", "disc", "bar"]}
    >>> splitter = recombine.HoldOutConjunctions(["colour", "shape"], conjunctions=[{"colour": "red", "shape": "bar"}])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     split = recombine.write_split(table, splitter=splitter, out=f"{folder}/table.csv")
    >>> split.side(("red", "bar")), split.side(("blue", "bar"))
    ('test', 'train')
    """

    kind: ClassVar[str] = "split"
    verdict: str
    grade: Grade
    reasons: tuple[str, ...]
    splitter: str
    factors: tuple[str, ...]
    column: str
    file: FileName
    sides: tuple[SplitSide, ...]
    invariants: tuple[Invariant, ...]
    rows: int
    combinations: int
    digest: str
    assignment: pa.Table
    provenance: Provenance

    @property
    def table(self) -> pa.Table:
        """A row for each combination: its values, its side and its rows."""
        return self.assignment

    def side(self, combination: Mapping[str, Any] | Sequence[Any]) -> str | None:
        """The side of a combination: a tuple in the order of the factors, or a mapping; None where it has none."""
        values = [combination[name] for name in self.factors] if isinstance(combination, Mapping) else combination
        if isinstance(values, str) or len(values) != len(self.factors):
            raise SettingError(
                f"the combination {combination!r}",
                why=f"there are {len(self.factors)} factors: {', '.join(self.factors)}",
                instead="give one value for each, in that order, or a mapping from factor to value",
            )
        return self._side_of.get(tuple(MISSING if value is None else text(value) for value in values))

    @cached_property
    def _side_of(self) -> dict[tuple[str, ...], str | None]:
        columns = [self.assignment[name].to_pylist() for name in self.factors]
        return dict(zip(zip(*columns, strict=True), self.assignment[SIDE_COLUMN].to_pylist(), strict=True))

    @property
    def takes_away(self) -> dict[str, list[str]]:
        """For each fold, or the test side, the values that training lacks while it is held out; none: not listed."""
        return taken_away(self.assignment, self.factors)

    def record(self) -> Record:
        """The split as plain data: the manifest, and the assignment as a table."""
        data = {
            "verdict": self.verdict,
            "grade": self.grade,
            "reasons": list(self.reasons),
            "splitter": self.splitter,
            "factors": list(self.factors),
            "column": self.column,
            "file": self.file,
            "sides": [asdict(side) for side in self.sides],
            "invariants": [asdict(line) for line in self.invariants],
            "rows": self.rows,
            "combinations": self.combinations,
            "digest": self.digest,
        }
        return Record("split", data, {"assignment": self.assignment}, self.provenance)

    @classmethod
    def from_record(cls, record: Record) -> "Split":
        """Back from plain data."""
        told = revive_all(cls, TOLD, record.data)
        return cls(**told, assignment=record.tables["assignment"], provenance=record.provenance)


TOLD = tuple(field.name for field in fields(Split) if field.name not in ("assignment", "provenance"))
"""What a manifest says of a split, beside where it came from."""


def taken_away(assignment: pa.Table, factors: Sequence[str]) -> dict[str, list[str]]:
    """For each side but training, the values that no other side holds.

    >>> sides = {"colour": ["red", "blue"], "shape": ["disc", "disc"], SIDE_COLUMN: ["0", "1"]}
    >>> taken_away(pa.table(sides), ["colour"])
    {'0': ["colour 'red'"], '1': ["colour 'blue'"]}
    """
    found: dict[str, list[str]] = {}
    placed = assignment.filter(pc.is_valid(assignment[SIDE_COLUMN]))
    for factor in factors:
        # under names of our own: Arrow takes a name such as '.x' for a path into a struct
        both = pa.table({"value": placed[factor], "side": placed[SIDE_COLUMN]})
        ends = both.group_by("value").aggregate([("side", "min"), ("side", "max")])
        alone = ends.filter(pc.equal(ends["side_min"], ends["side_max"])).sort_by("value")
        for value, side in zip(alone["value"].to_pylist(), alone["side_min"].to_pylist(), strict=True):
            if side != TRAIN:
                found.setdefault(side, []).append(f"{factor} {value!r}")
    return dict(sorted(found.items()))


SIDE_COLUMN = "recombine_side"
"""The assignment's column for the side: no factor is likely to bear its name."""
