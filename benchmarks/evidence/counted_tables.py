"""Tables of words counted by NumPy, and given to a verb as if an engine had read them.

Opening an engine is nine tenths of the time that a small table takes, and has no part in what is measured here.
`tests/test_evidence_worlds.py` holds both ways to the same verdicts.
"""

import importlib
from typing import Any

import numpy as np
import numpy.typing as npt

from evidence.drawing import AuditWorld, Codes, Columns, Ints, Mask, Numbers
from recombine.base.progress import silent
from recombine.data.space import Factor, Space
from recombine.data.support import LabelTarget, NumberTarget, Support
from recombine.numerics.resampling import IntervalSettings
from recombine.numerics.simple_rules import ADDITIVE
from recombine.verbs.audit.leverage import Leverage
from recombine.verbs.audit.rule_choice import ask_rule
from recombine.verbs.audit.structural_zeros import suspect_zeros
from recombine.verbs.evaluate import evaluation
from recombine.verbs.evaluate.outcome_reader import OutcomeReading
from recombine.verbs.evaluate.outcomes import Outcomes, Score

audit = importlib.import_module("recombine.verbs.audit.audit")  # the module, not the verb of that name
LIKE = 1.1
"""Times the error of a tested combination: up to there an unseen one is as firmly told as that."""
INTERVALS = IntervalSettings(draws=500)
"""Fewer draws than a user gets: what an interval holds hardly moves, and the time does."""


def audit_of(table: Columns, factors: list[str]) -> Any:
    space, codes = _coded(table, factors)
    return audit.audit(_Side(space, codes, table["y"], _classes(table)).support)


def spoken_of(found: Any, codes: Ints) -> Mask | None:
    """(n,) Which combinations hang on no less than a tested one that missed as much; None before audits asked that."""
    if not hasattr(audit, "_some_unseen"):
        return None
    support = found.support
    _, possible = suspect_zeros(support)
    leverage = Leverage(support, found.determinacy)
    _, losses = audit.additive_test(support, audit._some_unseen(possible, leverage, seed=0), seed=0)
    asked = _encoded(found, codes)
    follow = found.determinacy.determined(asked) & ~possible.space.is_impossible(asked)
    like = np.zeros(len(codes), dtype=bool)
    like[follow] = 1 + leverage.of(asked[follow]) <= LIKE**2 * (1 + losses.reach_of(support, asked[follow]))
    return like


def richer_answers(found: Any, world: AuditWorld) -> Numbers | None:
    """(n, m) What the rule says that an audit chose, taught all that is seen; None where that is adding up."""
    if getattr(found.additive, "chosen", ADDITIVE) == ADDITIVE:
        return None
    said = ask_rule(found.additive.chosen, found.support, _encoded(found, world.codes))
    if not world.classes:
        return said
    wide = np.zeros((len(said), world.classes))
    wide[:, [int(str(name)[1:]) for name in found.support.target.classes]] = said
    return wide


def _encoded(found: Any, codes: Ints) -> Codes:
    factors = found.support.space.factors
    asked = np.stack([_codes_of(factor, column) for factor, column in zip(factors, codes.T, strict=True)])
    return np.asfortranarray(asked.T, dtype=np.int32)


def _codes_of(factor: Factor, column: Ints) -> Ints:
    """The places of a world's values among those of a table, which are sorted as words."""
    return np.array([factor.code(f"{factor.name}{value}") for value in range(int(column.max()) + 1)])[column]


def evaluation_of(table: Columns, factors: list[str], *, causes: bool = False) -> Any:
    """As `recombine.evaluate` with a column `split`, if there is one, `y` the truth and `said` the answers."""
    space, codes = _coded(table, factors)
    classes, split = _classes(table), np.array(table.get("split", ["test"] * len(codes)))
    sides = {name: _Side(space, codes[split == name], _chosen(table["y"], split == name), classes) for name in _SIDES}
    said = _chosen(table["said"], split == "test")
    reading = OutcomeReading(sides["test"].outcomes(said, sides["train"]), None, ())
    measured = evaluation._measure(reading, INTERVALS, silent, other="other")
    return evaluation._add_causes(measured, None, silent, causes=causes)


_SIDES = ("test", "train")


def _coded(table: Columns, factors: list[str]) -> tuple[Space, Ints]:
    found = [np.unique(table[name], return_inverse=True) for name in factors]
    values = tuple(Factor(name, tuple(map(str, seen))) for name, (seen, _) in zip(factors, found, strict=True))
    return Space(values), np.stack([place for _, place in found], axis=1)


def _classes(table: Columns) -> tuple[str, ...] | None:
    """The labels of the truth and the answers; None where they are numbers."""
    if not isinstance(table["y"][0], str):
        return None
    return tuple(sorted({*table["y"], *table.get("said", ())}))


def _chosen(column: list[Any], mask: Mask) -> list[Any]:
    return [one for one, kept in zip(column, mask, strict=True) if kept]


class _Side:
    """Rows of one side, by combination."""

    def __init__(self, space: Space, codes: Ints, answers: list[Any], classes: tuple[str, ...] | None) -> None:
        self.space, self.classes = space, classes
        self.own, self.place = np.unique(codes, axis=0, return_inverse=True)
        self.place = self.place.reshape(-1)  # of two dimensions in some versions of NumPy
        self.answers = self.numbered(answers)

    def numbered(self, answers: list[Any]) -> npt.NDArray[Any]:
        """Labels as places among the classes, numbers as they are."""
        return np.array(answers if self.classes is None else np.searchsorted(self.classes, answers))

    def total(self, numbers: Numbers) -> Numbers:
        return np.bincount(self.place, numbers, len(self.own))

    @property
    def support(self) -> Support:
        return Support(
            self.space,
            np.asfortranarray(self.own, dtype=np.int32),
            self.total(np.ones(len(self.place))),
            target=self._target(),
            rows=len(self.place),
        )

    def _target(self) -> NumberTarget | LabelTarget:
        if self.classes is None:
            rows = np.ones(len(self.place))
            return NumberTarget("y", *map(self.total, (rows, self.answers, np.square(self.answers))))
        pairs, count = np.unique(np.stack([self.place, self.answers]), axis=1, return_counts=True)
        return LabelTarget("y", self.classes, pairs[0], pairs[1], count.astype(np.float64))

    def outcomes(self, said: list[Any], training: "_Side") -> Outcomes:
        """What was answered, beside what was trained on; without training rows nothing is known of it."""
        answered = self.numbered(said)
        right = self.classes is not None
        score = (answered == self.answers) * 1.0 if right else np.square(answered - self.answers)
        lines, count = np.zeros((3, 0), dtype=np.int64), np.zeros(0)
        if right:
            lines, count = np.unique(np.stack([self.place, self.answers, answered]), axis=1, return_counts=True)
        return Outcomes(
            tested=self.support,
            training=training.support if len(training.own) else None,
            kind="label" if right else "number",
            classes=self.classes or (),
            combination=lines[0],
            truth=lines[1],
            said=lines[2],
            count=count.astype(np.float64),
            total=self.total(score),
            squares=self.total(np.square(score)),
            prediction_total=None if right else self.total(answered),
            score=Score("accuracy", "higher") if right else Score("mse", "lower"),
        )
