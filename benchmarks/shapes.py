"""An L or a stair: which of two equally small plans serves which learner.

    python benchmarks/shapes.py [--networks 60]

Everything of a 5 x 5 grid can be worked out from nine combinations, whether these are a row and a column (L) or a walk
along the diagonal (stair). Answers are sums of one random effect for each value (standard normal), or of effects that
rise evenly; the error is the mean square over the 16 unseen combinations, of effects' own 1.6 in the mean.

- least squares: an exactly additive fit, whose error is noise times leverage
- kernels: `relu:d`, the network of d hidden layers, infinitely wide, in closed form
- networks: d hidden layers of 64 units, trained to the end by Adam; L less stair, with two standard errors (torch)

The second table plans for random tables of some islands, with the lines spread over the values and without.

The third is an hour of a robot's: objects by surfaces, of which one combination was recorded; a take costs 4 minutes,
another object 0.5, another surface 5 or 20. Stair, L and diagonal are walked along as Gao et al. (RSS 2024) do, ours
is `plan` for "leverage" and for "determined" with these change-over costs; each is cut where its hour ends. Told are
the lines that fit, the share of the grid that follows if effects add up, and the error on what was not recorded, where
a combination that does not follow is answered by the least-norm fit.
"""

import argparse
import itertools
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from recombine import plan
from recombine.base.progress import silent
from recombine.data.space import Factor, Space
from recombine.data.support import Support
from recombine.verbs.plan.collectable import Collectable, Costs, add_combinations
from recombine.verbs.plan.goal_determined import plan_determined
from recombine.verbs.plan.shot_list import walk_cost
from recombine.verbs.predict.kernel.salience_fit import resolve
from recombine.verbs.predict.kernel.solver import kernel

SIDE = 5
L = [(0, j) for j in range(SIDE)] + [(i, 0) for i in range(1, SIDE)]
STAIR = [(i, i) for i in range(SIDE)] + [(i, i + 1) for i in range(SIDE - 1)]
Numbers = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int32]


def support_of(codes: Codes, sizes: tuple[int, ...]) -> Support:
    """A support that holds these combinations once each."""
    factors = tuple(Factor(f"f{k}", tuple(range(size))) for k, size in enumerate(sizes))
    codes = np.asarray(codes, dtype=np.int32)
    codes = codes[np.lexsort(codes.T[::-1])]
    return Support(Space(factors), np.asfortranarray(codes), np.ones(len(codes)), rows=len(codes))


def split(seen: Codes, sizes: tuple[int, ...]) -> tuple[Codes, Codes]:
    """What was seen, and all the rest of the grid."""
    held = {tuple(row) for row in np.asarray(seen).tolist()}
    every = np.array(list(itertools.product(*map(range, sizes))), dtype=np.int32)
    return np.asarray(seen, dtype=np.int32), every[[tuple(row) not in held for row in every.tolist()]]


def one_hot(codes: Codes, sizes: tuple[int, ...]) -> Numbers:
    """A column for each value."""
    return np.hstack([np.eye(size)[codes[:, k]] for k, size in enumerate(sizes)])


def least_squares(seen: Codes, sizes: tuple[int, ...], noise: float) -> float:
    """The mean square error of an exactly additive fit: noise times leverage."""
    known, rest = split(seen, sizes)
    smoother = one_hot(rest, sizes) @ np.linalg.pinv(one_hot(known, sizes))
    return float(noise**2 * (smoother**2).sum() / len(rest))


def by_kernel(seen: Codes, sizes: tuple[int, ...], salience: str, noise: float) -> float:
    """The mean square error of a kernel's interpolation, over random effects and noise, in closed form."""
    known, rest = split(seen, sizes)
    weights = resolve(salience, support_of(known, sizes), seed=0).weights
    smoother = np.linalg.solve(kernel(known, known, weights), kernel(known, rest, weights)).T
    bias = smoother @ one_hot(known, sizes) - one_hot(rest, sizes)
    return float(((bias**2).sum() + noise**2 * (smoother**2).sum()) / len(rest))


def by_networks(seen: Codes, depth: int, noise: float, number: int, *, even: bool) -> Numbers:
    """The mean square error of trained networks, each with effects of its own."""
    import torch  # noqa: PLC0415 - the other figures need no framework

    sizes = (SIDE, SIDE)
    known, rest = split(seen, sizes)
    rng = np.random.default_rng(1)
    effects = rng.standard_normal((number, 2 * SIDE))
    if even:
        effects[:] = np.tile(np.linspace(-1.4, 1.4, SIDE), 2)
    told = torch.tensor(effects @ one_hot(known, sizes).T + noise * rng.standard_normal((number, len(known)))).float()
    generator = torch.Generator().manual_seed(1)
    layers = list(itertools.pairwise([2 * SIDE, *[64] * depth, 1]))
    weights = [torch.randn(number, a, b, generator=generator).mul((2 / a) ** 0.5).requires_grad_() for a, b in layers]
    biases = [torch.zeros(number, 1, b, requires_grad=True) for _, b in layers]

    def answer(codes: Codes) -> "torch.Tensor":
        hidden = torch.tensor(one_hot(codes, sizes)).float().expand(number, -1, -1)
        for place, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
            hidden = torch.baddbmm(bias, hidden if place == 0 else torch.relu(hidden), weight)
        return hidden[..., 0]

    optimiser = torch.optim.Adam([*weights, *biases], lr=1e-3)
    for _ in range(1500):
        optimiser.zero_grad()
        ((answer(known) - told) ** 2).mean(dim=1).sum().backward()
        optimiser.step()
    found = answer(rest).detach().numpy() - effects @ one_hot(rest, sizes).T
    return np.asarray((found**2).mean(axis=1))


def islands(number: int) -> Iterator[Support]:
    """Random tables of two factors that fall into some islands."""
    for seed in range(number):
        rng = np.random.default_rng(seed)
        size = int(rng.integers(5, 9))
        part = rng.integers(0, int(rng.integers(2, size)), size=(2, size))
        every = np.array(list(itertools.product(range(size), repeat=2)), dtype=np.int32)
        inside = every[part[0][every[:, 0]] == part[1][every[:, 1]]]
        if len(inside):
            yield support_of(inside[rng.random(len(inside)) < 0.7], (size, size))


def planned(support: Support, *, spread: bool) -> Codes:
    """What a plan leaves seen, once it is carried out."""
    collectable = Collectable(support, Costs.of(None, support.space))
    choice = plan_determined(collectable, budget=None, seed=0, tell=silent, spread=spread)
    return np.asarray(add_combinations(support, choice.codes).codes)


def shapes(networks: int) -> None:
    """The grid of five by five."""
    print(f"{'learner':<28}{'noise':>6}{'L':>9}{'stair':>9}")
    for noise in (0.5, 1.0):
        first, second = (least_squares(np.array(one), (SIDE, SIDE), noise) for one in (L, STAIR))
        print(f"{'least squares':<28}{noise:>6}{first:>9.2f}{second:>9.2f}")
    for depth, noise in itertools.product((1, 2, 3, 5), (0.0, 0.5)):
        first, second = (by_kernel(np.array(one), (SIDE, SIDE), f"relu:{depth}", noise) for one in (L, STAIR))
        print(f"{f'kernel of {depth} layers':<28}{noise:>6}{first:>9.2f}{second:>9.2f}")
    for even, depth, noise in itertools.product((False, True), (1, 2, 3) if networks else (), (0.0, 0.5)):
        one, other = (by_networks(np.array(c), depth, noise, networks, even=even) for c in (L, STAIR))
        apart = one - other
        said = f"{apart.mean():+.2f} ± {2 * apart.std() / networks**0.5:.2f}"
        name = f"networks of {depth}, {'even' if even else 'random'}"
        print(f"{name:<28}{noise:>6}{one.mean():>9.2f}{other.mean():>9.2f}   {said}")


def tables(number: int) -> None:
    """Random tables: how often the spread plan is better, and by how much in the mean."""
    print(f"\n{'learner':<28}{'noise':>6}{'not spread':>12}{'spread':>9}{'better in':>11}")
    ways = [("least squares", 0.5), *itertools.product(("relu:1", "relu:2", "relu:3", "relu:5"), (0.0, 0.5))]
    found: dict[tuple[str, float], list[tuple[float, float]]] = {way: [] for way in ways}
    for support in islands(number):
        if not len(support):
            continue
        seen = [planned(support, spread=spread) for spread in (False, True)]
        if len(seen[0]) == support.space.size:
            continue
        for name, noise in ways:
            sizes = support.space.sizes
            pair = [
                least_squares(c, sizes, noise) if name == "least squares" else by_kernel(c, sizes, name, noise)
                for c in seen
            ]
            found[name, noise].append((pair[0], pair[1]))
    for (name, noise), pairs in found.items():
        one, other = np.array(pairs).T
        better = float((other < one - 1e-9).mean())
        print(f"{name:<28}{noise:>6}{one.mean():>12.3f}{other.mean():>9.3f}{better:>10.0%} of {len(one)}")


def collected(sizes: tuple[int, ...], changes: dict[str, float], hour: float, take: float) -> dict[str, Codes]:
    """What each strategy records beside the first combination, cut where the hour ends."""
    rows, columns = sizes
    short = min(sizes)
    walks = {
        "L": [(0, j) for j in range(columns)] + [(i, 0) for i in range(1, rows)],
        "stair": [(i, j) for i in range(rows) for j in (i, i + 1) if j < columns],
        "diagonal": [(i, i) for i in range(short)],
    }
    seen = np.zeros((1, 2), dtype=np.int32)
    costs = np.array(list(changes.values()))
    found = {}
    for name, walk in walks.items():
        codes = np.array(walk, dtype=np.int32)
        codes = codes[(codes != 0).any(axis=1)]
        paid = np.cumsum(take + walk_cost(codes, costs))
        found[name] = np.concatenate([seen, codes[paid <= hour]])
    support = support_of(seen, sizes)
    for goal in ("determined", "leverage"):
        choice = plan(support, goal=goal, budget=hour, costs=[{"cost": take}], change_over=changes)
        table = choice.table.select(list(changes)).to_pylist()
        found[f"plan, {goal}"] = np.concatenate(
            [seen, np.array([[row[name] for name in changes] for row in table], dtype=np.int32).reshape(-1, 2)]
        )
    return found


def collection(hour: float = 60.0, take: float = 4.0, noise: float = 0.5) -> None:
    """The hours of a robot: several sizes of grids, and dear or cheap surfaces."""
    print(f"\n{'grid, a surface':<18}{'strategy':<18}{'lines':>6}{'follow':>8}{'least squares':>15}{'relu:3':>8}")
    for sizes, surface in itertools.product(((5, 5), (4, 8), (8, 8)), (5.0, 20.0)):
        changes = {"f0": surface, "f1": 0.5}
        for name, codes in collected(sizes, changes, hour, take).items():
            rest = split(codes, sizes)[1]
            design, asked = one_hot(codes, sizes), one_hot(rest, sizes)
            smoother = asked @ np.linalg.pinv(design)
            bias = smoother @ design - asked
            follow = float((np.abs(bias).max(axis=1) < 1e-8).mean())
            error = float(((bias**2).sum() + noise**2 * (smoother**2).sum()) / len(rest))
            network = by_kernel(codes, sizes, "relu:3", noise)
            grid = f"{sizes[0]} x {sizes[1]}, {surface:g}"
            print(f"{grid:<18}{name:<18}{len(codes) - 1:>6}{follow:>8.0%}{error:>15.2f}{network:>8.2f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", type=int, default=60, help="how many networks of each kind; 0 for none")
    parser.add_argument("--tables", type=int, default=200)
    asked = parser.parse_args()
    if asked.networks or asked.tables:
        shapes(asked.networks)
        tables(asked.tables)
    collection()
