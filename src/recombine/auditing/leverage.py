"""How much the noise in the seen answers is amplified in the answer that is worked out for a combination.

With the seen combinations' one-hot design A, the leverage of a combination with row a is a (A'A)+ a': the variance of
its worked-out answer in units of one seen answer's. At 1 the worked-out answer is as uncertain as one single example.
For two factors it is the effective resistance between the two values in the graph of seen pairs.

One factor is eliminated exactly (its block of A'A is diagonal). What is left is inverted once if it is small enough,
and otherwise solved by conjugate gradients for each combination that is asked for.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from recombine.auditing.determinacy import NOWHERE, Determinacy
from recombine.factors.groups import Codes, Ints, Numbers
from recombine.factors.support import Support

WEAK = 1.0
"""Above this, a worked-out answer is less certain than one single example would be."""

_LARGEST_INVERSE = 1_500
_LARGEST_EIGENPROBLEM = 1_000
_MOST_ENTRIES = 5 * 10**7
_CHUNK = 1 << 18
_ITERATIONS = 1_000
_TOLERANCE = 1e-10


@dataclass(frozen=True, eq=False)
class Leverage:
    """Leverages of any combinations of one support."""

    support: Support
    determinacy: Determinacy

    @cached_property
    def inverts(self) -> bool:
        """Whether many leverages are cheap: the reduced system is small enough to be inverted once."""
        most = _LARGEST_EIGENPROBLEM if self.determinacy.deficit else _LARGEST_INVERSE
        largest = max(self.support.space.sizes)
        kept = sum(self.support.space.sizes) - largest
        return kept <= most and kept * largest <= _MOST_ENTRIES

    def of(self, codes: Codes) -> Numbers:
        """The leverage of each combination; NaN where it is not determined.

        >>> import recombine
        >>> from recombine.auditing.determinacy import determinacy
        >>> corner = recombine.read({"a": [0, 0, 1], "b": [0, 1, 0]}, factors=["a", "b"])
        >>> Leverage(corner, determinacy(corner)).of(np.array([[1, 1]])).tolist()
        [3.0]
        """
        answer = np.full(len(codes), np.nan)
        determined = np.flatnonzero(self.determinacy.determined(codes))
        solve = self._reduced.leverage if self.inverts else self._iterated
        for start in range(0, len(determined), _CHUNK):
            part = determined[start : start + _CHUNK]
            answer[part] = solve(codes[part])
        return np.round(answer, 9)  # what lies below is the arithmetic's, not the data's

    @cached_property
    def _reduced(self) -> "_Reduced":
        return _Reduced.of(self.support, self.determinacy)

    def _iterated(self, codes: Codes) -> Numbers:
        design = _Design(self.support)
        return np.array([design.leverage(row) for row in codes.astype(np.int64)])


@dataclass(frozen=True)
class _Reduced:
    """A'A with its largest factor eliminated, inverted on the directions that the seen combinations fix.

    Legend: v eliminated factor's values, r all other values.
    """

    eliminated: int
    kept: tuple[int, ...]
    offsets: Ints  # where each kept factor starts among r
    degree: Numbers  # (v,) seen combinations of each eliminated value
    share: Numbers  # (r, v) share of the eliminated value's combinations that hold each other value
    inverse: Numbers  # (r, r)
    pulled: Numbers  # (r, v) inverse @ share
    own: Numbers  # (v,) share' inverse share

    @classmethod
    def of(cls, support: Support, determinacy: Determinacy) -> "_Reduced":
        sizes = support.space.sizes
        eliminated = int(np.argmax(sizes))
        kept = tuple(k for k in range(len(sizes)) if k != eliminated)
        offsets = np.concatenate([[0], np.cumsum([sizes[k] for k in kept])])
        rows = support.codes[:, kept].astype(np.int64) + offsets[:-1]
        column = support.codes[:, eliminated]
        total = int(offsets[-1])
        together = np.zeros((total, sizes[eliminated]))
        inner = np.zeros((total, total))
        for a in rows.T:
            np.add.at(together, (a, column), 1.0)
            for b in rows.T:
                np.add.at(inner, (a, b), 1.0)
        degree = np.bincount(column, minlength=sizes[eliminated]).astype(np.float64)
        share = together / np.maximum(degree, 1)
        schur = inner - share @ together.T
        islands = np.concatenate([determinacy.islands[k] for k in kept])
        factor = np.repeat(np.arange(len(kept)), np.diff(offsets))
        inverse = _pseudo_inverse(schur, islands, factor, determinacy)
        pulled = inverse @ share
        return cls(eliminated, kept, offsets, degree, share, inverse, pulled, np.einsum("rv,rv->v", share, pulled))

    def leverage(self, codes: Codes) -> Numbers:
        """With y = (indicator of the other values) - share, the leverage is 1/degree + y' inverse y."""
        column = codes[:, self.eliminated]
        rows = [codes[:, k] + start for k, start in zip(self.kept, self.offsets, strict=False)]
        total = 1 / self.degree[column] + self.own[column]
        for a in rows:
            total -= 2 * self.pulled[a, column]
            for b in rows:
                total += self.inverse[a, b]
        return np.maximum(total, 0.0)


def _pseudo_inverse(schur: Numbers, islands: Ints, factor: Ints, determinacy: Determinacy) -> Numbers:
    """An inverse on the determined directions; any choice on the others gives the same leverages."""
    seen = np.flatnonzero(islands != NOWHERE)
    small = schur[np.ix_(seen, seen)]
    if determinacy.deficit:
        values, vectors = np.linalg.eigh(small)
        open_ = (len(determinacy.islands) - 1) * determinacy.island_count + determinacy.deficit
        solved = (vectors[:, open_:] / values[open_:]) @ vectors[:, open_:].T
    else:
        # the only open directions shift one factor against another within an island: close them, then invert
        label = islands[seen] * len(determinacy.islands) + factor[seen]
        solved = np.linalg.inv(small + (label[:, None] == label[None]) * (np.trace(small) / len(small) ** 2 + 1e-3))
    inverse = np.zeros_like(schur)
    inverse[np.ix_(seen, seen)] = solved
    return inverse


class _Design:
    """Products with the one-hot design by group sums, for tables too large to invert."""

    def __init__(self, support: Support) -> None:
        sizes = support.space.sizes
        self._starts = np.concatenate([[0], np.cumsum(sizes)])
        self._columns = [support.codes[:, k].astype(np.int64) for k in range(len(sizes))]
        self._sizes = sizes
        self._degree = np.concatenate(
            [np.bincount(c, minlength=s) for c, s in zip(self._columns, sizes, strict=True)]
        ).astype(np.float64)

    def gram(self, vector: Numbers) -> Numbers:
        """A'A times a vector."""
        parts = np.split(vector, self._starts[1:-1])
        rows = sum(part[column] for part, column in zip(parts, self._columns, strict=True))
        return np.concatenate(
            [np.bincount(c, weights=rows, minlength=s) for c, s in zip(self._columns, self._sizes, strict=True)]
        )

    def leverage(self, codes: Ints) -> float:
        """Conjugate gradients on A'A y = a, scaled by the diagonal; the energy a'y only grows towards the answer."""
        residual = np.zeros(int(self._starts[-1]))
        residual[codes + self._starts[:-1]] = 1.0
        scale = 1 / np.maximum(self._degree, 1)
        direction = scaled = scale * residual
        slope = first = float(residual @ scaled)
        energy = 0.0
        for _ in range(_ITERATIONS):
            image = self.gram(direction)
            step = slope / float(direction @ image)
            energy += step * slope
            residual = residual - step * image
            scaled = scale * residual
            slope, before = float(residual @ scaled), slope
            if slope <= _TOLERANCE**2 * first or step * slope <= 1e-9 * energy:
                break
            direction = scaled + slope / before * direction
        return energy
