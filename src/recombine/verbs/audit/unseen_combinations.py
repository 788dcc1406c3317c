"""The unseen combinations themselves, listed where the space is small and drawn at random where it is not.

`unseen_combinations` and `draw_unseen` are for every room: audits, predictions and plans ask about the same ones.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from recombine.data.support import Support
from recombine.numerics.groups import Codes, Ints, Numbers
from recombine.verbs.audit.block_holdout import LIKE
from recombine.verbs.audit.coverage import expected_rows
from recombine.verbs.audit.leverage import WEAK, Leverage

LISTED_SPACE = 10**6  # combinations of seen values up to which all of them are looked at
_LISTED_SETS = 10**5  # the same for sets, each of which gets a code when it is listed
_DRAWN = 20_000  # that stand for a larger space: shares have a standard error of 0.35 % at most
_SOLVED_ONE_BY_ONE = 16  # leverages that are looked at where no inverse is affordable: the columns of one go
_SOLVED_WITH_SCORE = 32  # the same where the share of those like the tested decides how far a score is believed
_SHOWN = 200  # combinations of each list that a record keeps; more than anybody reads on a page
Reach = Callable[[Codes], Numbers]


def unseen_combinations(
    support: Support, values: Sequence[Ints], *, listed: int, drawn: int, seed: int
) -> tuple[Codes, bool]:
    """The possible unseen combinations of some values of each factor, or of some elements of its sets, and whether they
    are only a sample of them.

    All of them where their values have at most `listed` combinations, else at most `drawn`.

    >>> import recombine
    >>> corner = recombine.read({"a": [0, 0, 1], "b": [0, 1, 0]}, factors=["a", "b"])
    >>> unseen_combinations(corner, [np.arange(2), np.arange(2)], listed=100, drawn=10, seed=0)
    (array([[1, 1]], dtype=int32), False)
    """
    kinds = [factor.kind for factor in support.space.factors]
    listed = min(listed, _LISTED_SETS) if support.space.set_factors else listed
    if math.prod(kind.ways(len(mine)) for kind, mine in zip(kinds, values, strict=True)) > listed:
        return draw_unseen(support, values, drawn, seed=seed), True
    every = [kind.every(mine) for kind, mine in zip(kinds, values, strict=True)]
    grid = np.stack(np.meshgrid(*every, indexing="ij"), axis=-1).astype(np.int32)
    return _possible_unseen(support, grid.reshape(-1, len(values))), False


def draw_unseen(support: Support, values: Sequence[Ints], number: int, *, seed: int) -> Codes:
    """Possible unseen combinations of some values of each factor, drawn at random, each at most once.

    Twice as many are drawn as are wanted: some come twice, and some were seen.
    """
    rng = np.random.default_rng(seed)
    kinds = [factor.kind for factor in support.space.factors]
    columns = [kind.draw(2 * number, mine, rng) for kind, mine in zip(kinds, values, strict=True)]
    codes = _possible_unseen(support, np.unique(np.stack(columns, axis=1).astype(np.int32), axis=0))
    return np.asfortranarray(codes[np.sort(rng.permutation(len(codes))[:number])])


def _possible_unseen(support: Support, codes: Codes) -> Codes:
    seen = support.groups(range(codes.shape[1])).lookup(codes) >= 0
    found: Codes = codes[~seen & ~support.space.is_impossible(codes)]
    return found


@dataclass(frozen=True)
class UnseenCombination:
    """One unseen combination. `expected` is how many rows it would have if the factors were independent."""

    combination: Mapping[str, str]
    leverage: float | None
    expected: float


@dataclass(frozen=True)
class LeverageHistogram:
    """How many numbers fall between each two edges."""

    edges: tuple[float, ...]
    counts: tuple[int, ...]


@dataclass(frozen=True)
class LeverageSummary:
    """How firmly the determined combinations are determined.

    `known` leverages out of `of` determined combinations were computed: all of them, or a random sample where
    `sampled`. `unknown` more were tried, and their equations could not be solved to the last digits: they are counted
    here and nowhere else. `median`, `p90` and `worst` are None where nothing is known. `like_tested` counts, of those
    known, the ones that are like seen combinations which could be held out: where each answer has the noise of one, the
    error of what is worked out is √(1 + leverage), and theirs is at most a tenth above the largest that was tested.
    """

    of: int
    known: int
    sampled: bool
    median: float | None
    p90: float | None
    worst: float | None
    weak: int
    histogram: LeverageHistogram
    weakest: tuple[UnseenCombination, ...] = field(repr=False)
    unknown: int = 0
    like_tested: int | None = None

    @property
    def like_the_tested(self) -> int:
        """How many of all determined combinations that stands for."""
        if not self.known or self.like_tested is None:
            return 0
        return self.like_tested if self.known == self.of else round(self.of * self.like_tested / self.known)


@dataclass(frozen=True)
class UnseenListing:
    """The unseen combinations that are worth showing."""

    leverage: LeverageSummary | None
    undetermined: tuple[UnseenCombination, ...]


def list_unseen(
    support: Support, leverage: Leverage, determined: int, *, seed: int, reach: Reach | None = None
) -> UnseenListing:
    """Summarise the leverage of the determined ones, and list the undetermined ones that one would meet most often.

    `reach` tells of unseen combinations the largest leverage among seen ones that were held out as these are missing.
    """
    values = [np.flatnonzero(island >= 0) for island in leverage.determinacy.islands]
    codes, sampled = unseen_combinations(support, values, listed=LISTED_SPACE, drawn=_DRAWN, seed=seed)
    is_determined = leverage.determinacy.determined(codes)
    open_, fixed = codes[~is_determined], codes[is_determined]
    solved = _SOLVED_ONE_BY_ONE if reach is None else _SOLVED_WITH_SCORE
    if not leverage.inverts and len(fixed) > solved:
        fixed = fixed[np.random.default_rng(seed).permutation(len(fixed))[:solved]]
        sampled = True
    expected = expected_rows(support, open_)
    often = np.argsort(-expected, kind="stable")[:_SHOWN]
    return UnseenListing(
        leverage=_summary(support, leverage.of(fixed), fixed, determined, sampled=sampled, reach=reach),
        undetermined=tuple(
            UnseenCombination(support.space.label_row(open_[i]), None, float(expected[i])) for i in often
        ),
    )


def _summary(
    support: Support, tried: Numbers, codes: Codes, determined: int, *, sampled: bool, reach: Reach | None
) -> LeverageSummary | None:
    if not len(tried):
        return None
    solved = np.isfinite(tried)
    leverages, codes = tried[solved], codes[solved]
    worst = np.argsort(-leverages, kind="stable")[:_SHOWN]
    expected = expected_rows(support, codes[worst])
    return LeverageSummary(
        of=determined,
        known=len(leverages),
        sampled=sampled,
        median=float(np.quantile(leverages, 0.5)) if len(leverages) else None,  # np.median loads masked arrays
        p90=float(np.quantile(leverages, 0.9)) if len(leverages) else None,
        worst=float(leverages.max()) if len(leverages) else None,
        weak=int((leverages > WEAK).sum()),
        histogram=_histogram(leverages),
        weakest=tuple(
            UnseenCombination(support.space.label_row(codes[i]), float(leverages[i]), float(often))
            for i, often in zip(worst, expected, strict=True)
        ),
        unknown=int((~solved).sum()),
        like_tested=None if reach is None else int((1 + leverages <= LIKE**2 * (1 + reach(codes))).sum()),
    )


def _histogram(leverages: Numbers) -> LeverageHistogram:
    if not len(leverages):
        return LeverageHistogram((), ())
    counts, edges = np.histogram(leverages, bins=min(24, max(4, len(leverages) // 4)))
    return LeverageHistogram(tuple(map(float, edges)), tuple(map(int, counts)))
