"""Which seen combinations to hold out, so that what is left stands to them as the data stand to the unseen ones.

Candidates are drawn in three ways, each in several sizes: at random; as the pattern of the unseen ones, with the values
of every factor exchanged at random, or the elements of its sets (where a corner is missing, another corner is held
out); and the more often, the more a combination looks like an unseen one already. No candidate takes the last
combination of a value or element: unseen ones hold seen ones only. Each round takes the candidate with which all rounds
together are most like the unseen ones (`matching.distance`), a few more combinations being worth a little of that.
Where no combination can be spared, there are no rounds.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from recombine.base.seeds import derived
from recombine.data.support import Support
from recombine.numerics.groups import Codes, Ints, Numbers
from recombine.numerics.rows import IncidenceRows
from recombine.verbs.predict.answers import Answers, answers
from recombine.verbs.rehearse.difficulty import Difficulty, difficulty
from recombine.verbs.rehearse.holdout_matching import distance, squared_distances

_SHARES = (0.06, 0.12, 0.2, 0.33)
"""Of the seen combinations, held out at a time."""
_DRAWS = 2  # of each way and size: the best of some 24 candidates is hardly bettered by more
_MANY = 2_000
"""Above so many seen combinations each way is drawn once, with one size."""
_USUAL_SHARE = 0.15
MOST_HELD_OUT = 400
"""Combinations of a round: more tell no more, and their difficulty takes time."""
_MOST_ASKED = 600  # unseen combinations that candidates are compared with: each comparison takes all pairs
_WORTH = 0.3
"""Of a distance of 1, as a miss of the score; beside it stands the standard error that few combinations have."""
_DEVIATION = 0.4
_FEWEST_CLASSES = 2

Tell = Callable[[float], None]


@dataclass(frozen=True, eq=False)
class HoldoutRound:
    """Combinations that are held out together. Legend: t of them, n seen ones."""

    held: Ints  # (t,) places among the seen combinations
    kept: Ints  # (n - t,)
    way: str
    difficulty: Difficulty  # (t, f) given the kept ones


@dataclass(frozen=True, eq=False)
class Seen:
    """The seen combinations, each with its answer, and whether right answers count in the difficulty."""

    support: Support
    own: Answers
    with_truth: bool

    @property
    def truth(self) -> Numbers:
        """(n,) The answer of each: its commonest class's place, or its mean."""
        return self.own.values[:, 0] if self.own.kind == "number" else self.own.labels.astype(np.float64)

    def difficulty(self, held: Ints, kept: Ints) -> Difficulty:
        """How hard some of them are for who has seen some others."""
        known = self.support.subset(kept)
        told = self.truth[held] if self.with_truth else None
        return difficulty(known, answers(known, one_class=True), self.support.codes[held], told)


def sparable(rows: IncidenceRows, order: Ints, most: int) -> Ints:
    """The first so many, in this order, that can be taken together without taking the last of any value or element.

    >>> cross = IncidenceRows.listed([[0, 2], [0, 3], [1, 2]], width=4)
    >>> sparable(cross, np.arange(3), 3).tolist(), sparable(cross, np.array([1]), 1).tolist()
    ([0], [])
    """
    left = rows.counts()
    taken: list[int] = []
    for place in order:
        held = rows.columns[rows.starts[place] : rows.starts[place + 1]]
        if len(taken) < most and (left[held] > 1).all():
            taken.append(int(place))
            left[held] -= 1
    return np.array(taken, dtype=np.int64)


def choose_rounds(
    seen: Seen, unseen: Codes, asked: Difficulty, *, rounds: int, seed: int, tell: Tell = lambda _: None
) -> tuple[HoldoutRound, ...]:
    """The rounds of a rehearsal for these unseen combinations, whose difficulty is `asked`; none if none can be."""
    goal = asked.scaled
    if len(goal) > _MOST_ASKED:
        goal = goal[np.random.default_rng(derived(seed, "asked")).choice(len(goal), _MOST_ASKED, replace=False)]
    found: list[HoldoutRound] = []
    for number in range(rounds):
        tell(number / rounds)
        rng = np.random.default_rng(derived(seed, "round", number))
        best, least = None, np.inf
        for one in _candidates(seen, unseen, goal, asked.names, rng):
            together = np.concatenate([other.difficulty.scaled for other in [*found, one]])
            cost = _WORTH * distance(together, goal) + _DEVIATION / np.sqrt(rounds * len(one.held))
            if cost < least:
                best, least = one, cost
        if best is not None:
            found.append(best)
    return tuple(found)


def _candidates(
    seen: Seen, unseen: Codes, goal: Numbers, names: tuple[str, ...], rng: np.random.Generator
) -> Iterator[HoldoutRound]:
    count = len(seen.support)
    shares = _SHARES if count <= _MANY else (_USUAL_SHARE,)
    likeness = _likeness(seen, goal, names)
    rows = seen.support.space.effects.rows(seen.support.codes)
    for share in shares:
        most = min(MOST_HELD_OUT, max(1, round(share * count)))
        for _ in range(_DRAWS if count <= _MANY else 1):
            for way, order in _orders(seen, unseen, likeness, rng):
                held = sparable(rows, order, most)
                made = _round(seen, held, way)
                if made is not None:
                    yield made


def _orders(seen: Seen, unseen: Codes, likeness: Numbers, rng: np.random.Generator) -> Iterator[tuple[str, Ints]]:
    """Three ways to go through the seen combinations: those that come first are held out."""
    count = len(seen.support)
    yield "at random", rng.permutation(count)
    yield "like the unseen ones", np.argsort(-(likeness + rng.gumbel(size=count)))
    kinds = [factor.kind for factor in seen.support.space.factors]
    moved = [kind.exchanged(unseen[:, k], rng.permutation(kind.effects)) for k, kind in enumerate(kinds)]
    place = seen.support.groups(range(len(kinds))).lookup(np.stack(moved, axis=1))
    yield "in the pattern of the unseen ones", rng.permutation(place[place >= 0])


def _likeness(seen: Seen, goal: Numbers, names: tuple[str, ...]) -> Numbers:
    """(n,) For each seen combination the logarithm of how much it looks like an unseen one while it is still there.

    What is left once it is held out is hard to say before, so only how it would stand in the full table is looked at.
    """
    every = np.arange(len(seen.support))
    if len(every) > _MANY:
        return np.zeros(len(every))
    stands = seen.difficulty(every, every)
    columns = [place for place, name in enumerate(names) if name not in ("open", "doubt")]
    apart = squared_distances(stands.scaled[:, columns], goal[:, columns])
    # twice as wide as the kernel that matches, so that a first guess reaches further; never quite impossible
    return np.asarray(np.log(np.exp(-apart / 4).mean(axis=1) + 1e-6))


def _round(seen: Seen, held: Ints, way: str) -> HoldoutRound | None:
    """A round, or none where nothing is held out or what is left knows no two classes."""
    if not len(held):
        return None
    kept = np.setdiff1d(np.arange(len(seen.support)), held)
    if seen.own.kind == "label" and len(np.unique(seen.own.labels[kept])) < _FEWEST_CLASSES:
        return None
    return HoldoutRound(np.sort(held), kept, way, seen.difficulty(np.sort(held), kept))
