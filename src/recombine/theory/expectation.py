"""From combinations that were held out to those that are unseen: which are alike, and what score is to be expected.

A held-out combination stands for unseen ones only where it was as hard: fixed by the others if the factors add up, and
with as much doubt left about it. So an unseen combination is *like the tested ones* if it is determined and its doubt
(the variance of what lies below the full combination) is within theirs; the others are guesses. And those of the
tested ones that were easier than any unseen one do not count.

What must be beaten is the constant answer, beyond chance. One factor alone, the mean of the nearest and adding up are
rules that a kernel-like learner holds within itself: to be level with them is what it does where they are right (with
two factors the mean of the nearest *is* a way of adding up), but to lose to one of them beyond chance refutes it.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from recombine.algebra.groups import Ints, Numbers
from recombine.expected import FEWEST_TESTED, Expected, earned
from recombine.statistics.predictive import Score, expected_score
from recombine.statistics.resampling import IntervalSettings
from recombine.theory import rules
from recombine.theory.answers import Answers
from recombine.theory.backtest import Backtest, losses_of
from recombine.theory.diagnosis import Diagnosis
from recombine.theory.ensembles import expected_of
from recombine.theory.held_out import KERNEL, HeldOut
from recombine.theory.panel import Panel

Flags = npt.NDArray[np.bool_]
_ROUNDING = 1e-9
_HALF = 0.5


def score_of(answers: Answers) -> Score:
    """The name of the score: R² for a number, accuracy for a label."""
    return "R²" if answers.kind == "number" else "accuracy"


def like_tested(tried: HeldOut, diagnosis: Diagnosis) -> Flags:
    """Which of the diagnosed combinations are unseen, and no harder than what was held out."""
    tested = tried.determined
    if not tested.any():
        return np.zeros(len(diagnosis.codes), dtype=bool)
    asked = ~diagnosis.seen & (diagnosis.rungs == "determined")
    hardest = float(tried.doubt[tested].max())
    return np.asarray(asked & (diagnosis.doubts <= hardest * (1 + _ROUNDING) + _ROUNDING))


def expected_from(tried: HeldOut, diagnosis: Diagnosis, like: Flags, *, unseen: int) -> Expected:
    """The score to expect on `unseen` combinations like those that are flagged, from those that were held out."""
    own = diagnosis.learner.answers
    spared = int(tried.determined.sum())
    if spared < FEWEST_TESTED:
        few = "none" if not spared else f"only {spared}"
        why = f"{few} of the {len(tried):,} seen combinations can be spared, the others then leave its answer open"
        return Expected(score_of(own), tested=spared, reason=why)
    chosen = np.flatnonzero(_comparable(tried, diagnosis.doubts[like]))
    name, base = _best_constant(own, tried, chosen)
    return expected_score(
        losses_of(own, tried, tried.said[KERNEL])[chosen],
        {name: base},
        score=score_of(own),
        unseen=unseen,
        codes=tried.codes[chosen],
        settings=IntervalSettings(seed=diagnosis.learner.seed),
    )


def _best_constant(own: Answers, tried: HeldOut, chosen: Ints) -> tuple[str, Numbers]:
    """One answer for all of those tested, the best."""
    usual = rules.constant_name(own)
    other = None if own.kind == "number" else rules.commonest(own, own.hits(tried.values[chosen]))
    return other or (usual, losses_of(own, tried, tried.said[usual])[chosen])


def _comparable(tried: HeldOut, doubts: Numbers) -> Flags:
    """Tested combinations that are not easier than all unseen ones, as long as some are left."""
    tested = tried.determined
    harder = tested & (tried.doubt * (1 + _ROUNDING) + _ROUNDING >= doubts.min(initial=np.inf))
    return harder if harder.sum() >= FEWEST_TESTED else tested


@dataclass(frozen=True)
class Forecast:
    """The score on unseen combinations whose truth is known, and the same if every example were read without fail.

    They differ where nothing is known of how examples of one combination differ: `expected` then allows for it, and
    the grade is earned by `sighted`, which does not.
    """

    expected: Expected
    sighted: Expected


def forecast_of(panel: Panel, diagnosis: Diagnosis, *, unseen: int, symbols: bool) -> Forecast | None:
    """What the learners would get on unseen combinations whose truth is known; None where none is.

    Where it is known of half of them and more, they stand for all; else the forecast is for them alone.
    """
    asked = ~diagnosis.seen & (diagnosis.rungs != "novel") & (diagnosis.rungs != "impossible")
    known = np.flatnonzero(asked & diagnosis.known)
    if not len(known):
        return None
    made = panel.ensemble(diagnosis.codes[known], diagnosis.truth[known])
    share = float(asked.sum()) / max(int((~diagnosis.seen).sum()), 1)
    of = round(unseen * share) if len(known) >= _HALF * asked.sum() else len(known)
    settings = IntervalSettings(seed=diagnosis.learner.seed)
    sighted, blind = (
        expected_of(made, basis="combinations", settings=settings, of=of, blind=one) for one in (False, True)
    )
    return Forecast(sighted if symbols else blind, sighted)


def refuted(expected: Expected | None, record: Backtest | None) -> bool:
    """Whether held-out combinations came out no better than by a constant answer, or worse than by a simple rule."""
    if expected is None or expected.abstains:
        return False
    return earned(expected) in ("weak", "failing") or bool(record and record.loses_to)
