"""One line of a lint: what was looked at, how it ended, a sentence, and all the culprits."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import pyarrow as pa

from recombine.algebra.groups import Ints
from recombine.tables.support import Support
from recombine.words import count

Verdict = Literal["pass", "fail", "warning", "not enough evidence", "told", "not asked"]
MOST_CULPRITS = 10_000
_NAMED = 3


@dataclass(frozen=True)
class Check:
    """One line of a lint. `culprits` counts all of them; the table lists the worst, 10,000 at most.

    >>> Check("combinations", "pass", "No test combination is in training.").verdict
    'pass'
    """

    name: str
    verdict: Verdict
    sentence: str
    culprits: int = 0
    table: pa.Table | None = field(default=None, repr=False, compare=False)


def few(named: Sequence[str], total: int) -> str:
    """The first few of many, and how many there are besides."""
    shown = list(named[:_NAMED])
    more = total - len(shown)
    return "; ".join(shown) + (f"; and {count(more)} more" if more else "")


def is_(number: int) -> str:
    """The verb that goes with a number."""
    return "is" if number == 1 else "are"


def named(support: Support, place: int) -> str:
    """A combination as it stands in a sentence."""
    labels = (f.labels[code] for f, code in zip(support.space.factors, support.codes[place], strict=True))
    return f"({', '.join(labels)})"


def worst_first(places: Ints, weight: Ints) -> Ints:
    """Culprits by their weight, the heaviest first; ties in the order of the combinations."""
    return places[np.argsort(-weight[places], kind="stable")]


def culprit_table(support: Support, places: Ints, **numbers: Ints) -> pa.Table:
    """The combinations by their values, each with its numbers, 10,000 at most."""
    places = places[:MOST_CULPRITS]
    columns = {
        factor.name: pa.array(factor.labels, pa.string()).take(pa.array(support.codes[places, k]))
        for k, factor in enumerate(support.space.factors)
    }
    return pa.table(columns | {_free(name, columns): values[places] for name, values in numbers.items()})


def _free(name: str, taken: object) -> str:
    """A name for a column of numbers that no factor bears."""
    while name in taken:  # type: ignore[operator]
        name += "_"
    return name
