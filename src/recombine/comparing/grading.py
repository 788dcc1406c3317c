"""The grade of a comparison: how far it is safe to say that nothing got worse.

| grade | |
|---|---|
| sound | nothing changed; or nothing got worse, and a drop of the score by more than five points is ruled out |
| plausible | nothing got worse as far as can be told: the score's change is within chance, or there is no score |
| weak | combinations were lost, or single ones got worse; the grade did not fall, nor the score beyond chance |
| failing | the grade fell, or a score is worse by more than chance |
| untested | nothing is known to be worse, and there is not enough evidence that the score is not |

So `--fail-on worse` needs no rule of its own: a gate ends as the grade says.
"""

from recombine.comparing.findings import Findings, ScoreChange, column_names
from recombine.grades import Grade

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
