"""What is determined along a plan: after any of its lines, counted exactly, without listing the space.

In loose coordinates a line of the star closes its own, so random null vectors after some lines are random numbers
with zeros at the coordinates closed; other lines are constraints on the rest, eliminated modulo a prime. From there
on it is the audit's way of counting.
"""

import numpy as np

from recombine.algebra.groups import Numbers
from recombine.algebra.modular import Echelon
from recombine.auditing.determinacy import Determinacy
from recombine.errors import TableError
from recombine.planning import wording
from recombine.planning.choice import MOST_POINTS, points
from recombine.planning.loose import VECTORS, Loose
from recombine.planning.selection import Selection
from recombine.tables.engine import Steps

_MOST_SUMS = 10**7  # some ten seconds of counting, and at most that for one figure
_MOST_LOOKED_AT = 2 * 10**7  # values, over all figures together: some ten seconds again


class Path:
    """The lines in order, and what is determined after any number of them."""

    def __init__(self, loose: Loose, selection: Selection) -> None:
        self.loose, self.selection = loose, selection
        self.codes = selection.codes(loose)
        self._rest = np.flatnonzero(~np.isin(np.arange(len(loose.nodes)), selection.direct))
        self._flat = len(loose.base) == 2
        self._images = np.zeros((0, 0))
        if len(selection.others) and not self._flat:
            self._images = loose.images(selection.others, loose.forms(self._rest))

    def determinacy(self, lines: list[int]) -> Determinacy:
        """What is determined with some of the lines; those that change one value of the base come first in the path."""
        loose, width = self.loose, len(self.selection.direct)
        vectors = np.zeros((len(loose.nodes), VECTORS), dtype=np.int64)
        if not self._flat:
            rng = np.random.default_rng(loose.seed + 1)
            vectors = rng.integers(0, loose.null.prime, size=vectors.shape)
            vectors[self.selection.direct[[line for line in lines if line < width]]] = 0
            chosen = [line - width for line in lines if line >= width]
            if chosen:
                echelon = Echelon(len(self._rest), loose.null.prime)
                echelon.add(self._images[chosen])
                vectors[self._rest] = echelon.sample(VECTORS, rng).astype(np.int64)
        return loose.determinacy(self.codes[lines], vectors)

    def counted(self, found: Determinacy) -> int:
        """How many possible combinations are determined."""
        return found.count() - found.count_impossible(self.loose.support)[0]

    def count_of(self, lines: list[int]) -> int:
        """The same with these lines."""
        return self.counted(self.determinacy(lines))

    def count(self, lines: int) -> int | None:
        """The same after the first lines; nothing where it cannot be counted."""
        try:
            return self.count_of(list(range(lines)))
        except TableError:
            return None


def along(path: Path, tell: Steps) -> tuple[Numbers, tuple[str, ...]]:
    """What is determined after each line, at some lines only where counting is dear, and what each line joins."""
    total = len(path.codes)
    after = np.full(total, np.nan)
    words = ["counted together with the lines up to the next figure"] * total
    before, last, then = path.determinacy([]), path.count(0), 0
    if last is None:
        return path.loose.today.rank + np.arange(1.0, total + 1), ("one more independent fact",) * total
    affordable = min(_MOST_SUMS / max(_sums(before), 1), _MOST_LOOKED_AT / _values(before))
    shown = points(total, int(np.clip(affordable, 2, MOST_POINTS)))
    for place, line in enumerate(shown):
        tell("counting what each line buys", place / len(shown))
        found = path.determinacy(list(range(line)))
        if _sums(found) > _MOST_SUMS and line < total:
            continue
        now = path.counted(found)
        after[line - 1] = now
        words[line - 1] = wording.joins(path.loose, before, found, now - last, then == line - 1)
        before, last, then = found, now, line
    return after, tuple(words)


def _values(found: Determinacy) -> int:
    return sum(map(len, found.islands))


def _sums(found: Determinacy) -> float:
    """About how many sums of signatures counting takes: in each island, the choices from half of its factors."""
    if not found.deficit:
        return 0.0
    blocks = []
    for island, block in zip(found.islands, found.blocks, strict=True):
        first = np.unique(block[island >= 0], return_index=True)[1]
        blocks.append(np.bincount(island[island >= 0][first], minlength=found.island_count))
    several = np.sort(np.array(blocks, dtype=np.float64), axis=0)
    half = several[:-1].prod(axis=0) if len(blocks) <= 3 else np.sqrt(several.prod(axis=0))
    return float(half.sum())
