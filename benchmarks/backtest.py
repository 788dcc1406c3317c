"""Real tables back-tested: seen combinations held out and predicted, by recombine and by what one would use instead.

Five folds, the same for everybody: a fifth of the seen combinations at a time is predicted from the others. One line
a combination: everybody learns from, and is scored on, the combination's mean answer. Fitted settings are fitted anew
in every fold, from its training part alone.

- recombine: `fit` (weights estimated in each fold) and `relu:3` (weights of a network, nothing estimated but the scale)
- additive: least squares on the values, no interactions
- boosted trees: scikit-learn's HistGradientBoostingRegressor, settings chosen by 3-fold search; values one-hot,
  or each as the mean answer it goes with (TargetEncoder), which is what one does with many values. Intervals: two more
  models with the quantile loss
- factorisation machine: myfm, Bayesian, by Gibbs sampling, hyperparameters sampled along, a group for each factor,
  its rank chosen by 3-fold search. Intervals: posterior samples and their noise
- mean: the mean of the training answers

Scores are root mean squared errors over combinations, with 95 % intervals from resampled combinations; differences
are paired (recombine's `fit` less the other), so an interval that leaves out zero is a difference beyond chance.

Tables (RECOMBINE_DATA, see examples/tables.py); the simulated one is drawn from the model and shows what to expect
where it holds:

- MIT-States: 1,962 attribute-object pairs, log of the number of images
- C-GQA: 7,767 attribute-object pairs, log of the number of images
- CelebA, 8 factors: those of examples/tables.py, the share called attractive. 116 of 256 seen, some by one image only
- CelebA, 5 factors: eyeglasses, chubby, grey hair, smiling, open mouth; all 32 seen, by 98 images or more. Chosen
  because a sum of effects fits them badly (among 17 attributes), so this one is against the additive model by choice
"""

import contextlib
import io
import math
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, TargetEncoder
from threadpoolctl import threadpool_limits

import measure
import recombine
from recombine.verbs.predict.answers import Answers, answers
from recombine.verbs.predict.diagnosis import Diagnosis
from recombine.verbs.predict.kernel.salience_fit import resolve
from recombine.verbs.predict.learner import learn
from recombine.verbs.predict.simple_rules import additive_rule, mean_answer

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples"))
from tables import FACES, data_folder

SHARE, FOLDS, SEED, RESAMPLES, NORMAL = 0.2, 5, 0, 2_000, 1.959964
FEW = ["Eyeglasses", "Chubby", "Gray_Hair", "Smiling", "Mouth_Slightly_Open"]
WITHIN = KFold(3, shuffle=True, random_state=SEED)
MOST_COLUMNS = 500


def mit_states(folder: Path) -> recombine.Support:
    """Attribute and object, log of the number of images."""
    table = pyarrow.csv.read_csv(folder / "factors/mit_states_pairs.csv")
    return recombine.read(_with_log(table, "n_images"), factors=["attr", "obj"], target="log_count")


def cgqa(folder: Path) -> recombine.Support:
    """The same for C-GQA, whose images have to be counted."""
    images = pq.read_table(folder / "factors/cgqa_images.parquet", columns=["attr", "obj"])
    counted = images.group_by(["attr", "obj"]).aggregate([([], "count_all")])
    return recombine.read(_with_log(counted, "count_all"), factors=["attr", "obj"], target="log_count")


def _with_log(table: pa.Table, column: str) -> pa.Table:
    return table.append_column("log_count", pc.ln(table[column].cast(pa.float64())))


def celeba(folder: Path, factors: list[str]) -> recombine.Support:
    """Some attributes, and the share of their images called attractive."""
    faces = pq.read_table(folder / "factors/celeba.parquet", columns=[*factors, "Attractive"])
    share = faces["Attractive"].cast(pa.int8()).cast(pa.float64())
    return recombine.read(faces.append_column("share", share), factors=factors, target="share")


def simulated(sizes: tuple[int, ...], seen: int) -> recombine.Support:
    """A table from the model: an effect for every value, every pair, and every whole combination."""
    rng = np.random.default_rng(0)
    keys = np.sort(rng.choice(math.prod(sizes), size=seen, replace=False))
    codes = np.unravel_index(keys, sizes)
    answer = rng.normal(scale=0.4, size=seen)
    for order, spread in ((1, 0.8), (2, 0.5)):
        for chosen in combinations(range(len(sizes)), order):
            effects = rng.normal(scale=spread, size=[sizes[k] for k in chosen])
            answer += effects[tuple(codes[k] for k in chosen)] if order < len(sizes) else 0.0
    columns = {f"factor {k}": column for k, column in enumerate(codes)}
    return recombine.read(columns | {"answer": answer}, factors=list(columns), target="answer")


def real_tables() -> dict[str, recombine.Support]:
    """What is there; nothing, with a word, where the data are not."""
    folder = data_folder()
    if folder is None:
        print("no real tables here: set RECOMBINE_DATA to the folder that holds them")
        return {}
    return {
        "MIT-States": mit_states(folder),
        "C-GQA": cgqa(folder),
        "CelebA, 8 factors": celeba(folder, FACES),
        "CelebA, 5 factors": celeba(folder, FEW),
    }


@dataclass(frozen=True)
class Fold:
    """What may be learnt from, and what is asked. A method sees `truth` of nothing."""

    support: recombine.Support  # the training part
    known: Answers  # its answers
    codes: np.ndarray  # asked about
    measured: np.ndarray  # the variance of each asked answer that stems from its few examples

    @property
    def sizes(self) -> tuple[int, ...]:
        return self.support.space.sizes

    @property
    def learnt(self) -> np.ndarray:
        return self.support.codes

    @property
    def values(self) -> np.ndarray:
        return self.known.values[:, 0]


def folds(support: recombine.Support) -> Iterator[tuple[Fold, np.ndarray]]:
    """Each fold, and which of the combinations with an answer it asks about: as `recombine.backtest` cuts them."""
    own = answers(support)
    order = np.random.default_rng(SEED).permutation(len(own))
    for part in np.array_split(order, FOLDS):
        test = np.sort(part)
        train = np.setdiff1d(order, part)
        known = support.subset(own.rows[train])
        measured = (own.within or 0.0) / own.counts[test]
        yield Fold(known, answers(known), support.codes[own.rows[test]], measured), test


Said = tuple[np.ndarray, np.ndarray | None, np.ndarray | None]
"""Predictions, and the ends of their 95 % intervals if the method gives any."""
Method = Callable[[Fold], Said]


def ours(salience: str) -> Method:
    """recombine with some salience."""

    def said(fold: Fold) -> Said:
        weights = resolve(salience, fold.support, seed=SEED)
        learner = learn(fold.support, fold.known, weights, loss="squared", ridge=0.0, seed=SEED)
        found = Diagnosis(learner, fold.codes, np.full(len(fold.codes), np.nan))
        reach = NORMAL * np.sqrt(learner.scale * found.variances[0] + fold.measured)
        scores = found.scores[:, 0]
        return scores, scores - reach, scores + reach

    return said


def additive(fold: Fold) -> Said:
    """One effect a value."""
    return additive_rule(fold.support, fold.known, fold.codes)[:, 0], None, None


def mean(fold: Fold) -> Said:
    """The same everywhere."""
    return mean_answer(fold.known, fold.codes)[:, 0], None, None


Grid = dict[str, list[Any]]
FULL: Grid = {"min_samples_leaf": [2, 5, 20], "max_iter": [30, 150]}
SMOKE: Grid = {"min_samples_leaf": [5, 20], "max_iter": [30]}


def trees_on_values(grid: Grid, fold: Fold) -> Said:
    """A column of zeros and ones for each value: as categories, its trees leave out values seen less than ten times."""
    categories = [np.arange(size) for size in fold.sizes]

    def build(**more: Any) -> Any:
        return make_pipeline(OneHotEncoder(categories=categories, sparse_output=False), _boosted(**more))

    return _trees(grid, fold, build)


def trees_on_means(grid: Grid, fold: Fold) -> Said:
    """Each value as the mean answer that goes with it, cross-fitted, so that nothing learns from itself."""
    folds_within = KFold(5, shuffle=True, random_state=SEED)

    def build(**more: Any) -> Any:
        return make_pipeline(TargetEncoder(target_type="continuous", cv=folds_within), _boosted(**more))

    return _trees(grid, fold, build)


def _boosted(**more: Any) -> HistGradientBoostingRegressor:
    return HistGradientBoostingRegressor(random_state=SEED, **more)


def _trees(grid: Grid, fold: Fold, build: Callable[..., Any]) -> Said:
    prefix = "histgradientboostingregressor__"
    wanted = {prefix + name: values for name, values in grid.items()}
    search = GridSearchCV(build(), wanted, cv=WITHIN, scoring="neg_mean_squared_error").fit(fold.learnt, fold.values)
    best = {name.removeprefix(prefix): value for name, value in search.best_params_.items()}
    ends = [
        build(loss="quantile", quantile=at, **best).fit(fold.learnt, fold.values).predict(fold.codes)
        for at in (0.025, 0.975)
    ]
    return search.predict(fold.codes), ends[0], ends[1]


RANKS, DRAWS, KEPT = (2, 4, 8), 400, 300


def factorisation_machine(fold: Fold) -> Said:
    """myfm's Bayesian one, on one-hot values; its rank chosen by the same 3-fold search."""
    rows = one_hot(fold.learnt, fold.sizes)
    splits = list(WITHIN.split(fold.learnt))

    def missed(rank: int) -> float:
        parts = [(_gibbs(rows[a], fold.values[a], rows[b], fold.sizes, rank)[0], fold.values[b]) for a, b in splits]
        return sum(float(np.square(said - truth).sum()) for said, truth in parts)

    return _gibbs(rows, fold.values, one_hot(fold.codes, fold.sizes), fold.sizes, min(RANKS, key=missed))


def _gibbs(rows: Any, values: np.ndarray, asked: Any, sizes: tuple[int, ...], rank: int) -> Said:
    """Posterior means and 95 % intervals. Standardised answers, as the priors want them."""
    from myfm import MyFMRegressor  # noqa: PLC0415 - it may not be there

    centre, spread = values.mean(), values.std() or 1.0
    machine = MyFMRegressor(rank=rank, random_seed=SEED)
    with contextlib.redirect_stderr(io.StringIO()):  # it draws a progress bar, asked or not
        machine.fit(rows, (values - centre) / spread, n_iter=DRAWS, n_kept_samples=KEPT, group_shapes=list(sizes))
    samples = np.stack([sample.predict_score(asked, []) for sample in machine.predictor_.samples])
    noise = np.array([hyper.alpha for hyper in machine.history_.hypers[-KEPT:]]) ** -0.5
    drawn = samples + noise[:, None] * np.random.default_rng(SEED).normal(size=samples.shape)
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
    return centre + spread * samples.mean(axis=0), centre + spread * low, centre + spread * high


def one_hot(codes: np.ndarray, sizes: tuple[int, ...]) -> Any:
    """A row for each combination, with a one for each of its values."""
    from scipy.sparse import csr_matrix  # noqa: PLC0415 - only the factorisation machine wants it

    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    ends = np.arange(len(codes) + 1) * codes.shape[1]
    return csr_matrix((np.ones(codes.size), (codes + starts).ravel(), ends), shape=(len(codes), sum(sizes)))


def methods(support: recombine.Support, grid: Grid) -> dict[str, Method]:
    """Who takes part; who cannot is left out with a word."""
    found: dict[str, Method] = {"recombine, fit": ours("fit"), "recombine, relu:3": ours("relu:3")}
    found |= {"additive": additive}
    if sum(support.space.sizes) <= MOST_COLUMNS:
        found["trees, one-hot"] = partial(trees_on_values, grid)
    else:
        print(f"trees on one-hot values left out: more than {MOST_COLUMNS} columns would take hours")
    found["trees, mean answers"] = partial(trees_on_means, grid)
    try:
        found[f"FM, myfm {version('myfm')}"] = factorisation_machine
    except PackageNotFoundError:
        print("factorisation machine left out: pip install myfm")
    return found | {"mean": mean}


@dataclass(frozen=True)
class Outcome:
    """One method on one table: what it said of every combination."""

    said: np.ndarray
    low: np.ndarray | None
    high: np.ndarray | None
    seconds: float

    def squares(self, truth: np.ndarray) -> np.ndarray:
        """Squared errors, one a combination."""
        return np.square(self.said - truth)

    def inside(self, truth: np.ndarray) -> np.ndarray | None:
        """Where the truth lies in the interval."""
        if self.low is None or self.high is None:
            return None
        return (truth >= self.low - 1e-12) & (truth <= self.high + 1e-12)


def run(support: recombine.Support, method: Method) -> Outcome:
    """Every fold by one method."""
    total = len(answers(support))
    said, low, high = (np.full(total, np.nan) for _ in range(3))
    started = time.perf_counter()
    for fold, test in folds(support):
        said[test], lower, upper = method(fold)
        low[test] = np.nan if lower is None else lower
        high[test] = np.nan if upper is None else upper
    without = bool(np.isnan(low).all())
    return Outcome(said, None if without else low, None if without else high, time.perf_counter() - started)


def compare(name: str, support: recombine.Support, grid: Grid) -> dict[str, Any]:
    """One table: run everybody, print, and check ours against `recombine.backtest`."""
    truth = answers(support).values[:, 0]
    print(f"\n{name}: {len(truth):,} combinations of {' x '.join(map(str, support.space.sizes))} values; ", end="")
    print(f"the answers' standard deviation is {truth.std():.4g}; load {os.getloadavg()[0]:.1f}")
    found = {title: run(support, method) for title, method in methods(support, grid).items()}
    draws = np.random.default_rng(SEED).integers(0, len(truth), (RESAMPLES, len(truth)))
    resampled = {title: np.sqrt(one.squares(truth)[draws].mean(axis=1)) for title, one in found.items()}
    first = next(iter(found))
    rows, kept = [], {}
    for title, one in found.items():
        score = float(np.sqrt(one.squares(truth).mean()))
        own = np.quantile(resampled[title], [0.025, 0.975])
        apart = np.quantile(resampled[first] - resampled[title], [0.025, 0.975])
        cover = coverage(one, truth, draws)
        difference = "" if title == first else f"{_beyond(apart)} [{apart[0]:+.4f}, {apart[1]:+.4f}]"
        rows.append([title, score, f"[{own[0]:.4g}, {own[1]:.4g}]", difference, *_covered(one, cover), one.seconds])
        kept[title] = {"rmse": score, "interval": own.tolist(), "fit_less_this": apart.tolist(), "coverage": cover}
    header = ["", "RMSE", "95 %", "fit less this", "coverage", "mean width", "seconds"]
    measure.table(header, rows)
    _check(support, kept[first])
    return kept


def _beyond(apart: np.ndarray) -> str:
    """Who is better, beyond chance."""
    if apart[1] < 0:
        return "fit better"
    return "fit worse" if apart[0] > 0 else "as good"


def coverage(one: Outcome, truth: np.ndarray, draws: np.ndarray) -> list[float] | None:
    """How often the 95 % interval holds the truth, with an interval over combinations."""
    inside = one.inside(truth)
    if inside is None:
        return None
    low, high = np.quantile(inside[draws].mean(axis=1), [0.025, 0.975])
    return [float(inside.mean()), float(low), float(high)]


def _covered(one: Outcome, cover: list[float] | None) -> tuple[str, Any]:
    if cover is None or one.low is None or one.high is None:
        return "", ""
    return f"{cover[0]:.3f} [{cover[1]:.3f}, {cover[2]:.3f}]", float((one.high - one.low).mean())


def _check(support: recombine.Support, kept: dict[str, Any]) -> None:
    """The line above must be what `recombine.backtest` itself says."""
    record = recombine.backtest(support, salience="fit", share=SHARE, folds=FOLDS, seed=SEED)
    score, covered = record.methods[0].score, record.coverage.found if record.coverage else math.nan
    same = math.isclose(score, kept["rmse"], rel_tol=1e-6) and math.isclose(covered, kept["coverage"][0], abs_tol=1e-6)
    print(f"recombine.backtest(salience='fit'): {score:.4g}, coverage {covered:.3f}: ", end="")
    print("the same" if same else "NOT THE SAME")


def main() -> None:
    """Run it."""
    parser = measure.options(__doc__)
    parser.add_argument("--table", help="only tables whose name begins like this")
    given = parser.parse_args()
    small = simulated((15, 12), 90) if given.smoke else simulated((40, 40), 800)
    tables = {"simulated": small} | ({} if given.smoke else real_tables())
    chosen = {name: table for name, table in tables.items() if name.lower().startswith((given.table or "").lower())}
    grid = SMOKE if given.smoke else FULL
    with threadpool_limits(limits=1):  # tables are small: threads would only wait for one another
        measure.write("backtest", given, {name: compare(name, table, grid) for name, table in chosen.items()})


if __name__ == "__main__":
    main()
