"""The audit of counts that stay on disk: the same numbers as an audit in memory, but for those that need a solver.

| what | how |
|---|---|
| coverage, thin combinations, dependence | one stream over the lines, and sums for each value: exact |
| islands | union-find over the same stream: exact |
| determined, two factors | follows from the islands: exact |
| determined, three and more | exact where *peeling* reaches every value; else only an upper bound, and said so |
| leverages, a test of the rule, impossible pairs, misspellings, maps | left out, and said so |

Peeling: of one combination in each island all values are known, if its additive rule is pinned down there; a seen
combination that has one unknown value makes it known. If all become known, nothing is loose inside the islands, which
is a proof; if it stops before, nothing is proved.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from itertools import combinations
from math import prod
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from recombine.base import records
from recombine.base.argument_kinds import explain_kinds
from recombine.base.decoding import revive_all
from recombine.base.grades import Grade
from recombine.base.progress import Progress
from recombine.base.records import Provenance, Record
from recombine.base.result import Result
from recombine.data.stored_counts import StoredCounts
from recombine.numerics.groups import Codes, Flags, Ints, Numbers
from recombine.numerics.value_graph import UnionFind
from recombine.verbs.audit.combination_status import StatusCounts, measured_share
from recombine.verbs.audit.coverage import (
    FactorCoverage,
    OrderCoverage,
    ThinCombination,
    by_shortfall,
    describe_factor,
    is_thin,
)
from recombine.verbs.audit.dependence import Dependence, PairCounts
from recombine.verbs.audit.determinacy import Island, describe_islands
from recombine.verbs.audit.determined_space import Determinacy
from recombine.verbs.audit.grade import AuditEvidence, grade
from recombine.verbs.audit.verdict import verdict
from recombine.verbs.audit.verdict_reasons import reasons

_MOST_ROUNDS = 60  # of peeling: each is a stream over all lines, and what needs more hangs in long chains
_LEFT_OUT = (
    "Counted on disk, because there are more combinations than fit in memory. Left out for that: leverages, a test on "
    "held-out combinations, pairs that seem impossible, misspellings, and the map."
)
_BOUND = (
    "How much is determined is an upper bound: that nothing is loose inside an island was not proved for so many "
    "combinations of three and more factors."
)


@dataclass(frozen=True, eq=False, repr=False)
class StoredAudit(Result):
    """What an audit says of counts on disk; each part is that of `Audit`.

    `proved` is whether the number of determined combinations and the rank are exact; else they are bounds from above.
    `asked` has a row for each combination that was asked for: its values, its rung, and how many rows hold it.

    >>> import recombine
    >>> table = {"colour": ["red", "red", "blue"], "shape": ["circle", "square", "circle"]}
    >>> with recombine.store_counts(table, factors=["colour", "shape"]) as counts:
    ...     audit = recombine.audit_stored(counts, asked=[("blue", "square"), ("red", "disc")])
    >>> audit.counts.seen, audit.counts.determined, audit.asked["rung"].to_pylist()
    (3, 1, ['determined', 'novel'])
    """

    kind: ClassVar[str] = "stored_audit"
    verdict: str
    grade: Grade
    reasons: tuple[str, ...]
    counts: StatusCounts
    proved: bool
    rank: int
    island_count: int
    factors: tuple[FactorCoverage, ...]
    coverage: tuple[OrderCoverage, ...]
    islands: tuple[Island, ...]
    dependence: tuple[Dependence, ...]
    thin: tuple[ThinCombination, ...]
    rows: int
    left_out: Mapping[str, int]
    asked: pa.Table
    provenance: Provenance

    @property
    def table(self) -> pa.Table:
        """The combinations that were asked for."""
        return self.asked

    def share(self, name: str) -> float:
        """A share that a gate can be held against, as of `Audit`; NaN where only a bound is known."""
        return measured_share(self.counts, self.coverage, name) if self.proved or name != "determined" else float("nan")

    def record(self) -> Record:
        """The audit as plain data."""
        data = {name: records.plain(getattr(self, name)) for name in _TOLD}
        return Record(self.kind, data, {"asked": self.asked}, self.provenance)

    @classmethod
    def from_record(cls, record: Record) -> "StoredAudit":
        """Back from plain data."""
        told = revive_all(cls, _TOLD, record.data)
        return cls(**told, asked=record.tables["asked"], provenance=record.provenance)


_TOLD = tuple(one.name for one in fields(StoredAudit) if one.name not in ("asked", "provenance"))


@explain_kinds
def audit_stored(
    counts: StoredCounts, *, asked: Sequence[Any] | pa.Table = (), progress: Progress | None = None
) -> StoredAudit:
    """What the data alone tell about unseen combinations, for counts on disk. `asked` are combinations whose rung is
    wanted, seen or not: tuples in the order of the factors, mappings, or a table.
    """
    stream = _Stream(counts)
    stream.read(progress)
    solved = _solved(counts, stream.parts.labels())
    proved = len(counts.sizes) == 2 or _peeled(counts, solved, progress)
    determined, space = solved.count() - counts.combinations, prod(counts.sizes)
    said: dict[str, Any] = {
        "counts": StatusCounts(
            space=space,
            impossible=0,
            seen=counts.combinations,
            determined=determined,
            undetermined=space - counts.combinations - determined,
            novel=0,
            thin=stream.thin_count,
        ),
        "rank": solved.rank,
        "island_count": solved.island_count,
        "islands": _islands(counts, solved),
        "factors": tuple(
            describe_factor(
                name, often, partial(counts.labels, k), declared=False, missing_rows=counts.left_out.get(name, 0)
            )
            for k, (name, often) in enumerate(zip(counts.names, counts.value_counts, strict=True))
        ),
        "coverage": tuple(_order(counts, order) for order in (1, 2, 3) if order <= len(counts.sizes)),
        "dependence": _dependence(counts, stream),
        "thin": stream.thinnest(),
    }
    usual = counts.commonest()
    evidence = AuditEvidence(
        **said,
        usual={name: counts.labels(k, usual[k : k + 1])[0] for k, name in enumerate(counts.names)},
        mean_count=counts.total / counts.combinations,
        one_row_each=stream.one_row_each,
        rows=counts.rows,
        rows_left_out=counts.left_out.get("(any)", 0),
        stored=True,
        bounded=not proved,
    )
    return StoredAudit(
        verdict=verdict(evidence),
        grade=grade(evidence),
        reasons=(*reasons(evidence), _LEFT_OUT, *(() if proved else (_BOUND,))),
        proved=proved,
        rows=counts.rows,
        left_out=counts.left_out,
        asked=_rungs(counts, solved, asked, proved=proved),
        provenance=counts.source,
        **said,
    )


class _Stream:
    """What one pass over the lines adds up."""

    def __init__(self, counts: StoredCounts) -> None:
        self._counts = counts
        self._offsets = np.concatenate([[0], np.cumsum(counts.sizes)])[:-1].astype(np.int64)
        self.parts = UnionFind(sum(counts.sizes))
        self.pairs = PairCounts(*counts.value_counts) if len(counts.sizes) == 2 else None
        self.thin_count = 0
        self.one_row_each = counts.rows > _A_LIST
        self._thin = np.zeros((0, len(counts.sizes)), dtype=np.int32), np.zeros(0), np.zeros(0)

    def read(self, progress: Progress | None) -> None:
        """Over all lines, once."""
        done, mean = 0, self._counts.total / self._counts.combinations
        for codes, rows in self._counts.batches():
            self.parts.link(codes + self._offsets)
            if self.pairs is not None:
                self.pairs.add(codes[:, 0], codes[:, 1], rows)
            self.one_row_each &= bool((rows == 1).all())
            self._keep_thin(codes, rows, mean)
            done += len(codes)
            if progress is not None:
                progress("reading the counts", done / self._counts.combinations)

    def _keep_thin(self, codes: Codes, rows: Numbers, mean: float) -> None:
        expected = expected_rows(self._counts, codes)
        found = np.flatnonzero(is_thin(rows, expected, mean=mean))
        self.thin_count += len(found)
        if not len(found):
            return
        kept = (
            np.concatenate([self._thin[0], codes[found]]),
            np.concatenate([self._thin[1], rows[found]]),
            np.concatenate([self._thin[2], expected[found]]),
        )
        order = np.lexsort(kept[0].T[::-1])  # the first in the order of a support comes first among equals
        order = order[by_shortfall(kept[1][order], kept[2][order])]
        self._thin = kept[0][order], kept[1][order], kept[2][order]

    def thinnest(self) -> tuple[ThinCombination, ...]:
        """The thin ones by name, first those that fall most short of what independence expects."""
        codes, rows, expected = self._thin
        names = [self._counts.labels(k, column.tolist()) for k, column in enumerate(codes.T)]
        return tuple(
            ThinCombination(dict(zip(self._counts.names, named, strict=True)), float(many), float(often))
            for *named, many, often in zip(*names, rows, expected, strict=True)
        )


_A_LIST = 20  # rows, from which on a single row for each combination is no accident


def expected_rows(counts: StoredCounts, codes: Codes) -> Numbers:
    """How many rows each combination would have if the factors were independent of each other."""
    share = np.ones(len(codes))
    for k, often in enumerate(counts.value_counts):
        share *= often[codes[:, k]] / counts.total
    return share * counts.total


def _solved(counts: StoredCounts, labels: Ints) -> Determinacy:
    """What is determined if nothing is loose inside an island."""
    islands = tuple(np.split(labels, np.cumsum(counts.sizes)[:-1]))
    none = tuple(np.zeros((size, 0), dtype=np.int64) for size in counts.sizes)
    rank = len(labels) - (len(islands) - 1) * (int(labels.max()) + 1)
    return Determinacy(islands, none, np.zeros(0, dtype=np.int64), rank, deficit=0)


def _islands(counts: StoredCounts, solved: Determinacy) -> tuple[Island, ...]:
    """The islands, the one with most combinations first; beyond a hundred only the largest."""
    held = np.array([counts.combinations]) if solved.island_count == 1 else np.zeros(solved.island_count, np.int64)
    for codes, _ in counts.batches() if len(held) > 1 else ():
        held += np.bincount(solved.home(codes), minlength=len(held))
    rows = np.bincount(solved.islands[0], weights=counts.value_counts[0], minlength=len(held)).astype(np.float64)
    return describe_islands(solved, counts.names, counts.value_counts, counts.labels, (held, rows))


def _peeled(counts: StoredCounts, solved: Determinacy, progress: Progress | None) -> bool:
    """Whether peeling from one combination in each island reaches every value."""
    known: list[Flags] = [np.zeros(size, dtype=bool) for size in counts.sizes]
    begun = np.zeros(solved.island_count, dtype=bool)
    for _ in range(_MOST_ROUNDS):
        before = sum(int(mask.sum()) for mask in known)
        for codes, _ in counts.batches():
            if not begun.all():
                home = solved.home(codes)
                new, first = np.unique(home, return_index=True)
                first = first[~begun[new]]
                begun[new] = True
                for k, mask in enumerate(known):
                    mask[codes[first, k]] = True
            told = np.stack([mask[codes[:, k]] for k, mask in enumerate(known)], axis=1)
            nearly = codes[told.sum(axis=1) == codes.shape[1] - 1]
            for k, mask in enumerate(known):
                mask[nearly[:, k]] = True
        after = sum(int(mask.sum()) for mask in known)
        if progress is not None:
            progress("peeling", after / sum(counts.sizes))
        if after == sum(counts.sizes):
            return True
        if after == before:
            return False
    return False


def _order(counts: StoredCounts, order: int) -> OrderCoverage:
    chosen = list(combinations(range(len(counts.sizes)), order))
    seen = sum(counts.sizes) if order == 1 else sum(map(counts.count_conjunctions, chosen))
    possible = sum(prod(counts.sizes[k] for k in one) for one in chosen)
    return OrderCoverage(order, seen, possible, seen / possible)


def _dependence(counts: StoredCounts, stream: _Stream) -> tuple[Dependence, ...]:
    found = []
    for a, b in combinations(range(len(counts.sizes)), 2):
        met = stream.pairs
        if met is None:
            met = PairCounts(counts.value_counts[a], counts.value_counts[b])
            for codes, rows in counts.batches((a, b)):
                met.add(codes[:, 0], codes[:, 1], rows)
        found.append(met.dependence((counts.names[a], counts.names[b])))
    return tuple(sorted(found, key=lambda pair: 1.0 if pair.cramers_v is None else -pair.cramers_v))


def _rungs(counts: StoredCounts, solved: Determinacy, asked: Any, *, proved: bool) -> pa.Table:
    """The rung of each combination that was asked for; *not known* where its island was not proved to be tight."""
    if not len(asked):
        return pa.table({"rung": pa.array([], pa.string()), "count": pa.array([], pa.int64())})
    codes = counts.encode(asked)
    rows = counts.count_rows(codes)
    expected = expected_rows(counts, np.maximum(codes, 0))
    thin = is_thin(rows.astype(np.float64), expected, mean=counts.total / counts.combinations)
    conditions = [solved.novel(codes), (rows > 0) & thin, rows > 0, ~solved.one_island(codes)]
    rungs = np.select(conditions, ["novel", "thin", "seen", "undetermined"], "determined" if proved else "not known")
    given = asked.to_pylist() if isinstance(asked, pa.Table) else list(asked)
    columns = {
        name: [str(one[name] if isinstance(one, Mapping) else one[k]) for one in given]
        for k, name in enumerate(counts.names)
    }
    return pa.table({**columns, "rung": pa.array(rungs.tolist(), pa.string()), "count": rows})
