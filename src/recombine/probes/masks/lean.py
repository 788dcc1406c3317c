"""Masks of large networks: what can be made again from the scores is made again, and never kept for the way back.

A layer keeps its weights until its gradients are taken. Masked weights are copies, as large as the network; here a note
of which they were is kept in their place, and masks and masked weights are computed a second time, layer by layer.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks
from torch.utils.checkpoint import checkpoint


@dataclass(frozen=True)
class _Note:
    """A view of a masked weight, without its numbers."""

    name: str
    size: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int


def forgetting(products: Mapping[str, Tensor], again: Callable[[str], Tensor]) -> AbstractContextManager[Any]:
    """While this lasts, what is kept for the way back of some tensors is their name; `again` makes them anew."""
    places = {one.untyped_storage().data_ptr(): name for name, one in products.items()}

    def pack(tensor: Tensor) -> Tensor | _Note:
        name = places.get(tensor.untyped_storage().data_ptr())
        if name is None:
            return tensor
        return _Note(name, tuple(tensor.size()), tuple(tensor.stride()), int(tensor.storage_offset()))

    def unpack(kept: Tensor | _Note) -> Tensor:
        if isinstance(kept, Tensor):
            return kept
        return again(kept.name).as_strided(kept.size, kept.stride, kept.offset)

    made: AbstractContextManager[Any] = saved_tensors_hooks(pack, unpack)
    return made


def twice(make: Callable[[Tensor], Tensor], scores: Tensor) -> Tensor:
    """What is made of scores, of which nothing is kept: on the way back it is made again."""
    found: Tensor = checkpoint(make, scores, use_reentrant=False, preserve_rng_state=False)
    return found
