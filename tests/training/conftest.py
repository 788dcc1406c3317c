"""Training notes which way was faster: in the tests' own folder, never in the user's."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def _notes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def cache(_notes: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RECOMBINE_CACHE", str(_notes))
    return _notes
