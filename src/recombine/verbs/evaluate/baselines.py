"""What simple rules would have answered: the score that a model must beat before it is praised.

Always the commonest class (or the mean), the nearest seen combination, one factor alone, the best additive rule; and
where the training shows that one which says more tells combinations better (`rule_choice`), that one. All are fitted to
the training side alone, where every row counts alike, as it does in a score over rows (to the last, combinations). Each
is scored on the same rows as the model: the difference is paired, and its interval is over combinations. A factor that
tells the class by itself in every row, such as a species of which the class is asked, or the class itself, is the
answer in other words; a rule that was told it would be told the answer, so no rule is.

Shares of right answers are compared as they are. Numbers are compared by R², here one less the squared error over that
of always answering the training's mean: what a learner gains that looks at nothing is 0.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from recombine.base.grades import Expected
from recombine.base.words import listing
from recombine.data.space import Space, text
from recombine.data.support import LabelTarget, NumberTarget, Support, Target
from recombine.numerics.additive_design import AdditiveFit
from recombine.numerics.additive_fit import additive_answers
from recombine.numerics.groups import Codes, Ints, Numbers, commonest, number, totals
from recombine.numerics.incidence_fit import LARGEST, incidence_answers, nearest_answers
from recombine.numerics.intervals import Interval, interval, lowest_difference_interval, wilson
from recombine.numerics.resampling import FEWEST, IntervalSettings, Statistic, difference, mean
from recombine.numerics.simple_rules import (
    ADDITIVE,
    CONSTANTS,
    MAJORITY,
    MEAN,
    NEAREST,
    SimpleRules,
    alone_name,
    by_rows,
    filled,
)
from recombine.verbs.audit.rule_choice import ask_rule, chosen_rule
from recombine.verbs.evaluate.error_explanations import SeenClasses, chunks
from recombine.verbs.evaluate.outcomes import Mask, Outcomes

SCORED_SIDES = ("all", "seen", "unseen", "novel")
_MOST_CLASSES = 300  # that an additive rule is fitted to, one class at a time


@dataclass(frozen=True)
class Baseline:
    """One simple rule on one side: its score, and the model's less it as (low, found, high), paired over combinations.

    `lift` is None where fewer than five combinations were tested, or where they leave it open altogether.
    """

    rule: str
    side: str
    score: float
    lift: tuple[float, float, float] | None


@dataclass(frozen=True)
class Baselines:
    """The rules on every side, in what they are scored, and which could not be computed, with the reason.

    `commonest` is the class that the rule "majority" always answers.
    """

    score: str
    found: tuple[Baseline, ...]
    commonest: str | None
    missing: str | None

    def best(self, side: str) -> Baseline | None:
        """The rule with the best score on a side."""
        return max((one for one in self.found if one.side == side), key=lambda one: one.score, default=None)


@dataclass(frozen=True, eq=False)
class RuleTally:
    """The model in the unit of the rules: what each tested combination adds, above and below the line.

    Labels: right answers of so many rows. Numbers: how far the squared error lies below that of the training's mean.
    """

    score: str
    gained: Numbers
    of: Numbers
    pieces: Ints

    def statistic(self, chosen: Mask) -> Statistic:
        """The model's score on some of the combinations."""
        return mean(self.of[chosen], self.gained[chosen]).by_piece(self.pieces[chosen])

    @property
    def is_share(self) -> bool:
        """Whether the score lies between 0 and 1."""
        return self.score == "accuracy"

    def around(self, chosen: Mask, settings: IntervalSettings) -> Interval | None:
        """The interval of the model's score; one without any error is as sure as one right answer a combination."""
        statistic = self.statistic(chosen)
        found = interval(statistic, settings, "tally", share=self.is_share)
        if found is None and statistic.combinations >= FEWEST and statistic.of_all == 1.0:
            tested = float(statistic.combinations)
            low, high = wilson(np.array(1.0), np.array(tested), np.array(tested - 1), settings)
            return float(low), float(high)
        return None if found is None else (found[0], min(found[1], 1.0))


@dataclass(frozen=True, eq=False)
class Rules:
    """The model and every rule that the training allows, all in one unit; `own` is None where there is none to be had.

    `gained` holds of each rule what the model's tally holds of the model. `missing` says what could not be computed.
    `telling` names the factors other than the target at which no rule looks, because each tells the class by itself.
    """

    score: str
    own: RuleTally | None
    gained: dict[str, Numbers]
    commonest: str | None = None
    missing: str | None = None
    telling: tuple[str, ...] = ()

    def score_of(self, rule: str, chosen: Mask) -> float:
        """A rule's score on some of the combinations; NaN where nothing was to be gained there."""
        assert self.own is not None  # noqa: S101 - who has no tally has no rules
        return mean(self.own.of[chosen], self.gained[rule][chosen]).of_all

    def best(self, chosen: Mask) -> str | None:
        """The rule with the best score on some of the combinations; None where there is none."""
        if self.own is None or not self.own.of[chosen].sum() > 0:
            return None
        return max(self.gained, key=lambda rule: self.score_of(rule, chosen), default=None)


def simple_rules(outcomes: Outcomes) -> Rules:
    """Fit every rule to the training side and ask it for each tested row."""
    training = outcomes.training
    target = None if training is None else training.target
    own = _tally(outcomes, target)
    if own is None or training is None or target is None:
        unit = own.score if own is not None else "R²" if outcomes.kind == "number" else "accuracy"
        return Rules(unit, own, {}, missing=_why_none(outcomes))
    telling = _telling_factors(outcomes, training)
    known = [k for k in range(len(training.space.names)) if k not in telling]
    codes = np.asfortranarray(outcomes.tested.codes[:, known])
    told = dict(_rules(outcomes, _project(training, known), codes, own))
    reasons = [f"The additive rule was not computed: {reason}." for reason, gained in told.items() if gained is None]
    names = tuple(name for name in (training.space.names[k] for k in telling) if name != target.name)
    if names:
        does = "tells" if len(names) == 1 else "tell"
        reasons.append(f"{listing(names)} {does} {target.name} in every row: the simple rules do not look there.")
    often = None
    if isinstance(target, LabelTarget):
        often = text(target.classes[int(np.argmax(totals(target.label, target.count, len(target.classes))))])
    computed = {rule: gained for rule, gained in told.items() if gained is not None}
    return Rules(own.score, own, computed, often, " ".join(reasons) or None, names)


def _telling_factors(outcomes: Outcomes, training: Support) -> list[int]:
    """The factors whose value alone tells the class of every row, trained on or tested."""
    found = []
    for k, size in enumerate(training.space.sizes):
        met = np.zeros((size, len(outcomes.classes)), dtype=bool)
        for part in (training, outcomes.tested):
            if not isinstance(part.target, LabelTarget):
                return []
            met[part.codes[part.target.combination, k], part.target.label] = True
        repeated = np.bincount(training.codes[:, k], minlength=size).max() > 1
        if repeated and met.any(axis=0).sum() > 1 and (met.sum(axis=1) <= 1).all():
            found.append(k)
    return found


def _project(training: Support, factors: list[int]) -> Support:
    """What was trained on, seen through some of the factors, with its target."""
    target = training.target
    if len(factors) == len(training.space.names) or not isinstance(target, LabelTarget):
        return training
    if not factors:
        return training.subset(np.arange(len(training)))
    groups, classes = training.groups(factors), len(target.classes)
    keys, ids = number(groups.ids[target.combination] * classes + target.label, groups.size * classes)
    rows = totals(ids, target.count, len(keys))
    merged = LabelTarget(target.name, target.classes, keys // classes, keys % classes, rows)
    return replace(training.project(factors), target=merged)


def _tally(outcomes: Outcomes, target: Target | None) -> RuleTally | None:
    if outcomes.kind == "label":
        return RuleTally("accuracy", outcomes.rows - outcomes.wrong, outcomes.rows, outcomes.pieces)
    if outcomes.kind == "number" and isinstance(target, NumberTarget) and outcomes.score.name in ("mse", "r2"):
        nothing = _squared_error(outcomes, np.full(len(outcomes), _mean_of(target)))
        return RuleTally("R²", nothing - outcomes.total, nothing, outcomes.pieces)
    return None


def baselines(rules: Rules, sides: dict[str, Mask], settings: IntervalSettings) -> Baselines:
    """Score every rule on every side that was tested.

    >>> import recombine
    >>> table = {"a": [0, 0, 1, 1, 2], "b": [0, 1, 0, 1, 0], "y": list("xyxyy"), "said": list("xxyxy"),
    ...          "split": ["train", "train", "train", "test", "train"]}
    >>> found = recombine.evaluate(table, factors=["a", "b"], target="y", prediction="said", split="split")
    >>> rules = {one.rule: one.score for one in found.baselines.found if one.side == "unseen"}
    >>> rules["majority"], rules["additive (by rows)"], rules["nearest seen (by rows)"], rules["b alone (by rows)"]
    (0.5, 1.0, 0.5, 1.0)
    """
    own = rules.own
    if own is None:
        return Baselines(rules.score, (), rules.commonest, rules.missing)
    found = [
        Baseline(rule, side, rules.score_of(rule, mask), _lift(own, gained, mask, settings))
        for rule, gained in rules.gained.items()
        for side, mask in sides.items()
        if side in SCORED_SIDES and own.of[mask].sum() > 0
    ]
    return Baselines(rules.score, tuple(found), rules.commonest, rules.missing)


def expected_score(
    outcomes: Outcomes,
    rules: Rules,
    beside: Baselines,
    settings: IntervalSettings,
    *,
    measured: tuple[float | None, float | None],
) -> Expected:
    """The measured score on the unseen combinations, beside the best simple rule; it abstains where none was tested.

    `measured` is the interval of the score that was asked for; where the rules are scored by the same one, it is the
    interval of this one too.
    """
    chosen, own = outcomes.unseen, rules.own
    reason = why_unmeasured(outcomes, own)
    if reason is not None or own is None:
        return Expected(rules.score, basis="answers", reason=reason)
    tested = int(chosen.sum())
    same = own.score == outcomes.score.name
    low, high = measured if same else own.around(chosen, settings) or (None, None)
    best = beside.best("unseen")
    constant = next((one for one in beside.found if one.side == "unseen" and one.rule in CONSTANTS), None)
    return Expected(
        own.score,
        own.statistic(chosen).of_all,
        low,
        high,
        baseline=None if best is None else best.score,
        baseline_name=None if best is None else best.rule,
        lift=None if best is None else _lift_over_best(own, rules, best, chosen, settings),
        over_constant=None if constant is None or constant is best else constant.lift,
        tested=tested,
        of=tested,
        basis="answers",
        reason=rules.missing if best is None else None,
    )


def _lift_over_best(
    own: RuleTally, rules: Rules, best: Baseline, chosen: Mask, settings: IntervalSettings
) -> tuple[float, float, float] | None:
    """The lift over the best rule, with an interval that knows that it is the best by luck too."""
    others = [gained for rule, gained in rules.gained.items() if rule != best.rule]
    return _lift(own, rules.gained[best.rule], chosen, settings, others)


def why_unmeasured(outcomes: Outcomes, own: RuleTally | None) -> str | None:
    """Why the score on unseen combinations is not known, if it is not."""
    if outcomes.training is None:
        return "it was not told what the model was trained on"
    if not outcomes.unseen.any():
        return "no unseen combination was tested"
    if own is None:
        return _why_none(outcomes)
    return None if own.of[outcomes.unseen].sum() > 0 else "the true answers never differ from the training's mean"


def _why_none(outcomes: Outcomes) -> str:
    if outcomes.kind == "score":
        return "The table holds scores and no answers, so no simple rule can be scored beside them."
    if outcomes.training is None or outcomes.training.target is None:
        why = "the training rows do not hold the target"
        if outcomes.training is None:
            why = "it was not told what the model was trained on"
        return f"No simple rule can be set beside this (majority, nearest seen, one factor alone, additive): {why}."
    return f"The rows are scored by {outcomes.score.name!r}, in which no simple rule can be scored."


def _lift(
    own: RuleTally, gained: Numbers, chosen: Mask, settings: IntervalSettings, others: Iterable[Numbers] = ()
) -> tuple[float, float, float] | None:
    """The model's score less that of a rule, which may be the best of it and `others`."""
    apart = _apart(own, gained, chosen)
    if apart.combinations >= FEWEST and not apart.parts[:, 1].any():
        return 0.0, 0.0, 0.0  # it answers as the rule does
    rivals = [_apart(own, other, chosen) for other in others]
    found = lowest_difference_interval(apart, rivals, settings, "lift", share=own.is_share)
    return None if found is None else (found[0], apart.of_all, found[1])


def _apart(own: RuleTally, gained: Numbers, chosen: Mask) -> Statistic:
    return difference(own.of[chosen], gained[chosen], own.gained[chosen]).by_piece(own.pieces[chosen])


def _rules(outcomes: Outcomes, training: Support, codes: Codes, own: RuleTally) -> Iterator[tuple[str, Numbers | None]]:
    """Each rule and what it gains; a reason and None for one that is too large to be computed."""
    target = training.target
    sets = bool(training.space.set_factors)
    richer = chosen_rule(training) if codes.shape[1] > 1 and not sets else None  # rules of one-hot values
    if isinstance(target, LabelTarget):
        yield from _label_rules(outcomes, training, target, codes)
        if richer is not None:
            chosen = commonest(ask_rule(richer, training, codes))
            yield richer, _right(outcomes, lambda part: chosen[part])
    elif isinstance(target, NumberTarget):
        for rule, said in _number_rules(training, target, codes):
            yield rule, None if said is None else own.of - _squared_error(outcomes, said)
        if richer is not None:
            yield richer, own.of - _squared_error(outcomes, ask_rule(richer, training, codes)[:, 0])


def _label_rules(
    outcomes: Outcomes, training: Support, target: LabelTarget, codes: Codes
) -> Iterator[tuple[str, Numbers | None]]:
    classes = len(outcomes.classes)
    overall = commonest(totals(target.label, target.count, classes)[None])
    yield MAJORITY, _right(outcomes, lambda part: np.repeat(overall, part.stop - part.start, axis=0))
    if not codes.shape[1]:
        return
    seen = SeenClasses.of(training, target, classes)
    if codes.shape[1] > 1 or training.space.set_factors:
        yield _additive_label(outcomes, training, target, codes)
        yield by_rows(NEAREST), _right(outcomes, lambda part: seen.nearest(codes[part], training.space))
    for k, name in _factors_alone(training):
        yield by_rows(alone_name(name)), _right(outcomes, partial(_factor_alone, seen, k, codes, overall))


def _factors_alone(training: Support) -> Iterator[tuple[int, str]]:
    """The factors at which a rule may look alone: not a set that is the whole combination."""
    names = training.space.names
    return iter([]) if len(names) == 1 and training.space.set_factors else enumerate(names)


def _too_many(space: Space) -> bool:
    return space.effects.width > LARGEST if space.set_factors else AdditiveFit.too_large(space.sizes)


def _added_up(training: Support, values: Numbers, weights: Numbers, codes: Codes) -> Numbers:
    """What one number for each value, and each element of a set, adds up to."""
    if training.space.set_factors:
        return incidence_answers(training.space.effects, training.codes, values, weights, codes)
    return additive_answers(training.codes, training.space.sizes, values, weights, codes)


def _factor_alone(seen: SeenClasses, factor: int, codes: Codes, overall: Numbers, part: slice) -> Numbers:
    return seen.factor_alone(factor, codes[part], otherwise=overall)


def _right(outcomes: Outcomes, answering: Callable[[slice], Numbers]) -> Numbers:
    """How many rows of each tested combination a rule gets right, some combinations at a time."""
    found = np.zeros(len(outcomes))
    order = np.argsort(outcomes.combination, kind="stable")
    for part in chunks(len(outcomes), len(outcomes.classes)):
        first, last = np.searchsorted(outcomes.combination[order], [part.start, part.stop])
        here = order[first:last]
        share = answering(part)[outcomes.combination[here] - part.start, outcomes.truth[here]]
        found += totals(outcomes.combination[here], outcomes.count[here] * share, len(outcomes))
    return found


def _additive_label(
    outcomes: Outcomes, training: Support, target: LabelTarget, codes: Codes
) -> tuple[str, Numbers | None]:
    """The class whose share, as a sum of one number a value, is largest; the commonest where that is not determined."""
    classes = len(outcomes.classes)
    if classes > _MOST_CLASSES:
        return f"there are more than {_MOST_CLASSES} classes", None
    if _too_many(training.space):
        return "the factors have too many values", None
    rows = totals(target.combination, target.count, len(training))
    shares = np.zeros((len(training), classes))
    np.add.at(shares, (target.combination, target.label), target.count)
    shares /= np.maximum(rows, 1)[:, None]
    overall = totals(target.label, target.count, classes) / rows.sum()
    scores = filled(_added_up(training, shares, rows, codes), overall)
    chosen = commonest(scores)
    return by_rows(ADDITIVE), _right(outcomes, lambda part: chosen[part])


def _number_rules(training: Support, target: NumberTarget, codes: Codes) -> Iterator[tuple[str, Numbers | None]]:
    middle, count, space = _mean_of(target), target.count, training.space
    yield MEAN, np.full(len(codes), middle)
    about = (target.total - count * (middle - target.shift)) / np.maximum(count, 1)  # the mean: no digits are lost
    if _too_many(space):
        yield "the factors have too many values", None
    else:
        added = _added_up(training, about[:, None], count, codes)
        yield by_rows(ADDITIVE), middle + filled(added, 0.0)[:, 0]
    rules = SimpleRules(training.codes, training.groups, about[:, None], count)
    if space.set_factors:
        near = nearest_answers(space.effects, training.codes, about[:, None], codes, weights=count)
    else:
        near = rules.nearest(codes)
    yield by_rows(NEAREST), middle + filled(near, 0.0)[:, 0]
    for k, name in _factors_alone(training):
        yield by_rows(alone_name(name)), middle + filled(rules.factors_alone([k], codes), 0.0)[:, 0]


def _mean_of(target: NumberTarget) -> float:
    return float(target.total.sum() / target.count.sum() + target.shift)


def _squared_error(outcomes: Outcomes, said: Numbers) -> Numbers:
    """The squared errors of a rule that answers one number for each combination, summed over its rows."""
    truth = outcomes.tested.target
    assert isinstance(truth, NumberTarget)  # noqa: S101 - numbers are scored against numbers
    away = said - truth.shift
    return np.maximum(truth.squares - 2 * away * truth.total + truth.count * away**2, 0.0)
