"""The audit as a whole: exact counts, invariance, words, and the way to disk and back."""

import datetime as dt
import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import recombine
from recombine.data.space import Factor, Space
from recombine.data.support import Support
from recombine.verbs.audit.combination_status import rungs
from tests.audit.test_determinacy import DIGIT_PAIRS
from tests.properties import examples
from tests.twins import brute_determined, brute_leverage, digits, every, support_of, supports


def brute_counts(support: Support) -> dict[str, int]:
    """The space divided by listing every combination of it."""
    cells = every(support.space.sizes)
    determined = brute_determined(support)
    seen = {tuple(row) for row in support.codes.tolist()}
    values = [set(column.tolist()) for column in support.codes.T]
    found = dict.fromkeys(("space", "impossible", "seen", "determined", "undetermined", "novel"), 0)
    for cell, fixed, forbidden in zip(cells.tolist(), determined, support.space.is_impossible(cells), strict=True):
        if forbidden:
            found["impossible"] += 1
            continue
        found["space"] += 1
        if tuple(cell) in seen:
            found["seen"] += 1
        elif any(value not in known for value, known in zip(cell, values, strict=True)):
            found["novel"] += 1
        else:
            found["determined" if fixed else "undetermined"] += 1
    return found


@st.composite
def supports_with_impossible(draw) -> Support:
    support = draw(supports())
    patterns = draw(st.lists(st.tuples(*[st.integers(-1, size - 1) for size in support.space.sizes]), max_size=4))
    kept = [row for row in patterns if any(code >= 0 for code in row)]
    kept = [row for row in kept if not Space(support.space.factors, (row,)).is_impossible(support.codes).any()]
    return Support(
        Space(support.space.factors, tuple(sorted(set(kept)))),
        support.codes,
        support.counts,
        rows=support.rows,
    )


@examples(150)
@given(supports_with_impossible())
def test_counts_equal_brute_force(support) -> None:
    audit = recombine.audit(support)
    assert vars(audit.counts) == brute_counts(support) | {"thin": audit.counts.thin}
    counts = audit.counts
    assert counts.seen + counts.determined + counts.undetermined + counts.novel == counts.space


@examples(60)
@given(supports(), st.randoms(use_true_random=False))
def test_relabelled_values_and_reordered_factors_permute_the_audit(support, random) -> None:
    order = random.sample(range(len(support.space.factors)), len(support.space.factors))
    relabel = [random.sample(range(size), size) for size in support.space.sizes]
    codes = np.stack([np.array(relabel[k])[support.codes[:, k]] for k in order], axis=1).astype(np.int32)
    names = support.space.names
    space = Space(tuple(Factor(names[k], tuple(range(support.space.sizes[k])), declared=True) for k in order))
    line = np.lexsort(codes.T[::-1])
    moved = Support(space, np.asfortranarray(codes[line]), support.counts[line], rows=support.rows)
    first, second = recombine.audit(support), recombine.audit(moved)
    assert first.counts == second.counts
    assert (first.grade, first.rank, first.island_count) == (second.grade, second.rank, second.island_count)
    assert {c.order: c.seen for c in first.coverage} == {c.order: c.seen for c in second.coverage}
    cells = every(support.space.sizes)
    there = np.stack([np.array(relabel[k])[cells[:, k]] for k in order], axis=1).astype(np.int32)
    assert (rungs(support, first.determinacy, cells) == rungs(moved, second.determinacy, there)).all()
    named = {name: (d.cramers_v, d.nmi) for d in first.dependence for name in [frozenset(d.factors)]}
    for pair in second.dependence:
        assert named[frozenset(pair.factors)] == pytest.approx((pair.cramers_v, pair.nmi), abs=1e-9)


@examples(25)
@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.sampled_from("xyz"), st.sampled_from("pq")),
        min_size=2,
        max_size=20,
    ),
    st.randoms(use_true_random=False),
)
def test_row_order_does_not_matter(rows, random) -> None:
    if any(len(set(column)) < 2 for column in zip(*rows, strict=True)):
        return
    shuffled = random.sample(rows, len(rows))
    first, second = (
        recombine.audit(
            recombine.read(dict(zip("fgh", map(list, zip(*table, strict=True)), strict=True)), factors=list("fgh"))
        )
        for table in (rows, shuffled)
    )
    assert first.support == second.support
    assert first.record().data == second.record().data


@examples(40)
@given(supports())
def test_the_ladder_equals_brute_force(support) -> None:
    cells = every(support.space.sizes)
    table = recombine.audit(support).explain(cells.tolist())
    seen = {tuple(row): count for row, count in zip(support.codes.tolist(), support.counts, strict=True)}
    width = len(support.space.sizes)
    for cell, row in zip(cells.tolist(), table.to_pylist(), strict=True):
        assert row["count"] == seen.get(tuple(cell), 0)
        assert row["neighbours_seen"] == sum(
            sum(a != b for a, b in zip(cell, other, strict=True)) == 1 for other in seen
        )
        assert row["values_seen"] == sum(any(o[k] == cell[k] for o in seen) for k in range(width))
        assert row["pairs_seen"] == sum(
            any(o[a] == cell[a] and o[b] == cell[b] for o in seen) for a in range(width) for b in range(a)
        )
    expected = brute_leverage(support)
    found = np.array([math.nan if value is None else value for value in table["leverage"].to_pylist()])
    np.testing.assert_allclose(found, expected, atol=1e-7)


def test_explain_takes_tuples_mappings_and_tables_and_calls_a_strange_value_novel() -> None:
    table = {"colour": ["red", "red", "blue"], "shape": ["circle", "square", "circle"]}
    audit = recombine.audit(recombine.read(table, factors=["colour", "shape"]))
    asked = [("blue", "square"), ("green", "circle"), ("red", "circle")]
    as_mappings = [dict(zip(("colour", "shape"), row, strict=True)) for row in asked]
    first = audit.explain(asked)
    assert first["rung"].to_pylist() == ["determined", "novel", "seen"]
    assert first.column_names[:2] == ["colour", "shape"]
    assert first == audit.explain(as_mappings)
    assert first == audit.explain(pa.Table.from_pylist(as_mappings))


@pytest.mark.parametrize(
    ("support", "grade", "words"),
    [
        (digits("00 01 10 11"), "sound", "All 4 combinations were seen: nothing is left"),
        (
            digits("00 01 10"),
            "untested",
            "Not enough evidence: nothing was tested, because no target was named. 3 of 4",
        ),
        (digits("00 11 22 23"), "failing", "falls into 3 islands that no example connects"),
        (digits("000 011 111"), "failing", "on paper they fix 1 of the other 5"),
        (
            support_of(DIGIT_PAIRS),
            "weak",
            "if effects add up, the other 80 follow from them, all of them only weakly",
        ),
        (digits("000 011 101 110 001 010 100"), "plausible", "if effects add up, the other one follows from them."),
    ],
)
def test_the_verdict_in_words(support, grade: str, words: str) -> None:
    audit = recombine.audit(support)
    assert audit.grade == grade
    assert words in audit.verdict


def test_islands_are_named_in_the_users_own_values() -> None:
    table = {"verb": ["run", "run", "eat"], "object": ["race", "shop", "soup"]}
    audit = recombine.audit(recombine.read(table, factors=["verb", "object"]))
    assert [dict(island.values) for island in audit.islands] == [
        {"verb": ("run",), "object": ("race", "shop")},
        {"verb": ("eat",), "object": ("soup",)},
    ]
    assert audit.undetermined_examples[0].combination.keys() == {"verb", "object"}


def test_novel_combinations_are_told_apart_from_undetermined_ones() -> None:
    table = {"size": ["S", "M", "S"], "colour": ["red", "red", "blue"]}
    support = recombine.read(table, factors=["size", "colour"], domain={"size": ["S", "M", "L"]})
    audit = recombine.audit(support)
    assert (audit.counts.space, audit.counts.novel, audit.counts.determined) == (6, 2, 1)
    assert "2 combinations hold a value never seen" in audit.verdict


@examples(20)
@given(supports_with_impossible())
def test_save_and_load_give_the_same_audit(tmp_path_factory, support) -> None:
    audit = recombine.audit(support)
    folder = tmp_path_factory.mktemp("audit") / "saved"
    audit.save(folder)
    loaded = recombine.Audit.load(folder)
    assert loaded == audit
    cells = every(support.space.sizes).tolist()
    assert loaded.explain(cells) == audit.explain(cells)


def test_save_and_load_keep_targets_dates_and_types(tmp_path) -> None:
    table = {
        "flag": [True, False, True, True],
        "day": [dt.date(2026, 1, d) for d in (1, 2, 1, 2)],
        "number": [1, 2, 2, 1],
        "label": ["a", "b", None, "a"],
        "price": [1.5, None, 2.5, 3.0],
    }
    for target in ("label", "price", None):
        support = recombine.read(table, factors=["flag", "day", "number"], target=target, bins={"day": "values"})
        audit = recombine.audit(support)
        audit.save(tmp_path / "saved", force=True)
        loaded = recombine.Audit.load(tmp_path / "saved")
        assert loaded == audit
        assert loaded.support == support
        assert loaded.support.space.factors[1].values == (dt.date(2026, 1, 1), dt.date(2026, 1, 2))


def test_a_notebook_shows_the_sentence_and_no_markup_of_the_data() -> None:
    table = {"<b>": ["x", "x", "y"], "<script>": ["p", "q", "r"]}
    shown = recombine.audit(recombine.read(table, factors=["<b>", "<script>"]))._repr_html_()
    assert "3 of 6 combinations were seen" in shown
    assert "<script>" not in shown


def test_an_audit_with_another_count_is_another_audit() -> None:
    assert recombine.audit(digits("00 01 10")) != recombine.audit(digits("00 01 10 10"))


def star(size: int, factors: int) -> list[tuple[int, ...]]:
    """One combination, and every other value of every factor in its place."""
    return [tuple(v if k == j else 0 for k in range(factors)) for j in range(factors) for v in range(size)]


def test_a_space_of_more_than_2_to_the_63_is_counted_exactly() -> None:
    size = 1600
    audit = recombine.audit(support_of(star(size, 6)))
    seen = 6 * (size - 1) + 1
    assert audit.counts.space == size**6 > 2**63
    assert (audit.counts.seen, audit.counts.determined) == (seen, size**6 - seen)
    assert audit.leverage.sampled


def test_a_large_space_with_two_islands_is_counted_exactly() -> None:
    size = 2000
    rows = star(size, 3) + [(size + a, size + b, size + c) for a, b, c in star(size, 3)]
    counts = recombine.audit(support_of(rows)).counts
    assert counts.seen + counts.determined == 2 * size**3
    assert counts.undetermined == (2 * size) ** 3 - 2 * size**3


def test_a_table_too_loose_to_be_counted_says_so() -> None:
    rows = [(k,) * 6 for k in range(3000)] + [(k, 0, 0, 0, 0, 0) for k in range(1, 3000)]
    with pytest.raises(recombine.RecombineError, match="audit fewer factors at a time"):
        recombine.audit(support_of(rows))


@pytest.mark.parametrize("given", ["products.csv", {"a": ["x"]}, None])
def test_a_table_without_factors_is_refused_in_words(given) -> None:
    with pytest.raises(recombine.RecombineError, match="without factors"):
        recombine.audit(given)


def test_a_combination_without_its_list_is_refused_in_words() -> None:
    table = {"colour": ["red", "red", "blue"], "shape": ["circle", "square", "circle"]}
    audit = recombine.audit(recombine.read(table, factors=["colour", "shape"]))
    with pytest.raises(recombine.RecombineError, match=r"give a list of them"):
        audit.explain(("blue", "square"))


def test_a_missing_value_can_be_asked_for_where_it_counts_as_one() -> None:
    table = {"colour": ["red", None, "blue"], "shape": ["circle", "circle", "square"]}
    audit = recombine.audit(recombine.read(table, factors=["colour", "shape"], missing="value"))
    assert audit.explain([(None, "circle")])["rung"].to_pylist() == ["seen"]


def test_an_identifier_is_pointed_out() -> None:
    table = {"id": [f"row {k}" for k in range(200)], "colour": ["red", "blue"] * 100}
    audit = recombine.audit(recombine.read(table, factors=["id", "colour"]))
    assert "Leave it out of --factors" in audit.reasons[0]
