"""What the page of a geometry probe draws: each deciding measure from layer to layer, and all measures beside all
controls where it was decided."""

from recombine.figures import Curve, Curves, Figure, Matrix
from recombine_lab.probes.grids.answering import EXCESS, GAP, PARTIAL, SEEN_ERROR, STRIPES, SUPERPOSITION
from recombine_lab.probes.grids.kernel_measures import (
    ADDITIVITY,
    CENTRED,
    ORTHOGONALITY,
    PROBE,
    PROBE_UNSEEN,
    PUBLISHED,
    SEPARABILITY,
)
from recombine_lab.probes.grids.measuring import Measured
from recombine_lab.probes.grids.nulls import CONTROLS, MATCHED, SHUFFLED, TRUTH
from recombine_lab.probes.probe import MEASURED, finite

_SHARES = (ORTHOGONALITY, PUBLISHED, ADDITIVITY, SEPARABILITY, CENTRED, PROBE, PROBE_UNSEEN, *STRIPES, PARTIAL)
_OF_ANSWERS = (SUPERPOSITION, EXCESS, GAP, SEEN_ERROR)
_CURVES = {
    ADDITIVITY: "The share of variance that single factors make. It decides, where it lies beyond every control.",
    CENTRED: "How far similarity is a product over the factors, measured from the mean. Our metric.",
    PROBE: "Can each factor be read off for combinations that the probe was not fitted on? Random features pass.",
    ORTHOGONALITY: "Do steps of different factors point in different directions? A table of unrelated vectors passes.",
}


_UNDRAWN = {(ADDITIVITY, MATCHED), (PROBE, SHUFFLED)}
"""The same line by its making; and a probe of shuffled factors is so wrong that no other line could be told apart."""


def pictures(found: Measured, where: str) -> tuple[Figure, ...]:
    """The figures, those with nothing in them left out."""
    drawn: list[Figure] = []
    for name, sentence in _CURVES.items():
        whose = [who for who in (MEASURED, *CONTROLS) if (name, who) not in _UNDRAWN]
        curves = [curve for who in whose if (curve := _curve(found, name, who)) is not None]
        if curves:
            drawn.append(Curves(name.capitalize(), sentence, "layer", name, tuple(found.layers), tuple(curves)))
    return (_matrix(found, where), *drawn)


def _curve(found: Measured, name: str, who: str) -> Curve | None:
    all_of = [found.get(where, name, who) for where in found.layers]
    if all(one.value is None for one in all_of):
        return None
    values, low, high = (tuple(finite(getattr(one, end)) for one in all_of) for end in ("value", "low", "high"))
    return Curve(name=who, values=values, low=low, high=high, control=who != MEASURED)


def _matrix(found: Measured, where: str) -> Matrix:
    whose = [who for who in (MEASURED, TRUTH, *CONTROLS) if (where, who) in found.own or (where, who) in found.draws]
    names = [
        name for name in (*_OF_ANSWERS, *_SHARES) if any(found.get(where, name, who).value is not None for who in whose)
    ]
    cells = tuple(tuple(finite(found.get(where, name, who).value) for who in whose) for name in names)
    return Matrix(
        f"Every measure at {where}",
        "What cannot compose stands beside what was measured. Where a control scores as high, a measure says nothing.",
        tuple(names),
        tuple(whose),
        cells,
    )
