"""MLflow: told once of every run, by a real server; and never in the way of one."""

import sys
import warnings

import pytest

from recombine_lab.runs import tracking
from recombine_lab.runs.run import Run
from recombine_lab.runs.store import Store
from recombine_lab.runs.tracking import KEY, TrackingWarning, track
from tests.lab.runs.samples import run


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    """No server was given up yet."""
    monkeypatch.setattr(tracking, "_given_up", set())


@pytest.fixture
def client(mlflow_server, monkeypatch, request):
    """A client of the server, with an experiment of this test's own."""
    from mlflow import MlflowClient  # noqa: PLC0415 - heavy

    monkeypatch.setenv("MLFLOW_TRACKING_URI", mlflow_server)
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", request.node.name)
    return MlflowClient(tracking_uri=mlflow_server)


def told(client, name: str) -> list:
    return client.search_runs([client.get_experiment_by_name(name).experiment_id])


@pytest.mark.canary
def test_a_run_that_is_put_is_told(client, tmp_path, request):
    store = Store.open(tmp_path / "store")
    assert store.put(run(3))
    assert not store.put(run(3))
    (found,) = told(client, request.node.name)
    assert found.info.status == "FINISHED"
    assert found.data.params["model.width"] == "16"
    assert found.data.params["seed"] == "3"
    assert found.data.tags[KEY] == run(3).key
    assert found.data.tags["recombine.code"] == "0.1.0+abc"
    assert found.data.metrics["unseen.score"] == 0.5
    steps = [(one.step, one.value) for one in client.get_metric_history(found.info.run_id, "unseen.score")]
    assert sorted(steps) == [(0, -1.0), (100, 0.5)]
    artifacts = {one.path for one in client.list_artifacts(found.info.run_id)}
    assert artifacts >= {"record.json", "curve.parquet", "support.parquet"}


def test_a_run_is_told_once_and_a_torn_one_anew(client, request):
    assert track(run(0))
    assert track(run(0))
    (first,) = told(client, request.node.name)
    client.update_run(first.info.run_id, status="RUNNING")  # as if it had been cut off
    assert track(run(0, note="again"))
    (second,) = told(client, request.node.name)
    assert second.info.run_id != first.info.run_id


def test_a_diverged_run_with_many_settings(client, request):
    model = {"width": "x" * 2000, "odd (name)": 1} | {f"s{number}": number for number in range(120)}
    made = run(1, unseen=float("nan"), status="diverged", model=model)
    assert track(Run(**(vars(made) | {"metrics": {"seen.score": None, "other": 3.0}})))
    (found,) = told(client, request.node.name)
    assert found.info.status == "FAILED"
    assert found.data.tags["recombine.reason"] == "it diverged at step 7"
    assert found.data.params["model.s119"] == "119"
    assert found.data.params["model.odd _name_"] == "1"
    assert found.data.metrics["other"] == 3.0


def test_without_a_server_nothing_happens(monkeypatch):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not track(run(0))


def test_a_server_that_is_gone_is_told_of_once(tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://me:secret@127.0.0.1:9")
    store = Store.open(tmp_path)
    with pytest.warns(TrackingWarning, match="not told to MLflow at http://…@127.0.0.1:9") as seen:
        assert store.put(run(0))
    assert len(seen) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert store.put(run(1))
    assert store.keys() == {run(0).key, run(1).key}


def test_without_mlflow_installed(tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.warns(TrackingWarning, match=r"pip install 'recombine\[mlflow\]'"):
        assert Store.open(tmp_path).put(run(0))
