"""A proposal: which columns of a table could be the factors, and which the target."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from math import prod
from typing import Any

from recombine.base.argument_kinds import explain_kinds
from recombine.base.errors import RecombineError
from recombine.base.words import amount, listing
from recombine.data.column_profile import look
from recombine.data.engine import Progress
from recombine.data.locations import reader_table
from recombine.data.misspellings import Misspelling, describe_misspellings, misspellings
from recombine.data.proposal_rules import (
    MOST_FACTORS,
    ProposedColumn,
    Role,
    further_factors,
    how_many,
    roles,
    with_counts,
    words,
)
from recombine.data.read import read
from recombine.data.readers import Convention, in_words
from recombine.data.sources import opened
from recombine.data.support import Support
from recombine.data.table_query import Where
from recombine.data.text_sources import TextSource, text_use

_LARGE = 10**6
"""Possible combinations, or rows, up to which the proposed factors are counted, as an audit would count them."""


@dataclass(frozen=True)
class Proposal:
    """What the columns of a table look like: a start for somebody who knows what they mean, not an answer."""

    source: str
    rows: int
    columns: tuple[ProposedColumn, ...]
    factors: tuple[str, ...]
    target: str | None
    split: str | None
    prediction: str | None
    seen: int | None
    """How many combinations of the factors occur; None where they were not counted."""
    space: int | None
    """How many there could be."""
    not_looked_at: int
    """Columns after the first thousand."""
    misspellings: tuple[Misspelling, ...] = ()
    """Values of the factors that may be another one, written otherwise."""
    sets: Mapping[str, str] = field(default_factory=dict)
    """Factors whose value is a set, as `--set` reads them, where the table follows a convention of its field."""
    convention: str | None = None
    """That convention, in a sentence."""
    score: str | None = None
    """The column with a score of each row, where the rows were scored already."""
    arrays: tuple[str, ...] = ()
    """Matrices beside the table that can be the target, by name."""

    @property
    def verdict(self) -> str:
        """The proposal in a few sentences."""
        said = [self.convention] if self.convention else []
        return " ".join([*said, *_factors(self), _target(self), *_further(self)])

    def column(self, name: str) -> ProposedColumn:
        """One of the columns."""
        return next(one for one in self.columns if one.name == name)

    def to_json(self) -> dict[str, Any]:
        """All of it as plain data."""
        return {"verdict": self.verdict, **asdict(self)}


@explain_kinds
def propose(
    source: Any, *, table: str | None = None, where: Where | None = None, progress: Progress | None = None
) -> Proposal:
    """Which columns could be factors, and which the target: by rules of thumb over names and counts, with reasons.

    >>> shapes = {"id": range(8), "colour": [*"rrbbrrbb"], "shape": [*"sosososo"], "label": [*"xyyxxyyx"]}
    >>> found = propose(shapes)
    >>> found.factors, found.target, found.column("id").reason
    (('colour', 'shape'), 'label', 'every row has its own')
    """
    looks = look(source, table=table, where=where, progress=progress)
    convention, arrays = _beside(source, table)
    columns = tuple(_as_set(one, convention) for one in roles(looks))
    factors = tuple(name for name in _all(columns, "factor") if convention is None or name not in convention.columns)
    factors = factors if len(factors) > 1 or (convention is not None and convention.sets) else ()
    support = _support(source, factors, columns, looks.rows, table=table, where=where)
    counted = () if support is None else zip(factors, support.value_counts, strict=True)
    return Proposal(
        source=looks.source,
        rows=looks.rows,
        columns=with_counts(columns, {name: int(counts.min()) for name, counts in counted}),
        factors=factors,
        target=(convention and convention.score) or _first(columns, "target"),
        split=_first(columns, "split"),
        prediction=_first(columns, "prediction"),
        seen=None if support is None else len(support),
        space=None if support is None else support.space.size,
        not_looked_at=looks.not_looked_at,
        misspellings=() if support is None else misspellings(support),
        sets={} if convention is None else dict(convention.sets),
        convention=(None if convention is None else convention.said) or None,
        score=None if convention is None else convention.score,
        arrays=arrays,
    )


def _as_set(column: ProposedColumn, convention: Convention | None) -> ProposedColumn:
    """A column that a convention speaks of: read as a set, saying the same once more, or no factor."""
    if convention is not None and column.name == convention.score:
        return replace(column, role="target", reason="a score of each row")
    if convention is not None and column.name in convention.aside:
        return replace(column, role="left out", reason=convention.aside[column.name])
    if convention is None or column.name not in convention.columns:
        return column
    for name, written in convention.sets.items():
        if column.name in {written.partition(":")[0], *written.split(",")}:
            return replace(column, role="factor", reason=f"{how_many(column)}, read as a set: --set {name}={written}")
    reason = "it tells of the same set" if convention.sets else "a pattern takes it apart"
    return replace(column, role="left out", reason=reason)


def _beside(source: Any, table: str | None) -> tuple[Convention | None, tuple[str, ...]]:
    """What the reader of a source knows beyond its columns: how its field writes them, and matrices beside them."""
    if isinstance(source, TextSource):
        with opened(str(source), table=table) as found:
            use = text_use(found, source)
        sets = {} if use.set is None else {use.set: use.set}
        said = "" if use.set is None else f"{use.set} holds what {use.columns[-1]} names, read as a set."
        return Convention(sets, said, (*use.columns, *sets)), ()
    location = reader_table(source)
    if location is None:
        return None, ()
    reader, path = location.reader, location.path
    with in_words(path, reader):
        convention = None if reader.recognise is None else reader.recognise(path)
        return convention, () if reader.arrays is None else tuple(reader.arrays(path))


def _all(columns: tuple[ProposedColumn, ...], role: Role) -> tuple[str, ...]:
    return tuple(one.name for one in columns if one.role == role)


def _first(columns: tuple[ProposedColumn, ...], role: Role) -> str | None:
    """The one with the plainest name: `split` before `split_by_length`, whichever stands first."""
    found = _all(columns, role)
    return min(found, key=lambda name: (words(name) != [role], len(words(name)), found.index(name)), default=None)


def _support(
    source: Any, factors: tuple[str, ...], columns: tuple[ProposedColumn, ...], rows: int, **how: Any
) -> Support | None:
    """The combinations of the factors; None where they would be too many to be counted in passing."""
    space = prod(one.values or 1 for one in columns if one.name in factors)
    if not factors or min(space, rows) > _LARGE:
        return None
    try:
        return read(source, factors=factors, **how)
    except RecombineError:  # the proposal stands without it
        return None


def _factors(found: Proposal) -> list[str]:
    if found.sets and len(found.factors) < 2:
        return [f"{found.factors[0]} looks like a further factor."] if found.factors else []
    return [_factor_words(found)]


def _factor_words(found: Proposal) -> str:
    if not found.factors:
        single = _all(found.columns, "factor")
        which = f"only {single[0]} looks" if single else "no column looks"
        return f"In '{found.source}' {which} like a factor, and it takes two: name columns that you know to be some."
    said = f"{listing(found.factors)} look like factors"
    more = further_factors(found.columns)
    if more:
        said += f", and so do {amount(more, 'other column')} after the first {MOST_FACTORS}"
    if found.seen is None or found.space is None:
        return f"{said}."
    return f"{said}: {amount(found.space, 'possible combination')}, {found.seen:,} of them seen."


def _target(found: Proposal) -> str:
    if found.arrays:
        several = len(found.arrays) > 1
        what = "are matrices beside the table, and one of them" if several else "is a matrix beside the table, and"
        return f"{listing(found.arrays)} {what} can be the target."
    if found.score is not None:
        return f"{found.score} holds a score of each row."
    if found.target is None:
        return "No column is named like a target."
    return f"{found.target} looks like the target."


def _further(found: Proposal) -> list[str]:
    said = [] if found.split is None else [f"{found.split} looks like a split."]
    if found.prediction is not None:
        said.append(f"{found.prediction} looks like a model's prediction.")
    if found.not_looked_at:
        said.append(f"{amount(found.not_looked_at, 'further column')} were not looked at.")
    misspelt = describe_misspellings(found.misspellings)
    return said if misspelt is None else [*said, misspelt]
