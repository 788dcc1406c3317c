"""The answer of a lint: one sentence, and one word."""

from collections.abc import Sequence

from recombine.grades import Grade
from recombine.splits.linting.check import Check
from recombine.splits.linting.claims import Claim
from recombine.splits.linting.sides import TEST, Sided
from recombine.words import amount, count, listing

_HELD = {
    "rows": "no row is on two sides",
    "combinations": "no test combination is in training, and every test value is",
    "conjunctions": "every test combination holds a conjunction of {order} values that training never shows",
    "values": "every test row holds a value that training never shows",
}
_PROVES = {
    "rows": ("rows",),
    "combinations": ("combinations",),
    "conjunctions": ("combinations", "conjunctions"),
    "values": ("combinations", "values"),
}
_FAULT = {
    "combinations": "test combinations are in training",
    "conjunctions": "test combinations hold no new conjunction",
    "values": "test values are not in training",
    "rows": "rows are on two sides",
    "validation": "validation holds test rows",
    "classes": "the shares of the classes are off",
    "sides": "rows belong to no side",
    "seen": "rows marked as seen are of combinations that training lacks",
}


def grade_of(checks: Sequence[Check]) -> Grade:
    """The worst of what was found; a warning changes nothing."""
    ends = {check.verdict for check in checks}
    return "failing" if "fail" in ends else "untested" if "not enough evidence" in ends else "sound"


def verdict_of(sided: Sided, checks: Sequence[Check], expect: Claim, order: int) -> str:
    """The answer in a sentence."""
    found = {check.name: check for check in checks}
    if not sided.on(TEST).any():
        return "There is no test side, so there is nothing to hold the split to."
    broken = [name for name in _PROVES[expect] if found[name].verdict == "fail"]
    if broken:
        return f"This split does not hold out {expect}. {found[broken[0]].sentence.split('. ')[0].rstrip('.')}."
    grade = grade_of(checks)
    faults = [_fault(check.name, expect) for check in checks if check.verdict == "fail"]
    if grade == "failing":
        return f"This split has {amount(len(faults), 'fault')}: {listing(faults)}."
    if grade == "untested":
        thin = [check.sentence for check in checks if check.verdict == "not enough evidence"]
        return f"There is not enough evidence to pass this split. {thin[0]}"
    rows = f"{count(sided.rows(TEST))} test {'row' if sided.rows(TEST) == 1 else 'rows'}"
    return f"This split keeps its word on its {rows}: {_HELD[expect].format(order=order)}."


def _fault(name: str, expect: Claim) -> str:
    return "test rows hold no new value" if (name, expect) == ("values", "values") else _FAULT[name]
