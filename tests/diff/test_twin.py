"""Planted changes are all found and none is invented: against a brute-force twin on small tables, and on a real one."""

from collections import Counter, defaultdict
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import recombine
from tests.diff.worlds import counted, table
from tests.properties import examples

row = st.tuples(st.sampled_from("pqrs"), st.sampled_from("uvw"), st.sampled_from(["no", "yes"]))
rows = st.lists(row, min_size=2, max_size=14).filter(
    lambda given: all(len({one[k] for one in given}) > 1 for k in (0, 1))
)


def rungs(audit: recombine.Audit) -> dict[tuple[str, ...], str]:
    """Where every combination of a space stands."""
    lines = audit.table.select(["a", "b", "rung"]).to_pylist()
    return {(line["a"], line["b"]): line["rung"] for line in lines}


def commonest(given: list[Any]) -> dict[tuple[str, ...], set[str]]:
    counts: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    for a, b, y in given:
        counts[a, b][y] += 1
    return {cell: {y for y, n in found.items() if n == max(found.values())} for cell, found in counts.items()}


def twin(old: list[Any], new: list[Any], audits: list[recombine.Audit]) -> set[tuple[str, ...]]:
    """What changed, cell by cell, from dictionaries alone."""
    before, after = map(rungs, audits)
    found = set()
    for cell in {*before, *after}:
        was, now = before.get(cell, "no such value"), after.get(cell, "no such value")
        seen = was in ("seen", "thin"), now in ("seen", "thin")
        if seen == (True, False):
            found.add((*cell, "lost", was, now))
        elif seen == (False, True):
            found.add((*cell, "gained", was, now))
        elif was != now and "no such value" not in (was, now):
            found.add((*cell, "rung", was, now))
    answers = commonest(old), commonest(new)
    found |= {
        (*cell, "answer", min(answers[0][cell]), min(answers[1][cell]))
        for cell in answers[0].keys() & answers[1].keys()
        if not answers[0][cell] & answers[1][cell]
    }
    return found


def told(diff: recombine.Diff) -> set[tuple[str, ...]]:
    lines = diff.table.select([*diff.factors, "what", "old", "new"]).to_pylist()
    assert len(lines) == len({tuple(line.values()) for line in lines})
    return {tuple(line.values()) for line in lines}


@given(old=rows, new=rows)
@examples(40)
def test_what_changed_is_what_a_twin_finds(old, new) -> None:
    audits = [recombine.audit(counted(one)) for one in (old, new)]
    found = recombine.diff(*audits)
    assert told(found) == twin(old, new, audits)
    assert recombine.diff(audits[0], audits[0]).unchanged


@pytest.mark.data
def test_planted_changes_of_a_real_table(data) -> None:
    """Waterbirds: combinations taken away, combinations added, and the label of some turned round."""
    factors = ["species", "background_scene"]
    whole = pq.read_table(data / "factors/waterbirds.parquet")
    part = whole.filter(pc.equal(whole["split"], "train")).select([*factors, "bird"])
    old = [tuple(map(str, line.values())) for line in part.to_pylist()]
    seen = Counter((a, b) for a, b, _ in old)
    birds = sorted({bird for *_, bird in old})
    removed = set(sorted(seen)[::30])
    turned = set([cell for cell, _ in seen.most_common() if cell not in removed][:4])
    fresh = {(a, b) for a in {a for a, _ in seen} for b in {b for _, b in seen} if (a, b) not in seen}
    fresh = set(sorted(fresh)[:5])
    new = [
        (a, b, birds[1 - birds.index(bird)] if (a, b) in turned else bird)
        for a, b, bird in old
        if (a, b) not in removed
    ] + [(*cell, birds[0]) for cell in fresh for _ in range(5)]
    names = [*factors, "bird"]
    audits = [recombine.audit(table(rows, names), factors=factors, target="bird") for rows in (old, new)]
    found = recombine.diff(*audits)
    by_what = defaultdict(set)
    for line in found.table.to_pylist():
        by_what[line["what"]].add((line[factors[0]], line[factors[1]]))
    assert by_what["lost"] == removed
    assert by_what["gained"] == fresh
    assert by_what["answer"] == turned
    assert all(line["q"] <= 0.05 for line in found.table.to_pylist() if line["what"] == "answer")
    assert found.grade in ("weak", "failing")
    assert recombine.diff(audits[0], audits[0]).unchanged
