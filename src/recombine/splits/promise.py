"""What a split is held to, and one line of what was found."""

from collections.abc import Mapping
from dataclasses import dataclass

from recombine.checks import check_choice
from recombine.tables.space import Value


@dataclass(frozen=True, kw_only=True)
class Promise:
    """What a split is held to, beside that neither side is empty and nothing stands on both.

    >>> Promise(values=True).determined
    False
    """

    covering: bool = True
    combinations: bool = True
    values: bool = False
    determined: bool = False
    absent: tuple[Mapping[str, Value], ...] = ()
    least: int | None = None
    order: int = 2
    class_tolerance: float | None = None

    @classmethod
    def of(cls, guarantee: "Promise | str | None") -> "Promise":
        """A promise by the name of a guarantee: what is determined has its values in training too."""
        if isinstance(guarantee, Promise):
            return guarantee
        named = "none" if guarantee is None else guarantee
        check_choice("promise", named, ("values", "determined", "none"))
        return cls(values=named != "none", determined=named == "determined")


@dataclass(frozen=True)
class Invariant:
    """One line of a check; `holds` is None where it was not promised."""

    name: str
    holds: bool | None
    sentence: str
