"""What every form is written from: the answer, its grade, what was checked, a few combinations, what to do next."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from recombine.grades import Grade

Outcome = Literal["pass", "fail", "warning", "not enough evidence", "told", "not asked"]

_UNSEEN = re.compile(r"[\x00-\x1f\x7f\u0085\u2028\u2029\ud800-\udfff\ufffe\uffff]")


@dataclass(frozen=True)
class Check:
    """A gate, or one line of a lint: how it ended, and in a sentence of its own why.

    `meaning` is the same whatever was found: what is so where it passes, for those who meet it for the first time.

    >>> Check("rows", "fail", "3 rows are in training and test.", meaning="no row is on two sides").outcome
    'fail'
    """

    name: str
    outcome: Outcome
    sentence: str
    meaning: str


@dataclass(frozen=True)
class Rows:
    """A small table: the combinations that tell most."""

    title: str
    columns: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Told:
    """What a verb found about one table. `numbers` are flat, for trackers; what is not known is left out of them."""

    verb: str
    source: str
    headline: str
    grade: Grade
    checks: tuple[Check, ...]
    rows: Rows | None = None
    next: tuple[tuple[str, str], ...] = ()
    numbers: Mapping[str, float] = field(default_factory=dict)


def one_line(text: str) -> str:
    r"""A text on one line: whatever breaks lines, or is no letter at all, is written by its number.

    >>> print(one_line("two\nlines"))
    two\u000alines
    """
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
