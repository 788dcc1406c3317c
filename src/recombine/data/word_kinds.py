"""Words of captions told apart by what stands beside them: attributes before what they belong to, objects at the end.

No dictionary and no model: an object is a word after which a phrase mostly ends (with a full stop, a comma, or a word
such as "on" or "and"), an attribute one that mostly has another word after it. Kept are attributes that stand before
two different objects or more, and objects behind two different attributes. The engine counts which word follows which;
only the distinct pairs come here. It is a proposal: participles and names of places slip in, rare words fall through.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import ibis

from recombine.data.engine import OpenTable

_MOST_CAPTIONS = 10**6
_MOST_PAIRS = 200_000
_FEWEST = 3
"""Captions that a pair of words stands in: fewer are chance and misspellings."""
_END = "."
_FUNCTION_WORDS = frozenset(
    re.findall(
        r"\w+",
        "a about above across after against all along also am an and another any are around as at away be because "
        "been before behind being below beneath beside besides between both but by can could did do does down "
        "during each either every few for from front had has have he her here hers him his how i if in inside into "
        "is it its just like many may me might mine more most much must my near no nor not of off on one onto or "
        "other our out outside over own per same several she should so some such than that the their them then "
        "there these they this those three through to together too toward towards two under until up upon very was "
        "we were what when where which while who whom whose why will with within without would you your ",
    )
)


def propose_words(found: OpenTable, column: Any, *, most: int) -> dict[str, list[str]]:
    """The commonest attributes and objects of a column of captions; nothing where none are told apart."""
    some = found.table.select(text=column).filter(lambda one: one.text.notnull()).limit(_MOST_CAPTIONS)
    spaced = some.text.lower().re_replace(r"[^\pL\pM\pN_\s'-]+", f" {_END} ")
    words = (spaced + f" {_END}").strip().re_split(r"\s+")
    pairs = some.select(pair=words[:-1].zip(words[1:]).unnest())
    counted = pairs.group_by(first=pairs.pair.f1, second=pairs.pair.f2).aggregate(rows=pairs.count())
    counted = counted.filter(counted.rows >= _FEWEST).order_by(ibis.desc("rows")).limit(_MOST_PAIRS)
    lines = found.backend.to_pyarrow(counted)
    listed = zip(*(lines[name].to_pylist() for name in ("first", "second", "rows")), strict=True)
    return tell_kinds({(first, second): rows for first, second, rows in listed}, most=most)


def tell_kinds(pairs: Mapping[tuple[str, str], int], *, most: int) -> dict[str, list[str]]:
    """Attributes and objects, given how often each word follows each; the commonest first.

    >>> said = {("red", "cube"): 4, ("red", "ball"): 3, ("old", "cube"): 2, ("old", "ball"): 2}
    >>> ends = {("cube", "on"): 3, ("cube", "."): 3, ("ball", "and"): 5, ("the", "red"): 7}
    >>> tell_kinds(said | ends, most=9)
    {'attribute': ['red', 'old'], 'object': ['cube', 'ball']}
    """
    goes_on: dict[str, int] = defaultdict(int)  # more often than it ends a phrase
    for (first, second), rows in pairs.items():
        ends = not _has_content(second) or second.endswith("ing")  # "a dog sitting on …"
        goes_on[first] += -rows if ends else rows
    named = {
        pair: rows
        for pair, rows in pairs.items()
        if all(map(_has_content, pair)) and goes_on[pair[0]] > 0 >= goes_on[pair[1]]
    }
    while True:  # what is kept must still have two partners when the others are gone
        befores, behinds = _partners(named), _partners((second, first) for first, second in named)
        kept = {one: n for one, n in named.items() if len(befores[one[0]]) > 1 and len(behinds[one[1]]) > 1}
        if len(kept) == len(named):
            break
        named = kept
    often: tuple[dict[str, int], dict[str, int]] = (defaultdict(int), defaultdict(int))
    for pair, rows in named.items():
        for count, word in zip(often, pair, strict=True):
            count[word] += rows
    for count in often:  # the plural is found with the singular
        for word in list(count):
            one = next(
                (one for one in (word[:-1], word[:-2]) if one in count and word in (one + "s", one + "es")), None
            )
            if one is not None:
                count[one] += count.pop(word)
    words = [sorted(count, key=lambda word, of=count: (-of[word], word))[:most] for count in often]  # type: ignore[misc]
    return dict(zip(("attribute", "object"), words, strict=True)) if named else {}


def _has_content(word: str) -> bool:
    return any(map(str.isalpha, word)) and word not in _FUNCTION_WORDS


def _partners(pairs: Iterable[tuple[str, str]]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for one, other in pairs:
        found[one].add(other)
    return found
