"""Say at once that the system allows too little memory, before the libraries that need it are loaded.

SciPy brings OpenBLAS, which asks again and again for memory that it is refused, in the middle of an import: nothing is
printed, and Python does not get to hear Ctrl-C. So the limits are read first.
"""

import os
import sys
from collections.abc import Sequence

from recombine.base.errors import RecombineError

_MIB = 2**20
_NEEDED = (("RLIMIT_AS", 1536 * _MIB, "address space", "-v"), ("RLIMIT_DATA", 512 * _MIB, "data", "-d"))
"""What a small table takes with one thread: 1.35 GiB of addresses, most of them never used, and .43 GiB of data."""

_ONE_THREAD_BELOW = 4096 * _MIB
"""OpenBLAS and Arrow take some 50 MiB of addresses a core, and there may be 64 cores."""

_ARENA_MAX = -8
"""M_ARENA_MAX of glibc's malloc.h."""

_REFUSED = (
    "failed to map segment", "cannot allocate memory", "can't start new thread", "bad_alloc", "out of memory error",
)  # fmt: skip
"""How libraries of others and the system say it, in errors of every class: the last is DuckDB's."""


def check_memory(words: Sequence[str]) -> None:
    """Refuse a command that would load NumPy and DuckDB under a limit in which they do not fit."""
    if not words or words[0].startswith("-") or words[0] == "demo" or {"-h", "--help"} & set(words):
        return
    for name, needed, what, option in _NEEDED:
        limit = _limit(name)
        if limit < needed:
            raise RecombineError(
                f"too little memory to start: the {what} of this process is limited to {limit // _MIB:,} MiB",
                why=f"NumPy, SciPy and DuckDB take up to {needed // _MIB:,} MiB of it before a row is read",
                instead=f"raise the limit, for example with `ulimit {option} {2 * needed // 1024}`",
            )
        if limit < _ONE_THREAD_BELOW:
            os.environ.setdefault("OMP_NUM_THREADS", "1")
    if _limit("RLIMIT_AS") < sys.maxsize:
        _take_few_addresses()


def _take_few_addresses() -> None:
    """Arrow's own allocator reserves 1 GiB of addresses at once, and glibc 64 MiB a thread: they hardly use them, and
    nobody else may.
    """
    import ctypes  # noqa: PLC0415 - only here

    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    limit_arenas = getattr(ctypes.CDLL(None), "mallopt", None)  # glibc's alone
    if limit_arenas is not None:
        limit_arenas(_ARENA_MAX, 2)


def _limit(name: str) -> int:
    """A limit that the system sets to this process, in bytes; one that nobody reaches where there is none."""
    try:
        import resource  # noqa: PLC0415 - there is none on Windows
    except ModuleNotFoundError:
        return sys.maxsize
    limit, _ = resource.getrlimit(getattr(resource, name))
    return sys.maxsize if limit == resource.RLIM_INFINITY else limit


def out_of_memory(error: BaseException) -> RecombineError | None:
    """The sentence for an error that tells of too little memory; None for any other."""
    words = str(error)
    if not isinstance(error, MemoryError) and not any(sign in words.lower() for sign in _REFUSED):
        return None
    limits = [(_limit(name) // _MIB, what, option) for name, _, what, option in _NEEDED if _limit(name) < sys.maxsize]
    limited = [f"the {what} of this process is limited to {most:,} MiB" for most, what, _ in limits]
    raising = " and ".join(f"`ulimit {option}`" for _, _, option in limits)
    return RecombineError(
        "the memory ran out",
        why="; ".join([words or "the system gives this process no more", *limited]),
        instead=f"{f'raise {raising}' if limits else 'give it more'}, end other programs, or read fewer columns or "
        "rows: --factors, --where",
    )
