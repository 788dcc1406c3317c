"""What a run is, before it is run: everything that its numbers depend on, and one key made of it."""

import hashlib
import json
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from recombine.catalogue import Spec, plain


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """One run: a task, what is shown of it, a model, a recipe, a seed, and the version of the numbers that
    these parts give (`code`).

    >>> parts = {"task": {"name": "toy"}, "split": {"name": "own"}, "model": {"name": "mlp"}, "recipe": {}}
    >>> len(Configuration(**parts, seed=0, code="task 1").key)
    32
    """

    task: Spec
    split: Spec
    model: Spec
    recipe: Spec
    seed: int
    code: str

    @cached_property
    def key(self) -> str:
        """The run's address in a store: the same for the same settings, in whatever order they were written."""
        text = json.dumps(self.plain(), sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def plain(self) -> dict[str, Any]:
        """As JSON holds it."""
        return {setting.name: plain(getattr(self, setting.name)) for setting in fields(self)}
