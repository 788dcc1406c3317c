"""Sides that are missing, or swapped, or hold other shares of the classes; and how far training reaches.

The shares of a class on two sides differ by chance, and the unit of chance is the combination: its rows come and go
together. So the difference is held against its spread over combinations (the linearised variance of a ratio), with
Student's quantile for as many combinations as the smaller side has, shared out over the classes (Bonferroni).

Test combinations that training shows the other way round, where two factors can be exchanged.

Drug A with drug B is drug B with drug A: a split that has the one in training and the other in test holds nothing out.
Which factors can be exchanged is known to whoever made the table. Where nobody says so it is suspected aloud, of two
factors that share most of their values; a suspicion changes no grade.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from recombine.base.errors import TableError
from recombine.base.words import amount, count, listing, percent
from recombine.data.space import text
from recombine.data.support import LabelTarget
from recombine.numerics.distributions import student_quantile
from recombine.numerics.groups import Ints, Numbers, totals
from recombine.numerics.hypothesis_tests import bonferroni
from recombine.verbs.audit.combination_status import rungs
from recombine.verbs.audit.determinacy import determinacy
from recombine.verbs.audit.set_coverage import RUNGS, element_rungs
from recombine.verbs.audit.structural_zeros import suspect_zeros
from recombine.verbs.split.checker import SEEN
from recombine.verbs.split.invariants import combination_text
from recombine.verbs.split.lint.lint_result import Claim, LintCheck, culprit_table, few, is_, worst_first
from recombine.verbs.split.lint.side_counts import EVERY_SIDE, TEST, TRAIN, Sided

_BY_FAR = 2  # times as many test rows as training rows: fewer may be meant so
_ERROR = 0.05  # how often a difference that is chance alone may be called more
_FEWEST = 5  # combinations on a side, for its spread to be known at all


def check_sides(sided: Sided) -> LintCheck:
    """Every side is there, and every row is on one."""
    name = "sides"
    lost = dict(sorted(sided.no_side.items(), key=lambda one: (-one[1], one[0])))
    listed = few([f"{word!r} {count(rows)}" for word, rows in list(lost.items())[:3]], len(lost))
    if not sided.on(TEST).any():
        hint = f" Rows of no side: {listed}. Say which of these is the test side: --test-side." if lost else ""
        return LintCheck(name, "not enough evidence", f"The test side is empty.{hint}", sum(lost.values()))
    if lost:
        rows = sum(lost.values())
        said = (
            f"{amount(rows, 'row')} {'belongs' if rows == 1 else 'belong'} to no side: {listed}. "
            "Name their side (--train-side, --validation-side, --test-side), or leave them out with --where."
        )
        table = pa.table({"word": list(lost), "rows": list(lost.values())})
        return LintCheck(name, "fail", said, rows, table)
    there = [f"{side} {count(sided.rows(place))}" for place, side in enumerate(EVERY_SIDE) if sided.rows(place)]
    return LintCheck(name, "pass", f"Every row is on a side: {listing(there)}.")


def check_sizes(sided: Sided) -> LintCheck:
    """A test side much larger than training is often training by another name."""
    train, test = sided.rows(TRAIN), sided.rows(TEST)
    said = f"{amount(train, 'training row')}, {amount(test, 'test row')}."
    if test > _BY_FAR * train:
        return LintCheck("sizes", "warning", f"{said} The test side is by far the larger: are the sides swapped?")
    return LintCheck("sizes", "pass" if test else "not asked", said)


def check_missing(sided: Sided) -> LintCheck:
    """Rows that miss a factor hold no combination, so nothing here speaks of them."""
    lost, rows = sided.support.left_out, sided.support.missing_rows
    twice = f" {sided.support.named_twice}" if sided.support.named_twice else ""
    if not rows:
        return LintCheck("missing", "pass", f"Every row holds a whole combination.{twice}")
    factors = [f"{name} in {count(lost[name])}" for name in sided.factors if name in lost]
    said = f"{amount(rows, 'row')} could not be looked at, as they miss a factor: {listing(factors)}."
    return LintCheck("missing", "warning", f"{said} With --missing value, missing is a value of its own.{twice}", rows)


def check_seen(sided: Sided) -> LintCheck:
    """Rows kept apart as seen must be of combinations that training still holds."""
    place = EVERY_SIDE.index(SEEN)
    seen = sided.on(place)
    if not seen.any():
        return LintCheck("seen", "not asked", "No rows of seen combinations were kept apart.")
    stray = int((seen & ~sided.on(TRAIN)).sum())
    if stray:
        return LintCheck("seen", "fail", f"{amount(stray, 'combination')} marked as seen are not in training.", stray)
    return LintCheck(
        "seen", "pass", f"All {amount(int(seen.sum()), 'combination')} kept apart as seen are in training."
    )


def check_reach(sided: Sided) -> LintCheck:
    """How the test combinations stand to training: seen, determined by it, undetermined, novel."""
    asked = np.flatnonzero(sided.on(TEST))
    if not len(asked) or not sided.on(TRAIN).any():
        return LintCheck("determined", "not asked", "There is nothing to reach for.")
    try:
        found = rungs(sided.training, determinacy(sided.training), sided.whole.codes[asked])
    except TableError as error:
        return LintCheck("determined", "not asked", f"It could not be worked out: {error.what}.")
    names, numbers = np.unique(found, return_counts=True)
    parts = [
        f"{count(int(number))} {name} ({percent(number / len(asked))})"
        for name, number in sorted(zip(names, numbers, strict=True), key=lambda one: -one[1])
    ]
    said = f"To training, the {amount(len(asked), 'test combination')} {'is' if len(asked) == 1 else 'are'}"
    zeros, _ = suspect_zeros(sided.whole)
    never = "" if zeros is None else f" {zeros.sentence}"
    return LintCheck("determined", "told", f"{said}: {listing(parts)}.{_element_rungs(sided, asked)}{never}")


def _element_rungs(sided: Sided, asked: Ints) -> str:
    """By what their elements were measured in, how many test sets there are; nothing without sets."""
    if not sided.whole.space.set_factors:
        return ""
    found = element_rungs(sided.training, sided.whole.codes[asked])
    parts = [f"{rung} {count(number)}" for rung in RUNGS if (number := found.count(rung))]
    return f" Their elements in training: {listing(parts)}."


@dataclass(frozen=True, eq=False)
class Difference:
    """For each class, its share on either side, and the error of their difference over combinations."""

    train: Numbers
    test: Numbers
    error: Numbers
    fewest: int

    @property
    def gap(self) -> Numbers:
        """How far the shares are apart."""
        return np.abs(self.test - self.train)


def class_difference(sided: Sided, target: LabelTarget) -> Difference:
    """Class shares on both sides, with the error of the difference when combinations are the unit."""
    size, classes = len(sided.whole), len(target.classes)
    side = sided.support.codes[target.combination, -1]
    combination = sided.combination[target.combination]
    amounts = [np.where(side == place, target.count, 0.0) for place in (TRAIN, TEST)]
    sums = [float(one.sum()) for one in amounts]
    weight = [totals(combination, one, size) / total for one, total in zip(amounts, sums, strict=True)]
    share = [totals(target.label, one, classes) / total for one, total in zip(amounts, sums, strict=True)]
    pair, place = np.unique(combination * classes + target.label, return_inverse=True)
    within = [totals(place, one, len(pair)) / total for one, total in zip(amounts, sums, strict=True)]
    where, label = np.divmod(pair, classes)
    # what each combination adds to the difference; without rows of a class it still adds what its size calls for
    absent = share[0][label] * weight[0][where] - share[1][label] * weight[1][where]
    squares = totals(label, (absent + within[1] - within[0]) ** 2 - absent**2, classes)
    squares += (
        share[0] ** 2 * (weight[0] ** 2).sum()
        - 2 * share[0] * share[1] * (weight[0] * weight[1]).sum()
        + share[1] ** 2 * (weight[1] ** 2).sum()
    )
    number = int(((weight[0] > 0) | (weight[1] > 0)).sum())
    error = np.sqrt(np.maximum(squares, 0) * number / max(number - 1, 1))
    return Difference(share[0], share[1], error, min(int((one > 0).sum()) for one in weight))


def check_classes(sided: Sided, tolerance: float) -> LintCheck:
    """Class shares of the test side that are off: beyond the tolerance, and beyond chance."""
    target = sided.support.target
    if not isinstance(target, LabelTarget):
        return LintCheck("classes", "not asked", "No target was named.")
    with_label = {int(side) for side in np.unique(sided.support.codes[target.combination, -1])}
    if not {TRAIN, TEST} <= with_label:
        return LintCheck("classes", "not enough evidence", f"One of the sides holds no {target.name}.")
    found = class_difference(sided, target)
    off = np.flatnonzero(found.gap > tolerance)
    worst = off[np.argsort(-found.gap[off], kind="stable")]
    if not len(off):
        largest = percent(float(found.gap.max()))
        said = f"The shares of the classes differ by {largest} at most, within {percent(tolerance)}."
        return LintCheck("classes", "pass", said)
    enough = found.fewest >= _FEWEST
    sure = enough and bool((found.gap[off] > _quantile(found.fewest - 1, len(target.classes)) * found.error[off]).any())
    named = [
        f"{text(target.classes[k])!r} is {percent(found.train[k])} of training, {percent(found.test[k])} of test"
        for k in worst[:3].tolist()
    ]
    said = f"The shares of the classes are off by more than {percent(tolerance)}: {few(named, len(off))}."
    if not sure:
        fewest = amount(found.fewest, "combination")
        said += f" With {fewest} on the smaller side that may be chance: combinations, not rows, are the evidence."
    return LintCheck(
        "classes", "fail" if sure else "not enough evidence", said, len(off), _shares(found, target, worst)
    )


def _shares(difference: Difference, target: LabelTarget, worst: Ints) -> pa.Table:
    return pa.table(
        {
            "class": [text(target.classes[k]) for k in worst.tolist()],
            "training_share": difference.train[worst],
            "test_share": difference.test[worst],
            "error": difference.error[worst],
        }
    )


def _quantile(freedom: int, comparisons: int) -> float:
    """Student's two-sided quantile, shared out over several comparisons.

    >>> round(_quantile(10, 1), 2), round(_quantile(1000, 1), 2)
    (2.23, 1.96)
    """
    return float(student_quantile(1 - bonferroni(_ERROR, comparisons) / 2, freedom))


def check_exchange(sided: Sided, expect: Claim) -> LintCheck:
    """Test combinations that would be in training if two factors that look alike could be exchanged."""
    if expect == "rows":
        return LintCheck("exchanged", "not asked", "Held to rows: combinations may be in training, either way round.")
    suspected = [(pair, _exchanged_combinations(sided, pair)) for pair in sided.whole.space.alike()]
    pair, culprits = max(suspected, key=lambda one: len(one[1]), default=(("", ""), np.zeros(0, dtype=np.int64)))
    if not len(culprits):
        return LintCheck("exchanged", "not asked", "No two factors look as if they could be exchanged.")
    total = amount(int(sided.on(TEST).sum()), "test combination")
    said = (
        f"{pair[0]} and {pair[1]} share their values, and {count(len(culprits))} of {total} {is_(len(culprits))} in "
        f"training the other way round, such as {combination_text(sided.whole, int(culprits[0]))}. If the two can be "
        f"exchanged, this split holds out less than it seems: sets={{'pair': ['{pair[0]}', '{pair[1]}']}} "
        f"(--exchangeable {pair[0]},{pair[1]})."
    )
    table = culprit_table(sided.whole, culprits, test_rows=sided.counts[:, TEST])
    return LintCheck("exchanged", "warning", said, len(culprits), table)


def _exchanged_combinations(sided: Sided, pair: tuple[str, str]) -> Ints:
    """The test combinations that training lacks as they are, and holds with the values of two factors exchanged."""
    one, other = map(sided.whole.space.position, pair)
    factors, moved = sided.whole.space.factors, sided.whole.codes.copy()
    for here, there in ((one, other), (other, one)):
        own = {label: code for code, label in enumerate(factors[there].labels)}
        code = np.array([own.get(label, -1) for label in factors[here].labels], dtype=np.int32)
        moved[:, there] = code[sided.whole.codes[:, here]]
    known = sided.training.groups(range(len(factors))).lookup(moved) >= 0
    culprits = np.flatnonzero(sided.on(TEST) & ~sided.on(TRAIN) & known)
    return worst_first(culprits, sided.counts[:, TEST])
