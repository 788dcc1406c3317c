"""Plain data from a file turned back into values, none of it believed before it was looked at.

A saved record can have been edited, cut off, written by another version, or made by somebody who means harm. So:

- it carries a checksum of its own content (`sealed`), which is compared before anything else is read (`unsealed`);
- what it holds is taken for what the type hints of its class say and for nothing else (`revive`, which is the way back
  from `records.plain`);
- a name of a file in it is one plain component of a path (`FileName`), and the file lies where it seems to (`beside`);
- whatever still goes wrong while a value is made of it ends in one place, in words (`decoding`).
"""

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from recombine.base.errors import RecombineError, RecordError

Unknown = Annotated[float, math.nan]
"""A number that may be unknown: NaN here, nothing in a file, since JSON has no NaN."""
Unbounded = Annotated[float, math.inf]
"""A number that may be infinite, which is nothing in a file, too."""
SAVED_AS = "saved as"
"""The key in a field's metadata under which it tells the name that it has in a file, where it has another."""
SEAL = "sha256"
_MOST_BITS = 4_096  # of a whole number: far above any count, far below what Python refuses to write out
LONGEST_NAME = 255
"""Bytes that the name of a file may have, on every file system that is in use."""
_LONGEST_SHOWN = 60
_LEADS_ELSEWHERE = re.compile(r"[/\\\x00-\x1f\x7f]|^\.|^[A-Za-z]:")


class MalformedError(ValueError):
    """Data that are not what they should be; its text says in what way."""


class FileName(str):
    """The name of a file beside a record: one plain component of a path, which leads nowhere else.

    >>> FileName("curve.parquet")
    'curve.parquet'
    >>> FileName("../../.ssh/authorized_keys")
    Traceback (most recent call last):
    ...
    recombine.base.decoding.MalformedError: '../../.ssh/authorized_keys' cannot be the name of a file beside it
    """

    __slots__ = ()

    def __new__(cls, name: str) -> "FileName":
        """Refuse what is empty or hidden, a drive, or more than one component."""
        if not name or len(name.encode("utf-8", "replace")) > LONGEST_NAME or _LEADS_ELSEWHERE.search(name):
            raise MalformedError(f"{shown(name)} cannot be the name of a file beside it")
        return super().__new__(cls, name)


def beside(folder: Path, name: FileName) -> Path:
    """Where a file of a folder lies; a link that leads out of the folder is refused."""
    path = folder / name
    if path.is_symlink() and path.resolve().parent != folder.resolve():
        raise MalformedError(f"{name!r} is a link that leads out of its folder")
    return path


def sealed(content: Mapping[str, Any]) -> dict[str, Any]:
    """Content with a checksum of its own: an edit by hand is noticed.

    >>> unsealed(sealed({"verdict": "fine"}))
    {'verdict': 'fine'}
    >>> unsealed(sealed({"verdict": "weak"}) | {"verdict": "fine"})
    Traceback (most recent call last):
    ...
    recombine.base.decoding.MalformedError: it was changed after it was written: its checksum is another
    """
    return {**content, SEAL: content_digest(content)}


def unsealed(content: Mapping[str, Any]) -> dict[str, Any]:
    """Sealed content without its checksum, which must fit."""
    bare = {name: value for name, value in content.items() if name != SEAL}
    if content.get(SEAL) != content_digest(bare):
        raise MalformedError("it was changed after it was written: its checksum is another")
    return bare


def content_digest(content: Mapping[str, Any]) -> str:
    """The checksum of plain data, the same in whatever order they are written."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def parsed(content: bytes, *, finite: bool = True) -> dict[str, Any]:
    """The object in a JSON file; a `ValueError` where there is none.

    NaN is no JSON, and nothing that recombine writes holds it; of others' files `finite=False` takes it.
    """
    constant = _no_number if finite else None
    try:
        found = json.loads(content.decode("utf-8"), object_pairs_hook=_once, parse_constant=constant)
    except RecursionError as error:
        raise MalformedError("it is nested too deeply") from error
    if not isinstance(found, dict):
        raise MalformedError("it holds no object")
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A name that stands twice means one thing to one reader and another to the next."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise MalformedError("one of its names stands there twice")
    return found


def _no_number(name: str) -> Any:
    raise MalformedError(f"it holds {name}, which is no number in JSON")


@contextmanager
def decoding(what: str, *, instead: str) -> Iterator[None]:
    """Make something of a file's content: whatever goes wrong means that it does not hold what it should.

    `what` says so, for example "'audit/record.json' is damaged". This is the one place where that is put into words. A
    value's own class may refuse it (`RecombineError`), and so may the arithmetic on the way to it; none of these is the
    user's mistake, nor a reason for a traceback.
    """
    try:
        yield
    except RecordError:
        raise
    except _refusals() as error:
        raise RecordError(what, why=_reason(error), instead=instead) from error


def _refusals() -> tuple[type[Exception], ...]:
    """What reading a damaged file may raise. Arrow is imported here: the command's help must not wait for it."""
    import pyarrow as pa  # noqa: PLC0415

    return (
        ArithmeticError,
        AttributeError,
        LookupError,
        MemoryError,
        OSError,
        RecursionError,
        TypeError,
        ValueError,
        pa.ArrowException,
        RecombineError,
    )


def revive(kind: Any, plain: Any, *, at: str = "it") -> Any:
    """A frozen dataclass, or a container of them, from the plain data that `records.plain` made of it.

    The type hints decide what is taken: a `MalformedError` says where something else stands.

    >>> revive(tuple[float, ...], [1, 2.5])
    (1, 2.5)
    >>> revive(dict[str, int], {"seen": "many"}, at="counts")
    Traceback (most recent call last):
    ...
    recombine.base.decoding.MalformedError: counts.seen is 'many', where a whole number should be
    """
    if is_dataclass(kind) and isinstance(kind, type):
        return _revive_fields(kind, plain, at)
    kind = _without_alias(kind)
    origin = get_origin(kind)
    if origin in _REVIVED:
        return _REVIVED[origin](kind, plain, at)
    if kind is Any:
        return sound(plain, at)
    if getattr(origin, "__module__", "") == "numpy":
        return _revive_array(kind, plain, at)
    if isinstance(kind, type) and issubclass(kind, FileName):
        return kind(_leaf(str, plain, at))
    return _leaf(kind, plain, at)


def _without_alias(kind: Any) -> Any:
    """What a `type NDArray[T] = …` stands for: NumPy declares its arrays so from 2.5 on."""
    value = getattr(get_origin(kind), "__value__", None)
    return kind if value is None else value[get_args(kind)]


def revive_all(kind: type, names: tuple[str, ...], plain: Mapping[str, Any]) -> dict[str, Any]:
    """Some fields of a class, each as its type hint says."""
    hints = _hints(kind)
    missing = [name for name in names if name not in plain]
    if missing:
        raise MalformedError(f"it does not say {missing[0]!r}")
    return {name: revive(hints[name], plain[name], at=name) for name in names}


def _revive_fields(kind: type, plain: Any, at: str) -> Any:
    mapping = _container(Mapping, plain, at, f"the settings of a {kind.__name__}")
    known = {field.metadata.get(SAVED_AS, field.name): field for field in fields(kind) if field.init}
    strange = [name for name in mapping if name not in known]
    needed = [n for n, f in known.items() if f.default is MISSING and f.default_factory is MISSING]
    missing = [name for name in needed if name not in mapping]
    if strange or missing:
        wrong = f"has no {missing[0]!r}" if missing else f"has {shown(strange[0])}, which means nothing"
        raise MalformedError(f"{at} {wrong}")
    hints = _hints(kind)
    values = {known[name].name: (name, value) for name, value in mapping.items()}
    return kind(**{own: revive(hints[own], value, at=f"{at}.{name}") for own, (name, value) in values.items()})


def _revive_union(kind: Any, plain: Any, at: str) -> Any:
    options = get_args(kind)
    if plain is None and NoneType in options:
        return None
    wrong: MalformedError | None = None
    for option in options:
        if option is NoneType:
            continue
        try:
            return revive(option, plain, at=at)
        except MalformedError as error:
            wrong = wrong or error
    raise wrong or MalformedError(f"{at} is {shown(plain)}, where nothing should be")


def _revive_annotated(kind: Any, plain: Any, at: str) -> Any:
    number, absent = get_args(kind)
    return absent if plain is None else revive(number, plain, at=at)


def _revive_array(kind: Any, plain: Any, at: str) -> Any:
    """A line of whole numbers; what is larger belongs into a table."""
    import numpy as np  # noqa: PLC0415 - the command's help must not wait for it

    (scalar,) = get_args(get_args(kind)[1])
    return np.array(revive(tuple[int, ...], plain, at=at), dtype=scalar)


def _revive_tuple(kind: Any, plain: Any, at: str) -> Any:
    arguments = get_args(kind)
    items = _container(list | tuple, plain, at, "a list")
    each = [arguments[0]] * len(items) if arguments[-1] is Ellipsis else arguments
    if len(each) != len(items):
        raise MalformedError(f"{at} has {len(items):,} entries, where {len(each)} should be")
    return tuple(
        revive(item, value, at=f"{at}[{place}]") for place, (item, value) in enumerate(zip(each, items, strict=True))
    )


def _revive_mapping(kind: Any, plain: Any, at: str) -> Any:
    of_name, of_value = get_args(kind)
    return {
        revive(of_name, name, at=f"a name in {at}"): revive(of_value, value, at=f"{at}.{name}")
        for name, value in _container(Mapping, plain, at, "a mapping").items()
    }


def _revive_literal(kind: Any, plain: Any, at: str) -> Any:
    words = get_args(kind)
    if not isinstance(plain, str) or plain not in words:
        raise MalformedError(f"{at} is {shown(plain)}, where one of {', '.join(map(str, words))} should be")
    return plain


_REVIVED: dict[Any, Callable[[Any, Any, str], Any]] = {
    Union: _revive_union,
    UnionType: _revive_union,
    tuple: _revive_tuple,
    Mapping: _revive_mapping,
    dict: _revive_mapping,
    Literal: _revive_literal,
    Annotated: _revive_annotated,
}
_LEAVES = {str: "a text", bool: "true or false", int: "a whole number", float: "a number"}


def _leaf(kind: Any, plain: Any, at: str) -> Any:
    """A text, a number, or true or false; true is no number here."""
    if kind not in _LEAVES:
        raise TypeError(f"{kind!r} cannot be read from a record")
    taken = int | float if kind is float else kind
    if not isinstance(plain, taken) or (isinstance(plain, bool) and kind is not bool):
        raise MalformedError(f"{at} is {shown(plain)}, where {_LEAVES[kind]} should be")
    if kind is float and not _is_finite(plain):
        raise MalformedError(f"{at} is too large a number")
    return sound(plain, at)


def _is_finite(number: float) -> bool:
    try:
        return math.isfinite(float(number))
    except OverflowError:
        return False


def sound(plain: Any, at: str) -> Any:
    """What may stand anywhere: texts that can be written down, numbers that can be written out."""
    if isinstance(plain, str) and not plain.isascii():
        try:
            plain.encode()
        except UnicodeEncodeError as error:
            raise MalformedError(f"{at} is no text: it holds half a character") from error
    if isinstance(plain, int) and plain.bit_length() > _MOST_BITS:
        raise MalformedError(f"{at} is too large a number")
    if isinstance(plain, Mapping):
        return {sound(name, at): sound(value, f"{at}.{name}") for name, value in plain.items()}
    return [sound(value, at) for value in plain] if isinstance(plain, list) else plain


def _container(kind: Any, plain: Any, at: str, called: str) -> Any:
    if not isinstance(plain, kind):
        raise MalformedError(f"{at} is {shown(plain)}, where {called} should be")
    return plain


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


def shown(plain: Any) -> str:
    """A value as a sentence shows it, however long or strange it is."""
    if isinstance(plain, Mapping | list):
        return "a mapping" if isinstance(plain, Mapping) else "a list"
    if isinstance(plain, int) and plain.bit_length() > _MOST_BITS:
        return "a huge number"
    return ascii(plain) if len(ascii(plain)) <= _LONGEST_SHOWN else f"{ascii(plain)[:_LONGEST_SHOWN]}…"


def _reason(error: Exception) -> str:
    """Our own words where there are some; else that it is not what it should be, and what stopped us."""
    if isinstance(error, MalformedError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    said = error.what if isinstance(error, RecombineError) else f"{type(error).__name__}: {error}"
    return f"it does not hold what it should ({ascii(said)[1:-1][:200]})"
