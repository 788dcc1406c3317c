"""What can be collected: the possible combinations that were not seen and have a price.

What collecting a combination costs: a table with factors as columns and a `cost`, the most specific row wins.

An empty cell stands for any value. The line that names most factors counts, and of two such lines the later one; where
none speaks, a combination costs 1. An empty cost, or `inf`, says that it cannot be collected. A line that names one
element of a set factor prices that element: a set costs what its elements cost together.
"""

import csv
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from recombine.base.errors import ColumnError, SettingError, SourceError, SpaceError, nearest
from recombine.base.files import read_cells
from recombine.data.sets import Sets
from recombine.data.space import Space, rows_of, text
from recombine.data.support import Support
from recombine.numerics.groups import ANY, Codes, Flags, Ints, Numbers, Patterns, group
from recombine.numerics.nogoods import Conjunctions, Nogoods
from recombine.verbs.audit.unseen_combinations import unseen_combinations
from recombine.verbs.plan.plausibility import Plausibility

COST = "cost"
_MAX_COST = 1e15  # float64 holds whole numbers up to 9e15: sums of costs keep their units
_INSTEAD = "a cost is a number from 0 on; leave it empty, or write inf, for what cannot be collected"


@dataclass(frozen=True, eq=False)
class Costs:
    """What any combination costs, infinity where it cannot be collected.

    >>> space = Space.of({"colour": ["red", "blue"], "shape": ["disc", "cube"]})
    >>> costs = Costs.of([{"colour": "red", "cost": 3}, {"colour": "red", "shape": "cube", "cost": ""}], space)
    >>> costs.to_collect(np.array([[0, 0], [0, 1], [1, 1]])).tolist()
    [3.0, inf, 1.0]
    """

    patterns: Codes
    prices: Numbers
    _found: Patterns
    elements: tuple["ElementPrices", ...] = ()

    @classmethod
    def of(cls, costs: Any, space: Space) -> "Costs":
        """From a CSV file, a frame, an Arrow table, columns, or a list of mappings; None for 1 each."""
        every = _lines(costs)
        _check_columns(every, space)
        elements = _element_prices(every, space)
        lines = [line for line in every if not any(_is_element(line, one.k, space) for one in elements)]
        patterns = np.array([_pattern(line, space) for line in lines], dtype=np.int32)
        patterns = patterns.reshape(len(lines), len(space.factors))
        prices = np.array([_price(line) for line in lines])
        # the most specific line last, and of equally specific ones the later
        order = np.argsort((patterns != ANY).sum(axis=1), kind="stable")
        patterns, prices = patterns[order], prices[order]
        # a set that was never seen has a code beyond those that were read
        sizes = tuple(np.maximum(space.sizes, patterns.max(axis=0, initial=-1) + 1).tolist())
        return cls(patterns, prices, Patterns.of(patterns, sizes), elements)

    @property
    def uniform(self) -> bool:
        """Whether everything that can be collected costs 1."""
        return bool(np.isin(self.prices, (1.0, math.inf)).all()) and not self.elements

    @property
    def line_count(self) -> int:
        """How many prices were given."""
        return len(self.prices) + sum(one.given for one in self.elements)

    @property
    def uncollectable(self) -> Codes:
        """The lines that say that something cannot be collected; a more specific one may say otherwise."""
        return self.patterns[np.isinf(self.prices)]

    def to_collect(self, codes: Codes) -> Numbers:
        """What each combination costs."""
        line: Ints = self._found.last(codes)
        found = np.where(line >= 0, np.append(self.prices, 1.0)[line], 0.0 if self.elements else 1.0)
        for one in self.elements:  # a set with a price of its own costs that
            whole = (line >= 0) & (np.append(self.patterns[:, one.k], ANY)[line] != ANY)
            found = found + np.where(whole, 0.0, one.of(codes[:, one.k]))
        return np.asarray(found)


@dataclass(frozen=True, eq=False)
class ElementPrices:
    """What each element of a set factor costs: a set costs what its elements cost together, the empty one 1.

    >>> from recombine.numerics.rows import IncidenceRows
    >>> sets = Sets(("a", "b"), IncidenceRows.listed([[], [0], [0, 1]], width=2), largest=2)
    >>> ElementPrices(0, sets, np.array([3.0, 1.0]), given=1).of(np.array([0, 1, 2])).tolist()
    [1.0, 3.0, 4.0]
    """

    k: int
    sets: Sets
    prices: Numbers
    given: int

    def of(self, codes: Codes) -> Numbers:
        """What each set costs."""
        rows = self.sets.rows(codes)
        return np.where(rows.lengths == 0, 1.0, rows.sums(self.prices))


def _element_prices(lines: list[dict[str, Any]], space: Space) -> tuple[ElementPrices, ...]:
    """Prices of single elements, each of which stands in a line of its own; one that has none costs 1."""
    found = []
    for k in space.set_factors:
        sets = space.factors[k].values
        mine = [line for line in lines if _is_element(line, k, space)]
        if not mine or not isinstance(sets, Sets):
            continue
        prices = np.ones(len(sets.elements))
        for line in mine:
            beside = [name for name in space.names if name != space.names[k] and not _empty(line.get(name))]
            if beside:
                raise SettingError(
                    f"a cost of {space.names[k]} = {line[space.names[k]]!r} with {beside[0]}",
                    why="the prices of elements add up, whatever stands beside the set",
                    instead=f"leave {beside[0]} out of that line, or name a set of two elements or more",
                )
            prices[sets.rows([sets.code(line[space.names[k]])]).columns] = _price(line)
        found.append(ElementPrices(k, sets, prices, len(mine)))
    return tuple(found)


def _is_element(line: Mapping[str, Any], k: int, space: Space) -> bool:
    """Whether a line of the costs speaks of one element of a set factor."""
    value, sets = line.get(space.names[k]), space.factors[k].sets
    return sets is not None and not _empty(value) and len(sets.rows([sets.code(value)]).columns) == 1


def _lines(costs: Any) -> list[dict[str, Any]]:
    if costs is None:
        return []
    if isinstance(costs, str | Path):
        return _from_file(Path(costs))
    if isinstance(costs, Mapping):
        columns = {name: _of_lines(column) for name, column in costs.items()}
        return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]
    found = rows_of(costs.to_arrow()) if hasattr(costs, "to_arrow") else _of_lines(costs)
    for line in found:
        if not isinstance(line, Mapping):
            raise _no_lines(line)
    return [dict(line) for line in found]


def _of_lines(given: Any) -> list[Any]:
    """Lines, or what a column has for each of them."""
    if isinstance(given, str) or not (isinstance(given, Iterable) or hasattr(given, "to_pylist")):
        raise _no_lines(given)
    return rows_of(given)


def _no_lines(given: Any) -> SettingError:
    return SettingError(
        "costs that are not lines of factors and a cost",
        why=f"{type(given).__name__} names no factor",
        instead="give a CSV file or a table with factors as columns and 'cost': [{'material': 'wool', 'cost': 3}]",
    )


def _from_file(path: Path) -> list[dict[str, Any]]:
    try:
        header, lines = read_cells(path)
    except (OSError, ValueError, csv.Error) as error:
        missing = isinstance(error, FileNotFoundError)
        said = error.strerror if isinstance(error, OSError) else None
        raise SourceError(
            f"no file of costs '{path}'" if missing else f"cannot read the costs '{path}'",
            why="there is no such file" if missing else said or str(error),
            instead=f"give a CSV file with factors as columns and a column {COST!r}, one line for what costs other "
            "than 1: an empty cell means any value, an empty cost that it cannot be collected",
        ) from error
    if COST not in header:
        raise _no_cost(header)
    return [dict(line) for line in lines]


def _check_columns(lines: list[dict[str, Any]], space: Space) -> None:
    for line in lines[:1] + [other for other in lines[1:] if other.keys() != lines[0].keys()]:
        for name in line:
            if name not in (*space.names, COST):
                raise ColumnError(
                    f"the costs have a column {name!r}",
                    why=f"it is neither a factor nor {COST!r}",
                    instead=nearest(str(name), (*space.names, COST)),
                )
        if COST not in line:
            raise _no_cost(list(line))


def _no_cost(columns: Sequence[str]) -> ColumnError:
    return ColumnError(
        f"the costs have no column {COST!r}, only {', '.join(map(repr, columns)) or 'none'}",
        why="each line says what something costs",
        instead=f"add a column {COST!r}; factors are the other columns, and an empty cell means any value",
    )


def _pattern(line: Mapping[str, Any], space: Space) -> list[int]:
    pattern = []
    for factor in space.factors:
        value = line.get(factor.name)
        code = ANY if _empty(value) else factor.code(value)
        if code == ANY and not _empty(value):
            raise SpaceError(
                f"the costs speak of {factor.name} = {text(value)!r}",
                why=f"{factor.name!r} has no such value",
                instead=nearest(str(value), factor.effect_labels)
                + "; values that were never seen are declared with domain",
            )
        pattern.append(code)
    return pattern


def _empty(cell: Any) -> bool:
    return cell is None or cell == "" or (isinstance(cell, float) and math.isnan(cell))


def _price(line: Mapping[str, Any]) -> float:
    cell = line[COST]
    if _empty(cell):
        return math.inf
    try:
        price = float(cell)
    except (TypeError, ValueError):
        price = -1.0
    if not price >= 0:
        raise SettingError(f"a cost of {cell!r}", why="that is not an amount that can be spent", instead=_INSTEAD)
    if _MAX_COST < price < math.inf:
        raise SettingError(
            f"a cost of {cell!r}",
            why=f"costs are added up, and sums beyond {_MAX_COST:.0e} lose their smaller parts",
            instead="give costs in a larger unit; leave one empty, or write inf, for what cannot be collected",
        )
    return price


MOST_LISTED = 2 * 10**5  # combinations of a space up to which each is a candidate
_MOST_CELLS = 2 * 10**6  # what cannot be collected, written out


@dataclass(frozen=True, eq=False)
class Collectable:
    """A support, what may be added to it, and for how much."""

    support: Support
    costs: Costs
    ranked: bool = True  # of what is worth the same, the more plausible comes first

    def plausible(self, codes: Codes) -> Numbers:
        """How plausible each combination is, estimated from which values co-occur; 0 for all if not asked for."""
        return self._plausibility.of(codes) if self.ranked else np.zeros(len(codes))

    @cached_property
    def _plausibility(self) -> Plausibility:
        return Plausibility(self.support)

    @property
    def tells_plausible(self) -> bool:
        """Whether plausibility is asked for and can be told."""
        return self.ranked and self._plausibility.affordable

    @property
    def space(self) -> Space:
        """What could occur."""
        return self.support.space

    @property
    def listable(self) -> bool:
        """Whether the space is small enough to look at every combination."""
        return self.space.product <= MOST_LISTED

    def price(self, codes: Codes) -> Numbers:
        """What each combination costs; infinity where it is impossible or cannot be collected."""
        return np.where(self.space.is_impossible(codes), math.inf, self.costs.to_collect(codes))

    def seen(self, codes: Codes) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Which of these combinations were seen."""
        return np.asarray(self.support.groups(range(codes.shape[1])).lookup(codes) >= 0)

    @cached_property
    def possible_unseen(self) -> Codes:
        """Every possible combination that was not seen; only for spaces that can be listed."""
        return self.unseen(listed=self.space.product, drawn=0, seed=0)[0]

    def unseen(self, *, listed: int, drawn: int, seed: int) -> tuple[Codes, bool]:
        """The possible combinations that were not seen, and whether they are only a sample of them."""
        values = [np.arange(factor.kind.effects) for factor in self.space.factors]
        return unseen_combinations(self.support, values, listed=listed, drawn=drawn, seed=seed)

    @cached_property
    def forbidden(self) -> "ForbiddenCells | ForbiddenRules":
        """What cannot be added: written out over the factors that it depends on, or searched where that is too much."""
        lines = [*self.space.impossible, *map(tuple, self.costs.uncollectable.tolist())]
        spoken = _spoken(self, lines)
        cells = sum(math.prod(self.space.sizes[k] for k in spoken if row[k] == ANY) for row in lines)
        if cells <= _MOST_CELLS:
            return ForbiddenCells.of(self, lines, spoken)
        if len(self.costs.uncollectable):  # a more specific price may make an exception, which no search knows of
            raise SpaceError(
                f"what cannot be collected stands for {cells:,} cells",
                why=f"it is written out over {len(spoken)} factors, {_MOST_CELLS:,} cells at most",
                instead="declare it impossible rather than without a price, or over fewer factors",
            )
        return ForbiddenRules(self.space.nogoods, spoken)


def _spoken(collectable: Collectable, lines: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """The factors on which it depends whether something can be added."""
    if not lines:
        return ()
    named = (np.array(lines) != ANY).any(axis=0)
    if len(collectable.costs.uncollectable):  # a more specific price may make an exception
        named |= (collectable.costs.patterns != ANY).any(axis=0)
    named[0] |= bool((np.array(lines) == ANY).all(axis=1).any())  # "nothing at all" is spread over one factor
    return tuple(np.flatnonzero(named).tolist())


@dataclass(frozen=True, eq=False)
class ForbiddenRules:
    """The combinations that cannot be added, by the conjunctions that rule them out: nothing is written out."""

    nogoods: Nogoods
    spoken: tuple[int, ...]

    def infeasible(self, factors: tuple[int, ...]) -> Flags:
        """For every conjunction of some factors, in row-major order, whether nothing that holds it can be added."""
        return self.nogoods.infeasible(factors)

    def start(self) -> Conjunctions:
        """What is to be avoided before any value is chosen."""
        return self.nogoods.conjunctions

    def after(self, left: Conjunctions, k: int, value: int) -> Conjunctions:
        """What is left to be avoided once a factor has its value."""
        return self.nogoods.given(left, {k: value})

    def dead(self, left: Conjunctions, row: Codes, k: int) -> Flags:  # noqa: ARG002 - what is left says it
        """Values with which the row could no longer be completed."""
        sizes = range(self.nogoods.sizes[k])
        if k not in self.spoken:
            return np.zeros(len(sizes), dtype=bool)
        return np.array([not self.nogoods.some(self.after(left, k, value)) for value in sizes])


@dataclass(frozen=True, eq=False)
class ForbiddenCells:
    """The combinations that cannot be added, as cells over a few factors, each once.

    Whether values for some factors can be completed is then a count: they cannot iff as many cells agree with them as
    there are ways to fill in the rest.
    """

    sizes: tuple[int, ...]
    spoken: tuple[int, ...]
    cells: Codes  # (cells, all factors); ANY where a factor is not spoken of

    @classmethod
    def of(
        cls, collectable: Collectable, lines: Sequence[tuple[int, ...]], spoken: tuple[int, ...]
    ) -> "ForbiddenCells":
        """Write out the impossible conjunctions and those without a price."""
        sizes = collectable.space.sizes
        if not lines:
            return cls(sizes, (), np.zeros((0, len(sizes)), dtype=np.int32))
        patterns = list(np.array(lines, dtype=np.int32))
        cells = np.unique(np.concatenate(list(_expand_patterns(patterns, spoken, sizes))), axis=0)
        dense = np.where(cells == ANY, 0, cells)  # whether it may be collected does not depend on the others
        return cls(sizes, spoken, cells[np.isinf(collectable.price(dense))])

    def completions(self, factors: set[int]) -> int:
        """In how many ways the spoken factors outside these can be filled in."""
        return math.prod(self.sizes[k] for k in self.spoken if k not in factors)

    def start(self) -> Codes:
        """What is to be avoided before any value is chosen."""
        return self.cells

    def after(self, cells: Codes, k: int, value: int) -> Codes:
        """What is left to be avoided once a factor has its value."""
        return cells[cells[:, k] == value] if k in self.spoken else cells

    def dead(self, cells: Codes, row: Codes, k: int) -> Flags:
        """Values with which the row could no longer be completed."""
        if k not in self.spoken or not len(cells):
            return np.zeros(self.sizes[k], dtype=bool)
        decided = {j for j in range(len(row)) if row[j] >= 0} | {k}
        held = np.bincount(cells[:, k], minlength=self.sizes[k])
        return np.asarray(held == self.completions(decided))

    def infeasible(self, factors: tuple[int, ...]) -> Flags:
        """For every conjunction of some factors, in row-major order, whether nothing that holds it can be added."""
        total = math.prod(self.sizes[k] for k in factors)
        inside = tuple(k for k in factors if k in self.spoken)
        if not self.spoken or not len(self.cells):
            return np.zeros(total, dtype=bool)
        if not inside:
            return np.full(total, len(self.cells) == self.completions(set()))
        groups = group(self.cells, sizes=self.sizes, factors=inside)
        every = np.stack(np.unravel_index(np.arange(total), [self.sizes[k] for k in factors]), axis=1)
        wide = np.zeros((total, len(self.sizes)), dtype=np.int32)
        wide[:, list(factors)] = every
        place = groups.lookup(wide)
        held = np.where(place >= 0, groups.combinations[place], 0)
        return np.asarray(held == self.completions(set(inside)))


def _expand_patterns(lines: list[Codes], spoken: tuple[int, ...], sizes: tuple[int, ...]) -> Iterator[Codes]:
    for row in lines:
        choices = [np.arange(sizes[k]) if row[k] == ANY else row[k : k + 1] for k in spoken]
        grid = np.stack(np.meshgrid(*choices, indexing="ij"), axis=-1).reshape(-1, len(spoken))
        cells = np.full((len(grid), len(sizes)), ANY, dtype=np.int32)
        cells[:, list(spoken)] = grid
        yield cells


def add_combinations(support: Support, codes: Codes) -> Support:
    """The support as it would be with these combinations added, each seen once."""
    both = np.concatenate([support.codes, codes]).astype(np.int32)
    counts = np.concatenate([support.counts, np.ones(len(codes))])
    order: Ints = np.lexsort(both.T[::-1])
    return Support(support.space, np.asfortranarray(both[order]), counts[order], rows=support.rows)
