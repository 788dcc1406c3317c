"""Cells of small worlds: ten families that came after the forecasts were made, so nobody adjusted anything to them.

Each family says what is asked, and what an example looks like before noise: waves, counted words, spectra, turned
glyphs, sensors with a gain, responses to doses, tangled codes, walks, crossing stripes, kinds within kinds. Noise is in
units of how much such examples differ.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from recombine.base.seeds import derived
from validity_cells.data import Array, Data, Rows, data_of, rows_evenly
from validity_cells.points import shown

ROWS, ASKED = 800, 500
Rng = np.random.Generator


@dataclass(frozen=True)
class Family:
    """The answer to each combination (c,), whether it is a label, and examples (n, d) of given codes (n, K)."""

    target: Array
    label: bool
    look: Callable[[Array, Rng], Array]


def world(
    family: str, sizes: tuple[int, ...], support: str, *, noise: float, uneven: bool = False, rows: int = ROWS
) -> Data:
    """The rows of one cell; `uneven` gives some combinations many more rows than others."""
    rng = np.random.default_rng(derived(0, "worlds", repr((family, sizes, support, noise, uneven))))
    codes = np.indices(sizes).reshape(len(sizes), -1).T
    made = FAMILIES[family](codes, sizes, rng)
    target = made.target if made.label else (made.target - made.target.mean()) / made.target.std()
    seen = shown(codes, sizes, support, rng)
    spread = float(made.look(codes, rng).std())
    parts = []
    for side, n in ((seen, rows), (seen, ASKED), (~seen, ASKED)):
        own = (_unevenly if uneven and n == rows else rows_evenly)(np.flatnonzero(side), n, rng)
        clean = made.look(codes[own], rng)
        parts.append(Rows(clean + noise * spread * rng.normal(size=clean.shape), target[own], codes[own]))
    return data_of(*parts, label=made.label)


def _unevenly(codes: Array, n: int, rng: Rng) -> Array:
    """n codes of which the k-th has a share of 1/k; each is there twice at least."""
    share = 1 / np.arange(1, len(codes) + 1)
    more = rng.choice(rng.permutation(codes), size=n - 2 * len(codes), p=share / share.sum())
    return np.concatenate([codes, codes, more])


def waves(codes: Array, sizes: tuple[int, ...], rng: Rng) -> Family:  # noqa: ARG001 - nothing is drawn
    """A tone of one frequency, loud at one time: which frequency? Its phase differs from row to row."""
    time = np.linspace(0, 1, 40)

    def look(own: Array, rng: Rng) -> Array:
        tone = np.sin(2 * np.pi * (1 + own[:, :1]) * time + rng.uniform(0, np.pi / 2, size=(len(own), 1)))
        return np.asarray(tone * np.exp(-((time - (own[:, 1:2] + 0.5) / sizes[1]) ** 2) / 0.05))

    return Family(codes[:, 0], True, look)


def words(codes: Array, sizes: tuple[int, ...], rng: Rng) -> Family:
    """Counts of words, most of them about nothing: an adverb that strengthens or turns round, times an adjective."""
    strength, valence = rng.normal(0.5, 1, size=sizes[0]), rng.normal(size=sizes[1])

    def look(own: Array, rng: Rng) -> Array:
        said = [np.eye(size)[own[:, k]] * (1 + rng.poisson(0.5, size=(len(own), 1))) for k, size in enumerate(sizes)]
        return np.concatenate([*said, rng.poisson(0.4, size=(len(own), 10))], axis=1)

    return Family(strength[codes[:, 0]] * valence[codes[:, 1]] + valence[codes[:, 1]], False, look)


def spectra(codes: Array, sizes: tuple[int, ...], rng: Rng) -> Family:
    """Light that passes two dyes: how strong are both together? Dark stays dark, in the light and in the answer."""
    wave = np.linspace(0, 1, 30)
    peaks = np.stack([np.exp(-((wave - place) ** 2) / 0.02) for place in rng.uniform(0.2, 0.8, size=len(sizes))])
    amount = codes / (np.array(sizes) - 1)

    def look(own: Array, rng: Rng) -> Array:  # noqa: ARG001 - every example of a combination is the same
        return 1 - np.exp(-2 * (own / (np.array(sizes) - 1)) @ peaks)

    return Family(1 - np.exp(-2 * amount.sum(axis=1)), False, look)


def turned(codes: Array, sizes: tuple[int, ...], rng: Rng) -> Family:
    """A glyph of five by five, turned by quarters, light or dark: which glyph?"""
    glyphs = rng.integers(2, size=(sizes[0], 5, 5)).astype(float)

    def look(own: Array, rng: Rng) -> Array:  # noqa: ARG001
        drawn = [np.rot90(glyphs[a], k) * (1 if light else -1) for a, k, light in own]
        return np.stack(drawn).reshape(len(own), -1)

    return Family(codes[:, 0], True, look)


def gains(codes: Array, sizes: tuple[int, ...], rng: Rng) -> Family:
    """Ten sensors show a signal, each machine with a gain of its own: is it too loud?"""
    gain, signal = rng.lognormal(0, 0.7, size=sizes[0]), rng.normal(size=(sizes[1], 10))
    loud = gain[codes[:, 0]] * np.linalg.norm(signal[codes[:, 1]], axis=1)

    def look(own: Array, rng: Rng) -> Array:  # noqa: ARG001
        return np.asarray(gain[own[:, 0], None] * signal[own[:, 1]])

    return Family((loud > np.median(loud)).astype(np.int64), True, look)


def doses(codes: Array, sizes: tuple[int, ...], rng: Rng) -> Family:
    """Twenty genes answer to the doses of two drugs, which help each other: how large is the effect?"""
    weights, together = rng.normal(size=(len(sizes), 20)), rng.uniform(0, 2)

    def effect(own: Array) -> Array:
        amount = own / (np.array(sizes) - 1)
        return np.asarray(amount**2 / (0.2 + amount**2))

    own = effect(codes)
    target = own.sum(axis=1) + together * own.prod(axis=1)
    return Family(target, False, lambda own, rng: np.tanh(2 * (effect(own) - 0.5) @ weights))  # noqa: ARG005


def tangled(codes: Array, sizes: tuple[int, ...], rng: Rng) -> Family:
    """Every input hangs on all factors at once, through two random layers: which is the first factor's value?"""
    first = rng.normal(size=(sum(sizes), 24))
    second = rng.normal(size=(24, 16)) / 3

    def look(own: Array, rng: Rng) -> Array:  # noqa: ARG001
        units = np.concatenate([np.eye(size)[own[:, k]] for k, size in enumerate(sizes)], axis=1)
        return np.asarray(np.tanh(np.tanh(units @ first) @ second))

    return Family(codes[:, 0], True, look)


def walks(codes: Array, sizes: tuple[int, ...], rng: Rng) -> Family:
    """A walk in one direction, of so many steps: how far to the right does it end? Steps are of uneven length."""
    angle = np.sort(rng.uniform(0, 2 * np.pi, size=sizes[0]))
    towards = np.stack([np.cos(angle), np.sin(angle)], axis=1)

    def look(own: Array, rng: Rng) -> Array:
        walked = np.arange(sizes[1]) <= own[:, 1:2]
        steps = (walked * rng.uniform(0.7, 1.3, size=walked.shape))[:, :, None] * towards[own[:, 0], None]
        return np.asarray(steps.reshape(len(own), -1))

    return Family((1 + codes[:, 1]) * towards[codes[:, 0], 0], False, look)


def stripes(codes: Array, sizes: tuple[int, ...], rng: Rng) -> Family:  # noqa: ARG001
    """A bar across and one upwards, one in front of the other: in which quarter do they cross?"""
    upper = 2 * codes >= np.array(sizes)

    def look(own: Array, rng: Rng) -> Array:  # noqa: ARG001
        across, upwards = np.eye(sizes[0])[own[:, 0]], np.eye(sizes[1])[own[:, 1]]
        drawn = np.where(across[:, :, None] > 0, 1.0, 0.6 * upwards[:, None, :])
        return drawn.reshape(len(own), -1)

    return Family((2 * upper[:, 0] + upper[:, 1]).astype(np.int64), True, look)


def kinds(codes: Array, sizes: tuple[int, ...], rng: Rng) -> Family:
    """Animals of three kinds in places of two kinds: a label for each pair of kinds. An animal looks like its kind."""
    kind = [np.resize(np.arange(3 - k), size) for k, size in enumerate(sizes)]
    typical = [rng.normal(size=(3, 8)) for _ in sizes]
    places = [typical[k][kind[k]] + 0.7 * rng.normal(size=(size, 8)) for k, size in enumerate(sizes)]
    label = rng.permutation(6)[2 * kind[0][codes[:, 0]] + kind[1][codes[:, 1]]] % 3

    def look(own: Array, rng: Rng) -> Array:  # noqa: ARG001
        return np.concatenate([place[own[:, k]] for k, place in enumerate(places)], axis=1)

    return Family(label, True, look)


FAMILIES: dict[str, Callable[[Array, tuple[int, ...], Rng], Family]] = {
    "waves": waves,
    "words": words,
    "spectra": spectra,
    "turned": turned,
    "gains": gains,
    "doses": doses,
    "tangled": tangled,
    "walks": walks,
    "stripes": stripes,
    "kinds": kinds,
}
