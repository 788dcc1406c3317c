"""The rules that anybody could use where answers are vectors, for all outputs at once.

    no change        the control: what is measured where nothing was done
    mean             the mean of the seen combinations
    additive         control + (A - control) + (B - control): from the combinations that differ from the control alone
    additive scaled  the same with the sum of differences times one number, which fits the seen combinations best
    least squares    one vector for each value, fitted to all seen combinations

All but the last look at single combinations; least squares looks at all of them, and needs no control. Its hat matrix
H = A (A'A)+ A' is the same for every output, so the fits of 5,000 outputs are one product with it, and so is what the
others say of each combination held out: y - (y - f) / (1 - h), h the diagonal of H (see `additive_fit`). The design A
is given as rows: one-hot for ordinary factors, the incidence of elements for sets.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from recombine.numerics.additive_design import ALONE
from recombine.numerics.effects import Kind
from recombine.numerics.groups import ANY, Codes, Flags, Ints, Numbers
from recombine.numerics.rows import ranges
from recombine.numerics.vector_scores import Vectors

NO_CHANGE, ADDITIVE, SCALED, LEAST_SQUARES = "no change", "additive", "additive scaled", "least squares"

_LINES = 256
_ROUNDING = 1e-9
_NONE = -2
_OPEN = 1e-6  # the squared length of a design row outside the span of the others, as in `additive_design`


@dataclass(frozen=True, eq=False)
class LeastSquares:
    """The fit of one vector for each column of a design. Legend: n seen, v columns, r rank, m outputs.

    >>> design = np.array([[1, 0, 1, 0], [1, 0, 0, 1], [0, 1, 1, 0], [0, 1, 0, 1.0]])
    >>> fit = LeastSquares.of(design)
    >>> fit.held_out(np.array([[0.0], [1.0], [2.0], [9.0]])).round(6).ravel().tolist()
    [-6.0, 7.0, 8.0, 3.0]
    """

    scores: Numbers  # (n, r) the product of two rows is the leverage of one on the other
    basis: Numbers  # (v, r) from columns to scores
    span: Numbers  # (v, r) an orthonormal basis of what the rows span

    @classmethod
    def of(cls, design: Numbers) -> "LeastSquares":
        """By the eigenvalues of A'A, which holds counts: those below a 10⁻⁹ of the largest are rounding."""
        eigenvalues, vectors = np.linalg.eigh(design.T @ design)
        kept = eigenvalues > _ROUNDING * eigenvalues[-1]
        basis = vectors[:, kept] / np.sqrt(eigenvalues[kept])
        return cls(design @ basis, basis, vectors[:, kept])

    @property
    def leverage(self) -> Numbers:
        """(n,) How much each seen combination pulls the fit towards itself."""
        return np.asarray(np.square(self.scores).sum(axis=1))

    def held_out(self, values: Vectors, rows: Ints | None = None) -> Numbers:
        """(t, m) Each of some seen combinations as all others tell it; NaN where they leave it open."""
        chosen = np.arange(len(values)) if rows is None else rows
        own = values[chosen].astype(np.float64)
        rest = 1 - self.leverage[chosen]
        rest = np.where(rest < ALONE, np.nan, rest)[:, None]
        return np.asarray(own - (own - self.scores[chosen] @ self._effects(values)) / rest)

    def _effects(self, values: Vectors) -> Numbers:
        """(r, m) In the coordinates of `scores`; some lines are in float64 at a time."""
        found = np.zeros((self.scores.shape[1], values.shape[1]))
        for start in range(0, len(values), _LINES):
            part = slice(start, start + _LINES)
            found += self.scores[part].T @ values[part].astype(np.float64)
        return found

    def told(self, asked: Numbers) -> npt.NDArray[np.bool_]:
        """(a,) Whether the seen combinations determine combinations with these design rows."""
        outside = asked - (asked @ self.span) @ self.span.T
        return np.asarray(np.square(outside).sum(axis=1) < _OPEN)

    def at(self, values: Vectors, asked: Numbers) -> Numbers:
        """(a, m) What the fit says of other combinations; NaN where they are not determined."""
        said = (asked @ self.basis) @ self._effects(values)
        return np.where(self.told(asked)[:, None], said, np.nan)


@dataclass(frozen=True, eq=False)
class ControlDesign:
    """Which seen combination is the control of another, and which show one change of it alone.

    `codes` are the seen combinations, and `place` finds others among them, -1 where they were not seen. `control` has
    the code of each factor's control, ANY for a factor without one (a cell line beside drugs: the control of a
    combination is then the one with the same cell line). `kinds` say what is one change: another value of an ordinary
    factor, or one element of a set.

    >>> from recombine.numerics.effects import Single
    >>> from recombine.numerics.groups import group
    >>> codes = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=np.int32)
    >>> seen = group(codes, sizes=(2, 2), factors=(0, 1))
    >>> design = ControlDesign(codes, np.array([0, 0]), seen.lookup, (Single(2), Single(2)))
    >>> values = np.array([[1.0], [2.0], [4.0], [7.0]])
    >>> design.additive(values, codes).ravel().tolist()
    [nan, nan, nan, 5.0]
    """

    codes: Codes
    control: Ints
    place: Callable[[Codes], Ints]
    kinds: Sequence[Kind]

    @property
    def factors(self) -> Ints:
        """The factors that have a control."""
        return np.flatnonzero(self.control != ANY)

    def is_control(self, codes: Codes) -> Flags:
        """(c,) Which combinations are their own control."""
        return np.asarray((self._at_control(codes) == codes).all(axis=1))

    def references(self, codes: Codes) -> Ints:
        """(c,) The place of each combination's control among the seen ones, -1 where it was not seen."""
        return self.place(self._at_control(codes))

    def _at_control(self, codes: Codes) -> Codes:
        moved = codes.copy()
        moved[:, self.factors] = self.control[self.factors]
        return moved

    def _singles(self, codes: Codes) -> Ints:
        """(c, s) The places of the combinations that show one change of each alone, -1 where it was not seen, and
        _NONE after the last change.
        """
        whose, where = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
        control = self._at_control(codes)
        for k in self.factors:
            owners, values = self.kinds[k].changes(codes[:, k], int(self.control[k]))
            alone = control[owners]
            alone[:, k] = values
            whose.append(owners)
            where.append(self.place(alone))
        owners = np.concatenate(whose)
        order = np.argsort(owners, kind="stable")
        counts = np.bincount(owners, minlength=len(codes))
        found = np.full((len(codes), int(counts.max(initial=0))), _NONE, dtype=np.int64)
        found[owners[order], ranges(np.zeros(len(codes), dtype=np.int64), counts)] = np.concatenate(where)[order]
        return found

    def no_change(self, values: Vectors, codes: Codes) -> Numbers:
        """(c, m) The control of each combination, NaN where it was not seen."""
        return _taken(values, self.references(codes))

    def additive(self, values: Vectors, codes: Codes) -> Numbers:
        """(c, m) Control and differences of the single changes added up; NaN with fewer than two, or where one of them
        was not seen.
        """
        return self.no_change(values, codes) + self._differences(values, codes)

    def _differences(self, values: Vectors, codes: Codes) -> Numbers:
        """(c, m) The sum of differences of the single changes from the control."""
        reference, singles = self.no_change(values, codes), self._singles(codes)
        several = (singles != _NONE).sum(axis=1) >= 2
        total = np.where(several[:, None], 0.0, np.full(reference.shape, np.nan))
        for places in singles.T:
            total += np.where((places != _NONE)[:, None], _taken(values, places) - reference, 0.0)
        return np.asarray(total)

    def scaled(self, values: Vectors, codes: Codes, fitted: Ints, *, held_out: bool) -> Numbers:
        """(c, m) The same, the sum of differences times one number that fits some seen combinations best, whose places
        are `fitted`. `held_out` says that `codes` are these: then each is left out of its own number.
        """
        asked = self._differences(values, codes)
        known = codes if held_out else self.codes[fitted]
        sums = asked if held_out else self._differences(values, known)
        apart = values[fitted].astype(np.float64) - self.no_change(values, known)
        told = np.isfinite(sums).all(axis=1)
        products = np.where(told, np.einsum("nm,nm->n", sums, apart), 0.0)
        squares = np.where(told, np.square(sums).sum(axis=1), 0.0)
        top, bottom = (one.sum() - (one if held_out else 0.0) for one in (products, squares))
        with np.errstate(invalid="ignore", divide="ignore"):
            factor = np.broadcast_to(top / bottom, (len(codes),))
        return np.asarray(self.no_change(values, codes) + factor[:, None] * asked)


def _taken(values: Vectors, places: Ints) -> Numbers:
    return np.where((places >= 0)[:, None], values[places].astype(np.float64), np.nan)
