"""A split: which combination is on which side, what was promised and kept, and where it was written.

The combinations are counted by the engine, a splitter decides, the engine is told, and what was made is summed up.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from recombine.base import limits
from recombine.base.decoding import FileName, revive_all
from recombine.base.errors import SettingError
from recombine.base.grades import Grade
from recombine.base.records import Provenance, Record
from recombine.base.result import Result
from recombine.base.words import amount, count, free_name, listing, percent
from recombine.data import columns
from recombine.data.columns import FactorKey
from recombine.data.engine import OpenTable, Progress
from recombine.data.group_counts import Aggregate, asked_of, count_groups
from recombine.data.sets import is_nothing
from recombine.data.space import MISSING, text
from recombine.data.support import Support
from recombine.data.support_assembly import TargetAsked, assemble_lines
from recombine.data.table_query import TableQuery
from recombine.numerics.groups import Ints
from recombine.verbs.audit.set_coverage import RUNGS, element_rungs
from recombine.verbs.audit.structural_zeros import suspect_zeros
from recombine.verbs.split.checker import SEEN, TRAIN, digest
from recombine.verbs.split.invariants import Invariant
from recombine.verbs.split.row_writer import OutgoingRows
from recombine.verbs.split.splitter import Splitter

SIDE_COLUMN = "recombine_side"
"""The assignment's column for the side: no factor is likely to bear its name."""
RUNG_COLUMN = "recombine_rung"
"""And for the kind of a held-out combination, where the splitter names kinds."""
KEY = "recombine_key_"
"""What stands before the name of a key by which rows are told their side."""
SIDES = (TRAIN, "test")
_NAMED = 3  # values, and folds, that a sentence names
_ALL_DRAWN = ("combo_seen2", *(f"combo{size}_seen{size}" for size in range(3, 20)))


@dataclass(frozen=True)
class SplitSide:
    """How much there is of one side; `combinations` counts those that have rows there."""

    name: str
    rows: int
    combinations: int


@dataclass(frozen=True)
class SplitRung:
    """Held-out combinations of one kind, and what their elements were measured in: by training rows, not by a draw."""

    name: str
    combinations: int
    rows: int
    all_seen_alone: int
    seen_with_others_only: int
    one_never_seen: int


@dataclass(frozen=True, eq=False, repr=False)
class Split(Result):
    """Which combination is on which side, with what was promised of it.

    `assignment` has a line for each combination: its values, its side and its rows; none where there are more of them
    than fit in memory, and then `digest` is empty. Rows kept apart as *seen* are of
    training combinations, which the assignment therefore calls `train`.

    >>> import tempfile, recombine
    >>> table = {"colour": ["red", "red", "blue", "blue"], "shape": ["disc", "bar", "disc", "bar"]}
    >>> splitter = recombine.HoldOutConjunctions(["colour", "shape"], conjunctions=[{"colour": "red", "shape": "bar"}])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     split = recombine.split(table, by=splitter, out=f"{folder}/table.csv")
    >>> split.side(("red", "bar")), split.side(("blue", "bar"))
    ('test', 'train')
    """

    kind: ClassVar[str] = "split"
    verdict: str
    grade: Grade
    reasons: tuple[str, ...]
    splitter: str
    factors: tuple[str, ...]
    column: str
    file: FileName
    sides: tuple[SplitSide, ...]
    invariants: tuple[Invariant, ...]
    rows: int
    combinations: int
    digest: str
    assignment: pa.Table
    provenance: Provenance
    rungs: tuple[SplitRung, ...] = ()

    @property
    def table(self) -> pa.Table:
        """A row for each combination: its values, its side and its rows."""
        return self.assignment

    def side(self, combination: Mapping[str, Any] | Sequence[Any]) -> str | None:
        """The side of a combination: a tuple in the order of the factors, or a mapping; None where it has none."""
        if not self.digest:
            raise SettingError(
                f"the side of {combination!r}",
                why="there are more combinations than fit in memory, so this split does not list them",
                instead=f"look it up in the column {self.column!r} of '{self.file}'",
            )
        values = [combination[name] for name in self.factors] if isinstance(combination, Mapping) else combination
        if isinstance(values, str) or len(values) != len(self.factors):
            raise SettingError(
                f"the combination {combination!r}",
                why=f"there are {len(self.factors)} factors: {', '.join(self.factors)}",
                instead="give one value for each, in that order, or a mapping from factor to value",
            )
        return self._side_of.get(tuple(map(_key, values)))

    @cached_property
    def _side_of(self) -> dict[tuple[Any, ...], str | None]:
        columns = [map(_key, self.assignment[name].to_pylist()) for name in self.factors]
        return dict(zip(zip(*columns, strict=True), self.assignment[SIDE_COLUMN].to_pylist(), strict=True))

    @property
    def takes_away(self) -> dict[str, list[str]]:
        """For each fold, or the test side, the values that training lacks while it is held out; none: not listed."""
        return lost_values(self.assignment, self.factors)

    def record(self) -> Record:
        """The split as plain data: the manifest, and the assignment as a table."""
        data = {
            "verdict": self.verdict,
            "grade": self.grade,
            "reasons": list(self.reasons),
            "splitter": self.splitter,
            "factors": list(self.factors),
            "column": self.column,
            "file": self.file,
            "sides": [asdict(side) for side in self.sides],
            "invariants": [asdict(line) for line in self.invariants],
            "rows": self.rows,
            "combinations": self.combinations,
            "digest": self.digest,
        } | ({"rungs": [asdict(rung) for rung in self.rungs]} if self.rungs else {})
        return Record("split", data, {"assignment": self.assignment}, self.provenance)

    @classmethod
    def from_record(cls, record: Record) -> "Split":
        """Back from plain data."""
        told = revive_all(cls, TOLD, {"rungs": (), **record.data})
        return cls(**told, assignment=record.tables["assignment"], provenance=record.provenance)


TOLD = tuple(field.name for field in fields(Split) if field.name not in ("assignment", "provenance"))
"""What a manifest says of a split, beside where it came from."""


def _key(value: Any) -> Any:
    """A value as it is looked up: its text, and of a set its elements, in any order."""
    if isinstance(value, list | tuple | set | frozenset):
        return frozenset(text(one) for one in value if not is_nothing(one))
    return MISSING if value is None else text(value)


def lost_values(assignment: pa.Table, factors: Sequence[str]) -> dict[str, list[str]]:
    """For each side but training, the values that no other side holds.

    >>> sides = {"colour": ["red", "blue"], "shape": ["disc", "disc"], SIDE_COLUMN: ["0", "1"]}
    >>> lost_values(pa.table(sides), ["colour"])
    {'0': ["colour 'red'"], '1': ["colour 'blue'"]}
    """
    found: dict[str, list[str]] = {}
    placed = assignment.filter(pc.is_valid(assignment[SIDE_COLUMN]))
    for factor in factors:
        # under names of our own: Arrow takes a name such as '.x' for a path into a struct
        both = pa.table({"value": placed[factor], "side": placed[SIDE_COLUMN]})
        if pa.types.is_list(both["value"].type):  # an element is lost with the last set that holds it
            owner = pc.list_parent_indices(both["value"])
            both = pa.table({"value": pc.list_flatten(both["value"]), "side": both["side"].take(owner)})
        ends = both.group_by("value").aggregate([("side", "min"), ("side", "max")])
        alone = ends.filter(pc.equal(ends["side_min"], ends["side_max"])).sort_by("value")
        for value, side in zip(alone["value"].to_pylist(), alone["side_min"].to_pylist(), strict=True):
            if side != TRAIN:
                found.setdefault(side, []).append(f"{factor} {value!r}")
    return dict(sorted(found.items()))


@dataclass(frozen=True, eq=False)
class CountedCombinations:
    """The combinations of a table, the engine's own keys of each, and how many rows a draw would keep apart."""

    support: Support
    keys: tuple[FactorKey, ...]
    raw: pa.Table
    combination: Ints
    drawn: Ints


@dataclass(frozen=True, eq=False)
class Decided:
    """The side of each combination as a place among `words`, -1 for none; and whether its rows may be drawn as seen."""

    words: tuple[str, ...]
    side: Ints
    seen: Ints
    invariants: tuple[Invariant, ...]
    rungs: tuple[str, ...] | None = None


def count_combinations(
    open_table: OpenTable, rows: OutgoingRows, drawn: Any, question: TableQuery, progress: Progress | None
) -> CountedCombinations:
    """Count the combinations, and the rows of each that a draw would keep apart."""

    def asking(table: Any, _: Any) -> Aggregate:
        apart = table.count() * 0 if drawn is None else drawn.ifelse(1, 0).sum()
        strata = question.target
        by = {} if strata is None else {"target": columns.as_value(table[rows.understood_as(strata)])}
        return Aggregate(by, {"drawn": apart})

    counts = count_groups(
        replace(open_table, table=rows.table), question, asking, stand_ins=rows.understood, progress=progress
    )
    target, keys = None if question.target is None else TargetAsked("label"), counts.keys
    support, kept, combination = assemble_lines(counts, question, target=target)
    drawn_rows = np.bincount(combination, weights=kept["drawn"].to_numpy(), minlength=len(support)).astype(np.int64)
    return CountedCombinations(support, keys, kept.select(list(asked_of(keys))), combination, drawn_rows)


def decide(splitter: Splitter, counted: CountedCombinations, seen_share: float) -> Decided:
    """Let a splitter decide, every promise checked."""
    support = counted.support
    if hasattr(splitter, "fold_of_each"):
        checked = [splitter.checked(support, place)[1] for place in range(splitter.folds)]
        folds = np.asarray(splitter.fold_of_each(support), dtype=np.int64)
        words = tuple(map(str, range(splitter.folds)))
        return Decided(words, folds, np.zeros(len(support), dtype=np.int64), checked[0].invariants)
    sides, found = splitter.checked(support)
    side = np.select([sides.train, sides.test], [0, 1], default=-1)
    # a combination that would be drawn whole stays whole: what is called seen must still be seen in training
    may = sides.train & (counted.drawn < support.counts) if seen_share else np.zeros(len(support), dtype=bool)
    return Decided(SIDES, side, np.where(may, counted.drawn, 0), found.invariants, sides.rungs)


def join_table(counted: CountedCombinations, decided: Decided) -> pa.Table:
    """The engine's own keys of each combination, with the side; where classes were counted, a line for each class."""
    side = decided.side[counted.combination]
    words = pa.array(decided.words, pa.string()).take(pa.array(side, mask=side < 0))
    if decided.words != SIDES:
        words = words.cast(pa.int32())
    told: dict[str, Any] = {"side": words, "may_be_seen": decided.seen[counted.combination] > 0}
    if decided.rungs is not None:
        told["rung"] = _rung_column(decided.rungs).take(pa.array(counted.combination))
    return pa.table({f"{KEY}{name}": counted.raw[name] for name in counted.raw.column_names} | told)


def _rung_column(rungs: Sequence[str]) -> pa.Array:
    return pa.array([rung or TRAIN for rung in rungs], pa.string())


def summarize_split(
    counted: CountedCombinations,
    decided: Decided,
    splitter: Splitter,
    file: FileName,
    column: str,
    provenance: Provenance,
) -> Split:
    """The value of a split that was written."""
    support = counted.support
    rows = support.counts.astype(np.int64)
    sides = [
        SplitSide(word, int((rows - decided.seen)[decided.side == place].sum()), int((decided.side == place).sum()))
        for place, word in enumerate(decided.words)
    ]
    if decided.seen.any():
        sides.append(SplitSide(SEEN, int(decided.seen.sum()), int((decided.seen > 0).sum())))
    placed = np.flatnonzero(decided.side >= 0)
    labels: dict[str, Any] = support.space.labels(support.codes, lists=True)
    words = pa.array(decided.words, pa.string()).take(pa.array(decided.side, mask=decided.side < 0))
    told = {} if decided.rungs is None else {RUNG_COLUMN: _rung_column(decided.rungs)}
    assignment = pa.table({**labels, SIDE_COLUMN: words, **told, free_name("rows", labels): rows})
    rungs = () if decided.rungs is None else _count_rungs(support, decided, decided.rungs)
    return Split(
        verdict=_verdict(sides, decided, column) + limits.partial(),
        grade="sound",
        reasons=(
            *_values_at_risk(assignment, splitter, decided),
            *_rung_reasons(rungs),
            *_reasons(support, decided, provenance),
        ),
        splitter=repr(splitter),
        factors=support.space.names,
        column=column,
        file=file,
        sides=tuple(sides),
        invariants=decided.invariants,
        rows=support.rows,
        combinations=len(support),
        digest=digest(support, decided.side[placed], decided.words, placed),
        assignment=assignment,
        provenance=provenance,
        rungs=rungs,
    )


def _count_rungs(support: Support, decided: Decided, named: Sequence[str]) -> tuple[SplitRung, ...]:
    """The held-out combinations by kind, and by what their elements stand in among the training combinations."""
    training = support.subset(np.flatnonzero(decided.side == 0))
    kind, measured = np.array(named), np.array(element_rungs(training, support.codes))
    rows = support.counts.astype(np.int64)
    return tuple(
        SplitRung(
            str(name),
            int((kind == name).sum()),
            int(rows[kind == name].sum()),
            *(int(((kind == name) & (measured == rung)).sum()) for rung in RUNGS),
        )
        for name in np.unique(kind[kind != ""])
    )


def _rung_reasons(rungs: Sequence[SplitRung]) -> tuple[str, ...]:
    """How many sets there are of each kind, and where *seen* was drawn and not measured."""
    if not rungs:
        return ()
    said = [f"Held out: {listing([f'{rung.name} {count(rung.combinations)}' for rung in rungs])}."]
    hollow = [rung for rung in rungs if rung.name in _ALL_DRAWN and rung.one_never_seen]
    said += [
        f"Of {count(rung.combinations)} {rung.name}, {count(rung.one_never_seen)} "
        f"{'holds' if rung.one_never_seen == 1 else 'hold'} an element that is in no training row: "
        "it was drawn as seen, and never measured without the others."
        for rung in hollow
    ]
    return tuple(said)


def _verdict(sides: list[SplitSide], decided: Decided, column: str) -> str:
    if decided.words != SIDES:
        sizes = [side.rows for side in sides]
        return (
            f"{len(sides)} folds hold {count(min(sizes))} to {count(max(sizes))} rows each, in the column {column!r}."
        )
    train, test = sides[:2]
    seen = next((side for side in sides if side.name == SEEN), None)
    compare = (
        f" {amount(seen.rows, 'row')} of training combinations {'is' if seen.rows == 1 else 'are'} kept apart as "
        f"{SEEN!r}: train on 'train' alone, and evaluate compares 'test' with {SEEN!r}."
        if seen is not None
        else ""
    )
    share = percent(test.rows / max(sum(side.rows for side in sides), 1))
    kept = [line.name for line in decided.invariants if line.holds]
    return (
        f"{amount(test.combinations, 'combination')} with {amount(test.rows, 'row')} ({share}) are held out, "
        f"{count(train.combinations)} stay in training. Kept and checked: {listing(kept)}.{compare}"
    )


def _values_at_risk(assignment: pa.Table, splitter: Splitter, decided: Decided) -> tuple[str, ...]:
    """Whether training keeps every value, where nobody guaranteed it."""
    if any(line.name == "values" and line.holds for line in decided.invariants):
        return ()
    told = " (guarantee='none')" if getattr(splitter, "guarantee", None) == "none" else ""
    said = f"That every value stays in training is not guaranteed{told}"
    lost = lost_values(assignment, [str(factor) for factor in splitter.factors])
    folds = decided.words != SIDES
    if not lost:
        return (f"{said}, though {'in every fold' if folds else 'here'} it does.",)
    if not folds:
        (values,) = lost.values()
        return (f"{said}, and it does not: training lacks {_name_values(values)}.",)
    culprits = [f"fold {fold} takes away {_name_values(values)}" for fold, values in lost.items()]
    broken = f"{len(lost)} of {len(decided.words)} folds"
    more = f"; and {len(culprits) - _NAMED} more" if len(culprits) > _NAMED else ""
    return (f"{said}, and in {broken} it does not: {'; '.join(culprits[:_NAMED])}{more}.",)


def _name_values(values: list[str]) -> str:
    """The first few values, and how many there are besides."""
    return listing(values if len(values) <= _NAMED else [*values[:_NAMED], f"{count(len(values) - _NAMED)} more"])


def _reasons(support: Support, decided: Decided, provenance: Provenance) -> tuple[str, ...]:
    """What a reader must know besides."""
    found = []
    lost = support.missing_rows
    if lost:
        found.append(
            f"{amount(lost, 'row')} miss a factor and got no side; missing='value' (--missing value) gives them one."
        )
    found += support.row_notes
    zeros, _ = suspect_zeros(support)
    if zeros is not None:
        found.append(zeros.sentence)
    unused = int((decided.side < 0).sum())
    if unused:
        found.append(f"{amount(unused, 'combination')} are on neither side, as the splitter leaves them out.")
    if provenance.settings["seen_share"] and not decided.seen.any():
        found.append(
            "No row could be kept apart as 'seen', to compare scores on seen and unseen combinations: training has too "
            "few rows of each combination, or rows are not told apart (name their id)."
        )
    return tuple(found)
