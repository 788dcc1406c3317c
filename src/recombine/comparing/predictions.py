"""Two predictions: whose verdict is another, whose predicted label is another, and the score to expect."""

import numpy as np
import pyarrow as pa

from recombine.algebra.groups import Ints
from recombine.comparing.audits import Mask, value_changes
from recombine.comparing.findings import Changes, Counted, Findings, Way, table_of
from recombine.comparing.forecasts import forecast_change
from recombine.comparing.pairing import Merged, Paired, coded, paired
from recombine.statistics.resampling import IntervalSettings
from recombine.theory.diagnosis import VERDICTS
from recombine.theory.prediction import Prediction
from recombine.words import free_name, text

_WELL = ("seen", "fine")


def compare(old: Prediction, new: Prediction, sure: IntervalSettings) -> Findings:  # noqa: ARG001 - of one shape
    """What changed from one prediction to the next."""
    names = old.support.space.names
    (old_space, old_codes), (new_space, new_codes) = (coded(one.table, names) for one in (old, new))
    both = Merged.of(old_space, new_space)
    found = paired(both.space, both.old.merge(old_codes), both.new.merge(new_codes))
    changes = [*_seen(old, new, found), _verdicts(old, new, found.both), *_labels(old, new, found.both)]
    scores, unscored = forecast_change(old.expected, new.expected)
    supports = Merged.of(old.support.space, new.support.space)
    return Findings(
        table=table_of(both.space, changes),
        factors=names,
        counted=_counted(old, new),
        values=value_changes(old.support, new.support, supports),
        scores=scores,
        unscored=unscored,
        notes=_notes(old, new, len(found.both.codes)),
    )


def _counted(old: Prediction, new: Prediction) -> tuple[Counted, ...]:
    spaces = Counted("space", old.space, new.space)
    told = [Counted(name, old.counts.get(name, 0), new.counts.get(name, 0)) for name in VERDICTS]
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


def _seen(old: Prediction, new: Prediction, found: Paired) -> list[Changes]:
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


def _verdicts(old: Prediction, new: Prediction, both: Paired) -> Changes:
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


def _labels(old: Prediction, new: Prediction, both: Paired) -> list[Changes]:
    """Whose predicted label is another; a number hardly ever stays the same, and its verdict tells enough."""
    if old.learner.answers.kind == "number":
        return []
    was, now = _words(old, "prediction", both.old), _words(new, "prediction", both.new)
    where = [place for place, (a, b) in enumerate(zip(was, now, strict=True)) if a != b]
    told = [was[k] for k in where], [now[k] for k in where]
    return [Changes(both.codes[where], "prediction", *told, ["other"] * len(where))]
