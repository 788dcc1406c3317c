"""What is said of a comparison: the score first, then the combinations, then the grades; or that nothing changed.

The grade of a comparison: how far it is safe to say that nothing got worse.

| grade | |
|---|---|
| sound | nothing changed; or nothing got worse, and a drop of the score by more than five points is ruled out |
| plausible | nothing got worse as far as can be told: the score's change is within chance, or there is no score |
| weak | combinations were lost, or single ones got worse; the grade did not fall, nor the score beyond chance |
| failing | the grade fell, or a score is worse by more than chance |
| untested | nothing is known to be worse, and there is not enough evidence that the score is not |

So `--fail-on worse` needs no rule of its own: a gate ends as the grade says.
"""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from recombine.base.grades import Grade
from recombine.base.words import amount, count, listing, measure, named, percent, points, points_range
from recombine.numerics.resampling import FEWEST
from recombine.verbs.diff.findings import HELD_OUT, RATE, Findings, ScoreChange, ValueChange, column_names

TOLERATED = 0.05
"""How much lower a share (or R²) may be at the worst end of its interval for *sound*."""
_WORST_TO_BEST: tuple[Grade, ...] = ("failing", "weak", "plausible", "sound")


def fell(old: Grade, new: Grade) -> bool:
    """Whether a result is graded lower; *untested* is no step of the scale.

    >>> fell("sound", "weak"), fell("weak", "sound"), fell("sound", "untested"), fell("untested", "failing")
    (True, False, False, False)
    """
    if "untested" in (old, new):
        return False
    return _WORST_TO_BEST.index(new) < _WORST_TO_BEST.index(old)


def grade(findings: Findings, old: Grade, new: Grade, *, unchanged: bool) -> Grade:
    """The grade of what was found."""
    if unchanged:
        return "sound"
    outcomes = {score.outcome for score in findings.scores}
    if fell(old, new) or "worse" in outcomes:
        return "failing"
    if worse(findings):
        return "weak"
    if "not enough evidence" in outcomes or findings.unscored or (new == "untested" and old != "untested"):
        return "untested"
    return "sound" if findings.scores and all(map(_ruled_out, findings.scores)) else "plausible"


def worse(findings: Findings) -> int:
    """How many changes of single combinations are for the worse."""
    return int(findings.table[column_names(findings.factors)["way"]].to_pylist().count("worse"))


def _ruled_out(score: ScoreChange) -> bool:
    """Whether a drop of more than what is tolerated is ruled out; a loss has no scale, and must not be higher."""
    if score.outcome == "the same":
        return True
    on_a_scale = score.score in ("accuracy", "R²", "r2")
    return score.worst is not None and score.worst >= (-TOLERATED if on_a_scale else 0.0)


_FEW = 3
_SENTENCES: Mapping[str, Mapping[str, str]] = {
    "audit": {
        "lost": "no longer seen",
        "gained": "seen for the first time",
        "rung": "on another rung",
        "answer": "answered otherwise",
    },
    "evaluation": {
        "lost": "no longer tested",
        "gained": "newly tested",
        "rung": "on another rung",
        "score": "scored otherwise by more than chance",
    },
    "prediction": {
        "lost": "no longer seen",
        "gained": "seen for the first time",
        "verdict": "given another verdict",
        "prediction": "predicted otherwise",
    },
    "lint": {"new leak": "newly leaked", "leak gone": "no longer leaked"},
    "split": {"lost": "no longer there", "gained": "new", "side": "on another side"},
}
"""What is said of the combinations that changed in one respect; other words say it themselves."""


def verdict(kind: str, findings: Findings, old: Grade, new: Grade, *, unchanged: bool) -> str:
    """The answer in a few sentences."""
    if unchanged:
        return f"Nothing changed: both {kind}s say the same of every combination that they speak of."
    told = [score_sentence(findings.scores[0])] if findings.scores else []
    told += [f"No score was compared: {findings.unscored}."] if findings.unscored else []
    told += [_combinations(kind, findings)]
    told += [_grades(kind, old, new)] if old != new else []
    return " ".join(told)


def reasons(kind: str, findings: Findings, settings: tuple[str, ...]) -> tuple[str, ...]:
    """What stands behind the verdict."""
    changed = [f"{one.name}: {one.old} before, {one.new} now." for one in findings.told if one.old != one.new]
    return (
        *map(score_sentence, findings.scores[1:]),
        *changed,
        *map(_values, findings.values),
        *_surprises(kind, findings),
        *findings.notes,
        *settings,
    )


def score_sentence(score: ScoreChange) -> str:
    """One score before and now, and whether the difference is more than chance."""
    lead = f"On {of_which(score)}, {called(score)}" if score.paired else f"The {called(score)} to expect"
    if score.difference is None or score.old is None or score.new is None:
        return f"{lead} cannot be compared."
    if score.outcome == "the same":
        return f"{lead} is the same: {_written(score, score.new)}."
    old, new = _written(score, score.old), _written(score, score.new)
    # a difference below the digits that are shown is not told as a way from one number to the same one
    moved = f"{lead} stayed at {new}" if old == new else f"{lead} {_moved(score)} from {old} to {new}"
    if score.low is None or score.high is None:
        return f"{moved}; {_no_interval(score)}, so that may be luck."
    said = "more than chance explains" if score.outcome in ("better", "worse") else "no more than chance explains"
    around = points_range(score.low, score.high) if score.share else f"{measure(score.low)} to {measure(score.high)}"
    return f"{moved} (a difference of {_size(score)}, {around}): {said}."


def _moved(score: ScoreChange) -> str:
    """It rises or falls where that is more than chance, and goes from one number to another elsewhere."""
    if score.outcome not in ("better", "worse") or score.difference is None:
        return "went"
    return "rose" if score.difference > 0 else "fell"


def of_which(score: ScoreChange) -> str:
    """The combinations that a score is of."""
    if not score.paired:
        return "unseen combinations"
    if score.name == "tested":
        return f"{amount(score.combinations, 'combination')} tested both times"
    both = (
        "held out both times" if score.name == HELD_OUT else f"that {_was(score.combinations)} {score.name} both times"
    )
    return f"{amount(score.combinations, 'combination')} {both}"


def _was(number: int) -> str:
    return "was" if number == 1 else "were"


def called(score: ScoreChange) -> str:
    """A score by the name that a person would use."""
    if score.name == HELD_OUT:
        return "the share that adding up effects gets right" if score.share else "what adding up effects explains (R²)"
    if score.share:
        return "the share of right answers" if score.paired else "share of right answers"
    return {"r2": "R²"}.get(score.score, score.score)


def _no_interval(score: ScoreChange) -> str:
    if score.combinations < FEWEST:
        return f"an interval needs {FEWEST} combinations at least"
    return "all differ alike, or too unlike for an interval to rule anything out"


def _written(score: ScoreChange, value: float) -> str:
    return percent(value) if score.share else measure(value)


def _size(score: ScoreChange) -> str:
    value = score.difference or 0.0
    return points(value) if score.share else measure(value)


def _combinations(kind: str, findings: Findings) -> str:
    """How many changed in which respect, with one of each named."""
    table, names = findings.table, column_names(findings.factors)
    if not table.num_rows:
        return "No combination changed."
    parts = []
    for what in dict.fromkeys(table[names["what"]].to_pylist()):
        mine = table.filter(pc.equal(table[names["what"]], what))
        first = {name: mine[name][0].as_py() for name in findings.factors}
        said = _SENTENCES.get(kind, {}).get(what, what)
        verb = "is" if mine.num_rows == 1 else "are"
        example = f"{named(first)}{_from_to(mine, names, what)}"
        parts.append(f"{amount(mine.num_rows, 'combination')} {verb} {said} ({_such(mine.num_rows)}{example})")
    return f"{'; '.join(parts)}."


def _such(number: int) -> str:
    return "" if number == 1 else "such as "


def _from_to(table: pa.Table, names: Mapping[str, str], what: str) -> str:
    if what not in ("rung", "answer", "score", "verdict", "prediction", "side"):
        return ""
    return f", from {table[names['old']][0].as_py()} to {table[names['new']][0].as_py()}"


def _grades(kind: str, old: Grade, new: Grade) -> str:
    verb = "fell" if fell(old, new) else "went"
    return f"The grade of the {kind} {verb} from {old} to {new}."


def _values(change: ValueChange) -> str:
    parts = []
    for number, shown, said in ((change.gained, change.new_ones, "new"), (change.lost, change.gone, "gone")):
        if number:
            few = listing(list(shown[:_FEW])) if number <= _FEW else f"{', '.join(shown[:_FEW])}, …"
            parts.append(f"{amount(number, 'value')} {'is' if number == 1 else 'are'} {said} ({few})")
    return f"{change.factor}: {listing(parts)}."


def _surprises(kind: str, findings: Findings) -> tuple[str, ...]:
    """How much of what came and went, or answers otherwise, is more than another draw of rows would bring."""
    table, names = findings.table, column_names(findings.factors)
    whats: list[Any] = table[names["what"]].to_pylist()
    chances: list[Any] = table[names["q"]].to_pylist()
    parts = []
    for what in dict.fromkeys(whats):
        known = [q for word, q in zip(whats, chances, strict=True) if word == what and q is not None]
        if known and what != "score":
            sure = sum(q <= RATE for q in known)
            parts.append(f"{count(sure)} of {count(len(known))} {_SENTENCES.get(kind, {}).get(what, what)}")
    if not parts:
        return ()
    return (
        f"More than another draw of as many rows explains: {listing(parts)}; about {percent(RATE)} of these may be "
        "luck.",
    )
