"""Faults planted into the library on purpose, so that the attack (`benchmarks/siege.py`) can be seen to find them.

Each function breaks one thing for good: they are called in processes that end afterwards, or under `monkeypatch`.
"""

import shutil
import sys
import tempfile
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

from recombine.base import records
from recombine.base.errors import OutputError
from recombine.cli import app
from recombine.verbs.audit import dependence

_true_save = records.save


def wrong_dependence() -> None:
    """Every two factors depend on each other a little more than they do."""
    true = dependence.corrected_cramers_v
    dependence.corrected_cramers_v = lambda *given: true(*given) + 0.01


def everything() -> None:
    """A save that is neither whole nor careful, a warning at every start, and no memory for bins."""
    run = app.run
    records.save = careless_save

    def start() -> None:
        warnings.warn("planted", DeprecationWarning, stacklevel=1)
        if any("10000" in word for word in sys.argv):
            raise MemoryError("planted")
        run()

    app.run = start


def careless_save(record: Any, folder: Any, *, force: bool = True) -> Path:
    """The old goes first, then the new comes file by file, and a full disk is nothing to speak of."""
    target = Path(folder)
    there = {path.name for path in target.iterdir()} if target.is_dir() else set()
    if there and (not force or there != {"record.json", *(f"{name}.parquet" for name in record.tables)}):
        raise OutputError("planted", why="there is something", instead="name another place")
    shutil.rmtree(target, ignore_errors=True)
    with suppress(OSError, OutputError), tempfile.TemporaryDirectory() as elsewhere:
        whole = _true_save(record, Path(elsewhere) / "whole")
        target.mkdir(parents=True)
        for path in sorted(whole.iterdir()):
            (target / path.name).write_bytes(path.read_bytes())
    return target
