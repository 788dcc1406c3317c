"""Public names that are loaded when they are first used, and a plain sentence where an extra is missing."""

import sys
from importlib import import_module
from typing import Any

_PACKAGES = {
    "PIL": "Pillow",
    "fsspec": "fsspec",
    "pooch": "pooch",
    "pydantic": "pydantic",
    "ray": "Ray",
    "safetensors": "safetensors",
    "torch": "PyTorch",
    "transformers": "Transformers",
    "yaml": "PyYAML",
}
"""What the extras bring, as it is imported and as it is called."""


def loaded(room: str, name: str, home: str) -> Any:
    """A public name of a room from the module that holds it; where an extra is missing, a sentence says which.

    Written as `recombine.lab.fit` it is then an AttributeError, which `hasattr` takes for a no; written as
    `from recombine.lab import fit` an ImportError. No class can be both, and the import statement would replace an
    AttributeError, sentence and all, with one of its own.

    >>> loaded("recombine", "nearest", "recombine.errors").__name__
    'nearest'
    """
    try:
        return getattr(import_module(home), name)
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in _PACKAGES:
            raise
        extra = "sweep" if home.startswith("recombine.lab.sweeps") or package in ("ray", "yaml") else "train"
        sentence = f"{room}.{name} needs {_PACKAGES[package]}: pip install 'recombine[{extra}]'"
        # Two frames up, past the room's __getattr__, is whoever asked.
        if sys._getframe(2).f_code.co_name == "_handle_fromlist":
            raise ImportError(sentence, name=package) from error
        raise AttributeError(sentence) from error
