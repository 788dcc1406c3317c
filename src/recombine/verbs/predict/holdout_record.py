"""Seen combinations held out and predicted from the others, by the learner and by every simple rule.

One at a time in closed form, where the weights are not fitted. Squared loss: with dual weights a and the kernel K,
penalty included, the answer that the others give differs from the combination's own by a_i / (K^-1)_ii, and
1 / (K^-1)_ii is its variance. A free intercept takes the place of K^-1 by the projected P = K^-1 - u u' / sum(u), with
u = K^-1 1. Margin loss: the same for those that sit on the margin (`margin_matrix`). Otherwise in folds, each solved
anew (weights that are fitted are fitted anew too).
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from recombine.data.support import Support
from recombine.numerics.additive_design import AdditiveFit
from recombine.numerics.groups import Codes, Ints, Numbers
from recombine.numerics.incidence_fit import LARGEST
from recombine.numerics.simple_rules import ADDITIVE, filled
from recombine.verbs.audit.combination_status import rungs
from recombine.verbs.audit.determinacy import determinacy
from recombine.verbs.predict import simple_rules
from recombine.verbs.predict.answers import answers
from recombine.verbs.predict.diagnosis import Diagnosis
from recombine.verbs.predict.kernel.salience import Salience
from recombine.verbs.predict.kernel.salience_fit import resolve
from recombine.verbs.predict.learner import LARGEST_CLOSED_FORM, FittedLearner, learn

KERNEL = "kernel"


@dataclass(frozen=True, eq=False)
class HeldOutAnswers:
    """What was held out and what everybody said. Legend: t combinations, m questions."""

    codes: Codes  # (t, k) which they are
    values: Numbers  # (t, m)
    labels: Ints  # (t,)
    counts: Numbers  # (t,) rows
    said: dict[str, Numbers]  # (t, m) each
    sd: Numbers  # (t,)
    doubt: Numbers  # (t,) the variance of its lower parts given the others, in the kernel's units
    rungs: npt.NDArray[np.str_]  # by what the others fix

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def determined(self) -> npt.NDArray[np.bool_]:
        """(t,) Which of them the others fix, if the factors add up."""
        return np.asarray(self.rungs == "determined")

    def subset(self, places: Ints) -> "HeldOutAnswers":
        """Some of them."""
        arrays = {one.name: getattr(self, one.name)[places] for one in fields(self) if one.name != "said"}
        return HeldOutAnswers(**arrays, said={name: said[places] for name, said in self.said.items()})


def one_at_a_time(learner: FittedLearner) -> HeldOutAnswers | None:
    """Seen combinations as the others would answer them; None where there is no closed form, or not in time."""
    support, own = learner.support, learner.answers
    space = support.space
    if space.effects.width > LARGEST if space.set_factors else AdditiveFit.too_large(space.sizes):
        return None
    found = _kernel_left_out(learner)
    if found is None:
        return None
    tested, said, variance = found
    if learner.loss == "margin":
        answered = learner.margin_left_out()
        if answered is None:
            return None
        said = answered[tested]
    penalty = learner.salience.full + learner.noise / own.counts[tested]
    doubt = np.maximum(variance - penalty, 0.0)
    simple = simple_rules.rule_scores(support, own)
    open_ = np.isnan(simple[ADDITIVE][:, 0])
    simple[ADDITIVE] = filled(simple[ADDITIVE], simple[simple_rules.constant_name(own)])
    measured = (own.within or 0.0) / own.counts[tested]
    return HeldOutAnswers(
        support.codes[tested],
        own.values[tested],
        own.labels[tested],
        own.counts[tested],
        {KERNEL: said, **{name: each[tested] for name, each in simple.items()}},
        np.sqrt(learner.scale * (doubt + learner.salience.full) + measured),
        doubt,
        _rungs(support, open_)[tested],
    )


def _rungs(support: Support, open_: npt.NDArray[np.bool_]) -> npt.NDArray[np.str_]:
    """Without it, a value or element that no other one has is novel; what the others leave open is undetermined."""
    rows = support.space.effects.rows(support.codes)
    alone = rows.sums((rows.counts() == 1).astype(np.int64)) > 0
    return np.select([alone, open_], ["novel", "undetermined"], default="determined")


def _kernel_left_out(learner: FittedLearner) -> tuple[Ints, Numbers, Numbers] | None:
    """Some combinations, what the learner would say of each without it, and its variance, its own penalty included."""
    made = learner.inverted(most=LARGEST_CLOSED_FORM)
    if made is None:
        return None
    values, diagonal, tested = learner.answers.values, made.inverse_diagonal, made.tested
    if not learner.salience.free_constant:
        return tested, values[tested] - made.solve(values)[tested] / diagonal[:, None], 1 / diagonal
    middle = values.mean(axis=0)
    both = made.solve(np.column_stack([values - middle, np.ones(len(values))]))
    solved, ones = both[:, :-1], both[:, -1]
    projected = np.maximum(diagonal - ones[tested] ** 2 / ones.sum(), 1e-300)
    dual = solved - ones[:, None] * (solved.sum(axis=0) / ones.sum())
    return tested, values[tested] - dual[tested] / projected[:, None], 1 / projected


def block_out(learner: FittedLearner, block: Ints) -> HeldOutAnswers | None:
    """A block of combinations as the others would answer it, in closed form; None where its kernel is not inverted.

    With P as above and B the block, the answers that the others give differ from its own by (P_BB)^-1 (P y)_B, and
    (P_BB)^-1 is their covariance: `one_at_a_time` for several at once, at the price of a column for each of them.
    """
    made, own = learner.inverted(most=LARGEST_CLOSED_FORM), learner.answers
    if made is None or learner.loss != "squared":
        return None
    units = np.zeros((len(own), len(block)))
    units[block, np.arange(len(block))] = 1.0
    free = learner.salience.free_constant
    solved = made.solve(np.column_stack([own.values - own.values.mean(axis=0), units, *([np.ones(len(own))] * free)]))
    if free:  # the projected inverse
        ones = solved[:, -1:]
        solved = solved[:, :-1] - ones * (solved[:, :-1].sum(axis=0) / ones.sum())
    else:
        solved[:, : own.questions] = made.solve(own.values)
    apart = np.linalg.inv(solved[block, own.questions :])
    variance = np.maximum(np.diag(apart), 0.0)
    counts = own.counts[block]
    doubt = np.maximum(variance - learner.salience.full - learner.noise / counts, 0.0)
    codes, left = learner.support.codes[block], learner.support.subset(np.setdiff1d(np.arange(len(own)), block))
    return HeldOutAnswers(
        codes=codes,
        values=own.values[block],
        labels=own.labels[block],
        counts=counts,
        said={
            KERNEL: own.values[block] - apart @ solved[block, : own.questions],
            simple_rules.constant_name(own): simple_rules.mean_answer(own, codes),
        },
        sd=np.sqrt(learner.scale * (doubt + learner.salience.full) + (own.within or 0.0) / counts),
        doubt=doubt,
        rungs=rungs(left, determinacy(left, seed=learner.seed), codes),
    )


def fold(
    learner: FittedLearner, salience: Salience | str, train: Ints, test: Ints, *, rules: bool = True
) -> HeldOutAnswers:
    """Some combinations as such a learner would answer them that was fitted to others; `salience` may be "fit", and is
    then fitted to those others too. Without `rules` no simple rule is asked but the constant answer.
    """
    own, known = learner.answers, learner.support.subset(train)
    theirs = answers(known, one_class=True)
    weights = resolve(salience, known, seed=learner.seed)
    refitted = learn(known, theirs, weights, loss=learner.loss, ridge=learner.ridge, seed=learner.seed)
    codes = learner.support.codes[test]
    seen = Diagnosis(refitted, codes, np.full(len(codes), np.nan))
    measured = (own.within or 0.0) / own.counts[test]  # the variance of what is held out, which has few rows itself
    simple = simple_rules.rule_scores(known, theirs, codes) if rules else {}
    constant = {simple_rules.constant_name(own): simple_rules.mean_answer(own, codes)}
    return HeldOutAnswers(
        codes=codes,
        values=own.values[test],
        labels=own.labels[test],
        counts=own.counts[test],
        said={KERNEL: seen.scores, **simple, **constant},
        sd=np.sqrt(refitted.scale * seen.variances[0] + measured),
        doubt=seen.doubts,
        rungs=seen.rungs,
    )


def joined(tried: Sequence[HeldOutAnswers]) -> HeldOutAnswers:
    """Several folds as one, with what all of them were asked."""
    names = [one.name for one in fields(HeldOutAnswers) if one.name != "said"]
    arrays = {name: np.concatenate([getattr(one, name) for one in tried]) for name in names}
    asked = [name for name in tried[0].said if all(name in one.said for one in tried)]
    said = {name: np.concatenate([one.said[name] for one in tried]) for name in asked}
    return HeldOutAnswers(**arrays, said=said)
