"""Lance tables, by the entry point `recombine.readers`: the example of a reader that needs no change elsewhere."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from recombine.data.readers import Reader


def _holds(folder: Path) -> bool:
    versions = folder / "_versions"
    return versions.is_dir() and any(entry.name.endswith(".manifest") for entry in os.scandir(versions))


def _read(folder: Path, _: Sequence[str] | None) -> Any:
    import lance  # noqa: PLC0415 - an extra

    return lance.dataset(str(folder))


READER = Reader("Lance", _holds, _read, install="pip install 'recombine[lance]'")
