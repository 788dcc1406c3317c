"""Twenty generated models of test matrices: what was never run together, and what is planned, by brute force.

    python -m tests.integrations.test_matrix_worlds

prints the figures of `docs/guides/test_matrices.md`.
"""

import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest

import recombine
from recombine.base.errors import SpaceError

Test = tuple[str, ...]
Pair = tuple[tuple[int, str], tuple[int, str]]
NAMES = ["os", "browser", "login type", "réseau", "size", "theme"]


@dataclass(frozen=True)
class Outcome:
    """What was said rightly in one world, and how many tests it took."""

    pairs: int
    pairs_said: int
    tests: int
    tests_at_least: int
    broken_rules: int
    left_open: int
    missing: int
    missing_said: int
    never_named: int
    further: int
    further_at_random: int
    further_broken_rules: int
    further_left_open: int
    contradictions_named: int


class World:
    """Three to six settings of two to five values, and rules of every kind, of which some tests break none."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        while True:
            sizes = self.rng.integers(2, 6, size=int(self.rng.integers(3, 7))).tolist()
            self.names = NAMES[: len(sizes)]
            self.values = [
                [f"{name[:2]}{k}" for k in range(size)] for name, size in zip(self.names, sizes, strict=True)
            ]
            self.rules = [self._rule() for _ in range(int(self.rng.integers(2, 5)))]
            self.allowed = [test for test in product(*self.values) if all(keeps(test) for _, keeps in self.rules)]
            if len(self.allowed) > 20 and all(map(self._used, range(len(sizes)))):
                break
        self.run = [self.allowed[k] for k in self.rng.permutation(len(self.allowed))[: int(self.rng.integers(4, 9))]]

    def _used(self, k: int) -> bool:
        return {test[k] for test in self.allowed} == set(self.values[k])

    def _some(self, k: int) -> list[str]:
        return self.rng.permutation(self.values[k])[: int(self.rng.integers(1, len(self.values[k])))].tolist()

    def _rule(self) -> tuple[str, Callable[[Test], bool]]:
        """As it is written in a model, and whether a test keeps it."""
        a, b = self.rng.permutation(len(self.names))[:2].tolist()
        one, some, other = self._some(a)[0], self._some(b), self._some(b)[0]
        first, second, written = f"[{self.names[a]}]", f"[{self.names[b]}]", ", ".join(f'"{value}"' for value in some)
        return [
            (f'IF {first} = "{one}" THEN {second} IN {{{written}}}', lambda test: test[a] != one or test[b] in some),
            (f'IF {first} = "{one}" THEN {second} <> "{other}"', lambda test: test[a] != one or test[b] != other),
            (
                f'IF NOT {second} IN {{{written}}} THEN {first} <> "{one}" ELSE NOT ({first} = "{one}" AND '
                f'{second} = "{other}")',
                lambda test: test[a] != one if test[b] not in some else (test[a], test[b]) != (one, other),
            ),
            (f'{first} <> "{one}" OR {second} LIKE "{other}*"', lambda test: test[a] != one or test[b] == other),
        ][int(self.rng.integers(4))]

    def write(self, folder: Path) -> None:
        lines = [f"{name}: {', '.join(values)}" for name, values in zip(self.names, self.values, strict=True)]
        rules = [f"{rule};" for rule, _ in self.rules]
        (folder / "model.pict").write_text("\n".join([*lines, "", *rules]), encoding="utf-8")
        done = [",".join([*self.names, "passed"]), *(",".join([*test, "yes"]) for test in self.run)]
        (folder / "results.csv").write_text("\n".join(done) + "\n", encoding="utf-8")

    def contradicts(self, folder: Path) -> bool:
        """Whether two more rules that no test can keep are refused, and named."""
        first = self.values[0][0]
        rules = (f'[{self.names[0]}] = "{first}";', f'[{self.names[0]}] <> "{first}";')
        (folder / "wrong.pict").write_text("\n".join([(folder / "model.pict").read_text("utf-8"), *rules]), "utf-8")
        try:
            recombine.plan(str(folder / "wrong.pict"), goal="pairs")
        except SpaceError as error:
            return all(rule.rstrip(";") in str(error) for rule in rules)
        return False


def pairs_of(tests: Iterable[Test]) -> set[Pair]:
    return {pair for test in tests for pair in combinations(enumerate(test), 2)}


def _at_least(pairs: set[Pair], count: int) -> int:
    """No fewer tests can do: every pair of values of two settings needs one of its own."""
    return max(sum((a, b) == (one[0], other[0]) for one, other in pairs) for a, b in combinations(range(count), 2))


def _at_random(world: World, missing: set[Pair]) -> int:
    """How many allowed tests, drawn one after another, it takes; each is kept only if it adds a pair."""
    kept = 0
    for k in world.rng.permutation(len(world.allowed)):
        new = missing & pairs_of([world.allowed[k]])
        missing, kept = missing - new, kept + bool(new)
    return kept


def play(seed: int, folder: Path) -> Outcome:
    """Write a world's model and results; plan from nothing, audit what was run, and plan what is missing."""
    world = World(seed)
    world.write(folder)
    model, results = str(folder / "model.pict"), str(folder / "results.csv")
    every, rules = pairs_of(world.allowed), [rule for rule, _ in world.rules]
    domain = dict(zip(world.names, world.values, strict=True))
    asked = {"factors": world.names, "domain": domain, "impossible": rules}
    first, further = recombine.plan(model, goal="pairs"), recombine.plan(results, goal="pairs", **asked)
    tests, more = ([tuple(line.combination.values()) for line in plan.lines] for plan in (first, further))
    missing = every - pairs_of(world.run)
    listed = recombine.audit(results, **asked).uncovered
    named = {tuple(zip(map(world.names.index, one.factors), one.values, strict=True)) for one in listed}
    allowed = set(world.allowed)
    return Outcome(
        pairs=len(every),
        pairs_said=int(f"all {len(every)} pairs" in first.verdict),
        tests=len(tests),
        tests_at_least=_at_least(every, len(world.names)),
        broken_rules=len(set(tests) - allowed),
        left_open=len(every - pairs_of(tests)),
        missing=len(missing),
        missing_said=int(f"{len(missing)} pair" in further.verdict),
        never_named=int(named == missing),
        further=len(more),
        further_at_random=_at_random(world, missing),
        further_broken_rules=len(set(more) - allowed),
        further_left_open=len(missing - pairs_of(more)),
        contradictions_named=int(world.contradicts(folder)),
    )


def _check(found: Outcome) -> None:
    assert found.pairs_said == found.missing_said == found.never_named == found.contradictions_named == 1
    assert found.broken_rules == found.left_open == found.further_broken_rules == found.further_left_open == 0
    assert found.tests_at_least <= found.tests
    assert found.further <= found.further_at_random


def test_what_is_said_of_a_generated_model_is_right(tmp_path):
    _check(play(0, tmp_path))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 20))
def test_what_is_said_of_nineteen_more_is_right(seed, tmp_path):
    _check(play(seed, tmp_path))


def main() -> str:
    """The figures over twenty worlds."""
    with tempfile.TemporaryDirectory() as place:
        worlds = [play(seed, Path(place)) for seed in range(20)]
    return "\n".join(f"{one.name:21}{sum(getattr(world, one.name) for world in worlds)}" for one in fields(Outcome))


if __name__ == "__main__":
    print(main())  # noqa: T201
