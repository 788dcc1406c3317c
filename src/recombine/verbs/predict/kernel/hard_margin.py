"""The hard margin: what training to the end with cross-entropy tends to, where the squared loss can disagree.

Of all rules that give every seen combination its class with a margin of at least one, the one of least norm. Its dual
weights are non-negative and vanish wherever the margin is larger: a linear complementarity problem. We solve it by
block principal pivoting (Júdice and Pires): guess which combinations sit on the margin, solve the squared loss for
just these, exchange those that turn out wrong, all of them at once while that helps and one at a time where it does
not, which ends for certain. Every step is a solve by group sums, so no n x n matrix is needed; the usual solvers of
support vector machines build one.

All of that needs a penalty. With none (no weight on the full combination, no ridge) the kernel has no inverse, and the
exchange may go round in circles, or stop at a rule that keeps no margin. Then the rule of least norm is found as the
point of a polyhedron nearest to the origin, by non-negative least squares (Lawson and Hanson, Solving Least Squares
Problems, chapter 23), which also tells where there is none; a linear program has the last word on that.
"""

from dataclasses import dataclass

import numpy as np

from recombine.base.errors import SettingError, TableError
from recombine.data.support import Support
from recombine.numerics.groups import Flags, Numbers
from recombine.verbs.predict.answers import Answers
from recombine.verbs.predict.kernel.margin_matrix import MarginMatrix
from recombine.verbs.predict.kernel.salience import members
from recombine.verbs.predict.kernel.solver import Penalty, kernel
from recombine.verbs.predict.kernel.squared_loss import MANY_SETS, SMALL, ConjunctionFit, Duals, Weights, squared

_MOST_STEPS = 500
_PATIENCE = 3  # exchanges of a whole block that may leave as many wrong ones, before one at a time is exchanged
_SLACK = 1e-9  # of the largest dual weight, or of a margin: what lies this little beyond zero is rounding
_SHORT = 1e-6  # a margin that is missed by more is not kept
_LARGEST_MATRIX = 2_000
_LARGEST_ASCENDED, _MOST_SWEEPS = 500, 5_000
_FREE_ASCENDED = 1e3  # the weight of a constant that costs nothing, where a larger one would take too many steps
_UNITS = (1.0, 10.0, 100.0, 1e3, 1e4)  # scales of the rows: where one is lost to rounding, the next may not be
_FREE = 1e6  # the weight of a constant that costs nothing, in units of the kernel


def refuse_unless_separable(answers: Answers) -> None:
    """The hard margin needs one class for each combination."""
    if answers.kind == "number":
        raise SettingError(
            f"loss='margin' for the number {answers.name!r}",
            why="a margin is kept from other classes; a number has none",
            instead="write loss='squared', or read the target as a label: target_kind='label'",
        )
    if answers.mixed:
        raise SettingError(
            f"loss='margin', but {answers.mixed:,} combinations hold rows of several classes of {answers.name!r}",
            why="no rule over these factors keeps a margin from both classes of one combination",
            instead="write loss='squared', which takes the mean, or name the factor that tells such rows apart",
        )


def margin(support: Support, weights: Weights, penalty: Penalty, signs: Numbers) -> Duals:
    """Dual weights for each column of signs, -1 or +1."""
    made = _in_one_matrix(support, weights, penalty, signs)
    if made is not None:
        return made
    found = [_one(support, weights, penalty, column) for column in signs.T]
    return Duals(
        np.stack([one.dual for one in found], axis=1),
        np.array([one.intercept for one in found]),
        max(one.residual for one in found),
        sum(one.iterations for one in found),
    )


def _in_one_matrix(support: Support, weights: Weights, penalty: Penalty, signs: Numbers) -> Duals | None:
    """The shorter way for few combinations, and for many sets of factors."""
    many = sum(1 for weight in weights if weight) > MANY_SETS
    made = MarginMatrix.of(support, weights, penalty) if many or len(support) <= SMALL else None
    return None if made is None else made.solve(signs)


@dataclass(frozen=True, eq=False)
class _Candidate:
    """A guess at who sits on the margin, solved: dual weights, and everybody's signed margin less one."""

    dual: Numbers
    spare: Numbers
    intercept: float
    residual: float
    iterations: int

    def wrong(self, on_margin: Flags, signs: Numbers) -> Flags:
        """On the margin though pushed back, or off it though short of it."""
        return np.where(on_margin, self.dual * signs < -_SLACK * np.abs(self.dual).max(), self.spare < -_SLACK)


def _one(support: Support, weights: Weights, penalty: Penalty, signs: Numbers) -> _Candidate:
    found = _exchanged(support, weights, penalty, signs)
    if found is None or found.spare.min() < -_SHORT:
        found = _least_distance(support, weights, penalty, signs)
    if found is None or found.spare.min() < -_SHORT:
        found = _ascended(support, weights, penalty, signs)
    if found is None or found.spare.min() < -_SHORT:
        raise _refused(support, weights, penalty, signs)
    return found


def _exchanged(support: Support, weights: Weights, penalty: Penalty, signs: Numbers) -> _Candidate | None:
    """Block principal pivoting; None where it does not end."""
    on_margin = np.ones(len(support), dtype=bool)
    fewest, patience = len(support) + 1, _PATIENCE
    for _ in range(_MOST_STEPS):
        candidate = _candidate(support, weights, penalty, signs, on_margin)
        wrong = candidate.wrong(on_margin, signs)
        count = int(wrong.sum())
        if not count:
            return candidate
        if count < fewest:
            fewest, patience = count, _PATIENCE
        else:
            patience -= 1
        if patience < 0:  # the one exchange that cannot go round in circles (Murty)
            wrong[: np.flatnonzero(wrong)[-1]] = False
        on_margin = on_margin ^ wrong
        if not on_margin.any():
            return None
    return None


def _least_distance(support: Support, weights: Weights, penalty: Penalty, signs: Numbers) -> _Candidate | None:
    """The least w with Z w >= 1, a row of Z being a combination's features times its sign; None where there is none.

    The features come from the kernel. A thin margin needs a large w, of which non-negative least squares would lose the
    digits in its own units: so it is tried in larger ones too.
    """
    if len(support) > _LARGEST_MATRIX:
        return None
    free = np.isinf(weights[0])
    matrix = kernel(support.codes, support.codes, (0.0 if free else weights[0], *weights[1:-1], 0.0))
    matrix[np.diag_indices(len(matrix))] += _own(penalty)
    largest = float(np.diag(matrix).max()) or 1.0
    values, vectors = np.linalg.eigh(matrix + _FREE * largest if free else matrix)
    kept = values > 1e-12 * values[-1]
    rows = signs[:, None] * vectors[:, kept] * np.sqrt(values[kept])
    for unit in _UNITS:
        pushed = _pushed(rows * (unit / np.sqrt(largest)))
        if pushed is None:
            continue
        dual = signs * pushed * (unit**2 / largest)
        intercept = float(_FREE * largest * dual.sum()) if free else 0.0
        spare = signs * (matrix @ dual + intercept) - 1
        if spare.min() >= -_SHORT:
            return _Candidate(dual, spare, intercept, 0.0, 0)
    return None


def _ascended(support: Support, weights: Weights, penalty: Penalty, signs: Numbers) -> _Candidate | None:
    """The last resort: coordinate ascent on the dual, one combination at a time until every margin is kept.

    It goes up at every step, so it cannot go round in circles; it is slow where combinations can hardly be told apart,
    and without a rule that separates them it never ends, which is cut short.
    """
    if len(support) > _LARGEST_ASCENDED:
        return None
    free = np.isinf(weights[0])
    matrix = kernel(support.codes, support.codes, (0.0 if free else weights[0], *weights[1:-1], 0.0))
    matrix[np.diag_indices(len(matrix))] += _own(penalty)
    level = _FREE_ASCENDED * (float(np.diag(matrix).max()) or 1.0) if free else 0.0
    signed = signs[:, None] * (matrix + level) * signs
    pushed, margin = np.zeros(len(signs)), np.zeros(len(signs))
    for _ in range(_MOST_SWEEPS):
        for row in range(len(signs)):
            step = max((1 - margin[row]) / max(signed[row, row], 1e-300), -pushed[row])
            pushed[row] += step
            margin += step * signed[row]
        if margin.min() >= 1 - _SHORT / 2 and (pushed * (margin - 1)).max() <= _SHORT * max(pushed.max(), 1.0):
            dual = signs * pushed
            return _Candidate(dual, margin - 1, float(level * dual.sum()), 0.0, 0)
    return None


def _pushed(rows: Numbers) -> Numbers | None:
    """The non-negative a of the least rows' a with rows rows' a >= 1; None where there is none.

    Minimise |rows' u|^2 + (1 - sum u)^2 over u >= 0. At the minimum 1 - sum u is 1 / (1 + |rows' a|^2), and a is u over
    it; where it is zero, no such a exists.
    """
    from scipy.optimize import nnls  # noqa: PLC0415 - SciPy is loaded where it is needed

    try:
        found, _ = nnls(np.vstack([rows.T, np.ones(len(rows))]), np.append(np.zeros(rows.shape[1]), 1.0))
    except RuntimeError:  # it did not end within its own limit
        return None
    rest = 1 - found.sum()
    return np.asarray(found / rest) if rest > _SLACK else None


def _own(penalty: Penalty) -> float | Numbers:
    return penalty.typical if penalty.precision is None else penalty.typical / penalty.precision


def _refused(support: Support, weights: Weights, penalty: Penalty, signs: Numbers) -> TableError:
    """A linear program says whether there is no rule, or only none that this arithmetic finds."""
    if penalty.typical == 0 and not _separates(support, weights, signs):
        return TableError(
            "no sum over the weighted conjunctions gives every seen combination its class",
            why="a hard margin needs one, and without weight on the full combination nothing can be memorised",
            instead="write loss='squared', or give the full combination some weight",
        )
    return TableError(
        "the hard margin was not found",
        why="the seen combinations can hardly be told apart with these weights",
        instead="write loss='squared', or give the full combination more weight",
    )


def _separates(support: Support, weights: Weights, signs: Numbers) -> bool:
    """Whether some sum over the weighted conjunctions has every sign right, by a linear program."""
    from scipy.optimize import linprog  # noqa: PLC0415 - SciPy is loaded where it is needed
    from scipy.sparse import csr_array, hstack  # noqa: PLC0415

    rows, ones = np.arange(len(support)), np.ones(len(support))
    columns = [csr_array(ones[:, None])] if weights[0] else []
    for mask in range(1, len(weights) - 1):
        if weights[mask]:
            groups = support.groups(members(mask))
            columns.append(csr_array((ones, (rows, groups.ids)), shape=(len(rows), groups.size)))
    if not columns:
        return False
    design = hstack(columns, format="csr").multiply(signs[:, None])
    found = linprog(np.zeros(design.shape[1]), A_ub=-design, b_ub=-ones, bounds=(None, None), method="highs")
    return bool(found.status == 0)


def _candidate(support: Support, weights: Weights, penalty: Penalty, signs: Numbers, on_margin: Flags) -> _Candidate:
    chosen = np.flatnonzero(on_margin)
    part = support.subset(chosen)
    precision = None if penalty.precision is None else penalty.precision[chosen]
    duals = squared(part, weights, Penalty(penalty.typical, precision), signs[chosen, None])
    scores = ConjunctionFit.of(part, (*weights[:-1], 0.0), duals).scores(support.codes)[:, 0]
    dual = np.zeros(len(support))
    dual[chosen] = duals.weights[:, 0]
    spare = signs * (scores + _own(penalty) * dual) - 1
    return _Candidate(dual, spare, float(duals.intercept[0]), duals.residual, duals.iterations)
