"""Another model's table without ids: compared combination by combination, if both hold the same rows of each."""

from typing import Any

import numpy as np

from recombine.algebra.groups import Codes
from recombine.errors import TableError
from recombine.evaluation.asked import Asked
from recombine.evaluation.gathering import gather
from recombine.evaluation.outcomes import Outcomes
from recombine.evaluation.reading import Paired, outcomes_of
from recombine.evaluation.rowscores import Meant
from recombine.records import Provenance
from recombine.tables.space import Space


def paired_by_combination(against: Any, asked: Asked, meant: Meant, own: Outcomes) -> Paired:
    """The other model's sums of scores on the same combinations; refused where the rows are not the same."""
    gathered = gather(against, asked)
    other = outcomes_of(gathered, asked, Provenance(source=gathered.source)).outcomes
    if gathered.meant.kind != meant.kind:
        raise _other_rows(f"its answers are {gathered.meant.kind}s, this one's {meant.kind}s")
    codes = _recoded(other.tested.codes, other.tested.space, own.tested.space)
    place = own.tested.groups(range(codes.shape[1])).lookup(codes)
    rows, total = np.zeros(len(own)), np.zeros(len(own))
    rows[place[place >= 0]], total[place[place >= 0]] = other.rows[place >= 0], other.total[place >= 0]
    stray, differing = int((place < 0).sum()), int((rows != own.rows).sum())
    if stray or differing:
        raise _other_rows(
            f"{stray:,} of its combinations are not in this table"
            if stray
            else f"{differing:,} combinations have other numbers of scored rows in it"
        )
    return Paired(own.rows, own.total, total)


def _other_rows(why: str) -> TableError:
    return TableError(
        "the other table does not hold the same rows",
        why=why,
        instead="name a column that tells the rows apart in both tables: id='image' (--id image)",
    )


def _recoded(codes: Codes, theirs: Space, ours: Space) -> Codes:
    """The other table's combinations in this table's numbers, -1 for a value that it does not have."""
    columns = [
        np.array([mine.code(value) for value in factor.values], dtype=np.int32)[codes[:, k]]
        for k, (factor, mine) in enumerate(zip(theirs.factors, ours.factors, strict=True))
    ]
    return np.stack(columns, axis=1)
