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

from recombine.algebra.additive import AdditiveDesign, Leverages
from recombine.algebra.groups import Codes, Numbers
from recombine.algebra.sparse_solver import SparseSolver
from recombine.auditing.determinacy import Determinacy
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
        return kept <= most and kept * largest <= _MOST_ENTRIES and self._dense.condition <= _WORST_CONDITION

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
        solve = self._dense.at if self.inverts else self._sparse.leverages
        for start in range(0, len(determined), _CHUNK):
            part = determined[start : start + _CHUNK]
            answer[part] = solve(codes[part])
        return np.round(answer, 9)  # what lies below is the arithmetic's, not the data's

    @cached_property
    def _dense(self) -> Leverages:
        found = self.determinacy
        return Leverages.of(self.support.codes, self.support.space.sizes, found.islands, deficit=found.deficit)

    @cached_property
    def _sparse(self) -> SparseSolver:
        return SparseSolver(AdditiveDesign(self.support.codes, self.support.space.sizes))
