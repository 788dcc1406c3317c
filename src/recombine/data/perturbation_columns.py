"""How perturbation biology writes which genes or drugs were given together, so that a proposal can name the set.

| by | a column | holds | none is |
|---|---|---|---|
| GEARS | `condition` | `A+ctrl`, `ctrl+A`, `A+B` | `ctrl` |
| CPA | `cond_harm` | `A+B`, beside doses `1.0+1.0` | `ctrl`, `control` |
| scPerturb | `perturbation` | `A_B`, beside how many (`nperts`) | `control` |
| CELLxGENE | `genetic_perturbation_id` | `A || B`, sorted | an empty cell, `na` |
| combosciplex and others | `Drug1`, `Drug2` | a drug each | `control` |
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from recombine.data.readers import Convention
from recombine.data.sets import is_nothing

Values = Callable[[str], Iterable[object]]


@dataclass(frozen=True)
class _Column:
    """A column that a package writes, and what stands between the elements."""

    name: str
    by: str
    holds: str
    between: str
    beside: tuple[str, ...] = ()
    """Columns that say the same or are made of it."""


_OF_GEARS = ("condition_name", "cov_drug_dose_name", "drug_dose_name", "dose_val", "dose", "control", "cond_harm")
_COLUMNS = (
    _Column("cond_harm", "CPA", "genes", "+", ("condition", *_OF_GEARS[:-1])),
    _Column("condition", "GEARS", "genes", "+", _OF_GEARS),
    _Column("genetic_perturbation_id", "CELLxGENE", "genes", "||", ("genetic_perturbation_strategy",)),
    _Column("perturbation", "scPerturb", "genes", "_", ("nperts", "perturbation_type", "guide_id", "gene")),
)
_DRUGS = (("Drug1", "Drug2"), ("drug1", "drug2"), ("drug_1", "drug_2"), ("Drug1_ID", "Drug2_ID"))


def recognise(names: Iterable[str], values: Values) -> Convention | None:
    """The convention that the columns of a table follow; `values` gives the different values of one.

    >>> found = recognise(["condition", "cell_type"], lambda _: ["ctrl", "A+ctrl", "A+B"])
    >>> dict(found.sets), found.said
    ({'genes': 'condition:+'}, "condition is written as GEARS writes it: genes with '+' between them, 'ctrl' for none.")
    """
    held = set(names)
    for one in _COLUMNS:
        if one.name in held:
            seen = [str(value) for value in values(one.name) if value is not None]
            if any(one.between in value for value in seen):
                return _of_text(one, seen)
    for pair in _DRUGS:
        if held.issuperset(pair):
            said = f"{pair[0]} and {pair[1]} could be exchanged, so both are read as one set of drugs."
            return Convention({"drugs": ",".join(pair)}, said, pair)
    return None


def _of_text(column: _Column, seen: list[str]) -> Convention:
    parts = {part.strip() for value in seen for part in value.split(column.between)}
    none = sorted(part for part in parts if part and is_nothing(part))
    ends = f", {' or '.join(map(repr, none))} for none" if none else ""
    said = f"{column.name} is written as {column.by} writes it: {column.holds} with {column.between!r} between them"
    read = {column.holds: f"{column.name}:{column.between}"}
    return Convention(read, f"{said}{ends}.", (column.name, *column.beside))
