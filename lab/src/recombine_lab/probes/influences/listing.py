"""The measures of an influence probe as rows: what was measured, and each control under its own name."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from recombine_lab.probes.influences.answering import Floats
from recombine_lab.probes.influences.hanging import BITS, PERMUTATION, SLOPE, SWAP, Hung, Question, Untrained
from recombine_lab.probes.influences.summing import Summed
from recombine_lab.probes.influences.swaps import Estimate
from recombine_lab.probes.probe import Measure

FRESH, SAME, SHUFFLED, ONE_FOR_ALL = "re-initialised", "same value", "shuffled factor", "one answer for all"


def measures_of(
    found: Mapping[str, Hung], control: Untrained, ask: Question, right: Estimate, majority: float | None
) -> list[Measure]:
    """Every measure of every factor, with its controls."""
    rows = [_measure("all", "right answers", right), Measure("all", "right answers", majority, ONE_FOR_ALL)]
    for factor, one in found.items():
        rows += [
            _measure(factor, SWAP, one.swap),
            _measure(factor, SWAP, one.same, SAME),
            _measure(factor, SWAP, one.shuffled, SHUFFLED),
            _over(factor, SWAP, control.swap),
            _measure(factor, PERMUTATION, one.permutation),
            _over(factor, PERMUTATION, control.permutation),
            Measure(factor, f"{SLOPE}, by {ask.follow[0]}", one.slope),
            _over(factor, f"{SLOPE}, by {ask.follow[0]}", control.slope),
            Measure(factor, BITS, one.bits.value),
            Measure(factor, BITS, one.bits.null, SHUFFLED, high=one.bits.null_high),
            _over(factor, BITS, control.bits),
            Measure(factor, f"{BITS} given {ask.other(factor)}", one.given.value),
            Measure(factor, f"{BITS} given {ask.other(factor)}", one.given.null, SHUFFLED, high=one.given.null_high),
        ]
    return [row for row in rows if row.value is not None]


def _measure(where: str, name: str, found: Estimate, who: str = "measured") -> Measure:
    return Measure(where, name, found.value, who, found.low, found.high, found.n or 1)


def _over(factor: str, name: str, control: Mapping[str, Floats]) -> Measure:
    """The mean over control networks, and where 95 % of them lie."""
    values = control.get(factor, np.zeros(0))
    values = values[np.isfinite(values)]
    if not len(values):
        return Measure(factor, name, None, FRESH)
    low, high = np.quantile(values, [0.025, 0.975])
    return Measure(factor, name, float(values.mean()), FRESH, float(low), float(high), len(values))


def steps_table(by_step: Mapping[str, Mapping[str, Hung]]) -> pa.Table:
    """Every measure of every factor at every step."""
    rows = []
    for step, found in by_step.items():
        for factor, one in found.items():
            values = {
                SWAP: one.swap,
                PERMUTATION: one.permutation,
                SLOPE: Estimate(one.slope),
                BITS: Estimate(one.bits.value),
                f"{BITS}, the other factor known": Estimate(one.given.value),
            }
            rows += [
                {"step": step, "factor": factor, "measure": name, "value": v.value, "low": v.low, "high": v.high}
                for name, v in values.items()
            ]
    schema = pa.schema(
        [("step", pa.string()), ("factor", pa.string()), ("measure", pa.string())]
        + [(name, pa.float64()) for name in ("value", "low", "high")]
    )
    return pa.Table.from_pylist(rows, schema=schema)


def teaching_measures(total: Summed) -> list[Measure]:
    """The share of influence from neighbours, by chance beside it; and whether training again says the same."""
    low, high = total.interval or (None, None)
    rows = [Measure("unseen combinations", "influence from neighbours", total.share, low=low, high=high)]
    if total.null is not None:
        rows.append(
            Measure(
                "unseen combinations",
                "influence from neighbours",
                float(np.mean(total.null)),
                "shuffled combinations",
                *total.null,
            )
        )
    if total.rank is not None:
        rank = total.rank
        rows.append(
            Measure(
                "unseen combinations",
                "rank correlation with training again",
                rank.value,
                low=rank.low,
                high=rank.high,
                n=rank.combinations,
            )
        )
    return [row for row in rows if row.value is not None]
