"""Twenty generated sets of episodes with a planted truth: what follows, what an hour buys, and how right it comes out.

    python -m tests.integrations.test_robot_worlds

prints the figures of `docs/guides/robots.md`.
"""

import tempfile
from dataclasses import dataclass, fields
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest

import recombine
from recombine.data.text_sources import TextSource
from tests.data.lerobot_folders import version_3

FACTORS = ["object", "surface", "light"]
CHANGES = {"surface": 10, "light": 1, "object": 0.5}
HOUR, TAKES, NOISE = 60, 4, 0.5


@dataclass(frozen=True)
class Outcome:
    """What happened in one world: right answers about what follows, before and after an hour, and how far off."""

    said_rightly: int
    unseen: int
    open_before: int
    open_after: int
    minutes: float
    lines: int
    off: float
    random_open: int
    random_lines: int
    random_off: float


class World:
    """Sessions that share neither an object nor a surface, and a miss that adds up."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        sessions = int(self.rng.integers(2, 4))
        sizes = [(int(self.rng.integers(2, 4)), int(self.rng.integers(1, 3))) for _ in range(sessions)]
        self.lights = [f"light{k}" for k in range(int(self.rng.integers(2, 4)))]
        self.objects = [f"object{k}" for k in range(sum(size[0] for size in sizes))]
        self.surfaces = [f"surface{k}" for k in range(sum(size[1] for size in sizes))]
        values = [*self.objects, *self.surfaces, *self.lights]
        self.effect = dict(zip(values, self.rng.uniform(0, 10, size=len(values)), strict=True))
        recorded, things, places = [], iter(self.objects), iter(self.surfaces)
        for objects, surfaces in sizes:
            own = product([next(things) for _ in range(objects)], [next(places) for _ in range(surfaces)], self.lights)
            recorded += [one for one in own if self.rng.random() < 0.6]
        self.recorded = [recorded[k] for k in self.rng.integers(0, len(recorded), size=200)]
        self.objects, self.surfaces, self.lights = (sorted(set(column)) for column in zip(*self.recorded, strict=True))

    def miss(self, episode: tuple[str, ...]) -> float:
        return sum(self.effect[name] for name in episode)

    def measured(self, episodes: list[tuple[str, ...]]) -> np.ndarray:
        return np.array([self.miss(one) for one in episodes]) + self.rng.normal(0, NOISE, size=len(episodes))

    @property
    def space(self) -> list[tuple[str, ...]]:
        return list(product(self.objects, self.surfaces, self.lights))

    def design(self, episodes: list[tuple[str, ...]]) -> np.ndarray:
        return np.array([[1.0] + [value in one for value in self.effect] for one in episodes])

    def follows(self, seen: list[tuple[str, ...]]) -> dict[tuple[str, ...], bool]:
        """Whether a combination's row lies in the span of the seen ones: brute force, by projection."""
        rows, every = self.design(sorted(set(seen))), self.design(self.space)
        left = every - every @ np.linalg.pinv(rows) @ rows
        return dict(zip(self.space, (np.abs(left).max(axis=1) < 1e-8).tolist(), strict=True))


def play(seed: int, folder: Path) -> Outcome:
    """Write a world's episodes, audit and plan them, and play the hour: as planned, and at random."""
    world = World(seed)
    version_3(folder, [f"pick the {thing} from the {place}" for thing, place, _ in world.recorded])
    misses = world.measured(world.recorded)
    lines = (f"{k},{one[2]},{miss}\n" for k, (one, miss) in enumerate(zip(world.recorded, misses, strict=True)))
    (folder / "factors.csv").write_text("episode_index,light,miss\n" + "".join(lines))
    source = TextSource(str(folder), ["pick the {object} from the {surface}"])
    truth = world.follows(world.recorded)
    said = {
        tuple(row[name] for name in FACTORS): row["determined"]
        for row in recombine.audit(source, factors=FACTORS).table.to_pylist()
    }
    unseen = [one for one in world.space if one not in set(world.recorded)]
    plan = recombine.plan(
        source, factors=FACTORS, goal="leverage", budget=HOUR, costs=[{"cost": TAKES}], change_over=CHANGES
    )
    shots = [tuple(row[name] for name in FACTORS) for row in plan.shots.to_pylist()]
    drawn = [unseen[k] for k in world.rng.permutation(len(unseen))]
    drawn = drawn[: sum(_minutes(drawn[: k + 1]) <= HOUR for k in range(len(drawn)))]
    return Outcome(
        said_rightly=sum(said[one] == truth[one] for one in unseen),
        unseen=len(unseen),
        open_before=sum(not truth[one] for one in unseen),
        open_after=sum(not known for known in world.follows([*world.recorded, *shots]).values()),
        minutes=_minutes(shots),
        lines=len(shots),
        off=_off(world, misses, shots),
        random_open=sum(not known for known in world.follows([*world.recorded, *drawn]).values()),
        random_lines=len(drawn),
        random_off=_off(world, misses, drawn),
    )


def _minutes(shots: list[tuple[str, ...]]) -> float:
    changes = sum(
        CHANGES[name] * (one[k] != other[k]) for one, other in pairwise(shots) for k, name in enumerate(FACTORS)
    )
    return TAKES * len(shots) + changes


def _off(world: World, misses: np.ndarray, shots: list[tuple[str, ...]]) -> float:
    """How far least squares are off, of what was recorded neither before nor in that hour."""
    takes = [one for one in shots for _ in range(TAKES)]
    answers = np.concatenate([misses, world.measured(takes)])
    effects = np.linalg.lstsq(world.design([*world.recorded, *takes]), answers, rcond=None)[0]
    left = [one for one in world.space if one not in {*world.recorded, *shots}]
    off = world.design(left) @ effects - np.array([world.miss(one) for one in left])
    return float(np.sqrt(np.mean(off**2)))


def _check(found: Outcome) -> None:
    assert found.said_rightly == found.unseen
    assert found.open_before > 0
    assert found.open_after == 0
    assert found.minutes <= HOUR
    assert found.off < 1.5 * NOISE


def test_an_hour_is_spent_rightly_in_a_generated_world(tmp_path):
    _check(play(0, tmp_path / "episodes"))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 20))
def test_an_hour_is_spent_rightly_in_nineteen_more(seed, tmp_path):
    _check(play(seed, tmp_path / "episodes"))


def main() -> str:
    """The figures over twenty worlds."""
    worlds = []
    for seed in range(20):
        with tempfile.TemporaryDirectory() as place:
            worlds.append(play(seed, Path(place) / "episodes"))
    total = {one.name: sum(getattr(world, one.name) for world in worlds) for one in fields(Outcome)}
    return "\n".join(
        [
            f"said rightly {total['said_rightly']} of {total['unseen']} unseen",
            f"open before {total['open_before']}, after an hour {total['open_after']}",
            f"lines {total['lines'] / 20}, off {total['off'] / 20:.2f}, worst {max(one.off for one in worlds):.2f}",
            f"at random: lines {total['random_lines'] / 20}, off {total['random_off'] / 20:.2f}, "
            f"something open in {sum(one.random_open > 0 for one in worlds)} worlds",
        ]
    )


if __name__ == "__main__":
    print(main())  # noqa: T201
