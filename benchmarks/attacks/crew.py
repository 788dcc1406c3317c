"""The workers: each runs one case at a time in a process of its own, and is replaced if a case kills or blocks it."""
# ruff: noqa: PLC0415 - the library is loaded by those who run cases, and in children after what befalls them

import importlib
import multiprocessing
import signal
import time
import warnings
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

from attacks.case import Outcome, run_case

LONGEST = 300.0
"""Seconds after which a case counts as hanging; the slowest takes about 60 on a busy machine."""

Asked = tuple[str, int]
"""A family and the number of a case."""


@dataclass
class _Worker:
    process: Any
    pipe: Connection
    asked: Asked | None = None
    since: float = 0.0


class Crew:
    """Some workers, and the cases that are still to be run."""

    def __init__(self, *, workers: int, seed: int, plant: str | None = None) -> None:
        self._context = multiprocessing.get_context("spawn")
        self._seed, self._plant = seed, plant
        self._workers = [self._hire() for _ in range(workers)]

    def run(self, cases: Iterable[Asked]) -> Iterator[Outcome]:
        """Every case's outcome, as they end."""
        left = deque(cases)
        while left or any(worker.asked for worker in self._workers):
            for place, worker in enumerate(self._workers):
                if worker.asked is None and left:
                    self._workers[place] = self._give(worker, left.popleft())
            yield from self._answers()

    def dismiss(self) -> None:
        """End them all."""
        for worker in self._workers:
            worker.process.terminate()
            worker.process.join(5)
            if worker.process.is_alive():
                worker.process.kill()

    def _answers(self) -> Iterator[Outcome]:
        busy = {worker.pipe: worker for worker in self._workers if worker.asked}
        for pipe in wait(list(busy), timeout=1.0):
            yield self._answer(busy[pipe])  # type: ignore[index]
        for worker in self._workers:
            if worker.asked and time.monotonic() - worker.since > LONGEST:
                yield self._replaced(worker, f"it was not done after {LONGEST:.0f} s")

    def _answer(self, worker: _Worker) -> Outcome:
        try:
            outcome: Outcome = worker.pipe.recv()
        except (EOFError, OSError):
            worker.process.join(5)
            return self._replaced(worker, f"it ended its process (exit code {worker.process.exitcode})")
        worker.asked = None
        return outcome

    def _replaced(self, worker: _Worker, why: str) -> Outcome:
        family, number = worker.asked or ("", 0)
        worker.process.kill()
        worker.process.join()
        self._workers[self._workers.index(worker)] = self._hire()
        return Outcome(family, number, (why,), time.monotonic() - worker.since)

    def _give(self, worker: _Worker, asked: Asked) -> _Worker:
        worker.asked, worker.since = asked, time.monotonic()
        worker.pipe.send(asked)
        return worker

    def _hire(self) -> _Worker:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=work, args=(theirs, self._seed, self._plant), daemon=False)
        process.start()
        theirs.close()
        return _Worker(process, ours)


def work(pipe: Connection, seed: int, plant: str | None) -> None:
    """A worker's life: Ctrl-C is the parent's to handle."""
    from attacks.children import dismiss
    from attacks.families import FAMILIES

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _end)
    warnings.simplefilter("ignore")  # what commands warn of is looked at where they run
    if plant:
        planted(plant)
    try:
        while True:
            family, number = pipe.recv()
            pipe.send(run_case(FAMILIES[family].attack, family=family, seed=seed, number=number))
    except (EOFError, OSError):
        pass
    finally:
        dismiss()


def planted(plant: str) -> None:
    """Break the library on purpose, to see that the attack finds it: MODULE:FUNCTION is called before the cases."""
    module, _, function = plant.partition(":")
    getattr(importlib.import_module(module), function)()


def _end(*_: Any) -> None:
    raise SystemExit(0)
