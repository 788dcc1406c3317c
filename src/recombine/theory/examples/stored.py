"""A forecast from examples as plain data with a table of its combinations, and back."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from recombine.decoding import revive
from recombine.expected import Expected
from recombine.theory.examples.forecast import ExampleForecast

_PLAIN = (
    "way",
    "members",
    "seen_by_member",
    "probe",
    "rows",
    "of_rows",
    "asked_rows",
    "correction",
    "notes",
    "constant",
    "fewer",
)


@dataclass(frozen=True)
class _Described:
    """What stands in a record of a forecast from examples."""

    way: str
    members: tuple[str, ...]
    seen_by_member: tuple[float | None, ...] | None
    by_member: tuple[float | None, ...]
    seen: float | None
    drop: float | None
    probe: float | None
    rows: int
    of_rows: int
    asked_rows: int
    correction: tuple[float, float] | None
    notes: tuple[str, ...]
    constant: str | None
    fewer: float | None = None


def describe(found: ExampleForecast | None) -> dict[str, Any] | None:
    """All but the combinations, which stand in a table."""
    if found is None:
        return None
    plain = {name: getattr(found, name) for name in _PLAIN}
    plain |= {"by_member": found.by_member, "seen": found.seen, "drop": found.drop}
    return asdict(_Described(**{name: _finite(value) for name, value in plain.items()}))


def _finite(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_finite(one) for one in value)
    return None if isinstance(value, float) and not np.isfinite(value) else value


def combinations(found: ExampleForecast) -> pa.Table:
    """A line for each combination: its codes, its rows, one answer for all, and each member's score."""
    codes = {f"code{k}": column for k, column in enumerate(found.codes.T)}
    members = {f"member{m}": line for m, line in enumerate(found.scores)}
    return pa.table({**codes, "rows": found.counts, "base": found.base, **members})


def revived(plain: dict[str, Any] | None, table: pa.Table | None, expected: Expected | None) -> ExampleForecast | None:
    """A forecast as it was."""
    if plain is None or table is None or expected is None:
        return None
    found = revive(_Described, plain, at="examples")
    factors = sum(name.startswith("code") for name in table.column_names)
    seen = found.seen_by_member
    return ExampleForecast(
        expected=expected,
        way=found.way,
        members=found.members,
        seen_by_member=None if seen is None else tuple(float("nan") if one is None else one for one in seen),
        codes=np.stack([table[f"code{k}"].to_numpy() for k in range(factors)], axis=1).astype(np.int32),
        counts=table["rows"].to_numpy(),
        scores=np.stack([table[f"member{m}"].to_numpy() for m in range(len(found.members))]),
        base=table["base"].to_numpy(),
        probe=found.probe,
        rows=found.rows,
        of_rows=found.of_rows,
        asked_rows=found.asked_rows,
        correction=found.correction,
        notes=found.notes,
        constant=found.constant,
        fewer=found.fewer,
    )
