"""How far adding up effects holds: every seen combination is held out in turn, and worked out from the others.

An audit says which unseen combinations *would* follow if every value of every factor had an effect of its own and the
effects added up. With a target that can be tested on the combinations that were seen. The rule gets no tuning: one
least-squares number for each value, or for labels one for each value and class, of which the largest sum decides.
Beside it stand rules that anybody could use: always the same answer, the nearest seen combinations, one factor alone.

A combination counts once, however many rows it has: its answer is their mean, or their commonest label.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

import numpy as np

from recombine.base.grades import FEWEST_TESTED, Expected
from recombine.data.missing_conjunctions import FactorSet, missing_conjunctions
from recombine.data.support import LabelTarget, Support, Target
from recombine.data.vector_answers import VectorAnswers
from recombine.numerics.additive_fit import LeaveOneOut, blocks_held_out, dense, held_out, leverage_rows
from recombine.numerics.distributions import student_quantile
from recombine.numerics.effects import IncidenceDesign
from recombine.numerics.groups import Codes, Ints, Numbers, highest
from recombine.numerics.hypothesis_tests import bonferroni
from recombine.numerics.incidence_fit import LARGEST, nearest_answers, rows_held_out
from recombine.numerics.interaction_rules import RULES
from recombine.numerics.noise_ceiling import NoiseCeiling, noise_ceiling
from recombine.numerics.resampling import EvidencePieces
from recombine.numerics.rows import IncidenceRows
from recombine.numerics.simple_rules import (
    ADDITIVE,
    MAJORITY,
    NEAREST,
    SimpleRules,
    alone_name,
    filled,
    is_alone,
)
from recombine.verbs.audit.block_holdout import (
    LIKE,
    HeldOutPart,
    MissingClass,
    blocks_of,
    missing_classes,
    missing_reason,
    weigh_classes,
)
from recombine.verbs.audit.rule_choice import choose_rule, hold_apart, try_rules
from recombine.verbs.audit.seen_answers import SeenAnswers, seen_answers, why_untestable

_MOST_TESTED = 2_000  # combinations: their mean is then known to two points of a hundred
_SOLVED_ONE_BY_ONE = 100  # where no inverse is affordable
_MOST_COMPARED = 2 * 10**9  # values of tested combinations with those of all others: some seconds
_CHANCE = 0.05
_WIDEST = 2_000  # values of all factors: up to there holding out blocks takes less than a second


@dataclass(frozen=True)
class RuleScore:
    """A rule and its score on the combinations held out; of labels also over their rows."""

    name: str
    score: float
    by_rows: float | None


@dataclass(frozen=True)
class AdditiveTest:
    """How far the additive rule held.

    `explained` is the share of what the combinations differ by that the rule explains where it is shown all of them,
    `held_out` where each is held out, and `explainable` what any rule could explain at most: the rest is the noise of
    few rows. For labels the shares are those of the squared differences between the combinations' shares of labels.
    `rule_found` says whether any rule is better than one answer for all, beyond chance; `chosen` is the rule by which
    unseen combinations are told best (`rule_choice`), of which `expected` speaks.
    `untestable` combinations cannot be held out, since the others leave them open. `reach` is the largest leverage
    among those tested; `commonest` is the label that most combinations have. `blocks` are the sets of factors whose
    values unseen combinations never saw together, and for which whole blocks were held out; `untested_blocks` those for
    which that could not be done.
    """

    target: str
    kind: Literal["label", "number"]
    score: Literal["accuracy", "R²"]
    combinations: int
    tested: int
    untestable: int
    sampled: bool
    explained: float | None
    held_out: float | None
    explainable: NoiseCeiling | None
    rules: tuple[RuleScore, ...]
    reach: float | None
    rule_found: bool = False
    chosen: str = ADDITIVE
    commonest: str | None = None
    reason: str | None = None
    unit: str = "value"  # what has an effect of its own
    blocks: tuple[tuple[str, ...], ...] = ()
    untested_blocks: tuple[tuple[str, ...], ...] = ()

    def rule(self, name: str) -> RuleScore:
        """One of the rules, by its name."""
        return next(one for one in self.rules if one.name == name)

    @property
    def factors(self) -> tuple[str, ...]:
        """The factors, by the rules that look at one of them."""
        return tuple(one.name.removesuffix(alone_name("")) for one in self.rules if is_alone(one.name))

    @property
    def richer(self) -> RuleScore | None:
        """The best of the rules that say more than adding up, where it says it better."""
        best = max((one for one in self.rules if one.name in RULES), key=lambda one: one.score, default=None)
        return best if best is not None and best.score > self.rule(ADDITIVE).score else None

    @property
    def without_rule(self) -> Literal["noise", "fixed"] | None:
        """Where no rule was found: whether there is nothing to learn, or an answer of its own in each combination."""
        return None if self.rule_found or self.explainable is None or not self.tested else self.explainable.kind

    @property
    def rivals(self) -> tuple[RuleScore, ...]:
        """The best factor alone, then the other simple rules: the other factors would only crowd the list."""
        simple = [one for one in self.rules if one.name not in (ADDITIVE, *RULES)]
        alone = [one for one in simple if is_alone(one.name)]
        best = sorted(alone, key=lambda one: -one.score)[:1]
        return (*best, *(one for one in simple if one not in alone))


@dataclass(frozen=True, eq=False)
class Losses:
    """What each rule lost on each combination held out: a squared error, or 1 where the label was wrong.

    `reach` is the largest leverage that was tested for each set of factors that unseen combinations miss (`classes`).
    Where whole blocks were held out, `weights` say how much each combination counts, so that together they miss what
    the unseen ones do, and `pieces` which of them are one piece of evidence.
    """

    codes: Codes
    of_rule: Mapping[str, Numbers]
    classes: tuple[MissingClass, ...] | None = None
    reach: Mapping[FactorSet, float] = field(default_factory=dict)
    weights: Numbers | None = None
    pieces: EvidencePieces | None = None
    elements: IncidenceRows | None = None  # of the sets that each combination holds

    def reach_of(self, known: Support, codes: Codes) -> Numbers:
        """(c,) For unseen combinations, the largest leverage of a test of their kind; -1 where there was none.

        Of those that miss several sets, each of these must have been tested.
        """
        if self.classes is None:
            return np.full(len(codes), max(self.reach.values(), default=-1.0))
        missing, found = missing_conjunctions(known, codes), np.full(len(codes), np.inf)
        for one in self.classes:
            mine = missing.misses(one.factors)
            found[mine] = np.minimum(found[mine], self.reach.get(one.factors, -1.0))
        return np.where(np.isfinite(found), found, -1.0)


def additive_test(
    support: Support, unseen: tuple[Codes, Numbers] | None = None, *, seed: int = 0, additive_only: bool = False
) -> tuple[AdditiveTest, Losses] | None:
    """Test the additive rule; None without a target, and no losses where there is nothing to test.

    Some of the combinations that are `unseen`, with their leverages, say how seen ones are to be held out: without them
    one at a time. With `additive_only` no rule is tried that says more.
    """
    target = support.target if support.vectors is None else support.vectors
    if target is None:
        return None
    reason = why_untestable(target, len(support))
    if reason is not None:
        return _empty_test(target, reason)
    answers = seen_answers(target, len(support))
    if len(answers.rows) < 2:
        return _empty_test(target, f"only one combination has a {target.name}")
    known = support.subset(answers.rows)
    codes = known.codes
    tried = _choose_tested(known, seed)
    found = leave_one_out(known, answers.values, tried)
    alone = _one_at_a_time(known, answers, found)
    classes = None if unseen is None else missing_classes(known, *unseen)
    in_blocks = any(one.factors != alone.factors for one in classes or ())
    tries: Mapping[str, Numbers] = {}
    chosen: str | None = None
    if not additive_only and support.vectors is None and not support.space.set_factors:  # rules of one-hot values
        tries, chosen = try_rules(known, answers, alone.rows, found.said, quick=in_blocks, seed=seed)
    every = replace(alone, said={**alone.said, **tries})
    of_rule = _losses_of_rules(answers, every)
    test = _summary(target, answers, found, every.said, of_rule, sampled=len(tried) < len(codes))
    test = replace(test, unit=support.space.effect_unit)
    if chosen is not None:
        alone = replace(alone, said={**alone.said, **hold_apart(known, answers, alone.rows, seed=seed, only=chosen)})
    if not in_blocks:
        held = known.space.effects.elements(codes[found.rows])
        losses = Losses(codes[found.rows], _losses_of_rules(answers, alone), classes, _reach([alone]), elements=held)
        return replace(test, chosen=chosen or ADDITIVE), losses
    losses = _losses_like_unseen(known, answers, alone, classes or (), seed=seed)
    named = {one.factors: tuple(known.space.names[k] for k in one.factors) for one in classes or ()}
    done = tuple(name for factors, name in named.items() if factors in losses.reach and factors != alone.factors)
    open_ = tuple(name for factors, name in named.items() if factors not in losses.reach)
    chosen = _still_chosen(losses, chosen, seed=seed)
    return replace(test, blocks=done, untested_blocks=open_, chosen=chosen), losses


def _still_chosen(losses: Losses, chosen: str | None, *, seed: int) -> str:
    """The rule that was chosen, if it is better than adding up also where whole blocks are held out."""
    if chosen is None or losses.pieces is None or losses.weights is None:
        return ADDITIVE
    weighted = {name: lost * losses.weights for name, lost in losses.of_rule.items()}
    return choose_rule([weighted[ADDITIVE]], {chosen: weighted[chosen]}, losses.pieces.of, seed=seed) or ADDITIVE


def _one_at_a_time(known: Support, answers: SeenAnswers, found: LeaveOneOut) -> HeldOutPart:
    """Each combination held out alone, and what the simple rules say of it without it."""
    rules = SimpleRules(known.codes, known.groups, answers.values, np.ones(len(known)))
    own, count = found.rows, len(known)
    others = (answers.values.sum(axis=0) - answers.values[own]) / (count - 1)  # where a rule finds nobody to ask
    said = {ADDITIVE: found.said}
    said |= {name: filled(one, others) for name, one in simple_answers(known, rules, known.codes[own], own=own)}
    said[answers.constant_rule] = answers.constant(own)
    return HeldOutPart(tuple(range(known.codes.shape[1])), own, found.leverage, said, np.arange(len(own)))


def simple_answers(
    known: Support, rules: SimpleRules, asked: Codes, *, own: Ints | None = None
) -> Iterator[tuple[str, Numbers]]:
    """The simple rules by name; neighbours of sets are those that share most elements."""
    space = known.space
    if not space.set_factors:
        yield from rules.by_name(space.names, asked, own=own)
        return
    yield NEAREST, nearest_answers(space.effects, known.codes, np.asarray(rules.values), asked, own)
    for k, name in enumerate(space.names if len(space.names) > 1 else ()):  # a factor alone is the combination itself
        yield alone_name(name), rules.factors_alone([k], asked, own=own)


def _in_blocks(
    known: Support, answers: SeenAnswers, missing: MissingClass, scores: Numbers, richer: Sequence[str], *, seed: int
) -> HeldOutPart | None:
    """Combinations held out with all that share their values of some factors, also as `richer` rules would answer them;
    None where none can be.

    Those that are left more open by it than any unseen combination is are no test of these.
    """
    blocks = blocks_of(known, missing.factors, share=missing.share, seed=seed)
    found = blocks_held_out(scores, answers.values, blocks)
    found = found.subset(1 + found.leverage <= LIKE**2 * (1 + missing.leverage))
    piece = np.full(len(known), -1, dtype=np.int64)
    for number, block in enumerate(blocks):
        piece[block] = number
    simple = []
    for number in np.unique(piece[found.rows]):
        rest, asked = np.flatnonzero(piece != number), found.rows[piece[found.rows] == number]
        left = known.subset(rest)
        rules = SimpleRules(left.codes, left.groups, answers.values[rest], np.ones(len(rest)))
        middle = answers.values[rest].mean(axis=0)
        said = {name: filled(one, middle) for name, one in simple_answers(left, rules, known.codes[asked])}
        seen = answers.table(known).subset(rest)
        simple.append(said | {name: RULES[name](seen, known.codes[asked]) for name in richer})
    if not simple:
        return None
    said = {ADDITIVE: found.said} | {name: np.concatenate([one[name] for one in simple]) for name in simple[0]}
    said[answers.constant_rule] = answers.constant(found.rows)
    return HeldOutPart(missing.factors, found.rows, found.leverage, said, piece[found.rows])


def _losses_like_unseen(
    known: Support, answers: SeenAnswers, alone: HeldOutPart, classes: tuple[MissingClass, ...], *, seed: int
) -> Losses:
    """Losses of combinations that were held out as the unseen ones are missing, each kind with its share of these."""
    effects = known.space.effects
    affordable = effects.width <= _WIDEST
    scores = leverage_rows(effects.rows(known.codes).dense()) if affordable else None
    richer = [name for name in alone.said if name in RULES]
    tested: list[tuple[MissingClass, HeldOutPart]] = []
    for one in classes:
        part = alone if one.factors == alone.factors else None
        if part is None and scores is not None:
            part = _in_blocks(known, answers, one, scores, richer, seed=seed)
        if part is not None and part.enough:
            tested.append((one, part))
    if not tested:
        return Losses(known.codes[:0], {name: np.zeros(0) for name in alone.said}, classes)
    parts = [part for _, part in tested]
    weights, pieces = weigh_classes([(one, part.pieces) for one, part in tested])
    several = [_losses_of_rules(answers, part) for part in parts]
    codes = np.concatenate([known.codes[part.rows] for part in parts])
    return Losses(
        codes=codes,
        of_rule={name: np.concatenate([one[name] for one in several]) for name in several[0]},
        classes=classes,
        reach=_reach(parts),
        weights=weights,
        pieces=pieces,
        elements=effects.elements(codes),
    )


def _losses_of_rules(answers: SeenAnswers, part: HeldOutPart) -> dict[str, Numbers]:
    return {name: answers.losses(part.rows, values) for name, values in part.said.items()}


def _reach(parts: Sequence[HeldOutPart]) -> dict[FactorSet, float]:
    return {part.factors: float(part.leverage.max()) for part in parts if len(part.leverage)}


def _empty_test(target: Target | VectorAnswers, reason: str) -> tuple[AdditiveTest, Losses]:
    kind: Literal["label", "number"] = "label" if isinstance(target, LabelTarget) else "number"
    test = AdditiveTest(
        target=target.name,
        kind=kind,
        score="accuracy" if kind == "label" else "R²",
        combinations=0 if isinstance(target, LabelTarget) else int((target.count > 0).sum()),
        tested=0,
        untestable=0,
        sampled=False,
        explained=None,
        held_out=None,
        explainable=None,
        rules=(),
        reach=None,
        reason=reason,
    )
    return test, Losses(np.zeros((0, 0), dtype=np.int32), {})


def expected_scores(test: AdditiveTest, losses: Losses, unseen: int) -> tuple[Expected, Expected]:
    """The score to expect on so many unseen combinations like those tested: against every simple rule, and against all
    but a factor alone, which is an additive rule itself.
    """
    from recombine.numerics.predictive_intervals import expected_score  # noqa: PLC0415 - SciPy is loaded where it is needed

    reason = test.reason or (None if len(losses.codes) else missing_reason(test.untested_blocks))
    if reason is not None:
        nothing = Expected(test.score, of=unseen, reason=reason)
        return nothing, nothing
    of_rule = {name: 1 - lost if test.kind == "label" else lost for name, lost in losses.of_rule.items()}
    own = of_rule.pop(test.chosen)
    of_rule = {name: lost for name, lost in of_rule.items() if name not in RULES}
    apart = {name: lost for name, lost in of_rule.items() if not is_alone(name)}
    scored = partial(
        expected_score,
        score=test.score,
        unseen=unseen,
        codes=losses.codes,
        elements=losses.elements,
        weights=losses.weights,
        pieces=losses.pieces,
    )
    against_all = scored(own, of_rule)
    if losses.pieces is not None:  # a combination may be held out in several blocks
        against_all = replace(against_all, tested=len(np.unique(losses.codes, axis=0)))
    if against_all.baseline_name in apart:  # the best of all is then the best of these
        return against_all, against_all
    return against_all, scored(own, apart)


def leave_one_out(known: Support, values: Numbers, tried: Ints) -> LeaveOneOut:
    """What the additive rule says of each of the `tried` combinations, from all others."""
    if known.space.set_factors:
        return rows_held_out(IncidenceDesign(known.codes, known.space.effects), values, tried)
    return held_out(known.codes, known.space.sizes, values, tried)


def _choose_tested(known: Support, seed: int) -> Ints:
    """Which combinations are held out: all of them, or so many drawn at random that it stays a matter of seconds."""
    codes, space = known.codes, known.space
    most = min(_MOST_TESTED, max(_MOST_COMPARED // codes.size, 1))
    if not (space.effects.width <= LARGEST if space.set_factors else dense(space.sizes)):
        most = min(most, _SOLVED_ONE_BY_ONE)
    if len(codes) <= most:
        return np.arange(len(codes))
    return np.sort(np.random.default_rng(seed).choice(len(codes), size=most, replace=False))


def _summary(
    target: Target | VectorAnswers,
    answers: SeenAnswers,
    test: LeaveOneOut,
    answers_of_rule: Mapping[str, Numbers],
    of_rule: Mapping[str, Numbers],
    *,
    sampled: bool,
) -> AdditiveTest:
    apart = answers.values - answers.middle
    total = float(np.square(apart).sum())
    count = len(apart)
    # the fit holds the mean answer too, which explains no difference
    explained = (test.fitted - count * float(np.square(answers.middle).sum())) / total if total > 0 else None
    truth = answers.values[test.rows]
    others = np.square(apart[test.rows]).sum()
    missed = np.square(answers.bounded(test.said) - truth).sum()
    number = not answers.classes
    return AdditiveTest(
        target=target.name,
        kind="number" if number else "label",
        score="R²" if number else "accuracy",
        combinations=count,
        tested=len(test.rows),
        untestable=test.untestable,
        sampled=sampled,
        explained=None if explained is None or not np.isfinite(explained) else min(max(explained, 0.0), 1.0),
        held_out=float(1 - missed / others) if others > 0 else None,
        explainable=noise_ceiling(answers.values, answers.counts, answers.within, dimensions=answers.dimensions),
        rules=tuple(
            _rule(name, answers, test.rows, values, of_rule) for name, values in answers_of_rule.items() if others > 0
        ),
        reach=float(test.leverage.max()) if len(test.rows) else None,
        rule_found=_rule_found(of_rule, answers.constant_rule),
        commonest=answers.classes[int(answers_of_rule[MAJORITY][0].argmax())]
        if answers.classes and len(test.rows)
        else None,
        reason=_why_untested(test, float(others)),
    )


def _rule_found(of_rule: Mapping[str, Numbers], constant: str) -> bool:
    """Whether any rule loses less than one answer for all does, beyond what the best of so many would by chance."""
    others = [of_rule[constant] - lost for name, lost in of_rule.items() if name != constant]
    if not others or len(of_rule[constant]) < FEWEST_TESTED:
        return False
    gained = np.stack(others)
    limit = student_quantile(1 - bonferroni(_CHANCE, len(gained)), gained.shape[1] - 1)
    return bool((gained.mean(axis=1) > limit * gained.std(axis=1, ddof=1) / np.sqrt(gained.shape[1])).any())


def _why_untested(test: LeaveOneOut, varied: float) -> str | None:
    if not len(test.rows):
        return "no combination can be held out: the others leave each of them open"
    return None if varied > 0 else "the combinations that can be held out all have the same answer"


def _rule(name: str, answers: SeenAnswers, rows: Ints, answered: Numbers, of_rule: Mapping[str, Numbers]) -> RuleScore:
    losses = of_rule[name]
    if not answers.classes:
        others = of_rule[answers.constant_rule].mean()
        return RuleScore(name, float(1 - losses.mean() / others), None)
    counts = answers.counts[rows]
    share = answers.values[rows, highest(answered)]
    return RuleScore(name, float(1 - losses.mean()), float((share * counts).sum() / counts.sum()))
