"""Learners of every kind on one table: estimators, commands, and what each of them can do wrong."""

import sys
import time
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import recombine
from recombine.base.errors import RecombineError
from recombine.verbs.rehearse import learners
from recombine.verbs.rehearse.learners import CommandLearner

SEEN = [(a, b) for a, b in product(range(7), range(7)) if (a + 2 * b) % 5]
FACTORS = ["a", "b"]


def numbers(times=2):
    rng = np.random.default_rng(0)
    seen = SEEN * times
    told = {"a": [f"a{a}" for a, _ in seen], "b": [f"b{b}" for _, b in seen]}
    return told | {"x": [float(a) for a, _ in seen], "y": [a + 2 * b + 0.1 * rng.normal() for a, b in seen]}


def labels(times=2):
    told = numbers(times)
    return told | {"y": ["high" if y > 9 else "low" for y in told["y"]]}


def test_an_estimator_on_one_hot_factors_is_the_additive_rule() -> None:
    made = Ridge(alpha=1e-6)
    found = recombine.rehearse(numbers(), made, factors=FACTORS, target="y")
    exact = recombine.rehearse(numbers(), "additive", factors=FACTORS, target="y")
    assert found.learner == "Ridge"
    assert found.expected.value == pytest.approx(exact.expected.value, abs=1e-3)
    assert not hasattr(made, "coef_")  # it was copied


def test_a_pipeline_on_labels_and_on_inputs() -> None:
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    by_factors = recombine.rehearse(labels(), pipeline, factors=FACTORS, target="y")
    assert by_factors.expected.value > 0.7
    told = labels()
    rng = np.random.default_rng(1)
    inputs = np.column_stack([told["x"], rng.normal(size=len(told["x"]))])
    by_inputs = recombine.rehearse(told, pipeline, inputs=inputs, factors=FACTORS, target="y")
    by_column = recombine.rehearse(told, pipeline, inputs=["x"], factors=FACTORS, target="y")
    assert by_inputs.expected.value < by_factors.expected.value  # the inputs tell one factor only
    assert by_column.expected.value < by_factors.expected.value


def test_any_fit_and_predict_pair_will_do() -> None:
    class Mean:
        def fit(self, x, y):
            self.mean = y.mean()
            return self

        def predict(self, x):
            return np.full(len(x), self.mean)

    found = recombine.rehearse(numbers(), Mean(), factors=FACTORS, target="y")
    assert found.expected.value == pytest.approx(0, abs=0.15)
    assert found.grade in ("weak", "failing")


class Wrong(BaseEstimator):
    def __init__(self, how="raise") -> None:
        self.how = how

    def fit(self, x, y):
        if self.how == "raise":
            raise ValueError("singular matrix")
        return self

    def predict(self, x):
        if self.how == "nan":
            return np.full(len(x), np.nan)
        return np.array(["red"] * len(x)) if self.how == "text" else np.zeros(len(x) - 1)


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("raise", "singular matrix"),
        ("short", "each has one answer"),
        ("nan", "not numbers"),
        ("text", "answered"),
    ],
)
def test_estimators_that_go_wrong(how, words) -> None:
    with pytest.raises(RecombineError) as caught:
        recombine.rehearse(numbers(), Wrong(how), factors=FACTORS, target="y")
    assert words in str(caught.value)


def test_a_learner_without_predict() -> None:
    class Half:
        def fit(self, x, y):
            return self

    with pytest.raises(RecombineError, match="has no predict"):
        recombine.rehearse(numbers(), Half(), factors=FACTORS, target="y")


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        (np.zeros((3, 2)), "the i-th input belongs to the i-th row"),
        (np.full((2 * len(SEEN), 2), np.nan), "NaN"),
        (["z"], "no column 'z'"),
        (["a"], "'a'"),
        ("missing.npy", "missing.npy"),
    ],
)
def test_inputs_that_do_not_fit(inputs, words) -> None:
    with pytest.raises(RecombineError) as caught:
        recombine.rehearse(numbers(), Ridge(), inputs=inputs, factors=FACTORS, target="y")
    assert words in str(caught.value)


def test_a_support_has_no_rows_for_an_estimator() -> None:
    with pytest.raises(RecombineError, match="works on rows"):
        recombine.rehearse(recombine.read(numbers(), factors=FACTORS, target="y"), Ridge())


SCRIPT = """
import csv, sys
train, test, out = sys.argv[1:4]
rows = list(csv.DictReader(open(train)))
by = {}
for row in rows:
    by.setdefault(row["b"], []).append(row["y"])
asked = list(csv.DictReader(open(test)))
assert "y" not in asked[0]
with open(out, "w") as file:
    print("NAME", file=file)
    for row in asked:
        said = by[row["b"]]
        print(max(set(said), key=said.count), file=file)
"""


ANSWER = "max(set(said), key=said.count)"


def command(tmp_path, script=SCRIPT):
    path = tmp_path / "train.py"
    path.write_text(script)
    return f"{sys.executable} {path} {{train}} {{test}} {{out}}"


@pytest.mark.parametrize("name", ["prediction", "y"])
def test_a_command_reads_and_writes_tables(tmp_path, name) -> None:
    line = command(tmp_path, SCRIPT.replace("NAME", name))
    found = recombine.rehearse(labels(), line, factors=FACTORS, target="y", rounds=2)
    assert 0.5 < found.expected.value <= 1
    assert found.learner.endswith("train.py")


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("import sys; sys.exit('no such file: weights.pt')", "no such file: weights.pt"),
        ("pass", "wrote no {out}"),
        ("import sys; open(sys.argv[3], 'w').write('y\\nlow\\n')", "wrote 1 answers"),
        ("import sys; open(sys.argv[3], 'w').write('guess\\nlow\\n')", "wrote the columns guess"),
    ],
)
def test_commands_that_go_wrong(tmp_path, script, words) -> None:
    with pytest.raises(RecombineError) as caught:
        recombine.rehearse(labels(), command(tmp_path, script), factors=FACTORS, target="y", rounds=2)
    assert words in str(caught.value)


def test_a_command_may_write_booleans_as_python_does(tmp_path) -> None:
    """Taken for another class, True where the table says true would be wrong on every row, and nobody told."""
    table = labels()
    table["y"] = [label == table["y"][0] for label in table["y"]]
    script = SCRIPT.replace("NAME", "y").replace(ANSWER, f"{ANSWER}.title()")
    found = recombine.rehearse(table, command(tmp_path, script), factors=FACTORS, target="y", rounds=2)
    assert found.expected.value > 0.5


def test_answers_of_a_command_that_are_no_class_are_refused(tmp_path) -> None:
    script = SCRIPT.replace("NAME", "y").replace(ANSWER, "'banana'")
    with pytest.raises(RecombineError, match="answered 'banana'") as caught:
        recombine.rehearse(labels(), command(tmp_path, script), factors=FACTORS, target="y", rounds=2)
    assert "as they stand in {train}" in str(caught.value)


def test_a_backslash_parts_folders_on_windows(monkeypatch) -> None:
    line = r"C:\tools\python.exe 'my train.py' {train} {test} {out}"
    assert CommandLearner(line).name == r"C:toolspython.exe my train.py"
    monkeypatch.setattr(learners, "os", SimpleNamespace(sep="\\"))
    assert CommandLearner(line).name == r"C:\tools\python.exe my train.py"


def test_a_command_has_a_time_limit(tmp_path) -> None:
    begun = time.monotonic()
    with pytest.raises(RecombineError, match="did not end"):
        recombine.rehearse(
            labels(), command(tmp_path, "import time; time.sleep(60)"), factors=FACTORS, target="y", time_limit=0.5
        )
    assert time.monotonic() - begun < 30


def test_a_command_without_places() -> None:
    with pytest.raises(RecombineError, match=r"no \{train\}"):
        recombine.rehearse(labels(), "python train.py", factors=FACTORS, target="y")


def test_a_program_that_is_not_there() -> None:
    with pytest.raises(RecombineError, match="cannot run"):
        recombine.rehearse(labels(), "no-such-program {train} {test} {out}", factors=FACTORS, target="y")


def noisy(noise=0.5, times=12):
    """Rows whose inputs are their factors, one-hot, with noise."""
    rng = np.random.default_rng(2)
    seen = np.array(SEEN * times)
    inputs = np.concatenate([np.eye(7)[seen[:, 0]], np.eye(7)[seen[:, 1]]], axis=1)
    inputs = inputs + noise * rng.normal(size=inputs.shape)
    table = {"a": seen[:, 0].tolist(), "b": seen[:, 1].tolist()}
    return table | {"y": (seen[:, 0] + 2.0 * seen[:, 1]).tolist()}, inputs


@pytest.mark.parametrize("kind", ["number", "label"])
def test_kernel_machines_on_inputs_lose_what_the_noise_takes(kind) -> None:
    scores = {}
    for noise in (0.05, 0.6):
        told, inputs = noisy(noise)
        if kind == "label":
            told |= {"y": ["high" if y > 9 else "low" for y in told["y"]]}
        unseen = [one for one in product(range(7), range(7)) if one not in SEEN]
        right = [a + 2.0 * b for a, b in unseen]
        truth = {"a": [a for a, _ in unseen], "b": [b for _, b in unseen], "y": right}
        if kind == "label":
            truth |= {"y": ["high" if y > 9 else "low" for y in right]}
        found = recombine.rehearse(told, "examples", inputs=inputs, factors=FACTORS, target="y", truth=truth)
        assert found.expected.basis == "rehearsal"
        scores[noise] = found.expected.value
    assert scores[0.05] > 0.75
    assert scores[0.6] < scores[0.05] - 0.05


def test_kernels_on_inputs_by_name_and_one_row_a_combination() -> None:
    told, inputs = noisy(0.1, times=1)
    found = recombine.rehearse(told, "ntk:1", inputs=inputs, factors=FACTORS, target="y", rounds=2)
    assert found.expected.value > 0.5
    with pytest.raises(RecombineError, match="ntk:x"):
        recombine.rehearse(told, "ntk:x", inputs=inputs, factors=FACTORS, target="y")
