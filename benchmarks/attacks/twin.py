"""What is true of a table that was drawn: plain arithmetic over its rows, exact where it can be.

Nothing here is shared with the library, nor with the brute force of its tests: the definitions are written down anew.
"""

import math
from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations, product
from typing import Any

import numpy as np

from attacks.drawn import Drawn

Combination = tuple[str, ...]
MISSING = "(missing)"


@dataclass(frozen=True)
class Row:
    """A row that holds a whole combination."""

    combination: Combination
    weight: Fraction
    answer: Any


@dataclass(frozen=True)
class Twin:
    """The drawn table once more, and every number that is checked."""

    drawn: Drawn

    @cached_property
    def rows(self) -> list[Row]:
        """The rows that are read: a row that misses a factor is left out, unless missing is a value."""
        table, found = self.drawn.columns, []
        for place in range(len(table[self.drawn.factors[0]])):
            raw = [table[name][place] for name in self.drawn.factors]
            if None in raw and self.drawn.missing == "leave out":
                continue
            weight = Fraction(table[self.drawn.weight][place]) if self.drawn.weight else Fraction(1)
            answer = table[self.drawn.target][place] if self.drawn.target else None
            found.append(Row(tuple(MISSING if v is None else str(v) for v in raw), weight, answer))
        return found

    @cached_property
    def seen(self) -> dict[Combination, Fraction]:
        """The combinations with at least some weight: what stands for no example was not seen."""
        totals: dict[Combination, Fraction] = defaultdict(Fraction)
        for row in self.rows:
            totals[row.combination] += row.weight
        return {combination: total for combination, total in totals.items() if total > 0}

    @cached_property
    def values(self) -> list[list[str]]:
        """Each factor's values: those declared, else those in rows that stand for at least some of an example."""
        found = []
        for k, name in enumerate(self.drawn.factors):
            there = {row.combination[k] for row in self.rows if row.weight > 0}
            declared = [str(value) for value in self.drawn.domain.get(name, ())]
            found.append(declared + sorted(there - set(declared)))
        return found

    @property
    def refusable(self) -> str:
        """Why such a table may be refused; empty if it may not."""
        if not self.seen:
            return "nothing was seen"
        if any(len(values) < 2 for values in self.values):
            return "a factor has one value"
        if not self.space:
            return "everything is impossible"
        return "numbers beyond what can be squared" if self.drawn.extreme else ""

    @cached_property
    def space(self) -> set[Combination]:
        """The combinations that could occur."""
        lines = [
            {self.drawn.factors.index(name): str(value) for name, value in line.items()}
            for line in self.drawn.impossible
        ]
        return {
            one for one in product(*self.values) if not any(all(one[k] == v for k, v in line.items()) for line in lines)
        }

    @cached_property
    def novel(self) -> set[Combination]:
        """Those that hold a value never seen."""
        known = [{combination[k] for combination in self.seen} for k in range(len(self.values))]
        return {one for one in self.space if any(value not in known[k] for k, value in enumerate(one))}

    @cached_property
    def determined(self) -> set[Combination]:
        """Unseen ones whose row of the one-hot design is a sum of seen rows, by exact elimination."""
        basis = echelon([self._one_hot(one) for one in self.seen])
        asked = self.space - self.novel - set(self.seen)
        return {one for one in asked if not any(reduced(self._one_hot(one), basis))}

    def counts(self) -> dict[str, int]:
        """The space divided."""
        open_ = self.space - self.novel - set(self.seen) - self.determined
        return {
            "space": len(self.space),
            "impossible": math.prod(map(len, self.values)) - len(self.space),
            "seen": len(self.seen),
            "determined": len(self.determined),
            "undetermined": len(open_),
            "novel": len(self.novel),
        }

    def coverage(self, order: int) -> tuple[int, int]:
        """How many conjunctions of so many factors were seen, and how many could be: parts of what could occur."""
        seen = possible = 0
        for chosen in combinations(range(len(self.values)), order):
            seen += len({tuple(one[k] for k in chosen) for one in self.seen})
            possible += len({tuple(one[k] for k in chosen) for one in self.space})
        return seen, possible

    def leverage(self, asked: list[Combination]) -> np.ndarray:
        """a (A'A)+ a', by the pseudo-inverse."""
        design = np.array([self._one_hot(one) for one in self.seen], dtype=float)
        inverse = np.linalg.pinv(design.T @ design)
        wanted = np.array([self._one_hot(one) for one in asked], dtype=float)
        return np.asarray(((wanted @ inverse) * wanted).sum(axis=1))

    def cramers_v(self, a: int, b: int) -> float | None:
        """Cramér's V with Bergsma's correction, from the table of counts with all its empty cells.

        None where counts tell nothing of dependence: a factor has a single value, rows are a list that names some of
        the pairs once each, or most rows hold a value that occurs once.
        """
        cells: dict[tuple[str, str], Fraction] = defaultdict(Fraction)
        of_a: dict[str, Fraction] = defaultdict(Fraction)
        of_b: dict[str, Fraction] = defaultdict(Fraction)
        for one, weight in self.seen.items():
            cells[one[a], one[b]] += weight
            of_a[one[a]] += weight
            of_b[one[b]] += weight
        total = sum(self.seen.values(), Fraction())
        r, c = len(of_a), len(of_b)
        listed = len(cells) < r * c and set(cells.values()) == {1}
        again = sum((rows for (x, y), rows in cells.items() if of_a[x] > 1 and of_b[y] > 1), Fraction())
        if min(r, c) < 2 or listed or 2 * again < total:
            return None
        chi = sum(
            (cells[x, y] - of_a[x] * of_b[y] / total) ** 2 / (of_a[x] * of_b[y] / total) for x in of_a for y in of_b
        )
        excess = max(chi / total - Fraction((r - 1) * (c - 1)) / (total - 1), Fraction())
        width = min(r - Fraction((r - 1) ** 2) / (total - 1), c - Fraction((c - 1) ** 2) / (total - 1)) - 1
        return min(math.sqrt(excess / width), 1.0) if width > 0 else 0.0

    # answers ---------------------------------------------------------------------------------------------------------

    @cached_property
    def answered(self) -> list[Row]:
        """Rows with an answer and some weight."""
        return [row for row in self.rows if row.answer is not None and row.weight > 0]

    @property
    def constant(self) -> bool:
        """Whether the target never varies, so that there is nothing to learn."""
        return len({row.answer for row in self.answered}) < 2

    def groups(self, chosen: tuple[int, ...]) -> dict[Combination, list[Row]]:
        """The answered rows by their values of some factors."""
        found: dict[Combination, list[Row]] = defaultdict(list)
        for row in self.answered:
            found[tuple(row.combination[k] for k in chosen)].append(row)
        return found

    def mean_and_scatter(self, rows: list[Row]) -> tuple[Fraction, Fraction, Fraction]:
        """Weight, mean, and the weighted sum of squares around it, exactly."""
        weight = sum((row.weight for row in rows), Fraction())
        mean = sum((row.weight * Fraction(row.answer) for row in rows), Fraction()) / weight
        return weight, mean, sum((row.weight * (Fraction(row.answer) - mean) ** 2 for row in rows), Fraction())

    def within(self) -> float | None:
        """The pooled variance of one example around its combination's mean."""
        parts = [self.mean_and_scatter(rows) for rows in self.groups(tuple(range(len(self.values)))).values()]
        freedom = sum((max(weight - 1, Fraction()) for weight, _, _ in parts), Fraction())
        return float(sum((scatter for _, _, scatter in parts), Fraction()) / freedom) if freedom >= 1 else None

    def told(self, chosen: tuple[int, ...]) -> float:
        """What some factors tell of the target: the share of its variance (number) or of its entropy (label)."""
        groups = self.groups(chosen)
        if self.drawn.kind == "number":
            _, _, total = self.mean_and_scatter(self.answered)
            inner = sum((self.mean_and_scatter(rows)[2] for rows in groups.values()), Fraction())
            return float(1 - inner / total) if total else 0.0
        total_bits = _entropy(_tally(self.answered))
        if not total_bits:
            return 0.0
        weights = {key: float(sum(row.weight for row in rows)) for key, rows in groups.items()}
        share = sum(weights.values())
        return 1 - sum(weights[key] / share * _entropy(_tally(rows)) for key, rows in groups.items()) / total_bits

    def accuracy(self, chosen: tuple[int, ...]) -> float:
        """How often the commonest class of each group is right."""
        best = sum(max(_tally(rows).values()) for rows in self.groups(chosen).values())
        return float(best / sum(row.weight for row in self.answered))

    def _one_hot(self, one: Combination) -> list[int]:
        return [int(value == held) for held, values in zip(one, self.values, strict=True) for value in values]


def _tally(rows: list[Row]) -> dict[Any, Fraction]:
    found: dict[Any, Fraction] = defaultdict(Fraction)
    for row in rows:
        found[row.answer] += row.weight
    return found


def _entropy(tally: dict[Any, Fraction]) -> float:
    total = sum(tally.values())
    return -sum(float(n / total) * math.log2(float(n / total)) for n in tally.values() if n)


Vector = list[Fraction]


def echelon(rows: list[list[int]]) -> list[tuple[int, Vector]]:
    """A basis of the rows' span, each with the place of its first 1, exactly."""
    basis: list[tuple[int, Vector]] = []
    for row in rows:
        rest = reduced(row, basis)
        pivot = next((k for k, entry in enumerate(rest) if entry), None)
        if pivot is not None:
            basis.append((pivot, [entry / rest[pivot] for entry in rest]))
    return basis


def reduced(row: list[int], basis: list[tuple[int, Vector]]) -> Vector:
    """What is left of a row once the span is taken away; nothing, if it lies in it."""
    rest = [Fraction(entry) for entry in row]
    for pivot, held in basis:
        if rest[pivot]:
            factor = rest[pivot]
            rest = [entry - factor * other for entry, other in zip(rest, held, strict=True)]
    return rest


def kernel_answers(
    seen: list[Combination], answers: np.ndarray, counts: np.ndarray, asked: list[Combination],
    weights: list[float], ridge: float,
) -> np.ndarray:  # fmt: skip
    """Kernel ridge regression, by a dense solve: combinations are alike by the number of values that they share."""
    alike = [sum(weights[k] * math.comb(shared, k) for k in range(shared + 1)) for shared in range(len(seen[0]) + 1)]

    def kernel(some: list[Combination], others: list[Combination]) -> np.ndarray:
        return np.array([[alike[sum(x == y for x, y in zip(a, b, strict=True))] for b in others] for a in some])

    duals = np.linalg.solve(kernel(seen, seen) + np.diag(ridge / counts), answers)
    return np.asarray(kernel(asked, seen) @ duals)
