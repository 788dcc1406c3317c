"""Which combination goes where: counted by the engine, decided by a splitter, told to the engine, and summed up."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from recombine.algebra.groups import Ints
from recombine.decoding import FileName
from recombine.records import Provenance
from recombine.splits.assignment import SEEN, TRAIN, digest
from recombine.splits.invariants import Invariant
from recombine.splits.splitter import Splitter
from recombine.splits.writing.outgoing import OutgoingRows
from recombine.splits.writing.split import SIDE_COLUMN, Split, SplitSide, taken_away
from recombine.tables import columns
from recombine.tables.assembly import TargetAsked, assemble, encoded, without_missing
from recombine.tables.columns import Key
from recombine.tables.counting import Aggregate, count_groups
from recombine.tables.engine import OpenTable, Progress
from recombine.tables.question import Question
from recombine.tables.support import Support
from recombine.words import amount, count, listing, percent

SIDES = (TRAIN, "test")
_NAMED = 3


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
    open_table: OpenTable, rows: OutgoingRows, drawn: Any, question: Question, progress: Progress | None
) -> Counted:
    """Count the combinations, and the rows of each that a draw would keep apart."""

    def asking(table: Any, _: Any) -> Aggregate:
        apart = table.count() * 0 if drawn is None else drawn.ifelse(1, 0).sum()
        strata = question.target
        by = {} if strata is None else {"target": columns.as_value(table[rows.understood_as(strata)])}
        return Aggregate(by, {"drawn": apart})

    counts = count_groups(
        replace(open_table, table=rows.table), question, asking, stand_ins=rows.understood, progress=progress
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


def summed_up(
    counted: Counted, decided: Decided, splitter: Splitter, file: FileName, column: str, provenance: Provenance
) -> Split:
    """The value of a split that was written."""
    support = counted.support
    rows = support.counts.astype(np.int64)
    sides = [
        SplitSide(word, int((rows - decided.seen)[decided.side == place].sum()), int((decided.side == place).sum()))
        for place, word in enumerate(decided.words)
    ]
    if decided.seen.any():
        sides.append(SplitSide(SEEN, int(decided.seen.sum()), int((decided.seen > 0).sum())))
    placed = np.flatnonzero(decided.side >= 0)
    labels: Mapping[str, Any] = {
        factor.name: pa.array(factor.labels, pa.string()).take(pa.array(support.codes[:, k]))
        for k, factor in enumerate(support.space.factors)
    }
    words = pa.array(decided.words, pa.string()).take(pa.array(decided.side, mask=decided.side < 0))
    assignment = pa.table({**labels, SIDE_COLUMN: words, "rows_" if "rows" in labels else "rows": rows})
    return Split(
        verdict=_verdict(sides, decided, column),
        grade="sound",
        reasons=(*_values_at_risk(assignment, splitter, decided), *_reasons(support, decided, provenance)),
        splitter=repr(splitter),
        factors=support.space.names,
        column=column,
        file=file,
        sides=tuple(sides),
        invariants=decided.invariants,
        rows=support.rows,
        combinations=len(support),
        digest=digest(support, decided.side[placed], decided.words, placed),
        assignment=assignment,
        provenance=provenance,
    )


def _verdict(sides: list[SplitSide], decided: Decided, column: str) -> str:
    if decided.words != SIDES:
        sizes = [side.rows for side in sides]
        return (
            f"{len(sides)} folds hold {count(min(sizes))} to {count(max(sizes))} rows each, in the column {column!r}."
        )
    train, test = sides[:2]
    share = percent(test.rows / max(sum(side.rows for side in sides), 1))
    kept = [line.name for line in decided.invariants if line.holds]
    return (
        f"{amount(test.combinations, 'combination')} with {amount(test.rows, 'row')} ({share}) are held out, "
        f"{count(train.combinations)} stay in training; kept and checked: {listing(kept)}."
    )


def _values_at_risk(assignment: pa.Table, splitter: Splitter, decided: Decided) -> tuple[str, ...]:
    """Whether training keeps every value, where nobody guaranteed it."""
    if any(line.name == "values" and line.holds for line in decided.invariants):
        return ()
    told = " (guarantee='none')" if getattr(splitter, "guarantee", None) == "none" else ""
    said = f"That every value stays in training is not guaranteed{told}"
    lost = taken_away(assignment, [str(factor) for factor in splitter.factors])
    folds = decided.words != SIDES
    if not lost:
        return (f"{said}, though {'in every fold' if folds else 'here'} it does.",)
    if not folds:
        (values,) = lost.values()
        return (f"{said}, and it does not: training lacks {_named(values)}.",)
    culprits = [f"fold {fold} takes away {_named(values)}" for fold, values in lost.items()]
    broken = f"{len(lost)} of {len(decided.words)} folds"
    return (f"{said}, and in {broken} it does not: {'; '.join(culprits[:_NAMED])}{_more(culprits)}.",)


def _named(values: list[str]) -> str:
    """The first few values, and how many there are besides."""
    return listing(values if len(values) <= _NAMED else [*values[:_NAMED], f"{count(len(values) - _NAMED)} more"])


def _more(culprits: list[str]) -> str:
    return f"; and {len(culprits) - _NAMED} more" if len(culprits) > _NAMED else ""


def _reasons(support: Support, decided: Decided, provenance: Provenance) -> tuple[str, ...]:
    """What a reader must know besides."""
    found = []
    lost = support.left_out.get("(any)", 0)
    if lost:
        found.append(
            f"{amount(lost, 'row')} miss a factor and got no side; missing='value' (--missing value) gives them one."
        )
    unused = int((decided.side < 0).sum())
    if unused:
        found.append(f"{amount(unused, 'combination')} are on neither side, as the splitter leaves them out.")
    if provenance.settings["seen_share"] and not decided.seen.any():
        found.append("No row could be kept apart as seen: rows are not told apart, or too few; name their id.")
    return tuple(found)
