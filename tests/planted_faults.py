"""Faults planted into the library on purpose, so that the attack (`benchmarks/siege.py`) can be seen to find them.

Each function breaks one thing for good: they are called in processes that end afterwards, or under `monkeypatch`.
"""

import json
import shutil
import sys
import warnings
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq


def wrong_dependence() -> None:
    """Every two factors depend on each other a little more than they do."""
    from recombine.auditing import dependence

    true = dependence.corrected_cramers_v
    dependence.corrected_cramers_v = lambda *given: true(*given) + 0.01


def everything() -> None:
    """A save that is neither whole nor careful, a warning at every start, and no memory for bins."""
    from recombine import records
    from recombine.cli import app

    run = app.run
    records.save = careless_save

    def start() -> None:
        warnings.warn("planted", DeprecationWarning, stacklevel=1)
        if any("10000" in word for word in sys.argv):
            raise MemoryError("planted")
        run()

    app.run = start


def careless_save(record: Any, folder: Any, **_: Any) -> Path:
    """The old goes first, then the new is written file by file, and a full disk is nothing to speak of."""
    target = Path(folder)
    shutil.rmtree(target, ignore_errors=True)
    try:
        target.mkdir(parents=True)
        for name, table in record.tables.items():
            with (target / f"{name}.parquet").open("wb") as file:
                pq.write_table(table, file)
        (target / "record.json").write_text(json.dumps(record.to_json() | {"tables": {}}, default=str))
    except OSError:
        pass
    return target
