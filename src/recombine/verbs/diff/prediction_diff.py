"""Two predictions: whose verdict is another, whose predicted label is another, and the score to expect.

Two forecasts of a score, each with its interval: the difference is as unsure as both together.

The combinations that a forecast rests on are not kept one by one, so the two are not paired: the distances to the ends
are added up as those of independent numbers are (Newcombe 1998). They mostly rest on the same combinations, which makes
the difference surer than is said here.
"""

import math
from dataclasses import replace

import numpy as np
import pyarrow as pa

from recombine.base.grades import Expected
from recombine.base.words import free_name, text
from recombine.numerics.groups import Ints
from recombine.numerics.resampling import IntervalSettings
from recombine.verbs.diff.audit_diff import value_changes
from recombine.verbs.diff.combination_pairs import MergedSpace, PairedCombinations, pair_tables
from recombine.verbs.diff.findings import Changes, CountChange, Findings, ScoreChange, Way, changes_at, table_of
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
    before, after = _ends(old), _ends(new)
    if old is None or before is None or new is None or after is None:
        name, one = ("old", old) if before is None else ("new", new)
        return (), f"the {name} one promises no score" + (f": {one.reason}" if one and one.reason else "")
    if (old.score, old.basis) != (new.score, new.basis):
        return (), f"{old.score} from {old.basis} is not {new.score} from {new.basis}"
    value, same = after[1] - before[1], before == after
    low = 0.0 if same else value - math.hypot(after[1] - after[0], before[2] - before[1])
    high = 0.0 if same else value + math.hypot(after[2] - after[1], before[1] - before[0])
    share, tested = new.score == "accuracy", min(old.tested, new.tested)
    values = (before[1], after[1], value)
    change = ScoreChange.of("unseen", new.score, values, (low, high), share=share, combinations=tested, same=same)
    return (replace(change, paired=False),), None


def _ends(one: Expected | None) -> tuple[float, float, float] | None:
    """The lower end, the value and the upper end; None for a forecast that abstains."""
    if one is None or one.low is None or one.value is None or one.high is None:
        return None
    return one.low, one.value, one.high


_WELL = ("seen", "fine")


def compare(old: Prediction, new: Prediction, sure: IntervalSettings) -> Findings:  # noqa: ARG001 - of one shape
    """What changed from one prediction to the next."""
    names = old.support.space.names
    space, found = pair_tables(old.table, new.table, names)
    changes = [*_seen(old, new, found), _verdicts(old, new, found.both), *_labels(old, new, found.both)]
    scores, unscored = forecast_change(old.expected, new.expected)
    supports = MergedSpace.of(old.support.space, new.support.space)
    return Findings(
        table=table_of(space, changes),
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


def _seen(old: Prediction, new: Prediction, pairs: PairedCombinations) -> list[Changes]:
    """Seen in one alone. A combination that is not listed was not seen: those that were all are."""
    flags, rows = [], []
    for one, places in ((old, pairs.old), (new, pairs.new)):
        seen = np.asarray(_column(one, "seen").to_numpy(), dtype=bool)
        count = np.asarray(_column(one, "count").to_numpy(), dtype=np.float64)
        flags.append((places >= 0) & seen[places] if len(seen) else np.zeros(len(places), dtype=bool))
        rows.append(np.where(places >= 0, count[places], 0.0) if len(count) else np.zeros(len(places)))
    was, now = _verdicts_of(old, pairs.old), _verdicts_of(new, pairs.new)
    return [
        changes_at(flags[0] & ~flags[1], pairs.codes, "lost", was, now, "worse", rows),
        changes_at(~flags[0] & flags[1], pairs.codes, "gained", was, now, "better", rows),
    ]


def _verdicts_of(prediction: Prediction, places: Ints) -> list[str | None]:
    there = np.flatnonzero(places >= 0)
    found: list[str | None] = [None] * len(places)
    for place, word in zip(there.tolist(), _words(prediction, "verdict", places[there]), strict=True):
        found[place] = word
    return found


def _verdicts(old: Prediction, new: Prediction, both: PairedCombinations) -> Changes:
    """Verdicts on combinations that were unseen both times; what came or went as seen is told as that."""
    was, now = _words(old, "verdict", both.old), _words(new, "verdict", both.new)
    moved = [a != b and (a == "seen") == (b == "seen") for a, b in zip(was, now, strict=True)]
    return changes_at(np.array(moved, dtype=bool), both.codes, "verdict", was, now, _way)


def _way(was: str, now: str) -> Way:
    if (was in _WELL) == (now in _WELL):
        return "other"
    return "worse" if was in _WELL else "better"


def _labels(old: Prediction, new: Prediction, both: PairedCombinations) -> list[Changes]:
    """Whose predicted label is another; a number hardly ever stays the same, and its verdict tells enough."""
    if old.learner.answers.kind == "number":
        return []
    was, now = _words(old, "prediction", both.old), _words(new, "prediction", both.new)
    moved = np.array([a != b for a, b in zip(was, now, strict=True)], dtype=bool)
    return [changes_at(moved, both.codes, "prediction", was, now)]
