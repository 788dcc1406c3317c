"""What other packages add to recombine, found by their entry points.

| group | name | what stands there |
|---|---|---|
| `recombine.commands` | the command's word | a function with options as Typer reads them, or a `typer.Typer` |
| `recombine.results` | the kind, as it is saved | a subclass of `Result` |
| `recombine.pages` | the kind | how it is drawn: a `report.page.Page` |
| `recombine.readers` | any | a kind of table: a `tables.readers.Reader` |
| `recombine.devices` | any | arrays elsewhere than in memory: a `theory.examples.devices.Device` |

Our own commands, kinds and readers are static tables beside their use: asking every installed package takes tens of
milliseconds, and is done only for a name that is not among them.
"""

from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

_COMES_WITH = {
    "probe": "lab",
    "run": "lab",
    "runs": "lab",
    "study": "studies",
    "sweep": "lab",
}
"""Commands and kinds of results of our own other packages, for who has not installed them."""
_INSTALL = {
    "lab": "pip install 'recombine[lab]'",
    "studies": "install the lab and the studies from a checkout of recombine: pip install ./lab ./studies",
}


@cache
def _entries(group: str) -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=group)}


def names(group: str) -> list[str]:
    """What installed packages add to a group, in alphabetical order."""
    return sorted(_entries(group))


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
