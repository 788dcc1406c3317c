"""Kinds of tables that a package of their own reads, each as a `Reader`.

To add one without changing anything here, a package names its `Reader` as an entry point of the group
`recombine.readers` (`docs/extending.md`; Lance, in `lance.py`, is added in this way). It is asked about every
folder, and about a file whose ending nobody knows. Our own are asked first, by the endings below or about a folder,
and about files that an engine could read too: lines of JSON may be a table or the log of a harness.

A reader may also know matrices that lie beside the table (`arrays`), which can then be a target by their names, and
how its field writes columns (`recognise`), which a proposal then says.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recombine.base import plugins
from recombine.base.errors import RecombineError, SourceError
from recombine.data.engine_errors import first_line

if TYPE_CHECKING:
    from recombine.data.stored_arrays import StoredArray

_GROUP = "recombine.readers"
_OWN = {
    **dict.fromkeys((".h5ad", ".zarr"), "recombine.data.anndata"),
    **dict.fromkeys((".eval", ".json", ".jsonl"), "recombine.data.evaluation_logs"),
    ".toml": "recombine.data.cell_load",
}
_OF_FOLDERS = ("recombine.data.lerobot", "recombine.data.evaluation_logs")


@dataclass(frozen=True)
class Convention:
    """How a field writes what was combined: the options that read it, and a sentence that says so."""

    sets: Mapping[str, str]
    """As `--set` takes them: {"genes": "condition:+"}."""
    said: str
    columns: tuple[str, ...] = ()
    """Columns that say the same, or are made of it: no factors beside the set."""
    score: str | None = None
    """The column with a score of each row, where somebody has scored them already."""
    aside: Mapping[str, str] = field(default_factory=dict)
    """Other columns that are no factors, each with the reason."""


@dataclass(frozen=True)
class Reader:
    """A kind of table: how a file or folder of the kind is known, and how its rows are read."""

    name: str
    holds: Callable[[Path], bool]
    """Whether a path is a table of the kind; it looks at names, and at the beginning of a file at most."""
    read: Callable[[Path, Sequence[str] | None], Any]
    """The rows, with the columns that are asked for or more (None: all): an Arrow table or dataset."""
    install: str = ""
    """How to install what it imports, such as `pip install 'recombine[lance]'`."""
    arrays: Callable[[Path], "Mapping[str, StoredArray]"] | None = None
    """Matrices with a row for each row of the table, by the names that a target gives them."""
    recognise: Callable[[Path], Convention | None] | None = None
    """The convention of a field that the columns follow, if any."""

    def __str__(self) -> str:
        return f"{'an' if self.name[0] in 'AEIOU' else 'a'} {self.name} table"


def own_reader(path: Path) -> Reader | None:
    """Our own reader that takes a path for a table of its kind; None where none does."""
    known = _OWN.get(path.suffix.lower())
    modules = (known,) if known is not None else _OF_FOLDERS if path.is_dir() else ()
    readers: Iterator[Reader] = (import_module(module).READER for module in modules)
    return next((reader for reader in readers if reader.holds(path)), None)


def added_reader(path: Path) -> Reader | None:
    """Our own reader, or that of an installed package, that takes a path for a table of its kind."""
    readers: Iterator[Any] = (plugins.load(_GROUP, name) for name in plugins.names(_GROUP))
    return own_reader(path) or next((reader for reader in readers if reader.holds(path)), None)


def dataset_of(path: Path, reader: Reader, columns: Sequence[str] | None) -> Any:
    """The rows of a table as something that DuckDB scans."""
    with in_words(path, reader):
        return reader.read(path, columns)


@contextmanager
def in_words(path: Path, reader: Reader) -> Iterator[None]:
    """What goes wrong in a reader's package, said in words."""
    try:
        yield
    except RecombineError:
        raise
    except ImportError as error:
        raise SourceError(
            f"'{path}' is {reader}",
            why=f"what reads it is not installed ({first_line(error)})",
            instead=reader.install or "install the package that it is read with",
        ) from error
    except Exception as error:
        raise SourceError(
            f"cannot read '{path}', {reader}",
            why=first_line(error),
            instead="check that it is whole; or export it to Parquet, and give that",
        ) from error
