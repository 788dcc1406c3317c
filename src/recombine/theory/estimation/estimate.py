"""The weights of the conjunctions, estimated from the answers themselves.

Each seen combination's answer is taken as a constant plus one random effect for every conjunction that it holds:

    answer = constant + sum over sets U of effect_U[values in U] + effect_full + error / sqrt(examples)

The variance of the effects of a set is its weight: the kernel of such a model is the kernel of the theory. The weights
are those that make the answers most likely once the constant is projected out (restricted maximum likelihood).

Here the steps are put in a row: the answers in units of their spread, the sets that can have a weight (`components`),
the table whole or cut (`parts`), its likelihood (`likelihood`), the way to the top (`climb`), and the weights found
there as a salience, in the answers' own units and with a note about what they could not tell.
"""

import math
from collections.abc import Sequence

import numpy as np

from recombine.algebra.groups import Numbers
from recombine.errors import SettingError, TableError
from recombine.tables.support import Support
from recombine.theory.answers import Answers, answers
from recombine.theory.estimation.climb import Fit, fit
from recombine.theory.estimation.components import Component, components_of, groups_of, tell_apart
from recombine.theory.estimation.likelihood import Data
from recombine.theory.estimation.parts import pieces_of
from recombine.theory.salience import MOST_FACTORS, Salience

MOST = 1_200
"""Unknowns that are solved for at once: about a second at this size, and eight times as long at twice of it."""


def estimate(support: Support, *, seed: int = 0, most: int = MOST) -> Salience:
    """The weights that make the answers of a table most likely, with a free constant.

    `most` bounds the work: with more combinations, and also more conjunctions, than that, the weights
    come from parts of the table, chosen by `seed`; the result's note says so.

    >>> import recombine
    >>> table = {"a": [0, 0, 0, 1, 1, 1, 2, 2, 2], "b": [0, 1, 2] * 3, "y": [0.5, 1, 5, 3, 4, 8, 7, 8, 12]}
    >>> fitted = estimate(recombine.read(table, factors=["a", "b"], target="y"))
    >>> fitted.name, [round(weight, 2) for weight in fitted.weights]
    ('fit', [inf, 11.78, 6.67, 0.03])
    """
    _check(len(support.space.sizes), most)
    found = answers(support)
    values, variance = _standardised(found)
    codes = support.codes[found.rows]
    noise = (found.within or 0.0) / variance
    data = Data(codes, support.space.sizes, values, 1 / found.counts)
    groups, capped = groups_of(data.codes, data.sizes)
    components, notes = components_of(groups, support.space.names)
    pieces, told = pieces_of(data, components, groups, seed=seed, most=most)
    overlap = np.sum([piece.overlap for piece in pieces], axis=0)
    kept, confounded = tell_apart(overlap, pieces[0].own, components, support.space.names)
    fitted = fit([piece.restricted(kept) for piece in pieces], noise)
    notes = [*told, *capped, *notes, *confounded, *_about_the_top(found, fitted)]
    return _salience(support, [components[place] for place in kept], fitted, noise, variance, notes)


def _check(factors: int, most: int) -> None:
    if factors > MOST_FACTORS:
        raise SettingError(
            f"weights for the conjunctions of {factors} factors",
            why=f"{factors} factors have 2**{factors} = {2**factors:,} sets, and each has a weight",
            instead=f"choose the {MOST_FACTORS} factors or fewer that matter most",
        )
    if most < 3:
        raise SettingError(
            f"weights from at most {most} combinations",
            why="with fewer than three combinations no two weights can be told apart",
            instead=f"write a number from 3 on, such as most={MOST:,}",
        )


def _standardised(found: Answers) -> tuple[Numbers, float]:
    """The answers of every question that has more than one, around their means, in units of their common spread."""
    if len(found) < 3:
        raise TableError(
            f"{len(found)} combinations have a {found.name!r}",
            why="weights are variances, and fewer than three answers do not tell any two of them apart",
            instead="read more combinations, or give the weights: a salience by order or of a network",
        )
    values = found.values - found.values.mean(axis=0)
    size = np.abs(found.values).max(axis=0)
    values = values[:, np.abs(values).max(axis=0) > 1e-12 * size]
    if not values.shape[1]:
        raise TableError(
            f"every combination has the same {found.name!r}",
            why="answers that do not vary say nothing about which factors they depend on",
            instead="choose a target that varies, or give the weights: a salience by order or of a network",
        )
    variance = float((values**2).sum()) / (values.shape[1] * (len(values) - 1))
    return values / math.sqrt(variance), variance


def _about_the_top(found: Answers, fitted: Fit) -> list[str]:
    notes = []
    if found.within is None:
        notes.append("no combination has two examples, so the whole combination's weight holds the noise too")
    if fitted.weights[-1] <= fitted.floor[-1]:
        notes.append("nothing is left for the whole combination: its weight is the smallest that can be worked with")
    if not fitted.settled:
        notes.append("the weights had not quite settled when the search was stopped")
    return notes


def _salience(
    support: Support, components: Sequence[Component], fitted: Fit, noise: float, variance: float, notes: Sequence[str]
) -> Salience:
    factors = len(support.space.sizes)
    weights = np.zeros(2**factors)
    for component, weight in zip(components, fitted.weights, strict=False):
        weights[list(component.masks)] = weight * variance
    weights[0], weights[-1] = math.inf, fitted.weights[-1] * variance
    return Salience(factors, tuple(weights.tolist()), noise=noise * variance, name="fit", note="; ".join(notes))
