"""The work done on Ray: on this machine, or on a cluster.

Each pack is one Ray task. Ray's own retries are switched off, because a sweep's ledger knows more: that a lost machine
is not a pack's fault, that a failing pack is taken apart, and when to give up.

The rounds of a rehearsal over Ray: one task each, on this machine or on a cluster, whatever the learner.

A round's answers hang on its examples and its seed alone, so they are the same wherever it runs, and a round whose
machine is lost is run again.
"""

import logging
import os
import secrets
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from recombine.base.checks import check_whole
from recombine.base.errors import RecombineError, SettingError, SourceError
from recombine.numerics.groups import Numbers
from recombine.verbs.rehearse.learners import Learner, Level, Part, learner_of
from recombine.verbs.rehearse.round_examples import RehearsalExamples
from recombine_lab.sweeps.queue import Pack, Report, WorkerPool
from recombine_lab.sweeps.worker import folders_of

_TICK_SECONDS = 0.2
_LOOK_AGAIN_SECONDS = 5.0
_KNOCK_SECONDS = 10.0
_OBJECT_STORE_BYTES = 100 * 2**20  # results go to the run store, never through Ray
_AHEAD = 2
"""Packs handed out for each one that runs: a worker that ends finds the next one waiting, and a cluster that can grow
sees that there is more to do."""


@final
class RayPool(WorkerPool):
    """Workers that Ray runs."""

    def __init__(
        self, place: str, *, address: str | None = None, workers: int | None = None, num_gpus: float = 0
    ) -> None:
        self._ray = ray_itself()
        self._place = place
        self._most, self._gpus = workers, num_gpus
        self._ours = not self._ray.is_initialized()
        if self._ours:
            connect(self._ray, address, workers)
        self._task: Any = self._ray.remote(max_retries=0)(_work)
        self._running: dict[Any, int] = {}
        self._size, self._widest, self._looked = 0, 1, 0.0
        self.size()

    def size(self) -> int:
        """The processors of all machines, looked at again every few seconds: machines come and go."""
        if time.monotonic() - self._looked > _LOOK_AGAIN_SECONDS or not self._size:
            each = [int(node["Resources"].get("CPU", 0)) for node in self._ray.nodes() if node["Alive"]]
            there = min(sum(each), self._for_gpus()) if self._gpus else sum(each)
            self._size = max(1, min(there, self._most or there))
            self._widest = max([1, *each])
            self._looked = time.monotonic()
        return self._size

    def _for_gpus(self) -> int:
        """How many packs the GPUs of all machines can hold."""
        there = sum(float(node["Resources"].get("GPU", 0)) for node in self._ray.nodes() if node["Alive"])
        if there < self._gpus:
            raise SettingError(
                f"num_gpus={self._gpus:g} for each pack",
                why=f"Ray knows of {there:g} GPUs here, so that no pack would ever begin",
                instead="write num_gpus=0, or name a cluster that has some",
            )
        return int(there / self._gpus)

    def free(self) -> int:
        """What can be handed out without keeping too much waiting."""
        allowed = self._most if self._most is not None and not self._ours else _AHEAD * self.size()
        return max(0, allowed - len(self._running))

    def start(self, number: int, pack: Pack) -> None:
        """Hand out a pack; it takes as many processors as its recipe asks for threads."""
        threads = max(int(run.recipe.get("threads", 1)) for run in pack)
        wanted = {"num_cpus": min(threads, self._widest)} | ({"num_gpus": self._gpus} if self._gpus else {})
        task = self._task.options(**wanted, name=f"recombine pack {number}")
        self._running[task.remote(pack, folders_of(pack), self._place)] = number

    def ended(self) -> Mapping[int, Report]:
        """What was heard within a moment."""
        if not self._running:
            return {}
        references = list(self._running)
        try:
            first, _ = self._ray.wait(references, num_returns=1, timeout=_TICK_SECONDS)
            if not first:
                return {}
            ready, _ = self._ray.wait(references, num_returns=len(references), timeout=0)
            return {self._running.pop(reference): self._heard(reference) for reference in ready}
        except (self._ray.exceptions.LocalRayletDiedError, OSError) as error:
            raise SourceError(
                "the Ray node that this sweep had joined is gone",
                why=_first_sentence(error),
                instead="give the same command again in a minute, when Ray has noticed: what is finished is kept",
            ) from error

    def stop(self) -> None:
        """End what runs. With our own connection that ends with it; in somebody else's session it is cancelled.

        Never by force: where a task ends at the very moment at which it is cancelled by force, Ray 2.60 fails a check
        of its own and takes the whole process along.
        """
        if self._ours:
            self._ray.shutdown()
        else:
            for reference in self._running:
                self._ray.cancel(reference, force=False)
        self._running.clear()

    def _heard(self, reference: Any) -> Report:
        errors = self._ray.exceptions
        try:
            report: Report = self._ray.get(reference)
        except (errors.NodeDiedError, errors.ObjectLostError) as error:
            report = Report(fault="node", reason=f"the machine was lost: {_first_sentence(error)}")
        except errors.LocalRayletDiedError:  # our own: through it every other pack would fail too
            raise
        except errors.RayTaskError as error:
            report = Report(fault="program", reason=_first_line(error.cause or error))
        except errors.RayError as error:
            report = Report(fault="worker", reason=f"its process was lost: {_first_sentence(error)}")
        return report


def _work(pack: Pack, folders: list[str], place: str) -> Report:
    """What runs on a worker. The import is there, so that torch is loaded on workers only, once in each."""
    from recombine_lab.sweeps.worker import work  # noqa: PLC0415

    return work(pack, folders, place)


def ray_itself() -> Any:
    """Ray, which is loaded where it is asked for; in words where it is not installed."""
    # What Ray says of lost processes goes to standard output, where answers stand; a sweep tells of them itself.
    os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", ".")
    try:
        import ray  # noqa: PLC0415 - heavy, and needed for sweeps alone
        import ray.exceptions  # noqa: PLC0415
    except ImportError as error:
        raise SettingError(
            "Ray is not installed",
            why="a sweep with several workers runs on it",
            instead="pip install 'recombine-lab[ray]', or --workers 0 to train in this process",
        ) from error
    return ray


def connect(ray: Any, address: str | None, workers: int | None) -> None:
    """Join a cluster, or start Ray on this machine."""
    settings: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR, "address": address or "local"}
    if address is None:
        _guard_own_cluster()
        settings |= {"num_cpus": workers or processors(), "include_dashboard": False}
        settings["object_store_memory"] = _OBJECT_STORE_BYTES
    else:
        _knock(address)
    try:
        ray.init(**settings)
    except Exception as error:  # a node that starts too slowly, on a busy machine, ends in a plain one
        if address is not None:
            raise _unreachable(address, _first_line(error)) from error
        raise SourceError(
            "Ray does not start on this machine",
            why=_first_line(error),
            instead="see /tmp/ray/session_latest/logs, or use --workers 0 to train in this process",
        ) from error


def _knock(address: str) -> None:
    """See whether anybody is there at all; Ray by itself would try for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():
        return
    try:
        socket.create_connection((host, int(port)), timeout=_KNOCK_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise _unreachable(address, str(error)) from error


def _unreachable(address: str, why: str) -> SourceError:
    return SourceError(
        f"no Ray cluster could be reached at {address!r}",
        why=why,
        instead="start one with `ray start --head`, or leave --address out to use this machine; for one that asks for "
        "a token, set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN to what `ray get-auth-token` shows there",
    )


def _guard_own_cluster() -> None:
    """A token for the Ray that we start, so that nobody else on the machine can have it run their code.

    From 2.59 on Ray asks for one, and would write it into the home folder. Where there is none yet, ours lives in this
    process and its children alone. It is set once and stays, because Ray reads it once. `RAY_AUTH_MODE` is left to Ray:
    set here, after Ray was loaded, it would reach Ray's servers but not this process.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    configured = any(name in os.environ for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"))
    if not configured and not (Path.home() / ".ray" / "auth_token").exists():
        os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _first_sentence(error: BaseException) -> str:
    """Ray's advice that follows it is for people who run clusters."""
    return _first_line(error).partition(". ")[0].rstrip(".")


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


_RETRIES = 3


@dataclass(frozen=True, eq=False)
class OverRay:
    """A learner whose rounds are run by Ray. Made by `over_ray`."""

    learner: Learner
    address: str | None
    workers: int | None

    @property
    def name(self) -> str:
        """The learner's own."""
        return self.learner.name

    @property
    def level(self) -> Level:
        """The learner's own."""
        return self.learner.level

    @property
    def stands_for_a_network(self) -> bool:
        """The learner's own."""
        return bool(getattr(self.learner, "stands_for_a_network", False))

    def answer(self, train: RehearsalExamples, test: RehearsalExamples, *, seed: int) -> Numbers:
        """One round alone, here."""
        return self.learner.answer(train, test, seed=seed)

    def answer_all(self, parts: Sequence[Part]) -> list[Numbers]:
        """All rounds, as many at once as there are processors."""
        ray = ray_itself()
        ours = not ray.is_initialized()
        if ours:
            connect(ray, self.address, self.workers)
        try:
            task = ray.remote(max_retries=_RETRIES, num_cpus=1)(_answer_round)
            learner = ray.put(self.learner)
            return [_heard(ray, one) for one in [task.remote(learner, *part) for part in parts]]
        finally:
            if ours:
                ray.shutdown()


def over_ray(learner: Any, *, address: str | None = None, workers: int | None = None) -> OverRay:
    """Any learner of `recombine.rehearse`, whose rounds are then run by Ray: at an address, or on this machine.

    >>> from recombine_lab import learner
    >>> over_ray(learner({"name": "mlp", "hidden": [16]}, {"steps": 200, "samples": "every"}), workers=2).name
    'mlp (3 seeds)'
    """
    if workers is not None:
        check_whole("workers", workers, least=1)
    return OverRay(learner_of(learner), address, workers)


@dataclass(frozen=True)
class _Refused:
    """An error of ours in parts, because its class takes them by name and so does not travel."""

    kind: type[RecombineError]
    what: str
    why: str
    instead: str


def _answer_round(learner: Learner, train: RehearsalExamples, test: RehearsalExamples, seed: int) -> Numbers | _Refused:
    """What runs on a worker."""
    try:
        return learner.answer(train, test, seed=seed)
    except RecombineError as error:
        return _Refused(type(error), error.what, error.why, error.instead)


def _heard(ray: Any, reference: Any) -> Numbers:
    """A round's answers; what a learner was refused for is raised here, as if it had run here."""
    try:
        found: Numbers | _Refused = ray.get(reference)
    except ray.exceptions.RayTaskError:
        raise
    except ray.exceptions.RayError as error:
        raise SourceError(
            "a round of the rehearsal was lost",
            why=_first_line(error),
            instead="look at the cluster, or rehearse without over_ray(…)",
        ) from error
    if isinstance(found, _Refused):
        raise found.kind(found.what, why=found.why, instead=found.instead)
    return found
