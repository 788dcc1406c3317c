"""The same row on two sides, and a validation side that is the test side.

A row is known by its id, where one is named, else by all columns but the split. Columns tell rows apart only if there
are others than the factors and the target, and if rows hardly repeat within a side: two products of one material and
one price are not one product.

DuckDB compares rows by a hash of 64 bits: the rows themselves would be held a second time. Among 10^8 rows two that
differ share one with a chance of 3 in 10,000; what is listed was compared in full.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from typing import Any

import ibis
import numpy as np
import pyarrow as pa

from recombine.base.words import amount, count, listing, percent
from recombine.data import columns
from recombine.data.engine import OpenTable, Progress, run
from recombine.verbs.split.checker import SEEN
from recombine.verbs.split.lint.lint_result import MOST_CULPRITS, Claim, LintCheck, few, is_
from recombine.verbs.split.lint.side_counts import (
    EVERY_SIDE,
    NO_SIDE,
    TEST,
    TRAIN,
    VALIDATION,
    Sided,
    SplitQuery,
    compared_columns,
)

_MOST_REPEATED = 0.5  # rows of a side that repeat others: beyond it, equal columns do not mean the same row
_VALIDATION_IS_TEST = 0.9  # of the test rows: some may have been dropped or repaired on one side
_HASH = "recombine_row"
_SHOWN_COLUMNS = 4  # of a row that is named in a sentence
_SIDES = tuple(side for side in EVERY_SIDE if side != NO_SIDE)
_PAIRS = (("train", "test"), ("train", "validation"), ("train", SEEN), (SEEN, "test"), ("validation", "test"))
_CALLED = {"train": "training"}


@dataclass(frozen=True, eq=False)
class Identity:
    """How many rows and distinct rows each side has, and how many distinct ones two sides share.

    `by` says what a row is known by, `why_not` why rows cannot be told apart, and is empty where they can.
    """

    by: str
    why_not: str = ""
    distinct: dict[str, int] = field(default_factory=dict)
    shared: dict[tuple[str, str], int] = field(default_factory=dict)
    culprits: pa.Table | None = None
    apart: bool = False

    @property
    def known(self) -> bool:
        """Whether rows were compared."""
        return not self.why_not


def identify(open_table: OpenTable, side: str, sided: Sided, query: SplitQuery, progress: Progress | None) -> Identity:
    """Count distinct rows by side, and those that two sides share, by the id or by all columns."""
    if query.id is not None:
        columns.require(open_table.table, [query.id], role="the id")
        return _compare_rows(open_table, side, sided, [query.id], f"the id {query.id!r}", progress)
    names = compared_columns(open_table.table, open_table.backend, side=side)
    # where no combination stands on two sides, no row can, as long as every row holds a whole combination
    if not sided.support.missing_rows and ((sided.counts[:, : len(_SIDES)] > 0).sum(axis=1) <= 1).all():
        return Identity("the combinations", shared=dict.fromkeys(_PAIRS, 0), apart=True)
    if not set(names) - {*query.columns, query.target}:
        return Identity("all columns", "there are no columns but the factors and the target")
    return _compare_rows(open_table, side, sided, names, f"all {len(names)} columns but the split", progress)


def _compare_rows(
    open_table: OpenTable, side: str, sided: Sided, names: Sequence[str], by: str, progress: Progress | None
) -> Identity:
    keys = {f"key_{place}": name for place, name in enumerate(names)}
    table = open_table.table
    if len(names) == 1:  # a row without an id is no other row's twin
        table = table.filter(table[names[0]].notnull())
    hashed = open_table.backend.name == "duckdb" and len(names) > 1
    if hashed:
        table = table.mutate(**{_HASH: ibis.struct({name: table[name] for name in names}).hash()})
    rows = _by_row(table, side, sided, {_HASH: _HASH} if hashed else keys)
    present = {word: rows[f"on_{place}"] > 0 for place, word in enumerate(_SIDES)}
    asked = {f"distinct_{place}": present[word].sum() for place, word in enumerate(_SIDES)}
    asked |= {f"shared_{place}": (present[a] & present[b]).sum() for place, (a, b) in enumerate(_PAIRS)}
    found = run(open_table.backend, rows.aggregate(**asked), progress).to_pylist()[0]
    distinct = {word: int(found[f"distinct_{place}"] or 0) for place, word in enumerate(_SIDES)}
    shared = {pair: int(found[f"shared_{place}"] or 0) for place, pair in enumerate(_PAIRS)}
    why_not = "" if len(names) == 1 else _why_untold(sided, distinct)
    culprits = None
    if any(shared.values()) and not why_not:
        rows = rows.filter(reduce(or_, [present[a] & present[b] for a, b in _PAIRS]))
        if hashed:
            rows = _by_row(table.semi_join(rows, _HASH), side, sided, keys)
        culprits = _list_shared_rows(open_table, rows, names, progress)
    return Identity(by, why_not, distinct, shared, culprits)


def _by_row(table: Any, side: str, sided: Sided, keys: Mapping[str, str]) -> Any:
    """How often each distinct row stands on each side."""
    flags = {
        f"on_{place}": table[side].isin(sided.raw(word)).ifelse(1, 0).sum() if sided.raw(word) else table.count() * 0
        for place, word in enumerate(_SIDES)
    }
    return table.group_by(**{key: table[name] for key, name in keys.items()}).aggregate(**flags)


def _why_untold(sided: Sided, distinct: dict[str, int]) -> str:
    """Why equal columns say nothing: where rows repeat within a side, they are not told apart by them."""
    for place, side in ((TRAIN, "train"), (TEST, "test")):
        rows = sided.rows(place)
        if rows and distinct[side] < (1 - _MOST_REPEATED) * rows:
            told = amount(distinct[side], "different row")
            return f"the {amount(rows, f'{_CALLED.get(side, side)} row')} hold only {told}"
    return ""


def _list_shared_rows(open_table: OpenTable, rows: Any, names: Sequence[str], progress: Progress | None) -> pa.Table:
    """The rows that stand on two sides, by their columns, the worst first."""
    schema = rows.schema()
    shown = [place for place in range(len(names)) if columns.is_plain(schema[f"key_{place}"])]
    keys = [rows[f"key_{place}"].cast("string").name(f"key_{place}") for place in shown]
    sides = [rows[f"on_{place}"].name(f"on_{place}") for place in range(len(_SIDES))]
    listing_ = rows.select(*keys, *sides)
    tested = listing_[f"on_{TRAIN}"] * listing_[f"on_{TEST}"]  # the worst first: most test rows that training shows
    severe = [ibis.desc(tested), ibis.desc(sum(listing_[f"on_{place}"] for place in range(len(_SIDES))))]
    ordered = listing_.order_by([*severe, *(f"key_{place}" for place in shown)])
    found = run(open_table.backend, ordered.limit(MOST_CULPRITS), progress)
    titles = [names[place] for place in shown] + [f"{side}_rows" for side in _SIDES]
    return found.rename_columns(titles)


def check_rows(identity: Identity, expect: Claim) -> LintCheck:
    """Rows of training that are kept apart elsewhere too."""
    name = "rows"
    if identity.apart:
        return LintCheck(name, "pass", "No combination is on two sides, so no row is.")
    if not identity.known:
        said = f"Rows cannot be told apart: {identity.why_not}. Name the column that does, with --id."
        return LintCheck(name, "not enough evidence" if expect == "rows" else "not asked", said)
    culprits = {pair: number for pair, number in identity.shared.items() if number and pair != ("validation", "test")}
    if not culprits:
        return LintCheck(name, "pass", f"No row is on two sides, by {identity.by}.")
    parts = [_overlap(pair, number, identity.distinct) for pair, number in culprits.items()]
    examples = _examples(identity.culprits)
    said = f"By {identity.by}, {listing(parts)}{f', such as {examples}' if examples else ''}."
    return LintCheck(name, "fail", said, sum(culprits.values()), identity.culprits)


def _overlap(pair: tuple[str, str], number: int, distinct: dict[str, int]) -> str:
    one, other = (_CALLED.get(side, side) for side in pair)
    return f"{count(number)} of {amount(distinct[pair[1]], f'{other} row')} {is_(number)} in {one} too"


def _examples(table: pa.Table | None) -> str:
    if table is None or table.num_columns <= len(_SIDES):
        return ""
    columns_ = [column.slice(0, 3).to_pylist() for column in table.columns[: -len(_SIDES)]]
    return few([_written(row) for row in zip(*columns_, strict=True)], min(len(table), 3))


def _written(row: Sequence[str | None]) -> str:
    shown = [("nothing" if value is None else value)[:60] for value in row[:_SHOWN_COLUMNS]]
    more = ", …" if len(row) > _SHOWN_COLUMNS else ""
    return repr(shown[0]) if len(row) == 1 else f"({', '.join(shown)}{more})"


def check_ids(rows: Identity, sided: Sided, identity: str | None) -> LintCheck:
    """Ids that stand several times on one side: told, as a table may hold an example more than once on purpose."""
    if identity is None:
        return LintCheck("ids", "not asked", "No id was named.")
    places = {side: sided.rows(place) for place, side in enumerate(_SIDES)}
    twice = {side: places[side] - rows.distinct[side] for side in _SIDES if places[side] > rows.distinct[side]}
    if not twice:
        return LintCheck("ids", "pass", f"Every row has an id of its own on its side, by {rows.by}.")
    parts = [f"{amount(number, 'row')} in {_CALLED.get(side, side)}" for side, number in twice.items()]
    said = f"Not every row has an id of its own on its side, by {rows.by}: {listing(parts)} repeat one or have none."
    return LintCheck("ids", "warning", said, sum(twice.values()))


def check_validation(sided: Sided, identity: Identity) -> LintCheck:
    """Rows on both the validation and the test side, or the very same combinations in the very same numbers."""
    name = "validation"
    ours, theirs = sided.counts[:, VALIDATION], sided.counts[:, TEST]
    if not ours.any() or not theirs.any():
        return LintCheck(
            name, "not asked", "There is no validation side." if theirs.any() else "There is no test side."
        )
    common = float(np.minimum(ours, theirs).sum() / theirs.sum())
    if identity.known and not identity.apart:
        return _check_validation_rows(identity, common)
    agree = float(np.minimum(ours, theirs).sum() / max(ours.sum(), theirs.sum()))
    if np.array_equal(ours > 0, theirs > 0) and agree >= _VALIDATION_IS_TEST:
        said = (
            f"Validation and test hold the very same {amount(int((theirs > 0).sum()), 'combination')}, "
            f"in numbers that agree to {percent(agree)}. If their rows differ, name the id that tells them apart."
        )
        return LintCheck(name, "fail", said, int((theirs > 0).sum()))
    return LintCheck(name, "pass", f"Validation is not test: {percent(common)} of test has its like in validation.")


def _check_validation_rows(identity: Identity, common: float) -> LintCheck:
    shared, total = identity.shared["validation", "test"], identity.distinct["test"]
    like = f"by combinations, {percent(common)} of test has its like in validation"
    if not shared:
        return LintCheck("validation", "pass", f"No test row is in validation, by {identity.by}; {like}.")
    share = shared / total
    head = "Validation is test" if share >= _VALIDATION_IS_TEST else "Validation holds test rows"
    said = (
        f"{head}: {count(shared)} of {amount(total, 'test row')} ({percent(share)}) {is_(shared)} in both, "
        f"by {identity.by}; {like}."
    )
    return LintCheck("validation", "fail", said, shared, identity.culprits)
