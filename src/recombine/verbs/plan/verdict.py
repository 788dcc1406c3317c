"""A plan in words: what a line buys, what blocks a goal, and the verdict."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from recombine.base.words import count, listing, measure, percent
from recombine.data.space import Space
from recombine.numerics.groups import Codes, Flags
from recombine.verbs.audit.determined_space import Determinacy
from recombine.verbs.plan.choice import NOTHING_LEFT, BlockedValues, Choice, RuleTest
from recombine.verbs.plan.collectable import Collectable
from recombine.verbs.plan.open_directions import OpenDirections

_NAMED = 3  # values that a sentence names before it counts the rest
_LISTED = 20  # values of each factor that a record names as standing in the way
_EXAMPLES = 10  # combinations that are shown of those that stay undetermined
_WELLS = 5  # sets that the first sentence names
_AS_GOOD_AS_ALL = 0.995  # of one example: what is missing then is not worth a number


def values_apart(directions: OpenDirections, solved: Determinacy) -> list[Flags]:
    """For each factor, the values whose difference to the base's value is not fixed."""
    apart = []
    for k, code in enumerate(directions.base):
        island, signature = solved.islands[k], solved.signatures[k]
        apart.append((island != island[code]) | (signature != signature[code]).any(axis=1))
    return apart


def joining_text(directions: OpenDirections, before: Determinacy, after: Determinacy, gain: int, single: bool) -> str:
    """What a line, or the lines since the last figure, tie to the rest."""
    then, now = values_apart(directions, before), values_apart(directions, after)
    joined = [was & ~is_ for was, is_ in zip(then, now, strict=True)]
    subject = "" if single else "with the lines before it, "
    if not any(part.any() for part in joined):
        return f"{subject}{more_determined(gain)}" if gain else f"{subject}a step that the lines after it complete"
    return f"{subject}joins {_values(directions.support.space, joined)} to the rest; {more_determined(gain)}"


def more_determined(gain: int) -> str:
    """How many combinations are newly determined."""
    return f"{count(gain)} more combination{'s' * (gain != 1)} determined"


def _values(space: Space, chosen: Sequence[Flags]) -> str:
    """Some values by name, and how many more there are."""
    total = sum(int(part.sum()) for part in chosen)
    labels = [
        f"{factor.name}={factor.labels[v]}"
        for factor, part in zip(space.factors, chosen, strict=True)
        for v in np.flatnonzero(part)[:_NAMED]
    ][:_NAMED]
    if total > len(labels):
        labels.append(f"{total - len(labels):,} more")
    return listing(labels)


def blocked(
    collectable: Collectable, missing: int, apart: Sequence[Flags], hopeless: Mapping[int, Flags], examples: Codes
) -> BlockedValues:
    """What stays undetermined, and the values that stand in the way."""
    space = collectable.space
    never = {k: flags & apart[k] for k, flags in hopeless.items()}
    dead = [never.get(k, np.zeros(size, dtype=bool)) for k, size in enumerate(space.sizes)]
    held = dead if any(part.any() for part in dead) else list(apart)
    values = {
        factor.name: tuple(factor.labels[v] for v in np.flatnonzero(part)[:_LISTED])
        for factor, part in zip(space.factors, held, strict=True)
        if part.any()
    }
    why = (
        "no combination of it can be collected"
        if held is dead
        else "no combination that can be collected ties it to the rest"
        if collectable.listable
        else "none of the combinations tried ties it to the rest"
    )
    if sum(int(part.sum()) for part in held) > 1:
        why = why.replace(" of it", " of these").replace("ties it", "ties them")
    plural = "s stay" if missing != 1 else " stays"
    said = f"{count(missing)} combination{plural} undetermined because of {_values(space, held)}: {why}."
    shown = tuple(space.label_row(row) for row in examples[:_EXAMPLES])
    return BlockedValues(missing, "combinations", values, shown, said)


def cost_text(number: int, cost: float | None, more: str = "") -> str:
    """So many combinations, with their cost where it is not simply their number.

    >>> cost_text(1, 1.0, "more "), cost_text(1200, 3000.0)
    ('1 more combination', '1,200 combinations (cost 3,000)')
    """
    plain = cost is None or cost == number
    return f"{number:,} {more}combination{'s' * (number != 1)}" + ("" if plain else f" (cost {count(cost or 0.0)})")


_MET = "This goal was met before: "
_IF = "if the factors add up"
"""On which the goals `determined` and `leverage` rest; what an audit says of it stands behind it."""
_NOTHING = {
    "determined": _MET + f"every unseen combination can be worked out, {_IF}.",
    "pairs": _MET + "every possible pair of values was seen.",
    "triples": _MET + "every possible triple of values was seen.",
}
COMPLETE = "There is nothing to plan for: every possible combination was seen."


def verdict(goal: str, choice: Choice, budget: float | None, *, complete: bool, rule: RuleTest | None) -> str:
    """The answer in a few sentences, with the *if* of a goal that rests on one, and what was tested of it.

    `complete` says that every possible combination was seen.
    """
    if complete and goal != "balance":
        return COMPLETE
    said = _bare_verdict(goal, choice, budget)
    if goal == "leverage" and choice.refused is None:
        said += f" That counts only {_IF}."
    return said if rule is None else said.replace(_IF, f"{_IF}{rule.aside}", 1)


def _bare_verdict(goal: str, choice: Choice, budget: float | None) -> str:
    needs = cost_text(len(choice.codes), float(choice.prices.sum()), "more ")
    if choice.refused is not None:
        sentence = choice.refused
    elif not len(choice.codes):
        met = choice.reached and not choice.needed.combinations
        sentence = _met(goal, choice) if met else _too_little(choice, budget)
    elif choice.words[-1] == NOTHING_LEFT:
        sentence = f"{needs} would be all that can be collected: nothing unseen that could be worked out would be left."
    else:
        sentence = _VERDICTS[goal](choice, needs)
    return f"{sentence} {choice.blocked.said}" if choice.blocked is not None else sentence


def _met(goal: str, choice: Choice) -> str:
    if goal in _NOTHING:
        return _NOTHING[goal]
    if goal == "balance":
        return f"{_MET}every combination has at least {count(choice.measure.full or 0.0)} rows, the median."
    worst = choice.measure.today
    if worst is None:
        return COMPLETE
    return (
        f"{_MET}the worst leverage of an unseen combination is {measure(worst)}. Leverage is how much the noise of the "
        "seen answers is amplified; at 1 or below, an answer is at least as certain as one example would make it."
    )


def _of_determined(choice: Choice, needs: str) -> str:
    whole, today = choice.needed.combinations or 0, choice.measure.today or 0.0
    bought = round(float(choice.after[-1]) - today)
    open_ = round((choice.measure.full or 0.0) - today)
    if choice.wells and choice.reached:
        return _of_wells(choice, open_, needs)
    if choice.measure.name != "combinations determined":
        return f"{needs} would add {count(bought)} independent facts, of {count(whole)} that are missing."
    first = f" The first {choice.words[0].split(';')[0]}." if choice.words[0].startswith("joins") else ""
    if choice.reached:
        they = "the one that is undetermined" if open_ == 1 else f"all {count(open_)} undetermined ones"
        return f"{needs} would let {they} be worked out, {_IF}.{first}"
    said = f"{needs} would let {count(bought)} of the {count(open_)} undetermined ones be worked out, {_IF}.{first}"
    if len(choice.codes) < whole:
        said += f" The goal takes {cost_text(whole, choice.needed.cost)}."
    return said


def _of_wells(choice: Choice, open_: int, needs: str) -> str:
    """Which sets to measure, by name.

    >>> from recombine.verbs.plan.choice import PlanMeasure, PlanNeed
    >>> codes, one = np.zeros((2, 1), dtype=np.int32), np.ones(2)
    >>> measured, need = PlanMeasure("combinations determined", 4.0, "higher", 7.0), PlanNeed(2, 2.0, True, "")
    >>> _of_wells(Choice(codes, one, one, ("", ""), measured, need, True, wells=("A", "B + C")), 3, "2 combinations")
    'Measure A and B + C: after them all 3 undetermined combinations follow, if the factors add up.'
    """
    named = listing(list(choice.wells))
    if len(choice.wells) > _WELLS:
        named = f"{', '.join(choice.wells[:_WELLS])} and {len(choice.wells) - _WELLS:,} more ({needs})"
    elif float(choice.prices.sum()) != len(choice.wells):
        named = f"{named} (cost {count(float(choice.prices.sum()))})"
    them = "it" if len(choice.wells) == 1 else "them"
    all_ = (
        "the undetermined combination follows" if open_ == 1 else f"all {count(open_)} undetermined combinations follow"
    )
    return f"Measure {named}: after {them} {all_}, {_IF}."


def _too_little(choice: Choice, budget: float | None) -> str:
    if budget is None or choice.needed.combinations == 0:
        return "Nothing that can be collected would help."
    if choice.needed.combinations is None:
        return f"A budget of {count(budget)} buys nothing for this goal."
    whole = cost_text(choice.needed.combinations, choice.needed.cost)
    return f"A budget of {count(budget)} buys nothing for this goal, which takes {whole}."


def _of_cover(goal: str, choice: Choice, needs: str) -> str:
    whole, today = choice.needed.combinations or 0, choice.measure.today or 0.0
    open_ = round((choice.measure.full or 0.0) - today)
    if choice.reached:
        they = f"the {goal.removesuffix('s')} of values" if open_ == 1 else f"all {count(open_)} {goal} of values"
        return f"{needs} would cover {they} that {'was' if open_ == 1 else 'were'} never seen together."
    last = round(float(choice.after[-1]) - today)
    said = f"{needs} would cover {count(last)} of the {count(open_)} {goal} of values never seen together."
    if len(choice.codes) < whole:
        said += f" All that can be covered take {cost_text(whole, choice.needed.cost)}."
    return said


def _of_leverage(choice: Choice, needs: str) -> str:
    last, today = float(choice.after[-1]), choice.measure.today
    if not np.isfinite(last):
        return f"{needs} would not yet let every unseen combination be worked out."
    was = "no bound at all" if today is None else measure(today)
    whose = "an unseen combination" if choice.blocked is None else "what can be worked out"
    said = f"{needs} would lower the worst leverage of {whose} from {was} to {measure(last)}"
    if was == measure(last):
        mean = measure(float(choice.extra["mean_leverage"][-1]))
        said = f"{needs} would leave the worst leverage of {whose} at {was} and lower the mean to {mean}"
    if choice.share is not None and choice.blocked is None:
        certain = "as" if choice.share >= _AS_GOOD_AS_ALL else f"{percent(choice.share)} as"
        said += f". On average an unseen combination is then {certain} certain as one example would make it"
    return said + "."


def _of_variance(choice: Choice, needs: str) -> str:
    today, last = choice.measure.today or 0.0, float(choice.after[-1])
    return (
        f"{needs} would lower the mean variance of what a network or kernel says of unseen combinations "
        f"by {percent(1 - last / today)}, from {measure(today)} to {measure(last)}."
    )


def _of_balance(choice: Choice, needs: str) -> str:  # noqa: ARG001 - a plan for balance counts rows, not combinations
    rows, cost = float(choice.extra["rows"].sum()), float(choice.prices.sum())
    price = "" if cost == rows else f" (cost {count(cost)})"
    cells = f"{len(choice.codes):,} combination{'s' * (len(choice.codes) != 1)}"
    more = f"{count(rows)} more row{'s' * (rows != 1)}{price} in {cells}"
    today, last, full = choice.measure.today or 0.0, float(choice.after[-1]), count(choice.measure.full or 0.0)
    if last <= today:
        whole = f"{full} in each would cost {count(choice.needed.cost or 0.0)}"
        return f"{more} would not bring up all of the thinnest, which have {count(today)}; {whole}."
    said = f"{more} would bring the thinnest from {count(today)} to {count(last)} rows"
    if choice.reached or choice.needed.cost is None:
        return f"{said}."
    return f"{said}; {full} rows in each would cost {count(choice.needed.cost)}."


_VERDICTS: Mapping[str, Callable[[Choice, str], str]] = {
    "balance": _of_balance,
    "determined": _of_determined,
    "pairs": partial(_of_cover, "pairs"),
    "triples": partial(_of_cover, "triples"),
    "leverage": _of_leverage,
    "variance": _of_variance,
}
