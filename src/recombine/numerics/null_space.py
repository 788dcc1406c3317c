"""Random vectors that no seen combination contradicts, exactly.

Under an additive rule every seen combination z says: the sum of u[k, z_k] over the factors k is its answer. What the
seen combinations leave open are the vectors u for which all those sums are zero. A combination is determined iff its
own sum is zero for *every* such vector, and with probability 1 - 1/p iff it is zero for one random vector modulo a
prime p.

Three steps, each exact modulo p:

1. *Peel.* A value seen in one combination only can always be chosen to satisfy it. Take both away, and again.
2. *Propagate.* In what is left, fix one value in each factor but one (adding a constant to one factor and taking it
   from another changes nothing). A combination with one value still open decides that value as a linear form of the
   parameters. When nothing can be decided, the most useful open value becomes a new parameter. Where a factor's value
   is a set, combinations are not equally long and nothing can be fixed beforehand: all starts with a parameter.
3. *Reduce.* A combination with no open value left constrains the parameters. Those that a random vector violates are
   eliminated as they appear, so the parameters stay few.

What the steps leave open are the values of a few nodes, the *coordinates*: whatever is written there extends to exactly
one null vector. `null_space` hands those out; `null_vectors` writes random numbers there.
"""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from recombine.numerics.groups import Ints, Numbers, distinct, number
from recombine.numerics.modular_arithmetic import Echelon, product
from recombine.numerics.rows import IncidenceRows, ends, ranges

VECTORS = 2  # a prime p each: what is undetermined vanishes in both by chance once in p² > 10^13 cases
_BATCH = 64  # constraints that are eliminated at a time: enough for BLAS, few enough not to be redundant
_MOST_FORM_ENTRIES = 3 * 10**8  # of the table of linear forms: 2.4 GB


@dataclass(frozen=True)
class NullVectors:
    """Random null vectors modulo a prime, and the dimension of the space that they were drawn from."""

    values: Ints
    dimension: int


def null_vectors(rows: IncidenceRows, *, prime: int, seed: int, one_hot: bool, vectors: int = VECTORS) -> NullVectors:
    """Draw null vectors of a design; as many as its null space has dimensions are a basis of it, but for chance.

    It is `one_hot` where each row has a column of each factor, and no two factors share one.

    >>> rows = IncidenceRows.equal(np.array([[0, 2, 4], [0, 3, 5]]), width=6)
    >>> drawn = null_vectors(rows, prime=101, seed=0, one_hot=True)
    >>> drawn.dimension, (drawn.values[[0, 3, 5]].sum(axis=0) % 101).tolist()
    (4, [0, 0])
    >>> triangle = IncidenceRows.listed([[0, 1], [1, 2], [0, 2]], width=3)  # three pairs fix three elements
    >>> null_vectors(triangle, prime=101, seed=0, one_hot=False).dimension
    0
    """
    rng = np.random.default_rng(seed)
    peeled = peel(rows)
    values = rng.integers(0, prime, size=(rows.width, vectors))
    dimension = int((peeled.degree == 0).sum()) - sum(len(pivots) for _, pivots in peeled.rounds)
    core = rows.take(np.flatnonzero(peeled.active))
    for part in _parts(core):
        solved = _Core(core.take(part), prime, rng, one_hot=one_hot)
        values[solved.nodes] = solved.values(vectors)
        dimension += solved.dimension
    _extend(values, rows, peeled.rounds, prime)
    return NullVectors(values, dimension)


def _extend(values: Ints, rows: IncidenceRows, rounds: list[tuple[Ints, Ints]], prime: int) -> None:
    """Choose the values that were peeled, last ones first, so that each satisfies its row."""
    for places, pivots in reversed(rounds):
        mine = rows.take(places)
        together = values[mine.table].sum(axis=1) if mine.table is not None else mine.sums(values)
        values[pivots] = np.mod(values[pivots] - together, prime)


@dataclass(frozen=True, eq=False)
class NullSpace:
    """All null vectors modulo a prime, each fixed by its values at the coordinates."""

    coordinates: Ints
    prime: int
    _rows: IncidenceRows
    _rounds: list[tuple[Ints, Ints]]
    _cores: "tuple[_Core, ...]"

    def at(self, given: Ints) -> Ints:
        """The null vectors with the given values at the coordinates, one vector a column: (nodes, vectors)."""
        values = np.zeros((self._rows.width, given.shape[1]), dtype=np.int64)
        values[self.coordinates] = given
        for core in self._cores:
            values[core.nodes] = core.extended(values)
        _extend(values, self._rows, self._rounds, self.prime)
        return values


def null_space(variables: Ints, nodes: int, *, anchor: int, prime: int, seed: int) -> NullSpace:
    """The null vectors of the one-hot design whose row e has ones at `variables[e]`, all of them.

    All values but the last of the row `anchor` are coordinates, the first ones; values without a row are too.

    >>> space = null_space(np.array([[0, 2, 4], [0, 3, 5]]), nodes=7, anchor=0, prime=101, seed=0)
    >>> len(space.coordinates), space.coordinates[:2].tolist()
    (5, [0, 2])
    >>> vectors = space.at(np.eye(5, dtype=np.int64))
    >>> (vectors[[0, 3, 5]].sum(axis=0) % 101).tolist()
    [0, 0, 0, 0, 0]
    """
    rng = np.random.default_rng(seed)
    # held twice, the anchor is never peeled
    twice = IncidenceRows.equal(np.concatenate([variables, variables[anchor : anchor + 1]]), nodes)
    peeled = peel(twice)
    pivots = [pivots for _, pivots in peeled.rounds]
    free = peeled.degree == 0
    free[np.concatenate([*pivots, np.zeros(0, dtype=np.int64)])] = False
    core = twice.take(np.flatnonzero(peeled.active))
    parts = sorted(_parts(core), key=lambda part: -int(part.max()))  # the anchor's part comes first
    anchors = [len(part) - 1 if place == 0 else None for place, part in enumerate(parts)]
    solved = [_Core(core.take(part), prime, rng, anchor=row) for part, row in zip(parts, anchors, strict=True)]
    coordinates = np.concatenate([*(one.coordinates for one in solved), np.flatnonzero(free)])
    return NullSpace(coordinates, prime, twice, peeled.rounds, tuple(solved))


@dataclass(frozen=True)
class Peeled:
    """Which rows are left, how many of these hold each value, and what was taken away: rows, and a value of each."""

    active: np.ndarray[tuple[int], np.dtype[np.bool_]]
    degree: Ints
    rounds: list[tuple[Ints, Ints]]


def peel(rows: IncidenceRows) -> Peeled:
    """Take away values that occur once, with their combination, until every value left occurs twice.

    Every basis of the rows holds those that are taken away.
    """
    degree = rows.counts()
    # the sum of the rows that hold a value names the row when only one is left
    last_row = np.bincount(rows.columns, weights=rows.owners, minlength=rows.width).astype(np.int64)
    active = np.ones(len(rows), dtype=bool)
    rounds = []
    leaves = np.flatnonzero(degree == 1)
    while len(leaves):
        gone, first = np.unique(last_row[leaves], return_index=True)
        rounds.append((gone, leaves[first]))
        active[gone] = False
        taken = rows.take(gone)
        touched = taken.columns
        np.subtract.at(degree, touched, 1)
        np.subtract.at(last_row, touched, gone[taken.owners])
        touched = np.unique(touched)
        leaves = touched[degree[touched] == 1]
    return Peeled(active, degree, rounds)


def _parts(rows: IncidenceRows) -> list[Ints]:
    """Rows that share no value with others can be solved apart."""
    if not len(rows):
        return []
    labels = rows.components()[rows.columns[rows.starts[:-1]]]
    order = np.argsort(labels, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)


@dataclass
class _Forms:
    """A growing table of linear forms, one row a value and one column a parameter."""

    prime: int
    rows: int = 0
    parameters: int = 0
    _buffer: Numbers = field(default_factory=lambda: np.zeros((16, 4)))

    @property
    def table(self) -> Numbers:
        """The forms written down so far."""
        return self._buffer[: self.rows, : self.parameters]

    def append(self, forms: Numbers) -> None:
        """Write down some forms."""
        self._reserve(self.rows + len(forms), self.parameters)
        self.rows += len(forms)
        self.table[self.rows - len(forms) :] = forms

    def add_parameter(self) -> None:
        """Open a parameter: a new column, and a value that is that parameter."""
        self._reserve(self.rows + 1, self.parameters + 1)
        self.rows, self.parameters = self.rows + 1, self.parameters + 1
        self.table[:, -1] = 0
        self.table[-1] = 0
        self.table[-1, -1] = 1

    def reduce(self, echelon: Echelon) -> None:
        """Keep only the parameters that some constraints leave free."""
        self._buffer = echelon.restrict(self.table)
        self.rows, self.parameters = self._buffer.shape

    def evaluate(self, parameters: Numbers) -> Numbers:
        """Every form at some values of the parameters."""
        return product(self.table, parameters, self.prime)

    def _reserve(self, rows: int, parameters: int) -> None:
        if rows * parameters > _MOST_FORM_ENTRIES:
            raise TooSparse
        have_rows, have_parameters = self._buffer.shape
        if rows <= have_rows and parameters <= have_parameters:
            return
        larger = np.zeros((_doubled(have_rows, rows), _doubled(have_parameters, parameters)))
        larger[: self.rows, : self.parameters] = self.table
        self._buffer = larger


def _doubled(have: int, need: int) -> int:
    return have if need <= have else max(need, 2 * have)


@dataclass
class _Core:
    """One connected part without leaves: propagate, and reduce on the way."""

    rows: IncidenceRows
    prime: int
    rng: np.random.Generator
    anchor: int | None = None
    one_hot: bool = True
    nodes: Ints = field(init=False)
    _frontier: Ints = field(init=False)

    def __post_init__(self) -> None:
        self.nodes, local = number(self.rows.columns, int(self.rows.columns.max()) + 1)
        count = len(self.nodes)
        self.rows = IncidenceRows(self.rows.starts, local, count)
        self._starts, self._holding = self.rows.holding()
        self._known = np.zeros(count, dtype=bool)
        self._place = np.full(count, -1, dtype=np.int64)
        self._forms = _Forms(self.prime)
        self._open = self.rows.lengths.copy()
        self._open_sum = np.bincount(self.rows.owners, weights=local, minlength=len(self.rows)).astype(np.int64)
        self._used = np.zeros(len(self.rows), dtype=bool)
        self._promise = np.zeros(count, dtype=np.int64)
        self._full: list[Ints] = []
        self._parameters = np.zeros(0, dtype=np.int64)
        self._solve()

    @property
    def dimension(self) -> int:
        """The dimension of this part's null space: the shifts between factors, and the parameters left."""
        return len(self._fixed) + self._forms.parameters

    def values(self, vectors: int) -> Ints:
        """Random null vectors on this part's values, the free shift between factors included."""
        drawn = self.rng.integers(0, self.prime, size=(self._forms.parameters, vectors)).astype(np.float64)
        inner = self._forms.evaluate(drawn)[self._place]
        if not self.one_hot:
            return np.asarray(inner.astype(np.int64))
        shift = self.rng.integers(0, self.prime, size=(len(self._fixed) + 1, vectors))
        shift[-1] = -shift[:-1].sum(axis=0)
        return np.asarray(np.mod(inner.astype(np.int64) + shift[self._factor], self.prime))

    @property
    def coordinates(self) -> Ints:
        """The nodes whose values can be chosen freely: all but one of the combination fixed first, the parameters."""
        return np.asarray(self.nodes[np.concatenate([self._fixed, self._parameters])])

    def extended(self, values: Ints) -> Ints:
        """What the values at the coordinates make of this part's other nodes: (nodes, vectors)."""
        shift = values[self.nodes[self._fixed]]
        shift = np.mod(np.concatenate([shift, -shift.sum(axis=0, keepdims=True)]), self.prime)
        drawn = np.mod(values[self.nodes[self._parameters]] - shift[self._factor[self._parameters]], self.prime)
        inner = self._forms.evaluate(drawn.astype(np.float64))[self._place]
        return np.asarray(np.mod(inner.astype(np.int64) + shift[self._factor], self.prime))

    @cached_property
    def _factor(self) -> Ints:
        """The factor of each node."""
        factor = np.empty(len(self.nodes), dtype=np.int64)
        factor[self.rows.columns] = np.arange(len(self.rows.columns)) % (len(self._fixed) + 1)
        return factor

    def _solve(self) -> None:
        """Fix one whole combination, then decide value after value."""
        degree = np.diff(self._starts)
        self._fixed = self._combination_fixed(degree)
        self._forms.append(np.zeros((len(self._fixed), 0)))
        self._know(self._fixed)
        if not self.one_hot:
            self._frontier = np.flatnonzero(self._open == 1)
        while len(self._place) > self._forms.rows:
            decided = self._decidable()
            if len(decided):
                self._decide(decided)
            else:
                self._new_parameter(degree)
            if sum(map(len, self._full)) >= max(_BATCH, self._forms.parameters):
                self._reduce()
        self._reduce()

    def _combination_fixed(self, degree: Ints) -> Ints:
        """All values but the last of the row that meets most others, or of the one that was asked for."""
        if self.rows.table is None or not self.one_hot:
            return np.zeros(0, dtype=np.int64)
        meets = degree[self.rows.table].sum(axis=1)
        return np.asarray(self.rows.table[int(np.argmax(meets)) if self.anchor is None else self.anchor, :-1])

    def _decidable(self) -> Ints:
        """Rows with one value open, one row for each such value."""
        rows = self._frontier
        if len(rows) <= len(self._place):
            return rows[np.unique(self._open_sum[rows], return_index=True)[1]]
        chosen = np.full(len(self._place), -1, dtype=np.int64)
        chosen[self._open_sum[rows]] = rows
        return chosen[chosen >= 0]

    def _decide(self, rows: Ints) -> None:
        targets = self._open_sum[rows]
        self._used[rows] = True
        total = self._row_sums(rows, self._forms.table)
        self._forms.append(np.mod(-total, self.prime))
        self._know(targets)

    def _new_parameter(self, degree: Ints) -> None:
        """Open the value that leaves most combinations with one value open."""
        score = np.where(self._known, -1, self._promise * (len(self.rows) + 1) + degree)
        chosen = np.array([int(np.argmax(score))])
        self._parameters = np.concatenate([self._parameters, chosen])
        self._forms.add_parameter()
        self._know(chosen)

    def _know(self, new: Ints) -> None:
        """The forms of these values were just written down: note what they leave open."""
        self._place[new] = self._forms.rows - len(new) + np.arange(len(new))
        self._known[new] = True
        lengths = self._starts[new + 1] - self._starts[new]
        rows = self._holding[ranges(self._starts[new], lengths)]
        np.subtract.at(self._open, rows, 1)
        np.subtract.at(self._open_sum, rows, np.repeat(new, lengths))
        rows = distinct(rows, len(self.rows))
        still_open = self._open[rows]
        self._frontier = rows[still_open == 1]
        self._full.append(rows[(still_open == 0) & ~self._used[rows]] if self._forms.parameters else rows[:0])
        self._update_promise(rows[still_open == 2], 1)
        self._update_promise(self._frontier, -1)

    def _update_promise(self, rows: Ints, step: int) -> None:
        """How many rows with two open values hold each value: a guide for choosing parameters, not a proof."""
        members = self.rows.take(rows).columns
        np.add.at(self._promise, members[~self._known[members]], step)

    def _reduce(self) -> None:
        """Let the rows without open values constrain the parameters."""
        rows = np.concatenate([*self._full, np.zeros(0, dtype=np.int64)])
        self._full = []
        echelon = Echelon(self._forms.parameters, self.prime)
        while echelon.free.any():
            sampled = self._forms.evaluate(echelon.sample(VECTORS + 1, self.rng))
            violated = rows[np.mod(self._row_sums(rows, sampled), self.prime).any(axis=1)]
            if not len(violated):
                break
            chosen = self.rng.choice(violated, size=min(_BATCH, len(violated)), replace=False)
            echelon.add(np.mod(self._row_sums(chosen, self._forms.table), self.prime))
        if echelon.pivots:
            self._parameters = self._parameters[echelon.free]
            self._forms.reduce(echelon)

    def _row_sums(self, rows: Ints, table: Numbers) -> Numbers:
        """The sum over the values of each row that are known."""
        total = np.zeros((len(rows), table.shape[1]))
        if not total.size:
            return total
        mine = self.rows.take(rows)
        if mine.table is None:
            known = self._known[mine.columns]
            lengths = np.bincount(mine.owners[known], minlength=len(mine))
            return IncidenceRows(ends(lengths), self._place[mine.columns[known]], len(table)).sums(table)
        for column in mine.table.T:
            known = self._known[column]
            if known.all():
                total += table[self._place[column]]
            else:
                total[known] += table[self._place[column[known]]]
        return total


class TooSparse(Exception):  # noqa: N818 - a signal to the caller, not a mistake of the user
    """The parameters became too many to be eliminated exactly."""
