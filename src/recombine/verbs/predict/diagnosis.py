"""What would become of each combination, and why: the verdicts.

*seen*: trained on. *novel*: it holds a value never seen. *not determined*: the seen ones leave its answer open under
any additive rule. Then, where the true answer is known and the prediction is wrong: *can't* (no sum over seen
conjunctions is right), *leak* (without what is memorised in full combinations it would be right), *shortcut* (it would
still be wrong: some conjunction pulls the wrong way). Where the truth is not known: *unsure* (the variance says that it
does not know), *leak* (what is memorised moves the answer). Else *fine*, unless held-out combinations came out no
better than by a simple rule, or other learners that might as well be trained answer something else: then *unsure* too.

All of it speaks of kernel-like learners; a network that learns features may do better or worse.

*Can't* asks whether any rule over the seen conjunctions could give the true answers. Whatever the weights, the
learner's answers on unseen combinations are sums over conjunctions that were seen. If the true answers are not such a
sum (for classes: if no such sum has the right signs), the learner can't, however long it trains. We look for the best
sum directly: least squares for numbers; for classes least squares on those that are not yet on the right side with a
margin of one, again and again (Newton's method for the squared hinge). Iterations that do not come to their end are
replaced by an elimination or a linear program. Where those are out of reach as well, the answer is not known, NaN, and
nobody is told that it can't.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from recombine.data.support import Support
from recombine.numerics.groups import Codes, Flags, Ints, Numbers, totals
from recombine.numerics.sparse_solver import solved
from recombine.verbs.audit.combination_status import rungs
from recombine.verbs.audit.determinacy import determinacy
from recombine.verbs.audit.determined_space import Determinacy
from recombine.verbs.predict.kernel.order_weights import WeightsBySize
from recombine.verbs.predict.kernel.salience import members
from recombine.verbs.predict.kernel.squared_loss import DualWeights, Weights
from recombine.verbs.predict.learner import FittedLearner

_ITERATIONS = 400
_ROUNDS = 60
_TOLERANCE = 1e-10
_SETTLED = 1e-7  # of the gradient, against the first one: what is left moves no answer by as much
_MOST_PRODUCTS = 5 * 10**7
_MOST_PROGRAMMED = 20_000

VERDICTS = ("seen", "fine", "leak", "shortcut", "can't", "not determined", "unsure", "novel", "impossible")
SEEN, FINE, LEAK, SHORTCUT, CANNOT, NOT_DETERMINED, UNSURE, NOVEL, IMPOSSIBLE = range(9)

WRONG = 0.1
"""A number is wrong if it is off by more than this share of the seen answers' standard deviation."""
KNOWN = 0.5
"""The learner knows an answer if the seen ones take away at least this share of the doubt about its lower parts."""
_LEVEL = 1e-9


@dataclass(frozen=True, eq=False)
class SeenParts:
    """For some combinations, their conjunctions that were seen in training: the columns that a rule can use."""

    rows: int
    places: tuple[Ints, ...]  # one array a set; the last group of each stands for "never seen"
    sizes: tuple[int, ...]
    constant: bool = False  # whether one of the columns is the constant

    @classmethod
    def of(cls, support: Support, weights: Weights, codes: Codes) -> "SeenParts":
        """Lower conjunctions alone: an unseen combination's own was never seen."""
        masks = [mask for mask in range(1, len(weights) - 1) if weights[mask]]
        groups = [support.groups(members(mask)) for mask in masks]
        places = [np.zeros(len(codes), dtype=np.int64)] if weights[0] else []
        sizes = [1] if weights[0] else []
        for one in groups:
            found = one.lookup(codes)
            places.append(np.where(found < 0, one.size, found))
            sizes.append(one.size)
        return cls(len(codes), tuple(places), tuple(sizes), constant=bool(weights[0]))

    def spread(self, coefficients: list[Numbers]) -> Numbers:
        """The rule's answer on each combination."""
        total = np.zeros(self.rows)
        for place, coefficient in zip(self.places, coefficients, strict=True):
            total += np.append(coefficient, 0.0)[place]
        return total

    def sums(self, values: Numbers) -> list[Numbers]:
        """The sum over each conjunction's combinations."""
        return [totals(place, values, size + 1)[:-1] for place, size in zip(self.places, self.sizes, strict=True)]

    def closest(self, target: Numbers, among: Flags | None = None) -> Numbers:
        """The rule's answers that come closest to the target, in squares, among some of the combinations.

        Where conjugate gradients do not settle, the normal equations are eliminated; NaN where they are too many, or
        not solved even so.
        """
        chosen = np.ones(self.rows) if among is None else among.astype(np.float64)
        fit = self.projected(target, chosen, tolerance=_TOLERANCE, iterations=_ITERATIONS).fit
        left, first = (self._flat_sums(chosen * missed) for missed in (target - fit, target))
        if left @ left <= _SETTLED**2 * (first @ first):
            return fit
        return self._eliminated(target, chosen > 0)

    def projected(
        self, target: Numbers, chosen: Numbers, *, tolerance: float, iterations: int, scale: Numbers | None = None
    ) -> "Projected":
        """The same by SciPy's conjugate gradients on the normal equations, which are never written out.

        Started from zero they find the smallest such rule. `scale` multiplies each column: with one over the root of
        its combinations all columns are of one length, and rare ones do not hold up the others. They settle when what
        is left of the gradient is `tolerance` of the first one.
        """
        from scipy.sparse.linalg import LinearOperator, cg  # noqa: PLC0415 - SciPy is loaded where it is needed

        width = sum(self.sizes)
        scales = np.ones(width) if scale is None else scale
        cuts = np.cumsum(self.sizes)[:-1]

        def spread(coefficients: Numbers) -> Numbers:
            return self.spread(np.split(scales * coefficients, cuts))

        right = scales * self._flat_sums(chosen * target)
        if not right.any():
            return Projected(np.zeros(self.rows), settled=True)
        normal = LinearOperator(
            (width, width),
            matvec=lambda column: scales * self._flat_sums(chosen * spread(column)),
            dtype=np.float64,
        )
        found, left_open = cg(normal, right, rtol=tolerance, atol=0.0, maxiter=iterations)
        return Projected(spread(found), settled=not left_open)

    def _flat_sums(self, values: Numbers) -> Numbers:
        return np.concatenate([np.zeros(0), *self.sums(values)])

    def _eliminated(self, target: Numbers, chosen: Flags) -> Numbers:
        if int(chosen.sum()) * len(self.places) ** 2 > _MOST_PRODUCTS:
            return np.full(self.rows, np.nan)
        design = self.design()
        among = design[chosen]
        found, passed = solved((among.T @ among).tocsr(), among.T @ target[chosen, None])
        return np.asarray(design @ found[:, 0]) if passed.all() else np.full(self.rows, np.nan)

    def design(self) -> Any:
        """The columns written out, as a sparse matrix (csr_array)."""
        from scipy.sparse import csr_array, hstack  # noqa: PLC0415 - SciPy is loaded where it is needed

        blocks = []
        for place, size in zip(self.places, self.sizes, strict=True):
            seen = np.flatnonzero(place < size)
            blocks.append(csr_array((np.ones(len(seen)), (seen, place[seen])), shape=(self.rows, size)))
        return hstack(blocks, format="csr")


@dataclass(frozen=True, eq=False)
class Projected:
    """The answers of the rule that comes closest, and whether the search for it came to its end."""

    fit: Numbers
    settled: bool


def shortfall(parts: SeenParts, target: Numbers) -> Numbers:
    """How far the best rule stays from each of the true numbers."""
    middle = (
        float(target.mean()) if parts.constant else 0.0
    )  # far from 0 the search would stop at the constant's digits
    return np.asarray(np.abs(target - middle - parts.closest(target - middle)))


def best_margin(parts: SeenParts, signs: Numbers) -> Numbers:
    """The signed margin of each combination under the rule that comes closest to giving all of them one or more."""
    fit = np.zeros(parts.rows)
    for _ in range(_ROUNDS):
        short = signs * fit < 1 - 1e-9
        if not short.any():
            return signs * fit
        better = parts.closest(signs, short)
        if np.isnan(better).any():
            break
        moved = _best_between(fit, better, signs)
        if np.abs(moved - fit).max() <= 1e-9:
            return signs * fit
        fit = moved
    return _programmed(parts, signs)


def _programmed(parts: SeenParts, signs: Numbers) -> Numbers:
    """The same by a linear program, in sums rather than squares of what is short of one; NaN where it is too large."""
    from scipy.optimize import linprog  # noqa: PLC0415 - SciPy is loaded where it is needed
    from scipy.sparse import eye_array, hstack  # noqa: PLC0415

    if parts.rows > _MOST_PROGRAMMED or not parts.places:
        return np.full(parts.rows, np.nan)
    design = parts.design()
    width = design.shape[1]
    wanted = hstack([-design.multiply(signs[:, None]), -eye_array(parts.rows)], format="csr")
    bounds = [(None, None)] * width + [(0, None)] * parts.rows
    costs = np.repeat([0.0, 1.0], [width, parts.rows])
    found = linprog(costs, A_ub=wanted, b_ub=-np.ones(parts.rows), bounds=bounds, method="highs")
    return np.asarray(signs * (design @ found.x[:width])) if found.status == 0 else np.full(parts.rows, np.nan)


def _best_between(old: Numbers, new: Numbers, signs: Numbers) -> Numbers:
    """The point between two rules with the least squared shortfall: a convex function of one number."""
    low, high = 0.0, 1.0
    if _slope(old, new, signs, 1.0) <= 0:
        return new
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (low, middle) if _slope(old, new, signs, middle) > 0 else (middle, high)
    return old + low * (new - old)


def _slope(old: Numbers, new: Numbers, signs: Numbers, share: float) -> float:
    short = np.maximum(1 - signs * (old + share * (new - old)), 0.0)
    return -float(short @ (signs * (new - old)))


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """Everything that is worked out for some combinations, a line each. Legend: r combinations, m questions."""

    learner: FittedLearner
    codes: Codes
    truth: Numbers  # (r,) NaN where not known
    doubt: Numbers | None = None  # (r,) standard error of each true number, which rests on few examples itself
    refuted: bool = False  # whether such a learner was tested here, and is no better than a simple rule
    others: tuple[FittedLearner, ...] = ()  # that might as well be trained: networks of other depths, the other loss

    def judged(self, *, refuted: bool) -> "Diagnosis":
        """The same where the learner was tested; what is worked out already is kept."""
        found = replace(self, refuted=refuted)
        kept = {name: value for name, value in vars(self).items() if name not in (*vars(found), "verdicts")}
        vars(found).update(kept)
        return found

    @cached_property
    def scores(self) -> Numbers:
        """(r, m) What the learner answers."""
        return self.learner.answers.bounded(self.learner.fitted.scores(self.codes))

    @cached_property
    def unleaked(self) -> Numbers:
        """(r, m) What it would answer if it memorised nothing in full combinations."""
        return self.learner.answers.bounded(self.learner.unleaked.scores(self.codes))

    @cached_property
    def variances(self) -> tuple[Numbers, Numbers]:
        """The posterior variance and its own standard error, in the kernel's units."""
        return self.learner.uncertainty.of(self.codes)

    @cached_property
    def doubts(self) -> Numbers:
        """The variance of what lies below the full set: what the seen combinations could tell, and have not."""
        return np.maximum(self.variances[0] - self.learner.uncertainty.kept(self.codes)[0], 0.0)

    @cached_property
    def seen(self) -> Flags:
        """Which of them were trained on."""
        return self.learner.seen(self.codes) >= 0

    @cached_property
    def rungs(self) -> npt.NDArray[np.str_]:
        """The rung of each on the audit's ladder, counting from what was trained on."""
        return rungs(self.learner.support, self.determinacy, self.codes)

    @cached_property
    def determinacy(self) -> Determinacy:
        """What would follow from the combinations that were trained on."""
        return determinacy(self.learner.support, seed=self.learner.seed)

    @cached_property
    def predicted(self) -> Ints:
        """The class that each is given; -1 for a number."""
        return self.learner.answers.decide(self.scores)

    @cached_property
    def spread(self) -> float:
        """The standard deviation of the seen answers: what makes an error large."""
        return float(self.learner.answers.values.std()) or 1.0

    @cached_property
    def known(self) -> Flags:
        """Where the truth is known."""
        return np.isfinite(self.truth)

    @cached_property
    def wrong(self) -> Flags:
        """Known, and the prediction misses it."""
        return self.known & self._misses(self.scores)

    @cached_property
    def allowed(self) -> Numbers:
        """(r,) How far a number may be from the truth: a tenth of the answers' spread, twice the truth's own error."""
        doubt = np.zeros(len(self.codes)) if self.doubt is None else self.doubt
        return WRONG * self.spread + 2 * np.nan_to_num(doubt)

    @cached_property
    def errors(self) -> Numbers:
        """Prediction less truth for a number; 0 or 1 for a class; NaN where the truth is not known."""
        if self.learner.answers.kind == "number":
            return self.scores[:, 0] - self.truth
        return np.where(self.known, self._misses(self.scores), np.nan)

    @cached_property
    def unsure(self) -> Flags:
        """Where the seen combinations take away too little of the doubt about what lies below the full set."""
        lower = self.learner.uncertainty.prior_of_parts(self.codes)
        ignorant = (self.doubts > (1 - KNOWN) * lower) | (lower <= 0)
        return (ignorant | self._undecided(self.scores)) & ~self.seen

    @cached_property
    def disputed(self) -> Flags:
        """Unseen, and some other learner answers something else: another class, or a number that would be wrong."""
        found = np.zeros(len(self.codes), dtype=bool)
        asked = np.flatnonzero(~self.seen)
        for other in self.others if len(asked) else ():
            scores = self.learner.answers.bounded(other.fitted.scores(self.codes[asked]))
            if self.learner.answers.kind == "number":
                found[asked] |= np.abs(scores - self.scores[asked])[:, 0] > WRONG * self.spread
            else:
                found[asked] |= self.learner.answers.decide(scores) != self.predicted[asked]
        return found

    @cached_property
    def verdicts(self) -> npt.NDArray[np.uint8]:
        """One of the verdicts for each."""
        wrong = self.wrong
        moved = self._moved
        conditions = [
            (self.seen, SEEN),
            (self.rungs == "impossible", IMPOSSIBLE),
            (self.rungs == "novel", NOVEL),
            (self.rungs == "undetermined", NOT_DETERMINED),
            (wrong & self.cannot, CANNOT),
            (wrong & ~self._misses(self.unleaked), LEAK),
            (wrong, SHORTCUT),
            (self.known & self.disputed, UNSURE),
            (self.known, FINE),
            (self.unsure, UNSURE),
            (moved, LEAK),
            (self.disputed, UNSURE),
            (np.full(len(self.codes), self.refuted), UNSURE),
        ]
        found = np.select([flag for flag, _ in conditions], [code for _, code in conditions], default=FINE)
        return found.astype(np.uint8)

    @cached_property
    def cannot(self) -> Flags:
        """Unseen, known, and out of reach of every sum over seen conjunctions."""
        asked = np.flatnonzero(self.known & ~self.seen & (self.rungs != "novel"))
        found = np.zeros(len(self.codes), dtype=bool)
        if len(asked) and not isinstance(self.learner.salience.weights, WeightsBySize):  # else it is not known
            parts = SeenParts.of(self.learner.support, self.learner.salience.weights, self.codes[asked])
            found[asked] = self._out_of_reach(parts, asked)
        return found

    def _out_of_reach(self, parts: SeenParts, asked: Ints) -> Flags:
        own, truth = self.learner.answers, self.truth[asked]
        if own.kind == "number":
            return shortfall(parts, truth) > self.allowed[asked]
        if own.questions == 1:
            return best_margin(parts, 2 * truth - 1) <= 1e-6
        margins = [best_margin(parts, np.where(truth == place, 1.0, -1.0)) for place in range(own.questions)]
        return np.stack(margins)[truth.astype(np.int64), np.arange(len(truth))] <= 1e-6

    @cached_property
    def _moved(self) -> Flags:
        """Where memorising changes the answer: the class, or a number by more than counts as wrong.

        A learner fitted to the data keeps back what the data say cannot be told from the parts: that is no leak.
        """
        if self.learner.salience.name == "fit":
            return np.zeros(len(self.codes), dtype=bool)
        if self.learner.answers.kind == "number":
            return np.abs(self.scores - self.unleaked)[:, 0] > WRONG * self.spread
        changed = self.predicted != self.learner.answers.decide(self.unleaked)
        return np.asarray(changed & ~self._undecided(self.unleaked))

    def _misses(self, scores: Numbers) -> Flags:
        own = self.learner.answers
        if own.kind == "number":
            return np.asarray(np.abs(scores[:, 0] - self.truth) > self.allowed)
        return np.asarray(own.decide(scores) != self.truth) | self._undecided(scores)

    def _undecided(self, scores: Numbers) -> Flags:
        """Where the two best classes are level: rounding alone would decide, and that is no answer."""
        own = self.learner.answers
        if own.kind == "number":
            return np.zeros(len(scores), dtype=bool)
        if own.questions == 1:
            return np.asarray(np.abs(scores[:, 0]) <= _LEVEL)
        best = np.sort(scores, axis=1)
        return np.asarray(best[:, -1] - best[:, -2] <= _LEVEL)

    def pulls(self, row: int) -> list[tuple[float, int | tuple[int, ...]]]:
        """How far each seen conjunction of one combination pulls its answer in the wrong direction, farthest first: by
        its mask, or by its effects where some of them are elements of sets.
        """
        question, direction = self._towards_wrong(row)
        fitted = self.learner.fitted
        if isinstance(fitted, DualWeights) and self.learner.support.space.set_factors:
            told = [(float(direction * added[question]), held) for added, held in fitted.of_parts(self.codes[row])]
            return sorted(told, reverse=True)
        one = self.codes[row : row + 1]
        found = [
            (float(direction * self.learner.fitted.contribution(mask, one)[0, question]), mask)
            for mask in self.learner.fitted.coefficients
        ]
        return sorted((pull for pull in found if np.isfinite(pull[0])), reverse=True)

    def _towards_wrong(self, row: int) -> tuple[int, float]:
        own = self.learner.answers
        if not self.known[row]:
            return 0, 0.0
        if own.kind == "number":
            return 0, float(np.sign(self.errors[row]))
        if own.questions == 1:
            return 0, float(1 - 2 * self.truth[row])
        return int(self.predicted[row]), 1.0
