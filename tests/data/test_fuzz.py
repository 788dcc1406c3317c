"""Random small tables against a count by hand: no engine, no arrays, one loop over rows and one over the space.

Two to five factors, weights of which some are 0, impossible conjunctions, missing values, factors with one value.
"""

import itertools
import random
from collections import Counter, defaultdict
from typing import Any

import numpy as np
import pytest

import recombine
from recombine.base.errors import ColumnError, SpaceError, TableError
from recombine.data.space import Space

TABLES = 300
OTHER = "other"
"""A value that is declared for a factor that never varies."""
Row = dict[str, Any]


def table_of(seed: int) -> tuple[list[str], list[Row], list[Row], bool]:
    """Factors, rows, impossible conjunctions, and whether rows are weighted."""
    draw = random.Random(seed)
    names = [f"f{k}" for k in range(draw.randint(2, 5))]
    values = {name: [f"{name}v{v}" for v in range(draw.choice([1, 2, 2, 3, 4]))] for name in names}
    gaps = draw.choice([0.0, 0.0, 0.1])
    rows = [
        {name: None if draw.random() < gaps else draw.choice(values[name]) for name in names}
        | {"w": draw.choice([0, 0.5, 1, 2, 3]), "y": draw.choice([None, 1.0, 2.5, 4.0])}
        for _ in range(draw.randint(1, 40))
    ]
    weighted = draw.random() < 0.5
    seen = {name: sorted({row[name] for row in whole(rows, names, weighted)}) for name in names}
    impossible = []
    for _ in range(draw.choice([0, 0, 1, 3]) if all(seen.values()) else 0):
        about = draw.sample(names, draw.randint(1, len(names)))
        conjunction = {name: draw.choice(seen[name]) for name in about}
        if not any(holds(row, conjunction) for row in whole(rows, names, weighted)):
            impossible.append(conjunction)
    return names, rows, impossible, weighted


def whole(rows: list[Row], names: list[str], weighted: bool) -> list[Row]:
    """The rows that show a combination: every factor is there, and they stand for something."""
    return [row for row in rows if all(row[name] is not None for name in names) and (not weighted or row["w"] > 0)]


def holds(row: Row, conjunction: Row) -> bool:
    return all(row[name] == value for name, value in conjunction.items())


def possible(values: dict[str, list[str]], impossible: list[Row]) -> list[Row]:
    every = (dict(zip(values, one, strict=True)) for one in itertools.product(*values.values()))
    return [one for one in every if not any(holds(one, conjunction) for conjunction in impossible)]


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [range(start, start + 50) for start in range(0, TABLES, 50)], ids=str)
def test_counts_are_those_of_a_loop(seeds: range) -> None:
    for seed in seeds:
        names, rows, impossible, weighted = table_of(seed)
        columns = {name: [row[name] for row in rows] for name in [*names, "w", "y"]}
        if all(value is None for value in columns["y"]):
            columns["y"][0] = rows[0]["y"] = 1.0
        asked: dict[str, Any] = {"factors": names, "impossible": impossible, "weight": "w" if weighted else None}
        kept = whole(rows, names, weighted)
        if not kept:
            with pytest.raises((TableError, ColumnError)):
                recombine.read(columns, **asked)
            continue
        alone = [name for name in names if len({row[name] for row in kept}) == 1]
        if alone:
            with pytest.raises(SpaceError, match="has one value"):
                recombine.read(columns, **asked)
        asked["domain"] = {name: [kept[0][name], OTHER] for name in alone}
        found = recombine.read(columns, target="y", **asked)
        _compare(found, names, rows, impossible, weighted)


def _compare(found: Any, names: list[str], rows: list[Row], impossible: list[Row], weighted: bool) -> None:
    kept = whole(rows, names, weighted)
    counts: Counter[tuple[str, ...]] = Counter()
    numbers: defaultdict[tuple[str, ...], list[tuple[float, float]]] = defaultdict(list)
    for row in kept:
        cell = tuple(row[name] for name in names)
        weight = row["w"] if weighted else 1
        counts[cell] += weight
        if row["y"] is not None:
            numbers[cell].append((weight, row["y"]))
    cells = [tuple(found.combination(k)[name] for name in names) for k in range(len(found))]
    assert dict(zip(cells, found.counts.tolist(), strict=True)) == pytest.approx(dict(counts))
    for cell, mean in zip(cells, found.target.mean, strict=True):
        if not numbers[cell]:
            assert np.isnan(mean)
            continue
        total = sum(weight for weight, _ in numbers[cell])
        assert mean == pytest.approx(sum(weight * y for weight, y in numbers[cell]) / total)
    values = {name: sorted({row[name] for row in kept}) for name in names}
    values = {name: [*seen, OTHER] if len(seen) == 1 else seen for name, seen in values.items()}
    assert {factor.name: sorted(factor.values) for factor in found.space.factors} == values
    _compare_space(found.space, values, impossible)


def _compare_space(space: Any, values: dict[str, list[str]], impossible: list[Row]) -> None:
    left = possible(values, impossible)
    assert space.size == len(left)
    listed = space.columns(space.every())
    told = {tuple(row) for row in zip(*(listed[name].to_pylist() for name in values), strict=True)}
    assert told == {tuple(one.values()) for one in left}
    for order in range(1, len(values) + 1):
        for some in itertools.combinations(range(len(values)), order):
            names = [list(values)[k] for k in some]
            assert space.restricted(some).size == len({tuple(one[name] for name in names) for one in left}), some


@pytest.mark.parametrize("seeds", [range(start, start + 200) for start in range(0, 600, 200)], ids=str)
def test_what_is_possible_of_some_factors_is_what_a_list_holds(seeds: range) -> None:
    for seed in seeds:
        draw = random.Random(seed)
        names = [f"f{k}" for k in range(draw.randint(2, 5))]
        values = {name: [f"{name}v{v}" for v in range(draw.choice([1, 2, 2, 3, 4]))] for name in names}
        impossible = [
            {name: draw.choice(values[name]) for name in draw.sample(names, draw.randint(1, len(names)))}
            for _ in range(draw.choice([0, 1, 3, 6, 12]))
        ]
        _compare_space(Space.of(values, impossible=impossible), values, impossible)


def test_the_loop_itself_can_fail() -> None:
    names, rows = ["a", "b"], [{"a": "x", "b": "p", "w": 1, "y": 1.0}, {"a": "y", "b": "q", "w": 2, "y": 2.0}]
    columns = {name: [row[name] for row in rows] for name in [*names, "w", "y"]}
    found = recombine.read(columns, factors=names, target="y", weight="w")
    _compare(found, names, rows, [], True)
    with pytest.raises(AssertionError):
        _compare(found, names, rows, [], False)
    with pytest.raises(AssertionError):
        _compare_space(found.space, {"a": ["x", "y"], "b": ["p", "q"]}, [{"a": "x", "b": "q"}])


def test_what_was_seen_is_not_impossible() -> None:
    with pytest.raises(SpaceError):
        recombine.read({"a": ["x"], "b": ["p"]}, factors=["a", "b"], impossible=[{"a": "x"}])
