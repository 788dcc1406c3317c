"""A disk without room, and files that may not grow: words, and the old result intact."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from attacks.case import Case
from attacks.children import Child, Order, forked
from attacks.kills import NEW, WRITES, Write, older, there_is, words_of

_ROOM = 12 * 2**20


def attack(case: Case) -> None:
    """One write, with less room than it needs, or hardly enough."""
    write = WRITES[case.number % len(WRITES)]
    if case.number // len(WRITES) % 2:
        return _short_files(case, write)
    place = case.folder / "disk"
    place.mkdir()
    with _small_disk(place) as mounted:
        if not mounted:
            return _short_files(case, write)
        return _full(case, write, place)


def _full(case: Case, write: Write, disk: Path) -> None:
    """A small file system, filled up by somebody else but for some bytes."""
    folder = disk / "place"
    shutil.copytree(older(), folder)
    left = case.rng.choice((0, 4_096, 8_192, 20_480, 65_536))
    filler = disk / "somebody-else's"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4_096))
    os.truncate(filler, max(filler.stat().st_size - left, 0))
    (child,) = forked(_order(write, folder))
    _held(case, write, folder, child, f"{' '.join(words_of(write, force=True))} with {left:,} bytes left")
    filler.unlink()
    (again,) = forked(_order(write, folder))
    case.expect(again.code == 0, f"{' '.join(again.err.split())[:100]}: with room again, exit code {again.code}")
    hidden = sorted(path.name for path in folder.iterdir() if path.name.startswith("."))
    case.expect(not hidden, f"{hidden} is left behind after a full disk and a write that went well")


def _short_files(case: Case, write: Write) -> None:
    """A limit on the size of files (RLIMIT_FSIZE), which fails in the middle of one."""
    folder = case.folder / "place"
    shutil.copytree(older(), folder)
    most = case.rng.choice((1, 100, 500, 1_000, 2_000, 4_000))
    (child,) = forked(_order(write, folder, most_bytes=most))
    _held(case, write, folder, child, f"{' '.join(words_of(write, force=True))} with files of at most {most:,} bytes")


def _order(write: Write, folder: Path, *, most_bytes: int = 0) -> Order:
    words = words_of(write, force=True)
    return Order(words=words, folder=str(folder), most_bytes=most_bytes, plant=os.environ.get("SIEGE_PLANT", ""))


def _held(case: Case, write: Write, folder: Path, child: Child, said: str) -> None:
    case.expect(child.code in (0, 2), f"{said}: exit code {child.code}, {child.err[-200:]}")
    case.expect("Traceback" not in child.err, f"{said}: a traceback, {child.err[-200:]}")
    case.expect(child.code != 2 or "why" in child.err, f"{said}: refused without a word: {child.err[:100]}")
    there = there_is(case, write, folder, said, final=True)
    case.expect(there != NEW or child.code == 0, f"{said}: refused, and the old is gone")
    case.expect(there == NEW or child.code != 0, f"{said}: exit code 0, and the new is not there")
    hidden = sorted(path.name for path in folder.iterdir() if path.name.startswith("."))
    case.expect(not hidden, f"{said}: {hidden} is left behind")


@contextmanager
def _small_disk(folder: Path) -> Iterator[bool]:
    """A file system of its own, where that is allowed."""
    mount = ["mount", "-t", "tmpfs", "-o", f"size={_ROOM}", "tmpfs", str(folder)]
    try:
        mounted = subprocess.run(mount, check=False, capture_output=True).returncode == 0
    except OSError:
        mounted = False
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", "-l", str(folder)], check=False, capture_output=True)
