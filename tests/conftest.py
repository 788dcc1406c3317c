"""What every test may ask for: the shared data, a real PostgreSQL, Spark, S3 server and MLflow server."""

import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NoReturn

import pytest

from tests import servers
from tests.properties import load_profile, write_characters_down

load_profile()
pytest_plugins = ["tests.tiers"]

_IN_CI = os.environ.get("CI") == "true"
os.environ.setdefault("OMP_NUM_THREADS", "1")  # NumPy reads it when it is first imported; tests run side by side
os.environ.setdefault("KERAS_BACKEND", "torch")  # the one that is installed; Keras reads it when it is first imported

# A shell's background job ignores Ctrl-C, and so would every command that the tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _data_folder() -> Path:
    named = os.environ.get("RECOMBINE_DATA")
    return Path(named) if named else Path(__file__).parents[2] / "shared" / "data"


def pytest_runtest_setup(item: pytest.Item) -> None:
    """What a marker asks for and is absent is said in a skipped test, and in a failed one where CI promised it."""
    if item.get_closest_marker("data") is not None:
        _need_data_sets()
    if item.get_closest_marker("browser") is not None and shutil.which("chromium") is None:
        _absent("chromium is not on PATH, so the page cannot be opened in a browser")


def _need_data_sets() -> None:
    if not _data_folder().is_dir():
        _absent(
            f"the shared data sets are not in {_data_folder()}: set RECOMBINE_DATA to where they are",
            promised="RECOMBINE_DATA" in os.environ,
        )


def pytest_collection_finish() -> None:
    """Before the first test, in every process that runs some."""
    write_characters_down()


def _absent(what: str, *, promised: bool = True) -> NoReturn:
    if _IN_CI and promised:
        pytest.fail(what, pytrace=False)
    pytest.skip(what)


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    """Several threads for networks as small as those of the tests only wait for each other."""
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of the shared data sets; who asks for it is skipped, with a word, where they are not."""
    _need_data_sets()
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
        _absent(str(absent))
    try:
        yield running
    finally:
        manager.__exit__(None, None, None)
