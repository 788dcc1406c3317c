"""Compound divergence: the measure, against a dictionary twin; the splitter, against every split of small tables."""

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import recombine
from recombine import CompoundDivergence, compound_divergence
from recombine.base.errors import ColumnError, SettingError, TableError
from recombine.verbs.split.checker import Promise, check_split
from recombine.verbs.split.compound_divergence import divergence, parts
from recombine.verbs.split.divergence_search import LEFT_OUT, TEST, TRAIN, DivergenceGoal, _batch, _random_sides, _State
from tests.properties import examples
from tests.twins import every, support_of

SCAN = ["conj", "verb1", "mode1", "dir1", "rep1", "verb2", "mode2", "dir2", "rep2"]
Row = tuple[int, ...]


# The twin: dictionaries and loops, as the paper's definition reads.


def chernoff(train: Counter, test: Counter, alpha: float) -> float:
    train_total, test_total = sum(train.values()), sum(test.values())
    shared = sum((train[k] / train_total) ** alpha * (test[k] / test_total) ** (1 - alpha) for k in train if k in test)
    return 1 - shared


def counted(rows: Iterable[Row], everything: Sequence[Row], orders: Sequence[int], *, weighted: bool) -> Counter:
    found: Counter = Counter()
    for row in rows:
        for order in orders:
            for chosen in itertools.combinations(range(len(row)), order):
                weight = 1 - explained(row, chosen, everything) if weighted else 1
                if weight > 0:
                    found[chosen, tuple(row[k] for k in chosen)] += weight
    return found


def explained(row: Row, chosen: tuple[int, ...], everything: Sequence[Row]) -> float:
    same = [other for other in everything if all(other[k] == row[k] for k in chosen)]
    further = [k for k in range(len(row)) if k not in chosen]
    return max((sum(other[k] == row[k] for other in same) / len(same) for k in further), default=0.0)


def by_hand(
    rows: Sequence[Row], train: Iterable[int], test: Iterable[int], *, orders: Sequence[int], weighted: bool = False
) -> tuple[float, float | None]:
    sides = [[rows[place] for place in side] for side in (train, test)]
    atoms = [counted(side, rows, (1,), weighted=False) for side in sides]
    compounds = [counted(side, rows, orders, weighted=weighted) for side in sides]
    return chernoff(*atoms, 0.5), chernoff(*compounds, 0.1) if all(compounds) else None


@st.composite
def splits(draw: Any) -> tuple[list[Row], list[int], list[int]]:
    width = draw(st.integers(2, 4))
    drawn = draw(st.lists(st.tuples(*[st.integers(0, 2)] * width), max_size=18))
    rows = [(0,) * width, (1,) * width, *drawn]  # a factor that never varies is refused
    sides = draw(st.lists(st.integers(0, 2), min_size=len(rows), max_size=len(rows)))
    sides[0], sides[1] = TRAIN, TEST
    return rows, *([i for i, side in enumerate(sides) if side == wanted] for wanted in (TRAIN, TEST))


def columns(rows: Sequence[Row]) -> dict[str, list[int]]:
    return {f"f{k}": [row[k] for row in rows] for k in range(len(rows[0]))}


@given(splits(), st.booleans(), st.sampled_from([(2,), (2, 3)]))
@examples(60)
def test_the_measure_is_its_twin(split, weighted, orders):
    rows, train, test = split
    orders = tuple(order for order in orders if order <= len(rows[0]))
    names = list(columns(rows))
    found = compound_divergence(columns(rows), train, test, factors=names, orders=orders, weighted=weighted)
    atoms, compounds = by_hand(rows, train, test, orders=orders, weighted=weighted)
    assert found.atoms == pytest.approx(atoms, abs=1e-12)
    assert found.compounds == (None if compounds is None else pytest.approx(compounds, abs=1e-12))


# Known answers


def test_identical_sides_do_not_differ():
    support = support_of(every((3, 3, 2)))
    whole = np.ones(len(support), dtype=bool)
    found = compound_divergence(support, whole, whole, orders=(2, 3))
    assert (found.atoms, found.compounds) == (0, 0)


def test_sides_with_nothing_in_common_differ_wholly():
    support = support_of([[0, 0], [0, 1], [1, 2], [1, 3]])
    found = compound_divergence(support, [0, 1], [2, 3])
    assert (found.atoms, found.compounds) == (1, 1)


def test_the_same_values_in_new_pairs():
    support = support_of(every((2, 2)))
    found = compound_divergence(support, [0, 3], [1, 2])
    assert (found.atoms, found.compounds) == (0, 1)
    assert [line.divergence for line in found.by_factors] == [0, 0, 1]
    assert found.by_factors[2].factors == ("f0", "f1")


def test_a_coefficient_worked_out_by_hand():
    """Training holds 00 three times and 01 once, test 00 once and 01 once."""
    table = {"a": [0, 0, 0, 0, 0, 0, 1], "b": [0, 0, 0, 1, 0, 1, 0]}  # the last row is on no side
    found = compound_divergence(table, [0, 1, 2, 3], [4, 5], factors=["a", "b"])
    assert found.atoms == pytest.approx(1 - (1 + (0.75 * 0.5) ** 0.5 + (0.25 * 0.5) ** 0.5) / 2)
    assert found.compounds == pytest.approx(1 - (0.75**0.1 * 0.5**0.9 + 0.25**0.1 * 0.5**0.9))


def test_counts_are_rows_and_a_mask_is_as_good_as_positions():
    rows = [(0, 0), (0, 0), (0, 1), (1, 0), (1, 1), (1, 1)]
    support = support_of(rows)
    over_rows = compound_divergence(columns(rows), [0, 1, 4, 5], [2, 3], factors=["f0", "f1"])
    over_combinations = compound_divergence(support, [0, 3], np.array([False, True, True, False]))
    assert over_rows == over_combinations
    assert over_rows.train_rows == 4


def test_a_compound_that_a_larger_one_explains_has_no_weight():
    """The third factor copies the first, so every pair with either is explained by the three together."""
    support = support_of([[a, b, a] for a, b in every((2, 2))])
    weights = parts(support, (2,), weighted=True).weight
    assert parts(support, (2,)).sets == ((0, 1), (0, 2), (1, 2))
    assert weights.tolist() == [[0, 0.5, 0]] * 4


def test_weights_that_leave_nothing_are_told_not_scored():
    support = support_of([[0, 0, 0], [1, 1, 1]])
    found = compound_divergence(support, [0], [1], weighted=True)
    assert found.compounds is None
    assert "no compound has weight" in found.verdict
    assert found.data()["compounds"] is None


def test_what_it_says():
    found = compound_divergence(support_of(every((2, 2))), [0, 3], [1, 2])
    sentence = "Compound divergence 1 at atom divergence 0, between 2 training and 2 test rows."
    assert found.verdict == sentence
    assert repr(found) == f"Divergence({sentence!r})"
    assert sentence in found._repr_html_()


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"test": []}, "the test side is empty"),
        ({"train": []}, "the training side is empty"),
        ({"test": [9]}, "positions go from 0 to 3"),
        ({"test": [0.5]}, "float64"),
        ({"test": [True]}, "there are 4 of what it chooses from"),
        ({"orders": ()}, "orders=[]"),
        ({"orders": (1, 2)}, "at least two factors"),
        ({"orders": (3,)}, "there are 2"),
    ],
)
def test_mistakes_in_measuring(asked, words):
    sides = {"train": [0, 3], "test": [1, 2]} | asked
    with pytest.raises(SettingError) as caught:
        compound_divergence(support_of(every((2, 2))), **sides)
    assert words in str(caught.value)


def test_a_table_needs_its_factors_named():
    with pytest.raises(SettingError, match="no factors were given"):
        compound_divergence({"a": [0, 1], "b": [0, 1]}, [0], [1])


# The splitter


def best_by_force(rows: Sequence[Row], train_rows: int, test_rows: int, limit: float) -> float | None:
    """The highest compound divergence within the limit, of all splits that keep every value in training."""
    support = support_of(rows)
    values = [set(column) for column in zip(*rows, strict=True)]
    best = None
    for test in itertools.combinations(range(len(rows)), test_rows):
        rest = [place for place in range(len(rows)) if place not in test]
        for train in itertools.combinations(rest, train_rows):
            if [set(column) for column in zip(*(rows[i] for i in train), strict=True)] != values:
                continue
            found = compound_divergence(support, train, test)
            if found.atoms <= limit + 1e-12 and (best is None or found.compounds > best):
                best = found.compounds
    return best


def small_tables(count: int) -> list[tuple[list[Row], int, int, float]]:
    rng = np.random.default_rng(5)
    drawn = []
    while len(drawn) < count:
        space = every(((3, 3), (2, 2, 3), (2, 2, 2), (4, 3))[rng.integers(4)])
        size = int(rng.integers(6, min(len(space), 12) + 1))
        rows = sorted(tuple(map(int, space[k])) for k in rng.permutation(len(space))[:size])
        leave = int(rng.integers(0, 3)) if size <= 9 else 0
        test = int(rng.integers(2, size // 2 + 1))
        drawn.append((rows, size - test - leave, test, float(rng.choice([0.02, 0.1, 0.3]))))
    return drawn


@pytest.mark.slow
def test_the_search_finds_the_best_split_of_small_tables():
    found, possible = [], 0
    for rows, train, test, limit in small_tables(40):
        best = best_by_force(rows, train, test, limit)
        names = [f"f{k}" for k in range(len(rows[0]))]
        splitter = CompoundDivergence(
            factors=names, train_size=train, test_size=test, leave_out=True, atom_limit=limit, tries=4, rounds=120
        )
        support = support_of(rows)
        if best is None:
            with pytest.raises(SettingError):
                splitter.assignment(support)
            continue
        possible += 1
        try:
            sides = splitter.assignment(support)
        except SettingError:
            continue
        measured = compound_divergence(support, sides.train, sides.test)
        assert measured.atoms <= limit
        found.append(measured.compounds >= best - 1e-9)
    assert possible >= 20
    assert sum(found) >= 0.95 * possible


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("leave_out", [False, True])
def test_running_sums_stay_what_they_are(weighted, leave_out):
    """After many exchanges, kept and undone, the ledgers say what counting anew says."""
    rng = np.random.default_rng(3)
    rows = rng.integers(0, 4, size=(400, 4))
    support = support_of(rows)
    sizes = (200.0, 100.0) if leave_out else (300.0, 100.0)
    kinds = parts(support, (1,)), parts(support, (2, 3), weighted=weighted)
    wanted = DivergenceGoal(*kinds, support.counts, *sizes, leave_out, 0.05)
    state = _State(wanted, _random_sides(wanted, rng))
    for step in range(200):
        undo = state.exchange(_batch(state, rng, heat=rng.random(), boldness=1.0))
        if step % 3 == 0:
            state.exchange(undo)
        assert (state.keeping > 0).all()
    train, test = (support.counts * (state.sides == side) for side in (TRAIN, TEST))
    anew = divergence(support, train, test, orders=(2, 3), weighted=weighted)
    assert state.atoms.divergence == pytest.approx(anew.atoms, abs=1e-9)
    assert state.compounds.divergence == pytest.approx(anew.compounds, abs=1e-6 if weighted else 1e-9)
    assert state.rows[TRAIN] == train.sum()
    assert leave_out or not (state.sides == LEFT_OUT).any()


def test_a_side_without_weight_is_no_success():
    """The third factor copies the first in all rows but two: pairs have weight in few combinations."""
    support = support_of([[a, b, a] for a, b in every((3, 3))] + [[0, 0, 1], [0, 1, 2]])
    splitter = CompoundDivergence(factors=FACTORS, test_size=0.3, weighted=True, atom_limit=0.3, tries=2, rounds=100)
    sides = splitter.assignment(support)
    found = compound_divergence(support, sides.train, sides.test, weighted=True)
    assert found.compounds is not None
    assert found.atoms <= 0.3


def test_a_change_is_told_exactly_before_it_is_made():
    rng = np.random.default_rng(4)
    support = support_of(rng.integers(0, 3, size=(150, 4)))
    kinds = parts(support, (1,)), parts(support, (2,), weighted=True)
    wanted = DivergenceGoal(*kinds, support.counts, 60.0, 40.0, True, 0.05)
    state = _State(wanted, _random_sides(wanted, rng))
    before = state.compounds.divergence
    for now, to in itertools.permutations((LEFT_OUT, TRAIN, TEST), 2):
        row = np.flatnonzero(state.sides == now)[:1]
        told = state.compounds.change(row, now, to)[0]
        moved = state.sides.copy()
        moved[row] = to
        assert _State(wanted, moved).compounds.divergence - before == pytest.approx(told, abs=1e-12)


def crossed(values: int = 4, factors: int = 3) -> dict[str, list[int]]:
    return columns([tuple(map(int, row)) for row in every((values,) * factors)])


FACTORS = ["f0", "f1", "f2"]


def test_it_beats_chance_and_keeps_its_promises():
    table = crossed()
    splitter = CompoundDivergence(factors=FACTORS, test_size=0.25, atom_limit=0.02, tries=2, rounds=200)
    ((train, test),) = splitter.split(table)
    check_split(table, train, test, factors=FACTORS, promise=Promise(values=True)).raise_for_breach()
    found = compound_divergence(table, train, test, factors=FACTORS)
    order = np.random.default_rng(0).permutation(64)
    chance = compound_divergence(table, order[16:], order[:16], factors=FACTORS)
    assert len(test) == 16
    assert found.atoms <= 0.02
    assert found.compounds > 3 * chance.compounds


def test_rows_left_out_are_told_from_training():
    support = recombine.read(crossed(), factors=FACTORS)
    splitter = CompoundDivergence(
        factors=FACTORS, train_size=32, test_size=0.125, leave_out=True, tries=1, rounds=150, atom_limit=0.1
    )
    sides = splitter.assignment(support)
    assert (sides.train.sum(), sides.test.sum(), sides.left_out.sum()) == (32, 8, 24)
    ((train, test),) = splitter.split(crossed())
    assert (len(train), len(test)) == (32, 8)


def test_combinations_with_many_rows_stay_whole():
    rng = np.random.default_rng(0)
    rows = [tuple(map(int, row)) for row in every((5, 5, 4)).repeat(rng.integers(1, 30, size=100), axis=0)]
    ((train, test),) = CompoundDivergence(factors=FACTORS, test_size=0.2, tries=1, rounds=300).split(columns(rows))
    assert len(train) + len(test) == len(rows)
    assert not {rows[i] for i in train} & {rows[i] for i in test}
    assert len(test) == pytest.approx(0.2 * len(rows), rel=0.1)


def test_rows_may_have_weights_that_are_no_whole_numbers():
    table = crossed() | {"w": [0.001 * (1 + place % 3) for place in range(64)]}
    support = recombine.read(table, factors=FACTORS, weight="w")
    splitter = CompoundDivergence(factors=FACTORS, test_size=0.25, atom_limit=0.1, tries=1, rounds=150)
    sides = splitter.assignment(support)
    assert support.counts[sides.test].sum() == pytest.approx(0.25 * support.total, rel=0.05)
    assert compound_divergence(support, sides.train, sides.test).atoms <= 0.1


def test_it_works_where_scikit_learn_calls_it():
    model_selection, dummy = pytest.importorskip("sklearn.model_selection"), pytest.importorskip("sklearn.dummy")
    splitter = CompoundDivergence(factors=[0, 1, 2], n_splits=2, tries=1, rounds=30, atom_limit=0.5)
    X, y = every((4, 4, 4)), np.arange(64) % 2  # noqa: N806
    scores = model_selection.cross_validate(dummy.DummyClassifier(), X, y, cv=splitter)
    assert len(scores["test_score"]) == 2


@pytest.mark.slow
def test_the_same_seed_gives_the_same_split_and_a_fold_does_not_depend_on_others():
    def tests(**changed: Any) -> list[list[int]]:
        chosen = {"n_splits": 2, "tries": 1, "rounds": 30, "atom_limit": 0.5} | changed
        return [test.tolist() for _, test in CompoundDivergence(factors=FACTORS, **chosen).split(crossed())]

    assert tests() == tests()
    assert tests()[0] != tests()[1]
    assert tests(n_splits=3)[:2] == tests()
    assert tests(random_state=1) != tests()


def test_permuting_rows_permutes_the_split():
    splitter = CompoundDivergence(factors=FACTORS, tries=1, rounds=50, atom_limit=0.5)
    order = np.random.default_rng(1).permutation(64)
    shuffled = {name: np.array(column)[order].tolist() for name, column in crossed().items()}
    ((_, plain),) = splitter.split(crossed())
    ((_, other),) = splitter.split(shuffled)
    assert sorted(order[other]) == plain.tolist()


def test_it_tells_how_far_it_is():
    told: list[float] = []
    splitter = CompoundDivergence(factors=FACTORS, tries=2, rounds=32, atom_limit=0.5)
    splitter.seek(recombine.read(crossed(), factors=FACTORS), progress=told.append)
    assert told == [0, 0.25, 0.5, 0.75]


def test_its_repr_rebuilds_it():
    splitter = CompoundDivergence(factors=["a", "b", "c"], test_size=0.1, orders=[3, 2], weighted=True, random_state=4)
    assert repr(splitter) == (
        "CompoundDivergence(factors=('a', 'b', 'c'), test_size=0.1, orders=(2, 3), weighted=True, random_state=4)"
    )
    assert eval(repr(splitter)) == splitter


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"test_size": 0.0}, "test_size=0.0\n"),
        ({"test_size": 1.0}, "test_size=1.0\n"),
        ({"test_size": True}, "test_size=True\n"),
        ({"test_size": 0}, "a whole number of rows or a share of them"),
        ({"test_size": 1.5}, "test_size=1.5\n"),
        ({"train_size": -3}, "train_size=-3\n"),
        ({"leave_out": True}, "leave_out=True without train_size"),
        ({"atom_limit": -0.1}, "atom_limit=-0.1\n"),
        ({"atom_limit": "low"}, "atom_limit='low'\n"),
        ({"orders": ()}, "orders=[]"),
        ({"orders": (2, 4)}, "there are 3"),
        ({"orders": 1}, "orders=[1]"),
        ({"tries": 0}, "tries=0\n"),
        ({"rounds": 2.5}, "rounds=2.5\n"),
        ({"random_state": -1}, "random_state=-1\n"),
    ],
)
def test_settings_that_mean_nothing(asked, words):
    with pytest.raises(SettingError) as caught:
        CompoundDivergence(factors=FACTORS, **asked)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"test_size": 65}, "the table has 64 rows"),
        ({"test_size": 64}, "neither side may be empty"),
        ({"test_size": 10, "train_size": 60}, "60 training and 10 test rows"),
        ({"test_size": 10, "train_size": 20}, "leave 34 on no side"),
        ({"test_size": 62}, "the values of 'f2' alone take 4 rows"),
        ({"test_size": 1, "atom_limit": 0.02}, "atom_limit=0.02 was not reached"),
    ],
)
def test_sizes_that_the_table_does_not_have(asked, words):
    splitter = CompoundDivergence(factors=FACTORS, tries=1, rounds=30, **asked)
    with pytest.raises(SettingError) as caught:
        list(splitter.split(crossed()))
    assert words in str(caught.value)


def test_a_limit_out_of_reach_names_the_best_that_was_reached():
    """One test row holds one value of each factor, training all four nearly as often: 1 - √(1/4) at least."""
    splitter = CompoundDivergence(factors=FACTORS, test_size=1, tries=1, rounds=30)
    with pytest.raises(SettingError) as caught:
        list(splitter.split(crossed()))
    assert "the lowest atom divergence found is 0.512" in caught.value.why
    assert "write atom_limit=0.513" in caught.value.instead


def test_one_heavy_combination_is_told():
    rows = [(0, 0)] * 50 + [(1, 1)] * 50 + [(0, 1), (1, 0)]
    with pytest.raises(SettingError, match="combinations stay whole, and they have up to 50 rows"):
        list(CompoundDivergence(factors=["f0", "f1"], test_size=0.25, tries=1, rounds=30).split(columns(rows)))


def test_wrong_tables():
    splitter = CompoundDivergence(factors=["f0", "f9"], tries=1, rounds=5)
    with pytest.raises(ColumnError, match="no column 'f9'"):
        list(splitter.split(crossed()))
    with pytest.raises(TableError, match="no rows"):
        list(CompoundDivergence(factors=["f0", "f1"]).split({"f0": [], "f1": []}))


@pytest.mark.slow
@pytest.mark.data
def test_scan_is_split_further_than_by_the_published_splits(data: Path) -> None:
    """At the published sizes, and at an atom divergence no greater than theirs, each measured with the same code."""
    table = pq.read_table(data / "scan" / "scan_factors.parquet")
    support = recombine.read(table.select(SCAN), factors=SCAN, missing="value")
    for name in ("split_mcd1", "split_mcd2", "split_mcd3"):
        side = np.array(table[name].to_pylist(), dtype=object)
        train, test = np.flatnonzero(side == "train"), np.flatnonzero(side == "test")
        assert (len(train), len(test)) == (8_365, 1_045)
        theirs = compound_divergence(table, train, test, factors=SCAN, missing="value")
        splitter = CompoundDivergence(
            factors=SCAN,
            train_size=8_365,
            test_size=1_045,
            leave_out=True,
            atom_limit=theirs.atoms,
            missing="value",
            tries=1,
            rounds=300,
        )
        sides = splitter.assignment(support)
        ours = compound_divergence(support, sides.train, sides.test)
        assert (ours.train_rows, ours.test_rows) == (8_365, 1_045)
        assert ours.atoms <= theirs.atoms
        assert ours.compounds >= theirs.compounds + 0.02
