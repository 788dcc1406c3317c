"""What `recombine probe` is given: a Python file whose functions are named after a probe's settings, or a run.

A file that is run by its name runs code; that is what it is for, and why a name is never taken from a saved result.
"""

import importlib.util
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from recombine.errors import SettingError, nearest
from recombine.files import place_of

_OWN = ("seed", "progress", "command")
"""Settings that the command gives itself."""


def settings_of(path: str | Path, probe: Callable[..., Any]) -> dict[str, Any]:
    """What a file gives to a probe: each name in it that is a setting of the probe; functions are called for theirs.

    A function that takes an argument named like a setting (`def components(model)`) is given it.
    """
    module = _imported(place_of(path))
    wanted = inspect.signature(probe).parameters
    own = [name for name in vars(module) if not name.startswith("_")]
    given = {name: getattr(module, name) for name in own if name in wanted and name not in _OWN}
    needed = [
        name
        for name, one in wanted.items()
        if one.default is one.empty and name not in given and one.kind is not one.VAR_KEYWORD
    ]
    if needed:
        raise SettingError(
            f"'{path}' does not say {needed[0]!r}",
            why=f"recombine probe {probe.__name__} needs it, and the file names {', '.join(own) or 'nothing'}",
            instead=f"write `def {needed[0]}():` that returns it" if needed[0] not in own else nearest(needed[0], own),
        )
    return _called(given)


def _called(given: dict[str, Any]) -> dict[str, Any]:
    """The values of functions that are settings; what they ask for by name is made first."""
    made: dict[str, Any] = {}

    def value(name: str, asking: tuple[str, ...]) -> Any:
        if name in made:
            return made[name]
        one = given[name]
        if inspect.isfunction(one) and name not in _KEPT:
            needs = list(inspect.signature(one).parameters)
            strange = [need for need in needs if need not in given or need in asking]
            if strange:
                raise SettingError(
                    f"{name}({', '.join(needs)}) asks for {strange[0]!r}",
                    why="a function of a probe's file is given what the file says of other settings",
                    instead=nearest(strange[0], [known for known in given if known != name]),
                )
            one = one(*(value(need, (*asking, name)) for need in needs))
        made[name] = one
        return one

    return {name: value(name, (name,)) for name in given}


_KEPT = ("score", "forward", "composition", "loss", "render", "train")
"""Settings that are functions themselves, and are handed over as they are."""


def _imported(path: Path) -> ModuleType:
    if not path.is_file():
        raise SettingError(
            f"no file '{path}'",
            why="a probe is told by a Python file, or by a run of a store",
            instead="write FILE.py, or STORE and --run KEY",
        )
    if path.suffix != ".py":
        raise SettingError(
            f"'{path.name}' is no Python file",
            why="a probe is told by functions",
            instead="write FILE.py, or STORE and --run KEY",
        )
    spec = importlib.util.spec_from_file_location(f"probed_{path.stem}", path)
    assert spec is not None  # noqa: S101 - a path that ends in .py has a loader
    assert spec.loader is not None  # noqa: S101
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.path.insert(0, str(path.parent.absolute()))
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise SettingError(
            f"'{path}' cannot be run",
            why=f"{type(error).__name__}: {error}",
            instead=f"mend it until `python {path.name}` works",
        ) from error
    finally:
        sys.path.remove(str(path.parent.absolute()))
    return module
