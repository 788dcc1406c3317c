"""What a learner would answer on every combination, a row each, and why. `predict` makes it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from recombine.base.decoding import revive, revive_all
from recombine.base.errors import SettingError
from recombine.base.grades import Expected, Grade
from recombine.base.records import Provenance, Record, plain
from recombine.base.result import Result
from recombine.data import support as stored
from recombine.data.support import Support
from recombine.numerics.groups import Codes
from recombine.verbs.predict import prediction_record
from recombine.verbs.predict.answers import Truth, answers, class_names
from recombine.verbs.predict.backtest import Backtest
from recombine.verbs.predict.diagnosis import Diagnosis
from recombine.verbs.predict.effect_transfer import Slope
from recombine.verbs.predict.ensemble_members import Panel
from recombine.verbs.predict.examples import example_forecast as examples_stored
from recombine.verbs.predict.examples.example_forecast import ExampleForecast
from recombine.verbs.predict.expected_score import Rehearsed, refuted, with_rehearsal
from recombine.verbs.predict.kernel.salience import Salience
from recombine.verbs.predict.learner import FittedLearner, learn
from recombine.verbs.predict.prediction_record import FailingCombination, TruthScore
from recombine.verbs.predict.prediction_table import CombinationGrid, ElementGrid, lines, read_combinations

DRAWN = 10_000
_FEWEST_DRAWN = 1_000
_WORK = 5 * 10**10
"""Combinations times the square of the seen ones: a second or two."""

_PLAIN = ("verdict", "grade", "reasons", "counts", "space", "sampled", "scale", "worst")

Combinations = Sequence[Mapping[str, Any] | Sequence[Any]]


@dataclass(frozen=True, eq=False, repr=False)
class Prediction(Result):
    """A verdict on every combination, and what it rests on.

    `expected` is the forecast of the score on unseen combinations: of all that were asked where their truth is known,
    else what held-out ones had (`held_out`); of the examples themselves where inputs were given (`examples`); of a
    rehearsal where that leads (`rehearsed`). `network` is the same of a network that looks at examples: it abstains
    where only factors are known, since nobody knows how well they are read. `panel` holds the learners that were asked,
    `learner` the one of them that explains.

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
    held_out: Expected | None
    network: Expected | None
    symbols: bool
    worst: tuple[FailingCombination, ...]
    table: pa.Table
    panel: Panel
    support: Support
    truth: Truth | None
    examples: ExampleForecast | None = None
    rehearsed: Rehearsed | None = None

    @property
    def learner(self) -> FittedLearner:
        """The one that explains: contributions and verdicts are its own."""
        return self.panel.learner

    @property
    def salience(self) -> Salience:
        """The weights of the learner's conjunctions."""
        return self.learner.salience

    @property
    def provenance(self) -> Provenance:
        """Where it came from."""
        return self.support.source

    def with_rehearsal(self, rehearsal: Any) -> "Prediction":
        """The same beside what `recombine.rehearse` found on the same table; the one that is better founded leads.

        A rehearsal leads where nothing else is forecast, where its learner is no network, and where it was shown rows
        while no rows of unseen combinations are there to be asked about.
        """
        return with_rehearsal(self, rehearsal)

    @property
    def by_combination(self) -> pa.Table | None:
        """The forecast from examples for each combination, with an interval; None where no inputs were given."""
        return None if self.examples is None else examples_stored.by_combination(self.examples, self.support.space)

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
        salience = prediction_record.revive_salience(data["salience"])
        how = revive_all(FittedLearner, ("loss", "ridge", "seed"), data)
        learner = learn(support, answers(support), salience, **how)
        tested = data.get("held_out", data["expected"])
        expected = revive(Expected | None, data["expected"], at="expected")
        return cls(
            **revive_all(cls, _PLAIN, data),
            known=revive(TruthScore | None, data["truth"], at="truth"),
            slope=revive(Slope | None, data["slope"], at="slope"),
            backtest=prediction_record.revive_backtest(data["backtest"]),
            expected=expected,
            table=record.tables["table"],
            held_out=revive(Expected | None, tested, at="held_out"),
            network=revive(Expected | None, data.get("network"), at="network"),
            symbols=data.get("symbols") is True,
            panel=prediction_record.revive_panel(data.get("panel"), learner),
            support=support,
            truth=prediction_record.revive_truth(record, support.space),
            examples=examples_stored.revived(data.get("examples"), record.tables.get("examples"), expected),
            rehearsed=revive(Rehearsed | None, data.get("rehearsed"), at="rehearsed"),
        )

    @cached_property
    def cube(self) -> CombinationGrid:
        """The part of the space that a page draws."""
        support, questions = self.learner.support, self.learner.answers.questions
        if self.learner.orders is None:
            return CombinationGrid.of(support, questions=questions)
        made = ElementGrid if support.space.set_factors else CombinationGrid
        return made.of(support, questions=questions, most=compared(self.learner))

    def _diagnosed(self, codes: Codes) -> Diagnosis:
        refused = refuted(self.held_out, self.backtest)
        return diagnosed(self.panel, codes, self.truth).judged(refuted=refused)

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
        sizes = [factor.kind.effects for factor in support.space.factors]
        return {
            "verdict": self.verdict,
            "grade": self.grade,
            "reasons": list(self.reasons),
            **stored.describe(support),
            "target": {
                "name": learner.answers.name,
                "kind": learner.answers.kind,
                "classes": class_names(learner.answers.classes),
                "share": learner.answers.share,
            },
            "read_target": stored.describe(support)["target"],
            "factors": [
                {"name": f.name, "values": size, "seen": int((counts > 0).sum()), "declared": f.declared}
                for f, size, counts in zip(support.space.factors, sizes, support.effect_counts, strict=True)
            ],
            "salience": prediction_record.describe_salience(self.salience, support.space.names),
            "loss": learner.loss,
            "ridge": learner.ridge,
            "seed": learner.seed,
            "scale": self.scale,
            "combinations": len(learner.support),
            "space": self.space,
            "listed": self.table.num_rows,
            "sampled": self.sampled,
            "counts": dict(self.counts),
            "truth": plain(self.known),
            "slope": plain(self.slope),
            "backtest": prediction_record.describe_backtest(self.backtest),
            "expected": plain(self.expected),
            "held_out": plain(self.held_out),
            "network": plain(self.network),
            "panel": prediction_record.describe_panel(self.panel),
            "symbols": self.symbols,
            "examples": examples_stored.describe(self.examples),
            "rehearsed": plain(self.rehearsed),
            "worst": plain(self.worst),
        }

    def _tables(self) -> dict[str, pa.Table]:
        found = stored.tables(self.support) | {"table": self.table}
        if self.truth is not None:
            found["truth"] = prediction_record.truth_table(self.truth, self.support.space)
        if self.examples is not None:
            found["examples"] = examples_stored.combinations(self.examples)
            found["by_combination"] = examples_stored.by_combination(self.examples, self.support.space)
        return found | {
            "cells": self.cube.cells(self._diagnosed(self.cube.codes)),
            "parts": self.cube.parts(self.learner),
        }


def diagnosed(panel: Panel, codes: Codes, truth: Truth | None) -> Diagnosis:
    """A learner's answers on some combinations, beside the truth and the other learners."""
    learner, others = panel.learner, panel.others
    if truth is None:
        return Diagnosis(learner, codes, np.full(len(codes), np.nan), others=others)
    return Diagnosis(learner, codes, truth.on(codes), truth.doubt(codes, learner.answers.within), others=others)


def compared(learner: FittedLearner) -> int:
    """With many factors a variance takes a product with a matrix: so many take about as long as the solve itself."""
    return min(DRAWN, max(_FEWEST_DRAWN, _WORK // len(learner.support) ** 2))
