"""What a learner would answer on every combination, a row each, and why: the value, and the verb that makes it."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Unpack

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from recombine.algebra.groups import Codes, Ints
from recombine.auditing.unseen import draw_unseen
from recombine.decoding import revive, revive_all
from recombine.errors import RecombineError, SettingError
from recombine.expected import FEWEST_TESTED, Expected
from recombine.grades import Grade
from recombine.records import Provenance, Record
from recombine.results import Result
from recombine.tables import stored
from recombine.tables.engine import Steps, silent
from recombine.tables.question import ReadOptions
from recombine.tables.read import support_of
from recombine.tables.support import Support
from recombine.theory import saved, wording
from recombine.theory import slope as slopes
from recombine.theory.answers import Answers, Truth, answers, class_names, read_truth, truth_of
from recombine.theory.backtest import Backtest, held_out, summary
from recombine.theory.diagnosis import CANNOT, IMPOSSIBLE, LEAK, NOT_DETERMINED, SHORTCUT, UNSURE, VERDICTS, Diagnosis
from recombine.theory.expectation import expected_from, like_tested, measured, refuted, score_of
from recombine.theory.learner import Learner, Loss, learn, refuse_too_large, trained
from recombine.theory.listing import Cube, lines, read_combinations
from recombine.theory.resolve import resolve
from recombine.theory.salience import Salience
from recombine.theory.saved import FailingCombination, TruthScore
from recombine.theory.slope import Slope

MOST_LISTED = 10**6
_DRAWN = 10_000
_FEWEST_DRAWN = 1_000
_WORK, _MOST_WORK = 5 * 10**10, 5 * 10**11
"""Combinations times the square of the seen ones: a second or two, and what is waited for to list every combination."""
_WORST = 200
_POINTS = 1_000
_ENOUGH_KNOWN = 5  # true answers for a line through them, unless there are no more
_WORST_FIRST = (CANNOT, SHORTCUT, LEAK, NOT_DETERMINED, UNSURE)

_PLAIN = ("verdict", "grade", "reasons", "counts", "space", "sampled", "scale", "worst")

Combinations = Sequence[Mapping[str, Any] | Sequence[Any]]


@dataclass(frozen=True, eq=False, repr=False)
class Prediction(Result):
    """A verdict on every combination, and what it rests on.

    >>> import recombine
    >>> table = {"colour": ["red", "red", "blue"], "shape": ["disc", "cube", "disc"], "size": [1.5, 2.5, 3.0]}
    >>> found = recombine.predict(table, factors=["colour", "shape"], target="size", salience="order:0,0.4,0.2")
    >>> found.table.select(["colour", "shape", "seen", "verdict"]).to_pylist()[0]
    {'colour': 'blue', 'shape': 'cube', 'seen': False, 'verdict': 'leak'}
    """

    kind: ClassVar[str] = "prediction"
    verdict: str
    grade: Grade
    reasons: tuple[str, ...]
    counts: dict[str, int]
    space: int
    sampled: bool
    scale: float
    known: TruthScore | None
    slope: Slope | None
    backtest: Backtest | None
    expected: Expected | None
    worst: tuple[FailingCombination, ...]
    table: pa.Table
    learner: Learner
    support: Support
    truth: Truth | None

    @property
    def salience(self) -> Salience:
        """The weights of the learner's conjunctions."""
        return self.learner.salience

    @property
    def provenance(self) -> Provenance:
        """Where it came from."""
        return self.support.source

    def explain(self, combinations: Combinations | pa.Table) -> pa.Table:
        """The same row for any combinations, with what every conjunction contributes."""
        found = self._diagnosed(read_combinations(self.support.space, combinations))
        return lines(found, contributions=True)

    def share(self, name: str) -> float:
        """A share that a CI gate can be held against.

        `expected` is the low end of the score to expect, `lift` that of its lead over the constant answer: NaN where
        nothing was tested. Else a verdict's share among the unseen, or `right` of those with a truth. *Fine* counts
        nothing where a simple rule does as well.
        """
        if name in ("expected", "lift"):
            return self._promised(name)
        if name == "right" and self.known is not None:
            return 1 - self.known.wrong / self.known.known if self.known.known else float("nan")
        unseen = {verdict: count for verdict, count in self.counts.items() if verdict != "seen"}
        if name not in unseen:
            raise SettingError(
                f"no share {name!r}",
                why="a prediction does not measure it" + (" without a truth" if name == "right" else ""),
                instead=f"write one of expected, lift, {', '.join(unseen)}, or right with a truth",
            )
        if not any(unseen.values()):
            return float(name == "fine")
        return unseen[name] / sum(unseen.values())

    def _promised(self, name: str) -> float:
        if self.expected is None or self.expected.abstains or self.expected.lift is None:
            return float("nan")
        low = self.expected.low if name == "expected" else self.expected.lift[0]
        return float("nan") if low is None else low

    def record(self) -> Record:
        """The prediction as plain data, which can be saved, drawn and loaded."""
        return Record("prediction", self._data(), self._tables(), self.provenance)

    @classmethod
    def from_record(cls, record: Record) -> "Prediction":
        """Back from plain data; what it rests on is fitted again only when it is asked for."""
        data = record.data
        support = stored.load_support(
            Record(record.kind, {**data, "target": data["read_target"]}, record.tables, record.provenance)
        )
        salience = saved.revive_salience(data["salience"])
        own = answers(support)
        return cls(
            **revive_all(cls, _PLAIN, data),
            known=saved.revive_truth_score(data["truth"]),
            slope=saved.revive_slope(data["slope"]),
            backtest=saved.revive_backtest(data["backtest"]),
            expected=None if data["expected"] is None else revive(Expected, data["expected"], at="expected"),
            table=record.tables["table"],
            learner=learn(support, own, salience, **revive_all(Learner, ("loss", "ridge", "seed"), data)),
            support=support,
            truth=saved.revive_truth(record),
        )

    @cached_property
    def cube(self) -> Cube:
        """The part of the space that a page draws."""
        own = self.learner.answers
        if self.learner.orders is None:
            return Cube.of(self.learner.support, questions=own.questions)
        return Cube.of(self.learner.support, questions=own.questions, most=_compared(self.learner))

    def _diagnosed(self, codes: Codes) -> Diagnosis:
        refused = refuted(self.expected, self.backtest)
        return _diagnosis(self.learner, codes, self.truth).judged(refuted=refused)

    def checked_record(self) -> Record:
        """The record without what is drawn, which is fitted again only when it is asked for."""
        return Record(
            "prediction", self._described(), stored.tables(self.support) | {"table": self.table}, self.provenance
        )

    def shown_record(self) -> Record:
        """The cells that a notebook draws, and nothing else: a page has a million of them, and their parts."""
        seen = self.cube.plane()
        cells = {"cells": seen.cells(self._diagnosed(seen.codes))}
        return Record("prediction", {"grid": seen.describe(self.learner)}, cells, self.provenance)

    def _data(self) -> dict[str, Any]:
        return self._described() | {"grid": self.cube.describe(self.learner)}

    def _described(self) -> dict[str, Any]:
        support, learner = self.support, self.learner
        sizes = [len(factor.values) for factor in support.space.factors]
        return {
            "verdict": self.verdict,
            "grade": self.grade,
            "reasons": list(self.reasons),
            **stored.describe(support),
            "target": {
                "name": learner.answers.name,
                "kind": learner.answers.kind,
                "classes": class_names(learner.answers.classes),
            },
            "read_target": stored.describe(support)["target"],
            "factors": [
                {"name": f.name, "values": size, "seen": int((counts > 0).sum()), "declared": f.declared}
                for f, size, counts in zip(support.space.factors, sizes, support.value_counts, strict=True)
            ],
            "salience": saved.describe_salience(self.salience, support.space.names),
            "loss": learner.loss,
            "ridge": learner.ridge,
            "seed": learner.seed,
            "scale": self.scale,
            "combinations": len(learner.support),
            "space": self.space,
            "listed": self.table.num_rows,
            "sampled": self.sampled,
            "counts": dict(self.counts),
            "truth": saved.describe_truth_score(self.known),
            "slope": saved.describe_slope(self.slope),
            "backtest": saved.describe_backtest(self.backtest),
            "expected": None if self.expected is None else asdict(self.expected),
            "worst": [asdict(one) for one in self.worst],
        }

    def _tables(self) -> dict[str, pa.Table]:
        found = stored.tables(self.support) | {"table": self.table}
        if self.truth is not None:
            codes = {f"code{k}": column for k, column in enumerate(self.truth.codes.T)}
            found["truth"] = pa.table(codes | {"value": self.truth.values, "count": self.truth.counts})
        return found | {
            "cells": self.cube.cells(self._diagnosed(self.cube.codes)),
            "parts": self.cube.parts(self.learner),
        }


def predict(
    source: Any,
    *,
    salience: Salience | str = "relu:3",
    loss: Loss = "squared",
    ridge: float = 0.0,
    truth: Any = None,
    combinations: Combinations | pa.Table | None = None,
    backtest: bool = True,
    seed: int = 0,
    progress: Steps | None = None,
    **reading: Unpack[ReadOptions],
) -> Prediction:
    """Say what a learner that weighs conjunctions of factors would answer on every combination, and why.

    `source` is anything that `recombine.read` takes, with `factors`, `target` and the other settings of `read` beside
    it; or a `Support`, which was read already.

    `salience` says how much each set of factors counts: a network and its depth ("relu:3"), weights by order
    ("order:0,0.3,0.4"), "fit" (estimated from the data), or a `Salience`. `truth` is another table with the true
    answers, read with the same settings, or its `Support`. A row is given for every combination of the space up to a
    million, else for `combinations`.
    """
    tell: Steps = progress or silent
    support = support_of(source, "predict", progress=lambda share: tell("counting combinations", share), **reading)
    own = answers(support)
    if reading and not isinstance(truth, Support | None):
        truth = read_truth(truth, support, **reading)
    known = None if truth is None else truth_of(truth, support, own)
    tell("weighing conjunctions", None)
    weights = resolve(salience, trained(support, own), seed=seed)
    learner = learn(support, own, weights, loss=loss, ridge=ridge, seed=seed)
    codes, sampled = _listed(learner, combinations, known, seed)
    refuse_too_large(learner.support, weights.weights, questions=own.questions, rows=len(codes))
    tell("predicting", None)
    diagnosis = _diagnosis(learner, codes, known)
    unseen = _unseen(support, diagnosis, sampled=sampled)
    tested = _tested(support, diagnosis, salience, unseen, wanted=backtest, tell=tell)
    diagnosis = diagnosis.judged(refuted=refuted(tested.expected, tested.record))
    return _assemble(support, diagnosis, known, tested, sampled=sampled)


@dataclass(frozen=True, eq=False)
class _Tested:
    """What a back-test says, or why there is none."""

    record: Backtest | None
    expected: Expected
    like: npt.NDArray[np.bool_]  # which of the listed combinations are like those that were held out


def _tested(
    support: Support, diagnosis: Diagnosis, salience: Salience | str, unseen: int, *, wanted: bool, tell: Steps
) -> _Tested:
    own, nothing = diagnosis.learner.answers, np.zeros(len(diagnosis.codes), dtype=bool)
    why_not = _untestable(support, own, wanted=wanted)
    if why_not:
        return _Tested(None, Expected(score_of(own), reason=why_not), nothing)
    try:
        found = held_out(support, diagnosis.learner, salience, progress=lambda share: tell("back-testing", share))
    except RecombineError as error:  # what is left after holding some out may be too little for this learner
        return _Tested(None, Expected(score_of(own), reason=f"the back-test failed: {error.what}"), nothing)
    like = like_tested(found.tried, diagnosis)
    asked = int((~diagnosis.seen).sum())
    of = round(unseen * like.sum() / asked) if asked else 0
    expected = expected_from(found.tried, diagnosis, like, unseen=of)
    if not asked:
        expected = replace(expected, reason="every combination was seen")
    return _Tested(summary(own, found, seed=diagnosis.learner.seed), expected, like)


def _untestable(support: Support, own: Answers, *, wanted: bool) -> str | None:
    """Why nothing can be held out, if nothing can."""
    if not wanted:
        return "no back-test was run"
    if support.target is not None and not support.target.varies:
        return "the target never varies"
    if len(own) < FEWEST_TESTED:
        return f"only {len(own)} combinations have an answer; to hold some out takes {FEWEST_TESTED}"
    return None


def _unseen(support: Support, diagnosis: Diagnosis, *, sampled: bool) -> int:
    """How many unseen combinations the listed ones stand for."""
    return support.space.size - len(diagnosis.learner.support) if sampled else int((~diagnosis.seen).sum())


def _diagnosis(learner: Learner, codes: Codes, truth: Truth | None) -> Diagnosis:
    if truth is None:
        return Diagnosis(learner, codes, np.full(len(codes), np.nan))
    return Diagnosis(learner, codes, truth.on(codes), truth.doubt(codes, learner.answers.within))


def _listed(learner: Learner, asked: Any, truth: Truth | None, seed: int) -> tuple[Codes, bool]:
    """The combinations that get a row, and whether they are only a sample."""
    support = learner.support
    if asked is not None:
        return read_combinations(support.space, asked), False
    few = learner.orders is None or support.space.product <= _MOST_WORK // len(support) ** 2
    if support.space.product <= MOST_LISTED and few:
        return support.space.every(), False
    if truth is not None and len(truth.codes):
        return np.asfortranarray(truth.codes.astype(np.int32)), False
    seen_values = [np.flatnonzero(counts) for counts in support.value_counts]
    drawn = _DRAWN if learner.orders is None else _compared(learner)
    return draw_unseen(support, seen_values, drawn, seed=seed), True


def _compared(learner: Learner) -> int:
    """With many factors a variance takes a product with a matrix: so many take about as long as the solve itself."""
    return min(_DRAWN, max(_FEWEST_DRAWN, _WORK // len(learner.support) ** 2))


def _assemble(
    support: Support, diagnosis: Diagnosis, truth: Truth | None, tested: _Tested, *, sampled: bool
) -> Prediction:
    learner = diagnosis.learner
    counts = _tally(diagnosis.verdicts)
    known = _known(diagnosis, truth)
    found = wording.Findings(
        counts=counts,
        listed=len(diagnosis.codes),
        space=support.space.size,
        unanswered=len(support) - len(learner.support),
        truth_given=truth is not None,
        known=known.known if known else 0,
        wrong=_causes(diagnosis),
        salience=learner.salience,
        loss=learner.loss,
        answers=learner.answers,
        slope=_slope(diagnosis),
        backtest=tested.record,
        expected=tested.expected,
        like=int(tested.like.sum()),
        measured=measured(diagnosis),
        varies=support.target is None or support.target.varies,
        weightless=support.weightless,
        sampled=sampled,
    )
    return Prediction(
        verdict=wording.verdict(found),
        grade=wording.grade(found),
        reasons=wording.reasons(found),
        counts=counts,
        space=support.space.size,
        sampled=sampled,
        scale=learner.scale,
        known=known,
        slope=found.slope,
        backtest=tested.record,
        expected=tested.expected,
        worst=_worst(diagnosis),
        table=lines(diagnosis, tested.like, contributions=len(diagnosis.codes) * _columns(learner) <= 2 * 10**7),
        learner=learner,
        support=support,
        truth=truth,
    )


def _columns(learner: Learner) -> int:
    """How many contributions are listed: one for each set of factors, or for each order."""
    return len(learner.salience.weights) if learner.orders is None else len(learner.orders)


def _causes(diagnosis: Diagnosis) -> dict[str, int]:
    """How many of the unseen combinations with a known answer come out wrong, by their verdict."""
    return _tally(diagnosis.verdicts[diagnosis.wrong & ~diagnosis.seen])


def _tally(verdicts: npt.NDArray[np.uint8]) -> dict[str, int]:
    """How many there are of each verdict; the impossible ones do not count."""
    return dict(zip(VERDICTS[:IMPOSSIBLE], np.bincount(verdicts, minlength=len(VERDICTS)).tolist(), strict=False))


def _known(diagnosis: Diagnosis, truth: Truth | None) -> TruthScore | None:
    asked = diagnosis.known & ~diagnosis.seen
    if truth is None:
        return None
    number = diagnosis.learner.answers.kind == "number"
    errors = diagnosis.errors[asked]
    value = float(np.sqrt(np.mean(errors**2)) if number else 1 - errors.mean()) if len(errors) else float("nan")
    wrong = int((diagnosis.wrong & asked).sum())
    return TruthScore(truth.source, int(asked.sum()), wrong, "root mean squared error" if number else "accuracy", value)


def _slope(diagnosis: Diagnosis) -> Slope | None:
    """Predictions on unseen combinations against the truth, or against what they would be without a leak."""
    learner = diagnosis.learner
    own = learner.answers
    unseen = np.flatnonzero(~diagnosis.seen & (diagnosis.rungs != "novel"))
    with_truth = own.kind == "number" and int(diagnosis.known[unseen].sum()) >= min(_ENOUGH_KNOWN, len(unseen))
    said = own.best(diagnosis.scores)[unseen]
    should = diagnosis.truth[unseen] if with_truth else own.best(diagnosis.unleaked)[unseen]
    line = slopes.line(should, said)
    if line is None:
        return None
    usable = np.flatnonzero(np.isfinite(should))
    shown = slopes.thinned(usable.tolist(), _POINTS, seed=learner.seed)
    points = zip(should[shown].tolist(), said[shown].tolist(), diagnosis.verdicts[unseen][shown].tolist(), strict=True)
    return Slope(
        against="truth" if with_truth else "an answer without a leak",
        value=line[0],
        offset=line[1],
        points=tuple(points),
        curve=slopes.curve(learner.salience, ridge=learner.ridge),
        needed=slopes.needed(learner.support, learner.salience, ridge=learner.ridge),
    )


def _worst(diagnosis: Diagnosis) -> tuple[FailingCombination, ...]:
    """What one would look at first: out of reach, shortcut, leak, open; the largest errors or variances first."""
    verdicts = diagnosis.verdicts
    badness = np.where(diagnosis.known, np.abs(diagnosis.errors), 0.0) + 1e-6 * diagnosis.variances[0]
    rank = np.full(256, len(_WORST_FIRST))
    rank[list(_WORST_FIRST)] = np.arange(len(_WORST_FIRST))
    asked = np.flatnonzero(rank[verdicts] < len(_WORST_FIRST))
    order: Ints = asked[np.lexsort((-badness[asked], rank[verdicts[asked]]))][:_WORST]
    return tuple(_failing(diagnosis, int(row)) for row in order)


def _failing(diagnosis: Diagnosis, row: int) -> FailingCombination:
    own, space = diagnosis.learner.answers, diagnosis.learner.support.space
    code = int(diagnosis.verdicts[row])
    number = own.kind == "number"
    truth = float(diagnosis.truth[row])
    true: str | float | None = None
    if np.isfinite(truth):
        true = truth if number else class_names(own.classes)[int(truth)]
    said = float(diagnosis.scores[row, 0]) if number else wording.said(own, diagnosis.scores[row : row + 1])
    return FailingCombination(
        combination={f.name: f.labels[int(code)] for f, code in zip(space.factors, diagnosis.codes[row], strict=True)},
        verdict=VERDICTS[code],
        prediction=said,
        truth=true,
        why=wording.why(diagnosis, row, code),
    )
