"""Files and folders that are written whole or not at all.

What is being written lies beside its place, in a hidden folder `.NAME.recombine-HOST-RANDOM`, which its writer keeps
locked for as long as it lives:

    new/        what is being written, under its final names
    finished    what the first of them looks like, written when all of them are whole
    old/        what stood there before, for the moment between two moves
    rubbish/    the same, once the new stands in its place

A file takes another's place in one step. A folder cannot, and neither can a table with its manifest: there the old is
moved aside, the new moved in, and the old deleted last. A writer that is killed between two moves leaves the old in
`old/`; the next one to write to that name puts it back, or finishes what was begun, and removes what is left. Moves to
one place wait for each other: a lock is held on the folder that they happen in. Where a file system knows no locks,
what is left behind counts as abandoned after a day, and a place is still taken by one of two writers only, because
links and folders are refused where something stands already.

Small files that people write by hand: lists of values, costs, impossible combinations, sweeps.
"""

import csv
import errno
import hashlib
import json
import os
import platform
import re
import secrets
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from recombine.base.errors import OutputError, SourceError

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows
    _HAS_LOCKS = False
else:
    _HAS_LOCKS = True

_NEW, _OLD, _RUBBISH, _FINISHED = "new", "old", "rubbish", "finished"
_ENDING = "[0-9a-f]{8}-[0-9a-f]{16}"
_ABANDONED = 86_400.0  # a day: where there are no locks, staging older than that has lost its writer
_PATIENCE = 60.0  # seconds: moving a finished table takes none of them, unless a disk hangs
_READERS_PATIENCE = 10.0
_LONG = 150  # bytes: a name may have 255, and ours adds some 40 to it
_TAKEN = (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR)


def write_text(path: str | Path, text: str, *, force: bool = True) -> Path:
    """Write a text file beside its place, then move it there; with `force=False` only where nothing stands yet.

    Its lines end as they were given, on every system: a CSV file's `\\r\\n` would become `\\r\\r\\n` on Windows.
    """
    target = place_of(path)
    with staged(target, force=force) as new, explained(target):
        (new / target.name).write_text(text, encoding="utf-8", newline="")
    return target


def place_of(path: str | Path) -> Path:
    """The place that a path means: with `..` in it, it may lead through a folder that is not there.

    >>> place_of("lost/../saved").name, place_of("plain/saved").as_posix()
    ('saved', 'plain/saved')
    """
    place = Path(path)
    if ".." not in place.parts:
        return place
    resolved = Path(os.path.realpath(place.parent))
    return Path(os.path.realpath(place)) if place.name == ".." else resolved / place.name


@contextmanager
def staged(
    target: Path, *beside: Path, force: bool = False, check: Callable[[], None] = lambda: None
) -> Iterator[Path]:
    """A folder to write `target` in, and the files that belong beside it, under their own names; then all are moved.

    `check` says no by an `OutputError`, before anything is written and again before anything is moved. What stands
    there is replaced with `force` alone. What belongs beside a table goes before it and comes after it, so that no
    table ever stands beside the manifest of another.
    """
    with _with_parents(target), _staging(target) as folder:
        check()
        yield folder / _NEW
        with explained(target), _locked(target.parent):
            check()
            _move_in(folder, (target, *beside), force=force)


@contextmanager
def undisturbed(target: Path) -> Iterator[None]:
    """Read what stands at a place while no writer of ours may move anything to it or away from it.

    Where the folder above cannot be locked, or somebody holds its lock for long, nothing is promised.
    """
    held = None
    with suppress(BlockingIOError):
        held = _lock(place_of(target).parent, patience=_READERS_PATIENCE)
    try:
        yield
    finally:
        if held is not None:
            os.close(held)


def is_staging(name: str) -> bool:
    """Whether a name is that of a hidden folder in which something is being written, or was when its writer died.

    >>> is_staging(".table.csv.recombine-0123abcd-0123456789abcdef"), is_staging("table.csv")
    (True, False)
    """
    return re.fullmatch(r"\..*\.recombine-" + _ENDING, name, re.DOTALL) is not None


def recover(target: Path) -> None:
    """Put back what killed writers had moved aside of `target`, and remove what they left."""
    if os.path.isdir(target.parent):  # noqa: PTH112 - it never raises
        with explained(target), _locked(target.parent):
            _sweep(target)


@contextmanager
def explained(target: Path) -> Iterator[None]:
    """What the file system refuses, in words."""
    try:
        yield
    except OSError as error:
        taken = error.errno in _TAKEN and os.path.lexists(target)
        raise (already_exists(target) if taken else cannot_write(target, error)) from error


def cannot_write(target: Path, error: OSError) -> OutputError:
    """Why a place cannot be written to."""
    return OutputError(
        f"cannot write '{target}'",
        why=error.strerror or str(error),
        instead="name a place that you may write to and that has room",
    )


def already_exists(target: Path, why: str = "writing there would replace it") -> OutputError:
    """Nothing is replaced unasked."""
    return OutputError(f"'{target}' already exists", why=why, instead="name another place, or say force=True (--force)")


def cannot_use(error: OSError) -> SourceError:
    """What the system said of a path that nobody has explained better: one too long, or not allowed."""
    return SourceError(
        f"cannot use '{shortened(str(error.filename))}'",
        why=error.strerror or str(error),
        instead="check the path, and that you may read and write there",
    )


def shortened(path: str, most: int = 200) -> str:
    """A path as a message can hold it.

    >>> shortened("a" * 9, most=4)
    'aa…aa'
    """
    return path if len(path) <= most else f"{path[: most // 2]}…{path[-(most // 2) :]}"


@contextmanager
def _with_parents(target: Path) -> Iterator[None]:
    """The folders above a place, which go again if nothing comes to stand in them."""
    missing = [folder for folder in target.parents if not os.path.lexists(folder)]
    with explained(target):
        target.parent.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        for folder in missing:
            with suppress(OSError):  # somebody else has put something there
                folder.rmdir()
        raise


@contextmanager
def _staging(target: Path) -> Iterator[Path]:
    """A hidden folder beside a place, locked while it is in use; what earlier writers left is swept first."""
    folder = target.parent / f"{_prefix(target.name)}{_host()}-{secrets.token_hex(8)}"
    with explained(target), _locked(target.parent):
        _sweep(target)
        # On Windows the mode is a list of who may read, which what is moved out of here would keep.
        folder.mkdir(mode=0o700 if os.name == "posix" else 0o777)
        held = _lock(folder)
    try:
        with explained(target):
            (folder / _NEW).mkdir()
        yield folder
    finally:
        _remove(folder, target)
        if held is not None:
            os.close(held)


def _move_in(folder: Path, parts: Sequence[Path], *, force: bool) -> None:
    """Move what was written to its place, all of it or nothing."""
    new, old, target = folder / _NEW, folder / _OLD, parts[0]
    if force and len(parts) == 1 and (new / target.name).is_file():
        os.replace(new / target.name, target)  # noqa: PTH105 - one step, the only one here that needs no other
        return
    if not force and any(map(_occupied, parts)):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
    finished = {"names": [part.name for part in parts], "first": _appearance(new / target.name)}
    (folder / _FINISHED).write_text(json.dumps(finished), encoding="utf-8")
    placed: list[Path] = []
    try:
        if force:
            _move_aside(parts, old)
        for part in parts:
            _put(new / part.name, part)
            placed.append(part)
    except BaseException:
        for part in reversed(placed):
            with suppress(OSError):
                part.rename(new / part.name)
        _restore(old, target)
        raise
    with suppress(OSError):  # from here on it is nothing that anybody would want back
        old.rename(folder / _RUBBISH)


def _move_aside(parts: Sequence[Path], old: Path) -> None:
    """What stands there, the last part first: a table may stand without its manifest, never beside another's."""
    old.mkdir()
    for part in reversed(parts):
        with suppress(FileNotFoundError):
            part.rename(old / part.name)


def _put(made: Path, place: Path) -> None:
    """Move to a place that must be free: where two writers come at once, the second is refused."""
    if made.is_dir():
        with suppress(OSError):  # an empty folder is free; Windows renames onto nothing that is there
            place.rmdir()
        made.rename(place)  # which a folder that holds something refuses, as does a file
        return
    try:
        place.hardlink_to(made)
    except FileExistsError:
        raise
    except OSError:  # a file system without links: then the lock alone keeps two writers apart
        if os.path.lexists(place):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from None
        made.rename(place)
    else:
        made.unlink()


def _sweep(target: Path) -> None:
    """Bring to an end what killed writers of this name had begun; those that live are left alone."""
    for folder in _left_behind(target):
        try:
            held = _lock(folder)
        except BlockingIOError:  # its writer lives
            continue
        try:
            if _abandoned(folder, locked=held is not None):
                with suppress(OSError):
                    _bring_to_an_end(folder, target)
                _remove(folder, target)
        finally:
            if held is not None:
                os.close(held)


def _left_behind(target: Path) -> list[Path]:
    shape = re.compile(re.escape(_prefix(target.name)) + _ENDING)
    try:
        with os.scandir(target.parent) as entries:
            return [
                Path(one.path) for one in entries if shape.fullmatch(one.name) and one.is_dir(follow_symlinks=False)
            ]
    except OSError:  # a folder that may be written to and not looked into
        return []


def _abandoned(folder: Path, *, locked: bool) -> bool:
    """A lock that is free tells of a dead writer of this machine; of others, which may lock by themselves, age does."""
    if locked and f"-{_host()}-" in folder.name:
        return True
    return time.time() - _last_touched(folder) > _ABANDONED


def _last_touched(folder: Path) -> float:
    found = [0.0]
    for place, _, names in os.walk(folder):
        for path in (place, *(os.path.join(place, name) for name in names)):  # noqa: PTH118 - as `os.walk` gives them
            with suppress(OSError):  # removed just now
                found.append(os.lstat(path).st_mtime)
    return max(found)


def _bring_to_an_end(folder: Path, target: Path) -> None:
    """Where the new stands in its place, what belongs beside it follows; else the old comes back."""
    names = _finished_names(folder, target)
    if not names:
        _restore(folder / _OLD, target)
    for name in names[1:]:
        made, place = folder / _NEW / name, target.with_name(name)
        if os.path.lexists(made) and not os.path.lexists(place):
            made.rename(place)


def _finished_names(folder: Path, target: Path) -> list[str]:
    """What was to be moved, if the first of it was: it looks as it did when it was finished."""
    try:
        finished = json.loads((folder / _FINISHED).read_text(encoding="utf-8"))
        return list(finished["names"]) if finished["first"] == _appearance(target) else []
    except (OSError, ValueError, KeyError, TypeError):  # killed before, or while it was noted
        return []


def _appearance(path: Path) -> list[int]:
    """What tells a file or folder from another that took its name, and stays when it is moved."""
    state = path.lstat()
    return [state.st_ino, state.st_mtime_ns]


def _restore(old: Path, target: Path) -> None:
    """Put back what was moved aside, the table before its manifest; not where somebody has put another one since."""
    if not old.is_dir() or (os.path.lexists(old / target.name) and os.path.lexists(target)):
        return
    for kept in sorted(old.iterdir(), key=lambda path: path.name != target.name):
        place = target.with_name(kept.name)
        if not os.path.lexists(place):
            kept.rename(place)


def _remove(folder: Path, target: Path) -> None:
    """Remove a staging folder, unless it holds something of the old that could not be put back."""
    if not _only_copy(folder / _OLD, target):
        shutil.rmtree(folder, ignore_errors=True)


def _only_copy(old: Path, target: Path) -> bool:
    if os.path.lexists(old / target.name):
        return not os.path.lexists(target)
    return old.is_dir() and not all(os.path.lexists(target.with_name(kept.name)) for kept in old.iterdir())


def _occupied(path: Path) -> bool:
    """Whether something stands there; an empty folder is free."""
    if path.is_dir() and not path.is_symlink():
        return any(path.iterdir())
    return os.path.lexists(path)


def _prefix(name: str) -> str:
    """How staging of a name begins: with the name, or with what is left of a long one and its checksum."""
    raw = os.fsencode(name)
    if len(raw) <= _LONG:
        return f".{name}.recombine-"
    return f".{name[: _LONG // 5]}~{hashlib.sha256(raw).hexdigest()[:16]}.recombine-"


@cache
def _host() -> str:
    return hashlib.sha256(platform.node().encode()).hexdigest()[:8]


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """The only one of ours that moves anything in this folder."""
    try:
        held = _lock(folder, patience=_PATIENCE)
    except BlockingIOError as error:
        raise OutputError(
            f"cannot write to '{folder}'",
            why=f"another process has held its lock for {_PATIENCE:.0f} seconds",
            instead="wait for it to end, or name another folder",
        ) from error
    try:
        yield
    finally:
        if held is not None:
            os.close(held)


def _lock(folder: Path, patience: float = 0.0) -> int | None:
    """Lock a folder until the handle is closed or the process ends, however it ends; None where there are no locks."""
    if not _HAS_LOCKS:
        return None
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:  # it may be written to but not looked into
        return None
    until = time.monotonic() + patience
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until:
                os.close(handle)
                raise
            time.sleep(0.01)
        except OSError:
            os.close(handle)
            return None
        else:
            return handle


LARGEST_BY_HAND = 10**7
"""The most characters of a file that somebody wrote by hand; what is larger is something else, or has no end."""


def read_text(path: Path) -> str:
    """A text that somebody wrote by hand, in UTF-8, with or without the mark that some editors put in front."""
    with path.open(encoding="utf-8-sig") as file:
        text = file.read(LARGEST_BY_HAND + 1)
    if len(text) > LARGEST_BY_HAND:
        raise ValueError(f"it has more than {LARGEST_BY_HAND:,} characters")
    return text


def read_cells(path: Path) -> tuple[list[str], list[dict[str, str]]]:
    """A CSV file that somebody wrote by hand: its heading, and its lines by the heading's names.

    What does not fit the heading is a `csv.Error`: a name that stands twice, or a line with more cells than names.
    """
    with path.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.reader(file)
        names = next(reader, [])
        twice = next((name for name in names if name and names.count(name) > 1), None)
        if twice is not None:
            raise csv.Error(f"the column {twice!r} stands twice in its heading")
        lines = []
        for cells in reader:
            if any(cells[len(names) :]):
                raise csv.Error(f"line {reader.line_num} has {len(cells)} cells, and the heading {len(names)} names")
            if cells:
                lines.append(dict(zip(names, cells, strict=False)))
    return names, lines
