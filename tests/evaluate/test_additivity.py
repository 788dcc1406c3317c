"""How additive answers are: the published ranks, exact sums, empty and vacuous cases, and every way to compute it."""

import json
from dataclasses import asdict
from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recombine.base.decoding import revive
from recombine.data.support import NumberTarget, Support
from recombine.verbs.evaluate import additivity as module
from recombine.verbs.evaluate.additivity import Additivity, additivity
from recombine.verbs.evaluate.outcomes import Outcomes, Score
from recombine.verbs.predict.diagnosis import SeenParts
from tests.evaluate.test_anatomy import label_outcomes
from tests.properties import examples
from tests.twins import every, support_of

NONE = np.zeros(0, dtype=np.int64)


def number_outcomes(training, codes, said, *, true=None, rows=None):
    """Outcomes of numbers: the mean answer of each tested combination, in the order of the values."""
    codes = np.asarray(codes, np.int32)
    order = np.lexsort(codes.T[::-1])
    said = np.asarray(said, float)[order]
    true = np.zeros(len(said)) if true is None else np.asarray(true, float)[order]
    rows = np.ones(len(said)) if rows is None else np.asarray(rows, float)[order]
    target = NumberTarget("y", rows, true * rows, true**2 * rows)
    errors = (said - true) ** 2
    return Outcomes(
        tested=Support(training.space, np.asfortranarray(codes[order]), rows, target, rows=int(rows.sum())),
        training=training,
        kind="number",
        classes=(),
        combination=NONE,
        truth=NONE,
        said=NONE,
        count=np.zeros(0),
        total=errors * rows,
        squares=errors**2 * rows,
        prediction_total=said * rows,
        score=Score("mse", "lower"),
    )


def split(sizes, unseen):
    cells = every(sizes)
    left = np.array([bool(unseen(*cell)) for cell in cells.tolist()])
    return support_of(cells[~left], sizes=sizes), cells[left]


def context(side):
    """Context dependence: a block of the two features is left out in both contexts."""
    return split((2, 6, 6), lambda c, a, b: a < side and 3 <= b < 3 + side)


TASKS = {
    "CD-1": (context(1), 2, 2),
    "CD-2": (context(2), 6, 8),
    "CD-3": (context(3), 10, 18),
    "TE[5,5], 4 trained": (split((10, 10), lambda a, b: a in (4, 9) and b in (4, 9)), 3, 4),
    "addition, p = 1": (split((9, 9), lambda a, b: a != 4 and b != 4), 15, 64),
}


@pytest.mark.parametrize("name", TASKS)
def test_the_published_ranks(name):
    (training, asked), rank, size = TASKS[name]
    said = np.random.default_rng(0).normal(size=len(asked))
    found = additivity(number_outcomes(training, asked, said))
    assert (found.combinations, found.rank, found.vacuous) == (size, rank, rank == size)
    assert (found.r2 is None) == found.vacuous


def test_a_vacuous_measure_says_so():
    (training, asked), _, _ = TASKS["CD-1"]
    found = additivity(number_outcomes(training, asked, [1.0, -1.0]))
    assert (found.r2, found.adjusted, found.left_out) == (None, None, None)
    assert found.verdict == (
        "Any answers on these 2 unseen combinations would be additive: "
        "a sum over seen conjunctions has 2 free numbers. Nothing can be concluded."
    )


def test_a_sum_is_additive():
    (training, asked), _, _ = TASKS["CD-3"]
    values = np.random.default_rng(0).normal(size=(2, 2, 6))
    context, one, other = asked.T
    said = values[0, context, one] + values[1, context, other]
    found = additivity(number_outcomes(training, asked, said))
    assert (found.r2, found.adjusted, found.left_out) == pytest.approx((1, 1, 1))
    assert found.testable == 18
    assert found.verdict.startswith("The answers on 18 unseen combinations are 100 % additive (R² 1, left-out R² 1;")


def test_an_interaction_is_not():
    """Signs + - - + on a rectangle: what no additive rule can say."""
    (training, asked), _, _ = TASKS["TE[5,5], 4 trained"]
    said = np.where(asked[:, 0] == asked[:, 1], 1.0, -1.0)
    found = additivity(number_outcomes(training, asked, said))
    assert found.r2 == pytest.approx(0)
    assert found.left_out < 0
    assert "are not additive beyond the numbers spent" in found.verdict


def test_noise_is_not_additive_however_well_it_fits():
    (training, asked), _, _ = TASKS["CD-3"]
    found = [
        additivity(number_outcomes(training, asked, np.random.default_rng(seed).normal(size=18))) for seed in range(40)
    ]
    assert np.mean([one.r2 for one in found]) == pytest.approx(9 / 17, abs=0.08)  # bought with nine numbers
    assert np.mean([one.adjusted for one in found]) == pytest.approx(0, abs=0.15)
    assert np.median([one.left_out for one in found]) < 0.1


def test_classes_count_by_their_shares():
    (training, asked), _, _ = TASKS["addition, p = 1"]
    said = (asked[:, 0] > 4).astype(int)  # one factor alone: additive in every class's share
    found = additivity(label_outcomes(training, asked, said, said))
    assert (found.r2, found.rank) == (1.0, 15)
    crossed = ((asked > 4).sum(axis=1) % 2).astype(int)
    assert additivity(label_outcomes(training, asked, crossed, crossed)).r2 == pytest.approx(0)


def test_rows_of_one_combination_are_averaged():
    (training, asked), _, _ = TASKS["addition, p = 1"]
    said = asked.sum(axis=1).astype(float)
    many = number_outcomes(training, asked, said, rows=np.arange(1, 65))
    assert additivity(many) == additivity(number_outcomes(training, asked, said))


def test_nothing_to_add_up():
    training, asked = TASKS["CD-3"][0]
    seen = additivity(number_outcomes(training, training.codes, np.arange(len(training))))
    assert seen.verdict == "No unseen combination was tested, so there is nothing to add up."
    assert (seen.combinations, seen.r2, seen.rank) == (0, None, None)
    same = additivity(number_outcomes(training, asked, np.full(18, 3.0)))
    assert same.verdict == ("The answers on all 18 unseen combinations are the same: there is nothing to explain.")
    assert same.r2 is None


def test_what_cannot_be_asked():
    training, asked = TASKS["CD-3"][0]
    given_ = number_outcomes(training, asked, np.arange(18))
    fields = {name: getattr(given_, name) for name in given_.__dataclass_fields__}
    assert additivity(Outcomes(**fields | {"training": None})) is None
    assert additivity(Outcomes(**fields | {"kind": "score", "prediction_total": None})) is None


def test_too_many_are_refused_with_words(monkeypatch):
    training, asked = TASKS["CD-3"][0]
    monkeypatch.setattr(module, "MOST_WORK", 8 * 72 - 1)
    found = additivity(number_outcomes(training, asked, np.arange(18)))
    assert found.r2 is None
    assert found.verdict == (
        "How additive the answers are was not computed: "
        "18 unseen and 54 seen combinations of 3 factors are too many for it."
    )


def test_it_is_plain_data():
    training, asked = TASKS["CD-3"][0]
    found = additivity(number_outcomes(training, asked, np.arange(18)))
    assert revive(Additivity, json.loads(json.dumps(asdict(found), allow_nan=False))) == found


def written_out(training, asked):
    """The design, one column for each seen conjunction of any proper subset of the factors."""
    width = asked.shape[1]
    subsets = chain.from_iterable(combinations(range(width), r) for r in range(width))
    columns = []
    for chosen in map(list, subsets):
        seen = {tuple(row) for row in training.codes[:, chosen].tolist()}
        mine = [tuple(row) for row in asked[:, chosen].tolist()]
        columns += [[float(row == value) for row in mine] for value in sorted(seen & set(mine))]
    return np.array(columns).T


def brute(training, asked, said):
    """Rank, R² and left-out R², each combination left out and foretold by the smallest fit of the others."""
    design = written_out(training, asked)
    rank = int(np.linalg.matrix_rank(design))
    fit = design @ np.linalg.pinv(design) @ said
    r2 = 1 - ((said - fit) ** 2).sum() / ((said - said.mean()) ** 2).sum()
    missed, spread = [], []
    for place in range(len(said)):
        others = np.arange(len(said)) != place
        if np.linalg.matrix_rank(design[others]) == rank:  # else the others say nothing about it
            missed.append(said[place] - design[place] @ np.linalg.pinv(design[others]) @ said[others])
            spread.append(said[place] - said[others].mean())
    left_out = 1 - np.square(missed).sum() / np.square(spread).sum() if spread else None
    return rank, r2, left_out, len(missed)


@st.composite
def splits(draw):
    width = draw(st.integers(2, 4))
    sizes = draw(st.tuples(*[st.integers(2, 4)] * width))
    cells = every(sizes)
    kept = np.array(draw(st.lists(st.booleans(), min_size=len(cells), max_size=len(cells))))
    for k, size in enumerate(sizes):
        for value in range(size):  # every value is seen
            kept[np.flatnonzero(cells[:, k] == value)[0]] = True
    return support_of(cells[kept], sizes=sizes), cells[~kept]


@examples(80)
@given(splits(), st.integers(0, 10**6))
def test_equals_the_design_written_out(drawn, seed):
    training, asked = drawn
    if len(asked) < 2:
        return
    said = np.random.default_rng(seed).normal(size=len(asked))
    found = additivity(number_outcomes(training, asked, said))
    rank, r2, left_out, testable = brute(training, asked, said)
    assert found.rank == rank
    if not found.vacuous:
        assert found.r2 == pytest.approx(r2, abs=1e-8)
        assert found.testable == testable
        assert found.left_out == pytest.approx(left_out, rel=1e-6)


@examples(80)
@given(splits(), st.integers(0, 10**6))
def test_every_way_gives_the_same(drawn, seed):
    training, asked = drawn
    if len(asked) < 2:
        return
    said = np.random.default_rng(seed).normal(size=(len(asked), 2))
    parts = SeenParts.of(training, (1.0,) * 2 ** asked.shape[1], asked)
    one = module._by_combinations(parts, said)
    other = module._by_conjunctions(module._columns(parts), said)
    sums = module._by_sums(parts, said, seed)
    assert one.rank == other.rank
    np.testing.assert_allclose(one.leverage, other.leverage, atol=1e-8)
    np.testing.assert_allclose(one.residual, other.residual, atol=1e-7)
    if asked.shape[1] == 2:
        values = module._by_values(parts, said)
        assert values.rank == one.rank
        np.testing.assert_allclose(one.residual, values.residual, atol=1e-4)
    if sums is not None:
        np.testing.assert_allclose(one.residual, sums.residual, atol=1e-4)
        assert abs(sums.rank - one.rank) <= 6 * sums.rank_error + 1e-6 or len(asked) < 30


def test_a_large_table_by_sums(monkeypatch):
    """Beyond what is written out the rank is an estimate, with its error, and the answer is the same."""
    rng = np.random.default_rng(0)
    cells = every((15, 15, 15))
    kept = rng.random(len(cells)) < 0.5
    training, asked = support_of(cells[kept], sizes=(15, 15, 15)), cells[~kept]
    outcomes = number_outcomes(training, asked, asked.sum(axis=1) + rng.normal(size=len(asked)))
    exact = additivity(outcomes)
    monkeypatch.setattr(module, "MOST_WRITTEN_OUT", 100)
    found = additivity(outcomes)
    assert found.r2 == pytest.approx(exact.r2, abs=1e-6)
    assert 0 < found.rank_error < 0.05 * exact.rank
    assert abs(found.rank - exact.rank) < 4 * found.rank_error
    assert found.left_out is None
    assert "numbers are free" in found.verdict
    assert "about" in found.verdict
    monkeypatch.setattr(module, "_ITERATIONS", 3)
    assert additivity(outcomes).verdict == "How additive the answers are was not computed: the fit did not settle."
