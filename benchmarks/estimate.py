"""Weights estimated from the answers: are they the right ones, and do the intervals that follow hold what they promise?

Tables are drawn from the model with known weights: an effect for every conjunction, some of the combinations seen, a
few examples of each. Shown, over many draws: the mean and the spread of each estimated weight beside the true one,
and how many of the unseen combinations lie in their 95 % interval — with the estimated weights, and with the true ones
as a control. Goal: between 90 and 97 %.

Then the time that one estimate takes, and what is lost where a table is too large for one likelihood: parts that hold
every combination among some values, beside as many combinations taken at random.
"""

import itertools
import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

import measure
from recombine import Factor, Space, Support
from recombine.data.support import NumberTarget
from recombine.verbs.predict.kernel import salience_fit as module
from recombine.verbs.predict.kernel.salience_fit import MOST, estimate

BAND = (0.90, 0.97)
NORMAL = 1.959964


@dataclass(frozen=True)
class Model:
    """Tables to draw: each set of factors has a weight, by bit mask."""

    name: str
    sizes: tuple[int, ...]
    seen: int
    weights: tuple[float, ...]
    noise: float = 0.0
    examples: int = 1  # at most, of one combination


TWO = (0.0, 1.0, 0.5, 0.3)
THREE = (0.0, 0.6, 0.4, 0.2, 0.4, 0.15, 0.15, 0.3)
FOUR = tuple([0.0] + [0.2] * 14 + [0.3])
RECOVERED = (
    Model("30 x 30, 40 % seen", (30, 30), 360, TWO),
    Model("30 x 30, 40 % seen, 1-3 noisy examples", (30, 30), 360, TWO, 0.5, 3),
    Model("12 x 12 x 12, 30 % seen", (12, 12, 12), 518, THREE),
)
TIMED = (
    Model("n=300, K=2", (30, 30), 300, TWO),
    Model("n=300, K=3", (10, 10, 10), 300, THREE),
    Model("n=1,000, K=3", (16, 16, 16), 1_000, THREE),
    Model("n=1,200, K=3", (25, 25, 25), 1_200, THREE),
    Model("n=1,200, K=4", (8, 8, 8, 8), 1_200, FOUR),
    Model("n=1,500, K=3", (16, 16, 16), 1_500, THREE),
    Model("n=100,000, K=2", (500, 500), 100_000, TWO),
    Model("n=20,000, K=3, in parts", (40, 40, 40), 20_000, THREE),
)
PARTED = Model("n=20,000, K=3", (40, 40, 40), 20_000, THREE)


@dataclass(frozen=True)
class Drawn:
    """A table, and the truth of the whole grid behind it."""

    support: Support
    cells: np.ndarray
    truth: np.ndarray
    seen: np.ndarray


def draw(model: Model, seed: int) -> Drawn:
    """One table of the model."""
    rng = np.random.default_rng(seed)
    cells = np.array(list(itertools.product(*map(range, model.sizes))), dtype=np.int32)
    truth = np.full(len(cells), 10.0)
    for mask, weight in enumerate(model.weights):
        truth += math.sqrt(weight) * effects(cells, mask, rng)
    seen = np.sort(rng.permutation(len(cells))[: model.seen])
    counts = rng.integers(1, model.examples + 1, len(seen)).astype(float)
    means = truth[seen] + rng.normal(size=len(seen)) * np.sqrt(model.noise / counts)
    within = model.noise * np.array([rng.chisquare(count - 1) if count > 1 else 0.0 for count in counts])
    target = NumberTarget("y", counts, means * counts, means**2 * counts + within)
    space = Space(tuple(Factor(f"f{k}", tuple(range(size)), declared=True) for k, size in enumerate(model.sizes)))
    support = Support(space, np.asfortranarray(cells[seen]), counts, target, rows=int(counts.sum()))
    return Drawn(support, cells, truth, seen)


def effects(cells: np.ndarray, mask: int, rng: np.random.Generator) -> np.ndarray:
    """One standard normal number for each conjunction of a set of factors."""
    chosen = [k for k in range(cells.shape[1]) if mask >> k & 1]
    _, ids = np.unique(cells[:, chosen], axis=0, return_inverse=True) if chosen else (None, np.zeros(len(cells), int))
    ids = ids.ravel()
    return rng.normal(size=ids.max() + 1)[ids]


def kernel(one: np.ndarray, other: np.ndarray, weights: tuple[float, ...]) -> np.ndarray:
    """The sum of the weights of the sets on which two combinations agree; the constant's left out."""
    agree = [one[:, None, k] == other[None, :, k] for k in range(one.shape[1])]
    total = np.zeros((len(one), len(other)))
    for mask in range(1, len(weights)):
        together = np.logical_and.reduce([agree[k] for k in range(len(agree)) if mask >> k & 1])
        total += weights[mask] * together
    return total


def covered(drawn: Drawn, weights: tuple[float, ...], noise: float) -> float:
    """The share of the unseen combinations that lie in their 95 % interval; the constant is estimated along."""
    target = drawn.support.target
    assert isinstance(target, NumberTarget)
    unseen = np.setdiff1d(np.arange(len(drawn.cells)), drawn.seen)
    seen = drawn.cells[drawn.seen]
    covariance = kernel(seen, seen, weights) + np.diag(noise / target.count)
    across = kernel(drawn.cells[unseen], seen, weights)
    answers = target.total / target.count
    solved = np.linalg.solve(covariance, np.column_stack([np.ones(len(seen)), answers, across.T]))
    ones, pulled = solved[:, 0], solved[:, 2:]
    constant = ones @ answers / ones.sum()
    mean = constant + across @ (solved[:, 1] - constant * ones)
    variance = sum(weights[1:]) - np.einsum("un,nu->u", across, pulled) + (1 - pulled.sum(axis=0)) ** 2 / ones.sum()
    return float((np.abs(drawn.truth[unseen] - mean) <= NORMAL * np.sqrt(variance)).mean())


def recovery(model: Model, draws: int) -> dict[str, Any]:
    """The estimated weights and the coverage over many draws."""
    weights, coverage, control, noise = [], [], [], []
    for seed in range(draws):
        drawn = draw(model, seed)
        fitted = estimate(drawn.support)
        weights.append(fitted.weights[1:])
        noise.append(fitted.noise)
        coverage.append(covered(drawn, fitted.weights, fitted.noise))
        control.append(covered(drawn, model.weights, model.noise))
    found, true = np.array(weights), np.array(model.weights[1:])
    mean, sd = found.mean(axis=0), found.std(axis=0, ddof=1)
    columns = (true, mean, mean - true, sd / math.sqrt(draws), sd, (found <= 1e-5).mean(axis=0))
    rows = [(set_name(place + 1), *map(float, row)) for place, row in enumerate(zip(*columns, strict=True))]
    print(f"\n{model.name}: {draws} draws")
    measure.table(("weight", "true", "mean", "bias", "± error", "sd", "at zero"), rows)
    print(f"  noise: true {model.noise}, mean {np.mean(noise):.3f}")
    inside, known = np.mean(coverage), np.mean(control)
    print(f"  in the 95 % interval: {inside:.1%}, sd {np.std(coverage):.1%}; with the true weights {known:.1%}")
    if not BAND[0] <= inside <= BAND[1]:
        raise SystemExit(f"the coverage is not between {BAND[0]:.0%} and {BAND[1]:.0%}")
    return {"weights": rows, "coverage": float(inside), "control": float(known)}


def set_name(mask: int) -> str:
    """1, 2, 1x2 …"""
    return "x".join(str(k + 1) for k in range(mask.bit_length()) if mask >> k & 1)


def timing(model: Model, rounds: int) -> tuple[str, float, float, str]:
    """The median time of one estimate, and its processor time: other people's load hardly moves that."""
    support = draw(model, 0).support
    seconds, processor = [], []
    for _ in range(rounds):
        started, started_cpu = time.perf_counter(), time.process_time()
        note = estimate(support).note
        seconds.append(time.perf_counter() - started)
        processor.append(time.process_time() - started_cpu)
    said = note.partition(";")[0] if "estimated from" in note else "the whole table"
    return model.name, float(np.median(seconds)), float(np.median(processor)), said


def parts(model: Model, draws: int, most: int) -> dict[str, Any]:
    """Relative errors where the weights come from parts of the table."""
    found: dict[str, list[tuple[float, ...]]] = {"some values, all among them": [], "combinations at random": []}
    kept = module.parts_of
    for seed in range(draws):
        support = draw(model, seed).support
        found["some values, all among them"].append(estimate(support, seed=seed, most=most).weights[1:])
        module.parts_of = at_random
        found["combinations at random"].append(estimate(support, seed=seed, most=most).weights[1:])
        module.parts_of = kept
    true = np.array(model.weights[1:])
    errors = {name: np.sqrt(((np.array(w) - true) ** 2).mean(axis=0)) / true for name, w in found.items()}
    print(f"\n{model.name}, at most {most:,} unknowns: relative error of each weight, {draws} draws")
    header = ("parts", *(set_name(mask) for mask in range(1, len(true) + 1)))
    measure.table(header, [(name, *map(float, error)) for name, error in errors.items()])
    return {name: error.tolist() for name, error in errors.items()}


def at_random(codes: np.ndarray, _: tuple[int, ...], *, parts: int, most: int, seed: int) -> list[np.ndarray]:
    """As many parts of as many combinations, whichever come."""
    chance = np.random.default_rng(seed)
    return [np.sort(chance.permutation(len(codes))[:most]) for _ in range(parts)]


def main() -> None:
    """Run it."""
    parser = measure.options(__doc__)
    parser.add_argument("--draws", type=int, help="tables drawn for each model (default: 200)")
    given = parser.parse_args()
    draws = given.draws or (8 if given.smoke else 200)
    found: dict[str, Any] = {"recovery": {m.name: recovery(m, draws) for m in RECOVERED[: 2 if given.smoke else None]}}
    print()
    times = [timing(model, 1 if given.smoke else 5) for model in (TIMED[:2] if given.smoke else TIMED)]
    measure.table(("one estimate", "seconds", "processor", "from"), times)
    found["seconds"] = times
    found["parts"] = {} if given.smoke else parts(PARTED, 20, MOST)
    measure.write("estimate", given, found)


if __name__ == "__main__":
    main()
