"""What docs/promise.md calls stable, as names: read from the code, and as it was at the last release.

    python -m tests.promise     write promise.json anew, as part of a release

Between releases `promise.json` stays as it is: what differs from it has to stand in the changelog under *Unreleased*.
"""

import inspect
import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, get_args, is_typeddict

import typer

import recombine
import recombine_lab
from recombine.base import plugins
from recombine.base.records import FORMAT
from recombine.cli.app import app
from recombine.data.readers import Convention, Reader
from recombine.data.stored_arrays import StoredArray
from recombine.output.page import Page
from tests.output.kinds import every_result

FILE = Path(__file__).with_suffix(".json")
_ROOT = Path(__file__).parents[1]


@cache
def stable() -> dict[str, list[str]]:
    """Everything that is promised, by what it belongs to."""
    return {
        "file format": [str(FORMAT)],
        "exit codes": re.findall(r"^\| (\d+) \|", _section("docs/cli.md", "Exit codes"), re.MULTILINE),
        **{f"recombine.{name}": _asked(getattr(recombine, name)) for name in recombine.__all__},
        **{f"recombine_lab.{name}": _asked(getattr(recombine_lab, name)) for name in recombine_lab.__all__},
        "entry points": sorted(plugins.GROUPS),
        **{f"an extension's {one.__name__}": _asked(one) for one in (Convention, Page, Reader, StoredArray)},
        **{" ".join(words): options for words, options in _commands(typer.main.get_command(app), ("recombine",))},
        **{f"JSON of kind {kind}": sorted(one.record().to_json()) for kind, one in every_result().items()},
    }


def changes(before: Mapping[str, list[str]], now: Mapping[str, list[str]]) -> list[tuple[str, str]]:
    """What came or went: what it belongs to, and its name.

    >>> changes({"f": ["a"], "g": []}, {"f": ["b"]})
    [('f', 'a'), ('f', 'b'), ('g', 'g')]
    """
    found = []
    for owner in sorted(before.keys() | now.keys()):
        if owner in before and owner in now:
            found += [(owner, name) for name in sorted(set(before[owner]) ^ set(now[owner]))]
        else:
            found.append((owner, owner))
    return found


def unsaid(changed: list[tuple[str, str]], changelog: str) -> list[str]:
    """Those that the changelog's *Unreleased* does not name in code letters, alone or as a part of what stands there.

    >>> text = "## [Unreleased]\\n`--set NAME`\\n## [0.1]\\n`costs`"
    >>> unsaid([("recombine audit", "--set"), ("recombine.plan", "costs")], text)
    ['costs of recombine.plan']
    """
    text = re.search(r"^## \[Unreleased\]$(.*?)(?=^## \[|\Z)", changelog, re.MULTILINE | re.DOTALL)
    said = "\n".join(re.findall(r"`[^`]+`", text[1] if text else ""))
    return [
        name if name == owner else f"{name} of {owner}"
        for owner, name in changed
        if not re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", said)
    ]


def changelog() -> str:
    return (_ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def _section(file: str, title: str) -> str:
    return (_ROOT / file).read_text(encoding="utf-8").split(f"\n## {title}\n")[1].split("\n## ")[0]


def _asked(public: Any) -> list[str]:
    """What a function or class can be asked with, options that stand in one dictionary spelt out; what a result has."""
    if not callable(public):
        return []
    if isinstance(public, type) and issubclass(public, recombine.Result):  # nobody builds one by hand
        return sorted(name for name in {*dir(public), *getattr(public, "__dataclass_fields__", ())} if name[0] != "_")
    names = []
    for one in inspect.signature(public).parameters.values():
        options = get_args(one.annotation)[:1] if one.kind is inspect.Parameter.VAR_KEYWORD else ()
        names += list(options[0].__annotations__) if options and is_typeddict(options[0]) else [one.name]
    return sorted(name for name in names if name[0] != "_")


def _commands(command: Any, words: tuple[str, ...]) -> list[tuple[tuple[str, ...], list[str]]]:
    options = sorted(option for one in command.params for option in one.opts if option.startswith("--"))
    found = [(words, options)]
    if hasattr(command, "list_commands"):
        for name in command.list_commands(None):
            if name != "study":  # the studies are reproductions, not an interface
                found += _commands(command.get_command(None, name), (*words, name))
    return found


if __name__ == "__main__":
    lines = ",\n".join(f" {json.dumps(owner)}: {json.dumps(names)}" for owner, names in stable().items())
    FILE.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
