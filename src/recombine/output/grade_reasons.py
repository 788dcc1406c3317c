"""Why a result has its grade: the one thing that decided it, with its own numbers.

Each verb awards grades for something else (`base.grades.MEANINGS`), so each kind of record has a function here. It
reads the record alone: what was saved says why as well as what was just found.
"""

from collections.abc import Callable, Mapping
from typing import Any

from recombine.base.decoding import revive
from recombine.base.grades import GRADES, MATERIAL_SHORTCUT, MEANINGS, Expected, Grade, because, earned
from recombine.base.words import amount, count, listing, named, percent, text

Data = Mapping[str, Any]
_HALF = 0.5


def why_graded(kind: str, data: Data) -> str:
    """The reason in a few words, as it stands behind "Graded weak: "; empty for a kind or a grade of another version.

    >>> counts = {"space": 9, "seen": 5, "determined": 4, "undetermined": 0, "novel": 0, "impossible": 0, "thin": 0}
    >>> why_graded("audit", {"grade": "weak", "counts": counts, "rank": 3, "leverage": {"weak": 4}})
    'four combinations hang on less than one example'
    """
    grade = next((one for one in GRADES if one == data.get("grade")), None)
    if grade is None or kind not in MEANINGS:
        return ""
    own = _REASONS.get(kind)
    return (own(data, grade) if own is not None else "") or MEANINGS[kind][grade]


def expected_of(data: Data) -> Expected | None:
    """What a record says is to be expected of unseen combinations."""
    found = data.get("expected")
    return None if not found else revive(Expected, found, at="expected")


_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def many(number: int, noun: str) -> str:
    """A count with its noun, small ones in words.

    >>> many(4, "combination"), many(1, "group"), many(1200, "row")
    ('four combinations', 'one group', '1,200 rows')
    """
    said = _NUMBERS[number] if number < len(_NUMBERS) else count(number)
    return f"{said} {noun}{'' if number == 1 else 's'}"


def unseen_counts(data: Data) -> tuple[int, int]:
    """How many combinations are unseen, and how many of them the seen ones do not fix."""
    counts = data.get("likely") or data["counts"]
    beyond = counts["undetermined"] + counts["novel"]
    return counts["determined"] + beyond, beyond


def _audit(data: Data, grade: Grade) -> str:
    unseen, beyond = unseen_counts(data)
    expected, counts = expected_of(data), data.get("likely") or data["counts"]
    if not unseen:
        return _audit_of_all(data)
    if expected is None:
        return _audit_without_target(data, counts, beyond)
    return str(expected.reason) if expected.abstains else _audit_tested(data, grade, expected)


def _audit_of_all(data: Data) -> str:
    """Nothing is unseen."""
    thin = data["counts"].get("thin", 0)
    if data.get("likely"):
        return "that the other combinations cannot occur is suspected, not known"
    return f"{many(thin, 'combination')} {_verb(thin, 'has', 'have')} hardly any rows" if thin else "all were seen"


def _audit_tested(data: Data, grade: Grade, expected: Expected) -> str:
    unseen, beyond = unseen_counts(data)
    if beyond > _HALF * unseen and data.get("island_count", 1) > 1:
        return f"no example connects its {many(data['island_count'], 'island')}"
    if beyond > _HALF * unseen:
        return f"{count(beyond)} of {count(unseen)} unseen combinations do not follow from the seen ones"
    found = earned(expected)
    if GRADES.index(found) >= GRADES.index(grade) and grade != "plausible":
        return because(found, expected)
    if found == "weak":
        return f"no better than {expected.baseline_name}, and better than the other rules"
    return _held_down(data, expected, unseen, beyond) or because(grade, expected)


def _held_down(data: Data, expected: Expected, unseen: int, beyond: int) -> str:
    """Why an audit is graded lower than its score earns."""
    if data.get("selection"):
        return "the seen combinations look as if they were chosen by their answer"
    if beyond:
        follow = _verb(beyond, "does not follow", "do not follow")
        return f"{many(beyond, 'unseen combination')} {follow} from the seen ones"
    if expected.of < unseen:
        return f"the test speaks of {count(expected.of)} of the {amount(unseen, 'unseen combination')}"
    return "that pairs of values cannot occur is suspected, not known" if data.get("likely") else ""


def _audit_without_target(data: Data, counts: Data, beyond: int) -> str:
    if counts["novel"]:
        hold = _verb(counts["novel"], "holds", "hold")
        return f"{many(counts['novel'], 'combination')} {hold} a value that was never seen"
    if beyond:
        return f"{many(beyond, 'unseen combination')} {_verb(beyond, 'does', 'do')} not follow from the seen ones"
    if counts["seen"] <= data.get("rank", 0):
        return "every seen combination is needed, and none is to spare for a test"
    measured = data.get("leverage") or {}
    if data["grade"] == "weak":
        weak = measured.get("weak", 0)
        return f"{many(weak, 'combination')} {_verb(weak, 'hangs', 'hang')} on less than one example"
    if data["grade"] == "untested":
        return "too little was seen to say how firmly the others follow"
    return "the others follow if the factors add up, and no target was named to test that on"


def _evaluation(data: Data, grade: Grade) -> str:
    group, expected = data.get("group"), expected_of(data)
    if group:
        return _worst_group(group, grade)
    if grade == "untested":
        return _why_untested(data, expected)
    shortcut = data.get("shortcut") or {"along": 0.0, "against": 0.0}
    if grade == "weak" and shortcut["along"] - shortcut["against"] >= MATERIAL_SHORTCUT:
        return f"the answers follow {shortcut['factor']}"
    if earned(expected) == grade:
        return because(grade, expected)
    groups = (data.get("deviations") or {}).get("groups") or []
    parts = "does worse than its parts" if len(groups) == 1 else "do worse than their parts"
    return f"{many(len(groups), 'group')} {parts}" if groups else ""


def _why_untested(data: Data, expected: Expected | None) -> str:
    if data.get("training") is None:
        return "what the model was trained on was not said, so nothing is known of unseen combinations"
    unseen = next((one["combinations"] for one in data.get("sides") or [] if one["name"] == "unseen"), 0)
    if not unseen:
        return "no unseen combination was tested"
    if expected is not None and expected.reason:
        return expected.reason.rstrip(".")
    return f"{many(unseen, 'unseen combination')} {_verb(unseen, 'is', 'are')} too few"


def _worst_group(group: Data, grade: Grade) -> str:
    untested = len(group["thin"]) + group["missing"]
    if group["score"] is None or (grade == "untested" and untested):
        return f"{many(untested, 'group')} could not be tested"
    low, high = percent(group["low"]), percent(group["high"])
    if grade == "failing":
        return f"its worst group gets {high} right at most"
    if grade == "weak":
        return f"its worst group may get no more right ({low}) than a simple rule's ({percent(group['baseline'])})"
    return f"its worst group gets {low} right at least"


def _prediction(data: Data, grade: Grade) -> str:
    expected = expected_of(data)
    if expected is None or expected.abstains:
        return "" if expected is None or expected.reason is None else expected.reason
    found, asked = earned(expected), sum(data["counts"].values()) - data["counts"]["seen"] - data["counts"]["novel"]
    if found == grade:
        return because(grade, expected)
    like = data["held_out"]["of"] if data.get("held_out") else expected.of
    if grade == "untested":
        unlike = f"{count(max(asked - like, 0))} of {count(asked)} unseen combinations are not like those tested"
        return unlike if like < _HALF * asked else "most of the unseen combinations are too uncertain to say"
    if grade == "weak":
        return "a simple rule did as well on what was held out"
    if like < asked and not data.get("truth"):
        return f"{many(asked - like, 'unseen combination')} {_verb(asked - like, 'is', 'are')} not like those tested"
    return "whether a model can read the examples was not tested" if grade == "plausible" else because(grade, expected)


def _rehearsal(data: Data, grade: Grade) -> str:
    expected = expected_of(data)
    if expected is None or expected.abstains:
        return "" if expected is None or expected.reason is None else expected.reason.partition(": ")[0]
    if earned(expected) != grade:
        return "the seen combinations look as if they were chosen by their answer"
    return because(grade, expected)


def _vector_evaluation(data: Data, grade: Grade) -> str:
    expected = expected_of(data)
    return "" if expected is None else because(grade, expected)


def _plan(data: Data, grade: Grade) -> str:
    blocked, rule = data.get("blocked"), data.get("rule") or {}
    if grade == "failing" and blocked:
        return f"{many(blocked['count'], 'combination')} {_verb(blocked['count'], 'stays', 'stay')} out of reach"
    if grade == "weak" and rule.get("refuted"):
        return "it rests on adding up, and the audit says not to rely on that"
    if grade == "weak" and rule.get("other"):
        return "it rests on adding up, and the audit found a better rule"
    if grade == "weak" and data["goal"] == "leverage":
        return "an unseen combination would still be less certain than one example"
    if grade == "plausible" and data["goal"] in ("determined", "leverage"):
        return "the goal is reached if the factors add up"
    return ""


def _lint(data: Data, grade: Grade) -> str:
    word = {"failing": "fail", "untested": "not enough evidence", "weak": "warning"}.get(grade)
    found = [one["name"] for one in data["checks"] if one["verdict"] == word]
    if not found:
        return ""
    checks = f"the check{'s' * (len(found) > 1)} of {listing(found)}"
    return f"{checks} {'fail' if len(found) > 1 else 'fails'}" if grade == "failing" else f"{checks} left doubt"


def _diff(data: Data, grade: Grade) -> str:
    if data.get("unchanged"):
        return "nothing changed"
    worse = [one for one in data["scores"] if one["outcome"] == "worse"]
    if grade == "failing" and worse:
        return f"{worse[0]['score']} is worse on {worse[0]['name']} combinations, by more than chance"
    if grade == "failing":
        return f"the grade fell from {data['old']['grade']} to {data['new']['grade']}"
    return ""


def _verb(number: int, one: str, several: str) -> str:
    return one if number == 1 else several


_REASONS: Mapping[str, Callable[[Data, Grade], str]] = {
    "audit": _audit,
    "stored_audit": _audit,
    "diff": _diff,
    "evaluation": _evaluation,
    "lint": _lint,
    "plan": _plan,
    "prediction": _prediction,
    "rehearsal": _rehearsal,
    "vector_evaluation": _vector_evaluation,
}


def name_of(combination: Data) -> str:
    """A combination in a sentence, as elsewhere."""
    return named({str(name): text(value) for name, value in combination.items()})
