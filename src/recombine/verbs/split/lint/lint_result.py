"""What a lint found: the answer, a line for each check with all its culprits, and how it is saved and read back."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa

from recombine.base.decoding import revive_all
from recombine.base.errors import SettingError
from recombine.base.grades import Grade
from recombine.base.records import Provenance, Record
from recombine.base.result import Result
from recombine.base.words import count, free_name
from recombine.data.support import Support
from recombine.numerics.groups import Ints

Verdict = Literal["pass", "fail", "warning", "not enough evidence", "told", "not asked"]
Claim = Literal["rows", "combinations", "conjunctions", "values"]
CLAIMS: tuple[Claim, ...] = ("rows", "combinations", "conjunctions", "values")
MOST_CULPRITS = 10_000
_NAMED = 3  # culprits that a sentence names; the table has the others

_VERDICTS: tuple[Verdict, ...] = ("fail", "not enough evidence", "warning", "pass", "told", "not asked")


@dataclass(frozen=True)
class LintCheck:
    """One line of a lint. `culprits` counts all of them; the table lists the worst, 10,000 at most.

    >>> LintCheck("combinations", "pass", "No test combination is in training.").verdict
    'pass'
    """

    name: str
    verdict: Verdict
    sentence: str
    culprits: int = 0
    table: pa.Table | None = field(default=None, repr=False, compare=False)


def few(named: Sequence[str], total: int) -> str:
    """The first few of many, and how many there are besides."""
    shown = list(named[:_NAMED])
    more = total - len(shown)
    return "; ".join(shown) + (f"; and {count(more)} more" if more else "")


def is_(number: int) -> str:
    """The verb that goes with a number."""
    return "is" if number == 1 else "are"


def worst_first(places: Ints, weight: Ints) -> Ints:
    """Culprits by their weight, the heaviest first; ties in the order of the combinations."""
    return places[np.argsort(-weight[places], kind="stable")]


def culprit_table(support: Support, places: Ints, **numbers: Ints) -> pa.Table:
    """The combinations by their values, each with its numbers, 10,000 at most."""
    places = places[:MOST_CULPRITS]
    columns: dict[str, Any] = support.space.labels(support.codes[places])
    return pa.table(columns | {free_name(name, columns): values[places] for name, values in numbers.items()})


@dataclass(frozen=True)
class SideCount:
    """How much there is of one side."""

    name: str
    words: tuple[str, ...]
    rows: int
    combinations: int


@dataclass(frozen=True, eq=False, repr=False)
class Lint(Result):
    """What was found about a split: the answer, a line for each check, and the culprits of each.

    >>> import recombine
    >>> table = {
    ...     "colour": ["red", "red", "blue", "blue"],
    ...     "shape": ["disc", "cube", "disc", "disc"],
    ...     "split": ["train", "train", "train", "test"],
    ... }
    >>> found = recombine.lint(table, factors=["colour", "shape"])
    >>> found.grade, found["combinations"].culprits
    ('failing', 1)
    """

    kind: ClassVar[str] = "lint"
    verdict: str
    grade: Grade
    expect: Claim
    order: int
    factors: tuple[str, ...]
    rows: int
    combinations: int
    sides: tuple[SideCount, ...]
    checks: tuple[LintCheck, ...]
    digest: str
    provenance: Provenance

    def __getitem__(self, name: str) -> LintCheck:
        """One check by its name."""
        for check in self.checks:
            if check.name == name:
                return check
        known = ", ".join(check.name for check in self.checks)
        raise SettingError(f"no check {name!r}", why="a lint does not look at it", instead=f"write one of {known}")

    @cached_property
    def table(self) -> pa.Table:
        """A row for each check; the culprits of one are `lint[name].table`."""
        columns = ("name", "verdict", "sentence", "culprits")
        return pa.table({column: [getattr(check, column) for check in self.checks] for column in columns})

    @property
    def reasons(self) -> tuple[str, ...]:
        """The sentences that the grade rests on, the worst first."""
        ranked = sorted(self.checks, key=lambda check: _VERDICTS.index(check.verdict))
        return tuple(check.sentence for check in ranked if check.verdict in _VERDICTS[:3])

    def record(self) -> Record:
        """The lint as plain data: the manifest of a split that was found, with the digest of its assignment."""
        data = {
            "verdict": self.verdict,
            "grade": self.grade,
            "reasons": list(self.reasons),
            "expect": self.expect,
            "order": self.order,
            "factors": list(self.factors),
            "rows": self.rows,
            "combinations": self.combinations,
            "sides": [vars(side) | {"words": list(side.words)} for side in self.sides],
            "checks": [
                {"name": c.name, "verdict": c.verdict, "sentence": c.sentence, "culprits": c.culprits}
                for c in self.checks
            ],
            "digest": self.digest,
        }
        tables = {f"culprits_{c.name}": c.table for c in self.checks if c.table is not None}
        return Record("lint", data, tables, self.provenance)

    @classmethod
    def from_record(cls, record: Record) -> "Lint":
        """Back from plain data, each check with the table of its culprits."""
        kept = revive_all(cls, _PLAIN, record.data)
        checks = tuple(replace(one, table=record.tables.get(f"culprits_{one.name}")) for one in kept["checks"])
        return cls(**kept | {"checks": checks}, provenance=record.provenance)


_PLAIN = tuple(field.name for field in fields(Lint) if field.name != "provenance")
