"""Which unseen combinations are fixed by the seen ones under an additive rule, without ever listing the space.

Values that a chain of seen combinations links form an *island*; a combination that reaches across islands is
undetermined. For two factors that is the whole story. For three and more an island can be loose inside: then every
value gets a *signature* (its entry in random null vectors, see `null_space`), and a combination is determined iff its
signatures sum to zero (`determined_space`). Factors whose value is a set: `set_determinacy`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from recombine.base.errors import TableError
from recombine.data.support import Support
from recombine.numerics.additive_design import AdditiveDesign
from recombine.numerics.groups import Ints, Numbers, number
from recombine.numerics.modular_arithmetic import PRIMES
from recombine.numerics.null_space import TooSparse, null_vectors
from recombine.numerics.rows import IncidenceRows
from recombine.numerics.value_graph import components
from recombine.verbs.audit.determined_space import NO_ISLAND, Determinacy
from recombine.verbs.audit.set_determinacy import set_determinacy

_MOST_NAMED = 20  # values of each factor that an island is described by
_MOST_ISLANDS = 100  # that are described; all are counted


def determinacy(support: Support, *, seed: int = 0) -> Determinacy:
    """Find the islands, and look inside those that may be loose.

    >>> import recombine
    >>> corner = recombine.read({"a": [0, 0, 1], "b": [0, 1, 0]}, factors=["a", "b"])
    >>> found = determinacy(corner)
    >>> found.rank, found.count()
    (3, 4)
    """
    if support.space.set_factors:
        return set_determinacy(support, seed=seed)
    sizes = support.space.sizes
    design = AdditiveDesign(support.codes, sizes)
    nodes, rows = number(design.columns.ravel(), design.width)
    rows = rows.reshape(design.columns.shape)
    labels = components(rows, len(nodes))
    floor = (len(sizes) - 1) * (int(labels.max()) + 1)
    signatures, dimension = _signatures(rows, len(nodes), floor, seed)
    moduli = np.repeat(np.array(PRIMES[:2]), signatures.shape[1] // 2)
    return Determinacy(
        islands=_by_factor(labels, nodes, design.offsets, fill=NO_ISLAND),
        signatures=_by_factor(signatures, nodes, design.offsets, fill=0),
        moduli=moduli,
        rank=len(nodes) - dimension,
        deficit=dimension - floor,
    )


def _signatures(rows: Ints, nodes: int, floor: int, seed: int) -> tuple[Ints, int]:
    """Null vectors modulo two primes; zeros where the islands alone account for the whole null space.

    The rank modulo a prime is never above the true one, and the true null space is never below `floor`: reaching the
    floor is a proof. Otherwise a second prime must give the same dimension, or the smaller one counts.
    """
    if rows.shape[1] == 2:
        return np.zeros((nodes, 2), dtype=np.int64), floor
    try:
        design = IncidenceRows.equal(rows, nodes)
        first = null_vectors(design, prime=PRIMES[0], seed=seed, one_hot=True)
        if first.dimension == floor:
            return np.zeros((nodes, 2), dtype=np.int64), floor
        second = null_vectors(design, prime=PRIMES[1], seed=seed + 1, one_hot=True)
    except TooSparse as error:
        raise TableError(
            f"the {len(rows):,} combinations over {nodes:,} values hang together too loosely to be solved exactly",
            why="what they leave open has too many dimensions for this machine's memory",
            instead="audit fewer factors at a time, group rare values, or leave out values that hardly occur",
        ) from error
    if first.dimension != second.dimension:  # pragma: no cover - one prime in four million divides a determinant
        return _signatures(rows, nodes, floor, seed + 2)
    return np.concatenate([first.values, second.values], axis=1), first.dimension


def _by_factor(values: Ints, nodes: Ints, offsets: Ints, *, fill: int) -> tuple[Ints, ...]:
    full = np.full((int(offsets[-1]), *values.shape[1:]), fill, dtype=np.int64)
    full[nodes] = values
    return tuple(np.split(full, offsets[1:-1]))


@dataclass(frozen=True)
class Island:
    """Values that chains of seen combinations link, the commonest first.

    `groups` counts, for each factor, the groups of its values that cannot be compared with each other. One each means
    that everything within the island is determined; more can only happen with three factors and above.
    """

    sizes: Mapping[str, int]
    values: Mapping[str, tuple[str, ...]]
    groups: Mapping[str, int]
    combinations: int
    rows: float


def islands(support: Support, solved: Determinacy) -> tuple[Island, ...]:
    """The islands, the one with most combinations first; beyond a hundred only the largest are described."""
    home = solved.home(support.codes)
    combinations = np.bincount(home[home >= 0], minlength=solved.island_count)
    rows = np.bincount(home[home >= 0], weights=support.counts[home >= 0], minlength=solved.island_count)
    factors = support.space.factors
    return describe_islands(
        solved,
        support.space.names,
        support.effect_counts,
        lambda k, places: [factors[k].effect_labels[v] for v in places],
        (combinations.astype(np.int64), rows.astype(np.float64)),
    )


def describe_islands(
    solved: Determinacy,
    names: Sequence[str],
    counts: Sequence[Numbers],
    labels: Callable[[int, Ints], Sequence[str]],
    held: tuple[Ints, Numbers],
) -> tuple[Island, ...]:
    """The largest islands, from how often each value was counted, and the combinations and rows that each `held`."""
    order = np.argsort(-held[0], kind="stable")[:_MOST_ISLANDS]
    found = []
    for label in order.tolist():
        sizes, values, groups = {}, {}, {}
        for k, name in enumerate(names):
            members = np.flatnonzero(solved.islands[k] == label)
            common = members[np.argsort(-counts[k][members], kind="stable")[:_MOST_NAMED]]
            sizes[name] = len(members)
            values[name] = tuple(labels(k, common))
            groups[name] = len(np.unique(solved.blocks[k][members]))
        found.append(Island(sizes, values, groups, int(held[0][label]), float(held[1][label])))
    return tuple(found)
