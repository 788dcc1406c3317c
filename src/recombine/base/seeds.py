"""Chance by name: the seed of a part is derived from the run's seed and the part's name.

One more random choice then changes none of the others, and two parts never share a stream by accident.
"""

import hashlib

_BITS = 63


def derived(seed: int, *names: str | int) -> int:
    """The seed of a part, from the seed of the whole and the part's name.

    >>> derived(0, "order", 3) == derived(0, "order", 3)
    True
    >>> derived(0, "order") == derived(0, "images")
    False
    """
    text = "\x1f".join([str(int(seed)), *map(str, names)])
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest()) >> (64 - _BITS)
