"""What a split claims to be new in each test row, and the checks that hold it to its word.

From the weakest claim to the strongest:

| claim | in every test row, this is new |
|---|---|
| rows | the row itself: an ordinary split |
| combinations | the combination: no test combination is in training, but every value is |
| conjunctions | a conjunction of a given order: values that were never together in training, but each is there |
| values | a value: cold start |
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from recombine.base.checks import check_choice, check_number, check_whole
from recombine.base.errors import SettingError
from recombine.base.words import amount, count, percent
from recombine.numerics.groups import Ints
from recombine.numerics.rows import IncidenceRows, ranges
from recombine.verbs.split.invariants import combination_text
from recombine.verbs.split.lint.lint_result import (
    CLAIMS,
    MOST_CULPRITS,
    Claim,
    LintCheck,
    culprit_table,
    few,
    is_,
    worst_first,
)
from recombine.verbs.split.lint.side_counts import TEST, TRAIN, Sided


@dataclass(frozen=True)
class Expectation:
    """What a split is held to: its claim, and how strictly.

    `order` says how many values a conjunction holds, with the claim `"conjunctions"`. With `"values"`, `cold` names
    factors that must each be new. The share of a class in test may be off by `class_tolerance`.

    >>> Expectation("conjunctions", order=3)
    Expectation(claim='conjunctions', order=3, cold=(), class_tolerance=0.1)
    """

    claim: Claim = "combinations"
    order: int = 2
    cold: Sequence[str] = ()
    class_tolerance: float = 0.1

    def check(self, factors: Sequence[str], *, sets: Sequence[str] = ()) -> None:
        """Refuse what means nothing, or nothing for these factors, some of which are sets."""
        why = "it is not among the claims that a split can be held to"
        check_choice("expect", self.claim, CLAIMS, why=why, instead=f"write one of {', '.join(CLAIMS)}")
        why = f"a conjunction holds values of 2 to {len(factors)} of the factors here"
        most = max(len(factors), 2) if not sets else None
        check_whole("order", self.order, least=2, most=most, why=why, instead="write order=2 (--order 2)")
        check_number(
            "class_tolerance",
            self.class_tolerance,
            least=0,
            most=1,
            why="it is a difference of two shares, which lies between 0 and 1",
            instead="write for example class_tolerance=0.1 (--class-tolerance 0.1)",
        )
        if self.cold and self.claim != "values":
            raise SettingError(
                f"cold={list(self.cold)} with expect={self.claim!r}",
                why="only a cold start says which factors must be new",
                instead="write expect='values' (--expect values), or leave cold out",
            )
        for name in self.cold:
            if name not in factors:
                raise SettingError(
                    f"cold: there is no factor {name!r}",
                    why="it is not among the factors",
                    instead=f"name some of {', '.join(factors)}",
                )


def check_combinations(sided: Sided, expect: Claim) -> LintCheck:
    """Test combinations that are in training too, wholly or in part held out."""
    name, test, train = "combinations", sided.counts[:, TEST], sided.counts[:, TRAIN]
    leaked = worst_first(np.flatnonzero((test > 0) & (train > 0)), test)
    total, rows = int((test > 0).sum()), int(test[leaked].sum())
    if expect == "rows":
        said = f"{count(len(leaked))} of {amount(total, 'test combination')} {is_(len(leaked))} in training too"
        return LintCheck(name, "told", f"{said}, as an ordinary split has it.")
    if not total:
        return LintCheck(name, "not enough evidence", "There are no test rows to look at.")
    if not len(leaked):
        return LintCheck(name, "pass", f"Of {amount(total, 'test combination')}, none is in training.")
    every = len(leaked) == total
    head = (
        f"All of the {amount(total, 'test combination')} {is_(total)} in training: nothing here is unseen"
        if every
        else f"{count(len(leaked))} of {amount(total, 'test combination')} {is_(len(leaked))} in training too, "
        f"with {count(rows)} of {amount(int(test.sum()), 'test row')}"
    )
    parts = [
        f"{count(train[place])} of {amount(int(train[place] + test[place]), 'row')} of "
        f"{combination_text(sided.whole, place)} {is_(int(train[place]))} in training"
        for place in leaked[:3].tolist()
    ]
    table = culprit_table(sided.whole, leaked, training_rows=train, test_rows=test)
    return LintCheck(name, "fail", f"{head}. Partly held out: {few(parts, len(leaked))}.", len(leaked), table)


def check_conjunctions(sided: Sided, expect: Claim, order: int) -> LintCheck:
    """Test combinations of which every conjunction of so many values and elements is in training."""
    name = "conjunctions"
    if expect != "conjunctions":
        return LintCheck(name, "not asked", f"Held to {expect}: conjunctions of some factors may be in training.")
    test = sided.counts[:, TEST]
    asked = np.flatnonzero(test > 0)
    if not len(asked):
        return LintCheck(name, "not enough evidence", "There are no test rows to look at.")
    new = _hold_new(sided, asked, order) if sided.whole.space.set_factors else _meet_anew(sided, asked, order)
    known = worst_first(asked[~new], test)
    what = f"conjunction of {order} {sided.whole.space.effect_unit.replace(' ', 's ')}s"
    if not len(known):
        said = f"Each of the {amount(len(asked), 'test combination')} holds a {what} that training never shows."
        return LintCheck(name, "pass", said)
    said = (
        f"{count(len(known))} of {amount(len(asked), 'test combination')} "
        f"{'holds' if len(known) == 1 else 'hold'} no {what} that training does not show: "
        f"{few([_with_rows(sided, place, test) for place in known[:3].tolist()], len(known))}."
    )
    return LintCheck(name, "fail", said, len(known), culprit_table(sided.whole, known, test_rows=test))


def _meet_anew(sided: Sided, asked: Ints, order: int) -> npt.NDArray[np.bool_]:
    """Which of these combinations hold values of so many factors that never meet in training."""
    new = np.zeros(len(asked), dtype=bool)
    for some in combinations(range(len(sided.factors)), order):
        new |= sided.training.groups(some).lookup(sided.whole.codes[asked]) < 0
    return new


def _hold_new(sided: Sided, asked: Ints, order: int) -> npt.NDArray[np.bool_]:
    """The same of values and elements, of which a set holds several."""
    parts = reduce(IncidenceRows.beside, sided.whole.value_rows)
    owners, key = _conjunctions(parts, order)
    shown = np.isin(key, key[sided.on(TRAIN)[owners]])
    return np.asarray(np.bincount(owners[~shown], minlength=len(parts))[asked] > 0)


def _conjunctions(parts: IncidenceRows, order: int) -> tuple[Ints, Ints]:
    """Every conjunction of so many parts of each row: whose it is, and its number, the same for equal ones.

    >>> owners, key = _conjunctions(IncidenceRows.listed([[0, 1], [0, 1, 2]], width=3), 2)
    >>> owners.tolist(), key.tolist()
    ([0, 1, 1, 1], [0, 0, 1, 2])
    """
    owners, key, last = parts.owners, parts.columns, np.arange(len(parts.columns))
    for _ in range(order - 1):  # each goes on with every later part of its row
        more = parts.starts[owners + 1] - 1 - last
        again = np.repeat(np.arange(len(owners)), more)
        last, owners = ranges(last + 1, more), owners[again]
        # numbered anew each time, so that a number stays below conjunctions x parts
        key = np.unique(key[again] * parts.width + parts.columns[last], return_inverse=True)[1]
    return owners, key


def check_values(sided: Sided, expect: Claim, cold: Sequence[str]) -> LintCheck:
    """Values of test rows that training never shows: wrong when composing is claimed, right in a cold start."""
    if not sided.on(TEST).any():
        return LintCheck("values", "not enough evidence", "There are no test rows to look at.")
    trained = np.flatnonzero(sided.on(TRAIN))
    known = [held.take(trained).counts() > 0 for held in sided.whole.value_rows]
    lost = [held.sums((~seen).astype(np.int64)) > 0 for held, seen in zip(sided.whole.value_rows, known, strict=True)]
    novel = np.stack(lost, axis=1)
    if expect == "values":
        return _check_cold_start(sided, novel, cold)
    return _check_composing(sided, known, int(sided.counts[:, TEST][novel.any(axis=1)].sum()), expect)


def _check_composing(sided: Sided, known: Sequence[npt.NDArray[np.bool_]], rows_hit: int, expect: Claim) -> LintCheck:
    test, factors = sided.counts[:, TEST], sided.whole.space.factors
    lost = []
    for k, held in enumerate(sided.whole.value_rows):
        rows = np.where(known[k], 0, held.back(test))
        labels = factors[k].effect_labels
        lost += [
            (int(rows[value]), factors[k].name, labels[value], k, value) for value in np.flatnonzero(rows).tolist()
        ]
    lost.sort(key=lambda one: (-one[0], one[1:]))
    noun = "element" if sided.whole.space.set_factors else "value"
    if not lost:
        return LintCheck("values", "told" if expect == "rows" else "pass", f"Every test {noun} is in training.")
    listed = [
        f"{factor}={value} ({amount(rows, 'test row')}{_test_sets(sided, k, place)})"
        for rows, factor, value, k, place in lost[:3]
    ]
    where = "complete training rows" if sided.support.missing_rows else "training"
    said = f"{amount(len(lost), noun)} never {'appears' if len(lost) == 1 else 'appear'} in {where}: "
    said += f"{few(listed, len(lost))}."
    named = dict(zip(("test_rows", "factor", "value"), zip(*lost[:MOST_CULPRITS], strict=True), strict=False))
    table = pa.table({name: list(named[name]) for name in ("factor", "value", "test_rows")})
    if expect == "rows":
        return LintCheck("values", "told", said, len(lost), table)
    said += f" {_capital(amount(rows_hit, 'test row'))} cannot be answered by composing."
    return LintCheck("values", "fail", said, len(lost), table)


def _test_sets(sided: Sided, k: int, element: int) -> str:
    """The test sets that hold an element, in words; nothing of an ordinary value."""
    factor, held = sided.whole.space.factors[k], sided.whole.value_rows[k]
    if factor.sets is None:
        return ""
    places = np.unique(held.owners[held.columns == element])
    codes = np.unique(sided.whole.codes[places[sided.on(TEST)[places]], k])
    return f" in {few([factor.label(int(code)) for code in codes[:3]], len(codes))}"


def _check_cold_start(sided: Sided, novel: npt.NDArray[np.bool_], cold: Sequence[str]) -> LintCheck:
    """Every test row must hold a new value: of any factor, or of each that was named."""
    test = sided.counts[:, TEST]
    places = [sided.factors.index(name) for name in cold]
    new = novel[:, places].all(axis=1) if cold else novel.any(axis=1)
    known = worst_first(np.flatnonzero((test > 0) & ~new), test)
    claim = f"a new value of {' and of '.join(cold)}" if cold else "a new value"
    if not len(known):
        return LintCheck("values", "pass", f"Every test row holds {claim}. {_shares(sided, novel, test)}")
    rows = int(test[known].sum())
    said = (
        f"{count(rows)} of {amount(int(test.sum()), 'test row')} {'does' if rows == 1 else 'do'} not hold {claim}: "
        f"{few([_with_rows(sided, place, test) for place in known[:3].tolist()], len(known))}. "
        f"{_shares(sided, novel, test)}"
    )
    return LintCheck("values", "fail", said, len(known), culprit_table(sided.whole, known, test_rows=test))


def _shares(sided: Sided, novel: npt.NDArray[np.bool_], test: Ints) -> str:
    """How much of the test side is new, factor by factor."""
    shares = [
        f"{name} in {percent(float(test[novel[:, k]].sum() / test.sum()))}" for k, name in enumerate(sided.factors)
    ]
    return f"New in test rows: {', '.join(shares)}."


def _with_rows(sided: Sided, place: int, rows: Ints) -> str:
    return f"{combination_text(sided.whole, place)}, {amount(int(rows[place]), 'row')}"


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
