"""What the audit says in a few sentences: what was tested, what would follow, what cannot be known.

The first one names what matters most, in 25 words: islands, where most of what is unseen lies between them; that there
is nothing to learn, or nothing but exceptions; then how the rule did.
"""

from recombine.base.grades import FAILING_BELOW, Expected
from recombine.base.words import (
    NOTHING_TO_LEARN,
    OWN_ANSWERS,
    WORSE_THAN_MEAN,
    below_zero,
    count,
    listing,
    named,
    percent,
    percent_range,
)
from recombine.numerics.simple_rules import ADDITIVE, MEAN, is_alone
from recombine.verbs.audit.additivity import AdditiveTest
from recombine.verbs.audit.block_holdout import missing_reason
from recombine.verbs.audit.combination_status import StatusCounts
from recombine.verbs.audit.grade import FEWEST_SEEN, AuditEvidence, grade, rule_held
from recombine.verbs.audit.rule_choice import rule_words
from recombine.verbs.audit.set_coverage import open_sentence

_MOSTLY = 0.5  # of the unseen combinations: islands that leave more of them open come first
_MOST_NAMED = 4  # values of a combination that are all named in a sentence


def verdict(evidence: AuditEvidence) -> str:
    """The answer as a person would say it."""
    said = [
        _islands(evidence),
        _test_sentence(evidence),
        evidence.vectors.sentence if evidence.vectors is not None and evidence.divided.unseen else "",
        _coverage_sentence(evidence),
        evidence.selection.warning if evidence.selection is not None else "",
        _beyond_sentence(evidence),
        evidence.zeros.sentence if evidence.zeros is not None else "",
        _novel(evidence),
    ]
    return " ".join(part for part in [*said, _thin(evidence)] if part)


def _islands(evidence: AuditEvidence) -> str:
    """That the table falls apart, where most of what is unseen lies between the parts."""
    counts = evidence.divided
    if evidence.sets or evidence.island_count < 2 or counts.undetermined <= _MOSTLY * counts.unseen:
        return ""  # islands of elements bound nothing: sets across them may follow
    return (
        f"The table falls into {evidence.island_count:,} islands that no example connects: "
        f"{counts.undetermined:,} of {counts.unseen:,} unseen combinations cannot be worked out."
    )


def _test_sentence(evidence: AuditEvidence) -> str:
    if not evidence.divided.unseen:
        return ""
    expected, test = evidence.expected, evidence.additive
    if expected is None or test is None:
        few = grade(evidence) == "untested"
        return f"{'Not enough evidence: nothing' if few else 'Nothing'} was tested, because no target was named."
    if expected.abstains:
        reason = "" if expected.tested else "nothing could be tested, because "
        return f"Not enough evidence: {reason}{expected.reason}."
    if test.without_rule is not None:
        return f"{without_rule(test)} {_score(expected, test)}"
    if expected.is_open():
        return f"Not enough evidence: {_words(test.chosen, test)} may as well fail as hold. {_score(expected, test)}"
    return _score(expected, test)


def without_rule(test: AdditiveTest) -> str:
    """Where no rule was found, why: there is nothing to learn, or each combination has an answer of its own."""
    most = test.explainable
    if test.without_rule is None or most is None:
        return ""
    if test.without_rule == "noise":
        return (
            f"{NOTHING_TO_LEARN}: in {test.target}, combinations differ by no more than the noise of their "
            f"rows. No rule can explain more than {percent(most.value)} of it (at most {percent(most.high)}): look for "
            "other factors, more rows of these will not help."
        )
    return (
        f"Each combination {OWN_ANSWERS} {test.target}, and only seeing it tells. {percent(most.value)} of what "
        f"they differ by is no noise ({percent_range(most.low, most.high)}), and no rule that was tried finds it from "
        "the others: collect each one that matters."
    )


def _score(expected: Expected, test: AdditiveTest) -> str:
    """The tested score, its interval, and what the best simple rule gets."""
    if expected.value is None or expected.low is None or expected.high is None:
        return ""
    rule, base = (_words(name, test) for name in (test.chosen, expected.baseline_name or ""))
    beside = f"{base[0].upper()}{base[1:]} {_gets(expected.baseline, test)}{_dominates(expected, test)}."
    if test.kind == "label":
        sure = percent_range(expected.low, expected.high)
        right = f"gets {percent(expected.value)} of held-out combinations right ({sure})"
        return f"{rule[0].upper()}{rule[1:]} {right}. {beside}"
    if expected.value <= 0:
        beside = "" if expected.baseline_name == MEAN else f" {beside}"
        worse = WORSE_THAN_MEAN if expected.value < 0 else "no better than always answering the mean"
        return (
            f"On held-out combinations {rule} is {worse}. It explains "
            f"{percent(expected.value)} of what they differ by in {test.target} "
            f"({percent_range(expected.low, expected.high)}).{beside}"
        )
    sure = percent_range(expected.low, expected.high)
    explained = f"{percent(expected.value)} of what held-out combinations differ by in {test.target} ({sure})"
    return f"{rule[0].upper()}{rule[1:]} explains {explained}.{below_zero(expected.low)} {beside}"


def _words(rule: str, test: AdditiveTest) -> str:
    """A rule as the subject of a sentence."""
    return rule_words(rule, factors=test.factors, commonest=test.commonest, unit=test.unit)


def _dominates(expected: Expected, test: AdditiveTest) -> str:
    """That one factor tells as much as all of them, where it does."""
    if expected.lift is None or expected.lift[0] > 0 or expected.loses or not is_alone(expected.baseline_name or ""):
        return ""
    two = len(test.factors) == 2
    return f" (the other {'factor adds' if two else 'factors add'} nothing beyond chance)"


def _gets(score: float | None, test: AdditiveTest) -> str:
    if test.kind == "label":
        return f"gets {percent(score or 0.0)}"
    return f"explains {percent(score)}" if score else "explains nothing"


def _coverage_sentence(evidence: AuditEvidence) -> str:
    counts = evidence.divided
    if not counts.unseen:
        if evidence.likely is not None:
            return f"{counts.seen:,} combinations were seen, probably all that can occur."
        return f"All {counts.seen:,} combinations were seen: nothing is left to work out."
    seen = f"{counts.seen:,} of {counts.space:,} combinations {_verb(counts.seen, 'was', 'were')} seen"
    return f"{seen}{_rest_sentence(evidence)}" if counts.determined else f"{seen}."


def _rest_sentence(evidence: AuditEvidence) -> str:
    """What would follow for the others, as an if."""
    counts, expected = evidence.divided, evidence.expected
    if expected is not None and not expected.abstains:
        if grade(evidence) in ("weak", "failing", "untested") and not rule_held(evidence):
            rule = "Adding up" if evidence.additive is None or evidence.additive.chosen == ADDITIVE else "That rule"
            return f". {rule} {_why_not(expected)}: do not rely on what it would give for {_others(counts)}."
        follow = _verb(expected.of, "follows", "follow")
        return f"; if the rule holds beyond them, {_share_of(expected.of, counts)} {follow}."
    if counts.seen <= evidence.rank:
        return (
            f"; on paper they fix {_share_of(counts.determined, counts)}, but none of them is to spare: nothing in the "
            "table could show such a rule wrong."
        )
    if counts.seen_share < FEWEST_SEEN:
        some = "all others" if counts.determined == counts.unseen else "some others"
        return (
            ", fewer than one in a thousand: too few to say anything of the rest without a test. Only if effects add "
            f"up would {some} follow from them."
        )
    follow = _verb(counts.determined, "follows", "follow")
    most = "at most " if evidence.bounded else ""
    return f"; if effects add up, {most}{_share_of(counts.determined, counts)} {follow} from them{_firmness(evidence)}."


def _why_not(expected: Expected) -> str:
    """What the test says against the rule."""
    if expected.loses:
        return "does worse than a simpler rule"
    if expected.beats_constant and (expected.high or 0) < FAILING_BELOW:
        return "misses more than it gets"
    if expected.is_open():
        return "may as well fail as hold"
    return "is not reliably better than a simpler rule"


def _others(counts: StatusCounts) -> str:
    return "the other one" if counts.unseen == 1 else f"the other {counts.unseen:,}"


def _share_of(some: int, counts: StatusCounts) -> str:
    if some == counts.unseen:
        return _others(counts)
    return f"{some:,} of {_others(counts)}"


def _firmness(evidence: AuditEvidence) -> str:
    """How many hang on little, or on how much is not known."""
    measured = evidence.leverage
    if measured is not None and measured.weak:
        many = "all of them " if measured.weak == measured.of else f"{measured.weak:,} of them "
        if measured.sampled:
            many = f"about {percent(measured.weak / measured.known)} of them "
        one = "" if measured.of == 1 else many
        return f", {one}only weakly (less certain than one single example would be)"
    if not evidence.leverage_unknown:
        return ""
    if evidence.stored:
        return ", but how firmly was not measured"
    if measured is None:
        return ", but how firmly was not measured: none of them was among the combinations drawn"
    tried = measured.known + measured.unknown
    if tried == 1:
        return ", but how firmly is not known"
    of = f"{tried:,} drawn at random" if measured.sampled else f"the {tried:,}"
    return f", but how firmly is not known for {measured.unknown:,} of {of}"


def _beyond_sentence(evidence: AuditEvidence) -> str:
    """What the rule leaves open, and what hangs on less than could be tested."""
    counts, expected = evidence.divided, evidence.expected
    said = []
    if expected is not None and not expected.abstains and rule_held(evidence) and counts.determined > expected.of:
        said.append(_unlike_sentence(counts.determined - expected.of, evidence.additive))
    if counts.undetermined and not _islands(evidence):
        even = " even then" if counts.determined else " if effects add up"
        verb = _verb(counts.undetermined, "does", "do")
        all_ = "None of the others follows" if not (counts.determined or counts.novel) else ""
        start = f"{all_}{even}" if all_ else f"{counts.undetermined:,} {verb} not follow{even}"
        said.append(f"{start}, because {_cause(evidence)}.")
    return " ".join(said)


def _unlike_sentence(number: int, test: AdditiveTest | None) -> str:
    """The unseen combinations of which the test does not speak, and why."""
    if test is not None and test.untested_blocks:
        return f"Of {number:,} it says nothing: {missing_reason(test.untested_blocks)}."
    return f"{number:,} hang on less than any combination that could be held out."


def _cause(evidence: AuditEvidence) -> str:
    if evidence.sets:
        return open_sentence(evidence.sets)
    if evidence.island_count > 1:
        return f"the table falls into {evidence.island_count:,} islands that no example connects"
    loose = [name for name, groups in evidence.islands[0].groups.items() if groups > 1]
    return f"the examples do not tell some values of {listing(loose)} apart from the rest"


def _novel(evidence: AuditEvidence) -> str:
    novel = evidence.divided.novel
    if not novel:
        return ""
    hold = _verb(novel, "1 combination holds", f"{novel:,} combinations hold")
    what = "a value or an element" if evidence.sets else "a value"
    return f"{hold} {what} never seen: nothing can be promised there."


def _thin(evidence: AuditEvidence) -> str:
    if not evidence.thin:
        return ""
    first, many = evidence.thin[0], evidence.counts.thin
    name = named(first.combination, usual=evidence.usual if len(evidence.usual) > _MOST_NAMED else None)
    if first.expected > 10 * first.count:
        where = f"{count(round(first.expected))} would be expected if the factors were independent"
    else:
        where = f"a seen combination has {count(round(evidence.mean_count))} on average"
    rows = f"{count(first.count)} {_verb(int(first.count), 'row', 'rows')} of {count(evidence.rows)}"
    start = "One seen combination is thin" if many == 1 else f"{many:,} of the seen combinations are thin"
    return f"{start}: {name} has {rows}, where {where}."


def _verb(number: int, one: str, many: str) -> str:
    return one if number == 1 else many
