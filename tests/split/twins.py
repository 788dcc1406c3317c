"""Brute-force twins of what the splitters and their checker compute cleverly: sets, dense algebra, every subset."""

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from recombine.data.support import LabelTarget, Support
from recombine.verbs.split.row_support import RowSupport
from tests.twins import support_of

Row = tuple[Any, ...]


def rows_of(table: Mapping[str, Sequence[Any]], factors: Sequence[str]) -> list[Row]:
    """Each row's combination, as a tuple."""
    return list(zip(*(list(table[name]) for name in factors), strict=True))


def design(combinations: Sequence[Row]) -> np.ndarray:
    """One-hot rows, over all values that occur in any of them."""
    places = {
        value: place for place, value in enumerate(sorted({(k, v) for c in combinations for k, v in enumerate(c)}))
    }
    matrix = np.zeros((len(combinations), len(places)))
    for line, combination in enumerate(combinations):
        for k, value in enumerate(combination):
            matrix[line, places[k, value]] = 1
    return matrix


def rank(combinations: Sequence[Row]) -> int:
    """The rank of their one-hot rows."""
    return int(np.linalg.matrix_rank(design(combinations))) if combinations else 0


def values(rows: Iterable[Row]) -> set[tuple[int, Any]]:
    """Every (factor, value) that occurs."""
    return {(k, value) for row in rows for k, value in enumerate(row)}


def class_distance(labels: Sequence[Any], side: Sequence[int]) -> float:
    """The furthest that a class's share on a side is from its share of the whole."""
    whole, part = Counter(labels), Counter(labels[row] for row in side)
    return max(abs(part[c] / max(len(side), 1) - whole[c] / len(labels)) for c in whole)


def parts(row: Row, order: int) -> list[tuple[tuple[int, Any], ...]]:
    """All parts of a combination with fewer factors than `order`."""
    items = list(enumerate(row))
    return [part for size in range(1, order) for part in itertools.combinations(items, size)]


def holds(row: Row, part: Iterable[tuple[int, Any]]) -> bool:
    """Whether a combination holds a part."""
    return all(row[k] == value for k, value in part)


def breaches(
    rows: Sequence[Row],
    train: Sequence[int],
    test: Sequence[int],
    *,
    promised: set[str],
    absent: Sequence[Iterable[tuple[int, Any]]] = (),
    least: int = 0,
    order: int = 2,
    labels: Sequence[Any] = (),
    tolerance: float = 1.0,
) -> set[str]:
    """The names of the promised invariants that a split breaks, by sets and dense algebra."""
    train, test = [int(row) for row in train], [int(row) for row in test]
    kept, held = [rows[row] for row in train], [rows[row] for row in test]
    found = {
        "sides": not kept or not held,
        "disjoint": len(set(train) & set(test)) > 0 or len({*train}) < len(train) or len({*test}) < len(test),
        "covering": len({*train, *test}) < len(rows),
        "combinations": bool(set(kept) & set(held)),
        "values": bool(values(rows) - values(kept)),
        "determined": rank(sorted(set(kept))) < rank(sorted({*kept, *held})),
        "absent": any(holds(row, part) for row in kept for part in absent),
        "parts": any(sum(holds(k, part) for k in kept) < least for row in set(held) for part in parts(row, order)),
        "strata": bool(labels) and max(class_distance(labels, side) for side in (train, test)) > tolerance + 1e-9,
    }
    return {name for name, broken in found.items() if broken and name in promised}


def most_held_out(combinations: Sequence[Row], guarantee: str) -> int:
    """The most combinations that can be held out under a guarantee, by trying every subset."""
    if guarantee == "determined":
        return len(combinations) - rank(combinations)
    everything = values(combinations)
    for size in range(1, len(combinations) + 1):
        for kept in itertools.combinations(combinations, size):
            if guarantee == "none" or values(kept) == everything:
                return len(combinations) - size
    raise AssertionError("the whole keeps everything")


def two_folds(combinations: Sequence[Row]) -> bool:
    """Whether two folds can part the combinations of every value, by trying every way."""
    holders = [[i for i, row in enumerate(combinations) if row[k] == value] for k, value in values(combinations)]
    return any(
        all(len({way >> i & 1 for i in places}) == 2 for places in holders) for way in range(2 ** len(combinations))
    )


def contracts(
    rows: Sequence[Row],
    *,
    order: int,
    named: Sequence[tuple[tuple[int, Any], ...]],
    number: int | None,
    least: int,
    share: tuple[float, float],
    labels: Sequence[Any] = (),
    tolerance: float = 1.0,
) -> bool:
    """Whether any choice of conjunctions keeps a contract, by trying every choice."""
    seen = sorted({part for row in rows for part in itertools.combinations(list(enumerate(row)), order)})
    named = [tuple(sorted(one)) for one in named]
    free = [one for one in seen if one not in named]
    extra = 0 if number is None else number - len(named)
    for more in itertools.combinations(free, extra):
        chosen = [*named, *more]
        test = [i for i, row in enumerate(rows) if any(holds(row, part) for part in chosen)]
        train = [i for i in range(len(rows)) if i not in set(test)]
        inside = share[0] - 1e-9 <= len(test) / len(rows) <= share[1] + 1e-9
        promised = {"sides", "parts", "strata", "absent"}
        broken = breaches(
            rows,
            train,
            test,
            promised=promised,
            absent=chosen,
            least=least,
            order=order,
            labels=labels,
            tolerance=tolerance,
        )
        if inside and not broken:
            return True
    return False


def with_labels(rows: Sequence[Row], labels: Sequence[int]) -> Support:
    """A support whose two classes are counted within each combination."""
    return read(rows, labels).support


def read(rows: Sequence[Row], labels: Sequence[int]) -> RowSupport:
    """Rows of positions as they are read from a table, without an engine."""
    plain = support_of(rows)
    place = plain.groups(list(plain.space.names)).lookup(np.array(rows, dtype=np.int32))
    pairs, counts = np.unique(np.column_stack([place, labels]), axis=0, return_counts=True)
    target = LabelTarget("label", (0, 1), pairs[:, 0], pairs[:, 1], counts.astype(float))
    support = Support(plain.space, plain.codes, plain.counts, target, rows=len(rows))
    return RowSupport(support, place, np.asarray(labels, dtype=np.int64))
