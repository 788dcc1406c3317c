"""What a forecast from examples found: the value that the ways of making one hand back."""

from dataclasses import dataclass

import numpy as np

from recombine.algebra.groups import Codes, Ints, Numbers
from recombine.expected import Expected

BASIS = "examples"
COMPOSED = "composed"
"""The way, and the name of its track record."""


@dataclass(frozen=True, eq=False)
class ExampleForecast:
    """A forecast from examples. Legend: m members, c combinations, k factors.

    `scores` holds for each member and combination the share of its rows that it gets right, or their mean squared
    error; `base` the same for one answer for all. Where the way is *held out*, the combinations are seen ones.
    """

    expected: Expected
    way: str
    members: tuple[str, ...]
    seen_by_member: tuple[float, ...] | None  # on new rows of combinations that were seen
    codes: Codes  # (c, k)
    counts: Ints  # (c,) rows asked, 0 where they were composed
    scores: Numbers  # (m, c)
    base: Numbers  # (c,)
    probe: float | None  # a linear rule on the inputs
    rows: int
    of_rows: int
    asked_rows: int
    correction: tuple[float, float] | None = None  # of composed rows: how far they were off in rehearsal, and its sd
    notes: tuple[str, ...] = ()
    constant: str | None = None  # one answer for all; of a label its class, as people read it
    fewer: float | None = None  # the score with four fifths of the rows

    @property
    def score(self) -> str:
        """The score's name: accuracy, or R²."""
        return self.expected.score

    @property
    def by_member(self) -> tuple[float, ...]:
        """Each member's score over the combinations; NaN where none could be asked about."""
        if not len(self.base):
            return (float("nan"),) * len(self.members)
        share = self.score == "accuracy"
        return tuple(float(own.mean()) if share else 1 - float(own.sum() / self.base.sum()) for own in self.scores)

    @property
    def seen(self) -> float | None:
        """The members' mean score on held-out rows of seen combinations; None where no combination can spare a row."""
        return None if self.seen_by_member is None else float(np.mean(self.seen_by_member))

    @property
    def drop(self) -> float | None:
        """What the missing of combinations costs: from new rows of seen ones to rows of unseen ones."""
        if self.seen is None or self.expected.value is None:
            return None
        return self.seen - self.expected.value

    @classmethod
    def abstaining(
        cls, expected: Expected, *, way: str, factors: int, of_rows: int, notes: tuple[str, ...]
    ) -> "ExampleForecast":
        """Nobody was asked: `expected` says why."""
        nothing = np.zeros(0)
        return cls(
            expected=expected,
            way=way,
            members=("nobody",),
            seen_by_member=None,
            codes=np.zeros((0, factors), dtype=np.int32),
            counts=np.zeros(0, dtype=np.int64),
            scores=nothing.reshape(1, 0),
            base=nothing,
            probe=None,
            rows=0,
            of_rows=of_rows,
            asked_rows=0,
            notes=notes,
        )
