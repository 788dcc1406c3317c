"""The one number on top of a page, for whoever reads nothing else: what it is, how sure, and what a simple rule gets.

It is the number of the first sentence: of a shortcut, a bad group or islands, where that is what matters most; else the
score that was tested (`expected`), beside the simple rule's where it is no better. Nothing tested: no score is shown
large, and each kind of page has a number of its own that promises nothing.

How numbers and values are written on a page: the same everywhere, and short enough to stand in a table.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from recombine.base import words
from recombine.base.grades import MATERIAL_LOSS, MATERIAL_SHORTCUT
from recombine.base.words import percent_range, points

SHORT = 40
LONG = 300
NO_BREAK = "\u00a0"
# Control signs, and those that turn the direction of the text around them: they would disturb the page.
UNSEEN = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u202a-\u202e\u2066-\u2069]")


def whole(number: float | None) -> str:
    """A count, exact however large it is; a sum of weights keeps its fraction.

    >>> whole(1234567), whole(24.0), whole(2.5), whole(None)
    ('1,234,567', '24', '2.5', '–')
    """
    return "–" if number is None else words.count(number)


def decimal(number: float | None) -> str:
    """A measurement, to three digits.

    >>> decimal(3.4), decimal(0.04567), decimal(12345.6), decimal(None)
    ('3.4', '0.0457', '12,346', '–')
    """
    if number is None or not math.isfinite(number):
        return "–"
    return f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.3g}"


def percent(share: float | None) -> str:
    """A share in percent, with decimals where it would else look like none or all.

    >>> [percent(share).replace(NO_BREAK, " ") for share in (0.0, 0.004, 0.43, 0.999, 1.0)]
    ['0 %', '0.4 %', '43 %', '99.9 %', '100 %']
    """
    if share is None or not math.isfinite(share):
        return "–"
    return words.percent(share).replace(" %", f"{NO_BREAK}%")


def share(part: int, total: int) -> float:
    """A part of a total between 0 and 1, safe for integers that no float can hold.

    >>> share(1, 4), share(0, 0)
    (0.25, 0.0)
    """
    return part / total if total else 0.0


def value(raw: Any) -> str:
    """A factor's value as text on one line; what has no letters gets a name.

    >>> value("  red\\nshoe "), value(""), value(None), value(7)
    ('red shoe', '(empty)', '(missing)', '7')
    """
    if raw is None:
        return "(missing)"
    return " ".join(UNSEEN.sub("\ufffd", str(raw)).split()) or "(empty)"


def shorten(text: str, most: int = SHORT) -> str:
    """The beginning of a text, with an ellipsis where something was cut off.

    >>> shorten("Synthetic leather", 10)
    'Synthetic…'
    """
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def enumerate_words(words: list[str]) -> str:
    """Words as one would say them.

    >>> enumerate_words(["a", "b", "c"])
    'a, b and c'
    """
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]


Data = Mapping[str, Any]
_RIGHT = {
    "answers": "of the answers on unseen combinations are right",
    "examples": "of the rows of unseen combinations are expected to come out right",
    None: "of unseen combinations are expected to come out right",
}
_HELD_OUT = "of held-out combinations like the unseen ones come out right"
_EXPLAINED = {
    "answers": "of what unseen combinations differ by is explained (R²)",
    "examples": "of what rows of unseen combinations differ by is explained (R²)",
    None: "of what held-out combinations differ by is explained (R²)",
}
UNTESTED = "Untested"


@dataclass(frozen=True)
class Headline:
    """A number in large type, what it is a number of, what a simple rule gets, and what is told of it further down."""

    number: str
    what: str
    notes: Sequence[str] = ()
    simple_rule: str = ""

    @property
    def shows_number(self) -> bool:
        """Whether there is a number in it: beside the word *untested* that would contradict itself at a glance."""
        return any(sign.isdigit() for sign in self.number)


def headline(kind: str, data: Data) -> Headline | None:
    """What stands on top of a record's page.

    >>> counts = {"seen": 83, "space": 192}
    >>> headline("audit", {"counts": counts}).what
    'of the combinations that could occur were seen: 83 of 192'
    """
    expected, own = data.get("expected"), _OWN.get(kind)
    matters = _LEADING[kind](data) if kind in _LEADING else None
    if matters is not None:
        return matters
    if (
        expected
        and not (kind == "audit" and _unseen(data) == 0)
        and (kind != "evaluation" or (expected.get("value") is not None and not data.get("group")))
    ):
        if data.get("grade") == "untested":
            return Headline(UNTESTED, _held_back(expected))
        forecast = expected.get("basis") == "combinations" and data.get("held_out", expected) != expected
        only_if = bool((data.get("examples") or {}).get("only_if"))
        found = _forecast(expected) if forecast else _tested(expected, only_if=only_if)
        return _beside_rule(found, expected, _WHO[kind]) if data.get("grade") in ("weak", "failing") else found
    return None if own is None else own(data)


def _held_back(expected: Data) -> str:
    """In place of a score that promises nothing: why."""
    if expected.get("value") is None:
        return expected.get("reason") or "Nothing like the unseen combinations was tested."
    tested = _combinations(expected.get("tested") or 0, "tested")
    return f"{tested}: too few, or too unlike the unseen ones, for a score that could be relied on"


_WHO = {
    "vector_evaluation": "the predictions",
    "audit": "adding up",
    "evaluation": "the model",
    "prediction": "the forecast",
    "rehearsal": "the learner",
}


def _beside_rule(found: Headline, expected: Data, who: str) -> Headline:
    """A score that no simple rule is worse than, beside that rule's: alone it would look like a success."""
    lift, baseline, score = expected.get("lift"), expected.get("baseline"), expected.get("value")
    if not lift or lift[0] > 0 or baseline is None or score is None:
        return found
    rule = _simple(expected.get("baseline_name") or "the best simple rule")
    what = "right" if expected.get("score") == "accuracy" else "explained"
    where = "unseen" if expected.get("basis") == "answers" else "held-out"
    return Headline(
        f"{percent(score)} vs {percent(baseline)}", f"{what} on {where} combinations: {who}, and {rule}", found.notes
    )


def _shortcut(data: Data) -> Headline | None:
    found = data.get("shortcut")
    if not found or found["along"] - found["against"] < MATERIAL_SHORTCUT:
        return None
    factor = value(found["factor"])
    what = f"right where {factor} gives the answer away, and where it misleads"
    return Headline(f"{percent(found['along'])} vs {percent(found['against'])}", what)


def _bad_group(data: Data) -> Headline | None:
    """The group that costs most rows, of those that do worse than their parts; only of shares, whose scale is known."""
    found = (data.get("deviations") or {}).get("groups") or []
    if not found or not data["score"].get("share") or data.get("group"):
        return None
    worst = max(found, key=lambda one: abs(one["deviation"]) * one["rows"])
    if abs(worst["deviation"]) < MATERIAL_LOSS:
        return None
    where = shorten(", ".join(f"{value(name)}={value(one)}" for name, one in worst["group"].items()), 120)
    expected = f"{percent(worst['expected'])} would be expected of its parts; {whole(worst['rows'])} rows"
    name = data["score"]["name"]
    what = f"of {where} are right" if name == "accuracy" else f"{value(name)} of {where}"
    return Headline(percent(worst["score"]), what, [expected])


def _unseen(data: Data) -> int:
    counts = data.get("likely") or data.get("counts") or {"determined": 1}  # not told: some
    return int(sum(counts.get(name, 0) for name in ("determined", "undetermined", "novel")))


def _islands(data: Data) -> Headline | None:
    counts, unseen = data.get("likely") or data.get("counts") or {}, _unseen(data)
    if data.get("island_count", 1) < 2 or counts["undetermined"] <= unseen / 2:
        return None
    return Headline(f"{whole(counts['undetermined'])} of {whole(unseen)}", "unseen combinations cannot be worked out")


_LEADING: Mapping[str, Callable[[Data], Headline | None]] = {
    "audit": _islands,
    "evaluation": lambda data: _shortcut(data) or _bad_group(data),
}
"""What comes before the score, in the order of the first sentence."""


def _tested(expected: Data, *, only_if: bool) -> Headline:
    """A score that was tested (or holds `only_if` a rule does), its interval and the best simple rule; or why there is
    none.

    >>> found = {"score": "accuracy", "value": 0.81, "low": 0.74, "high": 0.87, "baseline": 0.52, "tested": 83}
    >>> shown = _tested(found | {"baseline_name": "majority", "basis": "combinations", "of": 109}, only_if=False)
    >>> shown.number.replace("\u00a0", " "), shown.what
    ('81 %', 'of held-out combinations like the unseen ones come out right')
    >>> [note.replace("\u00a0", " ") for note in (*shown.notes, shown.simple_rule)]
    ['74 to 87 %, from 83 tested combinations, for 109 unseen ones', 'always giving the commonest answer gets 52 %']
    """
    score = expected.get("value")
    if score is None:
        return Headline(UNTESTED, expected.get("reason") or "Nothing like the unseen combinations was tested.")
    baseline = expected.get("baseline")
    rule = expected.get("baseline_name") or "the best simple rule"
    simple = "" if baseline is None else f"{_simple(rule)} gets {percent(baseline)}"
    return Headline(percent(score), _what(expected), [_sure(expected, only_if=only_if)], simple)


def _forecast(expected: Data) -> Headline:
    """A score against true answers that are known: nothing of it was held out."""
    said = _tested(expected, only_if=False)
    right = expected.get("score") == "accuracy"
    what = "of the unseen combinations would come out right" if right else _EXPLAINED["answers"]
    known = f"{_spread(expected, share=True)}, on {_combinations(expected.get('tested') or 0, 'unseen')} with a truth"
    return Headline(said.number, what, [known], said.simple_rule)


def _what(expected: Data) -> str:
    basis = expected.get("basis")
    if expected.get("score") == "accuracy":
        return _HELD_OUT if basis in ("combinations", "rehearsal") else _RIGHT.get(basis, _RIGHT[None])
    return _EXPLAINED.get(basis, _EXPLAINED[None])


def _sure(expected: Data, *, only_if: bool) -> str:
    tested_ones = _combinations(expected.get("tested") or 0, "tested")
    evidence = "an if that nothing could test" if only_if else f"from {tested_ones}"
    tested_on = f"{_spread(expected, share=True)}, {evidence}"
    of = None if expected.get("basis") == "answers" else expected.get("of")
    return tested_on + (f", for {whole(of)} unseen one{'' if of == 1 else 's'}" if of else "")


_CONSTANT = {"majority": "always giving the commonest answer", "mean": "always answering the mean"}


def _simple(rule: str) -> str:
    """A rule in words. One answer for all is named for what it is: a better simple rule may stand in the verdict."""
    if rule in _CONSTANT:
        return _CONSTANT[rule]
    return rule if " " in rule else f"the best simple rule ({value(rule)})"


def _combinations(number: int, adjective: str) -> str:
    return f"{whole(number)} {adjective} combination{'' if number == 1 else 's'}"


def _audit(data: Data) -> Headline:
    counts = data.get("likely") or data["counts"]  # without what perhaps cannot occur, as the verdict says it
    seen, space = counts["seen"], counts["space"]
    share = seen / space if space else None
    what = f"of the combinations that could occur were seen: {whole(seen)} of {whole(space)}"
    return Headline(percent(share), what, ["What is said of the others was not tested."] if seen < space else [])


def _plan(data: Data) -> Headline:
    measure, points = data["measure"], data.get("curve") or []
    lines = data.get("line_count", len(data.get("lines") or []))
    if not lines:
        return Headline("0", "combinations to collect: nothing would bring this goal nearer")
    what = f"combination{'' if lines == 1 else 's'} to collect"
    ends = measure.get("today"), points[-1]["value"] if points else None
    today, then = ("without bound" if end is None else decimal(end) for end in ends)
    return Headline(whole(lines), what, [f"{measure['name']}: {today} today, {then} then"])


def _lint(data: Data) -> Headline:
    failed = [value(one["name"]) for one in data["checks"] if one["verdict"] == "fail"]
    open_ = sum(one["verdict"] == "not enough evidence" for one in data["checks"])
    notes = [shorten(enumerate_words(failed), 160)] if failed else []
    notes += [f"{whole(open_)} could not be decided"] if open_ else []
    asked = sum(one["verdict"] not in ("not asked", "told") for one in data["checks"])
    return Headline(whole(len(failed)), f"of {whole(asked)} checks fail", notes)


def _split(data: Data) -> Headline | None:
    side = next((one for one in data["sides"] if one["name"] == "test"), None)
    if side is None:
        return None
    what = f"combination{'' if side['combinations'] == 1 else 's'} held out for testing"
    return Headline(whole(side["combinations"]), what, [f"{whole(side['rows'])} rows"])


def _prediction(data: Data) -> Headline:
    """The back-test of a record that says nothing else of what to expect."""
    found = data.get("backtest") or {}
    own, *others = found.get("methods") or [{}]
    if own.get("score") is None:
        return Headline(UNTESTED, "This forecast was not held against combinations whose answer is known.")
    share, better = found["score"] == "accuracy", max if found["better"] == "higher" else min
    written = percent if share else decimal
    known = [one for one in others if one.get("score") is not None]
    simple = better(known, key=lambda one: one["score"], default=None)
    notes = [f"{_spread(own, share=share)}, from {_combinations(found['tested'], 'held-out')}"]
    rule = "" if simple is None else f"the best simple rule ({value(simple['name'])}) has {written(simple['score'])}"
    return Headline(
        written(own["score"]), f"{value(found['score'])}, of which {found['better']} is better", notes, rule
    )


def _spread(one: Data, *, share: bool) -> str:
    low, high = one.get("low"), one.get("high")
    if low is None or high is None:
        return "no interval"
    return percent_range(low, high).replace(" %", "\u00a0%") if share else f"{decimal(low)} to {decimal(high)}"


def _evaluation(data: Data) -> Headline:
    group = data.get("group")
    if group:
        return _worst_group(group)
    told = "unseen" if data.get("training") is not None else "all"
    side = next((one for one in data.get("sides") or [] if one["name"] == told), None)
    if side is None or side["score"] is None:
        return Headline(UNTESTED, "No unseen combination was scored." if told == "unseen" else "Nothing was scored.")
    score = data["score"]
    written = percent if score.get("share") else decimal
    where = "unseen combinations" if told == "unseen" else "all that was tested"
    notes = [f"{_spread(side, share=bool(score.get('share')))}, from {_combinations(side['combinations'], 'tested')}"]
    return Headline(written(side["score"]), f"{value(score['name'])} on {where}", notes)


def _worst_group(group: Data) -> Headline:
    if group["score"] is None:
        return Headline(UNTESTED, "No group has enough tested rows.")
    where = shorten(", ".join(f"{value(name)}={value(one)}" for name, one in group["combination"].items()), 120)
    spread = percent_range(group["low"], group["high"]).replace(" %", "\u00a0%")
    untested = len(group["thin"]) + group["missing"]
    of = group["groups"] - len(group["thin"])
    notes = [f"{spread}, from {whole(group['rows'])} rows of {where}, the worst of {whole(of)} groups"]
    notes += [f"{whole(untested)} of the groups could not be tested"] if untested else []
    return Headline(percent(group["score"]), "of the answers in the worst group are right", notes)


def _diff(data: Data) -> Headline:
    """The change of the score, where one was compared; else how many combinations changed."""
    changed = sum(data["counts"].values())
    each = [f"{whole(number)} {_CHANGED.get(what, what)}" for what, number in data["counts"].items()]
    parts = enumerate_words(each) if each else ""
    noun = "change of a combination" if changed == 1 else "changes of combinations"
    score = next((one for one in data["scores"] if one["difference"] is not None), None)
    if score is None:
        return Headline(whole(changed), f"{noun}: {parts}" if changed else noun)
    if data.get("grade") == "untested":
        return Headline(UNTESTED, "too little was tested both times to say whether the score changed")
    share, said_as = score["share"], percent if score["share"] else decimal
    where = f"{value(score['score'])} on {whole(score['combinations'])} {value(score['name'])} combinations"
    ends = f"{said_as(score['old'])} before, {said_as(score['new'])} now"
    notes = [_apart(score), f"{whole(changed)} {noun}: {parts}" if changed else "no combination changed"]
    return Headline(_signed(score["difference"], share), f"{'points of ' if share else ''}{where}: {ends}", notes)


_CHANGED = {
    "answer": "answered otherwise",
    "prediction": "predicted otherwise",
    "rung": "on another rung",
    "score": "scored otherwise",
    "side": "on another side",
    "verdict": "with another verdict",
}


def _signed(number: float, share: bool) -> str:
    """A difference with its sign, of shares in points."""
    size = points(abs(number)).split()[0] if share else decimal(abs(number))
    return f"{'−' if number < 0 else '+' if number > 0 else '±'}{size}"


def _apart(score: Data) -> str:
    if score["low"] is None or score["high"] is None:
        return str(score["outcome"])
    return f"{' to '.join(_signed(score[end], score['share']) for end in ('low', 'high'))}: {score['outcome']}"


_OWN: Mapping[str, Callable[[Data], Headline | None]] = {
    "audit": _audit,
    "diff": _diff,
    "evaluation": _evaluation,
    "lint": _lint,
    "plan": _plan,
    "prediction": _prediction,
    "split": _split,
}
