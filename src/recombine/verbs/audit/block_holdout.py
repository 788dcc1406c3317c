"""Seen combinations held out as the unseen ones are missing: together with all that share the missing conjunction.

Where a pair of values was never seen, neither was any combination that holds it. A seen combination that is held out
alone is then no test: the others still show its pairs. So the unseen ones are sorted by the conjunction that each
misses (`data.missing_conjunctions`), and for each such set of factors whole blocks of seen combinations are held out,
those that share their values of these factors. A block is one piece of evidence, however many combinations it has: in
an interval it counts once. What misses nothing but itself is held out one at a time, as ever.

An unseen combination that misses several conjunctions of one size counts as a part of each: none of them is chosen, so
that nothing hangs on the order of factors or values.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from recombine.base.grades import FEWEST_TESTED
from recombine.base.words import listing
from recombine.data.missing_conjunctions import FactorSet, MissingConjunctions, missing_conjunctions
from recombine.data.support import Support
from recombine.numerics.groups import Codes, Ints, Numbers
from recombine.numerics.resampling import EvidencePieces

_RARE = 0.05
"""Of the unseen combinations: sets that no more than so many of them miss, all these sets together, are not tested."""
_FEWEST_BLOCKS, _MOST_BLOCKS = 20, 200
LIKE = 1.1
"""Times the error of another: up to there a combination is as firmly told as that one."""
_MOST_LEFT = 2 * 10**7  # combinations that are left, over all blocks: each block takes a look at all of them


@dataclass(frozen=True)
class MissingClass:
    """Unseen combinations that miss the same set of factors together: their share of all, how many blocks of equal size
    would vary as much as theirs, and the largest leverage among them.
    """

    factors: FactorSet
    share: float
    blocks: float
    leverage: float


def missing_classes(known: Support, unseen: Codes, leverage: Numbers) -> tuple[MissingClass, ...]:
    """What these unseen combinations, each with its leverage, miss, given the known ones; the commonest first.

    >>> import recombine
    >>> grid = [(a, b, c) for a in range(3) for b in range(3) for c in range(4) if (a, b) != (2, 2)]
    >>> table = {name: [row[k] for row in grid] for k, name in enumerate("abc")}
    >>> seen = recombine.read(table, factors=["a", "b", "c"])
    >>> missing_classes(seen, np.array([[2, 2, c] for c in range(4)], dtype=np.int32), np.ones(4))
    (MissingClass(factors=(0, 1), share=1.0, blocks=1.0, leverage=1.0),)
    """
    missing = missing_conjunctions(known, unseen)
    shares = missing.shares()
    return tuple(_class_of(missing, one, unseen, leverage) for one in shares if not _is_rare(shares, one))


def _is_rare(shares: Mapping[FactorSet, float], factors: FactorSet) -> bool:
    """Whether this set and all that no more combinations miss are few together; equally common ones go together."""
    return sum(share for share in shares.values() if share <= shares[factors] * (1 + 1e-9)) <= _RARE


def _class_of(missing: MissingConjunctions, factors: FactorSet, unseen: Codes, leverage: Numbers) -> MissingClass:
    mine, parts = missing.misses(factors), missing.parts(factors)
    _, block = np.unique(unseen[mine][:, factors], axis=0, return_inverse=True)
    sizes = np.bincount(block.reshape(-1), parts)  # of two dimensions in some versions of NumPy
    blocks = float(sizes.sum() ** 2 / np.square(sizes).sum())
    return MissingClass(factors, float(parts.sum()) / len(unseen), blocks, float(leverage[mine].max()))


def blocks_of(known: Support, factors: FactorSet, *, share: float = 1.0, seed: int = 0) -> list[Ints]:
    """The seen combinations that share their values of some factors, block by block; some blocks where there are many,
    the fewer the smaller the `share` of the unseen ones that is tested by them.

    >>> import recombine
    >>> seen = recombine.read({"a": [0, 0, 1], "b": [0, 1, 0], "c": [0, 0, 1]}, factors=["a", "b", "c"])
    >>> [block.tolist() for block in blocks_of(seen, (0, 2))]
    [[0, 1], [2]]
    """
    groups = known.groups(factors)
    most = min(max(_FEWEST_BLOCKS, round(share * _MOST_BLOCKS)), max(FEWEST_TESTED, _MOST_LEFT // max(len(known), 1)))
    chosen = np.arange(groups.size)
    if groups.size > most:
        chosen = np.sort(np.random.default_rng(seed).choice(groups.size, size=most, replace=False))
    order = np.argsort(groups.ids, kind="stable")
    ends = np.cumsum(np.bincount(groups.ids, minlength=groups.size))
    return [np.sort(order[ends[one - 1] if one else 0 : ends[one]]) for one in chosen.tolist()]


def weigh_classes(tested: Sequence[tuple[MissingClass, Ints]]) -> tuple[Numbers, EvidencePieces]:
    """How much each combination counts that was held out for one of these classes, given the blocks of each: together
    they then miss what the unseen ones do. And which of them are one piece of evidence.

    Blocks vary by the squares of their shares, so few large ones outweigh many single combinations.

    >>> pair, whole = MissingClass((0, 1), 0.25, 3.0, 1.0), MissingClass((0, 1, 2), 0.75, 9.0, 1.0)
    >>> weights, pieces = weigh_classes([(pair, np.array([0, 0])), (whole, np.array([0, 1]))])
    >>> weights.tolist(), pieces.of.tolist(), pieces.unseen
    ([0.5, 0.5, 1.5, 1.5], [0, 0, 1, 2], 12)
    """
    weights = np.concatenate([np.full(len(pieces), one.share / max(len(pieces), 1)) for one, pieces in tested])
    starts = np.cumsum([0, *(int(pieces.max(initial=-1)) + 1 for _, pieces in tested)])
    of = np.concatenate([pieces + start for (_, pieces), start in zip(tested, starts[:-1], strict=True)])
    shares, blocks = (np.array([getattr(one, name) for one, _ in tested]) for name in ("share", "blocks"))
    unseen = float(shares.sum() ** 2 / np.sum(np.square(shares) / blocks))
    return weights / weights.mean(), EvidencePieces(of, max(1, round(unseen)))


def conjunction_names(several: Sequence[Sequence[str]]) -> str:
    """Sets of factors in words.

    >>> conjunction_names([("colour", "shape"), ("shape", "size")])
    'colour with shape and shape with size'
    """
    return listing([" with ".join(names) for names in several])


def missing_reason(several: Sequence[Sequence[str]]) -> str:
    """Why the tests say nothing about unseen combinations that miss whole conjunctions of these factors.

    >>> missing_reason([("colour", "shape")])
    'no tested combination was missing a whole pair of values (colour with shape), as these are'
    >>> missing_reason([("genes",)])
    'no tested combination was missing a whole set (genes), as these are'
    """
    sizes = {len(names) for names in several}
    whole = "set" if sizes == {1} else "pair of values" if sizes == {2} else "conjunction of values"
    return f"no tested combination was missing a whole {whole} ({conjunction_names(several)}), as these are"


@dataclass(frozen=True, eq=False)
class HeldOutPart:
    """What was held out for one set of factors. Legend: t combinations."""

    factors: FactorSet
    rows: Ints  # (t,) which seen combinations
    leverage: Numbers  # (t,)
    said: Mapping[str, Numbers]  # (t, m) what each rule said of them
    pieces: Ints  # (t,) the block of each

    @property
    def enough(self) -> bool:
        """Whether there are blocks enough to say anything of another one."""
        return len(np.unique(self.pieces)) >= FEWEST_TESTED
