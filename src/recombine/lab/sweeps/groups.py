"""The groups of a sweep: runs that differ in their seed alone, named by what sets them apart."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from recombine.lab.runs.run import Configuration

PARTS = ("task", "split", "model", "recipe")


@dataclass(frozen=True)
class Group:
    """A group's name in each of the four columns, and the keys of its runs."""

    task: str
    split: str
    model: str
    recipe: str
    keys: tuple[str, ...]

    @property
    def title(self) -> str:
        """In one line."""
        return " · ".join(filter(None, (self.task, self.split, self.model, self.recipe)))


def groups(runs: Sequence[Configuration]) -> list[Group]:
    """The groups in the order of their first run.

    >>> parts = {"task": {"name": "toy"}, "split": {"name": "own"}, "code": ""}
    >>> grid = [{"model": {"name": "mlp", "width": width}, "recipe": {"steps": 9}} for width in (8, 16)]
    >>> found = groups([Configuration(**parts, **point, seed=seed) for point in grid for seed in (0, 1)])
    >>> [(group.title, len(group.keys)) for group in found]
    [('toy · own · mlp width 8', 2), ('toy · own · mlp width 16', 2)]
    """
    told = {part: _names([getattr(run, part) for run in runs]) for part in PARTS}
    found: dict[tuple[str, str, str, str], list[str]] = {}
    for run in runs:
        task, split, model, recipe = (told[part][_text(getattr(run, part))] for part in PARTS)
        found.setdefault((task, split, model, recipe), []).append(run.key)
    return [
        Group(task=task, split=split, model=model, recipe=recipe, keys=tuple(keys))
        for (task, split, model, recipe), keys in found.items()
    ]


def _names(specs: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """A name for each spec: its own, and the settings in which those of the same name differ."""
    distinct = {_text(spec): spec for spec in specs}
    kinds: dict[str, list[Mapping[str, Any]]] = {}
    for spec in distinct.values():
        kinds.setdefault(str(spec.get("name", "")), []).append(spec)
    differing = {kind: _differing(alike) for kind, alike in kinds.items()}
    return {text: _name(spec, differing[str(spec.get("name", ""))]) for text, spec in distinct.items()}


def _differing(specs: list[Mapping[str, Any]]) -> list[str]:
    names = dict.fromkeys(name for spec in specs for name in spec if name != "name")
    return [name for name in names if len({_text(spec.get(name)) for spec in specs}) > 1]


def _name(spec: Mapping[str, Any], differing: list[str]) -> str:
    settings = [f"{name} {_short(spec[name])}" for name in differing if name in spec]
    return " ".join(filter(None, [str(spec.get("name", "")), ", ".join(settings)]))


def _short(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
