"""What goes wrong with inputs, each through the command that a person runs: what was given, why it is wrong, what to
write instead; never a traceback, and never silently."""

import json
import subprocess
import sys
from itertools import product

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import recombine
from recombine.base.errors import RecombineError
from recombine.cli.app import app

pytest.importorskip("sklearn")
SIZE, EACH = 5, 3
CODES = np.array([pair for pair in product(range(SIZE), repeat=2) if sum(pair) % 4 != 3 for _ in range(EACH)])
INPUTS = np.eye(SIZE)[CODES].reshape(len(CODES), -1) + 0.1 * np.random.default_rng(0).normal(size=(len(CODES), 10))
COLUMNS = {
    "a": [f"a{code}" for code in CODES[:, 0]],
    "b": [f"b{code}" for code in CODES[:, 1]],
    "y": [f"y{code % 2}" for code in CODES[:, 0]],
}


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    write()


def write(inputs=INPUTS, **others) -> None:
    pq.write_table(pa.table({**COLUMNS, **others, "x": list(inputs)}), "t.parquet")


def run(verb, *words, table="t.parquet"):
    learner = ["--learner", "examples"] if verb == "rehearse" else []
    return CliRunner().invoke(app, [verb, table, "-f", "a,b", "-t", "y", *learner, *words])


def refused(verb, *words, table="t.parquet") -> RecombineError:
    done = run(verb, *words, table=table)
    assert isinstance(done.exception, RecombineError), done.output
    return done.exception


@pytest.mark.parametrize("verb", ["predict", "rehearse"])
class TestBothVerbs:
    def test_misaligned_inputs(self, verb) -> None:
        np.save("short.npy", INPUTS[:-1])
        error = refused(verb, "--inputs", "short.npy")
        assert f"{len(CODES) - 1} inputs, and the table {len(CODES)} rows" in error.what
        assert "one for each row" in error.instead

    def test_missing_images(self, verb, tmp_path) -> None:
        image = pytest.importorskip("PIL.Image")
        folder = tmp_path / "pictures"
        folder.mkdir()
        names = [f"{place:03}.png" for place in range(len(CODES))]
        for name in names:
            image.new("L", (4, 4)).save(folder / name)
        write(file=names)
        (folder / names[-1]).unlink()
        error = refused(verb, "--inputs", "pictures")
        assert f"1 of {len(CODES)} images are missing" in error.what
        assert names[-1] in error.what

    def test_nan_is_told_by_the_tables_own_row(self, verb) -> None:
        bad = INPUTS.copy()
        bad[41, 2] = np.nan
        np.save("bad.npy", bad)
        error = refused(verb, "--inputs", "bad.npy")
        assert "row 42 of the table" in error.why
        assert "--where" in error.instead

    def test_nan_in_a_column_of_lists(self, verb) -> None:
        bad = INPUTS.copy()
        bad[7] = np.inf
        write(bad)
        assert "'x' holds NaN or infinite numbers in 1 of" in refused(verb, "--inputs", "x").what

    def test_constant_inputs(self, verb) -> None:
        write(np.ones_like(INPUTS))
        assert "the same in all" in refused(verb, "--inputs", "x").what

    def test_one_class(self, verb) -> None:
        write(y=["y0"] * len(CODES))
        assert "one class" in f"{(error := refused(verb, '--inputs', 'x')).what} {error.why}"

    def test_lists_written_as_text(self, verb) -> None:
        pc.write_csv(pa.table({**COLUMNS, "x": [str(row.tolist()) for row in INPUTS]}), "t.csv")
        error = refused(verb, "--inputs", "x", table="t.csv")
        assert "written as text" in error.what
        assert "Parquet, or one column for each number" in error.instead


class TestOptionsThatWouldBeIgnored:
    def test_symbols_beside_inputs(self) -> None:
        assert "leave one of them out" in refused("predict", "--inputs", "x", "--symbols").instead

    def test_a_seen_score_without_a_truth(self) -> None:
        assert "--truth" in refused("predict", "--inputs", "x", "--seen-score", "0.9").instead

    @pytest.mark.parametrize("score", ["1.2", "-0.1"])
    def test_a_seen_score_that_no_accuracy_has(self, score) -> None:
        error = refused("predict", "--inputs", "x", "--seen-score", score, "--truth", "y")
        assert error.why == "an accuracy lies between 0 and 1"

    def test_a_seen_score_below_one_answer_for_all_is_told(self) -> None:
        every = pa.table(
            {
                "a": [f"a{a}" for a, _ in product(range(SIZE), repeat=2)],
                "b": [f"b{b}" for _, b in product(range(SIZE), repeat=2)],
                "y": [f"y{a % 2}" for a, _ in product(range(SIZE), repeat=2)],
            }
        )
        pq.write_table(every, "truth.parquet")
        done = run("predict", "--inputs", "x", "--seen-score", "0.2", "--truth", "truth.parquet", "--json")
        assert any("no better than one answer for all" in one for one in json.loads(done.stdout)["reasons"])

    def test_rows(self) -> None:
        error = refused("predict", "--inputs", "x", "--rows", "-5")
        assert (error.what, error.why) == ("rows=-5", "it is a whole number, 10 or more")

    @pytest.mark.parametrize("bad", [[1.0], [float("nan")] * 10])
    def test_unlabelled_rows_are_looked_at_without_a_truth_too(self, bad) -> None:
        pq.write_table(pa.table({"a": ["a0", "a1"], "b": ["b3", "b2"], "x": [[0.0] * 10, bad]}), "more.parquet")
        assert "'x'" in refused("predict", "--inputs", "x", "--unlabelled", "more.parquet").what


class TestLearners:
    def test_a_name_that_means_nothing(self) -> None:
        done = CliRunner().invoke(app, ["rehearse", "t.parquet", "-f", "a,b", "-t", "y", "--learner", "reul:2"])
        assert done.exception.what == "learner='reul:2'"
        assert "'relu'" in done.exception.instead

    def test_a_class_in_place_of_an_instance(self) -> None:
        from sklearn.linear_model import LogisticRegression  # noqa: PLC0415 - an extra

        with pytest.raises(RecombineError, match=r"make one: LogisticRegression\(\)"):
            recombine.rehearse(COLUMNS, LogisticRegression, factors=["a", "b"], target="y")

    def test_a_regression_on_labels(self) -> None:
        from sklearn.linear_model import Ridge  # noqa: PLC0415 - an extra

        with pytest.raises(RecombineError, match="give a classifier"):
            recombine.rehearse(COLUMNS, Ridge(), factors=["a", "b"], target="y")


@pytest.mark.slow
def test_a_million_rows_through_the_command() -> None:
    """The engine sends back some rows of each combination, and the sentence says of how many."""
    rng = np.random.default_rng(0)
    codes = CODES[rng.integers(0, len(CODES), size=10**6)]
    columns = {f"x{k}": codes[:, k] + 0.1 * rng.normal(size=len(codes)) for k in range(2)}
    kinds = {"a": np.array([f"a{k}" for k in range(SIZE)]), "b": np.array([f"b{k}" for k in range(SIZE)])}
    told = {name: values[codes[:, k]] for k, (name, values) in enumerate(kinds.items())}
    pq.write_table(pa.table({**told, "y": codes[:, 0] % 2 == 0, **columns}), "many.parquet")
    done = run("predict", "--inputs", "x0,x1", "--rows", "400", "--json", table="many.parquet")
    told = json.loads(done.stdout)
    assert told["examples"]["of_rows"] == 10**6
    assert told["examples"]["rows"] <= 400


def test_the_command_as_a_module() -> None:
    done = subprocess.run([sys.executable, "-m", "recombine", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("recombine ")
