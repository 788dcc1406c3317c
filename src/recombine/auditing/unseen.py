"""The unseen combinations themselves, listed where the space is small and drawn at random where it is not."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from recombine.algebra.groups import Codes, Numbers
from recombine.auditing.determinacy import Determinacy
from recombine.auditing.ladder import rungs
from recombine.auditing.leverage import WEAK, Leverage
from recombine.tables.support import Support

LISTED_SPACE = 10**6
_DRAWN = 20_000
_SOLVED_ONE_BY_ONE = 32
_SHOWN = 200


@dataclass(frozen=True)
class Listed:
    """One unseen combination. `expected` is how many rows it would have if the factors were independent."""

    combination: Mapping[str, str]
    leverage: float | None
    expected: float


@dataclass(frozen=True)
class Histogram:
    """How many numbers fall between each two edges."""

    edges: tuple[float, ...]
    counts: tuple[int, ...]


@dataclass(frozen=True)
class LeverageSummary:
    """How firmly the determined combinations are determined.

    `known` leverages out of `of` determined combinations were computed: all of them, or a random sample where
    `sampled`. `unknown` more were tried, and their equations could not be solved to the last digits: they are counted
    here and nowhere else. `median`, `p90` and `worst` are None where nothing is known.
    """

    of: int
    known: int
    sampled: bool
    median: float | None
    p90: float | None
    worst: float | None
    weak: int
    histogram: Histogram
    weakest: tuple[Listed, ...] = field(repr=False)
    unknown: int = 0


@dataclass(frozen=True)
class Unseen:
    """The unseen combinations that are worth showing."""

    leverage: LeverageSummary | None
    undetermined: tuple[Listed, ...]


def unseen(support: Support, leverage: Leverage, determined: int, *, seed: int) -> Unseen:
    """Summarise the leverage of the determined ones, and list the undetermined ones that one would meet most often."""
    codes, everything = _candidates(leverage.determinacy, seed)
    rung = rungs(support, leverage.determinacy, codes)
    open_, fixed = codes[rung == "undetermined"], codes[rung == "determined"]
    if not leverage.inverts and len(fixed) > _SOLVED_ONE_BY_ONE:
        fixed = fixed[np.random.default_rng(seed).permutation(len(fixed))[:_SOLVED_ONE_BY_ONE]]
        everything = False
    expected = _expected(support, open_)
    often = np.argsort(-expected, kind="stable")[:_SHOWN]
    return Unseen(
        leverage=_summary(support, leverage.of(fixed), fixed, determined, sampled=not everything),
        undetermined=tuple(_listed(support, open_[i], None, float(expected[i])) for i in often),
    )


def _candidates(determinacy: Determinacy, seed: int) -> tuple[Codes, bool]:
    """All combinations of seen values if they can be listed, else some drawn at random, each once."""
    seen = [np.flatnonzero(island >= 0).astype(np.int32) for island in determinacy.islands]
    if np.prod([float(len(values)) for values in seen]) <= LISTED_SPACE:
        grid = np.stack(np.meshgrid(*seen, indexing="ij"), axis=-1)
        return grid.reshape(-1, len(seen)), True
    rng = np.random.default_rng(seed)
    drawn = np.stack([rng.choice(values, size=_DRAWN) for values in seen], axis=1)
    _, first = np.unique(drawn, axis=0, return_index=True)
    return drawn[np.sort(first)], False


def _summary(
    support: Support, tried: Numbers, codes: Codes, determined: int, *, sampled: bool
) -> LeverageSummary | None:
    if not len(tried):
        return None
    solved = np.isfinite(tried)
    leverages, codes = tried[solved], codes[solved]
    worst = np.argsort(-leverages, kind="stable")[:_SHOWN]
    expected = _expected(support, codes[worst])
    return LeverageSummary(
        of=determined,
        known=len(leverages),
        sampled=sampled,
        median=float(np.median(leverages)) if len(leverages) else None,
        p90=float(np.quantile(leverages, 0.9)) if len(leverages) else None,
        worst=float(leverages.max()) if len(leverages) else None,
        weak=int((leverages > WEAK).sum()),
        histogram=_histogram(leverages),
        weakest=tuple(
            _listed(support, codes[i], float(leverages[i]), float(often))
            for i, often in zip(worst, expected, strict=True)
        ),
        unknown=int((~solved).sum()),
    )


def _histogram(leverages: Numbers) -> Histogram:
    if not len(leverages):
        return Histogram((), ())
    counts, edges = np.histogram(leverages, bins=min(24, max(4, len(leverages) // 4)))
    return Histogram(tuple(map(float, edges)), tuple(map(int, counts)))


def _expected(support: Support, codes: Codes) -> Numbers:
    share = np.ones(len(codes))
    for k, counts in enumerate(support.value_counts):
        share *= counts[codes[:, k]] / support.total
    return share * support.total


def _listed(support: Support, row: Codes, leverage: float | None, expected: float) -> Listed:
    labels = {f.name: f.labels[int(code)] for f, code in zip(support.space.factors, row, strict=True)}
    return Listed(labels, leverage, expected)
