"""From combinations that were held out to those that are unseen: which are alike, and what score is to be expected.

A held-out combination stands for unseen ones only where it was as hard: fixed by the others if the factors add up, and
with as much doubt left about it. So an unseen combination is *like the tested ones* if it is determined and its doubt
(the variance of what lies below the full combination) is within theirs; the others are guesses. And those of the
tested ones that were easier than any unseen one do not count.

What must be beaten is the constant answer, beyond chance. One factor alone, the mean of the nearest and adding up are
rules that a kernel-like learner holds within itself: to be level with them is what it does where they are right (with
two factors the mean of the nearest *is* a way of adding up), but to lose to one of them beyond chance refutes it.

A forecast beside a rehearsal of the same table: which of the two leads, and why.

| what was rehearsed | it leads |
|---|---|
| one's own learner (an estimator, a command, a model of the lab) | wherever it gives a score: nothing else knows it |
| kernel machines on inputs | unless rows of unseen combinations were asked about themselves |
| a closed form over combinations | where nothing else gives a score |

That is the order of what came true (`benchmarks/validity.py`): rows of unseen combinations before a rehearsal on
inputs, that before combinations alone, of which a closed form that is rehearsed knows no more than the forecast does.
"""

from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from recombine.base.errors import SettingError
from recombine.base.grades import FEWEST_TESTED, Expected, Grade, earned
from recombine.base.words import interval_words, measure, percent
from recombine.data.support import Support
from recombine.numerics.groups import Flags, Numbers
from recombine.numerics.predictive_intervals import Score, expected_score
from recombine.numerics.resampling import IntervalSettings
from recombine.verbs.audit.block_holdout import missing_reason, weigh_classes
from recombine.verbs.predict import simple_rules, track_record
from recombine.verbs.predict.answers import Answers
from recombine.verbs.predict.backtest import Backtest, losses_of
from recombine.verbs.predict.block_record import HeldOutClass, HeldOutClasses
from recombine.verbs.predict.diagnosis import Diagnosis
from recombine.verbs.predict.ensemble_members import Panel
from recombine.verbs.predict.ensembles import LEAST_TOLD, expected_of, less_sure
from recombine.verbs.predict.holdout_record import KERNEL, HeldOutAnswers, joined

_ROUNDING = 1e-9
_HALF = 0.5


def score_of(answers: Answers) -> Score:
    """The name of the score: R² for a number, accuracy for a label."""
    return "R²" if answers.kind == "number" else "accuracy"


def like_tested(held: HeldOutClasses, doubts: Numbers) -> Flags:
    """Which of the combinations that were asked about are no harder than what was held out of each of their classes."""
    limit = np.full(len(doubts), np.inf)
    for one, mine in zip(held.tested, held.members, strict=True):
        hardest = float(one.tried.doubt[one.tried.determined].max(initial=-np.inf))
        limit[mine] = np.minimum(limit[mine], hardest)
    limit[held.unlike] = -np.inf
    return np.asarray(doubts <= limit * (1 + _ROUNDING) + _ROUNDING)


def expected_from(held: HeldOutClasses, diagnosis: Diagnosis, like: Flags, *, unseen: int) -> Expected:
    """The score to expect on `unseen` combinations like those that are flagged, from those that were held out."""
    own = diagnosis.learner.answers
    if not held.tested:
        return Expected(score_of(own), reason=missing_reason(held.untested))
    spared = sum(one.spared for one in held.tested)
    if spared < FEWEST_TESTED:
        few = "none" if not spared else f"only {spared}"
        count = sum(len(one.tried) for one in held.tested)
        why = f"{few} of the {count:,} seen combinations can be spared, the others then leave its answer open"
        return Expected(score_of(own), tested=spared, reason=why)
    chosen = [
        np.flatnonzero(_comparable(one, diagnosis.doubts[mine[like[mine]]]))
        for one, mine in zip(held.tested, held.members, strict=True)
    ]
    tried = joined([one.tried.subset(rows) for one, rows in zip(held.tested, chosen, strict=True)])
    weights, pieces = weigh_classes(
        [(one.missing, one.pieces[rows]) for one, rows in zip(held.tested, chosen, strict=True)]
    )
    in_blocks = any(len(one.missing.factors) < diagnosis.codes.shape[1] for one in held.tested)
    name, base = _best_constant(own, tried)
    found = expected_score(
        losses_of(own, tried, tried.said[KERNEL]),
        {name: base},
        score=score_of(own),
        unseen=unseen,
        codes=tried.codes,
        elements=diagnosis.learner.support.space.effects.elements(tried.codes),
        weights=weights if in_blocks else None,
        pieces=pieces if in_blocks else None,
        settings=IntervalSettings(seed=diagnosis.learner.seed),
    )
    return replace(found, tested=len(np.unique(tried.codes, axis=0)))


def _best_constant(own: Answers, tried: HeldOutAnswers) -> tuple[str, Numbers]:
    """One answer for all of those tested, the best."""
    usual = simple_rules.constant_name(own)
    other = None if own.kind == "number" else simple_rules.commonest(own, own.hits(tried.values))
    return other or (usual, losses_of(own, tried, tried.said[usual]))


def _comparable(held: HeldOutClass, doubts: Numbers) -> Flags:
    """Tested combinations that are not easier than all unseen ones, as long as some are left."""
    tested = held.tried.determined
    harder = tested & (held.tried.doubt * (1 + _ROUNDING) + _ROUNDING >= doubts.min(initial=np.inf))
    return harder if len(np.unique(held.pieces[harder])) >= FEWEST_TESTED else tested


@dataclass(frozen=True)
class TruthForecast:
    """The score on unseen combinations whose truth is known, and the same if every example were read without fail.

    They differ where nothing is known of how examples of one combination differ: `expected` then allows for it, and
    the grade is earned by `sighted`, which does not.
    """

    expected: Expected
    sighted: Expected


def forecast_of(panel: Panel, diagnosis: Diagnosis, *, unseen: int, symbols: bool) -> TruthForecast | None:
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
    return TruthForecast(sighted if symbols else blind, sighted)


WITHOUT_INPUTS = "without inputs nobody knows how well a network reads examples"
"""Why factors alone forecast no network. An interval from what held-out combinations say down to one answer for all
held 91 % of trained ones (`benchmarks/validity.py`, open cells), and was as wide as the scale: it would say nothing."""


def network_score(
    held_out: Expected, forecast: TruthForecast | None, diagnosis: Diagnosis, like: Flags, *, symbols: bool
) -> Expected:
    """The score to expect of a network that is yet to be trained; without inputs mostly none.

    Held-out combinations say how often a learner over the factors is right, which is the score of a network only `if`
    it reads every value without error. Where all examples of a combination look the same (`symbols`) it does. Then two
    things are not known: how far networks were from such a forecast, and which network it will be. Those that were
    asked differ on some unseen combinations, and another than the tested one may be right, or wrong, on all of these.
    """
    if forecast is not None:
        return forecast.expected
    if held_out.value is None:
        return held_out
    asked = ~diagnosis.seen & (diagnosis.rungs != "novel") & (diagnosis.rungs != "impossible")
    unlike = int((asked & ~like).sum())
    if not symbols or unlike:
        few = f"{unlike:,} of the {int(asked.sum()):,} unseen combinations are not like those that were tested"
        return Expected(held_out.score, of=held_out.of, reason=few if symbols else WITHOUT_INPUTS)
    found = less_sure(held_out, track_record.miss("combinations", held_out.score))
    differ = float(diagnosis.disputed[asked].mean()) if held_out.score == "accuracy" else 0.0
    return replace(found, low=max((found.low or 0.0) - differ, LEAST_TOLD), high=min((found.high or 0.0) + differ, 1.0))


def refuted(expected: Expected | None, record: Backtest | None) -> bool:
    """Whether held-out combinations came out no better than by a constant answer, or worse than by a simple rule."""
    if expected is None or expected.abstains:
        return False
    return earned(expected) in ("weak", "failing") or bool(record and record.loses_to)


_Prediction = TypeVar("_Prediction", bound=Any)


@dataclass(frozen=True)
class Rehearsed:
    """What a rehearsal said, as a prediction keeps it."""

    learner: str
    verdict: str
    grade: Grade
    expected: Expected
    leads: bool


def _check_rehearsal(given: Any, support: Support) -> None:
    """Refuse what is no rehearsal, or one of another question."""
    if getattr(given, "kind", None) != "rehearsal":
        raise SettingError(
            f"a rehearsal that is a {type(given).__name__}",
            why="it is not what recombine.rehearse gives back",
            instead="write with_rehearsal(recombine.rehearse(table, learner, factors=…, target=…))",
        )
    target = None if support.target is None else support.target.name
    own = {"factors": support.space.names, "target": target, "rows": support.rows}
    for name, value in own.items():
        if getattr(given, name) != value:
            raise SettingError(
                f"a rehearsal with {name}={getattr(given, name)!r}",
                why=f"here {name} is {value!r}: it speaks of another table, or asks something else of it",
                instead="rehearse the same table with the same settings",
            )


def with_rehearsal(found: _Prediction, rehearsal: Any) -> _Prediction:
    """The same prediction with a rehearsal: the one that leads gives the verdict, the grade and the score."""
    _check_rehearsal(rehearsal, found.support)
    leads = _leads(found, rehearsal)
    kept = Rehearsed(rehearsal.learner, rehearsal.verdict, rehearsal.grade, rehearsal.expected, leads)
    if not leads:
        return replace(found, rehearsed=kept, reasons=(_beside(kept, found.expected), *found.reasons))
    return replace(
        found,
        verdict=rehearsal.verdict,
        grade=rehearsal.grade,
        expected=rehearsal.expected,
        network=rehearsal.expected if _reads(found, rehearsal) else found.network,
        reasons=(*rehearsal.reasons, *_forecast_beside(found, kept), *found.reasons),
        rehearsed=kept,
    )


def _reads(found: Any, rehearsal: Any) -> bool:
    """Whether what was rehearsed read examples as a network does: not a closed form over combinations."""
    return rehearsal.level == "rows" or not rehearsal.stands_for_a_network or found.symbols


def _leads(found: Any, rehearsal: Any) -> bool:
    if rehearsal.expected.abstains:
        return False
    if found.expected is None or found.expected.abstains or not rehearsal.stands_for_a_network:
        return True
    asked = found.examples is not None and found.examples.way == "rows"
    return rehearsal.level == "rows" and not asked


def _beside(kept: Rehearsed, leading: Expected | None) -> str:
    """A rehearsal that does not lead."""
    return f"Rehearsed as well (learner: {kept.learner}): {_score(kept.expected)}.{_disagree(kept.expected, leading)}"


def _forecast_beside(found: Any, kept: Rehearsed) -> list[str]:
    """A forecast that does not lead."""
    if found.expected is None or found.expected.abstains:
        return []
    return [f"Forecast without a rehearsal: {_score(found.expected)}.{_disagree(kept.expected, found.expected)}"]


def _score(expected: Expected) -> str:
    """A score with its interval and the best simple rule, or why there is none."""
    if expected.value is None:
        return f"no score is forecast: {(expected.reason or 'not enough evidence').removesuffix('.')}"
    share = expected.score == "accuracy"
    number = interval_words(expected.value, expected.low, expected.high, share=share)
    if expected.baseline is None:
        return f"{expected.score} {number}"
    rule = percent(expected.baseline) if share else measure(expected.baseline)
    return f"{expected.score} {number}; the best simple rule ({expected.baseline_name}) {rule}"


def _disagree(one: Expected, other: Expected | None) -> str:
    """A word of warning where neither interval reaches the other."""
    if other is None or None in (one.low, one.high, other.low, other.high) or one.score != other.score:
        return ""
    low, high = sorted(((one.low or 0.0, one.high or 0.0), (other.low or 0.0, other.high or 0.0)))
    if low[1] >= high[0]:
        return ""
    between = f"{percent(low[1])} and {percent(high[0])}"
    return f" The two disagree by more than chance explains (nothing between {between} fits both): rely on neither."
