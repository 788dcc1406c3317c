"""Small worlds whose factors are sets, against exact fractions: what is fixed, how firmly, and how much of it."""

from fractions import Fraction
from itertools import combinations, product
from math import lcm

import numpy as np
import pytest

from recombine.data.sets import Sets, distinct_sets
from recombine.data.space import Factor, Space
from recombine.data.support import NumberTarget, Support
from recombine.numerics.effects import IncidenceDesign
from recombine.numerics.incidence_fit import nearest_answers, rows_held_out
from recombine.numerics.rows import IncidenceRows
from recombine.numerics.sparse_solver import SparseLeverage
from recombine.verbs.audit.combination_status import counts
from recombine.verbs.audit.determinacy import determinacy
from recombine.verbs.audit.leverage import Leverage
from recombine.verbs.audit.set_answers import set_answers

_MOST = 400  # combinations of which the seen ones are drawn


class World:
    """A few seen combinations of one or two sets, beside up to two ordinary factors, written out as plain tuples."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.sets = [int(rng.integers(2, 6)) for _ in range(rng.integers(1, 3))]
        self.ordinary = [int(rng.integers(2, 4)) for _ in range(rng.integers(0, 3))]
        largest = [int(rng.integers(1, min(size, 4) + 1)) for size in self.sets]
        every = [
            [part for size in range(most + 1) for part in combinations(range(elements), size)]
            for elements, most in zip(self.sets, largest, strict=True)
        ]
        possible = list(product(*every, *(range(size) for size in self.ordinary)))
        possible = [possible[place] for place in sorted(rng.permutation(len(possible))[:_MOST])]
        most = min(len(possible), int(rng.integers(2, 13)))
        self.seen = [possible[place] for place in sorted(rng.choice(len(possible), most, replace=False))]
        held = [[len(row[k]) for row in self.seen] for k in range(len(self.sets))]
        self.sizes = [range(min(one), max(one) + 1) for one in held]
        possible = list(product(*every, *(range(size) for size in self.ordinary)))
        self.space = [row for row in possible if all(len(row[k]) in self.sizes[k] for k in range(len(self.sets)))]
        self.support = self._support(rng)

    def _support(self, rng: np.random.Generator) -> Support:
        factors, columns = [], []
        for k, elements in enumerate(self.sets):
            members, codes = distinct_sets(IncidenceRows.listed([list(row[k]) for row in self.seen], elements))
            names = [f"e{place}" for place in range(elements)]
            made = Sets(names, members, smallest=self.sizes[k].start, largest=self.sizes[k].stop - 1)
            factors.append(Factor(f"set{k}", made))
            columns.append(codes)
        for k, size in enumerate(self.ordinary):
            factors.append(Factor(f"value{k}", tuple(range(size))))
            columns.append(np.array([row[len(self.sets) + k] for row in self.seen]))
        codes = np.asfortranarray(np.stack(columns, axis=1).astype(np.int32))
        self.answers = [Fraction(int(number)) for number in rng.integers(0, 50, len(self.seen))]
        values = np.array(self.answers, dtype=np.float64)
        ones = np.ones(len(values))
        return Support(Space(tuple(factors)), codes, ones, NumberTarget("y", ones, values, values**2), rows=len(values))

    def codes(self, rows: list[tuple]) -> np.ndarray:
        """The codes of combinations, asked for by the names of their elements."""
        sets = len(self.sets)
        named = [[*([f"e{place}" for place in part] for part in row[:sets]), *row[sets:]] for row in rows]
        return np.asfortranarray(self.support.space.encode(named))

    def row(self, combination: tuple) -> list[Fraction]:
        """The incidence of one combination, by hand."""
        found = []
        for k, elements in enumerate(self.sets):
            found += [Fraction(int(place in combination[k])) for place in range(elements)]
        for k, size in enumerate(self.ordinary):
            found += [Fraction(int(place == combination[len(self.sets) + k])) for place in range(size)]
        return found if self.ordinary else [*found, Fraction(1)]


def echelon(rows: list[list[Fraction]]) -> list[tuple[int, list[Fraction]]]:
    """Reduced rows, each with its pivot."""
    found: list[tuple[int, list[Fraction]]] = []
    for row in rows:
        left = reduce_row(row, found)
        pivot = next((place for place, entry in enumerate(left) if entry), None)
        if pivot is None:
            continue
        left = [entry / left[pivot] for entry in left]
        found = [(p, [a - other[pivot] * b for a, b in zip(other, left, strict=True)]) for p, other in found]
        found.append((pivot, left))
    return found


def reduce_row(row: list[Fraction], basis: list[tuple[int, list[Fraction]]]) -> list[Fraction]:
    for pivot, other in basis:
        if row[pivot]:
            factor = row[pivot]
            row = [a - factor * b for a, b in zip(row, other, strict=True)]
    return row


def in_span(rows: np.ndarray, basis: list[tuple[int, list[Fraction]]]) -> list[bool]:
    """Which rows are sums of basis rows: each is held against the sum that its pivots demand, in whole numbers."""
    common = lcm(*(entry.denominator for _, line in basis for entry in line))
    whole = np.array([[int(entry * common) for entry in line] for _, line in basis], dtype=object)
    demanded = rows[:, [pivot for pivot, _ in basis]].astype(object) @ whole
    return (demanded == common * rows).all(axis=1).tolist()


def told(
    rows: list[list[Fraction]], answers: list[Fraction], asked: list[Fraction]
) -> tuple[Fraction, Fraction] | None:
    """What least squares answers, and its leverage; None where the rows leave it open."""
    width = len(asked)
    design = np.array(rows, dtype=np.int64).reshape(len(rows), width)
    gram = [list(map(Fraction, line)) for line in (design.T @ design).tolist()]
    right = list(map(Fraction, (design.T @ np.array(answers, dtype=np.int64)).tolist()))
    basis = echelon([[*line, own, mine] for line, own, mine in zip(gram, asked, right, strict=True)])
    if any(pivot >= width for pivot, _ in basis):
        return None
    solved, effects = [Fraction(0)] * width, [Fraction(0)] * width
    for pivot, line in basis:
        solved[pivot], effects[pivot] = line[width], line[width + 1]
    dot = lambda some: sum((a * b for a, b in zip(asked, some, strict=True)), Fraction(0))  # noqa: E731
    return dot(effects), dot(solved)


def check(seed: int, *, told_of: int) -> None:
    world = World(seed)
    support = world.support
    solved = determinacy(support, seed=seed)
    rows = [world.row(one) for one in world.seen]
    basis = echelon(rows)
    assert solved.rank == len(basis), seed
    codes = world.codes(world.space)
    every = np.array([[int(entry) for entry in world.row(one)] for one in world.space])
    fixed = in_span(every, basis)
    novel = every[:, ~np.array(rows, dtype=float).any(axis=0)].any(axis=1).tolist()
    assert solved.determined(codes).tolist() == fixed, seed
    assert solved.novel(codes).tolist() == novel, seed
    found = counts(support, solved)
    assert found.space == len(world.space) == support.space.size, seed
    assert found.seen + found.determined == sum(fixed) == solved.count(), seed
    assert found.novel == sum(novel), seed
    assert solved.exact
    if not told_of:
        return
    places = [place for place, one in enumerate(fixed) if one][:told_of]
    leverage = Leverage(support, solved)
    many = leverage.of(codes[places])
    single = SparseLeverage(IncidenceDesign(support.codes, support.space.effects)).at(codes[places])
    for place, dense, sparse in zip(places, many, single, strict=True):
        exact = told(rows, world.answers, world.row(world.space[place]))
        assert exact is not None
        assert dense == pytest.approx(float(exact[1]), abs=1e-8), seed
        assert sparse == pytest.approx(float(exact[1]), abs=1e-6), seed
        said = set_answers(support, solved, codes[[place]])
        if said is None:
            assert len(set(world.answers)) == 1  # there is nothing to tell
        else:
            assert said[0] == pytest.approx(float(exact[0]), abs=1e-6), seed
    _check_held_out(world, rows, told_of)


def _check_held_out(world: World, rows: list[list[Fraction]], told_of: int) -> None:
    tried = np.arange(min(told_of, len(rows)))
    values = np.array([[float(one)] for one in world.answers])
    design = IncidenceDesign(world.support.codes, world.support.space.effects)
    held = rows_held_out(design, values, tried)
    said = dict(zip(held.rows.tolist(), held.said.ravel(), strict=True))
    for place in tried.tolist():
        rest = [k for k in range(len(rows)) if k != place]
        exact = told([rows[k] for k in rest], [world.answers[k] for k in rest], rows[place])
        if exact is None:
            assert place not in said
        else:
            assert said[place] == pytest.approx(float(exact[0]), abs=1e-6)


@pytest.mark.parametrize("first", [0, 50, 100, 150])
def test_small_worlds_with_sets_are_those_of_exact_fractions(first) -> None:
    for seed in range(first, first + 50):
        check(seed, told_of=int(seed % 5 == 0))


@pytest.mark.slow
def test_two_thousand_worlds_with_sets() -> None:
    for seed in range(1000, 3000):
        check(seed, told_of=3)


def test_nearest_sets_are_those_that_differ_least() -> None:
    for seed in range(40):
        world = World(seed)
        asked = world.space[:: max(1, len(world.space) // 7)]
        values = np.array([[float(one)] for one in world.answers])
        found = nearest_answers(world.support.space.effects, world.support.codes, values, world.codes(asked))
        for one, answer in zip(asked, found.ravel(), strict=True):
            apart = [_difference(world, one, other) for other in world.seen]
            near = [value for value, far in zip(values.ravel(), apart, strict=True) if far == min(apart)]
            assert answer == pytest.approx(sum(near) / len(near))


def _difference(world: World, one: tuple, other: tuple) -> int:
    sets = len(world.sets)
    return sum(len(set(a) ^ set(b)) for a, b in zip(one[:sets], other[:sets], strict=True)) + sum(
        a != b for a, b in zip(one[sets:], other[sets:], strict=True)
    )


def test_two_triangles_that_share_nothing_fix_every_pair_across_them() -> None:
    members, codes = distinct_sets(IncidenceRows.listed([[], [0, 1], [1, 2], [0, 2], [3, 4], [4, 5], [3, 5]], 6))
    space = Space((Factor("genes", Sets("abcdef", members, largest=2)),))
    solved = determinacy(Support(space, np.asfortranarray(codes[:, None]), np.ones(7)))
    across = space.encode([[("a", "f")], [("c", "d")], [("b",)]])
    assert solved.determined(across).all()
    assert solved.one_island(across).tolist() == [False, False, True]
    assert (solved.deficit, solved.count()) == (0, 22)


def test_pairs_alone_leave_the_level_open() -> None:
    members, codes = distinct_sets(IncidenceRows.listed([[0, 1], [1, 2], [0, 2], [2, 3]], 4))
    space = Space((Factor("genes", Sets("abcd", members, smallest=0, largest=2)),))
    solved = determinacy(Support(space, np.asfortranarray(codes[:, None]), np.ones(4)))
    # every pair follows from these four, no single and no control: level and mean effect are one
    assert solved.determined(space.encode([[("a", "d")], [("b", "d")], [("a",)], [()]])).tolist() == [
        True,
        True,
        False,
        False,
    ]
    assert solved.count() == 6
