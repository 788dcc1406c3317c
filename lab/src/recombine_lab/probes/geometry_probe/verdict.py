"""The outcome in a word, by measures that beat their controls and by no others.

    apart        what single factors do is told apart: additively, as a product, or (with the truth) on unseen answers
    inherited    apart, but no more than random features or the network before training
    mixed        values are shared, but their effects hang on each other more than chance features would make them; or,
                 with the truth, unseen answers are wrong and not known to be made of seen ones
    memorised    combinations that share a value are no more alike than others; or, with the truth, unseen answers are
                 seen ones laid over each other
    unclear      not enough evidence

A network that memorised a table has layers that hold the factors apart as well, since all of its inputs do. So what is
said of a layer is said together with what the answers do on unseen combinations; where that is not known, no layer is
more than weakly apart.

Orthogonality of steps, volumes, uncentred separability, probes and ranks decide nothing: a table of unrelated vectors
or random features pass each of them.

What the page of a geometry probe draws: each deciding measure from layer to layer, and all measures beside all
controls where it was decided.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from recombine.base.grades import Grade
from recombine.base.words import interval_words, listing, measure, percent
from recombine.output.figures import Curve, Curves, Figure, Matrix
from recombine_lab.probes.geometry_probe.answers import (
    EXCESS,
    GAP,
    PARTIAL,
    SEEN_ERROR,
    STRIPES,
    SUPERPOSITION,
    ErrorTally,
)
from recombine_lab.probes.geometry_probe.controls import CONTROLS, LOOKUP, MATCHED, RANDOM, SHUFFLED, TRUTH, UNTRAINED
from recombine_lab.probes.geometry_probe.kernel_measures import (
    ADDITIVITY,
    CENTRED,
    ORTHOGONALITY,
    PROBE,
    PROBE_UNSEEN,
    PUBLISHED,
    SEPARABILITY,
    MeasuredInterval,
)
from recombine_lab.probes.geometry_probe.layer_sources import ANSWER
from recombine_lab.probes.geometry_probe.measures import Measured
from recombine_lab.probes.probe import MEASURED, finite

Outcome = Literal["apart", "inherited", "mixed", "memorised", "unclear"]
GRADES: dict[Outcome, Grade] = {
    "apart": "weak",
    "inherited": "weak",
    "mixed": "weak",
    "memorised": "failing",
    "unclear": "untested",
}
_POINT = 0.01
"""A control is beaten by at least this much: less could be rounding."""
_HALF = 0.5
"""Of the trivial error: what is above is not learned, what is below is."""
_SOUND = 0.1
"""Of the trivial error: below it a combination that was never seen is answered."""
_NO_ROOM = 0.95
"""Where seen examples explain more than this of the truth itself, no answer can be much more of a superposition."""
_ENOUGH = 5
"""Unseen combinations: that fewer of them are all on one side is no wonder."""
_UNKNOWN = "What the answers do on unseen combinations is not known: a memorised table looks like this too."
_LEAST = 1e-4
"""Of the trivial error: nobody needs the digits of what is less."""


@dataclass(frozen=True)
class Decision:
    """An outcome, the sentence behind it, and where it was decided."""

    outcome: Outcome
    verdict: str
    grade: Grade
    where: str


def decided(found: Measured) -> Decision:
    """By the answers where the truth is known, else by the deepest layer before the answer that all factors reach."""
    if found.answer is not None and _knows_unseen(found):
        return by_answers(found, found.answer)
    return _deepest(found)


def beside_answers(found: Measured, where: str) -> Decision:
    """What a layer's dot products say, together with what the answers do on unseen combinations.

    Where that is not known, the answers' own dot products are looked at: those of a memorised table are no more alike
    where combinations share a value, and mixed ones may come from a rule of combinations or from a table.
    """
    layer = by_layer(found, where)
    if layer.outcome != "apart":
        return layer
    if _knows_unseen(found):
        assert found.answer is not None  # noqa: S101 - else nothing is known
        answers = by_answers(found, found.answer)
        held = answers.outcome in ("apart", "inherited")
        said = f"{layer.verdict} {answers.verdict}"
        return Decision("apart", said, answers.grade, where) if held else _decision("unclear", where, said)
    answers = by_layer(found, ANSWER) if ANSWER in found.layers and where != ANSWER else layer
    if answers.outcome in ("memorised", "mixed"):
        return _decision("unclear", where, f"{layer.verdict} {answers.verdict} {_UNKNOWN}")
    return replace(layer, verdict=f"{layer.verdict} {_UNKNOWN}")


def _knows_unseen(found: Measured) -> bool:
    """Whether the answers to unseen combinations were held against the truth."""
    return found.answer is not None and found.get(found.answer, GAP).value is not None


def _deepest(found: Measured) -> Decision:
    """A branch that never sees a factor cannot say how a model holds it, however deep it is."""
    inner = [name for name in found.layers if name != ANSWER] or found.layers
    reached = [name for name in found.layers if not found.still.get(name)]
    before = [name for name in reached if name in inner]
    where = (before or reached or inner)[-1]
    decision = beside_answers(found, where)
    if where == inner[-1]:
        return decision
    beside = f"Layer '{inner[-1]}' does not vary with {listing(found.still[inner[-1]])}."
    return replace(decision, verdict=f"{decision.verdict} {beside}")


def by_layer(found: Measured, where: str) -> Decision:
    """What a layer's dot products say: does it share what combinations have in common, and does it keep it apart?"""
    own, centred = found.get(where, ADDITIVITY), found.get(where, CENTRED)
    still = found.still.get(where, ())
    if own.low is None or own.high is None or found.factors - len(still) < 2:
        return _decision("unclear", where, f"{_at(where)} nothing can be said: {_why_nothing(own, still)}")
    tables = _highest(found, where, ADDITIVITY, (LOOKUP, SHUFFLED))
    chance = _highest(found, where, ADDITIVITY, (RANDOM, UNTRAINED))
    if not own.low > tables.high + _POINT:
        return _unshared(found, where, own, tables)
    if own.low > chance.high + _POINT:
        return _decision(
            "apart",
            where,
            f"{_at(where)} single factors make {_share(own)} of what combinations differ by, beyond "
            f"{_share(chance)} of {chance.who} and {_share(tables)} of {tables.who}.",
        )
    product = _highest(found, where, CENTRED, (RANDOM, UNTRAINED, MATCHED))
    if centred.low is not None and centred.low > product.high + _POINT:
        return _decision(
            "apart",
            where,
            f"{_at(where)} similarity is a product over the factors to {_share(centred)} (separability, centred), "
            f"beyond {_share(product)} of {product.who}; single factors make {_share(own)}, beyond {_share(tables)} of "
            f"{tables.who}.",
        )
    lowest = _lowest(found, where, ADDITIVITY, (RANDOM, UNTRAINED))
    if own.high < lowest.low - _POINT:
        return _decision(
            "mixed",
            where,
            f"{_at(where)} single factors make {_share(own)} of what combinations differ by: more than the "
            f"{_share(tables)} of {tables.who}, less than the {_share(lowest)} of {lowest.who}. The rest "
            "hangs on combinations.",
        )
    return _decision(
        "inherited",
        where,
        f"{_at(where)} single factors make {_share(own)} of what combinations differ by, no more than the "
        f"{_share(chance)} of {chance.who}: it comes with the input code, not with training.",
    )


def by_answers(found: Measured, where: str) -> Decision:
    """What the answers say, held against the truth."""
    gap, seen, excess = (found.get(where, name) for name in (GAP, SEEN_ERROR, EXCESS))
    if None in (gap.low, gap.high, seen.value):
        return _decision("unclear", where, "Too few values to say how sure the error on unseen combinations is.")
    assert gap.low is not None  # noqa: S101 - looked at above
    assert gap.high is not None  # noqa: S101
    beside = _lowest(found, where, GAP, (LOOKUP, RANDOM))
    error = f"On unseen combinations the error is {_number(gap)} of the trivial one"
    control = f"{beside.who}: {_number(beside)}"
    if seen.value is not None and seen.value > _HALF:
        return _decision(
            "unclear",
            where,
            f"It has not learned what it was shown: the error on seen combinations is {_few(seen.value)} of the "
            f"trivial one. {error} ({control}).",
        )
    if gap.high < _HALF:
        return _right(gap, beside, where, f"{error} ({control})")
    if gap.low > _HALF:
        return _wrong(found, where, excess, f"{error} ({control})")
    return _decision("unclear", where, f"{error} ({control}): {_one_by_one(found.tally)}.")


def _one_by_one(tally: ErrorTally | None) -> str:
    """What single combinations say where their mean is not sure: each of them is as it is."""
    sides = () if tally is None or tally.unseen < _ENOUGH else (tally.worse, tally.wrong, tally.right)
    words = (
        "are worse than the trivial answer",
        "have more than half the trivial error",
        "have less than half the trivial error",
    )
    for count, said in zip(sides, words, strict=False):
        if tally is not None and count == tally.unseen:
            return f"all {count:,} unseen combinations {said}, but there are too few values to be sure of others"
    return "between right and wrong, nothing can be said"


def _right(gap: MeasuredInterval, beside: "Control", where: str, error: str) -> Decision:
    """Whether being right on unseen combinations is more than fixed features give."""
    assert gap.high is not None  # noqa: S101 - looked at before
    if gap.high < beside.low:
        grade: Grade = "sound" if gap.high <= _SOUND else "plausible"
        return Decision("apart", f"{error}: what it learned of single factors holds together.", grade, where)
    return _decision("inherited", where, f"{error}: it is right, and no more so than {beside.who}.")


def _wrong(found: Measured, where: str, excess: MeasuredInterval, error: str) -> Decision:
    """What unseen answers are made of, where they are wrong: whatever that is, they fail."""
    laid = found.get(where, SUPERPOSITION)
    if laid.value is None:
        return _decision("memorised", where, f"Unseen combinations are answered with nothing. {error}.")
    own = found.get(where, SUPERPOSITION, TRUTH).value or 0.0
    explained = f"{_share(laid)} of them, and {percent(own)} of the truth"
    more = excess.low is not None and excess.low > 0
    # a sum that is not surely more of one than the truth, but may well be one, is not to be called none either
    if own > _NO_ROOM or (not more and (laid.high or laid.value) > _NO_ROOM):
        said = f"Superposition cannot tell what unseen answers are made of: seen ones explain {explained}."
        return Decision("mixed", f"{error}. {said}", "failing", where)
    if more:
        return _decision(
            "memorised",
            where,
            f"Unseen answers are seen ones laid over each other: these explain {explained}. {error}.",
        )
    said = f"Seen answers laid over each other explain {explained}: not surely more, so superposition is not shown."
    return Decision("mixed", f"{error}. {said}", "failing", where)


@dataclass(frozen=True)
class Control:
    """The control that comes closest, with the ends of its interval."""

    who: str
    value: float
    low: float
    high: float


_NONE_HIGH = Control("no control", float("nan"), float("-inf"), float("-inf"))
_NONE_LOW = Control("no control", float("nan"), float("inf"), float("inf"))


def _controls(found: Measured, where: str, name: str, whose: tuple[str, ...]) -> list[Control]:
    all_of = [(who, found.get(where, name, who)) for who in whose]
    return [
        Control(who, one.value, one.low, one.high)
        for who, one in all_of
        if one.value is not None and one.low is not None and one.high is not None
    ]


def _highest(found: Measured, where: str, name: str, whose: tuple[str, ...]) -> Control:
    return max(_controls(found, where, name, whose), key=lambda one: one.high, default=_NONE_HIGH)


def _lowest(found: Measured, where: str, name: str, whose: tuple[str, ...]) -> Control:
    return min(_controls(found, where, name, whose), key=lambda one: one.low, default=_NONE_LOW)


def _unshared(found: Measured, where: str, own: MeasuredInterval, tables: Control) -> Decision:  # noqa: ARG001
    assert own.high is not None  # noqa: S101 - looked at before
    said = (
        f"{_at(where)} single factors make {_share(own)} of what combinations differ by, and {_share(tables)} in "
        f"{tables.who}"
    )
    # that no sharing was found counts only where a good deal of it would have been
    if own.high <= max(tables.high, tables.value + 0.05) and tables.high < _HALF:
        return _decision("memorised", where, f"{said}: combinations that share a value are no more alike than others.")
    return _decision("unclear", where, f"{said}: too few values to tell the two apart.")


def _decision(outcome: Outcome, where: str, verdict: str) -> Decision:
    return Decision(outcome, verdict, GRADES[outcome], where)


def _at(where: str) -> str:
    """Where something was measured, as a sentence begins with it; a layer may be called by a bare number.

    >>> _at("0"), _at("answer")
    ("At layer '0'", 'In the answer')
    """
    return f"In the {where}" if where in ("answer", "features") else f"At layer '{where}'"


def _why_nothing(own: MeasuredInterval, still: Sequence[str]) -> str:
    if own.value is None:
        return "nothing varies, or no part of the grid is without holes."
    if own.low is None:
        return "no factor has three values or more, so that no interval can be given."
    # one factor alone is a sum of single factors by its nature
    return f"it does not vary with {listing(still)}, so that there are no two factors to be held apart."


def _share(one: MeasuredInterval | Control) -> str:
    assert one.value is not None  # noqa: S101 - only what was measured is said
    own = one.low is not None and one.high is not None and one.high > one.low
    low, high = (max(one.low or 0.0, 0.0), min(one.high or 0.0, 1.0)) if own else (None, None)
    return interval_words(one.value, low, high)


def _number(one: MeasuredInterval | Control) -> str:
    value = one.value or 0.0
    if one.low is None or one.high is None or not one.high > one.low or one.high < _LEAST:
        return _few(value)
    return f"{_few(value)} ({_few(one.low)} to {_few(one.high)})"


def _few(number: float) -> str:
    """A number without the digits that rounding makes.

    >>> _few(0.0), _few(3e-15), _few(0.0133)
    ('0', 'under 0.0001', '0.0133')
    """
    return f"under {_LEAST:.4f}" if 0 < number < _LEAST else measure(number)


_SHARES = (ORTHOGONALITY, PUBLISHED, ADDITIVITY, SEPARABILITY, CENTRED, PROBE, PROBE_UNSEEN, *STRIPES, PARTIAL)
_OF_ANSWERS = (SUPERPOSITION, EXCESS, GAP, SEEN_ERROR)
_CURVES = {
    ADDITIVITY: "The share of variance that single factors make. It decides, where it lies beyond every control.",
    CENTRED: "How far similarity is a product over the factors, measured from the mean. Our metric.",
    PROBE: "Can each factor be read off for combinations that the probe was not fitted on? Random features pass.",
    ORTHOGONALITY: "Do steps of different factors point in different directions? A table of unrelated vectors passes.",
}


_UNDRAWN = {(ADDITIVITY, MATCHED), (PROBE, SHUFFLED)}
"""The same line by its making; and a probe of shuffled factors is so wrong that no other line could be told apart."""


def pictures(found: Measured, where: str) -> tuple[Figure, ...]:
    """The figures, those with nothing in them left out."""
    drawn: list[Figure] = []
    for name, sentence in _CURVES.items():
        whose = [who for who in (MEASURED, *CONTROLS) if (name, who) not in _UNDRAWN]
        curves = [curve for who in whose if (curve := _curve(found, name, who)) is not None]
        if curves:
            drawn.append(Curves(name.capitalize(), sentence, "layer", name, tuple(found.layers), tuple(curves)))
    return (_matrix(found, where), *drawn)


def _curve(found: Measured, name: str, who: str) -> Curve | None:
    all_of = [found.get(where, name, who) for where in found.layers]
    if all(one.value is None for one in all_of):
        return None
    values, low, high = (tuple(finite(getattr(one, end)) for one in all_of) for end in ("value", "low", "high"))
    return Curve(name=who, values=values, low=low, high=high, control=who != MEASURED)


def _matrix(found: Measured, where: str) -> Matrix:
    whose = [who for who in (MEASURED, TRUTH, *CONTROLS) if (where, who) in found.own or (where, who) in found.draws]
    names = [
        name for name in (*_OF_ANSWERS, *_SHARES) if any(found.get(where, name, who).value is not None for who in whose)
    ]
    cells = tuple(tuple(finite(found.get(where, name, who).value) for who in whose) for name in names)
    return Matrix(
        f"Every measure at {where}",
        "What cannot compose stands beside what was measured. Where a control scores as high, a measure says nothing.",
        tuple(names),
        tuple(whose),
        cells,
    )
