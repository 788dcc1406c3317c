"""What every splitter is: settings in the constructor, one verb, indices out.

A concrete splitter says one thing only, `assign`: which combinations of a support are held out in a fold. The same
splitter then serves frames in memory (`split`, as scikit-learn calls it) and tables of any size (`assignment` and
`held_out`, over a support that `recombine.read` counted). Nothing is handed out before `check_split` has found every
promise kept.
"""

import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, MISSING, Field, dataclass, field, fields, replace
from typing import Any, ClassVar, final

import numpy as np
import numpy.typing as npt

from recombine.base.checks import check_choice, check_seed, check_whole
from recombine.base.errors import SettingError
from recombine.data.columns import Bins
from recombine.data.set_columns import SetColumns, SetSource, named_factors, set_columns
from recombine.data.space import Value
from recombine.data.support import Support
from recombine.numerics.groups import Ints
from recombine.verbs.split.checker import Checked, Promise, check_split
from recombine.verbs.split.row_support import Missing, Names, RowSupport, rows_of_table

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Assignment:
    """The side of each combination of a support: held out, left out of both sides, else training.

    `absent` lists conjunctions that were chosen to be wholly absent from training; the checker looks for them.
    `rungs` names, where a splitter has names for them, the kind of each held-out combination; "" in training.

    >>> Assignment.of(np.array([True, False])).train.tolist()
    [False, True]
    """

    test: Mask
    left_out: Mask
    absent: tuple[Mapping[str, Value], ...] = ()
    rungs: tuple[str, ...] | None = None

    @classmethod
    def of(
        cls, test: Mask, *, left_out: Mask | None = None, absent: Sequence[Mapping[str, Value]] = ()
    ) -> "Assignment":
        """Sides from the held-out combinations, and from those that neither side uses, if there are any."""
        return cls(test, np.zeros(len(test), dtype=bool) if left_out is None else left_out, tuple(absent))

    @property
    def train(self) -> Mask:
        """The combinations that training keeps."""
        return ~self.test & ~self.left_out


@dataclass(frozen=True, repr=False, eq=False)
class Splitter(ABC):
    """The settings that every splitter has, and the verbs that none of them overrides.

    `factors` names the columns, or their positions; a splitter that is given to `recombine.split` may leave them to it.
    `table` binds a table that holds them, row by row beside X, for callers whose X does not. `bins` says how numbers
    become values, as in `recombine.read`, and `sets` which factors are sets: they are factors after those that were
    named, and one alone is enough. A row that misses a factor is refused, unless `missing="leave out"` puts it on no
    side, or `missing="value"` makes missing a value.
    """

    guarantees: ClassVar[tuple[str, ...]] = ("values", "none")
    takes_sets: ClassVar[bool] = False
    factors: Names = ()
    _: KW_ONLY
    table: Any = None
    bins: Mapping[str, Bins] | None = None
    sets: Mapping[str, SetSource] | None = field(default=None, metadata={"later": True})  # keys of runs stay
    missing: Missing = "refuse"

    def __post_init__(self) -> None:
        for setting in fields(self):
            object.__setattr__(self, setting.name, _python_own(getattr(self, setting.name)))
        read_from = set_columns(self.sets)
        if read_from and not self.takes_sets:
            raise SettingError(
                f"{type(self).__name__} with the set {next(iter(read_from))!r}",
                why="it asks for values that stand in an order or have parts in training, and a set is one whole value",
                instead="hold sets out by HoldOutCombinations, CombinationKFold or HoldOutElements "
                "(--by combinations, kfold or simulation)",
            )
        object.__setattr__(self, "factors", _checked_factors(self.factors, sets=read_from))
        if not isinstance(self.bins, Mapping | None):
            raise SettingError(
                f"bins={self.bins!r}",
                why="each factor has bins of its own",
                instead="name the factor: bins={'price': 5}",
            )
        check_seed(getattr(self, "random_state", 0), name="random_state")
        check_whole("n_splits", getattr(self, "n_splits", 1), least=1)
        check_choice("guarantee", getattr(self, "guarantee", "none"), self.guarantees)
        # without factors the settings cannot all be judged: they are once `recombine.split` gives some
        if self.factors:
            self.check_settings()

    def check_settings(self) -> None:  # noqa: B027 - not every splitter has settings to refuse
        """Refuse settings that mean nothing, before any table is looked at."""

    @abstractmethod
    def assign(self, support: Support, fold: int) -> Assignment:
        """Which combinations are held out in a fold. One fold must not depend on how many others there are."""

    @property
    def promise(self) -> Promise:
        """What every split of this splitter keeps, and is checked for: the setting `guarantee` where there is one."""
        return Promise.of(getattr(self, "guarantee", "none"))

    @property
    def folds(self) -> int:
        """How many splits there are: the setting `n_splits` where there is one."""
        return int(getattr(self, "n_splits", 1))

    @final
    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Ints, Ints]]:  # noqa: ARG002, N803
        """The positions of the training rows and of the held-out rows, fold by fold; `groups` is not used."""
        rows = self.rows(X, y)
        for fold in range(self.folds):
            sides = self.assignment(rows.support, fold)
            yield rows.on(sides.train), rows.on(sides.test)

    @final
    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:  # noqa: ARG002, N803
        """How many splits `split` gives; scikit-learn asks this with arguments that do not matter here."""
        return self.folds

    @final
    def rows(self, X: Any, y: Any = None) -> RowSupport:  # noqa: N803
        """X as a support, and the combination of each row."""
        return rows_of_table(
            X,
            factors=self.factors,
            y=y,
            table=self.table,
            bins=self.bins,
            sets=self.sets,
            stratify=getattr(self, "stratify", None),
            missing=self.missing,
        )

    @final
    def assignment(self, support: Support, fold: int = 0) -> Assignment:
        """The side of each combination, every promise checked."""
        return self.checked(support, fold)[0]

    @final
    def held_out(self, support: Support, fold: int = 0) -> Mask:
        """Which combinations of a support are held out, every promise checked."""
        return self.assignment(support, fold).test

    @final
    def checked(self, support: Support, fold: int = 0) -> tuple[Assignment, Checked]:
        """The side of each combination, with the check that it passed."""
        self._check_support(support)
        sides = self.assign(support, fold)
        promise = replace(self.promise, absent=sides.absent, covering=not sides.left_out.any())
        return sides, check_split(support, sides.train, sides.test, promise=promise).raise_for_breach()

    def _check_support(self, support: Support) -> None:
        named = [factor for factor in self.factors if isinstance(factor, str)]
        stray = [name for name in named if name not in support.space.names]
        if stray or len(self.factors) != len(support.space.names):
            raise SettingError(
                f"the support has the factors {', '.join(map(repr, support.space.names))}",
                why=f"the splitter's are {', '.join(map(repr, self.factors)) or 'not named'}",
                instead="read the table with the splitter's own: recombine.read(table, factors=splitter.factors)",
            )

    @final
    def rng(self, fold: int, part: str = "") -> np.random.Generator:
        """Chance for one part of one fold: derived by name, so that one more fold or draw changes no other."""
        name = zlib.crc32(f"{type(self).__name__} {part}".encode())
        return np.random.default_rng([int(getattr(self, "random_state", 0)), fold, name])

    @final
    def __repr__(self) -> str:
        """A call that rebuilds it; a bound table, which cannot be written down, stands there as `...`."""
        changed = [setting.name for setting in fields(self) if not _is_default(self, setting)]
        shown = [f"{name}={'...' if name == 'table' else repr(getattr(self, name))}" for name in changed]
        return f"{type(self).__name__}({', '.join(shown)})"

    @final
    def __eq__(self, other: object) -> bool:
        """Same kind and same settings; a bound table is the same only where it is the very same."""
        if type(self) is not type(other):
            return NotImplemented
        mine, theirs = (_settings(splitter) for splitter in (self, other))
        return mine.pop("table") is theirs.pop("table") and mine == theirs

    __hash__ = None  # type: ignore[assignment]


def _is_default(splitter: Splitter, setting: "Field[Any]") -> bool:
    value = getattr(splitter, setting.name)
    if setting.name == "table" or setting.default is MISSING:
        return value is setting.default
    return bool(value == setting.default)


def _settings(splitter: Splitter) -> dict[str, Any]:
    return {setting.name: getattr(splitter, setting.name) for setting in fields(splitter)}


def _python_own(value: Any) -> Any:
    """A NumPy number or text as Python's own, which can be written down and read again.

    >>> _python_own(np.int64(3)), _python_own("red")
    (3, 'red')
    """
    return value.item() if isinstance(value, np.generic) else value


def _checked_factors(named: Any, *, sets: Mapping[str, SetColumns]) -> tuple[str | int, ...]:
    """The factors' names or positions, at least two and each once; none at all where `recombine.split` will give them.

    >>> _checked_factors(["colour", "a", "b"], sets={"genes": SetColumns(("a", "b"))}), _checked_factors((), sets={})
    (('colour', 'genes'), ())
    """
    if isinstance(named, tuple) and not named and not sets:
        return ()
    several = isinstance(named, Iterable) and not isinstance(named, str | bytes | Mapping)
    factors = tuple(_python_own(factor) for factor in named) if several else (named,)
    strange = [factor for factor in factors if not isinstance(factor, str | int) or isinstance(factor, bool)]
    factors = factors if strange else named_factors(factors, sets)
    if strange or len(factors) < (1 if sets else 2):
        raise SettingError(
            f"factors={named!r}",
            why="a combination needs at least two factors, each a column's name or its position",
            instead="name two or more columns: factors=['colour', 'shape']",
        )
    twice = [factor for factor in factors if factors.count(factor) > 1]
    if twice:
        raise SettingError(
            f"the factor {twice[0]!r} is named twice", why="a factor is named once", instead="remove one"
        )
    return factors
