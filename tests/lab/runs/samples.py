"""Runs made by hand: small, and different where it matters."""

from typing import Any

import pyarrow as pa

from recombine.base.records import Provenance
from recombine_lab.runs.run import Configuration, Run


def configuration(seed: int = 0, **changes: Any) -> Configuration:
    """A run's settings; a change names a part and replaces settings of it."""
    parts: dict[str, Any] = {
        "task": {"name": "addition", "values": 5},
        "split": {"name": "corner", "factors": ["left", "right"]},
        "model": {"name": "mlp", "width": 16, "layers": 2},
        "recipe": {"steps": 100, "lr": 0.01, "batch": None},
        "code": "0.1.0+abc",
    }
    for name, change in changes.items():
        parts[name] = parts[name] | change if isinstance(change, dict) else change
    return Configuration(**parts, seed=seed)


def run(
    seed: int = 0,
    *,
    unseen: float | None = 0.5,
    status: Any = "finished",
    note: str = "",
    created: str = "2026-01-02T03:04:05+00:00",
    **changes: Any,
) -> Run:
    """A run with the tables that every run has."""
    factors = {"left": ["0", "0", "1"], "right": ["0", "1", "0"]}
    curve = pa.table(
        {
            "step": [0, 0, 100, 100],
            "part": ["seen", "unseen", "seen", "unseen"],
            "n": [3, 1, 3, 1],
            "loss": [1.0, 2.0, 0.1, 0.5],
            "error": [1.0, 2.0, 0.1, 0.5],
            "score": [0.0, -1.0, 0.9 + seed / 1000, unseen],
        }
    )
    three = {"part": ["seen"] * 3, **factors, "error": [0.01] * 3}
    return Run(
        configuration=configuration(seed, **changes),
        status=status,
        reason=None if status == "finished" else f"it {status} at step 7",
        steps=100,
        seconds=1.5,
        together=1,
        metrics={"seen.loss": 0.1, "seen.score": 0.9 + seed / 1000, "unseen.loss": 0.5, "unseen.score": unseen},
        tables={
            "curve": curve,
            "combinations": pa.table({"step": [100] * 3, **three, "count": [1] * 3}),
            "predictions": pa.table({**three, "target": [0.0, 1.0, 1.0], "prediction": [0.1, 0.9, 1.1]}),
            "support": pa.table({**factors, "count": [2, 1, 1]}),
        },
        provenance=Provenance(source="addition", settings={"note": note}, created=created),
    )
