"""The rows that a model is evaluated on, read once: of each its combination, whether that was trained on, its truth.

They are read as `recombine.evaluate` reads them, with every answer right; so the scoreboard has the space, the classes
and the sides that an evaluation of the same rows has.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from recombine.algebra.groups import Ints, Numbers
from recombine.errors import ColumnError, SettingError
from recombine.evaluation.gathering import check_ids, gather
from recombine.evaluation.outcomes import Outcomes
from recombine.evaluation.reading import outcomes_of
from recombine.evaluation.scoring import PredictionQuestion
from recombine.records import Provenance
from recombine.tables import columns
from recombine.tables.engine import explained, sniffing_again
from recombine.tables.question import Question, filtered
from recombine.tables.row_codes import has_order, row_codes
from recombine.tables.sources import opened

_SCORES = ("accuracy", "mse", "r2")


@dataclass(frozen=True, eq=False)
class EvalRows:
    """The rows of an evaluation. Legend: n rows.

    `perfect` is what the outcomes would be if every answer were right. A row that cannot be scored, because a factor or
    the truth is missing, has the combination -1.
    """

    table: pa.Table  # factors and target, as they were read
    ids: pa.Array | None  # (n,)
    combination: Ints  # (n,)
    truth: Numbers  # (n,) the number, or the place of the class among perfect.classes
    perfect: Outcomes
    source: str

    def __len__(self) -> int:
        return len(self.combination)


def eval_rows(source: Any, question: Question, *, train: Any, score: str | None, id: str | None) -> EvalRows:  # noqa: A002
    """Read the rows of an evaluation, and what was trained on."""
    if score not in (None, *_SCORES):
        raise SettingError(
            f"score={score!r}",
            why="a scoreboard scores labels by accuracy, and numbers by mse or r2",
            instead=f"write one of {', '.join(_SCORES)}; recombine.evaluate knows more",
        )
    if id is None and not has_order(source):
        raise SettingError(
            "a table of a database without an id",
            why="its rows have no order, so nobody knows which answer belongs to which row",
            instead="name the column that tells rows apart: id='…', and give update(…, ids=…)",
        )
    target = str(question.target)
    names = list(dict.fromkeys([*question.factors, target, *([id] if id else [])]))
    rows, name = _in_order(source, question, names)
    if id is not None:
        check_ids(rows[id], id, "evaluated")
    _refuse_infinite(rows[target], target)
    perfect = _perfect(rows, replace(question, where=None, table=None), train, score, name)
    found = row_codes(rows, perfect.tested, bins=question.bins, domain=question.domain)
    assert found.answers is not None  # noqa: S101 - a table without any truth was refused
    scored = (found.combination >= 0) & np.isfinite(found.answers)
    return EvalRows(
        rows,
        None if id is None else rows[id].combine_chunks(),
        np.where(scored, found.combination, -1),
        np.where(scored, found.answers, np.nan),
        perfect,
        name,
    )


def _in_order(source: Any, question: Question, names: Sequence[str]) -> tuple[pa.Table, str]:
    wanted = None if question.where is not None else names

    def ask(sniff_all: bool) -> tuple[pa.Table, str]:
        with (
            opened(source, table=question.table, columns=wanted, sniff_all=sniff_all) as open_table,
            explained(open_table),
        ):
            if has_order(source):
                open_table.backend.con.execute("SET preserve_insertion_order = true")
            table = filtered(open_table.table, question.where, open_table.backend)
            columns.require(table, question.factors, role="a factor")
            columns.require(table, names, role="the target or the id")
            return open_table.backend.to_pyarrow(table.select(*names)), open_table.name

    return sniffing_again(ask)


def _refuse_infinite(truth: pa.ChunkedArray, name: str) -> None:
    found = int(pc.sum(pc.is_inf(truth)).as_py() or 0) if pa.types.is_floating(truth.type) else 0
    if found:
        raise ColumnError(
            f"the target {name!r} is infinite in {found:,} rows",
            why="every answer would be infinitely wrong",
            instead="repair the column, or leave such rows out with `where`",
        )


def _perfect(rows: pa.Table, question: Question, train: Any, score: str | None, name: str) -> Outcomes:
    answers = answer_column(rows)
    asked = PredictionQuestion(question=question, prediction=answers, score=score)
    right = rows.append_column(answers, rows[question.target])
    gathered = gather(right, asked, train=train)
    return outcomes_of(gathered, asked, Provenance(source=name, settings=question.settings())).outcomes


def answer_column(rows: pa.Table) -> str:
    """A name for the column of answers that no other column has."""
    name = "prediction"
    while name in rows.column_names:
        name += "_"
    return name
