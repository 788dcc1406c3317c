"""The published splits of SCAN: by rule where they follow from the grammar, else from their files.

`length`, `addprim_…`, `template_…` and `filler_…` are rules; `simple`, the compound-divergence splits `mcd…`, and the
variations with few examples (`fewshot_num8_rep1`), other sizes (`simple_p16`) and additional examples
(`addprim_complex_jump_num8_rep1`) were drawn at random, and only their files hold them.
"""

import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
import numpy.typing as npt

from recombine.errors import SettingError, nearest
from recombine.lab.tasks.data.files import local_or_downloaded, open_text
from recombine.lab.tasks.scan.encoded import encoded
from recombine.lab.tasks.scan.grammar import TURN, Command, Phrase, commands, space

Counts = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_LONGEST_TRAINED = 22
_FILLERS = ("look", "walk", "run")
_NINTH = 9  # the new phrase alone makes up a tenth of the lines: one for nine of the others
_ARCHIVE = "scan/extra_splits.tar.xz"


@dataclass(frozen=True, eq=False)
class Lines:
    """How often each of the 20,910 commands stands in the training part and in the test part."""

    train: Counts
    test: Counts

    @classmethod
    def of(cls, train: Mask, test: Mask) -> "Lines":
        """Each command once."""
        return cls(train.astype(np.int64), test.astype(np.int64))


def lines_of(name: str) -> Lines:
    """A published split, by rule where it has one.

    >>> lines = lines_of("addprim_jump")
    >>> int(lines.train.sum()), int(lines.train.max()), int(lines.test.sum())
    (14670, 1467, 7706)
    """
    check_name(name)
    return by_rule(name) if name in RULES else from_files(name)


@cache
def by_rule(name: str) -> Lines:
    """A split that follows from the grammar."""
    return RULES[name]()


@cache
def from_files(name: str) -> Lines:
    """A split as its files have it."""
    folder = check_name(name)
    members = [f"{folder}/tasks_{part}_{name}.txt" for part in ("train", "test")]
    if name in _ARCHIVED:
        train, test = _archived(members)
    else:
        train, test = (open_text(f"scan/{member}") for member in members)
    return Lines(_counted(train), _counted(test))


def check_name(name: str) -> str:
    """The folder of a published split; an error, if there is none of that name."""
    if name not in FOLDERS:
        raise SettingError(f"no split {name!r} of SCAN", why="none was published", instead=nearest(name, FOLDERS))
    return FOLDERS[name]


def _length() -> Lines:
    short = np.array([len(command.actions.split()) <= _LONGEST_TRAINED for command in commands()])
    return Lines.of(short, ~short)


def _new_phrase(new: Phrase, *held: str) -> Lines:
    alone = np.array([command == Command(new) for command in commands()])
    inside = _holding(*held)
    train = (~inside).astype(np.int64)
    train[alone] = train.sum() // _NINTH
    return Lines(train, (inside & ~alone).astype(np.int64))


def _template(mode: str, verb: str | None = None) -> Lines:
    # `turn` has no action word that could fill the template: commands that hold it there are in neither part.
    left_out = _holding(TURN, mode, "right")
    held = _holding(verb, mode, "right")
    return Lines.of(~held & ~left_out, held & ~left_out)


def _filler(number: int) -> Lines:
    withheld = [_holding(verb, "around", "right") for verb in (*_FILLERS[number:], "jump", TURN)]
    return Lines.of(~np.logical_or.reduce(withheld), _template("around", "jump").test.astype(bool))


RULES: dict[str, Callable[[], Lines]] = {
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
