"""A long question tells how far it is, and stops when its user does."""

import signal
import threading
import time
from pathlib import Path
from typing import Any

import ibis
import psycopg
import pyarrow as pa
import pytest

import recombine
from recombine import read
from recombine.data import engine, group_counts
from recombine.data.engine import own_duckdb
from tests import servers

_LONG = "SELECT i % 7 AS a, i % 5 AS b, hash(i) % 3 AS c FROM range({rows}) AS numbers(i)"


def _endless(rows: int) -> tuple[object, object]:
    """A table that exists only while it is counted."""
    backend = ibis.duckdb.connect()
    return backend, backend.sql(_LONG.format(rows=rows), schema={"a": "int64", "b": "int64", "c": "uint64"})


def test_the_answer_is_the_same_with_and_without_progress() -> None:
    _, table = _endless(10_000)
    told: list[float | None] = []
    assert read(table, factors=["a", "b"]) == read(table, factors=["a", "b"], progress=told.append)


def test_progress_is_told_several_times_and_lies_between_0_and_1() -> None:
    _, table = _endless(10**12)
    told: list[float | None] = []

    def tell(share: float | None) -> None:
        told.append(share)
        if len(told) == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        read(table, factors=["a", "b"], progress=tell)
    assert len(told) == 5
    assert all(share is None or 0 <= share <= 1 for share in told)


@pytest.mark.parametrize("stop", [KeyboardInterrupt, RuntimeError])
def test_an_interrupt_stops_the_query_at_once(stop: type[BaseException]) -> None:
    _, table = _endless(10**12)  # hours
    raised = 0.0

    def tell(_: float | None) -> None:
        nonlocal raised
        raised = time.perf_counter()
        raise stop("the user pressed Ctrl-C")

    before = set(threading.enumerate())
    with pytest.raises(stop, match="the user pressed"):
        engine.run(table._find_backend(), table.group_by("a").aggregate(n=table.count()), tell)  # type: ignore[attr-defined]
    assert time.perf_counter() - raised < 60  # of hours
    assert not set(threading.enumerate()) - before  # the worker is gone


def test_what_an_engine_does_not_stop_for_is_left_behind() -> None:
    go_on = threading.Event()
    threading.Timer(0.1, signal.pthread_kill, [threading.get_ident(), signal.SIGINT]).start()
    try:
        with pytest.raises(KeyboardInterrupt):
            engine.interruptible(lambda: go_on.wait(60))
    finally:
        go_on.set()
    assert engine.interruptible(lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        engine.interruptible(lambda: 1 // 0)


def test_an_interrupt_before_the_engine_has_begun_is_not_lost() -> None:
    class Sleepy:
        """An engine that begins late: a stop that comes earlier finds nothing to stop."""

        def __init__(self) -> None:
            self.con = self
            self.begun = threading.Event()
            self.stopped = threading.Event()

        def to_pyarrow(self, _: object) -> pa.Table:
            time.sleep(0.4)
            self.begun.set()
            assert self.stopped.wait(timeout=20), "nobody stopped it"
            return pa.table({})

        def interrupt(self) -> None:
            if self.begun.is_set():
                self.stopped.set()

    def tell(_: float | None) -> None:
        raise KeyboardInterrupt

    start = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        engine.run(Sleepy(), None, tell)
    assert time.perf_counter() - start < 15


def test_the_engines_own_time_out_is_not_taken_for_ours() -> None:
    class Slow:
        def to_pyarrow(self, _: object) -> pa.Table:
            time.sleep(0.15)
            raise TimeoutError("the server gave up")

    with pytest.raises(TimeoutError, match="the server gave up"):
        engine.run(Slow(), None, lambda _: None)


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither in the working folder nor among the temporary files, also after an interrupt."""
    temporary = tmp_path / "temporary"
    working = tmp_path / "working"
    temporary.mkdir()
    working.mkdir()
    monkeypatch.chdir(working)
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    table = pa.table({"a": [str(i % 3) for i in range(99)], "b": ["x", "y", "z"] * 33})
    read(table, factors=["a", "b"])
    seen: list[list[Path]] = []

    def stop(_: float | None) -> None:
        seen.append(list(temporary.iterdir()))
        raise KeyboardInterrupt

    path = tmp_path / "long.csv"
    path.write_text("a,b,c\n" + "".join(f"{i % 3},{i % 5},{i}\n" for i in range(1000)))
    hours = "(SELECT count(*) FROM range(100000000000)) > c"
    with pytest.raises(KeyboardInterrupt):
        read(path, factors=["a", "b"], where=hours, progress=stop)
    assert seen[0], "the spill folder was there while the query ran"
    assert list(temporary.iterdir()) == []
    assert list(working.iterdir()) == []


def test_a_spill_goes_to_a_temporary_folder_that_goes_away() -> None:
    with own_duckdb() as backend:
        (folder,) = backend.con.execute("SELECT current_setting('temp_directory')").fetchone()
        assert Path(folder).is_dir()
    assert not Path(folder).exists()


def test_postgres_stops_too(postgres: servers.Postgres) -> None:
    def stop(_: float | None) -> None:
        raise KeyboardInterrupt

    with psycopg.connect(postgres.uri) as connection:
        connection.execute("CREATE TABLE sleepy AS SELECT i % 2 AS a, i % 3 AS b FROM generate_series(1, 60) AS i")
    start = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        read(postgres.uri, factors=["a", "b"], table="sleepy", where="pg_sleep(1) IS NOT NULL", progress=stop)
    assert time.perf_counter() - start < 45  # of a minute
    with psycopg.connect(postgres.uri) as connection:
        connection.execute("DROP TABLE sleepy")  # would wait if somebody still read it


@pytest.mark.parametrize("verb", ["audit", "plan", "predict", "lint", "evaluate", "split"])
def test_a_verb_counts_its_table_once(verb: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """However much it asks of the combinations afterwards, nothing is read again to count them."""
    counted, folded = [], group_counts.folded

    def watched(lines: pa.Table, keys: Any) -> pa.Table:  # the last step of every GROUP BY
        counted.append(len(lines))
        return folded(lines, keys)

    monkeypatch.setattr(group_counts, "folded", watched)
    cells = [(a, b) for a in range(5) for b in range(4) for _ in range(2)]
    sides = ["test" if (a + b) % 4 == 0 else "train" for a, b in cells]
    table = {"a": [a for a, _ in cells], "b": [b for _, b in cells], "y": [(a + b) % 2 for a, b in cells]}
    table |= {"said": [a % 2 for a, _ in cells], "side": sides}
    asked: dict[str, Any] = {
        "lint": {"factors": ["a", "b"], "split": "side"},
        "evaluate": {"factors": ["a", "b"], "target": "y", "prediction": "said", "split": "side"},
        "split": {"by": recombine.HoldOutCombinations(["a", "b"]), "out": tmp_path / "split.parquet"},
    }
    getattr(recombine, verb)(pa.table(table), **asked.get(verb, {"factors": ["a", "b"], "target": "y"}))
    assert len(counted) == 1
