"""Every mistake a user can make, drawn as a tree.

    RecombineError
    ├── SourceError        the table cannot be reached or read
    ├── ColumnError        a column is missing, or cannot serve as what it was given as
    ├── TableError         the table was read, but holds nothing that can be worked with
    │   └── BeyondMemory   it holds more combinations than are worked with in memory
    ├── SpaceError         the declared space contradicts itself or the data
    ├── SettingError       an option has a value that means nothing
    ├── RecordError        a saved result cannot be loaded
    └── OutputError        a result cannot be written

Each error says three things: what was given, why it is wrong, and what to write instead. None of them says a password,
whoever's words they are.
"""

from collections.abc import Callable, Iterable
from difflib import get_close_matches

from recombine.base.redaction import redacted_words


class RecombineError(Exception):
    """The root: catch this to catch every mistake that recombine explains.

    >>> print(RecombineError("no file 'shoe.csv'", why="there is no such file", instead="did you mean 'shoes.csv'?"))
    no file 'shoe.csv'
      why      there is no such file
      instead  did you mean 'shoes.csv'?
    """

    def __init__(self, what: str, *, why: str, instead: str) -> None:
        self.what, self.why, self.instead = map(redacted_words, (what, why, instead))
        super().__init__(self.what, self.why, self.instead)

    def __str__(self) -> str:
        return f"{self.what}\n  why      {self.why}\n  instead  {self.instead}"


class SourceError(RecombineError):
    """The table cannot be reached or read."""


class ColumnError(RecombineError):
    """A column is missing, or cannot serve as what it was given as."""


class TableError(RecombineError):
    """The table was read, but holds nothing that can be worked with."""


class BeyondMemory(TableError):  # noqa: N818 - what is wrong is in the name
    """The table holds more combinations, or values, than are worked with in memory."""


class SpaceError(RecombineError):
    """The declared space contradicts itself or the data."""


class SettingError(RecombineError):
    """An option has a value that means nothing."""


class RecordError(RecombineError):
    """A saved result cannot be loaded."""


class OutputError(RecombineError):
    """A result cannot be written."""


def nearest(wrong: str, known: Iterable[str], *, most: int = 8, by: Callable[[str], str] = str.lower) -> str:
    """What to write instead of a name that is not known: the nearest ones, else the first few.

    `by` is what is compared of a name, so that files are not alike for their endings.

    >>> nearest("materail", ["material", "garment"])
    "did you mean 'material'?"
    >>> nearest("x", ["material", "garment"])
    "write one of 'material', 'garment'"
    """
    names = list(known)
    compared = {by(name): name for name in names}
    close = get_close_matches(by(wrong), compared, n=1, cutoff=0.6)
    if close:
        return f"did you mean {compared[close[0]]!r}?"
    shown = ", ".join(repr(name) for name in names[:most])
    more = f" … ({len(names):,} in all)" if len(names) > most else ""
    return f"write {'one of ' if len(names) > 1 else ''}{shown}{more}"
