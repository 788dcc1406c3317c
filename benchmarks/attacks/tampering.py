"""Edits of JSON and of files, and checksums that fit the edit: the recipe of a checksum is found by trying."""

import hashlib
import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import Any

Place = tuple[str | int, ...]
Seal = Callable[[Any], str]

ODD: tuple[Any, ...] = (
    None, True, "", "x", "nan", -1, 0, 10**30, 1e308, -0.5, [], {}, [[]], ["x"], {"x": 1}, [None], "\ud800",
    "a" * 5_000,    "../up", "/etc/passwd", "<b>", [1, 2, 3], float("nan"), float("inf"),
)  # fmt: skip
ESCAPES = ("../outside/{}", "{absolute}/{}", "./../outside/{}", "sub/../../outside/{}")
_RECIPES: tuple[dict[str, Any], ...] = tuple(
    {"sort_keys": order, "separators": marks, "ensure_ascii": ascii_, "indent": indent}
    for order in (True, False)
    for marks in ((",", ":"), None)
    for ascii_ in (True, False)
    for indent in (None, 2)
)


def leaves(content: Any, place: Place = ()) -> Iterator[Place]:
    """Every place in a tree of JSON, branches included."""
    if place:
        yield place
    items = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, value in items:
        yield from leaves(value, (*place, key))


def at(content: Any, place: Place) -> Any:
    """What stands at a place."""
    for key in place:
        content = content[key]
    return content


def edited(content: Any, rng: Random) -> tuple[Any, str]:
    """The content with one thing changed, and what that was."""
    changed = deepcopy(content)
    place = rng.choice(list(leaves(content)))
    parent, key = at(changed, place[:-1]), place[-1]
    shown = ".".join(map(str, place))
    how = rng.choice(("replace", "replace", "replace", "remove", "nudge", "rename", "double"))
    if how == "remove":
        del parent[key]
    elif how == "rename" and isinstance(parent, dict):
        parent[f"{key}_"] = parent.pop(key)
    elif how == "double" and isinstance(parent[key], list) and parent[key]:
        parent[key].append(deepcopy(parent[key][0]))
    elif how == "nudge":
        parent[key] = _nudged(parent[key])
    else:
        how, new = "replace", rng.choice(ODD)
        parent[key] = new
        shown += f" by {str(new)[:20]!r}"
    return changed, f"{how} {shown}"


def _nudged(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    return value[::-1] if isinstance(value, str) and value[::-1] != value else [value]


def seal_of(content: dict[str, Any]) -> tuple[Place, Seal] | None:
    """Where a content keeps a checksum of itself, and how that is made; None where it keeps none."""
    for place in leaves(content):
        held = at(content, place)
        if not (isinstance(held, str) and len(held) == 64):
            continue
        for recipe in _RECIPES:
            if _sum(content, place, recipe) == held:
                return place, lambda changed, recipe=recipe, place=place: _sum(changed, place, recipe)  # type: ignore[misc]
    return None


def sealed(content: Any, seal: tuple[Place, Seal] | None) -> Any:
    """The content with a checksum that fits, where it still has a place for one."""
    if seal is None:
        return content
    place, make = seal
    again = deepcopy(content)
    try:
        at(again, place[:-1])[place[-1]] = make(again)
    except (KeyError, TypeError, IndexError, ValueError):
        return content
    return again


def _sum(content: Any, place: Place, recipe: dict[str, Any]) -> str:
    bare = deepcopy(content)
    del at(bare, place[:-1])[place[-1]]
    return hashlib.sha256(json.dumps(bare, **recipe).encode("utf-8", "surrogatepass")).hexdigest()


def write_json(path: Path, content: Any) -> None:
    """As the library writes it, but whatever it is."""
    path.write_bytes((json.dumps(content, indent=2) + "\n").encode("utf-8", "surrogatepass"))


def spoilt(path: Path, rng: Random) -> str:
    """A file cut off, emptied, overwritten in one place, or replaced by something else; told in a word."""
    content = path.read_bytes()
    how = rng.choice(("cut", "empty", "flip", "noise", "deep", "gone", "folder", "bom", "utf16"))
    if how == "gone":
        path.unlink()
    elif how == "folder":
        path.unlink()
        path.mkdir()
    else:
        path.write_bytes(spoilt_bytes(content, how, rng))
    return f"{how} {path.name}"


def spoilt_bytes(content: bytes, how: str, rng: Random) -> bytes:
    if how == "cut":
        return content[: rng.randrange(len(content))]
    if how == "flip":
        place = rng.randrange(len(content))
        return content[:place] + bytes([content[place] ^ (1 << rng.randrange(8))]) + content[place + 1 :]
    if how == "bom":
        return b"\xef\xbb\xbf" + content
    if how == "utf16":
        return content.decode("utf-8", "replace").encode("utf-16")
    return {"empty": b"", "noise": rng.randbytes(200), "deep": b"[" * 100_000}[how]


def snapshot(folder: Path, *, but: tuple[Path, ...] = ()) -> dict[str, Any]:
    """Every file below a folder with its bytes, every link with its target, every folder."""
    found: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        if any(path == skipped or skipped in path.parents for skipped in but):
            continue
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = ("link", str(path.readlink()))
        else:
            found[name] = path.read_bytes() if path.is_file() else "folder"
    return found
