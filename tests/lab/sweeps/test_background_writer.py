"""Writing in a thread of its own: in order, all of it, and nothing after a failure."""

import threading

import pytest

from recombine.base.errors import OutputError
from recombine_lab.runs.store import Store
from recombine_lab.sweeps.worker import BackgroundWriter
from tests.lab.sweeps.test_packs import run
from tests.lab.sweeps.test_sweep import made

RUNS = [made(run("a", seed)) for seed in range(12)]


@pytest.fixture
def store(tmp_path):
    return Store.open(tmp_path / "store")


class Watched:
    """A store that notes what is done to it, and cannot write one run."""

    def __init__(self, *, refuses=None):
        self.done, self.refuses, self.gate = [], refuses, threading.Event()

    def put(self, one, *, files=None):
        self.gate.wait()
        if one.key == self.refuses:
            raise OutputError("cannot write", why="No space left on device", instead="make room")
        self.done.append(("put", one.key))

    def save_state(self, name, state, meta):
        self.done.append(("save", name))

    def drop_state(self, name):
        self.done.append(("drop", name))


def test_everything_is_written_when_it_is_left(store):
    with BackgroundWriter(store) as writer:
        for one in RUNS:
            assert writer.put(one)
    assert store.keys() == {one.key for one in RUNS}
    assert all(store.get(one.key) == one for one in RUNS)


def test_what_is_written_can_be_read(store):
    store.put(RUNS[0])
    store.save_state("half", b"state", {"step": 3})
    with BackgroundWriter(store) as writer:
        assert writer.has(RUNS[0].key)
        assert writer.get(RUNS[0].key) == RUNS[0]
        assert writer.load_state("half") == (b"state", {"step": 3})
        writer.drop_state("half")
    assert store.load_state("half") is None


def test_the_order_is_kept_and_training_does_not_wait():
    watched = Watched()
    with BackgroundWriter(watched) as writer:
        writer.save_state("x", b"", {})
        writer.put(RUNS[0])
        writer.drop_state("x")  # comes back although nothing can be written yet
        watched.gate.set()
    assert watched.done == [("save", "x"), ("put", RUNS[0].key), ("drop", "x")]


def test_after_a_failure_nothing_more_is_done():
    watched = Watched(refuses=RUNS[1].key)
    watched.gate.set()
    with pytest.raises(OutputError, match="No space left"), BackgroundWriter(watched) as writer:  # noqa: PT012
        for one in RUNS[:3]:
            writer.put(one)
            writer.drop_state(one.key)
    assert watched.done == [("put", RUNS[0].key), ("drop", RUNS[0].key)]


def test_what_was_trained_before_an_error_is_still_written(store):
    with pytest.raises(ValueError, match="unlucky"), BackgroundWriter(store) as writer:  # noqa: PT012
        writer.put(RUNS[0])
        raise ValueError("unlucky")
    assert store.has(RUNS[0].key)
