"""Things that are chosen by name: a task, a model, a way to hold out.

Each is a frozen dataclass whose fields are its settings. As a *spec* it is a mapping with its name and its settings,
which is how it stands in a sweep's file and in a run's configuration. A catalogue turns the one into the other; it
names classes by their module, so that listing the names loads nothing.

What is chosen so produces numbers, and a stored run is found again by what produced its numbers. So each entry has a
*numerics version*, raised by hand when its numbers change (`numerics`; 1 where it is not listed): comments and
refactorings then keep every stored run, and a changed formula keeps none of those it touches. A test holds each entry
to golden numbers of its version.

An installed package adds names by the entry points of a catalogue's group. They are asked for only where a name or a
class is not among our own: asking every package takes tens of milliseconds. Such a class says the version of its
numbers as `NUMERICS`; where it does not, the version is that of its source.

What is the user's own has no entry: it is named by its place, `package.module:Class`, wherever a name is taken, and its
version is that of its source (`source_versions`). `register` gives it a short name in this process; written down it is
always the place, which every other process can find.
"""

import inspect
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, Protocol, runtime_checkable

from recombine.base import plugins
from recombine.base.errors import SettingError, nearest
from recombine.base.object_paths import found, is_place
from recombine.base.words import plain_setting
from recombine_lab.base.source_versions import place_of, source_version

Spec = Mapping[str, Any]
_IDENTITY = "name"
LATER = {"later": True}
"""Metadata of a setting that earlier versions did not have: as it was then, it is left out of what is written down, so
that runs of earlier versions are found again."""


@runtime_checkable
class Adapter(Protocol):
    """Something that stands for a class or function of another kind, with its settings: `Own` for an nn.Module."""

    @property
    def adapted(self) -> Any:
        """What it stands for."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """What that is given."""


@dataclass(frozen=True)
class Catalogue:
    """Names and the classes behind them.

    >>> catalogue = Catalogue("factor", {"factor": "recombine.data.space:Factor"})
    >>> catalogue.build({"name": "factor", "values": ["red"]})
    Traceback (most recent call last):
    ...
    recombine.base.errors.SettingError: the factor 'factor' cannot be made of {'values': ['red']}
      why      name: Field required
      instead  its settings are name_, values, declared
    """

    kind: str
    entries: Mapping[str, str]
    numerics: Mapping[str, int] = field(default_factory=dict)
    group: str | None = None
    """The entry points by which other packages add names."""
    base: str | None = None
    """What everything in it derives from, as `module:Class`."""
    adapter: str | None = None
    """An `Adapter`, for what does not: made of a class or function and its settings."""
    short: dict[str, Any] = field(default_factory=dict, compare=False)
    """Names that were given to things of the user's own in this process."""

    def numerics_version(self, spec: Spec) -> str:
        """The version of the numbers behind a spec: its own, then those of the things that stand in its settings.

        >>> catalogue = Catalogue("model", {"mlp": "…", "pair": "…"}, numerics={"mlp": 3})
        >>> catalogue.numerics_version({"name": "pair", "backbone": {"name": "mlp"}})
        '1+3'
        """
        nested = [part for part in spec.values() if isinstance(part, Mapping) and self.knows(part.get(_IDENTITY))]
        name = str(spec[_IDENTITY])
        if is_place(name):
            own: str | int = source_version(name)
        elif name in self.entries or name not in self.added():
            own = self.numerics.get(name, 1)
        else:
            own = getattr(self.load(name), "NUMERICS", None) or source_version(self.added()[name])
        return "+".join([str(own), *map(self.numerics_version, nested)])

    def added(self) -> dict[str, str]:
        """The names that installed packages add, and where their classes stand; a name of ours stays ours."""
        others = plugins.places(self.group) if self.group else {}
        return {name: place for name, place in others.items() if name not in self.entries}

    def names(self) -> list[str]:
        """Every name, in alphabetical order."""
        return sorted([*self.entries, *self.added()])

    def knows(self, name: Any) -> bool:
        """Whether any process can load what this names: it stands in the catalogue, or is a place."""
        return is_place(name) or (isinstance(name, str) and (name in self.entries or name in self.added()))

    def register(self, name: str, thing: Any) -> None:
        """Give a class or a function of one's own a short name, in this process."""
        if self.knows(name):
            raise SettingError(
                f"{name!r} cannot be given to a {self.kind} of your own",
                why="it is written as a place" if is_place(name) else f"it names a {self.kind} of {self._owner(name)}",
                instead="choose another name",
            )
        self.short[name] = thing

    def load(self, name: str) -> Any:
        """The class behind a name; of the user's own it may be a function too."""
        if name in self.short:
            return self.short[name]
        if is_place(name):
            return found(name)
        place = self.entries.get(name) or self.added().get(name)
        if place is None:
            raise SettingError(
                f"no {self.kind} {name!r}",
                why="recombine knows none of that name, and one of your own is written package.module:Class"
                if self.base
                else "recombine knows none of that name",
                instead=nearest(str(name), [*self.names(), *self.short]),
            )
        return found(place)

    def build(self, spec: str | Spec, **defaults: Any) -> Any:
        """What a spec describes, every setting checked; `defaults` adds settings that the spec leaves open."""
        name, settings = _split_spec(spec, self.kind)
        made = self.load(name)
        if not self._fits(made):
            return self.adapted(made, {_attribute_name(setting): value for setting, value in settings.items()})
        known = settings_of(made)
        settings = {key: value for key, value in defaults.items() if key in known} | settings
        for setting in settings:
            if setting not in known:
                raise SettingError(
                    f"the {self.kind} {name!r} has no setting {setting!r}",
                    why=f"its settings are {', '.join(known) or 'none'}",
                    instead=nearest(setting, known) if known else f"write {name!r} alone",
                )
        return self._construct(made, name, {known[key]: value for key, value in settings.items()}, list(known))

    def adapted(self, thing: Any, settings: Mapping[str, Any]) -> Any:
        """A class or function of another kind as one of this kind, where there is a way."""
        if self.adapter is None or not callable(thing):
            base = (self.base or "").partition(":")[2]
            raise SettingError(
                f"{getattr(thing, '__qualname__', repr(thing))} is not a {self.kind}",
                why=f"a {self.kind} of your own is a class that derives from {base}",
                instead=f"let it derive from recombine_lab.{self.kind}s.{base}, as a frozen dataclass",
            )
        return found(self.adapter)(thing, dict(settings))

    def spec(self, thing: Any) -> dict[str, Any]:
        """Something as its name and all of its settings, as plain data."""
        if isinstance(thing, Adapter):
            settings = {_written_name(setting): value for setting, value in thing.settings.items()}
            return self._to_plain({_IDENTITY: self._place(thing.adapted)}, settings)
        made = type(thing)
        home = f"{made.__module__}:{made.__qualname__}"
        # Our own first, so that only a class of somebody else asks the installed packages.
        known_at = self.entries if home in self.entries.values() else self.added()
        name = next((name for name, place in known_at.items() if place == home), None)
        known = settings_of(made)
        missing = [own for own in known.values() if not hasattr(thing, own)]
        if missing:
            raise SettingError(
                f"{made.__qualname__} does not keep its setting {missing[0]!r}",
                why=f"a {self.kind} is written down by its settings, read from attributes of the same names",
                instead=f"make it a frozen dataclass, or write self.{missing[0]} = {missing[0]} in __init__",
            )
        settings = {key: getattr(thing, own) for key, own in known.items() if not _is_unchanged_later(thing, own)}
        return self._to_plain({_IDENTITY: name or self._place(made)}, settings)

    def _to_plain(self, identity: dict[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
        plain = {key: plain_setting(value) for key, value in settings.items()}
        for key, value in plain.items():
            try:
                json.dumps(value, allow_nan=False)
            except (TypeError, ValueError) as error:
                raise SettingError(
                    f"the setting {key!r} of the {self.kind} {identity[_IDENTITY]!r} is {value!r:.200}",
                    why="what is kept or sent to a worker is written as JSON: text, numbers, lists, mappings",
                    instead="give it as one of these, and make the object from it inside",
                ) from error
        return identity | plain

    def _place(self, thing: Any) -> str:
        place = place_of(thing)
        if place is None:
            raise SettingError(
                f"{getattr(thing, '__qualname__', repr(thing))} cannot be found again by another process",
                why=f"a {self.kind} of your own is named by its module, and this one is of a notebook, an interactive "
                "session or the inside of a function",
                instead="save it as a .py file and import it from there; or give it to `fit` without a store",
            )
        return place

    def _owner(self, name: str) -> str:
        return "recombine" if name in self.entries else self.added()[name].partition(".")[0]

    def _fits(self, made: Any) -> bool:
        return self.base is None or (isinstance(made, type) and issubclass(made, found(self.base)))

    def _construct(self, made: type[Any], name: str, settings: dict[str, Any], known: list[str]) -> Any:
        from pydantic import TypeAdapter, ValidationError  # noqa: PLC0415 - heavy, and needed here only

        try:
            # A class that is no dataclass, scikit-learn's splitters among them, checks its settings itself.
            return TypeAdapter(made).validate_python(settings) if is_dataclass(made) else made(**settings)
        except (TypeError, ValueError) as error:
            why = str(error)
            if isinstance(error, ValidationError):
                first = error.errors()[0]
                where = ".".join(str(part) for part in first["loc"])
                why = f"{where}: {first['msg']}" if where else str(first["msg"])
            raise SettingError(
                f"the {self.kind} {name!r} cannot be made of {settings!r}",
                why=why,
                instead=f"its settings are {', '.join(known) or 'none'}",
            ) from error


def settings_of(made: Any) -> dict[str, str]:
    """The settings of a class as they are written, and as it calls them itself.

    Written down, `name` says which class is meant; so a setting of that name is written `name_`.

    >>> from recombine.data.space import Factor
    >>> settings_of(Factor)["name_"]
    'name'
    """
    if is_dataclass(made):
        own = [one.name for one in fields(made) if one.init]
    else:
        parameters = inspect.signature(made).parameters.values() if made.__init__ is not object.__init__ else []
        own = [one.name for one in parameters if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)]
    return {_written_name(name): name for name in own}


def _is_unchanged_later(thing: Any, setting: str) -> bool:
    """Whether a setting came later, and has the value that stands for how it was before."""
    own = {one.name: one for one in fields(thing)}.get(setting) if is_dataclass(thing) else None
    return own is not None and "later" in own.metadata and getattr(thing, setting) == own.default


def _written_name(setting: str) -> str:
    """A setting as it stands in a spec: `name_` for `name`, and `name__` for a `name_`, so that no two are one."""
    return f"{setting}_" if setting.rstrip("_") == _IDENTITY else setting


def _attribute_name(written: str) -> str:
    """A setting of a spec as its class calls it."""
    return written.removesuffix("_") if written.rstrip("_") == _IDENTITY else written


def _split_spec(spec: str | Spec, kind: str) -> tuple[str, dict[str, Any]]:
    settings = {"name": spec} if isinstance(spec, str) else dict(spec)
    if not isinstance(settings.get("name"), str):
        raise SettingError(
            f"a {kind} without a name: {settings!r}",
            why=f"the name says which {kind} is meant",
            instead=f"write {{name: …}}, with the name of a {kind}",
        )
    return settings.pop("name"), settings
