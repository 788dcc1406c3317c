"""Can the rule that puts parts together be read off seen combinations? A hypothesis, and its test.

    python benchmarks/composition_fit.py         # nine rules, seeds 100 to 119: about nine minutes of processor time
    python benchmarks/composition_fit.py --first 0 --seeds 8     # those it was written with
    python benchmarks/composition_fit.py --smoke

A world has two or three parts of 6 to 12 values, each with a vector of 2 to 4 numbers or a picture of 3 x 6 x 6 pixels;
32 to 200 combinations are seen, without noise, or three rows each with noise of .1 or .3 of the wholes' spread. Vectors
are put together after a random linear map of each part into 4, 8 or 16 numbers, pictures pixel by pixel.

Five rules are those that `recombine_lab.probes.fit_composition` knows. Four are none of them: the larger of the parts,
a random network of both, signs that multiply (a mixture of exclusive ors), products shuffled over the combinations.

The hypothesis: it names the right rule in 90 % of the worlds of the five, and none in 90 % of the others.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from measure import options, table, write
from recombine.numerics.intervals import exact_share_interval
from recombine_lab.probes import fit_composition

Numbers = npt.NDArray[np.float64]
NONE = "none of these"
SIDE = 6


@dataclass(frozen=True, eq=False)
class Parts:
    """What each part looks like in every row, and its image in the space of the whole; masks are between 0 and 1."""

    raw: Sequence[Numbers]
    image: Sequence[Numbers]
    mask: Sequence[Numbers]
    gate: Sequence[Numbers]
    shape: tuple[int, ...]


def sigmoid(given: Numbers) -> Numbers:
    """Between 0 and 1."""
    return np.asarray(1 / (1 + np.exp(-given)))


def blobs(count: int, rng: np.random.Generator) -> Numbers:
    """Pictures of one soft spot in a colour."""
    rows, columns = np.mgrid[0:SIDE, 0:SIDE] / (SIDE - 1)
    place, colour, size = rng.random((count, 2, 1, 1)), rng.random((count, 3, 1, 1)), rng.uniform(0.15, 0.35, count)
    apart = (rows - place[:, 0]) ** 2 + (columns - place[:, 1]) ** 2
    return np.asarray(colour * np.exp(-apart / (2 * size[:, None, None] ** 2))[:, None])


def of_pictures(raw: Sequence[Numbers]) -> Parts:
    """Pixels as they are; a front covers where its channels are bright."""
    masks = [sigmoid(6 * (one.sum(1, keepdims=True) - 1)) for one in raw]
    return Parts(raw, raw, masks, [sigmoid(8 * (one - 0.3)) for one in raw], (3, SIDE, SIDE))


def of_vectors(raw: Sequence[Numbers], outputs: int, rng: np.random.Generator) -> Parts:
    """Random linear maps of each part."""

    def mapped(size: float, shift: float) -> list[Numbers]:
        wide = [one @ rng.standard_normal((one.shape[1], outputs)) * size / one.shape[1] ** 0.5 for one in raw]
        return [one + shift * rng.standard_normal(outputs) for one in wide]

    images = mapped(1, 0.5)
    return Parts(raw, images, [sigmoid(one) for one in mapped(3, 0)], [sigmoid(3 * one) for one in images], (outputs,))


def occlusion(parts: Parts, rng: np.random.Generator) -> Numbers:  # noqa: ARG001
    """The first part in front."""
    whole = parts.image[-1]
    for image, mask in zip(parts.image[-2::-1], parts.mask[-2::-1], strict=True):
        whole = mask * image + (1 - mask) * whole
    return whole


def low_rank(parts: Parts, rng: np.random.Generator) -> Numbers:
    """Two or three products, spread over the outputs."""
    rank = int(rng.integers(2, 4))
    heads = [one @ rng.standard_normal((one.shape[1], rank)) + 0.3 * rng.standard_normal(rank) for one in parts.raw]
    return np.asarray(np.prod(heads, axis=0) @ rng.standard_normal((rank, *parts.shape)))


def network(parts: Parts, rng: np.random.Generator) -> Numbers:
    """Two layers, far from linear."""
    both = np.concatenate([one.reshape(len(one), -1) for one in parts.raw], axis=1)
    both = (both - both.mean(axis=0)) / (both.std(axis=0) + 1e-9)
    width, outputs = both.shape[1], int(np.prod(parts.shape))
    first = np.tanh(2 * both @ rng.standard_normal((width, 32)) / width**0.5 + rng.standard_normal(32))
    second = np.tanh(1.5 * first @ rng.standard_normal((32, 32)) / 32**0.5)
    return np.asarray(second @ rng.standard_normal((32, outputs))).reshape(-1, *parts.shape)


def signs(parts: Parts, rng: np.random.Generator) -> Numbers:
    """On which side of a plane each part lies, multiplied (an exclusive or); eight of them are mixed."""
    whole = np.zeros((len(parts.raw[0]), *parts.shape))
    for _ in range(8):
        product = np.ones(len(whole))
        for one in parts.raw:
            flat = one.reshape(len(one), -1)
            side = flat @ rng.standard_normal(flat.shape[1])
            product = product * np.where(side > np.median(side), 1, -1)
        whole += product.reshape(-1, *[1] * len(parts.shape)) * rng.standard_normal(parts.shape)
    return whole


RULES: dict[str, Callable[[Parts, np.random.Generator], Numbers]] = {
    "addition": lambda parts, _: np.sum(parts.image, axis=0),
    "product": lambda parts, _: np.prod(parts.image, axis=0),
    "gating": lambda parts, _: parts.gate[0] * np.sum(parts.image[1:], axis=0),
    "occlusion": occlusion,
    "low rank": low_rank,
    "the larger": lambda parts, _: np.max(parts.image, axis=0),
    "a network": network,
    "signs": signs,
    "shuffled": lambda parts, rng: rng.permutation(np.prod(parts.image, axis=0)),
}
KNOWN = tuple(RULES)[:5]


def asked(rule: str, seed: int) -> dict[str, Any]:
    """What is found in one world, and what world it was."""
    rng = np.random.default_rng([seed, list(RULES).index(rule)])
    count = int(rng.choice([2, 2, 3]))
    values = rng.integers(8, 13, 2) if count == 2 else rng.integers(6, 8, 3)
    size, outputs, noise = int(rng.integers(2, 5)), int(rng.choice([4, 8, 16])), float(rng.choice([0, 0.1, 0.3]))
    pictures = rule != "low rank" and rng.random() < 0.35
    grid = np.stack(np.meshgrid(*map(range, values), indexing="ij"), axis=-1).reshape(-1, count)
    seen = rng.permutation(grid)[: min(int(rng.uniform(0.5, 0.8) * len(grid)), 200)]
    looks = [blobs(one, rng) if pictures else rng.standard_normal((one, size)) for one in values]
    raw = [one[seen[:, part]] for part, one in enumerate(looks)]
    outputs = max(outputs, 8) if rule == "low rank" else outputs
    whole = RULES[rule](of_pictures(raw) if pictures else of_vectors(raw, outputs, rng), rng)
    rows = np.repeat(np.arange(len(seen)), 3 if noise else 1)
    noisy = whole[rows] + noise * whole.std() * rng.standard_normal(whole[rows].shape)
    found = fit_composition(
        {f"part {part}": dict(enumerate(one)) for part, one in enumerate(looks)},
        {f"part {part}": seen[rows, part] for part in range(count)},
        noisy,
        seed=seed,
    )
    world = {"parts": count, "pictures": pictures, "noise": noise, "combinations": len(seen), "outputs": outputs}
    r2 = {one.name: [one.r2, one.low, one.high] for one in found.families}
    right = found.name == (rule if rule in KNOWN else NONE)
    return {"seed": seed, "found": found.name, "right": right, "explained": found.explained, "r2": r2, "world": world}


def shares(told: Sequence[dict[str, Any]]) -> tuple[int, int, float, float]:
    """How many are right, of how many, and the interval of the share."""
    right = sum(one["right"] for one in told)
    return right, len(told), *exact_share_interval(right, len(told))


def main() -> None:
    """All rules."""
    parser = options(__doc__)
    parser.add_argument("--first", type=int, default=100, help="the first seed")
    parser.add_argument("--seeds", type=int, default=20, help="how many")
    parser.add_argument("--only", nargs="*", default=list(RULES), help="some of the rules")
    given = parser.parse_args()
    torch.set_num_threads(1)
    first = 0 if given.smoke else given.first
    seeds = range(first, first + (1 if given.smoke else given.seeds))
    told: dict[str, list[dict[str, Any]]] = {}
    rows: list[list[Any]] = []
    for rule in given.only:
        told[rule] = [asked(rule, seed) for seed in seeds]
        right, count, low, high = shares(told[rule])
        said = ", ".join(f"{name} {times}" for name, times in Counter(one["found"] for one in told[rule]).most_common())
        explained = sorted(one["explained"] for one in told[rule])
        rows.append([rule, right, count, f"{low:.2f}", f"{high:.2f}", explained[0], explained[-1], said])
        print(*rows[-1], flush=True)
    table(["planted", "right", "of", "from", "to", "least explained", "most", "found"], rows)
    known = shares([one for rule in KNOWN for one in told.get(rule, [])])
    none = shares([one for rule in given.only if rule not in KNOWN for one in told[rule]])
    table(["worlds", "right", "of", "from", "to"], [["the rule is known", *known], ["it is none", *none]])
    write("composition_fit", given, {"known": known, "none": none, "worlds": told})


if __name__ == "__main__":
    main()
