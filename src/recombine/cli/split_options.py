"""The splitter that the options of `recombine split` describe; an option that it does not know is refused."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import recombine
from recombine.base.errors import RecombineError, SettingError, nearest
from recombine.cli import options

_KINDS: dict[str, tuple[str, tuple[str, ...]]] = {
    "combinations": ("HoldOutCombinations", ("test_size", "guarantee", "stratify", "random_state")),
    "conjunctions": ("HoldOutConjunctions", ("conjunctions", "order", "guarantee", "random_state")),
    "simulation": ("HoldOutElements", ("seen_elements", "trained_sets", "random_state")),
    "kfold": ("CombinationKFold", ("n_splits", "guarantee", "stratify", "random_state")),
    "donut": ("Donut", ("hole", "guarantee")),
    "corner": ("Corner", ("at", "guarantee")),
    "diagonal": ("Diagonal", ("width", "guarantee")),
    "planes": ("OrthogonalPlanes", ("through", "guarantee")),
    "divergence": ("CompoundDivergence", ("test_size", "atom_limit", "random_state")),
}
_OPTIONS = {
    "conjunctions": "--hold",
    "n_splits": "--folds",
    "atom_limit": "--atom-limit",
    "test_size": "--share",
    "random_state": "--seed",
    "stratify": "--strata",
}
_SETTING = re.compile(
    r"\b(?P<name>test_size|guarantee|stratify|order|n_splits|width|atom_limit|seen_elements|trained_sets|random_state|seed|column|missing|at)="
    r"(?:'(?P<text>[^' ]+)'|(?P<number>-?[\d.]*\d))"
)
_NEEDED = {
    "conjunctions": ("--hold", 'say what to hold out: --hold "colour=red,shape=square", or a number: --hold 3'),
    "hole": ("--hole", "give limits: --hole 6,22, or --hole x=6,22 once for each factor"),
    "at": ("--at", "give a limit: --at 12, or --at x=12 once for each factor"),
    "width": ("--width", "give a width, where 1 is the whole range: --width 0.2"),
    "through": ("--through", 'give a combination that training keeps: --through "x=0,y=0"'),
}


def splitter(by: str, given: Mapping[str, Any]) -> Any:
    """The splitter `by`, with the settings that were given; the factors are the verb's to give."""
    if by not in _KINDS:
        raise SettingError(f"--by {by}", why="no splitter has that name", instead=nearest(by, _KINDS))
    kind, known = _KINDS[by]
    settings = {name: value for name, value in given.items() if value not in (None, [], {})}
    for name in settings:
        if name not in known:
            option = _option(name)
            owners = [word for word, (_, theirs) in _KINDS.items() if name in theirs]
            raise SettingError(
                f"{option} with --by {by}",
                why=f"it says nothing to that splitter; it belongs to {', '.join(owners)}",
                instead=f"leave {option} out, or write --by {owners[0]}",
            )
    for name in known:
        if name in _NEEDED and name not in settings:
            option, instead = _NEEDED[name]
            raise SettingError(f"--by {by} without {option}", why="it cannot know what to hold out", instead=instead)
    return getattr(recombine, kind)(**settings)


@contextmanager
def as_options() -> Iterator[None]:
    """What the library says of its settings, said in options: `--atom-limit 0.138` rather than `atom_limit=0.138`."""
    try:
        yield
    except RecombineError as error:
        what, why, instead = map(in_options, (error.what, error.why, error.instead))
        raise type(error)(what, why=why, instead=instead) from error


def in_options(said: str) -> str:
    """A sentence with settings as they are written on the command line.

    >>> in_options("write n_splits=5 or more, or guarantee='none'")
    'write --folds 5 or more, or --guarantee none'
    """
    if "(--" in said:  # it names the options already
        return said
    return _SETTING.sub(lambda found: f"{_option(found['name'])} {found['text'] or found['number']}", said)


def _option(name: str) -> str:
    return _OPTIONS.get(name, f"--{name.replace('_', '-')}")


def known(by: str) -> tuple[str, ...]:
    """The settings that a splitter has; none for one that is not there."""
    return _KINDS[by][1] if by in _KINDS else ()


def held(written: list[str]) -> Any:
    """Conjunctions as `colour=red,shape=square`, any number of times, or how many are drawn.

    >>> held(["colour=red,shape=square"]), held(["3"])
    ([{'colour': 'red', 'shape': 'square'}], 3)
    """
    if len(written) == 1 and written[0].isdecimal():
        return options.whole("--hold ", written[0])
    return [_conjunction("--hold", one) for one in written] or None


def through(written: list[str]) -> Any:
    """Whole combinations that training keeps."""
    return [_conjunction("--through", one) for one in written] or None


def limits(option: str, written: list[str], *, pairs: bool) -> Any:
    """One limit for all factors, or one for each: `12`, `x=12`; with pairs `6,22`, `x=6,22`.

    >>> limits("--at", ["x=12"], pairs=False), limits("--hole", ["6,22"], pairs=True)
    ({'x': 12}, (6, 22))
    """
    if not written:
        return None
    named = [one.partition("=") for one in written]
    if len(written) == 1 and not named[0][1]:
        return _limit(option, written[0], pairs)
    if not all(name and equals for name, equals, _ in named):
        raise SettingError(
            f"{option} {' '.join(written)}",
            why="there is one limit for all factors, or one for each by its name",
            instead=f"write {option} 12, or {option} x=12 {option} y=3",
        )
    return {name: _limit(option, value, pairs) for name, _, value in named}


def _limit(option: str, written: str, pairs: bool) -> Any:
    parts = [_value(part) for part in options.names([written])]
    if pairs and len(parts) != 2:
        raise SettingError(
            f"{option} {written}", why="a hole has a lower and an upper limit", instead=f"write {option} 6,22"
        )
    return tuple(parts) if pairs else _value(written)


def _conjunction(option: str, written: str) -> dict[str, Any]:
    pairs = [part.partition("=") for part in options.names([written])]
    if not pairs or not all(name and equals for name, equals, _ in pairs):
        raise SettingError(
            f"{option} {written}",
            why="it is not of the form FACTOR=VALUE,FACTOR=VALUE",
            instead=f'write for example {option} "colour=red,shape=square"',
        )
    return {name.strip(): value.strip() for name, _, value in pairs}


def _value(written: str) -> Any:
    """A number where it is one, else the text."""
    for kind in (int, float):
        try:
            return kind(written)
        except ValueError:
            continue
    return written
