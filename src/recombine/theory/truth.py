"""The true answers, where somebody knows them: from another table over the same factors."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Unpack, cast

import numpy as np

from recombine.algebra.groups import Codes, Groups, Numbers, group
from recombine.errors import SettingError, SpaceError
from recombine.tables.question import ReadOptions
from recombine.tables.read import support_of
from recombine.tables.space import text
from recombine.tables.support import NumberTarget, Support
from recombine.theory.answers import Answers, answers


@dataclass(frozen=True, eq=False)
class Truth:
    """True answers of some combinations: a number each, or the place of a class."""

    source: str
    sizes: tuple[int, ...]  # of the factors, in the predicted table's space
    codes: Codes
    values: Numbers
    counts: Numbers

    def on(self, codes: Codes) -> Numbers:
        """The true answer of each of these combinations; NaN where it is not known."""
        if not len(self.codes):
            return np.full(len(codes), np.nan)
        place = self._groups.lookup(codes)
        return np.where(place >= 0, self.values[self._groups.representatives[place]], np.nan)

    def doubt(self, codes: Codes, within: float | None) -> Numbers:
        """The standard error of each true number, given the variance of one example; NaN where it is not known."""
        if not len(self.codes):
            return np.full(len(codes), np.nan)
        place = self._groups.lookup(codes)
        counts = self.counts[self._groups.representatives[place]]
        return np.where(place >= 0, np.sqrt((within or 0.0) / counts), np.nan)

    @cached_property
    def _groups(self) -> Groups:
        return group(self.codes, sizes=self.sizes, factors=tuple(range(len(self.sizes))))


def read_truth(given: Any, support: Support, **reading: Unpack[ReadOptions]) -> Support:
    """The support of a table of true answers, which is read as the table itself was.

    But for what speaks of the table's own rows (`where`, `table`, `weight`). One value of a factor is enough there, if
    the table has more.
    """
    alike = {name: value for name, value in reading.items() if name not in ("where", "table", "weight")}
    alike["target_kind"] = "number" if isinstance(support.target, NumberTarget) else "label"
    try:
        return support_of(given, "predict", **cast("ReadOptions", alike))
    except SpaceError:
        values = {factor.name: list(factor.values) for factor in support.space.factors}
        return support_of(given, "predict", **cast("ReadOptions", alike | {"domain": values}))


def truth_of(given: Support, support: Support, own: Answers) -> Truth:
    """Another table's answers, in the positions that this table's values and classes have."""
    if not isinstance(given, Support):
        raise SettingError(
            f"the truth is a {type(given).__name__}",
            why="it is the support of another table, with the same factors and the true answers as its target",
            instead="read it first: truth=recombine.read('truth.csv', factors=[…], target='…')",
        )
    if given.space.names != support.space.names:
        raise SettingError(
            f"the truth has the factors {', '.join(given.space.names)}",
            why=f"the table has {', '.join(support.space.names)}",
            instead="read both with the same factors, in the same order",
        )
    theirs = answers(given, one_class=True)
    if theirs.kind != own.kind:
        raise SettingError(
            f"the truth is a {theirs.kind}",
            why=f"the target {own.name!r} was read as a {own.kind}",
            instead=f"read the truth with target_kind={own.kind!r}",
        )
    codes = np.column_stack(
        [
            np.array([mine.code(value) for value in other.values], dtype=np.int32)[given.codes[theirs.rows, k]]
            for k, (mine, other) in enumerate(zip(support.space.factors, given.space.factors, strict=True))
        ]
    )
    values = theirs.values[:, 0] if own.kind == "number" else _classes(theirs, own)
    if not np.isfinite(values).any():
        raise SettingError(
            f"the truth has the classes {', '.join(map(text, theirs.classes[:5]))}",
            why=f"none of them is a class of {own.name!r}: {', '.join(map(text, own.classes[:5]))}",
            instead="give a table whose target is written in the same way",
        )
    keep = (codes >= 0).all(axis=1) & np.isfinite(values)
    return Truth(given.source.source, support.space.sizes, codes[keep], values[keep], theirs.counts[keep])


def _classes(theirs: Answers, own: Answers) -> Numbers:
    """The commonest class of each combination, as its place among this table's classes; NaN for a class that is new."""
    places = {text(value): float(place) for place, value in enumerate(own.classes)}
    new = np.array([places.get(text(value), np.nan) for value in theirs.classes])
    return np.asarray(new[theirs.labels])
