"""Settings that mean nothing are refused when they are given, in the same words by every verb, splitter and task.

Each check takes the setting's name and its value, and raises a `SettingError` that names both. The usual words say why
and what to write instead; whoever knows better (`why`, `instead`) says so.
"""

import math
from abc import ABCMeta
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from numbers import Integral, Real
from typing import Any, NoReturn

from recombine.base.errors import RecombineError, SettingError, nearest


class WordedSettings(ABCMeta):
    """The type of dataclasses that users make: a setting that there is not, or that is missing, is told in words.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Settings(metaclass=WordedSettings):
    ...     optimiser: str = "adam"
    >>> Settings(optimizer="sgd")
    Traceback (most recent call last):
    ...
    recombine.base.errors.SettingError: Settings has no setting 'optimizer'
      why      its settings are optimiser
      instead  did you mean 'optimiser'?
    """

    def __call__(cls, *args: Any, **given: Any) -> Any:
        """Make one."""
        if is_dataclass(cls):
            known = {one.name: one for one in fields(cls) if one.init}
            _check_known(cls.__name__, given, list(known))
            required = [n for n, one in known.items() if one.default is MISSING and one.default_factory is MISSING]
            absent = [name for name in required if name not in given and known[name].kw_only]
            if absent:
                raise SettingError(
                    f"{cls.__name__} without {absent[0]!r}",
                    why=f"it has no value of its own; what must be given is {', '.join(required)}",
                    instead=f"write {cls.__name__}({absent[0]}=…)",
                )
        return super().__call__(*args, **given)


def _check_known(kind: str, given: Iterable[str], known: Sequence[str]) -> None:
    for name in given:
        if name not in known:
            raise SettingError(
                f"{kind} has no setting {name!r}",
                why=f"its settings are {', '.join(known) or 'none'}",
                instead=nearest(name, known) if known else f"write {kind}()",
            )


def is_whole(value: Any) -> bool:
    """Whether something is a whole number, Python's or NumPy's; true and false are none.

    >>> is_whole(3), is_whole(True), is_whole(3.0)
    (True, False, False)
    """
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Whether something is a finite number; true and false are none.

    >>> is_number(0.5), is_number(float("nan")), is_number("1")
    (True, False, False)
    """
    number = not isinstance(value, bool) and isinstance(value, Real)
    return number and math.isfinite(value)


def check_choice(
    name: str, value: Any, choices: Iterable[Any], *, why: str | None = None, instead: str | None = None
) -> None:
    """One of a few words.

    >>> check_choice("goal", "levrage", ["pairs", "leverage"])
    Traceback (most recent call last):
    recombine.base.errors.SettingError: goal='levrage'
      why      that is not one of the choices
      instead  did you mean 'leverage'?
    """
    known = list(choices)
    if not any(value is choice or (type(value) is type(choice) and value == choice) for choice in known):
        suggested = nearest(str(value), [str(choice) for choice in known])
        _refuse(name, value, why or "that is not one of the choices", instead or suggested)


def check_whole(
    name: str, value: Any, *, least: int, most: int | None = None, why: str | None = None, instead: str | None = None
) -> None:
    """A whole number that is large enough, and not too large.

    >>> check_whole("tries", 0, least=1)
    Traceback (most recent call last):
    recombine.base.errors.SettingError: tries=0
      why      it is a whole number, 1 or more
      instead  write tries=5
    """
    if not is_whole(value) or value < least or (most is not None and value > most):
        limits = f"{least} or more" if most is None else f"from {least} to {most:,}"
        usual = max(least, 5) if most is None else min(max(least, 5), most)
        _refuse(name, value, why or f"it is a whole number, {limits}", instead or f"write {name}={usual}")


def check_number(
    name: str,
    value: Any,
    *,
    least: float | None = None,
    above: float | None = None,
    most: float | None = None,
    below: float | None = None,
    why: str | None = None,
    instead: str | None = None,
) -> None:
    """A finite number within its limits: `least` and `most` may be reached, `above` and `below` may not.

    >>> check_number("ridge", -1, least=0)
    Traceback (most recent call last):
    recombine.base.errors.SettingError: ridge=-1
      why      it is a finite number from 0 on
      instead  write for example ridge=0.1
    """
    fits = is_number(value) and not (
        (least is not None and value < least)
        or (above is not None and value <= above)
        or (most is not None and value > most)
        or (below is not None and value >= below)
    )
    if not fits:
        said = f"it is a finite number {_limits(least, above, most, below)}"
        _refuse(name, value, why or said, instead or f"write for example {name}=0.1")


def _limits(least: float | None, above: float | None, most: float | None, below: float | None) -> str:
    start = f"above {above}" if least is None else f"from {least}"
    if most is None and below is None:
        return start if least is None else f"{start} on"
    return f"{start} to {most}" if below is None else f"{start} to below {below}"


def check_share(name: str, value: Any, *, why: str | None = None, instead: str | None = None) -> None:
    """A share that leaves something on both sides: between 0 and 1, neither of them reached.

    >>> check_share("share", 1.5, why="it is a share of the rows")
    Traceback (most recent call last):
    recombine.base.errors.SettingError: share=1.5
      why      it is a share of the rows
      instead  write a number between 0 and 1, such as share=0.2
    """
    check_number(
        name,
        value,
        above=0,
        below=1,
        why=why or "it is a share, and neither side may be empty",
        instead=instead or f"write a number between 0 and 1, such as {name}=0.2",
    )


def check_seed(value: Any, *, name: str = "seed") -> None:
    """A seed is a whole number from 0 on, so that the same seed gives the same numbers again.

    >>> check_seed(-1)
    Traceback (most recent call last):
    recombine.base.errors.SettingError: seed=-1
      why      the same seed must give the same numbers again, so it is a whole number from 0 on
      instead  write seed=0
    """
    why = "the same seed must give the same numbers again, so it is a whole number from 0 on"
    check_whole(name, value, least=0, why=why, instead=f"write {name}=0")


def check_column_names(**given: Any) -> None:
    """Refuse values themselves where the name of their column is asked for; None is no column.

    >>> check_column_names(prediction=[0.1, 0.9], target=None)
    Traceback (most recent call last):
    recombine.base.errors.SettingError: prediction is given as list
      why      it is the name of a column, so that each value stays with its row
      instead  put the values into the table, as in table['prediction'] = values, and write prediction='prediction'
    """
    for name, value in given.items():
        if value is not None and not isinstance(value, str):
            raise SettingError(
                f"{name} is given as {type(value).__name__}",
                why="it is the name of a column, so that each value stays with its row",
                instead=f"put the values into the table, as in table['{name}'] = values, and write {name}='{name}'",
            )


def check_listed(
    name: Any, known: Iterable[str], what: str, *, why: str, error: type[RecombineError] = SettingError
) -> None:
    """A name that is one of those there are; else the nearest of them is suggested.

    >>> check_listed("materail", ["material", "garment"], "no factor 'materail'", why="it was not read")
    Traceback (most recent call last):
    recombine.base.errors.SettingError: no factor 'materail'
      why      it was not read
      instead  did you mean 'material'?
    """
    if name not in known:
        raise error(what, why=why, instead=nearest(str(name), known))


def _refuse(name: str, value: Any, why: str, instead: str) -> NoReturn:
    raise SettingError(f"{name}={value!r}", why=why, instead=instead)


def check_known(
    given: Iterable[str], known: Sequence[str], *, who: str, instead: Mapping[str, str] | None = None
) -> None:
    """A setting that somebody does not have is refused, never ignored; `instead` has words for some of them.

    >>> check_known(["taget"], ["target", "where"], who="an audit")
    Traceback (most recent call last):
    ...
    recombine.base.errors.SettingError: taget=…
      why      an audit has no such setting
      instead  did you mean 'target'?
    """
    for name in given:
        if name not in known:
            said = (instead or {}).get(name) or nearest(name, known)
            raise SettingError(f"{name}=…", why=f"{who} has no such setting", instead=said)
