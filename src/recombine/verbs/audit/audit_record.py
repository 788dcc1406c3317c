"""How an audit's larger parts are laid out in tables, and read back from them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from recombine.base.decoding import revive_all
from recombine.base.records import Record, plain
from recombine.data import support as stored
from recombine.data.support import Support
from recombine.verbs.audit.combination_status import PairMap, answer_title
from recombine.verbs.audit.determined_space import Determinacy
from recombine.verbs.audit.set_determinacy import SetDeterminacy

_SOLVED = ("rank", "deficit", "moduli")
_DRAWN = ("factors", "rows", "columns", "row_islands", "column_islands")
"""What of the solution, and of a map, stands in the record itself. The rest is in tables, or follows from these."""


def describe(support: Support, determinacy: Determinacy, maps: Sequence[PairMap]) -> dict[str, Any]:
    """The small facts about a support and its maps, as JSON holds them."""
    return {
        **stored.describe(support),
        "determinacy": {name: plain(getattr(determinacy, name)) for name in _SOLVED},
        "maps": [_describe_map(support, one) for one in maps],
        "map_answers": answer_title(support.target),
    }


def tables(support: Support, determinacy: Determinacy, maps: Sequence[PairMap]) -> dict[str, pa.Table]:
    """The large parts, as Parquet holds them."""
    found = stored.tables(support)
    home = "elements" if support.space.set_factors else "values"  # whatever has an effect of its own
    islands, signatures = np.concatenate(determinacy.islands), np.concatenate(determinacy.signatures)
    if len(signatures) > len(islands):  # the constant
        islands = np.concatenate([islands, np.zeros(1, dtype=np.int64)])
    solved = found[home].append_column("island", pa.array(islands))
    for place, column in enumerate(signatures.T):
        solved = solved.append_column(f"signature{place}", pa.array(column))
    return found | {home: solved, "maps": _maps_table(maps)}


def load_determinacy(record: Record, support: Support) -> Determinacy:
    """What was found determined, without solving it again."""
    effects, sets = support.space.effects, bool(support.space.set_factors)
    values = record.tables["elements" if sets else "values"]
    ends = effects.offsets[1:-1]
    columns = sorted(name for name in values.column_names if name.startswith("signature"))
    signatures = np.stack([values[name].to_numpy() for name in columns], axis=1)
    solved = revive_all(Determinacy, _SOLVED, record.data["determinacy"])
    islands = tuple(np.split(values["island"].to_numpy()[: ends[-1]], ends[:-1]))
    if sets:
        return SetDeterminacy(islands, tuple(np.split(signatures, ends)), **solved, effects=effects)
    return Determinacy(islands=islands, signatures=tuple(np.split(signatures, ends[:-1])), **solved)


def load_maps(record: Record) -> tuple[PairMap, ...]:
    """The maps as they were drawn."""
    cells = record.tables["maps"]
    which = cells["map"].to_numpy()
    starts = np.searchsorted(which, np.arange(len(record.data["maps"]) + 1))
    return tuple(
        PairMap(
            **revive_all(PairMap, _DRAWN, described),
            **{
                name: cells[name].slice(start, stop - start).to_numpy()
                for name in ("state", "count", "leverage", "answer")
            },
        )
        for described, start, stop in zip(record.data["maps"], starts, starts[1:], strict=False)
    )


def _maps_table(maps: Sequence[PairMap]) -> pa.Table:
    places = [np.indices((len(one.rows), len(one.columns)), dtype=np.int32).reshape(2, -1) for one in maps]
    if not maps:
        return pa.table({name: [] for name in ("map", "row", "column", "state", "count", "leverage")})
    return pa.table(
        {
            "map": np.repeat(np.arange(len(maps), dtype=np.int32), [len(one.state) for one in maps]),
            "row": np.concatenate([place[0] for place in places]),
            "column": np.concatenate([place[1] for place in places]),
            "state": np.concatenate([one.state for one in maps]),
            "count": np.concatenate([one.count for one in maps]),
            "leverage": pa.array(np.concatenate([one.leverage for one in maps]), from_pandas=True),
            "answer": pa.array(np.concatenate([one.answer for one in maps]), from_pandas=True),
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
            f"{side}_values": [support.space.factors[k].effect_labels[v] for v in places],
            f"{side}_counts": support.effect_counts[k][places].tolist(),
            f"{side}_islands": homes.tolist(),
            f"{side}s_total": support.space.factors[k].kind.effects,
        }
    return described
