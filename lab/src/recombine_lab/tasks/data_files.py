"""The files of a data set: found on this machine, or fetched once from where they were published, checked and kept.

A file is named by its place below the folder, for example `mnist/train-labels-idx1-ubyte.gz`. Its checksum stands in
`checksums.txt`: sha256, or md5 where the publisher gives only that. A text's checksum is that of the text itself, so
that a local copy may be compressed. The user's own folder (`RECOMBINE_DATA`) comes first, then recombine's cache, then
the network, which pooch asks.

Images of ten classes: MNIST and Fashion-MNIST (28 x 28, grey, in the idx format), CIFAR-10 (32 x 32, in colour).

Two forms of CIFAR-10 are read: the published archive of binary records, and PNG strips that hold the whole test part
and the first 1,000 training images of each class. Whoever asks for no more than those gets the same images from either.
"""

import gzip
import hashlib
import logging
import os
import sys
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from io import FileIO
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
import pooch
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn, TransferSpeedColumn
from rich.progress import Progress as Bars

from recombine.base.checks import check_listed
from recombine.base.errors import SourceError
from recombine.base.files import explained
from recombine_lab.tasks.task import Part

DATA, CACHE = "RECOMBINE_DATA", "RECOMBINE_CACHE"
TEXTS = (".txt", ".tsv")
_GITHUB = "https://raw.githubusercontent.com"
SITES: dict[str, tuple[str, ...]] = {
    "mnist/": (
        "https://ossci-datasets.s3.amazonaws.com/mnist/",
        "https://storage.googleapis.com/cvdf-datasets/mnist/",
    ),
    "fashion_mnist/": ("http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",),
    "cifar10/cifar-10": ("https://www.cs.toronto.edu/~kriz/cifar-10",),
    "scan/mcd/": (f"{_GITHUB}/microsoft/ContextualSP/master/compositional_generalization/data/",),
    "scan/": (f"{_GITHUB}/brendenlake/SCAN/master/",),
    "cogs/": (f"{_GITHUB}/najoungkim/COGS/main/data/",),
}
"""Each beginning of a name, and what stands in its place in the addresses of the published file."""
_PUBLISHED = (*TEXTS, ".gz")
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


def open_text(name: str) -> list[str]:
    """The lines of a text, for example of "scan/tasks.txt", without their ends; a local copy may be compressed."""
    path = local_or_downloaded(name)
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return content.decode("utf-8").removesuffix("\n").split("\n")


def present(name: str) -> bool:
    """Whether a file is in the user's own folder of data sets."""
    folder = data_folder()
    return folder is not None and _present(folder, name) is not None


def _present(folder: Path, name: str) -> Path | None:
    places = [folder / name, folder / f"{name}.gz"] if name.endswith(TEXTS) else [folder / name]
    return next((place for place in places if place.is_file()), None)


def _sum(path: Path, like: str, name: str) -> str:
    packed = path.name == f"{Path(name).name}.gz"
    try:
        opened: gzip.GzipFile | FileIO = gzip.GzipFile(path) if packed else FileIO(path)
        with opened as file:
            return hashlib.file_digest(file, lambda: hashlib.new(_method(like), usedforsecurity=False)).hexdigest()
    except (OSError, EOFError) as error:
        raise SourceError(
            f"cannot read '{path}'", why=str(error), instead="copy it again, or take it away: then it is fetched"
        ) from error


def _method(checksum: str) -> str:
    # md5 is what the publisher of CIFAR-10 gives; it guards against accidents here, not against forgers.
    return "sha256" if len(checksum) == 64 else "md5"


def _fetched(name: str, target: Path) -> Path:
    with explained(target):
        target.parent.mkdir(parents=True, exist_ok=True)
    reasons: list[str] = []
    for address in addresses(name):
        try:
            with shown(name) as progress:
                return fetch(address, target, wanted=checksum(name), progress=progress)
        except (ValueError, OSError) as error:  # another checksum, or whatever went wrong on the way
            reasons.append(f"{address}: {error}")
    raise SourceError(
        f"no {name!r} on this machine",
        why="; ".join(reasons) or "it was never published at an address of its own",
        instead=f"set {DATA} to a folder that holds {name!r}, or put the file at '{target}' ({CACHE} moves that)",
    )


def fetch(address: str, target: Path, *, wanted: str, progress: Progress) -> Path:
    """A file from the network, beside its place until it is complete and checked; what is cut off leaves nothing."""
    pooch.get_logger().setLevel(logging.WARNING)  # the bar says it already
    downloader = pooch.HTTPDownloader(progressbar=_DownloadProgress(progress), chunk_size=_PIECE, timeout=_PATIENCE)
    known = f"{_method(wanted)}:{wanted}"
    return Path(pooch.retrieve(address, known, fname=target.name, path=target.parent, downloader=downloader))


class _DownloadProgress:
    """What pooch asks of a progress bar."""

    def __init__(self, progress: Progress) -> None:
        self.total, self._done, self._progress = 0, 0, progress

    def update(self, size: int) -> None:
        """So many bytes more, the last piece counted as a whole one."""
        self._done = min(self._done + size, self.total) if self.total else self._done + size
        self._progress(self._done, self.total or None)

    def reset(self) -> None:
        """Pooch counts anew at the end, in one step."""
        self._done = 0

    def close(self) -> None:
        """There is nothing to let go."""


@contextmanager
def shown(name: str) -> Iterator[Progress]:
    """A progress bar on standard error, for people only."""
    console = Console(stderr=True)
    columns = (TextColumn("fetching {task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Bars(*columns, TimeRemainingColumn(), console=console, disable=not console.is_terminal) as bars:
        bar = bars.add_task(name, total=None)
        yield lambda done, total: bars.update(bar, completed=done, total=total)


@cache
def _checksums() -> dict[str, str]:
    lines = files("recombine_lab.tasks").joinpath("checksums.txt").read_text("utf-8").splitlines()
    return {name: checksum for checksum, name in (line.split() for line in lines)}


def checksum(name: str) -> str:
    """What a file's bytes must add up to.

    >>> checksum("cifar10/cifar-10-binary.tar.gz")
    'c32a1d4ab5d03f1284b67883e8d87530'
    """
    known = _checksums()
    check_listed(name, known, f"no data file {name!r}", why="recombine knows neither its checksum nor where to find it")
    return known[name]


def addresses(name: str) -> tuple[str, ...]:
    """Where a file was published, the first choice first; none for a file that exists only in a data folder.

    >>> addresses("scan/tasks.txt")
    ('https://raw.githubusercontent.com/brendenlake/SCAN/master/tasks.txt',)
    """
    start = next((start for start in SITES if name.startswith(start)), None)
    if start is None or not name.endswith(_PUBLISHED):
        return ()
    return tuple(site + name.removeprefix(start) for site in SITES[start])


def data_folder() -> Path | None:
    """The user's own folder of data sets, where one is named."""
    named = os.environ.get(DATA)
    if not named:
        return None
    folder = Path(named).expanduser()
    if not folder.is_dir():
        raise SourceError(
            f"{DATA}={named}",
            why="there is no such folder",
            instead=f"set {DATA} to a folder with mnist/, scan/ and so on in it, or leave it unset",
        )
    return folder


def cache_folder() -> Path:
    """Where fetched files are kept."""
    if named := os.environ.get(CACHE):
        return Path(named).expanduser()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "recombine" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "recombine"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "recombine"


Images = npt.NDArray[np.uint8]
Labels = npt.NDArray[np.int64]
_STEM = {"train": "train", "test": "t10k"}
ARCHIVE = "cifar10/cifar-10-binary.tar.gz"
IN_STRIPS = 1000
"""How many images of each class the strips hold."""
_RECORD = 1 + 3 * 32 * 32


def mnist(part: Part, *, folder: Literal["mnist", "fashion_mnist"] = "mnist") -> tuple[Images, Labels]:
    """Images (n, 1, 28, 28) and their classes."""
    images = read_idx(f"{folder}/{_STEM[part]}-images-idx3-ubyte.gz")
    labels = read_idx(f"{folder}/{_STEM[part]}-labels-idx1-ubyte.gz")
    return images[:, None], labels.astype(np.int64)


def read_idx(name: str) -> Images:
    """An idx file: a header of big-endian numbers that gives the axes, then the bytes."""
    return parse_idx(gzip.decompress(local_or_downloaded(name).read_bytes()), name)


def parse_idx(content: bytes, name: str) -> Images:
    """The array in the bytes of an idx file.

    >>> parse_idx(bytes([0, 0, 8, 1, 0, 0, 0, 2, 7, 9]), "two labels").tolist()
    [7, 9]
    """
    axes = content[3] if len(content) > 3 and content[:3] == b"\x00\x00\x08" else 0
    sizes = np.frombuffer(content, ">u4", count=axes, offset=4) if axes and len(content) >= 4 + 4 * axes else None
    if sizes is None or len(content) != 4 + 4 * axes + int(np.prod(sizes, dtype=np.int64)):
        raise SourceError(
            f"{name!r} is not an idx file of bytes",
            why="its header does not fit its length",
            instead="take the file as it was published",
        )
    return np.frombuffer(content, np.uint8, offset=4 + 4 * axes).reshape(sizes)


def cifar10(part: Part, *, per_class: int | None = None) -> tuple[Images, Labels]:
    """Images (n, 3, 32, 32) and their classes, in the order of the published files; `per_class` of them at least."""
    enough = part == "test" or (per_class is not None and per_class <= IN_STRIPS)
    if enough and present(f"cifar10/{part}_10000.png") and not present(ARCHIVE):
        return _strips(part)
    try:
        return _archive(part)
    except SourceError as error:
        if not present(f"cifar10/{part}_10000.png"):
            raise
        raise SourceError(
            "CIFAR-10's training part is not complete on this machine",
            why=f"there are only the first {IN_STRIPS:,} images of each class, and: {error.why}",
            instead=f"ask for no more than those with per_class={IN_STRIPS}, or put {ARCHIVE!r} beside them",
        ) from error


def _archive(part: Part) -> tuple[Images, Labels]:
    members = [f"data_batch_{number}.bin" for number in range(1, 6)] if part == "train" else ["test_batch.bin"]
    path = local_or_downloaded(ARCHIVE)
    with tarfile.open(path) as archive:
        batches = [_records(archive, f"cifar-10-batches-bin/{member}") for member in members]
    records = np.concatenate(batches)
    return records[:, 1:].reshape(-1, 3, 32, 32), records[:, 0].astype(np.int64)


def _records(archive: tarfile.TarFile, member: str) -> Images:
    """One batch: a byte for the class, then the planes red, green and blue."""
    try:
        file = archive.extractfile(member)
    except KeyError:
        file = None
    content = file.read() if file is not None else b""
    if not content or len(content) % _RECORD:
        raise SourceError(
            f"no {member!r} in {ARCHIVE!r}",
            why=f"there should be records of {_RECORD:,} bytes",
            instead="take the archive as it was published",
        )
    return np.frombuffer(content, np.uint8).reshape(-1, _RECORD)


def _strips(part: Part) -> tuple[Images, Labels]:
    from PIL import Image  # noqa: PLC0415 - heavy, and needed for this form only

    with Image.open(local_or_downloaded(f"cifar10/{part}_10000.png")) as strip:
        images = np.asarray(strip.convert("RGB")).reshape(-1, 32, 32, 3).transpose(0, 3, 1, 2)
    listed = local_or_downloaded(f"cifar10/{part}_10000_labels.csv")
    places, labels = np.loadtxt(listed, dtype=np.int64, delimiter=",", skiprows=1, unpack=True)
    order = np.argsort(places)
    return np.ascontiguousarray(images[order]), np.asarray(labels[order], dtype=np.int64)
