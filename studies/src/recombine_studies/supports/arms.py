"""Runs by what is compared: a model on a support, or a composition with its decoders shared or not."""

from recombine_studies.rows import Row, Rows
from recombine_studies.study import Evidence
from recombine_studies.supports.grids import ALPHA, SEEN, WHOLE, named
from recombine_studies.supports.steps import BEFOREHAND, BEGUN, DRAWN

COLLAPSED = 0.75
"""R² on the support below which a run counts as collapsed.

Written down before any run with alpha compositing was looked at. A decoder that stays clear leaves one sprite out of
every picture; since the other one is free on one or two of the three planes, up to two thirds of the variance could
still be explained. Runs of the other kind came out above .85 in trials.
"""
NO_LOSS = 0.05
"""R² that may be lost from the support to the whole space where a model is said to generalise."""
ARMS = {
    "soft, separate": ("compositional", False),
    "soft, shared": ("soft, shared", True),
    "alpha, separate": (ALPHA, False),
    "alpha, shared": (ALPHA, True),
}
"""Two compositions, each with a decoder for each sprite and with one for both; all on the orthogonal support."""
GENERALISES = ("random", "orthogonal", "orthogonal+", "normal", "diagonal .2")
"""Supports on which published models lose less than .01."""


def trained(evidence: Evidence, model: str, support: str) -> Rows:
    """The runs of the compositional or the monolithic model on one support, under soft occlusion."""
    return named(evidence).chosen(lambda row: row["grid"] == model and row["support"] == support)


def arm(evidence: Evidence, name: str) -> Rows:
    """The runs of one composition with its decoders shared or not."""
    grid, shared = ARMS[name]
    return named(evidence).chosen(
        lambda row: row["grid"] == grid and row["support"] == "orthogonal" and row["model.shared"] == shared
    )


def collapsed(row: Row) -> bool:
    """Whether a run failed on what it was shown, or diverged.

    >>> collapsed({"seen.score": 0.2}), collapsed({"seen.score": 0.9}), collapsed({"seen.score": None})
    (True, False, True)
    """
    seen = row.get(SEEN)
    return seen is None or not seen >= COLLAPSED


def standing(rows: Rows) -> Rows:
    """The runs that did not collapse."""
    return rows.chosen(lambda row: not collapsed(row))


def unexplained(rows: Rows) -> list[float]:
    """The share of the variance of the whole space that each run leaves unexplained."""
    return [1 - score for score in rows.numbers(WHOLE)]


def said(evidence: Evidence, support: str, composition: str) -> str:
    """The probe's word for a support; `unclear` where its words for several draws of points differ."""
    words = set(_of(evidence, support, composition).column("outcome"))
    return words.pop() if len(words) == 1 else "unclear"


def told(evidence: Evidence, support: str, composition: str, number: str) -> float | None:
    """A number of the probe, its mean over draws of points."""
    known = _of(evidence, support, composition).numbers(number)
    return sum(known) / len(known) if known else None


def _of(evidence: Evidence, support: str, composition: str) -> Rows:
    return evidence.of(BEFOREHAND).chosen(lambda row: row["support"] == support and row["composition"] == composition)


def worse_slot(evidence: Evidence, rows: Rows, number: str) -> list[float]:
    """How near the learned components are to the true ones, in the worse slot of each run."""
    drawn = evidence.of(DRAWN).by("key")
    found = (drawn[key].numbers(number) for key in rows.column("key") if key in drawn)
    return [min(slots) for slots in found if slots]


def dead_at_start(evidence: Evidence) -> dict[str, bool]:
    """Of each run with alpha compositing whether one of its sprites was wholly clear before the first step."""
    return {row["key"]: bool(row["dead"]) for row in evidence.of(BEGUN)}
