"""SIGKILL at any moment of a write over an older result: the old or the new is there; and many writers at once."""
# ruff: noqa: PLC0415 - the library is loaded by those who run cases, and in children after what befalls them

import atexit
import json
import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from attacks.case import Case, told
from attacks.children import Child, Order, forked
from attacks.outputs import options_of

OLD, NEW = "old.csv", "new.csv"
_LINES = {
    OLD: [("v", "v"), ("w", "v"), ("v", "w"), ("x", "v"), ("x", "w"), ("w", "w")],
    NEW: [("v", "v"), ("w", "v"), ("v", "w"), ("x", "v"), ("x", "w"), ("z", "w"), ("z", "v"), ("y", "w"), ("y", "v")],
}


@dataclass(frozen=True)
class Write:
    """A command that writes something over something older."""

    verb: str
    words: tuple[str, ...]
    place: str
    whole: Callable[[Path], str]  # which of the two is there, "" for neither; raises what a user would get


def _result(folder: Path) -> str:
    import recombine

    return str(recombine.Audit.load(folder / "saved").provenance.source)


def _file(folder: Path) -> str:
    """The table that stands beside its manifest; a table alone is half a split."""
    return _split(folder / "held.split.json")


def _folder(folder: Path) -> str:
    return _split(folder / "sides.split.json")


def _split(note: Path) -> str:
    from recombine.splits.writing import manifest

    changed = manifest.difference(manifest.read(note))
    if changed:
        raise AssertionError(changed)
    return str(json.loads(note.read_text(encoding="utf-8"))["provenance"]["source"])


def _page(folder: Path) -> str:
    text = (folder / "page.html").read_text(encoding="utf-8")
    if not text.rstrip().endswith("</html>"):
        raise AssertionError("half a page")
    return OLD if OLD in text else NEW


WRITES = (
    Write("audit", ("--out", "saved"), "saved", _result),
    Write("split", ("--share", "0.3", "--out", "held.csv"), "held.csv", _file),
    Write("split", ("--share", "0.3", "--out", "sides"), "sides", _folder),
    Write("audit", ("--report", "page.html"), "page.html", _page),
)


def attack(case: Case) -> None:
    """One write, killed once; every tenth case is a race instead."""
    if case.number % 10 == 9:
        return _race(case)
    write = WRITES[case.number % 10 % len(WRITES)]
    folder = case.folder / "place"
    shutil.copytree(older(), folder)
    child, said = _killed(case, write, folder)
    if child.signal != 9:  # it was done before
        case.expect(child.code == 0, f"{said}: ended with {child.code}, {child.err[-160:]}")
    there = there_is(case, write, folder, said, final=False)
    if not there:
        _run(write, folder, force=False)  # the next command at this name puts back what was moved aside
        there_is(case, write, folder, said, final=True)
    again = _run(write, folder, force=True)
    case.expect(again.code == 0, f"{said}: the next write ends with {again.code}, {again.err[-160:]}")
    case.expect(there_is(case, write, folder, said, final=True) == NEW, f"{said}: the next write did not write")
    left = sorted(path.name for path in folder.iterdir() if path.name.startswith("."))
    case.expect(not left, f"{said}: {left} is left behind after the next write")
    return None


def _killed(case: Case, write: Write, folder: Path) -> tuple[Child, str]:
    """The command, killed before one of its changes, or at a moment of the clock."""
    changes, seconds = _usual(WRITES.index(write))
    order = _order(write, folder, force=True)
    if case.chance(0.75):
        before = case.rng.randint(1, max(changes, 1))
        (child,) = forked(replace(order, kill_before=before))
        return child, f"{' '.join(order.words)}, killed before change {before} of {changes}"
    moment = case.rng.uniform(0, 1.1)
    (child,) = forked(order, kill_after=moment * seconds)
    return child, f"{' '.join(order.words)}, killed after {moment:.2f} of its time"


@cache
def _usual(place: int) -> tuple[int, float]:
    """How many changes a write makes, and how long it takes, when nobody kills it."""
    with tempfile.TemporaryDirectory(prefix="siege-") as scratch:
        folder = Path(scratch).resolve() / "place"
        shutil.copytree(older(), folder)
        child = _run(WRITES[place], folder, force=True)
    return child.changes, child.seconds


@cache
def older() -> Path:
    """The two tables, and every older result, made once in a worker's life."""
    folder = Path(tempfile.mkdtemp(prefix="siege-kills-")).resolve()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    place = folder / "place"
    place.mkdir()
    for name, lines in _LINES.items():
        (place / name).write_text("a,b\n" + "".join(f"{a},{b}\n" for a, b in lines * 50))
    for write in WRITES:
        (child,) = forked(_order(write, place, force=False, source=OLD))
        assert child.code == 0, child.err
    return place


def words_of(write: Write, *, force: bool, source: str = NEW) -> tuple[str, ...]:
    forced = ("--force",) if force and "--force" in options_of(write.verb) else ()
    return (write.verb, source, "-f", "a,b", *write.words, *forced)


def _run(write: Write, folder: Path, *, force: bool) -> Child:
    return forked(_order(write, folder, force=force))[0]


def _order(write: Write, folder: Path, *, force: bool, source: str = NEW) -> Order:
    words = words_of(write, force=force, source=source)
    return Order(words=words, folder=str(folder), plant=os.environ.get("SIEGE_PLANT", ""))


def there_is(case: Case, write: Write, folder: Path, said: str, *, final: bool) -> str:
    """Which of the two is there, whole. Half is a fault always, nothing if the next command did not mend it."""
    from recombine.errors import RecombineError

    try:
        return write.whole(folder)
    except AssertionError as error:
        case.expect(False, f"{said}: {error}")
    except (RecombineError, OSError) as error:
        case.expect(not final, f"{said}: neither the old nor the new is there: {told(error)}")
    except Exception as error:  # noqa: BLE001 - a traceback is what we look for
        case.expect(False, f"{said}: {told(error)}")
    return ""


def _race(case: Case) -> None:
    """Four writers of one name, none of which may replace anything: one of them wins."""
    write = case.rng.choice([write for write in WRITES if write.verb == "split" or write.place == "saved"])
    folder = case.folder / "place"
    shutil.copytree(older(), folder)
    for path in [*folder.glob("held*"), *folder.glob("sides*"), folder / "saved"]:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    order = _order(write, folder, force=False)
    done = forked(replace(order, times=4))
    codes = sorted(child.code for child in done)
    said = f"four times {' '.join(order.words)} at once"
    case.expect(codes == [0, 2, 2, 2], f"{said}: exit codes {codes}")
    case.expect(not any("Traceback" in child.err for child in done), f"{said}: a traceback")
    case.expect(there_is(case, write, folder, said, final=True) == NEW, f"{said}: what is there is not whole")
