"""A cell: a task with its support, a model, a level of noise; and whether it is sealed."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from recombine_lab.models.model import Model
from recombine_lab.training.recipe import Recipe
from validity_cells.data import Data


@dataclass(frozen=True, eq=False, kw_only=True)
class Cell:
    """What is asked and what is trained. `known`: results of such a cell were published before the bench was made."""

    name: str
    group: str
    make: "partial[Data]"
    model: Model
    recipe: Recipe
    learner: str
    seeds: int = 2
    known: bool = False

    @property
    def file(self) -> str:
        """Its name as that of a file."""
        return self.name.replace(", ", "__").replace(" ", "_")

    @property
    def rows(self) -> str:
        """A name for its rows: cells that differ in their model alone have the same."""
        made = (self.make.func.__name__, self.make.args, sorted(self.make.keywords.items()))
        return hashlib.sha256(repr(made).encode()).hexdigest()[:16]


def sealed(cells: Sequence[Cell]) -> frozenset[str]:
    """The cells whose results stay unread while forecasts are developed: a third of each group, by their names alone.

    None of them is known from elsewhere.
    """
    found: set[str] = set()
    for group in {cell.group for cell in cells}:
        own = [cell for cell in cells if cell.group == group]
        names = sorted((cell.name for cell in own if not cell.known), key=_chance)
        found.update(names[: round(len(own) / 3)])
    return frozenset(found)


def _chance(name: str) -> str:
    return hashlib.sha256(f"sealed {name}".encode()).hexdigest()
