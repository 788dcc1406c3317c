"""How much the noise in the seen answers is amplified in the answer that is worked out for a combination.

With the seen combinations' one-hot design A, the leverage of a combination with row a is a (A'A)+ a': the variance of
its worked-out answer in units of one seen answer's. At 1 the worked-out answer is as uncertain as one single example.
For two factors it is the effective resistance between the two values in the graph of seen pairs.

One factor is eliminated exactly (its block of A'A is diagonal). What is left is inverted once if it is small enough and
the inverse keeps its digits; otherwise each combination that is asked for is solved sparsely, and its solution tested
(`sparse_solver`). Where the test fails the leverage is not known: NaN, which is neither firm nor weak.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from recombine.algebra.groups import Codes, Ints, Numbers
from recombine.algebra.sparse_solver import SparseSolver
from recombine.auditing.determinacy import NOWHERE, Determinacy
from recombine.tables.support import Support

WEAK = 1.0
"""Above this, a worked-out answer is less certain than one single example would be."""

_LARGEST_INVERSE = 1_500
_LARGEST_EIGENPROBLEM = 1_000
_MOST_ENTRIES = 5 * 10**7
_CHUNK = 1 << 18
_WORST_CONDITION = 1e10  # an inverse loses that factor of its 16 digits; two factors stay below values^3


@dataclass(frozen=True, eq=False)
class Leverage:
    """Leverages of any combinations of one support."""

    support: Support
    determinacy: Determinacy

    @cached_property
    def inverts(self) -> bool:
        """Whether many leverages are cheap: the reduced system is small enough to be inverted once, and safely."""
        most = _LARGEST_EIGENPROBLEM if self.determinacy.deficit else _LARGEST_INVERSE
        largest = max(self.support.space.sizes)
        kept = sum(self.support.space.sizes) - largest
        return kept <= most and kept * largest <= _MOST_ENTRIES and self._reduced.condition <= _WORST_CONDITION

    def of(self, codes: Codes) -> Numbers:
        """The leverage of each combination; NaN where it is not determined, and where it is not known.

        >>> import recombine
        >>> from recombine.auditing.determinacy import determinacy
        >>> corner = recombine.read({"a": [0, 0, 1], "b": [0, 1, 0]}, factors=["a", "b"])
        >>> Leverage(corner, determinacy(corner)).of(np.array([[1, 1]])).tolist()
        [3.0]
        """
        answer = np.full(len(codes), np.nan)
        determined = np.flatnonzero(self.determinacy.determined(codes))
        solve = self._reduced.leverage if self.inverts else self._sparse.leverages
        for start in range(0, len(determined), _CHUNK):
            part = determined[start : start + _CHUNK]
            answer[part] = solve(codes[part])
        return np.round(answer, 9)  # what lies below is the arithmetic's, not the data's

    @cached_property
    def _reduced(self) -> "_Reduced":
        return _Reduced.of(self.support, self.determinacy)

    @cached_property
    def _sparse(self) -> SparseSolver:
        return SparseSolver(self.support.codes, self.support.space.sizes)


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
    condition: float  # by how much the inverse may magnify rounding

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
        inverse, condition = _pseudo_inverse(schur, islands, factor, determinacy)
        pulled = inverse @ share
        own = np.einsum("rv,rv->v", share, pulled)
        return cls(eliminated, kept, offsets, degree, share, inverse, pulled, own, condition)

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


def _pseudo_inverse(schur: Numbers, islands: Ints, factor: Ints, determinacy: Determinacy) -> tuple[Numbers, float]:
    """An inverse on the determined directions, where any choice on the others gives the same leverages; its condition.

    From three factors on, answers can depend on one another in ways that double from value to value: such a table has
    leverages of 4^30 and eigenvalues below any rounding.
    """
    seen = np.flatnonzero(islands != NOWHERE)
    small = schur[np.ix_(seen, seen)]
    if determinacy.deficit:
        values, vectors = np.linalg.eigh(small)
        open_ = (len(determinacy.islands) - 1) * determinacy.island_count + determinacy.deficit
        kept = values[open_:]
        condition = float(values[-1] / kept[0]) if len(kept) and kept[0] > 0 else float(len(kept) and np.inf)
        solved = (vectors[:, open_:] / np.where(kept > 0, kept, np.inf)) @ vectors[:, open_:].T
    else:
        # the only open directions shift one factor against another within an island: close them, then invert
        label = islands[seen] * len(determinacy.islands) + factor[seen]
        closed = small + (label[:, None] == label[None]) * (np.trace(small) / len(small) ** 2 + 1e-3)
        solved = np.linalg.inv(closed)
        condition = float(np.abs(closed).sum(axis=0).max() * np.abs(solved).sum(axis=0).max())
    inverse = np.zeros_like(schur)
    inverse[np.ix_(seen, seen)] = solved
    return inverse, condition
