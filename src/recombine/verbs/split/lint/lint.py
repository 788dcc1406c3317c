"""Lint: hold a split that somebody already has to its claim, and say where it breaks its word.

Everything comes from one GROUP BY, in which the side is one more factor; rows on both sides take one more.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypedDict, Unpack

import duckdb
import numpy as np

from recombine.base.checks import check_known
from recombine.base.errors import RecombineError
from recombine.base.grades import Grade
from recombine.base.records import Provenance
from recombine.base.words import amount, count, listing
from recombine.data.columns import Bins
from recombine.data.engine import Progress, sniffing_again, unreadable
from recombine.data.split_sides import SIDES, SplitColumn
from recombine.data.table_query import TableQuery, Where
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
    SplitQuestion,
    count_sides,
    gathered,
    parts_of,
)

_SETTINGS = ["factors", "split", "train", "test", "validation", "against", "id", "target", "expect", "exchangeable"]

_HELD = {
    "rows": "no row is on two sides",
    "combinations": "no test combination is in training, and every test value is",
    "conjunctions": "every test combination holds a conjunction of {order} values that training never shows",
    "values": "every test row holds a value that training never shows",
}
_PROVES = {
    "rows": ("rows",),
    "combinations": ("combinations", "exchanged"),
    "conjunctions": ("combinations", "conjunctions", "exchanged"),
    "values": ("combinations", "values"),
}
_FAULT = {
    "combinations": "test combinations are in training",
    "conjunctions": "test combinations hold no new conjunction",
    "exchanged": "test combinations are in training the other way round",
    "values": "test values are not in training",
    "rows": "rows are on two sides",
    "validation": "validation holds test rows",
    "classes": "the shares of the classes are off",
    "sides": "rows belong to no side",
    "seen": "rows marked as seen are of combinations that training lacks",
}


class LintReading(TypedDict, total=False):
    """How the tables of a split are read: these settings of `recombine.read`, by the same names."""

    where: Where | None
    bins: Mapping[str, Bins] | None
    missing: Literal["leave out", "value"]
    table: str | None


def lint(  # noqa: PLR0913 - each is one plain question, and all but two have an answer already
    source: Any = None,
    *,
    factors: Sequence[str],
    split: str | SplitColumn = "split",
    train: Any = None,
    test: Any = None,
    validation: Any = None,
    against: Sequence[Any] = (),
    id: str | None = None,  # noqa: A002 - what everybody calls it
    target: str | None = None,
    expect: Claim | Expectation = "combinations",
    exchangeable: Sequence[str] = (),
    command: str | None = None,
    progress: Progress | None = None,
    **reading: Unpack[LintReading],
) -> Lint:
    """Hold a split to the claim `expect`: what is new in each test row.

    The split is a column of `source`, or lies in several tables: `train`, `test` and perhaps `validation`. `against`
    lists more tables that were trained on. Where the column's words are not the usual ones, `split` says what they
    mean: `SplitColumn("split", test=["unseen"])`. `id` names what tells rows apart. `target` adds the shares of the
    classes. An `Expectation` says more of the claim: of which order, how strictly. `exchangeable` names factors whose
    values may change places, such as the two drugs of a pair: (A, B) in training then shows (B, A). `where`, `bins`,
    `missing` and
    `table` are those of `recombine.read`.

    >>> before = {"drug": ["a", "a", "b"], "cell": ["k", "l", "k"]}
    >>> found = lint(train=before, test={"drug": ["b", "b"], "cell": ["l", "k"]}, factors=["drug", "cell"])
    >>> found["combinations"].sentence.split(". ")[0]
    '1 of 2 test combinations is in training too, with 1 of 2 test rows'
    """
    names = (factors,) if isinstance(factors, str) else tuple(factors)
    check_known(reading, [*_SETTINGS, *LintReading.__annotations__], who="a lint")
    held_to = expect if isinstance(expect, Expectation) else Expectation(expect)
    question = TableQuery(
        factors=names,
        target=target,
        where=reading.get("where"),
        bins=dict(reading.get("bins") or {}),
        missing=reading.get("missing", "leave out"),
        table=reading.get("table"),
    )
    asked = SplitQuestion(
        factors=names,
        column=split if isinstance(split, SplitColumn) else SplitColumn(split),
        target=target,
        bins=question.bins,
        missing=question.missing,
    )
    held_to.check(names)
    side_checks.check_exchangeable(exchangeable, names)
    parts = parts_of(source, {"train": train, "validation": validation, "test": test}, against)
    looked = _look(parts, asked, question, id, progress)
    provenance = Provenance(source=looked.name, settings=_settings(question, asked, held_to, id), command=command)
    if exchangeable:
        provenance = replace(provenance, settings={**provenance.settings, "exchangeable": list(exchangeable)})
    checks = _checks(looked, held_to, exchangeable, id_=id)
    return _assembled(looked.sided, checks, held_to.claim, held_to.order, provenance)


def _settings(question: TableQuery, asked: SplitQuestion, held_to: Expectation, id_: str | None) -> dict[str, Any]:
    """What was asked, as it is saved with the result."""
    settings = question.settings() | {
        "split": asked.split,
        "expect": held_to.claim,
        "order": held_to.order,
        "class_tolerance": held_to.class_tolerance,
    }
    return settings | {name: value for name, value in (("id", id_), ("cold", list(held_to.cold))) if value}


@dataclass(frozen=True, eq=False)
class _LintAnswers:
    """What the engine was asked, and answered."""

    sided: Sided
    rows: duplicate_rows.Identity
    name: str


def _look(
    parts: Sequence[SplitPart], asked: SplitQuestion, question: TableQuery, id_: str | None, progress: Progress | None
) -> _LintAnswers:
    try:
        return sniffing_again(lambda sniff_all: _look_once(parts, asked, question, id_, progress, sniff_all=sniff_all))
    except duckdb.ConversionException as error:
        raise unreadable(str(parts[0].source), error) from error


def _look_once(
    parts: Sequence[SplitPart],
    asked: SplitQuestion,
    question: TableQuery,
    id_: str | None,
    progress: Progress | None,
    *,
    sniff_all: bool,
) -> _LintAnswers:
    with gathered(
        parts,
        split=asked.split,
        factors=asked.factors,
        target=asked.target,
        identity=id_,
        where=question.where,
        table=question.table,
        sniff_all=sniff_all,
    ) as (open_table, side):
        try:
            sided = count_sides(open_table, side, asked, progress)
            rows = duplicate_rows.identify(
                open_table, side, sided, identity=id_, target=asked.target, progress=progress
            )
        except (RecombineError, duckdb.ConversionException):
            raise
        except Exception as error:
            raise unreadable(open_table.name, error, engine=open_table.backend.name) from error
        return _LintAnswers(sided, rows, open_table.name)


def _checks(
    looked: _LintAnswers, held_to: Expectation, exchangeable: Sequence[str], *, id_: str | None
) -> tuple[LintCheck, ...]:
    sided = looked.sided
    return (
        claims.in_training(sided, held_to.claim),
        claims.in_conjunctions(sided, held_to.claim, held_to.order),
        side_checks.exchanged(sided, held_to.claim, exchangeable),
        claims.new_values(sided, held_to.claim, tuple(held_to.cold)),
        duplicate_rows.on_both_sides(looked.rows, held_to.claim),
        duplicate_rows.repeated_ids(looked.rows, sided, id_),
        duplicate_rows.validation_is_test(sided, looked.rows),
        side_checks.classes(sided, held_to.class_tolerance),
        side_checks.sides(sided),
        side_checks.seen_side(sided),
        side_checks.sizes(sided),
        side_checks.left_out(sided),
        side_checks.reach(sided),
    )


def _assembled(sided: Sided, checks: tuple[LintCheck, ...], expect: Claim, order: int, provenance: Provenance) -> Lint:
    return Lint(
        verdict=verdict_of(sided, checks, expect, order),
        grade=grade_of(checks),
        expect=expect,
        order=order,
        factors=sided.factors,
        rows=sided.support.rows,
        combinations=len(sided.whole),
        sides=_sides(sided),
        checks=checks,
        digest=_digest(sided),
        provenance=provenance,
    )


def _sides(sided: Sided) -> tuple[SideCount, ...]:
    return tuple(
        SideCount(side, tuple(map(str, sided.raw(side))), sided.rows(place), int(sided.on(place).sum()))
        for place, side in enumerate(EVERY_SIDE)
        if side in SIDES or sided.rows(place)
    )


def _digest(sided: Sided) -> str:
    """Which combination is on which sides; rows kept apart as seen are of training combinations."""
    counts = sided.counts.copy()
    counts[:, 0] += counts[:, EVERY_SIDE.index(SEEN)]
    counts[:, [EVERY_SIDE.index(SEEN), EVERY_SIDE.index(NO_SIDE)]] = 0
    places, side = np.nonzero(counts)
    return digest(sided.whole, side, EVERY_SIDE, places)


def grade_of(checks: Sequence[LintCheck]) -> Grade:
    """The worst of what was found; a warning changes nothing."""
    ends = {check.verdict for check in checks}
    return "failing" if "fail" in ends else "untested" if "not enough evidence" in ends else "sound"


def verdict_of(sided: Sided, checks: Sequence[LintCheck], expect: Claim, order: int) -> str:
    """The answer in a sentence."""
    found = {check.name: check for check in checks}
    if not sided.on(TEST).any():
        return "There is no test side, so there is nothing to hold the split to."
    broken = [name for name in _PROVES[expect] if found[name].verdict == "fail"]
    if broken:
        return f"This split does not hold out {expect}. {found[broken[0]].sentence.split('. ')[0].rstrip('.')}."
    grade = grade_of(checks)
    faults = [_fault(check.name, expect) for check in checks if check.verdict == "fail"]
    if grade == "failing":
        return f"This split has {amount(len(faults), 'fault')}: {listing(faults)}."
    if grade == "untested":
        thin = [check.sentence for check in checks if check.verdict == "not enough evidence"]
        return f"There is not enough evidence to pass this split. {thin[0]}"
    rows = f"{count(sided.rows(TEST))} test {'row' if sided.rows(TEST) == 1 else 'rows'}"
    return f"Split check passed on its {rows}: {_HELD[expect].format(order=order)}."


def _fault(name: str, expect: Claim) -> str:
    return "test rows hold no new value" if (name, expect) == ("values", "values") else _FAULT[name]
