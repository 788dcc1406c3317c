"""What can be asked of a table, checked before any engine is troubled."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from recombine.errors import SettingError, nearest
from recombine.factors.columns import Bins
from recombine.factors.space import Value, text

TargetKind = Literal["label", "number"]
Where = str | Callable[[Any], Any]


@dataclass(frozen=True, kw_only=True)
class Question:
    """What is asked of a table, checked once."""

    factors: tuple[str, ...]
    target: str | None = None
    target_kind: TargetKind | None = None
    where: Where | None = None
    bins: Mapping[str, Bins] = field(default_factory=dict)
    domain: Mapping[str, Sequence[Value]] = field(default_factory=dict)
    impossible: tuple[Mapping[str, Value], ...] = ()
    weight: str | None = None
    missing: Literal["leave out", "value"] = "leave out"
    table: str | None = None

    def __post_init__(self) -> None:
        _check_factor_names(self.factors)
        for setting, given in (("bins", self.bins), ("domain", self.domain)):
            for name in given:
                if name not in self.factors:
                    raise SettingError(
                        f"{setting}: there is an entry for {name!r}",
                        why="it is not among the factors",
                        instead=nearest(name, self.factors),
                    )
        both = sorted(set(self.bins) & set(self.domain))
        if both:
            raise SettingError(
                f"{both[0]!r} has both bins and a domain",
                why="bins already say which values there are",
                instead="give one of the two",
            )
        if self.missing not in ("leave out", "value"):
            raise SettingError(
                f"missing={self.missing!r}",
                why="a row that misses a factor is left out, or missing counts as a value",
                instead="write 'leave out' or 'value'",
            )
        if not isinstance(self.where, str | None) and not callable(self.where):
            raise SettingError(
                f"where was given a {type(self.where).__name__}",
                why="the condition is carried out by the engine",
                instead="write it as SQL, such as \"label = 'x'\", or as a function of an Ibis table",
            )
        if self.target in self.factors:
            raise SettingError(
                f"{self.target!r} is both a factor and the target",
                why="a factor that is the answer tells the whole answer",
                instead="take it off one of the two",
            )

    @property
    def columns(self) -> list[str] | None:
        """The columns it needs, or None where a filter may need any."""
        named = [*self.factors, self.target, self.weight]
        return None if self.where is not None else [name for name in named if name is not None]

    def settings(self) -> dict[str, Any]:
        """What was asked, as it is saved with a result."""
        given = {name: value for name, value in asdict(self).items() if value}
        if not isinstance(self.where, str | None):
            given["where"] = repr(self.where)
        return {name: _plain(value) for name, value in given.items()}


def _check_factor_names(names: tuple[str, ...]) -> None:
    strange = [name for name in names if not isinstance(name, str)]
    if strange:
        raise SettingError(
            f"the factor {strange[0]!r} is not a name",
            why="columns are named by text",
            instead="rename the columns first, for example with table.columns = [str(c) for c in table.columns]",
        )
    if len(names) < 2:
        raise SettingError(
            f"factors={list(names)!r}" if names else "no factors were given",
            why="a combination needs at least two factors",
            instead="name two or more columns: factors=['material', 'garment'] (--factors material,garment)",
        )
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise SettingError(
            f"the factor {twice[0]!r} is named twice", why="a factor is named once", instead="remove one"
        )


def _plain(value: Any) -> Any:
    """Settings as JSON can hold them."""
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value if isinstance(value, str | int | float | bool | None) else text(value)
