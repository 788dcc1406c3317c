"""A forecast for who does not know the answers: those that a rule over the factors gives stand for them.

The rule is the learner of a prediction over combinations; or one that says more than adding up, where seen combinations
chose it (`rule_choice`) and it tells held-out ones better than that learner does.

What a network that looks at inputs scores on unseen combinations then hangs on two things: how often it arrives at the
rule's answer, which machines on the inputs say, and how often that answer is right, which combinations say that were
held out from the rule. Where the two are independent, shares of right answers multiply and squared errors add up: of an
accuracy N · R is to be expected, of an R² N + R − 1. Neither is known exactly, and the interval allows for both.

Only a rule that passed its own test is trusted so far (`PASSED`). Where it failed, seen combinations are held out from
the machines themselves. Where nothing could be tested, the number holds only *if* the rule goes on, and says so.
"""

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from recombine.base.grades import Expected, Grade, at_most, earned
from recombine.base.words import interval_words, text
from recombine.data.support import Support
from recombine.numerics.simple_rules import ADDITIVE
from recombine.verbs.audit.audit import audit
from recombine.verbs.audit.rule_choice import ask_rule, chosen_rule, rule_words
from recombine.verbs.predict.answers import Answers, Truth
from recombine.verbs.predict.ensembles import moved
from recombine.verbs.predict.expected_score import score_of
from recombine.verbs.predict.prediction_table import read_combinations

PASSED, PASSED_LOW = 0.7, 0.3
"""The score of a rule that is trusted, and the low end of its interval. Set before any forecast was looked at; from .5
to .9 it makes no difference to how often forecasts come true."""

RuleTest = Literal["passed", "failed", "untested"]


@dataclass(frozen=True, eq=False)
class RuleAnswers:
    """What a rule over the factors answers on unseen combinations, and how it fared where it could be tested."""

    truth: Truth
    record: Expected

    @property
    def test(self) -> RuleTest:
        """Whether the rule passed."""
        if self.record.value is None or self.record.low is None:
            return "untested"
        return "passed" if self.record.value >= PASSED and self.record.low > PASSED_LOW else "failed"

    def expected(self, arrived: Expected) -> Expected:
        """The score to expect, where `arrived` is the score that machines would have if the rule were right."""
        rule = self.record
        if arrived.value is None:
            return arrived
        if rule.value is None or rule.low is None or rule.high is None:
            return replace(arrived, tested=0)
        share = arrived.score == "accuracy"
        times = arrived.value if share else 1.0  # by how much the score moves with the rule's
        found = moved(arrived, times * (rule.value - 1), times * (rule.high - rule.low) / 2)
        if share and found.baseline is not None and found.lift is not None:  # one answer for all is as often right
            lost = found.baseline * (1 - rule.value)
            low, value, high = (end + lost for end in found.lift)
            found = replace(found, baseline=found.baseline - lost, lift=(low, value, min(high, 1.0)))
        return replace(found, tested=rule.tested)

    def grade(self, expected: Expected) -> Grade:
        """What is earned: where nothing was tested at most *weak*, since the number is an *if*."""
        return at_most("weak" if self.test == "untested" else "plausible", earned(expected))

    @property
    def assumption(self) -> str:
        """What is taken for granted, in one line."""
        if self.test == "untested":
            return f"Nothing here could test that: {(self.record.reason or 'too few combinations').removesuffix('.')}."
        share = self.record.score == "accuracy"
        score = interval_words(self.record.value or 0.0, self.record.low, self.record.high, share=share)
        tested = f"{score} of {self.record.tested:,} held-out combinations"
        if not share:
            tested = f"{self.record.tested:,} held-out combinations with an R² of {score}"
        return (
            f"The true answers are not known: those of {self.truth.source} stand for them, which told "
            f"{tested}{' right' if share else ''}."
        )


def rule_answers(prediction: Any) -> RuleAnswers | None:
    """The answers of a prediction over combinations for those that were not seen; None where true ones are known, where
    it failed its test, or where nothing is unseen.
    """
    own: Answers = prediction.learner.answers
    if prediction.truth is not None:
        return None
    space, table = prediction.support.space, prediction.table
    known = pc.and_(pc.invert(table["seen"]), pc.is_in(table["rung"], pa.array(["determined", "undetermined"])))
    unseen = table.filter(known)
    said = unseen["prediction"].to_pylist()
    places = {text(label): place for place, label in enumerate(own.classes)}
    values = np.array(said if own.kind == "number" else [places[text(label)] for label in said], dtype=np.float64)
    codes = read_combinations(space, unseen.select(list(space.names)))
    truth = Truth("a learner over the factors alone", space.sizes, codes, values, np.ones(len(values)))
    found = RuleAnswers(truth, prediction.held_out or Expected(score_of(own)))
    found = _chosen(prediction.support, found, seed=prediction.learner.seed) if len(codes) else found
    return None if found.test == "failed" or not len(codes) else found


def _chosen(support: Support, learner: RuleAnswers, *, seed: int) -> RuleAnswers:
    """The answers of a rule that says more than adding up instead, where one was chosen and tells held-out combinations
    better than the learner does, held out as the unseen ones are missing.
    """
    if chosen_rule(support, seed=seed) is None:
        return learner
    found = audit(support, seed=seed)  # which also holds out whole blocks, where those are missing
    if found.additive is None or found.expected is None or found.additive.chosen == ADDITIVE:
        return learner
    if found.expected.abstains or (learner.record.value or -np.inf) >= (found.expected.value or -np.inf):
        return learner
    said = ask_rule(found.additive.chosen, support, learner.truth.codes)
    values = said[:, 0] if said.shape[1] == 1 else said.argmax(axis=1).astype(np.float64)
    source = f"a rule over the factors ({rule_words(found.additive.chosen, factors=support.space.names)})"
    return RuleAnswers(replace(learner.truth, source=source, values=values), found.expected)
