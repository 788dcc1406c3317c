"""What cannot occur, said as rules: `IF os = "iOS" THEN browser = "Safari"`.

The language is that of PICT models (Microsoft's tool for test matrices), written down from its documentation: `IF` …
`THEN` … `ELSE`, a bare predicate that always holds, `AND`, `OR`, `NOT`, parentheses, `=`, `<>`, `<`, `<=`, `>`, `>=`,
`LIKE` with `*` and `?`, `IN {…}`, and a factor against another one. A factor's name stands in brackets, or plain where
it is one word.

A rule becomes the conjunctions that break it: its opposite, as a list of cases each of which allows every factor some
values (a disjunctive normal form), written out. That is what `Space` takes, so that no verb has to know of rules.
"""

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import product
from typing import Any

import numpy as np

from recombine.base.errors import SettingError, SpaceError, nearest
from recombine.base.words import text

Values = Mapping[str, Sequence[Any]]
Case = Mapping[str, frozenset[int]]
"""One way in which something is so: the values, by position, that each factor it speaks of may have."""
Broken = list[tuple[tuple[str, int], ...]]
"""Conjunctions that break a rule, each as factors with the positions of their values."""
_Join = Callable[[list[Case], list[Case]], list[Case]]

_MOST_CASES = 100_000  # conjunctions of one rule; a model of a hundred parameters has a few hundred
_TOKEN = re.compile(
    r"""\s*(?: \[(?P<bracketed>[^\]]*)\] | "(?P<text>[^"]*)" | (?P<number>-?\d+(?:\.\d+)?)(?![\w.])
    | (?P<sign><>|<=|>=|=|<|>|\(|\)|\{|\}|,|;) | (?P<word>\w[\w.-]*) )""",
    re.VERBOSE,
)
_RELATIONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_OPPOSITE = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_KEYWORDS = ("IF", "THEN", "ELSE", "AND", "OR", "NOT", "LIKE", "IN")


def forbidden(rules: str, values: Values) -> list[dict[str, Any]]:
    """The conjunctions that break one of these rules, each a mapping from factors to values.

    >>> values = {"os": ["iOS", "Linux"], "browser": ["Safari", "Firefox"]}
    >>> forbidden('IF os = "iOS" THEN browser = "Safari"', values)
    [{'os': 'iOS', 'browser': 'Firefox'}]
    """
    return [{name: values[name][place] for name, place in row} for row in _conjunctions(rules, values)]


def ruled_out(rules: Sequence[str], values: Values) -> list[dict[str, Any]]:
    """The conjunctions that break any of several rules; rules that contradict each other are refused.

    >>> ruled_out(['a = 1', 'b = 1'], {"a": [1, 2], "b": [1, 2]})
    [{'a': 2}, {'b': 2}]
    """
    broken = [_conjunctions(rule, values) for rule in rules]
    _refuse_contradictions(rules, broken, values)
    return [{name: values[name][place] for name, place in row} for rows in broken for row in rows]


def _conjunctions(rules: str, values: Values) -> Broken:
    found: dict[tuple[tuple[str, int], ...], None] = {}
    for broken in _Rules(rules, values).broken():
        for case in broken:
            names = [name for name in values if name in case]
            for places in product(*(sorted(case[name]) for name in names)):
                found[tuple(zip(names, places, strict=True))] = None
            _check_size(len(found), rules)
    return list(found)


def _check_size(cases: int, rules: str) -> None:
    if cases > _MOST_CASES:
        raise SpaceError(
            f"the rule {rules!r:.80} stands for more than {_MOST_CASES:,} conjunctions",
            why="each of them is written out",
            instead="split the rule, or group values first",
        )


def check_satisfiable(rules: Sequence[str], values: Values) -> None:
    """Refuse rules that no combination fulfils together, and name the few that contradict each other.

    A whole-number program says whether any combination is left: a 0 or 1 for every value, one value a factor, and of
    no forbidden conjunction all values. Then every rule that is not needed for the contradiction is taken off.

    >>> check_satisfiable(['size > 3', 'size < 2'], {"size": [1, 2, 3, 4]})
    Traceback (most recent call last):
    ...
    recombine.base.errors.SpaceError: no combination fulfils 'size > 3' and 'size < 2'
      why      they contradict each other
      instead  take one of them off, or check its values and signs
    """
    _refuse_contradictions(rules, [_conjunctions(rule, values) for rule in rules], values)


def _refuse_contradictions(rules: Sequence[str], broken: Sequence[Broken], values: Values) -> None:
    if not rules or _some_fulfils(broken, values):
        return
    needed = list(range(len(rules)))
    for place in range(len(rules)):
        fewer = [k for k in needed if k != place]
        if not _some_fulfils([broken[k] for k in fewer], values):
            needed = fewer
    named = " and ".join(repr(rules[k]) for k in needed)
    raise SpaceError(
        f"no combination fulfils {named}",
        why="they contradict each other" if len(needed) > 1 else "it contradicts itself",
        instead="take one of them off, or check its values and signs",
    )


def _some_fulfils(broken: Sequence[Broken], values: Values) -> bool:
    from scipy.optimize import Bounds, LinearConstraint, milp  # noqa: PLC0415 - slow to import, and for rules alone
    from scipy.sparse import csr_array  # noqa: PLC0415

    starts = dict(zip(values, np.cumsum([0, *map(len, values.values())])[:-1].tolist(), strict=True))
    rows = [[starts[name] + place for name, place in row] for rule in broken for row in rule]
    rows += [list(range(starts[name], starts[name] + len(listed))) for name, listed in values.items()]
    above = np.array([len(row) - 1 for row in rows[: -len(values)]] + [1] * len(values))
    below = np.array([0] * (len(rows) - len(values)) + [1] * len(values))
    ends = np.cumsum([0, *map(len, rows)], dtype=np.int32)  # 32 bits: SciPy 1.13 solves with no others
    width = sum(map(len, values.values()))
    columns = np.array([place for row in rows for place in row], np.int32)
    held = csr_array((np.ones(ends[-1]), columns, ends), (len(rows), width))
    limits = LinearConstraint(held, below, above)
    return bool(milp(np.zeros(width), integrality=np.ones(width), bounds=Bounds(0, 1), constraints=limits).success)


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str


class _Rules:
    """A reader of rules, one token at a time; each predicate is read with whether it is denied."""

    def __init__(self, rules: str, values: Values) -> None:
        self.rules = rules
        self.values = values
        self.tokens = list(self._split(rules))
        self.place = 0

    def _split(self, rules: str) -> Iterator[_Token]:
        end = len(rules.rstrip())
        place = 0
        while place < end:
            match = _TOKEN.match(rules, place)
            if match is None:
                raise self._unclear(rules[place:end].strip()[:20])
            place = match.end()
            kind = str(match.lastgroup)
            written = match[kind]
            word = kind == "word" and written.upper() in _KEYWORDS
            yield _Token("keyword", written.upper()) if word else _Token(kind, written)

    def broken(self) -> Iterator[list[Case]]:
        """For each rule, the cases in which it is broken."""
        while self.place < len(self.tokens):
            yield self._rule()
            if not self._take(";") and self.place < len(self.tokens):
                raise self._unclear(self.tokens[self.place].text)

    def _rule(self) -> list[Case]:
        if not self._take("IF"):
            return self._any(denied=True)
        start = self.place
        holds = self._any(denied=False)
        self.place = start
        fails = self._any(denied=True)
        self._need("THEN")
        cases = _both(holds, self._any(denied=True))
        return cases + _both(fails, self._any(denied=True)) if self._take("ELSE") else cases

    def _any(self, *, denied: bool) -> list[Case]:
        return self._joined("OR", self._all, _both if denied else _either, denied=denied)

    def _all(self, *, denied: bool) -> list[Case]:
        return self._joined("AND", self._clause, _either if denied else _both, denied=denied)

    def _joined(self, word: str, part: Callable[..., list[Case]], join: _Join, *, denied: bool) -> list[Case]:
        found = part(denied=denied)
        while self._take(word):
            found = join(found, part(denied=denied))
            _check_size(len(found), self.rules)
        return found

    def _clause(self, *, denied: bool) -> list[Case]:
        if self._take("NOT"):
            return self._clause(denied=not denied)
        if self._take("("):
            found = self._any(denied=denied)
            self._need(")")
            return found
        return self._comparison(denied=denied)

    def _comparison(self, *, denied: bool) -> list[Case]:
        name = self._factor()
        if self._take("LIKE"):
            pattern = self._next("text").casefold()
            return self._where(name, lambda value: fnmatchcase(text(value).casefold(), pattern) != denied)
        if self._take("IN"):
            allowed = frozenset[int]().union(*(self._equal(name, literal) for literal in self._list()))
            return self._case(name, frozenset(range(len(self.values[name]))) - allowed if denied else allowed)
        sign = self._next("sign")
        if sign not in _RELATIONS:
            raise self._unclear(sign)
        relation = _OPPOSITE[sign] if denied else sign
        other = self._peek()
        if other is not None and other.kind in ("bracketed", "word"):
            return self._against(name, relation, self._factor())
        literal = self._literal()
        if relation in ("=", "<>"):
            equal = self._equal(name, literal)
            return self._case(name, equal if relation == "=" else frozenset(range(len(self.values[name]))) - equal)
        return self._where(name, lambda value: _compared(value, relation, literal.text, self.rules))

    def _case(self, name: str, allowed: frozenset[int]) -> list[Case]:
        return [{name: allowed}] if allowed else []

    def _where(self, name: str, holds: Callable[[Any], bool]) -> list[Case]:
        return self._case(name, frozenset(k for k, value in enumerate(self.values[name]) if holds(value)))

    def _against(self, one: str, relation: str, other: str) -> list[Case]:
        """A factor against another: a case for each value of the first."""
        found: list[Case] = []
        for k, value in enumerate(self.values[one]):
            fits = [
                place
                for place, theirs in enumerate(self.values[other])
                if _compared(value, relation, text(theirs), self.rules)
            ]
            if one == other:
                fits = [place for place in fits if place == k]
            found += [{one: frozenset([k])} | {other: frozenset(fits)}] if fits else []
        return found

    def _equal(self, name: str, literal: _Token) -> frozenset[int]:
        """The values that a literal means: as it is written, else as the same number, else in other letters."""
        values = self.values[name]
        for same in (_same_text, _same_number, _same_letters):
            found = frozenset(k for k, value in enumerate(values) if same(text(value), literal.text))
            if found:
                return found
        raise SpaceError(
            f"the rule {self.rules!r:.80} speaks of {name} = {literal.text!r}",
            why=f"{name!r} has no such value",
            instead=nearest(literal.text, [text(value) for value in values]),
        )

    def _list(self) -> Iterator[_Token]:
        self._need("{")
        yield self._literal()
        while self._take(","):
            yield self._literal()
        self._need("}")

    def _literal(self) -> _Token:
        token = self._peek()
        if token is None or token.kind not in ("text", "number"):
            raise self._unclear(token.text if token else "the end")
        self.place += 1
        return token

    def _factor(self) -> str:
        token = self._peek()
        if token is None or token.kind not in ("bracketed", "word"):
            raise self._unclear(token.text if token else "the end")
        if token.text not in self.values:
            raise SpaceError(
                f"the rule {self.rules!r:.80} speaks of {token.text!r}",
                why="it is no factor; and a value stands in double quotes",
                instead=nearest(token.text, list(self.values)),
            )
        self.place += 1
        return token.text

    def _peek(self) -> _Token | None:
        return self.tokens[self.place] if self.place < len(self.tokens) else None

    def _take(self, written: str) -> bool:
        token = self._peek()
        found = token is not None and token.kind in ("sign", "keyword") and token.text == written
        self.place += found
        return found

    def _need(self, written: str) -> None:
        if not self._take(written):
            token = self._peek()
            raise self._unclear(token.text if token else "the end", expected=written)

    def _next(self, kind: str) -> str:
        token = self._peek()
        if token is None or token.kind != kind:
            raise self._unclear(token.text if token else "the end")
        self.place += 1
        return token.text

    def _unclear(self, at: str, *, expected: str | None = None) -> SettingError:
        return SettingError(
            f"the rule {self.rules!r:.80} is unclear at {at!r}",
            why=f"{expected} is expected there" if expected else "the words do not make a rule",
            instead='write for example IF os = "iOS" THEN browser = "Safari", a value in double quotes',
        )


def _either(one: list[Case], other: list[Case]) -> list[Case]:
    return one + other


def _both(one: list[Case], other: list[Case]) -> list[Case]:
    """Every case of the one together with every case of the other, where they do not exclude each other."""
    met = (
        {name: a.get(name, b.get(name, frozenset())) & b.get(name, a.get(name, frozenset())) for name in {**a, **b}}
        for a, b in product(one, other)
    )
    return [case for case in met if all(case.values())]


def _same_text(value: str, literal: str) -> bool:
    return value.removeprefix("~") == literal.removeprefix("~")


def _same_letters(value: str, literal: str) -> bool:
    return _same_text(value.casefold(), literal.casefold())


def _same_number(value: str, literal: str) -> bool:
    one, other = _number(value), _number(literal)
    return one is not None and one == other


def _number(written: str) -> float | None:
    try:
        return float(written.removeprefix("~"))
    except ValueError:
        return None


def _compared(value: Any, relation: str, literal: str, rules: str) -> bool:
    """As numbers where both are, as words where neither is; one of each can only be unequal."""
    written = text(value)
    one, other = _number(written), _number(literal)
    if one is not None and other is not None:
        return _RELATIONS[relation](one, other)
    if (one is None) != (other is None):
        if relation in ("=", "<>"):
            return relation == "<>"
        raise SpaceError(
            f"the rule {rules!r:.80} asks whether {written!r} {relation} {literal!r}",
            why="a number and a word have no order",
            instead="compare numbers with numbers, or list the values with IN",
        )
    return _RELATIONS[relation](written.casefold(), literal.casefold())
