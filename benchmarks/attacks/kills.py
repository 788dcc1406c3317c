"""SIGKILL or Ctrl-C at any moment of a write over an older result: the old or the new is there; and races."""
# ruff: noqa: PLC0415 - the library is loaded by those who run cases, and in children after what befalls them

import atexit
import json
import os
import shutil
import signal
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from attacks.case import Case, Skipped, needs, told
from attacks.children import Child, Order, forked
from attacks.outputs import options_of

INTERRUPTED = 130
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


def _saved(name: str) -> Callable[[Path], str]:
    def whole(folder: Path) -> str:
        import recombine

        return str(recombine.load(folder / name).provenance.source)

    return whole


def _file(folder: Path) -> str:
    """The table that stands beside its manifest; a table alone is half a split."""
    return _split(folder / "held.split.json")


def _folder(folder: Path) -> str:
    return _split(folder / "sides.split.json")


def _split(note: Path) -> str:
    from recombine.verbs.split import manifest

    changed = manifest.difference(manifest.read(note))
    if changed:
        raise AssertionError(changed)
    return str(json.loads(note.read_text(encoding="utf-8"))["provenance"]["source"])


def _page(name: str) -> Callable[[Path], str]:
    def whole(folder: Path) -> str:
        text = (folder / name).read_text(encoding="utf-8")
        if not text.rstrip().endswith("</html>"):
            raise AssertionError("half a page")
        return OLD if OLD in text else NEW

    return whole


_SCORED = ("-t", "y", "-p", "p", "--split", "side", "--no-causes", "--draws", "200")
_TRAINED = ("-t", "y", "--learner", "additive", "--rounds", "1")
WRITES = (
    Write("audit", ("--out", "saved"), "saved", _saved("saved")),
    Write("split", ("--share", "0.3", "--out", "held.csv"), "held.csv", _file),
    Write("split", ("--share", "0.3", "--out", "sides"), "sides", _folder),
    Write("audit", ("--report", "page.html"), "page.html", _page("page.html")),
    Write("predict", ("-t", "y", "--out", "predicted"), "predicted", _saved("predicted")),
    Write("plan", ("--out", "planned"), "planned", _saved("planned")),
    Write("evaluate", (*_SCORED, "--out", "evaluated"), "evaluated", _saved("evaluated")),
    Write("evaluate", (*_SCORED, "--report", "scores.html"), "scores.html", _page("scores.html")),
    Write("rehearse", (*_TRAINED, "--out", "rehearsed"), "rehearsed", _saved("rehearsed")),
)


def attack(case: Case) -> None:
    """One write, killed once; every tenth case is a race instead."""
    if case.number % 10 == 9:
        return _studied(case) if case.number % 50 == 49 else _race(case)
    write = WRITES[case.number % 10 % len(WRITES)]
    folder = case.folder / "place"
    shutil.copytree(older(), folder)
    child, said = _killed(case, write, folder)
    case.expect("Traceback" not in child.err, f"{said}: {child.err[-200:]}")
    if child.signal != signal.SIGKILL:  # it was done before, or heard Ctrl-C
        case.expect(child.code in (0, INTERRUPTED), f"{said}: ended with {child.code}, {child.err[-160:]}")
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
    """The command, killed or interrupted before one of its changes, or at a moment of the clock."""
    changes, seconds = _usual(WRITES.index(write))
    by = signal.SIGINT if case.chance(0.4) else signal.SIGKILL
    order = replace(_order(write, folder, force=True), by=by)
    said = f"{' '.join(order.words)}, {by.name}"
    if case.chance(0.75):
        before = case.rng.randint(1, max(changes, 1))
        (child,) = forked(replace(order, kill_before=before))
        return child, f"{said} before change {before} of {changes}"
    moment = case.rng.uniform(0, 1.1)
    (child,) = forked(order, kill_after=moment * seconds)
    return child, f"{said} after {moment:.2f} of its time"


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
        (place / name).write_text(_table(lines))
    for write in WRITES:
        (child,) = forked(_order(write, place, force=False, source=OLD))
        assert child.code == 0, child.err
    return place


def _table(lines: list[tuple[str, str]]) -> str:
    """Fifty rows of each combination; the last one is held out, and half of its answers are wrong."""
    rows = []
    for number in range(50):
        for a, b in lines:
            y = "yes" if a in "vx" else "no"
            side, p = ("test", ("yes", "no")[number % 2]) if (a, b) == lines[-1] else ("train", y)
            rows.append(f"{a},{b},{y},{p},{side}\n")
    return "a,b,y,p,side\n" + "".join(rows)


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
    from recombine.base.errors import RecombineError

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
    write = case.rng.choice([write for write in WRITES if "--out" in write.words])
    folder = case.folder / "place"
    shutil.copytree(older(), folder)
    for path in [*folder.glob("held*"), *folder.glob("sides*"), *folder.glob("*ed")]:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    order = _order(write, folder, force=False)
    done = forked(replace(order, times=4))
    codes = sorted(child.code for child in done)
    said = f"four times {' '.join(order.words)} at once"
    case.expect(codes == [0, 2, 2, 2], f"{said}: exit codes {codes}")
    case.expect(not any("Traceback" in child.err for child in done), f"{said}: a traceback")
    case.expect(there_is(case, write, folder, said, final=True) == NEW, f"{said}: what is there is not whole")


def _studied(case: Case) -> None:
    """A study, killed at some moment; asked again it goes on, and its pages are those of one that nobody killed."""
    needs("torch")
    if not os.environ.get("RECOMBINE_DATA"):
        raise Skipped("a study needs the data sets (RECOMBINE_DATA)")
    words = ("study", "run", "redundancy", "--preset", "smoke", "--store", "store", "--out", "pages")
    by = case.rng.choice((signal.SIGKILL, signal.SIGINT))
    moment = case.rng.uniform(1.0, 25.0)
    (child,) = forked(Order(words=words, folder=str(case.folder), by=by), kill_after=moment, longest=250.0)
    said = f"{' '.join(words)}, {by.name} after {moment:.0f} s"
    case.expect("Traceback" not in child.err, f"{said}: {child.err[-200:]}")
    (again,) = forked(Order(words=words, folder=str(case.folder)), longest=250.0)
    case.expect(again.code == 0, f"{said}: asked again, it ends with {again.code}, {again.err[-200:]}")
    pages = sorted((case.folder / "pages").rglob("*.html"))
    case.expect(pages, f"{said}: asked again, it wrote no page")
    case.expect(all(page.read_text().rstrip().endswith("</html>") for page in pages), f"{said}: half a page")
