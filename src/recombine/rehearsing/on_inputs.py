"""The kernel machine on examples, as a learner: what a wide network would answer, in closed form."""

from dataclasses import dataclass
from typing import Literal

from recombine.algebra.groups import Numbers
from recombine.rehearsing.examples import Examples


@dataclass(frozen=True)
class KernelOnInputs:
    """A stand-in."""

    name: str = "examples"
    level: Literal["combinations", "rows"] = "rows"

    def answer(self, train: Examples, test: Examples, *, seed: int) -> Numbers:
        """To come."""
        raise NotImplementedError
