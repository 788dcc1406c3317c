"""Concepts in captions: words of a vocabulary that stand in a text become factors, or a set.

A vocabulary lists words by kind. Of several kinds the last one is what is spoken of, and words of the others stand
before it ("a small, dark green cube"): a row is then such a phrase, and each kind a factor. Of a single kind the row
stays a caption, and its value is the set of concepts that it names.

Most captions say what others have said in the same words. So the engine finds phrases (one regular expression, no
groups: those cost it ten times as much), the distinct ones are taken apart here, and joined back. A caption without a
phrase has none of the factors: it is left out and counted, as any row is that misses a factor.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa

from recombine.base.errors import ColumnError, SettingError, SourceError, TableError, nearest
from recombine.base.files import read_text
from recombine.base.words import listing
from recombine.data.engine import OpenTable
from recombine.data.text_columns import TextSearch, text_column
from recombine.data.word_kinds import propose_words

_WORD, _BETWEEN_WORDS = r"[\pL\pM\pN_]", r"[^\pL\pM\pN_]"  # `\b` and `\w` know ASCII alone
_GAP, _LAST_GAP = r"[\s,-]+", r"[\s-]+"  # a full stop ends a phrase, and so does a comma before what is spoken of
_MOST_WORDS = 10_000
_MOST_PHRASES = 10**6
_MOST_PROPOSED = 30
_SET = "concepts"
_EXAMPLE = (
    'write --concepts words.txt, a file with lines such as "colour: red, dark green" and "object: cube = block, ball"'
)


@ibis.udf.scalar.builtin(name="regexp_extract_all")  # type: ignore[untyped-decorator]
def _extract_all(text: str, pattern: str, group: int) -> list[str]:  # type: ignore[empty-body]
    """DuckDB's own; Ibis has no name for it."""


@dataclass(frozen=True)
class ConceptWords:
    """Words by kind, and for each the concept that it stands for."""

    written: str
    prefix: str | None
    """The column that holds the text, where it was named."""
    kinds: Mapping[str, Mapping[str, str]]
    """Empty where words are to be proposed."""

    @classmethod
    def parse(cls, written: str) -> "ConceptWords":
        """A file of words, or the words themselves; a column may stand before both, or alone.

        >>> ConceptWords.parse("text=colour: red, dark green; object: cube = block").kinds
        {'colour': {'red': 'red', 'dark green': 'dark green'}, 'object': {'cube': 'cube', 'block': 'cube'}}
        """
        before, equals, rest = written.partition("=")
        named = bool(equals) and not set(":;,") & set(before)
        words = rest.strip() if named else written.strip()
        column = before.strip() if named else None
        if words.lower().endswith(".txt"):
            words = _lines_of(Path(words))
        elif ":" not in words:
            if named or not words:
                raise SettingError(
                    f"--concepts {written!r}", why="it names neither a file nor a kind", instead=_EXAMPLE
                )
            return cls(written, words, {})
        kinds = _kinds(words, written)
        return cls(written, column, kinds)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that it makes."""
        return tuple(self.kinds)

    @cached_property
    def regex(self) -> str:
        """What finds a phrase, and the rest of its last word: the expression cannot look ahead, so `tags` tells whether
        that word ends where it should.
        """
        *modifiers, last = (_either(words) for words in self.kinds.values())
        before = f"(?:(?:{'|'.join(modifiers)}){_GAP})*(?:{'|'.join(modifiers)}){_LAST_GAP}" if modifiers else ""
        return f"(?i)(?:^|{_BETWEEN_WORDS}){before}(?:{last}){_WORD}*"

    def tags(self, phrase: str) -> list[tuple[str | None, ...]]:
        """What a phrase says: a value of each kind, and more lines where it has several words of a kind; none where it
        goes on otherwise ("red cubed").

        >>> kinds = {"colour": {"red": "red"}, "size": {"big": "big", "huge": "big"}, "object": {"cube": "cube"}}
        >>> ConceptWords("", None, kinds).tags("(huge, red cubes"), ConceptWords("", None, kinds).tags("red cubed")
        ([('red', 'big', 'cube')], [])
        """
        *modifiers, heads = self.kinds.values()
        words = re.split(_GAP, phrase[0 if _in_word(phrase[0]) else 1 :].lower())
        end = next((k for k in range(len(words)) if _concept(heads, words[k:])), len(words))
        said: list[list[str | None]] = [[] for _ in modifiers]
        place = 0
        while place < end < len(words):
            longest = range(end, place, -1)
            stop, k = next(
                (stop, k) for stop in longest for k, kind in enumerate(modifiers) if " ".join(words[place:stop]) in kind
            )
            said[k].append(modifiers[k][" ".join(words[place:stop])])
            place = stop
        several = [list(dict.fromkeys(one)) or [None] for one in said]
        return [(*one, _concept(heads, words[end:])) for one in product(*several)] if end < len(words) else []


def _in_word(sign: str) -> bool:
    return sign == "_" or unicodedata.category(sign)[0] in "LMN"


def _concept(heads: Mapping[str, str], words: list[str]) -> str | None:
    """The concept that words name, in the plural too; "glasses" are a glass, though "glasse" and "s" would do."""
    text = " ".join(words)
    singular = (text, text.removesuffix("es"), text.removesuffix("s"))
    return next((heads[one] for one in singular if one in heads), None)


def _either(words: Iterable[str]) -> str:
    """Any of some words as a regular expression, the longest first; any space or hyphen will do within."""
    some = sorted(words, key=lambda word: (-len(word), word))
    return "|".join(r"[\s-]+".join(map(re.escape, word.split())) for word in some)


def _lines_of(path: Path) -> str:
    try:
        return read_text(path)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise SourceError(f"cannot read '{path}'", why=why, instead=_EXAMPLE) from error


def _kinds(text: str, written: str) -> dict[str, dict[str, str]]:
    """Words by kind, from lines (or parts between semicolons) such as `object: cube = block, ball`."""
    found: dict[str, dict[str, str]] = {}
    name, what = _SET, f"--concepts {written!r:.80}"
    for line in re.split(r"[\n;]", text):
        said, colon, words = line.partition("#")[0].rpartition(":")
        name = " ".join(said.split()) or name
        for one in words.split(","):
            several = [re.sub(r"[\s-]+", " ", word).strip().lower() for word in one.split("=")]
            if several == [""]:
                continue
            _check(name, several, found.setdefault(name, {}), what)
            found[name] |= dict.fromkeys(several, several[0])
        if colon and not said.strip():
            raise SettingError(what, why="a kind has no name", instead=_EXAMPLE)
    if not found:
        raise SettingError(what, why="there is no word in it", instead=_EXAMPLE)
    if sum(map(len, found.values())) > _MOST_WORDS:
        raise SettingError(what, why=f"it has more than {_MOST_WORDS:,} words", instead="leave rare ones out")
    return found


def _check(name: str, words: list[str], known: Mapping[str, str], what: str) -> None:
    odd = [word for word in words if not word or not _in_word(word[0])]
    if odd:
        raise SettingError(what, why=f"{odd[0]!r} is no word", instead="begin each with a letter or a digit")
    twice = [word for word in words if known.get(word, words[0]) != words[0]]
    if twice:
        why = f"{twice[0]!r} stands for both {known[twice[0]]!r} and {words[0]!r} among the words of {name!r}"
        raise SettingError(what, why=why, instead="take it off one of them")


def with_concepts(found: OpenTable, words: ConceptWords) -> OpenTable:
    """The table with a column for each kind, and a row for each phrase; or with a column of lists."""
    if found.backend.name != "duckdb":
        raise SourceError(
            f"--concepts with '{found.name}'",
            why=f"DuckDB finds concepts, and this table lies in {found.backend.name}",
            instead="export the column to Parquet, and give that",
        )
    if not words.kinds:
        raise _proposed(found, words)
    taken = [name for name in words.names if name.lower() in map(str.lower, found.table.columns)]
    if taken:
        raise ColumnError(
            f"--concepts makes a column {taken[0]!r}",
            why="the table has one of that name already",
            instead=f"call the kind something else: {taken[0]}_in_text: …",
        )
    phrases = _extract_all(found.table[caption_column(found, words)], words.regex, 0)
    return replace(
        found, table=_as_set(found, phrases, words) if len(words.kinds) == 1 else _as_rows(found, phrases, words)
    )


def caption_column(found: OpenTable, words: ConceptWords) -> str:
    """The column that holds the captions: the one that is named, or the only one with a phrase."""
    if words.prefix is not None:
        if words.prefix not in found.table.columns:
            raise ColumnError(
                f"no column {words.prefix!r} (given as the captions)",
                why="the table has no such column",
                instead=nearest(words.prefix, found.table.columns),
            )
        if not found.table[words.prefix].type().is_string():
            raise ColumnError(
                f"the captions {words.prefix!r} are no text",
                why="the column is of another type, or empty",
                instead="name a column of text",
            )
    regex = words.regex if words.kinds else r"\S"
    advice = "check that the words are written as they stand in the text"
    return text_column(found, TextSearch("--concepts", words.written, words.prefix, regex, advice))


def _as_rows(found: OpenTable, phrases: Any, words: ConceptWords) -> Any:
    """A row for each phrase; a caption without one stays, and misses its factors."""
    distinct = found.table.select(phrase=phrases.unnest()).distinct().limit(_MOST_PHRASES + 1)
    listed = found.backend.to_pyarrow(distinct)["phrase"].to_pylist()
    if len(listed) > _MOST_PHRASES:
        raise TableError(
            f"'{found.name}' holds more than {_MOST_PHRASES:,} different phrases",
            why="a phrase is made of words of the vocabulary, and words that vary so much are no concepts",
            instead="give fewer words",
        )
    lines = [(phrase, *line) for phrase in listed for line in words.tags(phrase)]
    names = ("recombine_phrase", *words.names)
    tagged = pa.table({name: pa.array([line[k] for line in lines], pa.string()) for k, name in enumerate(names)})
    found.backend.con.register("recombine_phrases", tagged)
    tags = found.backend.table("recombine_phrases")
    several = found.table.mutate(recombine_phrases=phrases)
    none = several.recombine_phrases.length().fill_null(0) == 0
    held = none.ifelse(ibis.array([ibis.null("string")]), several.recombine_phrases)
    rows = several.mutate(recombine_said=held.unnest()).drop("recombine_phrases")
    return rows.left_join(tags, rows.recombine_said == tags.recombine_phrase).drop("recombine_said", "recombine_phrase")


def _as_set(found: OpenTable, phrases: Any, words: ConceptWords) -> Any:
    """A list of concepts for each caption, each once."""
    ((name, heads),) = words.kinds.items()
    whole = f"{words.regex.removesuffix(f'{_WORD}*')}(?:e?s)?$"
    said = phrases.filter(lambda one: one.re_search(whole))
    word = said.map(lambda one: one.re_extract(f"(?i){_either(heads)}", 0).lower().re_replace(_LAST_GAP, " "))
    others = {one: concept for one, concept in heads.items() if one != concept}
    concepts = word.map(lambda one: one.substitute(others)) if others else word
    return found.table.mutate(**{name: concepts.unique()})


def _proposed(found: OpenTable, words: ConceptWords) -> SettingError:
    """What to write, where a column of captions was named and no words."""
    column = found.table[caption_column(found, words)]
    kinds = propose_words(found, column, most=_MOST_PROPOSED)
    if not kinds:
        return SettingError(
            f"--concepts {words.written!r}",
            why="it names captions and no words, and none can be proposed: too few stand before several others",
            instead=_EXAMPLE,
        )
    said = "; ".join(f"{kind}: {', '.join(some)}" for kind, some in kinds.items())
    return SettingError(
        f"--concepts {words.written!r}",
        why=f"it names captions and no words; {listing(list(kinds))} were told apart by what stands beside them",
        instead=f'take out what is wrong, and write --concepts "{words.written}={said}"',
    )
