"""Why an audit says what it says, in a few sentences, what matters most first."""

from collections.abc import Sequence

from recombine.base.words import WORSE_THAN_MEAN, amount, listing, measure, percent, percent_range
from recombine.data.misspellings import describe_misspellings
from recombine.numerics.simple_rules import ADDITIVE, MAJORITY
from recombine.verbs.audit.additivity import AdditiveTest
from recombine.verbs.audit.block_holdout import conjunction_names
from recombine.verbs.audit.coverage import FactorCoverage
from recombine.verbs.audit.dependence import Dependence, Redundancy
from recombine.verbs.audit.grade import AuditEvidence
from recombine.verbs.audit.selection_bias import ASSUMPTION, ASSUMPTION_OF_SETS
from recombine.verbs.audit.unseen_combinations import LeverageSummary


def reasons(evidence: AuditEvidence) -> tuple[str, ...]:
    """Why, in a few sentences, what matters most first."""
    found = [
        _identifier_reason(evidence),
        *_additive_reasons(evidence.additive),
        *(() if evidence.vectors is None else evidence.vectors.reasons),
        _assumption(evidence),
        _zeros_reason(evidence),
        _list_reason(evidence),
        _values_reason(evidence.factors),
        _pairs_reason(evidence),
        _island_reason(evidence),
        _leverage_reason(evidence.leverage),
        _dependence_reason(evidence.dependence),
        _redundancy_reason(evidence.redundancy),
        f"{evidence.rows_left_out:,} of {evidence.rows:,} rows miss a factor and were left out."
        if evidence.rows_left_out
        else None,
        *evidence.row_notes,
        describe_misspellings(evidence.misspellings),
        *(one.sentence for one in evidence.sets),
        _alike_reason(evidence),
        _lone_reason(evidence),
        _estimate_reason(evidence),
        _uncounted_reason(evidence),
    ]
    return tuple(reason for reason in found if reason)


def _assumption(evidence: AuditEvidence) -> str | None:
    if not evidence.tested or evidence.selection is not None:
        return None
    return ASSUMPTION_OF_SETS if evidence.sets else ASSUMPTION


def _additive_reasons(test: AdditiveTest | None) -> list[str]:
    if test is None or test.reason is not None or test.explained is None or test.held_out is None:
        return []
    noise, most = "", test.explainable
    if most is not None and most.value < 0.995:
        sure = percent_range(most.low, most.high)
        noise = f" No rule can explain more than {percent(most.value)} ({sure}): the rest is the noise of few rows."
    said = [
        f"Shown all of them, one effect for each {test.unit} explains {percent(test.explained)} of what the "
        f"combinations differ by in {test.target}; held out {_share(test.held_out)}.{noise}"
    ]
    richer = () if test.richer is None else (test.richer,)
    others = [f"{one.name} {_share(one.score)}" for one in sorted((*test.rivals, *richer), key=lambda one: -one.score)]
    lowest = min(one.score for one in (test.rule(ADDITIVE), *test.rivals))
    below = f" (below 0: {WORSE_THAN_MEAN})" if lowest < 0 else ""
    got = "Right" if test.kind == "label" else "Explained"
    drawn = f" drawn of {test.combinations:,}" if test.sampled else ""
    tested = f"{test.tested:,} combinations{drawn}, each held out once"
    said.append(f"{got} on {tested}: {ADDITIVE} {_share(test.rule(ADDITIVE).score)}, {', '.join(others)}{below}.")
    by_rows = test.rule(ADDITIVE).by_rows
    if by_rows is not None and abs(by_rows - test.rule(ADDITIVE).score) >= 0.01:
        other = test.rule(MAJORITY).by_rows or 0.0
        said.append(f"Weighted by rows it gets {percent(by_rows)} right, always the same label {percent(other)}.")
    if test.blocks:
        said.append(
            "What is expected of the unseen ones was tested as they are missing: held out together with all that share "
            f"their values of {conjunction_names(test.blocks)}."
        )
    if test.untestable:
        said.append(f"{test.untestable:,} seen combinations could not be held out: without them their answer is open.")
    return said


def _share(score: float) -> str:
    return percent(score) if score else "nothing"


def _zeros_reason(evidence: AuditEvidence) -> str | None:
    zeros = evidence.zeros
    if zeros is None:
        return None
    return (
        f"{amount(len(zeros.pairs), 'pair')} of values perhaps cannot occur. If so, declare it impossible "
        "(--impossible-out writes a file that --impossible reads); what was only never collected is what to collect."
    )


def _list_reason(evidence: AuditEvidence) -> str | None:
    if not evidence.one_row_each or not evidence.counts.unseen or evidence.additive is not None:
        return None
    return (
        "Every combination has exactly one row: this is a list, not a sample, and does not tell how often they occur. "
        "If it lists all that can occur, nothing is unseen."
    )


def _values_reason(factors: Sequence[FactorCoverage]) -> str | None:
    gaps = [f"{f.values - f.seen:,} of {f.values:,} values of {f.name}" for f in factors if f.seen < f.values]
    if gaps:
        return f"Never seen: {listing(gaps)}."
    lone = [(f.name, f.rarest[0].value) for f in factors if f.rarest and f.rarest[0].count == 1]
    return (
        f"Every value was seen, but {lone[0][0]}={lone[0][1]} only once."
        if lone
        else "Every value was seen more than once."
    )


def _pairs_reason(evidence: AuditEvidence) -> str | None:
    pairs = next((c for c in evidence.coverage if c.order == 2), None)
    if pairs is None:
        return None
    missing, named = pairs.possible - pairs.seen, [str(pair) for pair in evidence.uncovered[:3]]
    more = [f"{missing - len(named):,} more"] if missing > len(named) else []
    without = f", not {listing([*named, *more])}" if named else ""
    return (
        f"{percent(pairs.share)} of the possible pairs of values were seen ({pairs.seen:,} of {pairs.possible:,})"
        f"{without}."
    )


def _island_reason(evidence: AuditEvidence) -> str:
    if evidence.sets:
        return _element_islands(evidence)
    if evidence.island_count == 1:
        return "All values hang together in one island."
    sizes = [f"{island.combinations:,}" for island in evidence.islands[:5]]
    sizes = [*sizes, "fewer"] if evidence.island_count > 5 else sizes
    return f"{evidence.island_count:,} islands, with {listing(sizes)} seen combinations: nothing is known across them."


def _element_islands(evidence: AuditEvidence) -> str:
    """Which elements were given with which; of sets that says nothing yet of what is fixed."""
    if evidence.island_count == 1:
        return "All elements hang together: a chain of seen sets links any two."
    groups = [island for island in evidence.islands if sum(island.sizes.values()) > 1]
    if not groups:
        return "No two elements were seen together."
    first = next(iter(groups[0].values.values()))
    several = f"{evidence.island_count:,} groups of elements were never given across groups"
    return f"{several}; the largest holds {listing([*first[:3], *(['others'] if len(first) > 3 else [])])}."


def _alike_reason(evidence: AuditEvidence) -> str | None:
    if not evidence.alike:
        return None
    one, other = evidence.alike[0]
    return (
        f"{one} and {other} share their values. If their order means nothing, they are one set and not two factors, "
        f"and more may follow: sets={{'pair': ['{one}', '{other}']}} (--exchangeable {one},{other})."
    )


def _lone_reason(evidence: AuditEvidence) -> str | None:
    lone = [one.name for one in evidence.sets if one.by_size[-1].size <= 1]
    return f"No set of {listing(lone)} holds two elements: check what stands between them." if lone else None


def _estimate_reason(evidence: AuditEvidence) -> str | None:
    if all(one.exact for one in evidence.sets):
        return None
    return "How many sets would follow is an estimate from sets drawn of each size: they are too many to be counted."


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
    scope = f"in a random sample of {measured.known:,}" if measured.sampled else "of what would follow"
    numbers = f"median {measure(measured.median)}, worst {measure(measured.worst)}"
    return f"Leverage {scope}: {numbers} (1 is as uncertain as one example). {lost}".rstrip()


def _dependence_reason(pairs: Sequence[Dependence]) -> str | None:
    known = [pair for pair in pairs if pair.cramers_v is not None]
    if not known:
        return None
    strongest = known[0]
    if strongest.cramers_v is None or strongest.cramers_v < 0.1:
        return "No two factors tell much of each other (Cramér's V below 0.1, chance taken away)."
    a, b = strongest.factors
    return f"{a} and {b} depend on each other most: Cramér's V {strongest.cramers_v:.2f}."


def _redundancy_reason(redundancy: Redundancy | None) -> str | None:
    if redundancy is None or not redundancy.parts:
        return redundancy.nothing if redundancy is not None else None
    best = redundancy.shortcut
    if best is None:
        return f"No factor alone tells {redundancy.target} better than guessing does, beyond chance."
    name = best.factors[0]
    if redundancy.kind == "label":
        score = f"gets {percent(best.score_left_out)} of the rows right, guessing {percent(redundancy.baseline)}"
    else:
        score = f"explains {percent(best.score_left_out)} of {redundancy.target} over the rows"
    return f"{name} alone {score}: a model could lean on it as a shortcut."


def _identifier_reason(evidence: AuditEvidence) -> str | None:
    many = [factor.name for factor in evidence.factors if factor.seen > 100 and factor.seen > 0.5 * evidence.rows]
    if not many:
        return None
    return (
        f"{listing(many)}: nearly every row has a value of its own, as an identifier does. Leave it out of --factors: "
        "what occurs once combines with nothing."
    )


def _uncounted_reason(evidence: AuditEvidence) -> str | None:
    if len(evidence.factors) < 3 or any(covered.order == 3 for covered in evidence.coverage):
        return None
    return f"Triples were not counted: {len(evidence.factors)} factors make too many of them."
