"""Factors that stand in a text: a pattern such as "pick the {object} from the {surface}" makes a column of each brace.

The engine does it, with one regular expression, so the table may be as large as it likes. The words of a pattern are
matched in any case and with any space between them, to the end of the text but for a full stop. A text that does not
match has none of the factors: its row is left out and counted, as any row is that misses a factor. Of several patterns
the first that matches tells.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import reduce
from itertools import pairwise, zip_longest
from typing import Any

from recombine.base.errors import ColumnError, SettingError, TableError, nearest
from recombine.data.engine import OpenTable

_SLOT = re.compile(r"\{([^{}]*)\}")
_PREFIX = re.compile(r"\s*([^{}=]+?)\s*=(?=.)", re.DOTALL)
_EXAMPLE = 'write for example --pattern "pick the {object} from the {surface}"'


@dataclass(frozen=True)
class TextPattern:
    """A text with braces where it varies."""

    written: str
    names: tuple[str, ...]
    regex: str
    prefix: str | None = None
    """What stands before the first `=`, if a column is called so: the column that holds the text."""

    @property
    def search(self) -> "TextSearch":
        """What is looked for."""
        advice = "write the words that never change as they stand there, and braces around a name for those that do"
        return TextSearch("--pattern", self.written, self.prefix, self.regex, advice)

    @classmethod
    def parse(cls, written: str) -> "TextPattern":
        """What a pattern says, checked.

        >>> found = TextPattern.parse("task=pick the {object} from the {surface}")
        >>> found.prefix, found.names, re.match(found.regex, "Pick the red cup from the table.").groups()
        ('task', ('object', 'surface'), ('red cup', 'table'))
        """
        before = _PREFIX.match(written)
        text = written if before is None else written[before.end() :]
        words, names = _SLOT.split(text)[::2], tuple(_SLOT.split(text)[1::2])
        why = _slip(words, names)
        if why:
            raise SettingError(f"--pattern {written!r}", why=why, instead=_EXAMPLE)
        slots = zip_longest(map(_fixed, words), names)
        body = "".join(fixed + ("" if name is None else "(.+?)") for fixed, name in slots)
        return cls(written, names, rf"(?is)^\s*{body}\s*[.!?]?\s*$", before and before[1])


def _slip(words: Sequence[str], names: Sequence[str]) -> str:
    """What is wrong with a pattern, if anything."""
    if not names:
        return "nothing in it stands in braces, so it names no factor"
    if not all(name.strip() for name in names) or len(set(names)) < len(names):
        return "each pair of braces holds a name of its own"
    if "" in words[1:-1]:
        return "between two braces stands nothing that tells where one ends and the next begins"
    return "a brace is not closed" if set("{}") & set("".join(words)) else ""


def _fixed(words: str) -> str:
    """Words as a regular expression that any of the engines reads; any space will do between them."""
    return r"\s+".join(re.escape(part) for part in re.split(r"\s+", words))


def suggest_pattern(texts: Iterable[str]) -> str | None:
    """The words that all texts have in common, in order, and braces where they differ; None where that says little.

    >>> suggest_pattern(["Pick the cup.", "Pick the red ball."]), suggest_pattern(["open it", "go home"])
    ('Pick the {a}', None)
    """
    listed = [text.strip().rstrip(".!?").split() for text in texts]
    common = reduce(_common_words, listed, listed[0] if listed else [])
    gaps = [_gaps(words, common) for words in listed]
    varies = [all(one[place] for one in gaps) for place in range(len(common) + 1)]
    if not common or sum(varies) == 0 or any(one[k] and not varies[k] for one in gaps for k in range(len(varies))):
        return None
    names = iter("abcdefghijklmnopqrstuvwxyz")
    if sum(varies) > 26:
        return None
    parts = [f"{{{next(names)}}}" if varies[0] else ""]
    for word, after in zip(common, varies[1:], strict=True):
        parts += [word, f"{{{next(names)}}}" if after else ""]
    return " ".join(filter(None, parts))


def _common_words(one: list[str], other: list[str]) -> list[str]:
    blocks = SequenceMatcher(None, one, other, autojunk=False).get_matching_blocks()
    return [word for block in blocks for word in one[block.a : block.a + block.size]]


def _gaps(words: list[str], common: list[str]) -> list[int]:
    """How many words stand before each of the common ones, and after the last."""
    ends = [-1]
    for word in common:
        ends.append(words.index(word, ends[-1] + 1))
    return [after - before - 1 for before, after in pairwise([*ends, len(words)])]


def with_slots(found: OpenTable, patterns: Iterable[TextPattern]) -> OpenTable:
    """The table with a column for each brace; where no row matches, or a name is taken, that is said."""
    pieces: dict[str, list[Any]] = {}
    for pattern in patterns:
        column = found.table[text_column(found, pattern.search)]
        for place, name in enumerate(pattern.names):
            matched = column.re_search(pattern.regex).ifelse(column.re_extract(pattern.regex, place + 1), None)
            pieces.setdefault(name, []).append(matched)
    taken = [name for name in pieces if name.lower() in map(str.lower, found.table.columns)]
    if taken:
        raise ColumnError(
            f"the pattern makes a column {taken[0]!r}",
            why="the table has one of that name already",
            instead=f"call it something else: {{{taken[0]}_in_text}}",
        )
    added = {name: reduce(lambda one, other: one.coalesce(other), several) for name, several in pieces.items()}
    return replace(found, table=found.table.mutate(**added))


@dataclass(frozen=True)
class TextSearch:
    """What is looked for in a text, and how the user asked for it."""

    option: str
    written: str
    prefix: str | None
    regex: str
    advice: str


def text_column(found: OpenTable, asked: TextSearch) -> str:
    """The column that holds the text: the one that is named, or the only one in which a row matches."""
    texts = [str(name) for name, kind in found.table.schema().items() if kind.is_string()]
    if asked.prefix in found.table.columns:
        texts = [name for name in texts if name == asked.prefix]
    matching = [name for name in texts if _rows(found, found.table[name], asked.regex)]
    if len(matching) == 1:
        return matching[0]
    if matching:
        raise SettingError(
            f"{asked.option} {asked.written!r}",
            why=f"rows of {' and '.join(matching)} match it",
            instead=f'name the column: {asked.option} "{matching[0]}={asked.written}"',
        )
    if not texts:
        raise ColumnError(
            f"{asked.option} {asked.written!r}",
            why="the table has no column of text",
            instead="name factors themselves",
        )
    such = {name: max(_rows(found, found.table[name], "."), default="") for name in texts}
    column = max(texts, key=lambda name: len(such[name]))
    raise TableError(
        f"no row matches {asked.option} {asked.written!r:.200}",
        why=f"a row of {column!r} reads {such[column]!r:.120}" if such[column] else f"{column!r} holds no text",
        instead=asked.advice + ("" if asked.prefix in (None, *texts) else f"; {nearest(str(asked.prefix), texts)}"),
    )


def _rows(found: OpenTable, column: Any, regex: str) -> list[str]:
    """One text that matches, if there is one."""
    some = found.table.filter(column.re_search(regex)).select(text=column).limit(1)
    return [str(text) for text in found.backend.to_pyarrow(some)["text"].to_pylist()]
