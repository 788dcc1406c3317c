"""The evidence of an audit, and the grade that it earns.

Where the additive rule was tested the grade is what the score to expect earns (`base.grades`), held down by what
the test does not speak of. Where nothing was tested it is *plausible* at best.

| grade | with a target | without one |
|---|---|---|
| sound | earned, of nearly all that is unseen; or nothing is unseen, and nothing thin | the same |
| plausible | earned; or no better than one factor alone; or a few unseen ones are beyond the rule | all would \
follow, each at least as firmly as by one example |
| weak | earned; or one in twenty is beyond the rule; or most hang on less than any tested one | all would \
follow, some only weakly |
| failing | earned; or most unseen ones are beyond the rule | some would not follow, or hold a value never seen |
| untested | it could not be tested, or the interval promises nothing | \
none of the seen is to spare, too few were seen, or a leverage is not known |
"""

from collections.abc import Mapping
from dataclasses import dataclass

from recombine.base.grades import Expected, Grade, at_most, earned
from recombine.data.misspellings import Misspelling
from recombine.verbs.audit.additivity import AdditiveTest
from recombine.verbs.audit.combination_status import StatusCounts
from recombine.verbs.audit.coverage import FactorCoverage, OrderCoverage, ThinCombination, UncoveredPair
from recombine.verbs.audit.dependence import Dependence, Redundancy
from recombine.verbs.audit.determinacy import Island
from recombine.verbs.audit.selection_bias import SelectionSign
from recombine.verbs.audit.set_coverage import SetCoverage
from recombine.verbs.audit.structural_zeros import Zeros
from recombine.verbs.audit.unseen_combinations import LeverageSummary
from recombine.verbs.audit.vector_test import VectorTest

FEWEST_SEEN = 1e-3
"""Below this share of the space nothing is said of the rest, unless it was tested."""

_NEARLY_ALL = 0.95  # of the unseen ones: what the rule does not reach may be one in twenty before the grade falls
_HALF = 0.5  # where the rule does not speak of most unseen ones, how well it speaks of the others is beside the point


@dataclass(frozen=True)
class AuditEvidence:
    """All that the words and the grade are made from."""

    counts: StatusCounts
    rank: int
    island_count: int
    islands: tuple[Island, ...]
    factors: tuple[FactorCoverage, ...]
    coverage: tuple[OrderCoverage, ...]
    dependence: tuple[Dependence, ...]
    thin: tuple[ThinCombination, ...]
    usual: Mapping[str, str]  # the commonest combination
    mean_count: float
    one_row_each: bool
    rows: int
    rows_left_out: int
    leverage: LeverageSummary | None = None
    uncovered: tuple[UncoveredPair, ...] = ()
    redundancy: Redundancy | None = None
    additive: AdditiveTest | None = None
    expected: Expected | None = None
    expected_of_many: Expected | None = None  # against every simple rule but a factor alone
    zeros: Zeros | None = None
    likely: StatusCounts | None = None  # the space divided without the suspected zeros
    vectors: VectorTest | None = None
    row_notes: tuple[str, ...] = ()
    misspellings: tuple[Misspelling, ...] = ()
    alike: tuple[tuple[str, str], ...] = ()  # ordinary factors that share most of their values
    sets: tuple[SetCoverage, ...] = ()
    stored: bool = False  # counted on disk, where leverages are left out
    bounded: bool = False  # the determined combinations are an upper bound
    selection: SelectionSign | None = None  # that the seen ones look as if they were chosen by their answer

    @property
    def divided(self) -> StatusCounts:
        """The space as it probably is: without pairs of values that seem to be impossible."""
        return self.counts if self.likely is None else self.likely

    @property
    def tested(self) -> bool:
        """Whether the additive rule was tested, and something can be expected of the unseen."""
        return self.expected is not None and not self.expected.abstains

    @property
    def leverage_unknown(self) -> bool:
        """Whether a leverage that would decide between plausible and weak is missing."""
        return self.leverage is None or self.leverage.unknown > 0


def grade(evidence: AuditEvidence) -> Grade:
    """How far the unseen combinations can be told from the seen ones."""
    if not evidence.divided.unseen:
        found: Grade = "plausible" if evidence.counts.thin else "sound"
    else:
        found = _grade_tested(evidence) if evidence.expected is not None else _grade_untested(evidence)
    if evidence.selection is not None and evidence.divided.unseen:
        found = at_most(evidence.selection.limit, found)
    # that pairs of values cannot occur is suspected, not known
    return found if evidence.likely is None else at_most("plausible", found)


def _grade_untested(evidence: AuditEvidence) -> Grade:
    """From which combinations were seen alone: what would follow if effects add up."""
    counts = evidence.divided
    if counts.novel or counts.undetermined:
        return "failing"
    if counts.seen <= evidence.rank or counts.seen_share < FEWEST_SEEN:
        return "untested"
    if evidence.leverage is not None and evidence.leverage.weak:
        return "weak"
    return "untested" if evidence.leverage_unknown else "plausible"


def _grade_tested(evidence: AuditEvidence) -> Grade:
    counts, expected = evidence.divided, evidence.expected
    if expected is None or expected.abstains:
        return "untested"
    beyond = (counts.undetermined + counts.novel) / counts.unseen
    if beyond > _HALF:
        return "failing"
    spoken_of = expected.of / counts.unseen
    if beyond > 1 - _NEARLY_ALL or spoken_of < _HALF:
        return at_most("weak", _grade_earned(evidence))
    return at_most("plausible" if beyond or spoken_of < _NEARLY_ALL else "sound", _grade_earned(evidence))


def _grade_earned(evidence: AuditEvidence) -> Grade:
    """Of a target that one factor tells, adding up all of them can't be better: then it is held to the other rules."""
    found = earned(evidence.expected)
    many = earned(evidence.expected_of_many)
    return at_most("plausible", many) if found == "weak" else found


def rule_held(evidence: AuditEvidence) -> bool:
    """Whether the additive rule itself held where it was tested, whatever it does not reach."""
    return _grade_earned(evidence) in ("sound", "plausible")
