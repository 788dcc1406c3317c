"""What is done about trouble: nothing is lost, nothing is done twice, and everything has an end."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recombine.base.errors import OutputError
from recombine_lab.sweeps.queue import Report, RunQueue
from tests.lab.sweeps.test_packs import run

PACK = tuple(run("a", seed) for seed in range(3))
BROKEN, LOST, GONE = (Report(fault=fault, reason="why") for fault in ("program", "worker", "node"))
UNWRITTEN = Report(fault="store", reason="No space left on device")


def queue(pack, retries=2):
    made = RunQueue(retries)
    made.add([pack])
    return made


def tried(book, report):
    number, _ = book.take()
    return book.settle(number, report)


def test_what_goes_well_is_over():
    book = queue(PACK)
    assert tried(book, Report()) is None
    assert not book.open


def test_a_failing_pack_is_taken_apart_at_once():
    book = queue(PACK)
    assert tried(book, BROKEN) is None
    assert [job.pack for job in book.waiting] == [(one,) for one in PACK]


@pytest.mark.parametrize("retries", [0, 1, 2, 5])
@pytest.mark.parametrize("fault", [BROKEN, LOST])
def test_a_single_run_is_given_up_after_its_retries(retries, fault):
    book = queue(PACK[:1], retries)
    for _ in range(retries):
        assert tried(book, fault) is None
    given_up = tried(book, fault)
    assert given_up is not None
    assert given_up.tries == retries + 1
    assert not book.open


def test_what_cannot_be_is_tried_once():
    mistake = Report(fault="mistake", reason="no such thing")
    book = queue(PACK[:2])
    assert tried(book, mistake) is None
    assert tried(book, mistake).tries == 1
    assert tried(book, mistake).tries == 1
    assert not book.open


def test_a_lost_process_is_forgiven_once_then_the_pack_is_taken_apart():
    book = queue(PACK)
    tried(book, LOST)
    assert [len(job.pack) for job in book.waiting] == [3]
    tried(book, LOST)
    assert [len(job.pack) for job in book.waiting] == [1, 1, 1]


def test_lost_machines_are_nobodys_fault_for_long():
    book = queue(PACK, retries=0)
    for _ in range(20):
        tried(book, GONE)
    assert [len(job.pack) for job in book.waiting] == [3]
    tried(book, GONE)
    assert [len(job.pack) for job in book.waiting] == [1, 1, 1]


def test_a_store_that_cannot_be_written_to_stops_the_sweep():
    book = queue(PACK)
    tried(book, UNWRITTEN)
    tried(book, UNWRITTEN)
    with pytest.raises(OutputError, match="No space left on device"):
        tried(book, UNWRITTEN)


@given(st.data(), st.integers(0, 3))
def test_every_run_ends_once(data, retries):
    """Whatever happens to packs, each run is either done or given up, and that within a bound."""
    book = RunQueue(retries)
    book.add([tuple(run("a", seed) for seed in range(4)), (run("b", 0), run("b", 1))])
    expected = sorted(one.key for job in book.waiting for one in job.pack)
    ended, steps = [], 0
    while book.open:
        while book.waiting and len(book.running) < 2:
            book.take()
        number = data.draw(st.sampled_from(sorted(book.running)))
        pack = book.running[number].pack
        report = data.draw(st.sampled_from([Report(), Report(fault="mistake"), BROKEN, LOST, GONE]))
        given_up = book.settle(number, report)
        if report.fault is None or given_up is not None:
            ended += [one.key for one in pack]
        steps += 1
        assert steps <= 6 * (2 * (retries + 1) + 24) + 2 * 24
    assert sorted(ended) == expected
