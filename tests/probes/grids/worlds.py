"""Grids that are known through and through: tables, codes, bumps; and which places of them were seen."""

import numpy as np

from recombine_lab.probes.geometry_probe.cells import Cells, gram_of


def codes_of(*sizes):
    return np.indices(sizes).reshape(len(sizes), -1).T


def cells_of(features, sizes, *, ordered=True, seen=None):
    features = np.asarray(features, dtype=float).reshape(int(np.prod(sizes)), -1)
    return Cells(gram_of(features), codes_of(*sizes), tuple(sizes), (ordered,) * len(sizes), seen)


def one_hot(*sizes):
    """Concatenated codes of every combination."""
    codes = codes_of(*sizes)
    return np.concatenate([np.eye(size)[codes[:, k]] for k, size in enumerate(sizes)], axis=1)


def profiles(n, sigma=1.0, centres=0.0):
    return np.exp(-((np.arange(n)[None] + centres - np.arange(n)[:, None]) ** 2) / (2 * sigma**2))


def bumps(n, sigma=1.0, centres=0.0):
    """Pictures (n * n, n * n) of bumps: x along columns, y along rows; x is the first factor."""
    one = profiles(n, sigma, centres)
    return np.einsum("xu,yv->xyvu", one, one).reshape(n * n, n * n)


def stripes_of(n, sigma=1.0):
    """Pictures (2 n, n * n) of one coordinate alone."""
    one = profiles(n, sigma)
    columns = np.broadcast_to(one[:, None, :], (n, n, n)).reshape(n, -1)
    rows = np.broadcast_to(one[:, :, None], (n, n, n)).reshape(n, -1)
    return np.concatenate([columns, rows])


def donut(n=28, low=6, high=22):
    """Seen outside [low..high]², both ends held out."""
    codes = codes_of(n, n)
    return ~((codes >= low) & (codes <= high)).all(axis=1)


def corner(n, at):
    return (codes_of(n, n) < at).any(axis=1)
