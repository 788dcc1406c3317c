"""A sweep's file as plain data: YAML that a person could have written, and nothing that grows when it is read.

An alias stands for all that it names, so that a few lines can stand for billions of entries. So the file is gone
through once, piece by piece and without building anything, to see how large and how deep it would be.
"""

from pathlib import Path
from typing import Any

import yaml

from recombine.base.errors import SettingError, SourceError
from recombine.base.files import read_text

MOST_ENTRIES = 100_000
"""Words, lists and mappings, with every alias counted as what it stands for; read in some seconds."""
DEEPEST = 50
"""Lists and mappings within one another; Python stops near 1,000, and reading takes several steps a level."""


class _TwiceError(yaml.constructor.ConstructorError):  # type: ignore[misc]
    """A key that stands twice in one mapping."""


class _TooLargeError(yaml.composer.ComposerError):  # type: ignore[misc]
    """More than a person would write."""


class _Loader(yaml.SafeLoader):  # type: ignore[misc]
    """Plain YAML, in which a key that stands twice is a mistake rather than a choice."""


def _mapping(loader: _Loader, node: yaml.MappingNode) -> dict[Any, Any]:
    seen = set()
    for key, _ in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise yaml.constructor.ConstructorError(None, None, "a list or a mapping is no name", key.start_mark)
        if key.value in seen:
            raise _TwiceError(None, None, f"{key.value!r} stands there twice", key.start_mark)
        seen.add(key.value)
    found: dict[Any, Any] = loader.construct_mapping(node, deep=True)
    return found


_Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


def read_yaml(path: Path) -> dict[str, Any]:
    """The settings in a file, or what is wrong with it and where."""
    try:
        text = read_text(path)
        _check_size(text)
        content = yaml.load(text, Loader=_Loader)  # noqa: S506 - it is a safe one
    except _TwiceError as error:
        raise SettingError(
            f"'{path}': {error.problem}{_place(error)}",
            why="only one of the two can be meant",
            instead="take one of them out, or write all of its entries in one list",
        ) from error
    except _TooLargeError as error:
        raise SettingError(
            f"'{path}': {error.problem}{_place(error)}",
            why=f"a sweep's file holds at most {MOST_ENTRIES:,} entries, {DEEPEST} within one another",
            instead="write what varies as {each: […]}, a number of seeds as seeds: 3, and the rest in files of its own",
        ) from error
    except yaml.YAMLError as error:
        raise SourceError(
            f"'{path}' is not YAML{_place(error)}",
            why=str(getattr(error, "problem", None) or error),
            instead="mend that line: entries are indented by spaces, and lists are written [a, b] or with dashes",
        ) from error
    except (OSError, ValueError) as error:  # not there, not text, or a number or a date that is none
        why = getattr(error, "strerror", None) or str(error)
        raise SourceError(f"cannot read '{path}'", why=why, instead="give a sweep's file, in YAML") from error
    if not isinstance(content, dict):
        raise SettingError(
            f"'{path}' holds no settings" if content is None else f"'{path}' holds {content!r:.200}",
            why="a sweep's file says what is to be run: tasks, splits, models, recipes, seeds",
            instead="write for example tasks: [toy], then splits, models and recipes",
        )
    return content


def _check_size(text: str) -> None:
    """How many entries there would be with every alias written out, before any is made."""
    named: dict[str | None, int | None] = {}  # how large what has a name is; None while it is still open
    open_: list[tuple[str | None, int]] = [(None, 0)]
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            open_.append((event.anchor, 1))
            named[event.anchor] = None
            added = 0
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, added = open_.pop()
            named[anchor] = added
        elif isinstance(event, yaml.AliasEvent):
            size = named.get(event.anchor, 1)  # a name that is not there is refused later, in YAML's own words
            if size is None:
                raise _TooLargeError(None, None, f"{event.anchor!r} holds itself", event.start_mark)
            added = size
        elif isinstance(event, yaml.ScalarEvent):
            named[event.anchor] = added = 1
        else:  # the beginning or the end of a document
            continue
        around, size = open_[-1]
        open_[-1] = (around, size + added)
        _check_open(len(open_), size + added, event.start_mark)


def _check_open(depth: int, entries: int, mark: Any) -> None:
    if depth > DEEPEST:
        raise _TooLargeError(None, None, "too many lists and mappings within one another", mark)
    if entries > MOST_ENTRIES:
        raise _TooLargeError(None, None, "too many entries", mark)


def _place(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    return "" if mark is None else f": line {mark.line + 1}, column {mark.column + 1}"
