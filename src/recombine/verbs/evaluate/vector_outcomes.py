"""Predicted and measured vectors of each combination, and what was trained on, read from one table or two."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from recombine.base.errors import ColumnError, SettingError, TableError
from recombine.data import columns
from recombine.data.engine import explained, sniffing_again
from recombine.data.group_counts import Aggregate, count_table, stacked
from recombine.data.sources import opened
from recombine.data.space import Value
from recombine.data.split_sides import SplitColumn, no_side, sides_of
from recombine.data.stored_vectors import stored
from recombine.data.support import Support
from recombine.data.support_assembly import assemble
from recombine.data.table_query import TableQuery, filtered
from recombine.data.vector_answers import RunningMeans, VectorAnswers
from recombine.data.vector_reader import (
    VectorTarget,
    finished,
    read_vectors,
    running_means,
    vector_name,
    vector_rows,
)
from recombine.numerics.groups import Ints, Numbers
from recombine.verbs.audit.combination_status import rungs
from recombine.verbs.audit.determinacy import determinacy
from recombine.verbs.audit.set_coverage import element_rungs
from recombine.verbs.evaluate.prediction_query import check_sides_alike


@dataclass(frozen=True, eq=False)
class VectorOutcomes:
    """Measured and predicted means of the tested combinations, and the measured ones of the training combinations.

    All three are about the same `shift`, in the order of the combinations of one support.
    """

    support: Support
    trained: VectorAnswers
    truth: VectorAnswers
    predicted: VectorAnswers
    unpredicted: int  # tested rows that hold a measured vector and no whole predicted one

    @property
    def seen(self) -> Ints:
        """The combinations that were trained on."""
        return np.flatnonzero(self.trained.count > 0)

    @property
    def tested(self) -> Ints:
        """The combinations that have measured and predicted vectors."""
        return np.flatnonzero(self.truth.count > 0)

    @property
    def unseen(self) -> Ints:
        """The tested ones that were not trained on."""
        return np.flatnonzero((self.truth.count > 0) & (self.trained.count == 0))

    def rungs(self, rows: Ints) -> dict[str, list[str]]:
        """What the training combinations say of some others: whether they fix them (`rung`), and of sets what their
        elements were seen in (`elements`). Empty where it cannot be told.
        """
        trained, codes = self.support.subset(self.seen), self.support.codes[rows]
        try:
            found = {"rung": [str(one) for one in rungs(trained, determinacy(trained), codes)]}
        except TableError:  # too loose to be solved exactly
            return {}
        return found | ({"elements": element_rungs(trained, codes)} if self.support.space.set_factors else {})


def read_outcomes(
    source: Any,
    question: TableQuery,
    target: VectorTarget,
    prediction: VectorTarget,
    *,
    train: Any = None,
    split: SplitColumn | None = None,
) -> VectorOutcomes:
    """Read the vectors of an evaluation; `train` is a table of its own, or `split` the column that tells the sides."""
    target, prediction = stored(source, target), stored(source, prediction)
    if (train is None) == (split is None):
        raise SettingError(
            "an evaluation of vectors without what was trained on"
            if train is None
            else "both train and split were given",
            why="scores and simple rules need to know which combinations the model has seen, and their vectors",
            instead="name the column that tells the sides: split='split' (--split split), or the table: train=… "
            "(--train TABLE)",
        )
    if split is not None:
        return _of_one_table(source, question, target, prediction, split)
    if hasattr(target, "shape"):
        raise SettingError(
            "an array as the target beside a table of training rows",
            why="that table has vectors of its own, which the array does not hold",
            instead="put both into one table with a column that tells the sides (split='split'), or name columns",
        )
    return _of_two_tables(source, question, target, prediction, train)


def _of_one_table(
    source: Any, question: TableQuery, target: VectorTarget, prediction: VectorTarget, split: SplitColumn
) -> VectorOutcomes:
    support = assemble(count_table(source, question, lambda _table, _backend: Aggregate()), question)
    sides = _sides(source, question, split)

    def ask(sniff_all: bool) -> VectorOutcomes:
        running = _Running(len(support), None)
        given = {"target": target, "prediction": prediction}
        rows = vector_rows(source, support, question, given, beside=split.name, sniff_all=sniff_all)
        for batch in rows.batches:
            told = _side_of(batch.beside, sides)
            running.add(np.where(told == "train", batch.combination, -1), batch.vectors, trained=True)
            running.add(np.where(told == "test", batch.combination, -1), batch.vectors, trained=False)
        return running.finished(support, target, prediction, rows.outputs)

    return sniffing_again(ask)


def _of_two_tables(
    source: Any, question: TableQuery, target: VectorTarget, prediction: VectorTarget, train: Any
) -> VectorOutcomes:
    check_sides_alike(question)
    of_train = replace(question, where=None, table=None)
    mine, theirs = (
        count_table(one, asked, lambda _table, _backend: Aggregate())
        for one, asked in ((source, question), (train, of_train))
    )
    # both tables in one space: the values of either could occur in the other
    whole = assemble(replace(mine, lines=stacked([mine, theirs], [None, None])), question)
    known = read_vectors(train, whole, target, of_train)

    def ask(sniff_all: bool) -> VectorOutcomes:
        running = _Running(len(whole), known)
        given = {"target": target, "prediction": prediction}
        rows = vector_rows(source, whole, question, given, sniff_all=sniff_all)
        for batch in rows.batches:
            running.add(batch.combination, batch.vectors, trained=False)
        return running.finished(whole, target, prediction, rows.outputs)

    return sniffing_again(ask)


@dataclass(eq=False)
class _Running:
    """Means of training, measured and predicted vectors, about one shift; training ones may be known already."""

    combinations: int
    known: VectorAnswers | None
    trained: RunningMeans | None = None
    truth: RunningMeans | None = None
    predicted: RunningMeans | None = None
    unpredicted: int = 0

    def add(self, combination: Ints, vectors: Mapping[str, Numbers], *, trained: bool) -> None:
        """Some rows, -1 for those that are not on this side."""
        target, prediction = vectors["target"], vectors["prediction"]
        if target.shape[1] != prediction.shape[1]:
            raise ColumnError(
                f"{target.shape[1]:,} outputs are measured and {prediction.shape[1]:,} predicted",
                why="each output is compared with its own prediction, in the order of the columns",
                instead="name as many predicted outputs as measured ones",
            )
        if self.truth is None:
            self._begin(target)
        assert self.trained is not None  # noqa: S101 - all three are begun together
        assert self.truth is not None  # noqa: S101
        assert self.predicted is not None  # noqa: S101
        if trained:
            self.trained.add(combination, target)
            return
        whole = np.isfinite(prediction).all(axis=1)
        self.unpredicted += int(((combination >= 0) & np.isfinite(target).all(axis=1) & ~whole).sum())
        both = np.where(whole & np.isfinite(target).all(axis=1), combination, -1)
        self.truth.add(both, target)
        self.predicted.add(both, prediction)

    def _begin(self, target: Numbers) -> None:
        self.trained, self.truth, self.predicted = (running_means(self.combinations, target.shape[1]) for _ in range(3))
        whole = target[np.isfinite(target).all(axis=1)]
        shift = whole.mean(axis=0) if len(whole) else np.zeros(target.shape[1])
        for one in (self.trained, self.truth, self.predicted):
            one.shift = shift if self.known is None else self.known.shift

    def finished(
        self, support: Support, target: VectorTarget, prediction: VectorTarget, outputs: Mapping[str, tuple[str, ...]]
    ) -> VectorOutcomes:
        """The means."""
        if self.truth is None or self.predicted is None or not self.truth.count.any():
            raise TableError(
                "no tested row holds a measured and a predicted vector",
                why="there is nothing to score",
                instead="check the sides of the split, and that predictions are there for the tested rows",
            )
        name, names = vector_name(target), outputs["target"]
        return VectorOutcomes(
            support,
            self.known or finished(self.trained, name, names),
            finished(self.truth, name, names),
            finished(self.predicted, vector_name(prediction, "predictions"), names),
            self.unpredicted,
        )


def _sides(source: Any, question: TableQuery, split: SplitColumn) -> dict[Value, str]:
    """The side that each value of the split's column stands for."""

    def ask(sniff_all: bool) -> list[Any]:
        with opened(source, table=question.table, sniff_all=sniff_all) as found, explained(found):
            table = filtered(found.table, question.where, found.backend)
            columns.require(table, [split.name], role="the split")
            return list(found.backend.to_pyarrow(table.select(side=table[split.name]).distinct())["side"].to_pylist())

    values = columns.ordered({value for value in sniffing_again(ask) if value is not None})
    sides: dict[Value, str] = dict(
        sides_of(split.name, values, **split.words, option=f"split=SplitColumn({split.name!r}, train=[{{!r}}])")
    )
    if "test" not in sides.values():
        raise no_side("test", split.name, values, instead=f"split=SplitColumn({split.name!r}, test=[…]) (--test-side)")
    return sides


def _side_of(column: pa.ChunkedArray | None, sides: Mapping[Value, str]) -> Any:
    """(b,) The side of each row, empty for those that stand on none."""
    assert column is not None  # noqa: S101 - it was asked for
    return np.array([sides.get(value, "") for value in column.to_pylist()])
