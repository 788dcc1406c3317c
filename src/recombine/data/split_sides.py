"""Which side of a split a row stands on, however the split's column words it."""

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from recombine.base.checks import check_column_names, check_listed
from recombine.base.errors import ColumnError, SettingError
from recombine.data.space import Value, text

Side = Literal["train", "validation", "test"]
SIDES: tuple[Side, ...] = ("train", "validation", "test")
SEEN = "seen"
"""What rows of training combinations are called that are not trained on, to be compared with unseen ones."""
_WORDS: dict[str, Side] = {
    "train": "train",
    "training": "train",
    "trn": "train",
    "fit": "train",
    "validation": "validation",
    "valid": "validation",
    "val": "validation",
    "dev": "validation",
    "development": "validation",
    "test": "test",
    "testing": "test",
    "tst": "test",
    "eval": "test",
    "heldout": "test",
    "held_out": "test",
    "held-out": "test",
    "holdout": "test",
}


@dataclass(frozen=True)
class SplitColumn:
    """The column that tells the side of each row, and its own words for the sides where these are not the usual ones.

    >>> SplitColumn("fold", train=["0", "1"], test=["2"]).words
    {'train': ('0', '1'), 'validation': (), 'test': ('2',)}
    """

    name: str = "split"
    train: Sequence[str] = ()
    validation: Sequence[str] = ()
    test: Sequence[str] = ()

    def __post_init__(self) -> None:
        check_column_names(split=self.name)

    @property
    def words(self) -> dict[Side, tuple[str, ...]]:
        """What each side is called."""
        return {side: tuple(getattr(self, side)) for side in SIDES}


def sides_of(
    column: str,
    values: Iterable[Value],
    *,
    train: Iterable[str] = (),
    validation: Iterable[str] = (),
    test: Iterable[str] = (),
    option: str = "train=[{!r}]",
) -> dict[Value, Side]:
    """The side that each value of a split's column stands for, by its usual names or as named here.

    Values that stand for no side are left out: they are nobody's, and the caller says what becomes of them.
    `option` is how the caller's users name a training side in Python, for the message that asks them to.

    >>> sides_of("split", ["train", "dev", "extra"])
    {'train': 'train', 'dev': 'validation'}
    >>> sides_of("fold", [0, 1, 2], train=["0", "1"], test=["2"])
    {0: 'train', 1: 'train', 2: 'test'}
    """
    known = list(values)
    named = _named(column, known, {"train": train, "validation": validation, "test": test})
    words = {} if named else _WORDS
    found = {value: named.get(text(value)) or words.get(text(value).lower()) for value in known}
    sides = {value: side for value, side in found.items() if side is not None}
    if "train" not in sides.values():
        free = [text(value) for value in known if text(value) not in named]
        raise no_side("train", column, known, instead=_ask_for_training(free, option, alone=bool(named)))
    return sides


def words_of(column: SplitColumn, known: Sequence[Value]) -> dict[Value, str]:
    """What each value of the split column stands for; `seen` is our own word, and needs no naming."""
    option = f"split=SplitColumn({column.name!r}, train=[{{!r}}])"
    sides: dict[Value, str] = dict(sides_of(column.name, known, **column.words, option=option))
    return sides | {value: SEEN for value in known if value not in sides and text(value) == SEEN}


def no_side(side: Side, column: str, known: Sequence[Value], *, instead: str) -> ColumnError:
    """The error of a split without a training or a test side."""
    listed = ", ".join(repr(text(value)) for value in known[:8]) or "nothing"
    more = f" and {len(known) - 8:,} more" if len(known) > 8 else ""
    word, why = {
        "train": ("training", "rows are compared with what was trained on"),
        "test": ("test", "the rows of the test side are scored"),
    }.get(side, (side, "rows stand on one side"))
    return ColumnError(f"no value of {column!r} is the {word} side: it holds {listed}{more}", why=why, instead=instead)


def likeliest(free: Sequence[str], words: Sequence[str], *, alone: bool) -> str | None:
    """The one value whose name holds such a word; or the only one that is left, where the others are named.

    >>> likeliest(["Hold-Out!", "Training Set"], ["train"], alone=False)
    'Training Set'
    >>> likeliest(["a", "b"], ["train"], alone=True) is None
    True
    """
    found = [value for value in free if any(word in value.lower() for word in words)]
    if len(found) == 1:
        return found[0]
    return free[0] if alone and len(free) == 1 else None


def _ask_for_training(free: Sequence[str], option: str, *, alone: bool) -> str:
    if not free:
        return "give a column that says which rows were trained on"
    value = likeliest(free, ["train"], alone=alone)
    if value is None:
        return f"say which of them it is: {option.format('VALUE')} (--train-side VALUE)"
    return f"say which value it is, such as {option.format(value)} (--train-side {shlex.quote(value)})"


def _named(column: str, known: list[Value], asked: dict[Side, Iterable[str]]) -> dict[str, Side]:
    """Sides that the caller named, each value of the column at most once."""
    labels = [text(value) for value in known]
    named: dict[str, Side] = {}
    for side, words in asked.items():
        for word in words:
            check_listed(str(word), labels, f"{side} side {word!r}", why=f"{column!r} has no such value")
            if str(word) in named:
                raise SettingError(
                    f"{word!r} is both the {named[str(word)]} and the {side} side",
                    why="a row stands on one side",
                    instead="name it once",
                )
            named[str(word)] = side
    return named
