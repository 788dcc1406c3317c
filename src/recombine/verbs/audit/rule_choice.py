"""Which rule over the factors tells unseen combinations best: adding up, or one that says more.

The one chooser of audit, predict, evaluate and rehearse. The rules, in the order in which they are tried: one answer
for all, one factor alone, the nearest seen (`simple_rules`), adding up (`additive_fit`), one factor gated by another,
one and two products, substitution (`interaction_rules`); `rule_words` says them in a sentence. Products are tried
neither in small tables (7 × 8), where held-out combinations are told much worse than unseen ones will be, nor where
whole blocks of combinations are missing, since each block would take a fit of its own.

A rule that says more must be better than adding up, and than one answer for all, in each of two halves of what was held
out: on the mean, and more often better than worse, beyond chance. Then the luck that made it the best of several in one
half does not count. How often it is better is asked, and not by how much, since squared errors have heavy tails. Whom
it is compared with afterwards, it was not chosen by: a model and a trained learner are scored on other combinations.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from recombine.base.words import listing
from recombine.data.support import Support
from recombine.numerics.additive_fit import dense, held_out
from recombine.numerics.distributions import beta_below
from recombine.numerics.groups import Codes, Ints, Numbers
from recombine.numerics.hypothesis_tests import bonferroni
from recombine.numerics.interaction_rules import (
    GATED,
    PRODUCT,
    RULES,
    SUBSTITUTION,
    TWO_PRODUCTS,
    rules_for,
)
from recombine.numerics.simple_rules import ADDITIVE, MAJORITY, MEAN, NEAREST, by_rows, is_alone
from recombine.verbs.audit.seen_answers import SeenAnswers, seen_answers, why_untestable

_FOLDS_TO_CHOOSE = 5
_FOLDS_TO_SCORE = 20  # a rule of many numbers does worse without a fifth of a small table than it will do with all
_FEWEST_HELD_OUT = 20  # combinations: ten in each half
_MOST_SEEN = 3_000  # combinations: up to there all rules take some seconds
_MOST_NUMBERS = 8  # classes
_CHANCE = 0.05
_LITTLE = 0.02  # of what there is to lose: where adding up loses less, no other rule is looked for


def rule_words(rule: str, *, factors: Sequence[str] = (), commonest: object = None, unit: str = "value") -> str:
    """What somebody does who follows a rule, as the subject of a sentence; `commonest` is what the majority says, and
    `unit` what has an effect of its own.

    >>> rule_words("majority", commonest="cat"), rule_words("colour alone (by rows)")
    ('always answering "cat"', 'going by colour alone')
    >>> rule_words("one product", factors=["colour", "shape"])
    'adding up one effect for each value and a product of colour and shape'
    """
    two = listing(factors) if len(factors) == 2 else "each two factors"
    words = {
        MAJORITY: f'always answering "{commonest}"',
        MEAN: "always answering the mean",
        NEAREST: "answering like the nearest seen ones",
        ADDITIVE: f"adding up one effect for each {unit}",
        GATED: "letting one factor decide which other one counts",
        PRODUCT: f"adding up one effect for each {unit} and a product of {two}",
        TWO_PRODUCTS: f"adding up one effect for each {unit} and two products of {two}",
        SUBSTITUTION: "answering like values that never gave another answer",
    }
    alike = rule.removesuffix(by_rows(""))
    return words.get(alike) or (f"going by {alike}" if is_alone(alike) else alike)


def try_rules(
    known: Support, answers: SeenAnswers, rows: Ints, additive: Numbers, *, quick: bool = False, seed: int = 0
) -> tuple[dict[str, Numbers], str | None]:
    """What rules that say more than adding up answer for the rows that are held out, and the name of the chosen one, if
    one is. None is tried where adding up, which gives `additive` for them, leaves little to gain, and only those that
    are `quick` where hundreds of blocks are held out.
    """
    lost = answers.losses(rows, additive)
    constant = answers.losses(rows, answers.constant(rows))
    much = float(lost.sum()) > _LITTLE * (len(lost) if answers.classes else float(constant.sum()))
    if not much or not _can_choose(known, answers, rows):
        return {}, None
    said = hold_apart(known, answers, rows, seed=seed, quick=quick)
    others = {name: answers.losses(rows, values) for name, values in said.items()}
    return said, choose_rule([lost, constant], others, np.arange(len(rows)), seed=seed)


def _can_choose(known: Support, answers: SeenAnswers, rows: Ints) -> bool:
    """Neither too few combinations to choose by, nor too many to try."""
    small = len(known) <= _MOST_SEEN and answers.values.shape[1] <= _MOST_NUMBERS
    return small and len(rows) >= _FEWEST_HELD_OUT


def chosen_rule(support: Support, *, seed: int = 0) -> str | None:
    """The rule that tells combinations of a table better than adding up does; None where none does.

    >>> import recombine
    >>> grid = [(a, b) for a in range(12) for b in range(12) if (a + 5 * b) % 4]
    >>> table = {"a": [a for a, b in grid], "b": [b for a, b in grid], "y": [a * b + a % 3 for a, b in grid]}
    >>> chosen_rule(recombine.read(table, factors=["a", "b"], target="y", target_kind="number"))
    'one product'
    """
    target = support.target
    if target is None or len(support) > _MOST_SEEN or why_untestable(target, len(support)) is not None:
        return None
    if support.space.set_factors:  # these are rules of one-hot values
        return None
    answers = seen_answers(target, len(support))
    known, every = support.subset(answers.rows), np.arange(len(answers.rows))
    if not _can_choose(known, answers, every) or not dense(known.space.sizes):
        return None
    alone = held_out(known.codes, known.space.sizes, answers.values, every)
    return try_rules(known, answers, alone.rows, alone.said, seed=seed)[1]


def ask_rule(rule: str, support: Support, codes: Codes) -> Numbers:
    """(c, m) What a rule answers that says more than adding up, from all that a table holds: a number, or the share of
    each label.
    """
    assert support.target is not None  # noqa: S101 - without one no rule was chosen
    answers = seen_answers(support.target, len(support))
    return RULES[rule](answers.table(support.subset(answers.rows)), codes) + answers.shift


def hold_apart(
    known: Support, answers: SeenAnswers, asked: Ints, *, seed: int, quick: bool = False, only: str | None = None
) -> dict[str, Numbers]:
    """What the rules that say more answer for some of the known combinations, each held out with a fifth of the others;
    `only` one of them, as it is worth: with a twentieth.
    """
    seen = answers.table(known)
    folds = _FOLDS_TO_CHOOSE if only is None else min(_FOLDS_TO_SCORE, len(known))
    fold = np.random.default_rng(seed).permutation(len(known)) % folds
    found: dict[str, Numbers] = {}
    for name, rule in rules_for(seen, quick=quick).items() if only is None else ((only, RULES[only]),):
        said = np.empty_like(answers.values)
        for one in range(folds):
            test = np.flatnonzero(fold == one)
            said[test] = rule(seen.subset(np.flatnonzero(fold != one)), known.codes[test])
        found[name] = said[asked]
    return found


def choose_rule(than: Sequence[Numbers], others: Mapping[str, Numbers], pieces: Ints, *, seed: int) -> str | None:
    """The rule that loses less `than` each of these, beyond chance in both halves of the pieces of evidence; None where
    none does.

    >>> rng = np.random.default_rng(0)
    >>> own, lucky, better = rng.random(100), rng.random(100), 0.1 * rng.random(100)
    >>> choose_rule([own], {"lucky": lucky, "better": better}, np.arange(100), seed=0)
    'better'
    >>> choose_rule([own], {"lucky": lucky}, np.arange(100), seed=0) is None
    True
    """
    _, place = np.unique(pieces, return_inverse=True)
    half = np.random.default_rng(seed).permutation(place.max(initial=-1) + 1)[place] % 2 if len(place) else place
    if not others or min(np.bincount(half, minlength=2)) < _FEWEST_HELD_OUT // 2:
        return None
    error = math.sqrt(bonferroni(_CHANCE, len(others)))  # of one half: by chance it is better in both that often
    better = [
        name
        for name, lost in others.items()
        if all(_is_better((own - lost)[half == one], place[half == one], error) for own in than for one in (0, 1))
    ]
    return min(better, key=lambda name: float(others[name].mean()), default=None)


def _is_better(gained: Numbers, pieces: Ints, error: float) -> bool:
    """Whether something is gained on the mean, and by more pieces of evidence than chance explains: a sign test."""
    by_piece = np.bincount(np.unique(pieces, return_inverse=True)[1], weights=gained)
    won, lost = float((by_piece > 0).sum()), float((by_piece < 0).sum())
    if won == 0 or gained.mean() <= 0:
        return False
    # at least `won` of all by tossing a coin: a binomial tail is that of a beta
    return bool(beta_below(np.array(0.5), np.array(won), np.array(lost + 1)) < error)
