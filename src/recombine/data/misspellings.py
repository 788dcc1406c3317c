"""Values of a factor that may be another one, written otherwise: 'blu' beside 'blue', 'Male' beside 'male'.

A misspelt value is one that nobody has seen with anything: it takes a row and a column of every map, and its
combinations look unseen. So it is named, and nothing is changed: whether 'Paris' and 'Pairs' are one is for people to
say. Named are values that differ in white space; in the case of their letters, if one is half as common or less; or in
one letter (one too many, one missing, another one, two that changed places), if one is a tenth as common or less.

Not in one letter where words are short or begin otherwise ('rest' and 'test'), where a digit or capitals make it a code
('S1' and 'S2', 'SKUA' and 'SKUB'), where common values differ in one letter too, so that one letter tells values apart
here, nor where most values are rare, as in a list of names.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from recombine.base.words import amount, listing
from recombine.data.support import Support

_RARE = 0.1
"""Of the rows of the other value, up to which one that differs in a letter may be a slip."""
_RARE_CASE = 0.5
_SHORTEST = 4  # letters of the longer one: shorter words differ in one letter as a rule
_CASED = 3  # letters from which on case alone does not tell two things apart, as it does A from a
_NAMED = 3
_UNUSUAL_SPACE = re.compile(r"[^\S \n]|  |\n |^ | \n| $")
_MOST_VALUES = 10_000  # of a factor: with more, letters are not compared


@dataclass(frozen=True)
class Misspelling:
    """A value that may be another one of its factor, and how many rows each of the two has."""

    factor: str
    value: str
    rows: int
    meant: str
    meant_rows: int

    def __str__(self) -> str:
        return f"{self.factor} {self.value!r} ({amount(self.rows, 'row')}) may be {self.meant!r}"


def misspellings(support: Support) -> tuple[Misspelling, ...]:
    """The values that may be misspelt, by factor; declared ones and numbers never are.

    >>> import recombine
    >>> table = {"colour": ["blue"] * 40 + ["red"] * 40 + ["blu"] * 2, "shape": ["disc", "bar"] * 41}
    >>> [str(one) for one in misspellings(recombine.read(table, factors=["colour", "shape"]))]
    ["colour 'blu' (2 rows) may be 'blue'"]
    """
    found: list[Misspelling] = []
    for factor, counts in zip(support.space.factors, support.value_counts, strict=True):
        if not factor.declared and set(map(type, factor.values)) == {str}:
            values = list(map(str, factor.values))
            if len(values) > _MOST_VALUES and _all_written_otherwise(values):
                continue
            rows = dict(zip(values, counts.tolist(), strict=True))
            named = [(one, round(rows[one]), other, round(rows[other])) for one, other in _pairs(rows)]
            found += [Misspelling(factor.name, *one) for one in named]
    return tuple(found)


def describe_misspellings(found: Sequence[Misspelling]) -> str | None:
    """A sentence that names the first of them; None where there are none."""
    if not found:
        return None
    more = [f"{len(found) - _NAMED:,} more"] if len(found) > _NAMED else []
    return f"Perhaps misspelt: {listing([*map(str, found[:_NAMED]), *more])}."


def _pairs(rows: dict[str, float]) -> list[tuple[str, str]]:
    """(the value, what may be meant), each value once; ways of writing are told before letters."""
    found = _slips(rows) if len(rows) <= _MOST_VALUES else {}
    found |= _written_alike(rows)
    return [(value, found[value]) for value in rows if value in found] if found else []


def _commonest_first(rows: dict[str, float], values: Iterable[str]) -> list[str]:
    return sorted(values, key=lambda value: (-rows[value], value))


def _all_written_otherwise(values: Sequence[str]) -> bool:
    """Whether no two of them can differ in white space or case alone: asked of one long text, of 10^6 in no time."""
    text = "\n".join(values)
    spaced = text.isascii() and not _UNUSUAL_SPACE.search(text) and len(text.split("\n")) == len(values)
    return spaced and len(set(text.lower().split("\n"))) == len(values)


def _written_alike(rows: dict[str, float]) -> dict[str, str]:
    """Values that differ from a more common one in white space or in case alone."""
    plainly = {value: " ".join(value.split()) for value in rows}
    often = Counter(map(str.casefold, plainly.values()))
    found: dict[str, str] = {}
    if len(often) == len(rows):
        return found
    first: dict[str, str] = {}
    for value in _commonest_first(rows, (one for one, plain in plainly.items() if often[plain.casefold()] > 1)):
        plain = plainly[value]
        common = first.setdefault(plain.casefold(), value)
        spaced = plain == " ".join(common.split())
        cased = sum(map(str.isalpha, plain)) >= _CASED and rows[value] <= _RARE_CASE * rows[common]
        if common != value and (spaced or cased):
            found[value] = common
    return found


def _slips(rows: dict[str, float]) -> dict[str, str]:
    """Rare values that are one letter off a common one, and of one only; none where that may be how values differ."""
    order = _commonest_first(rows, rows)
    near = _one_letter_apart([value for value in order if _is_word(value)])
    rare = {one: other for one, other in near if rows[one] <= _RARE * rows[other]}
    ambiguous = {one for one, other in near if one in rare and rare[one] != other}
    common = [value for value in order if value not in rare]
    tells = any(rows[one] > _RARE * rows[other] for one, other in near if one not in rare)
    few = sum(rows[value] <= _RARE * rows[order[0]] for value in order) <= len(common) / 2
    return {} if tells or not few else {one: other for one, other in rare.items() if one not in ambiguous}


def _is_word(value: str) -> bool:
    """Whether one letter more or less could be a slip: no digit, and not all capitals, as codes have."""
    return not any(map(str.isdigit, value)) and not value.isupper()


def _one_letter_apart(order: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs (the rarer, the more common) that one slip turns into each other: by what is left without one letter."""
    by_rest: dict[str, list[str]] = defaultdict(list)
    found: dict[tuple[str, str], None] = {}
    for value in order:
        for rest in {value, *(value[:k] + value[k + 1 :] for k in range(1, len(value)))}:  # the first letter stays
            found |= {(value, other): None for other in by_rest[rest] if _is_slip(value, other)}
            by_rest[rest].append(value)
    return list(found)


def _is_slip(one: str, other: str) -> bool:
    """Whether two words are one letter apart, and not merely alike without one letter each.

    >>> [_is_slip("blue", word) for word in ("blu", "bluee", "blxe", "bleu", "bule", "bleus", "bl ue")]
    [True, True, True, True, True, False, False]
    """
    short, long = sorted((one, other), key=len)
    if one == other or len(long) < _SHORTEST or short[0] != long[0] or len(long) - len(short) > 1:
        return False
    at = next((k for k, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
    if len(short) < len(long):
        return short[at:] == long[at + 1 :] and long[at].isalpha()
    swapped = short[at : at + 2] == long[at : at + 2][::-1] and short[at + 2 :] == long[at + 2 :]
    replaced = short[at + 1 :] == long[at + 1 :]
    return (replaced or swapped) and short[at].isalpha() and long[at].isalpha()
