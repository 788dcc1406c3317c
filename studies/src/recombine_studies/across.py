"""Across the papers: what was said before training, what happened, and what was seen inside, for every kind of run.

It stands on the runs of the other studies and on fresh ones: rules and supports that were drawn for this study alone,
so that no constant of a forecast and no threshold of a probe was chosen with them in view.
"""

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

import recombine_lab
from recombine.base.errors import RecombineError
from recombine.base.seeds import derived
from recombine.base.words import listing, measure, percent
from recombine.numerics.rank_correlation import spearman
from recombine.output.figures import Figure, Matrix, PointGroup, Scatter
from recombine_lab.runs.run import Run
from recombine_lab.training.pack import job_of
from recombine_studies.catalogue import STUDIES, study_of
from recombine_studies.claims import Check, Comparison, exact, share_of, within
from recombine_studies.rows import Row, Rows
from recombine_studies.study import Bench, Evidence, Settings, Step, Study, study_texts

FRESH = "fresh"
LEAST = -1.0
"""Scores below count as this, forecast or measured: one R² of -30 would decide every mean."""
_LARGEST = 2_000
"""Combinations in a support above which factors are continuous, and nothing is said of them one by one."""
_DRAWS = 2_000
_INSIDE = ("additivity, answer", "effective rank, answer", "separability, answer", "additivity, hidden layer")
"""The probe's numbers that are held against the forecast, chosen beforehand: one for each side of what it measures."""
BEFORE: Mapping[str, str] = {
    "forecast": "the forecast, with the true answers to compare with",
    "matched": "the forecast, told which network will be trained",
    "blind": "the forecast, without a true answer for any unseen combination",
    "determined": "the share of unseen combinations that the seen ones fix, if the factors add up",
    "seen share": "the share of combinations that were seen",
    "simple": "one answer for all",
}
"""What is known before training, and how a reader is told."""


def _grids(settings: Settings) -> dict[str, Mapping[str, Any]]:
    """The runs of every other study, and fresh ones."""
    preset = settings["others"]
    others = {
        f"{name}: {grid}": plan
        for name in STUDIES
        if name != "across" and preset is not None
        for grid, plan in study_of(name).grids(study_of(name).presets[preset]).items()
    }
    return {**others, **_fresh(settings)}


def _fresh(settings: Settings) -> dict[str, Mapping[str, Any]]:
    """Rules on small tables, each shown in part; networks that hardly move, that learn features, deep ones."""
    rules = {
        "sums of 7 × 7": {"name": "addition", "values": 7},
        "order of 8": {"name": "transitive_ordering", "items": 8},
        "classes of 4 and 4": {"name": "transitive_equivalence", "classes": [4, 4]},
        "context of 2 × 4 × 4": {"name": "context_dependence", "values": 4, "k": 1},
    }
    recipe = {"lr": 1e-3, "batch": None, "samples": "every", "evaluations": 1, "test_samples": 1000}
    networks = [
        {"name": "mlp", "hidden": [settings["width"]]},
        {"name": "mlp", "hidden": [settings["width"]], "scale": 0.01},
        {"name": "mlp", "hidden": [128, 128, 128]},
    ]
    return {
        f"{FRESH}: {name}": {
            "tasks": task,
            "splits": [
                {"name": "hold_out_combinations", "test_size": share, "n_splits": 1, "random_state": seed}
                for share in settings["shares"]
                for seed in settings["draws"]
            ],
            "models": networks,
            "recipes": {"steps": settings["steps"], **recipe},
            "seeds": settings["seeds"],
        }
        for name, task in list(rules.items())[: settings["rules"]]
    }


# --- what is measured -------------------------------------------------------------------------------------------------


def cell_of(row: Row) -> str:
    """Which cell a run is of: its task, what was shown, its network and its training; all but the seed."""
    parts = [
        (name, str(row[name])) for name in sorted(row) if name.split(".")[0] in ("task", "split", "model", "recipe")
    ]
    return f"{row['grid']} #{derived(0, *(part for pair in parts for part in pair if pair[1] != 'None')) % 10**8:08d}"


def _first_of_each_cell(evidence: Evidence) -> list[Row]:
    """A run of each cell, that of the smallest seed: a forecast is the same for all, a probe looks into one."""
    cells: dict[str, Row] = {}
    for row in sorted(evidence.runs, key=lambda row: (row["seed"], row["key"])):
        cells.setdefault(cell_of(row), row)
    return [{"key": row["key"], "cell": cell} for cell, row in sorted(cells.items())]


def _looked_into(evidence: Evidence) -> list[Row]:
    """The runs that the probe looks into: fresh ones, and networks on symbols of the kernel's study."""
    asked = {row["key"] for row in evidence.runs if row["grid"].startswith((FRESH, "kernel")) and row["model"] == "mlp"}
    return [item for item in _first_of_each_cell(evidence) if item["key"] in asked]


def _said(item: Row, bench: Bench) -> list[Row]:
    """What audit and forecast say of what a run was shown; what they cannot say is left open, with the reason."""
    run = bench.run(item["key"])
    if run.tables["support"].num_rows > _LARGEST:
        return [{"open": "its factors are continuous"}]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found: dict[str, Any] = {}
        for say in (_audited, _forecast):
            try:
                found |= say(run)
            except RecombineError as error:
                found["open"] = error.what
    return [found]


def _audited(run: Run) -> dict[str, Any]:
    audit = run.audit()
    counts = audit.counts
    unseen = counts.determined + counts.undetermined + counts.novel
    return {
        "seen share": counts.seen / counts.space,
        "determined": counts.determined / unseen if unseen else None,
        "audit": audit.grade,
    }


def _forecast(run: Run) -> dict[str, Any]:
    network = job_of(run).model
    prediction = run.predict()
    told = prediction.expected
    matched = run.predict(model=network).expected
    blind = run.predict(truth=None).expected
    if told is None or matched is None or blind is None:
        return {"open": "nothing was forecast"}
    return {
        "forecast": told.value,
        "forecast low": told.low,
        "forecast high": told.high,
        "matched": matched.value,
        "blind": blind.value,
        "simple": told.baseline,
        "grade": prediction.grade,
    }


def _inside(item: Row, bench: Bench) -> list[Row]:
    """What the probe of geometry measures in the network, its controls left out: they are of the probe's own study."""
    run = bench.run(item["key"])
    if run.tables["support"].num_rows > _LARGEST:
        return [{"open": "its factors are continuous"}]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            probe = recombine_lab.probes.geometry(run, repeats=bench.settings["repeats"])
    except RecombineError as error:
        return [{"open": error.what}]
    rows = [row for row in probe.table.to_pylist() if row["who"] == "measured"]
    hidden = next((row["where"] for row in reversed(rows) if row["where"] != "answer"), None)
    places = {"answer": "answer", hidden: "hidden layer"}
    return [{f"{row['measure']}, {places[row['where']]}": row["value"] for row in rows if row["where"] in places}]


# --- a row for each cell ----------------------------------------------------------------------------------------------


def cells(evidence: Evidence) -> Rows:
    """A row for each cell: what was said, the mean score of its seeds, what the probe saw."""
    said = {row["cell"]: row for row in evidence.of("said beforehand")}
    inside = {row["cell"]: row for row in evidence.of("seen inside")}
    found = []
    for cell, runs in evidence.runs.with_columns(lambda row: {"cell": cell_of(row)}).by("cell").items():
        unseen, seen = (_mean(runs, name) for name in ("unseen.score", "seen.score"))
        if unseen is None:
            continue
        first = runs[0]
        own = {"cell": cell, "grid": first["grid"], "task": first["task"], "model": first["model"], "n": len(runs)}
        happened = {"unseen": unseen, "seen": seen, "fresh": first["grid"].startswith(FRESH)}
        found.append({**_without(inside.get(cell, {})), **_without(said.get(cell, {})), **own, **happened})
    return Rows(found)


def _without(row: Row) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in ("key", "cell", "step_seconds")}


def _mean(runs: Rows, name: str) -> float | None:
    known = [max(number, LEAST) for number in runs.numbers(name)] if name in runs.columns else []
    return fmean(known) if known else None


def pairs(rows: Rows, number: str) -> tuple[np.ndarray, np.ndarray]:
    """A number and the score on unseen combinations, of the cells of which both are known."""
    known = [row for row in rows if _known(row.get(number)) and _known(row["unseen"])]
    one, other = ([max(float(row[name]), LEAST) for row in known] for name in (number, "unseen"))
    return np.array(one), np.array(other)


def _known(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


def _rank(name: str, rows: Rows, number: str, threshold: float) -> Comparison:
    found = spearman(*pairs(rows, number))
    return within(
        f"{name}, {found.combinations} cells", found.value, found.low, found.high, ">", threshold, n=found.combinations
    )


def fresh(evidence: Evidence) -> Rows:
    """The cells that were drawn for this study alone."""
    return cells(evidence).chosen(lambda row: row["fresh"])


def others(evidence: Evidence) -> Rows:
    """The cells of the other studies."""
    return cells(evidence).chosen(lambda row: not row["fresh"])


# --- claims -----------------------------------------------------------------------------------------------------------


def _forecast_ranks(evidence: Evidence) -> list[Comparison]:
    return [
        _rank("fresh cells", fresh(evidence), "forecast", 0.5),
        _rank("cells of the five studies", others(evidence), "forecast", 0.5),
    ]


def _forecast_beats(evidence: Evidence) -> list[Comparison]:
    """Rank correlation of the forecast less that of a rival, resampled over cells of which both are known."""
    rivals = ("determined", "seen share", "seen")
    return [_lead(fresh(evidence), "forecast", rival) for rival in rivals]


def _probe_beats(evidence: Evidence) -> list[Comparison]:
    return [_lead(fresh(evidence), "forecast", number) for number in _INSIDE]


def _lead(rows: Rows, one: str, other: str) -> Comparison:
    known = [row for row in rows if all(_known(row.get(name)) for name in (one, other, "unseen"))]
    table = np.array([[max(float(row[name]), LEAST) for name in (one, other, "unseen")] for row in known])
    name = f"beyond {other!r}, {len(known)} cells"
    if len(known) < 8:
        return within(name, None, None, None, ">", 0.0, n=len(known))
    rng = np.random.default_rng(0)
    drawn = [_difference(table[rng.integers(len(table), size=len(table))]) for _ in range(_DRAWS)]
    low, high = np.quantile(drawn, [0.025, 0.975])
    return within(name, _difference(table), float(low), float(high), ">", 0.0, n=len(known))


def _difference(table: np.ndarray) -> float:
    """How much better the first column ranks the last one than the second does, whichever way round that one goes.

    >>> _difference(np.array([[1.0, 3.0, 10.0], [2.0, 1.0, 20.0], [3.0, 2.0, 30.0]]))
    0.5
    """
    from scipy.stats import rankdata  # noqa: PLC0415 - scipy.stats takes half a second to import

    own, rival, happened = (rankdata(column) for column in table.T)
    return round(_correlated(own, happened) - abs(_correlated(rival, happened)), 12)


def _correlated(one: np.ndarray, other: np.ndarray) -> float:
    """0 where one of them does not vary: it ranks nothing."""
    return float(np.corrcoef(one, other)[0, 1]) if np.ptp(one) and np.ptp(other) else 0.0


def _errors(evidence: Evidence) -> list[Comparison]:
    """Mean absolute error of the forecast, and of the rule that unseen combinations score as seen ones do."""
    rows = [row for row in fresh(evidence) if _known(row.get("forecast")) and _known(row["seen"])]
    own = [abs(max(row["forecast"], LEAST) - row["unseen"]) for row in rows]
    naive = [abs(row["seen"] - row["unseen"]) for row in rows]
    differences = np.array(naive) - np.array(own)
    if len(rows) < 8:
        return [within("less than 'unseen = seen' by", None, None, None, ">", 0.0, n=len(rows))]
    rng = np.random.default_rng(1)
    drawn = [differences[rng.integers(len(rows), size=len(rows))].mean() for _ in range(_DRAWS)]
    low, high = np.quantile(drawn, [0.025, 0.975])
    said = f"less than 'unseen = seen' by (mean error {measure(fmean(own))} against {measure(fmean(naive))})"
    return [within(said, float(differences.mean()), float(low), float(high), ">", 0.0, n=len(rows))]


def _held(evidence: Evidence) -> list[Comparison]:
    rows = [row for row in fresh(evidence) if all(_known(row.get(f"forecast {end}")) for end in ("low", "high"))]
    held = [max(row["forecast low"], LEAST) <= row["unseen"] <= max(row["forecast high"], LEAST) for row in rows]
    if len(held) < 8:
        return [within("intervals that held", None, None, None, ">=", 0.85, n=len(held))]
    return [share_of("intervals that held", sum(held), len(held), ">=", 0.85)]


def _determined(evidence: Evidence) -> list[Comparison]:
    """How far apart networks end up on supports that fix every unseen combination."""
    fixed = [row["unseen"] for row in cells(evidence) if row.get("determined") == 1.0]
    lost = sum(score < 0.5 for score in fixed)
    return [
        exact(
            f"cells below .5, of {len(fixed)} wholly determined",
            float(lost) if fixed else None,
            ">=",
            1.0,
            n=len(fixed),
        )
    ]


_OURS = "Ours: no paper asks it. "
_CHECKS: Mapping[str, Check] = {
    "forecast ranks": _forecast_ranks,
    "forecast beats counting": _forecast_beats,
    "forecast errs less": _errors,
    "intervals hold": _held,
    "determined is not learned": _determined,
    "inside predicts less": _probe_beats,
}


# --- figures and remarks ----------------------------------------------------------------------------------------------


def _figures(evidence: Evidence) -> list[Figure]:
    rows = cells(evidence)
    return [_scatter(rows), _ranks(evidence), _table(rows)]


def _scatter(rows: Rows) -> Scatter:
    known = rows.chosen(lambda row: _known(row.get("forecast")))
    groups = []
    for name, own in (("fresh cells", True), ("cells of the five studies", False)):
        chosen = known.where(fresh=own)
        x, y = pairs(chosen, "forecast")
        groups.append(PointGroup(name, tuple(x.tolist()), tuple(y.tolist()), tuple(_title(row) for row in chosen)))
    said = f"{len(known)} cells of {len(rows)}; of the others nothing was forecast. On the line both are equal."
    return Scatter(
        "Said beforehand, and what happened",
        said,
        "forecast of the unseen score",
        "measured, mean of seeds",
        tuple(groups),
        diagonal=True,
    )


def _title(row: Row) -> str:
    return f"{row['grid']}, {row['model']}"


def _ranks(evidence: Evidence) -> Matrix:
    """The rank correlation of every number with what happened, on fresh cells and on the others."""
    sides: Sequence[tuple[str, Callable[[Evidence], Rows]]] = (("fresh", fresh), ("five studies", others))
    names = [*BEFORE, "seen", *_INSIDE]
    found = [[spearman(*pairs(rows(evidence), name)) for _, rows in sides] for name in names]
    best = max(
        (one for one in range(len(BEFORE)) if found[one][0].value is not None),
        key=lambda one: found[one][0].value or LEAST,
        default=None,
    )
    said = (
        "No fresh cell was measured."
        if best is None
        else f"On fresh cells {names[best]!r} ranks best of what is known before training."
    )
    return Matrix(
        "Which number goes with the score on unseen combinations?",
        f"Rank correlations. {said} Below 'seen', which is known after training, what the probe saw inside.",
        tuple(names),
        tuple(f"{name}, {end}" for name, _ in sides for end in ("rank", "low", "high", "cells")),
        tuple(
            tuple(number for one in row for number in (one.value, one.low, one.high, float(one.combinations)))
            for row in found
        ),
        low=-1.0,
    )


def _table(rows: Rows) -> Matrix:
    """Tasks × models: the mean over cells of what was said, what happened and what was seen inside."""
    shown = ("determined", "forecast", "seen", "unseen", *_INSIDE[:2])
    groups = rows.by("grid", "model")
    cells_ = tuple(tuple(_mean_of(own, name) for name in shown) for own in groups.values())
    return Matrix(
        "What was said, what happened, what was seen inside",
        "A line for each grid and network, the mean of its cells; a dash where nothing could be said.",
        tuple(f"{grid}, {model}" for grid, model in groups),
        shown,
        cells_,
    )


def _mean_of(rows: Rows, name: str) -> float | None:
    known = [max(float(row[name]), LEAST) for row in rows if _known(row.get(name))]
    return fmean(known) if known else None


def _ranked(rows: Rows) -> str:
    """What is known before training, the best first, by how well it ranks the cells of which it is known."""
    told = []
    for name, words in BEFORE.items():
        found = spearman(*pairs(rows, name))
        if found.value is not None and found.low is not None and found.high is not None:
            rank = f"{measure(found.value)} ({measure(found.low)} to {measure(found.high)}, {found.combinations} cells)"
            told.append((found.value, f"{words} {rank}"))
    return listing([words for _, words in sorted(told, reverse=True)]) if told else ""


def _remarks(evidence: Evidence) -> list[str]:
    rows = cells(evidence)
    sides = {"fresh cells": _ranked(fresh(evidence)), "the cells of the five studies": _ranked(others(evidence))}
    open_ = sum(not _known(row.get("forecast")) for row in rows)
    return [
        *(f"Known before training, by how well they rank {name}: {said}." for name, said in sides.items() if said),
        f"Of {len(rows)} cells the forecast says nothing of {open_} ({percent(open_ / len(rows)) if rows else '0 %'}): "
        "pictures and sentences as answers, and continuous factors. There the studies' own numbers (output coverage, "
        "the support probe) are what can be known beforehand.",
        "What would refute it: a set of cells drawn as here, of rules and supports that are not among these, on which "
        "the forecast ranks no better than the share of combinations seen; or on which a number read inside the "
        "trained networks ranks better than the forecast made before they were trained.",
        "What limits it: forecasts were not told that examples of one combination look alike, so that their intervals "
        "are wider than they need be; fresh cells are small tables of symbols and small networks; cells that share a "
        "rule or a support are not independent, so that intervals over cells are somewhat too narrow.",
    ]


_PRESETS: Mapping[str, Settings] = {
    "smoke": {
        "others": None,
        "rules": 1,
        "width": 32,
        "steps": 60,
        "seeds": 1,
        "shares": [0.4],
        "draws": [0],
        "repeats": 3,
    },
    "small": {
        "others": "small",
        "rules": 4,
        "width": 512,
        "steps": 1500,
        "seeds": 3,
        "shares": [0.2, 0.4, 0.6],
        "draws": [0, 1],
        "repeats": 3,
    },
    "paper": {
        "others": "paper",
        "rules": 4,
        "width": 1000,
        "steps": 5000,
        "seeds": 10,
        "shares": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7],
        "draws": [0, 1, 2, 3, 4],
        "repeats": 3,
    },
}

STUDY = Study(
    name="across",
    **study_texts(Path(__file__).with_name("across.toml"), _CHECKS, _PRESETS),
    presets=_PRESETS,
    grids=_grids,
    figures=_figures,
    steps=(
        Step(name="said beforehand", items=_first_of_each_cell, measure=_said),
        Step(name="seen inside", items=_looked_into, measure=_inside),
    ),
    remarks=lambda evidence: [remark for remark in _remarks(evidence) if remark],
)
