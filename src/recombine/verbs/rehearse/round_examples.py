"""What a learner is taught with and asked about: combinations with their answers, and their rows where it needs rows.

A learner that works on combinations is content with a support, which any engine counts. One that works on rows gets
them in the table's order, each with the number of its combination; `inputs` are read as `predict` reads them: columns
of the table, pictures, or an array that stands beside its rows.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from recombine.base.errors import SettingError, TableError
from recombine.data.frames import as_arrow
from recombine.data.row_codes import row_codes
from recombine.data.sources import opened
from recombine.data.support import LabelTarget, NumberTarget, Support
from recombine.data.table_query import ReadOptions
from recombine.numerics.groups import Ints, Numbers
from recombine.numerics.predictive_intervals import Score
from recombine.verbs.predict.answers import Answers, answers
from recombine.verbs.predict.examples.example_rows import Fetched, glance, refuse_unordered
from recombine.verbs.predict.examples.forecast_state import checked_inputs, refuse_constant
from recombine.verbs.predict.examples.input_features import check_length, inputs_of, values

MOST_ROWS = 5 * 10**6
"""Rows that are read into memory for a learner that needs them."""
Inputs = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class RoundRows:
    """Rows of some combinations. Legend: n rows."""

    combination: Ints  # (n,) its place among the combinations
    answers: Numbers  # (n,) the place of its class, or its number
    inputs: Inputs | None  # (n, …)
    table: pa.Table  # all columns

    def at(self, rows: Ints, combination: Ints) -> "RoundRows":
        """Some of the rows, whose combinations are numbered anew."""
        inputs = None if self.inputs is None else self.inputs[rows]
        return RoundRows(combination, self.answers[rows], inputs, self.table.take(pa.array(rows)))


@dataclass(frozen=True, eq=False)
class RehearsalExamples:
    """Combinations that each have an answer; with their rows, where a learner needs them."""

    support: Support
    rows: RoundRows | None = None

    @property
    def own(self) -> Answers:
        """The answer of each combination."""
        return answers(self.support, one_class=True)

    @property
    def score(self) -> Score:
        """What answers are scored by."""
        return "R²" if self.own.kind == "number" else "accuracy"

    @property
    def classes(self) -> tuple[Any, ...] | None:
        """The target's classes; None for a number."""
        target = self.support.target
        return target.classes if isinstance(target, LabelTarget) else None

    def part(self, combinations: Ints) -> "RehearsalExamples":
        """Some of the combinations alone, with their rows in the table's order."""
        rows = None
        if self.rows is not None:
            place = np.full(len(self.support), -1, dtype=np.int64)
            place[combinations] = np.arange(len(combinations))
            kept = np.flatnonzero(place[self.rows.combination] >= 0)
            rows = self.rows.at(kept, place[self.rows.combination[kept]])
        return RehearsalExamples(self.support.subset(combinations), rows)

    def by_row(self, said: Numbers) -> Numbers:
        """(c,) How good answers to every row are: the share of right ones, or the mean squared error."""
        assert self.rows is not None  # noqa: S101 - whoever answers rows was given them
        good = np.square(said - self.rows.answers) if self.classes is None else (said == self.rows.answers) * 1.0
        size = len(self.support)
        return np.asarray(
            np.bincount(self.rows.combination, good, minlength=size)
            / np.bincount(self.rows.combination, minlength=size)
        )

    def by_combination(self, said: Numbers) -> Numbers:
        """(c,) The same of one answer to each combination, whose rows may differ among themselves."""
        target = self.support.target
        if isinstance(target, NumberTarget):
            return np.asarray(target.scatter / target.count + np.square(target.mean - said))
        assert isinstance(target, LabelTarget)  # noqa: S101 - there is no third kind
        total = np.bincount(target.combination, target.count, minlength=len(self.support))
        right = target.label == said[target.combination]
        return np.asarray(np.bincount(target.combination, target.count * right, minlength=len(self.support)) / total)


def examples_of(
    support: Support, source: Any, reading: ReadOptions, *, rows: bool, inputs: Any = None
) -> RehearsalExamples:
    """The combinations of a support that have an answer, and their rows where they are needed."""
    own = answers(support)
    whole = support if len(own) == len(support) else support.subset(own.rows)
    if not rows and inputs is None:
        return RehearsalExamples(whole)
    _refuse_what_has_no_rows(source, reading)
    if support.space.set_factors:
        raise SettingError(
            "a learner that works on rows beside a factor whose value is a set",
            why="which rows belong to a combination is found by their values, and not yet by sets",
            instead="take a learner by name, such as 'relu:2' or 'additive', or one that answers combinations",
        )
    if inputs is not None:
        refuse_unordered(source)
    table = _all_rows(source, reading.get("table"))
    found = row_codes(table, whole, bins=reading.get("bins"), domain=reading.get("domain"), where=reading.get("where"))
    assert found.answers is not None  # noqa: S101 - answers() has refused a support without a target
    kept = np.flatnonzero((found.combination >= 0) & np.isfinite(found.answers))
    shown = _inputs(inputs, table, kept)
    listed = RoundRows(found.combination[kept], found.answers[kept], shown, table.take(pa.array(kept)))
    return RehearsalExamples(whole, listed)


def _refuse_what_has_no_rows(source: Any, reading: ReadOptions) -> None:
    if isinstance(source, Support):
        raise SettingError(
            "a Support for a learner that works on rows",
            why="a support holds how often each combination occurred, and no rows",
            instead="give the table itself with factors=… and target=…, or a learner by name, such as 'relu:2'",
        )
    if reading.get("weight") is not None:
        raise SettingError(
            f"weight={reading['weight']!r} for a learner that works on rows",
            why="it would be taught every row once, whatever the row stands for",
            instead="leave the weight out, or take a learner by name, such as 'relu:2'",
        )


def _all_rows(source: Any, name: str | None) -> pa.Table:
    """All rows of a table in their order, if it has one and they fit."""
    if not isinstance(source, str | Path) and not type(source).__module__.startswith("ibis."):
        given = as_arrow(source)
        _refuse_many(len(given), "the table")
        return given
    with opened(source, table=name, sniff_all=True) as found:
        if found.backend.name == "duckdb":
            found.backend.con.execute("SET preserve_insertion_order = true")
        rows = int(found.backend.to_pyarrow(found.table.count()).as_py())
        _refuse_many(rows, found.name)
        table: pa.Table = found.backend.to_pyarrow(found.table)
    return table


def _refuse_many(rows: int, name: str) -> None:
    if rows > MOST_ROWS:
        raise TableError(
            f"{name} has {rows:,} rows",
            why=f"a learner that works on rows is taught at most {MOST_ROWS:,}, which are held in memory",
            instead="give a sample of its rows, or a learner that works on combinations, such as 'relu:2'",
        )


def _inputs(given: Any, table: pa.Table, kept: Ints) -> Inputs | None:
    """What a learner is shown of some rows, read as `predict` reads it."""
    if given is None:
        return None
    plan = inputs_of(given, glance(table, None))
    check_length(plan, len(table))
    names = list(getattr(plan, "names", ()))
    nothing = np.zeros((len(kept), 0), dtype=np.int32)
    rows = Fetched(nothing, np.zeros(len(kept)), kept, table.select(names).take(pa.array(kept)))
    found = checked_inputs(values(plan, rows, []))
    refuse_constant(found)
    return found
