"""A plain sentence where a package is missing that an extra brings."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from recombine.errors import SettingError

_PACKAGES = {
    "PIL": "Pillow",
    "fsspec": "fsspec",
    "inspect_ai": "inspect_ai",
    "keras": "Keras",
    "lightning": "Lightning",
    "matplotlib": "matplotlib",
    "mlflow": "MLflow",
    "pooch": "pooch",
    "pydantic": "pydantic",
    "ray": "Ray",
    "safetensors": "safetensors",
    "sklearn": "scikit-learn",
    "torch": "PyTorch",
    "torchmetrics": "torchmetrics",
    "transformers": "Transformers",
    "wandb": "Weights & Biases",
    "yaml": "PyYAML",
}
"""What the extras bring, as it is imported and as it is called."""


def needed(module: str, what: str, *, extra: str, instead: str = "") -> Any:
    """A module that an extra brings, or a sentence that says how to install it.

    >>> needed("json", "inputs", extra="examples").__name__
    'json'
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        package = (error.name or module).partition(".")[0]  # a module of ours may ask for it in turn
        raise SettingError(
            what,
            why=f"it takes {_PACKAGES.get(package, package)}, which is not installed",
            instead=f"pip install 'recombine[{extra}]'{instead}",
        ) from error


@contextmanager
def needing(room: str, *packages: str, extra: str) -> Iterator[None]:
    """Around the imports of a module that is for some packages: where one is missing, a sentence says what to install.

    >>> with needing("recombine.integrations.nothing", "nothing_of_that_name", extra="nothing"):
    ...     import nothing_of_that_name
    Traceback (most recent call last):
    ImportError: recombine.integrations.nothing needs nothing_of_that_name: pip install 'recombine[nothing]'
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in packages:  # something that the package itself asks for, and names
            raise
        sentence = f"{room} needs {_PACKAGES.get(package, package)}: pip install 'recombine[{extra}]'"
        raise ImportError(sentence, name=package) from error
