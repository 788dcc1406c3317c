"""Whether the seen combinations look as if they had been chosen by their answer.

Held-out combinations stand for the unseen ones if those were not left out for what they would answer. Where only easy
ones were collected, or only those that turned out high, every held-out score is too good, and no interval knows it.

The additive rule tells an answer of every combination, seen or not, so there are two things to compare:

- of labels, the margin by which the first class leads the second: are the seen ones the clear-cut ones, beyond what
  each value's being seen more or less often explains?
- the answers: are they higher in the seen ones, or more often of one class? A sum goes with being seen only through its
  values. A value may well be common and high at once, so that counts only if it is so for every factor that matters,
  and for two at least: a choice by the answer cannot leave one of them out.

Each seen combination is told without its own answer (leave-one-out, in closed form), as the unseen ones are, and by
ridge regression with a penalty of one combination, since least squares makes the answers of rare values extreme.

How far apart they are by chance is found with the same combinations seen: the effects are dealt out anew among the
values of each factor, and what the rule misses among the seen combinations; then everything is fitted again. So values
that are seen more often than others, nested factors and noisy effects are no sign of anything, unless they go with the
answers. What nobody can see from such a table is a choice by what the rule does not tell: the assumption is then said.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from recombine.base.grades import Grade
from recombine.base.seeds import derived
from recombine.base.words import measure
from recombine.data.space import text
from recombine.data.support import LabelTarget, Support
from recombine.numerics.additive_fit import design_matrix, main_effects
from recombine.numerics.groups import Codes, Ints, Numbers
from recombine.verbs.audit.determined_space import Determinacy
from recombine.verbs.audit.seen_answers import seen_answers, why_untestable
from recombine.verbs.audit.unseen_combinations import unseen_combinations

_DRAWS = 199
_LEVEL = 0.02
"""Of each sign. Where what the rule misses comes in blocks, chance makes about twice as many false alarms."""
_PENALTY = 1.0
_MATTERS = 0.3  # of the largest: a factor whose effects move the answers less than that is not consulted
_ALSO = 1.28  # standard deviations: what a factor for itself shows by chance one time in ten
_FEWEST = 16  # seen combinations: with fewer a few of them are the whole pattern
_LISTED, _DRAWN = 4_000, 2_000  # combinations of each side that are compared
_MOST_WORK = 5 * 10**8  # multiplications of all draws: less than a second
_WIDEST = 1_000  # values of all factors: the inverse is as large as their square


@dataclass(frozen=True)
class SelectionSign:
    """That the seen combinations differ from the unseen ones in their answers, or are more clear-cut.

    `p` is how often that happens where nothing was chosen.
    """

    of: Literal["answer", "margin"]
    p: float
    target: str
    towards: str  # "higher", "lower", or a class

    @property
    def limit(self) -> Grade:
        """The best grade beside it. Common values may be high for other reasons; clear-cut ones are easier."""
        return "weak" if self.of == "margin" else "plausible"

    @property
    def warning(self) -> str:
        """The sign in a sentence, for a verdict."""
        chance = f"p = {measure(self.p)}"
        if self.of == "margin":
            found = f"the answers of the seen combinations are more clear-cut than those of the unseen ones ({chance})"
            return f"Careful: {found}. If the easy ones were collected, expect less of the others."
        which = self.towards if self.towards in ("higher", "lower") else f"more often “{self.towards}”"
        found = f"{self.target} is {which} in the seen combinations than it would be in the unseen ones ({chance})"
        return f"Careful: {found}. If they were chosen by their answer, the score may not hold for the others."


ASSUMPTION = (
    "It is assumed that the seen combinations were not chosen by their answer: no sign of that was found, and not "
    "every such choice leaves one."
)


ASSUMPTION_OF_SETS = (
    "It is assumed that the seen combinations were not chosen by their answer: of sets no sign of that is looked for."
)


def selection_sign(support: Support, solved: Determinacy, *, seed: int = 0) -> SelectionSign | None:
    """The stronger of the signs that seen combinations were chosen by their answer; None where there is none.

    They are compared with the unseen ones that they determine: of the others the rule tells nothing.

    >>> import recombine
    >>> from recombine.verbs.audit.determinacy import determinacy
    >>> seen = [(a, b) for a in range(9) for b in range(9) if a + b > 5]
    >>> table = {"a": [a for a, b in seen], "b": [b for a, b in seen], "y": [a + b + 0.1 for a, b in seen]}
    >>> support = recombine.read(table, factors=["a", "b"], target="y")
    >>> selection_sign(support, determinacy(support)).towards
    'higher'
    """
    target = support.target
    if support.space.set_factors:  # the comparison is of one-hot designs
        return None
    if target is None or why_untestable(target, len(support)) is not None or sum(support.space.sizes) > _WIDEST:
        return None
    answers = seen_answers(target, len(support))
    known = support.subset(answers.rows)
    values = [np.flatnonzero(count > 0) for count in known.value_counts]
    rng = np.random.default_rng(derived(seed, "selection"))
    work = (_DRAWS + 1) * sum(support.space.sizes) * answers.values.shape[1]
    most = max(min(_DRAWN, _MOST_WORK // work), _FEWEST)
    seen = _some(np.arange(len(known)), most, rng)
    unseen, _ = unseen_combinations(support, values, listed=_LISTED, drawn=most, seed=seed)
    unseen = unseen[_some(np.flatnonzero(solved.determined(unseen)), most, rng)]
    if len(seen) < _FEWEST or not len(unseen):
        return None
    told = _Told.of(known.codes[seen], unseen, known.space.sizes, answers.values[seen])
    made = told.dealt_out(rng)
    signs = []
    if (lead := _shared_lead(told.lead(made))) is not None:
        p, place, higher = lead
        towards = text(target.classes[place]) if isinstance(target, LabelTarget) else "higher" if higher else "lower"
        signs.append(SelectionSign("answer", p, target.name, towards))
    if isinstance(target, LabelTarget):
        signs.append(SelectionSign("margin", _rank(told.margin_lead(made)), target.name, ""))
    return min((one for one in signs if one.p <= _LEVEL), key=lambda one: one.p, default=None)


def _some(places: Ints, most: int, rng: np.random.Generator) -> Ints:
    return places if len(places) <= most else np.sort(rng.choice(places, most, replace=False))


@dataclass(frozen=True, eq=False)
class _Told:
    """The ridge regression that tells all combinations. Legend: n seen, u unseen, v columns, m numbers, d draws."""

    seen: Numbers  # (n, v) ones, then one-hot factors
    unseen: Numbers  # (u, v)
    sizes: tuple[int, ...]
    middle: Numbers  # (m,) the mean answer
    answers: Numbers  # (n, m) about it
    inverse: Numbers  # (v, v)
    leverage: Numbers  # (n,)
    beyond_values: Numbers  # (n + u,) 1 for seen, 0 for unseen, less what the values alone explain of that

    @classmethod
    def of(cls, seen: Codes, unseen: Codes, sizes: tuple[int, ...], values: Numbers) -> "_Told":
        """Penalise every effect by one combination, and the mean of all by nothing."""
        shown, asked = (design_matrix(codes, sizes, constant=True) for codes in (seen, unseen))
        penalty = np.full(shown.shape[1], _PENALTY)
        penalty[0] = 0.0
        inverse = np.asarray(np.linalg.inv(shown.T @ shown + np.diag(penalty)), dtype=np.float64)
        leverage = np.einsum("ij,jk,ik->i", shown, inverse, shown)
        is_seen = np.repeat([1.0, 0.0], [len(seen), len(unseen)])
        often, _ = main_effects(np.concatenate([seen, unseen]), sizes, is_seen[:, None], constant=True)
        beyond = is_seen - np.concatenate([shown, asked]) @ often[:, 0]
        middle = values.mean(axis=0)
        return cls(shown, asked, sizes, middle, values - middle, inverse, leverage, beyond)

    def effects(self, answers: Numbers) -> Numbers:
        """(v, …) The effects that fit some answers (n, …)."""
        return np.asarray(self.inverse @ (self.seen.T @ answers))

    @property
    def _of_factor(self) -> list[slice]:
        starts = np.cumsum([1, *self.sizes]).tolist()
        return [slice(start, start + size) for start, size in zip(starts, self.sizes, strict=False)]

    def dealt_out(self, rng: np.random.Generator) -> Numbers:
        """(n, m, 1 + draws) The answers, and what they would be with effects and misses dealt out anew.

        Misses of a fit are smaller than the noise by the share of freedom that it used up.
        """
        effects = self.effects(self.answers)
        missed = self.answers - self.seen @ effects
        missed *= math.sqrt(len(missed) / max(len(missed) - self.leverage.sum(), 1.0))
        made = [self.answers]
        for _ in range(_DRAWS):
            other = np.concatenate([effects[:1], *(rng.permutation(effects[mine]) for mine in self._of_factor)])
            made.append(self.seen @ other + missed[rng.permutation(len(missed))])
        return np.stack(made, axis=2)

    def lead(self, answers: Numbers) -> Numbers:
        """(k, m, d) How much higher each factor makes the answers of the seen ones, for each of the answers (n, m, d).

        A value's effect counts by how much more often it is seen than unseen.
        """
        effects = self.effects(answers.reshape(len(answers), -1))
        often = self.seen.mean(axis=0) - self.unseen.mean(axis=0)
        return np.stack([often[mine] @ effects[mine] for mine in self._of_factor]).reshape(-1, *answers.shape[1:])

    def margin_lead(self, answers: Numbers) -> Numbers:
        """(d,) How much more clear-cut the seen ones are, beyond what their values alone explain."""
        flat = answers.reshape(len(answers), -1)
        effects, own = self.effects(flat), self.leverage[:, None]
        said = np.concatenate([(self.seen @ effects - own * flat) / (1 - own), self.unseen @ effects])
        shares = np.sort(said.reshape(-1, *answers.shape[1:]) + self.middle[:, None], axis=1)
        return np.asarray(self.beyond_values @ (shares[:, -1] - shares[:, -2]))


def _rank(found: Numbers) -> float:
    """How often chance gives as much as was found, which stands first."""
    return float((found >= found[0]).sum() / len(found))


def _shared_lead(of_factor: Numbers) -> tuple[float, int, bool] | None:
    """How often chance moves any of the numbers as far as was found; which moved furthest, and whether up.

    Each is measured by how far chance moves it, so that a frequent class does not drown a rare one. None unless every
    factor that matters, and two at least, moves the number in the same direction.
    """
    spread = of_factor[:, :, 1:].std(axis=2)
    whole = of_factor.sum(axis=0)
    middle, moves = whole[:, 1:].mean(axis=1, keepdims=True), whole[:, 1:].std(axis=1, keepdims=True)
    moved = (whole - middle) / np.where(moves > 0, moves, np.inf)
    place = int(np.abs(moved[:, 0]).argmax())
    higher = bool(moved[place, 0] > 0)
    matters = spread[:, place] >= _MATTERS * spread[:, place].max()
    alike = of_factor[matters, place, 0] * (1 if higher else -1) >= _ALSO * spread[matters, place]
    if matters.sum() < 2 or not alike.all():
        return None
    return _rank(np.abs(moved).max(axis=0)), place, higher
