"""Models of test matrices, as PICT reads them: a line for each parameter with its values, then rules.

Written down from PICT's documentation. A value may have other names (`Windows 11 | Win11`: the first is taken), a
weight (`(10)`: read over, since a plan weighs by cost) and a `~` before it, which says that a test may hold one such
value at most; values of another parameter are taken over by `<Other>`. Sub-models are refused.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np

from recombine.base.errors import SourceError
from recombine.base.files import read_text
from recombine.base.records import Provenance
from recombine.data.space import Impossible, Space
from recombine.data.support import Support

_WEIGHT = re.compile(r"\s*\(\d+\)\s*$")
_RULE = re.compile(r"\s*(?:IF\b|NOT\b|\(|\[)", re.IGNORECASE)
_END = re.compile(r';(?=(?:[^"]*"[^"]*")*[^"]*$)')  # of a rule: a semicolon outside of quotes


@dataclass(frozen=True)
class PictModel:
    """A test matrix before anything was run: what could occur, and what cannot.

    `domain` and `impossible` are what `recombine.read` takes under these names.
    """

    domain: Mapping[str, tuple[str, ...]]
    rules: tuple[str, ...] = ()
    weighted: bool = False
    """Whether weights were read over."""

    @property
    def impossible(self) -> list[Impossible]:
        """The rules, and pairs of values of which a test may hold one at most."""
        invalid = [(name, value) for name, values in self.domain.items() for value in values if value.startswith("~")]
        pairs: list[Impossible] = [dict(pair) for pair in combinations(invalid, 2) if pair[0][0] != pair[1][0]]
        return [*self.rules, *pairs]


def untested(path: str | Path, *, command: str | None = None) -> Support:
    """A model's combinations, of which none was tried yet."""
    model = read_pict(path)
    space = Space.of(model.domain, impossible=model.impossible)
    codes = np.zeros((0, len(space.factors)), dtype=np.int32)
    return Support(space, codes, np.zeros(0), source=Provenance(source=str(path), command=command))


def read_pict(path: str | Path) -> PictModel:
    """The model in a file."""
    place = Path(path)
    try:
        written = read_text(place)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise SourceError(
            f"cannot read '{place}'", why=why, instead="give a PICT model: a line `Name: value, value` for each"
        ) from error
    return parse_pict(written, name=str(place))


def parse_pict(written: str, *, name: str = "the model") -> PictModel:
    """A model from its text.

    >>> model = parse_pict('os: iOS, Linux (10)\\nui: dark, light\\nIF [os] = "iOS" THEN [ui] = "dark";')
    >>> model.domain, model.rules
    ({'os': ('iOS', 'Linux'), 'ui': ('dark', 'light')}, ('IF [os] = "iOS" THEN [ui] = "dark"',))
    """
    lines = [line.rstrip() for line in written.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    first = next((k for k, line in enumerate(lines) if _RULE.match(line)), len(lines))
    domain: dict[str, tuple[str, ...]] = {}
    weighted = False
    for line in lines[:first]:
        if line.lstrip().startswith("{"):
            raise _refused(
                name, line, why="sub-models are not read", instead="leave it out: `--goal triples` covers more"
            )
        parameter, colon, values = line.partition(":")
        if not colon or not parameter.strip() or not values.strip():
            raise _refused(name, line, why="it is neither a parameter nor a rule", instead="write Name: value, value")
        if parameter.strip() in domain:
            raise _refused(name, line, why="that parameter is there already", instead="name each once")
        weighted |= any(_WEIGHT.search(value) for value in values.split(","))
        domain[parameter.strip()] = tuple(dict.fromkeys(_values(values, domain, name, line)))
    if len(domain) < 2:
        raise SourceError(
            f"'{name}' has {len(domain)} parameters",
            why="combinations are of two or more",
            instead="write a line `Name: value, value` for each",
        )
    rules = _END.split(" ".join(lines[first:]))
    return PictModel(domain, tuple(rule.strip() for rule in rules if rule.strip()), weighted)


def _values(written: str, domain: Mapping[str, tuple[str, ...]], name: str, line: str) -> list[str]:
    found: list[str] = []
    for part in written.split(","):
        value = _WEIGHT.sub("", part).split("|")[0].strip()
        if value.startswith("<") and value.endswith(">"):
            if value[1:-1].strip() not in domain:
                raise _refused(name, line, why=f"{value} names no parameter above", instead="list the values")
            found += domain[value[1:-1].strip()]
        elif not value:
            raise _refused(name, line, why="a value is empty", instead="take a comma off")
        else:
            found.append(value)
    return found


def _refused(name: str, line: str, *, why: str, instead: str) -> SourceError:
    return SourceError(f"'{name}': {line.strip()!r:.80}", why=why, instead=instead)
