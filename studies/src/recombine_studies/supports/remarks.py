"""What differs from the paper, and what follows from what was measured."""

from collections.abc import Sequence
from statistics import fmean

from recombine.base.words import listing
from recombine_studies.rows import Rows
from recombine_studies.study import Evidence
from recombine_studies.supports.figures import PUBLISHED, mean_of, shown
from recombine_studies.supports.grids import ALPHA, SEEN, SOFT, SUPPORTS, WHOLE
from recombine_studies.supports.measures import (
    ARMS,
    COLLAPSED,
    GENERALISES,
    NO_LOSS,
    STARTS,
    arm,
    collapsed,
    dead_at_start,
    said,
    standing,
    told,
    trained,
    unexplained,
    worse_slot,
)


def remarks(evidence: Evidence) -> Sequence[str]:
    """What follows, what differs from the published picture, what limits it, and what would refute it."""
    parts = (_supports, _four_arms, _collapse, _components, _probe, _limits)
    return [part(evidence) for part in parts]


def _lost(evidence: Evidence, support: str) -> float | None:
    return mean_of(trained(evidence, "compositional", support), "loss")


def _over(evidence: Evidence) -> list[str]:
    """Supports on which more than next to nothing is lost."""
    return [name for name in SUPPORTS if (_lost(evidence, name) or 0.0) > NO_LOSS]


def _supports(evidence: Evidence) -> str:
    each = [
        f"{name} {shown(_lost(evidence, name))} (published {shown(PUBLISHED[name][0] - PUBLISHED[name][1])})"
        for name in SUPPORTS
    ]
    one = trained(evidence, "monolithic", "orthogonal")
    published = [name for name, (seen, whole) in PUBLISHED.items() if seen - whole > NO_LOSS]
    return (
        f"R² lost from the support to the whole space by the compositional model: {listing(each)}. More than"
        f" {NO_LOSS:g} is lost on {listing(_over(evidence)) or 'no support'}; in the published table on"
        f" {listing(published)}. On the orthogonal support the monolithic model has {shown(mean_of(one, SEEN))} where"
        f" it was shown and {shown(mean_of(one, WHOLE))} on the whole space."
    )


def _four_arms(evidence: Evidence) -> str:
    left = {name: _left(standing(arm(evidence, name))) for name in ARMS}
    each = [f"{shown(value)} with {name}" for name, value in left.items()]
    steps = {
        "the composition alone changes it by": ("alpha, separate", "soft, separate"),
        "sharing alone, under alpha compositing, by": ("alpha, shared", "alpha, separate"),
        "sharing alone, under soft occlusion, by": ("soft, shared", "soft, separate"),
        "both together, which is what was published, by": ("alpha, shared", "soft, separate"),
    }
    changes = [f"{words} {shown(_less(left[one], left[other]))}" for words, (one, other) in steps.items()]
    return (
        f"Share of the whole space's variance that is left unexplained by runs that stand: {listing(each)}. So"
        f" {listing(changes)}. Squared errors of the two compositions are of different pictures, since under soft"
        " occlusion the sprite behind is never brighter than half; shares of the variance are the fairer comparison."
    )


def _left(rows: Rows) -> float | None:
    found = unexplained(rows)
    return fmean(found) if found else None


def _less(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one - other


def _collapse(evidence: Evidence) -> str:
    runs = {name: arm(evidence, name) for name in ("alpha, separate", "alpha, shared")}
    gone = [f"{sum(map(collapsed, rows))} of {len(rows)} with {name}" for name, rows in runs.items()]
    scores = [
        f"seed {row['seed']} with {name}, {shown(row.get(SEEN))} and {shown(row.get(WHOLE))}"
        for name, rows in runs.items()
        for row in rows
        if collapsed(row)
    ]
    dead = dead_at_start(evidence)
    every = [row for rows in runs.values() for row in rows if row["key"] in dead]
    right = sum(dead[row["key"]] == collapsed(row) for row in every)
    return (
        f"Runs with an R² below {COLLAPSED:g} on the support: {listing(gone)} (on the support and on the whole space:"
        f" {'; '.join(scores) or 'none'}). How a run starts tells how it ends in {right} of {len(every)}: a sprite"
        " whose opacity is below 0 everywhere is clamped, gets no gradient and is never drawn. Of starts with one"
        f" decoder {_dead_share(evidence, shared=True)} are dead, and lose both sprites; of starts with two"
        f" {_dead_share(evidence, shared=False)}, and {_dead_share(evidence, shared=False, both=True)} of all lose"
        " both. The released table leaves such seeds out: its mean is one over networks that happened to start alive."
    )


def _dead_share(evidence: Evidence, *, shared: bool, both: bool = False) -> str:
    """The share of starts in which one sprite is wholly clear, or both are."""
    starts = evidence.of(STARTS).chosen(lambda row: row["shared"] == shared)
    found = [max(row["front"], row["back"]) == 0 if both else bool(row["dead"]) for row in starts]
    return shown(sum(found) / len(found)) if found else "not known"


def _components(evidence: Evidence) -> str:
    runs = [trained(evidence, "compositional", name) for name in GENERALISES]
    mean = {}
    for number in ("recovered", "exchanged", "rescaled"):
        found = [value for rows in runs for value in worse_slot(evidence, rows, number)]
        mean[number] = shown(fmean(found) if found else None)
    return (
        f"Components, on the supports on which published models lose nothing: the worse slot is {mean['recovered']}"
        f" right as it is, {mean['exchanged']} less what the two sprites can hand to each other without any picture"
        f" changing, and {mean['rescaled']} up to a scale of the slot and a shift of each number (1 is the true"
        " component, 0 its mean). A model can be right on every picture without the true components. What is off is"
        " what pictures hardly show: where the front is empty its value only says how much of the back comes through,"
        " and a darker back makes up for it, in a valley of the error that is nearly flat and that training hardly"
        " walks along. The one exact freedom, a constant whose channels sum to 0 and that goes from one sprite to the"
        " other, is what the second number leaves out. The theorem assumes that both"
        " agree at one seen point, which the paper calls a technicality and which nothing in training brings about."
    )


def _probe(evidence: Evidence) -> str:
    words = {name: said(evidence, name, SOFT) for name in SUPPORTS}
    each = [f"{name} {word} ({shown(_lost(evidence, name))} lost)" for name, word in words.items()]
    full = {how: shown(told(evidence, "orthogonal", how, "full rank, sum")) for how in (SOFT, ALPHA)}
    ranks = [told(evidence, name, SOFT, "full rank, sum") for name in SUPPORTS]
    alike = "the same on all supports" if len(set(ranks)) == 1 else "not the same on all supports"
    return (
        f"Said before training: {listing(each)}; of the orthogonal support under alpha compositing,"
        f" {said(evidence, 'orthogonal', ALPHA)}. The paper's own condition, full rank of the summed Jacobians, is met"
        f" by a share of {full[SOFT]} of values on the orthogonal support under soft occlusion ({alike}) and of"
        f" {full[ALPHA]} under alpha compositing."
    )


def _limits(evidence: Evidence) -> str:
    seen = mean_of(trained(evidence, "compositional", "random"), SEEN)
    return (
        f"What limits it: {evidence.settings['steps']:,} steps, after which R² on the random support is {shown(seen)},"
        " where the theorem speaks of an exact fit; what is lost can come from the support or from too little time."
        f" It would be refuted by longer training after which the compositional model loses more than {NO_LOSS:g} on"
        " the orthogonal support, or the monolithic one less. What is lost on the diagonals and with the gap is no"
        " lower limit: longer training may well undo a part of it."
    )
