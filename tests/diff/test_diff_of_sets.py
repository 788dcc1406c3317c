"""Two audits, or evaluations, of sets: a set is the same whoever numbered it, and what is named are elements."""

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


def answers_of(seed: int, letters: str) -> list[tuple[str, float, float, str]]:
    """Rows of sets in random orders: how each is written, what is true, what was said, and its side."""
    rng = np.random.default_rng(seed)
    every = [one for size in (0, 1, 2) for one in combinations(letters, size)]
    rows = []
    for one in every:
        side = "test" if len(one) == 2 and rng.random() < 0.5 else "train"
        for _ in range(2):
            truth = float(sum(map(ord, one)) % 5)
            rows.append(("+".join(rng.permutation(one)) or "ctrl", truth, truth + rng.normal(), side))
    return rows


def evaluation_of(rows: list[tuple[str, float, float, str]]) -> recombine.Evaluation:
    table = dict(zip(("given", "y", "said", "split"), map(list, zip(*rows, strict=True)), strict=True))
    return recombine.evaluate(table, sets={"genes": "given:+"}, target="y", prediction="said", split="split")


def plainly(rows: list[tuple[str, float, float, str]]) -> dict[frozenset[str], tuple[str, float]]:
    """For each tested set its rung and mean squared error, by hand."""
    known = {frozenset(one.split("+")) for one, _, _, side in rows if side == "train"}
    elements = frozenset().union(*known)
    errors: dict[frozenset[str], list[float]] = {}
    for one, truth, said, side in rows:
        if side == "test":
            errors.setdefault(frozenset(one.split("+")), []).append((said - truth) ** 2)
    rung = {one: "seen" if one in known else "unseen" if one <= elements else "novel" for one in errors}
    return {one: (rung[one], float(np.mean(errors[one]))) for one in errors}


@pytest.mark.parametrize("seed", range(4))
def test_two_evaluations_are_compared_set_by_set(seed, tmp_path) -> None:
    rows = answers_of(seed, "ABCDEF"), answers_of(seed + 50, "FGEDCB" if seed % 2 else "FEDCBA")
    old, new = map(evaluation_of, rows)
    before, after = map(plainly, rows)
    found = recombine.diff(old, new)
    told = {(frozenset(row["genes"].split(" + ")), row["what"]) for row in found.table.to_pylist()}
    expected = {(one, "lost") for one in before.keys() - after.keys()}
    expected |= {(one, "gained") for one in after.keys() - before.keys()}
    expected |= {(one, "rung") for one in before.keys() & after.keys() if before[one][0] != after[one][0]}
    assert {one for one in told if one[1] != "score"} == expected
    assert told
    common = [one for one in before.keys() & after.keys() if before[one][0] == after[one][0] == "unseen"]
    (score,) = (one for one in found.scores if one.name == "unseen")
    assert score.combinations == len(common)
    means = [np.mean([side[one][1] for one in common]) for side in (before, after)]
    assert (score.old, score.new) == pytest.approx(tuple(means))
    loaded = recombine.load(found.save(tmp_path / "diff"))
    assert loaded.verdict == found.verdict
    saved = [one.save(tmp_path / name) for name, one in (("old", old), ("new", new))]
    assert recombine.diff(*saved).verdict == found.verdict
