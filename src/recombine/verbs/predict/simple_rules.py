"""The simple rules that a forecast must beat: always the same answer, one factor alone, the nearest seen, adding up.

What `numerics.simple_rules` makes of a prediction's answers. Each is asked in two ways: about combinations that were
not among the seen ones, and about each seen one as the others would answer it.
"""

import numpy as np

from recombine.base.errors import TableError
from recombine.data.space import text
from recombine.data.support import Support
from recombine.numerics.effects import IncidenceDesign
from recombine.numerics.groups import Codes, Numbers
from recombine.numerics.incidence_fit import fitted_effects, nearest_answers
from recombine.numerics.simple_rules import ADDITIVE, MAJORITY, MEAN, SimpleRules, filled
from recombine.verbs.audit.additivity import leave_one_out, simple_answers
from recombine.verbs.audit.rule_choice import rule_words
from recombine.verbs.predict.answers import Answers
from recombine.verbs.predict.kernel.order_weights import MOST_FACTORS
from recombine.verbs.predict.kernel.solver import Penalty
from recombine.verbs.predict.kernel.squared_loss import ConjunctionFit, squared

_ALMOST_NO_PENALTY = 1e-6
_TIE = 1e-7


def constant_name(answers: Answers) -> str:
    """What the rule that always gives the same answer is called."""
    return MEAN if answers.kind == "number" else MAJORITY


def mean_answer(answers: Answers, codes: Codes) -> Numbers:
    """The same answer everywhere: the mean over the seen combinations (for classes, the commonest one wins)."""
    return np.tile(_constant(answers), (len(codes), 1))


def _constant(answers: Answers) -> Numbers:
    """The mean, or the scores that stand for the class that most combinations have."""
    if answers.kind == "number":
        return np.asarray(answers.values.mean(axis=0))
    classes = max(answers.questions, 2)
    return (
        np.array([2.0 * answers.commonest - 1])
        if answers.questions == 1
        else 2 * np.eye(classes)[answers.commonest] - 1
    )


def commonest(answers: Answers, hits: Numbers) -> tuple[str, Numbers] | None:
    """The rule that always gives the commonest class of these combinations, and where it is right; None where the
    majority of all seen ones is right as often. `hits` (n, classes) is what each class is worth on each of them.

    The hard ones, or the unseen ones, may have another commonest class than the rest, and a learner that has found it
    out is no better than predicting the majority class.
    """
    right = hits.sum(axis=0)[: len(answers.classes)]
    best = int(right.argmax())
    if right[best] == right[answers.commonest]:
        return None
    return rule_words(MAJORITY, commonest=text(answers.classes[best])), hits[:, best]


def rule_scores(support: Support, answers: Answers, codes: Codes | None = None) -> dict[str, Numbers]:
    """What each of the rules says, one answer for all last. Without `codes`, of each seen combination from the others;
    adding up then says NaN where these leave it open.

    >>> import recombine
    >>> from recombine.verbs.predict.answers import answers
    >>> table = {"a": [0, 0, 1], "b": [0, 1, 0], "y": [1.0, 3.0, 7.0]}
    >>> seen = recombine.read(table, factors=["a", "b"], target="y")
    >>> {name: round(said.item(), 1) for name, said in rule_scores(seen, answers(seen), np.array([[1, 1]])).items()}
    {'additive': 9.0, 'nearest seen': 5.0, 'a alone': 7.0, 'b alone': 3.0, 'mean': 3.7}
    """
    asked, own = (support.codes, np.arange(len(support))) if codes is None else (codes, None)
    middle, constant = _middle(answers), mean_answer(answers, asked)
    added = additive_left_out(support, answers) if codes is None else additive_rule(support, answers, codes)
    found = {ADDITIVE: added}
    for name, said in simple_answers(support, _rules(support, answers), asked, own=own):
        found[name] = filled(_untied(answers, middle + said), constant)
    return found | {constant_name(answers): constant}


def nearest_seen(support: Support, answers: Answers, codes: Codes) -> Numbers:
    """The mean answer of the seen combinations that agree on the most factors; of sets, that differ least.

    >>> import recombine
    >>> from recombine.verbs.predict.answers import answers
    >>> table = {"a": [0, 0, 1], "b": [0, 1, 0], "y": ["no", "yes", "no"]}
    >>> seen = recombine.read(table, factors=["a", "b"], target="y")
    >>> bool(nearest_seen(seen, answers(seen), np.array([[1, 1]]))[0, 0] < 0)  # its two nearest disagree, most say no
    True
    """
    rules = _rules(support, answers)
    near = (
        nearest_answers(support.space.effects, support.codes, np.asarray(rules.values), codes)
        if support.space.set_factors
        else rules.nearest(codes)
    )
    return filled(_untied(answers, _middle(answers) + near), mean_answer(answers, codes))


def _middle(answers: Answers) -> Numbers:
    return np.asarray(answers.values.mean(axis=0))


def _untied(answers: Answers, said: Numbers) -> Numbers:
    """Of classes that as many speak for, the one that is commoner among all: the last digits of a sum decided before.

    Two counts of up to a million differ by more than what is added here.
    """
    return said if answers.kind == "number" else np.round(said, 9) + _TIE * _middle(answers)


def _rules(support: Support, answers: Answers) -> SimpleRules:
    """Combinations count alike, however many rows they have."""
    return SimpleRules(support.codes, support.groups, answers.values - _middle(answers), np.ones(len(support)))


def additive_rule(support: Support, answers: Answers, codes: Codes) -> Numbers:
    """The sum of one number a value that fits the seen answers best; the smallest such numbers where several do."""
    factors = codes.shape[1]
    if support.space.set_factors:
        middle, effects = _middle(answers), support.space.effects
        found, _ = fitted_effects(IncidenceDesign(support.codes, effects), answers.values - middle)
        return np.asarray(middle + effects.rows(codes).sums(found))
    if factors > MOST_FACTORS:
        raise TableError(
            f"the additive rule over {factors} factors of so many values",
            why=f"above {MOST_FACTORS} factors it is fitted only where one matrix holds all their values",
            instead=f"choose the {MOST_FACTORS} factors or fewer that matter most",
        )
    weights = [0.0] * 2**factors
    weights[0] = np.inf
    for k in range(factors):
        weights[1 << k] = 1.0
    duals = squared(support, tuple(weights), Penalty(_ALMOST_NO_PENALTY), answers.values)
    return ConjunctionFit.of(support, tuple(weights), duals).scores(codes)


def additive_left_out(support: Support, answers: Answers) -> Numbers:
    """The same for each seen combination, from the others; NaN where the others leave it open."""
    middle = _middle(answers)
    found = leave_one_out(support, answers.values - middle, np.arange(len(support)))
    said = np.full(answers.values.shape, np.nan)
    said[found.rows] = found.said + middle
    return said
