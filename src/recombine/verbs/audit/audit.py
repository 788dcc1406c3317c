"""The audit: everything that the data alone say about the combinations that were not seen."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, partial
from typing import Any, ClassVar, Unpack

import numpy as np
import pyarrow as pa

from recombine.base import records
from recombine.base.argument_kinds import explain_kinds
from recombine.base.decoding import revive_all
from recombine.base.grades import Expected, Grade, earned
from recombine.base.progress import Progress, of_step
from recombine.base.records import Provenance, Record
from recombine.base.result import Result
from recombine.data import support as stored
from recombine.data.misspellings import Misspelling, misspellings
from recombine.data.read import support_of
from recombine.data.space import rows_of
from recombine.data.support import Support
from recombine.data.table_query import TableOptions
from recombine.data.vector_reader import VectorTarget
from recombine.numerics.groups import Codes, Numbers
from recombine.verbs.audit import audit_record
from recombine.verbs.audit.additivity import AdditiveTest, additive_test, expected_scores
from recombine.verbs.audit.combination_status import (
    PairMap,
    StatusCounts,
    counts,
    ladder,
    measured_share,
    pair_maps,
)
from recombine.verbs.audit.coverage import (
    FactorCoverage,
    OrderCoverage,
    ThinCombination,
    UncoveredPair,
    factor_coverage,
    order_coverage,
    thin,
    thinnest,
    uncovered_pairs,
)
from recombine.verbs.audit.dependence import Dependence, Redundancy, dependence, redundancy
from recombine.verbs.audit.determinacy import Island, determinacy, islands
from recombine.verbs.audit.determined_space import Determinacy
from recombine.verbs.audit.grade import AuditEvidence, grade
from recombine.verbs.audit.leverage import Leverage
from recombine.verbs.audit.selection_bias import SelectionSign, selection_sign
from recombine.verbs.audit.set_answers import set_answers
from recombine.verbs.audit.set_coverage import SetCoverage, set_coverage
from recombine.verbs.audit.structural_zeros import Zeros, as_csv, suspect_zeros
from recombine.verbs.audit.unseen_combinations import (
    LeverageSummary,
    UnseenCombination,
    list_unseen,
    unseen_combinations,
)
from recombine.verbs.audit.vector_test import Control, VectorTest, vector_test
from recombine.verbs.audit.verdict import verdict
from recombine.verbs.audit.verdict_reasons import reasons

Combinations = Sequence[Mapping[str, Any] | Sequence[Any]]


@dataclass(frozen=True, eq=False, repr=False)
class Audit(Result):
    """A verdict on a table's combinations, the reasons for it, and the means to ask about any one of them.

    >>> import recombine
    >>> table = {"colour": ["red", "red", "blue"], "shape": ["circle", "square", "circle"]}
    >>> audit = recombine.audit(table, factors=["colour", "shape"])
    >>> audit.counts.space, audit.counts.seen, audit.counts.determined
    (4, 3, 1)
    >>> audit.explain([("blue", "square")])["leverage"].to_pylist()
    [3.0]
    """

    kind: ClassVar[str] = "audit"
    verdict: str
    grade: Grade
    reasons: tuple[str, ...]
    counts: StatusCounts
    rank: int
    island_count: int
    factors: tuple[FactorCoverage, ...]
    coverage: tuple[OrderCoverage, ...]
    uncovered: tuple[UncoveredPair, ...]
    islands: tuple[Island, ...]
    leverage: LeverageSummary | None
    undetermined_examples: tuple[UnseenCombination, ...]
    dependence: tuple[Dependence, ...]
    redundancy: Redundancy | None
    additive: AdditiveTest | None
    vectors: VectorTest | None
    expected: Expected | None
    thin: tuple[ThinCombination, ...]
    zeros: Zeros | None
    likely: StatusCounts | None
    selection: SelectionSign | None
    misspellings: tuple[Misspelling, ...]
    sets: tuple[SetCoverage, ...]
    maps: tuple[PairMap, ...]
    support: Support
    determinacy: Determinacy

    @property
    def provenance(self) -> Provenance:
        """Where it came from."""
        return self.support.source

    @property
    def refuted(self) -> bool:
        """Whether held-out combinations say that the rule is not to be relied on."""
        return earned(self.expected) in ("weak", "failing") and self.grade in ("weak", "failing")

    def explain(self, combinations: Combinations | pa.Table) -> pa.Table:
        """The ladder: a row for each combination, seen or not, with all that the table says about it.

        Combinations are tuples in the order of the factors, mappings from factor to value, or a table with the
        factors as columns. Where a factor is a set, `elements` says what its elements were seen in, and `additive` what
        their effects add up to, if the target is a number.
        """
        rows = rows_of(combinations)
        codes = self.support.space.encode(rows)
        names = self.support.space.names
        given = [[row[name] if isinstance(row, Mapping) else row[k] for row in rows] for k, name in enumerate(names)]
        return self._ladder(codes, {name: pa.array(list(map(_as_given, given[k]))) for k, name in enumerate(names)})

    def _ladder(self, codes: Codes, values: Mapping[str, pa.Array]) -> pa.Table:
        table = ladder(self.support, self._leverage, codes)
        told = set_answers(self.support, self.determinacy, codes) if self.sets else None
        if told is not None:
            table = table.append_column("additive", pa.array(told, from_pandas=True))
        for place, (name, column) in enumerate(values.items()):
            table = table.add_column(place, name, column)
        return table

    @cached_property
    def table(self) -> pa.Table:
        """What `explain` tells, for every combination of a space of up to 100,000; beyond that for the seen ones."""
        space = self.support.space
        codes = space.every() if space.product <= _MOST_LISTED else self.support.codes
        return self._ladder(codes, space.labels(codes))

    def share(self, name: str) -> float:
        """A share that a gate can be held against: `determined` and `seen` of the space, `values`, `pairs` or
        `triples` seen.
        """
        return measured_share(self.counts, self.coverage, name)

    def impossible_csv(self) -> str:
        """The pairs of values that seem to be impossible, as `--impossible` reads them; read them over first."""
        return as_csv(self.zeros or Zeros((), 0), self.support.space.names)

    def record(self) -> Record:
        """The audit as plain data, which can be saved, drawn and loaded."""
        return Record(
            "audit", self._data(), audit_record.tables(self.support, self.determinacy, self.maps), self.provenance
        )

    @classmethod
    def from_record(cls, record: Record) -> "Audit":
        """Back from plain data."""
        support = stored.load_support(record)
        return cls(
            **revive_all(cls, _RESULTS, record.data),
            maps=audit_record.load_maps(record),
            support=support,
            determinacy=audit_record.load_determinacy(record, support),
        )

    @cached_property
    def _leverage(self) -> Leverage:
        return Leverage(self.support, self.determinacy)

    def _data(self) -> dict[str, Any]:
        return {name: records.plain(getattr(self, name)) for name in _RESULTS} | audit_record.describe(
            self.support, self.determinacy, self.maps
        )


def _as_given(value: Any) -> str:
    """A value as it was asked for; a set by its elements."""
    return " + ".join(map(str, value)) if isinstance(value, list | tuple | set | frozenset) else str(value)


_MOST_LISTED = 100_000
_SORTED = 5_000  # unseen combinations: their shares are then known to two points of a hundred
_A_LIST = 20  # rows, from which on a single row for each combination is no accident
_APART = ("maps", "support", "determinacy")
_RESULTS = tuple(field.name for field in fields(Audit) if field.name not in _APART)


@explain_kinds
def audit(
    source: Any,
    *,
    factors: Sequence[str] | None = None,
    target: VectorTarget | None = None,
    control: Control | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    **options: Unpack[TableOptions],
) -> Audit:
    """Say what the data alone tell about unseen combinations.

    `source` is anything that `recombine.read` takes, with the other settings of `read` beside it; or a `Support`, which
    was read already. `factors` are the columns whose combinations matter, and `target` is the one that a model is to
    predict: without it nothing can be tested, and only what follows *if* effects add up is said. `recombine.propose`
    tells which columns could be which. `seed` decides which random vectors certify what is determined (any seed gives
    the same answer) and, in spaces too large to list, which combinations are drawn as examples.
    Where the target is a vector (a column of lists, "gene_*", an array), `control` names the values that stand for
    nothing done, one for each factor that has one ({"drug": "DMSO"}), or one word for all ("ctrl"): then differences
    from it are scored too.

    >>> audit({"colour": ["red", "red", "blue"], "shape": ["disc", "bar", "disc"]}, factors=["colour", "shape"]).rank
    3
    >>> screen = audit({"given": ["ctrl", "A+ctrl", "B", "A+C"]}, sets={"genes": "given:+"})
    >>> screen.counts.space, screen.counts.determined, screen.explain([(("B", "A"),)])["elements"].to_pylist()
    (7, 3, ['all seen alone'])
    """
    counting = of_step(progress, "counting combinations")
    support = support_of(source, "audit", factors=factors, target=target, progress=counting, **options)
    return _assemble(support, determinacy(support, seed=seed), control, seed=seed)


def _some_unseen(support: Support, leverage: Leverage, *, seed: int) -> tuple[Codes, Numbers] | None:
    """Unseen combinations that would follow, with their leverages, to see what they miss; None where they can miss
    nothing but themselves, or where no leverage of so many is to be had.
    """
    without_answers = support.target is None and support.vectors is None
    # a pair that was never seen is the whole combination; a set that was never seen is missing in all of them
    fewest = 2 if support.space.set_factors else 3
    if without_answers or len(support.space.sizes) < fewest or not leverage.inverts:
        return None
    values = [np.flatnonzero(island >= 0) for island in leverage.determinacy.islands]
    codes, _ = unseen_combinations(support, values, listed=_SORTED, drawn=_SORTED, seed=seed)
    codes = np.asfortranarray(codes[leverage.determinacy.determined(codes)])
    told = leverage.of(codes)
    return codes[np.isfinite(told)], told[np.isfinite(told)]


def _selection(possible: Support, solved: Determinacy, expected: Expected | None, *, seed: int) -> SelectionSign | None:
    """Whether the seen combinations look as if they were chosen by their answer; vectors have no order to choose by."""
    if expected is None or expected.abstains or possible.target is None:
        return None
    return selection_sign(possible, solved, seed=seed)


def _assemble(support: Support, solved: Determinacy, control: Control | None, *, seed: int) -> Audit:
    divided = counts(support, solved)
    zeros, possible = suspect_zeros(support)
    likely = counts(possible, solved) if zeros is not None and zeros.combinations is not None else None
    leverage = Leverage(support, solved)
    tested = additive_test(support, _some_unseen(possible, leverage, seed=seed), seed=seed)
    reach = partial(tested[1].reach_of, support) if tested is not None else None
    shown = list_unseen(possible, leverage, (likely or divided).determined, seed=seed, reach=reach)
    like = shown.leverage.like_the_tested if shown.leverage is not None else 0
    expected, of_many = expected_scores(*tested, like) if tested is not None else (None, None)
    evidence = AuditEvidence(
        counts=divided,
        rank=solved.rank,
        island_count=solved.island_count,
        islands=islands(support, solved),
        leverage=shown.leverage,
        factors=factor_coverage(support),
        coverage=order_coverage(support),
        uncovered=uncovered_pairs(support),
        dependence=dependence(support),
        redundancy=redundancy(support),
        additive=tested[0] if tested is not None else None,
        vectors=vector_test(support, control, seed=seed),
        expected=expected,
        expected_of_many=of_many,
        thin=thinnest(support, thin(support)),
        zeros=zeros,
        likely=likely,
        misspellings=misspellings(support),
        usual=support.space.label_row(support.codes[int(support.counts.argmax())]),
        mean_count=float(support.counts.mean()),
        one_row_each=support.rows > _A_LIST and bool((support.counts == 1).all()),
        rows=support.rows,
        rows_left_out=support.missing_rows,
        row_notes=support.row_notes,
        alike=support.space.alike(),
        sets=set_coverage(support, solved),
        selection=_selection(possible, solved, expected, seed=seed),
    )
    said = {field.name: getattr(evidence, field.name) for field in fields(AuditEvidence) if field.name in _RESULTS}
    return Audit(
        verdict=verdict(evidence),
        grade=grade(evidence),
        reasons=reasons(evidence),
        undetermined_examples=shown.undetermined,
        maps=pair_maps(possible, solved),
        support=support,
        determinacy=solved,
        **said,
    )
