"""Cells of noisy points: every value of every factor has a place, an example is its factors' places and noise.

Letters: K factors; d numbers for the place of a value.
"""

import numpy as np

from recombine.base.seeds import derived
from validity_cells.data import Array, Data, Rows, data_of, rows_evenly

ROWS, ASKED = 1500, 800
LENGTH = 8
"""Numbers for the place of one value. Places are about 1 long and 1.4 apart."""


def points(
    sizes: tuple[int, ...],
    rule: str,
    support: str,
    *,
    noise: float,
    summed: bool = False,
    rows: int = ROWS,
    asked: int = ASKED,
) -> Data:
    """Examples whose noise is `noise` long; the places of the factors stand side by side, or are added up."""
    rng = np.random.default_rng(derived(0, "points", repr((sizes, rule, support, noise, summed))))
    codes = np.indices(sizes).reshape(len(sizes), -1).T
    target, label = answers(codes, sizes, rule, rng)
    seen = shown(codes, sizes, support, rng)
    places = [rng.normal(size=(size, LENGTH)) / np.sqrt(LENGTH) for size in sizes]
    chosen = [rows_evenly(np.flatnonzero(side), n, rng) for side, n in ((seen, rows), (seen, asked), (~seen, asked))]
    made = [Rows(_placed(codes[own], places, noise, rng, summed=summed), target[own], codes[own]) for own in chosen]
    return data_of(*made, label=label)


def _placed(codes: Array, places: list[Array], noise: float, rng: np.random.Generator, *, summed: bool) -> Array:
    own = [place[codes[:, k]] for k, place in enumerate(places)]
    clean = np.sum(own, axis=0) if summed else np.concatenate(own, axis=1)
    return clean + noise * rng.normal(size=clean.shape) / np.sqrt(places[0].shape[1])


def answers(codes: Array, sizes: tuple[int, ...], rule: str, rng: np.random.Generator) -> tuple[Array, bool]:
    """The answer to each combination (n,), and whether it is a label.

    Numbers have mean 0 and deviation 1 over the space: `sum` and `product` of the centred values, `effects` (each
    value's own, drawn), `table` (drawn for each combination), `mixed` (half effects, half table). Labels: `first` and
    `second` (that value), `same`, `order` (whether the first is above the second), `parity` (of the sum), `majority`
    (whether more values lie in the upper half), `lookup` (one of three, drawn), `context` (the first says whether the
    second or the third decides).
    """
    middle = codes - (np.array(sizes) - 1) / 2
    upper = (2 * codes >= np.array(sizes)).astype(np.int64)
    drawn = [rng.normal(size=size) for size in sizes]
    effects = np.sum([own[codes[:, k]] for k, own in enumerate(drawn)], axis=0)
    table, lookup = rng.normal(size=len(codes)), rng.integers(3, size=len(codes))
    labels = {
        "first": codes[:, 0],
        "second": codes[:, 1],
        "same": codes[:, 0] == codes[:, 1],
        "order": codes[:, 0] > codes[:, 1],
        "parity": codes.sum(axis=1) % 2,
        "majority": upper.sum(axis=1) * 2 > len(sizes),
        "lookup": lookup,
        "context": np.where(upper[:, 0] == 0, upper[:, 1], upper[:, -1]),
    }
    numbers = {
        "sum": middle.sum(axis=1),
        "product": middle.prod(axis=1),
        "effects": effects,
        "table": table,
        "mixed": effects / effects.std() + table,
    }
    if rule in labels:
        return labels[rule].astype(np.int64), True
    found = numbers[rule]
    return (found - found.mean()) / found.std(), False


def shown(codes: Array, sizes: tuple[int, ...], support: str, rng: np.random.Generator) -> Array:
    """Which combinations are seen (n,): `random 50` (per cent, every value among them), `band` (two neighbours on a
    circle), `corner` (all but those whose values all lie in the upper half), `cross` (one value of 0 at least),
    `block` (all but a square in the middle)."""
    if support.startswith("random"):
        return _random(codes, sizes, int(support.split()[1]) / 100, rng)
    above = 2 * codes >= np.array(sizes)
    if support == "band":
        return np.isin((codes[:, 1] - codes[:, 0]) % sizes[1], [0, 1])
    if support == "corner":
        return ~above.all(axis=1)
    if support == "cross":
        return (codes == 0).any(axis=1)
    inner = (codes >= np.array(sizes) // 4) & (codes < np.array(sizes) - np.array(sizes) // 4)
    return ~inner.all(axis=1)


def _random(codes: Array, sizes: tuple[int, ...], share: float, rng: np.random.Generator) -> Array:
    """Drawn again until every value was seen."""
    while True:
        seen = np.zeros(len(codes), dtype=bool)
        seen[rng.permutation(len(codes))[: round(share * len(codes))]] = True
        if all(len(np.unique(codes[seen, k])) == size for k, size in enumerate(sizes)):
            return seen
