"""How a kind of result that another package adds is shown (entry points of `recombine.pages`)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from recombine.base.grades import MEANING, Grade
from recombine.base.records import Record
from recombine.output.notebook_view import Picture


@dataclass(frozen=True)
class Page:
    """What draws a record as a page and as a picture in a notebook, and what its grades mean."""

    draw: Callable[[Record], str]
    picture: Callable[[Record], Picture | None]
    meaning: Mapping[Grade, str] = field(default_factory=lambda: MEANING)
