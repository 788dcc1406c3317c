"""The evaluation in sentences: the verdict, its grade, and the reasons for it.

First the one thing that matters most, in this order: a shortcut, a group that is worse than its parts, islands in the
training, a simple rule that does better. Then what was measured on unseen combinations, with its interval, and what the
best simple rule gets; then how they compare with seen ones that are like them; then what cannot be known.
"""

from typing import TYPE_CHECKING

import numpy as np

from recombine.base import words
from recombine.base.grades import MATERIAL_LOSS, MATERIAL_SHORTCUT, Grade, at_most, earned
from recombine.base.words import amount, count, interval_words, measure, named, percent, percent_range
from recombine.data.space import text
from recombine.numerics.resampling import FEWEST
from recombine.verbs.audit.rule_choice import rule_words
from recombine.verbs.evaluate.deviations import BadGroup
from recombine.verbs.evaluate.matched_gap import THIN, MatchedGap, WorstGroup
from recombine.verbs.evaluate.outcomes import Outcomes, Score
from recombine.verbs.evaluate.scores import ScoreGap, SideScore

if TYPE_CHECKING:
    from recombine.verbs.evaluate.evaluation import Evaluation

_NAMES = {"mse": "mean squared error", "r2": "R²", "logloss": "log loss"}
_MANY = 0.1  # of the tested unseen combinations: islands that touch fewer are told among the reasons
_NAMED = 3  # groups or values in one reason
_ALIKE = 0.05  # of the gap: a matched one that differs by less needs no reason


def verdict(result: "Evaluation") -> str:
    """The answer: what matters most, and the score."""
    if result.group is not None:
        return _of_groups(result, result.group)
    lead = _shortcut(result) or _bad_group(result) or _islands(result) or _failing(result)
    return f"{lead} {_score(result)}" if lead else _score(result)


def _shortcut(result: "Evaluation") -> str:
    """A factor that the answers follow, where that costs much."""
    found, target = result.shortcut, result.outcomes.tested.target
    if found is None or found.worth < MATERIAL_SHORTCUT or target is None:
        return ""
    return (
        f"The answers follow {found.factor}: {percent(found.along)} are right where it points to the true "
        f"{target.name}, {percent(found.against)} where it points elsewhere."
    )


def worst_bad_group(result: "Evaluation") -> BadGroup | None:
    """Of the groups that are worse than their parts the one that costs most rows; shares must be 5 points worse."""
    least = MATERIAL_LOSS if result.score.is_share else 0.0
    found = [one for one in result.deviations.groups if abs(one.deviation) >= least]
    return max(found, key=lambda one: abs(one.deviation) * one.rows, default=None)


def _bad_group(result: "Evaluation") -> str:
    found = worst_bad_group(result)
    if found is None or result.outcomes.training is None:  # without a training table the score itself names it
        return ""
    many = len(result.deviations.groups) - 1
    more = f", and so {'does' if many == 1 else 'do'} {amount(many, 'other group')}" if many else ""
    return f"{named(found.group)} does worse than its parts: {_apart(result, found)}{more}."


def _islands(result: "Evaluation") -> str:
    """Training that falls apart, where a tenth of what was tested lies between the parts."""
    found, lost, unseen = result.outcomes.determinacy, result.side("undetermined"), result.side("unseen")
    if result.outcomes.tested.space.set_factors:  # where islands bound nothing: what is not fixed stands on its side
        return ""
    if found is None or found.island_count < 2 or lost.combinations < _MANY * max(unseen.combinations, 1):
        return ""
    return (
        f"Training falls into {count(found.island_count)} islands that share no value: nothing in it fixes the answers "
        f"of {count(lost.combinations)} of {amount(unseen.combinations, 'unseen combination')}."
    )


def _failing(result: "Evaluation") -> str:
    told = result.expected
    if not told.loses or told.value is None or told.baseline is None or told.baseline_name is None:
        return ""
    said = percent if told.score == "accuracy" else measure
    rule, gets = _rule_words(result, told.baseline_name), _gets(result, told.baseline)
    return f"A simple rule does better on unseen combinations: {rule} {gets}, the model {said(told.value)}."


def _by_group(result: "Evaluation") -> str:
    """The score, the worst group, and how many were never tested: what there is to say without a training table."""
    tested, bad, missing = result.side("all"), worst_bad_group(result), result.untested.total
    if tested.score is None:
        return f"On {amount(tested.combinations, 'tested combination')} {_is(result, tested)}."
    share = result.score.is_share
    name = "" if result.score.name == "accuracy" else f"{score_name(result.score)} "
    said = [f"{name}{interval_words(tested.score, tested.low, tested.high, share=share)} overall"]
    if bad is not None:
        said.append(f"worst group {', '.join(bad.group.values())}: {_apart(result, bad)}")
    elif result.worst and result.score.name != "r2":
        worst = next((one for one in result.worst if one.rows >= THIN), result.worst[0])
        score = percent(worst.score) if share else measure(worst.score)
        said.append(f"worst group {score} ({', '.join(worst.combination.values())})")
    if missing:
        said.append(f"{amount(missing, 'group')} never tested")
    return f"{'; '.join(said)}."


def _apart(result: "Evaluation", group: BadGroup) -> str:
    """A bad group's score, and how far that is from what its parts give."""
    score = percent(group.score) if result.score.is_share else measure(group.score)
    side = "below" if result.score.rows_better == "higher" else "above"
    return f"{score}, {_points(result.score.is_share, group.deviation)} {side} what its parts give elsewhere"


def _score(result: "Evaluation") -> str:
    """What was measured."""
    seen, unseen = result.side("seen"), result.side("unseen")
    if result.outcomes.training is None:
        return (
            f"{_by_group(result)} It was not told what the model was trained on, so nothing can be said about seen and "
            "unseen ones."
        )
    if not unseen.combinations:
        return _without_unseen(result)
    few = "Not enough evidence: on" if result.expected.lift is None else "On"
    first = f"{few} {amount(unseen.combinations, 'unseen combination')} {_unseen(result)}{_rule(result)}."
    if not seen.combinations:
        return f"{first} No combination that was seen in training was tested, so there is nothing to compare it with."
    return f"{first} {_gap(result)}"


def grade(result: "Evaluation") -> Grade:
    """Earned on unseen combinations, beside the best simple rule; or in the worst group, if the class is in groups.

    With a shortcut that costs much it is *weak* at best, and with a group that is worse than its parts *plausible*.
    """
    if result.group is not None:
        return result.group.grade
    if _shortcut(result):
        return at_most("weak", earned(result.expected))
    return earned(result.expected) if worst_bad_group(result) is None else at_most("plausible", earned(result.expected))


def _rule_words(result: "Evaluation", rule: str) -> str:
    space = result.outcomes.tested.space
    return rule_words(rule, factors=space.names, commonest=result.baselines.commonest, unit=space.effect_unit)


def _unseen(result: "Evaluation") -> str:
    """What was measured on the unseen combinations: in the unit of the rules, and in its own if that is another."""
    told, side = result.expected, result.side("unseen")
    if told.value is None or side.score is None:
        return _is(result, side)
    share = told.score == "accuracy"
    value = percent(told.value) if share else measure(told.value)
    around = interval_words(told.value, told.low, told.high, share=share).removeprefix(value)
    said = f"it gets {value} right{around}" if share else f"its R² is {value}{around}"
    if result.score.name in ("accuracy", "r2"):
        return said
    written = percent if result.score.is_share else measure
    return f"{said}, its {score_name(result.score)} is {written(side.score)}"


def _rule(result: "Evaluation") -> str:
    """The best simple rule beside it, and whether it is beaten."""
    told = result.expected
    if told.baseline is None or told.baseline_name is None or told.value is None:
        return ""
    share, rule = told.score == "accuracy", _rule_words(result, told.baseline_name)
    said = f". {rule[0].upper()}{rule[1:]} {_gets(result, told.baseline)}"
    if told.lift is None:
        unseen = amount(result.side("unseen").combinations, "unseen combination")
        return f"{said} ({unseen} are too few to tell them apart)"
    low, value, high = told.lift
    if low > 0:
        return f"{said}, {_points(share, value)} less ({_range(share, low, high)})"
    if high < 0:
        return f"{said}, {_points(share, value)} more ({_range(share, -high, -low)})"
    beyond = " by more than chance explains" if value > 0 else ""
    return f"{said}, which it does not beat{beyond}" + (f" ({_range(share, low, high)})" if low < high else "")


def _gets(result: "Evaluation", score: float) -> str:
    return f"gets {percent(score)}" if result.expected.score == "accuracy" else f"reaches {measure(score)}"


def _of_groups(result: "Evaluation", group: WorstGroup) -> str:
    """The worst group, the true class being part of each."""
    others = [name for name in result.outcomes.tested.space.names if name != group.label]
    what = f"{amount(group.groups, 'group')} of {group.label}, the true label, and {words.listing(others)}"
    thin = _thin(group)
    if group.combination is None or group.score is None:
        return f"None of {what} has enough tested rows: nothing is known of the worst.{thin}"
    rule = ""
    if group.baseline is not None and group.baseline_name is not None:
        does = _rule_words(result, group.baseline_name)
        rule = f" {does[0].upper()}{does[1:]} gets {percent(group.baseline)} right in its own worst group."
    return (
        f"Of {what}, the worst is {named(group.combination)}: "
        f"it gets {percent(group.score)} right{_as_worst(group)} of {amount(group.rows, 'row')}; "
        f"of all rows {percent(result.side('all').score or 0.0)}.{rule}{thin}"
    )


def _as_worst(group: WorstGroup) -> str:
    """Its interval, and that it is that of a group which was picked."""
    if group.low is None or group.high is None:
        return ""
    picked = f", allowing for its being the worst of {count(group.picked_from)}" if group.picked_from > 1 else ""
    return f" ({percent_range(group.low, group.high)}{picked})"


def _around(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f" ({percent_range(low, high)})"


def _thin(group: WorstGroup) -> str:
    said = []
    if group.thin:
        first = f", such as {named(group.thin[0])}" if len(group.thin) > 1 else f": {named(group.thin[0])}"
        have = "has" if len(group.thin) == 1 else "have"
        said.append(f"{amount(len(group.thin), 'group')} {have} fewer than 10 tested rows{first}")
    if group.missing:
        said.append(f"{amount(group.missing, 'more group')} {'has' if group.missing == 1 else 'have'} none")
    return f" {'; '.join(said)}: these are untested, and may be worse." if said else ""


def reasons(result: "Evaluation", notes: tuple[str, ...]) -> tuple[str, ...]:
    """What the verdict rests on, and what must be known to read it."""
    said = [
        result.baselines.missing or "",
        *_gap_reasons(result),
        *_side_reasons(result),
        *_never_varies(result.outcomes),
        _untested(result),
        result.deviations.sentence,
        *_worse_parts(result),
        result.rates.sentence if result.rates else "",
        result.against.verdict if result.against else "",
        *(_left_out(reason, rows) for reason, rows in result.outcomes.left_out.items()),
        *notes,
    ]
    return tuple(sentence for sentence in said if sentence)


def _worse_parts(result: "Evaluation") -> list[str]:
    """The groups that are worse than their parts, and the values that are worse than the rest, by name."""
    said = []
    for what, found in (("than their parts", result.deviations.groups), ("than the rest", result.deviations.values)):
        share, first = result.score.is_share, found[:_NAMED]
        each = [f"{named(one.group)} by {_points(share, one.deviation)} of {amount(one.rows, 'row')}" for one in first]
        more = [f"{count(len(found) - _NAMED)} more"] if len(found) > _NAMED else []
        if each:
            said.append(f"Worse {what}: {words.listing(each + more)}.")
    return said


def _never_varies(outcomes: Outcomes) -> list[str]:
    """What a score cannot show where every row has one truth, or one answer."""
    target, said = outcomes.tested.target, []
    if target is not None and not target.varies:
        said.append(
            f"{target.name} is the same in every tested row: whoever always answers that is right, "
            "and nothing shows which factors an answer depends on."
        )
    elif outcomes.kind == "label" and len(np.unique(outcomes.said[outcomes.count > 0])) == 1:
        only = text(outcomes.classes[int(outcomes.said[0])])
        said.append(f"The model answers {only!r} in every tested row, so its score is the share of that class.")
    return said


def score_name(score: Score) -> str:
    """A score's name in a sentence."""
    return _NAMES.get(score.name, score.name)


def _points(share: bool, number: float) -> str:
    """The size of a difference of scores."""
    return words.points(abs(number)) if share else measure(abs(number))


def _signed(score: Score, number: float) -> str:
    """A gap, below nothing where unseen combinations fare better."""
    return words.points(number) if score.is_share else measure(number)


def _range(share: bool, low: float, high: float) -> str:
    return words.points_range(low, high) if share else f"{measure(low)} to {measure(high)}"


def _the(side: SideScore) -> str:
    return "the one combination" if side.combinations == 1 else f"the {count(side.combinations)} combinations"


def _is(result: "Evaluation", side: SideScore) -> str:
    """The predicate of a sentence about a side."""
    if side.score is None:
        return f"its {score_name(result.score)} cannot be computed"
    if result.score.name == "accuracy":
        return f"it gets {percent(side.score)} right{_around(side.low, side.high)}"
    around = interval_words(side.score, side.low, side.high, share=result.score.is_share)
    return f"its {score_name(result.score)} is {around}"


def _gap(result: "Evaluation") -> str:
    """How unseen combinations compare with seen ones like them; with all seen ones where too few are like them."""
    gap, like = result.gap, result.matched
    if gap is None:
        return "How they compare with the seen ones cannot be computed."
    if like is None or like.value is None:
        return f"{_fare(result, gap.value, gap.low, gap.high, 'the seen ones')}, which are not matched."
    if not like.speaks_for_most:
        found_for = f"{count(like.combinations)} of {amount(result.side('unseen').combinations, 'unseen combination')}"
        rows = f"{percent(like.matched)} of their rows"
        fare = _fare(result, gap.value, gap.low, gap.high, "the seen ones")
        return f"{fare}; a match among these was found for {found_for} ({rows})."
    target = result.outcomes.tested.target
    what = "label" if target is not None and like.on == target.name else "values"
    return f"{_fare(result, like.value, like.low, like.high, f'seen ones of the same {what}')}."


def _fare(result: "Evaluation", value: float, low: float | None, high: float | None, whom: str) -> str:
    worse = "worse" if value >= 0 else "better"
    if value == 0 and low is None:
        return f"They fare like {whom}"
    if low is None or high is None:
        told = "without an interval, so it cannot be told from chance"
        return f"They fare {_points(result.score.is_share, value)} {worse} than {whom}, {told}"
    ends = (low, high) if value >= 0 else (-high, -low)
    share = result.score.is_share
    told = f"They fare {_points(share, value)} {worse} than {whom} ({_range(share, *ends)})"
    return told if low > 0 or high < 0 else f"{told}, no more than chance explains"


def _without_unseen(result: "Evaluation") -> str:
    seen, novel = result.side("seen"), result.side("novel")
    if novel.combinations and not seen.combinations:
        return (
            f"All {amount(novel.combinations, 'tested combination')} hold a value that was never in training: "
            f"{_is(result, novel)}. That says nothing about new combinations of known values."
        )
    also = f", or hold a value that was never there ({count(novel.combinations)})" if novel.combinations else ""
    return (
        f"Nothing is known about unseen combinations: all that were tested were seen in training{also}. "
        f"On {_the(seen)} seen in training {_is(result, seen)}."
    )


def _gap_reasons(result: "Evaluation") -> list[str]:
    """The gap as it is, and what it comes to where like is compared with like."""
    gap, like, seen = result.gap, result.matched, result.side("seen")
    if gap is None:
        return []
    if gap.low is None or gap.high is None:
        around = (
            f", without an interval: {_without_interval(min(seen.combinations, result.side('unseen').combinations))}"
        )
    else:
        around = f" ({_range(result.score.is_share, gap.low, gap.high)})"
    plain = "raw gap" if like is not None and like.value is not None else "gap"
    told = f"a {plain} of {_signed(result.score, gap.value)}{around}"
    raw = f"On {_the(seen)} seen in training {_is(result, seen)}: {told}."
    return [raw] if like is None else [raw, _matching(result, gap, like)]


def _matching(result: "Evaluation", gap: ScoreGap, like: MatchedGap) -> str:
    """What the raw gap owes to seen and unseen combinations being of other classes and values."""
    if like.value is None:
        return f"{(like.reason or '')[:1].upper()}{(like.reason or '')[1:]}."
    apart = gap.value - like.value
    kept = "" if like.matched == 1.0 else f" ({percent(like.matched)} of the unseen rows could be)"
    said = f"Matched on {like.on}{kept}, the gap is {_signed(result.score, like.value)}"
    if abs(apart) <= _ALIKE * max(abs(gap.value), abs(like.value)):
        return f"{said}."
    larger = "larger" if apart > 0 else "smaller"
    return f"{said}; the raw one is {_points(result.score.is_share, apart)} {larger}{_why_apart(result, like, apart)}."


def _why_apart(result: "Evaluation", like: MatchedGap, apart: float) -> str:
    """What the raw gap holds beyond the matched one: rows without a match, and other classes and values."""
    unseen = result.side("unseen").score
    if unseen is None or like.unseen is None:
        return ""
    unmatched = (like.unseen - unseen) * (1 if result.score.better == "higher" else -1)
    kind = apart - unmatched  # exactly: the seen ones as they are, less the seen ones weighted like the matched unseen
    why = ""
    if like.speaks_for_most and kind * apart > 0 and abs(kind) > _ALIKE * abs(apart):
        why = ", because unseen combinations are of other classes and values than seen ones"
    if abs(unmatched) > _ALIKE * abs(apart):
        fare = "worse" if unmatched > 0 else "better"
        why += f"{', and' if why else ':'} it also holds the unseen rows without a match, which fare {fare}"
    return why


def _without_interval(few: int) -> str:
    if few < FEWEST:
        return f"{amount(few, 'combination')} on one side {'is' if few == 1 else 'are'} too few"
    return (
        f"with {count(few)} combinations on one side, their scores differ not at all, or so much that it would rule "
        "nothing out"
    )


def _side_reasons(result: "Evaluation") -> list[str]:
    said = []
    for name, what in (
        ("undetermined", "are not fixed by training even under an additive rule"),
        ("novel", "hold a value that was never in training"),
    ):
        side = result.side(name)
        if side.combinations:
            said.append(f"{amount(side.combinations, 'tested combination')} {what}: on them {_is(result, side)}.")
    unseen = result.side("unseen")
    if unseen.pieces is not None:
        said.append(
            f"Whole blocks were held out: the {count(unseen.combinations)} unseen combinations count as "
            f"{amount(unseen.pieces, 'piece')} of evidence, since those of a block share their luck."
        )
    if unseen.combinations and unseen.note:
        said.append(unseen.note)
    return said


def _untested(result: "Evaluation") -> str:
    missing = result.untested
    never = "" if missing.zeros is None else f" {missing.zeros.sentence_of('untested combination')}"
    if not missing.total:
        return "Every combination of the space was tested."
    seen = f", {count(missing.seen)} of them seen in training" if missing.seen else ""
    return (
        f"{count(missing.total)} combinations of the space were not tested{seen}: "
        f"a worst case is the worst of the tested ones.{never}"
    )


def _left_out(reason: str, rows: int) -> str:
    if reason.startswith("on "):
        return f"{count(rows)} rows are {reason} and were not scored."
    flatter = " If these are the hard ones, the scores flatter." if reason.startswith("the prediction") else ""
    return f"In {count(rows)} tested rows {reason}: they were not scored.{flatter}"
