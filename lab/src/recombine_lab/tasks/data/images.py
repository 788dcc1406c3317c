"""Images of ten classes: MNIST and Fashion-MNIST (28 x 28, grey, in the idx format), CIFAR-10 (32 x 32, in colour).

Two forms of CIFAR-10 are read: the published archive of binary records, and PNG strips that hold the whole test part
and the first 1,000 training images of each class. Whoever asks for no more than those gets the same images from either.
"""

import gzip
import tarfile
from typing import Literal

import numpy as np
import numpy.typing as npt

from recombine.errors import SourceError
from recombine_lab.tasks.data.files import local_or_downloaded, present
from recombine_lab.tasks.task import Part

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
