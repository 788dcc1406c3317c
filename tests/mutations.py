"""Ways to tamper with a saved record: every place of its JSON, and every kind of damage to it.

The checksum is computed here once more, by hand, so that a test can hide a change behind a fresh one: what stands
behind the checksum must hold by itself.
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Place = tuple[str | int, ...]

DEEP: Any = "x"
for _ in range(50):
    DEEP = {"nested": [DEEP]}

SWAPS: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    3,
    10**6,
    10**400,
    -(10**30),
    0.5,
    -0.25,
    1e308,
    -1e-320,
    "",
    "x",
    "7",
    "../../x",
    "/tmp/x",
    "\0",
    "\ud800",
    "<script>",
    [],
    [None],
    ["x", "y"],
    [[1], [2]],
    {},
    {"x": 1},
    {"name": None},
    DEEP,
)


def places(content: Any, here: Place = ()) -> Iterator[Place]:
    """Every place of a piece of JSON, the outermost first."""
    inner = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for name, value in inner:
        yield (*here, name)
        yield from places(value, (*here, name))


def _swap(content: Any, place: Place, change: Callable[[Any, Any], None]) -> Any:
    copy = json.loads(json.dumps(content))
    parent = copy
    for step in place[:-1]:
        parent = parent[step]
    change(parent, place[-1])
    return copy


def replaced(content: Any, place: Place, value: Any) -> Any:
    """The same with another value at one place."""
    return _swap(content, place, lambda parent, last: parent.__setitem__(last, value))


def without(content: Any, place: Place) -> Any:
    """The same without what stands at one place."""
    return _swap(content, place, lambda parent, last: parent.__delitem__(last))


def doubled(content: Any, place: Place) -> Any:
    """The same with one more entry: a list's again at its end, a mapping's under another name."""

    def again(parent: Any, last: Any) -> None:
        if isinstance(parent, list):
            parent.append(parent[last])
        else:
            parent[f"{last}x"] = parent[last]

    return _swap(content, place, again)


def changed(content: Any, place: Place, how: int) -> Any:
    """One of all the changes at one place, by its number."""
    number = how % (len(SWAPS) + 2)
    if number < len(SWAPS):
        return replaced(content, place, SWAPS[number])
    return without(content, place) if number == len(SWAPS) else doubled(content, place)


CHANGES = len(SWAPS) + 2

BYTES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda content: b"",
    "cut": lambda content: content[: len(content) // 2],
    "cut at the end": lambda content: content[:-3],
    "not UTF-8": lambda content: content.replace(b'"', b'"\xff', 1),
    "UTF-16": lambda content: content.decode().encode("utf-16"),
    "a byte-order mark": lambda content: b"\xef\xbb\xbf" + content,
    "zeros": lambda content: b"\0" * len(content),
    "not an object": lambda content: b"[" + content + b"]",
    "a number": lambda content: b"7",
    "nothing": lambda content: b"null",
    "not a number": lambda content: content.replace(b"{", b'{"rows": NaN, ', 1),
    "infinite": lambda content: content.replace(b"{", b'{"rows": 1e999, ', 1),
    "a number of 5,000 digits": lambda content: content.replace(b"{", b'{"rows": ' + b"9" * 5_000 + b", ", 1),
    "nested 100,000 deep": lambda content: content.replace(b"{", b'{"rows": ' + b"[" * 100_000 + b", ", 1),
    "nested 100,000 deep and closed": lambda content: content.replace(
        b"{", b'{"rows": ' + b"[" * 100_000 + b"]" * 100_000 + b", ", 1
    ),
    "twice": lambda content: content + content,
}


def sealed(content: Any) -> Any:
    """With a checksum that fits, where the content can have one."""
    if not isinstance(content, dict):
        return content
    bare = {name: value for name, value in content.items() if name != "sha256"}
    text = json.dumps(bare, sort_keys=True, separators=(",", ":"))
    return bare | {"sha256": hashlib.sha256(text.encode()).hexdigest()}


def write(path: Path, content: Any) -> None:
    """As recombine writes it, whatever it is by now."""
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
