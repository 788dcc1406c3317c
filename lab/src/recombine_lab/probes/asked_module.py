"""A module of anybody's, asked in the user's way: as a module of its own, and with words where it cannot be asked."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn

from recombine.base.errors import RecombineError, SettingError
from recombine_lab.models.layers import Forward, asked, tensor_of


class AskedModule(nn.Module):
    """A module that is asked in the user's way, so that other weights can be put in its place for one call."""

    def __init__(self, module: nn.Module, forward: Forward | None) -> None:
        super().__init__()
        self.module, self.way = module, forward

    def forward(self, inputs: Any) -> Tensor:
        """Its answer, as one tensor."""
        return tensor_of(asked(self.module, inputs, self.way), "")


@contextmanager
def refusing(what: str, *, instead: str) -> Iterator[None]:
    """Whatever somebody's code raises becomes one refusal, with the first line of its own words.

    >>> with refusing("the network cannot be asked", instead="give other inputs"):
    ...     raise ValueError("not today")
    Traceback (most recent call last):
    ...
    recombine.base.errors.SettingError: the network cannot be asked
      why      ValueError: not today
      instead  give other inputs
    """
    try:
        yield
    except RecombineError:
        raise
    except Exception as error:
        words = str(error).strip().splitlines()
        why = f"{type(error).__name__}: {words[0][:300] if words else 'no words'}"
        raise SettingError(what, why=why, instead=instead) from error
