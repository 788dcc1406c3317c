"""Test combinations that training shows the other way round, where two factors can be exchanged.

Drug A with drug B is drug B with drug A: a split that has the one in training and the other in test holds nothing out.
Which factors can be exchanged is known to whoever made the table. Where nobody says so it is suspected aloud, of two
factors that share most of their values; a suspicion changes no grade.
"""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pyarrow as pa

from recombine.algebra.groups import Codes, Ints
from recombine.errors import SettingError
from recombine.splits.linting.linted import Check, Claim, culprit_table, few, is_, named, worst_first
from recombine.splits.linting.sides import TEST, TRAIN, Sided
from recombine.words import amount, count, listing

_LEAST_SHARED = 3  # values: two yes-or-no columns share theirs without meaning the same
_MOST_SUSPECTED = 45  # pairs of factors that are looked at


def check_exchangeable(names: Sequence[str], factors: Sequence[str]) -> None:
    """Two or more of the factors, each once."""
    wrong = [name for name in names if name not in factors]
    if wrong:
        raise SettingError(
            f"exchangeable: there is no factor {wrong[0]!r}",
            why="it is not among the factors",
            instead=f"name some of {', '.join(factors)}",
        )
    if names and len(set(names)) < 2:
        raise SettingError(
            f"exchangeable={list(names)}",
            why="one factor cannot be exchanged with itself",
            instead="name two or more: exchangeable=['p1', 'p2'] (--exchangeable p1,p2)",
        )


def exchanged(sided: Sided, expect: Claim, names: Sequence[str]) -> Check:
    """Test combinations that are in training once the values of some factors may change places."""
    if expect == "rows":
        return Check("exchanged", "not asked", "Held to rows: combinations may be in training, either way round.")
    if names:
        return _held(sided, names)
    suspected = [(pair, turned(sided, pair)) for pair in _alike(sided)]
    pair, culprits = max(suspected, key=lambda one: len(one[1]), default=((), np.zeros(0, dtype=np.int64)))
    if not len(culprits):
        return Check("exchanged", "not asked", "No factors were said to be exchangeable.")
    said = (
        f"{pair[0]} and {pair[1]} share their values, and {_how_many(sided, culprits)} in training the other way "
        f"round, such as {named(sided.whole, int(culprits[0]))}. If the two can be exchanged, this split holds out "
        f"less than it seems: exchangeable=['{pair[0]}', '{pair[1]}'] (--exchangeable {pair[0]},{pair[1]})."
    )
    return Check("exchanged", "warning", said, len(culprits), _table(sided, culprits))


def _held(sided: Sided, names: Sequence[str]) -> Check:
    if not sided.on(TEST).any():
        return Check("exchanged", "not enough evidence", "There are no test rows to look at.")
    culprits = turned(sided, names)
    if not len(culprits):
        total = amount(int(sided.on(TEST).sum()), "test combination")
        return Check("exchanged", "pass", f"Of {total}, none is in training with {listing(list(names))} exchanged.")
    shown = [named(sided.whole, place) for place in culprits[:3].tolist()]
    said = (
        f"{_how_many(sided, culprits)} in training with {listing(list(names))} exchanged: {few(shown, len(culprits))}."
    )
    return Check("exchanged", "fail", said, len(culprits), _table(sided, culprits))


def turned(sided: Sided, names: Sequence[str]) -> Ints:
    """The test combinations that training lacks as they are, and holds in another order of some factors' values."""
    keys = _unordered(sided, [sided.factors.index(name) for name in names])
    known = np.isin(keys, keys[sided.on(TRAIN)])
    culprits = np.flatnonzero(sided.on(TEST) & ~sided.on(TRAIN) & known)
    return worst_first(culprits, sided.counts[:, TEST])


def _unordered(sided: Sided, places: Sequence[int]) -> Ints:
    """A number for each combination, the same for those that differ in the order of some factors' values alone."""
    space = sided.whole.space
    codes: Codes = sided.whole.codes.copy()
    shared = {label: code for code, label in enumerate(sorted({v for k in places for v in space.factors[k].labels}))}
    told = [np.array([shared[label] for label in space.factors[k].labels])[codes[:, k]] for k in places]
    codes[:, list(places)] = np.sort(np.stack(told, axis=1), axis=1)
    return np.asarray(np.unique(codes, axis=0, return_inverse=True)[1]).ravel()


def _alike(sided: Sided) -> list[tuple[str, ...]]:
    """Pairs of factors that have most of their values in common."""
    values = {factor.name: set(factor.labels) for factor in sided.whole.space.factors}
    pairs = list(combinations(values, 2))[:_MOST_SUSPECTED]
    return [
        (one, other)
        for one, other in pairs
        if len(values[one] & values[other]) >= max(_LEAST_SHARED, len(values[one] | values[other]) / 2)
    ]


def _how_many(sided: Sided, culprits: Ints) -> str:
    total = amount(int(sided.on(TEST).sum()), "test combination")
    return f"{count(len(culprits))} of {total} {is_(len(culprits))}"


def _table(sided: Sided, culprits: Ints) -> pa.Table:
    return culprit_table(sided.whole, culprits, test_rows=sided.counts[:, TEST])
