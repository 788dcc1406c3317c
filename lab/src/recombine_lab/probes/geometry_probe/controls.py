"""Things that cannot compose, or compose only by accident: what every measure is held against."""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from recombine_lab.probes.geometry_probe.cells import Cells, Numbers, gram_of
from recombine_lab.probes.geometry_probe.design import GridDesign
from recombine_lab.probes.geometry_probe.variance_shares import variance_by_set

LOOKUP, RANDOM, SHUFFLED, UNTRAINED = "lookup table", "random features", "shuffled factors", "random network"
MATCHED, TRUTH = "memory as additive", "truth"
CONTROLS = (LOOKUP, RANDOM, SHUFFLED, UNTRAINED, MATCHED)
WIDTH = 512


def lookup_table(cells: Cells) -> Cells:
    """A vector of its own for each combination, none like another."""
    return replace(cells, gram=np.eye(len(cells)))


def matched_memory(cells: Cells) -> Cells:
    """A table of memories beside the one-hot code of each factor, mixed so that each factor has as much of the variance
    as it has in a layer.

    A table that remembers nearly everything and shares a little passes for a product; a real one must do better.

    >>> codes = np.indices((3, 3)).reshape(2, -1).T
    >>> same = [one[:, None] == one[None] for one in codes.T]
    >>> layer = Cells(2.0 * same[0] + 0.5 * (same[0] & same[1]), codes, (3, 3))
    >>> bool(np.allclose(matched_memory(layer).gram, layer.gram))
    True
    """
    parts, sizes = variance_by_set(cells), np.array(cells.sizes)
    freedom = float(np.prod(sizes) - 1 - (sizes - 1).sum())
    single = [1 << factor for factor in range(len(sizes))]
    own = max((float(parts[1:].sum()) - float(parts[single].sum())) / freedom, 0.0)
    gram = own * np.eye(len(cells))
    for factor, size in enumerate(sizes):
        weight = max(float(parts[1 << factor]) / (size - 1) - own, 0.0) * size
        gram += weight / len(cells) * (cells.codes[:, None, factor] == cells.codes[None, :, factor])
    return replace(cells, gram=gram * len(cells))


@dataclass(frozen=True, eq=False)
class Code:
    """(c, d) How each combination is told to a model: the model's own inputs, or each factor one-hot."""

    numbers: npt.NDArray[np.float64]
    own: bool

    def random_features(self, rng: np.random.Generator) -> Numbers:
        """(c, c) Dot products after one layer of random weights and a ReLU."""
        width = self.numbers.shape[1]
        weights = rng.standard_normal((width, WIDTH)) * np.sqrt(2 / width)
        return gram_of(np.maximum(self.numbers @ weights, 0.0))


def one_hot(design: GridDesign) -> Code:
    """Each factor's value as one unit of many."""
    parts = [design.cells[:, [k]] == np.arange(size) for k, size in enumerate(design.sizes)]
    return Code(np.concatenate(parts, axis=1).astype(np.float64), own=False)
