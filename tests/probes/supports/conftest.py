"""What is left open is worked out from fewer points in tests: a quarter of the time, and the same outcomes."""

import pytest

from recombine_lab.probes.support_probe import measures


@pytest.fixture(autouse=True)
def few_rows(monkeypatch):
    monkeypatch.setattr(measures, "MOST_ROWS", 600)
    monkeypatch.setattr(measures, "OPEN_SITES", 2)
