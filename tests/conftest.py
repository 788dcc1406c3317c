"""What every test may ask for: the shared data, a real PostgreSQL, Spark, S3 server and MLflow server."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests import servers

# One set of examples for everybody: a failure in CI is a failure at home, whatever the machine's speed.
settings.register_profile("ci", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("explore", deadline=None, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

_IN_CI = os.environ.get("CI") == "true"
os.environ.setdefault("KERAS_BACKEND", "torch")  # the one that is installed; Keras reads it when it is first imported

# A shell's background job ignores Ctrl-C, and so would every command that the tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _data_folder() -> Path:
    named = os.environ.get("RECOMBINE_DATA")
    return Path(named) if named else Path(__file__).parents[2] / "shared" / "data"


def pytest_runtest_setup(item: pytest.Item) -> None:
    """A test marked `data` is skipped with a word where they are absent, and fails where CI promised them."""
    folder = _data_folder()
    if item.get_closest_marker("data") is None or folder.is_dir():
        return
    if _IN_CI and "RECOMBINE_DATA" in os.environ:
        pytest.fail(f"RECOMBINE_DATA={folder} was promised, but there is no such folder", pytrace=False)
    pytest.skip(f"the shared data sets are not in {folder}: set RECOMBINE_DATA to where they are")


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    """Several threads for networks as small as those of the tests only wait for each other."""
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of the shared data sets; ask for it in tests marked `data`."""
    return _data_folder()


@pytest.fixture(scope="session")
def postgres() -> Iterator[servers.Postgres]:
    """A PostgreSQL server that lives as long as the tests."""
    yield from _started(servers.postgres)


@pytest.fixture(scope="session")
def spark() -> Iterator[servers.Spark]:
    """A local Spark session that lives as long as the tests."""
    yield from _started(servers.spark)


@pytest.fixture(scope="session")
def s3() -> Iterator[servers.S3]:
    """An S3 server that lives as long as the tests."""
    yield from _started(servers.s3)


@pytest.fixture(scope="session")
def mlflow_server() -> Iterator[str]:
    """The address of an MLflow server that lives as long as the tests."""
    yield from _started(servers.mlflow)


def _started(server: Callable[[], AbstractContextManager[Any]]) -> Iterator[Any]:
    try:
        manager = server()
        running = manager.__enter__()
    except servers.AbsentError as absent:
        if _IN_CI:
            pytest.fail(str(absent), pytrace=False)
        pytest.skip(str(absent))
    try:
        yield running
    finally:
        manager.__exit__(None, None, None)
