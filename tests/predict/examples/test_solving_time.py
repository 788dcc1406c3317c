"""How long solving on examples may take: solvers that never end are stopped, progress is told, and time has a limit."""

import re

import numpy as np
import pytest
from typer.testing import CliRunner

import recombine
from recombine.base.errors import RecombineError
from recombine.cli import terminal
from recombine.cli.app import app
from recombine.verbs.predict.examples import input_kernels, kernel_machines
from recombine.verbs.predict.examples.forecast import forecast
from recombine.verbs.predict.examples.kernel_machines import CodedAnswers

pytest.importorskip("sklearn")

ROWS = 100


def planted() -> tuple[np.ndarray, np.ndarray]:
    """Two numbers by which few rows can be told apart, and coins for answers: a margin's solver never ends on them."""
    rng = np.random.default_rng(7)
    inputs = np.column_stack([rng.choice([512, 768, 1024], ROWS), np.round(rng.lognormal(3, 1, ROWS), 2)])
    return inputs, (rng.random(ROWS) < 0.55).astype(int)


def combinations() -> np.ndarray:
    return np.array([(row % 5, row // 5 % 5) for row in range(ROWS)])


def table() -> dict[str, list]:
    (x, y), codes = planted(), combinations()
    kept = codes.sum(axis=1) % 4 > 0
    columns = {"a": codes[:, 0], "b": codes[:, 1], "width": x[:, 0], "price": x[:, 1], "y": y}
    return {name: column[kept].tolist() for name, column in columns.items()}


ASKED = {"factors": ["a", "b"], "target": "y"}
INPUTS = ["width", "price"]


def test_a_solver_that_never_ends_is_stopped_and_says_so() -> None:
    """Fifty million steps are not enough for this one."""
    inputs, labels = planted()
    kernel = input_kernels.kernels_of("relu:1")
    scaled = input_kernels.Scaling.of(inputs)(inputs)
    (matrix,) = input_kernels.matrices(kernel, scaled, scaled)
    answers = CodedAnswers("label", labels.astype(float)[:, None], 2)
    found = kernel_machines.margin(matrix, answers)
    assert not found.finished
    assert 0.5 < answers.marks(found.answer(matrix)).mean() < 0.7  # what it has by then is an answer


def test_a_machine_that_was_stopped_is_noted(monkeypatch) -> None:
    monkeypatch.setattr(kernel_machines, "_MOST_STEPS", 1)
    found = forecast(*planted(), combinations(), kernel="relu:1")
    assert "relu:1 margin was stopped short of the largest margin" in " ".join(found.notes)


@pytest.mark.parametrize("way", ["held out", "rows", "composed"])
def test_progress_rises_to_the_end(way: str) -> None:
    told: list[float] = []
    x, y, codes = np.random.default_rng(0).normal(size=(ROWS, 3)), planted()[1], combinations()
    unseen = codes.sum(axis=1) % 4 == 0
    asked = {"rows": (x[unseen], codes[unseen], y[unseen]), "composed": (None, codes[unseen], y[unseen])}
    forecast(x[~unseen], y[~unseen], codes[~unseen], *asked.get(way, ()), progress=told.append)
    assert told == sorted(told)
    assert len(told) > 2
    assert told[-1] == 1.0


def test_out_of_time_leaves_the_forecast_over_combinations() -> None:
    plain = recombine.predict(table(), **ASKED)
    found = recombine.predict(table(), **ASKED, examples=recombine.Examples(INPUTS, time_limit=1e-9))
    assert found.verdict == plain.verdict
    assert found.expected.value is None
    assert "the time limit of 1e-09 seconds was over when 1 of 18 steps were solved" in found.reasons[0]
    assert "fewer rows than 72: rows=36 (--rows 36)" in found.reasons[0]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"time_limit": 0, "inputs": INPUTS}, "time_limit=0"),
        ({"time_limit": 60}, "time_limit=… without inputs"),
    ],
)
def test_a_limit_that_means_nothing_is_refused(settings, said) -> None:
    with pytest.raises(RecombineError, match=said):
        recombine.predict(table(), **ASKED, examples=recombine.Examples(**settings))


def test_in_a_log_what_takes_long_says_how_far_it_is(tmp_path, monkeypatch) -> None:
    """Without a terminal there is no bar, and hours passed in silence."""
    monkeypatch.chdir(tmp_path)
    columns = table()
    lines = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    words = ["predict", "t.csv", "-f", "a,b", "-t", "y", "--inputs", "width,price"]
    monkeypatch.setattr(terminal, "_EVERY", -1.0)
    assert re.search(r"solving on examples: 50 %, about \d+ s left", CliRunner().invoke(app, words).stderr)
    monkeypatch.setattr(terminal, "_EVERY", 1e9)
    done = CliRunner().invoke(app, [*words, "--time-limit", "1e-9"])
    assert done.stderr == ""
    assert "the time limit of 1e-09 seconds was over" in " ".join(done.stdout.split())
