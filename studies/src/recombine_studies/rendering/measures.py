"""What is measured: what a task asks for, how layers hold the coordinates, how many samples N needs."""

import json
import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean
from typing import Any

import numpy as np
import torch

from recombine_lab.probes.geometry_probe.answers import EXCESS, GAP, SEEN_ERROR, SUPERPOSITION
from recombine_lab.probes.geometry_probe.controls import RANDOM, TRUTH, UNTRAINED
from recombine_lab.probes.geometry_probe.geometry import geometry
from recombine_lab.probes.geometry_probe.inputs import AnswerKey
from recombine_lab.probes.geometry_probe.kernel_measures import ADDITIVITY, CENTRED, ORTHOGONALITY
from recombine_lab.probes.geometry_probe.layer_sources import ANSWER
from recombine_lab.probes.probe import MEASURED
from recombine_lab.tasks.bumps import Bumps, Mixed, output_coverage
from recombine_lab.tasks.exposure import Source
from recombine_lab.training.pack import job_of
from recombine_studies.rows import Row, Rows
from recombine_studies.study import Bench, Evidence, Step

DESIGN = "design"
"""The column that says of which task and split a row is."""
UNSEEN, SEEN = "unseen / blank", "seen / blank"
PROBED = (
    "mlp",
    "cnn",
    "regularised filters",
    "filters without penalties",
    "spatial broadcast",
    "pixel transformer",
)
"""The grids whose networks are looked into."""
_MEASURES = (ORTHOGONALITY, ADDITIVITY, CENTRED, SUPERPOSITION, EXCESS, GAP, SEEN_ERROR)
_WHO = (MEASURED, UNTRAINED, RANDOM, TRUTH)


def design_of(row: Row) -> str:
    """A run's task and split in one text; the code plays no part, as it changes no image."""
    told = {name: value for name, value in row.items() if name.split(".")[0] in ("task", "split")}
    return json.dumps({name: value for name, value in told.items() if name != "task.code"}, sort_keys=True)


# -- what a design asks for ------------------------------------------------------------------------------------------


def designs(evidence: Evidence) -> list[Row]:
    """One run of each task and split."""
    first: dict[str, Row] = {}
    for row in evidence.runs:
        first.setdefault(design_of(row), row)
    return [{"key": row["key"], DESIGN: design} for design, row in first.items()]


def measure_design(item: Row, bench: Bench) -> list[Row]:
    """The error of a blank image on the unseen places, and how far training images cover what these show."""
    job = job_of(bench.run(item["key"]))
    assert isinstance(job.task, Bumps)  # noqa: S101 - every grid of this study has bumps
    parts = job.exposure.parts(job.task, seed=job.configuration.seed)
    shown, asked = (job.task.images(_every(source)) for source in (parts.train, parts.tests["unseen"]))
    found = output_coverage(shown, asked, blank=job.task.blank)
    told = {"unlit": found.unlit, "dark": found.dark, "outside": 1 - found.spanned}
    return [{"blank": blank_error(asked, job.task.blank), "shown": len(shown), "asked": len(asked), **told}]


def _every(source: Source) -> torch.Tensor:
    """Every example that can be drawn: of bumps mixed with nothing but stripes, the stripes."""
    every = source.second.every() if isinstance(source, Mixed) and source.share == 1 else source.every()
    assert every is not None  # noqa: S101 - places of bumps can be counted
    return every


def blank_error(images: torch.Tensor, blank: float) -> float:
    """The squared error of an image with nothing on it, by which every error of this study is divided.

    >>> round(blank_error(Bumps(inverted=False).images(torch.tensor([[14, 14]])), 0.0), 6)  # π σ² / N² for one inside
    0.004008
    """
    return float((images.double() - blank).square().mean())


def scored(evidence: Evidence) -> Rows:
    """Every run with its errors as shares of the blank image's, and what its design covers; a diverged one has none."""
    known = Rows({name: value for name, value in row.items() if name != "key"} for row in evidence.of("designs"))
    joined = evidence.runs.with_columns(lambda row: {DESIGN: design_of(row)}).joined(known, DESIGN)
    return joined.with_columns(
        lambda row: {UNSEEN: _share(row, "unseen.error"), SEEN: _share(row, "seen.error"), "stripes": stripes_in(row)}
    )


def _share(row: Row, error: str) -> float | None:
    value, blank = row.get(error), row.get("blank")
    return None if value is None or blank is None else float(value) / float(blank)


def stripes_in(row: Row) -> float:
    """The share of stripes among a run's training examples."""
    return float(row.get("split.share") or 0.0) if row["split"] == "stripes" else 0.0


# -- how the layers hold the coordinates -----------------------------------------------------------------------------


def probed(evidence: Evidence) -> list[Row]:
    """The runs that are looked into; one that diverged has no network."""
    rows = evidence.runs.chosen(lambda row: row["grid"] in PROBED and row["status"] == "finished")
    repeats = evidence.settings["repeats"]
    return [{"key": row["key"], "grid": row["grid"], "seed": row["seed"], "repeats": repeats} for row in rows]


def measure_geometry(item: Row, bench: Bench) -> list[Row]:
    """The geometry of every layer, beside that of the same network untrained, of random features, and of the truth."""
    run = bench.run(item["key"])
    table = geometry(
        run, answers=AnswerKey(rest=_blank(run.configuration.task)), repeats=item["repeats"]
    ).table.to_pylist()
    layers = list(dict.fromkeys(row["where"] for row in table))
    code = str(run.configuration.task["code"])
    return [
        {
            "code": code,
            "place": layers.index(row["where"]),
            **{name: row[name] for name in ("where", "measure", "who", "value")},
        }
        for row in table
        if row["measure"] in _MEASURES and row["who"] in _WHO
    ]


def _blank(task: Row) -> float:
    return 1.0 if task["inverted"] else 0.0


def last_hidden(rows: Rows) -> Rows:
    """Of one run's rows those of the last layer before the answer."""
    inner = rows.chosen(
        lambda row: row["where"] != ANSWER and row["measure"] == ORTHOGONALITY and row["who"] == MEASURED
    )
    known = [row for row in inner if row["value"] is not None]
    return rows.where(where=max(known, key=lambda row: row["place"])["where"]) if known else Rows([])


def valued(rows: Rows, measure: str, who: str = MEASURED) -> float | None:
    """The one value of a measure among some rows; None where it is not known."""
    found = rows.chosen(lambda row: row["measure"] == measure and row["who"] == who).numbers("value")
    return fmean(found) if found else None


# -- what is needed of N ---------------------------------------------------------------------------------------------


def samples_needed(shown: Sequence[int], errors: Sequence[float], target: float) -> float | None:
    """Where an error that falls with the number of samples meets the target, on a straight line between logarithms.

    None where all are above it, or all below: then the samples lie beyond what was tried.

    >>> samples_needed([10, 1000], [1.0, 0.25], 0.5)
    100.00000000000004
    >>> samples_needed([10, 100], [1.0, 0.75], 0.5) is None
    True
    """
    pairs = sorted(zip(shown, errors, strict=True))
    for (fewer, above), (more, below) in pairwise(pairs):
        if above > target >= below:
            share = (math.log(above) - math.log(target)) / (math.log(above) - math.log(max(below, 1e-12)))
            return math.exp(math.log(fewer) + share * (math.log(more) - math.log(fewer)))
    return None


def exponent(sizes: Sequence[float], needed: Sequence[float]) -> float | None:
    """The slope of log samples over log N by least squares; None for fewer than three sizes.

    >>> round(exponent([2, 4, 8], [8, 32, 128]), 9)
    2.0
    """
    if len(sizes) < 3:
        return None
    slope: float = np.polyfit(np.log(sizes), np.log(needed), 1)[0]
    return float(slope)


def needs(evidence: Evidence) -> Rows:
    """For each seed, each N, with and without stripes: how many training images reach the target."""
    rows = scored(evidence).chosen(lambda row: str(row["grid"]).startswith("scaling") and row[UNSEEN] is not None)
    found: list[dict[str, Any]] = []
    for (seed, size, stripes), some in rows.by("seed", "task.size", "stripes").items():
        needed = samples_needed(some.column("shown"), some.column(UNSEEN), evidence.settings["target"])
        found.append({"seed": seed, "size": size, "stripes": stripes, "needed": needed})
    return Rows(found)


def exponents(evidence: Evidence, *, stripes: bool) -> dict[int, float]:
    """The fitted exponent of each seed for which at least three sizes are known."""
    rows = needs(evidence).chosen(lambda row: bool(row["stripes"]) == stripes and row["needed"] is not None)
    slopes = {seed: exponent(some.column("size"), some.column("needed")) for seed, some in rows.by("seed").items()}
    return {seed: slope for seed, slope in slopes.items() if slope is not None}


STEPS = (
    Step(name="designs", items=designs, measure=measure_design),
    Step(name="geometry", items=probed, measure=measure_geometry),
)
