"""Trains in processes that kill themselves: run as `python -m tests.lab.training.killed STORE`, the plans on stdin.

The processes are forked from one that has loaded everything and computed nothing, which saves the loading each time.
"""

import json
import os
import signal
import sys

import torch
import torch._dynamo  # loaded once, here, rather than by each process

from recombine_lab.runs.run import Configuration
from recombine_lab.runs.store import Store
from recombine_lab.training.loop import StepEvent
from recombine_lab.training.pack import train


def _killed_at(step: int | None) -> list[object]:
    def callback(event: StepEvent) -> None:
        if event.step == step:
            os.kill(os.getpid(), signal.SIGKILL)

    return [callback]


def _child(store: str, plan: dict[str, object], kill: int | None) -> int:
    """How a process ended that was to be killed at a step: the signal's number, negative, or its own code."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            runs = [Configuration(**run) for run in plan["runs"]]  # type: ignore[attr-defined]
            train(runs, store=Store.open(store), callbacks=_killed_at(kill), checkpoint_every=plan["every"])  # type: ignore[arg-type]
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


if __name__ == "__main__":
    torch.set_num_threads(1)
    ends = [[_child(sys.argv[1], plan, kill) for kill in [*plan["kills"], None]] for plan in json.load(sys.stdin)]
    sys.stdout.write(json.dumps(ends))
