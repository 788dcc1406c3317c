"""The two questions of an influence probe: what either is given, and what it gives to the result."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa
from torch import nn

from recombine.base.checks import check_choice, check_number
from recombine.output.figures import Figure
from recombine_lab.probes.influence_probe.factor_locations import Located, Render
from recombine_lab.probes.influence_probe.influence_summary import Train
from recombine_lab.probes.influence_probe.verdict import InfluenceVerdict
from recombine_lab.probes.probe import Measure, SettingsGroup

Method = Literal["auto", "exact", "dattri"]


@dataclass(frozen=True, eq=False, kw_only=True)
class FactorExamples(SettingsGroup):
    """Examples in which one factor at a time is exchanged, and where the factors are.

    - `inputs`: a tensor, or tensors by keyword; `table` has a column for each factor, a row for each input.
    - `target`: the factor that the answer should hang on; `redundant`: one that it should not.
    - `targets`: the right answers, where they are not the target factor's values in order.
    - `regions`: where a factor is in the inputs: slices, numbers or masks by factor; or
    - `render`: a function that makes inputs of rows of the table.
    """

    inputs: Any = None
    table: Any = None
    target: str | None = None
    redundant: str | None = None
    targets: Any = None
    regions: Mapping[str, Any] | None = None
    render: Render | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class TrainingRows(SettingsGroup):
    """What a network was trained on, how, and the unseen rows that it is asked about.

    - `seen`, `unseen`: (inputs, targets, table) each.
    - `loss`: "cross_entropy", "mse", or "auto" by the targets. The network is taken to minimise it over `seen`, with
      `weight_decay`, held back by `damping` towards `start` where that is known.
    - `method`: "exact", "dattri" (an approximation, for networks of more than 10^4 weights), or "auto" by their number.
    - `train(rows)`: trains the network again on some rows of `seen`. A dozen combinations are then left out for real,
      and held against what was worked out.
    """

    seen: Any = None
    unseen: Any = None
    loss: str = "auto"
    weight_decay: float = 0.0
    damping: float | None = None
    start: nn.Module | None = None
    method: Method = "auto"
    train: Train | None = None

    def __post_init__(self) -> None:
        check_number("weight_decay", self.weight_decay, least=0.0)
        check_choice("method", self.method, ("auto", "exact", "dattri"))
        if self.damping is not None:
            check_number("damping", self.damping, least=0.0)


@dataclass(frozen=True, eq=False, kw_only=True)
class InfluenceQuestion:
    """A network and what is asked of it; a run says itself where its factors are, and how a new network is drawn."""

    module: nn.Module
    examples: FactorExamples
    training: TrainingRows
    where: Located | None = None
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
