"""A forecast where no true answer is known: seen combinations are held out, and stand for the unseen ones."""

from collections.abc import Sequence

import numpy as np

from recombine.base.grades import Expected
from recombine.numerics.groups import Codes, Ints, Numbers
from recombine.numerics.predictive_intervals import expected_score
from recombine.verbs.predict import track_record
from recombine.verbs.predict.ensembles import Ensemble, less_sure
from recombine.verbs.predict.examples import example_rows
from recombine.verbs.predict.examples.example_forecast import BASIS, ExampleForecast
from recombine.verbs.predict.examples.forecast_members import ForecastMember, KernelRows
from recombine.verbs.predict.examples.forecast_state import Work, by_combination, constant_of, marks_of_constant
from recombine.verbs.predict.examples.input_kernels import fetched, refuse_too_large

_FOLDS = 5
_RECORD = "rehearsal"
"""Whose misses are allowed for: held-out combinations that stood for unseen ones."""


def on_held_out(work: Work) -> ExampleForecast:
    """Seen combinations are held out in folds, where their values stay seen."""
    refuse_too_large(work.fitted_rows, kernels=len(work.settings.kernels))  # each fold is solved anew
    members, marks = list[ForecastMember](), list[Numbers]()
    parts = example_rows.folds(work.combination, _FOLDS, seed=work.settings.seed)
    spared = work.spared(parts)
    constant = constant_of(work.train.answers)
    losses = tuple(loss for loss in work.settings.losses if loss != "stopped")
    work.steps = len(work.settings.kernels) * len(losses) * (1 + len(parts))
    for rows in work.rows(work.settings.kernels):
        for member in work.made(rows, losses, whole=False):
            members.append(member)
            marks.append(_tried(work, rows, member, parts, constant))
    place, first = example_rows.numbered(work.train.codes)
    tested = np.flatnonzero(spared[first])
    scores = by_combination(np.array(marks), place)[:, tested]
    base = by_combination(marks_of_constant(constant, work.train.answers), place)[tested]
    names, codes = tuple(member.name for member in members), work.train.codes[first][tested]
    return ExampleForecast(
        expected=_expected(work, Ensemble(names, scores, base, work.score), codes),
        way="held out",
        members=names,
        seen_by_member=work.seen(members),
        codes=codes,
        counts=np.bincount(place)[tested],
        scores=scores,
        base=base,
        probe=None,
        rows=len(work.train),
        of_rows=work.of_rows,
        asked_rows=0,
        notes=tuple(work.notes),
        constant=str(int(constant.argmax())) if work.score == "accuracy" else None,
    )


def _tried(work: Work, rows: KernelRows, member: ForecastMember, parts: Sequence[Ints], constant: Numbers) -> Numbers:
    found = np.empty(len(rows.answers))
    for part in parts:
        rest = np.setdiff1d(np.arange(len(rows.answers)), part)
        if rows.answers[rest].varies:
            machine = member.fit(rows.part(rest, rest), rows.answers[rest])
            work.solved(member.name, machine)
            found[part] = rows.answers[part].marks(machine.answer(fetched(rows.part(part, rest))))
        else:
            found[part] = marks_of_constant(constant, rows.answers[part])
    return found


def _expected(work: Work, ensemble: Ensemble, codes: Codes) -> Expected:
    """Chance over combinations, the spread of members and the track record."""
    own = ensemble.scores.mean(axis=0)
    found = expected_score(
        own,
        {"majority" if work.score == "accuracy" else "mean": ensemble.base},
        score=work.score,
        unseen=len(own) if work.settings.of is None else work.settings.of,
        codes=codes,
        basis=BASIS,
        settings=work.settings.intervals,
    )
    if found.value is None or len(own) < 2:
        return found
    spread = float(ensemble.by_member.var(ddof=1)) if len(ensemble.names) > 1 else 0.0
    return less_sure(found, float(np.sqrt(spread + track_record.miss(_RECORD, work.score) ** 2)))
