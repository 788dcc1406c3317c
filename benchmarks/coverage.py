"""How often an interval that promises 95 % holds the truth, grades come true, and statements are false.

Families of planted worlds (`benchmarks/evidence/`), each through its verb: what audits, predictions,
rehearsals and evaluations promise beside what is true; what is said of worst groups, deviating combinations, causes
and differences where there is nothing to say, and where there is. `--against FILE` sets an earlier run beside it, table
by table: the shares then, and how much wider the intervals are now. `--families` takes verbs and families.

With `--scores`, simulated models whose score differs from combination to combination. Truth is the mean over all
combinations that could have been drawn. Beside the intervals of `recombine.evaluate` (combinations resampled,
studentised) stands what one would use instead: a bootstrap of the rows, and the quantiles of a bootstrap of
combinations.

With `--rooms`, the intervals of the other rooms instead: a back-test, the swap test, theory beside measurement and the
replay of a plan, each beside the plain quantiles of draws that stood there before.

    python benchmarks/coverage.py [--families audit,pair_block] [--tables 300] [--against before.json]
    python benchmarks/coverage.py --scores
    python benchmarks/coverage.py --rooms
"""

import argparse
import math
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.stats import rankdata, spearmanr

from evidence import run as evidence
from measure import options, table, write
from recombine.data.space import Space
from recombine.data.support import LabelTarget, NumberTarget, Support
from recombine.numerics.intervals import difference_interval, gap_interval, interval, prediction_interval
from recombine.numerics.rank_correlation import spearman
from recombine.numerics.resampling import IntervalSettings, difference, mean, times_drawn
from recombine.verbs.evaluate import swap_test as swapping
from recombine.verbs.evaluate.outcomes import Outcomes, Score
from recombine.verbs.evaluate.swap_test import swap_test
from recombine.verbs.plan import replay as replaying
from recombine.verbs.predict import backtest as record
from recombine.verbs.predict.answers import answers
from recombine.verbs.predict.kernel.salience_fit import resolve
from recombine.verbs.predict.learner import learn

ROWS = 20
Ends = tuple[float, float] | None
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
    asked = options(__doc__)
    asked.add_argument("--families", help="verbs or families, with commas between them (default: all)")
    asked.add_argument("--tables", type=int, help="how many of each family (default: 25 to 150, by verb)")
    asked.add_argument("--against", type=Path, help="the file of an earlier run")
    asked.add_argument("--scores", action="store_true", help="scores, gaps and differences beside plain bootstraps")
    asked.add_argument("--rooms", action="store_true", help="the intervals of the other rooms")
    given = asked.parse_args()
    if given.rooms:
        print_rooms(given)
    elif given.scores:
        write("coverage_scores", given, print_scores(given))
    else:
        chosen = evidence.asked_for(given)
        write("coverage", given, evidence.report(evidence.collect(chosen, given), chosen, given))
        if given.smoke:  # no other run tries it
            print_scores(given)


def print_rooms(given: argparse.Namespace) -> None:
    repeats = 100 if given.smoke else 1_000
    lines = [line for room in ROOMS for line in room(repeats)]
    print(f"\n{repeats:,} planted worlds each, nominal 95 %; in brackets the mean width")
    table(
        ("", "recombine", "plain quantiles"),
        [(n, f"{a:.3f} ({b:.2g})", f"{c:.3f} ({d:.2g})") for n, a, b, c, d in lines],
    )
    write(
        "coverage_rooms",
        given,
        [dict(zip(("of", "ours", "width", "plain", "plain_width"), line, strict=True)) for line in lines],
    )


def print_scores(given: argparse.Namespace) -> list[dict[str, float | str]]:
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
    return figures


Line = tuple[str, float, float, float, float]
"""What, then coverage and mean width of our interval, and of the plain one."""


def judged(name: str, ends: list[tuple[Ends, Ends]], truth: np.ndarray | float) -> Line:
    """Coverage and width over many worlds, where both kinds of interval exist."""
    truths_ = np.broadcast_to(truth, len(ends))
    both = [(new, old, t) for (new, old), t in zip(ends, truths_, strict=True) if new is not None and old is not None]
    sides = [np.array([pair[side] for pair in both], dtype=float) for side in (0, 1)]
    values = np.array([t for *_, t in both])
    found = [
        (float(((one[:, 0] <= values) & (values <= one[:, 1])).mean()), float(np.ptp(one, axis=1).mean()))
        for one in sides
    ]
    return (name, *found[0], *found[1])


def back_tests(repeats: int) -> list[Line]:
    """A 7 x 6 table, 36 cells seen: fixed effects, and in every cell an interaction, drawn anew each time."""
    effects = np.random.default_rng(9)
    first, second = effects.normal(size=7), effects.normal(size=6)
    cells = np.array([(a, b) for a in range(7) for b in range(6)])[effects.permutation(42)[:36]]
    space = Space.of({"a": range(7), "b": range(6)})
    found: list[Line] = []
    for kind in ("number", "label"):
        losses = [
            back_tested(kind, space, cells, first, second, np.random.default_rng([repeat, 5]))
            for repeat in range(repeats)
        ]
        kernel, additive = (np.stack([one[name] for one in losses]) for name in ("kernel", "additive"))
        root = np.sqrt if kind == "number" else np.asarray
        score = "root mean squared error" if kind == "number" else "accuracy"
        truth = float(root(kernel.mean())), float(root(kernel.mean()) - root(additive.mean()))
        own, apart = [], []
        for repeat, one in enumerate(losses):
            settings = IntervalSettings(draws=300, seed=repeat)
            method = record._method("additive", one, settings, number=kind == "number")
            mine = record._method("kernel", one, settings, number=kind == "number")
            draws = np.random.default_rng(repeat).integers(0, 36, (300, 36))
            plain = {name: root(loss[draws].mean(axis=1)) for name, loss in one.items()}
            own.append(((mine.low, mine.high), quantiles(plain["kernel"])))
            apart.append((method.difference[::2], quantiles(plain["kernel"] - plain["additive"])))
        found += [
            judged(f"back-test, {score}", own, truth[0]),
            judged(f"back-test, kernel less additive, {score}", apart, truth[1]),
        ]
    return found


def back_tested(
    kind: str, space: Space, cells: np.ndarray, first: np.ndarray, second: np.ndarray, rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """The loss of each held-out cell, for the kernel and for the additive rule."""
    values = first[cells[:, 0]] + second[cells[:, 1]] + np.exp(SIZES / 2 * rng.normal(size=36)) * rng.normal(size=36)
    codes = np.asfortranarray(cells, dtype=np.int32)
    order = np.lexsort(codes.T[::-1])
    codes, values, ones = np.asfortranarray(codes[order]), values[order], np.ones(36)
    target = (
        NumberTarget("y", ones, values, values**2)
        if kind == "number"
        else LabelTarget("y", ("no", "yes"), np.arange(36), (values > 0).astype(np.int64), ones)
    )
    support = Support(space, codes, ones, target, rows=36)
    own = answers(support)
    learner = learn(support, own, resolve("relu:1", support), loss="squared", ridge=0.0)
    tried = record.held_out(learner, "relu:1", share=0.2, folds=5).tried
    return {name: record.losses_of(own, tried, tried.said[name]) for name in ("kernel", "additive")}


def swaps(repeats: int) -> list[Line]:
    """A 5 x 8 grid, three rows a cell; how surely a cell is answered as the second factor says is its own luck."""
    lines = []
    for often, level in (("often", -1.5), ("seldom", -4.0)):
        found: dict[str, list[tuple[Ends, Ends]]] = {"changed": [], "excess": []}
        values: dict[str, list[float]] = {"changed": [], "excess": []}
        for repeat in range(repeats):
            outcomes = followed(level, np.random.default_rng([repeat, 6]))
            one, old = swap_test(outcomes, draws=200, seed=repeat).factors[1], plain_swap(outcomes, repeat)
            for place, name in ((0, "changed"), (2, "excess")):
                rate = getattr(one, name)
                found[name].append((None if rate.low is None else (rate.low, rate.high), quantiles(old[:, place])))
                values[name].append(rate.share)
        lines += [judged(f"swap test, {often} {name}", found[name], float(np.mean(values[name]))) for name in found]
    return lines


def followed(level: float, rng: np.random.Generator) -> Outcomes:
    """Answers that say what the second factor says, more or less often, and otherwise the truth."""
    cells = np.array([(a, b) for a in range(5) for b in range(8)], dtype=np.int32)
    combination = np.repeat(np.arange(40), 3)
    follows = 1 / (1 + np.exp(-(level + 2 * rng.normal(size=40))))
    truth, other = (cells[combination, k].astype(np.int64) % 2 for k in (0, 1))
    said = np.where(rng.random(120) < follows[combination], other, truth)
    right = np.bincount(combination, weights=said == truth)
    return Outcomes(
        tested=Support(Space.of({"a": range(5), "b": range(8)}), np.asfortranarray(cells), np.full(40, 3.0)),
        training=None,
        kind="label",
        classes=("x", "y"),
        combination=combination,
        truth=truth,
        said=said,
        count=np.ones(120),
        total=right,
        squares=right,
        prediction_total=None,
        score=Score("accuracy", "higher"),
    )


def plain_swap(outcomes: Outcomes, seed: int) -> np.ndarray:
    """The rates of resampled combinations."""
    swap = swapping._swaps(outcomes)[1]
    return np.array(
        [swap.rates(times)[0] for times in times_drawn(np.random.default_rng([seed, 2]), 200, len(outcomes))]
    )


def ranks(repeats: int) -> list[Line]:
    """What a theory expects, and a share of right answers that goes with it; or a number whose spread grows."""
    found: list[Line] = []
    for world, size in (
        ("share of five answers", 12),
        ("share of five answers", 40),
        ("uneven spread", 12),
        ("uneven spread", 40),
    ):

        def drawn(rng: np.random.Generator, size: int, world: str = world) -> tuple[np.ndarray, np.ndarray]:
            x, noise = rng.normal(size=(2, size))
            if world == "uneven spread":
                return x, 0.5 * x + np.abs(x) * noise
            return x, rng.binomial(5, 1 / (1 + np.exp(-2 * (0.5 * x + noise)))) / 5

        truth = spearmanr(*drawn(np.random.default_rng(1), 10**6)).statistic
        ends = []
        for repeat in range(repeats):
            rng = np.random.default_rng([repeat, 7])
            x, y = drawn(rng, size)
            one = spearman(x, y)
            places = rng.integers(0, size, (300, size))
            a, b = (
                ranked - ranked.mean(axis=1, keepdims=True) for ranked in (rankdata(v[places], axis=1) for v in (x, y))
            )
            with np.errstate(invalid="ignore"):
                plain = (a * b).sum(axis=1) / np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1))
            ends.append((None if one.low is None else (one.low, one.high), quantiles(plain)))
        found.append(judged(f"rank correlation with the theory, {world}, {size} combinations", ends, truth))
    return found


def replays(repeats: int) -> list[Line]:
    """One past of each goal; random orders are drawn by twenties, and the twenty-first is the next one."""
    grid = np.array([(a, b, c) for a in range(4) for b in range(4) for c in range(4)], dtype=np.int32)
    space = Space.of({"a": range(4), "b": range(4), "c": range(4)})
    support = Support(space, np.asfortranarray(grid), np.ones(64))
    found: list[Line] = []
    for goal in ("pairs", "determined"):
        rng = np.random.default_rng(8)
        past = replaying._past(support, goal, rng)
        replayer = replaying._Replayer(goal, replaying.LearnerSettings("relu:3", 0.0), 0)
        steps = sorted({round(min(len(past.pool), 24) * step / 16) for step in range(17)})
        curves = np.stack([replayer.along(past, rng.permutation(len(past.pool)), steps) for _ in range(2_000)])
        means = curves.mean(axis=1)
        for name, figures in (("along the curve", means), ("half way", curves[:, len(steps) // 2])):
            ends, following = [], []
            for repeat in range(repeats):
                drawn = np.random.default_rng([repeat, 8]).choice(figures, 21, replace=False)
                low, high = prediction_interval(drawn[:20], IntervalSettings(), least=0.0, most=1.0)
                ends.append(((float(low), float(high)), quantiles(drawn[:20])))
                following.append(drawn[20])
            found.append(judged(f"replay, share {goal}, {name}", ends, np.array(following)))
    return found


def quantiles(drawn: np.ndarray) -> Ends:
    low, high = np.nanquantile(drawn, [0.025, 0.975])
    return float(low), float(high)


ROOMS = (back_tests, swaps, ranks, replays)

if __name__ == "__main__":
    main()
