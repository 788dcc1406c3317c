"""Outputs are whole or not there: whoever is killed, however many write at once, and when the disk is full."""

import errno
import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import recombine
from recombine.base import files, records
from recombine.base.errors import OutputError, SourceError
from recombine.base.files import recover, staged, write_text
from recombine.base.records import Provenance, Record

ROOT = Path(__file__).parents[1]


def listed(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def a_record(word: str, numbers: int = 3) -> Record:
    table = pa.table({"x": [f"{word}{k}" for k in range(numbers)]})
    return Record("audit", {"verdict": word}, {"numbers": table}, Provenance(source="shoes.csv"))


# --- killed


@pytest.mark.process
@pytest.mark.parametrize("what", ["page", "pair", "save", "split", "parts"])
def test_a_killed_writer_leaves_the_old_or_the_new(what, tmp_path) -> None:
    """Killed before every single step; the next writer finds everything in order, and leaves nothing hidden."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.killed_writers", what, str(tmp_path / "place")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    trials = json.loads(done.stdout)
    assert {trial["ended"] for trial in trials} == {0, -signal.SIGKILL}
    for trial in trials:
        before = "old" if trial["old"] else None
        words = set(trial["found"])
        assert words <= {before, "new", None}, trial
        assert not {"old", "new"} <= words, trial  # a table beside the manifest of another
        if trial["old"] or "new" in words:
            assert "refused" in trial["told"], trial
            assert set(trial["then"]) in ({before}, {"new"}), trial
        else:
            assert (trial["told"], set(trial["then"])) == (None, {"later"}), trial
        assert trial["hidden"] == [], trial
    assert any(trial["found"] != trial["then"] for trial in trials if trial["old"]) or what == "page"


def test_what_a_killed_writer_left_is_swept(tmp_path) -> None:
    code = (
        "import os, sys, time; from pathlib import Path; from recombine.base.files import staged\n"
        "with staged(Path('out.csv')) as new:\n"
        "    (new / 'out.csv').write_text('half'); print('ready', flush=True); time.sleep(60)\n"
    )
    child = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, stdout=subprocess.PIPE)
    child.stdout.readline()
    (staging,) = tmp_path.iterdir()
    assert staging.name.startswith(".out.csv.recombine-")
    os.utime(staging / "new" / "out.csv", (0, 0))
    os.utime(staging / "new", (0, 0))
    os.utime(staging, (0, 0))
    write_text(tmp_path / "out.csv", "mine")
    assert listed(tmp_path) == [staging.name, "out.csv"], "the staging of a living writer is its own, however old"
    child.kill()
    child.wait()
    write_text(tmp_path / "other.csv", "mine")
    assert staging.exists(), "staging of another name is not ours to sweep"
    write_text(tmp_path / "out.csv", "mine again")
    assert listed(tmp_path) == ["other.csv", "out.csv"]


@pytest.mark.parametrize("pattern", ["", "**/*.parquet"])
def test_what_is_being_written_is_not_read(tmp_path, pattern) -> None:
    """A folder that is read may hold it: its rows would be counted twice."""
    table = pa.table({"a": ["x", "y", "x"], "b": ["1", "2", "2"]})
    pq.write_table(table, tmp_path / "t.parquet")
    with staged(tmp_path / "held.parquet") as new:
        pq.write_table(table, new / "held.parquet")
        with pytest.raises(SourceError, match="would be read too"):
            recombine.read(tmp_path / pattern, factors=["a", "b"])
    assert recombine.read(tmp_path / pattern, factors=["a", "b"]).rows == 6


def test_staging_of_another_machine_is_swept_after_a_day(tmp_path, monkeypatch) -> None:
    staging = tmp_path / f".out.recombine-{'0' * 8}-{'1' * 16}"
    (staging / "new").mkdir(parents=True)
    (staging / "new" / "out").write_text("half")
    similar = tmp_path / ".out.recombine-notes"
    similar.mkdir()
    write_text(tmp_path / "out", "mine")
    assert staging.exists()
    for path in (staging / "new" / "out", staging / "new", staging):
        os.utime(path, (time.time() - 90_000,) * 2)
    write_text(tmp_path / "out", "mine")
    assert listed(tmp_path) == [similar.name, "out"]


def test_lines_end_as_they_were_given_on_every_system(tmp_path) -> None:
    assert write_text(tmp_path / "a.csv", "x\r\n1\r\n").read_bytes() == b"x\r\n1\r\n"
    # without `newline` Windows writes \r\n for \n, which no test on another system can see
    ours = [path for room in ("src", "lab/src") for path in (ROOT / room).rglob("*.py")]
    calls = re.compile(r"\.write_text\((?!text, )[^>\n]*encoding=[^\n]*$|\.open\(\"[wxa]\"[^\n]*$", re.MULTILINE)
    found = [(path.name, call) for path in ours for call in calls.findall(path.read_text(encoding="utf-8"))]
    assert [one for one in found if "newline=" not in one[1] and "json.dumps" not in one[1]] == []


def test_a_folder_takes_an_empty_ones_place_where_nothing_can_be_renamed_onto_a_folder(tmp_path, monkeypatch) -> None:
    rename = Path.rename

    def as_on_windows(made: Path, place: Path) -> Path:
        if os.path.lexists(place):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
        return rename(made, place)

    monkeypatch.setattr(Path, "rename", as_on_windows)
    (tmp_path / "empty").mkdir()
    for word, force in (("said", False), ("again", True)):
        records.save(a_record(word), tmp_path / "empty", force=force)
        assert records.load(tmp_path / "empty", "audit").data == {"verdict": word}
    assert listed(tmp_path) == ["empty"]


def test_without_locks_age_alone_tells(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(files, "_HAS_LOCKS", False)
    staging = tmp_path / f".out.recombine-{files._host()}-{'1' * 16}"
    (staging / "old").mkdir(parents=True)
    (staging / "old" / "out").write_text("precious")
    recover(tmp_path / "out")
    assert listed(tmp_path) == [staging.name]
    for path in (staging / "old" / "out", staging / "old", staging):
        os.utime(path, (1, 1))
    with pytest.raises(OutputError, match="already exists"):
        write_text(tmp_path / "out", "mine", force=False)
    assert (tmp_path / "out").read_text() == "precious"
    assert listed(tmp_path) == ["out"]


def test_what_somebody_put_there_since_is_left_alone(tmp_path) -> None:
    """The old lies aside, and another stands in its place: it stays, and no manifest comes to stand beside it."""
    staging = tmp_path / f".t.csv.recombine-{files._host()}-{'1' * 16}"
    (staging / "old").mkdir(parents=True)
    (staging / "new").mkdir()
    (staging / "old" / "t.csv").write_text("old")
    (staging / "old" / "t.split.json").write_text("old")
    (staging / "new" / "t.split.json").write_text("new")
    (staging / "finished").write_text(json.dumps({"names": ["t.csv", "t.split.json"], "first": [1, 1]}))
    (tmp_path / "t.csv").write_text("by hand")
    recover(tmp_path / "t.csv")
    assert listed(tmp_path) == ["t.csv"]
    assert (tmp_path / "t.csv").read_text() == "by hand"


@pytest.mark.parametrize("failing", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("error", [OSError(5, "Input/output error"), FileExistsError(17, "taken"), KeyboardInterrupt()])
def test_a_move_that_fails_is_undone(tmp_path, monkeypatch, failing, error) -> None:
    table, note = tmp_path / "t.csv", tmp_path / "t.split.json"

    def write(word: str) -> None:
        with staged(table, note, force=True) as new:
            (new / table.name).write_text(word)
            (new / note.name).write_text(word)

    write("old")
    calls, moves = 0, {name: getattr(Path, name) for name in ("rename", "hardlink_to")}

    def fail(name: str):
        def move(self, other):
            nonlocal calls
            calls += 1
            if calls == failing:
                raise error
            return moves[name](self, other)

        return move

    for name in moves:
        monkeypatch.setattr(Path, name, fail(name))
    with suppress(OutputError, KeyboardInterrupt):
        write("new")
    monkeypatch.undo()
    without_links = failing in (3, 4) and type(error) is OSError  # then they are moved in another way
    word = "new" if failing == 5 or without_links else "old"  # the fifth only takes the old out of sight
    assert (table.read_text(), note.read_text(), calls >= failing) == (word, word, True)
    assert listed(tmp_path) == ["t.csv", "t.split.json"]


# --- many at once


def test_one_of_many_writers_wins(tmp_path) -> None:
    def write(word: int) -> str:
        try:
            with staged(tmp_path / "t.csv", tmp_path / "t.split.json") as new:
                (new / "t.csv").write_text(str(word))
                (new / "t.split.json").write_text(str(word))
                time.sleep(0.02)
        except OutputError as error:
            return error.what
        return "done"

    with ThreadPoolExecutor(8) as pool:
        told = list(pool.map(write, range(8)))
    assert told.count("done") == 1
    assert sum("already exists" in one for one in told) == 7
    assert (tmp_path / "t.csv").read_text() == (tmp_path / "t.split.json").read_text()
    assert listed(tmp_path) == ["t.csv", "t.split.json"]


@pytest.mark.parametrize("locks", [True, False])
def test_one_of_many_folders_wins(tmp_path, monkeypatch, locks) -> None:
    """With locks, and where a file system has none."""
    monkeypatch.setattr(files, "_HAS_LOCKS", locks)

    def save(word: int) -> str:
        try:
            records.save(a_record(str(word)), tmp_path / "out")
        except OutputError as error:
            return error.what
        return "done"

    with ThreadPoolExecutor(8) as pool:
        told = list(pool.map(save, range(8)))
    assert told.count("done") == 1
    assert sum("already exists" in one for one in told) == 7
    assert records.load(tmp_path / "out", "audit").data["verdict"] in "01234567"
    assert listed(tmp_path) == ["out"]


def test_tables_and_manifests_of_many_who_replace_each_other_stay_together(tmp_path) -> None:
    table, note = tmp_path / "t.csv", tmp_path / "t.split.json"

    def write(word: int) -> None:
        with staged(table, note, force=True) as new:
            (new / table.name).write_text(str(word))
            (new / note.name).write_text(str(word))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(60)))
    assert table.read_text() == note.read_text()
    assert listed(tmp_path) == ["t.csv", "t.split.json"]


@pytest.mark.process
def test_four_splits_at_once(tmp_path) -> None:
    """Four processes, one name, nobody may replace anything: one of them succeeds."""
    (tmp_path / "t.csv").write_text("a,b,n\n" + "".join(f"{k % 3},{k % 4},{k}\n" for k in range(60)))
    words = ["split", "t.csv", "--factors", "a,b", "--out", "held.csv", "--seed"]
    code = "import sys; from recombine.cli import main; import recombine.verbs.split.split; "
    code += "print('ready', flush=True); sys.stdin.readline(); main()"
    crowd = [
        subprocess.Popen(
            [sys.executable, "-c", code, *words, str(seed)],
            cwd=tmp_path,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for seed in range(4)
    ]
    for one in crowd:
        one.stdout.readline()
    for one in crowd:
        one.stdin.write("go\n")
        one.stdin.flush()
    told = [(one.communicate(timeout=120)[1], one.returncode) for one in crowd]
    assert sorted(code for _, code in told) == [0, 2, 2, 2], told
    assert sum("already exists" in said for said, _ in told) == 3
    seed = next(place for place, (_, code) in enumerate(told) if code == 0)
    manifest = json.loads((tmp_path / "held.split.json").read_text())
    assert manifest["provenance"]["settings"]["seed"] == seed
    assert listed(tmp_path) == ["held.csv", "held.split.json", "t.csv"]


# --- no room


@pytest.fixture
def small_files():
    """No file can grow beyond 20 kB, as on a full disk; the limit is taken away again."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_result_that_does_not_fit(tmp_path, small_files) -> None:
    records.save(a_record("old"), tmp_path / "out")
    with pytest.raises(OutputError, match="cannot write"):
        records.save(a_record("new", 100_000), tmp_path / "out", force=True)
    assert records.load(tmp_path / "out", "audit").data["verdict"] == "old"
    with pytest.raises(OutputError, match="cannot write") as caught:
        write_text(tmp_path / "page.html", "x" * 30_000)
    assert "too large" in caught.value.why
    assert listed(tmp_path) == ["out"]


@pytest.mark.process
@pytest.mark.parametrize("out", ["held.csv", "held.parquet", "held"])
def test_a_split_that_does_not_fit(tmp_path, out) -> None:
    """In a process of its own, whose engine takes the limit for a full disk."""
    (tmp_path / "t.csv").write_text(
        "a,b,n\n" + "".join(f"{k % 3},{k % 4},{k * 7919 % 1000003}\n" for k in range(40_000))
    )
    (tmp_path / "s.csv").write_text("a,b,n\n" + "".join(f"{k % 3},{k % 4},{k}\n" for k in range(60)))
    code = (
        "import resource, sys; from recombine.cli import main; import recombine.verbs.split.split\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.RLIM_INFINITY)); main()"
    )

    def run(*words: str) -> subprocess.CompletedProcess:
        command = [sys.executable, "-c", code, "split", *words, "-f", "a,b", "--out", out]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert run("s.csv").returncode == 0
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    done = run("t.csv", "--force")
    assert done.returncode == 2, done.stderr
    assert f"cannot write '{out}'" in done.stderr
    assert "Traceback" not in done.stderr
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")
def test_a_full_disk(tmp_path) -> None:
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no tmpfs can be mounted here")
    try:
        records.save(a_record("old"), place / "out")
        write_text(place / "page.html", "old")
        for write in (
            lambda: records.save(a_record("new", 100_000), place / "out", force=True),
            lambda: write_text(place / "page.html", "x" * 200_000),
        ):
            with pytest.raises(OutputError, match="cannot write") as caught:
                write()
            assert "space" in caught.value.why
        assert records.load(place / "out", "audit").data["verdict"] == "old"
        assert listed(place) == ["out", "page.html"]
        assert (place / "page.html").read_text() == "old"
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


# --- names


def test_the_longest_names_can_be_written(tmp_path) -> None:
    names = ["x" * 255, "ü" * 127, "x" * 254 + "y", " ", "a\nb", "-"]
    for name in names:
        write_text(tmp_path / name, name)
        write_text(tmp_path / name, name)
    assert listed(tmp_path) == sorted(names)


@pytest.mark.parametrize("name", ["x" * 300, "a/" * 3000 + "b"])
def test_a_name_that_is_too_long_is_told(tmp_path, name) -> None:
    for write in (lambda: write_text(tmp_path / name, "x"), lambda: records.save(a_record("x"), tmp_path / name)):
        with pytest.raises(OutputError, match="cannot write"):
            write()
    assert listed(tmp_path) == []


def test_a_file_is_as_readable_as_the_user_wants_it(tmp_path) -> None:
    before = os.umask(0o027)
    try:
        write_text(tmp_path / "page.html", "x")
        records.save(a_record("x"), tmp_path / "out")
    finally:
        os.umask(before)
    modes = [oct(path.stat().st_mode & 0o777) for path in (tmp_path / "page.html", tmp_path / "out")]
    assert modes == ["0o640", "0o750"]
