"""A forecast from examples as plain data with a table of its combinations, and back."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from recombine.algebra.groups import Ints, Numbers
from recombine.decoding import revive
from recombine.expected import Expected
from recombine.statistics.distributions import normal_quantile
from recombine.statistics.intervals import wilson
from recombine.statistics.resampling import IntervalSettings
from recombine.tables.space import Space
from recombine.theory.examples.example_forecast import ExampleForecast
from recombine.words import free_name

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
    expected: Expected | None = None  # its own, which a rehearsal may have replaced as the one to rely on


def describe(found: ExampleForecast | None) -> dict[str, Any] | None:
    """All but the combinations, which stand in a table."""
    if found is None:
        return None
    plain = {name: getattr(found, name) for name in _PLAIN}
    plain |= {"by_member": found.by_member, "seen": found.seen, "drop": found.drop}
    return asdict(_Described(**{name: _finite(value) for name, value in plain.items()}, expected=found.expected))


def _finite(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_finite(one) for one in value)
    return None if isinstance(value, float) and not np.isfinite(value) else value


def combinations(found: ExampleForecast) -> pa.Table:
    """A line for each combination: its codes, its rows, one answer for all, and each member's score."""
    codes = {f"code{k}": column for k, column in enumerate(found.codes.T)}
    members = {f"member{m}": line for m, line in enumerate(found.scores)}
    return pa.table({**codes, "rows": found.counts, "base": found.base, **members})


def by_combination(found: ExampleForecast, space: Space) -> pa.Table:
    """A line for each combination: its values, the rows that were asked, the forecast, and how far it may be off.

    Of a label `right` is the share of rows that the machines get right on average, `low` and `high` its 95 % interval:
    Wilson's for so many rows, and the machines' own spread. Of a number `error` is the root mean squared error, `low`
    and `high` those of the best and the worst machine. `one_answer` is the same for one answer for all.
    """
    share = found.score == "accuracy"
    scores, base = (found.scores, found.base) if share else (np.sqrt(found.scores), np.sqrt(found.base))
    value = scores.mean(axis=0) if share else np.sqrt(found.scores.mean(axis=0))
    low, high = _around(scores, value, found.counts) if share else (scores.min(axis=0), scores.max(axis=0))
    told = {"rows": found.counts, "right" if share else "error": value, "low": low, "high": high, "one_answer": base}
    values = space.columns(found.codes)
    return pa.table(values | {free_name(name, values): column for name, column in told.items()})


def _around(scores: Numbers, value: Numbers, rows: Ints) -> tuple[Numbers, Numbers]:
    """Chance over rows and the spread of machines, added in variance; of composed rows, which are none, the spread."""
    settings = IntervalSettings()
    worth = np.maximum(rows, 1).astype(np.float64)
    low, high = wilson(value, worth, np.maximum(worth - 1, 1.0), settings)
    low, high = (np.where(rows > 0, end, value) for end in (low, high))
    spread = scores.std(axis=0, ddof=1) if len(scores) > 1 else np.zeros(len(value))
    reach = float(normal_quantile(1 - settings.tail)) * spread
    return (
        np.clip(value - np.hypot(value - low, reach), 0.0, 1.0),
        np.clip(value + np.hypot(high - value, reach), 0.0, 1.0),
    )


def revived(plain: dict[str, Any] | None, table: pa.Table | None, expected: Expected | None) -> ExampleForecast | None:
    """A forecast as it was."""
    if plain is None or table is None or expected is None:
        return None
    found = revive(_Described, plain, at="examples")
    factors = sum(name.startswith("code") for name in table.column_names)
    seen = found.seen_by_member
    return ExampleForecast(
        expected=expected if found.expected is None else found.expected,
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
