"""What befalls a sweep, and that nothing is lost: 200 runs on a Ray cluster of three nodes on this machine.

While the sweep runs, and whenever the store holds a few runs more: a worker process is killed (SIGKILL), a whole node
is killed, the file system of the store fills up (a small tmpfs of its own, filled by another's file; needs root), the
driver is interrupted (SIGINT to its process group, as Ctrl-C does). After what stops it, the sweep is started again
with the same command. Then two sweeps write one store at once. Counted at the end: runs that are there, runs that were
there before a fault and are gone (none may be), settings that are there twice, damaged runs, and runs that differ in
any bit from the same run trained by `fit` in one process without interruption.
"""
# ruff: noqa: PLC0415 - fit loads torch, which the driver of the faults does not need before

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

import measure

sys.path.insert(0, str(Path(__file__).parents[1]))  # the cluster that can be killed stands with the tests
from tests.lab.sweeps.machines import Machines, machines, wait_for

COMMAND = [sys.executable, "-c", "from recombine.cli import main; main()", "sweep", "sweep.yaml"]
DISK_MIB = 64
PARTS: dict[str, Any] = {
    "tasks": {"name": "addition"},
    "splits": "hold_out_combinations",
    "models": {"name": "mlp", "hidden": [16, 16]},
    "recipes": {"steps": 300, "samples": 40, "test_samples": 40, "batch": 20, "evaluations": 3, "together": "never"},
}


@dataclass
class Scene:
    """A sweep in a folder, and what happened to it."""

    folder: Path
    runs: int
    words: list[str]
    events: list[list[Any]] = field(default_factory=list)
    known: set[str] = field(default_factory=set)
    lost: set[str] = field(default_factory=set)

    @property
    def store(self) -> Path:
        """Where the runs are."""
        return self.folder / "disk" / "runs"

    def keys(self) -> set[str]:
        """The finished runs, by their marks."""
        return {path.parent.name for path in self.store.glob("runs/*/*/record.json")}

    def note(self, event: str) -> None:
        """Compare with what was there before; what was there once must stay."""
        now = self.keys()
        self.lost |= self.known - now
        self.known |= now
        self.events.append([event, len(now), len(self.lost)])
        print(f"  {event}: {len(now)} of {self.runs} runs there, {len(self.lost)} lost", flush=True)

    def begin(self) -> "subprocess.Popen[bytes]":
        """The command, in a session of its own, as a terminal would start it."""
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(
                [*COMMAND, *self.words], cwd=self.folder, stdout=log, stderr=log, start_new_session=True
            )

    def reach(self, sweep: "subprocess.Popen[bytes]", share: float) -> None:
        """Wait until the store holds this share of the runs."""
        wait_for(lambda: len(self.keys()) >= share * self.runs, alive=lambda: sweep.poll() is None)


@contextmanager
def small_disk(folder: Path) -> Iterator[bool]:
    """A file system of its own, where that is allowed."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_MIB}m", "tmpfs", str(folder)]
    mounted = subprocess.run(mount, check=False, capture_output=True).returncode == 0
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", str(folder)], check=True)


def fill(disk: Path) -> Path:
    """Another's file that takes all the room there is."""
    path = disk / "other"
    with path.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))
    return path


def ended(sweep: "subprocess.Popen[bytes]", expected: int) -> None:
    """How it ended."""
    code = sweep.wait()
    if code != expected:
        raise AssertionError(f"the sweep ended with {code}, not {expected}")


def befall(scene: Scene, cluster: Machines, *, full_disk: bool) -> None:
    """One fault after another."""
    sweep = scene.begin()
    scene.reach(sweep, 0.1)
    cluster.kill_worker()
    scene.note("worker killed")
    scene.reach(sweep, 0.25)
    cluster.kill_node()
    scene.note("node killed")
    scene.reach(sweep, 0.4)
    if full_disk:
        other = fill(scene.folder / "disk")
        scene.note("disk filled")
        ended(sweep, 2)
        scene.note("stopped by itself")
        other.unlink()
        cluster.add_node()
        sweep = scene.begin()
        scene.reach(sweep, 0.6)
    os.killpg(sweep.pid, signal.SIGINT)
    scene.note("driver interrupted")
    ended(sweep, 130)
    scene.note("stopped")
    ended(scene.begin(), 0)
    scene.note("complete after the last start")


def two_at_once(scene: Scene, address: str) -> None:
    """Two sweeps of the same runs into one new store, one of them on the cluster."""
    subprocess.run(["rm", "-rf", str(scene.store)], check=True)
    scene.known.clear()
    words, scene.words = scene.words, ["--workers", "0", "--pack", "1"]
    here = scene.begin()
    scene.words = ["--address", address, "--pack", "7"]
    there = scene.begin()
    ended(here, 0)
    ended(there, 0)
    scene.words = words
    scene.note("two sweeps at once")


def differing(scene: Scene) -> dict[str, int]:
    """What is wrong with the runs, counted."""
    from recombine_lab.runs.store import Store
    from recombine_lab.training.fit import fit

    store = Store.open(scene.store)
    alone = fit(*PARTS.values(), seeds=range(scene.runs), progress=None)
    differ = 0
    for run in alone:
        mine, theirs = store.get(run.key).record(), run.record()
        same = {**mine.data, "seconds": 0} == {**theirs.data, "seconds": 0} and mine.tables == theirs.tables
        differ += not same
    keys = store.keys()
    return {
        "there": len(keys),
        "missing": scene.runs - len(keys & {run.key for run in alone}),
        "duplicated": len(keys) - len({_settings(store.mark(key).configuration) for key in keys}),
        "damaged": sum(bool(store.faults(key)) for key in keys),
        "differing": differ,
        "lost": len(scene.lost),
    }


def _settings(configuration: Any) -> str:
    """All that a run was asked to do, whatever code did it."""
    return json.dumps({**configuration.plain(), "code": None}, sort_keys=True)


def main() -> None:
    """Run it."""
    given = measure.options(__doc__).parse_args()
    runs = 24 if given.smoke else 200
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch, small_disk(Path(scratch) / "disk") as mounted:
        folder = Path(scratch)
        (folder / "sweep.yaml").write_text(yaml.safe_dump({"store": str(folder / "disk/runs"), **PARTS, "seeds": runs}))
        if not mounted:
            print("no file system can be mounted here: the full disk is left out")
        with machines(3) as cluster:
            scene = Scene(folder, runs, ["--address", cluster.address, "--pack", "2"])
            befall(scene, cluster, full_disk=mounted)
            first = differing(scene)
            two_at_once(scene, cluster.address)
            second = differing(scene)
    measure.table(["", *first], [["after all faults", *first.values()], ["two at once", *second.values()]])
    print(f"{time.monotonic() - began:.0f} s")
    measure.write("sweep_faults", given, {"events": scene.events, "faults": first, "two at once": second})
    if any(
        counts[wrong]
        for counts in (first, second)
        for wrong in ("missing", "duplicated", "damaged", "differing", "lost")
    ):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
