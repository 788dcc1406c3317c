"""What `recombine probe` is given: a Python file whose functions are named after a probe's settings, or a run.

A file that is run by its name runs code; that is what it is for, and why a name is never taken from a saved result.
"""

import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import fields
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import Any, get_args, get_type_hints

from recombine.base.errors import RecombineError, SettingError, nearest
from recombine.base.files import place_of
from recombine_lab.probes.probe import SettingsGroup

_CLOSE = 0.8  # of difflib: one letter left out, added or exchanged in a short word
_OWN = ("seed", "progress", "command")
"""Settings that the command gives itself."""


def settings_of(path: str | Path, probe: Callable[..., Any]) -> dict[str, Any]:
    """What a file gives to a probe: each name in it that is a setting of the probe; functions are called for theirs.

    A function that takes an argument named like something else in the file (`def components(model)`) is given it.
    """
    module = _imported(place_of(path))
    wanted = _setting_names(probe)
    own = {name: value for name, value in vars(module).items() if not name.startswith("_")}
    given = [name for name in own if name in wanted and name not in _OWN]
    _refuse_misspelt(path, probe, [name for name in own if name not in wanted], wanted - set(given) - set(_OWN))
    needed = [
        name
        for name, one in inspect.signature(probe).parameters.items()
        if one.default is one.empty and name not in given and one.kind is not one.VAR_KEYWORD
    ]
    if needed:
        raise SettingError(
            f"'{path}' does not say {needed[0]!r}",
            why=f"recombine probe {probe.__name__} needs it, and the file names {', '.join(own) or 'nothing'}",
            instead=f"write `def {needed[0]}():` that returns it",
        )
    made = _FileSettings(own)
    return group_settings(probe, {name: made.value(name, (name,)) for name in given})


def group_settings(probe: Callable[..., Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings that were given one by one, those that belong together in their group, as the probe takes them."""
    grouped = dict(settings)
    for parameter, kind in _groups(probe).items():
        own = {one.name: grouped.pop(one.name) for one in fields(kind) if one.name in grouped}
        if own:
            grouped[parameter] = kind(**own)
    return grouped


def _groups(probe: Callable[..., Any]) -> dict[str, Any]:
    """The parameters of a probe that are groups of settings, and their classes."""
    return {
        parameter: kind
        for parameter, hint in get_type_hints(probe).items()
        for kind in get_args(hint)
        if isinstance(kind, type) and issubclass(kind, SettingsGroup)
    }


def _setting_names(probe: Callable[..., Any]) -> set[str]:
    """All that can be said of a probe, by name: its own parameters, and those in their groups."""
    groups = _groups(probe)
    grouped = {one.name for kind in groups.values() for one in fields(kind)}
    return {*inspect.signature(probe).parameters} - {*groups} | grouped


def _refuse_misspelt(path: str | Path, probe: Callable[..., Any], strange: list[str], left: set[str]) -> None:
    """A name that is nearly a setting is meant to be one, and would be passed over without a word."""
    for name in strange:
        meant = get_close_matches(name, left, n=1, cutoff=_CLOSE)
        if meant:
            raise SettingError(
                f"'{path}' says {name!r}",
                why=f"recombine probe {probe.__name__} has no such setting",
                instead=f"did you mean {meant[0]!r}? A helper of your own may be called _{name}",
            )


class _FileSettings:
    """What a file says, each function called once; what it asks for by name is made first."""

    def __init__(self, own: dict[str, Any]) -> None:
        self._own = own
        self._made: dict[str, Any] = {}

    def value(self, name: str, asking: tuple[str, ...]) -> Any:
        """What stands under a name."""
        if name not in self._made:
            one = self._own[name]
            self._made[name] = self._called(name, one, asking) if _is_asked(name, one) else one
        return self._made[name]

    def _called(self, name: str, one: Callable[..., Any], asking: tuple[str, ...]) -> Any:
        needs = list(inspect.signature(one).parameters)
        strange = [need for need in needs if need not in self._own or need in asking]
        if strange:
            raise SettingError(
                f"{name}({', '.join(needs)}) asks for {strange[0]!r}",
                why="a function of a probe's file is given what else the file says",
                instead=nearest(strange[0], [known for known in self._own if known != name]),
            )
        arguments = [self.value(need, (*asking, need)) for need in needs]
        try:
            return one(*arguments)
        except RecombineError:
            raise
        except Exception as error:
            line = traceback.extract_tb(error.__traceback__)[-1]
            raise SettingError(
                f"{name}() cannot be run",
                why=f"{type(error).__name__}: {error} (line {line.lineno} of {Path(line.filename).name})",
                instead=f"mend it until {name}() works by itself",
            ) from error


def _is_asked(name: str, one: Any) -> bool:
    return inspect.isfunction(one) and name not in _KEPT


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
    except (Exception, SystemExit) as error:
        raise SettingError(
            f"'{path}' cannot be run",
            why=f"{type(error).__name__}: {error}",
            instead=f"mend it until `python {path.name}` works",
        ) from error
    finally:
        sys.path.remove(str(path.parent.absolute()))
    return module
