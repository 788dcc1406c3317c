"""Which combination goes where: counted by the engine, decided by a splitter, and told to the engine again."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from recombine.algebra.groups import Ints
from recombine.splits.assignment import TRAIN
from recombine.splits.invariants import Invariant
from recombine.splits.splitter import Splitter
from recombine.splits.writing.verbatim import Rows
from recombine.tables import columns
from recombine.tables.assembly import TargetAsked, assemble, encoded, without_missing
from recombine.tables.columns import Key
from recombine.tables.counting import Aggregate, count_groups
from recombine.tables.engine import Progress, Source
from recombine.tables.question import Question
from recombine.tables.support import Support

SIDES = (TRAIN, "test")


@dataclass(frozen=True, eq=False)
class Counted:
    """The combinations of a table, the engine's own keys of each, and how many rows a draw would keep apart."""

    support: Support
    keys: tuple[Key, ...]
    raw: pa.Table
    combination: Ints
    drawn: Ints


@dataclass(frozen=True, eq=False)
class Decided:
    """The side of each combination as a place among `words`, -1 for none; and whether its rows may be drawn as seen."""

    words: tuple[str, ...]
    side: Ints
    seen: Ints
    invariants: tuple[Invariant, ...]


def count_combinations(
    source: Source, rows: Rows, drawn: Any, question: Question, progress: Progress | None
) -> Counted:
    """Count the combinations, and the rows of each that a draw would keep apart."""

    def asking(table: Any, _: Any) -> Aggregate:
        apart = table.count() * 0 if drawn is None else drawn.ifelse(1, 0).sum()
        strata = question.target
        by = {} if strata is None else {"target": columns.as_value(table[rows.understood_as(strata)])}
        return Aggregate(by, {"drawn": apart})

    counts = count_groups(
        replace(source, table=rows.table), question, asking, stand_ins=rows.understood, progress=progress
    )
    keys, lines = counts.keys, counts.lines
    support = assemble(counts, question, target=None if question.target is None else TargetAsked("label"))
    kept, _ = without_missing(lines, keys, lines["rows"].to_numpy(), question)
    combination = support.groups(range(len(keys))).lookup(encoded(kept, keys, question)[1])
    drawn_rows = np.bincount(combination, weights=kept["drawn"].to_numpy(), minlength=len(support)).astype(np.int64)
    return Counted(support, keys, kept.select([f"f{k}" for k in range(len(keys))]), combination, drawn_rows)


def decide(splitter: Splitter, counted: Counted, fold: int, seen_share: float) -> Decided:
    """Let a splitter decide, every promise checked."""
    support = counted.support
    if hasattr(splitter, "fold_of_each"):
        checked = [splitter.checked(support, place)[1] for place in range(splitter.folds)]
        folds = np.asarray(splitter.fold_of_each(support), dtype=np.int64)
        words = tuple(map(str, range(splitter.folds)))
        return Decided(words, folds, np.zeros(len(support), dtype=np.int64), checked[0].invariants)
    sides, found = splitter.checked(support, fold)
    side = np.select([sides.train, sides.test], [0, 1], default=-1)
    # a combination that would be drawn whole stays whole: what is called seen must still be seen in training
    may = sides.train & (counted.drawn < support.counts) if seen_share else np.zeros(len(support), dtype=bool)
    return Decided(SIDES, side, np.where(may, counted.drawn, 0), found.invariants)


def join_table(counted: Counted, decided: Decided, names: list[str]) -> pa.Table:
    """The engine's own keys of each combination, once each, with the side."""
    once, combination = counted.raw, counted.combination
    if len(once) > len(counted.support):  # a line for each class, too
        lines = once.append_column("combination", pa.array(combination))
        once = lines.group_by([f"f{k}" for k in range(len(names))]).aggregate([("combination", "min")])
        combination = once["combination_min"].to_numpy()
    side = decided.side[combination]
    words = pa.array(decided.words, pa.string()).take(pa.array(side, mask=side < 0))
    if decided.words != SIDES:
        words = words.cast(pa.int32())
    found = {name: once[f"f{k}"] for k, name in enumerate(names)}
    return pa.table(found | {"side": words, "may_be_seen": decided.seen[combination] > 0})
