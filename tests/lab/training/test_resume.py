"""After kill -9 at any step, in another process, together or alone: the same numbers, bit for bit."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from recombine_lab.runs.run import Configuration
from recombine_lab.runs.store import Store
from recombine_lab.training import loop
from recombine_lab.training.configurations import configurations, jobs
from recombine_lab.training.fit import fit
from recombine_lab.training.learners import Optimiser
from recombine_lab.training.loop import StepEvent, TrainingContext, deferred_interrupt
from recombine_lab.training.pack import train, train_jobs
from tests.lab.training.toys import SPLIT, Memory, Net, Sum, same
from tests.properties import examples

ROOT = Path(__file__).parents[3]
STEPS = 14
RECIPES: list[dict[str, Any]] = [
    {"optimiser": "adamw", "lr": 0.01, "schedule": "cosine", "clip": 0.5, "batch": 8, "samples": 20},
    {"optimiser": "sgd", "lr": 0.05, "momentum": 0.9, "batch": 5, "samples": "every"},
    {"optimiser": "adam", "lr": 0.01, "warmup": 4, "batch": 6},
]


@st.composite
def plans(draw: Any) -> dict[str, Any]:
    recipe = draw(st.sampled_from(RECIPES)) | {"steps": STEPS, "evaluations": 5}
    recipe |= {"together": draw(st.sampled_from(["always", "never"]))}
    seeds = draw(st.lists(st.integers(0, 99), min_size=1, max_size=3, unique=True))
    runs = configurations("addition", "everything", {"name": "mlp", "hidden": [6]}, recipe, seeds=seeds)
    kills = sorted(draw(st.lists(st.integers(1, STEPS - 1), min_size=1, max_size=2)))
    return {"runs": [run.plain() for run in runs], "kills": kills, "every": draw(st.integers(1, 6))}


@pytest.mark.process
@given(st.lists(plans(), min_size=5, max_size=5, unique_by=lambda plan: json.dumps(plan["runs"])))
@examples(1, suppress_health_check=list(HealthCheck))
def test_killed_and_resumed_to_the_same_bits(tmp_path_factory: pytest.TempPathFactory, plans: Any) -> None:
    place = tmp_path_factory.mktemp("store") / "runs"
    done = subprocess.run(
        [sys.executable, "-m", "tests.lab.training.killed", str(place)],
        input=json.dumps(plans),
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    store = Store.open(place)
    for plan, ends in zip(plans, json.loads(done.stdout), strict=True):
        # A run that is taken up at the step where it was killed is not killed there again.
        assert ends[0] == -9
        assert set(ends[1:-1]) <= {-9, 0}
        assert ends[-1] == 0
        asked = [Configuration(**run) for run in plan["runs"]]
        for run, configuration in zip(train(asked, store=None), asked, strict=True):
            assert same(store.get(configuration.key), run)
            assert store.load_state(configuration.key) is None


class Stop(Exception):  # noqa: N818
    pass


def _stopping(at: int) -> Any:
    def callback(event: StepEvent) -> None:
        if event.step == at:
            raise Stop

    return callback


def test_a_pack_is_taken_up_by_other_company() -> None:
    """Each run has a state of its own: what was begun as one pack can be ended as two."""
    recipe = RECIPES[0] | {"steps": STEPS, "together": "always"}
    runs = configurations("addition", SPLIT, {"name": "mlp", "hidden": [6]}, recipe, seeds=range(5))
    whole = train(runs, store=None)
    store = Memory()
    with pytest.raises(Stop):
        train(runs, store=store, callbacks=[_stopping(9)], checkpoint_every=4)
    assert {meta["step"] for _, meta in store.states.values()} == {8}
    found = train(runs[3:], store=store) + train([runs[0]], store=store) + train(runs, store=store)
    for run in found:
        assert same(run, next(one for one in whole if one.key == run.key))


@pytest.mark.parametrize("together", ["always", "never"])
@pytest.mark.parametrize("by_signal", [True, False])
def test_ctrl_c_loses_nothing(together: str, by_signal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Raised by a callback, or come by signal in the middle of a step: that step is ended, and saved."""
    recipe = RECIPES[0] | {"steps": STEPS, "together": together}
    asked = configurations("addition", SPLIT, {"name": "mlp", "hidden": [6]}, recipe, seeds=range(2))
    store, told = Memory(), []

    def stop(event: StepEvent) -> None:
        if event.step == 5 and not by_signal:
            raise KeyboardInterrupt

    def update(optimiser: Optimiser, step: int) -> None:
        if step == 4 and by_signal:
            signal.raise_signal(signal.SIGINT)
        whole(optimiser, step)

    whole = Optimiser.step
    monkeypatch.setattr(Optimiser, "step", update)
    with pytest.raises(KeyboardInterrupt):
        train(asked, store=store, callbacks=[stop])
    monkeypatch.undo()
    assert {meta["step"] for _, meta in store.states.values()} == {5}
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    found = train(asked, store=store, callbacks=[lambda event: told.append(event.step)])
    assert told[0] == 6
    assert all(same(run, other) for run, other in zip(found, train(asked, store=None), strict=True))


def test_who_handled_ctrl_c_before_does_so_again() -> None:
    """The command line has a handler of its own, and so has Spark."""
    came = []

    def theirs(*_: object) -> None:
        came.append(True)
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, theirs)
    with pytest.raises(KeyboardInterrupt), deferred_interrupt(wanted=True) as interrupted:  # noqa: PT012 - it raises at its end
        signal.raise_signal(signal.SIGINT)
        assert interrupted()
        assert not came
    assert came == [True]
    assert signal.getsignal(signal.SIGINT) is theirs


def test_a_second_ctrl_c_does_not_wait() -> None:
    with pytest.raises(KeyboardInterrupt), deferred_interrupt(wanted=True) as interrupted:  # noqa: PT012 - the second raises
        signal.raise_signal(signal.SIGINT)
        assert interrupted()
        signal.raise_signal(signal.SIGINT)
        pytest.fail("it waited")
    with pytest.raises(KeyboardInterrupt), deferred_interrupt(wanted=True):
        signal.raise_signal(signal.SIGINT)  # and one that nobody asked about is not lost


def test_a_run_goes_on_in_the_way_in_which_it_began() -> None:
    recipe = RECIPES[0] | {"steps": STEPS, "together": "auto"}
    (run,) = configurations("addition", SPLIT, {"name": "mlp", "hidden": [6]}, recipe, seeds=(0,))
    store = Memory()
    with pytest.raises(Stop):
        train([run], store=store, callbacks=[_stopping(9)], checkpoint_every=4)
    content, meta = store.states[run.key]
    assert meta["way"] == "alone"
    store.states[run.key] = content, meta | {"way": "together"}
    (found,) = train([run], store=store)
    (alone,) = train([run], store=None)
    assert found.metrics["unseen.loss"] == pytest.approx(alone.metrics["unseen.loss"], rel=1e-4)


@pytest.mark.parametrize("model", [Net(dropout=0.5), Net(norm=True)])
@pytest.mark.parametrize("stop", [1, 7])
def test_dropout_and_running_statistics_are_taken_up_too(model: Net, stop: int) -> None:
    asked = jobs(Sum(), SPLIT, model, {"steps": STEPS, "batch": 8}, (0, 1), named=False)
    store = Memory()
    whole = train_jobs(asked, TrainingContext())
    with pytest.raises(Stop):
        train_jobs(asked, TrainingContext(store=store, callbacks=[_stopping(stop)], checkpoint_every=1))
    for run, other in zip(train_jobs(asked, TrainingContext(store=store)), whole, strict=True):
        assert same(run, other)


def test_runs_that_ended_early_are_in_the_store_before_the_others_end() -> None:
    recipes = [
        {"steps": STEPS, "optimiser": "sgd", "lr": lr, "evaluations": 3, "together": "always"} for lr in (0.01, 1e25)
    ]
    store, told = Memory(), []

    def look(event: StepEvent) -> None:
        told.append(len(store.runs))

    fit("addition", SPLIT, {"name": "mlp", "hidden": [6]}, recipes, store=store, callbacks=[look])
    assert told[-2] == 1
    assert len(store.runs) == 2


@pytest.mark.process
def test_a_second_process_gives_the_same_numbers() -> None:
    recipe = {"steps": 10, "evaluations": 3}
    asked = configurations("addition", SPLIT, {"name": "mlp", "hidden": [6]}, recipe, seeds=(0,))
    code = (
        "import json, sys\n"
        "from recombine_lab.runs.run import Configuration\n"
        "from recombine_lab.training.pack import train\n"
        "print(json.dumps(dict(train([Configuration(**json.load(sys.stdin))], store=None)[0].metrics)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input=json.dumps(asked[0].plain()), capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == dict(train(asked, store=None)[0].metrics)


def test_saving_now_and_then_costs_a_fiftieth(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock of our own: steps take a second, saving takes two."""
    clock = [0.0]
    monkeypatch.setattr(loop, "monotonic", lambda: clock[0])

    class Slow(Memory):
        def save_state(self, *given: Any) -> None:
            clock[0] += 2
            super().save_state(*given)

    def tick(event: StepEvent) -> None:
        clock[0] += 1

    store = Slow()
    recipe = {"steps": 1000, "samples": "every", "batch": None, "evaluations": 1}
    (run,) = fit("addition", SPLIT, {"name": "mlp", "hidden": [2]}, recipe, store=store, callbacks=[tick])
    assert store.saves == 10
    assert run.seconds == pytest.approx(1000 + 2 * 10, abs=2)
