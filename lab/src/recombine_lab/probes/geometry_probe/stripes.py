"""Stripe share: does what a layer draws for one factor vary along that factor's own axis of the picture?

What a factor's value draws is the layer's mean over all other factors, less the mean of all. Its energy falls into the
part along the factor's own axis, along other axes, and what belongs to no single axis; what is constant in space does
not count. Filters that compose have nearly all on their own axis; filters of the same network without penalties have
more on the wrong one.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from recombine_lab.probes.geometry_probe.cells import Numbers


def stripe_shares(
    features: npt.NDArray[np.floating], codes: npt.NDArray[np.int64], shape: Sequence[int], axes: Mapping[int, int]
) -> tuple[float, float, float] | None:
    """(own axis, other axes, interaction) of features (c, d) of a shape, with each factor's axis of that shape.

    None where the layer has no such axes, or the factors draw nothing that varies in space.

    >>> picture = np.eye(3)[:, None, :] * np.ones((3, 3, 1))  # value t lights column t
    >>> codes = np.indices((3, 2)).reshape(2, -1).T
    >>> stripe_shares(picture[codes[:, 0]].reshape(6, 9), codes, (3, 3), {0: 1, 1: 0})
    (1.0, 0.0, 0.0)
    """
    used = {factor: axis % len(shape) for factor, axis in axes.items() if -len(shape) <= axis < len(shape)}
    if len(used) < len(axes) or len(set(used.values())) < len(used) or min(shape[a] for a in used.values()) < 2:
        return None
    energy = np.zeros(3)
    for factor, axis in used.items():
        energy += _energies(_drawn(features, codes[:, factor]), shape, axis, tuple(used.values()))
    whole = float(energy.sum())
    if not whole > 1e-12 * float(np.square(features).sum()) / len(features):
        return None
    own, other, rest = (float(part) / whole for part in energy)
    return own, other, rest


def _drawn(features: npt.NDArray[np.floating], codes: npt.NDArray[np.int64]) -> Numbers:
    """(values, d) The mean over all combinations with each value, less the mean of all."""
    belongs = (np.unique(codes)[:, None] == codes[None]).astype(features.dtype)
    means = (belongs @ features / belongs.sum(axis=1, keepdims=True)).astype(np.float64)
    return np.asarray(means - means.mean(axis=0))


def _energies(drawn: Numbers, shape: Sequence[int], own: int, axes: tuple[int, ...]) -> Numbers:
    """The energy of pictures along their own axis, along the others, and beyond single axes."""
    pictures = drawn.reshape(len(drawn), *shape)
    places = tuple(axis + 1 for axis in axes)
    centred = pictures - pictures.mean(axis=places, keepdims=True)
    cells = float(np.prod([shape[axis] for axis in axes]))
    along = {}
    for axis in axes:
        away = tuple(place for place in places if place != axis + 1)
        along[axis] = float(np.square(centred.mean(axis=away)).sum()) * cells / shape[axis]
    whole = float(np.square(centred).sum())
    others = sum(part for axis, part in along.items() if axis != own)
    return np.array([along[own], others, max(whole - sum(along.values()), 0.0)])
