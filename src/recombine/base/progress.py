"""How long work tells how far it is: one kind of callable, taken by every verb as `progress`."""

from collections.abc import Callable

Progress = Callable[[str, float | None], None]
"""Called with the name of a step and the share of it that is done; None where nobody knows the share."""


def of_step(progress: Progress | None, step: str) -> Callable[[float | None], None] | None:
    """What an engine tells of one step, which is its share alone; None where nobody listens, so that nobody waits."""
    return None if progress is None else lambda share: progress(step, share)


def silent(_step: str, _share: float | None) -> None:
    """A progress that nobody listens to."""
