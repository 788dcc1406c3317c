"""A score on seen, unseen and novel combinations, where there are more of them than fit in memory.

The share of right answers over the rows of each kind. Its interval is over combinations: with rows n and right answers
r of each, the share p = Σr / Σn is a ratio of means, whose variance is G / (G - 1) · Σ(r - pn)² / (Σn)² (linearised).
All of it follows from six sums, so nothing is resampled.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt
from typing import Any

from recombine.base.argument_kinds import explain_kinds
from recombine.base.progress import Progress
from recombine.base.words import amount, percent, percent_range
from recombine.data.columns import Bins
from recombine.data.split_sides import SplitColumn
from recombine.data.stored_sides import RungSums, count_stored_sides
from recombine.data.table_query import Where
from recombine.numerics.distributions import student_quantile

_FEWEST = 5  # combinations: fewer have no interval


@dataclass(frozen=True)
class StoredScore:
    """The share of right answers on one kind of combination; the ends are None where fewer than five were tested."""

    name: str
    combinations: int
    rows: int
    score: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class StoredEvaluation:
    """A model's answers on combinations that training holds, lacks, or lacks a value of.

    >>> import recombine
    >>> table = {"a": [0, 0, 1, 1] * 9, "b": [0, 1, 0, 1] * 9, "y": [0, 1, 1, 0] * 9, "said": [0, 1, 1, 1] * 9,
    ...          "split": ["train", "train", "train", "test"] * 8 + ["seen", "seen", "train", "test"]}
    >>> found = recombine.evaluate_stored(table, factors=["a", "b"], target="y", prediction="said")
    >>> [(one.name, one.rows, one.score) for one in found.scores]
    [('seen', 2, 1.0), ('unseen', 9, 0.0)]
    """

    verdict: str
    scores: tuple[StoredScore, ...]


@explain_kinds
def evaluate_stored(
    source: Any,
    *,
    factors: tuple[str, ...] | list[str],
    target: str,
    prediction: str,
    split: str | SplitColumn = "split",
    where: Where | None = None,
    bins: Mapping[str, Bins] | None = None,
    table: str | None = None,
    progress: Progress | None = None,
) -> StoredEvaluation:
    """Score answers that are right or wrong, by whether training holds their combination; counted on disk.

    `split` is the column that tells the side; rows called *seen* are of training combinations kept apart.
    """
    sides = count_stored_sides(
        source,
        factors=factors,
        split=split if isinstance(split, SplitColumn) else SplitColumn(split),
        answers=(target, prediction),
        where=where,
        bins=bins,
        table=table,
        progress=progress,
    )
    scores = tuple(_score(name, sides.rungs[name]) for name in ("seen", "unseen", "novel") if name in sides.rungs)
    return StoredEvaluation(_verdict(scores), scores)


def _score(name: str, sums: RungSums) -> StoredScore:
    share = sums.right / sums.rows
    low: float | None = None
    high: float | None = None
    if sums.combinations >= _FEWEST:
        squares = sums.right_squared - 2 * share * sums.right_rows + share**2 * sums.rows_squared
        variance = max(squares, 0.0) * sums.combinations / (sums.combinations - 1)
        reach = float(student_quantile(0.975, sums.combinations - 1)) * sqrt(variance) / sums.rows
        low, high = max(share - reach, 0.0), min(share + reach, 1.0)
    return StoredScore(name, sums.combinations, sums.rows, share, low, high)


def _verdict(scores: tuple[StoredScore, ...]) -> str:
    unseen = next((one for one in scores if one.name == "unseen"), None)
    if unseen is None or unseen.low is None or unseen.high is None:
        return "Not enough evidence: fewer than five unseen combinations were tested."
    beside = [f"{one.name} ones {percent(one.score)}" for one in scores if one.name != "unseen"]
    said = f" ({percent_range(unseen.low, unseen.high)}, {amount(unseen.rows, 'row')})"
    return f"On unseen combinations {percent(unseen.score)} of the answers are right{said}; " + (
        f"on {' and '.join(beside)}." if beside else "nothing seen was tested beside them."
    )
