"""A verb that was handed something of another kind than its signature names says so in words.

Most arguments have checks of their own, which know what was meant. Where none of them noticed, the verb ends in an
error of Python's: then each argument is held against its annotation, and the first that does not fit is named. Where
all fit, the error is ours and stays as it is.

The signature is the one list of kinds. Checkers of types (beartype, typeguard) ask each time, and hold to it more
strictly than users do: names of columns may come in anything that can be gone through, an index of pandas or an array
among them, and a number may be NumPy's. So only the outermost kind is asked for.
"""

import inspect
import os
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from numbers import Integral, Real
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints, is_typeddict

import numpy as np

from recombine.base.errors import SettingError

Asked = ParamSpec("Asked")
Answer = TypeVar("Answer")


def explain_kinds(verb: Callable[Asked, Answer]) -> Callable[Asked, Answer]:
    """A function whose errors of Python's own name the argument that is of another kind than its annotation.

    >>> @explain_kinds
    ... def cut(*, share: float = 0.2, columns: Iterable[str] = ()) -> list[str]:
    ...     return [name[: int(1 / share)] for name in columns]
    >>> cut(columns=["material"], share="0.2")
    Traceback (most recent call last):
    recombine.base.errors.SettingError: share='0.2'
      why      it is a str, where a number is asked for
      instead  write share=0.5
    >>> cut(columns=2)
    Traceback (most recent call last):
    recombine.base.errors.SettingError: columns=2
      why      it is an int, where a list is asked for
      instead  write columns=[…]
    """
    names = tuple(inspect.signature(verb).parameters)

    @wraps(verb)
    def explained(*args: Asked.args, **given: Asked.kwargs) -> Answer:
        try:
            return verb(*args, **given)
        except (AttributeError, TypeError, ValueError) as error:
            _name_the_misfit(verb, {**dict(zip(names, args, strict=False)), **given}, error)
            raise

    return explained


def _name_the_misfit(verb: Callable[..., Any], given: Mapping[str, Any], error: Exception) -> None:
    kinds = _kinds_of(verb)
    for name, value in given.items():
        if name in kinds and not _fits(value, kinds[name]):
            raise _refused(name, value, kinds[name]) from error


def _kinds_of(verb: Callable[..., Any]) -> dict[str, Any]:
    """By name, those in `**options: Unpack[Options]` among them."""
    kinds = get_type_hints(verb)
    options = [one for hint in kinds.values() for one in get_args(hint) if is_typeddict(one)]
    return kinds | {name: kind for one in options for name, kind in get_type_hints(one).items()}


def _fits(value: Any, kind: Any) -> bool:
    """Whether a value is of a kind, as far as that can be seen without looking into it."""
    kinds, outer = _alternatives(kind), _outer(kind)
    if kinds:
        return any(_fits(value, one) for one in kinds)
    if outer is Literal:
        return any(type(value) is type(one) and value == one for one in get_args(kind))
    if kind is Any or not isinstance(outer, type):
        return True
    if outer.__module__ == "collections.abc" and issubclass(outer, Iterable) and not issubclass(outer, Mapping):
        return isinstance(value, Iterable)
    return isinstance(value, _ALSO.get(outer, outer))


def _outer(kind: Any) -> Any:
    """`Sequence` of `Sequence[str]`."""
    return NoneType if kind is None else get_origin(kind) or kind


def _alternatives(kind: Any) -> tuple[Any, ...]:
    """The kinds of which one is enough."""
    return get_args(kind) if get_origin(kind) in (Union, UnionType) else ()


_ALSO: dict[type, Any] = {bool: (bool, np.bool_), int: Integral, float: Real, Path: os.PathLike}
"""What a kind admits that its annotation does not say."""

_WORDS: dict[Any, tuple[str, str]] = {
    str: ("a text", "'…'"),
    bool: ("True or False", "True"),
    int: ("a whole number", "5"),
    float: ("a number", "0.5"),
    Path: ("a path", "'…'"),
    Mapping: ("a mapping", "{…}"),
    Callable: ("a function", "a function"),
}


def _refused(name: str, value: Any, kind: Any) -> SettingError:
    kinds = [one for one in _alternatives(kind) or [kind] if _outer(one) is not NoneType]
    (first, example), *others = dict.fromkeys(_words_of(one) for one in kinds)
    given = type(value).__name__
    article = "an" if given[0].lower() in "aeiou" else "a"
    said = "None stands for nothing here" if value is None else f"it is {article} {given}"
    return SettingError(
        f"{name}={' '.join(repr(value).split()):.60}",
        why=f"{said}, where {' or '.join([first, *(one for one, _ in others)])} is asked for",
        instead=f"write {name}={example}",
    )


def _words_of(kind: Any) -> tuple[str, str]:
    """What a kind is called, and what one writes for it."""
    outer = _outer(kind)
    if outer is Literal:
        words = [repr(one) for one in get_args(kind)]
        return f"one of {', '.join(words)}", words[0]
    if outer in _WORDS:
        return _WORDS[outer]
    listed = outer.__module__ in ("collections.abc", "builtins") and issubclass(outer, Iterable)
    return ("a list", "[…]") if listed else (outer.__name__, f"{outer.__name__}(…)")
