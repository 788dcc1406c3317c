"""A digest of which combination is on which side: the same for the same split, whatever wrote it or holds it."""

import hashlib
import json

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from recombine.tables.support import Support

SEEN = "seen"
"""Rows of training combinations that were kept apart from training, as `recombine split --seen-share` does."""
TRAIN = "train"


def digest(support: Support, side: npt.NDArray[np.int64], words: tuple[str, ...], places: npt.NDArray[np.int64]) -> str:
    """A checksum over lines of values and side: combination `places[i]` stands on side `words[side[i]]`.

    Values are written as JSON text, lines are sorted: neither the order of the rows nor the engine matters.

    >>> import recombine
    >>> support = recombine.read({"a": ["x", "y"], "b": ["p", "q"]}, factors=["a", "b"])
    >>> digest(support, np.array([0, 1]), ("train", "test"), np.array([0, 1]))[:8]
    '8f08c84d'
    """
    columns = [
        pa.array([json.dumps(label, ensure_ascii=False) for label in factor.labels], pa.string()).take(
            pa.array(support.codes[places, k])
        )
        for k, factor in enumerate(support.space.factors)
    ]
    columns.append(pa.array(words, pa.string()).take(pa.array(side)))
    columns = [column.cast(pa.large_string()) for column in columns]
    lines = pc.binary_join_element_wise(*columns, pa.scalar(",", pa.large_string()))
    lines = lines.take(pc.sort_indices(lines))
    head = json.dumps(list(support.space.names), ensure_ascii=False)
    checksum = hashlib.sha256(head.encode())
    for start in range(0, len(lines), 1 << 20):  # a piece at a time: all lines as one text may not fit
        piece = pa.array([lines.slice(start, 1 << 20)], pa.large_list(pa.large_string()))
        checksum.update(b"\n" + pc.binary_join(piece, pa.scalar("\n", pa.large_string()))[0].as_buffer())
    return checksum.hexdigest()


def digest_of_sides(support: Support) -> str:
    """The digest of a split whose column is the last factor; rows kept apart as seen are of training combinations."""
    width = len(support.space.factors) - 1
    whole = support.project(range(width))
    labels = [TRAIN if label == SEEN else label for label in support.space.factors[-1].labels]
    words = tuple(dict.fromkeys(labels))
    side = np.array([words.index(label) for label in labels])[support.codes[:, -1]]
    lines = np.unique(support.groups(range(width)).ids * len(words) + side)
    places, side = np.divmod(lines, len(words))
    return digest(whole, side, words, places)
