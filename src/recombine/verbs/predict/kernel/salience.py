"""How much each set of factors counts for a learner that adds up conjunctions.

Two combinations are as similar as the sets of factors on which they agree are heavy: k(z, z') is the sum of w_U over
the sets U on which z and z' agree. The weights w_U are the salience. They can be given by hand, taken from a wide
network, or measured in any representation.

A set of factors is a bit mask: bit k says whether factor k is in it. Every array over sets has 2**K places, and its
place is the mask; 0 is the constant, the last is the full conjunction, which lets a learner memorise.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from recombine.base.checks import check_listed
from recombine.base.errors import SettingError, TableError, nearest
from recombine.base.words import listing, measure
from recombine.numerics.groups import Codes, Ints, Numbers, group
from recombine.verbs.predict.kernel.network_kernels import FAMILIES, order_weights
from recombine.verbs.predict.kernel.order_weights import (
    MOST_BY_SIZE,
    MOST_FACTORS,
    Weights,
    WeightsBySize,
    distinct,
    total,
    with_ends,
)

_DIGITS = 9  # of a depth: a network of more layers than that is a slip of the pen

_EPSILON = float(np.finfo(float).eps)


def zeta(weights: npt.ArrayLike) -> Numbers:
    """From weights to similarities: at each set, the sum of the weights of its subsets.

    >>> zeta([1, 2, 3, 4]).tolist()
    [1.0, 3.0, 4.0, 10.0]
    """
    return _sweep(weights, target=1, sign=1)


def moebius(kappa: npt.ArrayLike) -> Numbers:
    """From similarities, by the set of factors that match, back to weights.

    >>> moebius([1, 3, 4, 10]).tolist()
    [1.0, 2.0, 3.0, 4.0]
    """
    return _sweep(kappa, target=1, sign=-1)


def _sum_over_supersets(values: npt.ArrayLike) -> Numbers:
    return _sweep(values, target=0, sign=1)


def _from_sums_over_supersets(sums: npt.ArrayLike) -> Numbers:
    return _sweep(sums, target=0, sign=-1)


def _sweep(values: npt.ArrayLike, *, target: int, sign: int) -> Numbers:
    """One factor at a time, add the half of the sets without it to the half with it (target 1), or the reverse."""
    result = np.array(values, dtype=np.float64)
    factors = max(len(result).bit_length() - 1, 0)
    if result.shape != (2**factors,):
        raise SettingError(
            f"an array of shape {result.shape} over sets of factors",
            why="K factors have 2**K sets, the empty one included",
            instead="give one number for each set, in the order of the bit masks: 2, 4, 8, … of them",
        )
    for k in range(factors):
        halves = result.reshape(-1, 2, 2**k)
        halves[:, target] += sign * halves[:, 1 - target]
    return result


def members(mask: int) -> tuple[int, ...]:
    """The positions of the factors in a set.

    >>> members(0b101)
    (0, 2)
    """
    return tuple(k for k in range(mask.bit_length()) if mask >> k & 1)


@dataclass(frozen=True, repr=False)
class Salience:
    """The weight of each set of factors.

    `noise` is the variance of one example around its combination's answer; it acts as a ridge, divided by the count.
    `weights[0]` may be infinite: a constant that costs nothing. `note` says what had to be assumed.

    >>> salience = Salience.by_order([0, 0.3, 0.4])
    >>> salience.saliences, salience.full
    ((0.3, 0.4), 0.4)
    """

    factors: int
    weights: Weights
    noise: float = 0.0
    name: str = "given"
    note: str = ""

    def __post_init__(self) -> None:
        _check_factors(self.factors, by_size=isinstance(self.weights, WeightsBySize))
        object.__setattr__(self, "weights", _checked_weights(self.factors, self.weights))
        if not 0 <= self.noise < math.inf:
            raise SettingError(
                f"noise of {self.noise}",
                why="it is a variance: a number, 0 or more",
                instead="write 0 for answers without noise, or the variance within a combination",
            )

    @classmethod
    def by_order(cls, weights: Sequence[float], *, factors: int | None = None, noise: float = 0.0) -> "Salience":
        """The constant, then the weight of ONE conjunction of one factor, of two, …; orders not given weigh nothing.

        >>> Salience.by_order([0, 0.3], factors=2).weights
        (0.0, 0.3, 0.3, 0.0)
        """
        count = len(weights) - 1 if factors is None else factors
        _check_factors(count, by_size=True)
        if len(weights) > count + 1:
            raise SettingError(
                f"{len(weights)} weights by order for {count} factors",
                why=f"there are {count + 1} orders: the constant, then conjunctions of 1 to {count} factors",
                instead=f"give at most {count + 1} weights",
            )
        listed = [*weights, *[0.0] * (count + 1 - len(weights))]
        if count > MOST_FACTORS:
            return cls(count, WeightsBySize(tuple(listed)), noise, "order")
        return cls(count, tuple(listed[mask.bit_count()] for mask in range(2**count)), noise, "order")

    @classmethod
    def network(cls, family: str, *, depth: int, factors: int) -> "Salience":
        """What a wide random network of this kind and depth weighs.

        >>> print(Salience.network("relu", depth=1, factors=2))
        relu:1, weights by order 0.159, 0.145, 0.0502
        """
        _check_factors(factors, by_size=True)
        weights = order_weights(family, depth, factors).tolist()
        return replace(cls.by_order(weights), name=f"{family}:{depth}")

    @classmethod
    def by_set(cls, weights: Mapping[Sequence[str], float], *, names: Sequence[str], noise: float = 0.0) -> "Salience":
        """A weight for each set of factors by their names; () is the constant; sets not named weigh nothing.

        >>> Salience.by_set({("colour",): 1, ("colour", "shape"): 0.5}, names=["colour", "shape"]).weights
        (0.0, 1.0, 0.0, 0.5)
        """
        _check_factors(len(names))
        listed: dict[int, float] = {}
        for chosen, weight in weights.items():
            mask = _mask((chosen,) if isinstance(chosen, str) else chosen, names)
            if mask in listed:
                raise SettingError(
                    f"two weights for {_set(mask, names)}",
                    why="the order of the names does not matter, so both mean the same set",
                    instead="give each set of factors one weight",
                )
            listed[mask] = weight
        return cls(len(names), tuple(listed.get(mask, 0.0) for mask in range(2 ** len(names))), noise)

    @classmethod
    def measured(cls, features: npt.ArrayLike, combinations: npt.ArrayLike, *, names: Sequence[str] = ()) -> "Salience":
        """What a representation weighs: the mean dot product of different rows, by the set of factors that match.

        `features` has a row for each example; `combinations` has the values of its factors as whole numbers.

        >>> one_hot = [[1, 0, 1, 0], [1, 0, 0, 1], [0, 1, 1, 0], [0, 1, 0, 1]]  # of colour, beside that of shape
        >>> salience = Salience.measured(one_hot * 2, [[0, 0], [0, 1], [1, 0], [1, 1]] * 2)
        >>> salience.weights
        (0.0, 1.0, 1.0, 0.0)
        """
        table, codes, sizes = _measurable(features, combinations)
        sums, pairs, own = _pairs_that_agree(table, codes, sizes)
        # Sums of this many products are off by about this much; the rest follows from what is added to what.
        rounding = 4 * _EPSILON * math.sqrt(len(table)) * _sum_over_supersets(sums + 2 * own)
        exact_sums, exact_pairs = _from_sums_over_supersets(sums), _from_sums_over_supersets(pairs)
        note = ""
        if exact_pairs[-1] == 0:
            exact_sums[-1], exact_pairs[-1], note = own, len(table), _NO_REPEATS
        _refuse_absent(exact_pairs, names)
        weights = moebius(exact_sums / exact_pairs)
        weights[np.abs(weights) <= zeta(rounding / exact_pairs)] = 0.0
        return cls(codes.shape[1], tuple(weights.tolist()), name="features", note=note)

    @classmethod
    def parse(cls, text: str, *, names: Sequence[str]) -> "Salience":
        """A salience as it is written: a network and its depth ('relu:3'), or a weight for each order.

        >>> Salience.parse("order:0,0.3,0.4", names=["colour", "shape"]).weights
        (0.0, 0.3, 0.3, 0.4)
        """
        kind, _, rest = (part.strip() for part in text.partition(":"))
        if kind.lower() == "order":
            return cls.by_order(_parsed_weights(text, rest, len(names)))
        if kind.lower() not in FAMILIES:
            raise SettingError(
                f"no salience {text!r}",
                why=f"{kind!r} is neither a kind of network nor 'order'",
                instead=f"{nearest(kind, [*FAMILIES, 'order'])} (as in 'relu:3' or {_example(len(names))!r})",
            )
        if not rest.isdecimal() or len(rest) > _DIGITS:
            raise SettingError(
                f"the salience {text!r} has no depth" if not rest else f"the salience {text!r} has the depth {rest!r}",
                why="after the colon stands the number of hidden layers, a positive whole number",
                instead=f"write '{kind.lower()}:3' for three layers",
            )
        return cls.network(kind.lower(), depth=int(rest), factors=len(names))

    @property
    def full(self) -> float:
        """The weight of the full conjunction: what lets a learner memorise single combinations."""
        return self.weights[-1]

    @property
    def free_constant(self) -> bool:
        """Whether the constant costs nothing."""
        return math.isinf(self.weights[0])

    def mask_weight(self, *factors: int) -> float:
        """The weight of one set of factors, by their positions; of the constant for none.

        >>> Salience.by_order([0, 0.3, 0.4]).mask_weight(0, 1)
        0.4
        """
        if not all(0 <= k < self.factors for k in factors):
            raise SettingError(
                f"no set of the factors at {factors}",
                why=f"there are {self.factors} factors, counted from 0",
                instead=f"give positions from 0 to {self.factors - 1}",
            )
        return self.weights[sum(1 << k for k in set(factors))]

    @cached_property
    def order_weights(self) -> tuple[float, ...]:
        """The constant, then the mean weight of a conjunction of one factor, of two, …"""
        return tuple(float(np.mean(weights)) for weights in self._by_order)

    @cached_property
    def saliences(self) -> tuple[float, ...]:
        """S(1;K), …, S(K;K): each order's mean weight as a share of k(K) - k(0); NaN where that is not positive."""
        whole = total(self.weights)
        return tuple(weight / whole if whole > 0 else math.nan for weight in self.order_weights[1:])

    @cached_property
    def exchangeable(self) -> bool:
        """Whether only the number of matching factors counts, not which."""
        largest = max(abs(weight) for weight in distinct(self.weights)[1:])
        return all(max(weights) - min(weights) <= 1e-9 * largest for weights in self._by_order[1:])

    @cached_property
    def _by_order(self) -> tuple[tuple[float, ...], ...]:
        if isinstance(self.weights, WeightsBySize):
            return tuple((weight,) for weight in self.weights.orders)
        orders: list[list[float]] = [[] for _ in range(self.factors + 1)]
        for mask, weight in enumerate(self.weights):
            orders[mask.bit_count()].append(weight)
        return tuple(map(tuple, orders))

    def spectrum(self, sizes: Sequence[int]) -> Numbers:
        """The kernel's eigenvalue for each set T of factors on the grid of all combinations.

        It occurs once for each product of (values - 1) over T: never, where a factor of T has one value only.

        >>> Salience.by_order([0, 0.3, 0.4]).spectrum([2, 3]).round(9).tolist()
        [1.9, 1.3, 1.0, 0.4]
        """
        return _spectrum(self.weights, _checked_sizes(sizes, self.factors))

    def check(self, sizes: Sequence[int], *, names: Sequence[str] = ()) -> None:
        """Refuse weights that make no kernel on a grid of this size: one of its eigenvalues would be negative.

        >>> Salience.by_order([0, 0.3, -0.4]).check([2, 2])  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        recombine.base.errors.SettingError: the salience has the eigenvalue -0.4 for factor 1 and factor 2
          why      a kernel must be positive semidefinite: an eigenvalue is a variance, and none is negative
          instead  give weights that are 0 or more (that of factor 1 and factor 2 is -0.4), or set the ...
        """
        counts = _checked_sizes(sizes, self.factors)
        if min(distinct(self.weights)) >= 0:
            return
        values = _spectrum(self.weights, counts)
        # What cancels to 0 on paper leaves a little of the summands.
        below = values < -1e-12 * _spectrum(np.abs(self.weights), counts)
        single = sum(1 << k for k, size in enumerate(counts) if size == 1)
        below[np.arange(len(below)) & single != 0] = False
        if below.any():
            worst, lightest = int(np.argmin(np.where(below, values, np.inf))), int(np.argmin(self.weights))
            raise SettingError(
                f"the salience has the eigenvalue {measure(values[worst])} for {_set(worst, names)}",
                why="a kernel must be positive semidefinite: an eigenvalue is a variance, and none is negative",
                instead=f"give weights that are 0 or more (that of {_set(lightest, names)} is "
                f"{measure(self.weights[lightest])}), or set the negative ones to 0 with `clipped()`",
            )

    def check_signs(self) -> None:
        """Refuse weights that may make no kernel of sets: a sum of squares, each as often as it weighs, needs no other.

        >>> Salience.by_order([0, 0.3, 0.4]).check_signs()
        """
        least = min(distinct(self.weights))
        if least < 0:
            raise SettingError(
                f"a salience with the weight {measure(least)}",
                why="a kernel must be positive semidefinite, and over sets no weight may be negative for that",
                instead="give weights that are 0 or more, or set the negative ones to 0 with `clipped()`",
            )

    def over_sets(self) -> "Salience":
        """The same where what matches is elements: they have no names that stay, so only their number can weigh.

        >>> Salience.by_order([0, 0.3, 0.4]).over_sets().weights
        WeightsBySize(orders=(0.0, 0.3, 0.4))
        """
        if isinstance(self.weights, WeightsBySize):
            return self
        if not self.exchangeable:
            raise SettingError(
                f"the salience {self.name!r} weighs some sets of factors more than others of their size",
                why="where a value is a set only the number of elements and values that two combinations share counts",
                instead="give a network such as 'relu:2', or weights by order: 'order:0,0.3,0.4'",
            )
        return replace(self, weights=WeightsBySize(self.order_weights))

    def clipped(self) -> "Salience":
        """The same with the negative weights set to 0; then it is a kernel on any grid."""
        kept = tuple(max(weight, 0.0) for weight in distinct(self.weights))
        return replace(self, weights=WeightsBySize(kept) if isinstance(self.weights, WeightsBySize) else kept)

    def replace_full(self, weight: float) -> "Salience":
        """The same with another weight for the full conjunction; 0 for a learner that cannot memorise."""
        return replace(self, weights=with_ends(self.weights, full=weight))

    def __str__(self) -> str:
        mean = "" if self.exchangeable else "mean "
        return f"{self.name}, {mean}weights by order {', '.join(map(measure, self.order_weights))}"

    def __repr__(self) -> str:
        return f"Salience({self}; {self.factors} factors, noise {measure(self.noise)})"


_NO_REPEATS = (
    "no combination occurs twice, so its similarity to itself is that of each row to itself: "
    "whatever varies within a combination counts as salience of the full conjunction"
)


def _check_factors(factors: int, *, by_size: bool = False) -> None:
    if factors < 1:
        raise SettingError(
            "a salience without factors",
            why="it weighs sets of factors",
            instead="give at least one factor; by order, the constant and at least one more weight",
        )
    most = MOST_BY_SIZE if by_size else MOST_FACTORS
    if factors > most:
        raise SettingError(
            f"a salience over {factors} factors",
            why=f"{factors} factors have 2**{factors} = {2**factors:,} sets"
            + ("" if by_size else ", and each has a weight of its own"),
            instead=f"choose the {most} factors or fewer that matter most"
            + ("" if by_size else f", or give a network or weights by order (up to {MOST_BY_SIZE} factors)"),
        )


def _checked_weights(factors: int, given: Iterable[Any]) -> Weights:
    if isinstance(given, WeightsBySize):
        _check_numbers(given.orders)
        return given
    try:
        weights = tuple(map(float, given))
    except (TypeError, ValueError):
        raise SettingError(
            "a weight that is not a number",
            why="a salience is made of numbers, one for each set of factors",
            instead="write 0 for a set that does not count",
        ) from None
    if len(weights) != 2**factors:
        raise SettingError(
            f"{len(weights)} weights for {factors} factors",
            why=f"{factors} factors have 2**{factors} = {2**factors:,} sets, the empty one included",
            instead="give one for each set, or use Salience.by_order or Salience.by_set",
        )
    _check_numbers(weights)
    return weights


def _check_numbers(weights: tuple[float, ...]) -> None:
    if not all(map(math.isfinite, weights[1:])) or math.isnan(weights[0]) or weights[0] == -math.inf:
        raise SettingError(
            "a weight that is infinite or not a number",
            why="only the constant's may be infinite, which makes it a free intercept",
            instead="give numbers; to let one set decide, make its weight large beside the others",
        )
    if max(weights[1:]) <= 0:
        raise SettingError(
            "a salience in which no set of factors weighs anything",
            why="all combinations are alike to such a learner: it answers the same everywhere",
            instead="give at least one factor or conjunction a weight above 0",
        )


def _checked_sizes(sizes: Sequence[int], factors: int) -> tuple[int, ...]:
    if len(sizes) != factors or min(sizes) < 1:
        raise SettingError(
            f"a grid of sizes {tuple(sizes)} for a salience over {factors} factors",
            why="each factor has a number of values, 1 or more",
            instead=f"give {factors} whole numbers, one for each factor",
        )
    return tuple(sizes)


def _spectrum(weights: Iterable[float] | Numbers, sizes: tuple[int, ...]) -> Numbers:
    """At each set T, the sum over the sets U that contain it of w_U times the sizes of the factors outside U."""
    outside = np.ones(1)
    for size in sizes:
        outside = np.concatenate([outside * float(size), outside])
    return _sum_over_supersets(np.asarray(weights) * outside)


def _mask(chosen: Sequence[str], names: Sequence[str]) -> int:
    for name in chosen:
        check_listed(name, names, f"a weight for the factor {name!r}", why="it is not among the factors that were read")
    return sum(1 << k for k, name in enumerate(names) if name in chosen)


def _set(mask: int, names: Sequence[str]) -> str:
    """A set of factors in a sentence."""
    words = [names[k] if k < len(names) else f"factor {k + 1}" for k in members(mask)]
    return listing(words) if words else "the constant"


def _example(factors: int) -> str:
    return "order:" + ",".join(["0", *["1"] * factors])


def _parsed_weights(text: str, rest: str, factors: int) -> list[float]:
    """As many as there are orders: whoever forgets the constant would otherwise get another learner unnoticed."""
    try:
        weights = [float(part) for part in rest.split(",")]
    except ValueError:
        raise SettingError(
            f"the salience {text!r}",
            why="after 'order:' stand numbers with commas between them",
            instead=f"write {_example(factors)!r}: the constant, then one weight for each order",
        ) from None
    if len(weights) != factors + 1:
        raise SettingError(
            f"the salience {text!r} has {len(weights)} weights",
            why=f"{factors} factors have {factors + 1} orders: the constant, then conjunctions of 1 to {factors}",
            instead=f"write {factors + 1}, such as {_example(factors)!r}; 0 for an order that does not count",
        )
    return weights


def _measurable(
    features: npt.ArrayLike, combinations: npt.ArrayLike
) -> tuple[npt.NDArray[Any], Codes, tuple[int, ...]]:
    """The features, the values of each factor numbered from 0, and how many values each factor has."""
    table, values = np.asarray(features), np.asarray(combinations)
    if table.ndim != 2 or values.ndim != 2 or len(table) != len(values) or len(table) < 2 or not table.shape[1]:
        raise SettingError(
            f"features of shape {table.shape} with combinations of shape {values.shape}",
            why="both have a row for each example, at least two of them, and columns",
            instead="give features as (rows, width) and combinations as (rows, factors)",
        )
    if table.dtype.kind not in "fiub":
        raise SettingError(
            f"features of type {table.dtype}",
            why="similarity is a dot product of real numbers",
            instead="give the numbers of a representation, not its labels",
        )
    _check_factors(values.shape[1])
    table = table if table.dtype in (np.float16, np.float32) else table.astype(np.float64, copy=False)
    if not np.isfinite(table).all():
        raise TableError(
            f"{int((~np.isfinite(table)).any(axis=1).sum()):,} rows of features hold an infinite number or NaN",
            why="their similarity to other rows is not a number",
            instead="leave those rows out",
        )
    numbered = [np.unique(column, return_inverse=True) for column in values.T]
    codes = np.stack([ids for _, ids in numbered], axis=1).astype(np.int32)
    return table, codes, tuple(len(distinct) for distinct, _ in numbered)


def _pairs_that_agree(table: npt.NDArray[Any], codes: Codes, sizes: tuple[int, ...]) -> tuple[Numbers, Numbers, float]:
    """For each set, the sum of dot products over pairs of different rows that agree on AT LEAST it, and their number.

    Also the rows' own squares. The pairs within a group need only its sum: |sum f|² less the own squares. From
    the groups of all factors, one factor after the other is dropped, so that each step merges ever fewer groups.
    """
    factors = len(sizes)
    squares, counts_squared = np.empty(2**factors), np.empty(2**factors)

    def visit(mask: int, lines: Codes, sums: npt.NDArray[Any], counts: Ints, droppable: int) -> None:
        lines, sums, counts = _merged(members(mask), sizes, lines, sums, counts)
        squares[mask] = np.einsum("dg,dg->", sums, sums)
        counts_squared[mask] = float(np.dot(counts, counts))
        for k in range(droppable):  # only those before the last dropped: each set is reached once
            visit(mask & ~(1 << k), lines, sums, counts, k)

    # Columns lie in one piece, so that adding them up by group reads memory in order: four times faster.
    columns = np.ascontiguousarray(table.T)
    visit(2**factors - 1, codes, columns, np.ones(len(table), dtype=np.int64), factors)
    own = float(np.einsum("nd,nd->", table, table, dtype=np.float64))
    return squares - own, counts_squared - len(table), own


def _merged(
    factors: tuple[int, ...], sizes: tuple[int, ...], lines: Codes, sums: npt.NDArray[Any], counts: Ints
) -> tuple[Codes, Numbers, Ints]:
    """Lines that agree on some factors made one: their features (a row each) and counts added, in double precision."""
    if not factors:
        return lines[:1], sums.sum(axis=1, keepdims=True, dtype=np.float64), counts.sum(keepdims=True)
    groups = group(lines, sizes=sizes, factors=factors)
    merged = np.stack([groups.total(row) for row in sums])
    return lines[groups.representatives], merged, groups.total(counts).astype(np.int64)


def _refuse_absent(pairs: Numbers, names: Sequence[str]) -> None:
    absent = np.flatnonzero(pairs == 0).tolist()
    if absent:
        mask = absent[0]
        agree = f"agree on {_set(mask, names)} and on nothing else" if mask else "differ in every factor"
        raise TableError(
            f"no two rows {agree}",
            why="how similar such rows are cannot be measured, so the weights do not follow "
            f"({len(absent)} of {len(pairs)} patterns of agreement are absent)",
            instead="add rows, leave out factors with a single value, or give the salience as a network or by order",
        )
