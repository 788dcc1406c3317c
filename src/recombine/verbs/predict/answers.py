"""What the seen combinations answer: a number for each of them, with the evidence behind it.

A learner of this kind fits numbers. A number target is its mean within the combination; two classes are -1 and +1;
more classes are one question each, this class (+1) or another (-1). A combination with rows that disagree
has the mean of their answers. Combinations whose rows all miss the target have no answer and teach nothing.

The true answers, where somebody knows them, come from another table over the same factors (`truth_of`).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Unpack, cast

import numpy as np

from recombine.base.errors import SettingError, SpaceError, TableError
from recombine.data.read import support_of
from recombine.data.space import Value, text
from recombine.data.support import LabelTarget, NumberTarget, Support
from recombine.data.table_query import ReadOptions
from recombine.numerics.groups import ROUNDING, Codes, Groups, Ints, Numbers, commonest, group, highest, pooled_variance


@dataclass(frozen=True, eq=False)
class Answers:
    """The answers that a table gives. Legend: n combinations with an answer, m questions.

    >>> import recombine
    >>> table = {"colour": ["red", "red", "blue"], "shape": ["disc", "cube", "disc"], "kind": ["a", "b", "b"]}
    >>> answers(recombine.read(table, factors=["colour", "shape"], target="kind")).values.ravel().tolist()
    [1.0, 1.0, -1.0]
    """

    name: str
    kind: Literal["number", "label"]
    classes: tuple[Value, ...]
    rows: Ints  # (n,) which combinations of the support
    values: Numbers  # (n, m)
    labels: Ints  # (n,) the commonest class of each, by its place; -1 for a number
    counts: Numbers  # (n,) examples behind each answer
    within: float | None  # pooled variance of one example around its combination's answer
    mixed: int  # combinations whose examples disagree
    share: bool = False  # of a number: whether every row is 0 or 1, so that an answer is a share of rows

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def questions(self) -> int:
        """How many numbers are fitted: one, or one for each of three classes and more."""
        return int(self.values.shape[1])

    @property
    def unsettled(self) -> float:
        """How much of a row's answer its combination leaves open: the share of rows with another class than the
        commonest of their combination, or of the variance within combinations.

        >>> import recombine
        >>> table = {"a": [0, 0, 1, 1], "b": [0, 0, 1, 1], "y": ["no", "no", "yes", "no"]}
        >>> answers(recombine.read(table, factors=["a", "b"], target="y")).unsettled
        0.25
        """
        if self.kind == "number":
            middle = float(np.average(self.values[:, 0], weights=self.counts))
            between = float(np.average(np.square(self.values[:, 0] - middle), weights=self.counts))
            within = self.within or 0.0
            return within / (within + between) if within else 0.0
        share = (self.values + 1) / 2
        commonest = np.maximum(share, 1 - share)[:, 0] if self.questions == 1 else share.max(axis=1)
        return 1 - float(np.average(commonest, weights=self.counts))

    def hits(self, values: Numbers) -> Numbers:
        """(n, classes) What an answer of each class is worth where shares are coded so: 1 where it is the commonest."""
        shares = (values + 1) / 2
        return commonest(np.column_stack([1 - shares, shares]) if self.questions == 1 else shares)

    @cached_property
    def commonest(self) -> int:
        """The class that most combinations have, by its place."""
        return int(self.hits(self.values).sum(axis=0)[: len(self.classes)].argmax())

    def subset(self, keep: Ints) -> "Answers":
        """Some of the combinations alone."""
        return Answers(
            self.name,
            self.kind,
            self.classes,
            self.rows[keep],
            self.values[keep],
            self.labels[keep],
            self.counts[keep],
            self.within,
            self.mixed,
            self.share,
        )

    def bounded(self, said: Numbers) -> Numbers:
        """What was said of combinations; of shares within 0 and 1, which only brings it nearer to the truth."""
        return np.clip(said, 0.0, 1.0) if self.share else said

    def decide(self, scores: Numbers) -> Ints:
        """The class that each row of scores stands for; -1 where the target is a number."""
        if self.kind == "number":
            return np.full(len(scores), -1, dtype=np.int64)
        if self.questions == 1:
            return (scores[:, 0] > ROUNDING).astype(np.int64)
        return highest(scores)

    def best(self, scores: Numbers) -> Numbers:
        """The one score of each row that is told: the number, the score for the second class, or the winner's."""
        if self.questions == 1:
            return scores[:, 0]
        return np.asarray(scores.max(axis=1))


def answers(support: Support, *, one_class: bool = False) -> Answers:
    """The answer of each combination that has one; `one_class` lets a target pass that has a single class."""
    target = support.target
    if target is None:
        raise SettingError(
            "a prediction without a target",
            why="what unseen combinations would be answered follows from the answers of the seen ones",
            instead="name the column to predict: --target COLUMN, or recombine.read(…, target='COLUMN')",
        )
    if not target.count.sum() > 0:
        raise TableError(
            f"no row has a {target.name!r}",
            why="every one of them is missing or NaN, so there is nothing to predict from",
            instead="name a target that is filled in, or repair the column",
        )
    if isinstance(target, NumberTarget):
        return _numbers(target)
    if not one_class and not target.varies:
        raise _one_class(target)
    return _labels(target, len(support))


def _numbers(target: NumberTarget) -> Answers:
    rows = np.flatnonzero(target.count > 0)
    target = target.subset(rows)
    if not np.isfinite(target.mean).all() or not np.isfinite(target.squares).all():
        raise TableError(
            f"the target {target.name!r} holds numbers that are infinite or too large",
            why="their mean is not a number",
            instead="leave those rows out with `where`, or take the logarithm of the column",
        )
    mixed = int((target.scatter > 0).sum())
    within = pooled_variance(target.scatter, target.count)
    none, share = np.full(len(rows), -1, dtype=np.int64), target.is_share
    return Answers(target.name, "number", (), rows, target.mean[:, None], none, target.count, within, mixed, share)


def _labels(target: LabelTarget, combinations: int) -> Answers:
    table = np.zeros((combinations, len(target.classes)))
    np.add.at(table, (target.combination, target.label), target.count)
    rows = np.flatnonzero(table.sum(axis=1) > 0)
    counts = table[rows].sum(axis=1)
    share = table[rows] / counts[:, None]
    values = 2 * (share[:, 1:] if len(target.classes) == 2 else share) - 1
    within = pooled_variance(((1 - values**2) * counts[:, None]).mean(axis=1), counts)
    mixed = int((share.max(axis=1) < 1).sum())
    return Answers(target.name, "label", target.classes, rows, values, share.argmax(axis=1), counts, within, mixed)


def _one_class(target: LabelTarget) -> TableError:
    only = text(target.classes[int(target.label[target.count > 0][0])])
    return TableError(
        f"every row has the same {target.name!r}: {only}",
        why="with one class only, every learner answers that class everywhere",
        instead="choose a target with at least two classes, or read more rows",
    )


def class_names(classes: Iterable[Any]) -> list[str]:
    """Classes as people read them."""
    return [text(value) for value in classes]


@dataclass(frozen=True, eq=False)
class Truth:
    """True answers of some combinations: a number each, or the place of a class."""

    source: str
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
        sizes = tuple((self.codes.max(axis=0, initial=0) + 1).tolist())  # a set that was only asked for has a code too
        return group(self.codes, sizes=sizes, factors=tuple(range(len(sizes))))


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
        values = {f.name: list(f.values if f.sets is None else f.sets.elements) for f in support.space.factors}
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
            mine.codes(list(other.values))[given.codes[theirs.rows, k]]
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
    return Truth(given.source.source, codes[keep], values[keep], theirs.counts[keep])


def _classes(theirs: Answers, own: Answers) -> Numbers:
    """The commonest class of each combination, as its place among this table's classes; NaN for a class that is new."""
    places = {text(value): float(place) for place, value in enumerate(own.classes)}
    new = np.array([places.get(text(value), np.nan) for value in theirs.classes])
    return np.asarray(new[theirs.labels])
