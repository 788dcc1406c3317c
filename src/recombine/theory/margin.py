"""The hard margin: what training to the end with cross-entropy tends to, where the squared loss can disagree.

Of all rules that give every seen combination its class with a margin of at least one, the one of least norm. Its dual
weights are non-negative and vanish wherever the margin is larger: a linear complementarity problem. We solve it by
block principal pivoting (Júdice and Pires): guess which combinations sit on the margin, solve the squared loss for
just these, exchange those that turn out wrong, all of them at once while that helps and one at a time where it does
not, which ends for certain. Every step is a solve by group sums, so no n x n matrix is needed; the usual solvers of
support vector machines build one.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from recombine.errors import SettingError, TableError
from recombine.factors.groups import Numbers
from recombine.factors.support import Support
from recombine.theory.answers import Answers
from recombine.theory.fitted import Fitted
from recombine.theory.solver import Penalty
from recombine.theory.squared import Duals, Weights, squared

_MOST_STEPS = 500
_PATIENCE = 3
_SLACK = 1e-9

Flags = npt.NDArray[np.bool_]


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
    found = [_one(support, weights, penalty, column) for column in signs.T]
    return Duals(
        np.stack([one.dual for one in found], axis=1),
        np.array([one.intercept for one in found]),
        max(one.residual for one in found),
        sum(one.iterations for one in found),
    )


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
    raise TableError(
        f"the hard margin was not found in {_MOST_STEPS} exchanges",
        why="the seen combinations can hardly be told apart with these weights",
        instead="write loss='squared', or give the full combination more weight",
    )


def _candidate(support: Support, weights: Weights, penalty: Penalty, signs: Numbers, on_margin: Flags) -> _Candidate:
    chosen = np.flatnonzero(on_margin)
    part = support.subset(chosen)
    firmness = None if penalty.firmness is None else penalty.firmness[chosen]
    duals = squared(part, weights, Penalty(penalty.typical, firmness), signs[chosen, None])
    scores = Fitted.of(part, (*weights[:-1], 0.0), duals).scores(support.codes)[:, 0]
    dual = np.zeros(len(support))
    dual[chosen] = duals.weights[:, 0]
    own = penalty.typical if penalty.firmness is None else penalty.typical / penalty.firmness
    spare = signs * (scores + own * dual) - 1
    return _Candidate(dual, spare, float(duals.intercept[0]), duals.residual, duals.iterations)
