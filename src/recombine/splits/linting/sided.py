"""How often each combination stands on each side of a split: one GROUP BY, with the side as one more factor."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from recombine.algebra.groups import Ints
from recombine.errors import ColumnError, SettingError
from recombine.splits.assignment import SEEN
from recombine.tables import columns
from recombine.tables.assembly import TargetAsked, assemble
from recombine.tables.columns import Bins, Key
from recombine.tables.counting import Aggregate, Counts, count_groups
from recombine.tables.engine import Progress, Source
from recombine.tables.question import Question
from recombine.tables.sides import SIDES, Side, sides_of
from recombine.tables.space import Value, text
from recombine.tables.support import Support

NO_SIDE = "(no side)"
EVERY_SIDE = (*SIDES, SEEN, NO_SIDE)
TRAIN, VALIDATION, TEST = (EVERY_SIDE.index(side) for side in SIDES)


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What is asked of a split: the columns, how they become values, and how the sides are named."""

    factors: tuple[str, ...]
    split: str = "split"
    target: str | None = None
    bins: Mapping[str, Bins]
    missing: Literal["leave out", "value"] = "leave out"
    named: Mapping[Side, Sequence[str]]

    def __post_init__(self) -> None:
        if self.split in self.factors or self.split == self.target:
            raise SettingError(
                f"{self.split!r} is both the split and {'the target' if self.split == self.target else 'a factor'}",
                why="the side of a row is not a property of the example",
                instead="take it off one of the two",
            )


@dataclass(frozen=True, eq=False)
class Sided:
    """A support whose last factor is the side, and what the split's own words for the sides stand for."""

    support: Support
    words: Mapping[Value, str]
    no_side: Mapping[str, int]

    @property
    def factors(self) -> tuple[str, ...]:
        """The factors' names, without the side."""
        return self.support.space.names[:-1]

    @cached_property
    def whole(self) -> Support:
        """All combinations, whatever their side."""
        return self.support.project(range(len(self.factors)))

    @cached_property
    def combination(self) -> Ints:
        """The combination of each line of the support."""
        return self.support.groups(range(len(self.factors))).ids

    @cached_property
    def counts(self) -> Ints:
        """Rows by combination and side."""
        side = self.support.codes[:, -1].astype(np.int64)
        sides = len(EVERY_SIDE)
        flat = np.bincount(
            self.combination * sides + side, weights=self.support.counts, minlength=len(self.whole) * sides
        )
        return flat.astype(np.int64).reshape(-1, sides)

    def on(self, side: int) -> npt.NDArray[np.bool_]:
        """Which combinations have rows on a side."""
        return np.asarray(self.counts[:, side] > 0)

    def rows(self, side: int) -> int:
        """How many rows a side has."""
        return int(self.counts[:, side].sum())

    def raw(self, side: str) -> list[Value]:
        """The split column's own words for a side."""
        return [word for word, meant in self.words.items() if meant == side]

    @cached_property
    def training(self) -> Support:
        """The combinations that training holds, over the space of all."""
        return self.whole.subset(np.flatnonzero(self.on(TRAIN)))


def count_sides(source: Source, side: str, asked: Asked, progress: Progress | None) -> Sided:
    """Count the combinations on each side where the table lies."""
    question = Question(factors=asked.factors, bins=asked.bins)

    def asking(table: Any, backend: Any) -> Aggregate:
        by = {"side": columns.key(table, side, bins=None, declared=True, backend=backend).expression}
        return Aggregate(by if asked.target is None else by | {"target": _label(table, asked.target)})

    return _assembled(count_groups(source, question, asking, progress=progress), asked)


def _assembled(counts: Counts, asked: Asked) -> Sided:
    counted, keys = counts.lines, counts.keys
    raw = pc.dictionary_encode(counted["side"], null_encoding="encode").combine_chunks()
    values = raw.dictionary.to_pylist()
    known = columns.ordered({value for value in values if value is not None})
    words = _words(asked, known) if len(counted) else {}
    sides = pa.array([words.get(value, NO_SIDE) for value in values], pa.string())
    column = sides.take(raw.indices) if len(counted) else pa.array([], pa.string())
    counted = counted.append_column(f"f{len(keys)}", column)
    target = None if asked.target is None else TargetAsked("label")
    question = Question(
        factors=(*asked.factors, asked.split),
        target=asked.target,
        target_kind=None if target is None else target.kind,
        bins=asked.bins,
        domain={asked.split: EVERY_SIDE},
        missing=asked.missing,
    )
    by_side = Counts(counted, (*keys, Key(asked.split, None)), counts.source)
    support = assemble(by_side, question, target=target)
    return Sided(support, words, _rows_of_no_side(counted, keys, words, asked))


def _words(asked: Asked, known: Sequence[Value]) -> dict[Value, str]:
    """What each value of the split column stands for; `seen` is our own word, and needs no naming."""
    sides: dict[Value, str] = dict(
        sides_of(
            asked.split,
            known,
            train=asked.named["train"],
            validation=asked.named["validation"],
            test=asked.named["test"],
            option="sides={{'train': [{!r}]}}",
        )
    )
    return sides | {value: SEEN for value in known if value not in sides and text(value) == SEEN}


def _rows_of_no_side(
    counted: pa.Table, keys: Sequence[Key], words: Mapping[Value, str], asked: Asked
) -> dict[str, int]:
    """Rows of each word that stands for no side; rows that miss a factor are told elsewhere."""
    if asked.missing != "value":
        for place in range(len(keys)):
            counted = counted.filter(pc.is_valid(counted[f"f{place}"]))
    totals = counted.group_by("side").aggregate([("rows", "sum")]).to_pylist()
    stray = {line["side"]: int(line["rows_sum"]) for line in totals if line["side"] not in words}
    return {"(missing)" if value is None else text(value): rows for value, rows in stray.items()}


def _label(table: Any, target: str) -> Any:
    columns.require(table, [target], role="the target")
    kind = table[target].type()
    if not (kind.is_string() or kind.is_boolean() or columns.is_whole(kind)):
        raise ColumnError(
            f"the target {target!r} is of type {kind}",
            why="the shares of classes are compared, and a class is text, a boolean or a whole number",
            instead="name a column of classes, or leave the target out",
        )
    return columns.as_value(table[target])
