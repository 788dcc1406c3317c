"""How combinations stand on the sides of a split, where they are too many for memory: each side is one more sum of the
counts on disk, and numbers come back.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from recombine.data.group_counts import Aggregate
from recombine.data.split_sides import SEEN, SIDES, SplitColumn, words_of
from recombine.data.stored_counts import StoredCounts, store_counts

_EVERY_SIDE = (*SIDES, SEEN)


@dataclass(frozen=True)
class RungSums:
    """Tested combinations of one rung (*seen*, *unseen*, *novel*) and sums over them: rows n, right answers r."""

    combinations: int
    rows: int
    right: float
    right_squared: float
    right_rows: float
    rows_squared: float


@dataclass(frozen=True)
class StoredSides:
    """A split by its sides; `leaked` are test combinations that training holds, `lost` test values that it lacks."""

    name: str
    words: Mapping[str, tuple[str, ...]]
    rows: Mapping[str, int]
    combinations: Mapping[str, int]
    rows_in_all: int
    combinations_in_all: int
    leaked: int
    leaked_rows: int
    lost: Mapping[str, int]
    rungs: Mapping[str, RungSums]


def count_stored_sides(
    source: Any, *, split: SplitColumn, answers: tuple[str, str] | None = None, **reading: Any
) -> StoredSides:
    """Count the sides of a split; `answers` are the columns of the true answer and of the one that was given.

    `reading` is what `store_counts` takes beside the table.
    """

    def asking(table: Any, backend: Any) -> Aggregate:
        word = table[split.name].cast("string")
        known = backend.to_pyarrow(table.select(word=word).distinct())["word"].drop_null().to_pylist()
        meant = words_of(split, sorted(known))
        words = {side: tuple(str(one) for one, said in meant.items() if said == side) for side in _EVERY_SIDE}
        sums = {side: _rows(table, word, said) for side, said in words.items()}
        if answers is not None:
            right = table[answers[0]] == table[answers[1]]
            sums["right_answers"] = _rows(table, word, (*words["test"], *words[SEEN]), right)
        return Aggregate(sums=sums, context=words)

    needs = [split.name, *(answers or ())]
    with store_counts(source, asking=asking, needs=needs, **reading) as counts:
        return _sides(counts, scored=answers is not None)


def _rows(table: Any, word: Any, said: tuple[str, ...], condition: Any = True) -> Any:
    """How many rows hold one of some words; Ibis would take a question of no words for no column."""
    return (word.isin(said) & condition).ifelse(1, 0).sum() if said else table.count() * 0


def _sides(counts: StoredCounts, *, scored: bool) -> StoredSides:
    each = ", ".join(f"sum({side})::BIGINT, count(*) FILTER ({side} > 0)" for side in _EVERY_SIDE)
    [(leaked, leaked_rows, *numbers)] = counts.ask(
        "SELECT count(*) FILTER (test > 0 AND train > 0), "  # noqa: S608 - names of our own
        f"coalesce(sum(test) FILTER (train > 0), 0)::BIGINT, {each} FROM counts"
    )
    codes = [f"c{k}" for k in range(len(counts.names))]
    lost = {
        name: counts.ask(
            f"SELECT count(*) FROM (SELECT {code} FROM counts GROUP BY {code} HAVING sum(train) = 0 AND sum(test) > 0)"  # noqa: S608
        )[0][0]
        for name, code in zip(counts.names, codes, strict=True)
    }
    return StoredSides(
        name=counts.source.source,
        words=counts.context,
        rows=dict(zip(_EVERY_SIDE, numbers[::2], strict=True)),
        combinations=dict(zip(_EVERY_SIDE, numbers[1::2], strict=True)),
        rows_in_all=int(counts.total),
        combinations_in_all=counts.combinations,
        leaked=leaked,
        leaked_rows=leaked_rows,
        lost=lost,
        rungs=_rungs(counts, codes) if scored else {},
    )


def _rungs(counts: StoredCounts, codes: list[str]) -> dict[str, RungSums]:
    trained = " AND ".join(f"{code} IN (SELECT {code} FROM counts WHERE train > 0)" for code in codes)  # noqa: S608
    found = counts.ask(
        "SELECT rung, count(*), sum(n)::BIGINT, sum(r)::DOUBLE, sum(r * r)::DOUBLE, sum(r * n)::DOUBLE, "  # noqa: S608
        f"sum(n * n)::DOUBLE FROM (SELECT CASE WHEN train > 0 THEN 'seen' WHEN {trained} THEN 'unseen' "
        f"ELSE 'novel' END AS rung, test + {SEEN} AS n, right_answers AS r FROM counts) WHERE n > 0 GROUP BY rung"
    )
    return {rung: RungSums(*sums) for rung, *sums in found}
