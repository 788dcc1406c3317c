"""Things that are chosen by name: a task, a model, a way to hold out.

Each is a frozen dataclass whose fields are its settings. As a *spec* it is a mapping with its name and its settings,
which is how it stands in a sweep's file and in a run's configuration. A catalogue turns the one into the other; it
names classes by their module, so that listing the names loads nothing.

What is chosen so produces numbers, and a stored run is found again by what produced its numbers. So each entry has a
*numerics version*, raised by hand when its numbers change (`numerics`; 1 where it is not listed): comments and
refactorings then keep every stored run, and a changed formula keeps none of those it touches. A test holds each entry
to golden numbers of its version.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from importlib import import_module
from typing import Any

from recombine.errors import SettingError, nearest
from recombine.words import plain_setting

Spec = Mapping[str, Any]


@dataclass(frozen=True)
class Catalogue:
    """Names and the classes behind them.

    >>> catalogue = Catalogue("factor", {"factor": "recombine.tables.space:Factor"})
    >>> catalogue.build({"name": "factor", "values": ["red"]})
    Traceback (most recent call last):
    ...
    recombine.errors.SettingError: the factor 'factor' cannot be made of {'values': ['red']}
      why      name: Field required
      instead  its settings are name, values, declared
    """

    kind: str
    entries: Mapping[str, str]
    numerics: Mapping[str, int] = field(default_factory=dict)

    def numerics_version(self, spec: Spec) -> str:
        """The version of the numbers behind a spec: its own, then those of the things that stand in its settings.

        >>> catalogue = Catalogue("model", {"mlp": "…", "pair": "…"}, numerics={"mlp": 3})
        >>> catalogue.numerics_version({"name": "pair", "backbone": {"name": "mlp"}})
        '1+3'
        """
        nested = [part for part in spec.values() if isinstance(part, Mapping) and part.get("name") in self.entries]
        own = self.numerics.get(str(spec["name"]), 1)
        return "+".join([str(own), *map(self.numerics_version, nested)])

    def load(self, name: str) -> type[Any]:
        """The class behind a name."""
        if name not in self.entries:
            raise SettingError(
                f"no {self.kind} {name!r}",
                why="recombine knows none of that name",
                instead=nearest(str(name), self.entries),
            )
        module, _, attribute = self.entries[name].partition(":")
        found: type[Any] = getattr(import_module(module), attribute)
        return found

    def build(self, spec: str | Spec, **given: Any) -> Any:
        """What a spec describes, every setting checked; `given` adds settings that the spec leaves open."""
        name, settings = _parted(spec, self.kind)
        made = self.load(name)
        known = [setting.name for setting in fields(made) if setting.init]
        settings = {key: value for key, value in given.items() if key in known} | settings
        for setting in settings:
            if setting not in known:
                raise SettingError(
                    f"the {self.kind} {name!r} has no setting {setting!r}",
                    why=f"its settings are {', '.join(known) or 'none'}",
                    instead=nearest(setting, known) if known else f"write {name!r} alone",
                )
        return self._validated(made, name, settings, known)

    def spec(self, thing: Any) -> dict[str, Any]:
        """Something as its name and all of its settings, as plain data."""
        home = f"{type(thing).__module__}:{type(thing).__qualname__}"
        name = next((name for name, place in self.entries.items() if place == home), None)
        if name is None:
            raise SettingError(
                f"{type(thing).__qualname__} is not a {self.kind} that has a name",
                why=f"only what stands in the catalogue can be found again: {', '.join(self.entries)}",
                instead=f"use one of those, or give a {self.kind} of your own to `fit` without a store",
            )
        return {"name": name} | {
            setting.name: plain_setting(getattr(thing, setting.name)) for setting in fields(thing) if setting.init
        }

    def _validated(self, made: type[Any], name: str, settings: dict[str, Any], known: list[str]) -> Any:
        from pydantic import TypeAdapter, ValidationError  # noqa: PLC0415 - heavy, and needed here only

        try:
            return TypeAdapter(made).validate_python(settings)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            raise SettingError(
                f"the {self.kind} {name!r} cannot be made of {settings!r}",
                why=f"{where}: {first['msg']}" if where else str(first["msg"]),
                instead=f"its settings are {', '.join(known)}",
            ) from error


def _parted(spec: str | Spec, kind: str) -> tuple[str, dict[str, Any]]:
    settings = {"name": spec} if isinstance(spec, str) else dict(spec)
    if not isinstance(settings.get("name"), str):
        raise SettingError(
            f"a {kind} without a name: {settings!r}",
            why=f"the name says which {kind} is meant",
            instead=f"write {{name: …}}, with the name of a {kind}",
        )
    return settings.pop("name"), settings
