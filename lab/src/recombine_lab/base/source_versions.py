"""Which source things of the user's own are made of, and which of them a record may name.

To find one is to import its module, which runs it. Of what a file says, only what the user has named in this process
too (`TRUSTED`) is found: `training.trust` holds every record to it.

A run is found again by what produced its numbers. For what recombine brings, that is a version that is raised by hand;
for a class of the user's own it is a digest of its source: of the module that defines it, and of every module that this
one imports from the same folder or package. Comments and line breaks are left out of it. What is installed (in
`site-packages`) goes by the version of its distribution.
"""

import ast
import hashlib
import importlib.metadata
import inspect
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any
from weakref import WeakKeyDictionary

from recombine.base.errors import SettingError
from recombine.base.object_paths import broken, found, is_place

MAIN = "__main__"
MEMORY = "memory:"
"""How a setting begins that stands for something in memory, by its checksum."""
TRUSTED: set[str] = set()
"""The places, and the modules as a whole, that the user has named in this process."""
_read: WeakKeyDictionary[Any, str] = WeakKeyDictionary()


def places_in(record: Any) -> list[str]:
    """Everything in plain data that could become an import, wherever it stands: in lists, under and as any key.

    >>> places_in({"name": "from", "inputs": "mine:rows", "more": [{"base": ["mine.splits:Split"]}]})
    ['mine.splits:Split', 'mine:rows']
    """
    places, waiting = set(), [record]
    while waiting:  # no recursion: a record may be nested deeper than Python goes
        part = waiting.pop()
        if isinstance(part, Mapping):
            waiting += [*part.keys(), *part.values()]
        elif isinstance(part, list | tuple | set | frozenset):
            waiting += part
        elif is_place(part):
            places.add(part)
    return sorted(places)


def place_of(thing: Any) -> str | None:
    """Where a class or function can be found again by its name; None where it cannot.

    >>> from fractions import Fraction
    >>> place_of(Fraction), place_of(lambda: 1)
    ('fractions:Fraction', None)
    """
    module, name = getattr(thing, "__module__", None), getattr(thing, "__qualname__", "")
    place = f"{module}:{name}"
    if not is_place(place) or module not in sys.modules or _file(sys.modules[module]) is None:
        return None
    at: Any = sys.modules[module]
    for part in name.split("."):
        at = getattr(at, part, None)
    return place if at is thing else None


def source_version(place: str) -> str:
    """Which source stands behind a name: a digest, or the version of what is installed.

    >>> source_version("fractions:Fraction").startswith("python ")
    True
    """
    thing = found(place)
    version = _version(place)
    try:
        first = _read.setdefault(thing, version)
    except TypeError:  # something that takes no weak references has no source of its own that could change
        return version
    if first != version:
        raise SettingError(
            f"the source of {place!r} has changed since it was imported",
            why="the numbers would be those of the old source, under the name of the new one",
            instead="start Python again, or reload the module with importlib.reload",
        )
    return version


def folder_of(place: str) -> str | None:
    """The folder from which another process can import a thing of the user's own.

    None where it is installed, or was not imported here: a column too may be called `a:b`.
    """
    name = place.partition(":")[0]
    file = _file(sys.modules[name]) if name in sys.modules else None
    return None if file is None or _distribution_version(name, file) else str(_root(name, file))


def _version(place: str) -> str:
    name = place.partition(":")[0]
    file = _file(sys.modules[name])
    if file is None:
        raise SettingError(
            f"the source of {place!r} cannot be read",
            why="a run is found again by the source that gave its numbers, and this module has no file",
            instead="save it as a .py file, and import it from there",
        )
    return _distribution_version(name, file) or f"source {_digest(name, file)}"


def _file(module: ModuleType) -> Path | None:
    try:
        found = inspect.getsourcefile(module) or getattr(module, "__file__", None)
    except TypeError:  # built in, or a notebook
        return None
    path = None if found is None else Path(found).absolute()
    return path if path is not None and path.exists() else None


def _distribution_version(name: str, file: Path) -> str | None:
    """The distribution or the Python that a module belongs to, with its version; None where it is the user's own."""
    top = name.partition(".")[0]
    if {"site-packages", "dist-packages"} & set(file.parts):
        versions = [f"{one} {importlib.metadata.version(one)}" for one in _distributions(top)]
        return ", ".join(versions) or None
    if top in sys.stdlib_module_names and file.is_relative_to(sysconfig.get_path("stdlib")):
        return f"python {sys.version_info.major}.{sys.version_info.minor}"
    return None


@cache
def _distributions(top: str) -> list[str]:
    """Those that hold a module, or parts of a namespace.

    One of its own name is asked first: to go through all of them takes seconds where somebody has loaded the package
    `importlib_metadata`, which looks whether each of their files is there.
    """
    own: importlib.metadata.Distribution | None
    try:
        own = importlib.metadata.distribution(top)
    except importlib.metadata.PackageNotFoundError:
        own = None
    if own is not None and Path(str(own.locate_file(top)), "__init__.py").is_file():
        return [own.metadata["Name"]]
    return sorted(set(_every_distribution().get(top, ())))


@cache
def _every_distribution() -> dict[str, list[str]]:
    return dict(importlib.metadata.packages_distributions())


def _root(name: str, file: Path) -> Path:
    """The folder that holds a module's outermost package."""
    return file.parents[0 if name == MAIN else name.count(".") + (file.name == "__init__.py")]


def _digest(name: str, file: Path) -> str:
    """Of a module and all that it imports from beside it."""
    root = _root(name, file)
    known: dict[str, str] = {}
    waiting = [file]
    while waiting:
        path = waiting.pop()
        key = str(path.relative_to(root)) if path != file else name
        if key in known:
            continue
        state = path.stat()
        known[key], imported = _parse_module(path, state.st_size, state.st_mtime_ns, root)
        waiting += imported
    whole = "\n".join(f"{key}\n{text}" for key, text in sorted(known.items()))
    return hashlib.sha256(whole.encode()).hexdigest()[:16]


@lru_cache(maxsize=1024)
def _parse_module(path: Path, size: int, changed: int, root: Path) -> tuple[str, list[Path]]:  # noqa: ARG001 - the key
    """A file without its comments, and the files beside it that it imports."""
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError) as error:
        raise broken(path.stem, error) from error
    names = [name for node in ast.walk(tree) for name in _imports(node, path, root)]
    files = [file for name in dict.fromkeys(names) if (file := _sibling_file(name, root)) is not None]
    return ast.unparse(tree), files


def _imports(node: ast.AST, path: Path, root: Path) -> Iterator[str]:
    """The modules that a statement may import; what is no module of the folder is left out later."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        package = path.relative_to(root).parts[:-1]
        above = package[: len(package) - node.level + 1] if node.level else ()
        base = ".".join([*above, *([node.module] if node.module else [])])
        yield from (name.strip(".") for name in [base, *(f"{base}.{alias.name}" for alias in node.names)] if name)


def _sibling_file(name: str, root: Path) -> Path | None:
    bare = root.joinpath(*name.split("."))
    files = (bare.with_name(f"{bare.name}.py"), bare / "__init__.py")
    return next((file for file in files if file.is_file()), None)
