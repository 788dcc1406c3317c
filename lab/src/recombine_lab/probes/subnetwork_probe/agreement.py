"""Do several estimators say the same, and how much do their masks share?

An estimator is a way to find a mask, and each has a taste of its own: a mask that one alone finds says as much of the
estimator as of the network. So where several are asked, the outcome is the one that all of them come to.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa

from recombine.base.errors import SettingError
from recombine.base.grades import Grade
from recombine.base.words import listing, percent
from recombine_lab.probes.probe import Probe, finite
from recombine_lab.probes.subnetwork_probe.accuracy_summary import overlap
from recombine_lab.probes.subnetwork_probe.mask_learning import Mask, density
from recombine_lab.probes.subnetwork_probe.masked_network import ParameterLayout

_TOLD = ("selectivity", "used: selectivity", "own examples", "kept Target", "used: left Target", "used: left Other")
_WORST_FIRST: tuple[Grade, ...] = ("untested", "failing", "weak", "plausible", "sound")


@dataclass(frozen=True, kw_only=True)
class EstimatorAgreement:
    """What each estimator says, and how alike their masks are.

    `overlap` is of what two estimators say that a component uses, over the union, in the mean over components and mask
    seeds; `by_chance` is what masks of these sizes would share if they were drawn at random.
    """

    outcomes: Mapping[str, str]
    overlap: Mapping[tuple[str, str], float]
    by_chance: Mapping[tuple[str, str], float]

    @property
    def agree(self) -> bool:
        """Whether all say the same."""
        return len(set(self.outcomes.values())) == 1


@dataclass(frozen=True, eq=False)
class EstimatorAnswer:
    """A probe by one estimator, with the masks that its tables leave out."""

    probe: Probe
    sparsest: Mapping[str, Sequence[Mask]]
    used: Mapping[str, Sequence[Mask]]


def agreement(found: Probe) -> EstimatorAgreement:
    """Do the estimators of `subnetworks(…, search=MaskSearch(estimator=[…]))` agree, and how much do masks overlap?"""
    if "estimators" not in found.tables:
        raise SettingError(
            f"a probe of {found.probe} by one estimator",
            why="one alone has nothing to agree with",
            instead='ask several: MaskSearch(estimator=["continuous", "hard concrete", "gradient"])',
        )
    outcomes = {row["estimator"]: row["outcome"] for row in found.tables["estimators"].to_pylist()}
    rows = [row for row in found.tables["agreement"].to_pylist() if row["masks"] == "used"]
    pairs = list(dict.fromkeys((row["first"], row["second"]) for row in rows))

    def mean(name: str, pair: tuple[str, str]) -> float:
        known = [row[name] for row in rows if (row["first"], row["second"]) == pair and row[name] is not None]
        return float(np.mean(known)) if known else float("nan")

    return EstimatorAgreement(
        outcomes=outcomes,
        overlap={pair: mean("overlap", pair) for pair in pairs},
        by_chance={pair: mean("by chance", pair) for pair in pairs},
    )


def combined(answers: Mapping[str, EstimatorAnswer], layouts: Sequence[ParameterLayout]) -> Probe:
    """The probes of several estimators as one: the first one's numbers, and the outcome that all agree on."""
    probes = {name: one.probe for name, one in answers.items()}
    first = next(iter(probes.values()))
    told = [
        {"estimator": name, "outcome": one.outcome, "grade": one.grade, "verdict": one.verdict}
        | {number: finite(one.numbers.get(number)) for number in _TOLD}
        for name, one in probes.items()
    ]
    tables = {
        **first.tables,
        "estimators": pa.Table.from_pylist(told, schema=_estimators_schema()),
        "agreement": pa.Table.from_pylist(_shared_rows(answers, layouts), schema=_SHARED),
    }
    agreed = len({one.outcome for one in probes.values()}) == 1
    made = replace(first, tables=tables)
    found = agreement(made)
    shared = [value for value in found.overlap.values() if np.isfinite(value)]
    return replace(
        made,
        outcome=first.outcome if agreed else "unclear",
        grade=min((one.grade for one in probes.values()), key=_WORST_FIRST.index) if agreed else "weak",
        verdict=_verdict(probes, agreed=agreed),
        reasons=(_reason(found), *first.reasons),
        numbers={**first.numbers, "estimators: overlap": float(np.mean(shared)) if shared else None},
    )


def _verdict(probes: Mapping[str, Probe], *, agreed: bool) -> str:
    first, *others = probes
    if agreed:
        return f"{probes[first].verdict} {listing(others).capitalize()} {'says' if len(others) == 1 else 'say'} so too."
    said = listing([f"{name} masks say {one.outcome}" for name, one in probes.items()])
    return f"No clear answer, since it depends on how masks are found: {said}."


def _reason(found: EstimatorAgreement) -> str:
    pairs = [
        f"{first} and {second} {percent(found.overlap[first, second])} (by chance"
        f" {percent(found.by_chance[first, second])})"
        for first, second in found.overlap
        if np.isfinite(found.overlap[first, second])
    ]
    shared = f" Of what a component uses they share {listing(pairs)}." if pairs else ""
    return f"Estimators {'agree' if found.agree else 'do not agree'}.{shared}"


def _shared_rows(
    answers: Mapping[str, EstimatorAnswer], layouts: Sequence[ParameterLayout]
) -> list[dict[str, str | float | None]]:
    """How much masks of two estimators share, seed by seed, beside what random ones of their sizes would."""
    rows: list[dict[str, str | float | None]] = []
    for (first, one), (second, other) in combinations(answers.items(), 2):
        for kind, mine, theirs in (("sparsest", one.sparsest, other.sparsest), ("used", one.used, other.used)):
            for component in mine.keys() & theirs.keys():
                pairs = list(zip(mine[component], theirs[component], strict=True))
                shared = float(np.mean([overlap(pair, layouts) for pair in pairs]))
                chance = float(np.mean([_by_chance(*(density(mask, layouts) for mask in pair)) for pair in pairs]))
                named = {"first": first, "second": second, "component": component, "masks": kind}
                rows.append({**named, "overlap": finite(shared), "by chance": finite(chance)})
    return rows


def _by_chance(one: float, other: float) -> float:
    """The overlap of two random masks of these densities, in the mean over many weights: pq / (p + q - pq).

    >>> _by_chance(0.5, 0.5)
    0.3333333333333333
    """
    either = one + other - one * other
    return one * other / either if either else float("nan")


_SHARED = pa.schema(
    [
        *((name, pa.string()) for name in ("first", "second", "component", "masks")),
        ("overlap", pa.float64()),
        ("by chance", pa.float64()),
    ]
)


def _estimators_schema() -> Any:
    words = ("estimator", "outcome", "grade", "verdict")
    return pa.schema([*((name, pa.string()) for name in words), *((name, pa.float64()) for name in _TOLD)])
