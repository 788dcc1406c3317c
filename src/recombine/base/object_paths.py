"""Things of the user's own by name, `package.module:Class`: how they are found.

To find one is to import its module, which runs it: only what the user writes in this process may be found.
"""

import os
import re
import sys
from importlib import import_module
from types import ModuleType
from typing import Any

from recombine.base.errors import SettingError, nearest

_PLACE = re.compile(r"(?!memory:[0-9a-f]{32,64}$)[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
"""What stands for something in memory, by its checksum, is no place."""


def is_place(name: object) -> bool:
    """Whether something is written as the place of a thing of one's own.

    >>> is_place("package.module:Class"), is_place("mlp"), is_place("s3://bucket")
    (True, False, False)
    """
    return isinstance(name, str) and _PLACE.fullmatch(name) is not None


def found(place: str) -> Any:
    """What stands at `package.module:Class`; a module may lie in the folder that one works in.

    >>> found("fractions:Fraction").__name__
    'Fraction'
    """
    module, _, attribute = place.partition(":")
    thing: Any = _imported(module)
    for name in attribute.split("."):
        if not hasattr(thing, name):
            raise SettingError(
                f"no {attribute!r} in the module {module!r}",
                why=f"{getattr(thing, '__file__', None) or module} defines none of that name",
                instead=nearest(name, [known for known in dir(thing) if not known.startswith("_")]),
            )
        thing = getattr(thing, name)
    return thing


def _imported(name: str) -> ModuleType:
    here = os.getcwd()  # noqa: PTH109 - as it stands in sys.path
    if here not in sys.path and "" not in sys.path:
        sys.path.append(here)  # a console script does not look there, `python -m` does
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise broken(name, error) from error
        raise SettingError(
            f"no module {name!r}",
            why=f"it is neither installed nor in the folder '{here}'",
            instead="write package.module:Class, install the package, or work in the folder that holds the module",
        ) from error
    except Exception as error:
        raise broken(name, error) from error


def broken(name: str, error: Exception) -> SettingError:
    """The module that cannot be imported, and why."""
    return SettingError(
        f"the module {name!r} cannot be imported",
        why=f"{type(error).__name__}: {error}",
        instead=f"mend it until `python -c 'import {name}'` works",
    )
