"""What a contract demands of a table, whether a choice of conjunctions meets it, and the demands as a program.

The program's unknowns: for each conjunction whether it is to be absent; for each combination whether it is held out,
which it is iff it holds an absent conjunction; for each smaller part whether a held-out combination holds it. Only the
first need to be whole: the others follow. One family of demands can be made elastic, to see whether it alone stands in
the way, and how far it would have to give.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Literal

import numpy as np
import numpy.typing as npt

from recombine.data.space import Value
from recombine.data.support import LabelTarget, Support
from recombine.numerics.groups import Groups, Ints, Numbers, totals
from recombine.verbs.split.integer_program import Program
from recombine.verbs.split.invariants import Facts, thinnest_part

Mask = npt.NDArray[np.bool_]

_DRAWS = 64  # draws by chance before a solver is asked: most contracts are easy
_ROUNDING = 1e-9  # shares are quotients of sums: a bound that is met exactly must not fail by the last digit

Family = Literal["share", "classes", "least", "number", "absent"]
_ELASTIC_SECONDS = 15.0  # for each family of demands that is made elastic, once the contract has failed


@dataclass(frozen=True, eq=False)
class Demands:
    """The demands of a contract on one support; `named` marks the conjunctions that the user listed."""

    support: Support
    order: int
    named: Mask
    number: int | None
    least: int
    share: tuple[float, float]
    class_tolerance: float | None
    seconds: float
    seed: int

    @staticmethod
    def pools(support: Support, order: int) -> list[Groups]:
        """The seen conjunctions of each set of so many factors."""
        return [support.groups(chosen) for chosen in combinations(range(len(support.space.sizes)), order)]

    @cached_property
    def held_by(self) -> Ints:
        """The numbers of the conjunctions that each combination holds, one column for each set of factors."""
        pools = self.pools(self.support, self.order)
        starts = np.cumsum([0, *(pool.size for pool in pools[:-1])])
        return np.stack([pool.ids + start for pool, start in zip(pools, starts, strict=True)], axis=1)

    @cached_property
    def parts(self) -> list[Groups]:
        """The seen conjunctions of fewer factors than the absent ones have."""
        return [pool for smaller in range(1, self.order) for pool in self.pools(self.support, smaller)]

    @property
    def candidates(self) -> Mask:
        """The conjunctions that may be chosen: all of them, or the named ones where no number is wanted."""
        return self.named if self.number is None else np.ones(len(self.named), dtype=bool)

    def held_out(self, absent: Mask) -> Mask:
        """The combinations that hold an absent conjunction."""
        return np.asarray(absent[self.held_by].any(axis=1))

    def described(self, absent: Mask) -> list[dict[str, Value]]:
        """Conjunctions in the user's own values."""
        pools = self.pools(self.support, self.order)
        starts = np.cumsum([0, *(pool.size for pool in pools)])
        found = []
        for pool, start in zip(pools, starts[:-1], strict=True):
            for group in np.flatnonzero(absent[start : start + pool.size]):
                whole = list(self.support.combination(int(pool.representatives[group])).items())
                found.append(dict(whole[k] for k in pool.factors))
        return found

    def drawn(self) -> Mask | None:
        """A random choice that meets every demand, if a few draws find one: where demands are mild, most do."""
        return next((absent for absent in self._draws() if self._met_by(absent)), None)

    def _draws(self) -> Iterator[Mask]:
        rng = np.random.default_rng([self.seed, 1])
        free = np.flatnonzero(~self.named)
        more = 0 if self.number is None else self.number - int(self.named.sum())
        for _ in range(_DRAWS if more else 1):
            absent = self.named.copy()
            absent[rng.choice(free, size=more, replace=False)] = True
            yield absent

    def _met_by(self, absent: Mask) -> bool:
        test = self.held_out(absent)
        low, high = self.share
        counts = self.support.counts
        if test.all() or not low - _ROUNDING <= counts[test].sum() / counts.sum() <= high + _ROUNDING:
            return False
        facts = Facts.of_combinations(self.support, test=test)
        if self.class_tolerance is not None and facts.class_distance().max() > self.class_tolerance + _ROUNDING:
            return False
        return self.order < 2 or thinnest_part(facts, self.order)[1] >= self.least


def solve_demands(demands: Demands, elastic: Family | None = None) -> tuple[Mask | None, bool]:
    """Conjunctions to be absent, or None; and whether that is certain."""
    layout = _ProgramLayout(len(demands.named), len(demands.support), tuple(pool.size for pool in demands.parts))
    seconds = demands.seconds if elastic is None else min(demands.seconds, _ELASTIC_SECONDS)
    program = _program(demands, layout, elastic)
    found = program.solve(seconds=seconds, seed=demands.seed, first=elastic is None)
    absent = None if found.values is None else found.values[: len(demands.named)] > 0.5
    return absent, found.proven


def _program(demands: Demands, layout: "_ProgramLayout", elastic: Family | None) -> Program:
    costs = np.zeros(layout.size)
    if elastic is None:
        costs[: layout.conjunctions] = np.random.default_rng([demands.seed, 1]).random(layout.conjunctions)
    elif elastic == "absent":
        costs[: layout.conjunctions][demands.named] = -1
    else:
        costs[layout.slack] = 1
    whole = np.zeros(layout.size, dtype=bool)
    whole[: layout.conjunctions] = True
    program = Program(costs=costs, whole=whole)
    _add_choice(demands, program, layout, elastic)
    _add_implied(demands, program, layout)
    _add_parts(demands, program, layout, demands.least if elastic == "least" else 0)
    total = float(demands.support.counts.sum())
    held = layout.combinations(np.arange(len(demands.support)))
    low, high = demands.share
    give = total if elastic == "share" else 0.0
    program.add(*_with_slack(held, demands.support.counts, layout, give), least=low * total)
    program.add(*_with_slack(held, demands.support.counts, layout, -give), most=high * total)
    _add_classes(demands, program, layout, total if elastic == "classes" else 0.0)
    return program


def _add_choice(demands: Demands, program: Program, layout: "_ProgramLayout", elastic: Family | None) -> None:
    """Named conjunctions are absent, others that are no candidates are not, and their number is as wanted."""
    every = np.arange(layout.conjunctions)
    least = np.where(demands.named & (elastic != "absent"), 1.0, 0.0)
    most = np.where(demands.candidates, 1.0, 0.0)
    program.add_many(np.arange(len(every) + 1), every, np.ones(len(every)), least=least, most=most)
    if demands.number is not None:
        give = float(layout.conjunctions) if elastic == "number" else 0.0
        ones = np.ones(len(every))
        program.add(*_with_slack(every, ones, layout, give), least=float(demands.number))
        program.add(*_with_slack(every, ones, layout, -give), most=float(demands.number))


def _add_implied(demands: Demands, program: Program, layout: "_ProgramLayout") -> None:
    """A combination is held out iff it holds an absent conjunction."""
    places = np.arange(len(demands.support))
    for column in demands.held_by.T:
        _add_pairs(program, column, layout.combinations(places))
    width = demands.held_by.shape[1]
    unknowns = np.column_stack([layout.combinations(places), demands.held_by]).ravel()
    weights = np.tile(np.concatenate([[1.0], -np.ones(width)]), len(places))
    starts = np.arange(len(places) + 1) * (width + 1)
    program.add_many(starts, unknowns, weights, least=np.full(len(places), -np.inf), most=np.zeros(len(places)))


def _add_parts(demands: Demands, program: Program, layout: "_ProgramLayout", give: int) -> None:
    """What a held-out combination is made of keeps enough rows in training."""
    places = np.arange(len(demands.support))
    counts = demands.support.counts
    for number, pool in enumerate(demands.parts):
        part = layout.parts(number, pool.ids)
        _add_pairs(program, layout.combinations(places), part)
        members = np.argsort(pool.ids, kind="stable")
        every = layout.parts(number, np.arange(pool.size))
        starts = np.concatenate([[0], np.cumsum(pool.combinations)])
        unknowns = np.insert(layout.combinations(members), starts[1:], every)
        weights = np.insert(-counts[members], starts[1:], -float(demands.least))
        starts = starts + np.arange(pool.size + 1)
        if give:
            unknowns = np.insert(unknowns, starts[1:], layout.slack)
            weights = np.insert(weights, starts[1:], float(give))
            starts = starts + np.arange(pool.size + 1)
        most = np.full(pool.size, np.inf)
        program.add_many(starts, unknowns, weights, least=-pool.total(counts), most=most)


def _add_classes(demands: Demands, program: Program, layout: "_ProgramLayout", give: float) -> None:
    """Class shares of either side within the tolerance: both are linear in what is held out."""
    target = demands.support.target
    if demands.class_tolerance is None or not isinstance(target, LabelTarget):
        return
    size = len(demands.support)
    known = totals(target.combination, target.count, size)
    held = layout.combinations(np.arange(size))
    tolerance, total = demands.class_tolerance, float(known.sum())
    for label in range(len(target.classes)):
        inside = target.label == label
        rows = totals(target.combination[inside], target.count[inside], size)
        excess = rows - known * (rows.sum() / total)  # of the held-out side; training's is the negative of it
        for sign in (1.0, -1.0):
            towards_test = _with_slack(held, sign * excess - tolerance * known, layout, -give)
            program.add(*towards_test, most=0.0)
            towards_train = _with_slack(held, sign * excess + tolerance * known, layout, -give)
            program.add(*towards_train, most=tolerance * total)


@dataclass(frozen=True)
class _ProgramLayout:
    """Where the unknowns stand: conjunctions, combinations, parts, one slack."""

    conjunctions: int
    combination_count: int
    part_counts: tuple[int, ...]

    @property
    def slack(self) -> int:
        return self.conjunctions + self.combination_count + sum(self.part_counts)

    @property
    def size(self) -> int:
        return self.slack + 1

    def combinations(self, places: Ints) -> Ints:
        return places + self.conjunctions

    def parts(self, number: int, places: Ints) -> Ints:
        return places + self.conjunctions + self.combination_count + sum(self.part_counts[:number])


def _with_slack(unknowns: Ints, weights: Numbers, layout: _ProgramLayout, give: float) -> tuple[Ints, Numbers]:
    if not give:
        return unknowns, weights
    return np.append(unknowns, layout.slack), np.append(weights, give)


def _add_pairs(program: Program, smaller: Ints, larger: Ints) -> None:
    """The first unknown of each pair is at most the second."""
    unknowns = np.column_stack([smaller, larger]).ravel()
    weights = np.tile([1.0, -1.0], len(smaller))
    starts = np.arange(len(smaller) + 1) * 2
    program.add_many(starts, unknowns, weights, least=np.full(len(smaller), -np.inf), most=np.zeros(len(smaller)))
