"""The sum of one number a value that fits the seen answers best: of combinations not seen, of each seen one as the
others would answer it, and the numbers themselves.

Leave-one-out is in closed form. With the least-squares fit f of all answers y and the leverage h of a combination (how
much it pulls the fit towards itself), the fit of all others misses its answer by (y - f) / (1 - h): one fit holds out
every combination in turn.
Where h is 1 the others do not tell the answer at all, so the combination cannot be held out. What is left of its
leverage without it is h / (1 - h), on the scale on which unseen combinations have theirs.

A whole block B is held out at once in the same way: with the leverages H_BB of its combinations on each other, the
fit of all others misses their answers by (I - H_BB)⁻¹ (y_B - f_B), and amplifies noise by the diagonal of that inverse
less 1.

Small systems are inverted once (`additive_design`); large ones are solved sparsely, for as many combinations as are
asked for. No matrix over pairs of combinations is ever built.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from recombine.numerics.additive_design import ALONE, AdditiveDesign, AdditiveFit, Sizes
from recombine.numerics.groups import Codes, Ints, Numbers
from recombine.numerics.sparse_solver import SparseLeverage

_ROUNDING = 1e-9
_MOST_ENTRIES = 5 * 10**7  # of the eliminated factor beside all others: 400 MB


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """Combinations held out one at a time. Legend: t of them could be tested, m numbers each."""

    rows: Ints  # (t,) which
    said: Numbers  # (t, m) what the others give for them
    leverage: Numbers  # (t,) how much noise of the others that amplifies
    untestable: int  # tried, but the others leave them open
    unsolved: int  # tried, but their equations were not solved to the last digits
    fitted: float  # the sum of squares of the fit to all answers

    def subset(self, kept: npt.NDArray[np.bool_]) -> "LeaveOneOut":
        """Some of those that could be tested."""
        return replace(self, rows=self.rows[kept], said=self.said[kept], leverage=self.leverage[kept])


def additive_answers(codes: Codes, sizes: Sizes, values: Numbers, weights: Numbers, asked: Codes) -> Numbers:
    """(c, m) What the effects that fit `values` (n, m) best add up to; NaN where the seen combinations leave it open.

    `weights` are the rows of each combination, or ones where combinations count alike.

    >>> codes = np.array([[0, 0], [0, 1], [1, 0]], dtype=np.int32)
    >>> values, asked = np.array([[0.0], [1.0], [2.0]]), np.array([[1, 1]], dtype=np.int32)
    >>> additive_answers(codes, (2, 2), values, np.ones(3), asked).round(6).tolist()
    [[3.0]]
    """
    every = np.asfortranarray(np.concatenate([codes, asked]))
    none = np.zeros(len(asked))  # of weight 0 they take no part in the fit, and are told by all that do
    fit = AdditiveFit.of(every, sizes, weights=np.concatenate([weights, none]))
    found = np.empty((len(asked), values.shape[1]))
    for place, column in enumerate(values.T):
        found[:, place] = fit.left_out(np.concatenate([column, none]), np.zeros(len(every))).value[len(codes) :]
    return found


def design_matrix(codes: Codes, sizes: Sizes, *, constant: bool) -> Numbers:
    """One-hot factors side by side, after a column of ones if there is a constant.

    >>> design_matrix(np.array([[0, 1]]), (2, 2), constant=True).tolist()
    [[1.0, 1.0, 0.0, 0.0, 1.0]]
    """
    factors = [(codes[:, k, None] == np.arange(size)).astype(np.float64) for k, size in enumerate(sizes)]
    return np.concatenate([np.ones((len(codes), int(constant))), *factors], axis=1)


def main_effects(codes: Codes, sizes: Sizes, values: Numbers, *, constant: bool) -> tuple[Numbers, int]:
    """(v, m) The smallest of the numbers that fit `values` (n, m) best, in the columns of `design_matrix`; its rank.

    By the eigenvalues of A'A, which is as large as the values of all factors, however many rows there are. A'A holds
    counts, so an eigenvalue below a 10⁻⁹ of the largest is a zero that rounding has moved. Without a constant the
    values are best given about their mean: their level would be shared out among the factors.

    >>> effects, rank = main_effects(np.array([[0, 0], [0, 1], [1, 0]]), (2, 2), np.eye(3), constant=False)
    >>> effects.shape, rank
    ((4, 3), 3)
    """
    design = design_matrix(codes, sizes, constant=constant)
    eigenvalues, vectors = np.linalg.eigh(design.T @ design)
    kept = eigenvalues > _ROUNDING * eigenvalues[-1]
    basis = vectors[:, kept] / np.sqrt(eigenvalues[kept])
    return basis @ (basis.T @ (design.T @ values)), int(kept.sum())


def dense(sizes: Sizes) -> bool:
    """Whether the system is small enough to be inverted, which makes every combination cheap to hold out."""
    largest = max(sizes)
    return not AdditiveFit.too_large(sizes) and (sum(sizes) - largest) * largest <= _MOST_ENTRIES


def held_out(codes: Codes, sizes: Sizes, answers: Numbers, tried: Ints) -> LeaveOneOut:
    """Hold out each of the `tried` combinations in turn; `answers` has a column for each number to tell.

    >>> codes = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=np.int32)
    >>> found = held_out(codes, (2, 2), np.array([[0.0], [1.0], [2.0], [9.0]]), np.arange(4))
    >>> found.said.round(6).ravel().tolist(), found.leverage.round(6).tolist()
    ([-6.0, 7.0, 8.0, 3.0], [3.0, 3.0, 3.0, 3.0])
    """
    fitted, leverage, square = (_inverted if dense(sizes) else _solved)(codes, sizes, answers, tried)
    return without_own(answers, tried, fitted, leverage, square=square)


def without_own(answers: Numbers, tried: Ints, fitted: Numbers, leverage: Numbers, *, square: float) -> LeaveOneOut:
    """What the others say of each of the `tried`, from a fit of all that were seen, them included.

    With the fit f and the leverage h of a combination the others miss its answer y by (y - f) / (1 - h).
    """
    solved = np.isfinite(leverage) & np.isfinite(fitted).all(axis=1)
    open_ = solved & (1 - leverage < ALONE)
    kept = solved & ~open_
    rest = 1 - leverage[kept]
    mine = answers[tried[kept]]
    return LeaveOneOut(
        rows=tried[kept],
        said=mine - (mine - fitted[kept]) / rest[:, None],
        leverage=leverage[kept] / rest,
        untestable=int(open_.sum()),
        unsolved=int((~solved).sum()),
        fitted=square,
    )


def leverage_rows(design: Numbers) -> Numbers:
    """(n, rank) A row for each combination of a design: the product of two is the leverage of one on the other."""
    eigenvalues, vectors = np.linalg.eigh(design.T @ design)
    kept = eigenvalues > _ROUNDING * eigenvalues[-1]
    return np.asarray(design @ (vectors[:, kept] / np.sqrt(eigenvalues[kept])))


def blocks_held_out(scores: Numbers, answers: Numbers, blocks: Iterable[Ints]) -> LeaveOneOut:
    """Hold out each of the `blocks` at once, and work all its combinations out from what is left.

    `scores` are the `leverage_rows` of all combinations, which hang on no block.

    >>> codes = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [2, 0], [2, 1]], dtype=np.int32)
    >>> values = np.array([[0.0], [1.0], [2.0], [9.0], [4.0], [5.0]])
    >>> scores = leverage_rows(design_matrix(codes, (3, 2), constant=False))
    >>> found = blocks_held_out(scores, values, [np.array([3]), np.array([2, 3])])
    >>> found.rows.tolist(), found.said.round(6).ravel().tolist(), found.untestable  # without both, 1 is a new value
    ([3], [3.0], 2)
    """
    fitted = scores @ (scores.T @ answers)
    rows, said, leverage, open_ = [], [], [], 0
    for block in blocks:
        own, directions = np.linalg.eigh(scores[block] @ scores[block].T)
        free = 1 - own >= ALONE
        testable = np.square(directions[:, ~free]).sum(axis=1) < ALONE
        inverse = (directions[:, free] / (1 - own[free])) @ directions[:, free].T
        missed = inverse @ (answers[block] - fitted[block])
        rows.append(block[testable])
        said.append((answers[block] - missed)[testable])
        leverage.append((inverse.diagonal() - 1)[testable])
        open_ += int((~testable).sum())
    return LeaveOneOut(
        rows=np.concatenate([*rows, np.zeros(0, dtype=np.int64)]),
        said=np.concatenate([*said, np.zeros((0, answers.shape[1]))]),
        leverage=np.concatenate([*leverage, np.zeros(0)]),
        untestable=open_,
        unsolved=0,
        fitted=float(np.square(fitted).sum()),
    )


def _inverted(codes: Codes, sizes: Sizes, answers: Numbers, tried: Ints) -> tuple[Numbers, Numbers, float]:
    fit = AdditiveFit.of(codes, sizes, weights=np.ones(len(codes)))
    fitted, square = np.empty((len(tried), answers.shape[1])), 0.0
    for place, column in enumerate(answers.T):
        whole = fit.fitted(column)
        fitted[:, place] = whole[tried]
        square += float(whole @ whole)
    return fitted, fit.own_leverage[tried], square


def _solved(codes: Codes, sizes: Sizes, answers: Numbers, tried: Ints) -> tuple[Numbers, Numbers, float]:
    design = AdditiveDesign(codes, sizes)
    solver = SparseLeverage(design)
    right = np.zeros((design.width, answers.shape[1]))
    for column in design.columns.T:
        np.add.at(right, column, answers)
    effects, passed = solver.effects(right)
    effects[:, ~passed] = np.nan
    fitted = effects[design.columns[tried]].sum(axis=1)
    return fitted, np.clip(solver.at(codes[tried]), 0, 1), float((effects * right).sum())
