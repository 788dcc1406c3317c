"""The combinations that did occur, with counts and target statistics.

A support is small where the table is large: one line for each distinct combination. Everything later is
computed from it.

How a support is laid out in a record: small facts as JSON, everything else as tables, and back.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import date, datetime
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from recombine.base.decoding import MalformedError, revive
from recombine.base.errors import SpaceError
from recombine.base.records import Provenance, Record
from recombine.data.sets import Sets
from recombine.data.space import Factor, Space, Value
from recombine.data.vector_answers import VectorAnswers, load_vectors
from recombine.numerics.groups import ANY, Codes, Groups, Ints, Numbers, group
from recombine.numerics.rows import IncidenceRows

_ROUNDED = 1e-9
"""Sums that differ by less, relative to what was added, are the same: engines add in different orders."""
_BESIDE_THE_SUM = 1e-6  # of zeros and ones: 10^8 rows of which few are 1, added one by one, come to 1e-8
_ARITHMETIC = 1e-12  # of the squares: float64 keeps 16 digits, and sums of many rows lose some of them
WEIGHTLESS = "(weight 0)"
"""Under which name `left_out` counts the rows that stand for no example."""


NAMED_TWICE = "(named twice)"
"""Under which name `left_out` counts the rows of which a set names an element twice: they count, the element once."""


def _alike(one: Numbers, other: Numbers) -> bool:
    """Equal, but for rounding where weights were added: their sum depends a little on the order of adding."""
    if one.shape != other.shape:
        return False
    whole = np.array_equal(one, np.round(one)) and np.array_equal(other, np.round(other))
    return np.array_equal(one, other) if whole else bool(np.allclose(one, other, rtol=1e-9, atol=0.0))


@dataclass(frozen=True, eq=False)
class NumberTarget:
    """What a number did within each combination: how many there were, and the sums of y - shift and of its square.

    Sums of squares lose their digits where the mean is large beside the spread, so they are taken about a `shift` near
    the mean; every formula works with what lies around it, and `mean` adds it back.

    >>> far = NumberTarget("y", np.array([2.0]), np.array([1.0]), np.array([1.0]), shift=1e9)
    >>> far.mean.tolist(), far.scatter.tolist()
    ([1000000000.5], [0.5])
    """

    name: str
    count: Numbers
    total: Numbers
    squares: Numbers
    shift: float = 0.0

    @cached_property
    def mean(self) -> Numbers:
        """The mean of each combination; NaN where it has no number."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(self.shift + self.total / self.count)

    @cached_property
    def scatter(self) -> Numbers:
        """The sum of squares about each combination's own mean; 0 where it is no more than the arithmetic's."""
        return scatter(self.count, self.total, self.squares)

    @cached_property
    def varies(self) -> bool:
        """Whether the numbers differ at all, by more than the rounding of their sums."""
        known = self.count > 0
        apart = self.total[known] / self.count[known]
        return bool(self.scatter.any() or (len(apart) and np.ptp(apart) > _ARITHMETIC * np.abs(apart).max()))

    @cached_property
    def is_share(self) -> bool:
        """Whether every row is 0 or 1, so that the mean is a share of rows.

        Then, and but for contrived coincidences only then, each combination's numbers and their squares have one sum,
        which lies between 0 and its rows. Amperes of 1e-10 are close to their squares too, but not beside their sum.

        >>> one, two = np.ones(1), np.full(1, 2.0)
        >>> NumberTarget("y", two, one, one).is_share, NumberTarget("y", two, one, one / 2).is_share
        (True, False)
        >>> NumberTarget("y", two, one * 1e-10, one * 1e-20).is_share
        False
        """
        plain = self.subset(np.flatnonzero(self.count > 0)).about(0.0)
        rounding = _ROUNDED * plain.count
        between = (plain.total >= -rounding) & (plain.total <= plain.count + rounding)
        apart = np.abs(plain.total - plain.squares)
        return bool((between & (apart <= rounding)).all() and apart.sum() <= _BESIDE_THE_SUM * abs(plain.total.sum()))

    def about(self, shift: float) -> "NumberTarget":
        """The same sums about another number."""
        moved = self.shift - shift
        total = self.total + self.count * moved
        squares = self.squares + moved * (self.total + total)
        return NumberTarget(self.name, self.count, total, np.maximum(squares, 0.0), shift)

    def __eq__(self, other: object) -> bool:
        """The same numbers, whatever they were summed about, but for rounding in the sums of both."""
        if not isinstance(other, NumberTarget) or self.name != other.name or not _alike(self.count, other.count):
            return False
        moved = other.about(self.shift)
        rounding = _ROUNDED * (self.squares + other.squares + moved.squares)
        # a mean is no finer than the shift that it is told beside: that much of each sum is rounding too
        ulps = np.finfo(np.float64).eps * self.count * (abs(self.shift) + abs(other.shift))
        return bool(
            (np.abs(self.total - moved.total) <= np.sqrt(self.count * rounding * _ROUNDED) + 4 * ulps).all()
            and (np.abs(self.squares - moved.squares) <= rounding).all()
        )

    __hash__ = None  # type: ignore[assignment]

    def subset(self, rows: Ints) -> "NumberTarget":
        """The same for some of the combinations."""
        return NumberTarget(self.name, self.count[rows], self.total[rows], self.squares[rows], self.shift)


def scatter(count: Numbers, total: Numbers, squares: Numbers) -> Numbers:
    """The sum of squares about the mean of each group; what lies below a part in 10^12 of `squares` is rounding.

    >>> scatter(np.array([2.0, 0.0]), np.array([4.0, 0.0]), np.array([10.0, 0.0])).tolist()
    [2.0, 0.0]
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        found = np.where(count > 0, squares - total**2 / count, 0.0)
    return np.where(found > _ARITHMETIC * squares, found, 0.0)


@dataclass(frozen=True, eq=False)
class LabelTarget:
    """How often each class occurred within each combination: one line for each pair that did occur."""

    name: str
    classes: tuple[Value, ...]
    combination: Ints
    label: Ints
    count: Numbers

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, LabelTarget)
            and (self.name, self.classes) == (other.name, other.classes)
            and np.array_equal(self.combination, other.combination)
            and np.array_equal(self.label, other.label)
            and _alike(self.count, other.count)
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def varies(self) -> bool:
        """Whether there are two classes at least."""
        return len(np.unique(self.label[self.count > 0])) > 1

    def subset(self, rows: Ints) -> "LabelTarget":
        """The same for some of the combinations, which are numbered anew; the classes stay."""
        place = np.full(max(int(self.combination.max(initial=-1)), int(rows.max(initial=-1))) + 1, -1, dtype=np.int64)
        place[rows] = np.arange(len(rows))
        keep = place[self.combination] >= 0
        return LabelTarget(self.name, self.classes, place[self.combination[keep]], self.label[keep], self.count[keep])


Target = NumberTarget | LabelTarget


@dataclass(frozen=True, eq=False)
class Support:
    """Distinct combinations as positions of values, in the order of the values, each with its count.

    >>> import recombine
    >>> table = {"colour": ["red", "red", "blue"], "shape": ["circle", "square", "circle"]}
    >>> support = recombine.read(table, factors=["colour", "shape"])
    >>> len(support), support.groups(["colour"]).size
    (3, 2)
    """

    space: Space
    codes: Codes
    counts: Numbers
    target: Target | None = None
    rows: int = 0
    left_out: Mapping[str, int] = field(default_factory=dict)
    source: Provenance = field(default_factory=lambda: Provenance(source="memory"))
    vectors: VectorAnswers | None = None
    """The answers, where these are vectors: then there is no `target`."""
    _groups: dict[tuple[int, ...], Groups] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        forbidden = self.space.is_impossible(self.codes)
        if forbidden.any():
            first = self.combination(int(np.flatnonzero(forbidden)[0]))
            raise SpaceError(
                f"{int(forbidden.sum()):,} combinations declared impossible were seen, such as {first}",
                why="the table holds them, so they can occur",
                instead="take them off the list of the impossible, or leave their rows out with `where`",
            )

    def __len__(self) -> int:
        return len(self.codes)

    def __repr__(self) -> str:
        sizes = " x ".join(f"{factor.name} {len(factor.values)}" for factor in self.space.factors)
        return f"Support({len(self):,} combinations of {sizes}; {self.rows:,} rows)"

    def __eq__(self, other: object) -> bool:
        """Same combinations, counts and target statistics; where they were read from does not matter."""
        return (
            isinstance(other, Support)
            and self.space == other.space
            and np.array_equal(self.codes, other.codes)
            and _alike(self.counts, other.counts)
            and self.target == other.target
            and self.vectors == other.vectors
        )

    __hash__ = None  # type: ignore[assignment]

    def groups(self, factors: Sequence[str | int]) -> Groups:
        """The group that each combination belongs to, for some of the factors; computed once."""
        chosen = tuple(sorted({self.space.position(f) if isinstance(f, str) else f for f in factors}))
        if chosen not in self._groups:
            parent = self.groups(chosen[:-1]) if len(chosen) > 1 else None
            self._groups[chosen] = group(self.codes, sizes=self._code_bounds, factors=chosen, parent=parent)
        return self._groups[chosen]

    @cached_property
    def _code_bounds(self) -> tuple[int, ...]:
        """What the codes of each factor are below: of sets, a plan adds some that were not read."""
        bounds = list(self.space.sizes)
        for k in self.space.set_factors:
            bounds[k] = max(bounds[k], int(self.codes[:, k].max(initial=-1)) + 1)
        return tuple(bounds)

    def combination(self, index: int) -> dict[str, Value]:
        """One seen combination in the user's own values."""
        return self.decode(self.codes[index])

    def decode(self, codes: Sequence[int] | npt.NDArray[Any]) -> dict[str, Value]:
        """A row of positions in the user's own values."""
        return {f.name: f.values[int(code)] for f, code in zip(self.space.factors, codes, strict=True)}

    @property
    def table(self) -> pa.Table:
        """A row for each seen combination, with how often it was seen; anything that takes a table takes this.

        >>> import recombine
        >>> table = {"colour": ["red", "red", "blue"], "shape": ["disc", "disc", "bar"]}
        >>> recombine.read(table, factors=["colour", "shape"]).table.to_pylist()
        [{'colour': 'blue', 'shape': 'bar', 'count': 1.0}, {'colour': 'red', 'shape': 'disc', 'count': 2.0}]
        """
        return pa.table({"count": self.counts} | self.space.columns(self.codes)).select(
            [*self.space.names, *(["count"] if "count" not in self.space.names else [])]
        )

    @cached_property
    def value_counts(self) -> tuple[Numbers, ...]:
        """For each factor, how often each of its values was seen."""
        return tuple(
            np.bincount(self.codes[:, k], weights=self.counts, minlength=size).astype(np.float64, copy=False)
            for k, size in enumerate(self.space.sizes)
        )

    @cached_property
    def effect_counts(self) -> tuple[Numbers, ...]:
        """For each factor, how often each of its values was seen, or each element of its sets."""
        return tuple(
            self.value_counts[k] if factor.sets is None else factor.sets.rows(self.codes[:, k]).back(self.counts)
            for k, factor in enumerate(self.space.factors)
        )

    @cached_property
    def value_rows(self) -> tuple[IncidenceRows, ...]:
        """For each factor, the value that each combination holds, or the elements of its set."""
        return tuple(factor.kind.rows(self.codes[:, k]) for k, factor in enumerate(self.space.factors))

    @property
    def weightless(self) -> str | None:
        """A sentence about the rows that stand for no example, where there are any."""
        rows = self.left_out.get(WEIGHTLESS, 0)
        if not rows:
            return None
        have, count = ("has", "counts") if rows == 1 else ("have", "count")
        return f"{rows:,} of {self.rows:,} rows {have} weight 0 and {count} for nothing."

    @property
    def missing_rows(self) -> int:
        """How many rows are left out as they miss a factor."""
        return self.left_out.get("(any)", 0)

    @property
    def named_twice(self) -> str | None:
        """A sentence about the rows that name an element of a set twice, where there are any."""
        rows = self.left_out.get(NAMED_TWICE, 0)
        names = "names" if rows == 1 else "name"
        return f"{rows:,} of {self.rows:,} rows {names} an element twice, which counts once." if rows else None

    @property
    def row_notes(self) -> tuple[str, ...]:
        """What every verb says of rows that count otherwise than they stand there."""
        return tuple(filter(None, (self.weightless, self.named_twice)))

    @cached_property
    def total(self) -> float:
        """The sum of all counts: the rows, or their weights, that hold a whole combination."""
        return float(self.counts.sum())

    def subset(self, rows: Ints) -> "Support":
        """Some of the combinations alone, with their counts and answers; the space stays as it is."""
        return Support(
            self.space,
            np.asfortranarray(self.codes[rows]),
            self.counts[rows],
            target=self.target.subset(rows) if self.target is not None else None,
            rows=self.rows,
            left_out=self.left_out,
            source=self.source,
            vectors=self.vectors.subset(rows) if self.vectors is not None else None,
        )

    def project(self, factors: Sequence[str | int]) -> "Support":
        """The same examples seen through some of the factors alone; the target stays behind."""
        groups = self.groups(factors)
        codes = self.codes[groups.representatives][:, list(groups.factors)]
        space = self.space.restricted(groups.factors)
        return Support(space, np.asfortranarray(codes), groups.total(self.counts), rows=self.rows, source=self.source)


@dataclass(frozen=True)
class _DescribedTarget:
    """What stands in a record of a target, beside its sums."""

    name: str
    kind: Literal["label", "number"]
    classes: tuple[str, ...] = ()
    shift: float = 0.0


def describe(support: Support) -> dict[str, Any]:
    """The small facts about a support, as JSON holds them. Its factors are described by the result that holds it."""
    return {
        "rows": support.rows,
        "rows_left_out": support.missing_rows,
        "left_out": dict(support.left_out),
        "impossible": [list(row) for row in support.space.impossible],
        "target": _describe_target(support.target),
        "vector_target": None if support.vectors is None else support.vectors.describe(),
    } | _describe_sets(support)


def tables(support: Support) -> dict[str, pa.Table]:
    """The large parts, as Parquet holds them."""
    found = {"support": _support_table(support), "values": _values_table(support)}
    if support.space.set_factors:
        found["elements"] = _elements_table(support)
    if isinstance(support.target, LabelTarget):
        target = support.target
        found["classes"] = pa.table({"combination": target.combination, "label": target.label, "count": target.count})
    return found if support.vectors is None else found | support.vectors.tables()


def load_support(record: Record) -> Support:
    """The support that a record was made from."""
    values, lines = record.tables["values"], record.tables["support"]
    factors = []
    for described in record.data["factors"]:
        name = revive(str, described["name"], at="a factor's name")
        mine = values.filter(pc.equal(values["factor"], name))
        declared = revive(bool, described["declared"], at=name)
        factors.append(Factor(name, _load_values(record, name, mine["value"].to_pylist()), declared))
    space = Space(tuple(factors), _load_impossible(record, tuple(len(factor.values) for factor in factors)))
    codes = np.stack([lines[f"code{k}"].to_numpy() for k in range(len(factors))], axis=1)
    return Support(
        space,
        np.asfortranarray(codes.astype(np.int32)),
        lines["count"].to_numpy(),
        target=_load_target(record),
        rows=revive(int, record.data["rows"], at="rows"),
        left_out=revive(Mapping[str, int], record.data["left_out"], at="left_out"),
        source=record.provenance,
        vectors=load_vectors(record),
    )


@dataclass(frozen=True)
class _DescribedSets:
    """What stands in a record of a set factor, beside its elements."""

    name: str
    smallest: int
    largest: int
    separator: str | None


def _describe_sets(support: Support) -> dict[str, Any]:
    """How large the sets of each set factor may be; nothing where there is none."""
    found = [(factor.name, factor.sets) for factor in support.space.factors if factor.sets is not None]
    described = [_DescribedSets(name, sets.smallest, sets.largest, sets.separator) for name, sets in found]
    return {"set_factors": [asdict(one) for one in described]} if described else {}


def _load_values(record: Record, name: str, written: list[str]) -> Sequence[Any]:
    described = revive(tuple[_DescribedSets, ...], record.data.get("set_factors", ()), at="set_factors")
    mine = next((one for one in described if one.name == name), None)
    if mine is None:
        return tuple(map(_from_text, written))
    table = record.tables["elements"]
    listed = table.filter(pc.equal(table["factor"], name))["value"].to_pylist()
    place = {text: code for code, text in enumerate(listed)}
    rows = [[place[_to_text(part)] for part in json.loads(one)] for one in written]
    return Sets(
        tuple(map(_from_text, listed)),
        IncidenceRows.listed(rows, len(listed)),
        smallest=mine.smallest,
        largest=mine.largest,
        separator=mine.separator,
    )


def _elements_table(support: Support) -> pa.Table:
    """One line for each value of an ordinary factor and each element of a set, and one for the constant, if any."""
    factors, constant = support.space.factors, support.space.effects.constant
    values = [value for factor in factors for value in (factor.values if factor.sets is None else factor.sets.elements)]
    names = np.repeat([factor.name for factor in factors], [factor.kind.effects for factor in factors]).tolist()
    return pa.table(
        {
            "factor": names + [None] * constant,
            "value": [_to_text(value) for value in values] + [None] * constant,
            "count": np.concatenate([*support.effect_counts, np.full(int(constant), support.total)]),
        }
    )


def _load_impossible(record: Record, sizes: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """The impossible conjunctions: a value of each factor, or any."""
    found: tuple[tuple[int, ...], ...] = revive(tuple[tuple[int, ...], ...], record.data["impossible"], at="impossible")
    for row in found:
        if len(row) != len(sizes) or not all(ANY <= code < size for code, size in zip(row, sizes, strict=True)):
            raise MalformedError("impossible names values that there are not")
    return found


def _support_table(support: Support) -> pa.Table:
    columns: dict[str, Any] = {f"code{k}": support.codes[:, k] for k in range(len(support.space.factors))}
    columns["count"] = support.counts
    if isinstance(support.target, NumberTarget):
        target = support.target
        columns |= {
            "target_count": target.count,
            "target_total": target.total,
            "target_squares": target.squares,
        }
    return pa.table(columns)


def _values_table(support: Support) -> pa.Table:
    """One line for each value of each factor: how it is written, and how often it was seen."""
    factors = support.space.factors
    return pa.table(
        {
            "factor": np.repeat([factor.name for factor in factors], support.space.sizes),
            "value": [_to_text(value) for factor in factors for value in factor.values],
            "count": np.concatenate(support.value_counts),
        }
    )


def _describe_target(target: Target | None) -> dict[str, Any] | None:
    if target is None:
        return None
    if isinstance(target, LabelTarget):
        return {
            "name": target.name,
            "kind": "label",
            "classes": [_to_text(value) for value in target.classes],
        }
    return {"name": target.name, "kind": "number", "shift": target.shift}


def _load_target(record: Record) -> Target | None:
    described = revive(_DescribedTarget | None, record.data["target"], at="target")
    if described is None:
        return None
    if described.kind == "number":
        lines = record.tables["support"]
        count, total, squares = (lines[f"target_{part}"].to_numpy() for part in ("count", "total", "squares"))
        return NumberTarget(described.name, count, total, squares, described.shift)
    lines = record.tables["classes"]
    return LabelTarget(
        described.name,
        tuple(map(_from_text, described.classes)),
        *(lines[part].to_numpy() for part in ("combination", "label", "count")),
    )


def _to_text(value: Value) -> str:
    """A value as JSON, so that 1, true, "1" and a date stay apart."""
    if isinstance(value, date | datetime):
        return json.dumps({type(value).__name__: value.isoformat()})
    return json.dumps(value, ensure_ascii=False)


def _from_text(text: str) -> Value:
    value = json.loads(text)
    if isinstance(value, dict):
        ((kind, written),) = value.items()
        return {"date": date, "datetime": datetime}[kind].fromisoformat(written)
    return value  # type: ignore[no-any-return]
