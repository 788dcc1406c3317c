"""What an output may take the place of: a result that was asked to be replaced, and nothing else.

A folder counts as a saved result only if its record can be read, is of one of our kinds, and the folder holds exactly
the files that the record names. Never replaced, whatever was asked for: what is read (under any name: a link, a
pattern that matches it, a folder that holds it), the current folder and those above it, what lies in a run store, and a
result of another kind.
"""

import glob
import json
import os
import shlex
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from recombine.base import plugins
from recombine.base.errors import OutputError

RESULT_FILE = "record.json"
"""What a person reads of a saved result; it names all other files."""
MANIFEST_ENDING = ".split.json"
"""How the manifest of a split is named, which lies beside the table that was split."""
KINDS = frozenset(
    {
        "audit",
        "diff",
        "evaluation",
        "lint",
        "plan",
        "prediction",
        "probe",
        "rehearsal",
        "run",
        "split",
        "stored_audit",
        "study",
        "vector_evaluation",
    }
)
"""The kinds of results that we save, also those of the lab where it is not installed: nothing else may replace them."""
PAGE_MARK = '<meta name="generator" content="recombine">'
"""What stands in the head of every page that we draw (`report/assets/frame.html.j2`)."""
_BEGINNING = 4_096
STORE_FILE, STORE_KIND = "store.json", "recombine run store"
"""The file that makes a folder a run store, and what it says."""
STORE_FOLDERS = ("runs", "states", "failures", "measured", "tmp")
"""What lies in a run store."""
_LOCAL_SCHEMES = ("file", "duckdb", "sqlite")

Identity = tuple[int, int]
"""What is the same for two names of one file: its device, and its number there."""


def check_result_folder(target: Path, kind: str, *, force: bool = False, inputs: Iterable[Any] = ()) -> None:
    """Refuse a folder that a result of this kind must not be saved to."""
    occupied = _identity(target) is not None and not _is_empty_folder(target)
    saved = saved_kind(target) if occupied else None
    if occupied and saved is None:
        raise _foreign(target)
    _refuse_input(target, inputs)
    check_place(target)
    if not occupied:
        return
    if saved != kind:
        raise OutputError(
            f"'{target}' holds a saved {saved}",
            why=f"only another {saved} may take its place",
            instead=f"name another folder, for example '{target.with_name(f'{target.name}-{kind}')}'",
        )
    if not force:
        raise OutputError(
            f"'{target}' already exists",
            why=f"it holds a saved {kind}, which would be replaced",
            instead="name another folder, or say force=True (--force)",
        )


def check_page(target: Path, *, force: bool = False, inputs: Iterable[Any] = ()) -> None:
    """Refuse a place for a page that is one of the files that were read, lies in a run store, or is somebody else's.

    A page that recombine drew is drawn again unasked; anything else is replaced with `force` alone.
    """
    _refuse_file(target, inputs, called="the page")
    if os.path.lexists(target) and not force and not _is_page(target):
        raise OutputError(
            f"'{target}' already exists and is not a page that recombine drew",
            why="writing there would replace it",
            instead="name another file for the page, or say --force",
        )


def check_file(target: Path, *, force: bool = False, inputs: Iterable[Any] = ()) -> None:
    """Refuse a place for a file as for a page; what is there is replaced with `force` alone."""
    _refuse_file(target, inputs, called="it")
    if os.path.lexists(target) and (not force or target.is_dir()):
        raise OutputError(
            f"'{target}' already exists" + (" and is a folder" if target.is_dir() else ""),
            why="writing there would replace it",
            instead="name another file" + ("" if target.is_dir() else ", or say --force"),
        )


def _refuse_file(target: Path, inputs: Iterable[Any], *, called: str) -> None:
    found = input_at(target, inputs)
    if found is not None:
        raise OutputError(
            f"'{target}' is the same file as '{found}', which is read",
            why="writing there would replace it",
            instead=f"name another file for {called}",
        )
    _refuse_store(target)
    check_parent(target)


def check_place(target: Path) -> None:
    """Refuse what no output may take the place of, whatever it holds."""
    _refuse_store(target)
    if target.name in ("", "..") or _identity(target) in _identities(_current_folders()):
        raise OutputError(
            f"'{target}' is the current folder, or one above it",
            why="everything in it would be replaced",
            instead="name a folder that does not exist yet, for example 'recombine'",
        )
    if os.path.islink(target):  # noqa: PTH114 - it never raises
        raise OutputError(
            f"'{target}' is a link",
            why="what it leads to would stay behind",
            instead=f"name the place itself: '{os.path.realpath(target)}'",
        )


def check_parent(target: Path) -> None:
    """Refuse a place in a folder that is not there: a misspelt path would become a folder."""
    parent = target.parent
    if _identity(parent) is None:
        raise OutputError(
            f"cannot write '{target}'",
            why=f"there is no folder '{parent}'",
            instead=f"make it first: mkdir -p {shlex.quote(str(parent))}; or name a place that is there",
        )


def is_kind(kind: Any) -> bool:
    """Whether results of a kind can be saved and loaded: ours, and those that installed packages add.

    >>> is_kind("audit"), is_kind("recipe")
    (True, False)
    """
    return kind in KINDS or kind in plugins.names("recombine.results")


def saved_kind(folder: Path) -> str | None:
    """The kind of the saved result that a folder is; None if anything about it is odd, or anything lies there besides.

    >>> saved_kind(Path("/")) is None
    True
    """
    try:
        content = json.loads((folder / RESULT_FILE).read_text(encoding="utf-8"))
        named = {RESULT_FILE, *(f"{name}.parquet" for name in content["tables"])}
        if "store" in content:  # a run, which may have further files
            named |= {part["at"] for part in content["store"]["parts"].values()}
        with os.scandir(folder) as entries:
            there = {entry.name if entry.is_file(follow_symlinks=False) else None for entry in entries}
        return str(content["kind"]) if is_kind(content["kind"]) and there == named else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def input_at(target: Path, inputs: Iterable[Any], *, inside: bool = False) -> Path | None:
    """The input that writing to a place would replace: the same file under any name, or one that lies in that folder.

    With `inside`, a folder that is read is also found where the place lies in it: a table that was written there would
    be read with the others from then on.
    """
    here = _identity(target)
    above = _identities(_folders_above(target)) if inside else set()
    seen = cache(_identity)
    for path in (path for given in inputs for path in files_of(given)):
        known = seen(path)
        holds_target = known in above and path.is_dir()
        lies_in_target = here is not None and any(seen(folder) == here for folder in _folders_above(path))
        if known is not None and (known == here or holds_target or lies_in_target):
            return path
    return None


def files_of(source: Any) -> Iterator[Path]:
    """The files on this machine that a source names: itself, all that match, or a folder and all that lie in it.

    >>> [path.name for path in files_of("s3://bucket/table.parquet")], list(files_of({"a": [1]}))
    ([], [])
    """
    path = _local_path(source)
    if path is None:
        return
    if os.path.lexists(path):
        yield path
        if os.path.isdir(path):  # noqa: PTH112 - it never raises
            yield from (Path(place, name) for place, _, names in os.walk(path) for name in names)
        return
    pattern = str(path)
    if glob.has_magic(pattern):
        # an engine's * also matches hidden names
        yield from map(Path, glob.iglob(pattern, recursive=True, include_hidden=True))  # noqa: PTH207 - may be absolute


def _local_path(source: Any) -> Path | None:
    if not isinstance(source, str | os.PathLike):
        return None
    text = os.fspath(source)
    scheme, separator, rest = text.partition("://")
    if not separator:
        return Path(os.path.expanduser(text))  # noqa: PTH111 - where there is no home, it says so later
    if scheme not in _LOCAL_SCHEMES:
        return None
    return Path(os.path.expanduser(unquote(rest) if scheme == "file" else rest.partition("?")[0]))  # noqa: PTH111


def _is_page(path: Path) -> bool:
    """Whether a file says of itself, near its beginning, that we drew it."""
    try:
        with path.open("rb") as file:
            return PAGE_MARK.encode() in file.read(_BEGINNING)
    except OSError:
        return False


def _refuse_input(target: Path, inputs: Iterable[Any]) -> None:
    found = input_at(target, inputs, inside=True)
    if found is not None:
        raise OutputError(
            f"'{target}' is, holds or lies in what is read: '{found}'",
            why="writing there would replace it, or be read with it the next time",
            instead="name a folder elsewhere that does not exist yet",
        )


def _refuse_store(target: Path) -> None:
    resolved = Path(os.path.realpath(target))
    for folder in resolved.parents:
        if resolved.relative_to(folder).parts[0] in STORE_FOLDERS and _is_store(folder):
            raise OutputError(
                f"'{target}' lies in the run store '{folder}'",
                why="a store holds what was trained, and nothing in it is ever replaced",
                instead="name a folder outside it; `recombine runs prune` removes runs that you name",
            )


def _is_store(folder: Path) -> bool:
    try:
        content = json.loads((folder / STORE_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(content, dict) and content.get("kind") == STORE_KIND


def _foreign(target: Path) -> OutputError:
    free = target / "recombine" if target.is_dir() else target.with_name(f"{target.stem}-recombine")
    return OutputError(
        f"'{target}' already exists and is not a saved result",
        why="writing there would replace files that recombine did not make",
        instead=f"name a folder that does not exist yet, for example '{free}'",
    )


def _current_folders() -> list[Path]:
    try:
        here = Path.cwd()
    except OSError:  # it was deleted
        return []
    return [here, *here.parents]


def _folders_above(path: Path) -> list[Path]:
    """The folders that a path lies in, as it is written and as it really is."""
    return [*Path(os.path.abspath(path)).parents, *Path(os.path.realpath(path)).parents]  # noqa: PTH100 - link kept


def _is_empty_folder(path: Path) -> bool:
    try:
        return path.is_dir() and not any(path.iterdir())
    except OSError:  # one that may not be looked into
        return False


def _identities(paths: Iterable[Path]) -> set[Identity]:
    return {found for path in paths if (found := _identity(path)) is not None}


def _identity(path: Path) -> Identity | None:
    try:
        state = path.stat()
    except (OSError, ValueError):
        return None
    return state.st_dev, state.st_ino
