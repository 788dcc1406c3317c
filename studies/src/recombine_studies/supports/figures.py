"""What the study shows: every seed on every support, the four arms, the components, and the probe's word."""

from collections.abc import Sequence
from statistics import fmean

from recombine.base.words import listing, measure
from recombine.output.figures import Figure, Matrix, PointGroup, Scatter, Strip, Strips
from recombine_studies.rows import Rows
from recombine_studies.study import Evidence
from recombine_studies.supports.grids import SEEN, SOFT, SUPPORTS, WHOLE
from recombine_studies.supports.measures import ARMS, NO_LOSS, arm, collapsed, said, told, trained, worse_slot

PUBLISHED = {
    "random": (0.957, 0.957),
    "orthogonal": (0.957, 0.951),
    "orthogonal+": (0.959, 0.954),
    "normal": (0.957, 0.951),
    "diagonal .2": (0.957, 0.955),
    "diagonal .1": (0.954, 0.945),
    "diagonal .05": (0.867, 0.589),
    "gap": (0.954, 0.895),
}
"""R² of the compositional model on the support and on the whole space, of the paper's released results."""
_BESIDE = ("slice variation", "hole", "left open", "full rank, sum")
_MODELS = ("compositional", "monolithic")


def figures(evidence: Evidence) -> Sequence[Figure]:
    """All of them."""
    return [_scores(evidence), _losses(evidence), _arms(evidence), _both(evidence), _drawn(evidence), _probe(evidence)]


def mean_of(rows: Rows, number: str) -> float | None:
    """The mean of what is known."""
    known = rows.numbers(number)
    return fmean(known) if known else None


def shown(value: float | None) -> str:
    """A number for a sentence.

    >>> shown(0.8423), shown(None)
    ('0.842', 'not known')
    """
    return "not known" if value is None else measure(value)


def _strip(rows: Rows, number: str, name: str, group: str) -> Strip:
    return Strip(name, tuple(None if value is None else float(value) for value in rows.column(number)), group)


def _scores(evidence: Evidence) -> Strips:
    conditions = [(model, name) for name in SUPPORTS for model in _MODELS]
    rows = {pair: trained(evidence, *pair) for pair in conditions}
    asked = [pair for pair in conditions if rows[pair]]
    strips = [_strip(rows[model, name], WHOLE, name, model) for model, name in asked]
    least = {model: [mean_of(rows[model, name], WHOLE) for one, name in asked if one == model] for model in _MODELS}
    told_of = [
        f"{shown(min((one for one in means if one is not None), default=None))} at its worst for the {model} model"
        for model, means in least.items()
    ]
    return Strips(
        "R² on the whole space, by the support that was shown",
        f"Every seed is a point. The mean over seeds is {listing(told_of)}.",
        "R² on the whole space",
        tuple(strips),
        goal=0.0,
    )


def _losses(evidence: Evidence) -> Strips:
    rows = {name: trained(evidence, "compositional", name) for name in SUPPORTS}
    over = [name for name, mine in rows.items() if (mean_of(mine, "loss") or 0.0) > NO_LOSS]
    return Strips(
        "What is lost from the support to the whole space",
        f"The compositional model loses more than {NO_LOSS:g} of R² on {listing(over) or 'no support'}.",
        "R² on the support less R² on the whole space",
        tuple(_strip(mine, "loss", name, "compositional") for name, mine in rows.items()),
        goal=NO_LOSS,
    )


def _arms(evidence: Evidence) -> Strips:
    rows = {name: arm(evidence, name) for name in ARMS}
    gone = [f"{sum(map(collapsed, mine))} of {len(mine)} with {name}" for name, mine in rows.items()]
    return Strips(
        "Composition and sharing, one at a time",
        f"All are trained on the orthogonal support, and every seed is shown. Collapsed seeds: {listing(gone)}.",
        "R² on the whole space",
        tuple(_strip(mine, WHOLE, name.split(", ")[1], name.split(", ")[0]) for name, mine in rows.items()),
    )


def _both(evidence: Evidence) -> Scatter:
    groups = {model: Rows(row for name in SUPPORTS for row in trained(evidence, model, name)) for model in _MODELS}
    groups["alpha compositing"] = arm(evidence, "alpha, separate") + arm(evidence, "alpha, shared")
    points = [_points(name, rows) for name, rows in groups.items() if rows]
    every = [(x, y) for one in points for x, y in zip(one.x, one.y, strict=True)]
    below = sum(x - y > NO_LOSS for x, y in every)
    return Scatter(
        "R² on the support, and on the whole space",
        f"{below} of {len(every)} runs lie more than {NO_LOSS:g} below the line on which both are the same.",
        "R² on the support",
        "R² on the whole space",
        tuple(points),
        diagonal=True,
    )


def _points(name: str, rows: Rows) -> PointGroup:
    known = rows.chosen(lambda row: row.get(SEEN) is not None and row.get(WHOLE) is not None)
    titles = tuple(f"{row['support']}, seed {row['seed']}" for row in known)
    return PointGroup(name, tuple(known.numbers(SEEN)), tuple(known.numbers(WHOLE)), titles)


def _drawn(evidence: Evidence) -> Strips:
    rows = {name: trained(evidence, "compositional", name) for name in SUPPORTS}
    kinds = {"exchanged": "up to what cannot be told apart", "rescaled": "up to scale and shift as well"}
    best = {number: _best(evidence, rows, number) for number in kinds}
    return Strips(
        "What each decoder draws by itself, against the true component",
        "1 is the true component and 0 as far off as its mean; the worse slot of each run. The best support has a mean"
        f" of {shown(best['exchanged'])} {kinds['exchanged']}, and of {shown(best['rescaled'])} {kinds['rescaled']}.",
        "share of a component's variance that is right",
        tuple(
            Strip(name, tuple(worse_slot(evidence, mine, number)), kind)
            for name, mine in rows.items()
            for number, kind in kinds.items()
        ),
        goal=1.0,
    )


def _best(evidence: Evidence, rows: dict[str, Rows], number: str) -> float | None:
    found = [worse_slot(evidence, mine, number) for mine in rows.values()]
    return max((fmean(values) for values in found if values), default=None)


def _probe(evidence: Evidence) -> Matrix:
    """Numbers of the probe and scores, a row for each support, its word beside its name."""
    words = {name: said(evidence, name, SOFT) for name in SUPPORTS}
    cells = [
        (
            *(told(evidence, name, SOFT, number) for number in _BESIDE),
            mean_of(trained(evidence, "compositional", name), SEEN),
            mean_of(trained(evidence, "compositional", name), WHOLE),
            *PUBLISHED[name],
        )
        for name in SUPPORTS
    ]
    counts = [f"{list(words.values()).count(word)} {word}" for word in dict.fromkeys(words.values())]
    return Matrix(
        "What the probe said beforehand, and what happened",
        f"Before training it called {listing(counts)} of {len(words)} supports. A hole and what is left open are bad"
        " where they are large. The last four columns are the compositional model's R², here and as published.",
        tuple(f"{name} ({word})" for name, word in words.items()),
        (*_BESIDE, "R² on the support", "R² on the whole space", "published, support", "published, whole space"),
        tuple(cells),
    )
