"""Writers that are killed before their n-th step on the file system, for every n; and what a reader finds then.

`python -m tests.killed_writers page|pair|save|split|parts FOLDER` prints a JSON list with an entry for each kill. Steps
are counted by Python's own audit events, so that none is forgotten when the code changes. Every writer is a fork of
this process, which has loaded everything.
"""

import json
import os
import random
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from recombine.base import records
from recombine.base.errors import OutputError
from recombine.base.files import staged, write_text
from recombine.base.records import Provenance, Record
from recombine.verbs.split import split as split_verb
from recombine.verbs.split.random_holdout import HoldOutCombinations

MOVES = {"os.rename", "os.link"}
STEPS = MOVES | {"os.remove", "os.rmdir", "os.mkdir", "shutil.rmtree", "open"}
SLOW = ("split", "parts")
MOST = 400


def a_record(word: str) -> Record:
    return Record("audit", {"verdict": word}, {"numbers": pa.table({"x": [word] * 3})}, Provenance(source="shoes.csv"))


def save(folder: Path, word: str, *, force: bool) -> None:
    records.save(a_record(word), folder / "out", force=force)


def page(folder: Path, word: str, *, force: bool) -> None:
    write_text(folder / "page.html", word, force=force)


def pair(folder: Path, word: str, *, force: bool) -> None:
    """A table with its manifest, as a split moves them, and nothing that takes time."""
    with staged(folder / "table.csv", folder / "table.split.json", force=force) as new:
        (new / "table.csv").write_text("".join(f"{word},\n" for _ in range(13)))
        (new / "table.split.json").write_text(json.dumps({"provenance": {"command": word}}))


def split(folder: Path, word: str, *, force: bool, name: str = "table.csv") -> None:
    rows = {"word": [word] * 12, "a": list("xxyyzz") * 2, "b": list("12") * 6, "n": list(range(12))}
    splitter = HoldOutCombinations(["a", "b"], test_size=0.2, random_state=len(word))
    split_verb.split(rows, by=splitter, out=folder / name, force=force, command=word)


def parts(folder: Path, word: str, *, force: bool) -> None:
    split(folder, word, force=force, name="table")


def words_of_save(folder: Path) -> list[str | None]:
    place = folder / "out" / "record.json"
    return [json.loads(place.read_text())["verdict"] if place.exists() else None]


def words_of_page(folder: Path) -> list[str | None]:
    place = folder / "page.html"
    return [place.read_text() if place.exists() else None]


def words_of_split(folder: Path, name: str = "table.csv") -> list[str | None]:
    """Whose the table is, and whose the manifest."""
    table, note = folder / name, folder / "table.split.json"
    word = None
    if table.is_file():
        lines = table.read_text().splitlines()
        word = lines[1].split(",")[0] if len(lines) == 13 else "torn"
    elif table.is_dir():
        read = [pq.ParquetFile(path).read(use_threads=False) for path in sorted(table.rglob("*.parquet"))]
        rows = pa.concat_tables(one.select(["word"]) for one in read)
        word = rows["word"][0].as_py() if len(rows) == 12 else "torn"
    return [word, json.loads(note.read_text())["provenance"]["command"] if note.exists() else None]


def words_of_parts(folder: Path) -> list[str | None]:
    return words_of_split(folder, "table")


WRITERS: dict[str, Callable[..., None]] = {"page": page, "pair": pair, "save": save, "split": split, "parts": parts}
READERS: dict[str, Callable[[Path], list[str | None]]] = {
    "page": words_of_page,
    "pair": words_of_split,
    "save": words_of_save,
    "split": words_of_split,
    "parts": words_of_parts,
}


def forked(work: Callable[[], Any]) -> tuple[int, Any]:
    """What a process of its own answers, and how it ended."""
    back, there = os.pipe()
    child = os.fork()
    if not child:
        os.close(back)
        try:
            answer = work()
        except OutputError as error:
            answer = f"refused: {error.what}"
        os.write(there, json.dumps(answer).encode())
        os._exit(0)
    os.close(there)
    with os.fdopen(back, "rb") as pipe:
        answer = pipe.read()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), json.loads(answer) if answer else None


def die_before(step: int, steps: set[str]) -> None:
    """Be killed when the n-th step is about to be taken."""
    taken = 0

    def hook(event: str, _: Any) -> None:
        nonlocal taken
        if event in steps:
            taken += 1
            if taken == step:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)


def die_within(seconds: float) -> None:
    threading.Thread(target=lambda: (time.sleep(seconds), os.kill(os.getpid(), signal.SIGKILL)), daemon=True).start()


def trial(what: str, folder: Path, *, old: bool, die: Callable[[], None]) -> dict[str, Any]:
    """What is found after a kill, what the next writer who may not replace anything is told, and what is found then."""
    write, read = WRITERS[what], READERS[what]
    folder.mkdir()
    if old:
        forked(lambda: write(folder, "old", force=False))

    def work() -> None:
        die()
        write(folder, "new", force=old)

    ended, _ = forked(work)
    found = forked(lambda: read(folder))[1]
    told = forked(lambda: write(folder, "later", force=False))[1]
    then = forked(lambda: read(folder))[1]
    hidden = [path.name for path in folder.iterdir() if path.name.startswith(".")]
    shutil.rmtree(folder)
    return {"old": old, "ended": ended, "found": found, "told": told, "then": then, "hidden": hidden}


def main(what: str, place: Path) -> list[dict[str, Any]]:
    """Every step is the last one once, with and without something to replace; then some kills at random moments.

    Of what takes long only the moves, at which alone anything that a reader sees can change.
    """
    place.mkdir(exist_ok=True)
    WRITERS[what](place, "warm", force=False)  # so that no writer spends its steps on loading libraries
    found = []
    steps = MOVES if what in SLOW else STEPS
    for old in (False, True):
        for step in range(1, MOST):
            found.append(trial(what, place / f"{old}-{step}", old=old, die=lambda n=step: die_before(n, steps)))
            if found[-1]["ended"] == 0:
                break
    draw = random.Random(0)
    for turn in range(0 if what in SLOW else 20):
        seconds = draw.uniform(0, 0.02)
        found.append(trial(what, place / f"random-{turn}", old=True, die=lambda s=seconds: die_within(s)))
    return found


if __name__ == "__main__":
    json.dump(main(sys.argv[1], Path(sys.argv[2])), sys.stdout)
