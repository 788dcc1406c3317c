"""Does it pay to plan again by what the trained model gets wrong? A hypothesis, and its test.

    python benchmarks/collect_loop.py             # six tasks, seeds 100 to 109: five minutes of processor time
    python benchmarks/collect_loop.py --first 0 --seeds 5      # those that it was written with
    python benchmarks/collect_loop.py --smoke

A world has combinations of which three in ten are set aside; no policy may collect these. The others, the pool, are
asked for one batch after another. A learner is taught what was collected and asked about what was set aside. Wanted is
its score with 60 % of the pool at random (the mean of five draws) less .02; counted is how many combinations it takes
until the score is there, and still there one batch later. Who never gets there counts as the whole pool.

- random: the mean of two orders
- static: orders that are made before the first answer. `recombine.plan` for "leverage", "variance", "pairs" (what a
  plan does not list follows at random), and the same number of each value
- the loop: a small plan (for "variance", of sets for "leverage"); then of every batch one half from `plan` again, one
  half by the trained model: how far it was from combinations it had not been taught (left out one at a time), carried
  over to combinations that share values with these, times what they would tell a Gaussian process with the kernel that
  fits best by now
- without errors: the same, but for how far the trained model was

Tasks: two of pictures, two tables, two of sets. All learners are kernel machines that choose among kernels and ridges
by leaving out one combination at a time, and nothing else.

The hypothesis: on five of six tasks the loop needs at most 70 % of what random needs (median over seeds), and on none
more than 110 % of what the best static order needs.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt

import recombine
from measure import options, table, write

Numbers = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

ASIDE, WANTED, LESS, START, BATCH = 0.3, 0.6, 0.02, 0.08, 0.03
RIDGES = (0.01, 0.1, 1.0)
OPEN, WRONG = 0.5, 0.5  # of a batch, what the table leaves open; of a weight, how wrong the model was near by
LOOPS = {"the loop": WRONG, "without errors": 0.0}
STATIC = ("leverage", "variance", "pairs", "stratified")


@dataclass(frozen=True, eq=False)
class World:
    """N combinations as the table names them, the truth of each, r examples of each, and kernels between these."""

    names: Mapping[str, list[Any]]  # a column for each factor, N entries: values, or lists of elements
    codes: Numbers  # (N, w) ones where a combination has a value, or an element
    truth: Numbers
    answers: Numbers  # (N, r) noisy
    learner: tuple[Numbers, ...]  # each (N r, N r)
    kernels: tuple[Numbers, ...]  # between combinations, (N, N)
    elements: tuple[str, ...] = ()
    seed: int = 0
    batch: float = BATCH  # of the pool
    held: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @cached_property
    def pool(self) -> Ints:
        """What may be collected."""
        return np.setdiff1d(np.arange(len(self.truth)), self.held)

    @property
    def goal(self) -> str:
        """What the loop asks `plan` for: no plan for "variance" knows sets."""
        return "leverage" if self.elements else "variance"

    def rows(self, combinations: Ints) -> Ints:
        """The examples of some combinations."""
        each = self.answers.shape[1]
        return (combinations[:, None] * each + np.arange(each)).ravel()

    def plan(self, collected: Ints, goal: str, budget: int) -> list[int]:
        """What `recombine.plan` would collect next, in its order."""
        seen = {name: [column[place] for place in collected] for name, column in self.names.items()}
        costs = {name: [column[place] for place in self.held] for name, column in self.names.items()}
        costs["cost"] = [None] * len(self.held)
        if self.elements:
            sizes = [len(one) for one in self.names["given"]]
            asked: dict[str, Any] = {
                "sets": {"set": {"columns": "given", "smallest": min(sizes), "largest": max(sizes)}},
                "domain": {"set": list(self.elements)},
            }
            costs["set"] = costs.pop("given")
        else:
            domain = {name: sorted(set(column)) for name, column in self.names.items()}
            asked = {"factors": list(self.names), "domain": domain}
        found = recombine.plan(seen, goal=goal, budget=budget, costs=costs, plausible=False, seed=self.seed, **asked)
        columns = [found.table[place].to_pylist() for place in range(len(self.names))]
        return [self._place[_key(row)] for row in zip(*columns, strict=True)]

    @cached_property
    def _place(self) -> dict[tuple[Any, ...], int]:
        return {_key(row): place for place, row in enumerate(zip(*self.names.values(), strict=True))}


def _key(row: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(tuple(sorted(value.split(" + "))) if isinstance(value, str) else tuple(value) for value in row)


def counted(same: Numbers, orders: Sequence[float]) -> Numbers:
    """A kernel that weighs parts that two combinations share: values, pairs of them, triples."""
    parts = [same, same * (same - 1) / 2, same * (same - 1) * (same - 2) / 6]
    return np.asarray(sum(weight * part / max(part.max(), 1) for weight, part in zip(orders, parts, strict=False)))


ORDERS = ((1.0,), (1.0, 0.3), (1.0, 1.0), (0.5, 1.0, 0.5))


def table_kernels(values: npt.NDArray[np.int64]) -> tuple[Numbers, ...]:
    """Adding up; one pair beside it; all pairs; all pairs and triples."""
    same = [values[:, k, None] == values[None, :, k] for k in range(values.shape[1])]
    added = np.mean(same, axis=0)
    found = [added]
    found += [added + (same[i] & same[j]) for i, j in itertools.combinations(range(len(same)), 2)]
    return (*found, *(counted(np.sum(same, axis=0).astype(float), orders) for orders in ORDERS[2:]))


def pixel_kernels(pixels: Numbers) -> tuple[Numbers, ...]:
    """Kernels of wide ReLU networks with one and two hidden layers."""
    pixels = pixels - pixels.mean(axis=0)
    pixels = pixels / np.sqrt((pixels**2).mean())
    inner = tangent = pixels @ pixels.T / pixels.shape[1]
    found = []
    for _ in range(2):
        size = np.sqrt(np.diag(inner))
        cosine = np.clip(inner / size[:, None] / size, -1, 1)
        angle = np.arccos(cosine)
        tangent = tangent * (np.pi - angle) / np.pi
        inner = size[:, None] * size * (np.sqrt(1 - cosine**2) + (np.pi - angle) * cosine) / np.pi
        tangent = tangent + inner
        found.append(tangent / np.diag(tangent).mean())
    return tuple(found)


@dataclass(frozen=True, eq=False)
class Taught:
    """A kernel machine after it was taught: which kernel and ridge, and how far it was from what was left out."""

    kernel: int
    ridge: float
    weights: Numbers
    level: float
    missed: Numbers  # of each combination


def teach(kernels: Sequence[Numbers], rows: Ints, answers: Numbers, each: int) -> Taught:
    """The kernel and ridge that are best on combinations left out one at a time, in closed form."""
    level, found = float(answers.mean()), list[tuple[float, Taught]]()
    for place, kernel in enumerate(kernels):
        gram = kernel[np.ix_(rows, rows)]
        for ridge in RIDGES:
            inverse = np.linalg.inv(gram + ridge * np.eye(len(rows)))
            weights = inverse @ (answers - level)
            blocks = inverse.reshape(len(rows) // each, each, -1, each)
            own = blocks[np.arange(len(blocks)), :, np.arange(len(blocks))]
            missed = np.linalg.solve(own, weights.reshape(-1, each, 1))[..., 0].mean(axis=1)
            found.append((float((missed**2).mean()), Taught(place, ridge, weights, level, missed)))
    return min(found, key=lambda one: one[0])[1]


def learnt(world: World, collected: Ints) -> tuple[float, Taught]:
    """The score on what was set aside, and the learner."""
    rows, asked = world.rows(collected), world.rows(world.held)
    each = world.answers.shape[1]
    taught = teach(world.learner, rows, world.answers[collected].ravel(), each)
    said = world.learner[taught.kernel][np.ix_(asked, rows)] @ taught.weights + taught.level
    truth = np.repeat(world.truth[world.held], each)
    return 1 - float(np.mean((said - truth) ** 2) / truth.var()), taught


def stratified(world: World, rng: np.random.Generator) -> list[int]:
    """An order in which every value comes up as often as every other, as far as it can."""
    counts, left, order = np.zeros(world.codes.shape[1]), rng.permutation(world.pool).tolist(), list[int]()
    while left:
        best = int(np.argmin(world.codes[left] @ counts / world.codes[left].sum(axis=1)))
        order.append(left.pop(best))
        counts += world.codes[order[-1]]
    return order


def element_pairs(world: World) -> list[int]:
    """Sets in the order in which they show most pairs of elements that were not shown yet."""
    shown = np.zeros((world.codes.shape[1],) * 2)
    left, order = world.pool.tolist(), list[int]()
    while left:
        new = np.einsum("ni,nj,ij->n", world.codes[left], world.codes[left], 1.0 - shown)
        if new.max() < 1:
            break
        order.append(left.pop(int(np.argmax(new / world.codes[left].sum(axis=1)))))
        shown = np.maximum(shown, np.outer(world.codes[order[-1]], world.codes[order[-1]]))
    return order


def static(world: World, policy: str, rng: np.random.Generator) -> Ints:
    """An order of the whole pool that no answer changes; what a plan does not list follows at random."""
    if policy == "stratified":
        return np.array(stratified(world, rng))
    mixed = rng.permutation(world.pool)
    if policy == "random":
        return mixed
    if world.elements and policy == "variance":
        return mixed
    first = mixed[:1]
    listed = (
        element_pairs(world) if world.elements and policy == "pairs" else world.plan(first, policy, len(world.pool))
    )
    order = [*first.tolist(), *(place for place in listed if place != first[0])]
    return np.array([*order, *mixed[~np.isin(mixed, order)]])


def by_model(world: World, collected: Ints, taught: Taught, number: int, share: float) -> list[int]:
    """What the model would be taught next: where it was wrong, and where it is unsure."""
    own = teach(world.kernels, collected, world.answers[collected].mean(axis=1), 1)
    kernel = world.kernels[own.kernel] + 0.05 * np.eye(len(world.truth))
    known = kernel[np.ix_(collected, collected)] + own.ridge * np.eye(len(collected))
    left = np.setdiff1d(world.pool, collected)
    everyone = np.setdiff1d(np.arange(len(world.truth)), collected)
    reach = kernel[np.ix_(everyone, everyone)] - kernel[np.ix_(everyone, collected)] @ np.linalg.solve(
        known, kernel[np.ix_(collected, everyone)]
    )
    same = world.codes @ world.codes[collected].T
    near = np.exp(2 * same) / np.exp(2 * same).sum(axis=1, keepdims=True)
    wrong = taught.missed**2
    hope = (1 - share) * wrong.mean() + share * near @ wrong
    weight = hope[everyone] / hope.mean()
    may = np.isin(everyone, left)
    chosen: list[int] = []
    for _ in range(min(number, len(left))):
        gain = (weight[:, None] * reach**2).sum(axis=0) / (np.diag(reach) + own.ridge)
        best = int(np.argmax(np.where(may, gain, -np.inf)))
        chosen.append(int(everyone[best]))
        may[best] = False
        reach = reach - np.outer(reach[:, best], reach[best]) / (reach[best, best] + own.ridge)
    return chosen


def next_batch(
    world: World, collected: Ints, taught: Taught, batch: int, share: float, rng: np.random.Generator
) -> list[int]:
    """Half by what the table leaves open, half by what the model gets wrong."""
    found = world.plan(collected, world.goal, batch)[: round(OPEN * batch)]
    rest = [one for one in by_model(world, collected, taught, batch, share) if one not in found]
    found = (found + rest)[:batch]
    both = np.concatenate([collected, found]).astype(np.int64)
    spare = rng.permutation(np.setdiff1d(world.pool, both)).tolist()
    return (found + spare)[:batch]


def needed(world: World, grow: Callable[[Ints, Taught | None, int], Ints], wanted: float) -> tuple[float, bool]:
    """Combinations until the wanted score is there and still there a batch later; whether it came to that."""
    size = len(world.pool)
    first, batch = max(round(START * size), 3), max(round(world.batch * size), 2)
    collected, there = grow(np.zeros(0, dtype=np.int64), None, first), None
    while True:
        score, taught = learnt(world, collected)
        if score >= wanted:
            if there is not None:
                return float(there), True
            there = len(collected)
        else:
            there = None
        if len(collected) >= len(world.pool):
            return float(len(world.pool)), there is not None
        collected = grow(collected, taught, min(batch, len(world.pool) - len(collected)))


def measured(world: World) -> dict[str, tuple[float, bool]]:
    """What each policy needs, as a share of the pool, and whether it got there."""
    rng = np.random.default_rng([world.seed, 7])
    part = round(WANTED * len(world.pool))
    wanted = float(np.mean([learnt(world, rng.permutation(world.pool)[:part])[0] for _ in range(5)])) - LESS

    def along(order: Ints) -> tuple[float, bool]:
        found, there = needed(world, lambda collected, _, more: order[: len(collected) + more], wanted)
        return found / len(world.pool), there

    def loop(share: float, collected: Ints, taught: Taught | None, more: int) -> Ints:
        if taught is None:
            start = rng.permutation(world.pool)
            listed = [int(start[0]), *world.plan(start[:1], world.goal, more)]
            return np.array([*listed, *start[~np.isin(start, listed)]])[:more]
        return np.concatenate([collected, next_batch(world, collected, taught, more, share, rng)]).astype(np.int64)

    draws = [along(static(world, "random", rng)) for _ in range(2)]
    found = {"random": (float(np.mean([one for one, _ in draws])), all(there for _, there in draws))}
    found |= {policy: along(static(world, policy, rng)) for policy in STATIC}
    for name, share in LOOPS.items():
        count, there = needed(world, partial(loop, share), wanted)
        found[name] = (count / len(world.pool), there)
    return found | {"wanted": (wanted, True)}


def _of_values(values: npt.NDArray[np.int64], truth: Numbers, **others: Any) -> dict[str, Any]:
    names = {f"f{k}": [f"v{one}" for one in values[:, k]] for k in range(values.shape[1])}
    sizes = values.max(axis=0) + 1
    codes = np.hstack([np.eye(size)[values[:, k]] for k, size in enumerate(sizes)])
    return {"names": names, "codes": codes, "truth": truth, "kernels": table_kernels(values), **others}


def grid(*sizes: int) -> npt.NDArray[np.int64]:
    """Every combination."""
    return np.array(list(itertools.product(*map(range, sizes))))


def digits(rng: np.random.Generator, *, smoke: bool) -> dict[str, Any]:
    """Two digits, four pictures of each pair: effects of both, and what pairs of kinds (of three each) add."""
    from recombine_lab.tasks.digit_images import pool as digit_pool  # noqa: PLC0415 - torch

    values = grid(10, 10)
    kinds = rng.integers(0, 3, size=(2, 10))
    truth = rng.standard_normal(10)[values[:, 0]] + rng.standard_normal(10)[values[:, 1]]
    truth = truth + 0.7 * rng.standard_normal((3, 3))[kinds[0][values[:, 0]], kinds[1][values[:, 1]]]
    images = digit_pool("synthetic" if smoke else "mnist", "train")
    starts, counts = images.starts.numpy(), images.counts.numpy()
    shown = np.repeat(values, 4, axis=0)
    picked = starts[shown] + (rng.random(shown.shape) * counts[shown]).astype(np.int64)
    pixels = images.images.numpy()[picked].reshape(len(shown), 2, 14, 2, 14, 2).mean(axis=(3, 5))
    answers = np.repeat(truth[:, None], 4, axis=1) + 0.1 * rng.standard_normal((len(truth), 4))
    one, other = (pixel_kernels(pixels[:, side].reshape(len(shown), -1) / 255)[1] for side in range(2))
    return _of_values(values, truth, answers=answers, learner=(one + other, one + other + 2 * one * other))


def sprites(rng: np.random.Generator, *, smoke: bool) -> dict[str, Any]:  # noqa: ARG001 - they are drawn, not read
    """A shape, its hue, size and place; two pictures of each: effects of all, and of shape with hue."""
    import torch  # noqa: PLC0415

    from recombine_lab.tasks.sprites import Renderer  # noqa: PLC0415

    values = grid(3, 6, 4, 2)
    parts = [rng.standard_normal(size)[values[:, k]] for k, size in enumerate((3, 6, 4, 2))]
    truth = np.sum(parts, axis=0) + 0.7 * rng.standard_normal((3, 6))[values[:, 0], values[:, 1]]
    shown = np.repeat(values, 3, axis=0)
    drawn = np.stack(
        [
            0.4 + 0.2 * shown[:, 3] + 0.01 * rng.standard_normal(len(shown)),
            0.5 + 0.01 * rng.standard_normal(len(shown)),
            shown[:, 0],
            0.2 + 0.1 * shown[:, 2] + 0.01 * rng.standard_normal(len(shown)),
            0.05 + 0.16 * shown[:, 1] + 0.01 * rng.standard_normal(len(shown)),
        ],
        axis=1,
    )
    renderer = Renderer(size=16, composition="soft_occlusion", channels=3)
    pixels = renderer.pictures(torch.tensor(drawn[:, None], dtype=torch.float32)).numpy().reshape(len(shown), -1)
    answers = np.repeat(truth[:, None], 3, axis=1) + 0.1 * rng.standard_normal((len(truth), 3))
    return _of_values(values, truth, answers=answers, learner=pixel_kernels(pixels.astype(float)))


def _table(values: npt.NDArray[np.int64], truth: Numbers, rng: np.random.Generator) -> dict[str, Any]:
    answers = truth[:, None] + 0.1 * truth.std() * rng.standard_normal((len(truth), 1))
    return _of_values(values, truth, answers=answers, learner=table_kernels(values))


def one_pair(rng: np.random.Generator, *, smoke: bool) -> dict[str, Any]:  # noqa: ARG001
    """A table of four factors that add up, but for one pair of them."""
    values = grid(6, 5, 4, 3)
    parts = [rng.standard_normal(size)[values[:, k]] for k, size in enumerate((6, 5, 4, 3))]
    return _table(values, np.sum(parts, axis=0) + rng.standard_normal((6, 5))[values[:, 0], values[:, 1]], rng)


def gated(rng: np.random.Generator, *, smoke: bool) -> dict[str, Any]:  # noqa: ARG001
    """A table of three factors: the first says which of the others counts."""
    values = grid(8, 6, 6)
    gate = rng.permutation(8) < 4
    first, second, third = (rng.standard_normal(size)[values[:, k]] for k, size in enumerate((8, 6, 6)))
    return _table(values, np.where(gate[values[:, 0]], second, third) + 0.3 * first, rng)


def _sets(number: int, sizes: Sequence[int], rule: Callable[[Numbers], Numbers], rng: np.random.Generator) -> Any:
    every = [one for size in sizes for one in itertools.combinations(range(number), size)]
    codes = np.zeros((len(every), number))
    for place, one in enumerate(every):
        codes[place, list(one)] = 1
    truth = rule(codes)
    names = tuple(f"e{place:02d}" for place in range(number))
    kernels = tuple(counted(codes @ codes.T, orders) for orders in ORDERS)
    return {
        "names": {"given": [[names[element] for element in one] for one in every]},
        "codes": codes,
        "truth": truth,
        "answers": truth[:, None] + 0.1 * truth.std() * rng.standard_normal((len(truth), 1)),
        "learner": kernels,
        "kernels": kernels,
        "elements": names,
    }


def genes(rng: np.random.Generator, *, smoke: bool) -> dict[str, Any]:  # noqa: ARG001
    """Sets of one to three of eleven: effects that add up, and a fifth of the pairs of five of them act together."""
    own = rng.standard_normal(11)
    pairs = np.triu(rng.standard_normal((11, 11)) * (rng.random((11, 11)) < 0.2), 1)
    return _sets(11, (1, 2, 3), lambda x: x @ own + np.einsum("ni,nj,ij->n", x, x, 1.5 * pairs), rng)


def groups(rng: np.random.Generator, *, smoke: bool) -> dict[str, Any]:  # noqa: ARG001
    """Sets of two or three of thirteen in four groups: of a group only the strongest counts."""
    own, group = np.abs(rng.standard_normal(13)) + 0.2, rng.integers(0, 4, size=13)
    return _sets(
        13, (2, 3), lambda x: np.sum([(x * own * (group == one)).max(axis=1) for one in range(4)], axis=0), rng
    )


TASKS: dict[str, Callable[..., dict[str, Any]]] = {
    "pictures: digits": digits,
    "pictures: sprites": sprites,
    "table: one pair": one_pair,
    "table: gated": gated,
    "sets: pairs act": genes,
    "sets: groups": groups,
}


def worlds(task: str, seeds: Sequence[int], *, smoke: bool) -> Iterator[World]:
    """The same task with other answers."""
    for seed in seeds:
        rng = np.random.default_rng([seed, list(TASKS).index(task)])
        made = TASKS[task](rng, smoke=smoke)
        total = len(made["truth"])
        yield World(
            **made,
            seed=seed,
            batch=0.2 if smoke else BATCH,
            held=np.sort(rng.permutation(total)[: round(ASIDE * total)]),
        )


def middle(found: Numbers, draws: int = 2000) -> tuple[float, float, float]:
    """A median and its 95 % bootstrap interval over seeds."""
    rng = np.random.default_rng(0)
    drawn = np.median(found[rng.integers(0, len(found), size=(draws, len(found)))], axis=1)
    low, high = np.quantile(drawn, [0.025, 0.975])
    return float(np.median(found)), float(low), float(high)


def summary(runs: Sequence[dict[str, tuple[float, bool]]]) -> dict[str, Any]:
    """Shares of the pool, the best static order, and the loop against it and against random."""
    shares = {policy: np.array([run[policy][0] for run in runs]) for policy in runs[0]}
    told: dict[str, Any] = {policy: middle(mine) for policy, mine in shares.items()}
    best = min(STATIC, key=lambda policy: told[policy][0])
    told |= {"best static": best, "censored": {p: sum(not run[p][1] for run in runs) for p in runs[0]}}
    told["to random"] = middle(shares["the loop"] / shares["random"])
    told["static to random"] = middle(shares[best] / shares["random"])
    return told | {"to best static": middle(shares["the loop"] / shares[best])}


def main() -> None:
    """All tasks."""
    parser = options(__doc__)
    parser.add_argument("--first", type=int, default=100, help="the first seed")
    parser.add_argument("--seeds", type=int, default=10, help="how many")
    parser.add_argument("--only", help="a task, by the beginning of its name")
    given = parser.parse_args()
    seeds = range(given.first, given.first + (1 if given.smoke else given.seeds))
    told: dict[str, Any] = {}
    for task in TASKS:
        if given.only and not task.startswith(given.only):
            continue
        runs = [measured(world) for world in worlds(task, seeds, smoke=given.smoke)]
        told[task] = summary(runs) | {"runs": runs}
        policies = ("random", *STATIC, *LOOPS)
        print(f"\n{task}; wanted {told[task]['wanted'][0]:.2f}, best static: {told[task]['best static']}", flush=True)
        table(
            ["share of the pool", "median", "from", "to", "never there"],
            [[p, *(f"{one:.2f}" for one in told[task][p]), told[task]["censored"][p]] for p in policies],
        )
        for name in ("to random", "static to random", "to best static"):
            print(name, *(f"{one:.2f}" for one in told[task][name]))
    held = sum(one["to random"][0] <= 0.7 for one in told.values())
    worse = sum(one["to best static"][0] > 1.1 for one in told.values())
    print(f"\n30 % fewer than random on {held} of {len(told)}; above the best static by 10 % on {worse}")
    write("collect_loop", given, told)


if __name__ == "__main__":
    main()
