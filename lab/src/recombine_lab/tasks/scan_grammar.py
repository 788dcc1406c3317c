"""The language of SCAN as a generator: every command, its actions, and its factors, each from the other.

A command is a phrase, or two phrases joined by `and` or `after`. A phrase is a verb, a way of turning (none, a plain
turn, opposite, around) with its direction, and a repetition. `turn` has no action of its own, and always turns. There
are 34 phrases that are said once, 102 with their repetitions, and 102 + 2 · 102² = 20,910 commands. `encoded` holds
every one as numbers, made once: rendering is then a look-up.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np
import numpy.typing as npt
from torch import Tensor

from recombine.base.errors import SettingError, nearest
from recombine.data.space import Space
from recombine_lab.tasks.task import Codes
from recombine_lab.tasks.tokens import Vocabulary

NONE, PLAIN, ONCE, TURN, ABSENT = "none", "plain", "once", "turn", "absent"
CONJUNCTIONS = (NONE, "and", "after")
ACTION_WORDS = ("walk", "look", "run", "jump")
"""The verbs that have an action symbol of their own."""
VERBS = (*ACTION_WORDS, TURN)
MODES = (NONE, PLAIN, "opposite", "around")
DIRECTIONS = (NONE, "left", "right")
REPETITIONS = (ONCE, "twice", "thrice")
_PARTS = {"verb": VERBS, "mode": MODES, "dir": DIRECTIONS, "rep": REPETITIONS}
_WORDS = (*VERBS, *MODES[2:], *DIRECTIONS[1:], *REPETITIONS[1:], *CONJUNCTIONS[1:])
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Phrase:
    """A verb with its turning and its repetition.

    >>> Phrase("jump", "around", "left", "once").text
    'jump around left'
    >>> Phrase("jump", "opposite", "left", "twice").actions
    ('I_TURN_LEFT', 'I_TURN_LEFT', 'I_JUMP', 'I_TURN_LEFT', 'I_TURN_LEFT', 'I_JUMP')
    """

    verb: str
    mode: str = NONE
    direction: str = NONE
    repetition: str = ONCE

    @property
    def text(self) -> str:
        """The phrase in words."""
        silent = (NONE, PLAIN, ONCE)
        parts = (self.verb, self.mode, self.direction, self.repetition)
        return " ".join(part for part in parts if part not in silent)

    @property
    def actions(self) -> tuple[str, ...]:
        """What it asks to do."""
        turn = f"I_TURN_{self.direction.upper()}"
        act = () if self.verb == TURN else (f"I_{self.verb.upper()}",)
        once = {
            NONE: act,
            PLAIN: (turn, *act),
            "opposite": (turn, turn, *act),
            "around": (turn, *act) * 4,
        }[self.mode]
        return once * (REPETITIONS.index(self.repetition) + 1)


@dataclass(frozen=True)
class ScanCommand:
    """A phrase, or two of them. After `after` the second is done first.

    >>> command = ScanCommand(Phrase("walk"), "after", Phrase("run"))
    >>> command.text, command.actions
    ('walk after run', 'I_RUN I_WALK')
    >>> parse("walk after run") == command == ScanCommand.of(command.factors)
    True
    """

    first: Phrase
    conjunction: str = NONE
    second: Phrase | None = None

    @classmethod
    def of(cls, factors: Mapping[str, str]) -> "ScanCommand":
        """The command that has these values."""
        first, second = (Phrase(*(factors[f"{part}{half}"] for part in _PARTS)) for half in "12")
        return cls(first) if factors["conj"] == NONE else cls(first, factors["conj"], second)

    @property
    def factors(self) -> dict[str, str]:
        """Its value of every factor; a second phrase that is not there is "absent" in each of its four."""
        values = {"conj": self.conjunction}
        for half, phrase in (("1", self.first), ("2", self.second)):
            said = (phrase.verb, phrase.mode, phrase.direction, phrase.repetition) if phrase else (ABSENT,) * 4
            values |= dict(zip((f"{part}{half}" for part in _PARTS), said, strict=True))
        return values

    @property
    def phrases(self) -> tuple[Phrase, ...]:
        """The phrase, or both."""
        return (self.first,) if self.second is None else (self.first, self.second)

    @property
    def text(self) -> str:
        """The command in words."""
        return f" {self.conjunction} ".join(phrase.text for phrase in self.phrases)

    @property
    def actions(self) -> str:
        """What it asks to do, in words."""
        done = reversed(self.phrases) if self.conjunction == "after" else self.phrases
        return " ".join(action for phrase in done for action in phrase.actions)


@cache
def phrases() -> tuple[Phrase, ...]:
    """All 102 phrases."""
    ways = [(NONE, NONE), *product(MODES[1:], DIRECTIONS[1:])]
    return tuple(
        Phrase(verb, mode, direction, repetition)
        for verb, (mode, direction), repetition in product(VERBS, ways, REPETITIONS)
        if (verb, mode) != (TURN, NONE)
    )


@cache
def commands() -> tuple[ScanCommand, ...]:
    """All 20,910 commands, in the order of the space's codes."""
    alone = tuple(ScanCommand(phrase) for phrase in phrases())
    joined = product(CONJUNCTIONS[1:], phrases(), phrases())
    return alone + tuple(ScanCommand(first, conjunction, second) for conjunction, first, second in joined)


def parse(text: str) -> ScanCommand:
    """The command that some words are, or an error that says where they stop being one."""
    words = text.split()
    if unknown := [word for word in words if word not in _WORDS]:
        raise SettingError(
            f"the command {text!r}", why=f"SCAN has no word {unknown[0]!r}", instead=nearest(unknown[0], _WORDS)
        )
    joints = [place for place, word in enumerate(words) if word in CONJUNCTIONS[1:]]
    if len(joints) > 1:
        raise SettingError(f"the command {text!r}", why="it joins more than two phrases", instead="join two at most")
    if not joints:
        return ScanCommand(_phrase(text, words))
    first, second = (_phrase(text, part) for part in (words[: joints[0]], words[joints[0] + 1 :]))
    return ScanCommand(first, words[joints[0]], second)


@cache
def space() -> Space:
    """The nine factors, less what the grammar rules out: 20,910 combinations."""
    firsts = {f"{part}1": values for part, values in _PARTS.items()}
    seconds = {f"{part}2": (*values, ABSENT) for part, values in _PARTS.items()}
    return Space.of({"conj": CONJUNCTIONS} | firsts | seconds, impossible=_impossible())


def _impossible() -> Iterator[dict[str, str]]:
    for half in "12":
        for mode, direction in product(MODES[1:], DIRECTIONS[1:]):
            yield {f"mode{half}": mode, f"dir{half}": NONE}
            yield {f"mode{half}": NONE, f"dir{half}": direction}
        yield {f"verb{half}": TURN, f"mode{half}": NONE}
    for part, values in _PARTS.items():
        yield from ({"conj": NONE, f"{part}2": value} for value in values)
        yield from ({"conj": conjunction, f"{part}2": ABSENT} for conjunction in CONJUNCTIONS[1:])


@cache
def _by_text() -> dict[str, Phrase]:
    return {phrase.text: phrase for phrase in phrases()}


def _phrase(text: str, words: list[str]) -> Phrase:
    said = " ".join(words)
    if said not in _by_text():
        raise SettingError(
            f"the command {text!r}",
            why=f"{said!r} is not a phrase: verb, [opposite or around,] left or right, twice or thrice, in this order",
            instead=nearest(said, _by_text()),
        )
    return _by_text()[said]


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
