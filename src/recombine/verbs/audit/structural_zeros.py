"""Structural zeros: pairs of values that probably cannot occur together, told from those that just did not.

In SCAN no direction goes without a manner of going; among patients no man is pregnant. Counted as a product of values,
such a table has up to ten times as many combinations as can occur, all "undetermined", or worse: all "follow". A pair
of values that never meets is suspected by one of two counts, each wrong in at most one table of forty:

- by *combinations*: if the factors were independent, so many seen combinations would hold both values that none of all
  pairs would be missed by chance;
- by *rows*, from three factors on: so many rows would. Rows are evidence only where they are a sample, so two things
  are looked at first. Rows may come in bursts: what is expected is divided by how much the counts of the seen
  combinations scatter beyond chance. (Where they scatter less than chance, as in an experiment with ten of each, rows
  say nothing.) And combinations may be missing because nobody collected them: the share of the *other* combinations
  that ought to have rows and have none is the chance of that, for each combination that would hold the pair.

A suspicion is not a fact: a pair that was held out on purpose looks the same. So every verb that leaves suspected pairs
out of its counts (audit, plan) names the first of them, verbs that forecast count them and say so, and the audit offers
them as a file to be read over.
"""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import log

import numpy as np

from recombine.base.errors import RecombineError
from recombine.base.words import amount, count
from recombine.data.space import Space
from recombine.data.support import Support
from recombine.numerics.distributions import chi_squared_quantile
from recombine.numerics.groups import ANY, Codes, Flags, Ints, Numbers, totals

_TWO = 2  # factors: there a pair is the combination itself, and what is asked about is what never met
_FEWEST = 10.0  # combinations, or rows, expected to hold both values
_ERROR = 0.025  # that any pair of a table is suspected by chance alone, by combinations; and again by rows
_MOST_PAIRS = 10**7  # of values that are looked at, of all pairs of factors: 17 bytes each
_MOST_CELLS = 10**6  # pairs of values times what the other factors are: the chance of each to be empty
_MOST_KEPT = 10_000
_NAMED_FROM = 1.5  # combinations that are expected, from which on their number is worth a word
_ROUNDS = 30  # of fitting margins in turn; what has not settled only looks more scattered than it is
_TOO_EVEN = 0.001  # the chance with which rows that are a sample are taken for a design
_SCATTER_LOW = 0.1  # the scatter is taken as large as one in ten such tables would show by luck when it is small
_MOST_EMPTY = 0.25  # of the pairs that ought to meet: beyond, whole blocks were left out, as benchmarks do on purpose
_OUGHT = 5.0  # rows that are expected, beyond scatter, of a combination that ought to have some


@dataclass(frozen=True)
class Suspicion:
    """Two values that never meet; how many combinations and rows would hold both if the factors were independent."""

    factors: tuple[str, str]
    values: tuple[str, str]
    expected: float
    rows: float

    def __str__(self) -> str:
        return " with ".join(f"{name}={value}" for name, value in zip(self.factors, self.values, strict=True))


@dataclass(frozen=True)
class Zeros:
    """All suspicions, the firmest first, and what they would rule out."""

    pairs: tuple[Suspicion, ...]
    combinations: int | None  # of the space that hold such a pair; None where they are too many to be written out

    @property
    def sentence(self) -> str:
        """The suspicion with its evidence, where what it rules out is not counted otherwise."""
        return self.sentence_of("more combination")

    def sentence_of(self, noun: str) -> str:
        """The same, with a noun for what holds such a pair."""
        first, more = self.pairs[0], len(self.pairs) - 1
        number = self.combinations
        many = "Many others" if number is None else amount(number, noun)
        hold = "holds" if number == 1 else "hold"
        held = f" in {count(round(first.expected))} combinations" if first.expected >= _NAMED_FROM else ""
        chance = f"chance would give about {amount(round(first.rows), 'row')}{held}"
        others = f", and {more:,} such pair{'s' * (more != 1)} more" if more else ""
        return f"{many} {hold} a pair of values that never meets, and perhaps cannot occur: {first} ({chance}){others}."


def suspect_zeros(support: Support, occurring: Codes | None = None) -> tuple[Zeros | None, Support]:
    """The suspicions, and the same support in the space without them; no suspicions where nothing is suspected.

    `occurring` are combinations that are known to occur although the table lacks them: those of true answers, or of a
    test. Their pairs are above suspicion.

    >>> import recombine
    >>> said = [(v, m, d, r) for v in range(30) for m in "nao" for d in "nlr" for r in "123"]
    >>> said = [one for one in said if (one[1] == "n") == (one[2] == "n")]
    >>> columns = dict(zip(("verb", "mode", "direction", "times"), map(list, zip(*said)), strict=True))
    >>> zeros, without = suspect_zeros(recombine.read(columns, factors=list(columns)))
    >>> len(zeros.pairs), zeros.combinations, without.space.size == len(said)
    (4, 360, True)
    """
    if support.space.set_factors:  # which elements cannot stand in one set is not asked yet
        return None, support
    found = _find_suspicions(support)
    if occurring is not None and len(occurring):
        found = [one for one in found if not _is_held(one[0], occurring)]
    if not found:
        return None, support
    forbidden = {*support.space.impossible, *(row for row, _, _ in found)}
    space = Space(support.space.factors, tuple(sorted(forbidden)))
    pairs = tuple(_suspicion(support.space, *one) for one in found)
    try:
        ruled_out = space.impossible_count - support.space.impossible_count
    except RecombineError:  # too many to be written out
        return Zeros(pairs, None), support
    return Zeros(pairs, ruled_out), replace(support, space=space)


def as_csv(zeros: Zeros, names: Sequence[str]) -> str:
    """The suspicions as `--impossible` reads them: factors as columns, an empty cell means any value."""
    written = io.StringIO()
    table = csv.DictWriter(written, fieldnames=list(names), lineterminator="\n")
    table.writeheader()
    for pair in zeros.pairs:
        table.writerow(dict(zip(pair.factors, pair.values, strict=True)))
    return written.getvalue()


@dataclass(frozen=True, eq=False)
class _PairGrid:
    """All pairs of the common values of two factors. Legend: u common values of the one, v of the other."""

    factors: tuple[int, int]
    common: tuple[Ints, Ints]
    combinations: Numbers  # (u, v) expected to hold both, if the factors were independent
    rows: Numbers  # (u, v) likewise
    apart: Flags  # (u, v) never meet, and nobody said that they cannot


def _find_suspicions(support: Support) -> list[tuple[tuple[int, ...], float, float]]:
    """Patterns over all factors, with what independence would expect, the firmest first."""
    width = len(support.space.sizes)
    grids, left = [], _MOST_PAIRS
    for pair in combinations(range(width), 2):
        grid = _pair_grid(support, *pair, most=left)
        if grid is not None:
            grids.append(grid)
            left -= grid.apart.size
    limits = [log(max(sum(_looked_at(grid, name) for grid in grids), 1) / _ERROR) for name in ("combinations", "rows")]
    found = []
    for grid in grids:
        suspected = grid.apart & (grid.combinations >= max(_FEWEST, limits[0]))
        ought = grid.rows >= max(_FEWEST, limits[1])
        by_rows = grid.apart & ~suspected & ought
        if width > _TWO and by_rows.any() and (grid.apart & ought).sum() <= _MOST_EMPTY * ought.sum():
            surprise = _surprise_by_rows(support, *grid.factors)
            suspected |= by_rows & (surprise[np.ix_(*grid.common)] >= limits[1])
        for u, v in np.argwhere(suspected)[:_MOST_KEPT]:
            row = [ANY] * width
            for k, codes, place in zip(grid.factors, grid.common, (u, v), strict=True):
                row[k] = int(codes[place])
            found.append((tuple(row), float(grid.combinations[u, v]), float(grid.rows[u, v])))
    found = [one for one in found if _can_be_written(support.space, one[0])]
    return sorted(found, key=lambda one: (-one[1], -one[2], one[0]))[:_MOST_KEPT]


def _looked_at(grid: _PairGrid, name: str) -> int:
    return int((getattr(grid, name) >= _FEWEST).sum())


def _pair_grid(support: Support, a: int, b: int, *, most: int) -> _PairGrid | None:
    held = [np.bincount(support.codes[:, k], minlength=support.space.sizes[k]) for k in (a, b)]
    rows = [support.value_counts[k] for k in (a, b)]
    common = [np.flatnonzero(np.maximum(own, counts) >= _FEWEST) for own, counts in zip(held, rows, strict=True)]
    if not 0 < len(common[0]) * len(common[1]) <= most:
        return None
    apart = ~_values_meet(support, a, b, common)
    if support.space.impossible and apart.any():  # what was declared, singly or jointly, need not be suspected
        cells = np.stack(np.meshgrid(*common, indexing="ij"), axis=-1).reshape(-1, 2).astype(np.int32)
        apart &= ~support.space.restricted((a, b)).is_impossible(cells).reshape(apart.shape)
    by_combinations = np.outer(held[0][common[0]], held[1][common[1]]) / len(support)
    by_rows = np.outer(rows[0][common[0]], rows[1][common[1]]) / support.total
    return _PairGrid((a, b), (common[0], common[1]), by_combinations, by_rows, apart)


def _surprise_by_rows(support: Support, a: int, b: int) -> Numbers:
    """For each pair of values, minus the logarithm of the chance that none of its combinations has a row.

    A cell is a pair of values with a seen way to fill in the other factors. It is empty because nobody collected it, at
    the rate at which other cells that ought to have rows are empty, or because its rows, as many as independence
    expects, fell elsewhere: Poisson, with what is expected divided by the scatter. 0 where rows say nothing.
    """
    shape = support.space.sizes[a], support.space.sizes[b]
    others = [k for k in range(len(support.space.sizes)) if k not in (a, b)]
    ids = support.groups(others).ids if others else np.zeros(len(support), dtype=np.int64)
    layers = int(ids.max()) + 1
    few = shape[0] * shape[1] * layers <= _MOST_CELLS
    scatter = _scatter(support.counts, (support.codes[:, a], support.codes[:, b], ids)) if few else None
    if scatter is None:
        return np.zeros(shape)
    share = totals(ids, support.counts, layers) / support.total
    expected = np.outer(support.value_counts[a], support.value_counts[b])[:, :, None] / support.total * share / scatter
    empty = np.ones(expected.shape, dtype=bool)
    empty[support.codes[:, a], support.codes[:, b], ids] = False
    ought = expected >= _OUGHT
    if layers > 1:  # of pairs that do meet: one impossible pair must not make another look merely uncollected
        ought &= ~empty.all(axis=2, keepdims=True)
    missing, asked = ((flags.sum() - flags.sum(axis=2)) for flags in (ought & empty, ought))
    rate = (missing / np.maximum(asked, 1))[:, :, None]
    return np.asarray(-np.log(rate + (1 - rate) * np.exp(-expected) + 1e-300).sum(axis=2))


def _scatter(rows: Numbers, margins: Sequence[Codes | Ints]) -> float | None:
    """How many times as much the counts of seen cells differ as those of independent rows would, at least 1.

    Beside what the margins of the seen cells fit, so that an empty cell does not make its neighbours look strange. None
    where too few cells are seen to tell, or where they differ too little for a sample.
    """
    sizes = [int(ids.max()) + 1 for ids in margins]
    freedom = len(rows) - sum(len(np.unique(ids)) for ids in margins) + len(margins) - 1
    if freedom < 1:
        return None
    fit = np.ones(len(rows))
    for _ in range(_ROUNDS):
        for ids, size in zip(margins, sizes, strict=True):
            fit *= (totals(ids, rows, size) / np.maximum(totals(ids, fit, size), 1e-300))[ids]
    squares = float(((rows - fit) ** 2 / np.maximum(fit, 1e-300)).sum())
    if squares < chi_squared_quantile(_TOO_EVEN, freedom):
        return None
    return max(1.0, squares / chi_squared_quantile(_SCATTER_LOW, freedom))


def _values_meet(support: Support, a: int, b: int, common: Sequence[Ints]) -> Flags:
    places = [np.full(support.space.sizes[k], -1, dtype=np.int64) for k in (a, b)]
    for place, values in zip(places, common, strict=True):
        place[values] = np.arange(len(values))
    met = np.zeros((len(common[0]), len(common[1])), dtype=bool)
    first = support.codes[support.groups((a, b)).representatives]
    rows, columns = places[0][first[:, a]], places[1][first[:, b]]
    there = (rows >= 0) & (columns >= 0)
    met[rows[there], columns[there]] = True
    return met


def _can_be_written(space: Space, row: tuple[int, ...]) -> bool:
    """An empty cell of the file would mean any value."""
    return all(code == ANY or space.factors[k].labels[code] for k, code in enumerate(row))


def _is_held(row: tuple[int, ...], codes: Codes) -> bool:
    """Whether one of the combinations holds the pair."""
    held = [codes[:, k] == code for k, code in enumerate(row) if code != ANY]
    return bool(np.logical_and.reduce(held).any())


def _suspicion(space: Space, row: tuple[int, ...], expected: float, rows: float) -> Suspicion:
    (a, u), (b, v) = [(k, code) for k, code in enumerate(row) if code != ANY]
    one, other = space.factors[a], space.factors[b]
    return Suspicion((one.name, other.name), (one.labels[u], other.labels[v]), expected, rows)
