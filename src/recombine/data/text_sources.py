"""The address of a table, with what makes factors of a text in it."""

from collections.abc import Iterable
from dataclasses import dataclass

from recombine.data.captions import ConceptWords, caption_column, with_concepts
from recombine.data.engine import OpenTable
from recombine.data.text_columns import TextPattern, text_column, with_slots


class TextSource(str):
    """The address of a table, with patterns, or with words of concepts, that make factors of a text in it.

    A text itself, so that whatever asks for an address (what may be overwritten, what is redacted) finds one.
    """

    __slots__ = ("concepts", "patterns")
    patterns: tuple[TextPattern, ...]
    concepts: ConceptWords | None

    def __new__(cls, address: str, patterns: Iterable[str] = (), concepts: str | None = None) -> "TextSource":
        """An address and what is looked for, as it is written on the command line."""
        found = super().__new__(cls, address)
        found.patterns = tuple(map(TextPattern.parse, patterns))
        found.concepts = None if concepts is None else ConceptWords.parse(concepts)
        return found


@dataclass(frozen=True)
class TextUse:
    """Which columns of text are taken apart, and the column of sets that was made of them."""

    columns: tuple[str, ...]
    set: str | None


def with_text_columns(found: OpenTable, source: TextSource) -> OpenTable:
    """The table with the columns that are made of its text."""
    found = with_slots(found, source.patterns)
    return found if source.concepts is None else with_concepts(found, source.concepts)


def text_use(found: OpenTable, source: TextSource) -> TextUse:
    """What is done with a table's text."""
    columns = [text_column(found, pattern.search) for pattern in source.patterns]
    words = source.concepts
    columns += [] if words is None else [caption_column(found, words)]
    return TextUse(tuple(columns), words.names[0] if words is not None and len(words.names) == 1 else None)
