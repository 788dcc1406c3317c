"""Ten kinds of glyphs drawn here, for machines without data sets and for quick tests: a digit of seven bars each,
shifted, dimmed and covered with noise."""

import numpy as np
import numpy.typing as npt

from recombine.lab.tasks.data.images import Images, Labels
from recombine.lab.tasks.task import Part
from recombine.seeds import derived

SIDE = 28
EACH = {"train": 200, "test": 50}
_BARS = {  # rows and columns of each bar
    "a": (slice(4, 7), slice(8, 20)),
    "b": (slice(4, 15), slice(17, 20)),
    "c": (slice(13, 24), slice(17, 20)),
    "d": (slice(21, 24), slice(8, 20)),
    "e": (slice(13, 24), slice(8, 11)),
    "f": (slice(4, 15), slice(8, 11)),
    "g": (slice(12, 15), slice(8, 20)),
}
_DIGITS = ("abcdef", "bc", "abged", "abgcd", "fgbc", "afgcd", "afgedc", "abc", "abcdefg", "abgfcd")
_REACH = 2


def glyphs(part: Part) -> tuple[Images, Labels]:
    """Images (n, 1, 28, 28) and their classes, always the same."""
    chance = np.random.default_rng(derived(0, "glyphs", part))
    labels = np.repeat(np.arange(10), EACH[part])
    shapes = np.stack([_digit(bars) for bars in _DIGITS])[labels]
    down, right = chance.integers(-_REACH, _REACH + 1, size=(2, len(labels)))
    rows = (np.arange(SIDE)[None] - down[:, None]) % SIDE
    columns = (np.arange(SIDE)[None] - right[:, None]) % SIDE
    moved = shapes[np.arange(len(labels))[:, None, None], rows[:, :, None], columns[:, None, :]]
    lit = moved * chance.uniform(0.7, 1.0, size=(len(labels), 1, 1))
    noisy = np.clip(lit + chance.normal(0.0, 0.08, size=lit.shape), 0.0, 1.0)
    return (noisy[:, None] * 255).round().astype(np.uint8), labels.astype(np.int64)


def _digit(bars: str) -> npt.NDArray[np.float64]:
    drawn = np.zeros((SIDE, SIDE))
    for bar in bars:
        drawn[_BARS[bar]] = 1.0
    # a light blur rounds the corners, as a pen does
    for axis in (0, 1):
        drawn = 0.25 * np.roll(drawn, 1, axis) + 0.5 * drawn + 0.25 * np.roll(drawn, -1, axis)
    return drawn
