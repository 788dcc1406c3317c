"""The paper's claims as checks over what was measured of each network."""

import math
from collections.abc import Iterator, Mapping, Sequence

from recombine_studies.claims import (
    CORRELATION,
    DIFFERENCE,
    R_SQUARED,
    SHARE,
    UNBOUNDED,
    Check,
    Comparison,
    Rule,
    over_seeds,
    supposing,
    within,
)
from recombine_studies.kernel.grids import DEPTHS
from recombine_studies.kernel.measures import NETWORKS
from recombine_studies.rows import Rows
from recombine_studies.study import Evidence

ADDITIVE, OFF, CLOSED, RIGHT, CHANCE, CLEARLY, AGREE = 0.85, 0.03, 0.05, 0.95, 0.6, 0.75, 0.9
THREE_OF_FOUR = 0.75
READ = 0.03
"""How far a slope may be off one that was read off a figure (.01) and rounded."""
PUBLISHED_BY_DEPTH = {
    "addition 0": (0.73, 0.67, 0.65, 0.66),
    "addition -4": (0.55, 0.44, 0.44, 0.45),
    "addition -4 and 4": (1.0, 1.0, 1.0, 1.0),
    "addition -2 and 2": (0.90, 0.88, 0.88, 0.87),
}
LEARNED = 0.9
"""Of what was shown, right (or, of numbers, the slope): of networks below it a claim about the unseen says nothing."""
ENOUGH = 5
"""Combinations without a free number of their own that it takes to say anything of additivity."""
_SUMS = ("addition 0", "addition -4", "addition -4 and 4", "addition -2 and 2")


def networks_of(evidence: Evidence, **wanted: str) -> Rows:
    """The rows of a network on a task; none where nothing was measured."""
    found = evidence.of(NETWORKS.name)
    return found.where(wanted) if len(found) else found


def off(name: str, shares: Sequence[float], most: float) -> Comparison:
    """How far a mean over seeds is off, either way; `shares` are signed, 0 is right.

    >>> off("slope off by", [-0.01, 0.0, 0.01], 0.03).state
    'passes'
    """
    found = over_seeds(name, shares, "<=", most, UNBOUNDED)
    if found.value is None or found.low is None or found.high is None:
        return found
    ends = abs(found.low), abs(found.high)
    least = 0.0 if found.low <= 0 <= found.high else min(ends)
    return within(name, abs(found.value), least, max(ends), "<=", most, n=found.n)


def learned(comparison: Comparison, rows: Rows) -> Comparison:
    """A comparison of networks that learned what they were shown."""
    number = "slope_seen" if any(str(row["task"]).startswith("addition") for row in rows) else "accuracy_seen"
    seen = [math.nan if value is None else value for value in rows.column(number)]
    return supposing(comparison, number.replace("_", " "), seen, ">=", LEARNED)


def shares_off(rows: Rows, number: str) -> list[float]:
    """By how much each row's number is off that of theory, as a share of it."""
    return [row[number] / row[f"theory_{number}"] - 1 for row in rows if row[number] is not None]


def testable(rows: Rows) -> Rows:
    """The rows of designs whose answers are not additive whatever they are."""
    return rows.chosen(lambda row: row["rank"] is not None and row["combinations"] - row["rank"] >= ENOUGH)


def _additive(evidence: Evidence) -> Iterator[Comparison]:
    for (network, task), rows in testable(evidence.of(NETWORKS.name)).by("network", "task").items():
        values = [math.nan if value is None else value for value in rows.column("adjusted")]
        yield learned(over_seeds(f"{network}, {task}: adjusted R²", values, ">=", ADDITIVE, R_SQUARED), rows)


def _slopes(evidence: Evidence) -> Iterator[Comparison]:
    for task in _SUMS:
        rows = networks_of(evidence, network="lazy MLP", task=task)
        yield off(f"{task}: off by", shares_off(rows, "slope"), OFF)


def _depth(evidence: Evidence) -> Iterator[Comparison]:
    for task, slopes in PUBLISHED_BY_DEPTH.items():
        for depth, published in zip(DEPTHS, slopes, strict=True):
            rows = networks_of(evidence, network=f"MLP of depth {depth}", task=task)
            away = [slope - published for slope in rows.numbers("slope")]
            yield learned(off(f"{task}, depth {depth}: off by", away, READ), rows)


def _by_width(evidence: Evidence) -> Iterator[Comparison]:
    for task in _SUMS:
        rows = networks_of(evidence, network="lazy MLP, by width", task=task)
        short = [-share for share in shares_off(rows, "slope")]
        yield over_seeds(f"{task}: below theory by", short, ">", OFF, UNBOUNDED)


def paired(far: Rows, near: Rows, number: str) -> list[float]:
    """Differences between two rows of the same seed."""
    others = {row["seed"]: row[number] for row in near}
    pairs = [(row[number], others.get(row["seed"])) for row in far]
    return [one - other for one, other in pairs if one is not None and other is not None]


def distances(evidence: Evidence, task: str = "addition") -> list[str]:
    """The networks on digits, from the nearest digits to the farthest."""
    asked = [one["each"].get("distance", ()) for one in evidence.settings["pictures"] if one["task"] == task]
    return [f"ConvNet, distance {distance}" for distance in sorted({far for each in asked for far in each})]


def _leak(evidence: Evidence) -> Iterator[Comparison]:
    near, *_, far = distances(evidence)
    for task in ("addition 0", "addition -4 and 4"):
        apart, close = (networks_of(evidence, network=network, task=task) for network in (far, near))
        for number, bounds in (("salience", DIFFERENCE), ("slope", UNBOUNDED)):
            yield over_seeds(f"{task}: {number} gained by distance", paired(apart, close, number), ">", 0.0, bounds)


def _ordering(evidence: Evidence) -> Iterator[Comparison]:
    rows = networks_of(evidence, network="lazy MLP", task="ordering")
    yield over_seeds("lazy MLP: unseen accuracy", rows.numbers("accuracy_unseen"), ">=", RIGHT, SHARE)


def _shortcut(evidence: Evidence) -> Iterator[Comparison]:
    for network in ("lazy MLP", *distances(evidence, "context")):
        for task, rule, threshold in _CONTEXT:
            rows = networks_of(evidence, network=network, task=task)
            accuracies = rows.numbers("accuracy_unseen")
            yield learned(over_seeds(f"{network}, {task}: unseen accuracy", accuracies, rule, threshold, SHARE), rows)


_CONTEXT: Sequence[tuple[str, Rule, float]] = (("CD-3", "<=", CHANCE), ("CD-1", ">=", CLEARLY))


def _squared(evidence: Evidence) -> Iterator[Comparison]:
    rows = networks_of(evidence, network="lazy MLP", task="CD-3, squared loss")
    yield over_seeds("CD-3 with squared loss: unseen accuracy", rows.numbers("accuracy_unseen"), ">=", RIGHT, SHARE)
    yield off("its margin off theory by", shares_off(rows, "margin"), CLOSED)


def _equivalence(evidence: Evidence) -> Iterator[Comparison]:
    asked: Sequence[tuple[str, Rule, float]] = (("lazy MLP", "<=", THREE_OF_FOUR), ("rich MLP", ">=", RIGHT))
    for network, rule, threshold in asked:
        rows = networks_of(evidence, network=network, task="equivalence")
        accuracies = rows.numbers("accuracy_unseen")
        yield learned(over_seeds(f"{network}: unseen accuracy", accuracies, rule, threshold, SHARE), rows)


def _equivalence_on_digits(evidence: Evidence) -> Iterator[Comparison]:
    ends = distances(evidence, "equivalence")
    if not ends:  # of digits nothing is asked in the smoke preset
        return
    apart, close = (networks_of(evidence, network=ends[place], task="equivalence") for place in (-1, 0))
    gained = paired(apart, close, "accuracy_unseen")
    yield learned(over_seeds("ConvNet: unseen accuracy gained by distance", gained, ">", 0.0, DIFFERENCE), apart)


def _closed_forms(evidence: Evidence) -> Iterator[Comparison]:
    for task in ("invariance", "partial exposure"):
        rows = networks_of(evidence, network="lazy MLP", task=task)
        yield off(f"{task}: margin off by", shares_off(rows, "margin"), CLOSED)


def _forecast(evidence: Evidence) -> Iterator[Comparison]:
    rows = testable(evidence.of(NETWORKS.name))
    for (network, task), chosen in rows.by("network", "task").items():
        if not network.endswith("by width"):
            values = [math.nan if value is None else value for value in chosen.column("agreement")]
            yield learned(over_seeds(f"{network}, {task}: correlation", values, ">=", AGREE, CORRELATION), chosen)


CHECKS: Mapping[str, Check] = {
    "additive": _additive,
    "slopes": _slopes,
    "depth": _depth,
    "initialisation": _by_width,
    "leak": _leak,
    "ordering": _ordering,
    "shortcut": _shortcut,
    "squared loss": _squared,
    "equivalence": _equivalence,
    "equivalence on digits": _equivalence_on_digits,
    "closed forms": _closed_forms,
    "forecast": _forecast,
}
