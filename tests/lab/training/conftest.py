"""What every test of training has: notes of its own, and Ctrl-C as Python has it."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def _notes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def cache(_notes: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Training notes which way was faster: in the tests' own folder, never in the user's."""
    monkeypatch.setenv("RECOMBINE_CACHE", str(_notes))
    return _notes


@pytest.fixture(autouse=True)
def _usual_interrupt() -> Iterator[None]:
    """Spark, which other tests start in this process, leaves a handler of its own behind."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
