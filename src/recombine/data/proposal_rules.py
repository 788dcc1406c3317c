"""The rules of thumb by which columns become factors, a target, a split or a prediction.

They know names and counts, not what a table is about: an expert does better, and should. All of them, in order:

| a column | is proposed as |
|---|---|
| without values, with one value, or of lists or structs | nothing |
| called split, fold, subset …, or whose values all speak of training and test | a split |
| called prediction, yhat … | a prediction |
| called label, target, class, y, outcome … | the target |
| if none is: called after an outcome (success, converted, score, price, tier …) | the target; of several the last |
| if none is: the last column, of two values such as yes and no, pass and fail | the target |
| missing in more than half of the rows | nothing |
| called id, index, file …, or with a value of its own in nearly every row | nothing |
| text of more than 20 values that is called a note, comment, description … | nothing |
| a date; a number with a fraction, of more than 20 values, or called a count | nothing, but bins make a factor of it |
| anything else of at most 2,000 values, two rows for each or more | a factor |

Of two factors of which one tells the other, the finer is kept; of two that tell each other, the one with names rather
than codes. At most ten are proposed: the first.
"""

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from recombine.base.words import amount, count, percent
from recombine.data.column_profile import FEW_VALUES, ColumnProfile, Kind, Looks

Role = Literal["factor", "target", "split", "prediction", "left out"]

MOST_FACTORS = 10
_SMALL_NUMBER = 20
"""Values up to which whole numbers are classes or sizes rather than counts or ages."""
_OWN = 0.9
"""The share of rows with a value of their own from which a column tells rows apart."""
_FIRM = 5
"""Rows for each value from which it is no chance that one column tells another."""

_SPLITS = {"split", "splits", "fold", "folds", "subset", "partition", "holdout", "heldout"}
_SIDES = {"train", "training", "test", "testing", "val", "valid", "validation", "dev", "eval"}
_OF_SIDES = {*_SIDES, *_SPLITS, "held", "seen", "unseen"}
_PREDICTIONS = {"pred", "preds", "predicted", "prediction", "predictions", "yhat"}
_SCORES = {"logit", "logits", "prob", "probs", "proba", "probability"}
_TARGETS = {"label", "labels", "target", "class", "y", "outcome", "answer"}
_OUTCOMES = {
    *("success", "successful", "succeeded", "survived", "converted", "conversion", "clicked", "click", "purchased"),
    *(
        "bought",
        "subscribed",
        "churn",
        "churned",
        "attrition",
        "cancelled",
        "returned",
        "readmitted",
        "hired",
        "approved",
    ),
    *(
        "accepted",
        "rejected",
        "default",
        "defaulted",
        "fraud",
        "spam",
        "toxic",
        "toxicity",
        "defect",
        "defective",
        "won",
    ),
    *("passed", "failed", "pass", "fail", "correct", "match", "result", "response", "reward", "edible", "disease"),
    *("score", "rating", "quality", "grade", "tier", "priority", "severity", "risk", "accuracy", "error", "loss"),
    *("price", "cost", "revenue", "sales", "income", "salary", "profit", "yield", "latency", "throughput", "duration"),
    *("viability", "expression", "synergy", "efficacy", "potency", "activity", "survival"),
}
_TWO_SIDED = (
    {"yes", "no"},
    {"true", "false"},
    {"pass", "fail"},
    {"passed", "failed"},
    {"success", "failure"},
    {"0", "1"},
)
_IDS = {"id", "ids", "uuid", "guid", "index", "idx", "file", "filename", "path", "url", "hash", "checksum"}
_NOTES = {"note", "notes", "comment", "comments", "remark", "remarks", "description", "text", "caption", "message"}
_COUNTS = {"n", "num", "count", "counts", "total"}


@dataclass(frozen=True)
class ProposedColumn:
    """A column: what it is like, what it is proposed as, and why."""

    name: str
    kind: Kind
    type: str
    """As its engine calls it."""
    values: int | None
    """How many; None where its items cannot be values."""
    exact: bool
    missing: int
    examples: tuple[str, ...]
    role: Role
    reason: str


def words(name: str) -> list[str]:
    """The words that a name is put together of.

    >>> words("pairID"), words("seen_in_train"), words("y-hat"), words("UID")
    (['pair', 'id'], ['seen', 'in', 'train'], ['y', 'hat'], ['uid'])
    """
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return [word.lower() for word in re.findall(r"[^\W_]+", apart)]


def roles(looks: Looks) -> tuple[ProposedColumn, ...]:
    """Each column with what it is proposed as."""
    alone = {one.name: _alone(one) for one in looks.columns}
    alone |= _outcome(looks, alone)
    alone |= _without_told(looks, alone)
    alone |= _one_target(looks, alone)
    alone |= _first_few(looks, alone)
    return tuple(
        ProposedColumn(one.name, one.kind, one.type, one.values, one.exact, one.missing, one.examples, *alone[one.name])
        for one in looks.columns
    )


Proposed = tuple[Role, str]
_AS_WELL = f"it would do as a factor, after {MOST_FACTORS} others"


def _alone(one: ColumnProfile) -> Proposed:
    """What a column is by itself."""
    for rule in (_empty, _split, _prediction, _target, _thin, _own, _number):
        found = rule(one)
        if found is not None:
            return found
    if _values(one) > FEW_VALUES or 2 * _values(one) > one.present:
        return "left out", f"{how_many(one)} in {amount(one.present, 'row')}: too many to meet again"
    return "factor", f"{how_many(one)}, {_each(one)}"


def _values(one: ColumnProfile) -> int:
    return one.values or 0


def how_many(one: ColumnProfile | ProposedColumn) -> str:
    """The number of values in words; what was estimated is said to be."""
    if one.values is None:
        return "not single values"
    return ("" if one.exact else "about ") + amount(one.values, "value")


def _each(one: ColumnProfile) -> str:
    return f"{count(one.present // max(_values(one), 1))} rows each on average"


def _empty(one: ColumnProfile) -> Proposed | None:
    if not one.present:
        return "left out", "missing in every row"
    if one.kind == "nested":
        as_set = f"; --set {one.name}={one.name} reads it as a set" if one.type.startswith("array<string") else ""
        return "left out", f"of type {one.type}, whose items cannot be values of a factor{as_set}"
    if one.values == 1:
        return "left out", "one value throughout" + (", where it is not missing" if one.missing else "")
    return None


def _split(one: ColumnProfile) -> Proposed | None:
    said = words(one.name)
    if one.kind == "date" or _values(one) > 50:
        return None
    if _SPLITS & set(said):
        return "split", f"{how_many(one)}; named like a split"
    if _SIDES & set(said) and {"in", "is", "seen"} & set(said) and _values(one) == 2:
        return "split", "it tells what is in training or test, by its name"
    if one.kind == "text" and len(one.examples) > 1 and all(_OF_SIDES & set(words(value)) for value in one.examples):
        return "split", f"its values speak of training and test: {', '.join(one.examples[:3])}"
    return None


def _prediction(one: ColumnProfile) -> Proposed | None:
    said = words(one.name)
    if _PREDICTIONS & set(said) or said == ["y", "hat"]:
        return "prediction", f"{how_many(one)}; named like a model's answer"
    if _SCORES & set(said) and one.kind == "number":
        return "left out", "named like a model's probability"
    return None


def _target(one: ColumnProfile) -> Proposed | None:
    said = words(one.name)
    named = said[-1:] and said[-1] in _TARGETS and (len(said) == 1 or said[-1] != "y")
    if not named or one.kind == "date" or (one.kind == "text" and _values(one) > FEW_VALUES):
        return None
    what = "a number with " if one.kind == "number" else ""
    return "target", f"{what}{how_many(one)}; named like a target"


def _outcome(looks: Looks, proposed: Mapping[str, Proposed]) -> dict[str, Proposed]:
    """Where no column is named like a target: the last that is named after an outcome, or a yes or no that stands last.

    An outcome is asked about, and seldom chosen: as a factor it would tell what nobody knows beforehand.
    """
    if _named(proposed, "target"):
        return {}
    usable = [one for one in looks.columns if one.kind not in ("date", "nested") and _values(one) > 1]
    named = [one for one in usable if _OUTCOMES & set(words(one.name)[-2:]) and _enough(one)]
    if named:
        what = "a number with " if named[-1].kind == "number" else ""
        return {named[-1].name: ("target", f"{what}{how_many(named[-1])}; named after an outcome")}
    factors = [one for one in looks.columns if proposed[one.name][0] == "factor"]
    two_sided = [one for one in factors if {example.lower() for example in one.examples} in _TWO_SIDED]
    if len(two_sided) == 1 and two_sided == factors[-1:]:  # where there are several, they are attributes
        last = factors[-1]
        return {last.name: ("target", f"{' or '.join(last.examples)}, in the last column that could be a factor")}
    return {}


def _enough(one: ColumnProfile) -> bool:
    """Whether it is no identifier and no text: a number, or values that are met again."""
    return one.kind == "number" or _alone(one)[0] == "factor" or (one.kind == "whole number" and not _own(one))


def _thin(one: ColumnProfile) -> Proposed | None:
    if 2 * one.missing > one.present + one.missing:
        return "left out", f"missing in {percent(one.missing / (one.present + one.missing))} of the rows"
    return None


def _own(one: ColumnProfile) -> Proposed | None:
    """What tells rows apart; floats do so too, and are numbers all the same."""
    if one.kind in ("number", "boolean", "date"):
        return None
    named = bool(_IDS & set(words(one.name)))
    every = _values(one) >= _OWN * one.present and one.present > 4
    if every and (named or one.kind == "text" or _values(one) == one.present):
        return "left out", ("every row has its own" if one.exact else "nearly every row has its own")
    if named and _values(one) > _SMALL_NUMBER:
        return "left out", f"{how_many(one)}; named like an identifier"
    if _NOTES & set(words(one.name)) and one.kind == "text" and _values(one) > _SMALL_NUMBER:
        return "left out", f"{how_many(one)}; named like free text"
    return None


_BINS = {"number": "5", "whole number": "5", "date": "month"}


def _number(one: ColumnProfile) -> Proposed | None:
    if one.kind not in _BINS:
        return None
    bins = f"--bins {shlex.quote(f'{one.name}={_BINS[one.kind]}')} makes a factor of it"
    if one.kind == "date":
        return "left out", f"dates, {how_many(one)}; {bins}"
    predicted = f"{bins}, --target {shlex.quote(one.name)} what is predicted"
    if one.kind == "number":
        return "left out", f"a number with {how_many(one)}; {predicted}"
    if _COUNTS & set(words(one.name)):
        return "left out", f"{how_many(one)}; named like a count; {bins}"
    if _values(one) > _SMALL_NUMBER:
        return "left out", f"a whole number with {how_many(one)}; {predicted}"
    return None


def _named(proposed: Mapping[str, Proposed], role: Role) -> list[str]:
    return [name for name, (found, _) in proposed.items() if found == role]


def _one_target(looks: Looks, proposed: Mapping[str, Proposed]) -> dict[str, Proposed]:
    """The target with the plainest name; others become factors or nothing, and so does one that is a factor's copy."""
    targets = sorted(_named(proposed, "target"), key=lambda name: len(words(name)))
    factors = _named(proposed, "factor")
    by_name = {one.name: one for one in looks.columns}
    found: dict[str, Proposed] = dict.fromkeys(targets[1:], ("left out", "named like a target, too"))
    if not targets:
        return found
    target = targets[0]
    copies = [name for name in factors if {(name, target), (target, name)} <= looks.tells]
    if copies and len(factors) - len(copies) < 2:
        found[target] = ("left out", f"one to one with {copies[0]}, which is needed as a factor")
        return found
    for name in copies:
        found[name] = ("left out", f"one to one with {target}: it would tell the whole answer")
    return found | {target: ("target", _alone(by_name[target])[1])}


def _without_told(looks: Looks, proposed: Mapping[str, Proposed]) -> dict[str, Proposed]:
    """Of two factors of which one tells the other, the finer is kept; of a code and a name, the name."""
    by_name = {one.name: one for one in looks.columns}
    kept = _named(proposed, "factor")
    found: dict[str, Proposed] = {}
    for name in sorted(kept, key=lambda name: _rank(by_name[name], kept.index(name))):
        for other in kept:
            firm = by_name[other].present >= _FIRM * _values(by_name[other])
            if other == name or other in found or (other, name) not in looks.tells or not firm:
                continue
            twins = (name, other) in looks.tells
            if twins and _rank(by_name[other], kept.index(other)) < _rank(by_name[name], kept.index(name)):
                continue
            why = f"one to one with {other}" if twins else f"each {other} has one {name}"
            found[name] = ("left out", f"{how_many(by_name[name])}; {why}, so one of the two is enough")
            break
    return found


def _rank(one: ColumnProfile, place: int) -> tuple[int, bool, int]:
    """Who goes first: the coarser one, codes before names, the later before the earlier."""
    return (_values(one), one.kind == "text", -place)


def _first_few(looks: Looks, proposed: Mapping[str, Proposed]) -> dict[str, Proposed]:
    more = _named(proposed, "factor")[MOST_FACTORS:]
    by_name = {one.name: one for one in looks.columns}
    return {name: ("left out", f"{how_many(by_name[name])}; {_AS_WELL}") for name in more}


def further_factors(columns: tuple[ProposedColumn, ...]) -> int:
    """How many columns were left out only because there are enough without them."""
    return sum(one.reason.endswith(_AS_WELL) for one in columns)


def with_counts(columns: tuple[ProposedColumn, ...], rarest: Mapping[str, int]) -> tuple[ProposedColumn, ...]:
    """The factors once more, with the rows of their rarest value."""
    return tuple(
        replace(one, reason=f"{how_many(one)}, {_seen(rarest[one.name])}") if one.name in rarest else one
        for one in columns
    )


def _seen(least: int) -> str:
    return "the rarest in one row" if least == 1 else f"each in {count(least)} rows or more"
