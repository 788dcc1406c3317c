"""A forecast from the rows of a table: what may be given as inputs, which rows are fetched, and what is refused."""

import io

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import recombine
from recombine.base.errors import ColumnError, SettingError, SourceError, TableError
from recombine.data.table_query import TableQuery
from recombine.verbs.predict.answers import answers, truth_of
from recombine.verbs.predict.examples.example_forecast import reasons, verdict
from recombine.verbs.predict.examples.example_rows import fetch
from recombine.verbs.predict.examples.table_forecast import Examples, Known, forecast_from
from recombine_lab import features

pytest.importorskip("sklearn")

HOW = {"factors": ["p", "q"], "target": "y"}
LETTERS = np.array(list("abcde"))


def world(*, labelled=True, rows=5, noise=0.2, size=5):
    """A table of every pair with its rows; of a third of the pairs the target is missing, or there are no rows."""
    rng = np.random.default_rng(0)
    codes = np.repeat(np.indices((size, size)).reshape(2, -1).T, rows, axis=0)
    x = np.eye(size)[codes].reshape(len(codes), -1) + noise * rng.normal(size=(len(codes), 2 * size))
    unseen = codes.sum(axis=1) % 3 == 0
    said = [f"kind {code}" for code in codes[:, 0]]
    table = pa.table(
        {
            "p": LETTERS[codes[:, 0]],
            "q": LETTERS[codes[:, 1]],
            "y": [None if hide else one for hide, one in zip(unseen, said, strict=True)],
            "embedding": x.tolist(),
            "first": x[:, 0],
            "second": x[:, 6],
            "said": said,
        }
    )
    whole = recombine.read(table, factors=["p", "q"], target="said")
    return (table if not labelled else table.filter(pa.array(~unseen))), x, unseen, whole


def known_of(table, whole=None):
    support = recombine.read(table, **HOW)
    own = answers(support)
    return Known(support, own, None if whole is None else truth_of(whole, support, own), 8)


def asked(table, whole, inputs, **options):
    return forecast_from(table, known_of(table, whole), Examples(inputs=inputs, **options), HOW)


class TestGiven:
    def test_a_column_of_lists(self):
        table, _, _, whole = world(labelled=False)
        found = asked(table, whole, "embedding")
        assert found.way == "rows"
        assert (found.rows, found.of_rows, found.asked_rows) == (85, 85, 40)
        assert found.expected.value > 0.8
        assert found.expected.of == 8
        assert found.constant == "kind 0"  # what most of the unseen rows are

    def test_columns_of_numbers(self):
        table, _, _, whole = world(labelled=False)
        several = asked(table, whole, ["first", "second"])
        assert several.by_member == asked(table, whole, "first,second").by_member
        assert asked(table, whole, "first").expected.value < 0.6

    def test_arrays_and_files_by_row(self, tmp_path):
        table, x, _, whole = world(labelled=False)
        here = asked(table, whole, x)
        np.save(tmp_path / "x.npy", x)
        pq.write_table(table, tmp_path / "t.parquet")
        assert asked(tmp_path / "t.parquet", whole, str(tmp_path / "x.npy")).by_member == here.by_member
        safetensors = pytest.importorskip("safetensors.numpy")
        safetensors.save_file({"x": x}, tmp_path / "x.safetensors")
        assert asked(table, whole, str(tmp_path / "x.safetensors")).by_member == here.by_member
        torch = pytest.importorskip("torch")
        assert asked(table, whole, torch.as_tensor(x)).by_member == here.by_member

    def test_rows_that_a_condition_leaves_out_keep_their_place(self):
        table, x, _, whole = world(labelled=False)
        known = known_of(table, whole)
        found = forecast_from(table, known, Examples(inputs=x), {**HOW, "where": "q <> 'a'"})
        assert found.rows == 70
        assert found.expected.value > 0.8

    def test_unlabelled_rows_of_another_table(self):
        table, x, unseen, whole = world()
        other = world(labelled=False)[0].filter(pa.array(unseen)).drop_columns(["y", "said"])
        found = asked(table, whole, "embedding", unlabelled=other)
        assert (found.way, found.asked_rows) == ("rows", 40)
        by_row = asked(table, whole, x[~unseen], unlabelled=(other, x[unseen]))
        assert by_row.asked_rows == 40
        with pytest.raises(SettingError, match="unlabelled rows without inputs of their own"):
            asked(table, whole, x[~unseen], unlabelled=other)
        with pytest.raises(TableError, match="none of the 85 unlabelled rows is of an unseen combination"):
            asked(table, whole, "embedding", unlabelled=table)

    def test_without_rows_they_are_composed_and_without_truth_held_out(self):
        table, _, _, whole = world()
        composed = asked(table, whole, "embedding")
        assert composed.way == "composed"
        assert "judging by rows put together from seen ones" in verdict(composed)
        assert any("--unlabelled" in one for one in reasons(composed))
        held = asked(table, None, "embedding")
        assert held.way == "held out"
        assert "They stand for the 8 unseen combinations" in verdict(held)

    def test_rows_without_a_truth_are_told(self):
        table, *_ = world(labelled=False)
        found = asked(table, None, "embedding")
        assert any("give truth= (--truth)" in note for note in found.notes)

    def test_features_of_a_module(self):
        torch = pytest.importorskip("torch")
        module = torch.nn.Sequential(torch.nn.Linear(10, 7), torch.nn.ReLU(), torch.nn.Linear(7, 2))
        found = features(module, torch.zeros(600, 10), layer="1")
        assert found.shape == (600, 7)
        with pytest.raises(SettingError, match="no layer '3'"):
            features(module, torch.zeros(2, 10), layer="3")
        with pytest.raises(SettingError, match="make them first"):
            asked(world()[0], None, (module, "1"))


class TestPictures:
    def written(self, folder):
        image = pytest.importorskip("PIL.Image")
        table, x, _, whole = world(labelled=False)
        names = []
        for place, row in enumerate(x):
            pixels = np.clip(128 * row, 0, 255).astype(np.uint8).reshape(2, 5)
            names.append(f"{place:04d}.png")
            image.fromarray(pixels).save(folder / names[-1])
        return table, names, whole

    def test_a_folder(self, tmp_path):
        table, names, whole = self.written(tmp_path)
        by_order = asked(table, whole, str(tmp_path))
        assert by_order.expected.value > 0.8
        shuffled = np.random.default_rng(0).permutation(len(table))
        by_name = asked(table.append_column("file", pa.array(names)).take(shuffled), whole, tmp_path)
        assert by_name.expected.value > 0.8
        (tmp_path / names[-1]).unlink()
        with pytest.raises(TableError, match="has 124 inputs, and the table 125 rows"):
            asked(table, whole, str(tmp_path))

    def test_a_missing_image(self, tmp_path):
        table, names, whole = self.written(tmp_path)
        (tmp_path / names[70]).unlink()
        with pytest.raises(SourceError, match=r"1 of .* images are missing, the first is .*0070.png"):
            asked(table.append_column("file", pa.array(names)), whole, tmp_path)

    def test_columns_of_images(self, tmp_path):
        table, names, whole = self.written(tmp_path)
        content = [(tmp_path / name).read_bytes() for name in names]
        plain = asked(table.append_column("image", pa.array(content)), whole, "image")
        hugging = [{"bytes": one, "path": None} for one in content]
        assert asked(table.append_column("image", pa.array(hugging)), whole, "image").rows == plain.rows
        files = pa.array([str(tmp_path / name) for name in names])
        assert asked(table.append_column("image", files), whole, "image").expected.value > 0.8

    def test_large_pictures_are_made_smaller_and_it_is_told(self):
        image = pytest.importorskip("PIL.Image")
        table, x, _, whole = world(labelled=False)
        content = []
        for row in x:
            pixels = np.clip(128 * row, 0, 255).astype(np.uint8).reshape(2, 5).repeat(40, axis=0).repeat(40, axis=1)
            kept = io.BytesIO()
            image.fromarray(pixels).save(kept, format="PNG")
            content.append(kept.getvalue())
        found = asked(table.append_column("image", pa.array(content)), whole, "image")
        assert any("brought to 64 × 26 pixels" in note for note in found.notes)

    def test_no_image(self):
        table, _, _, whole = world(labelled=False)
        with pytest.raises(SourceError, match="cannot read the picture of row 1"):
            asked(table.append_column("image", pa.array([b"nothing"] * len(table))), whole, "image")


class TestFetched:
    def test_at_most_so_many_of_each_combination_and_the_same_again(self):
        table, *_ = world(labelled=False, rows=9)
        support = recombine.read(table, **HOW)
        question = TableQuery(factors=("p", "q"), target="y")
        first = fetch(table, support, question, inputs=["first"], each=4, seed=1)
        again = fetch(table.take(np.arange(len(table))[::-1]), support, question, inputs=["first"], each=4, seed=1)
        other = fetch(table, support, question, inputs=["first"], each=4, seed=2)
        assert len(first) == 100
        assert np.unique(first.codes, axis=0, return_counts=True)[1].tolist() == [4] * 25
        assert first.columns["first"].to_pylist() == again.columns["first"].to_pylist()
        assert first.columns["first"].to_pylist() != other.columns["first"].to_pylist()

    def test_only_those_travel(self):
        """The window is the engine's: what it sends back is counted by it."""
        table, *_ = world(labelled=False, rows=30)
        found = asked(table, None, "embedding", rows_per_combination=3)
        assert found.rows == 17 * 3
        assert found.of_rows == 17 * 30

    def test_a_table_of_a_database_has_no_order(self, tmp_path):
        table, x, _, whole = world(labelled=False)
        backend = ibis.duckdb.connect(tmp_path / "t.duckdb")
        backend.con.register("lent", table)
        backend.con.execute("CREATE TABLE t AS SELECT * FROM lent")
        with pytest.raises(SettingError, match="rows have no order"):
            asked(backend.table("t"), whole, x)
        assert asked(backend.table("t"), whole, "embedding").expected.value > 0.8
        backend.disconnect()


class TestRefused:
    @pytest.mark.parametrize(
        ("inputs", "error", "match"),
        [
            ("embeding", ColumnError, "did you mean 'embedding'"),
            (["first", "secnd"], ColumnError, "did you mean 'second'"),
            ("p", ColumnError, "inputs are numbers, lists of numbers, or images"),
            (np.ones((3, 4)), TableError, "3 inputs, and the table 125 rows"),
            (np.ones((125, 4)), TableError, "the same in all 85 rows"),
            (np.full((125, 4), np.nan), TableError, "holds NaN or infinite numbers in 85 of the 85 rows"),
            (np.array([["a"]] * 125), SettingError, "inputs are numbers"),
            (object(), SettingError, "no array"),
            ("missing.npy", SourceError, "cannot read"),
        ],
    )
    def test_inputs(self, inputs, error, match):
        table, _, _, whole = world(labelled=False)
        with pytest.raises(error, match=match):
            asked(table, whole, inputs)

    def test_gaps(self):
        table, _, _, whole = world(labelled=False)
        gaps = pa.array([None if place % 10 == 0 else 1.0 * place for place in range(len(table))])
        with pytest.raises(TableError, match="the input 'gap' is missing in"):
            asked(table.append_column("gap", gaps), whole, "gap")
        ragged = pa.array([[1.0] * (1 + place % 2) for place in range(len(table))])
        with pytest.raises(ColumnError, match="have from 1 to 2 items"):
            asked(table.append_column("list", ragged), whole, "list")

    def test_a_support(self):
        table, *_ = world()
        with pytest.raises(SettingError, match="a Support and inputs"):
            forecast_from(recombine.read(table, **HOW), known_of(table), Examples(inputs="embedding"), HOW)


@pytest.mark.slow
def test_a_million_rows_are_sampled_by_the_engine():
    """10^6 rows: the window sends back some thousands, and it is told."""
    rng = np.random.default_rng(0)
    codes = rng.integers(5, size=(10**6, 2))
    table = pa.table(
        {
            "p": LETTERS[codes[:, 0]],
            "q": LETTERS[codes[:, 1]],
            "y": codes[:, 0],
            "x": codes[:, 0] + 0.1 * rng.normal(size=10**6),
        }
    )
    kept = table.filter(pa.array(codes.sum(axis=1) % 3 != 0))
    known = known_of(kept)
    found = forecast_from(kept, known, Examples(inputs="x", rows=300), HOW)
    assert found.rows == 300
    assert found.of_rows == len(kept)
    assert f"300 of {len(kept):,} rows" in reasons(found)[0]
