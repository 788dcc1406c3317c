"""One invariant checker for every split, whoever made it.

| invariant | says |
|---|---|
| sides | neither side is empty |
| disjoint | nothing stands on both sides, or twice on one |
| covering | everything stands on a side; what is left out is named |
| combinations | no held-out combination is in training |
| values | every value is still in training |
| determined | every held-out combination is determined by training, exactly |
| absent | the conjunctions that were to be absent from training are |
| parts | every smaller part of a held-out combination has enough rows in training |
| strata | the class shares of either side are within a tolerance of the whole table's |

Splitters hand out nothing before it has passed, and a test holds a broken splitter against each line.

A digest of which combination is on which side: the same for the same split, whatever wrote it or holds it.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from json.encoder import encode_basestring
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from recombine.base.errors import SettingError
from recombine.base.words import listing
from recombine.data import split_sides
from recombine.data.columns import Bins
from recombine.data.support import Support
from recombine.numerics.groups import Ints
from recombine.verbs.split.invariants import INVARIANTS, REMEDIES, Facts, Invariant, Promise, class_lines
from recombine.verbs.split.row_support import KeptMissing, Names, RowSupport, rows_with_sides, side_positions

__all__ = ["Checked", "Invariant", "Promise", "Side", "check_split"]

Side = Sequence[int] | npt.NDArray[Any]


@dataclass(frozen=True)
class Checked:
    """What was found, one line for each invariant.

    >>> table = {"a": ["x", "x", "y", "y"], "b": ["p", "q", "p", "q"]}
    >>> checked = check_split(table, [0, 1, 2], [3], factors=["a", "b"], promise="determined")
    >>> checked.holds
    True
    """

    invariants: tuple[Invariant, ...]

    @property
    def holds(self) -> bool:
        """Whether everything that was promised is kept."""
        return not self.breaches

    @property
    def breaches(self) -> tuple[Invariant, ...]:
        """The lines that were promised and are not kept."""
        return tuple(line for line in self.invariants if line.holds is False)

    @property
    def verdict(self) -> str:
        """All of it in a sentence."""
        if self.holds:
            kept = listing([line.name for line in self.invariants if line.holds])
            return f"The split keeps what it promises: {kept}."
        return f"The split breaks its promise: {self.breaches[0].sentence}."

    def __getitem__(self, name: str) -> Invariant:
        return next(line for line in self.invariants if line.name == name)

    def raise_for_breach(self) -> "Checked":
        """An error that names what stands in the way, or the check itself where nothing does."""
        if self.holds:
            return self
        raise SettingError(
            "the split breaks its promise: " + "; ".join(line.sentence for line in self.breaches),
            why="a score on it would not mean what it is taken to mean",
            instead="; ".join(dict.fromkeys(REMEDIES[line.name] for line in self.breaches)),
        )

    def data(self) -> list[dict[str, Any]]:
        """The lines as JSON can hold them, for a manifest or a record."""
        return [{"name": line.name, "holds": line.holds, "sentence": line.sentence} for line in self.invariants]


def check_split(
    source: Any,
    train: Side,
    test: Side,
    *,
    factors: Names | None = None,
    promise: Promise | str | None = None,
    y: Any = None,
    stratify: str | int | None = None,
    bins: Mapping[str, Bins] | None = None,
    missing: KeptMissing = "refuse",
) -> Checked:
    """Hold a split to a promise: `source` is a table with sides of rows, or a support with sides of combinations.

    A side lists positions, or is an array of booleans. The promise is a `Promise`, or a guarantee by its name:
    `"values"`, `"determined"`, or `"none"`, which still means that no held-out combination is in training. `stratify`
    names the classes' column (`"y"` for `y`).

    >>> table = {"a": ["x", "x", "y", "y"], "b": ["p", "q", "p", "p"]}
    >>> checked = check_split(table, [0, 1, 2], [3], factors=["a", "b"])
    >>> checked["combinations"].sentence
    '1 held-out combination is in training: (a=y, b=p)'
    """
    rows = source if isinstance(source, RowSupport) else None
    if not isinstance(source, Support | RowSupport):
        rows = rows_with_sides(source, factors=factors, y=y, stratify=stratify, bins=bins, missing=missing)
    support = source if rows is None else rows.support
    size = len(support) if rows is None else len(rows)
    facts = Facts(
        support,
        train=side_positions(train, size, "train"),
        test=side_positions(test, size, "test"),
        combination=np.arange(size) if rows is None else rows.combination,
        counts=support.counts if rows is None else np.ones(size),
        lines=_class_lines(support, rows),
        noun="combination" if rows is None else "row",
    )
    promised = Promise.of(promise)
    return Checked(tuple(invariant(facts, promised) for invariant in INVARIANTS))


def _class_lines(support: Support, rows: RowSupport | None) -> tuple[Ints, Ints, npt.NDArray[np.float64]] | None:
    """For each unit and class that occur together: unit, class, how often."""
    if rows is not None and rows.label is not None:
        known = np.flatnonzero(rows.label >= 0)
        return known, rows.label[known], np.ones(len(known))
    return class_lines(support.target) if rows is None else None


SEEN = split_sides.SEEN
"""Rows of training combinations that were kept apart from training, as `recombine split --seen-share` does."""
TRAIN = "train"


def digest(support: Support, side: npt.NDArray[np.int64], words: tuple[str, ...], places: npt.NDArray[np.int64]) -> str:
    """A checksum over lines of values and side: combination `places[i]` stands on side `words[side[i]]`.

    Values are written as JSON text, lines are sorted: neither the order of the rows nor the engine matters. A text in
    quotes with its comma begins no other, so lines stand in the order of their values' ranks, and no line is compared.

    >>> import recombine
    >>> support = recombine.read({"a": ["x", "y"], "b": ["p", "q"]}, factors=["a", "b"])
    >>> digest(support, np.array([0, 1]), ("train", "test"), np.array([0, 1]))[:8]
    '8f08c84d'
    """
    labels = [pa.array(map(encode_basestring, factor.labels), pa.large_string()) for factor in support.space.factors]
    labels.append(pa.array(words, pa.large_string()))
    values = [*(support.codes[places, k] for k in range(len(labels) - 1)), side]
    ranks = [_ranks(named)[value] for named, value in zip(labels, values, strict=True)]
    if not _in_order(ranks):
        order = np.lexsort(ranks[::-1])
        values = [value[order] for value in values]
    columns = [named.take(pa.array(value)) for named, value in zip(labels, values, strict=True)]
    lines = pc.binary_join_element_wise(*columns, pa.scalar(",", pa.large_string()))
    head = json.dumps(list(support.space.names), ensure_ascii=False)
    checksum = hashlib.sha256(head.encode())
    for start in range(0, len(lines), 1 << 20):  # a piece at a time: all lines as one text may not fit
        part = lines.slice(start, 1 << 20)
        piece = pa.LargeListArray.from_arrays(pa.array([0, len(part)], pa.int64()), part)  # pa.array copies one by one
        checksum.update(b"\n" + pc.binary_join(piece, pa.scalar("\n", pa.large_string()))[0].as_buffer())
    return checksum.hexdigest()


def _ranks(texts: pa.Array) -> npt.NDArray[np.int64]:
    """Where each text stands among all, by its bytes."""
    ranks = np.empty(len(texts), dtype=np.int64)
    ranks[pc.sort_indices(texts).to_numpy()] = np.arange(len(texts))
    return ranks


def _in_order(columns: Sequence[Ints]) -> bool:
    """Whether lines stand sorted by the first column, then by the next: as combinations do whose values sort alike."""
    rises, ties = np.zeros(max(len(columns[0]) - 1, 0), dtype=bool), True
    for column in columns:
        rises, ties = rises | (ties & (column[1:] > column[:-1])), ties & (column[1:] == column[:-1])
    return bool((rises | ties).all())


def digest_of_sides(support: Support) -> str:
    """The digest of a split whose column is the last factor; rows kept apart as seen are of training combinations."""
    width = len(support.space.factors) - 1
    whole = support.project(range(width))
    labels = [TRAIN if label == SEEN else label for label in support.space.factors[-1].labels]
    words = tuple(dict.fromkeys(labels))
    side = np.array([words.index(label) for label in labels])[support.codes[:, -1]]
    lines = np.unique(support.groups(range(width)).ids * len(words) + side)
    places, side = np.divmod(lines, len(words))
    return digest(whole, side, words, places)
