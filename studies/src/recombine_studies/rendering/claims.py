"""What the paper claims, and what we ask besides, as comparisons over the evidence."""

from collections.abc import Mapping, Sequence
from functools import partial
from statistics import fmean

import numpy as np

from recombine.numerics.rank_correlation import spearman
from recombine_lab.probes.geometry_probe.answers import EXCESS
from recombine_lab.probes.geometry_probe.controls import UNTRAINED
from recombine_lab.probes.geometry_probe.kernel_measures import ORTHOGONALITY
from recombine_lab.probes.geometry_probe.layer_sources import ANSWER
from recombine_lab.probes.probe import MEASURED
from recombine_studies.claims import (
    DIFFERENCE,
    NOT_NEGATIVE,
    SHARE,
    UNBOUNDED,
    Check,
    Comparison,
    Rule,
    exact,
    over_seeds,
    supposing,
    within,
)
from recombine_studies.rendering.grids import ALONE, BOTH, PLAIN
from recombine_studies.rendering.measures import (
    DESIGN,
    SEEN,
    UNSEEN,
    exponents,
    last_hidden,
    needs,
    scored,
    valued,
)
from recombine_studies.rows import Row, Rows
from recombine_studies.study import Evidence

NAMES = {"mlp": "MLP", "cnn": "CNN decoder"}
CODES = {"onehot": "1-hot", "bump": "bump", "ramp": "scalar"}
FAILS, COMPOSES, LEARNED = 0.7, 0.05, 0.1
HALF = 0.5
MORE = 0.1
"""Superposition beyond the truth's own that counts."""
FAILING, COMPOSING = ("mlp", "cnn", "filters without penalties"), ("regularised filters", "spatial broadcast")


def by_condition(rows: Rows, grids: Sequence[str], code: str) -> dict[str, Rows]:
    """The rows of each network and code, by name."""
    chosen = rows.chosen(lambda row: row["grid"] in grids)
    return {told(grid, value): some for (grid, value), some in chosen.by("grid", code).items()}


def told(grid: str, code: object) -> str:
    """A network and its code as a reader is told; of other networks than the plain ones the code goes without saying.

    >>> told("mlp", "ramp"), told("spatial broadcast", "onehot")
    ('MLP, scalar', 'spatial broadcast')
    """
    return f"{NAMES[grid]}, {CODES[str(code)]}" if grid in NAMES else grid


# -- errors ----------------------------------------------------------------------------------------------------------


def plain_fail(evidence: Evidence) -> list[Comparison]:
    """Unseen error of each plain decoder and code."""
    found = by_condition(scored(evidence), tuple(NAMES), "task.code")
    return [
        learned(over_seeds(name, rows.numbers(UNSEEN), ">=", FAILS, NOT_NEGATIVE), rows) for name, rows in found.items()
    ]


def learned(comparison: Comparison, rows: Rows) -> Comparison:
    """A comparison of networks that draw what they were shown: an untrained one fails on everything."""
    return supposing(comparison, "seen error", rows.numbers(SEEN), "<=", LEARNED)


def any_depth_fails(evidence: Evidence) -> list[Comparison]:
    """Unseen error of plain decoders with the bump code, depth by depth."""
    comparisons = []
    for grid, name in NAMES.items():
        rows = scored(evidence).chosen(partial(_is_of_depths, grid))
        for depth, some in sorted(rows.with_columns(depth_of).by("layers").items()):
            found = over_seeds(f"{name}, depth {depth}", some.numbers(UNSEEN), ">=", FAILS, NOT_NEGATIVE)
            comparisons.append(learned(found, some))
    return comparisons


def _is_of_depths(grid: str, row: Row) -> bool:
    return row["grid"] in (grid, f"{grid}, other depths") and row["task.code"] == "bump"


def depth_of(row: Row) -> Row:
    """How many layers a plain decoder has.

    >>> depth_of({"model.hidden": [8, 8]}), depth_of({"model.depth": 4})
    ({'layers': 2}, {'layers': 4})
    """
    return {"layers": len(row["model.hidden"]) if row.get("model.hidden") else row.get("model.depth")}


def seen_learned(evidence: Evidence) -> list[Comparison]:
    """Seen error of each network."""
    grids = (*NAMES, "regularised filters", "filters without penalties", "spatial broadcast", "pixel transformer")
    found = by_condition(scored(evidence), grids, "task.code")
    return [over_seeds(name, rows.numbers(SEEN), "<=", LEARNED, NOT_NEGATIVE) for name, rows in found.items()]


def unseen_error(grid: str, rule: Rule, threshold: float, evidence: Evidence) -> list[Comparison]:
    """Unseen error of one network, as a share of a blank image's."""
    rows = scored(evidence).where(grid=grid)
    return [learned(over_seeds("unseen / blank", rows.numbers(UNSEEN), rule, threshold, NOT_NEGATIVE), rows)]


# -- geometry --------------------------------------------------------------------------------------------------------


def superposed(evidence: Evidence) -> list[Comparison]:
    """Superposition beyond the truth, of those that should fail."""
    return [over_seeds(name, values, ">=", MORE, DIFFERENCE) for name, values in excess(evidence, FAILING).items()]


def superposition_tells(evidence: Evidence) -> list[Comparison]:
    """The same of those that should compose."""
    return [over_seeds(name, values, "<", MORE, DIFFERENCE) for name, values in excess(evidence, COMPOSING).items()]


def excess(evidence: Evidence, grids: Sequence[str]) -> dict[str, list[float]]:
    """Superposition beyond the truth of each network's answers, a number for each seed."""
    found = by_condition(evidence.of("geometry"), grids, "code")
    chosen = {
        name: rows.chosen(lambda row: row["measure"] == EXCESS and row["who"] == MEASURED)
        for name, rows in found.items()
    }
    return {name: rows.where(where=ANSWER).numbers("value") if len(rows) else [] for name, rows in chosen.items()}


def reentangled(evidence: Evidence) -> list[Comparison]:
    """How much less orthogonal the steps of x and y are at the last hidden layer than in the same network untrained."""
    found = by_condition(evidence.of("geometry"), tuple(NAMES), "code")
    return [over_seeds(name, _falls(rows, UNTRAINED), ">", 0.0, DIFFERENCE) for name, rows in found.items()]


def falls_from_code(evidence: Evidence) -> list[Comparison]:
    """How far orthogonality falls from the code, where it is 1, to the last hidden layer."""
    found = by_condition(evidence.of("geometry"), tuple(NAMES), "code")
    return [over_seeds(name, _falls(rows, None), ">", MORE, SHARE) for name, rows in found.items()]


def reentangling_tells(evidence: Evidence) -> list[Comparison]:
    """The fall of each plain decoder less the mean fall of those that compose."""
    composing = by_condition(evidence.of("geometry"), COMPOSING, "code")
    usual = [fall for rows in composing.values() for fall in _falls(rows, None)]
    found = by_condition(evidence.of("geometry"), tuple(NAMES), "code")
    if not usual:
        return []
    return [
        over_seeds(name, [fall - fmean(usual) for fall in _falls(rows, None)], ">", 0.0, DIFFERENCE)
        for name, rows in found.items()
    ]


def _falls(rows: Rows, control: str | None) -> list[float]:
    """For each run: orthogonality of a control (or of the code, 1) less that of the last hidden layer."""
    found = []
    for run in rows.by("key").values():
        layer = last_hidden(run)
        own = valued(layer, ORTHOGONALITY)
        beside = 1.0 if control is None else valued(layer, ORTHOGONALITY, control)
        if own is not None and beside is not None:
            found.append(beside - own)
    return found


# -- stripes, coverage, scaling --------------------------------------------------------------------------------------


def stripes_help(evidence: Evidence) -> list[Comparison]:
    """How much stripes take off the unseen error, seed by seed; and whether what is left is little."""
    comparisons = []
    for name, arms in _arms(evidence).items():
        gains = [arms[PLAIN][seed] - arms[BOTH][seed] for seed in arms[PLAIN] if seed in arms[BOTH]]
        comparisons.append(over_seeds(f"{name}: stripes take off", gains, ">", 0.0, UNBOUNDED))
        comparisons.append(over_seeds(f"{name}: left with both", list(arms[BOTH].values()), "<", HALF, NOT_NEGATIVE))
    return comparisons


def stripes_alone_fail(evidence: Evidence) -> list[Comparison]:
    """The unseen error after training on stripes alone."""
    return [
        over_seeds(f"{name}: stripes alone", list(arms[ALONE].values()), ">=", FAILS, NOT_NEGATIVE)
        for name, arms in _arms(evidence).items()
    ]


def _arms(evidence: Evidence) -> dict[str, dict[float, dict[int, float]]]:
    """For each plain decoder with the bump code on the donut: share of stripes → seed → unseen error."""
    rows = scored(evidence)
    found = {}
    for grid, name in NAMES.items():
        asked = (grid, f"{grid} stripes")
        some = Rows(row for row in rows if row["grid"] in asked and row["task.code"] == "bump")
        arms: dict[float, dict[int, float]] = {PLAIN: {}, BOTH: {}, ALONE: {}}
        for row in some:
            if row[UNSEEN] is not None:
                arms[row["stripes"]][row["seed"]] = row[UNSEEN]
        found[name] = arms
    return found


def covered(evidence: Evidence, grid: str) -> Rows:
    """A plain decoder with the bump code: a row for each split, its errors averaged over seeds; stripes or none."""
    rows = scored(evidence).chosen(
        lambda row: (
            row["grid"] in (grid, f"{grid} stripes", f"{grid} coverage")
            and row["task.code"] == "bump"
            and row["stripes"] != ALONE
            and row[UNSEEN] is not None
        )
    )
    return Rows({**some[0], UNSEEN: fmean(some.numbers(UNSEEN))} for some in rows.by(DESIGN).values())


def coverage_predicts(evidence: Evidence) -> list[Comparison]:
    """The rank correlation of what lies outside the span of the seen images with the unseen error; and a separation."""
    comparisons = []
    for grid, name in NAMES.items():
        rows = covered(evidence, grid)
        rank = spearman(np.array(rows.numbers("outside")), np.array(rows.numbers(UNSEEN)))
        told = f"{name}: rank correlation"
        comparisons.append(within(told, rank.value, rank.low, rank.high, ">", 0.0, n=rank.combinations))
        comparisons.append(exact(f"{name}: pairs ordered rightly", separation(rows), ">=", 0.9, n=len(rows)))
    return comparisons


def separation(rows: Rows) -> float | None:
    """Of all pairs of a split that fails and one that does not: in how many does more of the failing lie outside?"""
    failing = [row["outside"] for row in rows if row[UNSEEN] >= FAILS]
    other = [row["outside"] for row in rows if row[UNSEEN] < FAILS]
    pairs = [(bad > good) + (bad == good) / 2 for bad in failing for good in other]
    return fmean(pairs) if pairs else None


def scaling(evidence: Evidence) -> list[Comparison]:
    """The exponents of the samples needed, without stripes and with them."""
    without, with_stripes = exponents(evidence, stripes=False), exponents(evidence, stripes=True)
    gains = [without[seed] - with_stripes[seed] for seed in without if seed in with_stripes]
    return [
        over_seeds("exponent without stripes", list(without.values()), ">=", 2.5, UNBOUNDED),
        over_seeds("exponent with stripes", list(with_stripes.values()), "<=", 1.5, UNBOUNDED),
        over_seeds("the one less the other", gains, ">", 0.0, UNBOUNDED),
    ]


def reached(evidence: Evidence, *, stripes: bool) -> tuple[int, int]:
    """For how many sizes and seeds the target lay within what was tried, and how many there are."""
    rows = needs(evidence).chosen(lambda row: bool(row["stripes"]) == stripes)
    return len(rows.numbers("needed")), len(rows)


CHECKS: Mapping[str, Check] = {
    "plain decoders fail": plain_fail,
    "depth is no cure": any_depth_fails,
    "what was seen is learned": seen_learned,
    "regularised filters compose": partial(unseen_error, "regularised filters", "<", COMPOSES),
    "filters without penalties fail": partial(unseen_error, "filters without penalties", ">", 1.0),
    "superposition of training data": superposed,
    "superposition tells who fails": superposition_tells,
    "mixed again by later layers": falls_from_code,
    "mixing is learned": reentangled,
    "mixing tells who fails": reentangling_tells,
    "stripes together with bumps help": stripes_help,
    "stripes alone do not": stripes_alone_fail,
    "output coverage predicts who fails": coverage_predicts,
    "samples needed": scaling,
    "a pixel transformer fails": partial(unseen_error, "pixel transformer", ">=", FAILS),
    "spatial broadcast composes": partial(unseen_error, "spatial broadcast", "<", HALF),
}
