"""Let the command start without what it never uses of others' libraries, which would be a third of its start-up time.

Ibis loads the SQL compilers of all twenty engines for any one of them. Ibis and Arrow load pandas wherever it is
installed, the one to convert answers that recombine fetches as Arrow, the other to see whether it is there. Both are
put off here, in the process of a command that reads tables and nothing else: a program that imports recombine gets them
as they are, and so do the commands that train.
"""

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import FrameType, ModuleType
from typing import Any

_READ_TABLES_ONLY = ("audit", "evaluate", "lint", "plan", "predict", "split")
_COMPILERS = "ibis.backends.sql.compilers"
_PEEKS = ("recombine", "pyarrow", "ibis.formats.pandas")
"""Who asks for pandas without needing it. recombine itself never does, so it is Arrow that asks in its name."""


def put_off_what_is_not_used(command: Sequence[str]) -> None:
    """Call before anything else is imported, with the words of the command."""
    if command and command[0] in _READ_TABLES_ONLY:
        sys.meta_path.insert(0, _Lighter())


class _Lighter(MetaPathFinder):
    """Finds the compilers in another way, and no pandas for those who only look whether it is there."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """None for every other module, which Python then finds by itself."""
        if fullname == "pandas" and _asked_by().startswith(_PEEKS):
            raise ModuleNotFoundError("pandas is not loaded: nothing here needs it", name="pandas")
        spec = PathFinder.find_spec(fullname, path, target) if fullname == _COMPILERS else None
        if spec is not None:
            spec.loader = _OneByOne()
        return spec


def _asked_by() -> str:
    """The module that an import statement stands in."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        name = str(frame.f_globals.get("__name__", ""))
        if name != __name__ and not name.startswith("importlib"):
            return name
        frame = frame.f_back
    return ""


class _OneByOne(Loader):
    """The package of compilers: each is loaded when it is first asked for."""

    def exec_module(self, module: ModuleType) -> None:
        """Leave the package empty, but for a way to its parts."""
        module.__getattr__ = _compiler  # type: ignore[method-assign]


def _compiler(name: str) -> Any:
    """The module `duckdb`, or the class `DuckDBCompiler` that lies in it, and so on for every engine."""
    try:
        module = import_module(f"{_COMPILERS}.{name.removesuffix('Compiler').lower()}")
    except ModuleNotFoundError:
        raise AttributeError(f"module {_COMPILERS!r} has no attribute {name!r}") from None
    return getattr(module, name) if name.endswith("Compiler") else module
