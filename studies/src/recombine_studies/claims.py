"""A claim of a paper as a check: where it stands, what would count as holding, and what was measured.

A claim is a list of comparisons, each a number with its interval against a threshold that was written down beforehand.
One passes if its whole interval is on the right side, fails if its whole interval is on the wrong one, and is open
else; it does not apply where the networks never learned what the claim supposes (`supposing`).

A claim *holds* if all that apply pass. No correction is due there: the chance that all pass although one should not is
at most that of the one (an intersection of tests). Every other outcome picks some comparisons out of many, so there
each must hold at 5 % divided by their number (Bonferroni): a claim is *mixed* if some pass and some fail, *holds in
part* if none fails and at least half pass, *does not hold* if none passes and one fails. Else there is not enough
evidence: one cell of 224 that passes by chance is none.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING, Literal, get_args

from recombine.base.words import measure
from recombine.numerics.distributions import student_quantile
from recombine.numerics.intervals import exact_share_interval, student_mean_interval, welch_interval

if TYPE_CHECKING:
    from recombine_studies.study import Evidence

Outcome = Literal["holds", "holds in part", "mixed", "does not hold", "not enough evidence", "not applicable"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
Rule = Literal[">=", ">", "<=", "<"]
State = Literal["passes", "fails", "open", "not applicable"]
_FEWEST = 3
"""Seeds below which no interval is told, and nothing is decided."""
_NO_INTERVAL = (None, None)
TAIL = 0.025
"""What a 95 % interval leaves out on each side."""
Bounds = tuple[float, float]
"""The least and the most that a measure can be; its interval stays between them."""
SHARE: Bounds = (0.0, 1.0)
R_SQUARED: Bounds = (-math.inf, 1.0)
NOT_NEGATIVE: Bounds = (0.0, math.inf)
CORRELATION: Bounds = (-1.0, 1.0)
DIFFERENCE: Bounds = (-1.0, 1.0)
"""Of two shares."""
GAP_DIFFERENCE: Bounds = (-2.0, 2.0)
"""Of two differences of shares."""
UNBOUNDED: Bounds = (-math.inf, math.inf)


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """A number held against a threshold: its mean, its interval, and over how many seeds; `value` None is not known.

    `lacks` says what the claim supposes and these networks do not have; the comparison does not apply then.
    """

    name: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    rule: Rule
    threshold: float
    lacks: str = ""

    @property
    def state(self) -> State:
        """Whether its whole interval is on the right side of the threshold, or on the wrong one."""
        if self.lacks:
            return "not applicable"
        if self.value is None or self.low is None or self.high is None:
            return "open"
        right = {">=": self.low >= self.threshold, ">": self.low > self.threshold}
        right |= {"<=": self.high <= self.threshold, "<": self.high < self.threshold}
        wrong = {">=": self.high < self.threshold, ">": self.high <= self.threshold}
        wrong |= {"<=": self.low > self.threshold, "<": self.low >= self.threshold}
        return "passes" if right[self.rule] else "fails" if wrong[self.rule] else "open"

    def as_one_of(self, many: int) -> "Comparison":
        """Its interval at 5 % divided by so many comparisons, to decide by; what is shown stays at 95 %.

        The half-widths grow as those of Student's interval with n - 1 degrees of freedom do, which is exact for a mean
        over seeds and close for the others. A number without chance in it keeps its ends.

        >>> over_seeds("R²", [0.7, 0.9, 0.8], ">", 0.5, UNBOUNDED).as_one_of(10).state
        'open'
        """
        if self.value is None or self.low is None or self.high is None or many < 2:
            return self
        wider = _student(many, self.n) / _student(1, self.n)
        low, high = self.value - wider * (self.value - self.low), self.value + wider * (self.high - self.value)
        return replace(self, low=low, high=high)

    def words(self) -> str:
        """As a reader is told.

        >>> exact("slope", 0.74, ">=", 0.7).words()
        'slope 0.74'
        """
        if self.lacks:
            return f"{self.name}: not applicable, {self.lacks}"
        if self.value is None:
            return f"{self.name} not known"
        known = self.low is not None and self.high is not None and self.low != self.high
        between = f" ({measure(self.low or 0.0)} to {measure(self.high or 0.0)})" if known else ""
        return f"{self.name} {measure(self.value)}{between}"


def _student(many: int, n: int) -> float:
    return float(student_quantile(1 - TAIL / many, max(n - 1, 1)))


def over_seeds(name: str, values: Sequence[float], rule: Rule, threshold: float, bounds: Bounds) -> Comparison:
    """The mean over seeds with Student's interval of 95 %; below three seeds there is none, and nothing is decided.

    The interval does not leave the `bounds` of the measure. No threshold lies on a bound, so that cutting it off there
    decides nothing that was open.

    >>> over_seeds("R²", [0.9, 0.91, 0.92], ">=", 0.8, R_SQUARED).state
    'passes'
    >>> over_seeds("R²", [0.9, 0.91], ">=", 0.8, R_SQUARED).state
    'open'
    >>> over_seeds("accuracy", [0.5, 0.7, 0.95], ">", 0.9, SHARE).words()
    'accuracy 0.717 (0.157 to 1)'
    """
    known = [value for value in values if math.isfinite(value)]
    low, high = (
        student_mean_interval(known, least=bounds[0], most=bounds[1]) if len(known) >= _FEWEST else None
    ) or _NO_INTERVAL
    return within(name, fmean(known) if known else None, low, high, rule, threshold, n=len(known))


def exact(name: str, value: float | None, rule: Rule, threshold: float, *, n: int = 1) -> Comparison:
    """A number without chance in it: a formula, a count."""
    return Comparison(name=name, value=value, low=value, high=value, n=n, rule=rule, threshold=threshold)


def within(
    name: str, value: float | None, low: float | None, high: float | None, rule: Rule, threshold: float, *, n: int
) -> Comparison:
    """A number with an interval of its own, for example a rank correlation or a fitted exponent."""
    return Comparison(name=name, value=value, low=low, high=high, n=n, rule=rule, threshold=threshold)


def apart(name: str, one: Sequence[float], other: Sequence[float], rule: Rule, threshold: float) -> Comparison:
    """The mean of some seeds less that of others, which are not paired, with Welch's interval of 95 %.

    >>> apart("difference", [3.0, 3.1, 3.2], [1.0, 1.1, 1.2], ">", 1.5).state
    'passes'
    """
    sides = [[value for value in side if math.isfinite(value)] for side in (one, other)]
    n = min(map(len, sides))
    value = fmean(sides[0]) - fmean(sides[1]) if n else None
    low, high = (welch_interval(*sides) if n >= _FEWEST else None) or _NO_INTERVAL
    return within(name, value, low, high, rule, threshold, n=n)


def share_of(name: str, hits: int, trials: int, rule: Rule, threshold: float) -> Comparison:
    """How many of some trials came out so, with Clopper and Pearson's interval of 95 %; of three or more.

    >>> share_of("collapsed", 140, 400, ">=", 0.2).words()
    'collapsed 0.35 (0.303 to 0.399)'
    """
    low, high = (exact_share_interval(hits, trials) if trials >= _FEWEST else None) or _NO_INTERVAL
    return within(name, hits / trials if trials else None, low, high, rule, threshold, n=trials)


def supposing(comparison: Comparison, name: str, values: Sequence[float], rule: Rule, threshold: float) -> Comparison:
    """A comparison that applies only where something else was reached on average: seen combinations learned, say.

    Where nothing is known of that, the comparison stands.

    >>> supposing(exact("gap", 0.9, ">", 0.5), "seen accuracy", [0.4, 0.6], ">=", 0.9).words()
    'gap: not applicable, seen accuracy 0.5 where the claim supposes ≥ 0.9'
    """
    found = over_seeds(name, values, rule, threshold, UNBOUNDED)
    if found.value is None or exact(name, found.value, rule, threshold).state == "passes":
        return comparison
    return replace(comparison, lacks=f"{name} {measure(found.value)} where the claim supposes {asked(rule, threshold)}")


def asked(rule: Rule, threshold: float) -> str:
    """A threshold as a reader is told.

    >>> asked(">=", 0.9)
    '≥ 0.9'
    """
    return f"{ {'>=': '≥', '<=': '≤'}.get(rule, rule) } {measure(threshold)}"


Check = Callable[["Evidence"], Iterable[Comparison]]


@dataclass(frozen=True, kw_only=True)
class Claim:
    """What a paper says, and how it is checked.

    `says` is the claim in one sentence, with its threshold; `source` is where it stands; `threshold` says why the
    threshold is what it is, and, where it was ever changed, from what and why; `ours` marks a question that we ask and
    no paper claims.
    """

    name: str
    says: str
    source: str
    threshold: str
    check: "Check"
    ours: bool = False


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A claim beside what was measured."""

    name: str
    says: str
    source: str
    threshold: str
    ours: bool
    outcome: Outcome
    measured: str
    comparisons: tuple[Comparison, ...]


def told(shown: Sequence[Comparison], most: int = 4) -> str:
    """What was measured, in words: every comparison where there are few, else how many pass, and some that do not."""
    if not shown:
        return "nothing was measured"
    if len(shown) <= most:
        return "; ".join(one.words() for one in shown)
    states = [one.state for one in shown]
    told = [f"{states.count(state)} {words}" for state, words in _COUNTED if state in states]
    failing = [one for one in shown if one.state != "passes"][: most - 1] or shown[: most - 1]
    return f"of {len(shown)} comparisons {', '.join(told)}: {'; '.join(one.words() for one in failing)}; …"


_COUNTED: tuple[tuple[State, str], ...] = (
    ("passes", "pass"),
    ("fails", "fail"),
    ("open", "are open"),
    ("not applicable", "do not apply"),
)


def judged(claim: Claim, evidence: "Evidence") -> Finding:
    """A claim, checked."""
    comparisons = tuple(claim.check(evidence))
    return Finding(
        name=claim.name,
        says=claim.says,
        source=claim.source,
        threshold=claim.threshold,
        ours=claim.ours,
        outcome=outcome_of(comparisons),
        measured=told(comparisons),
        comparisons=comparisons,
    )


def outcome_of(comparisons: Sequence[Comparison]) -> Outcome:
    """What several comparisons come to.

    >>> right, wrong, unknown = (exact("cell", value, ">", 0.5) for value in (0.9, 0.1, None))
    >>> [outcome_of(some) for some in ([right], [right, wrong], [right, unknown], [right, unknown, unknown], [wrong])]
    ['holds', 'mixed', 'holds in part', 'not enough evidence', 'does not hold']
    """
    applicable = [one for one in comparisons if one.state != "not applicable"]
    if not applicable:
        return "not applicable" if comparisons else "not enough evidence"
    if all(one.state == "passes" for one in applicable):
        return "holds"
    sure = Counter(one.as_one_of(len(applicable)).state for one in applicable)
    if sure["passes"] and sure["fails"]:
        return "mixed"
    if 2 * sure["passes"] >= len(applicable):
        return "holds in part"
    return "does not hold" if sure["fails"] and not sure["passes"] else "not enough evidence"
