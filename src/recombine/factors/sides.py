"""Which side of a split a row stands on, however the split's column words it."""

from collections.abc import Iterable
from typing import Literal

from recombine.errors import ColumnError, SettingError, nearest
from recombine.factors.space import Value, text

Side = Literal["train", "validation", "test"]
SIDES: tuple[Side, ...] = ("train", "validation", "test")
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


def sides_of(
    column: str,
    values: Iterable[Value],
    *,
    train: Iterable[str] = (),
    validation: Iterable[str] = (),
    test: Iterable[str] = (),
) -> dict[Value, Side]:
    """The side that each value of a split's column stands for, by its usual names or as named here.

    Values that stand for no side are left out: they are nobody's, and the caller says what becomes of them.

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
        listed = ", ".join(repr(text(value)) for value in known[:8])
        raise ColumnError(
            f"no value of {column!r} is the training side: it holds {listed}",
            why="rows are compared with what was trained on",
            instead=f"say which value it is, such as train=[{text(known[0])!r}] (--train-side {text(known[0])})"
            if known
            else "give a column that says which rows were trained on",
        )
    return sides


def _named(column: str, known: list[Value], asked: dict[Side, Iterable[str]]) -> dict[str, Side]:
    """Sides that the caller named, each value of the column at most once."""
    labels = [text(value) for value in known]
    named: dict[str, Side] = {}
    for side, words in asked.items():
        for word in words:
            if str(word) not in labels:
                raise SettingError(
                    f"{side} side {word!r}", why=f"{column!r} has no such value", instead=nearest(str(word), labels)
                )
            if str(word) in named:
                raise SettingError(
                    f"{word!r} is both the {named[str(word)]} and the {side} side",
                    why="a row stands on one side",
                    instead="name it once",
                )
            named[str(word)] = side
    return named
