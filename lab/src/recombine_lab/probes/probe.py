"""What every probe hands back: an outcome in a word, a sentence, the measures, and the controls beside each of them."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, Literal, final

import pyarrow as pa

from recombine.base.decoding import revive_all
from recombine.base.grades import Grade
from recombine.base.records import Provenance, Record
from recombine.base.result import Result
from recombine.base.words import plain_setting
from recombine.output.figures import Figure

ProbeName = Literal["support", "geometry", "influence", "subnetworks"]
MEASURED = "measured"
"""Who a measure is of, where it is of what was asked about; else it is the name of a control."""


class SettingsGroup:
    """Settings of a probe that belong together as a frozen dataclass; a spec file names each by itself."""


@dataclass(frozen=True)
class Measure:
    """One number: where it was measured (a layer, a factor, a mask), of whom, and its interval over `n` repetitions."""

    where: str
    name: str
    value: float | None
    who: str = MEASURED
    low: float | None = None
    high: float | None = None
    n: int = 1


def measures_table(measures: Iterable[Measure]) -> pa.Table:
    """The measures as a table; numbers that are not finite are not known.

    >>> measures_table([Measure("fc1", "additivity", 0.5), Measure("fc1", "additivity", float("nan"), "shuffled")])[
    ...     "value"
    ... ].to_pylist()
    [0.5, None]
    """
    rows = [asdict(one) for one in measures]
    return pa.table(
        {
            "where": pa.array([row["where"] for row in rows], pa.string()),
            "measure": pa.array([row["name"] for row in rows], pa.string()),
            "who": pa.array([row["who"] for row in rows], pa.string()),
            **{name: pa.array([finite(row[name]) for row in rows], pa.float64()) for name in ("value", "low", "high")},
            "n": pa.array([row["n"] for row in rows], pa.int64()),
        }
    )


def finite(number: float | None) -> float | None:
    """A number that can be saved; None for one that is not finite."""
    return None if number is None or not math.isfinite(number) else float(number)


@final
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Probe(Result):
    """What a probe found.

    `outcome` is its answer in one word, from the list that each probe documents; `numbers` has what the sentence says;
    `tables["measures"]` has every measure with its controls, a row each, and other tables what else there is.
    """

    kind: ClassVar[str] = "probe"
    probe: ProbeName
    outcome: str
    verdict: str
    grade: Grade
    reasons: tuple[str, ...]
    rows: int
    numbers: Mapping[str, float | None]
    figures: tuple[Figure, ...]
    tables: Mapping[str, pa.Table]
    provenance: Provenance

    @property
    def table(self) -> pa.Table:
        """Every measure, with its controls."""
        return self.tables["measures"]

    def value(self, name: str, *, where: str | None = None, who: str = MEASURED) -> float | None:
        """A measure by its name: where it was measured in one place only, `where` can be left out."""
        found = [
            row["value"]
            for row in self.table.to_pylist()
            if row["measure"] == name and row["who"] == who and where in (None, row["where"])
        ]
        if len(found) != 1:
            raise KeyError(f"{len(found)} measures are called {name!r} of {who!r} at {where or 'any place'!r}")
        return None if found[0] is None else float(found[0])

    def record(self) -> Record:
        """The probe as plain data, which can be saved, drawn and loaded."""
        data: dict[str, Any] = {name: getattr(self, name) for name in _PLAIN}
        data["reasons"] = list(self.reasons)
        data["numbers"] = {name: finite(number) for name, number in self.numbers.items()}
        data["figures"] = [plain_setting(asdict(figure)) for figure in self.figures]
        return Record(self.kind, data, self.tables, self.provenance)

    @classmethod
    def from_record(cls, record: Record) -> "Probe":
        """Back from plain data."""
        return cls(**revive_all(cls, _PLAIN, record.data), tables=record.tables, provenance=record.provenance)


_PLAIN = tuple(one.name for one in fields(Probe) if one.name not in ("tables", "provenance"))
