"""A user's own table as a task: every form of inputs, rows by combination and part, checksums, and mistakes."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from safetensors.numpy import save_file

from recombine.base.errors import ColumnError, RecombineError, SettingError, SourceError, TableError
from recombine.base.words import plain_setting
from recombine.verbs.split.random_holdout import HoldOutCombinations
from recombine_lab.runs.run import Configuration
from recombine_lab.tasks.catalogue import TASKS
from recombine_lab.tasks.exposure import HeldOut, Own
from recombine_lab.tasks.table_rows import read_table
from recombine_lab.tasks.table_task import TableTask
from tests.properties import examples

COLOURS, SHAPES = ["red", "red", "blue", "red", "green"], ["disc", "bar", "disc", "disc", "bar"]
TABLE = {
    "colour": COLOURS,
    "shape": SHAPES,
    "price": [1.5, 2.0, 3.0, 5.0, 8.0],
    "kind": ["b", "a", "b", "a", "a"],
    "split": ["train", "train", "train", "test", "test"],
}
INPUTS = np.arange(10, dtype=np.float32).reshape(5, 2)
FACTORS = ("colour", "shape")  # blue 0, green 1, red 2; bar 0, disc 1


def task(**chosen: Any) -> TableTask:
    return TableTask(**({"source": TABLE, "inputs": INPUTS, "factors": FACTORS, "target": "price"} | chosen))


def rendered(**chosen: Any) -> None:
    made = task(**chosen)
    made.tensors(made.every(), seed=0)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    pa.csv.write_csv(pa.table(TABLE), tmp_path / "factors.csv")
    pa.parquet.write_table(pa.table(TABLE), tmp_path / "factors.parquet")
    np.save(tmp_path / "inputs.npy", INPUTS)
    save_file({"inputs": INPUTS}, tmp_path / "inputs.safetensors")
    save_file({"inputs": INPUTS, "others": INPUTS + 1}, tmp_path / "several.safetensors")
    return tmp_path


# Which rows


def test_it_goes_over_the_combinations_that_have_rows() -> None:
    made = task()
    assert made.space.product == 6
    assert made.every().tolist() == [[0, 1], [1, 0], [2, 0], [2, 1]]
    assert made.table().to_pydict() == {
        "colour": ["blue", "green", "red", "red"],
        "shape": ["disc", "bar", "bar", "disc"],
        "target": [3.0, 8.0, 2.0, 3.25],
    }


def test_a_combination_is_rendered_as_one_of_its_rows() -> None:
    batch = task().tensors([[2, 1]] * 200 + [[0, 1]], seed=0)
    rows = {(*inputs, target) for inputs, (target,) in zip(batch.inputs.tolist(), batch.targets.tolist(), strict=True)}
    assert rows == {(0.0, 1.0, 1.5), (6.0, 7.0, 5.0), (4.0, 5.0, 3.0)}
    again = task().tensors([[2, 1]] * 200 + [[0, 1]], seed=0)
    assert torch.equal(batch.inputs, again.inputs)
    assert not torch.equal(batch.inputs, task().tensors([[2, 1]] * 200 + [[0, 1]], seed=1).inputs)


def test_each_part_draws_from_its_own_rows() -> None:
    made = task(split="split")
    train, test = (made.tensors([[2, 1]] * 50, seed=0, part=part).targets for part in ("train", "test"))
    assert (set(train.flatten().tolist()), set(test.flatten().tolist())) == ({1.5}, {5.0})


def test_the_split_column_gives_each_row_once() -> None:
    parts = Own().parts(task(split="split"), seed=0)
    rows = {name: source.every()[:, 2].tolist() for name, source in parts.tests.items()}
    assert parts.train.every()[:, 2].tolist() == [0, 1, 2]
    assert rows == {"seen": [3], "unseen": [4]}
    made = task(split="split")
    batch = made.render(parts.train.every(), seed=9, part="train")
    assert batch.targets.flatten().tolist() == [1.5, 2.0, 3.0]
    np.testing.assert_array_equal(batch.inputs.numpy(), INPUTS[:3])
    np.testing.assert_array_equal(made.combinations(parts.train.every()), [[2, 1], [2, 0], [0, 1]])


@examples(20)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=4, max_size=40), st.integers(0, 99))
def test_any_table_against_a_search_by_hand(pairs: list[tuple[int, int]], seed: int) -> None:
    """Every drawn row holds the combination that was asked for; means and lists are those found by hand."""
    pairs = [*pairs, (0, 0), (1, 1)]  # a factor that never varies is refused
    source = {"a": [a for a, _ in pairs], "b": [b for _, b in pairs], "y": [float(k) for k in range(len(pairs))]}
    made = TableTask(source=source, inputs=np.arange(len(pairs)), factors=("a", "b"), target="y")
    values = [factor.values for factor in made.space.factors]
    listed = [(values[0][a], values[1][b]) for a, b in made.every()]
    assert sorted(set(pairs)) == sorted(listed)
    batch = made.tensors(np.repeat(made.every(), 5, axis=0), seed=seed)
    drawn = batch.inputs[:, 0].long().tolist()
    assert [pairs[row] for row in drawn] == [pair for pair in listed for _ in range(5)]
    assert batch.targets[:, 0].tolist() == [float(row) for row in drawn]
    means = [np.mean([k for k, pair in enumerate(pairs) if pair == wanted]) for wanted in listed]
    assert made.truth(made.every()) == pytest.approx(means)


def test_a_splitter_goes_over_the_rows_that_are_there() -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 8, (60, 2))
    source = {"a": codes[:, 0], "b": codes[:, 1], "y": rng.normal(size=60)}
    made = TableTask(source=source, inputs=rng.normal(size=(60, 3)), factors=("a", "b"), target="y")
    parts = HeldOut(HoldOutCombinations(["a", "b"])).parts(made, seed=0)
    rows = [set(source.every()[:, 2].tolist()) for source in (parts.train, parts.tests["unseen"], parts.tests["seen"])]
    assert set.union(*rows) == set(range(60))
    assert sum(map(len, rows)) == 60
    held = {tuple(codes[row]) for row in rows[1]}
    assert held == {pair for pair in map(tuple, codes) if pair in held}
    assert len(held) == round(0.2 * len(np.unique(codes, axis=0)))
    assert made.render(parts.tests["unseen"].draw(9, seed=0), seed=0, part="test").inputs.shape == (9, 3)


# Targets


def test_labels_are_classes() -> None:
    made = task(target="kind")
    assert made.classes == ("a", "b")
    assert (made.shapes.kind, made.shapes.outputs) == ("classes", (2,))
    assert made.tensors([[0, 1]], seed=0).targets.tolist() == [1]
    assert made.truth(made.every()).tolist() == [1, 0, 0, 0]  # red discs: one of each, so the first


def test_whole_numbers_are_classes_unless_said_otherwise() -> None:
    source = TABLE | {"count": [10, 20, 10, 20, 30]}
    assert task(source=source, target="count").shapes.outputs == (3,)
    many = {"a": [0, 1] * 60, "b": [0, 0, 1, 1] * 30, "count": list(range(120))}
    made = TableTask(source=many, inputs=np.eye(120), factors=("a", "b"), target="count")
    assert made.shapes.kind == "values"  # as `recombine.read` has it: more than 100 are no classes
    assert task(source=source, target="count", form="values").tensors([[2, 0]], seed=0).targets.tolist() == [[20.0]]


# Inputs


@pytest.mark.parametrize("source", ["factors.csv", "factors.parquet"])
@pytest.mark.parametrize("inputs", ["inputs.npy", "inputs.safetensors", "several.safetensors#inputs"])
def test_files_say_the_same_as_arrays(files: Path, source: str, inputs: str) -> None:
    made = task(source=files / source, inputs=str(files / inputs))
    codes = made.every()
    ours, theirs = made.tensors(codes, seed=0), task().tensors(codes, seed=0)
    assert torch.equal(ours.inputs, theirs.inputs)
    assert torch.equal(ours.targets, theirs.targets)
    assert made.shapes == task().shapes


def test_an_npy_file_is_mapped_not_read(files: Path) -> None:
    made = task(source=files / "factors.csv", inputs=files / "inputs.npy")
    assert isinstance(made._inputs.array, np.memmap)


def test_bytes_become_floats_from_0_to_1() -> None:
    batch = task(inputs=np.full((5, 1, 2, 2), 51, dtype=np.uint8)).tensors([[0, 1]], seed=0)
    assert batch.inputs.shape == (1, 1, 2, 2)
    assert batch.inputs.unique().tolist() == pytest.approx([0.2])


def test_a_column_of_lists() -> None:
    made = task(source=TABLE | {"features": INPUTS.tolist()}, inputs="features")
    assert torch.equal(made.tensors(made.every(), seed=0).inputs, task().tensors(made.every(), seed=0).inputs)


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    """Five pictures beside a table that names them; row k is of brightness 10 k."""
    (tmp_path / "pictures").mkdir()
    for k in range(5):
        Image.fromarray(np.full((4, 6, 3), 10 * k, dtype=np.uint8)).save(tmp_path / "pictures" / f"{k}.png")
    names = {"file": [f"pictures/{k}.png" for k in range(5)]}
    pa.csv.write_csv(pa.table(TABLE | names), tmp_path / "factors.csv")
    return tmp_path


def test_a_column_of_picture_files(pictures: Path) -> None:
    made = task(source=pictures / "factors.csv", inputs="file")
    assert made.shapes.inputs == (3, 4, 6)
    batch = made.tensors([[1, 0], [0, 1], [1, 0]], seed=0)
    assert (batch.inputs[:, 0, 0, 0] * 255).round().tolist() == [40, 20, 40]
    assert torch.equal(batch.inputs, made.tensors([[1, 0], [0, 1], [1, 0]], seed=0).inputs)


def test_pictures_of_another_size_or_gone(pictures: Path) -> None:
    Image.fromarray(np.zeros((5, 5, 3), dtype=np.uint8)).save(pictures / "pictures" / "4.png")
    made = task(source=pictures / "factors.csv", inputs="file")
    with pytest.raises(SourceError, match="bring all pictures to one size"):
        made.tensors([[1, 0]], seed=0)
    (pictures / "pictures" / "4.png").write_text("no picture")
    made = task(source=pictures / "factors.csv", inputs="file")
    with pytest.raises(SourceError, match="cannot read the picture"):
        made.tensors([[1, 0]], seed=0)
    (pictures / "pictures" / "4.png").unlink()
    with pytest.raises(SourceError, match="no file"):
        task(source=pictures / "factors.csv", inputs="file")


def test_rows_of_a_large_file_keep_their_order(tmp_path: Path) -> None:
    """Inputs lie beside the rows, so an engine that reads in parallel must not exchange them."""
    n = 400_000
    table = pa.table({"row": np.arange(n), "a": np.arange(n) % 3})
    pa.csv.write_csv(table, tmp_path / "large.csv")
    pa.parquet.write_table(table, tmp_path / "large.parquet", row_group_size=10_000)
    for name in ("large.csv", "large.parquet"):
        np.testing.assert_array_equal(read_table(tmp_path / name)["row"].to_numpy(), np.arange(n))


# Settings as a run keeps them


def key(made: TableTask) -> str:
    other = {"split": {"name": "own"}, "model": {"name": "mlp"}, "recipe": {}}
    return Configuration(task=TASKS.spec(made), **other, seed=0, code="0").key


def test_a_spec_holds_paths_and_checksums(files: Path) -> None:
    made = task(source=files / "factors.csv", inputs=files / "inputs.npy")
    spec = TASKS.spec(made)
    assert spec["source"] == str(files / "factors.csv")
    assert [name for name, _ in spec["sha256"]] == [str(files / "factors.csv"), str(files / "inputs.npy")]
    assert json.loads(json.dumps(spec)) == plain_setting(spec)
    assert TASKS.build(spec) == made


def test_the_key_changes_when_the_data_do(files: Path) -> None:
    def made() -> TableTask:
        return task(source=files / "factors.csv", inputs=files / "inputs.npy")

    first = made()
    assert key(first) == key(made())
    np.save(files / "inputs.npy", INPUTS * 2)
    assert key(made()) != key(first)
    with pytest.raises(SourceError, match="has changed"):
        TASKS.build(TASKS.spec(first))


def test_the_key_changes_when_a_picture_does(pictures: Path) -> None:
    first = key(task(source=pictures / "factors.csv", inputs="file"))
    Image.fromarray(np.full((4, 6, 3), 99, dtype=np.uint8)).save(pictures / "pictures" / "2.png")
    assert key(task(source=pictures / "factors.csv", inputs="file")) != first


def test_what_is_in_memory_has_a_key_but_cannot_be_found_again() -> None:
    assert key(task()) == key(task()) != key(task(inputs=INPUTS + 1))
    assert key(task(source=TABLE | {"price": [0.0] * 5})) != key(task())
    assert task() == task()
    with pytest.raises(SourceError, match="in the memory of another process"):
        TASKS.build(TASKS.spec(task()))


# Mistakes


def test_a_mapping_is_no_input() -> None:
    with pytest.raises(SettingError, match="a mapping has no place i"):
        task(inputs={"name": "x"})


@pytest.mark.parametrize("codes", [[[0, 0]], [[2, 1], [1, 1]], [[-1, 0]]])
def test_a_combination_without_rows(codes: list[list[int]]) -> None:
    with pytest.raises(TableError, match="the table has no row for colour = ") as caught:
        task().tensors(codes, seed=0)
    assert "every()" in caught.value.instead
    with pytest.raises(TableError, match="no row for"):
        task().truth(np.array(codes))


def test_a_combination_without_rows_of_a_part() -> None:
    with pytest.raises(TableError, match=r"no row whose 'split' is 'train' for colour = green, shape = bar"):
        task(split="split").tensors([[1, 0]], seed=0, part="train")


def test_own_parts_need_a_split_column() -> None:
    with pytest.raises(SettingError, match="no column says which rows are for training"):
        Own().parts(task(), seed=0)


@pytest.mark.parametrize(
    ("wrong", "kind", "words"),
    [
        ({"factors": ("color", "shape")}, ColumnError, "did you mean 'colour'"),
        ({"target": "prise"}, ColumnError, "did you mean 'price'"),
        ({"split": "splitt"}, ColumnError, "did you mean 'split'"),
        ({"inputs": "prise"}, ColumnError, "did you mean 'price'"),
        ({"inputs": "price"}, ColumnError, "inputs are names of picture files"),
        ({"inputs": INPUTS[:4]}, TableError, "4 inputs beside 5 rows"),
        ({"inputs": np.array(["a"] * 5)}, SourceError, "array of numbers"),
        ({"inputs": np.array(3.0)}, SourceError, "array of numbers"),
        ({"inputs": np.where(INPUTS == 7, np.nan, INPUTS)}, SourceError, "NaN or an infinite number, first in row 3"),
        ({"source": TABLE | {"x": [[1.0], [2.0], [None], [1.0], [2.0]]}, "inputs": "x"}, SourceError, "first in row 2"),
        ({"form": "class"}, SettingError, "did you mean 'classes'"),
        ({"target": "kind", "form": "values"}, ColumnError, "asks for numbers"),
        ({"source": {name: column[:0] for name, column in TABLE.items()}}, TableError, "no rows"),
        ({"source": TABLE | {"price": [1.0, None, 2.0, 3.0, 4.0]}}, TableError, "'price' is missing in 1 of 5 rows"),
        ({"source": TABLE | {"shape": [None, *SHAPES[1:]]}}, TableError, "'shape' is missing in 1 of 5 rows"),
        ({"split": "kind"}, TableError, "no row says 'train' in 'kind'"),
        ({"source": "nowhere.csv"}, SourceError, "no file 'nowhere.csv'"),
        ({"inputs": "nowhere.npy"}, SourceError, "no file 'nowhere.npy'"),
        ({"source": 3}, SourceError, "cannot read int as a table"),
    ],
)
def test_mistakes(wrong: dict[str, Any], kind: type[RecombineError], words: str) -> None:
    with pytest.raises(kind, match=words):
        rendered(**wrong)


def test_array_files_that_cannot_serve(files: Path) -> None:
    several = str(files / "several.safetensors")
    for inputs, words in ((several, "several.safetensors#inputs"), (f"{several}#input", "did you mean 'inputs'")):
        with pytest.raises(SettingError, match=words):
            task(inputs=inputs).tensors([[0, 1]], seed=0)
    np.save(files / "objects.npy", np.array([{}, []], dtype=object), allow_pickle=True)
    (files / "text.npy").write_text("no array")
    (files / "text.safetensors").write_text("no array")
    for name in ("objects.npy", "text.npy", "text.safetensors"):
        with pytest.raises(SourceError, match="cannot read"):
            task(inputs=str(files / name)).tensors([[0, 1]], seed=0)
