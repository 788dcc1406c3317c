"""The two questions of an influence probe: what either is given, and what it gives to the result."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from torch import nn

from recombine.output.figures import Figure
from recombine_lab.probes.influence_probe.factor_locations import Located
from recombine_lab.probes.influence_probe.verdict import InfluenceVerdict
from recombine_lab.probes.probe import Measure


@dataclass(frozen=True, eq=False)
class RunSettings:
    """The settings that a run can answer itself."""

    inputs: Any
    table: Any
    target: str | None
    redundant: str | None
    targets: Any
    where: Located | None
    seen: Any
    unseen: Any
    weight_decay: float
    damping: float | None
    start: nn.Module | None
    fresh: Callable[[int], nn.Module] | None = None


@dataclass(frozen=True, eq=False)
class Half:
    """What one of the two questions gives to the result."""

    said: InfluenceVerdict
    measures: list[Measure]
    numbers: dict[str, float | None]
    tables: dict[str, pa.Table]
    figures: tuple[Figure, ...]
    rows: int
