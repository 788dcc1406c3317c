"""A split that was written, summed up: the value, its sentence, and what a reader must know besides."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from recombine.decoding import FileName
from recombine.records import Provenance
from recombine.splits.assignment import SEEN, digest
from recombine.splits.splitter import Splitter
from recombine.splits.writing.placing import SIDES, Counted, Decided
from recombine.splits.writing.split import SIDE_COLUMN, Split, SplitSide, taken_away
from recombine.tables.support import Support
from recombine.words import amount, count, listing, percent

_NAMED = 3


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
