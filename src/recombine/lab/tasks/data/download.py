"""A file of a data set: a local copy first, else fetched once, checked, and kept."""

import gzip
import hashlib
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPException
from io import FileIO
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn, TransferSpeedColumn
from rich.progress import Progress as Bars

from recombine.errors import SourceError
from recombine.files import staged
from recombine.lab.tasks.data.places import CACHE, DATA, TEXTS, addresses, cache_folder, checksum, data_folder

_PIECE = 1 << 18
_PATIENCE = 30.0

Progress = Callable[[int, int | None], None]
"""Told how many bytes have come, and of how many, where that is known."""


def local_or_downloaded(name: str) -> Path:
    """The path of a data set's file, whose bytes have been checked. A text may be found compressed, as `….gz`."""
    wanted = checksum(name)
    folder = data_folder()
    if folder is not None and (found := _present(folder, name)) is not None:
        if (sum_ := _sum(found, wanted, name)) != wanted:
            raise SourceError(
                f"'{found}' is not the published file",
                why=f"its checksum is {sum_}, and that of {name!r} is {wanted}",
                instead="copy it again, or take it out of the folder: then it is fetched",
            )
        return found
    kept = cache_folder() / name
    if kept.is_file() and _sum(kept, wanted, name) == wanted:
        return kept
    return _fetched(name, kept)


def present(name: str) -> bool:
    """Whether a file is in the user's own folder of data sets."""
    folder = data_folder()
    return folder is not None and _present(folder, name) is not None


def _present(folder: Path, name: str) -> Path | None:
    places = [folder / name, folder / f"{name}.gz"] if name.endswith(TEXTS) else [folder / name]
    return next((place for place in places if place.is_file()), None)


def _sum(path: Path, like: str, name: str) -> str:
    # md5 is what the publisher of CIFAR-10 gives; it guards against accidents here, not against forgers.
    method = "sha256" if len(like) == 64 else "md5"
    packed = path.name == f"{Path(name).name}.gz"
    try:
        opened: gzip.GzipFile | FileIO = gzip.GzipFile(path) if packed else FileIO(path)
        with opened as file:
            return hashlib.file_digest(file, lambda: hashlib.new(method, usedforsecurity=False)).hexdigest()
    except (OSError, EOFError) as error:
        raise SourceError(
            f"cannot read '{path}'", why=str(error), instead="copy it again, or take it away: then it is fetched"
        ) from error


def _fetched(name: str, target: Path) -> Path:
    reasons: list[str] = []
    for address in addresses(name):
        try:
            with shown(name) as progress:
                return fetch(address, target, wanted=checksum(name), progress=progress)
        except (SourceError, OSError, HTTPException) as error:
            reasons.append(f"{address}: {error.why if isinstance(error, SourceError) else error}")
    raise SourceError(
        f"no {name!r} on this machine",
        why="; ".join(reasons) or "it was never published at an address of its own",
        instead=f"set {DATA} to a folder that holds {name!r}, or put the file at '{target}' ({CACHE} moves that)",
    )


def fetch(address: str, target: Path, *, wanted: str, progress: Progress) -> Path:
    """A file from the network, beside its place until it is complete and checked; what is cut off leaves nothing."""
    with staged(target, force=True) as new:
        staging = new / target.name
        _receive(address, staging, progress)
        if (sum_ := _sum(staging, wanted, target.name)) != wanted:
            raise SourceError(
                f"{address} does not give the published file",
                why=f"the checksum of what came is {sum_}, not {wanted}",
                instead="try again later, or fetch the file by hand",
            )
    return target


def _receive(address: str, staging: Path, progress: Progress) -> None:
    request = urllib.request.Request(address, headers={"User-Agent": "recombine"})  # noqa: S310 - our own addresses
    with urllib.request.urlopen(request, timeout=_PATIENCE) as answer, staging.open("wb") as file:  # noqa: S310
        length = answer.headers.get("Content-Length")
        total = int(length) if length else None
        done = 0
        while piece := answer.read(_PIECE):
            file.write(piece)
            done += len(piece)
            progress(done, total)
    if total is not None and done != total:
        raise SourceError(
            f"{address} was cut off",
            why=f"{done:,} of {total:,} bytes came",
            instead="try again, or fetch the file by hand",
        )


@contextmanager
def shown(name: str) -> Iterator[Progress]:
    """A progress bar on standard error, for people only."""
    console = Console(stderr=True)
    columns = (TextColumn("fetching {task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Bars(*columns, TimeRemainingColumn(), console=console, disable=not console.is_terminal) as bars:
        bar = bars.add_task(name, total=None)
        yield lambda done, total: bars.update(bar, completed=done, total=total)
