"""MNIST and Fashion-MNIST: 28 x 28 grey images of ten classes, in the idx format."""

import gzip
from typing import Literal

import numpy as np
import numpy.typing as npt

from recombine.errors import SourceError
from recombine.lab.tasks.data.download import local_or_downloaded
from recombine.lab.tasks.task import Part

Images = npt.NDArray[np.uint8]
Labels = npt.NDArray[np.int64]
_STEM = {"train": "train", "test": "t10k"}


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
