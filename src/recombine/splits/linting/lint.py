"""Lint: hold a split that somebody already has to its claim, and say where it breaks its word.

Everything comes from one GROUP BY, in which the side is one more factor; rows on both sides take one more.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import duckdb
import numpy as np

from recombine.checks import check_number
from recombine.errors import RecombineError
from recombine.records import Provenance
from recombine.splits.assignment import SEEN, digest
from recombine.splits.linting import balance, claims, identity
from recombine.splits.linting.check import Check
from recombine.splits.linting.claims import Claim
from recombine.splits.linting.linted import Lint, SideCount
from recombine.splits.linting.sides import EVERY_SIDE, NO_SIDE, Asked, Part, Sided, count_sides, gathered, parts_of
from recombine.splits.linting.wording import grade_of, verdict_of
from recombine.tables.columns import Bins
from recombine.tables.engine import Progress, sniffing_again, unreadable
from recombine.tables.question import Question, Where
from recombine.tables.sides import SIDES, Side


def lint(  # noqa: PLR0913 - each is one plain question, and all but two have an answer already
    source: Any = None,
    *,
    factors: Sequence[str],
    split: str = "split",
    train: Any = None,
    test: Any = None,
    validation: Any = None,
    against: Sequence[Any] = (),
    id: str | None = None,  # noqa: A002 - what everybody calls it
    target: str | None = None,
    expect: Claim = "combinations",
    order: int = 2,
    cold: Sequence[str] = (),
    class_tolerance: float = 0.1,
    sides: Mapping[Side, Sequence[str]] | None = None,
    where: Where | None = None,
    bins: Mapping[str, Bins] | None = None,
    missing: Literal["leave out", "value"] = "leave out",
    table: str | None = None,
    command: str | None = None,
    progress: Progress | None = None,
) -> Lint:
    """Hold a split to the claim `expect`: what is new in each test row.

    The split is a column of `source`, or lies in several tables: `train`, `test` and perhaps `validation`. `against`
    lists more tables that were trained on. `sides` says what the column's words mean where they are not the usual
    ones: `{"test": ["unseen"]}`. `id` names what tells rows apart. With `expect="values"`, `cold` names factors that
    must each be new. `target` adds the shares of the classes, which may differ by `class_tolerance`.

    >>> before = {"drug": ["a", "a", "b"], "cell": ["k", "l", "k"]}
    >>> found = lint(train=before, test={"drug": ["b", "b"], "cell": ["l", "k"]}, factors=["drug", "cell"])
    >>> found["combinations"].sentence.split(". ")[0]
    '1 of 2 test combinations is in training too, with 1 of 2 test rows'
    """
    names = (factors,) if isinstance(factors, str) else tuple(factors)
    asked = Asked(
        factors=names,
        split=split,
        target=target,
        bins=dict(bins or {}),
        missing=missing,
        named={side: tuple((sides or {}).get(side, ())) for side in SIDES},
    )
    question = Question(factors=names, target=target, where=where, bins=asked.bins, missing=missing, table=table)
    claims.check_claim(expect, order, names, cold)
    _check_tolerance(class_tolerance)
    parts = parts_of(source, {"train": train, "validation": validation, "test": test}, against)
    looked = _look(parts, asked, question, id, progress)
    settings = question.settings() | {
        "split": split,
        "expect": expect,
        "order": order,
        "class_tolerance": class_tolerance,
    }
    settings |= {name: value for name, value in (("id", id), ("cold", list(cold))) if value}
    provenance = Provenance(source=looked.name, settings=settings, command=command)
    checks = _checks(looked, expect=expect, order=order, cold=tuple(cold), id_=id, tolerance=class_tolerance)
    return _assembled(looked.sided, checks, expect, order, provenance)


@dataclass(frozen=True, eq=False)
class _Looked:
    """What the engine was asked, and answered."""

    sided: Sided
    rows: identity.Identity
    name: str


def _look(
    parts: Sequence[Part], asked: Asked, question: Question, id_: str | None, progress: Progress | None
) -> _Looked:
    try:
        return sniffing_again(lambda sniff_all: _look_once(parts, asked, question, id_, progress, sniff_all=sniff_all))
    except duckdb.ConversionException as error:
        raise unreadable(str(parts[0].source), error) from error


def _look_once(
    parts: Sequence[Part],
    asked: Asked,
    question: Question,
    id_: str | None,
    progress: Progress | None,
    *,
    sniff_all: bool,
) -> _Looked:
    needed = [*asked.factors, *([asked.target] if asked.target else [])]
    with gathered(
        parts,
        split=asked.split,
        needed=needed,
        identity=id_,
        where=question.where,
        table=question.table,
        sniff_all=sniff_all,
    ) as (lent, side):
        try:
            sided = count_sides(lent, side, asked, progress)
            rows = identity.identify(lent, side, sided, identity=id_, target=asked.target, progress=progress)
        except (RecombineError, duckdb.ConversionException):
            raise
        except Exception as error:
            raise unreadable(lent.name, error, engine=lent.backend.name) from error
        return _Looked(sided, rows, lent.name)


def _checks(
    looked: _Looked, *, expect: Claim, order: int, cold: tuple[str, ...], id_: str | None, tolerance: float
) -> tuple[Check, ...]:
    sided = looked.sided
    return (
        claims.in_training(sided, expect),
        claims.in_conjunctions(sided, expect, order),
        claims.new_values(sided, expect, cold),
        identity.on_both_sides(looked.rows, expect),
        identity.repeated_ids(looked.rows, sided, id_),
        identity.validation_is_test(sided, looked.rows),
        balance.classes(sided, tolerance),
        balance.sides(sided),
        balance.seen_side(sided),
        balance.sizes(sided),
        balance.left_out(sided),
        balance.reach(sided),
    )


def _assembled(sided: Sided, checks: tuple[Check, ...], expect: Claim, order: int, provenance: Provenance) -> Lint:
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


def _check_tolerance(tolerance: float) -> None:
    check_number(
        "class_tolerance",
        tolerance,
        least=0,
        most=1,
        why="it is a difference of two shares, which lies between 0 and 1",
        instead="write for example class_tolerance=0.1 (--class-tolerance 0.1)",
    )
