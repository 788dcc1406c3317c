"""Every splitter: its promises, chance as an argument, rows in any order, tables of any kind, and errors that teach."""

import time
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline

import recombine
from recombine import (
    CombinationKFold,
    Contract,
    Corner,
    Diagonal,
    Donut,
    HoldOutCombinations,
    HoldOutConjunctions,
    OrthogonalPlanes,
    RecombineError,
    train_test_split,
)
from recombine.base.errors import ColumnError, SettingError, TableError
from recombine.verbs.split.checker import check_split
from recombine.verbs.split.coverage_constraints import kept_to_determine
from tests.properties import examples
from tests.split import twins
from tests.twins import every, support_of

AB = ["a", "b"]


def grid(size: int) -> dict[str, Any]:
    """Every pair of two numbers, once."""
    line = np.arange(size)
    return {"x": np.repeat(line, size), "y": np.tile(line, size)}


def table_of(rows: Any) -> dict[str, list[Any]]:
    return {f"f{k}": [row[k] for row in rows] for k in range(len(rows[0]))}


def toy(rows: int = 240, seed: int = 0) -> pd.DataFrame:
    """Twelve combinations with differing numbers of rows, a class and a feature."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {"a": rng.choice(list("wxyz"), rows, p=[0.4, 0.3, 0.2, 0.1]), "b": rng.choice(list("pqr"), rows)}
    )
    frame["feature"] = rng.normal(size=rows) + (frame["a"] == "w")
    frame["label"] = np.where(frame["feature"] > 0.3, "yes", "no")
    return frame


# -- 200 random tables, every splitter, against the plain twin ------------------------------------------------------


@st.composite
def tables(draw: Any) -> list[tuple[int, ...]]:
    width = draw(st.integers(2, 3))
    row = st.tuples(*[st.integers(0, 3)] * width)
    varied = st.lists(row, min_size=4, max_size=20).filter(
        lambda rows: all(len(set(column)) > 1 for column in zip(*rows, strict=True))
    )
    return draw(varied)


def splitters(factors: list[str], rows: list[tuple[int, ...]], seed: int) -> list[tuple[Any, set[str]]]:
    always = {"sides", "disjoint", "covering", "combinations"}
    conjunction = {factors[0]: rows[0][0], factors[1]: rows[0][1]}
    some = {"random_state": seed}
    return [
        (HoldOutCombinations(factors, test_size=0.3, n_splits=2, **some), always | {"values"}),
        (
            HoldOutCombinations(factors, test_size=0.3, n_splits=2, guarantee="determined", **some),
            always | {"determined"},
        ),
        (HoldOutCombinations(factors, test_size=0.3, n_splits=2, guarantee="none", **some), always),
        (HoldOutConjunctions(factors, conjunctions=[conjunction]), always | {"values"}),
        (HoldOutConjunctions(factors, conjunctions=2, guarantee="none", **some), always),
        (CombinationKFold(factors, n_splits=2, **some), always),
        (CombinationKFold(factors, n_splits=2, guarantee="values", **some), always | {"values"}),
        (Donut(factors, hole=(1, 2)), always | {"values"}),
        (Corner(factors, at=2), always | {"values"}),
        (Diagonal(factors, width=0.4, guarantee="none"), always),
        (OrthogonalPlanes(factors, through=rows[0], guarantee="none"), always),
        (Contract(factors, number=1, least=1, test_size=(0.05, 0.6), **some), always | {"values"}),
    ]


@pytest.mark.slow
def test_every_split_keeps_its_promise_or_is_refused() -> None:
    """200 random tables; a test that only ever saw refusals would prove nothing, so they are counted too."""
    rng = np.random.default_rng(0)
    refusals: dict[int, list[bool]] = {}
    for seed in range(200):
        rows = random_rows(rng)
        factors = [f"f{k}" for k in range(len(rows[0]))]
        support = support_of(rows)
        combination = support.groups(factors).lookup(np.array(rows, dtype=np.int32))
        for place, (splitter, promised) in enumerate(splitters(factors, rows, seed)):
            sides = kept_sides(splitter, support)
            refusals.setdefault(place, []).append(not sides)
            for side in sides:
                train, test = (np.flatnonzero(mask[combination]) for mask in (side.train, side.test))
                assert not twins.breaches(rows, train, test, promised=promised), splitter
    assert all(len(refused) == 200 and np.mean(refused) < 0.8 for refused in refusals.values()), refusals


def random_rows(rng: np.random.Generator) -> list[tuple[int, ...]]:
    """Up to forty rows of two or three factors, each with two values or more."""
    while True:
        rows = rng.integers(0, 4, size=(rng.integers(4, 41), rng.integers(2, 4)))
        if all(len(set(column)) > 1 for column in rows.T.tolist()):
            return [tuple(row) for row in rows.tolist()]


def kept_sides(splitter: Any, support: Any) -> list[Any]:
    """Every fold, or nothing where the splitter refuses."""
    try:
        return [splitter.assignment(support, fold) for fold in range(splitter.get_n_splits())]
    except SettingError:
        return []


def test_folds_with_every_value_are_found_iff_brute_force_finds_them() -> None:
    rng = np.random.default_rng(1)
    for _ in range(150):
        combinations = sorted(set(random_rows(rng)))[:12]
        if any(len(set(column)) < 2 for column in zip(*combinations, strict=True)):
            continue
        support = support_of(combinations)
        splitter = CombinationKFold(list(support.space.names), n_splits=2, guarantee="values")
        assert bool(kept_sides(splitter, support)) == twins.two_folds(combinations)


@given(tables())
@examples(60)
def test_the_largest_share_is_the_largest(rows: list[tuple[int, ...]]) -> None:
    combinations = sorted(set(rows))[:10]
    if any(len(set(column)) < 2 for column in zip(*combinations, strict=True)):
        return
    support = support_of(combinations)
    for guarantee in ("values", "determined"):
        most = twins.most_held_out(combinations, guarantee)
        factors = list(support.space.names)
        if most:
            reached = HoldOutCombinations(factors, test_size=most / len(combinations), guarantee=guarantee)
            assert reached.held_out(support).sum() == most
        too_much = HoldOutCombinations(factors, test_size=(most + 0.9) / (len(combinations) + 0.1), guarantee=guarantee)
        with pytest.raises(SettingError, match="would hold out"):
            too_much.held_out(support)


@given(st.integers(0, 50), st.integers(3, 4))
@examples(30)
def test_a_basis_has_the_rank_of_the_whole_and_is_independent(seed: int, width: int) -> None:
    rng = np.random.default_rng(seed)
    support = support_of(rng.integers(0, 5, size=(30, width)))
    order = rng.permutation(len(support))
    rows = [tuple(row) for row in support.codes.tolist()]
    most = len(support) - twins.rank(rows)
    assert kept_to_determine(support, order, wanted=most + 1).most == most
    kept = kept_to_determine(support, order, wanted=most).mask
    basis = [row for row, keep in zip(rows, kept, strict=True) if keep]
    assert twins.rank(basis) == twins.rank(rows) == len(basis)


# -- known answers --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("splitter", "size", "seen", "held"),
    [
        (Donut(["x", "y"], hole=(6, 22)), 28, 495, 289),
        (Donut(["x", "y"], hole={"x": (10, 18), "y": (10, 18)}), 28, 703, 81),
        (Corner(["x", "y"], at=12), 32, 624, 400),
        (Corner(["x", "y"], at=14), 28, 588, 196),
        (Diagonal(["x", "y"], width=0.0), 28, 28, 756),
        (Diagonal(["x", "y"], width=1 / 27), 28, 28 + 2 * 27, 784 - 82),
        (OrthogonalPlanes(["x", "y"], through=(0, 0)), 28, 55, 729),
        (OrthogonalPlanes(["x", "y"], through=[(0, 0), {"x": 14, "y": 14}]), 28, 108, 676),
    ],
    ids=repr,
)
def test_geometry(splitter: Any, size: int, seen: int, held: int) -> None:
    train, test = next(splitter.split(grid(size)))
    assert (len(train), len(test)) == (seen, held)


def test_geometry_in_three_factors() -> None:
    cube = table_of(every((5, 5, 5)).tolist())
    names = ["f0", "f1", "f2"]
    assert len(next(Donut(names, hole=(1, 3)).split(cube))[1]) == 27
    assert len(next(Corner(names, at=3).split(cube))[1]) == 8
    assert len(next(OrthogonalPlanes(names, through=(2, 2, 2)).split(cube))[0]) == 13
    assert len(next(Donut(names, hole={"f0": (1, 3), "f1": (2, 2)}).split(cube))[1]) == 15


def test_geometry_on_bins_and_on_words() -> None:
    rng = np.random.default_rng(0)
    points = {"x": rng.random(4000), "y": rng.random(4000)}
    train, test = next(Donut(["x", "y"], hole=(0.2, 0.8), bins={"x": [0, 0.2, 0.4, 0.6, 0.8, 1], "y": 5}).split(points))
    assert ((points["x"][test] >= 0.2) & (points["x"][test] <= 0.8)).all()
    assert len(train) + len(test) == 4000
    sizes = {"size": ["1 small", "2 middle", "3 large"] * 3, "tone": ["a", "a", "a", "b", "b", "b", "c", "c", "c"]}
    assert next(Corner(["size", "tone"], at={"size": "2 middle", "tone": "b"}).split(sizes))[1].tolist() == [4, 5, 7, 8]


@pytest.mark.data
def test_add_jump(data: Any) -> None:
    """Everything with jump in it but the bare command is the published test set of SCAN, row for row."""
    scan = pq.read_table(data / "scan" / "scan_factors.parquet")
    factors = ["conj", "verb1", "mode1", "dir1", "rep1", "verb2", "mode2", "dir2", "rep2"]
    bare = next(row for row in scan.to_pylist() if row["command"] == "jump")
    settings_ = {
        "conjunctions": [{"verb1": "jump"}, {"verb2": "jump"}],
        "keep": [{name: bare[name] for name in factors}],
        "missing": "value",
    }
    train, test = next(HoldOutConjunctions(factors, guarantee="none", **settings_).split(scan))
    sides = np.array(scan["split_addprim_jump"].to_pylist())
    assert len(test) == 7706
    assert np.array_equal(test, np.flatnonzero(sides == "test"))
    assert np.array_equal(train, np.flatnonzero(sides == "train"))
    with pytest.raises(SettingError, match="1 value is not in training: verb2=jump"):
        next(HoldOutConjunctions(factors, **settings_).split(scan))


def test_every_combination_is_held_out_once() -> None:
    frame = toy()
    for strata in (None, "label"):
        folds = [test for _, test in CombinationKFold(AB, n_splits=4, stratify=strata).split(frame)]
        assert sorted(np.concatenate(folds).tolist()) == list(range(len(frame)))


def test_folds_are_balanced_by_rows() -> None:
    rng = np.random.default_rng(1)
    rows = np.repeat(every((30, 30)), rng.geometric(0.02, size=900), axis=0)
    sizes = [len(test) for _, test in CombinationKFold(["f0", "f1"]).split(table_of(rows.tolist()))]
    assert max(sizes) - min(sizes) <= 3


def test_many_combinations_are_dealt_evenly_too() -> None:
    """More than are dealt one by one."""
    support = support_of(every((200, 200)))
    folds = CombinationKFold(["f0", "f1"], n_splits=3).fold_of_each(support)
    sizes = np.bincount(folds)
    assert sizes.max() - sizes.min() <= 3


def test_strata_follow_the_whole_better_than_chance() -> None:
    rng = np.random.default_rng(3)
    cells = every((12, 12))
    rows = np.repeat(cells, rng.integers(5, 60, size=144), axis=0)
    label = (rng.random(len(rows)) < (rows.sum(axis=1) / 22)).astype(int)
    table, whole = table_of(rows.tolist()), label.mean()

    def off(strata: str | None) -> float:
        drawn = HoldOutCombinations(["f0", "f1"], n_splits=10, stratify=strata).split(table, label)
        return float(np.mean([abs(label[test].mean() - whole) for _, test in drawn]))

    assert off("y") <= 0.001
    assert off(None) > 0.01


def test_folds_follow_the_classes() -> None:
    rng = np.random.default_rng(3)
    rows = np.repeat(every((12, 12)), rng.integers(5, 60, size=144), axis=0)
    label = (rows.sum(axis=1) > 15).astype(int)
    folds = CombinationKFold(["f0", "f1"], stratify="y").split(table_of(rows.tolist()), label)
    assert max(abs(label[test].mean() - label.mean()) for _, test in folds) < 0.01


def test_values_stay_in_every_fold_where_each_is_seen_twice() -> None:
    """A ring: every value is seen exactly twice, so each pair of neighbours must be parted."""
    ring = [(i, j % 40) for i in range(40) for j in (i, i + 1)]
    table = table_of(ring)
    for train, _ in CombinationKFold(["f0", "f1"], n_splits=2, guarantee="values").split(table):
        assert {ring[i][0] for i in train} == {ring[i][1] for i in train} == set(range(40))


# -- chance is an argument ------------------------------------------------------------------------------------------

DRAWN = [
    HoldOutCombinations(AB, n_splits=3),
    HoldOutCombinations(AB, n_splits=3, guarantee="determined", stratify="label"),
    HoldOutConjunctions(AB, conjunctions=2, n_splits=3),
    CombinationKFold(AB, n_splits=3),
    Contract(AB, number=2, least=2),
]


def sides(splitter: Any, frame: Any) -> list[tuple[list[int], list[int]]]:
    return [(train.tolist(), test.tolist()) for train, test in splitter.split(frame)]


@pytest.mark.parametrize("splitter", DRAWN, ids=repr)
def test_the_same_seed_gives_the_same_split(splitter: Any) -> None:
    assert sides(splitter, toy()) == sides(splitter, toy())


@pytest.mark.parametrize("kind", [HoldOutCombinations, CombinationKFold])
def test_another_seed_gives_another_split(kind: Any) -> None:
    assert sides(kind(AB, random_state=1), toy()) != sides(kind(AB, random_state=2), toy())


def test_one_more_fold_changes_no_other() -> None:
    for settings_ in ({}, {"guarantee": "determined"}, {"stratify": "label"}):
        few, more = (sides(HoldOutCombinations(AB, n_splits=n, **settings_), toy()) for n in (3, 5))
        assert more[:3] == few
    assert len({str(side) for side in more}) > 1


@pytest.mark.parametrize("splitter", DRAWN, ids=repr)
def test_permuted_rows_permute_the_split(splitter: Any) -> None:
    frame = toy()
    order = np.random.default_rng(5).permutation(len(frame))
    for (_, plain), (_, permuted) in zip(
        splitter.split(frame), splitter.split(frame.iloc[order].reset_index(drop=True)), strict=True
    ):
        assert sorted(order[permuted].tolist()) == plain.tolist()


@pytest.mark.slow
def test_seconds_for_a_million_rows_and_a_hundred_thousand_combinations() -> None:
    rng = np.random.default_rng(0)
    cells = np.unique(rng.integers(0, 60, size=(200_000, 3)), axis=0)
    rows = rng.permutation(cells)[:100_000][rng.integers(0, 100_000, 10**6)]
    table = pa.table({f"f{k}": rows[:, k] for k in range(3)})
    for guarantee in ("values", "determined"):
        start = time.process_time()
        train, test = next(HoldOutCombinations(["f0", "f1", "f2"], n_splits=1, guarantee=guarantee).split(table))
        assert time.process_time() - start < 15
        assert len(train) + len(test) == 10**6


# -- settings -------------------------------------------------------------------------------------------------------

ALL = [
    *DRAWN,
    Donut(AB, hole=(1, 2), bins={"a": 5}),
    Donut(AB, hole={"a": (1, 2)}),
    Corner(AB, at=3, missing="value"),
    Diagonal(AB, width=0.1, guarantee="none"),
    OrthogonalPlanes([0, 1], through=[(0, 0), (1, 1)]),
    HoldOutConjunctions(AB, conjunctions=[{"a": "x", "b": "p"}], keep=[("x", "p")]),
    Contract(AB, absent=[{"a": "x", "b": "p"}], test_size=(0.2, 0.4)),
]


@pytest.mark.parametrize("splitter", ALL, ids=repr)
def test_repr_rebuilds(splitter: Any) -> None:
    rebuilt = eval(repr(splitter))
    assert rebuilt == splitter
    assert repr(rebuilt) == repr(splitter)


def test_numbers_of_numpy_are_numbers() -> None:
    given_ = HoldOutCombinations(
        np.array(AB), n_splits=np.int64(3), random_state=np.int64(2), test_size=np.float64(0.25)
    )
    assert given_ == HoldOutCombinations(AB, n_splits=3, random_state=2, test_size=0.25)
    assert "np." not in repr(given_)


def test_other_settings_make_another_splitter() -> None:
    assert HoldOutCombinations(AB) != HoldOutCombinations(AB, random_state=1)
    assert HoldOutCombinations(AB) != CombinationKFold(AB)
    frame = toy()
    assert HoldOutCombinations(AB, table=frame) == HoldOutCombinations(AB, table=frame)
    assert HoldOutCombinations(AB, table=frame) != HoldOutCombinations(AB, table=frame.copy())
    assert repr(HoldOutCombinations(AB, table=frame)) == "HoldOutCombinations(factors=('a', 'b'), table=...)"


# -- what X may be --------------------------------------------------------------------------------------------------


def kinds(frame: pd.DataFrame) -> dict[str, Any]:
    import datasets  # noqa: PLC0415

    columns = frame[AB].to_dict("list")
    return {
        "pandas": frame,
        "categories": frame.astype({"a": "category"}),
        "polars": pl.DataFrame(columns),
        "arrow": pa.table(columns),
        "dict": columns,
        "rows": frame[AB].to_dict("records"),
        "hugging face": datasets.Dataset.from_dict(columns),
    }


@pytest.mark.parametrize("kind", list(kinds(toy(rows=12))))
def test_tables_of_every_kind_split_alike(kind: str) -> None:
    frame = toy()
    assert sides(HoldOutCombinations(AB), kinds(frame)[kind]) == sides(HoldOutCombinations(AB), frame)


def test_positions_and_arrays() -> None:
    frame = toy()
    expected = sides(HoldOutCombinations(AB), frame)
    assert sides(HoldOutCombinations([0, 1]), frame) == expected
    assert sides(HoldOutCombinations([0, 1]), frame[AB].to_numpy()) == expected
    assert sides(HoldOutCombinations([0, 1]), frame[AB].to_numpy().tolist()) == expected
    numbers = np.column_stack([frame["feature"], frame["a"].map(ord), frame["b"].map(ord)])
    assert sides(HoldOutCombinations([1, 2]), numbers) == expected
    conjunction = HoldOutConjunctions([1, 2], conjunctions=[{1: ord("w"), 2: ord("p")}])
    test = next(conjunction.split(numbers))[1]
    assert (frame.iloc[test][AB].drop_duplicates().to_numpy() == [["w", "p"]]).all()


def test_indices_are_plain_enough_for_subsets_and_datasets() -> None:
    """A torch Subset indexes with each entry, a Hugging Face dataset selects with all of them."""
    import datasets  # noqa: PLC0415

    frame = toy()
    train, test = next(HoldOutCombinations(AB).split(frame))
    assert train.dtype == test.dtype == np.int64
    assert [frame["a"].tolist()[row] for row in test] == frame["a"].iloc[test].tolist()
    dataset = datasets.Dataset.from_dict(frame[AB].to_dict("list"))
    both = datasets.DatasetDict(train=dataset.select(train), test=dataset.select(test))
    assert (len(both["train"]), len(both["test"])) == (len(train), len(test))


def test_missing_values_are_refused_or_a_value() -> None:
    frame = toy()
    frame.loc[3, "a"] = None
    with pytest.raises(TableError, match="'a' is missing in 1 of 240 rows") as caught:
        next(HoldOutCombinations(AB).split(frame))
    assert "missing='value'" in caught.value.instead
    train, test = next(HoldOutCombinations(AB, missing="value", guarantee="none").split(frame))
    assert len(train) + len(test) == 240
    for train, test in HoldOutCombinations(AB, missing="leave out").split(frame):
        assert sorted([*train.tolist(), *test.tolist()]) == [row for row in range(240) if row != 3]
    with pytest.raises(SettingError, match="every row's side was told"):
        recombine.check_split(frame, train, test, factors=AB, missing="leave out")


# -- inside scikit-learn --------------------------------------------------------------------------------------------


def test_cross_validate_a_frame_whose_factors_the_model_drops() -> None:
    frame = toy()
    model = make_pipeline(make_column_transformer(("passthrough", ["feature"])), LogisticRegression())
    given_ = frame[["a", "b", "feature"]]
    scores = cross_validate(model, given_, frame["label"], cv=CombinationKFold(AB, n_splits=4), error_score="raise")
    assert len(scores["test_score"]) == 4
    assert scores["test_score"].min() > 0.9


def test_grid_search_an_array_with_a_bound_table() -> None:
    frame = toy()
    cv = HoldOutCombinations(AB, table=frame, n_splits=3, stratify="label")
    search = GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=cv, error_score="raise")
    search.fit(frame[["feature"]].to_numpy(), frame["label"])
    assert search.n_splits_ == 3
    assert search.best_score_ > 0.9


def test_strata_from_y_inside_scikit_learn() -> None:
    frame = toy()
    cv = HoldOutCombinations(AB, n_splits=2, stratify="y")
    assert len(cross_validate(DummyClassifier(), frame[AB], frame["label"], cv=cv)["test_score"]) == 2


# -- train_test_split -----------------------------------------------------------------------------------------------


def test_what_goes_in_comes_out() -> None:
    import datasets  # noqa: PLC0415

    frame = toy()
    columns = frame[AB].to_dict("list")
    given_ = [
        frame,
        frame["label"],
        frame["feature"].to_numpy(),
        pl.DataFrame(columns),
        pl.Series(columns["a"]),
        pa.table(columns),
        pa.array(columns["a"]),
        frame["a"].tolist(),
        tuple(frame["a"]),
        columns,
        datasets.Dataset.from_dict(columns),
    ]
    parts = train_test_split(*given_, factors=AB, test_size=0.25)
    assert len(parts) == 2 * len(given_)
    for before, train, test in zip(given_, parts[::2], parts[1::2], strict=True):
        assert type(train) is type(test) is type(before)
    train, test = parts[:2]
    assert not set(map(tuple, train[AB].to_numpy())) & set(map(tuple, test[AB].to_numpy()))
    assert parts[15] == test["a"].tolist()
    assert parts[7]["a"].to_list() == test["a"].tolist()
    assert parts[11]["a"].to_pylist() == parts[21]["a"][:] == test["a"].tolist()


def test_train_test_split_refuses_what_means_nothing() -> None:
    frame = toy()
    for wrong in (0, 1.0, 1.5, 30, True):
        with pytest.raises(SettingError, match="test_size="):
            train_test_split(frame, factors=AB, test_size=wrong)
    with pytest.raises(SettingError, match="240, 3 rows"):
        train_test_split(frame, [1, 2, 3], factors=AB)
    with pytest.raises(SettingError, match="nothing was given"):
        train_test_split(factors=AB)


# -- users are taught -----------------------------------------------------------------------------------------------


def refused(splitter: Any, table: Any, y: Any = None) -> RecombineError:
    with pytest.raises(RecombineError) as caught:
        list(splitter.split(table, y))
    return caught.value


def test_a_wrong_column_is_suggested() -> None:
    error = refused(HoldOutCombinations(["a", "bb"]), {"a": ["x"], "b": ["y"]})
    assert isinstance(error, ColumnError)
    assert error.what == "no column 'bb' (given as a factor)"
    assert "did you mean 'b'?" in error.instead
    assert "no column at position 7" in refused(HoldOutCombinations([0, 7]), np.zeros((3, 2))).what


@pytest.mark.parametrize("share", [0, 1, 1.5, -0.1, True, "0.2", float("nan")])
def test_a_share_that_is_none(share: Any) -> None:
    with pytest.raises(SettingError, match="test_size=") as caught:
        HoldOutCombinations(AB, test_size=share)
    assert caught.value.instead == "write a number between 0 and 1, such as test_size=0.2"


def test_one_combination_only() -> None:
    error = refused(HoldOutCombinations(AB), {"a": ["x", "x"], "b": ["p", "p"]})
    assert "the factor 'a' has one value: 'x'" in error.what


def test_what_is_no_table() -> None:
    assert refused(HoldOutCombinations(AB), "toy.csv").what == "the table is given as the path 'toy.csv'"
    assert refused(HoldOutCombinations(AB), None).what == "there is no table to split"
    assert refused(HoldOutCombinations(AB), np.zeros(3)).what == "X is an array of 1 dimension"
    assert refused(HoldOutCombinations(AB), [1, 2, 3]).what == "X is a list without columns"
    with pytest.raises(RecombineError, match="a LazyFrame has no rows that could be counted"):
        train_test_split(pl.from_pandas(toy()).lazy(), factors=AB)
    assert "cannot read object as a table" in refused(HoldOutCombinations(AB), object()).what


def test_an_empty_table() -> None:
    for empty in (pd.DataFrame({"a": [], "b": []}), {"a": [], "b": []}, []):
        assert refused(HoldOutCombinations(AB), empty).what == "the table holds no rows"


def test_strata_that_are_not_there() -> None:
    assert "no column 'lable' (given as stratify)" in refused(HoldOutCombinations(AB, stratify="lable"), toy()).what
    assert "no y was given" in refused(HoldOutCombinations(AB, stratify="y"), toy()).why
    assert "'a' is both a factor and the strata" in refused(HoldOutCombinations(AB, stratify="a"), toy()).what
    assert "hold numbers with fractions" in refused(HoldOutCombinations(AB, stratify="feature"), toy()).what
    assert "y has 3 entries" in refused(HoldOutCombinations(AB, stratify="y"), toy(), [1, 2, 3]).what


def test_a_conjunction_with_an_unknown_value() -> None:
    error = refused(HoldOutConjunctions(AB, conjunctions=[{"a": "W", "b": "p"}]), toy())
    assert error.what == "the conjunction {'a': 'W', 'b': 'p'} speaks of a = 'W'"
    assert error.instead == "did you mean 'w'?"
    assert "no factor 'c'" in refused(HoldOutConjunctions(AB, conjunctions=[{"c": 1}]), toy()).what
    unseen = {"a": ["x", "x", "y"], "b": ["p", "q", "p"]}
    assert (
        "no row holds (a=y, b=q)" in refused(HoldOutConjunctions(AB, conjunctions=[{"a": "y", "b": "q"}]), unseen).what
    )


def test_a_share_beyond_the_guarantee_names_the_largest() -> None:
    square = {"a": ["x", "x", "y", "y"], "b": ["p", "q", "p", "q"]}
    error = refused(HoldOutCombinations(AB, test_size=0.5, guarantee="determined"), square)
    assert error.what == "test_size=0.5 would hold out 2 of 4 combinations"
    assert "at most 1 can be held out" in error.why
    assert error.instead == "write test_size=0.25, or ask for a weaker guarantee"
    corner = {"a": ["x", "x", "y"], "b": ["p", "q", "p"]}
    error = refused(HoldOutCombinations(AB, test_size=0.7), corner)
    assert "b=q" in error.why
    assert "collect more combinations" in refused(HoldOutCombinations(AB, guarantee="determined"), corner).instead


def test_folds_that_would_take_a_value_away() -> None:
    corner = {"a": ["x", "x", "y"], "b": ["p", "q", "p"]}
    error = refused(CombinationKFold(AB, n_splits=2, guarantee="values"), corner)
    assert "a=y and b=q occur in one combination only" in error.why
    assert "there are 3 combinations" in refused(CombinationKFold(AB), corner).why


def test_folds_that_are_proven_not_to_be_there() -> None:
    """A ring of three: two folds cannot part every pair of neighbours, and three can."""
    odd = {"a": [0, 0, 1, 1, 2, 2], "b": [0, 1, 0, 1, 0, 1], "c": [0, 1, 1, 2, 2, 0]}
    triangle = {"a": [0, 0, 1], "b": [0, 1, 0], "c": [1, 0, 0]}
    assert next(CombinationKFold(["a", "b", "c"], n_splits=3, guarantee="values").split(odd))
    error = refused(CombinationKFold(["a", "b", "c"], n_splits=2, guarantee="values"), triangle)
    assert "occur in one combination only" in error.why


def test_a_bound_table_of_another_length() -> None:
    error = refused(HoldOutCombinations(AB, table=toy()), np.zeros((10, 2)))
    assert error.what == "X has 10 rows, and the bound table 240"


def test_a_hole_that_takes_a_value_away_is_named() -> None:
    error = refused(Donut(["x", "y"], hole={"x": (2, 3)}), grid(5))
    assert "2 values are not in training: x=2 and x=3" in error.what
    assert "the held-out side holds nothing" in refused(Donut(["x", "y"], hole=(7, 9)), grid(5)).what


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: HoldOutCombinations("a"), "factors='a'"),
        (lambda: HoldOutCombinations(["a", "a"]), "'a' is named twice"),
        (lambda: HoldOutCombinations(AB, guarantee="value"), "guarantee='value'"),
        (lambda: HoldOutCombinations(AB, n_splits=0), "n_splits=0"),
        (lambda: HoldOutCombinations(AB, random_state=-1), "random_state=-1"),
        (lambda: HoldOutCombinations(AB, bins=3), "bins=3"),
        (lambda: CombinationKFold(AB, n_splits=1), "n_splits=1"),
        (lambda: HoldOutConjunctions(AB, conjunctions=[]), "conjunctions=\\[\\]"),
        (lambda: HoldOutConjunctions(AB, conjunctions=["red"]), "conjunctions=\\['red'\\]"),
        (lambda: HoldOutConjunctions(AB, conjunctions=2, order=3), "order=3"),
        (lambda: HoldOutConjunctions(AB, conjunctions=[{"a": 1}], n_splits=3), "n_splits=3"),
        (lambda: Donut(AB, hole=5), "hole=5"),
        (lambda: Diagonal(AB, width=1.5), "width=1.5"),
        (lambda: OrthogonalPlanes(AB, through=[]), "through=\\[\\]"),
    ],
)
def test_settings_that_mean_nothing(make: Any, said: str) -> None:
    with pytest.raises(SettingError, match=said) as caught:
        make()
    assert caught.value.instead


def test_a_support_with_other_factors_is_refused() -> None:
    support = recombine.read(toy(), factors=["a", "label"])
    with pytest.raises(SettingError, match="the support has the factors 'a', 'label'"):
        HoldOutCombinations(AB).held_out(support)


def test_the_support_of_a_file_is_split_like_the_frame(tmp_path: Any) -> None:
    frame = toy()
    frame.to_csv(tmp_path / "toy.csv", index=False)
    splitter = HoldOutCombinations(AB, stratify="label")
    support = recombine.read(tmp_path / "toy.csv", factors=AB, target="label")
    held = splitter.held_out(support, 2)
    combinations = {tuple(support.combination(i).values()) for i in np.flatnonzero(held)}
    _, test = list(splitter.split(frame))[2]
    assert set(map(tuple, frame.iloc[test][AB].to_numpy())) == combinations
    assert check_split(support, ~held, held, promise="values").holds
