"""The public names of a package, each loaded when it is first used.

They stand once, in the package's `__init__.pyi`, one a line: `from .data.read import read as read`. Type checkers and
editors read that file as a stub, and this module reads it when the package is imported. `lazy_loader` would do the
same with a parser of Python, which makes `import recombine` take 28 ms of processor time and not 17 (bare Python: 14).
"""

from importlib import import_module

TYPE_CHECKING = False  # as in `typing`, without loading it
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def attach_stub(package: str, file: str) -> "tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]":
    """The `__getattr__`, `__dir__` and `__all__` of a package, from its `__name__` and `__file__`."""
    with open(f"{file.removesuffix('.pyc').removesuffix('.py')}.pyi", encoding="utf-8") as stub:  # noqa: PTH123
        imports = [line.split() for line in stub if line.startswith("from ")]
    homes = {words[-1]: words[1] for words in imports}
    names = sorted(homes)

    def load(name: str) -> "Any":
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if homes[name] == ".":  # a room whose names are public too
            return import_module(f".{name}", package)
        return getattr(import_module(homes[name], package), name)

    return load, lambda: names, names
