"""Commands in processes of their own: forked from a nursery, a process that has everything loaded and did nothing yet.

A fresh interpreter takes seconds to load DuckDB and Arrow; a fork takes milliseconds, and can be killed, limited, and
given any output. It ends as an interpreter ends: what is not flushed is flushed, and what that dies of is told. What
only a fresh interpreter can show, such as a warning while something is loaded, is asked of `fresh`.
"""
# ruff: noqa: PLC0415 - the library is loaded by those who run cases, and in children after what befalls them

import contextlib
import gc
import json
import os
import resource
import selectors
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from attacks.command import Ended

_START = [sys.executable, "-c", "from attacks.children import nursery; nursery()"]
_FRESH = [sys.executable, "-c", "from recombine.cli import main; main()"]
_QUIET = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "COLUMNS": "100"}
_CHANGES = {"os.rename", "os.mkdir", "os.rmdir", "os.remove", "os.link", "os.symlink", "os.chmod", "os.truncate"}
_REHEARSED = (
    "demo t.csv",
    "audit t.csv -f material,garment -t label -r a.html -o a",
    "predict t.csv -f material,garment -t label -r p.html",
    "plan t.csv -f material,garment -r l.html",
    "split t.csv -f material,garment -o s.csv",
    "lint s.csv -f material,garment",
    "evaluate s.csv -f material,garment -t label -p garment --split split -r e.html",
)
CLOSED = "closed"


@dataclass(frozen=True, kw_only=True)
class Order:
    """What a child is to do, and what befalls it."""

    words: tuple[str, ...]
    folder: str
    out: str = ""  # a file, /dev/full, or CLOSED: a pipe that nobody reads; empty: kept
    encoding: str = "utf-8"
    strict_warnings: bool = False
    most_bytes: int = 0  # of a file that it writes (RLIMIT_FSIZE)
    most_memory: int = 0  # of addresses (RLIMIT_AS)
    kill_before: int = 0  # the change to the folder's files before which it is killed; 0: never
    by: int = signal.SIGKILL  # or SIGINT, Ctrl-C
    times: int = 1  # so many of them at once
    plant: str = ""


@dataclass(frozen=True)
class Child(Ended):
    """How a child ended; `signal` is what killed it, `changes` how often it changed files in its folder."""

    signal: int = 0
    changes: int = 0
    seconds: float = 0.0
    peak: int = 0
    too_long: bool = False


@dataclass
class _Nursery:
    process: "subprocess.Popen[str]"
    plant: str


_kept: list[_Nursery] = []


def forked(order: Order, *, kill_after: float | None = None, longest: float = 120.0, most_rss: int = 0) -> list[Child]:
    """Run an order; kill it after some seconds, when it takes too long, or when it takes too much memory."""
    nursery = _nursery(order.plant)
    assert nursery.process.stdin is not None
    assert nursery.process.stdout is not None
    nursery.process.stdin.write(json.dumps(asdict(order)) + "\n")
    nursery.process.stdin.flush()
    pids = json.loads(nursery.process.stdout.readline())
    watch = _Watch(pids, kill_after, longest, most_rss, by=order.by)
    with watch:
        answers = json.loads(nursery.process.stdout.readline())
    return [Child(**answer, peak=watch.peak, too_long=watch.too_long) for answer in answers]


def fresh(words: Sequence[str], *, folder: Path, environment: dict[str, str], out: str = "") -> Child:
    """The command as a new interpreter runs it."""
    started = time.perf_counter()
    with contextlib.ExitStack() as stack:
        target: Any = subprocess.PIPE
        if out == CLOSED:
            reader, target = os.pipe()
            os.close(reader)
            stack.callback(os.close, target)
        elif out:
            target = stack.enter_context(Path(out).open("wb"))
        done = subprocess.run(
            [*_FRESH, *words], cwd=folder, env={**os.environ, **_QUIET, **environment}, stdout=target,
            stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=200, check=False,
        )  # fmt: skip
    texts = [(said or b"").decode("utf-8", "replace") for said in (done.stdout, done.stderr)]
    return Child(done.returncode, *texts, signal=max(-done.returncode, 0), seconds=time.perf_counter() - started)


def dismiss() -> None:
    """End the nurseries of this worker."""
    while _kept:
        process = _kept.pop().process
        if process.stdin is not None:
            process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(5)
        process.kill()


def _nursery(plant: str) -> _Nursery:
    for known in list(_kept):
        if known.process.poll() is not None:
            _kept.remove(known)
    found = next((known for known in _kept if known.plant == plant), None)
    if found is None:
        here = str(Path(__file__).parents[1])
        paths = [here, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
        environment = {**os.environ, **_QUIET, "PYTHONPATH": os.pathsep.join(paths)}
        process = subprocess.Popen(
            _START, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, cwd="/"
        )
        found = _Nursery(process, plant)
        _kept.append(found)
    return found


class _Watch:
    """A look at running children, some fifty times a second."""

    def __init__(self, pids: list[int], kill_after: float | None, longest: float, most_rss: int, *, by: int) -> None:
        self._by = by
        self.peak, self.too_long = 0, False
        self._pids, self._kill_after, self._longest, self._most_rss = pids, kill_after, longest, most_rss
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        started = time.monotonic()
        step = 0.02 if self._kill_after is None else 0.001
        while not self._over.wait(step):
            passed = time.monotonic() - started
            if self._kill_after is not None and passed >= self._kill_after:
                return self._send(self._by)
            if self._most_rss:
                self.peak = max(self.peak, *map(_rss, self._pids))
            if passed > self._longest or (self._most_rss and self.peak > self._most_rss):
                self.too_long = passed > self._longest
                return self._send(signal.SIGKILL)
        return None

    def _send(self, what: int) -> None:
        for pid in self._pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, what)


def _rss(pid: int) -> int:
    with contextlib.suppress(OSError, StopIteration, ValueError):
        status = Path(f"/proc/{pid}/status").read_text().splitlines()
        return int(next(line for line in status if line.startswith("VmRSS")).split()[1]) * 1024
    return 0


# In the nursery ------------------------------------------------------------------------------------------------------


@dataclass
class _Forked:
    """A child, and the pipes by which it tells: a file would feel the child's own limits and full disks."""

    pid: int
    pipes: tuple[tuple[int, int], ...]  # of its output, its errors, and a byte for each change to files
    started: float = field(default_factory=time.perf_counter)


def nursery() -> None:
    """Load everything, then fork a child for each order on standard input."""
    _load_all()
    gc.freeze()  # a child that collects what lies here would copy all of it first
    ready: set[str] = set()
    for line in sys.stdin:
        order = Order(**json.loads(line))
        if order.plant and order.plant not in ready:
            from attacks.crew import planted

            planted(order.plant)
            ready.add(order.plant)
        children = [_fork(order) for _ in range(order.times)]
        print(json.dumps([child.pid for child in children]), flush=True)
        print(json.dumps([_ended(child) for child in children]), flush=True)
    os._exit(0)


def _load_all() -> None:
    """Import what a child imports when it runs each verb once; a child does the running, so that nothing runs here."""
    reader, writer = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(reader)
        _rehearse(writer)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        names = pipe.read().split()
    os.waitpid(pid, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in names:
            with contextlib.suppress(Exception):
                __import__(name)


def _rehearse(writer: int) -> None:
    import tempfile

    from attacks.command import command

    with contextlib.suppress(BaseException), tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        for words in _REHEARSED:
            command(words.split(), folder=place)
    os.write(writer, "\n".join(name for name in sys.modules if not name.startswith("_")).encode())
    os._exit(0)


def _fork(order: Order) -> _Forked:
    pipes = tuple(os.pipe() for _ in range(3))
    pid = os.fork()
    if not pid:
        for reader, _ in pipes:
            os.close(reader)
        _be(order, *(writer for _, writer in pipes))
    for _, writer in pipes:
        os.close(writer)
    return _Forked(pid, pipes)


def _ended(child: _Forked) -> dict[str, Any]:
    out, err, changes = _drained([reader for reader, _ in child.pipes])
    _, status = os.waitpid(child.pid, 0)
    code = os.waitstatus_to_exitcode(status)
    texts = {name: said.decode("utf-8", "replace") for name, said in (("out", out), ("err", err))}
    seconds = time.perf_counter() - child.started
    return {"code": code, "signal": max(-code, 0), "changes": len(changes), "seconds": seconds, **texts}


def _drained(readers: list[int]) -> list[bytes]:
    """All that comes through some pipes until they are closed."""
    found = {reader: bytearray() for reader in readers}
    with selectors.DefaultSelector() as selector:
        for reader in readers:
            selector.register(reader, selectors.EVENT_READ)
        while selector.get_map():
            for key, _ in selector.select():
                part = os.read(key.fd, 65_536)
                found[key.fd] += part
                if not part:
                    selector.unregister(key.fd)
                    os.close(key.fd)
    return [bytes(found[reader]) for reader in readers]


def _be(order: Order, out: int, err: int, changes: int) -> None:
    """In the child: take on everything that was ordered, then run the command and end."""
    os.chdir(order.folder)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # workers leave Ctrl-C to their parent
    _redirect(order, out, err)
    if order.strict_warnings:
        warnings.resetwarnings()
        warnings.simplefilter("error")
    _count_changes(order, changes)
    if order.most_memory:
        resource.setrlimit(resource.RLIMIT_AS, (order.most_memory, order.most_memory))
    if order.most_bytes:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (order.most_bytes, order.most_bytes))
    sys.argv = ["recombine", *order.words]
    os._exit(_run())


def _run() -> int:
    """The command, and the end of an interpreter: a traceback if it dies, and a flush, whose failure is code 120."""
    from recombine.cli import main

    code = 0
    try:
        main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001 - as the interpreter does
        code = 1
        sys.excepthook(*sys.exc_info())
    try:
        sys.stdout.flush()
    except OSError as error:
        os.write(2, f"Exception ignored in: <stdout>\n{error}\n".encode())
        code = 120
    return code


def _redirect(order: Order, out: int, error: int) -> None:
    target = _output(order.out) if order.out else out
    nothing = os.open(os.devnull, os.O_RDONLY)
    for new, old in ((nothing, 0), (target, 1), (error, 2)):
        os.dup2(new, old)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115 - a descriptor, kept for the child's whole life
    sys.stdout = sys.__stdout__ = open(1, "w", encoding=order.encoding, closefd=False)  # noqa: SIM115
    sys.stderr = sys.__stderr__ = open(  # noqa: SIM115
        2, "w", encoding=order.encoding, errors="backslashreplace", closefd=False, buffering=1
    )


def _output(where: str) -> int:
    if where == CLOSED:
        reader, writer = os.pipe()
        os.close(reader)
        return writer
    return os.open(where, os.O_WRONLY | os.O_CREAT, 0o644)


def _count_changes(order: Order, note: int) -> None:
    """Count every change that Python makes to the folder's files, and die before the one that was ordered.

    Each is noted by a byte in a pipe, since the count of a process that is killed dies with it.
    """
    folder = order.folder
    count = 0

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal count
        if event not in _CHANGES and not (event == "open" and _writes(arguments)):
            return
        path = str(_path(arguments[0]))
        if path.startswith("/") and not path.startswith(folder):
            return
        count += 1
        if count == order.kill_before:
            os.kill(os.getpid(), order.by)
        os.write(note, b".")

    sys.addaudithook(hook)


def _path(given: Any) -> Any:
    return os.fsdecode(given) if isinstance(given, bytes | str | os.PathLike) else given


def _writes(arguments: tuple[Any, ...]) -> bool:
    flags = arguments[2] if len(arguments) > 2 and isinstance(arguments[2], int) else 0
    return bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)) and isinstance(arguments[0], str | bytes | os.PathLike)
