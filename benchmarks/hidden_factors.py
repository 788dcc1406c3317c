"""Can a factor that nobody named be found from inputs and errors? A hypothesis, and its test.

    python benchmarks/hidden_factors.py           # 220 worlds, seeds 100 to 119: ten minutes of processor time
    python benchmarks/hidden_factors.py --first 0 --seeds 7     # those that the method was chosen by
    python benchmarks/hidden_factors.py --smoke

A world has 500 to 4,000 rows with two or three named factors, inputs of 8 to 64 numbers in which the named factors
show, and the error that a model makes in each row: wrong or right, or how far off. In planted worlds, errors also
follow a factor of two values that only the inputs show. In the others they follow the named factors, one by one or in
combinations, and noise. Half of all worlds have clusters in the inputs that errors do not follow.

The method: ranks of the errors and inputs, both less their means in the row's named combination. On half of the rows,
four ways to split the inputs: by a direction, by products of inputs (both then fitted as two levels of error, a
mixture of experts), by a forest, by a cluster of a mixture. Each is cut where the errors of rows that it was not fitted
to differ most. The one with the largest such difference is tested on the other half, against errors that change places
within named combinations; then the halves change places. If twice the smaller p is below .05, that way of splitting,
fitted to all rows, is proposed.

Agreement is the mean of how many rows of either value of the planted factor are on its side of the proposed split.
Beside it: two clusters of the inputs (k-means), rows with errors above their combination's mean, and the planted
factor itself, given to the same test on half of the rows: where that is not told from chance, hardly any method can.

The hypothesis: agreement of at least .8 in 80 % of planted worlds, and nothing is proposed in 95 % of the others.
Errors that drift along the inputs, without a second value, are counted by themselves.
"""

import itertools
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import solve
from scipy.special import expit
from scipy.stats import norm, rankdata
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import RidgeCV
from sklearn.mixture import GaussianMixture

from measure import options, table, write

Numbers = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

ROWS, FEATURES, SHARES = (500, 1000, 2000, 4000), (8, 16, 32, 64), (0.1, 0.25, 0.5)
# How much more often the model is wrong where the hidden factor holds; for numbers, how far it is off (noise: about 1).
STRENGTHS = {"weak": (0.15, 0.75), "middle": (0.3, 1.5), "strong": (0.5, 3.0)}
PLANTED = ("a direction", "a cluster", "a corner", "exclusive or", "stripes")
SILENT = ("named, adding up", "named, in combinations", "spread", "a decoy", "pictures")
DRIFT = "drift"
SURE, LEAST, RIDGE = 0.05, 0.05, 3.0
DIRECTIONS, PENALTY = 3, 1.0
NEAR = 0.8


@dataclass(frozen=True, eq=False)
class World:
    """N rows: the number of each one's named combination, d inputs, an error, and what was planted, if anything."""

    kind: str
    strength: str
    named: Ints  # (N,)
    inputs: Numbers  # (N, d)
    errors: Numbers  # (N,)
    hidden: Flags | None


def world(kind: str, seed: int, *, smoke: bool = False) -> World:
    """Strengths go round with the seed, as errors that are wrong or right do with numbers; the rest is drawn."""
    rng = np.random.default_rng([seed, (*PLANTED, *SILENT, DRIFT).index(kind)])
    rows, features = 500 if smoke else int(rng.choice(ROWS)), int(rng.choice(FEATURES))
    share, strength = float(rng.choice(SHARES)), list(STRENGTHS)[seed % 3]
    sizes = rng.integers(2, 5, size=rng.integers(2, 4))
    values = np.stack([rng.choice(size, rows, p=rng.dirichlet(np.full(size, 5.0))) for size in sizes], axis=1)
    named = np.unique(values, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)
    inputs = drawn(values, rng) if kind in {"stripes", "pictures"} else shown(values, sizes, features, rng)
    decoy = rng.random(rows) < (0.1 + 0.8 * (values[:, 0] == 0) if kind == "a decoy" else 0.5)
    if kind == "a decoy" or rng.random() < 0.5:
        inputs = with_cluster(inputs, named, decoy, ways(features=inputs.shape[1], rng=rng)[0])
    hidden = None
    if kind in PLANTED:
        inputs, hidden = planted(kind, inputs, named, share, rng)
    moved = np.zeros(rows) if hidden is None else hidden.astype(float)
    if kind == DRIFT:
        slope = centred(inputs, named) @ rng.standard_normal(inputs.shape[1])
        moved = np.clip(slope / slope.std() / 4 + 0.5, 0, 1)
    level, (wrong, off) = named_level(kind, values, sizes, rng), STRENGTHS[strength]
    if kind != "spread" and seed % 2:
        errors = (rng.random(rows) < 0.05 + 0.3 * level + wrong * moved).astype(float)
    else:
        noise = rng.standard_t(3, rows) if kind == "spread" else rng.standard_normal(rows)
        errors = ((0.5 + level) * noise + off * moved) ** 2
    return World(kind, strength, named, inputs, errors, hidden)


def shown(values: Ints, sizes: Ints, features: int, rng: np.random.Generator) -> Numbers:
    """Correlated inputs, moved by each value of the named factors."""
    spectrum = 1 / np.sqrt(1 + np.arange(features) / 4)
    turned = np.linalg.qr(rng.standard_normal((features, features)))[0]
    inputs = rng.standard_normal((len(values), features)) * spectrum @ turned
    for place, size in enumerate(sizes):
        inputs = inputs + 0.7 * rng.standard_normal((size, features))[values[:, place]]
    return np.asarray(inputs)


def drawn(values: Ints, rng: np.random.Generator) -> Numbers:
    """Pictures of 8 x 8: a spot whose place is the first factor and whose brightness is the second."""
    x, y = np.meshgrid(np.arange(8), np.arange(8))
    places = np.array([(2, 2), (5, 2), (2, 5), (5, 5)])[values[:, 0]] + 0.3 * rng.standard_normal((len(values), 2))
    spot = np.exp(-((x - places[:, 0, None, None]) ** 2 + (y - places[:, 1, None, None]) ** 2) / 3)
    spot = spot * (0.7 + 0.4 * values[:, 1])[:, None, None]
    return np.asarray((spot + 0.15 * rng.standard_normal(spot.shape)).reshape(len(values), -1))


def stripes(rows: int, rng: np.random.Generator) -> Numbers:
    """Stripes of one width and slant, which begin anywhere: their mean over pictures is nothing."""
    x, y = np.meshgrid(np.arange(8), np.arange(8))
    slant, phase = rng.uniform(0, np.pi), rng.uniform(0, 2 * np.pi, rows)
    waves = 0.3 * np.sin(1.6 * (x * np.cos(slant) + y * np.sin(slant)) + phase[:, None, None])
    return np.asarray(waves.reshape(rows, -1))


def ways(features: int, rng: np.random.Generator) -> Numbers:
    """Two directions: half of the time two of the inputs, else across all of them."""
    if rng.random() < 0.5:
        return np.asarray(np.eye(features)[rng.permutation(features)[:2]])
    return np.asarray(np.linalg.qr(rng.standard_normal((features, 2)))[0].T)


def with_cluster(inputs: Numbers, named: Ints, holds: Flags, way: Numbers) -> Numbers:
    """Inputs of which some are moved by four deviations."""
    return np.asarray(inputs + 4 * (centred(inputs, named) @ way).std() * holds[:, None] * way)


def planted(kind: str, inputs: Numbers, named: Ints, share: float, rng: np.random.Generator) -> tuple[Numbers, Flags]:
    """Inputs, and a factor of two values that they show."""
    rows, features = inputs.shape
    two = ways(features, rng)
    along = centred(inputs, named) @ two.T
    if kind == "a direction":
        return inputs, along[:, 0] > np.quantile(along[:, 0], 1 - share)
    if kind == "exclusive or":
        return inputs, (along[:, 0] > 0) ^ (along[:, 1] > 0)
    if kind == "a corner":
        # Both above the same quantile, which is lowered until so many rows are in the corner.
        ranks = rankdata(along, axis=0).min(axis=1)
        return inputs, ranks > np.quantile(ranks, 1 - share)
    holds = np.asarray(rng.random(rows) < share)
    if kind == "stripes":
        return inputs + holds[:, None] * stripes(rows, rng), holds
    return with_cluster(inputs, named, holds, two[0]), holds


def named_level(kind: str, values: Ints, sizes: Ints, rng: np.random.Generator) -> Numbers:
    """How hard a row is by its named factors, between 0 and 1."""
    parts = [rng.random(size)[values[:, place]] for place, size in enumerate(sizes)]
    if kind == "named, in combinations":
        return np.asarray(rng.random(tuple(sizes))[tuple(values.T)])
    return np.asarray(np.mean(parts, axis=0))


def centred(numbers: Numbers, named: Ints) -> Numbers:
    """Less the mean of the row's named combination."""
    counts = np.bincount(named)
    columns = numbers.reshape(len(named), -1)
    means = np.stack([np.bincount(named, one) / np.maximum(counts, 1) for one in columns.T], axis=1)
    return (columns - means[named]).reshape(numbers.shape)


def apart(side: Flags, errors: Numbers) -> float:
    """By how many deviations the errors on the two sides differ; the deviation is that of all rows.

    With one of its own for each side (Welch), cuts go to small sides that are wrong throughout.
    """
    counts = np.array([side.sum(), (~side).sum()])
    if counts.min() < LEAST * len(side):
        return 0.0
    return float((errors[side].mean() - errors[~side].mean()) / (errors.std() * np.sqrt((1 / counts).sum()) + 1e-12))


Score = Callable[[Numbers], Numbers]


def gate(features: Numbers, errors: Numbers, start: Numbers) -> Numbers:
    """Weights of a logistic regression for which of two levels of error a row has (a mixture of experts, by EM)."""
    shown = np.column_stack([features, np.ones(len(errors))])
    high = np.where(start > np.quantile(start, 0.7), 0.8, 0.2)
    weights, least = np.zeros(shown.shape[1]), 0.3 * errors.std()
    for _ in range(40):
        given = np.zeros((len(errors), 2))
        for side, part in enumerate((1 - high, high)):
            mean = np.average(errors, weights=part)
            wide = max(np.sqrt(np.average((errors - mean) ** 2, weights=part)), least)
            given[:, side] = -(((errors - mean) / wide) ** 2) / 2 - np.log(wide)
        for _ in range(2):
            chance_high = expit(shown @ weights)
            slack = chance_high * (1 - chance_high)
            bend = (shown * slack[:, None]).T @ shown + PENALTY * np.eye(shown.shape[1])
            weights = weights + np.linalg.solve(bend, shown.T @ (high - chance_high) - PENALTY * weights)
        high = np.clip(expit(shown @ weights + given[:, 1] - given[:, 0]), 0.001, 0.999)
    return weights


def by_direction(inputs: Numbers, errors: Numbers) -> Score:
    """Errors regressed on the inputs, then two levels of error on either side of a plane."""
    size = inputs.std(axis=0) + 1e-9
    start = RidgeCV(alphas=np.logspace(0, 4, 9)).fit(inputs / size, errors)
    weights = gate(inputs / size, errors, start.predict(inputs / size))
    return lambda other: other / size @ weights[:-1] + weights[-1]


def by_products(inputs: Numbers, errors: Numbers) -> Score:
    """Errors regressed on all products of two inputs; the directions that count in it, and two levels of error there.

    On 1,500 rows at most: time grows with their cube.
    """
    step = -(-len(errors) // 1500)
    size = inputs.std(axis=0) * np.sqrt(inputs.shape[1]) + 1e-9
    scaled = (inputs / size)[::step]
    gram = (scaled @ scaled.T) ** 2
    gram[np.diag_indices_from(gram)] += RIDGE * gram.trace() / len(gram)
    form = (scaled.T * solve(gram, errors[::step], assume_a="pos", overwrite_a=True)) @ scaled
    level, turned = np.linalg.eigh(form)
    ways = turned[:, np.argsort(-np.abs(level))[:DIRECTIONS]]

    def features(other: Numbers) -> Numbers:
        along = other / size @ ways
        pairs = [along[:, i] * along[:, j] for i in range(DIRECTIONS) for j in range(i + 1)]
        return np.column_stack([along, *pairs])

    own = features(inputs)
    spread = own.std(axis=0) + 1e-9
    weights = gate(own / spread, errors, np.einsum("ni,ij,nj->n", inputs / size, form, inputs / size))
    return lambda other: features(other) / spread @ weights[:-1] + weights[-1]


def by_forest(inputs: Numbers, errors: Numbers) -> Score:
    """Trees that no small group can bend."""
    most = min(0.5, 1000 / len(errors))
    forest = RandomForestRegressor(30, min_samples_leaf=10, max_features=0.33, max_samples=most, random_state=0)
    return forest.fit(inputs, errors).predict  # type: ignore[no-any-return]


def by_cluster(inputs: Numbers, errors: Numbers) -> Score:
    """Of mixtures of two and three of the inputs, the part whose errors differ most from those of the others."""
    axes = PCA(min(6, inputs.shape[1]), random_state=0).fit(inputs)
    found = list[tuple[float, Score]]()
    for number in (2, 3):
        mixed = GaussianMixture(number, reg_covar=1e-3, random_state=0, max_iter=50).fit(axes.transform(inputs))
        for part in range(number):
            differ = apart(mixed.predict_proba(axes.transform(inputs))[:, part] > 0.5, errors)

            def belongs(other: Numbers, mixed: Any = mixed, part: int = part, sign: float = np.sign(differ)) -> Numbers:
                return np.asarray(sign * mixed.predict_proba(axes.transform(other))[:, part])

            found.append((abs(differ), belongs))
    return max(found, key=lambda one: one[0])[1]


WAYS: dict[str, Callable[[Numbers, Numbers], Score]] = {
    "direction": by_direction,
    "products": by_products,
    "forest": by_forest,
    "cluster": by_cluster,
}


def unfitted(way: str, inputs: Numbers, errors: Numbers, folds: int = 3) -> Numbers:
    """What a way of splitting says of rows that it was not fitted to."""
    said, fold = np.zeros(len(errors)), np.arange(len(errors)) % folds
    for one in range(folds):
        said[fold == one] = WAYS[way](inputs[fold != one], errors[fold != one])(inputs[fold == one])
    return said


def best_cut(said: Numbers, errors: Numbers) -> tuple[float, float]:
    """Where to cut, and how far apart the errors are there."""
    cuts = np.unique(np.quantile(said, np.linspace(0.05, 0.95, 19)))
    cuts = np.append(cuts, (said.min() + said.max()) / 2)
    return max(((apart(said > cut, errors), float(cut)) for cut in cuts), key=lambda one: one[0])[::-1]


def chosen(inputs: Numbers, errors: Numbers) -> tuple[str, float]:
    """The way of splitting that tells errors apart best in rows that it was not fitted to, and where to cut."""
    found = {way: best_cut(unfitted(way, inputs, errors), errors) for way in WAYS}
    way = max(found, key=lambda one: found[one][1])
    return way, found[way][0]


def chance(side: Flags, errors: Numbers, named: Ints) -> float:
    """How often errors that change places within named combinations differ as much between the sides.

    The mean and variance over all such permutations are known (Strasser and Weber); their sum over hundreds of rows is
    taken as normal.
    """
    side_left, errors_left = centred(side.astype(float), named), centred(errors, named)
    counts = np.bincount(named)
    spread = np.bincount(named, side_left**2) * np.bincount(named, errors_left**2)
    variance = float((spread / np.maximum(counts - 1, 1)).sum())
    return float(2 * norm.sf(abs(side_left @ errors_left) / np.sqrt(variance + 1e-12)))


def proposed(one: World, rng: np.random.Generator) -> tuple[Flags | None, str]:
    """Which side of the proposed split each row is on, or None; and the way that was chosen."""
    inputs, errors = prepared(one)
    half, tests = rng.permutation(len(errors)) % 2 == 0, list[tuple[float, str]]()
    for fit in (half, ~half):
        way, cut = chosen(inputs[fit], errors[fit])
        side = WAYS[way](inputs[fit], errors[fit])(inputs[~fit]) > cut
        tests.append((chance(side, errors[~fit], one.named[~fit]), way))
    least, way = min(tests)
    if 2 * least >= SURE:
        return None, way
    said = unfitted(way, inputs, errors, folds=3)
    return said > best_cut(said, errors)[0], way


def prepared(one: World) -> tuple[Numbers, Numbers]:
    """Inputs and errors less what the named combination says of them."""
    ranks = rankdata(one.errors) / len(one.errors)
    return centred(one.inputs, one.named), centred(ranks, one.named)


def agreement(side: Flags, hidden: Flags) -> float:
    """Balanced; which side is called which does not matter."""
    same = (np.mean(side[hidden]) + np.mean(~side[~hidden])) / 2
    return float(max(same, 1 - same))


@dataclass(frozen=True)
class Answer:
    """What was said of a world, and how near it and what stands beside it came to the planted factor."""

    kind: str
    strength: str
    rows: int
    proposed: bool
    way: str
    agreement: float
    clusters: float
    errors: float
    knowable: bool


def answered(kind: str, seed: int, *, smoke: bool = False) -> Answer:
    """One world."""
    one, rng = world(kind, seed, smoke=smoke), np.random.default_rng([seed, 77])
    side, way = proposed(one, rng)
    if one.hidden is None:
        return Answer(kind, one.strength, len(one.named), side is not None, way, 0.0, 0.0, 0.0, knowable=False)
    inputs, errors = prepared(one)
    two = KMeans(2, n_init=3, random_state=0).fit_predict(inputs) == 1
    half = rng.random(len(errors)) < 0.5
    known = chance(one.hidden[half], errors[half], one.named[half]) < SURE
    return Answer(
        kind,
        one.strength,
        len(one.named),
        side is not None,
        way,
        0.5 if side is None else agreement(side, one.hidden),
        agreement(two, one.hidden),
        agreement(errors > 0, one.hidden),
        known,
    )


def share_of(flags: Sequence[bool]) -> tuple[float, float, float]:
    """A share and Wilson's 95 % interval."""
    count, mean, z = len(flags), float(np.mean(flags)), 1.96
    centre = (mean + z**2 / (2 * count)) / (1 + z**2 / count)
    reach = z * np.sqrt(mean * (1 - mean) / count + z**2 / (4 * count**2)) / (1 + z**2 / count)
    return mean, max(centre - reach, 0.0), min(centre + reach, 1.0)


def middle(found: Sequence[float]) -> tuple[float, float, float]:
    """A median and its 95 % bootstrap interval."""
    values, rng = np.array(found), np.random.default_rng(0)
    drawn = np.median(values[rng.integers(0, len(values), size=(1000, len(values)))], axis=1)
    low, high = np.quantile(drawn, [0.025, 0.975])
    return float(np.median(values)), float(low), float(high)


def line(name: str, found: Sequence[Answer]) -> list[Any]:
    """How worlds with a planted factor fared."""
    located = share_of([one.agreement >= NEAR for one in found])
    given = [one.agreement for one in found if one.proposed]
    return [
        name,
        len(found),
        _percent(located),
        _percent(share_of([one.proposed for one in found])),
        f"{np.mean([one >= NEAR for one in given]):.0%}" if given else "-",
        "{:.2f} ({:.2f} to {:.2f})".format(*middle([one.agreement for one in found])),
        f"{np.mean([one.clusters >= NEAR for one in found]):.0%}",
        f"{np.mean([one.errors >= NEAR for one in found]):.0%}",
        f"{np.mean([one.knowable for one in found]):.0%}",
    ]


def _percent(found: tuple[float, float, float]) -> str:
    return "{:.0%} ({:.0%} to {:.0%})".format(*found)


def report(found: Sequence[Answer]) -> None:
    """By kind, by strength, by rows, and where nothing was planted."""
    there = [one for one in found if one.kind in PLANTED]
    groups = [(kind, [one for one in there if one.kind == kind]) for kind in PLANTED]
    groups += [(strength, [one for one in there if one.strength == strength]) for strength in STRENGTHS]
    groups += [(f"{rows} rows", [one for one in there if one.rows == rows]) for rows in ROWS]
    groups.append(("all", there))
    heads = [
        "planted",
        "worlds",
        "located",
        "proposed",
        "of these right",
        "median agreement",
        "k-means",
        "errors",
        "known",
    ]
    table(heads, [line(name, some) for name, some in groups if some])
    none = [(kind, [one for one in found if one.kind == kind]) for kind in (*SILENT, DRIFT)]
    none.append(("all but drift", [one for one in found if one.kind in SILENT]))
    print()
    table(
        ["nothing planted", "worlds", "silent"],
        [[name, len(some), _percent(share_of([not one.proposed for one in some]))] for name, some in none],
    )


def main() -> None:
    """All kinds of worlds."""
    parser = options(__doc__)
    parser.add_argument("--first", type=int, default=100, help="the first seed")
    parser.add_argument("--seeds", type=int, default=20, help="how many")
    given = parser.parse_args()
    warnings.filterwarnings("ignore", module="sklearn")
    seeds = range(given.first, given.first + (1 if given.smoke else given.seeds))
    kinds = (*PLANTED, *SILENT, DRIFT)
    found = [answered(kind, seed, smoke=given.smoke) for kind, seed in itertools.product(kinds, seeds)]
    report(found)
    write("hidden_factors", given, [asdict(one) for one in found])


if __name__ == "__main__":
    main()
