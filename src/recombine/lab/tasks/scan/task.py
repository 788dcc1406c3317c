"""SCAN as a task: a command in, its actions out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from recombine.errors import SettingError
from recombine.lab.tasks.exposure import Cells, Parts
from recombine.lab.tasks.scan.encoded import encoded
from recombine.lab.tasks.scan.grammar import ACTION_WORDS, commands, parse, space
from recombine.lab.tasks.scan.splits import check_name, lines_of
from recombine.lab.tasks.task import Batch, Codes, DiscreteTask, Part, Shapes
from recombine.tables.space import Space

Setting = Literal["A", "B-all", "B-jump"]
Weights = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Scan(DiscreteTask):
    """SCAN: 20,910 commands, nine factors, the published splits, and two settings of its training lines.

    `split` names the published split that `own_parts` gives: training lines with their repetitions, `seen` (each
    command that training shows, once) and `unseen` (the published test). Any other splitter works as well.

    `setting`, as in "Gradient Descent Resists Compositionality", changes the training lines of the split
    `addprim_jump`. The *action words* are walk, look, run and jump, those with an action symbol of their own; `turn`
    always stays.

    - `A`: as published; `jump` occurs only by itself, in a tenth of the lines.
    - `B-all`: in every training line each action word is replaced by one of the four, drawn evenly, each occurrence
      for itself, with its symbol; the word then says nothing about the rest of the command. `jump` appears in every
      context, so that each command of `unseen` is in fact shown. Replacement is drawn anew for each example.
    - `B-jump`: in every training line `jump` alone is changed, to walk, look or run. No line then holds `jump`, and
      the published test asks for a word that was never shown. A third set, `unseen_replaced`, is the test changed
      in the same way: it asks only for commands that were shown.

    >>> task = Scan()
    >>> task.space.size, task.shapes.inputs, task.shapes.outputs
    (20910, (9,), (49,))
    >>> task.truth(task.codes(["jump twice"])).tolist()
    ['I_JUMP I_JUMP']
    """

    split: str = "addprim_jump"
    setting: Setting = "A"

    def __post_init__(self) -> None:
        check_name(self.split)
        if self.setting not in ("A", "B-all", "B-jump"):
            raise SettingError(
                f"setting={self.setting!r}", why="there is no such setting", instead="write A, B-all or B-jump"
            )
        if self.setting != "A" and self.split != "addprim_jump":
            raise SettingError(
                f"setting={self.setting!r} with split={self.split!r}",
                why="B replaces words in the training lines of addprim_jump",
                instead="write split='addprim_jump', or setting='A'",
            )

    @property
    @final
    def space(self) -> Space:
        """The nine factors of the grammar."""
        return space()

    @property
    @final
    def shapes(self) -> Shapes:
        """Rows of words in, rows of actions with their end out."""
        table = encoded()
        return Shapes(
            inputs=(table.inputs.shape[1],),
            outputs=(table.targets.shape[1],),
            kind="tokens",
            vocabularies=(len(table.words), len(table.actions)),
        )

    @final
    def render(self, latents: Tensor, *, seed: int, part: Part) -> Batch:  # noqa: ARG002 - nothing is left to chance
        """Commands and actions as numbers, looked up."""
        table = encoded()
        rows = torch.from_numpy(table.rows(latents.cpu().numpy()))
        return Batch(table.inputs[rows].to(latents.device), table.targets[rows].to(latents.device))

    @final
    def truth(self, combinations: Codes) -> npt.NDArray[Any]:
        """The actions, in words."""
        return np.array([commands()[row].actions for row in encoded().rows(combinations)], dtype=object)

    @final
    def codes(self, texts: Sequence[str]) -> Codes:
        """Commands in words, as codes."""
        return space().encode([parse(text).factors for text in texts]).astype(np.int64)

    @final
    def own_parts(self, *, seed: int) -> Parts:  # noqa: ARG002 - the published lines are fixed
        """The published split, in this setting."""
        lines = lines_of(self.split)
        train, tests = lines.train.astype(np.float64), {"unseen": lines.test.astype(np.float64)}
        if self.setting == "B-all":
            train = replaced_weights(train, ACTION_WORDS, ACTION_WORDS)
        if self.setting == "B-jump":
            others = tuple(word for word in ACTION_WORDS if word != "jump")
            train = replaced_weights(train, ("jump",), others)
            tests["unseen_replaced"] = replaced_weights(tests["unseen"], ("jump",), others)
        shown = (train > 0).astype(np.float64)
        return Parts(_source(train), {name: _source(weights) for name, weights in ({"seen": shown} | tests).items()})


def _source(weights: Weights) -> Cells:
    """Commands by weight; evenly, where all weights are the same."""
    held = weights > 0
    even = len(np.unique(weights[held])) == 1
    return Cells(torch.from_numpy(encoded().codes[held]), None if even else weights[held])


def replaced_weights(weights: Weights, words: Sequence[str], by: Sequence[str]) -> Weights:
    """The weight of each command after every one of `words` in it was replaced by one of `by`, drawn evenly."""
    possible = encoded().places >= 0
    cells = np.zeros(space().product)
    cells[possible] = weights
    grid = cells.reshape(space().sizes)
    for name in ("verb1", "verb2"):
        axis = space().position(name)
        verbs = space().factors[axis]
        chances = np.eye(len(verbs.values))
        chances[[verbs.code(word) for word in words]] = np.isin(verbs.labels, by) / len(by)
        grid = np.moveaxis(np.tensordot(grid, chances, axes=(axis, 0)), -1, axis)
    return np.asarray(grid.reshape(-1)[possible])
