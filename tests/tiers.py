"""Which tests decide whether a change lands, and which are run each night: told by markers, and those by measurement.

A test without a marker may take three seconds of processor time, its processes counted. One that takes more fails, and
is told which marker it wants; one that takes little more is run once more first, since what else the machine does can
only add to the time, so that the lesser of two is what a test takes. `.ci/run` runs the unmarked ones and of each
marker a few canaries, by which one sees that the real thing still works; `.ci/run nightly` runs all.
"""

import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import pytest
from _pytest.runner import runtestprotocol  # private by its module's name; every plugin that repeats a test calls it
from hypothesis import is_hypothesis_test

from tests.properties import PROFILE

HEAVY = ("cluster", "browser", "engine", "process", "slow")
"""In this order: a browser is a process too."""

ENGINES = {"postgres", "spark", "s3", "mlflow_server"}
"""Fixtures that start a server: who asks for one is marked by it."""

_LOOPS, _QUIET_SECONDS = 300_000, 0.045
"""What a quiet 2.5 GHz Xeon took, .04 to .05 s."""

_NOISE = 1.5
"""Times the limit that a test may seem to take because of its neighbours; what takes more is long without a doubt."""

_MANY_MODULES = 100
"""Who is the first to need torch's compiler or scikit-learn imports a thousand modules for all that come after it."""

_PROGRAMS = {
    "raylet": "cluster",
    "gcs_server": "cluster",
    "chromium": "browser",
    "java": "engine",
    "postgres": "engine",
}


class Started:
    """The programs that this process has started since it was asked last."""

    def __init__(self) -> None:
        self._programs: list[str] = []
        sys.addaudithook(self._notice)

    def _notice(self, event: str, given: tuple[Any, ...]) -> None:
        if event == "subprocess.Popen":
            self._programs.append(PurePath(os.fsdecode(given[0] or given[1][0])).name)
        elif event in ("os.fork", "os.posix_spawn"):
            self._programs.append(event)

    def forget(self) -> list[str]:
        """What was started, of which nothing is kept."""
        programs, self._programs = self._programs, []
        return programs


def wanted(programs: list[str]) -> str:
    """The marker of a test that took too long, by what it started."""
    kinds = {_PROGRAMS.get(program, "process") for program in programs}
    return next((kind for kind in HEAVY if kind in kinds), "slow")


def slowness() -> float:
    """How much longer a reference loop takes now than on a quiet machine: two tests on one core slow each other."""
    taken = []
    for _ in range(3):
        begun = time.process_time()
        sum(k * k for k in range(_LOOPS))
        taken.append(time.process_time() - begun)
    return max(1.0, sorted(taken)[1] / _QUIET_SECONDS)


@dataclass(frozen=True)
class Taken:
    """Processor time of this process, and of those that it started and that have ended."""

    own: float
    others: float

    @classmethod
    def so_far(cls) -> "Taken":
        """Since this process began."""
        times = os.times()
        return cls(times.user + times.system, times.children_user + times.children_system)

    def since(self, begun: "Taken", *, started: bool) -> float:
        """A process that an earlier test left behind ends in somebody else's time, and is not counted as theirs."""
        return self.own - begun.own + (self.others - begun.others if started else 0.0)


class Tiers:
    """Marks what asks for a server, lets the heavy begin first, and fails what takes longer than it says."""

    def __init__(self, seconds: float) -> None:
        self._allowed = seconds or float("inf")
        self._started = Started()
        self._begun = Taken.so_far()
        self._modules = 0
        self._is_close = False

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        """Before tests are chosen by their markers."""
        if ENGINES & _fixtures(item):
            item.add_marker("engine")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Who starts last should be light: a long test at the end leaves the other workers idle."""
        items.sort(key=lambda item: not is_heavy(item))  # as they were otherwise, file by file

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool:
        """As pytest's own, but a test that took a little too long is measured again."""
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        self._is_close = False
        reports = runtestprotocol(item, log=False, nextitem=nextitem)
        if self._is_close:
            reports = runtestprotocol(item, log=False, nextitem=nextitem)
        for report in reports:
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Iterator[None]:
        """From here on, the time is the test's."""
        self._started.forget()
        self._begun = Taken.so_far()
        self._modules = len(sys.modules)
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """A test that passed in too much time has not."""
        done = yield
        programs = self._started.forget()
        taken = Taken.so_far().since(self._begun, started=bool(programs))
        if self._is_judged(item) and taken > self._allowed and (taken := taken / slowness()) > self._allowed:
            self._is_close = taken < _NOISE * self._allowed
            pytest.fail(
                f"it took {taken:.1f} s of processor time, and without a marker a test may take {self._allowed:g}: "
                f"make it lighter, or mark it @pytest.mark.{wanted(programs)}",
                pytrace=False,
            )
        return done

    def _is_judged(self, item: pytest.Item) -> bool:
        imports = len(sys.modules) - self._modules
        return imports < _MANY_MODULES and not is_heavy(item) and not draws_more(item)


def _fixtures(item: pytest.Item) -> set[str]:
    """Those that a test asks for, less what is only a parameter's name."""
    given = item.callspec.params if hasattr(item, "callspec") else {}
    return set(getattr(item, "fixturenames", ())) - set(given)


def is_heavy(item: pytest.Item) -> bool:
    """Whether a test is marked as one that takes long."""
    return any(item.get_closest_marker(name) for name in HEAVY)


def draws_more(item: pytest.Item) -> bool:
    """Whether a test is a property of which this profile draws more examples than landing does."""
    return PROFILE != "landing" and is_hypothesis_test(getattr(item, "obj", None))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Old libraries take longer: a run with them sets no limit."""
    told = "the processor time that a test without a marker may take; 0 sets no limit (default: 3)"
    parser.addoption("--seconds", type=float, default=3.0, help=told)


def pytest_configure(config: pytest.Config) -> None:
    """One of its own for each process that runs tests."""
    config.pluginmanager.register(Tiers(config.getoption("--seconds")), "tiers")
