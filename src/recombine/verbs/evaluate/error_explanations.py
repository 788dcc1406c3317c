"""What simple habits would answer on unseen combinations: memory, one factor alone, the commonest class.

Each habit turns the training's answers into a distribution over the classes for any combination. *Memory* gives the
answer of the nearest seen combinations, those that share the most factors; where there are several, each of their
answers in proportion to its examples. A *shortcut* through a factor gives the class that its value alone had most
often. The *commonest* class is what a model says that looks at nothing.

Answers are then shared out among the habits: `together` makes one of those that no answer can tell apart, `mixture_of`
finds the shares that make all the answers likeliest, right ones included, and finds them again in every resample.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np

from recombine.data.space import Space
from recombine.data.support import LabelTarget, Support
from recombine.numerics.groups import Codes, Flags, Ints, Numbers, commonest, number, totals
from recombine.numerics.incidence_fit import nearest_answers
from recombine.numerics.resampling import times_drawn
from recombine.numerics.simple_rules import SimpleRules, filled
from recombine.verbs.evaluate.outcomes import Outcomes

Habit = Literal["memory", "shortcut", "commonest", "unclear", "neither"]
Answering = Callable[[Codes], Numbers]
"""From combinations to the probability of each class: (combinations, classes)."""

DRAWS = 300  # resamples: the ends of a 95 % interval rest on seven or eight of them, which a share needs no finer
_CELLS = 1 << 22  # probabilities that are held at a time: 32 MB
_MOST_PATTERNS = 4_000  # beyond this, probabilities are rounded to three digits before they are compared


@dataclass(frozen=True, eq=False)
class ConfusionLines:
    """Answers on unseen combinations: a line for each combination, true class and answered class."""

    codes: Codes  # of the unseen combinations
    combination: Ints
    truth: Ints
    said: Ints
    count: Numbers
    classes: int
    places: Ints  # of the unseen combinations among the tested ones

    @property
    def wrong(self) -> Flags:
        """Which lines are errors."""
        return np.asarray(self.truth != self.said)

    @property
    def errors(self) -> float:
        """How many answers are wrong."""
        return float(self.count[self.wrong].sum())


@dataclass(frozen=True, eq=False)
class Explanation:
    """A habit, and what it gives for each line: the probability of the answer, and how many wrong classes it allows."""

    habit: Habit
    name: str
    factors: tuple[str, ...]
    probability: Numbers
    allowed: Numbers


def unseen_lines(outcomes: Outcomes) -> ConfusionLines:
    """The lines of the unseen combinations, which are numbered anew."""
    places = np.flatnonzero(outcomes.unseen)
    anew = np.full(len(outcomes), -1, dtype=np.int64)
    anew[places] = np.arange(len(places))
    keep = (anew[outcomes.combination] >= 0) & (outcomes.count > 0)
    return ConfusionLines(
        codes=outcomes.tested.codes[places],
        combination=anew[outcomes.combination[keep]],
        truth=outcomes.truth[keep],
        said=outcomes.said[keep],
        count=outcomes.count[keep],
        classes=len(outcomes.classes),
        places=places,
    )


def explanations(training: Support, lines: ConfusionLines) -> tuple[Explanation, ...]:
    """Every habit on every line: memory, a shortcut through each factor, the commonest class."""
    target = training.target
    if not isinstance(target, LabelTarget):
        raise TypeError("habits are learnt from a training table with classes")
    names = training.space.names
    seen = SeenClasses.of(training, target, lines.classes)
    overall = totals(target.label, target.count, lines.classes)
    speakers: list[tuple[Habit, tuple[str, ...], Answering]] = [
        ("memory", (), seen.nearest),
        *(("shortcut", (name,), partial(seen.factor_alone, k)) for k, name in enumerate(names)),
        ("commonest", (), lambda codes: np.tile(commonest(overall[None])[0], (len(codes), 1))),
    ]
    return tuple(_explain(habit, factors, answering, lines) for habit, factors, answering in speakers)


def _explain(habit: Habit, factors: tuple[str, ...], answering: Answering, lines: ConfusionLines) -> Explanation:
    """What a habit gives for each line."""
    probability, allowed = np.zeros(len(lines.said)), np.zeros(len(lines.said))
    order = np.argsort(lines.combination, kind="stable")
    for part in chunks(len(lines.codes), lines.classes):
        first, last = np.searchsorted(lines.combination[order], [part.start, part.stop])
        chosen = order[first:last]
        table = answering(lines.codes[part])
        row = lines.combination[chosen] - part.start
        probability[chosen] = table[row, lines.said[chosen]]
        allowed[chosen] = (table > 0).sum(axis=1)[row] - (table[row, lines.truth[chosen]] > 0)
    return Explanation(habit, f"{habit}: {factors[0]}" if factors else habit, factors, probability, allowed)


def chunks(rows: int, classes: int) -> Iterator[slice]:
    """Some combinations at a time, so that a table of all their classes is never held."""
    step = max(_CELLS // max(classes, 1), 1)
    for start in range(0, rows, step):
        yield slice(start, min(start + step, rows))


@dataclass(frozen=True, eq=False)
class SeenClasses:
    """The classes of the seen combinations, rows counting alike, for simple rules to look at.

    >>> import recombine
    >>> table = {"bird": ["gull", "gull", "wren"], "place": ["sea", "land", "sea"], "kind": ["a", "b", "c"]}
    >>> seen = recombine.read(table, factors=["bird", "place"], target="kind")
    >>> SeenClasses.of(seen, seen.target, 3).nearest(np.array([[1, 0]])).tolist()  # wren on land
    [[0.0, 0.5, 0.5]]
    """

    shares: SimpleRules  # of the rows of each combination, the share of each class
    votes: SimpleRules  # each combination answers with its commonest class, as loudly as it has rows; ties share
    classes: int

    @classmethod
    def of(cls, support: Support, target: LabelTarget, classes: int) -> "SeenClasses":
        """From a training table; sparse, since most combinations have few of the classes."""
        from scipy.sparse import csr_array  # noqa: PLC0415 - SciPy is loaded where it is needed

        size = len(support)
        examples = totals(target.combination, target.count, size)
        best = np.zeros(size)
        np.maximum.at(best, target.combination, target.count)
        leads = ((target.count == best[target.combination]) & (target.count > 0)).astype(np.float64)
        tied = totals(target.combination, leads, size)
        cells, shape = (target.combination, target.label), (size, classes)
        shares = csr_array((target.count / np.maximum(examples, 1)[target.combination], cells), shape=shape)
        votes = csr_array((leads / np.maximum(tied, 1)[target.combination], cells), shape=shape)
        by_rows = partial(SimpleRules, support.codes, support.groups, weights=examples)
        return cls(by_rows(values=shares), by_rows(values=votes), classes)

    def nearest(self, codes: Codes, space: Space | None = None) -> Numbers:
        """How often each class is the answer of the seen combinations that share the most factors with each, or where
        factors of the `space` are sets, the most elements.
        """
        if space is None or not space.set_factors:
            return filled(self.votes.nearest(codes), 1 / self.classes)
        votes, weights = self.votes.values, self.votes.weights
        listed = votes if isinstance(votes, np.ndarray) else votes.toarray()
        return nearest_answers(space.effects, self.votes.codes, listed, codes, weights=weights)

    def factor_alone(self, factor: int, codes: Codes, *, otherwise: Numbers | float | None = None) -> Numbers:
        """The commonest class of one value; ties share. Any class, or another answer, for a value without rows."""
        return commonest(filled(self.shares.factors_alone([factor], codes), 0.0 if otherwise is None else otherwise))


def together(habits: Sequence[Explanation], lines: ConfusionLines) -> tuple[Explanation, ...]:
    """Explanations that give every answer the same probability become one: no answer can tell them apart."""
    kept: list[Explanation] = []
    for one in habits:
        fits = bool(one.probability[lines.wrong].any())
        twin = next(
            (p for p, k in enumerate(kept) if fits and np.allclose(k.probability, one.probability, atol=1e-9)), None
        )
        if twin is None:
            kept.append(one)
        else:
            other = kept[twin]
            name, factors = f"{other.name} or {one.name}", other.factors + one.factors
            kept[twin] = replace(other, habit="unclear", name=name, factors=factors)
    return tuple(kept)


@dataclass(frozen=True, eq=False)
class Mixture:
    """Each explanation's share of the errors, "neither" last: of all the answers, and of each resample."""

    shares: Numbers  # (e,)
    draws: Numbers  # (e, resamples); NaN where a resample has no errors
    split: Numbers  # (lines, e): the probability of each explanation, were the line an error of it


def mixture_of(lines: ConfusionLines, habits: Sequence[Explanation], *, seed: int) -> Mixture:
    """Columns: knowing, the explanations, neither."""
    wrong = lines.wrong
    columns = [(~wrong).astype(float), *(one.probability for one in habits), wrong / max(lines.classes - 1, 1)]
    table = np.stack(columns, axis=1)
    patterns, ids = _patterns(table, wrong)
    weights = totals(ids, lines.count, len(patterns))[:, None]
    error = patterns[:, 0] == 0
    # all the answers are fitted closely; of a resample only what its interval shows, which is far coarser
    rho = _likeliest(patterns, weights, np.full((table.shape[1], 1), 1 / table.shape[1]), steps=5_000, close=1e-8)
    rng = np.random.default_rng([seed, 1])
    drawn = np.empty((len(patterns), DRAWS))  # the count of each pattern when combinations are drawn anew
    for place in range(DRAWS):
        times = times_drawn(rng, 1, len(lines.codes))[0]
        drawn[:, place] = totals(ids, times[lines.combination] * lines.count, len(patterns))
    starts = rng.dirichlet(np.ones(table.shape[1]), size=DRAWS).T
    resampled = _likeliest(patterns, drawn, starts, steps=1_000, close=1e-5)
    split = table[:, 1:] * rho[1:, 0]
    return Mixture(
        _of_errors(patterns[error], weights[error], rho)[1:, 0],
        _of_errors(patterns[error], drawn[error], resampled)[1:],
        split / np.maximum(split.sum(axis=1, keepdims=True), 1e-300),
    )


def _patterns(table: Numbers, wrong: Flags) -> tuple[Numbers, Ints]:
    """Lines with the same probabilities are one line: there are few of them where habits say one class each."""
    ids: Ints = wrong.astype(np.int64)
    exact = ids
    for digits in (12, 3):
        exact, size = ids, 2
        for column in table.T:
            values, place = np.unique(np.round(column, digits), return_inverse=True)
            keys, exact = number(exact * len(values) + place, size * len(values))
            size = len(keys)
        if size <= _MOST_PATTERNS:
            break
    first = np.zeros(size, dtype=np.int64)
    first[exact] = np.arange(len(exact))
    return table[first], exact


def _likeliest(patterns: Numbers, weights: Numbers, start: Numbers, *, steps: int, close: float) -> Numbers:
    """The shares of the sources that make the answers likeliest, a column for each column of weights."""
    rho, total = start, weights.sum(axis=0)
    for _ in range(steps):
        ratio = weights / np.maximum(patterns @ rho, 1e-300)
        better = rho * (patterns.T @ ratio) / total
        moved = float(np.abs(better - rho).max())
        rho = better
        if moved <= close:
            break
    return rho


def _of_errors(patterns: Numbers, weights: Numbers, rho: Numbers) -> Numbers:
    """Each source's share of the errors; NaN where there are none."""
    ratio = weights / np.maximum(patterns @ rho, 1e-300)
    total = weights.sum(axis=0)
    return np.asarray(rho * (patterns.T @ ratio) / np.where(total > 0, total, np.nan))
