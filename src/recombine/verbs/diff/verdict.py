"""What is said of a comparison: the score first, then the combinations, then the grades; or that nothing changed.

The grade of a comparison: how far it is safe to say that nothing got worse.

| grade | |
|---|---|
| sound | nothing changed; or nothing got worse, and a drop of the score by more than five points is ruled out |
| plausible | nothing got worse as far as can be told: what changed is within chance, or there is no score |
| weak | combinations were lost, or single ones got worse, by more than chance; the grade did not fall, nor the score \
beyond chance |
| failing | a score is worse by more than chance, or the grade fell and chance does not explain it |
| untested | nothing is known to be worse, and there is not enough evidence that the score is not |

So `--fail-on worse` needs no rule of its own: a gate ends as the grade says. Where nothing but the noise was drawn anew
it fails in about one of twenty comparisons, all that is compared taken together. A grade is a threshold on a score, so
noise alone carries it across: that it fell is no finding where a score was compared and is not worse by more than
chance, and nothing else got worse.
"""

from collections.abc import Mapping
from typing import Any

import pyarrow.compute as pc

from recombine.base.grades import Grade
from recombine.base.words import amount, count, listing, measure, named, percent, points_range
from recombine.numerics.resampling import FEWEST
from recombine.verbs.diff.findings import HELD_OUT, RATE, Findings, ScoreChange, ValueChange, column_names

TOLERATED = 0.05
"""How much lower a share (or R²) may be at the worst end of its interval for *sound*."""
_WORST_TO_BEST: tuple[Grade, ...] = ("failing", "weak", "plausible", "sound")


def grade_fell(old: Grade, new: Grade) -> bool:
    """Whether a result is graded lower; *untested* is no step of the scale.

    >>> grade_fell("sound", "weak"), grade_fell("weak", "sound")
    (True, False)
    >>> grade_fell("sound", "untested"), grade_fell("untested", "failing")
    (False, False)
    """
    if "untested" in (old, new):
        return False
    return _WORST_TO_BEST.index(new) < _WORST_TO_BEST.index(old)


def grade(findings: Findings, old: Grade, new: Grade, *, unchanged: bool) -> Grade:
    """The grade of what was found."""
    if unchanged:
        return "sound"
    outcomes = {score.outcome for score in findings.scores}
    if "worse" in outcomes or (grade_fell(old, new) and not fell_by_chance(findings)):
        return "failing"
    if count_worse(findings):
        return "weak"
    if "not enough evidence" in outcomes or findings.unscored or (new == "untested" and old != "untested"):
        return "untested"
    return "sound" if findings.scores and all(map(_drop_ruled_out, findings.scores)) else "plausible"


def fell_by_chance(findings: Findings) -> bool:
    """Whether chance explains that a grade fell: it was measured anew, and nothing is worse by more than that."""
    measured_anew = bool(findings.scores) or bool(findings.by_redraw)
    return measured_anew and all(one.outcome != "worse" for one in findings.scores) and not count_worse(findings)


def count_worse(findings: Findings) -> int:
    """How many changes of single combinations are for the worse, and not what another draw of rows would bring."""
    names = column_names(findings.factors)
    what, way = (findings.table[names[name]].to_pylist() for name in ("what", "way"))
    return sum(one == "worse" and which not in findings.by_redraw for which, one in zip(what, way, strict=True))


def _drop_ruled_out(score: ScoreChange) -> bool:
    """Whether a drop of more than what is tolerated is ruled out; a loss has no scale, and must not be higher."""
    if score.outcome == "the same":
        return True
    on_a_scale = score.score in ("accuracy", "R²", "r2")
    return score.worst is not None and score.worst >= (-TOLERATED if on_a_scale else 0.0)


_FEW = 3  # values that a sentence names before it breaks off
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
_FROM_TO = ("rung", "answer", "score", "verdict", "prediction", "side")
"""Respects in which a change is told with what was before and what is now."""


def verdict(kind: str, findings: Findings, old: Grade, new: Grade, *, unchanged: bool) -> str:
    """The answer in a few sentences."""
    if unchanged:
        return f"Nothing changed: both {kind}s say the same of every combination that they speak of."
    told = [score_sentence(findings.scores[0])] if findings.scores else []
    told += [f"No score was compared: {findings.unscored}."] if findings.unscored else []
    told += [_combinations(kind, findings)]
    if findings.by_redraw:
        told.append("Another draw of the rows from the same source would lose as many.")
    if old != new:
        by_chance = grade_fell(old, new) and fell_by_chance(findings)
        went = "fell" if grade_fell(old, new) and not by_chance else "went"
        why = ", no more than chance explains" if by_chance else ""
        told.append(f"The grade of the {kind} {went} from {old} to {new}{why}.")
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
    written = percent if score.share else measure
    lead = f"On {of_which(score)}, {score_name(score)}" if score.paired else f"The {score_name(score)} to expect"
    if score.difference is None or score.old is None or score.new is None:
        return f"{lead} cannot be compared."
    old, new = written(score.old), written(score.new)
    if score.outcome == "the same":
        return f"{lead} is the same: {new}."
    sure = score.outcome in ("better", "worse")
    # it rises or falls where that is more than chance, and goes from one number to another elsewhere
    went = "went" if not sure else "rose" if score.difference > 0 else "fell"
    # a difference below the digits that are shown is not told as a way from one number to the same one
    moved = f"{lead} stayed at {new}" if old == new else f"{lead} {went} from {old} to {new}"
    if score.low is None or score.high is None:
        why = (
            f"An interval needs {FEWEST} {'combinations' if score.pieces is None else 'pieces of evidence'} at least"
            if (score.pieces or score.combinations) < FEWEST
            else "All differ alike, or too unlike for an interval to rule anything out"
        )
        return f"{moved}, which may be luck. {why}."
    around = points_range(score.low, score.high) if score.share else f"{measure(score.low)} to {measure(score.high)}"
    said = "more than chance explains" if sure else "no more than chance explains"
    return f"{moved}, {said} (difference {around})."


def of_which(score: ScoreChange) -> str:
    """The combinations that a score is of."""
    if not score.paired:
        return "unseen combinations"
    both = {HELD_OUT: "held out"}.get(score.name, score.name)
    count_as = "" if score.pieces is None else f" ({amount(score.pieces, 'piece')} of evidence)"
    return f"{amount(score.combinations, 'combination')}{count_as} {both} both times"


def score_name(score: ScoreChange) -> str:
    """A score by the name that a person would use."""
    if score.name == HELD_OUT:
        return "the share that adding up effects gets right" if score.share else "what adding up effects explains (R²)"
    if score.score == "accuracy":
        return "right answers" if score.paired else "share of right answers"
    return {"r2": "R²"}.get(score.score, score.score)


def _combinations(kind: str, findings: Findings) -> str:
    """How many changed in which respect, with one of each named."""
    table, names = findings.table, column_names(findings.factors)
    if not table.num_rows:
        return "No combination changed."
    parts = []
    for what in dict.fromkeys(table[names["what"]].to_pylist()):
        mine = table.filter(pc.equal(table[names["what"]], what))
        first = mine.slice(0, 1).to_pylist()[0]
        said = _SENTENCES.get(kind, {}).get(what, what)
        example = named({name: first[name] for name in findings.factors})
        if what in _FROM_TO:
            example += f", from {first[names['old']]} to {first[names['new']]}"
        are, such = ("is", "") if mine.num_rows == 1 else ("are", "such as ")
        parts.append(f"{amount(mine.num_rows, 'combination')} {are} {said} ({such}{example})")
    return f"{'; '.join(parts)}."


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
