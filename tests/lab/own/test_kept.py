"""What was trained is kept: networks, sentences in words, latents; callbacks that see it; comparisons; signals."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest
import torch

import recombine_lab
from recombine.base.errors import SettingError
from recombine_lab import Store, compare, fit
from recombine_lab.training.loop import StepEvent, terminating_as_interrupt
from tests.lab.own.things import Difference, Net
from tests.lab.training.toys import SPLIT, Echo, Sum
from tests.lab.training.toys import Net as Perceptron

RECIPE = {"steps": 5, "samples": "every", "evaluations": 2}
NET = {"name": "tests.lab.own.things:Net", "inputs": 8, "outputs": 2}


@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize("together", ["always", "never"])
def test_the_network_is_kept_unless_it_is_said_otherwise(stored, together, tmp_path):
    store = tmp_path / "runs" if stored else None
    runs = fit(Difference(), SPLIT, NET, RECIPE | {"together": together}, seeds=2, store=store, progress=None)
    for run in runs:
        module = (Store.open(store).get(run.key) if stored else run).module()
        assert isinstance(module, Net)
        batch = Difference().tensors(Difference().every(), seed=0)
        told = {(row["a"], row["b"]): row["prediction"] for row in run.tables["predictions"].to_pylist()}
        said = module(batch.inputs).argmax(1).tolist()
        assert told == dict(zip(map(tuple, Difference().every().tolist()), said, strict=True))


def test_latents_of_a_layer_stand_beside_the_predictions(tmp_path):
    (run,) = fit(Difference(), SPLIT, NET, RECIPE, store=tmp_path / "runs", progress=None)
    again = Store.open(tmp_path / "runs").get(run.key)
    body, scores = again.latents("body"), again.latents("head")
    table = run.tables["predictions"]
    assert body.shape == (len(table), 8)
    assert scores.argmax(1).tolist() == table["prediction"].to_pylist()
    np.testing.assert_allclose(scores[:, 0], table["score_0"].to_numpy(), rtol=1e-5)
    unseen = [place for place, part in enumerate(table["part"].to_pylist()) if part == "unseen"]
    np.testing.assert_array_equal(again.latents("body", part="unseen"), body[unseen])
    with pytest.raises(SettingError, match="did you mean 'head'"):
        again.latents("heads")
    with pytest.raises(SettingError, match="no part"):
        again.latents("head", part="nowhere")


class SpokenEcho(Echo):
    """An echo that can say its tokens in words."""

    def in_words(self, targets):
        names = ["", "", "one", "two", "three"]
        rows = [[*row, 1] for row in targets.tolist()]
        return [" ".join(names[token] for token in row[: row.index(1)]) for row in rows]


def test_sentences_are_kept_in_words():
    (run,) = fit(
        SpokenEcho(), "everything", Perceptron(), {"steps": 300, "lr": 0.05, "samples": "every"}, progress=None
    )
    for row in run.tables["predictions"].to_pylist():
        words = ["one", "two", "three"]
        assert row["target_text"] == f"{words[row['first']]} {words[row['second']]}"
        assert (row["prediction_text"] == row["target_text"]) == (row["error"] == 0)
    assert run.metrics["seen.score"] == 1
    assert run.factors == ("first", "second")
    (plain,) = fit(Echo(), "everything", Perceptron(), RECIPE, progress=None)
    assert "target_text" not in plain.tables["predictions"].column_names


@pytest.mark.parametrize("together", ["always", "never"])
def test_callbacks_see_the_networks_and_do_not_disturb_them(together):
    given = (Sum(), SPLIT, Perceptron(), RECIPE | {"together": together})
    seen: list[tuple[int, float]] = []

    def look(event: StepEvent) -> None:
        for run in range(2 if together == "always" else 1):
            module = event.module(run).eval()
            with torch.no_grad():
                seen.append((event.step, float(module(torch.ones(1, 10)))))

    watched = fit(*given, seeds=2, callbacks=[look], progress=None)
    alone = fit(*given, seeds=2, progress=None)
    assert [run.metrics for run in watched] == [run.metrics for run in alone]
    assert sorted(step for step, _ in seen) == [step for step in range(6) for _ in range(2)]
    assert len({value for _, value in seen}) == 12
    with torch.no_grad():
        assert seen[-1][1] == pytest.approx(float(watched[1].module()(torch.ones(1, 10))), rel=1e-4)


@pytest.mark.process
def test_scores_of_two_kinds_are_never_ranked_against_each_other(tmp_path):
    store = Store.open(tmp_path / "runs")
    for classes in (True, False):
        fit(Sum(classes=classes), SPLIT, Perceptron(), RECIPE, seeds=2, store=store, progress=None)
    made = compare(store)
    assert set(made.metrics) == {f"{part}.{kind}.score" for part in ("seen", "unseen") for kind in ("r2", "accuracy")}
    for group in made.groups:
        kind = "accuracy" if group.settings["task.classes"] else "r2"
        other = "r2" if kind == "accuracy" else "accuracy"
        assert len(group.spread(f"unseen.{kind}.score").known) == 2
        assert not group.spread(f"unseen.{other}.score").known
    assert set(compare(store, metrics=["unseen.score"]).metrics) == {"unseen.r2.score", "unseen.accuracy.score"}
    done = subprocess.run(
        [sys.executable, "-c", "from recombine.cli import main; main()", "runs", "compare", str(tmp_path / "runs")],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "The best" not in done.stdout


def test_runs_at_hand_are_compared_in_python_and_shown_in_a_notebook():
    runs = [run for hidden in (4, 8) for run in fit(Sum(), SPLIT, Perceptron(hidden), RECIPE, seeds=2, progress=None)]
    made = recombine_lab.compare(runs)
    assert made.metrics == ("seen.score", "unseen.score")
    assert made.table["model.hidden"].to_pylist() == ["4", "4", "8", "8"]
    assert made.table["runs"].to_pylist() == [2, 2, 2, 2]
    assert "<table>" in made._repr_html_()
    assert "finished" in runs[0]._repr_html_()


WAITING = """
    import sys, time
    from recombine_lab import fit

    def slow(event):
        print(event.step, flush=True)
        time.sleep(0.05)

    recipe = {"steps": 100, "samples": "every", "evaluations": 1}
    (run,) = fit("addition", "own", "mlp", recipe, store="runs", callbacks=[slow], progress=None)
    print("finished", run.steps)
"""


@pytest.mark.process
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_sigterm_is_ctrl_c(number, tmp_path):
    """Slurm and Kubernetes send it before they kill: the step is ended, the state kept, and the next call goes on.

    In the background, as a shell has it, Ctrl-C is ignored and SIGTERM is not.
    """
    command = [sys.executable, "-c", textwrap.dedent(WAITING)]
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path.cwd()), os.environ.get("PYTHONPATH", "")])}
    behind = ["sh", "-c", "trap '' INT; exec \"$@\"", "sh"] if number == signal.SIGTERM else []
    first = subprocess.Popen(
        [*behind, *command], cwd=tmp_path, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    while first.stdout.readline().strip() != "10":
        pass
    first.send_signal(number)
    said, _ = first.communicate(timeout=120)
    assert first.returncode != 0
    assert "finished" not in said
    reached = max(map(int, ["10", *said.split()]))
    assert list((tmp_path / "runs" / "states").iterdir())
    second = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=True, timeout=240)
    steps = second.stdout.splitlines()
    assert int(steps[0]) == reached + 1
    assert steps[-1] == "finished 100"


def killed_within():
    with terminating_as_interrupt():
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(1)


@pytest.mark.parametrize("interrupt", [signal.default_int_handler, signal.SIG_IGN])
def test_sigterm_interrupts_and_is_given_back(interrupt):
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    try:
        signal.signal(signal.SIGINT, interrupt)
        with pytest.raises(KeyboardInterrupt):
            killed_within()
    finally:
        signal.signal(signal.SIGINT, before[0])
    assert signal.getsignal(signal.SIGTERM) is before[1]
