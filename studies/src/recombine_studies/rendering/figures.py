"""The figures of the study, and its remarks; every number in them is computed from the evidence."""

from collections.abc import Sequence
from statistics import fmean

from recombine.base.words import amount, listing, measure
from recombine.output.figures import Curve, Curves, Figure, PointGroup, Scatter, Strip, Strips
from recombine_lab.probes.geometry_probe.answers import SUPERPOSITION
from recombine_lab.probes.geometry_probe.controls import TRUTH, UNTRAINED
from recombine_lab.probes.geometry_probe.kernel_measures import ORTHOGONALITY
from recombine_lab.probes.geometry_probe.layer_sources import ANSWER
from recombine_lab.probes.probe import MEASURED
from recombine_studies.rendering.claims import (
    COMPOSING,
    FAILING,
    FAILS,
    MORE,
    NAMES,
    by_condition,
    coverage_predicts,
    covered,
    excess,
    reached,
)
from recombine_studies.rendering.grids import ALONE, BOTH, PLAIN
from recombine_studies.rendering.measures import PROBED, SEEN, UNSEEN, exponents, last_hidden, needs, scored, valued
from recombine_studies.rows import Rows
from recombine_studies.study import Evidence

_SHARE = "error / error of a blank image"
_SHOWN = {PLAIN: "bumps alone", BOTH: "bumps and stripes", ALONE: "stripes alone"}


def figures(evidence: Evidence) -> list[Figure]:
    """Errors, superposition, layers, stripes, coverage, samples needed."""
    return [
        _errors(evidence),
        _superposition(evidence),
        _layers(evidence),
        _stripes(evidence),
        _coverage(evidence),
        _samples(evidence),
    ]


def _errors(evidence: Evidence) -> Strips:
    found = by_condition(scored(evidence), PROBED, "task.code")
    strips = [
        Strip(name, tuple(rows.column(which)), group)
        for which, group in ((UNSEEN, "unseen places"), (SEEN, "seen places"))
        for name, rows in found.items()
    ]
    above = [name for name, rows in found.items() if _mean(rows.numbers(UNSEEN)) >= FAILS]
    return Strips(
        "Who draws unseen places",
        f"At or above {measure(FAILS)} of a blank image on unseen places, on average: {listing(above)}. "
        "A point is a seed.",
        _SHARE,
        tuple(strips),
        goal=FAILS,
    )


def _superposition(evidence: Evidence) -> Strips:
    groups = ((FAILING, "said to fail"), (COMPOSING, "said to compose"), (("pixel transformer",), "not said"))
    found = {group: excess(evidence, grids) for grids, group in groups}
    strips = [Strip(name, tuple(values), group) for group, some in found.items() for name, values in some.items()]
    above = [strip.name for strip in strips if strip.values and _mean(strip.values) >= MORE]
    return Strips(
        "Are unseen answers training answers laid over each other?",
        f"Superposition beyond what the true image itself scores; at or above {measure(MORE)} on average: "
        f"{listing(above)}.",
        "R² on seen answers that share a coordinate, less the truth's",
        tuple(strips),
        goal=MORE,
    )


def _layers(evidence: Evidence) -> Curves:
    """Orthogonality by depth, the first layer at 0 and the answer at 1, so that networks of several depths compare."""
    places = tuple(f"{quarter}/4" for quarter in range(5))
    curves = []
    for name, rows in by_condition(evidence.of("geometry"), PROBED, "code").items():
        if ", " in name and not name.endswith("bump"):
            continue
        curves += [
            Curve(name, _by_depth(rows, MEASURED)),
            Curve(f"{name}, untrained", _by_depth(rows, UNTRAINED), control=True),
        ]
    return Curves(
        "How orthogonal the steps of x and y are, layer by layer",
        f"{_fall_sentence(evidence)} The code has 1, and so has the true image. Dashed: the same networks "
        f"before training.",
        "from the first layer (0) to the answer (4/4)",
        "orthogonality of steps",
        places,
        tuple(curves),
    )


def _by_depth(rows: Rows, who: str) -> tuple[float | None, ...]:
    chosen = rows.chosen(lambda row: row["measure"] == ORTHOGONALITY and row["who"] == who and row["value"] is not None)
    if not len(chosen):
        return (None,) * 5
    last = max(row["place"] for row in chosen)
    nearest = [round(quarter / 4 * last) for quarter in range(5)]
    of_place = {place: fmean(some.numbers("value")) for place, some in chosen.by("place").items()}
    return tuple(of_place.get(place) for place in nearest)


def _fall_sentence(evidence: Evidence) -> str:
    """Who is less orthogonal at the last hidden layer than the same network untrained, and how the others compare."""
    less: list[str] = []
    more: list[str] = []
    for name, rows in by_condition(evidence.of("geometry"), tuple(NAMES), "code").items():
        own, before = (_at_last_hidden(rows, who) for who in (MEASURED, UNTRAINED))
        told = f"{name} ({_told(own)}, untrained {_told(before)})"
        (less if own and before and fmean(own) < fmean(before) else more).append(told)
    composing = by_condition(evidence.of("geometry"), COMPOSING, "code")
    others = [f"{name} {_told(_at_last_hidden(rows, MEASURED))}" for name, rows in composing.items()]
    return (
        f"At the last hidden layer training left steps less orthogonal in {listing(less)}, and not so in "
        f"{listing(more)}; decoders that are said to compose have: {listing(others)}."
    )


def _at_last_hidden(rows: Rows, who: str) -> list[float]:
    found = [valued(last_hidden(run), ORTHOGONALITY, who) for run in rows.by("key").values()]
    return [value for value in found if value is not None]


def _stripes(evidence: Evidence) -> Strips:
    strips = []
    for grid, name in NAMES.items():
        asked = (grid, f"{grid} stripes")
        rows = Rows(row for row in scored(evidence) if row["grid"] in asked and row["task.code"] == "bump")
        of_share = rows.by("stripes")
        strips += [
            Strip(words, tuple(of_share[share].column(UNSEEN)), name)
            for share, words in _SHOWN.items()
            if share in of_share
        ]
    means = [f"{strip.group} after {strip.name} {_told(strip.values)}" for strip in strips]
    return Strips(
        "Do stripes help?", f"Mean error on unseen places: {listing(means)}.", _SHARE, tuple(strips), goal=FAILS
    )


def _coverage(evidence: Evidence) -> Scatter:
    groups = [
        PointGroup(
            f"{name}, {_SHOWN[share]}",
            tuple(some.numbers("outside")),
            tuple(some.numbers(UNSEEN)),
            tuple(f"{row.get('split.base') or row['split']} {_limits(row)}" for row in some),
        )
        for grid, name in NAMES.items()
        for share, some in sorted(covered(evidence, grid).by("stripes").items())
    ]
    found = [one.words() for one in coverage_predicts(evidence)]
    return Scatter(
        "Does what training images leave out predict the error?",
        f"A point is a split, its error the mean over its seeds. {'; '.join(found)}.",
        "share of unseen images outside the span of training images",
        f"unseen {_SHARE}",
        tuple(groups),
    )


def _limits(row: dict[str, object] | object) -> str:
    assert isinstance(row, dict)  # noqa: S101 - rows of a study are dictionaries
    found = [row.get(f"{where}.{name}") for where in ("split", "split.base") for name in ("hole", "at")]
    return ", ".join(str(value) for value in found if value is not None)


def _samples(evidence: Evidence) -> Scatter:
    rows = needs(evidence)
    groups = []
    for stripes, some in sorted(rows.by("stripes").items()):
        known = some.chosen(lambda row: row["needed"] is not None)
        groups.append(PointGroup(_SHOWN[stripes], tuple(known.numbers("size")), tuple(known.numbers("needed"))))
    slopes = [list(exponents(evidence, stripes=stripes).values()) for stripes in (False, True)]
    return Scatter(
        "Training images that reach the target, over N",
        f"Fitted exponent {_told(slopes[0])} without stripes and {_told(slopes[1])} with them, on average over seeds; "
        f"the target, {measure(evidence.settings['target'])} of a blank image, lay within what was tried for "
        f"{_of(reached(evidence, stripes=False))} and {_of(reached(evidence, stripes=True))} sizes and seeds.",
        "N, the side of the image",
        "training images needed, stripes counted",
        tuple(groups),
    )


def _of(pair: tuple[int, int]) -> str:
    return f"{pair[0]} of {pair[1]}"


def _mean(values: Sequence[float | None]) -> float:
    known = [value for value in values if value is not None]
    return fmean(known) if known else float("nan")


def _told(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    return measure(fmean(known)) if known else "not known"


# -- remarks ---------------------------------------------------------------------------------------------------------


def remarks(evidence: Evidence) -> list[str]:
    """What follows, what differs from the paper's picture, what limits it, what would refute it."""
    return [
        _on_errors(evidence),
        _on_geometry(evidence),
        _on_data(evidence),
        _on_scaling(evidence),
        _on_limits(evidence),
    ]


def _on_errors(evidence: Evidence) -> str:
    rows = scored(evidence)
    told = [f"{name} {_told(some.column(UNSEEN))}" for name, some in by_condition(rows, PROBED, "task.code").items()]
    filters = rows.where(grid="regularised filters").numbers(UNSEEN) if len(rows) else []
    spread = f"{measure(min(filters))} to {measure(max(filters))}" if filters else "not known"
    return (
        f"Error on unseen places, divided by a blank image's on the same places, as means over seeds: {listing(told)}. "
        "The paper's raw errors look small because a blank image's are. Its regularised filters are one seed; here "
        f"{amount(len(filters), 'seed')} of them go from {spread}."
    )


def _on_geometry(evidence: Evidence) -> str:
    rows = evidence.of("geometry").chosen(lambda row: row["measure"] == SUPERPOSITION and row["where"] == ANSWER)
    truth = [row["value"] for row in rows if row["who"] == TRUTH and row["grid"] in NAMES]
    own = [row["value"] for row in rows if row["who"] == MEASURED and row["grid"] in NAMES]
    return (
        f"A true image of the donut is itself a superposition of seen ones by R² {_told(truth)}; plain decoders' "
        f"answers are by {_told(own)}. Read superposition above the truth's only. {_fall_sentence(evidence)} A lookup "
        "table has nearly 1, so that orthogonality alone never says that somebody composes."
    )


def _on_data(evidence: Evidence) -> str:
    told = []
    for grid, name in NAMES.items():
        rows = covered(evidence, grid).by("stripes")
        errors = [_told(rows[share].column(UNSEEN)) if share in rows else "not known" for share in (PLAIN, BOTH)]
        told.append(f"the unseen error of the {name} goes from {errors[0]} to {errors[1]}")
    rows = covered(evidence, "mlp").by("stripes")
    outside = [_told(rows[share].column("outside")) if share in rows else "not known" for share in (PLAIN, BOTH)]
    return (
        f"Over the splits, {outside[0]} of the unseen images lies outside the span of the bumps shown, and "
        f"{outside[1]} outside that of bumps and stripes, on average; {listing(told)}. Coverage is a number of the "
        "data alone: it says what can be drawn from training images, not who will, and cannot say why of two decoders "
        "with the same data one composes."
    )


def _on_scaling(evidence: Evidence) -> str:
    without, with_stripes = (list(exponents(evidence, stripes=stripes).values()) for stripes in (False, True))
    arms = needs(evidence).by("size", "stripes")
    largest = max((size for size, _ in arms), default=0)
    images = [_told(arms[largest, share].column("needed")) if arms else "not known" for share in (PLAIN, BOTH)]
    return (
        f"The images needed grow as N to the power of {_told(without)} without stripes and {_told(with_stripes)} with "
        f"them; at N = {largest} they are {images[0]} and {images[1]}, stripes counted. This is an MLP; what stripes "
        "do to it on the donut stands above. Centres are whole numbers, of which there are N²: more images cannot be "
        "needed, so that an exponent above 2 cannot go on for long. In the paper's scaling code centres are real."
    )


def _on_limits(evidence: Evidence) -> str:
    return (
        f"One size of network each, and {amount(evidence.settings['seeds'], 'seed')}: what is said holds "
        "for these. It would be refuted by an MLP or a CNN decoder that, made wider or trained for longer, drops below "
        "half of a blank image on the same donut without stripes; and what is said of stripes, by a decoder that "
        "composes after stripes alone."
    )
