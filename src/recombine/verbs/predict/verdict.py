"""What a prediction says in words: one sentence first, then the reasons, then why for one combination."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from recombine.base.grades import MATERIAL_LOSS, SOUND_FROM, Expected, Grade, at_most, earned
from recombine.base.words import below_zero, listing, measure, percent, percent_range, points
from recombine.data.space import text
from recombine.numerics.groups import Numbers
from recombine.numerics.simple_rules import CONSTANTS, MAJORITY
from recombine.verbs.audit.rule_choice import rule_words
from recombine.verbs.audit.selection_bias import ASSUMPTION, ASSUMPTION_OF_SETS, SelectionSign
from recombine.verbs.audit.structural_zeros import Zeros
from recombine.verbs.predict.answers import Answers
from recombine.verbs.predict.backtest import Backtest, Method
from recombine.verbs.predict.diagnosis import CANNOT, LEAK, NOT_DETERMINED, NOVEL, SHORTCUT, UNSURE, WRONG, Diagnosis
from recombine.verbs.predict.effect_transfer import Slope
from recombine.verbs.predict.expected_score import TruthForecast, refuted
from recombine.verbs.predict.holdout_record import KERNEL
from recombine.verbs.predict.kernel.order_weights import total
from recombine.verbs.predict.kernel.salience import Salience, members

SCOPE = "This speaks of kernel-like learners; a network that learns features may do better or worse."
FACTORS_ALONE = (
    "This speaks of kernel-like learners that read every value without error; how well a network reads examples, "
    "factors alone do not tell."
)
"""What is assumed where nothing but factors is known, and why no network's score is forecast (`network_score`)."""
_MOSTLY = 0.95
_HALF = 0.5
_SAME_SIZE = (0.95, 1.05)
_NAMED = 2


@dataclass(frozen=True)
class PredictionFindings:
    """All that the words are made from."""

    counts: Mapping[str, int]
    listed: int
    space: int
    unanswered: int  # combinations of the table that have no answer
    truth_given: bool
    known: int
    wrong: Mapping[str, int]  # of the known ones that come out wrong, by verdict
    salience: Salience
    loss: str
    answers: Answers
    slope: Slope | None
    backtest: Backtest | None
    expected: Expected
    like: int  # of the listed unseen combinations, those that are like the tested ones
    without_rule: str = ""  # why no rule is better than one answer for all, where that is known
    selection: SelectionSign | None = None  # that the seen ones look as if they were chosen by their answer
    forecast: TruthForecast | None = None  # the score on unseen combinations whose true answers are known
    panel: tuple[str, ...] = ()  # whose mean that is
    disputed: int = 0  # unseen combinations that are unsure because these learners, or the two losses, differ
    notes: tuple[str, ...] = ()  # what was not as it should be
    symbols: bool = False  # whether all examples of a combination look the same
    varies: bool = True  # whether the target differs between any two rows
    row_notes: tuple[str, ...] = ()  # about rows that count otherwise than they stand there
    sampled: bool = False  # whether the listed ones were drawn from more
    zeros: Zeros | None = None  # pairs of values that perhaps cannot occur, and are counted all the same
    unit: str = "value"  # what has an effect of its own: a value, or an element of a set

    @property
    def asked(self) -> int:
        """Unseen combinations that a verdict other than *novel* was found for."""
        return sum(self.counts[name] for name in ("fine", "leak", "shortcut", "can't", "not determined", "unsure"))

    @property
    def refuted(self) -> bool:
        """Whether a simple rule did as well on what was held out."""
        return refuted(self.expected, self.backtest)


def grade(found: PredictionFindings) -> Grade:
    """What was earned on held-out combinations, or on true answers of unseen ones, if those are at least half."""
    if not found.varies or not found.asked:
        return "untested"
    if found.forecast is not None:
        return _against_truth(found, earned(found.forecast.sighted))
    best = earned(found.expected)
    if best not in ("sound", "plausible") or found.refuted:
        return "weak" if best in ("sound", "plausible") else best
    best = at_most(found.selection.limit, best) if found.selection is not None else best
    share = found.like / found.asked
    unsure = (found.counts["not determined"] + found.counts["unsure"] - found.disputed) / found.asked
    if share < _HALF or unsure > _HALF:
        return "untested"
    if share < _MOSTLY or (best == "sound" and not _readable(found)):
        return "plausible"
    return best


def _readable(found: PredictionFindings) -> bool:
    """Whether the score is as high for rows: examples can be told apart without fail, as far as anybody said so; and
    of those that differ from their combination's answer, none comes right.
    """
    return found.symbols and (found.expected.low or 0.0) * (1 - found.answers.unsettled) >= SOUND_FROM


def _against_truth(found: PredictionFindings, best: Grade) -> Grade:
    """Nothing is sound that a model might not read, and nothing is good that lost to one answer for all."""
    if best not in ("sound", "plausible"):
        return best
    if found.expected.loses and not found.expected.abstains:
        return "weak"
    return best if found.symbols else "plausible"


def verdict(found: PredictionFindings) -> str:
    """The answer in a sentence that a person would say."""
    first = _first(found) if found.varies else f"{found.answers.name} never varies, so there is nothing to tell."
    novel = found.counts["novel"]
    last = f" {_many(novel, 'combination holds', 'combinations hold')} {_one(found)} never seen." if novel else ""
    last += f" {found.zeros.sentence_of('unseen combination')}" if found.zeros is not None else ""
    last += f" {found.selection.warning}" if found.selection is not None and found.forecast is None else ""
    scope = SCOPE if found.symbols or found.forecast is not None else FACTORS_ALONE
    return f"{first}{last} {scope}" if found.asked else f"{first}{last}"


def _one(found: PredictionFindings) -> str:
    """What has an effect of its own, as one of several."""
    return {"value": "a value", "element": "an element"}.get(found.unit, "a value or an element")


def _several(found: PredictionFindings) -> str:
    return f"{found.unit.replace(' and ', 's and ')}s"


def _first(found: PredictionFindings) -> str:
    if not found.listed:
        return "No combination was asked about."
    if not found.asked:
        return f"Every combination{f' of seen {_several(found)}' if found.counts['novel'] else ''} was seen."
    if not found.known:
        return f"{_tested(found)} {_if_they_add_up(found)}".strip()
    rest = f" {_tested(found)}" if found.known < found.asked else ""
    return f"{_forecast(found)}{_with_truth(found)}{rest}"


def _forecast(found: PredictionFindings) -> str:
    """The score that is forecast, with its interval and what one answer for all gets; and what is not in it."""
    if found.forecast is None or found.forecast.expected.value is None:
        return ""
    expected = found.forecast.expected
    value, low, high, base = (
        number or 0.0 for number in (expected.value, expected.low, expected.high, expected.baseline)
    )
    who, these = f"{_learners(found.panel)} would", _asked_about(found, expected.of)
    if expected.score == "accuracy":
        rule = rule_words(expected.baseline_name or MAJORITY, commonest=_commonest(found.answers))
        right = f"get {percent(value)} of {these} right ({percent_range(low, high)})"
        said = f"{right}. {rule[0].upper()}{rule[1:]} gets {percent(base)}"
    elif value <= 0:
        said = (
            f"do no better on {these} than always answering the mean "
            f"(R² {_signed(value)}, {_signed(low)} to {_signed(high)})"
        )
    else:
        said = f"explain {percent(value)} of what {these} differ by ({percent_range(low, high)})"
    below = below_zero(low) if expected.score == "R²" and value > 0 else ""
    return f"{who} {said}.{below} {'' if found.symbols else f'{UNREAD} '}"


def _asked_about(found: PredictionFindings, of: int) -> str:
    """Whom a forecast speaks of: all unseen combinations, or those alone whose true answer is known."""
    return "the unseen combinations" if of > found.known or of == found.asked else f"these {of:,} unseen combinations"


UNREAD = "What a model makes of examples that are hard to read is not known here, and the interval allows for it."


def _learners(names: tuple[str, ...]) -> str:
    """Who is asked, in words.

    >>> _learners(("relu:1 margin", "relu:2 margin", "relu:3 margin"))
    'Networks like relu:1 to relu:3'
    >>> _learners(("relu:1 margin",))
    'A learner like relu:1'
    """
    kinds = [name.rpartition(" ")[0] for name in names]
    if len(kinds) > 1:
        return f"Networks like {kinds[0]} to {kinds[-1]}"
    return f"A learner like {kinds[0]}" if ":" in kinds[0] else "This learner"


def _with_truth(found: PredictionFindings) -> str:
    """By the learner that explains: how many come out wrong, and why."""
    wrong = sum(found.wrong.values())
    if not wrong:
        said = "all of them come out right" if found.known > 1 else "it comes out right"
        return f"Of {_many(found.known, 'unseen combination', 'unseen combinations')} with a known answer, {said}."
    return (
        f"Of {_many(found.known, 'unseen combination', 'unseen combinations')} with a known answer, "
        f"{wrong:,} would come out wrong: {_causes(found.wrong, _WRONG)}."
    )


def _tested(found: PredictionFindings) -> str:
    """What was tested, with its interval and the best simple rule, and how many unseen combinations it speaks of."""
    expected = found.expected
    if expected.abstains:
        return f"{'Not enough evidence' if expected.tested else 'Nothing was tested'}: {expected.reason}."
    return " ".join(filter(None, (found.without_rule or _why_untested(found), f"{_score(found)}{_spoken_of(found)}")))


def _why_untested(found: PredictionFindings) -> str:
    """Why a score that was found says nothing of the unseen combinations, where it does not."""
    if grade(found) != "untested":
        return ""
    if found.expected.is_open():
        return "Not enough evidence: the forecast may as well fail as hold."
    if found.like < _HALF * found.asked:
        return f"Not enough evidence: {found.like:,} of {found.asked:,} unseen combinations are like what was tested."
    return f"Not enough evidence: most of the {found.asked:,} unseen combinations are too uncertain to say."


def _score(found: PredictionFindings) -> str:
    """The score that held-out combinations had, and what the best simple rule has."""
    expected = found.expected
    value, low, high = (number or 0.0 for number in (expected.value, expected.low, expected.high))
    base = expected.baseline or 0.0
    rule = f"{_rule(found)[0].upper()}{_rule(found)[1:]}"
    if expected.score == "accuracy":
        return (
            f"Held-out combinations like these come out right {percent(value)} of the time "
            f"({percent_range(low, high)}). "
            f"{rule} gets {percent(base)}{_also(found)}"
        )
    if value <= 0:
        return (
            "Held-out combinations like these come out no better than by always answering the mean "
            f"(R² {_signed(value)}, {_signed(low)} to {_signed(high)})"
        )
    return (
        f"Of what held-out combinations like these differ by, the forecast explains {percent(value)} "
        f"({percent_range(low, high)}).{below_zero(low)} {rule} explains {percent(base)}"
    )


def _signed(number: float) -> str:
    return measure(number).replace("-", "−")


def _rule(found: PredictionFindings) -> str:
    """The constant answer in words."""
    return rule_words(str(found.expected.baseline_name), commonest=_commonest(found.answers))


def _also(found: PredictionFindings) -> str:
    """A simple rule that is as good, if there is one: whoever has it needs no learner."""
    fixed = [rung for rung in found.backtest.rungs if rung.rung == "determined"] if found.backtest else []
    if found.backtest is None or not fixed:
        return ""
    scores = {method.name: score for method, score in zip(found.backtest.methods, fixed[0].scores, strict=True)}
    own = scores.pop(KERNEL)
    best = max(scores, key=scores.__getitem__)
    if scores[best] < own or best in CONSTANTS:
        return ""
    return f", {rule_words(best, unit=found.unit)} {percent(scores[best])}"


def _commonest(answers: Answers) -> str | None:
    return text(answers.classes[answers.commonest]) if answers.classes else None


def _why_not(expected: Expected) -> str:
    """Why a score that no simple rule beats is not to be relied on."""
    if not expected.beats_constant:
        return "that is not reliably better"
    return "that misses more than it gets" if expected.score == "R²" else "that is more often wrong than right"


def _spoken_of(found: PredictionFindings) -> str:
    """How many unseen combinations that speaks of; none, where a simple rule does as well."""
    unseen = _many(found.asked, "unseen combination", "unseen combinations")
    if found.refuted:
        lost = found.backtest.loses_to if found.backtest else ()
        worse = [name for name in lost if name not in CONSTANTS]
        by = f"{rule_words(worse[0], unit=found.unit)} does better" if worse else _why_not(found.expected)
        return f": {by}, so do not rely on it for the {unseen}."
    drawn = f" {found.asked:,} unseen ones that were drawn" if found.sampled else f" {unseen}"
    if found.like == found.asked:
        return f". All{drawn} are like that." if found.asked > 1 else ". The unseen combination is like that."
    guesses = found.asked - found.like
    return (
        f". {found.like:,} of the{drawn} {_is(found.like)} like that, {guesses:,} {_is(guesses, 'a guess', 'guesses')}."
    )


def _is(number: int, one: str = "", several: str = "") -> str:
    return f"{'is' if number == 1 else 'are'} {one if number == 1 else several}".strip()


def _if_they_add_up(found: PredictionFindings) -> str:
    """What follows under the assumption; where that was refuted, only what nobody could know."""
    if found.refuted:
        open_ = _causes(found.counts, ("not determined",))
        return f"{open_}." if open_ else ""
    fine = found.counts["fine"]
    right = f"all {fine:,}" if fine == found.asked else f"{fine:,} of the {found.asked:,}"
    rest = _causes(found.counts, ("leak", "not determined", "unsure"))
    them = "it" if found.asked == 1 else f"{right}"
    got = f"would get {them} right" if found.answers.kind == "label" else f"would come close to the sum for {them}"
    return f"If the factors add up, {_learner(found.salience)} {got}" + (f"; {rest}." if rest else ".")


def _learner(salience: Salience) -> str:
    made = {"fit": "a learner fitted to the data", "features": "a learner with these features"}
    return made.get(salience.name, f"a learner like {salience.name}" if ":" in salience.name else "this learner")


_WRONG = ("leak", "shortcut", "can't", "not determined", "novel")
_CAUSES = {
    "leak": ("is pulled towards memorised answers (a leak)", "are pulled towards memorised answers (a leak)"),
    "shortcut": ("is led astray by a shortcut", "are led astray by a shortcut"),
    "can't": ("is out of reach of any rule of this kind", "are out of reach of any rule of this kind"),
    "not determined": ("is not determined by what was seen", "are not determined by what was seen"),
    "unsure": ("is too uncertain to say", "are too uncertain to say"),
    "novel": ("holds a value never seen", "hold a value never seen"),
}


def _causes(counts: Mapping[str, int], names: tuple[str, ...]) -> str:
    parts = [f"{counts[name]:,} {_CAUSES[name][counts[name] != 1]}" for name in names if counts[name]]
    return listing(parts) if parts else ""


def reasons(found: PredictionFindings) -> tuple[str, ...]:
    """Why, in a few sentences."""
    said = [
        _salience(found),
        *(f"{note[0].upper()}{note[1:]}." for note in found.notes),
        _asked(found),
        _unread(found),
        _slope(found.slope),
        _needed(found.slope),
        _track_record(found.backtest, share=found.answers.share),
        _assumption(found),
        _left_out(found),
        _mixed(found),
        _unanswered(found),
        *found.row_notes,
        _silent_truth(found),
    ]
    return tuple(sentence for sentence in said if sentence)


def _assumption(found: PredictionFindings) -> str:
    if found.forecast is not None or found.selection is not None or found.expected.abstains:
        return ""
    return ASSUMPTION if found.unit == "value" else ASSUMPTION_OF_SETS


def _left_out(found: PredictionFindings) -> str:
    """What is not asked where some values are sets."""
    if found.unit == "value":
        return ""
    reach = ", nor whether the true answers are within reach of any sum over seen elements" if found.known else ""
    drawn = "; unseen sets were drawn equally of each size, so their shares are not those of all sets" * found.sampled
    return f"Of sets it is not asked how often an element would have to be seen{reach}{drawn}."


def _salience(found: PredictionFindings) -> str:
    whole = total(found.salience.weights)
    full = found.salience.full / whole
    singles = sum(found.salience.mask_weight(k) for k in range(found.salience.factors)) / whole
    note = f" Note: {found.salience.note}." if found.salience.note else ""
    return (
        f"The learner ({found.salience.name}, {found.loss} loss) gives {percent(singles)} of its weight to single "
        f"{_several(found)} and {percent(full)} to the full combination, where answers are memorised.{note}"
    )


def _asked(found: PredictionFindings) -> str:
    """Who was asked, where it was more than one, and on how many they differ."""
    if len(found.panel) < 2 and not found.disputed:
        return ""
    losses = ", or its loss," if found.loss == "margin" else ""
    middle = "with nothing said of the network, one, two and three hidden layers are as likely as each other"
    who = f"Asked were {listing(list(found.panel))}: {middle}." if len(found.panel) > 1 else ""
    if not found.disputed:
        return who
    have = _many(found.disputed, "unseen combination hangs", "unseen combinations hang")
    return f"{who} The answer of {have} on the depth of the network{losses} and counts as unsure.".strip()


def _unread(found: PredictionFindings) -> str:
    if found.symbols or not found.asked:
        return ""
    inputs = "give the inputs of examples (Examples(inputs=…), --inputs), or " if found.unit == "value" else ""
    return (
        f"For the score of a network, {inputs}say that all examples of a combination look the same "
        "(Examples(symbols=True), --symbols)."
    )


def _slope(slope: Slope | None) -> str:
    """What becomes of the effects of values on unseen combinations."""
    if slope is None:
        return ""
    against = "Against the truth," if slope.against == "truth" else "Beside a learner that memorises nothing,"
    return f"{against} {shrunk(slope.value)}."


def shrunk(slope: float) -> str:
    """A slope in words.

    >>> shrunk(0.644)
    'effects on unseen combinations shrink to 64 % of their size'
    """
    where = "effects on unseen combinations"
    if slope < 0:
        return f"{where} run the wrong way"
    if slope < _SAME_SIZE[0]:
        return f"{where} shrink to {percent(slope)} of their size"
    return f"{where} keep their size" if slope <= _SAME_SIZE[1] else f"{where} grow to {percent(slope)} of their size"


def _needed(slope: Slope | None) -> str:
    if slope is None or not slope.needed:
        return ""
    short = [one for one in slope.needed if one.goals[1][1] is not None and one.slope_now < one.goals[1][0]]
    if not short:
        return ""
    worst = min(short, key=lambda one: one.slope_now)
    said = f"A value of {worst.factor} is seen in about {measure(worst.now)} combinations, which carries over "
    if not worst.rough:
        return f"{said}{percent(worst.slope_now)} of its effect; 90 % takes {worst.goals[1][1]:,}."
    return (
        f"{said}roughly {percent(worst.slope_now)} of its effect; 90 % takes roughly {worst.goals[1][1]:,} "
        f"(a formula for two factors: with {len(slope.needed)} it can be off by 10 points and more)."
    )


BACKTESTED = "Back-tested"
"""What the sentence about held-out combinations begins with."""


def _track_record(record: Backtest | None, *, share: bool) -> str:
    if record is None:
        return ""
    kernel = next(method for method in record.methods if method.name == KERNEL)
    how = "each held out once" if record.folds == record.tested else "held out in parts"
    said = f"{BACKTESTED} on {record.tested:,} seen combinations, {how}: {_both_ways(record, kernel, share=share)}"
    if record.loses_to:
        return f"{said}, which is worse than {listing(list(record.loses_to))}: do not rely on it here."
    if len(record.beats) == len(record.methods) - 1:
        return f"{said}, better than {listing(list(record.beats))}."
    if record.behind:
        mean = f"{percent(WRONG)} of what the mean is off"
        little = f"less than {points(MATERIAL_LOSS) if record.better == 'higher' else mean}"
        return f"{said}, which is worse than {listing(list(record.behind))}, though by {little}."
    tied = [method.name for method in record.methods if method.name not in (*record.beats, KERNEL)]
    return f"{said}, not reliably different from {listing(tied)}."


def _both_ways(record: Backtest, kernel: Method, *, share: bool) -> str:
    """The score by combinations, and by rows where classes differ within one; the error of a share in points."""
    if kernel.by_rows is None:
        return f"{record.score} {(points if share else measure)(kernel.score)}"
    return f"it gets {percent(kernel.score)} of them right, and {percent(kernel.by_rows)} of their rows"


def _unanswered(found: PredictionFindings) -> str:
    if not found.unanswered:
        return ""
    have = _many(found.unanswered, "combination has", "combinations have")
    return f"{have} no {found.answers.name}: nothing was learnt from them, and they count as unseen."


def _silent_truth(found: PredictionFindings) -> str:
    return "The truth speaks of none of the unseen combinations." if found.truth_given and not found.known else ""


def _mixed(found: PredictionFindings) -> str:
    if not found.answers.mixed:
        return ""
    have = _many(found.answers.mixed, "combination has", "combinations have")
    return f"{have} rows with different answers; their mean was learnt."


def _many(number: int, one: str, several: str) -> str:
    return f"{number:,} {one if number == 1 else several}"


def why(diagnosis: Diagnosis, row: int, code: int) -> str:
    """One combination's verdict, explained."""
    if code == LEAK:
        return _why_leak(diagnosis, row)
    return _why_shortcut(diagnosis, row) if code == SHORTCUT else _WHY.get(code, "")


_WHY = {
    CANNOT: "No sum over the conjunctions that were seen gives the true answers here, whatever the learner weighs.",
    NOT_DETERMINED: "Nothing seen links its values, so any answer would be as good.",
    UNSURE: "Too little was seen of its parts to say, or a simple rule did as well on what was held out.",
    NOVEL: "It holds a value never seen, about which nothing is known.",
}


def _why_leak(diagnosis: Diagnosis, row: int) -> str:
    without = said(diagnosis.learner.answers, diagnosis.unleaked[row : row + 1])
    return f"Part of the answer is memorised in the seen combinations; without that it would be {without}."


def _why_shortcut(diagnosis: Diagnosis, row: int) -> str:
    """Who pulls the wrong way, the two strongest by name, and what stands against them."""
    pulls = diagnosis.pulls(row)
    wrong = [(size, mask) for size, mask in pulls if size > 0][:_NAMED]
    if not wrong:
        return "The seen combinations suggest another answer."
    named = listing([f"{_values(diagnosis, row, mask)} ({measure(size)})" for size, mask in wrong])
    right = -sum(size for size, _ in pulls if size < 0)
    against = f", against {measure(right)} the right way" if right > 0 else ""
    return f"Pulled the wrong way{_towards(diagnosis, row)} by {named}{against}."


def _towards(diagnosis: Diagnosis, row: int) -> str:
    if diagnosis.learner.answers.kind == "number":
        return " (up)" if diagnosis.errors[row] > 0 else " (down)"
    return f" (to {said(diagnosis.learner.answers, diagnosis.scores[row : row + 1])})"


def _values(diagnosis: Diagnosis, row: int, mask: int | tuple[int, ...]) -> str:
    space = diagnosis.learner.support.space
    if isinstance(mask, tuple):  # effects, where some of them are elements
        owner = np.searchsorted(space.effects.offsets, mask, side="right") - 1
        named = [(space.factors[k], at - int(space.effects.offsets[k])) for k, at in zip(owner, mask, strict=True)]
        return " with ".join(f"{factor.name} = {factor.effect_labels[at]}" for factor, at in named)
    return " with ".join(
        f"{space.names[k]} = {space.factors[k].labels[int(diagnosis.codes[row, k])]}" for k in members(mask)
    )


def said(answers: Answers, scores: Numbers) -> str:
    """One row of scores as people read it: a number, or a class."""
    if answers.kind == "number":
        return (percent if answers.share else measure)(float(scores[0, 0]))
    return text(answers.classes[int(answers.decide(scores)[0])])
