"""Where a run is trained, and in which mode of torch."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from recombine.errors import SettingError
from recombine_lab.training.recipe import Recipe


def device_of(recipe: Recipe) -> torch.device:
    """The device that a recipe means here; one that is not there is refused.

    >>> device_of(Recipe(steps=1))
    device(type='cpu')
    """
    there = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if recipe.device == "auto":
        return torch.device(next(name for name in ("cuda", "mps", "cpu") if there[name]))
    if not there[recipe.device]:
        raise SettingError(
            f"device={recipe.device!r}",
            why="torch finds no such device on this machine",
            instead="write device='auto', which takes the processor where there is no other",
        )
    return torch.device(recipe.device)


@contextmanager
def mode_of(recipe: Recipe) -> Iterator[None]:
    """Torch as a recipe wants it, and afterwards as it was."""
    before = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(recipe.deterministic or before)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before)
