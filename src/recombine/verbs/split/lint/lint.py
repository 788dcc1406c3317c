"""Lint: hold a split that somebody already has to its claim, and say where it breaks its word.

Everything comes from one GROUP BY, in which the side is one more factor; rows on both sides take one more.
"""

from collections.abc import Sequence
from typing import Any, Unpack

import duckdb
import numpy as np

from recombine.base.argument_kinds import explain_kinds
from recombine.base.checks import check_known
from recombine.base.errors import BeyondMemory, RecombineError
from recombine.base.grades import Grade
from recombine.base.progress import Progress, of_step
from recombine.base.records import Provenance
from recombine.base.words import amount, listing
from recombine.data.engine import sniffing_again, unreadable
from recombine.data.set_columns import named_factors, set_columns
from recombine.data.split_sides import SIDES, SplitColumn
from recombine.data.stored_sides import count_stored_sides
from recombine.data.table_query import declared_bins
from recombine.verbs.split.checker import SEEN, digest
from recombine.verbs.split.lint import claims, duplicate_rows, side_checks
from recombine.verbs.split.lint.claims import Expectation
from recombine.verbs.split.lint.lint_result import Claim, Lint, LintCheck, SideCount
from recombine.verbs.split.lint.side_counts import (
    EVERY_SIDE,
    NO_SIDE,
    TEST,
    Sided,
    SplitPart,
    SplitQuery,
    SplitReading,
    count_sides,
    open_split,
    parts_of,
)
from recombine.verbs.split.lint.stored_lint import lint_stored

_SETTINGS = ["factors", "split", "train", "test", "validation", "against", "id", "target", "expect"]

_HELD = {
    "rows": "no row is on two sides",
    "combinations": "no test combination is in training, and every test value is",
    "conjunctions": "every test combination holds a conjunction of {order} values that training never shows",
    "values": "every test row holds a value that training never shows",
}
_PROVES = {
    "rows": ("rows",),
    "combinations": ("combinations",),
    "conjunctions": ("combinations", "conjunctions"),
    "values": ("combinations", "values"),
}
_FAULT = {
    "combinations": "test combinations are in training",
    "conjunctions": "test combinations hold no new conjunction",
    "values": "test values are not in training",
    "rows": "rows are on two sides",
    "validation": "validation holds test rows",
    "classes": "the shares of the classes are off",
    "sides": "rows belong to no side",
    "seen": "rows marked as seen are of combinations that training lacks",
}


@explain_kinds
def lint(  # noqa: PLR0913 - each is one plain question, and all but two have an answer already
    source: Any = None,
    *,
    factors: Sequence[str] = (),
    target: str | None = None,
    split: str | SplitColumn = "split",
    train: Any = None,
    test: Any = None,
    validation: Any = None,
    against: Sequence[Any] = (),
    id: str | None = None,  # noqa: A002 - what everybody calls it
    expect: Claim | Expectation = "combinations",
    progress: Progress | None = None,
    **reading: Unpack[SplitReading],
) -> Lint:
    """Hold a split to the claim `expect`: what is new in each test row.

    The split is a column of `source`, or lies in several tables: `train`, `test` and perhaps `validation`. `against`
    lists more tables that were trained on. Where the column's words are not the usual ones, `split` says what they
    mean: `SplitColumn("split", test=["unseen"])`. `id` names what tells rows apart. `target` adds the shares of the
    classes. An `Expectation` says more of the claim: of which order, and how strictly.
    `where`, `bins`, `sets`, `missing` and `table` are those of `recombine.read`: the same set in another order is the
    same set, and what training must show of a set is each of its elements.

    >>> before = {"drug": ["a", "a", "b"], "cell": ["k", "l", "k"]}
    >>> found = lint(train=before, test={"drug": ["b", "b"], "cell": ["l", "k"]}, factors=["drug", "cell"])
    >>> found["combinations"].sentence.split(". ")[0]
    '1 of 2 test combinations is in training too, with 1 of 2 test rows'
    """
    check_known(reading, [*_SETTINGS, *SplitReading.__annotations__], who="a lint")
    expectation = expect if isinstance(expect, Expectation) else Expectation(expect)
    read_from = set_columns(reading.get("sets"))
    query = SplitQuery(
        factors=named_factors(factors, read_from),
        sets=read_from,
        target=target,
        where=reading.get("where"),
        bins=declared_bins(reading.get("bins")),
        missing=reading.get("missing", "leave out"),
        table=reading.get("table"),
        column=split if isinstance(split, SplitColumn) else SplitColumn(split),
        id=id,
    )
    expectation.check(query.factors, sets=tuple(read_from))
    parts = parts_of(source, {"train": train, "validation": validation, "test": test}, against)
    counting = of_step(progress, "counting the sides")
    settings = _settings(query, expectation)
    try:
        name, sided, identity = sniffing_again(lambda sniff_all: _count(parts, query, counting, sniff_all=sniff_all))
    except duckdb.ConversionException as error:
        raise unreadable(str(parts[0].source), error) from error
    except BeyondMemory as error:
        if len(parts) > 1 or read_from or query.id or query.target or expectation.claim != "combinations":
            raise
        sides = count_stored_sides(
            source,
            factors=query.factors,
            split=query.column,
            where=query.where,
            bins=query.bins,
            table=query.table,
            progress=progress,
        )
        said = settings | {"counted": f"on disk: {error.what}"}
        made = Provenance(source=sides.name, settings=said, command=reading.get("command"))
        return lint_stored(sides, factors=query.factors, provenance=made)
    checks = _checks(sided, identity, expectation, id)
    return Lint(
        verdict=_verdict(sided, checks, expectation),
        grade=_grade(checks),
        expect=expectation.claim,
        order=expectation.order,
        factors=sided.factors,
        rows=sided.support.rows,
        combinations=len(sided.whole),
        sides=tuple(
            SideCount(side, tuple(map(str, sided.raw(side))), sided.rows(place), int(sided.on(place).sum()))
            for place, side in enumerate(EVERY_SIDE)
            if side in SIDES or sided.rows(place)
        ),
        checks=checks,
        digest=_digest(sided),
        provenance=Provenance(source=name, settings=settings, command=reading.get("command")),
    )


def _settings(query: SplitQuery, expectation: Expectation) -> dict[str, Any]:
    """What was asked, as it is saved with the result."""
    settings = query.settings() | {
        "split": query.column.name,
        "expect": expectation.claim,
        "order": expectation.order,
        "class_tolerance": expectation.class_tolerance,
    }
    rare = {"id": query.id, "cold": list(expectation.cold)}
    return settings | {name: value for name, value in rare.items() if value}


def _count(
    parts: Sequence[SplitPart], query: SplitQuery, counting: Any, *, sniff_all: bool
) -> tuple[str, Sided, duplicate_rows.Identity]:
    """The table's name, its combinations by side, and which rows stand on several."""
    with open_split(parts, query, sniff_all=sniff_all) as (open_table, side):
        try:
            sided = count_sides(open_table, side, query, counting)
            identity = duplicate_rows.identify(open_table, side, sided, query, counting)
        except (RecombineError, duckdb.ConversionException):
            raise
        except Exception as error:
            raise unreadable(open_table.name, error, engine=open_table.backend.name) from error
        return open_table.name, sided, identity


def _checks(
    sided: Sided, identity: duplicate_rows.Identity, expectation: Expectation, id_: str | None
) -> tuple[LintCheck, ...]:
    """Every check, in the order in which they are told."""
    claim = expectation.claim
    return (
        claims.check_combinations(sided, claim),
        claims.check_conjunctions(sided, claim, expectation.order),
        side_checks.check_exchange(sided, claim),
        claims.check_values(sided, claim, tuple(expectation.cold)),
        duplicate_rows.check_rows(identity, claim),
        duplicate_rows.check_ids(identity, sided, id_),
        duplicate_rows.check_validation(sided, identity),
        side_checks.check_classes(sided, expectation.class_tolerance),
        side_checks.check_sides(sided),
        side_checks.check_seen(sided),
        side_checks.check_sizes(sided),
        side_checks.check_missing(sided),
        side_checks.check_reach(sided),
    )


def _digest(sided: Sided) -> str:
    """Which combination is on which sides; rows kept apart as seen are of training combinations."""
    counts = sided.counts.copy()
    counts[:, 0] += counts[:, EVERY_SIDE.index(SEEN)]
    counts[:, [EVERY_SIDE.index(SEEN), EVERY_SIDE.index(NO_SIDE)]] = 0
    places, side = np.nonzero(counts)
    return digest(sided.whole, side, EVERY_SIDE, places)


def _grade(checks: Sequence[LintCheck]) -> Grade:
    """The worst of what was found; a warning changes nothing."""
    ends = {check.verdict for check in checks}
    return "failing" if "fail" in ends else "untested" if "not enough evidence" in ends else "sound"


def _verdict(sided: Sided, checks: Sequence[LintCheck], expectation: Expectation) -> str:
    """The answer in a sentence."""
    if not sided.on(TEST).any():
        return "There is no test side, so there is nothing to hold the split to."
    claim, failing = expectation.claim, {check.name: check.sentence for check in checks if check.verdict == "fail"}
    broken = [name for name in _PROVES[claim] if name in failing]
    if broken:
        return f"This split does not hold out {claim}. {failing[broken[0]].split('. ')[0].rstrip('.')}."
    if failing:
        faults = _FAULT | ({"values": "test rows hold no new value"} if claim == "values" else {})
        told = listing([faults[name] for name in failing])
        return f"This split has {amount(len(failing), 'fault')}: {told}."
    thin = [check.sentence for check in checks if check.verdict == "not enough evidence"]
    if thin:
        return f"There is not enough evidence to pass this split. {thin[0]}"
    rows = amount(sided.rows(TEST), "test row")
    return f"Split check passed on its {rows}: {_HELD[claim].format(order=expectation.order)}."
