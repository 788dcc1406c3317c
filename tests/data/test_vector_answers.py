"""Vectors as answers: the means of each combination against sums by hand, wherever the vectors stand."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import recombine
from recombine.base.errors import ColumnError, SettingError
from recombine.data import vector_reader
from recombine.data.vector_answers import RunningMeans, VectorAnswers, answers_of

FACTORS = ["a", "b"]


def world(rows: int = 300, width: int = 7, seed: int = 0) -> tuple[dict[str, Any], np.ndarray]:
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 4, rows), rng.integers(0, 3, rows)
    vectors = rng.normal(size=(rows, width)) + 100 * np.arange(width) + a[:, None]
    return {"a": [f"a{x}" for x in a], "b": [f"b{x}" for x in b]}, vectors


def by_hand(table: dict[str, Any], vectors: np.ndarray) -> dict[tuple[str, str], np.ndarray]:
    names = list(zip(table["a"], table["b"], strict=True))
    return {name: vectors[[k for k, one in enumerate(names) if one == name]] for name in set(names)}


def check(support: recombine.Support, rows: dict[tuple[str, str], np.ndarray]) -> None:
    found = support.vectors
    assert isinstance(found, VectorAnswers)
    assert support.target is None
    first, second = (half + found.shift for half in found.halves(np.arange(len(found))))
    for k in range(len(support)):
        mine = rows[tuple(support.combination(k).values())]
        assert found.count[k] == len(mine)
        np.testing.assert_allclose(found.of(np.array([k]))[0], mine.mean(axis=0), rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(first[k], mine[::2].mean(axis=0), rtol=1e-6, atol=1e-6)
        if len(mine) > 1:
            np.testing.assert_allclose(second[k], mine[1::2].mean(axis=0), rtol=1e-6, atol=1e-6)
            np.testing.assert_allclose(found.within[k], mine.var(axis=0, ddof=1).sum(), rtol=1e-5)
    apart = sum(np.square(mine - mine.mean(axis=0)).sum(axis=0) for mine in rows.values())
    np.testing.assert_allclose(found.output_scatter, apart, rtol=1e-4)


@pytest.mark.parametrize("place", ["lists", "fixed lists", "pattern", "names", "array", "file", "file and array"])
def test_the_means_are_those_of_the_rows_wherever_the_vectors_stand(place: str, tmp_path: Path) -> None:
    table, vectors = world()
    columns = {f"gene_{k}": vectors[:, k] for k in range(vectors.shape[1])}
    source: Any = pa.table(table | columns)
    target: Any = "gene_*"
    if "lists" in place:
        kind = pa.list_(pa.float64(), 7) if "fixed" in place else pa.list_(pa.float64())
        source, target = pa.table(table | {"v": pa.array(list(vectors), kind)}), "v"
    elif place == "names":
        target = list(columns)
    elif "array" in place:
        source, target = pa.table(table), vectors
    if "file" in place:
        pq.write_table(source, tmp_path / "rows.parquet")
        source = tmp_path / "rows.parquet"
    check(recombine.read(source, factors=FACTORS, target=target), by_hand(table, vectors))


def test_rows_come_in_batches_and_where_leaves_rows_of_an_array_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_reader, "_ENTRIES", 70)
    monkeypatch.setattr(vector_reader, "_FEWEST_ROWS", 10)
    table, vectors = world()
    kept = np.array(table["a"]) != "a0"
    rows = by_hand({name: list(np.array(column)[kept]) for name, column in table.items()}, vectors[kept])
    check(recombine.read(table, factors=FACTORS, target=vectors, where="a <> 'a0'"), rows)


@given(st.integers(0, 10**6))
def test_batches_of_any_size_give_the_same_means(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, width, combinations = int(rng.integers(1, 60)), int(rng.integers(1, 5)), int(rng.integers(1, 6))
    codes = rng.integers(-1, combinations, rows)
    vectors = rng.normal(size=(rows, width)) + rng.choice([0.0, 1e5])
    vectors[rng.random(vectors.shape) < 0.02] = np.nan
    whole = answers_of("y", ("o",) * width, codes, vectors, combinations=combinations)
    running = RunningMeans.empty(combinations, width)
    for part in np.split(np.arange(rows), np.sort(rng.integers(0, rows + 1, 3))):
        running.add(codes[part], vectors[part])
    found = running.finished("y", ("o",) * width)
    assert found.rows_left_out == whole.rows_left_out == int((np.isnan(vectors).any(axis=1) & (codes >= 0)).sum())
    for combination in range(combinations):
        mine = vectors[(codes == combination) & np.isfinite(vectors).all(axis=1)]
        assert found.count[combination] == len(mine)
        if len(mine) == 0:
            assert np.isnan(found.means[combination]).all()
            continue
        np.testing.assert_allclose(found.of(np.array([combination]))[0], mine.mean(axis=0), rtol=1e-6, atol=1e-5)
        np.testing.assert_allclose(found.scatter[combination], np.square(mine - mine.mean(axis=0)).sum(), atol=1e-3)
        assert np.isnan(found.apart[combination]).all() == (len(mine) < 2)


def test_a_subset_has_the_same_numbers() -> None:
    table, vectors = world()
    support = recombine.read(table, factors=FACTORS, target=vectors)
    some = support.subset(np.array([3, 1]))
    assert some.vectors is not None
    assert support.vectors is not None
    np.testing.assert_array_equal(some.vectors.means, support.vectors.means[[3, 1]])
    assert support.vectors.subset(np.arange(len(support))) is support.vectors


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("gene_*", "0 columns"),
        ("a?", "0 columns"),
        (["v", "w"], "no column 'w'"),
        (["v", "a"], "is of type string"),
        (np.zeros((3, 2)), "an array of 3 rows beside a table of 300"),
        (np.zeros(300), "shape (300,)"),
    ],
)
def test_what_is_no_vector_is_refused_in_words(target: Any, said: str) -> None:
    table, vectors = world()
    with pytest.raises((ColumnError, SettingError), match=said.replace("(", r"\(").replace(")", r"\)")):
        recombine.read(table | {"v": vectors[:, 0]}, factors=FACTORS, target=target)


def test_lists_of_several_lengths_and_without_any_row_are_refused() -> None:
    table = {"a": ["x", "x", "y"], "b": ["p", "q", "p"], "v": [[1.0, 2.0], [1.0], [2.0, 2.0]]}
    with pytest.raises(ColumnError, match="have 1 to 2 numbers"):
        recombine.read(table, factors=FACTORS, target="v")
    empty = table | {"v": pa.array([[1.0, None], None, [None, 2.0]], pa.list_(pa.float64()))}
    with pytest.raises(ColumnError, match="no row holds a whole vector"):
        recombine.read(empty, factors=FACTORS, target="v")


@pytest.mark.parametrize("target", ["v", "g*"])
@pytest.mark.parametrize("verb", ["predict", "plan", "backtest"])
def test_other_verbs_say_that_vectors_are_not_for_them_yet(verb: str, target: str) -> None:
    table, vectors = world()
    source = table | {"v": list(vectors), "g1": vectors[:, 0], "g2": vectors[:, 1]}
    with pytest.raises(SettingError, match="vectors are for audit and evaluate_vectors alone, so far"):
        getattr(recombine, verb)(source, factors=FACTORS, target=target)


@pytest.mark.slow
def test_thousands_of_columns_stay_in_their_order(tmp_path: Path) -> None:
    """Their names come from a question of more than 2,048 lines, whose order the engine does not keep by itself."""
    width = 4_500
    vectors = np.tile(np.arange(width, dtype=np.float32), (4, 1))
    table = {"a": ["x", "x", "y", "y"], "b": ["p", "q", "p", "q"]}
    names = [f"gene_{k}" for k in range(width)]
    pq.write_table(pa.table(table | {name: vectors[:, k] for k, name in enumerate(names)}), tmp_path / "wide.parquet")
    found = recombine.read(tmp_path / "wide.parquet", factors=FACTORS, target="gene_*").vectors
    assert found is not None
    assert list(found.outputs) == names
    np.testing.assert_array_equal(found.of(np.array([0]))[0], np.arange(width))
