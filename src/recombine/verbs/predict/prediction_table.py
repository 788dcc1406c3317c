"""A prediction laid out: a row for each combination, and the part of the space that a page draws.

A row says what is predicted, how surely, what it is made of, and the verdict. The page draws the commonest values of
each factor; beside the cells stand the contributions of every conjunction of these values, so that it can explain any
of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from recombine.data.space import Space, arrow_column, rows_of
from recombine.data.support import Support
from recombine.numerics.distributions import normal_quantile
from recombine.numerics.groups import Codes, Flags, Ints, Numbers
from recombine.numerics.rows import IncidenceRows, ends
from recombine.verbs.audit.combination_status import parts_seen
from recombine.verbs.predict.answers import class_names
from recombine.verbs.predict.diagnosis import VERDICTS, Diagnosis
from recombine.verbs.predict.kernel.order_weights import MOST_FACTORS
from recombine.verbs.predict.kernel.salience import members
from recombine.verbs.predict.kernel.squared_loss import DualWeights, masks_of
from recombine.verbs.predict.learner import FittedLearner

_REACH = normal_quantile(0.975)
_MOST_CELLS = 300_000
_MOST_PARTS = 2_000_000


UNLISTED = len(VERDICTS)
"""The verdict of a cell that stands for no combination of the space."""
_ORDERS = {1: "single values", 2: "pairs"}


def read_combinations(space: Space, given: Any) -> Codes:
    """Combinations as tuples, mappings, an Arrow table or a frame, in positions of values."""
    return np.asfortranarray(space.encode(rows_of(given)))


def lines(diagnosis: Diagnosis, like: Flags | None = None, *, contributions: bool) -> pa.Table:
    """The table of a prediction; `like` says which combinations are like those that were held out and tested."""
    space = diagnosis.learner.support.space
    columns: dict[str, Any] = space.columns(diagnosis.codes)
    ours = _told(diagnosis) | ({} if like is None else {"like_tested": like}) | _parts_seen(diagnosis)
    if contributions:
        ours |= _contributions(diagnosis)
    for name, column in ours.items():
        columns[name if name not in columns else f"{name}_"] = column
    return pa.table(columns)


def _told(diagnosis: Diagnosis) -> dict[str, Any]:
    learner = diagnosis.learner
    own = learner.answers
    place = learner.seen(diagnosis.codes)
    variance, error = diagnosis.variances
    found: dict[str, Any] = {
        "seen": place >= 0,
        "count": np.where(place >= 0, learner.support.counts[place], 0.0),
        "rung": pa.array(diagnosis.rungs.tolist()),
    }
    if own.kind == "number":
        found |= _numbers(diagnosis)
    else:
        found["prediction"] = _classes(own.classes, diagnosis.predicted)
        found["score"] = own.best(diagnosis.scores)
        found["unleaked"] = own.best(diagnosis.unleaked)
        found["truth"] = _classes(own.classes, np.where(diagnosis.known, diagnosis.truth, -1).astype(np.int64))
    found["error"] = pa.array(diagnosis.errors, from_pandas=True)
    found |= {"variance": variance, "variance_error": error}
    found["verdict"] = pa.array(VERDICTS).take(pa.array(diagnosis.verdicts))
    return found


def _numbers(diagnosis: Diagnosis) -> dict[str, Any]:
    """A number with its 95 % interval, in the target's own units."""
    said, bounded = diagnosis.scores[:, 0], diagnosis.learner.answers.bounded
    reach = _REACH * np.sqrt(diagnosis.learner.scale * diagnosis.variances[0])
    return {
        "prediction": said,
        "low": bounded(said - reach),
        "high": bounded(said + reach),
        "unleaked": diagnosis.unleaked[:, 0],
        "truth": pa.array(diagnosis.truth, from_pandas=True),
    }


def _classes(classes: tuple[Any, ...], places: Ints) -> pa.Array:
    return arrow_column(classes).take(pa.array(places, mask=places < 0))


def _parts_seen(diagnosis: Diagnosis) -> dict[str, Any]:
    """How many of a combination's conjunctions were seen, of every size, itself included."""
    learner = diagnosis.learner
    if learner.support.space.set_factors:
        parts = parts_seen(learner.support, diagnosis.codes)
        return {"parts_seen": parts.seen + parts.pairs_seen, "parts": parts.number + parts.pairs}
    wide = learner.orders is not None  # then single values and pairs alone
    masks = masks_of(learner.salience.factors) if wide else range(1, len(learner.salience.weights))
    seen = np.zeros(len(diagnosis.codes), dtype=np.int64)
    for mask in masks:
        seen += diagnosis.learner.fitted.place(mask, diagnosis.codes) >= 0
    return {"parts_seen": seen, "parts": np.full(len(seen), len(masks))}


def _contributions(diagnosis: Diagnosis) -> dict[str, Any]:
    """What each conjunction adds to the score that is told; null where it was never seen."""
    learner = diagnosis.learner
    names = learner.support.space.names
    question = (
        np.maximum(diagnosis.predicted, 0) if learner.answers.questions > 1 else np.zeros(len(diagnosis.codes), int)
    )
    rows = np.arange(len(diagnosis.codes))
    found: dict[str, Any] = {"from the constant": learner.fitted.constant[question]}
    if isinstance(learner.fitted, DualWeights):
        words = _order_words(learner)
        for word, each in zip(words, learner.fitted.by_order(diagnosis.codes), strict=True):
            found[f"from {word}"] = each[rows, question]
        return found
    for mask in range(1, len(learner.salience.weights)):
        part: Numbers = learner.fitted.contribution(mask, diagnosis.codes)[rows, question]
        found["from " + " × ".join(names[k] for k in members(mask))] = pa.array(part, from_pandas=True)
    return found


def _order_words(learner: FittedLearner) -> list[str]:
    """What the conjunctions of each order are called; of sets the last is the combination itself, however large."""
    orders = range(1, learner.salience.factors + 1)
    unit = learner.support.space.effect_unit
    if unit == "value":
        return [_ORDERS.get(order, f"conjunctions of {order} factors") for order in orders]
    named = {1: "single elements" if unit == "element" else "single values and elements", 2: "pairs"}
    return [*(named.get(order, f"conjunctions of {order}") for order in orders[:-1]), "the combination itself"]


@dataclass(frozen=True, eq=False)
class CombinationGrid:
    """The drawn values of each factor, and the cells in row-major order."""

    values: tuple[Ints, ...]
    codes: Codes

    @classmethod
    def of(cls, support: Support, *, questions: int, most: int = _MOST_CELLS) -> "CombinationGrid":
        """As many of the commonest values as a page can hold, in at most so many cells."""
        lengths = _lengths(support.space.sizes, questions, most)
        values = tuple(_commonest(support, k, length) for k, length in enumerate(lengths))
        return cls(values, product(values))

    def plane(self, most: int = 60) -> "CombinationGrid":
        """What a notebook draws: the commonest values of the first two factors, the others at their commonest one."""
        values = tuple(chosen[: most if k < 2 else 1] for k, chosen in enumerate(self.values))
        return CombinationGrid(values, product(values))

    def describe(self, learner: FittedLearner) -> dict[str, Any]:
        """What the page says of the cube."""
        factors = [
            {
                "name": factor.name,
                "values": [factor.labels[v] for v in chosen],
                "total": len(factor.values),
                "codes": chosen.tolist(),
            }
            for factor, chosen in zip(learner.support.space.factors, self.values, strict=True)
        ]
        return _described(learner, factors, [list(members(mask)) for mask in self.masks])

    @property
    def masks(self) -> Sequence[int]:
        """Every set of factors but the empty one; single factors and pairs alone where those are too many."""
        factors = len(self.values)
        return range(1, 2**factors) if factors <= MOST_FACTORS else masks_of(factors)

    def cells(self, diagnosis: Diagnosis) -> pa.Table:
        """A line a cell; `diagnosis` was made for this cube's codes."""
        own = diagnosis.learner.answers
        place = diagnosis.learner.seen(self.codes)
        counts = np.where(place >= 0, diagnosis.learner.support.counts[place], 0.0)
        sd = np.sqrt(diagnosis.learner.scale * diagnosis.variances[0])
        return pa.table(
            {
                "verdict": diagnosis.verdicts,
                "prediction": drawn(own.best(diagnosis.scores)),
                "label": diagnosis.predicted.astype(np.int16),
                "sd": drawn(sd),
                "truth": drawn(diagnosis.truth),
                "count": counts,
                "unleaked": drawn(own.best(diagnosis.unleaked)),
            }
        )

    def parts(self, learner: FittedLearner) -> pa.Table:
        """The contribution of every conjunction of the drawn values, to each score."""
        sets, scores, values = [], [], []
        for place, mask in enumerate(self.masks):
            codes = self._of_set(mask)
            found = drawn(learner.fitted.contribution(mask, codes))
            sets.append(np.full(found.size, place, dtype=np.int32))
            scores.append(np.repeat(np.arange(found.shape[1], dtype=np.int16), len(codes)))
            values.append(found.T.ravel())
        return pa.table({"set": np.concatenate(sets), "score": np.concatenate(scores), "value": np.concatenate(values)})

    def _of_set(self, mask: int) -> Codes:
        """The sub-cube of some of the factors; the others stand at their first value, which nobody looks at."""
        chosen = [v if mask >> k & 1 else v[:1] for k, v in enumerate(self.values)]
        return product(tuple(chosen))


@dataclass(frozen=True, eq=False)
class ElementGrid(CombinationGrid):
    """The same where values are sets: elements × elements, so that a cell is a pair, or one alone on the diagonal.

    `values` are those of each side; a set factor has two sides. What a prediction is made of is told by order in the
    table, and here as a whole: an element that stands on both sides would be told twice.
    """

    names: tuple[str, ...] = ()
    labels: tuple[tuple[str, ...], ...] = ()
    totals: tuple[int, ...] = ()

    @classmethod
    def of(cls, support: Support, *, questions: int, most: int = _MOST_CELLS) -> "ElementGrid":
        """The commonest elements, as many as a page can hold."""
        ordinary = [k for k in range(len(support.space.factors)) if k not in support.space.set_factors]
        sides = [*(k for k in support.space.set_factors for _ in range(2)), *ordinary]
        sizes = tuple(support.space.factors[k].kind.effects for k in sides)
        lengths = _lengths(sizes, questions, most)
        shown = {k: min(length for j, length in zip(sides, lengths, strict=True) if j == k) for k in sides}
        values = tuple(np.argsort(-support.effect_counts[k], kind="stable")[: shown[k]] for k in sides)
        factors = support.space.factors
        return cls(
            values,
            _cells_of(support.space, sides, product(values)),
            tuple(factors[k].name for k in sides),
            tuple(tuple(factors[k].effect_labels[v] for v in mine) for k, mine in zip(sides, values, strict=True)),
            sizes,
        )

    def plane(self, most: int = 60) -> "CombinationGrid":
        """What a notebook draws: the first two sides, the others at their commonest value."""
        shape = tuple(map(len, self.values))
        kept = tuple(range(min(length, most if k < 2 else 1)) for k, length in enumerate(shape))
        places = np.arange(len(self.codes)).reshape(shape)[np.ix_(*kept)].ravel()
        return ElementGrid(
            tuple(mine[: len(some)] for mine, some in zip(self.values, kept, strict=True)),
            self.codes[places],
            self.names,
            tuple(words[: len(some)] for words, some in zip(self.labels, kept, strict=True)),
            self.totals,
        )

    def describe(self, learner: FittedLearner) -> dict[str, Any]:
        """What the page says of it."""
        factors = [
            {"name": name, "values": list(labels), "total": total, "codes": mine.tolist()}
            for name, labels, total, mine in zip(self.names, self.labels, self.totals, self.values, strict=True)
        ]
        return _described(learner, factors, [list(range(len(self.values)))])

    def cells(self, diagnosis: Diagnosis) -> pa.Table:
        """A line a cell; a set of a size that the space does not have is not listed: one alone where all are pairs."""
        found = super().cells(diagnosis)
        listed = np.ones(len(self.codes), dtype=bool)
        for k, factor in enumerate(diagnosis.learner.support.space.factors):
            if factor.sets is not None:
                listed &= np.isin(factor.sets.rows(self.codes[:, k]).lengths, factor.sets.sizes)
        verdicts = np.where(listed, diagnosis.verdicts, UNLISTED).astype(np.uint8)
        return found.set_column(0, "verdict", pa.array(verdicts))

    def parts(self, learner: FittedLearner) -> pa.Table:
        """What a whole combination adds to the constant, for each score."""
        added = drawn(learner.fitted.scores(self.codes) - learner.fitted.constant)
        scores = np.repeat(np.arange(added.shape[1], dtype=np.int16), len(added))
        return pa.table({"set": np.zeros(added.size, dtype=np.int32), "score": scores, "value": added.T.ravel()})


def _cells_of(space: Space, sides: Sequence[int], cells: Codes) -> Codes:
    """The combination of each cell: of a set factor the set of what stands on its two sides."""
    columns = []
    for k, factor in enumerate(space.factors):
        mine = np.sort(cells[:, [place for place, side in enumerate(sides) if side == k]].astype(np.int64), axis=1)
        if factor.sets is None:
            columns.append(mine[:, 0].astype(np.int32))
            continue
        kept = np.column_stack([np.ones(len(mine), dtype=bool), mine[:, 1] != mine[:, 0]])
        columns.append(factor.sets.codes_of(IncidenceRows(ends(kept.sum(axis=1)), mine[kept], factor.sets.effects)))
    return np.asfortranarray(np.stack(columns, axis=1))


def _described(learner: FittedLearner, factors: list[dict[str, Any]], sets: list[list[int]]) -> dict[str, Any]:
    """The sides of a grid, and whose contributions stand beside its cells."""
    own = learner.answers
    names = class_names(own.classes)
    scores = [own.name] if own.kind == "number" else names[1:] if own.questions == 1 else names
    return {"factors": factors, "sets": sets, "constant": learner.fitted.constant.tolist(), "classes": scores}


def drawn(numbers: Numbers) -> npt.NDArray[np.float32]:
    """Numbers with the digits that a picture needs; what is beyond a float32 stands at its end, and never at infinity.

    >>> float(drawn(np.array([1e300]))[0]) < float("inf")
    True
    """
    most = np.finfo(np.float32).max
    return np.clip(numbers, -most, most).astype(np.float32)


def product(values: tuple[Ints, ...]) -> Codes:
    """Every combination of these values, the last factor fastest."""
    grids = np.meshgrid(*values, indexing="ij")
    return np.asfortranarray(np.stack([grid.ravel() for grid in grids], axis=1).astype(np.int32))


def _lengths(sizes: tuple[int, ...], questions: int, most: int) -> list[int]:
    """Shorten the longest side again and again until the cells and the contributions fit."""
    lengths = list(sizes)
    while _too_large(lengths, questions, most):
        longest = max(range(len(lengths)), key=lengths.__getitem__)
        if len(lengths) > MOST_FACTORS:  # not each side by a little: the first factors stay whole
            longest = max(k for k, length in enumerate(lengths) if length > 1)
        lengths[longest] = max(1, int(lengths[longest] * 0.9))
    return lengths


def _too_large(lengths: list[int], questions: int, most: int) -> bool:
    cells = float(np.prod(lengths, dtype=np.float64))
    few = len(lengths) <= MOST_FACTORS  # else single values and pairs alone, which are few beside the cells
    parts = float(np.prod(np.array(lengths, dtype=np.float64) + 1)) * questions if few else 0.0
    return max(lengths) > 1 and (cells > most or parts > _MOST_PARTS)


def _commonest(support: Support, k: int, length: int) -> Ints:
    counts = support.value_counts[k]
    order = np.argsort(-counts, kind="stable")[:length]
    return order.astype(np.int64)
