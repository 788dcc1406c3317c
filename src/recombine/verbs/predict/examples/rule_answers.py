"""A forecast for who does not know the answers: those that a rule over the factors gives stand for them.

The rule is the learner of a prediction over combinations; or, where that did not pass its test, one that says more than
adding up, was chosen by seen combinations (`rule_choice`) and did pass.

What a network that looks at inputs scores on unseen combinations then hangs on two things: how often it arrives at the
rule's answer, which machines on the inputs say, and how often that answer is right, which combinations say that were
held out from the rule. Where the two are independent, shares of right answers multiply and squared errors add up: of an
accuracy N · R is to be expected, of an R² N + R − 1. Neither is known exactly, and the interval allows for both.

They need not be independent. Inputs may show what factors do not (that doses are in an order), and a network that is
right where the rule is wrong disagrees with it for that reason. All that is certain are the ends (`_ends`). So where
the rule is not exact, seen combinations are held out from the machines as well: a second estimate, cut to these ends.
Both are weighed by how sure they are; the ends count as two deviations from the middle. The interval never becomes
narrower than that of who knows the truth, since both estimates ask the same machines.

Only a rule that passed its own test is trusted so far (`PASSED`). Where it failed, seen combinations are held out from
the machines themselves. Where no held-out combination is like the unseen ones, the number holds only *if* the rule goes
on, and says so. Even then some seen combinations may be determined by the others: what the rule misses of those, which
are easier, it misses at least, and if it fails on them there is no rule to go on with.
"""

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from recombine.base.grades import FEWEST_TESTED, Expected, Grade, at_most, earned
from recombine.base.words import interval_words, percent, text
from recombine.data.support import Support
from recombine.numerics.distributions import normal_quantile
from recombine.numerics.groups import highest
from recombine.numerics.intervals import Interval
from recombine.numerics.simple_rules import ADDITIVE, MEAN
from recombine.verbs.audit.audit import audit
from recombine.verbs.audit.rule_choice import ask_rule, chosen_rule, rule_words
from recombine.verbs.predict.answers import Answers, Truth
from recombine.verbs.predict.backtest import Backtest
from recombine.verbs.predict.ensembles import moved
from recombine.verbs.predict.examples.example_forecast import ExampleForecast
from recombine.verbs.predict.expected_score import score_of
from recombine.verbs.predict.holdout_record import KERNEL
from recombine.verbs.predict.prediction_table import read_combinations

PASSED, PASSED_LOW = 0.7, 0.3
"""The score of a rule that is trusted, and the low end of its interval. Set before any forecast was looked at; from .5
to .9 it makes no difference to how often forecasts come true."""

EXACT = 0.97
"""A rule that is right so often leaves nothing for a second estimate to tell."""

RuleTest = Literal["passed", "failed", "untested"]


@dataclass(frozen=True, eq=False)
class RuleAnswers:
    """What a rule over the factors answers on unseen combinations, and how it fared where it could be tested.

    `only_if` says that what was tested, if anything was, is not like the unseen combinations.
    """

    truth: Truth
    record: Expected
    only_if: bool = False

    @property
    def test(self) -> RuleTest:
        """Whether the rule passed, on what is like the unseen combinations; it may fail on any."""
        value, low = self.record.value, self.record.low
        if self.only_if or value is None or low is None:
            return "failed" if value is not None and value < PASSED else "untested"
        return "passed" if value >= PASSED and low > PASSED_LOW else "failed"

    @property
    def exact(self) -> bool:
        """Whether a network that arrives at its answers is right, and one that does not is wrong."""
        return self.test != "passed" or self.right > EXACT

    @property
    def right(self) -> float:
        """The score of the rule itself; where nothing tells, it is taken for granted."""
        return 1.0 if self.record.value is None else self.record.value

    @property
    def _reach(self) -> float:
        """Half the width of what is known of that: an untested rule is no surer than the least sure one that passes."""
        known = self.record.low is not None and self.record.high is not None
        own = ((self.record.high or 0.0) - (self.record.low or 0.0)) / 2 if known else 0.0
        return max(own, (1 - PASSED_LOW) / 2) if self.test == "untested" else own

    def expected(self, arrived: Expected) -> Expected:
        """The score to expect, where `arrived` is the score that machines would have if the rule were right."""
        if arrived.value is None:
            return arrived
        share = arrived.score == "accuracy"
        times = max(arrived.value, 0.0) if share else 1.0  # by how much the score moves with the rule's
        found = moved(arrived, times * (self.right - 1), times * self._reach)
        if share and found.baseline is not None and found.lift is not None:  # one answer for all is as often right
            lost = found.baseline * (1 - self.right)
            low, value, high = (end + lost for end in found.lift)
            found = replace(found, baseline=found.baseline - lost, lift=(low, value, min(high, 1.0)))
        return replace(found, tested=0 if self.test == "untested" else self.record.tested)

    def _ends(self, arrived: float, *, share: bool) -> Interval:
        """The least and the most that a network can score which arrives at the rule's answers so often.

        Shares: no two events of chances N and R are rarer together than N + R - 1; and it is right either with the rule
        or against it, so at most min(N, R) + min(1 - N, 1 - R). Errors are lengths: the triangle's inequality.
        """
        if share:
            return max(arrived + self.right - 1, 0.0), 1 - abs(arrived - self.right)
        apart, off = math.sqrt(max(1 - arrived, 0.0)), math.sqrt(max(1 - self.right, 0.0))
        return 1 - (apart + off) ** 2, 1 - (apart - off) ** 2

    def weighed(self, arrived: Expected, held: Expected) -> Expected:
        """The score to expect beside a second estimate: what the machines had on combinations `held` out from them."""
        alone = self.expected(arrived)
        if alone.value is None or arrived.value is None or held.value is None:
            return alone
        least, most = self._ends(arrived.value, share=arrived.score == "accuracy")
        other = min(max(held.value, least), most)
        doubt = _deviation(alone) ** 2 + ((most - least) / 4) ** 2
        weight = doubt / (doubt + _deviation(held) ** 2)
        value = alone.value + weight * (other - alone.value)
        deviation = max(math.sqrt(doubt * (1 - weight)), _deviation(arrived))
        reach, base = float(normal_quantile(0.975)) * deviation, alone.baseline or 0.0
        low, high = value - reach, min(value + reach, 1.0)
        low = max(low, 0.0) if arrived.score == "accuracy" else low
        return replace(alone, value=value, low=low, high=high, lift=(low - base, value - base, high - base))

    def forecast(self, arrived: ExampleForecast, held: Expected | None = None) -> ExampleForecast:
        """The same forecast with what the rule misses in every score of it, so that none contradicts another."""
        expected = self.expected(arrived.expected) if held is None else self.weighed(arrived.expected, held)
        share = arrived.score == "accuracy"
        gained = (expected.value or 0.0) - (arrived.expected.value or 0.0)

        def scored(values: Any) -> Any:
            """Moved as the mean was; a share stays one."""
            mean = arrived.expected.value
            if values is None or not mean or not share:
                return values if values is None or not mean else values + gained
            return values * (1 + gained / mean) if gained < 0 else values + (1 - values) * gained / max(1 - mean, 1e-9)

        return replace(
            arrived,
            expected=expected,
            scores=scored(arrived.scores) if share else arrived.scores - gained * arrived.base,
            base=arrived.base * self.right if share else arrived.base,
            probe=scored(arrived.probe),
            fewer=scored(arrived.fewer),
            assumption=self._assumption(held),
            only_if=self.test == "untested",
        )

    def grade(self, expected: Expected) -> Grade:
        """What is earned: where nothing was tested at most *weak*, since the number is an *if*."""
        return at_most("weak" if self.test == "untested" else "plausible", earned(expected))

    def _assumption(self, held: Expected | None) -> str:
        """What is taken for granted, in one line."""
        if self.test == "untested":
            return f"Nothing here could test that: {(self.record.reason or 'too few combinations').removesuffix('.')}."
        share = self.record.score == "accuracy"
        score = interval_words(self.record.value or 0.0, self.record.low, self.record.high, share=share)
        tested = f"{score} of {self.record.tested:,} held-out combinations"
        if not share:
            tested = f"{self.record.tested:,} held-out combinations with an R² of {score}"
        said = (
            f"The true answers are not known: those of {self.truth.source} stand for them, which told "
            f"{tested}{' right' if share else ''}"
        )
        if held is None or held.value is None:
            return f"{said}."
        own = f"{percent(held.value)}" if share else f"an R² of {held.value:.2f}"
        return f"{said}; what these machines get on rows of held-out ones ({own}) counts as well."


def _deviation(expected: Expected) -> float:
    """The standard deviation that a 95 % interval stands for."""
    return ((expected.high or 0.0) - (expected.low or 0.0)) / (2 * float(normal_quantile(0.975)))


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
    truth = Truth("a learner over the factors alone", codes, values, np.ones(len(values)))
    held = prediction.held_out or Expected(score_of(own))
    record = _easier_record(held, prediction.backtest) if held.abstains else held
    found = RuleAnswers(truth, record, only_if=held.abstains)
    if len(codes) and found.test != "passed":
        found = _chosen(prediction.learner.support, found, seed=prediction.learner.seed)
    return None if found.test == "failed" or not len(codes) else found


def _chosen(support: Support, learner: RuleAnswers, *, seed: int) -> RuleAnswers:
    """The answers of a rule that says more than adding up instead of the learner's, where one was chosen and passed.

    Not where the learner passed: forecasts came as close to the truth with its answers, and an audit takes seconds.
    """
    if chosen_rule(support, seed=seed) is None:
        return learner
    found = audit(support, seed=seed)  # which also holds out whole blocks, where those are missing
    if found.additive is None or found.expected is None or found.additive.chosen == ADDITIVE:
        return learner
    said = ask_rule(found.additive.chosen, support, learner.truth.codes)
    values = said[:, 0] if said.shape[1] == 1 else highest(said).astype(np.float64)
    source = f"a rule over the factors ({rule_words(found.additive.chosen, factors=support.space.names)})"
    rule = RuleAnswers(replace(learner.truth, source=source, values=values), found.expected)
    return rule if rule.test == "passed" else learner


def _easier_record(held: Expected, record: Backtest | None) -> Expected:
    """How the rule fared on seen combinations that the others determine, where none of these is like the unseen ones.

    Its error is set against that of the mean, so that a number has an R².
    """
    rung = next((one for one in record.rungs if one.rung == "determined"), None) if record else None
    if record is None or rung is None or rung.tested < FEWEST_TESTED:
        return held
    scores = dict(zip((method.name for method in record.methods), rung.scores, strict=True))
    if held.score == "accuracy":
        return replace(held, value=scores[KERNEL], tested=rung.tested)
    return replace(held, value=1 - (scores[KERNEL] / scores[MEAN]) ** 2 if scores[MEAN] else None, tested=rung.tested)
