"""How well a model does, as dots with intervals: on what it saw and what it did not, value by value, beside another."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from recombine.base.grades import MOST_MATCHED
from recombine.base.words import percent_range
from recombine.output.headline import NO_BREAK, decimal, enumerate_words, percent, shorten, value, whole
from recombine.output.pictures import Bounds, Dot, Dots, around, bounds, dots_on, widened

Data = Mapping[str, Any]
SIDES = {
    "all": "all tested",
    "seen": "seen",
    "unseen": "unseen",
    "determined": "— determined",
    "undetermined": "— undetermined",
    "all seen alone": "— all seen alone",
    "seen with others only": "— seen with others only",
    "novel": "novel",
}
NAMES = {"mse": "mean squared error", "r2": "R²", "logloss": "log loss"}
MOST_VALUES = 12
MOST_FACTORS = 12
MOST_NAMED = 6
MOST_RULES = 8


@dataclass(frozen=True)
class FactorScores:
    """The values of one factor by their scores, the worst first."""

    name: str
    picture: Dots | None
    sentence: str


def score_name(score: Data) -> str:
    """What the score is called in a sentence.

    >>> score_name({"name": "mse"}), score_name({"name": "accuracy"})
    ('mean squared error', 'accuracy')
    """
    return NAMES.get(score["name"], value(score["name"]))


def spoken(score: Data) -> Callable[[float | None], str]:
    """How a score is written: a share in percent, anything else to three digits."""
    return percent if score.get("share") else decimal


def difference(score: Data, number: float | None) -> str:
    """A difference of scores with its sign; shares differ by points of a hundred.

    >>> difference({"share": True}, 0.234), difference({"share": False}, -0.5), difference({"share": True}, None)
    ('+23 points', '−0.5', '–')
    """
    if number is None:
        return "–"
    size = abs(number) * (100 if score.get("share") else 1)
    text = decimal(size) if not score.get("share") else f"{size:.0f}" if size >= 10 else f"{size:.2g}"
    sign = "" if float(text.replace(",", "")) == 0 else "+" if number > 0 else "−"
    return f"{sign}{text}{' points' if score.get('share') else ''}"


def sides(data: Data) -> Dots | None:
    """The score on seen, unseen and novel combinations; what was not tested is shown as such."""
    told = data.get("training") is not None
    wanted = [one for one in data.get("sides") or [] if (one["name"] != "all") == told and one["name"] in SIDES]
    if not wanted:
        return None
    fmt, within = spoken(data["score"]), _within(data["score"], wanted, ("score", "low", "high"))
    dots = [
        Dot(
            SIDES[one["name"]],
            one["score"],
            one["low"],
            one["high"],
            _scored(one, fmt),
            _counted(one, data),
            own=one["name"] == ("unseen" if told else "all"),
        )
        for one in wanted
    ]
    return dots_on(within, dots, fmt, score=score_name(data["score"]), better=data["score"]["better"])


def rules(data: Data) -> Dots | None:
    """The model on unseen combinations beside what simple rules get there."""
    told, beside = data.get("expected") or {}, data.get("baselines") or {}
    found = [one for one in beside.get("found") or [] if one["side"] == "unseen"]
    if told.get("value") is None or not found:
        return None
    share = told["score"] == "accuracy"
    fmt, unit = (percent if share else decimal), {"share": share}
    shown = sorted(found, key=lambda one: -one["score"])[:MOST_RULES]
    known = [number for number in (told["value"], told["low"], told["high"]) if number is not None]
    known += [one["score"] for one in shown]
    within = widened(bounds(known)) if share else bounds(known)
    own = Dot(
        "this model",
        told["value"],
        told["low"],
        told["high"],
        _scored(told | {"score": told["value"]}, fmt),
        f"on {_combinations(told['tested'])} not seen in training",
        own=True,
    )
    others = [Dot(value(one["rule"]), one["score"], None, None, fmt(one["score"]), _lift(one, unit)) for one in shown]
    return dots_on(within, [own, *others], fmt, score=told["score"], better="higher")


def _lift(one: Data, unit: Data) -> str:
    if one["lift"] is None:
        return "the model less this rule: no interval"
    low, found, high = one["lift"]
    ends = f"{difference(unit, low).removesuffix(' points')} to {difference(unit, high)}"
    return f"the model less this rule: {difference(unit, found)} ({ends})"


def gap(data: Data) -> Dots | None:
    """How much worse the unseen combinations fare, matched and raw, on an axis of its own that holds zero."""
    score = data["score"]
    like = data.get("matched") or {}
    wanted = [("matched", like if like.get("value") is not None else None), ("raw", data.get("gap"))]
    found = [(name, one) for name, one in (wanted if _leads(like) else wanted[::-1]) if one]
    if not found:
        return None
    ends = [one[key] for _, one in found for key in ("value", "low", "high") if one[key] is not None]
    within = around([0.0, *ends], 0.12)
    dots = [
        Dot(
            name,
            one["value"],
            one["low"],
            one["high"],
            difference(score, one["value"]).lstrip("+"),
            _interval(one, score),
            own=position == 0,
        )
        for position, (name, one) in enumerate(found)
    ]
    return differences(dots, within, score)


def _leads(like: Data) -> bool:
    """Whether the matched gap speaks for most of the unseen, so that the verdict goes by it."""
    return like.get("value") is not None and like["matched"] >= MOST_MATCHED


def gap_sentence(data: Data) -> str:
    """What the gap says, and what its interval leaves open."""
    like = data.get("matched") or {}
    matched = _leads(like)
    found = like if matched else data.get("gap")
    if not found:
        return ""
    named = f"gap, matched on {value(like['on'])}," if matched else "gap"
    if found["low"] is None:
        return f"There are too few combinations for an interval of the {named} so it cannot be told from chance."
    if found["low"] > 0:
        return f"The interval of the {named} lies above zero: unseen combinations fare worse."
    return (
        f"The interval of the {named} lies below zero: unseen combinations fare better."
        if found["high"] < 0
        else f"The interval of the {named} holds zero: that unseen combinations fare worse is not shown."
    )


def compared(data: Data) -> Dots | None:
    """Another model's score less this one's on the same rows, side by side."""
    found, score = data.get("against"), data["score"]
    if not found or not found.get("sides"):
        return None
    fmt = spoken(score)
    wanted = [one for one in found["sides"] if one["name"] in SIDES]
    known = [one[key] for one in wanted for key in ("difference", "low", "high") if one[key] is not None]
    within = around([*known, 0.0], 0.08)
    dots = [
        Dot(
            SIDES[one["name"]],
            one["difference"],
            one["low"],
            one["high"],
            "untested" if one["difference"] is None else difference(score, one["difference"]),
            _both(one, fmt, score),
            own=one["name"] == "unseen",
        )
        for one in wanted
    ]
    return differences(dots, within, score)


def by_factor(data: Data, table: pa.Table | None) -> list[FactorScores]:
    """A small picture for each factor: the score of each of its values, the worst first."""
    if table is None or not table.num_rows:
        return []
    names = table["factor"].unique().to_pylist()[:MOST_FACTORS]
    return [_factor(name, table.filter(pc.equal(table["factor"], name)), data) for name in names]


def factors_left_out(data: Data) -> str:
    """Which factors have no picture, if there are more than can be drawn."""
    rest = len(data.get("factors") or []) - MOST_FACTORS
    return f"The first {MOST_FACTORS} factors are drawn; {whole(rest)} more are in the saved table." if rest > 0 else ""


def _factor(name: str, lines: pa.Table, data: Data) -> FactorScores:
    fmt, worst = spoken(data["score"]), "ascending" if data["score"]["better"] == "higher" else "descending"
    scored = lines.filter(pc.is_valid(lines["score"]))
    shown = scored.sort_by([("score", worst), ("rows", "descending")]).slice(0, MOST_VALUES).to_pylist()
    rest = _rest(scored.num_rows - len(shown), lines)
    if not shown:
        return FactorScores(value(name), None, f"None of its values has a score. {rest}")
    within = _within(data["score"], shown, ("score", "low", "high", "unseen_score"))
    dots = [
        Dot(
            value(one["value"]),
            one["score"],
            one["low"],
            one["high"],
            f"{fmt(one['score'])} · {whole(one['rows'])}",
            own=True,
            beside=one.get("unseen_score"),
            title=_value_title(one, fmt),
        )
        for one in shown
    ]
    score = score_name(data["score"])
    picture = dots_on(within, dots, fmt, score=score, better=data["score"]["better"], most=5)
    return FactorScores(value(name), picture, rest)


def _rest(more: int, lines: pa.Table) -> str:
    """What is not drawn: the values that fare better, and those of which nothing, or too little, is known."""
    said = [f"{whole(more)} more fare no worse than these." if more else ""]
    unscored = lines.filter(pc.is_null(lines["score"]))
    for head, tested in (("Untested", False), ("Tested, but too little for a score", True)):
        found = unscored.filter(pc.equal(pc.greater(unscored["rows"], 0), tested))["value"]
        if len(found):
            named = [shorten(value(one), 24) for one in found.slice(0, MOST_NAMED).to_pylist()]
            over = [f"{whole(len(found) - MOST_NAMED)} more"] if len(found) > MOST_NAMED else []
            said.append(f"{head}: {enumerate_words([*named, *over])}.")
    return " ".join(filter(None, said))


def _value_title(one: Data, fmt: Callable[[float | None], str]) -> str:
    parts = [
        f"{name} {fmt(one[f'{key}score'])} on {whole(one[f'{key}rows'])} rows"
        for name, key in (("all", ""), ("seen", "seen_"), ("unseen", "unseen_"))
        if one.get(f"{key}score") is not None
    ]
    return f"{shorten(value(one['value']), 80)}: {'; '.join(parts)}"


def _within(score: Data, found: Sequence[Data], keys: Sequence[str]) -> Bounds:
    known = [one[key] for one in found for key in keys if one.get(key) is not None]
    return widened(bounds(known)) if score.get("share") else bounds(known)


def differences(dots: Sequence[Dot], within: Bounds, score: Data) -> Dots:
    """Differences of scores beside each other, on an axis that holds zero."""

    def spoken(number: float | None) -> str:
        return difference(score, number).removesuffix(" points")

    return dots_on(within, dots, spoken, score=score_name(score), better=score["better"], zero=True)


def _scored(one: Data, fmt: Callable[[float | None], str]) -> str:
    if one["score"] is None:
        return "untested"
    if one["low"] is None:
        return fmt(one["score"])
    between = f"{fmt(one['low'])} to {fmt(one['high'])}"
    if fmt is percent:
        between = percent_range(one["low"], one["high"]).replace(" %", f"{NO_BREAK}%")
    return f"{fmt(one['score'])} ({between})"


def _counted(one: Data, data: Data) -> str:
    if not one["combinations"]:
        return one.get("note") or ""
    said = [f"{whole(one['rows'])} row{'' if one['rows'] == 1 else 's'} of {_combinations(one['combinations'])}"]
    if one.get("macro") is not None:
        said.append(f"{spoken(data['score'])(one['macro'])} if each counts once")
    return "; ".join(said) + (f". {one['note']}" if one.get("note") else "")


def _both(one: Data, fmt: Callable[[float | None], str], score: Data) -> str:
    if one["difference"] is None:
        return "No row of these was answered by both."
    better = {"this": "this model is better", "other": "the other is better"}.get(one["better"], "not told apart")
    return f"{fmt(one['own'])} → {fmt(one['other'])}; {_interval(one, score)}: {better}"


def _interval(one: Data, score: Data) -> str:
    if one["low"] is None:
        return "no interval"
    low, high = difference(score, one["low"]).removesuffix(" points"), difference(score, one["high"])
    return f"interval {low} to {high}"


def _combinations(number: int) -> str:
    return f"{whole(number)} combination{'' if number == 1 else 's'}"
