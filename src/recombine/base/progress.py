"""How long work tells how far it is: one kind of callable, taken by every verb as `progress`."""

from collections.abc import Callable

Progress = Callable[[str, float | None], None]
"""Called with the name of a step and the share of it that is done; None where nobody knows the share."""


def silent(_step: str, _share: float | None) -> None:
    """A progress that nobody listens to."""
