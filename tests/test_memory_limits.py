"""The command where the system allows little memory: a sentence at once, and a Ctrl-C that is heard."""

import os
import resource
import signal
import subprocess
import sys
import time
from unittest import mock

import pytest

from recombine.base.errors import RecombineError
from recombine.cli import memory
from tests.commands import run_command

LINES = "material,garment\nwool,hat\nwool,coat\nsilk,hat\n"
ASK = ("audit", "t.csv", "--factors", "material,garment")
STUCK_IN_C = """
import itertools
import recombine.cli.app as app
from recombine.cli import main

def run():
    print("up", flush=True)
    sum(itertools.repeat(1))

app.run = run
main()
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "t.csv").write_text(LINES, encoding="utf-8")
    return tmp_path


@pytest.mark.process
@pytest.mark.parametrize(
    ("limit", "code", "said"),
    [
        ("-v 300000", 2, "the address space of this process is limited to 292 MiB"),
        ("-v 600000", 2, "the address space of this process is limited to 585 MiB"),
        ("-d 300000", 2, "the data of this process is limited to 292 MiB"),
        ("-v 1600000", 0, ""),
        ("-v unlimited", 0, ""),
    ],
)
def test_too_little_memory_is_said_at_once(folder, limit, code, said) -> None:
    words = " ".join(("ulimit", limit, "&& exec", sys.executable, "-m", "recombine", *ASK))
    without = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    done = subprocess.run(
        ["bash", "-c", words], cwd=folder, env=without, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert (not said) or "  instead  raise the limit, for example with `ulimit " in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("words", [(), ("--version",), ("demo", "made.csv"), ("predict", "--help")])
def test_a_command_that_loads_little_is_not_refused(words) -> None:
    with mock.patch.object(resource, "getrlimit", return_value=(2**28, 2**28)):
        memory.check_memory(words)
        with pytest.raises(RecombineError, match="limited to 256 MiB"):
            memory.check_memory(ASK)


@pytest.mark.parametrize(
    ("limit", "threads", "pool"),
    [(2**31, "1", "system"), (2**35, None, "system"), (resource.RLIM_INFINITY, None, None)],
)
def test_few_addresses_are_taken_where_there_is_a_limit(limit, threads, pool) -> None:
    with (
        mock.patch.object(resource, "getrlimit", return_value=(limit, limit)),
        mock.patch.dict(os.environ, clear=True),
    ):
        memory.check_memory(ASK)
        assert os.environ.get("OMP_NUM_THREADS") == threads
        assert os.environ.get("ARROW_DEFAULT_MEMORY_POOL") == pool


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (MemoryError("Unable to allocate 9 GiB"), "Unable to allocate 9 GiB"),
        (MemoryError(), "no more"),
        (ImportError("libblas.so: failed to map segment from shared object"), "libblas.so"),
        (ImportError("no module 'x'"), None),
        (RuntimeError("can't start new thread"), "can't start new thread"),
        (OSError(12, "Cannot allocate memory"), "Cannot allocate memory"),
        (RuntimeError("std::bad_alloc"), "std::bad_alloc"),
        (RuntimeError("no module 'x'"), None),
    ],
)
def test_memory_that_runs_out_later_ends_in_a_sentence(folder, error, said) -> None:
    with mock.patch("recombine.cli.app._run_and_say_all", side_effect=error):
        done = run_command(folder, *ASK)
    assert (done.returncode, "Traceback" in done.stderr) == ((1, True) if said is None else (2, False))
    assert (said or "no module 'x'") in done.stderr


def test_memory_that_runs_out_under_a_limit_names_the_limit() -> None:
    with mock.patch.object(resource, "getrlimit", return_value=(2**31, 2**31)):
        said = memory.out_of_memory(MemoryError("Unable to allocate 9 GiB"))
    assert "the address space of this process is limited to 2,048 MiB" in said.why
    assert said.instead.startswith("raise `ulimit -v` and `ulimit -d`, ")


@pytest.mark.process
@pytest.mark.skipif(sys.platform != "linux", reason="by a function of glibc")
def test_a_second_interrupt_ends_what_does_not_come_back_to_python() -> None:
    process = subprocess.Popen([sys.executable, "-c", STUCK_IN_C], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.readline()
    for _ in range(2):
        assert process.poll() is None
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
    try:
        _, told = process.communicate(timeout=20)
    finally:
        process.kill()
    assert (process.returncode, told) == (-signal.SIGINT, b"")
