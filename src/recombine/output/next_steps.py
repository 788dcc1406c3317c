"""What to do next, as one plain sentence with a concrete action: what to collect, which gate to set, what to break.

One function a kind of record, which reads the record alone; pages, notebooks, terminals and JSON all show this one.
"""

from collections.abc import Callable, Mapping
from typing import Any

from recombine.base.grades import MATERIAL_SHORTCUT, Expected, earned
from recombine.base.words import NOTHING_TO_LEARN, OWN_ANSWERS, amount, count, percent
from recombine.output.grade_reasons import expected_of, many, name_of, unseen_counts

Data = Mapping[str, Any]
_DOUBTS = ("weak", "failing")
_EVALUATE = "give the answers on the test side to `recombine evaluate`"


def next_step(kind: str, data: Data) -> str:
    """What somebody would do now who has read the verdict; empty for a kind of another package.

    >>> next_step("split", {"column": "side"})
    "Train on the rows whose side is 'train', then give the answers on the test side to `recombine evaluate`."
    """
    own = _STEPS.get(kind)
    return "" if own is None else own(data)


def _such_as(example: str) -> str:
    return f", such as {example}" if example else ""


def _audit(data: Data) -> str:
    unseen, beyond = unseen_counts(data)
    expected = expected_of(data)
    if not unseen:
        return _more_rows(data) or "Nothing is missing: train, and test on rows that were held out."
    if beyond:
        return _joining(data, beyond) or _collect_first(data)
    if expected is None:
        return "Name the column to predict (--target): only then can the rule be tested on combinations held out."
    return _audit_tested(data, expected, unseen)


def _stored_audit(data: Data) -> str:
    unseen, beyond = unseen_counts(data)
    if beyond or not unseen:
        return _audit(data)
    return "Hold combinations out with `recombine split`, and test a model on them: nothing was tested here."


def _audit_tested(data: Data, expected: Expected, unseen: int) -> str:
    weakest = (data.get("leverage") or {}).get("weakest") or []
    example = name_of(weakest[0]["combination"]) if weakest else ""
    without = _without_rule(data, example)
    if without:
        return without
    if data["grade"] == "untested":
        return _to_test(example)
    if data["grade"] in _DOUBTS and earned(expected) in _DOUBTS:
        return f"Do not fill in the {many(unseen, 'unseen combination')}: collect those that matter{_such_as(example)}."
    check = f", and check {example} first: it is the least certain" if example else ""
    how = "the additive rule" if data.get("vector_target") else "`recombine predict`"
    forecast = f"Forecast the {many(unseen, 'unseen combination')} with {how}{check}."
    return _more_rows(data) or forecast


def _to_test(example: str) -> str:
    return f"Collect {example or 'more combinations'} and a few others, so that some can be held out and tested."


def _without_rule(data: Data, example: str) -> str:
    """Where no rule was found: other factors where there is nothing to learn, else each combination by itself."""
    if NOTHING_TO_LEARN in data["verdict"]:
        target = (data.get("target") or {}).get("name")
        return f"Look for other factors that {target} could depend on: more rows of these will not help."
    if OWN_ANSWERS in data["verdict"]:
        return f"Collect every combination that matters{_such_as(example)}: the others do not tell its answer."
    return ""


def _more_rows(data: Data) -> str:
    """The combination that falls most short of the rows that it would have if the factors were independent."""
    thin = next(iter(data.get("thin") or []), None)
    if thin is None:
        return ""
    rows = f"it has {many(int(thin['count']), 'row')}, where {count(round(thin['expected']))} would be usual"
    return f"Collect more rows of {name_of(thin['combination'])}: {rows}."


def _joining(data: Data, beyond: int) -> str:
    """One example that ties the two largest islands together; of two factors it is known how much that settles."""
    islands = data.get("islands") or []
    if len(islands) < 2 or data.get("sets"):  # islands of elements bound nothing: sets across them may follow
        return ""
    (first, second), names = islands[:2], list(islands[0]["values"])
    values = {name: (second if place == 0 else first)["values"][name][0] for place, name in enumerate(names)}
    if len(names) > 2:
        return f"Record {name_of(values)}: it begins to tie the islands together; `recombine plan` lists the rest."
    a, b = names
    settles = first["sizes"][a] * second["sizes"][b] + second["sizes"][a] * first["sizes"][b]
    of = f" of {count(beyond)}" if settles < beyond else ""
    return f"Record one {name_of(values)}: it settles {count(settles)}{of} combinations, if the factors add up."


def _collect_first(data: Data) -> str:
    missing = next(((one["name"], one["never_seen"][0]) for one in data["factors"] if one["never_seen"]), None)
    if missing is not None:
        return f"Record one example with {missing[0]}={missing[1]}, which no row holds."
    example = next(iter(data.get("undetermined_examples") or []), None)
    shown = name_of(example["combination"]) if example else "one that does not follow"
    return f"Record {shown}: nothing seen tells its answer; `recombine plan` lists what else is needed."


def _evaluation(data: Data) -> str:
    shortcut, groups = data.get("shortcut"), (data.get("deviations") or {}).get("groups") or []
    if data.get("group"):
        worst = data["group"]["combination"]
        return f"Hold later models to the worst group{f', {name_of(worst)}' if worst else ''}: --fail-under worst=0.8."
    if shortcut and shortcut["along"] - shortcut["against"] >= MATERIAL_SHORTCUT:
        factor, such = shortcut["factor"], _such_as(_worst(data))
        return f"Train again with more rows in which {factor} does not give the answer away{such}."
    if groups:
        worst = max(groups, key=lambda one: abs(one["deviation"]) * one["rows"])
        return f"Look at the errors in {name_of(worst['group'])}, collect more rows of it, and train again."
    return _untold_training(data) if data.get("training") is None else _evaluation_by_score(data)


def _untold_training(data: Data) -> str:
    first = next(iter((data.get("untested") or {}).get("listed") or []), None)
    test = f"Test {name_of(first['combination'])}, which no row holds; then name" if first else "Name"
    return f"{test} the table that the model was trained on (--train)."


def _evaluation_by_score(data: Data) -> str:
    expected = expected_of(data)
    if expected is None or expected.abstains or data["grade"] == "untested":
        return "Test the model on at least five combinations that were not in training, with a few rows each."
    rule = _rule(expected.baseline_name)
    if expected.loses:
        return f"Use {rule} in its place, and look for what the model misses{_such_as(_worst(data))}."
    if data["grade"] == "weak":
        return f"Test more unseen combinations: {count(expected.tested)} cannot tell the model from {rule}."
    if data["score"]["better"] == "lower":  # a loss has no gate of its own
        return "Save it (--out), and compare later models with it by `recombine diff`."
    # the low end, rounded down to five points: a gate that the same model passes again
    return f"Hold later models to this: --fail-under unseen={max(int((expected.low or 0.0) * 20) / 20, 0.0):g}."


_RULES = {"majority": "always giving one answer", "mean": "always answering the mean", None: "a simple rule"}


def _rule(name: str | None) -> str:
    return _RULES.get(name) or f"a simple rule ({str(name).removesuffix(' (by rows)')})"


def _worst(data: Data) -> str:
    found = next(iter(data.get("worst") or []), None)
    return name_of(found["combination"]) if found else ""


def _prediction(data: Data) -> str:
    expected, counts, example = expected_of(data), data["counts"], _worst(data)
    asked = sum(counts.values()) - counts.get("seen", 0) - counts.get("novel", 0)
    if not asked:
        return "There is nothing to forecast: every combination of seen values was seen."
    if expected is None or expected.abstains or data["grade"] == "untested":
        return _to_test(example)
    if data["grade"] in _DOUBTS:
        distrust = f"Do not use these forecasts: collect the combinations that matter{_such_as(example)}."
        return _without_rule(data, example) or distrust
    guesses = max(asked - expected.of, 0)
    collect = f" and collect the {many(guesses, 'other')}{_such_as(example)}" if guesses else ""
    check = f" and check {example} first" if example and not guesses else ""
    return f"Use the forecasts of {many(asked - guesses, 'unseen combination')}{collect or check}."


def _rehearsal(data: Data) -> str:
    expected, learner, unseen = expected_of(data), data["learner"], many(data["unseen"], "unseen combination")
    if not data["unseen"]:
        return "Nothing is unseen: test on rows that were held out."
    if expected is None or expected.abstains:
        return "Collect combinations that are like the unseen ones, so that some can be spared for a test."
    if expected.loses:
        return f"Use {_rule(expected.baseline_name)} in place of {learner}."
    if data["grade"] in _DOUBTS:
        return f"Do not rely on {learner} for the {unseen}; rehearse another learner."
    low = "" if expected.low is None else f", and expect at least {percent(expected.low)}"
    return f"Train {learner} on all rows{low} on the {unseen}."


def _plan(data: Data) -> str:
    lines, rule = data.get("lines") or [], data.get("rule") or {}
    if rule.get("refuted"):
        return "Do not collect for a rule that fails: `recombine audit` says what would help in its place."
    if lines:
        return f"Collect {name_of(lines[0]['combination'])} first: {lines[0]['buys'].partition(';')[0]}."
    if data["combinations"] == data["space"]:
        return "Nothing is missing: ask where rows are few with --goal balance."
    if data.get("blocked"):
        return "Find a way to collect one of the values that stand in the way, listed below."
    if data.get("set_factors"):
        return "Nothing has to be collected for this goal: more rows of each, with --goal balance, make answers firmer."
    return "Nothing has to be collected for this goal: ask for firmer answers with --goal leverage."


_MENDED = {
    "combinations": "Split again by combinations, so that each of these {} stays on one side.",
    "values": "Put an example of every test value into training, or leave its rows out of the test.",
}


def _lint(data: Data) -> str:
    failed = next((one for one in data["checks"] if one["verdict"] == "fail"), None)
    if failed is not None:
        mend = _MENDED.get(failed["name"], f"Mend what the check “{failed['name']}” names, then split again.")
        return mend.format(amount(failed["culprits"], "combination"))
    if data["grade"] == "untested":
        return "Add test rows until every check can be decided."
    return f"Train on the training side, then {_EVALUATE}."


def _split(data: Data) -> str:
    return f"Train on the rows whose {data.get('column', 'split')} is 'train', then {_EVALUATE}."


def _diff(data: Data) -> str:
    outcomes = {one["outcome"] for one in data["scores"]}
    if data.get("unchanged"):
        return "Nothing has to be done."
    if "worse" in outcomes or data["grade"] == "failing":
        return "Do not replace the old one: look at the combinations below that got worse."
    if data["scores"] and data["scores"][0]["outcome"] == "better":
        return "Take the new one; the combinations that changed are listed below."
    if data["grade"] == "weak":
        return "Look at the combinations below that got worse before you take the new one."
    return "Test more combinations before you choose: what changed may be chance."


_STEPS: Mapping[str, Callable[[Data], str]] = {
    "audit": _audit,
    "stored_audit": _stored_audit,
    "diff": _diff,
    "evaluation": _evaluation,
    "lint": _lint,
    "plan": _plan,
    "prediction": _prediction,
    "rehearsal": _rehearsal,
    "split": _split,
}
