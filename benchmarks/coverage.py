"""How often an interval that promises 95 % holds the truth, where rows of one combination share its luck.

Simulated models whose score differs from combination to combination. Truth is the mean over all combinations that could
have been drawn. Beside the intervals of `recombine.evaluate` (combinations resampled, studentised) stands what one
would use instead: a bootstrap of the rows, and the quantiles of a bootstrap of combinations.

    python benchmarks/coverage.py
"""

import math
import time
from dataclasses import dataclass

import numpy as np

from measure import options, table, write
from recombine.statistics.intervals import difference_interval, gap_interval, interval
from recombine.statistics.resampling import IntervalSettings, difference, mean

ROWS = 20
SKEW = 1.2  # of the combinations' share of right answers, in logits
SIZES = 0.6  # of the combinations' squared errors, in logarithms


@dataclass(frozen=True)
class Drawn:
    """One table: its combinations' rows and sums of scores, for two models, and the mean of the squares of rows."""

    rows: np.ndarray
    own: np.ndarray
    other: np.ndarray
    own_rows: np.ndarray  # every row's score, for the row bootstrap
    apart_rows: np.ndarray


def accuracy(rng: np.random.Generator, combinations: int, level: float) -> Drawn:
    """Shares of right answers; the second model is right a little more often, where the first is too."""
    rows = 1 + rng.poisson(ROWS - 1, combinations)
    luck = rng.normal(size=combinations)
    p = 1 / (1 + np.exp(-(level + SKEW * luck)))
    q = 1 / (1 + np.exp(-(level + 0.3 + SKEW * (0.7 * luck + math.sqrt(0.51) * rng.normal(size=combinations)))))
    draw = rng.random(rows.sum())
    ids = np.repeat(np.arange(combinations), rows)
    return gathered(ids, rows, (draw < p[ids]).astype(float), (draw < q[ids]).astype(float))


def squared(rng: np.random.Generator, combinations: int, level: float) -> Drawn:
    """Squared errors of models with a bias of its own in every combination."""
    rows = 1 + rng.poisson(ROWS - 1, combinations)
    luck = rng.normal(size=combinations)
    scale = np.exp(level / 2 + SIZES / 2 * luck)
    again = np.exp(level / 2 + 0.1 + SIZES / 2 * (0.7 * luck + math.sqrt(0.51) * rng.normal(size=combinations)))
    ids = np.repeat(np.arange(combinations), rows)
    noise = rng.normal(size=rows.sum())
    return gathered(ids, rows, (scale[ids] * noise) ** 2, (again[ids] * noise) ** 2)


def gathered(ids: np.ndarray, rows: np.ndarray, own: np.ndarray, other: np.ndarray) -> Drawn:
    sums = [np.bincount(ids, weights=score, minlength=len(rows)) for score in (own, other)]
    return Drawn(rows.astype(float), sums[0], sums[1], own, other - own)


def row_bootstrap(rng: np.random.Generator, scores: np.ndarray, draws: int = 200) -> np.ndarray:
    """Means of resampled rows."""
    return scores[rng.integers(0, len(scores), (draws, len(scores)), dtype=np.int32)].mean(axis=1)


def plain_bootstrap(rng: np.random.Generator, rows: np.ndarray, total: np.ndarray, draws: int = 400) -> np.ndarray:
    """Means of resampled combinations, of which the quantiles are taken as they are."""
    drawn = rng.integers(0, len(rows), (draws, len(rows)))
    return total[drawn].sum(axis=1) / rows[drawn].sum(axis=1)


def truths(make: object, levels: tuple[float, float]) -> dict[str, float]:
    """The means over a million combinations, by simulation."""
    rng = np.random.default_rng(123)
    seen, unseen = (make(rng, 10**6, level) for level in levels)  # type: ignore[operator]
    means = [one.own.sum() / one.rows.sum() for one in (seen, unseen)]
    other = unseen.other.sum() / unseen.rows.sum()
    return {"score": means[1], "gap": means[0] - means[1], "difference": other - means[1]}


def covered(ends: tuple[float, float] | None, truth: float) -> bool:
    return ends is not None and ends[0] <= truth <= ends[1]


def simulate(name: str, unseen_count: int, repeats: int, truth: dict[str, float]) -> dict[str, list[float]]:
    """How often each kind of interval holds each truth."""
    make = {"accuracy": accuracy, "mse": squared}[name]
    levels = LEVELS[name]
    hits: dict[str, list[list[bool]]] = {what: [] for what in truth}
    for repeat in range(repeats):
        rng = np.random.default_rng([repeat, unseen_count, len(name)])
        seen, unseen = make(rng, 2 * unseen_count, levels[0]), make(rng, unseen_count, levels[1])
        settings = IntervalSettings(draws=1_000, seed=repeat)
        share = name == "accuracy"
        scores = [mean(one.rows, one.own) for one in (seen, unseen)]
        apart = difference(unseen.rows, unseen.own, unseen.other)
        ours = {
            "score": interval(scores[1], settings, "unseen", share=share),
            "gap": gap_interval(*scores, settings, "gap", share=share),
            "difference": difference_interval(apart, settings, "difference", share=share),
        }
        by_rows = {"score": row_bootstrap(rng, unseen.own_rows), "difference": row_bootstrap(rng, unseen.apart_rows)}
        by_rows["gap"] = row_bootstrap(rng, seen.own_rows) - by_rows["score"]
        plain = {
            "score": plain_bootstrap(rng, unseen.rows, unseen.own),
            "difference": plain_bootstrap(rng, unseen.rows, unseen.other - unseen.own),
        }
        plain["gap"] = plain_bootstrap(rng, seen.rows, seen.own) - plain["score"]
        for what, value in truth.items():
            others = [tuple(np.quantile(drawn[what], [0.025, 0.975])) for drawn in (plain, by_rows)]
            hits[what].append([covered(ends, value) for ends in (ours[what], *others)])
    return {what: np.mean(found, axis=0).tolist() for what, found in hits.items()}


LEVELS = {"accuracy": (2.5, 0.6), "mse": (0.0, 0.7)}


def main() -> None:
    given = options(__doc__).parse_args()
    repeats = 100 if given.smoke else 1_000
    lines, figures = [], []
    for name, levels in LEVELS.items():
        truth = truths({"accuracy": accuracy, "mse": squared}[name], levels)
        for count in (40,) if given.smoke else (40, 200):
            start, cpu = time.perf_counter(), time.process_time()
            for what, (ours, plain, rows) in simulate(name, count, repeats, truth).items():
                lines.append((f"{name}, {what}, {count} unseen combinations", ours, plain, rows))
                figures.append(
                    {"score": name, "of": what, "combinations": count, "ours": ours, "plain": plain, "rows": rows}
                )
            print(f"{name} {count}: {time.perf_counter() - start:.0f} s (CPU {time.process_time() - cpu:.0f} s)")
    luck = 1.96 * math.sqrt(0.95 * 0.05 / repeats)
    print(f"\n{repeats:,} simulated tables each, nominal 95 %; luck alone moves a figure by ±{luck:.3f}")
    table(("", "recombine", "combinations, plain quantiles", "rows"), lines)
    write("coverage", given, figures)


if __name__ == "__main__":
    main()
