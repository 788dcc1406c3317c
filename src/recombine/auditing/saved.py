"""How an audit's larger parts are laid out in tables, and read back from them."""

import json
from collections.abc import Sequence
from datetime import date, datetime
from typing import Any

import numpy as np
import pyarrow as pa

from recombine.auditing.determinacy import Determinacy
from recombine.auditing.maps import PairMap
from recombine.factors.space import Factor, Space, Value
from recombine.factors.support import LabelTarget, NumberTarget, Support, Target
from recombine.records import Record


def describe(support: Support, determinacy: Determinacy, maps: Sequence[PairMap]) -> dict[str, Any]:
    """The small facts about a support and its maps, as JSON holds them."""
    return {
        "rows": support.rows,
        "rows_left_out": support.left_out.get("(any)", 0),
        "left_out": dict(support.left_out),
        "impossible": [list(row) for row in support.space.impossible],
        "target": _describe_target(support.target),
        "determinacy": {
            "rank": determinacy.rank,
            "deficit": determinacy.deficit,
            "moduli": determinacy.moduli.tolist(),
        },
        "maps": [_describe_map(support, one) for one in maps],
    }


def tables(support: Support, determinacy: Determinacy, maps: Sequence[PairMap]) -> dict[str, pa.Table]:
    """The large parts, as Parquet holds them."""
    found = {
        "support": _support_table(support),
        "values": _values_table(support, determinacy),
        "maps": _maps_table(maps),
    }
    if isinstance(support.target, LabelTarget):
        target = support.target
        found["classes"] = pa.table({"combination": target.combination, "label": target.label, "count": target.count})
    return found


def load_support(record: Record) -> Support:
    """The support that a record was made from."""
    values, lines = record.tables["values"], record.tables["support"]
    factors = []
    for described in record.data["factors"]:
        mine = values.filter(pa.compute.equal(values["factor"], described["name"]))
        factors.append(
            Factor(described["name"], tuple(map(_from_text, mine["value"].to_pylist())), described["declared"])
        )
    space = Space(tuple(factors), tuple(tuple(row) for row in record.data["impossible"]))
    codes = np.stack([lines[f"code{k}"].to_numpy() for k in range(len(factors))], axis=1)
    return Support(
        space,
        np.asfortranarray(codes.astype(np.int32)),
        lines["count"].to_numpy(),
        target=_load_target(record),
        rows=record.data["rows"],
        left_out=record.data["left_out"],
        source=record.provenance,
    )


def load_determinacy(record: Record, support: Support) -> Determinacy:
    """What was found determined, without solving it again."""
    values = record.tables["values"]
    ends = np.cumsum(support.space.sizes)[:-1]
    columns = sorted(name for name in values.column_names if name.startswith("signature"))
    signatures = np.stack([values[name].to_numpy() for name in columns], axis=1)
    solved = record.data["determinacy"]
    return Determinacy(
        islands=tuple(np.split(values["island"].to_numpy(), ends)),
        signatures=tuple(np.split(signatures, ends)),
        moduli=np.array(solved["moduli"]),
        rank=solved["rank"],
        deficit=solved["deficit"],
    )


def load_maps(record: Record) -> tuple[PairMap, ...]:
    """The maps as they were drawn."""
    cells = record.tables["maps"]
    which = cells["map"].to_numpy()
    starts = np.searchsorted(which, np.arange(len(record.data["maps"]) + 1))
    return tuple(
        _load_map(described, cells.slice(start, stop - start))
        for described, start, stop in zip(record.data["maps"], starts, starts[1:], strict=False)
    )


def _load_map(described: dict[str, Any], cells: pa.Table) -> PairMap:
    return PairMap(
        factors=tuple(described["factors"]),
        rows=np.array(described["rows"]),
        columns=np.array(described["columns"]),
        row_islands=np.array(described["row_islands"]),
        column_islands=np.array(described["column_islands"]),
        state=cells["state"].to_numpy(),
        count=cells["count"].to_numpy(),
        leverage=cells["leverage"].to_numpy(),
    )


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


def _values_table(support: Support, determinacy: Determinacy) -> pa.Table:
    """One line for each value of each factor: how it is written, how often it was seen, where it belongs."""
    factors = support.space.factors
    signatures = np.concatenate(determinacy.signatures)
    return pa.table(
        {
            "factor": np.repeat([factor.name for factor in factors], support.space.sizes),
            "value": [_to_text(value) for factor in factors for value in factor.values],
            "count": np.concatenate(support.value_counts),
            "island": np.concatenate(determinacy.islands),
            **{f"signature{place}": column for place, column in enumerate(signatures.T)},
        }
    )


def _maps_table(maps: Sequence[PairMap]) -> pa.Table:
    places = [np.indices((len(one.rows), len(one.columns)), dtype=np.int32).reshape(2, -1) for one in maps]
    return pa.table(
        {
            "map": np.repeat(np.arange(len(maps), dtype=np.int32), [len(one.state) for one in maps]),
            "row": np.concatenate([place[0] for place in places]),
            "column": np.concatenate([place[1] for place in places]),
            "state": np.concatenate([one.state for one in maps]),
            "count": np.concatenate([one.count for one in maps]),
            "leverage": pa.array(np.concatenate([one.leverage for one in maps]), from_pandas=True),
        }
    )


def _describe_map(support: Support, one: PairMap) -> dict[str, Any]:
    described: dict[str, Any] = {"factors": list(one.factors)}
    for side, places, homes, name in (
        ("row", one.rows, one.row_islands, one.factors[0]),
        ("column", one.columns, one.column_islands, one.factors[1]),
    ):
        k = support.space.position(name)
        described |= {
            f"{side}s": places.tolist(),
            f"{side}_values": [support.space.factors[k].labels[v] for v in places],
            f"{side}_counts": support.value_counts[k][places].tolist(),
            f"{side}_islands": homes.tolist(),
            f"{side}s_total": support.space.sizes[k],
        }
    return described


def _describe_target(target: Target | None) -> dict[str, Any] | None:
    if target is None:
        return None
    if isinstance(target, LabelTarget):
        return {
            "name": target.name,
            "kind": "label",
            "classes": [_to_text(value) for value in target.classes],
        }
    return {"name": target.name, "kind": "number"}


def _load_target(record: Record) -> Target | None:
    described = record.data["target"]
    if described is None:
        return None
    if described["kind"] == "number":
        lines = record.tables["support"]
        return NumberTarget(
            described["name"], *(lines[f"target_{part}"].to_numpy() for part in ("count", "total", "squares"))
        )
    lines = record.tables["classes"]
    return LabelTarget(
        described["name"],
        tuple(map(_from_text, described["classes"])),
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
