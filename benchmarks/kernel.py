"""The squared-loss solver: what a kernel-like learner answers, from up to 10^7 seen combinations.

Every table is distinct combinations drawn at random, uniform or Zipf-distributed (the value of rank r with weight
1/r), with independent normal answers, which is the hardest target: every direction matters. A time holds everything
from the Support on: groups, solve, and predictions where some are asked for. Each run is a fresh process; times are
medians over rounds in which the subjects take turns. Residuals are those of the dual equations, relative to the
answers, computed afresh by this script and not by the solver. The load of the machine stands beside the times.

1. ridge       8,000 combinations beside scikit-learn's KernelRidge, kernel matrix included. Goal: 200 times
2. million     10^6 combinations of 3 and 4 factors, also with next to no memory (w_full = 0.001)
3. large       10^7 combinations of 2 and 3 factors
4. others      plain conjugate gradients, SciPy's LSMR and scikit-learn, to the same residual or as far as they come
5. variance    how sure the learner is of 10^4 unseen combinations, with error bars, 20 of them checked
6. growth      time against combinations, as a plot
"""
# ruff: noqa: PLC0415 - a process imports only what it measures

import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

import measure

TOLERANCE = 1e-8
MOST_GIB = 4
THREE = (0.0, 0.271, 0.056, 0.020)
FOUR = (0.0, 0.2, 0.06, 0.025, 0.012)
TWO = (0.0, 0.3, 0.4)
DRAWN = ("uniform", "Zipf")


@dataclass(frozen=True)
class Problem:
    """Distinct combinations to draw, the weight of a conjunction by its number of factors, and the goal."""

    combinations: int
    values: int
    orders: tuple[float, ...]
    drawn: str = "uniform"
    goal: float | None = None

    @property
    def factors(self) -> int:
        return len(self.orders) - 1

    @property
    def weights(self) -> tuple[float, ...]:
        """By bit mask, as the solver wants them."""
        return tuple(self.orders[mask.bit_count()] for mask in range(2**self.factors))

    @property
    def full(self) -> float:
        """The weight of the whole combination: what a learner memorises."""
        return self.orders[-1]

    def __str__(self) -> str:
        memory = f", w_full {self.full:g}" if self.full < 0.01 else ""
        return f"{self.combinations:,} of {self.factors} x {self.values:,}, {self.drawn}{memory}"


def forgetful(orders: tuple[float, ...]) -> tuple[float, ...]:
    """The same weights with next to none on the whole combination."""
    return (*orders[:-1], 1e-3)


@dataclass(frozen=True)
class Plan:
    """What each part measures, and how long it may take."""

    ridge: tuple[Problem, ...]
    million: tuple[Problem, ...]
    large: tuple[Problem, ...]
    others: tuple[Problem, ...]
    variance: tuple[Problem, ...]
    asked: int
    growth: tuple[int, ...]
    dense: int  # beside others, scikit-learn is not asked for more combinations
    cap: float  # seconds, for those that do not get there
    rounds: int


FULL = Plan(
    ridge=(Problem(8_000, 40, THREE, goal=200), Problem(8_000, 60, THREE, "Zipf", goal=200)),
    million=tuple(
        Problem(10**6, values, orders, drawn, goal)
        for values, weights, seconds in ((200, THREE, 5), (60, FOUR, 20))
        for orders, goal in ((weights, seconds), (forgetful(weights), 60))
        for drawn in DRAWN
    ),
    large=(
        Problem(10**7, 4_000, TWO, goal=10),
        Problem(10**7, 4_000, TWO, "Zipf", goal=10),
        Problem(10**7, 400, THREE),
        Problem(10**7, 400, THREE, "Zipf"),
    ),
    others=(
        Problem(8_000, 60, THREE, "Zipf"),
        Problem(10**5, 100, THREE, "Zipf"),
        Problem(10**5, 100, forgetful(THREE), "Zipf"),
        Problem(10**5, 35, FOUR, "Zipf"),
    ),
    variance=tuple(Problem(10**5, 100, THREE, drawn, goal=10) for drawn in DRAWN),
    asked=10_000,
    growth=(10**3, 3_162, 10**4, 31_623, 10**5, 316_228, 10**6, 3_162_278, 10**7),
    dense=12_000,
    cap=60,
    rounds=3,
)
SMOKE = Plan(
    ridge=(Problem(1_000, 20, THREE),),
    million=(Problem(3_000, 40, THREE, "Zipf"), Problem(3_000, 14, forgetful(FOUR), "Zipf")),
    large=(Problem(5_000, 100, TWO),),
    others=(Problem(1_000, 30, THREE, "Zipf"),),
    variance=(Problem(3_000, 40, THREE, "Zipf"),),
    asked=300,
    growth=(1_000, 3_162),
    dense=0,
    cap=1,
    rounds=1,
)


def draw(problem: Problem) -> np.ndarray:
    """Exactly so many distinct combinations, the same every time."""
    rng = np.random.default_rng(0)
    shape = (problem.values,) * problem.factors
    weights = np.ones(problem.values) if problem.drawn == "uniform" else 1 / np.arange(1, problem.values + 1)
    reach = np.cumsum(weights) / weights.sum()
    seen = np.zeros(problem.values**problem.factors, dtype=bool)
    found = 0
    while found < problem.combinations:
        batch = rng.random((problem.factors, min(problem.combinations, 2 * 10**6)))
        codes = np.minimum(np.searchsorted(reach, batch, side="right"), problem.values - 1)
        seen[np.ravel_multi_index(tuple(codes), shape)] = True
        found = int(np.count_nonzero(seen))
    keys = np.flatnonzero(seen)
    keys = np.delete(keys, rng.choice(found, found - problem.combinations, replace=False))
    return np.stack(np.unravel_index(keys, shape), axis=1).astype(np.int32)


def drawn_unseen(codes: np.ndarray, values: int, many: int) -> np.ndarray:
    """Distinct combinations of seen values that were not seen."""
    rng = np.random.default_rng(2)
    shape = (values,) * codes.shape[1]
    seen = np.ravel_multi_index(tuple(codes.T), shape)
    columns = [rng.choice(np.unique(column), size=4 * many) for column in codes.T]
    keys = np.unique(np.ravel_multi_index(tuple(columns), shape))
    keys = rng.permutation(np.setdiff1d(keys, seen))[:many]
    return np.stack(np.unravel_index(keys, shape), axis=1).astype(np.int32)


@dataclass(frozen=True)
class Input:
    """A table on disk, so that no round has to draw it again."""

    problem: Problem
    folder: Path
    asked: int = 0

    @property
    def file(self) -> Path:
        about = self.problem
        return self.folder / f"{about.combinations}-{about.factors}-{about.values}-{about.drawn}.npy"

    def codes(self) -> np.ndarray:
        """The seen combinations."""
        if not self.file.exists():
            np.save(self.file, draw(self.problem))
        return np.load(self.file)

    def answers(self) -> np.ndarray:
        """A normal number for each."""
        return np.random.default_rng(1).normal(size=self.problem.combinations)

    def unseen(self) -> np.ndarray:
        """As many others as are asked about."""
        return drawn_unseen(self.codes(), self.problem.values, self.asked)

    def support(self) -> Any:
        """The table as recombine holds it."""
        from recombine import Factor, Space, Support

        codes = np.asfortranarray(self.codes())
        names = tuple(f"value {value}" for value in range(self.problem.values))
        space = Space(tuple(Factor(f"factor {k}", names) for k in range(self.problem.factors)))
        return Support(space, codes, np.ones(len(codes)), rows=len(codes))


def residual(problem: Problem, codes: np.ndarray, dual: np.ndarray, answers: np.ndarray) -> float:
    """How far the dual equations are from holding, written out apart from the solver."""
    left = answers - problem.full * dual - problem.orders[0] * dual.sum()
    for order in range(1, problem.factors):
        for chosen in combinations(range(problem.factors), order):
            columns = tuple(codes[:, k].astype(np.int64) for k in chosen)
            keys = np.ravel_multi_index(columns, (problem.values,) * order)
            left -= problem.orders[order] * np.bincount(keys, weights=dual)[keys]
    return float(np.linalg.norm(left) / np.linalg.norm(answers))


class Watch:
    """A clock that is started when it is made."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self._wall

    def stop(self) -> dict[str, float]:
        """Time and processor time so far."""
        return {"seconds": self.seconds, "cpu": time.process_time() - self._cpu}


Answer = dict[str, Any]
"""What a subject hands back: its time, the residual, the iterations, and predictions where they were asked for."""
Subject = Callable[[], Answer]


def ours(given: Input) -> Subject:
    """Groups, solve, predictions."""
    from recombine.verbs.predict.kernel.solver import Penalty
    from recombine.verbs.predict.kernel.squared_loss import ConjunctionFit, squared

    problem, support, answers = given.problem, given.support(), given.answers()
    unseen = given.unseen() if given.asked else support.codes[:0]

    def work() -> Answer:
        watch = Watch()
        duals = squared(support, problem.weights, Penalty(problem.full), answers[:, None], tolerance=TOLERANCE)
        said = ConjunctionFit.of(support, problem.weights, duals).scores(unseen)[:, 0] if given.asked else np.zeros(0)
        taken = watch.stop()
        left = residual(problem, support.codes, duals.weights[:, 0], answers)
        return taken | {"residual": left, "iterations": duals.iterations, "said": said}

    return work


def matrix(problem: Problem, one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The kernel as a NumPy user would write it out, the full set left to the ridge: agreeing sets, then a look-up."""
    agree = np.zeros((len(one), len(other)), dtype=np.uint8)
    for k in range(problem.factors):
        agree |= (one[:, k, None] == other[None, :, k]).astype(np.uint8) << k
    lower = (*problem.weights[:-1], 0.0)
    similarity = [sum(w for inner, w in enumerate(lower) if inner & mask == inner) for mask in range(len(lower))]
    return np.take(np.array(similarity), agree)


def kernel_ridge(given: Input) -> Subject:
    """scikit-learn's: a Cholesky factorisation of the dual equations; the ridge is the full set's weight."""
    from sklearn.kernel_ridge import KernelRidge

    problem, codes, answers = given.problem, given.codes(), given.answers()
    unseen = given.unseen() if given.asked else codes[:0]
    KernelRidge(kernel="precomputed").fit(np.eye(9), np.ones(9)).predict(np.eye(9))  # what is loaded late is loaded now

    def work() -> Answer:
        watch = Watch()
        ridge = KernelRidge(alpha=problem.full, kernel="precomputed").fit(matrix(problem, codes, codes), answers)
        said = ridge.predict(matrix(problem, unseen, codes)) if given.asked else np.zeros(0)
        taken = watch.stop()
        left = residual(problem, codes, np.asarray(ridge.dual_coef_), answers)
        return taken | {"residual": left, "iterations": 0, "said": said}

    return work


class _TimeIsUpError(Exception):
    """Conjugate gradients were still on their way."""


def plain_gradients(given: Input, cap: float) -> Subject:
    """SciPy's conjugate gradients on the dual equations; a product with the kernel by the same group sums as ours."""
    from scipy.sparse.linalg import LinearOperator, cg

    from recombine.verbs.predict.kernel.solver import ConjunctionDesign, Penalty, System

    problem, support, answers = given.problem, given.support(), given.answers()

    def work() -> Answer:
        watch = Watch()
        system = System(ConjunctionDesign.of(support, problem.weights), Penalty(problem.full))
        product = LinearOperator((len(answers),) * 2, matvec=system.kernel, dtype=np.float64)
        steps, latest = 0, np.zeros(len(answers))

        def look(found: np.ndarray) -> None:
            nonlocal steps, latest
            steps, latest = steps + 1, found
            if watch.seconds > cap:
                raise _TimeIsUpError

        try:
            dual = cg(product, answers, rtol=TOLERANCE, atol=0.0, maxiter=10**6, callback=look)[0]
        except _TimeIsUpError:
            dual = latest
        taken = watch.stop()
        return taken | {"residual": residual(problem, support.codes, dual, answers), "iterations": steps}

    return work


def lsmr(given: Input, tolerance: float, most: int) -> Subject:
    """SciPy's LSMR on the primal least squares: a sparse column for each seen conjunction, times its weight's root."""
    from scipy.sparse.linalg import lsmr as solve

    problem, codes, answers = given.problem, given.codes(), given.answers()
    settings = {"damp": np.sqrt(problem.full), "atol": tolerance, "btol": tolerance, "conlim": 0, "maxiter": most}

    def work() -> Answer:
        watch = Watch()
        columns = sparse(problem, codes)
        found = solve(columns, answers, **settings)
        dual = (answers - columns @ found[0]) / problem.full
        taken = watch.stop()
        return taken | {"residual": residual(problem, codes, dual, answers), "iterations": found[2]}

    return work


def lsmr_settings(given: Input, cap: float) -> Callable[[], tuple[float, int]]:
    """LSMR cannot be told to stop at a dual residual: find the tolerance that gets it there, at no cost to it."""
    timed = lsmr(given, 0.0, 20)()
    most = max(int(20 * cap / timed["seconds"]), 20)

    def work() -> tuple[float, int]:
        nonlocal most
        exponent = 7
        while exponent < 15:
            found = lsmr(given, 10.0**-exponent, most)()
            if found["residual"] <= TOLERANCE:
                break
            if found["iterations"] < most:
                exponent += 1
            elif found["seconds"] < 0.7 * cap:  # the machine was busier when the iterations were reckoned
                most = int(most * cap / found["seconds"])
            else:
                break
        return 10.0**-exponent, most

    return work


def sparse(problem: Problem, codes: np.ndarray) -> Any:
    """Phi times the root of the weights: a row for each combination, an entry for each of its lower conjunctions."""
    from scipy.sparse import csr_array, hstack

    blocks = []
    for order in range(1, problem.factors):
        for chosen in combinations(range(problem.factors), order):
            columns = tuple(codes[:, k].astype(np.int64) for k in chosen)
            keys = np.ravel_multi_index(columns, (problem.values,) * order)
            ids = np.unique(keys, return_inverse=True)[1]
            entries = np.full(len(codes), np.sqrt(problem.orders[order]))
            blocks.append(csr_array((entries, ids, np.arange(len(codes) + 1)), shape=(len(codes), ids.max() + 1)))
    return hstack(blocks, format="csr")


def variance(given: Input, checked: int) -> Subject:
    """Variances of unseen combinations, and some of them again by the formula, with one exact solve each."""
    from recombine.verbs.predict.kernel.solver import Penalty
    from recombine.verbs.predict.kernel.squared_loss import squared
    from recombine.verbs.predict.kernel.variance import Uncertainty

    problem, support, unseen = given.problem, given.support(), given.unseen()
    penalty = Penalty(problem.full)

    def work() -> Answer:
        watch = Watch()
        found, error = Uncertainty(support, problem.weights, penalty, np.zeros(len(support))).of(unseen)
        taken = watch.stop()
        between = matrix(problem, support.codes, unseen[:checked])
        solved = squared(support, problem.weights, penalty, between, tolerance=1e-10).weights
        exact = sum(problem.weights) - np.einsum("ij,ij->j", between, solved)
        return taken | {"found": found[:checked], "error": error[:checked], "exact": exact, "all": (found, error)}

    return work


def load() -> str:
    """How busy the machine is: the mean number of running processes over the last minute."""
    return f"{os.getloadavg()[0]:.1f}"


def median(found: measure.Measured, name: str) -> float:
    """Of what the rounds say."""
    return float(np.median([run.answer[name] for run in found.runs]))


def figures(name: str, found: measure.Measured) -> dict[str, Any]:
    """One subject's figures as JSON can hold them."""
    small = {key: value for key, value in found.answer.items() if isinstance(value, int | float)}
    times = [run.answer["seconds"] for run in found.runs]
    own = {"seconds": median(found, "seconds"), "cpu": median(found, "cpu"), "peak_gib": found.peak_gib, "all": times}
    return {"subject": name} | small | own


def ridge(plan: Plan, folder: Path) -> list[Any]:
    """Part 1."""
    kept = []
    for problem in plan.ridge:
        given = Input(problem, folder, asked=problem.combinations)
        given.codes()
        found = measure.take_turns({"ours": (ours, given), "KernelRidge": (kernel_ridge, given)}, rounds=plan.rounds)
        mine, theirs = found["ours"], found["KernelRidge"]
        apart = float(np.abs(mine.answer["said"] - theirs.answer["said"]).max())
        ratio = median(theirs, "seconds") / median(mine, "seconds")
        print(f"\n{problem}; {given.asked:,} unseen predicted; load {load()}")
        measure.table(
            ["", "seconds", "CPU seconds", "peak GiB", "residual", "iterations"],
            [[name, *_times(one), one.peak_gib, *_solved(one)] for name, one in found.items()],
        )
        in_cpu = median(theirs, "cpu") / median(mine, "cpu")
        goal = f" (goal: {problem.goal:g})" if problem.goal else ""
        print(f"KernelRidge over ours: {ratio:,.0f} times{goal}, in CPU time {in_cpu:,.0f}; ", end="")
        print(f"predictions differ by at most {apart:.1e} (allowed: 1e-6)")
        kept += [{"problem": str(problem), "ratio": ratio, "ratio_cpu": in_cpu, "apart": apart}]
        kept += [figures(name, one) for name, one in found.items()]
    return kept


def _times(found: measure.Measured) -> tuple[float, float]:
    return median(found, "seconds"), median(found, "cpu")


def _solved(found: measure.Measured) -> tuple[str, int]:
    return f"{max(run.answer['residual'] for run in found.runs):.0e}", int(found.answer["iterations"])


def solves(problems: Sequence[Problem], plan: Plan, folder: Path) -> list[Any]:
    """Parts 2 and 3: each table alone."""
    lines, kept = [], []
    for problem in problems:
        given = Input(problem, folder)
        given.codes()
        one = measure.take_turns({"ours": (ours, given)}, rounds=plan.rounds)["ours"]
        goal = f"{problem.goal:g}" if problem.goal else ""
        lines.append([str(problem), *_times(one), goal, one.peak_gib, *_solved(one), load()])
        kept.append({"problem": str(problem), "goal": problem.goal} | figures("ours", one))
    header = ["combinations", "seconds", "CPU seconds", "goal", "peak GiB", "residual", "iterations", "load"]
    print(f"\nsolve to {TOLERANCE:.0e}; goal for memory: {MOST_GIB} GiB; median of {plan.rounds}")
    measure.table(header, lines)
    return kept


def million(plan: Plan, folder: Path) -> list[Any]:
    """Part 2."""
    return solves(plan.million, plan, folder)


def large(plan: Plan, folder: Path) -> list[Any]:
    """Part 3."""
    return solves(plan.large, plan, folder)


def others(plan: Plan, folder: Path) -> list[Any]:
    """Part 4."""
    kept = []
    for problem in plan.others:
        given = Input(problem, folder)
        given.codes()
        subjects: dict[str, tuple[Any, ...]] = {
            "ours": (ours, given),
            "conjugate gradients": (plain_gradients, given, plan.cap),
            "LSMR": (lsmr, given, *measure.in_child(lsmr_settings, given, plan.cap).answer),
        }
        if problem.combinations <= plan.dense:
            subjects["KernelRidge"] = (kernel_ridge, given)
        found = measure.take_turns(subjects, rounds=plan.rounds)
        print(f"\n{problem}; to {TOLERANCE:.0e}, at most {plan.cap:g} s; median of {plan.rounds}; load {load()}")
        rows = [_beside(name, one, found["ours"]) for name, one in found.items()]
        gib = problem.combinations**2 * 8 / 2**30
        if gib > 8:
            rows.append(["KernelRidge", "", "", f"over {gib:,.0f}", "", "", "its matrix does not fit"])
        measure.table(["", "seconds", "times ours", "peak GiB", "residual", "iterations", ""], rows)
        kept += [{"problem": str(problem)} | figures(name, one) for name, one in found.items()]
    return kept


def _beside(name: str, one: measure.Measured, mine: measure.Measured) -> list[Any]:
    solved = max(run.answer["residual"] for run in one.runs) <= 1.01 * TOLERANCE
    ratio = median(one, "seconds") / median(mine, "seconds")
    note = "" if solved else "did not get there"
    return [name, median(one, "seconds"), ratio if solved else f"> {ratio:,.1f}", one.peak_gib, *_solved(one), note]


def variances(plan: Plan, folder: Path) -> list[Any]:
    """Part 5."""
    lines, kept = [], []
    for problem in plan.variance:
        given = Input(problem, folder, asked=plan.asked)
        given.codes()
        checked = min(20, plan.asked)
        one = measure.take_turns({"ours": (variance, given, checked)}, rounds=plan.rounds)["ours"]
        found, error, exact = (one.answer[name] for name in ("found", "error", "exact"))
        every, errors = one.answer["all"]
        off = float(np.sqrt(np.mean((found / exact - 1) ** 2)))
        promised = float(np.sqrt(np.mean((errors / every) ** 2)))
        scored = np.abs(found - exact) / np.maximum(error, 1e-12)
        within = int((scored <= 2).sum())
        lines.append(
            [str(problem), len(every), *_times(one), one.peak_gib, promised, off, f"{within} of {checked}", load()]
        )
        shares = {"promised": promised, "off": off, "within": within, "checked": checked}
        kept.append({"problem": str(problem), "goal": problem.goal} | shares | figures("ours", one))
    print(f"\nvariance of unseen combinations; goal {plan.variance[0].goal or 10:g} s; median of {plan.rounds}")
    header = [
        "combinations",
        "asked",
        "seconds",
        "CPU seconds",
        "peak GiB",
        "error bar",
        "error",
        "within 2 bars",
        "load",
    ]
    measure.table(header, lines)
    print("error bar: the standard error that comes with the variance, as a share of it; error: what was found")
    return kept


def growth(plan: Plan, folder: Path) -> list[Any]:
    """Part 6."""
    lines: dict[str, list[tuple[int, float, float]]] = {}
    kept = []
    for many in plan.growth:
        base = Problem(many, round(2 * many ** (1 / 3)), THREE)
        found = dict(_sizes(base, plan, folder))
        for name, one in found.items():
            lines.setdefault(name, []).append((many, median(one, "seconds"), one.peak_gib))
            kept.append({"problem": str(base)} | figures(name, one))
    print(f"\ntime against combinations, 3 factors, one in 8 seen; median of {plan.rounds}; load {load()}")
    rows = [[name, *point] for name, points in lines.items() for point in points]
    measure.table(["", "combinations", "seconds", "peak GiB"], rows)
    for name, points in lines.items():
        print(f"log-log slope, {name}: {slope(points):.2f}")
    out = measure.RESULTS / ("kernel-smoke.png" if plan is SMOKE else "kernel.png")
    picture(lines, out)
    print(f"drawn: {out.name} and {out.with_suffix('.svg').name} in {out.parent.name}/")
    return kept


def _sizes(base: Problem, plan: Plan, folder: Path) -> Iterator[tuple[str, measure.Measured]]:
    for drawn in DRAWN:
        given = Input(replace(base, drawn=drawn), folder)
        given.codes()
        subjects: dict[str, tuple[Any, ...]] = {f"recombine, {drawn}": (ours, given)}
        if drawn == "uniform" and base.combinations <= plan.dense:
            subjects["KernelRidge"] = (kernel_ridge, given)
        yield from measure.take_turns(subjects, rounds=plan.rounds).items()
        given.file.unlink()  # the largest would fill the disk


def slope(points: Sequence[tuple[int, float, float]]) -> float:
    """How steep a line is on log-log axes."""
    sizes, seconds, _ = zip(*points, strict=True)
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0]) if len(points) > 1 else float("nan")


def picture(lines: dict[str, list[tuple[int, float, float]]], out: Path) -> None:
    """The plot, as PNG and SVG."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    mpl.rcParams.update({"font.family": "sans-serif", "font.size": 10, "svg.fonttype": "none"})
    figure, axes = plt.subplots(figsize=(7.2, 4.2), layout="constrained")
    looks = {"uniform": ("#0072b2", "o"), "Zipf": ("#d55e00", "s"), "KernelRidge": ("0.4", "^")}
    beside = _apart({name: points[-1][1] for name, points in lines.items() if name != "KernelRidge"})
    for name, points in lines.items():
        colour, mark = next(look for key, look in looks.items() if key in name)
        sizes, seconds, _ = zip(*points, strict=True)
        axes.plot(sizes, seconds, color=colour, marker=mark, markersize=5, linewidth=1.6)
        place = {"xytext": (10, 0), "textcoords": "offset points", "va": "center", "annotation_clip": False}
        label = f"{name}\n(slope {slope(points):.2f})"
        axes.annotate(label, (sizes[-1], beside.get(name, seconds[-1])), color=colour, **place)
    sizes, seconds, _ = zip(*lines["recombine, uniform"], strict=True)
    ends = np.array([sizes[0], sizes[-1]])
    axes.plot(ends, seconds[-1] * ends / ends[-1], color="0.7", linewidth=1, linestyle=(0, (4, 3)))
    axes.set(xscale="log", yscale="log", xlabel="seen combinations of 3 factors, one in 8 seen", ylabel="seconds")
    axes.minorticks_off()
    axes.yaxis.set_major_formatter("{x:g}")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="0.92")
    axes.set_axisbelow(True)
    axes.set_title(
        "Time to solve the squared loss to 1e-8 (dashed: in step with the combinations)", loc="left", fontsize=11
    )
    out.parent.mkdir(parents=True, exist_ok=True)
    for ending in ("png", "svg"):
        figure.savefig(out.with_suffix(f".{ending}"), dpi=160)
    plt.close(figure)


def _apart(heights: dict[str, float]) -> dict[str, float]:
    """Where to write beside the lines' ends so that no two labels touch."""
    placed: dict[str, float] = {}
    for label in sorted(heights, key=heights.__getitem__, reverse=True):
        placed[label] = min(heights[label], min(placed.values(), default=np.inf) / 3)
    return placed


PARTS: dict[str, Callable[[Plan, Path], list[Any]]] = {
    "ridge": ridge,
    "million": million,
    "large": large,
    "others": others,
    "variance": variances,
    "growth": growth,
}


def main() -> None:
    """Run it."""
    parser = measure.options(__doc__)
    parser.add_argument("--part", action="append", choices=PARTS, help="only this one (can be given more than once)")
    parser.add_argument("--rounds", type=int, help="how often each is measured")
    given = parser.parse_args()
    plan = SMOKE if given.smoke else FULL
    if given.rounds:
        plan = replace(plan, rounds=given.rounds)
    chosen = given.part or list(PARTS)
    kept = {}
    with tempfile.TemporaryDirectory(prefix="recombine-kernel-") as folder:
        for name in chosen:
            kept[name] = PARTS[name](plan, Path(folder))
    measure.write("kernel" if len(chosen) == len(PARTS) else f"kernel-{'-'.join(chosen)}", given, kept)


if __name__ == "__main__":
    main()
