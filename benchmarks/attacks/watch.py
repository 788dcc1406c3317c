"""What this process opens and starts while something that somebody sent is being read."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

_STARTS = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork")


@dataclass
class Seen:
    """Files that were opened, programs that were started, modules that were looked for."""

    opened: list[str] = field(default_factory=list)
    started: list[str] = field(default_factory=list)
    imported: list[str] = field(default_factory=list)


_watching: list[Seen] = []
_hooked: list[bool] = []


@contextmanager
def watched() -> Iterator[Seen]:
    """Everything that happens inside."""
    if not _hooked:  # a hook stays for a process's life
        sys.addaudithook(_notice)
        _hooked.append(True)
    seen = Seen()
    _watching.append(seen)
    try:
        yield seen
    finally:
        _watching.remove(seen)


def _notice(event: str, given: tuple[Any, ...]) -> None:
    if not _watching:
        return
    seen = _watching[-1]
    if event == "open" and isinstance(given[0], str | bytes | os.PathLike):
        seen.opened.append(os.fsdecode(given[0]))
    elif event == "import":
        seen.imported.append(str(given[0]))
    elif event in _STARTS:
        seen.started.append(f"{event} {given[:1]}")
