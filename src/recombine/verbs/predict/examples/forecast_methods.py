"""Two ways of asking machines about unseen combinations whose truth is known: on rows of theirs, or on composed ones.

Composed rows are made of rows that the machines were not fitted to, so that nothing that was learnt by heart is asked.
Seen combinations that are held out say whether composing is right: their own rows are asked, and rows composed for them
from those of the others. If the two differ beyond chance, the forecast is moved by the difference, and is less sure;
if they differ by much, or if inputs do not come apart by factors and nothing could be held out, nothing is forecast.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from recombine.base.grades import Expected
from recombine.base.words import percent
from recombine.numerics.groups import Codes, Ints, Numbers
from recombine.verbs.predict.ensembles import Ensemble, expected_of, less_sure
from recombine.verbs.predict.examples import composed_rows, example_rows
from recombine.verbs.predict.examples.example_forecast import BASIS, COMPOSED, ExampleForecast
from recombine.verbs.predict.examples.forecast_members import ForecastMember, KernelRows
from recombine.verbs.predict.examples.forecast_state import (
    FEWEST_HELD,
    InputExamples,
    Work,
    by_combination,
    constant_of,
    marks_of_constant,
)
from recombine.verbs.predict.examples.input_kernels import fetched
from recombine.verbs.predict.examples.kernel_machines import CodedAnswers

_FOLDS = 4
_DRAWN_AGAIN = 10  # composed rows of a combination that is held out
_MOST_COMPOSED = 3_000
_NO_SPREAD = 1e-12
_BEYOND_CHANCE = 2.0  # standard errors
ENOUGH = 0.9
"""The share of what combinations differ by that must come apart by factors, or add up, where nothing was rehearsed."""
TOO_FAR = 0.2
"""Composed rows that are off by so much on held-out combinations are not what a network would see."""


def on_rows(work: Work, asked: InputExamples) -> ExampleForecast:
    """Rows of unseen combinations are there, and their truth is known."""
    work.steps = work.asked_members
    combination, _ = example_rows.numbered(asked.codes)
    asked = asked[example_rows.drawn(combination, work.settings.most, seed=work.settings.seed)]
    said = _MemberAnswers.of(work, asked, whole=True)
    ensemble = said.ensemble()
    settings = work.settings
    if work.through:
        half = percent(said.fewer or 0.0) if work.score == "accuracy" else f"an R² of {said.fewer:.2f}"
        work.notes.append(f"Half of the rows that stand for all would have given {half}.")
    return said.forecast(
        expected_of(ensemble, basis=BASIS, settings=settings.intervals, of=settings.of),
        ensemble,
        way="rows",
        probe=work.probe(asked),
        fewer=None if work.through else said.fewer,
    )


def on_composed(work: Work, asked: Codes, truth: CodedAnswers) -> ExampleForecast:
    """The truth is known, but there are no rows: they are composed from seen ones."""
    unseen = max(work.settings.of or 0, len(asked))
    asked, truth = _with_seen_values(work, asked, truth)
    if not len(asked):
        none = Expected(work.score, of=unseen, reason="every unseen combination holds a value that no row has")
        factors, notes = asked.shape[1], tuple(work.notes)
        return ExampleForecast.abstaining(none, way=COMPOSED, factors=factors, of_rows=work.of_rows, notes=notes)
    lenders = work.train if work.alone else work.train[_lenders(work, asked)]
    parts = composed_rows.parts_of(work.train.inputs, work.train.codes, asked).lent_by(lenders.inputs, lenders.codes)
    work.steps = work.asked_members + (0 if work.alone else _FOLDS)
    draws = int(np.clip(_MOST_COMPOSED // max(len(asked), 1), 1, composed_rows.MOST_DRAWN))
    place, inputs = parts.rows(asked, draws=draws, seed=work.settings.seed)
    said = _MemberAnswers.of(work, InputExamples(inputs, truth[place], asked[place]), whole=work.alone or work.through)
    real, again = (np.zeros(0), np.zeros(0)) if work.alone else _rehearsed(work, said)
    scores, correction = corrected(said.scores, real, again, said.base, share=work.score == "accuracy")
    ensemble = said.ensemble(scores)
    why = _unfit(work, parts, correction)
    if why:
        expected = Expected(work.score, tested=len(asked), of=unseen, reason=why)
    else:
        settings = work.settings
        expected = expected_of(ensemble, basis=BASIS, record=COMPOSED, settings=settings.intervals, of=settings.of)
        expected = expected if correction is None else less_sure(expected, correction[1])
    return said.forecast(expected, ensemble, way=COMPOSED, correction=correction)


@dataclass(frozen=True, eq=False)
class _MemberAnswers:
    """What every member said about some rows. Legend: m members, r rows, c combinations."""

    work: Work
    asked: InputExamples
    rows: tuple[KernelRows, ...]  # of each kernel
    members: tuple[ForecastMember, ...]
    kernel_of: tuple[int, ...]  # of each member
    place: Ints  # (r,)
    first: Ints  # (c,) a row of each combination
    scores: Numbers  # (m, c)
    fewer: float | None  # the score of machines that were fitted to four fifths of the rows
    constant: Numbers

    @classmethod
    def of(cls, work: Work, asked: InputExamples, *, whole: bool) -> "_MemberAnswers":
        """`whole` asks machines that were fitted to all rows; else those that never saw the ones held out."""
        settings, members, answered, early = work.settings, list[ForecastMember](), list[Numbers](), list[Numbers]()
        kernel_of = list[int]()
        every = work.rows(settings.kernels)
        for number, (rows, between) in enumerate(zip(every, work.between(settings.kernels, asked.inputs), strict=True)):
            for member in work.made(rows, settings.losses, whole=whole):
                members.append(member)
                kernel_of.append(number)
                early.append(asked.answers.marks(member.first.answer(between[:, : len(member.first.weights)])))
                answered.append(asked.answers.marks(member.answer(between)) if whole else early[-1])
        kept = work.believed(members)
        place, first = example_rows.numbered(asked.codes)
        constant = constant_of(work.train.answers, asked.answers)
        found = cls(
            work,
            asked,
            tuple(every),
            tuple(members[one] for one in kept),
            tuple(kernel_of[one] for one in kept),
            place,
            first,
            by_combination(np.array([answered[one] for one in kept]), place),
            None,
            constant,
        )
        if not whole:
            return found
        fewer = found.ensemble(by_combination(np.array([early[one] for one in kept]), place)).value
        return cls(**{**found.__dict__, "fewer": fewer})

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(member.name for member in self.members)

    @property
    def base(self) -> Numbers:
        """(c,) How one answer for all fares."""
        return by_combination(marks_of_constant(self.constant, self.asked.answers), self.place)

    def ensemble(self, scores: Numbers | None = None) -> Ensemble:
        return Ensemble(self.names, self.scores if scores is None else scores, self.base, self.work.score)

    def forecast(
        self,
        expected: Expected,
        ensemble: Ensemble,
        *,
        way: str,
        probe: float | None = None,
        fewer: float | None = None,
        correction: tuple[float, float] | None = None,
    ) -> ExampleForecast:
        composed = way == COMPOSED
        counts = np.bincount(self.place)
        label = self.asked.answers.kind == "label"
        return ExampleForecast(
            expected=expected,
            way=way,
            members=ensemble.names,
            seen_by_member=self.work.seen(self.members),
            codes=self.asked.codes[self.first],
            counts=np.zeros_like(counts) if composed else counts,
            scores=ensemble.scores,
            base=ensemble.base,
            probe=probe,
            rows=self.work.fitted_rows,
            of_rows=self.work.of_rows,
            asked_rows=0 if composed else len(self.asked),
            correction=correction,
            notes=tuple(self.work.notes),
            constant=str(int(self.constant.argmax())) if label else None,
            fewer=fewer,
        )


def _with_seen_values(work: Work, asked: Codes, truth: CodedAnswers) -> tuple[Codes, CodedAnswers]:
    """Combinations whose values all were seen: no row could lend another."""
    known = np.all([np.isin(asked[:, k], work.train.codes[:, k]) for k in range(asked.shape[1])], axis=0)
    if not known.all():
        work.notes.append(f"{int((~known).sum()):,} combinations hold a value that no row has, and were left out.")
    return asked[known], truth[known]


def _lenders(work: Work, asked: Codes) -> Ints:
    """Rows that no machine was fitted to; of a value that none of them has, those that were."""
    codes, found = work.train.codes, [np.arange(work.first, len(work.train))]
    for k in range(asked.shape[1]):
        missing = np.setdiff1d(asked[:, k], codes[work.first :, k])
        found.append(np.flatnonzero(np.isin(codes[: work.first, k], missing)))
    return np.unique(np.concatenate(found))


def _unfit(work: Work, parts: composed_rows.InputParts, correction: tuple[float, float] | None) -> str | None:
    """Why composed rows say nothing, if they do not."""
    if work.alone and parts.noise > _NO_SPREAD:
        return "every combination has one row only, so composed rows would repeat what was learnt by heart"
    if correction is None:
        if parts.exact >= ENOUGH:
            return None
        return (
            "inputs do not come apart by factors, so rows of unseen combinations cannot be put together; seen "
            "combination could be spared to say how far off they are"
        )
    return "rows put together from seen ones are not like true ones" if abs(correction[0]) > TOO_FAR else None


@dataclass(frozen=True, eq=False)
class _Fold:
    """Some seen combinations that are held out: their rows, those that are fitted, and rows composed for them."""

    fit: Ints
    test: Ints
    place: Ints  # (test,)
    truth: CodedAnswers  # (c,)
    composed: Ints  # the combination of each composed row
    inputs: Numbers  # and its inputs


def _rehearsed(work: Work, said: _MemberAnswers) -> tuple[Numbers, Numbers]:
    """Held-out seen combinations: how their own rows fare with the middle one of the members, and how composed ones do.

    One member says enough: whether composed rows are like true ones hardly depends on who looks at them.
    """
    usual = [place for place, member in enumerate(said.members) if member.loss != "stopped"]
    real, again = [np.zeros(0)], [np.zeros(0)]
    for fold in _folds(work) if usual else ():
        middle = usual[len(usual) // 2]
        member, rows = said.members[middle], said.rows[said.kernel_of[middle]]
        machine = member.fit(rows.part(fold.fit, fold.fit), rows.answers[fold.fit])
        work.solved(member.name, machine)
        marks = rows.answers[fold.test].marks(machine.answer(fetched(rows.part(fold.test, fold.fit))))
        real.append(by_combination(marks, fold.place))
        (between,) = work.between((rows.kernel,), fold.inputs)
        composed = fold.truth[fold.composed].marks(machine.answer(between[:, fold.fit]))
        again.append(by_combination(composed, fold.composed))
    return np.concatenate(real), np.concatenate(again)


def _folds(work: Work) -> Sequence[_Fold]:
    found = []
    parts = example_rows.folds(work.combination, _FOLDS, seed=work.settings.seed)
    spared, codes = work.spared(parts), work.train.codes
    for part in parts:
        fit = np.setdiff1d(np.arange(work.first), part)
        held = np.setdiff1d(np.arange(work.first, len(work.train)), part)
        test = part[spared[part]]
        lent = np.all([np.isin(codes[test, k], codes[held, k]) for k in range(codes.shape[1])], axis=0)
        test = test[lent]
        if not len(test) or len(held) < FEWEST_HELD or not work.train.answers[fit].varies:
            continue
        place, first = example_rows.numbered(codes[test])
        wanted = codes[test[first]]
        left, own = np.concatenate([fit, held]), work.train.inputs
        made = composed_rows.parts_of(own[left], codes[left], wanted).lent_by(own[held], codes[held])
        composed, inputs = made.rows(wanted, draws=_DRAWN_AGAIN, seed=work.settings.seed)
        found.append(_Fold(fit, test, place, work.train.answers[test[first]], composed, inputs))
    return found


def corrected(
    marks: Numbers, real: Numbers, said: Numbers, base: Numbers, *, share: bool
) -> tuple[Numbers, tuple[float, float] | None]:
    """Composed scores, moved by what a rehearsal found them to be off by beyond chance.

    Beside them by how much the score was moved, and the standard deviation of that, both in units of the score. None
    where too few combinations could be rehearsed.
    """
    if len(real) < FEWEST_HELD:
        return marks, None
    apart = real - said
    unit = 1.0 if share else max(float(base.mean()), _NO_SPREAD)
    off, error = float(apart.mean()), float(apart.std(ddof=1)) / math.sqrt(len(apart))
    if abs(off) <= _BEYOND_CHANCE * error:
        return marks, (0.0, error / unit)
    sd = (abs(off) / 2 + error) / unit
    if share:
        return np.clip(marks + off, 0.0, 1.0), (off, sd)
    ratio = float(np.clip(real.sum() / max(float(said.sum()), _NO_SPREAD), 0.2, 5.0))
    return marks * ratio, (-off / unit, sd)
