"""Leverage: how much the noise in the seen answers is amplified in the answer that is worked out for a combination.

At 1 the worked-out answer is as uncertain as one single example; without a bound it is undetermined. This file is
where to ask with a `Support`; the formula, its derivation and the matrices are in `numerics.additive_design`, and
`numerics.sparse_solver` for tables that are too large for them.

Who asks here: the audit's summary and its weakest combinations (`unseen_combinations`), the ladder behind
`Audit.explain` (`combination_status`) and the map. Plans for the goal "leverage", and their replay, keep
leverages up to date while rows are added (`verbs.plan.goal_leverage`), and evaluations leave one combination out
(`verbs.evaluate.deviations`): both stand on `numerics.additive_design` itself. `verbs.evaluate.additivity` asks how
additive a *model's answers* are, by the hat values (0 to 1) of a design of its own, of conjunctions.

One factor is eliminated exactly. What is left is inverted once if it is small enough and the inverse keeps its digits;
otherwise each combination that is asked for is solved sparsely, and its solution tested. Where the test fails the
leverage is not known: NaN, which is neither firm nor weak.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from recombine.data.support import Support
from recombine.numerics.additive_design import AdditiveDesign, DenseLeverage
from recombine.numerics.effects import IncidenceDesign
from recombine.numerics.groups import Codes, Numbers
from recombine.numerics.incidence_fit import LARGEST, IncidenceFit
from recombine.numerics.sparse_solver import SparseLeverage
from recombine.verbs.audit.determined_space import Determinacy

WEAK = 1.0
"""Above this, a worked-out answer is less certain than one single example would be."""

_LARGEST_INVERSE = 1_500  # values that are left after elimination: 0.3 s to invert
_LARGEST_EIGENPROBLEM = 1_000  # the same where eigenvalues are needed, which take longer
_MOST_ENTRIES = 5 * 10**7  # of the table of left and eliminated values: 400 MB, and as much again on the way
_CHUNK = 1 << 18  # combinations at a time, so that memory does not grow with what is asked
_WORST_CONDITION = 1e10  # an inverse loses so many of its 16 digits; two factors stay below values³


@dataclass(frozen=True, eq=False)
class Leverage:
    """Leverages of any combinations of one support."""

    support: Support
    determinacy: Determinacy

    @cached_property
    def inverts(self) -> bool:
        """Whether many leverages are cheap: the reduced system is small enough to be inverted once, and safely."""
        if self.support.space.set_factors:
            return self.support.space.effects.width <= LARGEST and self._incidence.condition <= _WORST_CONDITION
        most = _LARGEST_EIGENPROBLEM if self.determinacy.deficit else _LARGEST_INVERSE
        largest = max(self.support.space.sizes)
        kept = sum(self.support.space.sizes) - largest
        return kept <= most and kept * largest <= _MOST_ENTRIES and self._dense.condition <= _WORST_CONDITION

    def of(self, codes: Codes) -> Numbers:
        """The leverage of each combination; NaN where it is not determined, and where it is not known.

        >>> import recombine
        >>> from recombine.verbs.audit.determinacy import determinacy
        >>> corner = recombine.read({"a": [0, 0, 1], "b": [0, 1, 0]}, factors=["a", "b"])
        >>> Leverage(corner, determinacy(corner)).of(np.array([[1, 1]])).tolist()
        [3.0]
        """
        answer = np.full(len(codes), np.nan)
        determined = np.flatnonzero(self.determinacy.determined(codes))
        solve = self._solve_many if self.inverts else self._sparse.at
        for start in range(0, len(determined), _CHUNK):
            part = determined[start : start + _CHUNK]
            answer[part] = solve(codes[part])
        return np.round(answer, 9)  # what lies below is the arithmetic's, not the data's

    def _solve_many(self, codes: Codes) -> Numbers:
        if not self.support.space.set_factors:
            return self._dense.at(codes)
        return self._incidence.leverage(self.support.space.effects.rows(codes))

    @cached_property
    def _incidence(self) -> IncidenceFit:
        seen = self.support.space.effects.rows(self.support.codes)
        return IncidenceFit.of(seen, rank=self.determinacy.rank)

    @cached_property
    def _dense(self) -> DenseLeverage:
        found = self.determinacy
        return DenseLeverage.of(self.support.codes, self.support.space.sizes, found.islands, deficit=found.deficit)

    @cached_property
    def _sparse(self) -> SparseLeverage:
        space = self.support.space
        if space.set_factors:
            return SparseLeverage(IncidenceDesign(self.support.codes, space.effects))
        return SparseLeverage(AdditiveDesign(self.support.codes, space.sizes))
