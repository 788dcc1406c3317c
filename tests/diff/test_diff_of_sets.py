"""Two audits of sets: what is compared is a set, whoever numbered its elements, and what is named are elements."""

from itertools import combinations

import numpy as np
import pytest

import recombine
from recombine.base.errors import SettingError
from recombine.verbs.diff.combination_pairs import MergedSpace
from recombine.verbs.diff.findings import NO_VALUE


def audit_of(given: list[str]) -> recombine.Audit:
    return recombine.audit({"given": given}, sets={"genes": "given:+"})


def rung(audit: recombine.Audit, one: tuple[str, ...]) -> str:
    known = set(audit.support.space.factors[0].sets.elements)
    return audit.explain([(one,)])["rung"][0].as_py() if set(one) <= known else NO_VALUE


@pytest.mark.parametrize("seed", range(12))
def test_every_set_that_changed_is_listed_and_no_other(seed) -> None:
    rng = np.random.default_rng(seed)
    every = [one for size in (1, 2) for one in combinations("ABCDE", size)]
    tables = []
    for letters in ("ABCD", "CBDE" if seed % 2 else "DCBA"):
        mine = [one for one in every if set(one) <= set(letters)]
        drawn = rng.choice(len(mine), 6, replace=False)
        tables.append(["ctrl", *("+".join(rng.permutation(mine[place])) for place in drawn)])
    old, new = map(audit_of, tables)
    found = recombine.diff(old, new)
    told = {
        (tuple(row["genes"].split(" + ")), row["old"], row["new"])
        for row in found.table.to_pylist()
        if row["genes"] != "control"
    }
    expected = set()
    for one in every:
        was, now = rung(old, one), rung(new, one)
        seen = {"seen", "thin"} & {was, now}
        if was != now and (seen or NO_VALUE not in (was, now)):
            expected.add((tuple(sorted(one)), was, now))
    assert {(tuple(sorted(one)), was, now) for one, was, now in told} == expected


def test_elements_are_named_and_sets_of_both_tables_meet() -> None:
    old, new = audit_of(["ctrl", "A", "B+C"]), audit_of(["ctrl", "D", "C+B", "A"])
    found = recombine.diff(old, new)
    (change,) = found.values
    assert (change.factor, change.new_ones, change.gone) == ("genes", ("D",), ())
    both = MergedSpace.of(old.support.space, new.support.space)
    asked = both.space.encode([("C + D",), ("B + C",), ("A + B",)])
    assert both.old.unmerge(asked)[:, 0].tolist()[0] == -1
    back = both.new.merge(both.new.unmerge(asked))
    assert back.tolist() == asked.tolist()
    assert recombine.diff(old, old).table.num_rows == 0
    plain = recombine.audit({"genes": ["A", "B"], "x": [1, 2]}, factors=["genes", "x"])
    beside = recombine.audit({"g": ["A", "B+C"], "x": [1, 2]}, factors=["x"], sets={"genes": "g:+"})
    with pytest.raises(SettingError, match="is a set in the new audit alone"):
        recombine.diff(plain, beside)
