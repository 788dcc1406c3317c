"""A Ray cluster of several nodes on this machine, whose processes can be killed one by one."""

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_PATIENCE_SECONDS = 240  # for an event that must come; how soon does not matter


@dataclass
class Machines:
    """A head and further nodes, each with one processor."""

    cluster: Any
    others: list[Any] = field(default_factory=list)

    @property
    def address(self) -> str:
        return str(self.cluster.address)

    def busy(self, nodes: list[Any] | None = None) -> list[int]:
        """The processes that are training a pack just now."""
        raylets = {_raylet(node) for node in ([self.cluster.head_node, *self.others] if nodes is None else nodes)}
        return [pid for pid in _pids() if _parent(pid) in raylets and _title(pid).startswith("ray::recombine pack")]

    def kill_worker(self) -> int:
        """SIGKILL to a process that is training."""
        pid = self._halt(self.busy)
        os.kill(pid, signal.SIGKILL)
        return pid

    def kill_node(self) -> None:
        """A whole node gone at once, one that has a process at work.

        Never the last: Ray 2.46 notes an address for the whole session, that of the node that came last, and joins
        drivers of this machine to it.
        """
        pid = self._halt(lambda: self.busy(self.others[:-1]))
        node = next(node for node in self.others if _raylet(node) == _parent(pid))
        self.others.remove(node)
        self.cluster.remove_node(node, allow_graceful=False)
        with contextlib.suppress(ProcessLookupError):  # what is halted does not notice that its node is gone
            os.kill(pid, signal.SIGKILL)

    def kill_nodes(self) -> None:
        """Every node gone, so that of a sweep too; its address still answers."""
        for node in [self.cluster.head_node, *self.others]:
            os.kill(_raylet(node), signal.SIGKILL)

    def _halt(self, busy: Callable[[], list[int]]) -> int:
        """A process that is training, halted so that it is at work for certain until it is killed."""
        while True:
            pid = wait_for(busy)[0]
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
                if pid in busy():
                    return pid
                os.kill(pid, signal.SIGCONT)

    def add_node(self) -> None:
        """One more, at an address of its own: it says whom an older Ray joins drivers to (`kill_node`)."""
        own = f"127.0.0.{len(self.others) + 2}"
        self.others.append(self.cluster.add_node(num_cpus=1, node_ip_address=own, **_SMALL))


_SMALL = {"object_store_memory": 80 * 2**20, "include_dashboard": False}


@contextmanager
def machines(nodes: int = 3) -> Iterator[Machines]:
    """So many nodes, gone at the end."""
    from ray.cluster_utils import Cluster  # noqa: PLC0415 - slow to load

    cluster = Cluster(initialize_head=True, connect=False, head_node_args={"num_cpus": 1, **_SMALL})
    try:
        found = Machines(cluster)
        for _ in range(nodes - 1):
            found.add_node()
        yield found
    finally:
        cluster.shutdown()


def wait_for(event: Callable[[], Any], *, alive: Callable[[], bool] = lambda: True) -> Any:
    """What an event gives, once it gives something."""
    end = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < end:
        found = event()
        if found:
            return found
        if not alive():
            raise AssertionError("what was waited for can no longer come")
        time.sleep(0.02)
    raise AssertionError("waited in vain")


def _raylet(node: Any) -> int:
    return int(node.all_processes["raylet"][0].process.pid)


def _pids() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def _parent(pid: int) -> int | None:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, IndexError):
        return None


def _title(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace").replace("\0", " ").strip()
    except OSError:
        return ""
