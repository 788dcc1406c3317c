"""What the seen combinations answer, each counted once, and what a rule loses on them.

A combination's answer is the mean of its rows, or the share of each label among them.
"""

from dataclasses import dataclass

import numpy as np

from recombine.data.space import text
from recombine.data.support import NumberTarget, Support, Target
from recombine.data.vector_answers import VectorAnswers
from recombine.numerics.groups import Ints, Numbers, commonest, highest, pooled_variance
from recombine.numerics.interaction_rules import SeenTable
from recombine.numerics.simple_rules import MAJORITY, MEAN
from recombine.numerics.vector_coordinates import coordinates, effective_dimension

_MOST_ANSWERS = 5 * 10**7  # combinations times classes: 400 MB
_MOST_CLASSES = 1_000


@dataclass(frozen=True, eq=False)
class SeenAnswers:
    """What the seen combinations answer. Legend: n combinations with an answer, m numbers each."""

    rows: Ints  # (n,) which combinations of the support
    values: Numbers  # (n, m) the mean, less the mean of all; or the share of each label
    counts: Numbers  # (n,)
    within: float | None  # variance of one row about its combination's answer
    classes: tuple[str, ...]
    shift: float = 0.0  # the mean of all, about which numbers are given
    dimensions: tuple[float, float] | None = None  # of vectors: see `noise_ceiling`
    share: bool = False  # of numbers: whether every row is 0 or 1

    @property
    def middle(self) -> Numbers:
        """The mean answer."""
        return np.asarray(self.values.mean(axis=0))

    @property
    def noise(self) -> Numbers:
        """(n,) The variance of each answer, as far as it is known."""
        return (self.within or 0.0) / self.counts

    @property
    def constant_rule(self) -> str:
        """The name of the rule that gives one answer for all."""
        return MAJORITY if self.classes else MEAN

    def constant(self, rows: Ints) -> Numbers:
        """The mean of all; of labels how many combinations each is the commonest of, so that the most frequent is
        said.
        """
        every = commonest(self.values).mean(axis=0) if self.classes else self.middle
        return np.tile(every, (len(rows), 1))

    def bounded(self, answered: Numbers) -> Numbers:
        """What a rule answers; of shares within 0 and 1."""
        return np.clip(answered, -self.shift, 1 - self.shift) if self.share else answered

    def losses(self, rows: Ints, answered: Numbers) -> Numbers:
        """Squared errors, or 1 where the label was wrong."""
        truth = self.values[rows]
        if not self.classes:
            return np.asarray(np.square(self.bounded(answered) - truth).sum(axis=1))
        return np.asarray(1 - commonest(truth)[np.arange(len(rows)), highest(answered)])

    def table(self, known: Support) -> SeenTable:
        """For rules to be fitted to; `known` are the combinations that have an answer."""
        return SeenTable(known.codes, known.space.sizes, self.values, self.noise)


def why_untestable(target: Target | VectorAnswers, combinations: int) -> str | None:
    """Why no rule can be fitted to a target, if none can."""
    if not target.count.sum() > 0:
        return f"no row has a {target.name}"
    if isinstance(target, VectorAnswers):
        return None if np.nanmax(np.ptp(target.means[target.count > 0], axis=0)) > 0 else f"{target.name} never varies"
    if not target.varies:
        return f"{target.name} never varies"
    if isinstance(target, NumberTarget):
        known = target.count > 0
        finite = np.isfinite(target.mean[known]).all() and np.isfinite(target.squares).all()
        return None if finite else f"{target.name} holds numbers that are infinite or too large"
    classes = len(target.classes)
    if classes > _MOST_CLASSES or classes * combinations > _MOST_ANSWERS:
        return f"{target.name} has {classes:,} labels, too many to fit one by one"
    return None


def seen_answers(target: Target | VectorAnswers, combinations: int) -> SeenAnswers:
    """The answer of each combination that has one, each counted once."""
    if isinstance(target, VectorAnswers):
        return _seen_vectors(target)
    if isinstance(target, NumberTarget):
        rows = np.flatnonzero(target.count > 0)
        mine = target.subset(rows)
        means = mine.total / mine.count
        within = pooled_variance(mine.scatter, mine.count)
        middle = float(means.mean())
        values = (means - middle)[:, None]
        return SeenAnswers(rows, values, mine.count, within, (), middle + mine.shift, share=mine.is_share)
    table = np.zeros((combinations, len(target.classes)))
    np.add.at(table, (target.combination, target.label), target.count)
    counts = table.sum(axis=1)
    rows = np.flatnonzero(counts > 0)
    share = table[rows] / counts[rows, None]
    within = pooled_variance(((share * (1 - share)).sum(axis=1)) * counts[rows], counts[rows])
    return SeenAnswers(rows, share, counts[rows], within, tuple(map(text, target.classes)))


def _seen_vectors(vectors: VectorAnswers) -> SeenAnswers:
    """Vectors in coordinates that have the same distances: only squared errors are asked of them here."""
    rows = np.flatnonzero(vectors.count > 0)
    mine = vectors.subset(rows)
    twice = mine.count > 1
    # the difference of two halves has the variance of one row, times this
    times = mine.count / np.maximum(np.floor(mine.count / 2) * np.ceil(mine.count / 2), 1)
    noise = effective_dimension(mine.apart[twice] / np.sqrt(times[twice])[:, None]) if twice.any() else 1.0
    values = coordinates(mine.means)
    within = pooled_variance(mine.scatter, mine.count)
    return SeenAnswers(rows, values, mine.count, within, (), dimensions=(effective_dimension(values), noise))
