"""A finished run told to an MLflow server, beside the plain files and never instead of them.

It happens where `MLFLOW_TRACKING_URI` is set and MLflow is installed (`pip install 'recombine[mlflow]'`). The
experiment is `MLFLOW_EXPERIMENT_NAME`, or `recombine`. A server that fails is told of once, as a warning; the run
stands in the store, and this process does not wait for that server again. What it missed can be sent later: `track`
sends a run once, however often it is called.
"""

import math
import os
import re
import tempfile
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from recombine.base.records import save
from recombine.base.redaction import guarded, redacted, redacted_words
from recombine_lab.runs.run import Run

URI = "MLFLOW_TRACKING_URI"
KEY = "recombine.key"
_EXPERIMENT = "MLFLOW_EXPERIMENT_NAME"
# MLflow's own patience is seven tries of two minutes, for which no run should wait.
_PATIENCE = {"MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2", "MLFLOW_HTTP_REQUEST_TIMEOUT": "20"}
_BATCH = 500  # metrics a request; MLflow takes 1,000 at most
_LONGEST = 500  # what every version of MLflow takes as a param
_MEASURED = ("loss", "error", "score")
_ENDED = {"finished": "FINISHED", "diverged": "FAILED", "failed": "FAILED"}
_given_up: set[str] = set()
_alone = threading.Lock()


class TrackingWarning(UserWarning):
    """A run could not be told to MLflow; its plain files are complete."""


def track(run: Run) -> bool:
    """Tell MLflow of a run, once; whether it now knows. Never raises: the plain files are what counts."""
    uri = os.environ.get(URI)
    if not uri or uri in _given_up:
        return False
    try:
        with _alone, _patience():
            _send(run, uri)
    except Exception as error:  # noqa: BLE001 - whatever a tracker does, a run is not broken by it
        _give_up(uri, error)
        return False
    return True


def _give_up(uri: str, error: Exception) -> None:
    _given_up.add(uri)
    reason = (
        "mlflow is not installed: pip install 'recombine[mlflow]'"
        if isinstance(error, ImportError)
        else f"{type(error).__name__}: {_first_line(error, uri)}"
    )
    warnings.warn(
        f"runs are not told to MLflow at {redacted(uri)} any more ({reason}). Their files in the store are "
        "complete; `recombine_lab.runs.tracking.track` sends them when the server is back.",
        TrackingWarning,
        stacklevel=4,
    )


def _first_line(error: Exception, uri: str) -> str:
    with guarded(uri):  # MLflow's words quote the address
        said = redacted_words(str(error))
    return said.splitlines()[0] if said else "no reason given"


@contextmanager
def _patience() -> Iterator[None]:
    """A short patience, unless the user has set one."""
    added = {name: value for name, value in _PATIENCE.items() if name not in os.environ}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)


def _send(run: Run, uri: str) -> None:
    from mlflow import MlflowClient  # noqa: PLC0415 - heavy, and needed here only

    client = MlflowClient(tracking_uri=uri)
    experiment = _experiment(client, os.environ.get(_EXPERIMENT) or "recombine")
    for known in client.search_runs([experiment], f"tags.`{KEY}` = '{run.key}'"):
        if known.info.status != "RUNNING":
            return
        client.delete_run(known.info.run_id)  # cut off while it was being sent
    _fill(client, experiment, run)


def _experiment(client: Any, name: str) -> str:
    """The experiment's number; another process may be making it at this moment."""
    from mlflow.exceptions import MlflowException  # noqa: PLC0415 - heavy, and needed here only

    found = client.get_experiment_by_name(name)
    if found is None:
        try:
            return str(client.create_experiment(name))
        except MlflowException:
            found = client.get_experiment_by_name(name)
            if found is None:
                raise
    return str(found.experiment_id)


def _fill(client: Any, experiment: str, run: Run) -> None:
    ended = int(datetime.fromisoformat(run.provenance.created).timestamp() * 1000)
    tags = {KEY: run.key, "recombine.code": run.configuration.code, "recombine.status": run.status}
    if run.reason is not None:
        tags["recombine.reason"] = run.reason[:_LONGEST]
    made = client.create_run(
        experiment, start_time=ended - int(run.seconds * 1000), tags=tags, run_name=f"{_title(run)} {run.key[:8]}"
    )
    params, metrics = _params(run), _metrics(run, ended)
    for start in range(0, len(params), 100):
        client.log_batch(made.info.run_id, params=params[start : start + 100])
    for start in range(0, len(metrics), _BATCH):
        client.log_batch(made.info.run_id, metrics=metrics[start : start + _BATCH])
    with tempfile.TemporaryDirectory() as folder:
        client.log_artifacts(made.info.run_id, str(save(run.record(), Path(folder) / "run")))
    client.set_terminated(made.info.run_id, status=_ENDED[run.status], end_time=ended)


def _title(run: Run) -> str:
    settings = run.configuration.flat()
    return " ".join(str(settings[part]) for part in ("task", "split", "model") if part in settings)


def _params(run: Run) -> list[Any]:
    from mlflow.entities import Param  # noqa: PLC0415 - heavy, and needed here only

    settings = run.configuration.flat() | {"seed": run.configuration.seed}
    return [Param(_name(name), str(value)[:_LONGEST]) for name, value in settings.items()]


def _metrics(run: Run, when: int) -> list[Any]:
    """The curve by step, and the last values; what is missing is left out, for MLflow would call it 0 or NaN."""
    from mlflow.entities import Metric  # noqa: PLC0415 - heavy, and needed here only

    rows = run.tables["curve"].to_pylist() if "curve" in run.tables else []
    told = [(f"{row['part']}.{name}", row[name], row["step"]) for row in rows for name in _MEASURED if name in row]
    names = {name for name, _, _ in told}
    told += [(name, value, run.steps) for name, value in run.metrics.items() if name not in names]
    return [
        Metric(_name(name), value, when, int(step))
        for name, value, step in told
        if value is not None and math.isfinite(value)
    ]


def _name(name: str) -> str:
    """A name with the characters that MLflow takes."""
    return re.sub(r"[^\w\-./ ]", "_", name)
