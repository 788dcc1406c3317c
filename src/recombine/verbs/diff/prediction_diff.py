"""Two predictions: whose verdict is another, whose predicted label is another, and the score to expect.

Two forecasts of a score, each with its interval: the difference is as unsure as both together.

The combinations that a forecast rests on are not kept one by one, so the two are not paired: the distances to the ends
are added up as those of independent numbers are (Newcombe 1998). They mostly rest on the same combinations, which makes
the difference surer than is said here.
"""

import math

import numpy as np
import pyarrow as pa

from recombine.base.grades import Expected
from recombine.base.words import free_name, text
from recombine.numerics.groups import Ints
from recombine.numerics.resampling import IntervalSettings
from recombine.verbs.diff.audit_diff import Mask, value_changes
from recombine.verbs.diff.combination_pairs import MergedSpace, PairedCombinations, coded, paired
from recombine.verbs.diff.findings import Changes, CountChange, Findings, ScoreChange, Way, outcome, table_of
from recombine.verbs.predict.diagnosis import VERDICTS
from recombine.verbs.predict.prediction import Prediction


def forecast_change(old: Expected | None, new: Expected | None) -> tuple[tuple[ScoreChange, ...], str | None]:
    """The change of a score to expect; or none, and why.

    >>> first = Expected("accuracy", 0.9, 0.85, 0.94, tested=200, of=40, basis="combinations")
    >>> second = Expected("accuracy", 0.7, 0.6, 0.78, tested=150, of=40, basis="combinations")
    >>> (found,), _ = forecast_change(first, second)
    >>> round(found.low, 2), round(found.high, 2), found.outcome
    (-0.31, -0.11, 'worse')
    """
    if old is None and new is None:
        return (), None
    for one, name in ((old, "old"), (new, "new")):
        if one is None or one.value is None or one.low is None or one.high is None:
            return (), f"the {name} one promises no score" + (f": {one.reason}" if one and one.reason else "")
    assert old is not None  # noqa: S101 - seen above, one by one
    assert new is not None  # noqa: S101
    if (old.score, old.basis) != (new.score, new.basis):
        return (), f"{old.score} from {old.basis} is not {new.score} from {new.basis}"
    return (_change(old, new),), None


def _change(old: Expected, new: Expected) -> ScoreChange:
    before, after = (_ends(one) for one in (old, new))
    value = after[1] - before[1]
    low = value - math.hypot(after[1] - after[0], before[2] - before[1])
    high = value + math.hypot(after[2] - after[1], before[1] - before[0])
    same = before == after
    return ScoreChange(
        name="unseen",
        score=new.score,
        share=new.score == "accuracy",
        better="higher",
        combinations=min(old.tested, new.tested),
        old=before[1],
        new=after[1],
        difference=value,
        low=0.0 if same else low,
        high=0.0 if same else high,
        outcome=outcome(low, high, "higher", same=same),
        paired=False,
    )


def _ends(one: Expected) -> tuple[float, float, float]:
    assert one.low is not None  # noqa: S101 - whoever abstains is told apart before
    assert one.value is not None  # noqa: S101
    assert one.high is not None  # noqa: S101
    return one.low, one.value, one.high


_WELL = ("seen", "fine")


def compare(old: Prediction, new: Prediction, sure: IntervalSettings) -> Findings:  # noqa: ARG001 - of one shape
    """What changed from one prediction to the next."""
    names = old.support.space.names
    (old_space, old_codes), (new_space, new_codes) = (coded(one.table, names) for one in (old, new))
    both = MergedSpace.of(old_space, new_space)
    found = paired(both.space, both.old.merge(old_codes), both.new.merge(new_codes))
    changes = [*_seen(old, new, found), _verdicts(old, new, found.both), *_labels(old, new, found.both)]
    scores, unscored = forecast_change(old.expected, new.expected)
    supports = MergedSpace.of(old.support.space, new.support.space)
    return Findings(
        table=table_of(both.space, changes),
        factors=names,
        counted=_counted(old, new),
        values=value_changes(old.support, new.support, supports),
        scores=scores,
        unscored=unscored,
        notes=_notes(old, new, len(found.both.codes)),
    )


def _counted(old: Prediction, new: Prediction) -> tuple[CountChange, ...]:
    spaces = CountChange("space", old.space, new.space)
    told = [CountChange(name, old.counts.get(name, 0), new.counts.get(name, 0)) for name in VERDICTS]
    return (spaces, *(one for one in told if one.old or one.new))


def _notes(old: Prediction, new: Prediction, in_both: int) -> tuple[str, ...]:
    if not old.sampled and not new.sampled:
        return ()
    return (
        f"Of a space too large to list a prediction holds those seen and some drawn at random: {in_both:,} stand in "
        "both, and these were compared.",
    )


def _column(prediction: Prediction, name: str) -> pa.ChunkedArray:
    return prediction.table[free_name(name, set(prediction.support.space.names))]


def _words(prediction: Prediction, name: str, places: Ints) -> list[str]:
    return [text(value) for value in _column(prediction, name).take(pa.array(places)).to_pylist()]


def _seen(old: Prediction, new: Prediction, found: PairedCombinations) -> list[Changes]:
    """Seen in one alone. A combination that is not listed was not seen: those that were all are."""
    flags, rows = [], []
    for one, places in ((old, found.old), (new, found.new)):
        seen = np.asarray(_column(one, "seen").to_numpy(), dtype=bool)
        count = np.asarray(_column(one, "count").to_numpy(), dtype=np.float64)
        flags.append((places >= 0) & seen[places] if len(seen) else np.zeros(len(places), dtype=bool))
        rows.append(np.where(places >= 0, count[places], 0.0) if len(count) else np.zeros(len(places)))
    parts = []
    chosen: tuple[tuple[str, Way, Mask], ...] = (
        ("lost", "worse", flags[0] & ~flags[1]),
        ("gained", "better", ~flags[0] & flags[1]),
    )
    for what, way, which in chosen:
        where = np.flatnonzero(which)
        told = (_verdicts_of(old, found.old[where]), _verdicts_of(new, found.new[where]))
        parts.append(Changes(found.codes[where], what, *told, [way] * len(where), rows[0][where], rows[1][where]))
    return parts


def _verdicts_of(prediction: Prediction, places: Ints) -> list[str | None]:
    there = np.flatnonzero(places >= 0)
    found: list[str | None] = [None] * len(places)
    for place, word in zip(there.tolist(), _words(prediction, "verdict", places[there]), strict=True):
        found[place] = word
    return found


def _verdicts(old: Prediction, new: Prediction, both: PairedCombinations) -> Changes:
    """Verdicts on combinations that were unseen both times; what came or went as seen is told as that."""
    was, now = _words(old, "verdict", both.old), _words(new, "verdict", both.new)
    where = [
        place for place, (a, b) in enumerate(zip(was, now, strict=True)) if a != b and (a == "seen") == (b == "seen")
    ]
    ways: list[Way] = [_way(was[place], now[place]) for place in where]
    return Changes(both.codes[where], "verdict", [was[k] for k in where], [now[k] for k in where], ways)


def _way(was: str, now: str) -> Way:
    if (was in _WELL) == (now in _WELL):
        return "other"
    return "worse" if was in _WELL else "better"


def _labels(old: Prediction, new: Prediction, both: PairedCombinations) -> list[Changes]:
    """Whose predicted label is another; a number hardly ever stays the same, and its verdict tells enough."""
    if old.learner.answers.kind == "number":
        return []
    was, now = _words(old, "prediction", both.old), _words(new, "prediction", both.new)
    where = [place for place, (a, b) in enumerate(zip(was, now, strict=True)) if a != b]
    told = [was[k] for k in where], [now[k] for k in where]
    return [Changes(both.codes[where], "prediction", *told, ["other"] * len(where))]
