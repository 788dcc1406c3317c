"""CIFAR-10: 32 x 32 colour images of ten classes.

Two forms are read: the published archive of binary records, and PNG strips that hold the whole test part and the first
1,000 training images of each class. Whoever asks for no more than those gets the same images from either.
"""

import tarfile

import numpy as np

from recombine.errors import SourceError
from recombine.lab.tasks.data.download import local_or_downloaded, present
from recombine.lab.tasks.data.mnist import Images, Labels
from recombine.lab.tasks.task import Part

ARCHIVE = "cifar10/cifar-10-binary.tar.gz"
IN_STRIPS = 1000
"""How many images of each class the strips hold."""
_RECORD = 1 + 3 * 32 * 32


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
