"""Where things lie in a run store, and which version of recombine began it.

store.json                            that this is a store, and of which format
runs/3f/3f9a…/record.json             the mark: settings, scores, and the checksum of everything below
runs/3f/3f9a…/curve.parquet …         the tables
runs/3f/3f9a…/model.safetensors …     further files
states/…                              unfinished work, replaced again and again, dropped at the end
failures/3f9a…/1.json …               attempts that failed, and why
tmp/                                  what is being written (folders only)
"""

import json
import re
from datetime import UTC, datetime
from urllib.parse import quote

from recombine._version import __version__
from recombine.decoding import parsed
from recombine.errors import RecordError, SettingError
from recombine.overwriting import STORE_FILE, STORE_KIND
from recombine_lab.runs.storage import STAGING

FORMAT = 2
"""2 since a run's key names the versions of its numbers, where it held a hash of recombine's source code before, and
splitters have scikit-learn's names for their settings."""
_OLDEST = 1
HEAD = STORE_FILE
RUNS, STATES, FAILURES, MEASURED = "runs", "states", "failures", "measured"
OURS = frozenset({HEAD, RUNS, STATES, FAILURES, MEASURED, STAGING})
KEY = re.compile(r"[0-9a-f]{32}")


class EarlierStoreWarning(UserWarning):
    """A store that an earlier version began: its runs can be read, but `fit` and `sweep` may not find them again."""


def folder_of(key: str) -> str:
    """Where a run lies; a short name for the first letters keeps folders small.

    >>> folder_of("3f" + 30 * "0")
    'runs/3f/3f000000000000000000000000000000'
    """
    if not KEY.fullmatch(key):
        raise SettingError(
            f"{key!r} is not the key of a run",
            why="a key is 32 of the characters 0 to 9 and a to f",
            instead="take it from `Configuration.key` or from `recombine runs list`",
        )
    return f"{RUNS}/{key[:2]}/{key}"


def state_file(name: str) -> str:
    """Where unfinished work lies: one component of a path, whatever its name is.

    Dots too are spelt out, of which some lead upwards.
    """
    return f"{STATES}/{quote(name, safe='').replace('.', '%2E')}"


def new_head() -> bytes:
    """The content of a new store's `store.json`."""
    head = {"kind": STORE_KIND, "format": FORMAT, "version": __version__, "created": now()}
    return (json.dumps(head, indent=2) + "\n").encode()


def notice_of(place: str, content: bytes) -> str | None:
    """What is to be said of a store with this `store.json`; nothing if it is of today's format.

    What is no store, or of a format that cannot be read, is refused.
    """
    try:
        head = parsed(content)
        kind, found, version = head["kind"], int(head["format"]), head.get("version", "of its time")
    except (ValueError, KeyError, TypeError):
        kind, found, version = None, 0, None
    if kind != STORE_KIND:
        raise RecordError(
            f"'{place}' is not a run store",
            why=f"its {HEAD} was not written by recombine, or is damaged",
            instead=f"restore {HEAD} from a copy, or name another place",
        )
    if not _OLDEST <= found <= FORMAT:
        age, instead = (
            ("a newer", "pip install --upgrade recombine")
            if found > FORMAT
            else ("an older", f"read it with recombine {version}, or start a new store")
        )
        raise RecordError(
            f"'{place}' is a run store of {age} version",
            why=f"its format is {found}, and recombine {__version__} reads formats {_OLDEST} to {FORMAT}",
            instead=instead,
        )
    return _earlier(place) if found < FORMAT else None


def _earlier(place: str) -> str:
    return (
        f"'{place}' was begun by an earlier version of recombine: its runs can be listed, shown and compared, but "
        "`fit` and `sweep` may not find them again, because keys and the names of some settings have changed since; "
        "name a new store to train into, and keep this one to read from."
    )


def now() -> str:
    """The time, as files of a store hold it."""
    return datetime.now(UTC).isoformat(timespec="seconds")
