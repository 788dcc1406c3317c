"""Every command of SCAN as numbers, made once: rendering is then a look-up."""

from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt
from torch import Tensor

from recombine.errors import SettingError
from recombine.lab.tasks.scan.grammar import commands, space
from recombine.lab.tasks.task import Codes
from recombine.lab.tasks.tokens import Vocabulary

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Encoded:
    """The 20,910 commands: their codes, and both sides as tokens.

    `places` holds the command of each cell of the product of all values, -1 where the grammar rules it out.
    """

    codes: Codes
    places: Ints
    words: Vocabulary
    actions: Vocabulary
    inputs: Tensor
    targets: Tensor

    def rows(self, combinations: Codes) -> Ints:
        """The command that each combination is."""
        sizes = np.array(space().sizes)
        given = combinations[:, : len(sizes)]
        within = np.all((given >= 0) & (given < sizes), axis=1)
        rows = np.where(within, self.places[(given * within[:, None]) @ _strides()], -1)
        if (rows < 0).any():
            wrong = given[int(np.argmax(rows < 0))].tolist()
            raise SettingError(
                f"the combination {wrong} is no command of SCAN",
                why="the grammar has no words for it",
                instead="take combinations of task.every(), or task.codes(['jump around left twice'])",
            )
        return rows


@cache
def encoded() -> Encoded:
    """All commands."""
    cells = np.indices(space().sizes, dtype=np.int64).reshape(len(space().sizes), -1).T
    possible = ~space().is_impossible(cells.astype(np.int32))
    # The commands stand in the order of the cells, so that counting the possible ones numbers them.
    codes, places = np.ascontiguousarray(cells[possible]), np.where(possible, np.cumsum(possible) - 1, -1)
    texts, said = ([command.text for command in commands()], [command.actions for command in commands()])
    words, actions = Vocabulary.of(texts), Vocabulary.of(said)
    inputs, targets = words.encode(texts).long(), actions.encode(said, end=True).long()
    return Encoded(codes, places, words, actions, inputs, targets)


@cache
def _strides() -> Ints:
    sizes = space().sizes
    return np.array([int(np.prod(sizes[k + 1 :])) for k in range(len(sizes))], dtype=np.int64)
