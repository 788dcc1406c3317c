"""AnnData: files as anndata wrote them through the years, matrices beside the table, and files that are broken."""

import sys
import tarfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from typer.testing import CliRunner

import recombine
from recombine.base.errors import ColumnError, RecombineError, SettingError, SourceError
from recombine.cli.app import app
from recombine.data import stored_arrays, vector_answers
from recombine.data.anndata import READER
from recombine.data.perturbation_columns import recognise
from recombine.data.read import read
from recombine.data.set_columns import set_columns
from recombine.data.stored_vectors import read_vectors, stored
from recombine.data.table_query import TableQuery
from recombine.data.vector_answers import RunningMeans, answers_of
from tests.data.anndata_files import CELLS, CONDITIONS, GENES, expression, write

h5py = pytest.importorskip("h5py")

FACTORS = ["condition", "cell_type"]
FILES = ["sparse.h5ad", "dense.h5ad", "v2.zarr", "v3.zarr"]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """By anndata of today where it is installed, and as they were kept elsewhere."""
    folder = tmp_path_factory.mktemp("anndata")
    try:
        write(folder)
    except ImportError:
        with tarfile.open(Path(__file__).with_name("anndata_files.tar.xz")) as archive:
            archive.extractall(folder, filter="data")
    return folder


def of(files: Path, name: str) -> str:
    if name.endswith(".zarr"):
        pytest.importorskip("zarr")
    return str(files / name)


def check_means(support: recombine.Support, rows: dict[Any, np.ndarray]) -> None:
    assert support.vectors is not None
    assert len(support) == len(rows)
    halves = [half + support.vectors.shift for half in support.vectors.halves(np.arange(len(support)))]
    for k in range(len(support)):
        mine = rows[tuple(support.combination(k).values())]
        np.testing.assert_allclose(support.vectors.of(np.array([k]))[0], mine.mean(axis=0), rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(support.vectors.scatter[k], np.square(mine - mine.mean(axis=0)).sum(), rtol=1e-6)
        for turn, half in enumerate(halves):
            np.testing.assert_allclose(half[k], mine[turn::2].mean(axis=0), rtol=1e-5, atol=1e-6)


def by_hand() -> dict[Any, np.ndarray]:
    condition, line = np.repeat(CONDITIONS, CELLS // 5), np.tile(["K562", "A549"], CELLS // 2)
    return {(a, b): expression()[(condition == a) & (line == b)] for a in CONDITIONS for b in ("K562", "A549")}


@pytest.mark.parametrize("name", FILES)
def test_the_table_of_cells_is_read_in_every_form(files: Path, name: str) -> None:
    rows = READER.read(Path(of(files, name)), None)
    second = rows.slice(1, 1).to_pylist()[0]
    assert len(rows) == CELLS
    assert second == {
        "condition": "ctrl",
        "cell_type": "A549",
        "batch": 2,
        "n_counts": expression()[1].sum(),
        "lane": None,
        "passed": False,
        "kept": False,
        "größe": "groß",
        "note": "β",
        "_index": "cell1",
    }
    assert rows["passed"].null_count == rows["größe"].null_count == rows["note"].null_count == CELLS // 3


@pytest.mark.parametrize("name", FILES)
def test_means_of_a_matrix_are_those_of_its_rows(files: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    targets = ["X"] if name == "dense.h5ad" else ["X", "raw", "layer:counts", "layer:csc"]
    monkeypatch.setattr(stored_arrays, "ENTRIES", 17 if name.endswith(".h5ad") else 10**6)
    for target in targets:
        support = read(of(files, name), factors=FACTORS, target=target)
        check_means(support, by_hand())
        assert support.vectors is not None
        assert support.vectors.outputs == tuple(f"gene{k}" for k in range(GENES))
        assert support.vectors.name == target


def test_rows_that_a_condition_leaves_out_are_no_part_of_a_mean(files: Path) -> None:
    kept = {key: rows for key, rows in by_hand().items() if key[0] != "ctrl"}
    check_means(read(of(files, "sparse.h5ad"), factors=FACTORS, target="X", where="condition <> 'ctrl'"), kept)
    check_means(read(of(files, "sparse.h5ad"), factors=FACTORS, target="layer:csc", where="condition <> 'ctrl'"), kept)


def test_a_representation_beside_the_table_has_numbered_outputs(files: Path) -> None:
    found = read(of(files, "sparse.h5ad"), factors=FACTORS, target="obsm:X_pca").vectors
    assert found is not None
    assert found.outputs == ("0", "1")


def test_sets_and_a_matrix_meet_in_one_support(files: Path) -> None:
    """A+ctrl and ctrl+A are one set, and its mean is over both."""
    source, sets = of(files, "sparse.h5ad"), {"genes": "condition:+"}
    support = read(source, sets=sets)
    found = read_vectors(source, support, stored(source, "X"), TableQuery(factors=("genes",), sets=set_columns(sets)))
    labels = support.space.factors[0].labels
    means = dict(zip((labels[code] for code in support.codes[:, 0]), found.of(np.arange(5)), strict=True))
    condition = np.repeat(CONDITIONS, CELLS // 5)
    np.testing.assert_allclose(means["KLF1"], expression()[condition == "ctrl+KLF1"].mean(axis=0), rtol=1e-6)
    np.testing.assert_allclose(means["control"], expression()[condition == "ctrl"].mean(axis=0), rtol=1e-6)


def test_a_prediction_in_a_layer_is_evaluated(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    a, b = np.repeat(np.arange(4), 30), np.tile(np.repeat(np.arange(3), 10), 4)
    mean = rng.normal(size=(4, 6))[a] + rng.normal(size=(3, 6))[b]
    held = (a + b) % 4 == 3
    columns = {"a": [f"a{x}" for x in a], "b": [f"b{x}" for x in b], "split": np.where(held, "test", "train").tolist()}
    path = plain_file(tmp_path / "said.h5ad", columns, mean + rng.normal(size=mean.shape) / 10)
    with h5py.File(path, "a") as file:
        file["layers/said"] = mean
    asked = {"factors": ["a", "b"], "target": "X", "prediction": "layer:said", "split": "split"}
    found = recombine.evaluate_vectors(path, **asked)  # type: ignore[arg-type]
    score = found.side("unseen").score("root mean square")
    assert score is not None
    assert score.value is not None
    assert score.value < 0.1


def plain_file(path: Path, columns: dict[str, list[str]], matrix: Any = None) -> Path:
    """A file with columns of text, as anndata 0.8 and later write them."""
    with h5py.File(path, "w") as file:
        obs = file.create_group("obs")
        obs.attrs.update({"encoding-type": "dataframe", "_index": "_index", "column-order": list(columns)})
        for name, values in columns.items():
            obs[name] = values
        obs["_index"] = [f"cell{k}" for k in range(len(next(iter(columns.values()), [])))]
        if matrix is not None:
            file["X"] = matrix
    return path


def test_files_of_older_versions_are_read(tmp_path: Path) -> None:
    counts, labels = sparse.csr_array(expression()), np.repeat(np.arange(5), CELLS // 5).astype(np.int8)
    lines = np.tile(["K562", "A549"], CELLS // 2)
    seventh, before = tmp_path / "seventh.h5ad", tmp_path / "before.h5ad"
    with h5py.File(seventh, "w") as file:  # 0.7: codes with a reference to their names
        obs = file.create_group("obs")
        obs.attrs.update({"encoding-type": "dataframe", "_index": "index", "column-order": ["condition", "cell_type"]})
        names = obs.create_group("__categories")
        names["condition"] = CONDITIONS
        obs["condition"] = labels
        obs["condition"].attrs["categories"] = names["condition"].ref
        obs["cell_type"] = lines.tolist()
        obs["index"] = [f"cell{k}" for k in range(CELLS)]
        matrix = file.create_group("X")
        matrix.attrs.update({"encoding-type": "csr_matrix", "shape": counts.shape})
        for part in ("data", "indices", "indptr"):
            matrix[part] = getattr(counts, part)
    with h5py.File(before, "w") as file:  # one compound table, names in uns
        kind = np.dtype([("index", "S8"), ("condition", np.int8), ("cell_type", "S8")])
        table = np.zeros(CELLS, kind)
        table["index"], table["condition"], table["cell_type"] = (
            np.arange(CELLS).astype("S8"),
            labels,
            lines.astype("S8"),
        )
        file["obs"] = table
        file["uns/condition_categories"] = np.array(CONDITIONS, dtype="S12")
        matrix = file.create_group("X")
        matrix.attrs.update({"h5sparse_format": "csr", "h5sparse_shape": counts.shape})
        for part in ("data", "indices", "indptr"):
            matrix[part] = getattr(counts, part)
    for path in (seventh, before):
        check_means(read(str(path), factors=FACTORS, target="X"), by_hand())


@pytest.mark.parametrize("name", FILES)
def test_rows_of_several_blocks_are_handed_back(files: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_arrays, "ENTRIES", 17)
    matrix = stored(of(files, name), "X")
    assert isinstance(matrix, stored_arrays.StoredArray)
    rows = np.array([40, 3, 3, 59, 21])
    np.testing.assert_array_equal(matrix[rows], expression()[rows])


@pytest.mark.parametrize("seed", range(20))
def test_sparse_rows_are_added_up_as_plain_ones(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    monkeypatch.setattr(vector_answers, "_CACHED_SPARSE", int(rng.integers(1, 200)))
    rows, width, combinations = int(rng.integers(2, 80)), int(rng.integers(1, 9)), int(rng.integers(1, 7))
    values = rng.poisson(0.5, (rows, width)).astype(np.float32) * rng.choice([1.0, 3.5])
    codes = rng.integers(-1, combinations, rows)
    codes[0] = 0
    plain = answers_of("y", ("o",) * width, codes, values, combinations=combinations)
    by_row, by_column = (RunningMeans.empty(combinations, width) for _ in range(2))
    for part in np.split(np.arange(rows), np.sort(rng.integers(0, rows + 1, 3))):
        by_row.add(codes[part], sparse.csr_array(values)[part])
    cuts = [0, *sorted(rng.integers(0, width + 1, 2)), width]
    stored_by_column = sparse.csc_array(values)
    blocks = [(slice(low, high), stored_by_column[:, low:high]) for low, high in pairwise(cuts)]
    by_column.add_by_column(codes, blocks)
    every = np.arange(combinations)
    for running in (by_row, by_column):
        found = running.finished("y", ("o",) * width)
        np.testing.assert_array_equal(found.count, plain.count)
        np.testing.assert_allclose(found.of(every), plain.of(every), atol=1e-5)
        np.testing.assert_allclose(found.apart, plain.apart, atol=1e-5)
        np.testing.assert_allclose(found.scatter, plain.scatter, atol=1e-4)
        np.testing.assert_allclose(found.output_scatter, plain.output_scatter, atol=1e-4)


def test_a_sparse_row_that_misses_an_output_is_left_out() -> None:
    values = np.array([[1.0, 0.0], [np.nan, 0.0], [3.0, 5.0]])
    running = RunningMeans.empty(1, 2)
    running.add(np.zeros(3, dtype=np.int64), sparse.csr_array(values))
    found = running.finished("y", ("a", "b"))
    assert found.rows_left_out == 1
    np.testing.assert_allclose(found.of(np.array([0])), [[2.0, 2.5]])


@pytest.mark.parametrize(
    ("columns", "read_as", "by"),
    [
        ({"condition": ["ctrl", "AHR+ctrl", "AHR+FEV"], "cell_type": ["A"]}, {"genes": "condition:+"}, "GEARS"),
        ({"cond_harm": ["A+B", "ctrl"], "condition": ["B+A"]}, {"genes": "cond_harm:+"}, "CPA"),
        ({"perturbation": ["A_B", "A", "control"], "nperts": ["2"]}, {"genes": "perturbation:_"}, "scPerturb"),
        ({"genetic_perturbation_id": ["a || b", "a"]}, {"genes": "genetic_perturbation_id:||"}, "CELLxGENE"),
        ({"Drug1": ["a"], "Drug2": ["b"]}, {"drugs": "Drug1,Drug2"}, "exchanged"),
    ],
)
def test_conventions_are_recognised(columns: dict[str, list[str]], read_as: dict[str, str], by: str) -> None:
    found = recognise(columns, columns.__getitem__)
    assert found is not None
    assert found.sets == read_as
    assert by in found.said


def test_what_follows_no_convention_is_not_said_to() -> None:
    assert recognise(["condition"], lambda _: ["healthy", "ill"]) is None
    assert recognise(["colour", "shape"], lambda _: ["a+b"]) is None


def run(*words: str) -> Any:
    return CliRunner().invoke(app, list(words), env={"COLUMNS": "200"})


def test_a_command_without_factors_names_the_set_and_the_matrices(files: Path) -> None:
    found = run("audit", of(files, "sparse.h5ad"))
    said = " ".join(found.output.split())
    assert found.exit_code == 2
    assert "condition is written as GEARS writes it: genes with '+' between them, 'ctrl' for none." in said
    assert "X, raw, layer:counts, layer:csc and obsm:X_pca are matrices beside the table" in said
    proposal = recombine.propose(of(files, "sparse.h5ad"))
    assert proposal.sets == {"genes": "condition:+"}
    assert "condition" not in proposal.factors


def test_the_command_that_is_proposed_works(files: Path) -> None:
    found = run("audit", of(files, "sparse.h5ad"), "--set", "genes=condition:+", "--factors", "cell_type")
    assert found.exit_code == 0, found.output


def broken(path: Path, change: Callable[[Any], None]) -> Path:
    """A file with two factors and a sparse matrix, changed."""
    plain_file(path, {"condition": ["a", "b", "a", "b"], "cell_type": ["p", "p", "q", "q"]})
    with h5py.File(path, "a") as file:
        matrix = file.create_group("X")
        matrix.attrs.update({"encoding-type": "csr_matrix", "shape": (4, 3)})
        matrix["data"], matrix["indices"] = np.ones(4), np.arange(4) % 3
        matrix["indptr"] = np.arange(5)
        change(file)
    return path


def replaced(name: str, values: Any) -> Callable[[Any], None]:
    def change(file: Any) -> None:
        del file[name]
        file[name] = values

    return change


BROKEN: dict[str, tuple[Callable[[Any], None], str]] = {
    "no obs": (lambda file: file.pop("obs"), "holds no table 'obs'"),
    "several": (lambda file: (file.pop("obs"), file.create_group("mod")), "several AnnData"),
    "columns of other lengths": (replaced("obs/condition", ["a", "b"]), "differ in length"),
    "no UTF-8": (replaced("obs/condition", np.array([b"\xff\xfe"] * 4)), "cannot read"),
    "a code without a name": (
        lambda file: (
            file.pop("obs/condition"),
            file.create_dataset("obs/condition/codes", data=[0, 9, 0, 1]),
            file.create_dataset("obs/condition/categories", data=["a", "b"]),
        ),
        "cannot read",
    ),
    "no categories": (
        lambda file: (file.pop("obs/condition"), file.create_dataset("obs/condition/codes", data=[0, 1, 0, 1])),
        "cannot read",
    ),
    "an unknown kind of column": (
        lambda file: (
            file.pop("obs/condition"),
            file.create_group("obs/condition").attrs.update({"encoding-type": "new"}),
        ),
        "is stored as new",
    ),
    "an unknown kind of matrix": (
        lambda file: file["X"].attrs.update({"encoding-type": "coo_matrix"}),
        "stored as coo",
    ),
    "entries outside": (replaced("X/indices", np.array([0, 1, 2, 99])), "entries outside"),
    "ends that fall": (replaced("X/indptr", np.array([0, 3, 1, 2, 4])), "do not fit"),
    "ends beyond": (replaced("X/indptr", np.array([0, 1, 2, 3, 40])), "do not fit"),
    "other rows": (lambda file: file["X"].attrs.update({"shape": (7, 3)}), "7 rows beside a table of 4"),
    "no matrix": (lambda file: file.pop("X"), "no column 'X'"),
    "no numbers": (lambda file: file["X"].pop("data"), "cannot read"),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_broken_files_are_refused_in_words(tmp_path: Path, fault: str) -> None:
    change, said = BROKEN[fault]
    path = broken(tmp_path / "broken.h5ad", change)
    with pytest.raises(RecombineError, match=said):
        read(str(path), factors=FACTORS, target="X")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "0 bytes"),
        (b"<html>not found</html>", "does not begin as HDF5"),
        (b"\x89HDF\r\n\x1a\n" + b"x" * 90, "cut short"),
    ],
)
def test_what_is_no_hdf5_is_refused_in_words(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "screen.h5ad"
    path.write_bytes(content)
    with pytest.raises(SourceError, match=said):
        read(str(path), factors=FACTORS)


@pytest.mark.parametrize("share", [0.3, 0.7, 0.98])
def test_a_truncated_file_is_refused_in_words(files: Path, tmp_path: Path, share: float) -> None:
    whole = Path(of(files, "sparse.h5ad")).read_bytes()
    path = tmp_path / "half.h5ad"
    path.write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(SourceError, match="cut short"):
        read(str(path), factors=FACTORS, target="X")


def test_a_folder_that_is_no_store_is_refused_in_words(tmp_path: Path) -> None:
    pytest.importorskip("zarr")
    (tmp_path / "screen.zarr").mkdir()
    with pytest.raises(SourceError, match="cannot read"):
        read(str(tmp_path / "screen.zarr"), factors=FACTORS)


def test_a_name_that_no_matrix_has_is_answered_with_those_that_there_are(files: Path) -> None:
    with pytest.raises(ColumnError, match="layer:counts"):
        read(of(files, "sparse.h5ad"), factors=FACTORS, target="layer:count")


def test_columns_that_are_stored_by_column_cannot_be_read_in_step(files: Path) -> None:
    found = stored(of(files, "sparse.h5ad"), "layer:csc")
    with pytest.raises(SettingError, match="stored by column"):
        found[np.array([0])]  # type: ignore[index,call-overload]


def test_without_h5py_the_extra_is_named(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(SourceError, match=r"recombine\[anndata\]"):
        read(of(files, "sparse.h5ad"), factors=FACTORS, target="X")
