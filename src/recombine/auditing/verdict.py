"""What the audit says in words: one sentence first, then the reasons.

The grade is never above *plausible* while anything is unseen: that the factors add up is assumed, not tested.
*Sound*: nothing is unseen. *Plausible*: all unseen combinations are determined, each at least as firmly as by one
example. *Weak*: all are determined, some only weakly. *Failing*: some are not determined, or hold a value that was
declared and never seen. *Untested*: all are determined, but just so: no seen combination is to spare, so nothing in the
table could show the additive rule wrong; or how firmly they are determined is not known, and none is known to be weak.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from recombine.auditing.coverage import FactorCoverage, OrderCoverage
from recombine.auditing.dependence import Dependence, Redundancy
from recombine.auditing.determinacy import Island
from recombine.auditing.ladder import Counts
from recombine.auditing.unseen import LeverageSummary
from recombine.grades import Grade
from recombine.words import listing, measure, percent


@dataclass(frozen=True)
class Evidence:
    """All that the words are made from."""

    counts: Counts
    rank: int
    island_count: int
    islands: tuple[Island, ...]
    leverage: LeverageSummary | None
    factors: tuple[FactorCoverage, ...]
    coverage: tuple[OrderCoverage, ...]
    dependence: tuple[Dependence, ...]
    redundancy: Redundancy | None
    rows: int
    rows_left_out: int
    weightless: str | None = None


def grade(evidence: Evidence) -> Grade:
    """Over all combinations that could occur: of a value never seen nothing is fixed."""
    return "failing" if evidence.counts.novel else _grade_of_seen_values(evidence)


def _grade_of_seen_values(evidence: Evidence) -> Grade:
    counts = evidence.counts
    if counts.undetermined:
        return "failing"
    if not counts.determined:
        return "sound"
    if counts.seen <= evidence.rank:
        return "untested"
    if evidence.leverage is not None and evidence.leverage.weak:
        return "weak"
    return "untested" if _leverage_unknown(evidence) else "plausible"


def _leverage_unknown(evidence: Evidence) -> bool:
    """Whether a leverage that would decide between plausible and weak is missing."""
    return evidence.leverage is None or evidence.leverage.unknown > 0


def verdict(evidence: Evidence) -> str:
    """The answer in a sentence that a person would say."""
    sentence = _sentence(evidence, _grade_of_seen_values(evidence))
    novel = evidence.counts.novel
    if novel:
        hold = _verb(novel, "1 combination holds", f"{novel:,} combinations hold")
        sentence += f" {hold} a value never seen: nothing can be promised there."
    return sentence


def _sentence(evidence: Evidence, grade: Grade) -> str:
    match grade:
        case "sound":
            return _complete(evidence)
        case "plausible":
            return _all_determined(evidence)
        case "weak":
            return _weak(evidence)
        case "failing":
            return _broken(evidence)
        case "untested":
            return _not_enough(evidence)


def reasons(evidence: Evidence) -> tuple[str, ...]:
    """Why, in a few sentences, what matters most first."""
    found = [
        _identifier_reason(evidence),
        _values_reason(evidence.factors),
        _pairs_reason(evidence.coverage),
        _island_reason(evidence),
        _leverage_reason(evidence.leverage),
        _dependence_reason(evidence.dependence),
        _redundancy_reason(evidence.redundancy),
        _left_out_reason(evidence),
        evidence.weightless,
        _uncounted_reason(evidence),
    ]
    return tuple(reason for reason in found if reason)


def _seen(counts: Counts) -> str:
    return f"{counts.seen:,} of {counts.space:,} combinations {_verb(counts.seen, 'was', 'were')} seen."


def _complete(evidence: Evidence) -> str:
    counts = evidence.counts
    if counts.novel:
        return f"{_seen(counts)} Of the values that were seen, every combination was."
    return f"All {counts.seen:,} combinations were seen. Nothing is left to work out."


def _others(counts: Counts) -> str:
    unseen = counts.determined + counts.undetermined
    if counts.novel:
        return f"Another {unseen:,}"
    return "The other one" if unseen == 1 else f"The other {unseen:,}"


def _all_determined(evidence: Evidence) -> str:
    counts = evidence.counts
    return f"{_seen(counts)} {_others(counts)} can {'' if counts.determined == 1 else 'all '}be worked out from them."


def _weak(evidence: Evidence) -> str:
    start = _all_determined(evidence).removesuffix(".")
    return (
        f"{start}, but {_how_many_weak(evidence.leverage)}only weakly: less certain than one single example would be."
    )


def _how_many_weak(measured: LeverageSummary | None) -> str:
    if measured is None or measured.of == 1:
        return ""
    if measured.sampled:
        return f"about {percent(measured.weak / measured.known)} of them "
    return "all of them " if measured.weak == measured.of else f"{measured.weak:,} "


def _broken(evidence: Evidence) -> str:
    counts = evidence.counts
    lost = counts.undetermined
    if counts.determined:
        others = "" if counts.novel else f" of the other {counts.determined + lost:,}"
        middle = f"{counts.determined:,}{others or ' more'} can be worked out from them; {lost:,} cannot"
    else:
        middle = "The other one cannot be worked out" if lost == 1 else f"None of the other {lost:,} can be worked out"
        if counts.novel:
            middle = f"{lost:,} more cannot be worked out from them"
    return f"{_seen(counts)} {middle}, because {_cause(evidence)}."


def _cause(evidence: Evidence) -> str:
    if evidence.island_count > 1:
        return f"the table falls into {evidence.island_count:,} islands that no example connects"
    loose = [name for name, groups in evidence.islands[0].groups.items() if groups > 1]
    return f"the examples do not tell some values of {listing(loose)} apart from the rest"


def _not_enough(evidence: Evidence) -> str:
    counts = evidence.counts
    if counts.seen > evidence.rank:
        start = _all_determined(evidence).removesuffix(".")
        return f"Not enough evidence. {start}, but how firmly {_how_unknown(evidence)}."
    return (
        f"Not enough evidence. {_seen(counts)} On paper they fix {_others(counts).lower()}, "
        "but none of them is to spare: nothing in the table could show such a rule wrong."
    )


def _how_unknown(evidence: Evidence) -> str:
    measured = evidence.leverage
    if measured is None:
        return "was not measured: none of them was among the combinations drawn"
    tried = measured.known + measured.unknown
    if tried == 1:
        return "is not known"
    return f"is not known for {measured.unknown:,} of {'' if measured.sampled else 'the '}{tried:,}" + (
        " drawn at random" if measured.sampled else ""
    )


def _values_reason(factors: Sequence[FactorCoverage]) -> str | None:
    gaps = [f"{f.values - f.seen:,} of {f.values:,} values of {f.name}" for f in factors if f.seen < f.values]
    if gaps:
        return f"Never seen: {listing(gaps)}."
    lone = [(f.name, f.rarest[0].value) for f in factors if f.rarest and f.rarest[0].count == 1]
    return (
        f"Every value was seen, but {lone[0][0]} {lone[0][1]!r} only once."
        if lone
        else "Every value was seen more than once."
    )


def _pairs_reason(coverage: Sequence[OrderCoverage]) -> str | None:
    pairs = next((c for c in coverage if c.order == 2), None)
    return (
        f"{percent(pairs.share)} of the possible pairs of values were seen ({pairs.seen:,} of {pairs.possible:,})."
        if pairs
        else None
    )


def _island_reason(evidence: Evidence) -> str:
    if evidence.island_count == 1:
        return "All values hang together in one island."
    sizes = [f"{island.combinations:,}" for island in evidence.islands[:5]]
    sizes = [*sizes, "fewer"] if evidence.island_count > 5 else sizes
    return f"{evidence.island_count:,} islands, with {listing(sizes)} seen combinations: nothing is known across them."


def _leverage_reason(measured: LeverageSummary | None) -> str | None:
    if measured is None:
        return None
    lost = (
        f"For {measured.unknown:,} the leverage is not known: their equations lose their digits. They count as neither "
        "firm nor weak."
        if measured.unknown
        else ""
    )
    if measured.median is None or measured.worst is None:
        return lost
    scope = f"in a random sample of {measured.known:,}" if measured.sampled else "of what can be worked out"
    numbers = f"median {measure(measured.median)}, worst {measure(measured.worst)}"
    return f"Leverage {scope}: {numbers} (1 is as uncertain as one example). {lost}".rstrip()


def _dependence_reason(pairs: Sequence[Dependence]) -> str | None:
    if not pairs:
        return None
    strongest = pairs[0]
    if strongest.cramers_v < 0.1:
        return "No two factors tell much of each other (Cramér's V below 0.1, chance taken away)."
    a, b = strongest.factors
    return f"{a} and {b} depend on each other most: Cramér's V {strongest.cramers_v:.2f}."


def _redundancy_reason(found: Redundancy | None) -> str | None:
    if found is None or not found.parts:
        return found.nothing if found is not None else None
    best = found.parts[0]
    name, of = best.factors[0], "accuracy" if found.kind == "label" else "R²"
    return (
        f"{name} alone tells {percent(best.told)} of {found.target}: {of} {measure(best.score_left_out)} "
        f"without any other factor ({measure(found.baseline)} by guessing). A model could lean on it."
    )


def _identifier_reason(evidence: Evidence) -> str | None:
    many = [factor.name for factor in evidence.factors if factor.seen > 100 and factor.seen > 0.5 * evidence.rows]
    return f"{listing(many)}: nearly every row has a value of its own. Is that an identifier?" if many else None


def _uncounted_reason(evidence: Evidence) -> str | None:
    if len(evidence.factors) < 3 or any(covered.order == 3 for covered in evidence.coverage):
        return None
    return f"Triples were not counted: {len(evidence.factors)} factors make too many of them."


def _left_out_reason(evidence: Evidence) -> str | None:
    if not evidence.rows_left_out:
        return None
    return f"{evidence.rows_left_out:,} of {evidence.rows:,} rows miss a factor and were left out."


def _verb(count: int, one: str, many: str) -> str:
    return one if count == 1 else many
