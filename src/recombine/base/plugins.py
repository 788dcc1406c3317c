"""What other packages add to recombine, found by their entry points.

| group | name | what stands there |
|---|---|---|
| `recombine.commands` | the command's word | a function with options as Typer reads them, or a `typer.Typer` |
| `recombine.results` | the kind, as it is saved | a subclass of `Result` |
| `recombine.pages` | the kind | how it is drawn: an `output.page.Page` |
| `recombine.readers` | any | a kind of table: a `data.readers.Reader` |
| `recombine.devices` | `torch` | a function that copies an array to a device |
| `recombine_lab.tasks`, `.models`, `.splits` | as it is written in a sweep's file | a class of the lab's kind |

Our own commands, kinds and readers are static tables beside their use: asking every installed package takes tens of
milliseconds, and is done only for a name that is not among them.

`needed` and `needing` say in a plain sentence which extra brings a package that is missing.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from recombine.base.errors import SettingError

GROUPS = (
    *(f"recombine.{kind}" for kind in ("commands", "devices", "pages", "readers", "results")),
    *(f"recombine_lab.{kind}" for kind in ("models", "splits", "tasks")),
)
_COMES_WITH = {
    "probe": "lab",
    "run": "lab",
    "runs": "lab",
    "study": "studies",
    "sweep": "lab",
}
"""Commands and kinds of results of our own other packages, for who has not installed them."""
_OURS = ("recombine", "recombine_lab", "recombine_studies")
_INSTALL = {
    "lab": "pip install 'recombine[lab]'",
    "studies": "install the lab and the studies from a checkout of recombine: pip install ./lab ./studies",
}


@cache
def _entries(group: str) -> dict[str, EntryPoint]:
    assert group in GROUPS, f"{group} is not among the groups that `doctor` looks through"  # noqa: S101 - for who adds one
    return {entry.name: entry for entry in entry_points(group=group)}


def names(group: str) -> list[str]:
    """What installed packages add to a group, in alphabetical order."""
    return sorted(_entries(group))


def others() -> dict[str, str]:
    """What packages that are not ours add: its group and name, and where it stands; nothing is loaded."""
    found = {f"{group}: {name}": place for group in GROUPS for name, place in places(group).items()}
    return {what: place for what, place in found.items() if place.partition(":")[0].partition(".")[0] not in _OURS}


def places(group: str) -> dict[str, str]:
    """Where each of them stands, as `module:name`; nothing is loaded."""
    return {name: entry.value for name, entry in _entries(group).items()}


def load(group: str, name: str) -> Any | None:
    """What an installed package calls by this name; None where there is none."""
    entry = _entries(group).get(name)
    return None if entry is None else entry.load()


def install_hint(name: str) -> str | None:
    """How to install what brings a command or a kind of result of ours; None for a name that none of ours has.

    >>> install_hint("sweep"), install_hint("swep")
    ("pip install 'recombine[lab]'", None)
    """
    package = _COMES_WITH.get(name)
    return None if package is None else _INSTALL[package]


_PACKAGES = {
    "PIL": "Pillow",
    "keras": "Keras",
    "lightning": "Lightning",
    "matplotlib": "matplotlib",
    "mlflow": "MLflow",
    "safetensors": "safetensors",
    "sklearn": "scikit-learn",
    "torch": "PyTorch",
    "torchmetrics": "torchmetrics",
    "transformers": "Transformers",
    "wandb": "Weights & Biases",
}
"""What the extras bring, as it is imported and as it is called."""


def needed(module: str, what: str, *, extra: str) -> Any:
    """A module that an extra brings, or a sentence that says how to install it.

    >>> needed("json", "inputs", extra="examples").__name__
    'json'
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        package = (error.name or module).partition(".")[0]
        raise SettingError(
            what,
            why=f"it takes {_PACKAGES.get(package, package)}, which is not installed",
            instead=f"pip install 'recombine[{extra}]'",
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
