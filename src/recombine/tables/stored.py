"""How a support is laid out in a record: small facts as JSON, everything else as tables, and back."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from recombine.algebra.groups import ANY
from recombine.decoding import MalformedError, revive
from recombine.records import Record
from recombine.tables.space import Factor, Space, Value
from recombine.tables.support import LabelTarget, NumberTarget, Support, Target


@dataclass(frozen=True)
class _DescribedTarget:
    """What stands in a record of a target, beside its sums."""

    name: str
    kind: Literal["label", "number"]
    classes: tuple[str, ...] = ()
    shift: float = 0.0


def describe(support: Support) -> dict[str, Any]:
    """The small facts about a support, as JSON holds them. Its factors are described by the result that holds it."""
    return {
        "rows": support.rows,
        "rows_left_out": support.left_out.get("(any)", 0),
        "left_out": dict(support.left_out),
        "impossible": [list(row) for row in support.space.impossible],
        "target": _describe_target(support.target),
    }


def tables(support: Support) -> dict[str, pa.Table]:
    """The large parts, as Parquet holds them."""
    found = {"support": _support_table(support), "values": _values_table(support)}
    if isinstance(support.target, LabelTarget):
        target = support.target
        found["classes"] = pa.table({"combination": target.combination, "label": target.label, "count": target.count})
    return found


def load_support(record: Record) -> Support:
    """The support that a record was made from."""
    values, lines = record.tables["values"], record.tables["support"]
    factors = []
    for described in record.data["factors"]:
        name = revive(str, described["name"], at="a factor's name")
        mine = values.filter(pc.equal(values["factor"], name))
        declared = revive(bool, described["declared"], at=name)
        factors.append(Factor(name, tuple(map(_from_text, mine["value"].to_pylist())), declared))
    space = Space(tuple(factors), _load_impossible(record, tuple(len(factor.values) for factor in factors)))
    codes = np.stack([lines[f"code{k}"].to_numpy() for k in range(len(factors))], axis=1)
    return Support(
        space,
        np.asfortranarray(codes.astype(np.int32)),
        lines["count"].to_numpy(),
        target=_load_target(record),
        rows=revive(int, record.data["rows"], at="rows"),
        left_out=revive(Mapping[str, int], record.data["left_out"], at="left_out"),
        source=record.provenance,
    )


def _load_impossible(record: Record, sizes: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """The impossible conjunctions: a value of each factor, or any."""
    found: tuple[tuple[int, ...], ...] = revive(tuple[tuple[int, ...], ...], record.data["impossible"], at="impossible")
    for row in found:
        if len(row) != len(sizes) or not all(ANY <= code < size for code, size in zip(row, sizes, strict=True)):
            raise MalformedError("impossible names values that there are not")
    return found


def _support_table(support: Support) -> pa.Table:
    columns: dict[str, Any] = {f"code{k}": support.codes[:, k] for k in range(len(support.space.factors))}
    columns["count"] = support.counts
    if isinstance(support.target, NumberTarget):
        target = support.target
        columns |= {
            "target_count": target.count,
            "target_total": target.total,
            "target_squares": target.squares,
        }
    return pa.table(columns)


def _values_table(support: Support) -> pa.Table:
    """One line for each value of each factor: how it is written, and how often it was seen."""
    factors = support.space.factors
    return pa.table(
        {
            "factor": np.repeat([factor.name for factor in factors], support.space.sizes),
            "value": [_to_text(value) for factor in factors for value in factor.values],
            "count": np.concatenate(support.value_counts),
        }
    )


def _describe_target(target: Target | None) -> dict[str, Any] | None:
    if target is None:
        return None
    if isinstance(target, LabelTarget):
        return {
            "name": target.name,
            "kind": "label",
            "classes": [_to_text(value) for value in target.classes],
        }
    return {"name": target.name, "kind": "number", "shift": target.shift}


def _load_target(record: Record) -> Target | None:
    described = revive(_DescribedTarget | None, record.data["target"], at="target")
    if described is None:
        return None
    if described.kind == "number":
        lines = record.tables["support"]
        count, total, squares = (lines[f"target_{part}"].to_numpy() for part in ("count", "total", "squares"))
        return NumberTarget(described.name, count, total, squares, described.shift)
    lines = record.tables["classes"]
    return LabelTarget(
        described.name,
        tuple(map(_from_text, described.classes)),
        *(lines[part].to_numpy() for part in ("combination", "label", "count")),
    )


def _to_text(value: Value) -> str:
    """A value as JSON, so that 1, true, "1" and a date stay apart."""
    if isinstance(value, date | datetime):
        return json.dumps({type(value).__name__: value.isoformat()})
    return json.dumps(value, ensure_ascii=False)


def _from_text(text: str) -> Value:
    value = json.loads(text)
    if isinstance(value, dict):
        ((kind, written),) = value.items()
        return {"date": date, "datetime": datetime}[kind].fromisoformat(written)
    return value  # type: ignore[no-any-return]
