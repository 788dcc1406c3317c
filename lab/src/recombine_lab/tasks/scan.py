"""SCAN as a task: a command in, its actions out; with its published splits.

`length`, `addprim_…`, `template_…` and `filler_…` are rules; `simple`, the compound-divergence splits `mcd…`, and the
variations with few examples (`fewshot_num8_rep1`), other sizes (`simple_p16`) and additional examples
(`addprim_complex_jump_num8_rep1`) were drawn at random, and only their files hold them.
"""

import tarfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from recombine.base.checks import check_choice
from recombine.base.errors import SettingError, nearest
from recombine.data.space import Space
from recombine_lab.tasks.data_files import local_or_downloaded, open_text
from recombine_lab.tasks.exposure import FiniteSource, Parts
from recombine_lab.tasks.scan_grammar import ACTION_WORDS, TURN, Phrase, ScanCommand, commands, encoded, parse, space
from recombine_lab.tasks.task import Batch, Codes, DiscreteTask, Part, Shapes

Setting = Literal["A", "B-all", "B-jump"]
Weights = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
_LONGEST_TRAINED = 22
_FILLERS = ("look", "walk", "run")
_NINTH = 9  # the new phrase alone makes up a tenth of the lines: one for nine of the others
_ARCHIVE = "scan/extra_splits.tar.xz"


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
        known = ("A", "B-all", "B-jump")
        check_choice("setting", self.setting, known, why="there is no such setting", instead="write A, B-all or B-jump")
        if self.setting != "A" and self.split != "addprim_jump":
            raise SettingError(
                f"setting={self.setting!r} with split={self.split!r}",
                why="B replaces words in the training lines of addprim_jump",
                instead="write split='addprim_jump', or setting='A'",
            )

    @property
    def space(self) -> Space:
        """The nine factors of the grammar."""
        return space()

    @property
    def shapes(self) -> Shapes:
        """Rows of words in, rows of actions with their end out."""
        table = encoded()
        return Shapes(
            inputs=(table.inputs.shape[1],),
            outputs=(table.targets.shape[1],),
            kind="tokens",
            vocabularies=(len(table.words), len(table.actions)),
        )

    def render(self, latents: Tensor, *, seed: int, part: Part) -> Batch:  # noqa: ARG002 - nothing is left to chance
        """Commands and actions as numbers, looked up."""
        table = encoded()
        rows = torch.from_numpy(table.rows(latents.cpu().numpy()))
        return Batch(table.inputs[rows].to(latents.device), table.targets[rows].to(latents.device))

    def in_words(self, targets: Tensor) -> list[str]:
        """Rows of target tokens as actions, in words."""
        return encoded().actions.decode(targets)

    def truth(self, combinations: Codes) -> npt.NDArray[Any]:
        """The actions, in words."""
        return np.array([commands()[row].actions for row in encoded().rows(combinations)], dtype=object)

    def codes(self, texts: Sequence[str]) -> Codes:
        """Commands in words, as codes."""
        return space().encode([parse(text).factors for text in texts]).astype(np.int64)

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


def _source(weights: Weights) -> FiniteSource:
    """Commands by weight; evenly, where all weights are the same."""
    held = weights > 0
    even = len(np.unique(weights[held])) == 1
    return FiniteSource(torch.from_numpy(encoded().codes[held]), None if even else weights[held])


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


@dataclass(frozen=True, eq=False)
class CommandCounts:
    """How often each of the 20,910 commands stands in the training part and in the test part."""

    train: Counts
    test: Counts

    @classmethod
    def of(cls, train: Mask, test: Mask) -> "CommandCounts":
        """Each command once."""
        return cls(train.astype(np.int64), test.astype(np.int64))


def lines_of(name: str) -> CommandCounts:
    """A published split, by rule where it has one.

    >>> lines = lines_of("addprim_jump")
    >>> int(lines.train.sum()), int(lines.train.max()), int(lines.test.sum())
    (14670, 1467, 7706)
    """
    check_name(name)
    return by_rule(name) if name in RULES else from_files(name)


@cache
def by_rule(name: str) -> CommandCounts:
    """A split that follows from the grammar."""
    return RULES[name]()


@cache
def from_files(name: str) -> CommandCounts:
    """A split as its files have it."""
    folder = check_name(name)
    members = [f"{folder}/tasks_{part}_{name}.txt" for part in ("train", "test")]
    if name in _ARCHIVED:
        train, test = _archived(members)
    else:
        train, test = (open_text(f"scan/{member}") for member in members)
    return CommandCounts(_counted(train), _counted(test))


def check_name(name: str) -> str:
    """The folder of a published split; an error, if there is none of that name."""
    if name not in FOLDERS:
        raise SettingError(f"no split {name!r} of SCAN", why="none was published", instead=nearest(name, FOLDERS))
    return FOLDERS[name]


def _length() -> CommandCounts:
    short = np.array([len(command.actions.split()) <= _LONGEST_TRAINED for command in commands()])
    return CommandCounts.of(short, ~short)


def _new_phrase(new: Phrase, *held: str) -> CommandCounts:
    alone = np.array([command == ScanCommand(new) for command in commands()])
    inside = _holding(*held)
    train = (~inside).astype(np.int64)
    train[alone] = train.sum() // _NINTH
    return CommandCounts(train, (inside & ~alone).astype(np.int64))


def _template(mode: str, verb: str | None = None) -> CommandCounts:
    # `turn` has no action word that could fill the template: commands that hold it there are in neither part.
    left_out = _holding(TURN, mode, "right")
    held = _holding(verb, mode, "right")
    return CommandCounts.of(~held & ~left_out, held & ~left_out)


def _filler(number: int) -> CommandCounts:
    withheld = [_holding(verb, "around", "right") for verb in (*_FILLERS[number:], "jump", TURN)]
    return CommandCounts.of(~np.logical_or.reduce(withheld), _template("around", "jump").test.astype(bool))


RULES: dict[str, Callable[[], CommandCounts]] = {
    "length": _length,
    "addprim_jump": partial(_new_phrase, Phrase("jump"), "jump"),
    "addprim_turn_left": partial(_new_phrase, Phrase(TURN, "plain", "left"), TURN, "plain", "left"),
    "template_around_right": partial(_template, "around"),
    "template_jump_around_right": partial(_template, "around", "jump"),
    "template_opposite_right": partial(_template, "opposite"),
    "template_right": partial(_template, "plain"),
    **{f"filler_num{number}": partial(_filler, number) for number in range(4)},
}


_ARCHIVED = (
    {f"fewshot_num{2**power}_rep{again}": "few_shot_split" for power in range(11) for again in range(1, 6)}
    | {f"simple_p{2**power}": "simple_split/size_variations" for power in range(7)}
    | {
        f"addprim_complex_jump_num{2**power}_rep{again}": "add_prim_split/with_additional_examples"
        for power in range(6)
        for again in range(1, 6)
    }
)


_SINGLE = {"simple": "simple_split", "length": "length_split"} | {f"mcd{number}": "mcd" for number in (1, 2, 3)}


FOLDERS: dict[str, str] = (
    _SINGLE
    | {name: f"{name.partition('_')[0].replace('addprim', 'add_prim')}_split" for name in RULES if "_" in name}
    | _ARCHIVED
)
"""Every published split, and the folder of its files."""


def _holding(verb: str | None = None, mode: str | None = None, direction: str | None = None) -> Mask:
    """The commands of which a phrase has these values."""
    asked = {"verb": verb, "mode": mode, "dir": direction}
    halves = [
        [_has(f"{part}{half}", value) for part, value in asked.items() if value is not None] for half in ("1", "2")
    ]
    first, second = (np.logical_and.reduce(half) for half in halves)
    return np.asarray(first | second)


def _has(name: str, value: str) -> Mask:
    k = space().position(name)
    return np.asarray(encoded().codes[:, k] == space().factors[k].code(value))


def _counted(lines: list[str]) -> Counts:
    places = [_places()[line.partition(" OUT: ")[0].removeprefix("IN: ").strip()] for line in lines]
    return np.bincount(places, minlength=len(commands())).astype(np.int64)


@cache
def _places() -> dict[str, int]:
    return {command.text: place for place, command in enumerate(commands())}


def _archived(members: list[str]) -> list[list[str]]:
    # One pass from the front: asking for a member by name would unpack the whole archive, and again to read it.
    found: dict[str, list[str]] = {}
    with tarfile.open(local_or_downloaded(_ARCHIVE), "r:xz") as archive:
        for member in archive:
            if member.name in members and (file := archive.extractfile(member)) is not None:
                found[member.name] = file.read().decode().splitlines()
            if len(found) == len(members):
                break
    return [found[member] for member in members]
