"""The second question: which seen combinations taught the network what it says of unseen ones?"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from torch import nn

from recombine.errors import SettingError
from recombine.tables.engine import Steps
from recombine_lab.models.layers import Forward
from recombine_lab.probes.influences.by_dattri import taught_by_dattri
from recombine_lab.probes.influences.drawing import teaching_figures
from recombine_lab.probes.influences.examples import Examples, examples_of
from recombine_lab.probes.influences.halves import Given, Half
from recombine_lab.probes.influences.listing import teaching_measures
from recombine_lab.probes.influences.summing import Train, retrained, summed
from recombine_lab.probes.influences.teaching import MOST_WEIGHTS, Taught, taught
from recombine_lab.probes.influences.wording import said_of_teaching

Method = Literal["auto", "exact", "dattri"]
RETRAINED = 12
"""Combinations that are left out for real, at most."""


def teaching_half(
    module: nn.Module,
    given: Given,
    start: nn.Module | None,
    *,
    loss: str,
    method: Method,
    train: Train | None,
    forward: Forward | None,
    seed: int,
    tell: Steps,
) -> Half:
    """The second half: the training combinations."""
    rows = {"seen": given.seen, "unseen": given.unseen}
    missing = [name for name, one in rows.items() if one is None]
    if missing:
        raise SettingError(
            f"no {missing[0]}",
            why="what seen combinations taught of unseen ones takes rows of both",
            instead=f"write {missing[0]}=(inputs, targets, table)",
        )
    seen, unseen = (examples_of(one, name) for name, one in rows.items())
    factors = _shared_factors(seen, unseen)
    found = _taught(
        module, seen, unseen, given, start, loss=loss, method=method, forward=forward, factors=factors, tell=tell
    )
    actual = None
    if train is not None:
        settings = {"loss": loss, "factors": factors, "forward": forward, "most": RETRAINED, "seed": seed}
        actual = retrained(train, seen, unseen, **settings, progress=tell)  # type: ignore[arg-type]
    total = summed(found, actual, seed=seed)
    listed = found.table()
    if actual is not None:
        plain = [None if not np.isfinite(value) else float(value) for value in actual.flatten()]
        listed = listed.append_column("retrained", pa.array(plain, pa.float64()))
    numbers = {"influence from neighbours": total.share, "damping": found.damping}
    if total.rank is not None:
        numbers["rank correlation with training again"] = total.rank.value
    said = said_of_teaching(total)
    said = replace(said, reasons=(*said.reasons, f"Worked out by {found.how}, damping {found.damping:.3g}."))
    return Half(said, teaching_measures(total), numbers, {"combinations": listed}, teaching_figures(found), len(seen))


def _shared_factors(seen: Examples, unseen: Examples) -> list[str]:
    factors = [name for name in seen.table.column_names if name in unseen.table.column_names]
    if not factors:
        raise SettingError(
            "seen and unseen have no factor in common",
            why=f"the one has {', '.join(seen.table.column_names)}, the other {', '.join(unseen.table.column_names)}",
            instead="give both tables the same columns",
        )
    return factors


def _taught(  # noqa: PLR0913 - handed on as they are
    module: nn.Module,
    seen: Examples,
    unseen: Examples,
    given: Given,
    start: nn.Module | None,
    *,
    loss: str,
    method: Method,
    forward: Forward | None,
    factors: Sequence[str],
    tell: Steps,
) -> Taught:
    large = sum(weight.numel() for weight in module.parameters()) > MOST_WEIGHTS
    shared: dict[str, Any] = {"loss": loss, "weight_decay": given.weight_decay, "damping": given.damping}
    if method == "dattri" or (method == "auto" and large):
        return taught_by_dattri(module, seen, unseen, **shared, factors=factors)
    return taught(module, seen, unseen, **shared, start=start, factors=factors, forward=forward, progress=tell)
