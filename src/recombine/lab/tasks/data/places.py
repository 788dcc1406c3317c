"""Where the files of a data set are: the user's own folder, recombine's cache, and the address they were published at.

A file is named by its place below the folder, for example `mnist/train-labels-idx1-ubyte.gz`. Its checksum stands in
`checksums.txt`: sha256, or md5 where the publisher gives only that. A text's checksum is that of the text itself, so
that a local copy may be compressed.
"""

import os
import sys
from functools import cache
from importlib.resources import files
from pathlib import Path

from recombine.errors import SettingError, SourceError, nearest

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


@cache
def _checksums() -> dict[str, str]:
    lines = files("recombine.lab.tasks.data").joinpath("checksums.txt").read_text("utf-8").splitlines()
    return {name: checksum for checksum, name in (line.split() for line in lines)}


def checksum(name: str) -> str:
    """What a file's bytes must add up to.

    >>> checksum("cifar10/cifar-10-binary.tar.gz")
    'c32a1d4ab5d03f1284b67883e8d87530'
    """
    known = _checksums()
    if name not in known:
        raise SettingError(
            f"no data file {name!r}",
            why="recombine knows neither its checksum nor where to find it",
            instead=nearest(name, known),
        )
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
