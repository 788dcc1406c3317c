"""What everybody is shown first, on a page, in a notebook, on a terminal and in JSON.

One sentence, the one reason for its grade, and what to do next; the number beside it is `headline`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from recombine.base.records import Record
from recombine.output.grade_reasons import why_graded
from recombine.output.next_steps import next_step

_END = re.compile(r"(?<=[.!?])(?<!e\.g\.)\s+(?=[A-Z0-9“\"'])")


@dataclass(frozen=True)
class FirstScreen:
    """The first sentence of a verdict, the one reason for its grade, and the next step; empty where there is none."""

    sentence: str
    because: str
    next_step: str


def first_screen(kind: str, data: Mapping[str, Any]) -> FirstScreen:
    """What a record of a kind says first.

    >>> first_screen("split", {"verdict": "1 is held out. Kept.", "grade": "sound", "column": "side"}).sentence
    '1 is held out.'
    """
    return FirstScreen(first_sentence(str(data.get("verdict", ""))), why_graded(kind, data), next_step(kind, data))


def as_json(record: Record) -> dict[str, Any]:
    """A record as a command's `--json` tells it: with the reason for its grade, and what to do next."""
    first = first_screen(record.kind, record.data)
    return record.to_json() | {"because": first.because, "next_step": first.next_step}


def first_sentence(verdict: str) -> str:
    """The first sentence of a verdict.

    >>> first_sentence("It gets 1.5 of 2 (e.g. cats). The rest is open.")
    'It gets 1.5 of 2 (e.g. cats).'
    """
    return _END.split(verdict, maxsplit=1)[0]
