"""The weights of the conjunctions, estimated from the answers themselves.

Each seen combination's answer is taken as a constant plus one random effect for every conjunction that it holds:

    answer = constant + sum over sets U of effect_U[values in U] + effect_full + error / sqrt(examples)

The variance of the effects of a set is its weight: the kernel of such a model is the kernel of the theory. The weights
are those that make the answers most likely once the constant is projected out (restricted maximum likelihood).

The steps: the answers in units of their spread, the sets that can have a weight (`components_of`), the table whole or
cut (`pieces_of`), its likelihood and the way to the top (`likelihood`), and the weights found there as a salience, in
the answers' own units and with a note about what they could not tell.

A weight can be estimated only where the seen combinations tell it from the others: not where no two of them agree on
the set, not where all do, and not where other sets group them alike. And many weights at once cost time and are known
badly: with many factors, sets of the same size share one. What is left out is said in notes, because a weight of zero
that nobody could have measured must not read like one that was measured.

A table that is too large for one likelihood is cut into parts whose likelihoods are added up. A part holds some values
of each factor and every combination among them, because a conjunction shows its effect only where it is seen together
with several others: combinations taken at random would thin the groups out. Many small parts tell more than one large
one at the same cost (`benchmarks/estimate.py` measures it).

A salience by its name: a network and its depth, orders, "fit", or a file with a learner's own representation.

Such a file is Parquet: rows of features with the factors that they belong to as columns. The features are every other
column of numbers, or one column of lists.
"""

import math
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from recombine.base.errors import ColumnError, SettingError, SourceError, TableError, nearest
from recombine.base.files import shortened
from recombine.base.words import count, listing
from recombine.data.space import Space
from recombine.data.support import Support
from recombine.numerics.groups import Codes, Groups, Ints, Numbers, group
from recombine.verbs.predict.answers import Answers, answers
from recombine.verbs.predict.kernel.likelihood import (
    Dual,
    LikelihoodData,
    LikelihoodFit,
    LikelihoodPiece,
    Primal,
    WeightComponent,
    fit,
)
from recombine.verbs.predict.kernel.order_weights import MOST_BY_SIZE, MOST_FACTORS
from recombine.verbs.predict.kernel.salience import Salience, members

MOST = 1_200
"""Unknowns that are solved for at once: about a second at this size, and eight times as long at twice of it."""
_MOST_SINGLE = 15  # weights that are told apart one by one; above that, one for each number of factors
_MOST_CELLS = 2 * 10**7  # sets of factors times combinations
_TELLING = 0.5
_PARTS = 20  # into which a table is cut that is too large for one likelihood
_FEW_VALUES = 4  # of each factor are in every part


def estimate(support: Support, *, seed: int = 0, most: int = MOST) -> Salience:
    """The weights that make the answers of a table most likely, with a free constant.

    `most` bounds the work: with more combinations, and also more conjunctions, than that, the weights
    come from parts of the table, chosen by `seed`; the result's note says so.

    >>> import recombine
    >>> table = {"a": [0, 0, 0, 1, 1, 1, 2, 2, 2], "b": [0, 1, 2] * 3, "y": [0.5, 1, 5, 3, 4, 8, 7, 8, 12]}
    >>> fitted = estimate(recombine.read(table, factors=["a", "b"], target="y"))
    >>> fitted.name, [round(weight, 2) for weight in fitted.weights]
    ('fit', [inf, 11.78, 6.67, 0.03])
    """
    _check(len(support.space.sizes), most)
    found = answers(support)
    values, variance = _standardised(found)
    codes = support.codes[found.rows]
    noise = (found.within or 0.0) / variance
    data = LikelihoodData(codes, support.space.sizes, values, 1 / found.counts)
    groups, capped = groups_of(data.codes, data.sizes)
    components, notes = components_of(groups, support.space.names)
    pieces, told = pieces_of(data, components, groups, seed=seed, most=most)
    overlap = np.sum([piece.overlap for piece in pieces], axis=0)
    kept, confounded = tell_apart(overlap, pieces[0].own, components, support.space.names)
    fitted = fit([piece.restricted(kept) for piece in pieces], noise)
    notes = [*told, *capped, *notes, *confounded, *_about_the_top(found, fitted)]
    return _salience(support, [components[place] for place in kept], fitted, noise, variance, notes)


def _check(factors: int, most: int) -> None:
    if factors > MOST_FACTORS:
        raise SettingError(
            f"weights for the conjunctions of {factors} factors",
            why=f"{factors} factors have 2**{factors} = {2**factors:,} sets, and each has a weight",
            instead=f"choose the {MOST_FACTORS} factors or fewer that matter most, or give the weights: a network "
            "such as 'relu:3', or by order",
        )
    if most < 3:
        raise SettingError(
            f"weights from at most {most} combinations",
            why="with fewer than three combinations no two weights can be told apart",
            instead=f"write a number from 3 on, such as most={MOST:,}",
        )


def _standardised(found: Answers) -> tuple[Numbers, float]:
    """The answers of every question that has more than one, around their means, in units of their common spread."""
    if len(found) < 3:
        raise TableError(
            f"{len(found)} combinations have a {found.name!r}",
            why="weights are variances, and fewer than three answers do not tell any two of them apart",
            instead="read more combinations, or give the weights: a salience by order or of a network",
        )
    values = found.values - found.values.mean(axis=0)
    size = np.abs(found.values).max(axis=0)
    values = values[:, np.abs(values).max(axis=0) > 1e-12 * size]
    if not values.shape[1]:
        raise TableError(
            f"every combination has the same {found.name!r}",
            why="answers that do not vary say nothing about which factors they depend on",
            instead="choose a target that varies, or give the weights: a salience by order or of a network",
        )
    variance = float((values**2).sum()) / (values.shape[1] * (len(values) - 1))
    return values / math.sqrt(variance), variance


def _about_the_top(found: Answers, fitted: LikelihoodFit) -> list[str]:
    notes = []
    if found.within is None:
        notes.append("no combination has two examples, so the whole combination's weight holds the noise too")
    if fitted.weights[-1] <= fitted.floor[-1]:
        notes.append("nothing is left for the whole combination: its weight is the smallest that can be worked with")
    if not fitted.settled:
        notes.append("the weights had not quite settled when the search was stopped")
    return notes


def _salience(
    support: Support,
    components: Sequence[WeightComponent],
    fitted: LikelihoodFit,
    noise: float,
    variance: float,
    notes: Sequence[str],
) -> Salience:
    factors = len(support.space.sizes)
    weights = np.zeros(2**factors)
    for component, weight in zip(components, fitted.weights, strict=False):
        weights[list(component.masks)] = weight * variance
    weights[0], weights[-1] = math.inf, fitted.weights[-1] * variance
    return Salience(factors, tuple(weights.tolist()), noise=noise * variance, name="fit", note="; ".join(notes))


def masks_of(components: Iterable[WeightComponent]) -> list[int]:
    """Every set of factors of some components."""
    return [mask for component in components for mask in component.masks]


def _named(mask: int, names: Sequence[str]) -> str:
    return " × ".join(names[place] for place in members(mask))


def by_set(codes: Codes, sizes: tuple[int, ...], masks: Iterable[int]) -> dict[int, Groups]:
    """The groups of some sets of factors, each built on those without its last factor."""
    known: dict[int, Groups] = {}
    for mask in sorted(masks):
        factors = members(mask)
        known[mask] = group(codes, sizes=sizes, factors=factors, parent=known.get(mask ^ 1 << factors[-1]))
    return known


def groups_of(codes: Codes, sizes: tuple[int, ...]) -> tuple[dict[int, Groups], list[str]]:
    """The groups of every set of factors but the whole; of small sets only, where there are too many."""
    factors, n = len(sizes), len(codes)
    order = _highest_order(factors, n)
    sets = [mask for mask in range(1, 2**factors - 1) if mask.bit_count() <= order]
    note = f"conjunctions of more than {order} factors are part of the whole combination's weight"
    return by_set(codes, sizes, sets), [note] if order < factors - 1 else []


def components_of(groups: dict[int, Groups], names: Sequence[str]) -> tuple[list[WeightComponent], list[str]]:
    """One component for each set of factors, or, with many sets, for each number of factors."""
    alone = [mask for mask, one in groups.items() if one.size == len(one.ids)]
    same = [mask for mask, one in groups.items() if one.size == 1]
    notes = []
    if alone:
        notes.append(
            f"{_some(alone, names)}: no two combinations agree on it, so its weight is the whole combination's"
        )
    if same:
        notes.append(f"{_some(same, names)}: all combinations agree on it, so it has no weight")
    useful = sorted(groups.keys() - {*alone, *same}, key=lambda mask: (mask.bit_count(), mask))
    if 2 ** len(names) - 1 <= _MOST_SINGLE:
        return [WeightComponent((mask,)) for mask in useful], notes
    notes.append("conjunctions of the same number of factors share one weight")
    orders = groupby(useful, key=int.bit_count)
    return [WeightComponent(tuple(masks)) for _, masks in orders], notes


def _highest_order(factors: int, combinations: int) -> int:
    """The largest conjunctions whose sets can all be grouped in reasonable time and memory; at least single factors."""
    order, sets = 1, factors
    while order < factors - 1:
        sets += math.comb(factors, order + 1)
        if sets * combinations > _MOST_CELLS:
            break
        order += 1
    return max(min(order, factors - 1), 1)


def _titled(component: WeightComponent, names: Sequence[str]) -> str:
    """A component in a sentence."""
    first = component.masks[0]
    return _named(first, names) if len(component.masks) == 1 else f"conjunctions of {first.bit_count()} factors"


def _some(masks: Sequence[int], names: Sequence[str]) -> str:
    """Sets of factors in a sentence."""
    return _shortened([_named(mask, names) for mask in masks])


def _shortened(items: Sequence[str]) -> str:
    """Things in a sentence, the first few of them."""
    return listing(items) if len(items) <= 3 else f"{', '.join(items[:3])} and {count(len(items) - 3)} more"


def tell_apart(
    overlap: Numbers, own: Numbers, components: Sequence[WeightComponent], names: Sequence[str]
) -> tuple[list[int], list[str]]:
    """The components whose kernels are no mixture of the whole combination's and of those before them.

    Lower orders come first: where two explain the same, the simpler one is kept. What is left of a kernel when the
    others are taken out says how well its weight can be known: sqrt(2 / rest) is its standard error in units of the
    answers' variance, were the others all noise. Where that exceeds twice the variance, the answers do not tell.

    `overlap` and `own` are those of the likelihood's pieces: (c, c) and (c,), the whole combination's last.
    """
    last = len(components)
    kept: list[int] = [last]
    lost: list[int] = []
    for place in range(last):
        inner, edge = overlap[np.ix_(kept, kept)], overlap[kept, place]
        rest = overlap[place, place] - edge @ np.linalg.lstsq(inner, edge, rcond=None)[0]
        (kept if rest > _TELLING * own[place] ** 2 else lost).append(place)
    said = [_titled(components[place], names) for place in lost]
    told = [f"{_shortened(said)}: cannot be told from the others, which hold its weight"] if said else []
    return [place for place in kept if place != last], told


def pieces_of(
    data: LikelihoodData, components: Sequence[WeightComponent], groups: dict[int, Groups], *, seed: int, most: int
) -> tuple[list[LikelihoodPiece], list[str]]:
    """The whole table where one likelihood can hold it; else parts of it, with a word about that."""
    n, chosen = len(data.codes), tuple(components)
    unknowns = sum(groups[mask].size for mask in masks_of(chosen))
    if 0 < unknowns <= min(most, 0.7 * n):
        return [Primal(data, chosen, groups)], []
    if n <= most:
        return [Dual(data, chosen, groups)], []
    parts = parts_of(data.codes, data.sizes, parts=_PARTS, most=max(most // 3, 3), seed=seed)
    used = len(np.unique(np.concatenate(parts)))
    pieces: list[LikelihoodPiece] = [
        Dual(part, chosen, by_set(part.codes, part.sizes, masks_of(chosen))) for part in map(data.part, parts)
    ]
    return pieces, [f"estimated from {count(used)} of {count(n)} combinations"]


def parts_of(codes: Codes, sizes: tuple[int, ...], *, parts: int, most: int, seed: int) -> list[Ints]:
    """Combinations of each of several parts: among some values of each factor, all that were seen.

    The values of each factor are put in a random order. A combination is in the part when all of its values come
    early enough in theirs; how early is as late as `most` combinations allow.
    """
    rng = np.random.default_rng(seed)
    return [_subgrid(codes, sizes, most, rng) for _ in range(parts)]


def _subgrid(codes: Codes, sizes: tuple[int, ...], most: int, rng: np.random.Generator) -> Ints:
    level = np.zeros(len(codes))
    for column, size in zip(codes.T, sizes, strict=True):
        place = rng.permutation(size)
        level = np.maximum(level, np.where(place < _FEW_VALUES, 0.0, (place + 1) / size)[column])
    level += rng.random(len(codes)) / (2 * max(sizes))  # among the last value's, some
    return np.sort(np.argsort(level, kind="stable")[:most])


def resolve(salience: Salience | str, support: Support, *, seed: int = 0) -> Salience:
    """A salience as it was given, or made from its name: a network and its depth, orders, or fitted to the data."""
    names = support.space.names
    if support.space.set_factors:
        return _over_sets(salience, support)
    found = _from_text(salience, support, seed) if isinstance(salience, str) else salience
    if not isinstance(found, Salience):
        raise SettingError(
            f"salience={salience!r}",
            why="it says how much each set of factors counts",
            instead="write 'fit', a network such as 'relu:3', or a Salience: Salience.by_order([0, 0.3, 0.4])",
        )
    if found.factors != len(names):
        raise SettingError(
            f"a salience of {found.factors} factors",
            why=f"the table has {len(names)}: {', '.join(names)}",
            instead="give one weight for each order from 0 to the number of factors",
        )
    return found


def _over_sets(salience: Salience | str, support: Support) -> Salience:
    """A salience where some values are sets: weights by how many elements and values two combinations share."""
    parts = support.space.parts
    if parts > MOST_BY_SIZE:
        raise TableError(
            f"a prediction over combinations of up to {parts} elements and values",
            why=f"conjunctions of up to {MOST_BY_SIZE} of them are weighed",
            instead="leave out rows with larger sets (`where`), or elements that hardly occur",
        )
    if isinstance(salience, str) and (salience == "fit" or salience.endswith((".parquet", ".pq"))):
        raise SettingError(
            f"salience={salience!r} over sets",
            why="weights are estimated for sets of factors, and not yet for elements",
            instead="give a network such as 'relu:2', or weights by order: 'order:0,0.3,0.4'",
        )
    names = [f"part {k + 1}" for k in range(parts)]
    found = Salience.parse(salience, names=names) if isinstance(salience, str) else salience
    if not isinstance(found, Salience) or found.factors != parts:
        raise SettingError(
            f"salience={salience!r}" if not isinstance(found, Salience) else f"a salience of {found.factors} factors",
            why=f"combinations have up to {parts} elements and values here",
            instead=f"give a network such as 'relu:2', or {parts + 1} weights by order, the constant first",
        )
    return found.over_sets()


def _from_text(name: str, support: Support, seed: int) -> Salience:
    if name == "fit":
        return estimate(support, seed=seed)
    if name.endswith((".parquet", ".pq")):
        return salience_of_file(name, support.space)
    return Salience.parse(name, names=support.space.names)


def salience_of_file(path: str | Path, space: Space) -> Salience:
    """The salience that a representation gives to each set of factors."""
    if not _is_file(Path(path)):
        raise SourceError(
            f"cannot read the features in '{shortened(str(path))}'",
            why="there is no such file",
            instead="give the path of a Parquet file",
        )
    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise SourceError(
            f"cannot read the features in '{path}'",
            why=str(error).splitlines()[0],
            instead="write them as Parquet: the factors as columns, and the features as columns of numbers",
        ) from error
    for name in space.names:
        if name not in table.column_names:
            raise ColumnError(
                f"the features in '{path}' have no column {name!r}",
                why="each row of features belongs to a combination of the factors",
                instead=nearest(name, table.column_names),
            )
    codes = np.stack([_codes(table[name].to_pylist()) for name in space.names], axis=1)
    return Salience.measured(_features(table.drop_columns(list(space.names)), path), codes, names=space.names)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name that no file can have
        return False


def _codes(values: list[Any]) -> np.ndarray[Any, np.dtype[np.int32]]:
    """Any values as positions: which of them are equal is all that counts."""
    places = {value: place for place, value in enumerate(dict.fromkeys(values))}
    return np.array([places[value] for value in values], dtype=np.int32)


def _lists(rows: list[Any], name: str) -> Numbers:
    lengths = {len(row) if row is not None else 0 for row in rows}
    if len(lengths) != 1:
        raise ColumnError(
            f"the lists in {name!r} have from {min(lengths)} to {max(lengths)} numbers",
            why="every row of a representation has the same features",
            instead="write lists of one length",
        )
    return np.array(rows, dtype=np.float64).reshape(len(rows), -1)


def _features(table: pa.Table, path: str | Path) -> Numbers:
    columns = []
    for name in table.column_names:
        kind = table.schema.field(name).type
        if pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind) or pa.types.is_large_list(kind):
            columns.append(_lists(table[name].to_pylist(), name))
        elif pa.types.is_floating(kind) or pa.types.is_integer(kind):
            columns.append(table[name].to_numpy().astype(np.float64)[:, None])
    if not columns:
        raise ColumnError(
            f"'{path}' holds no features",
            why="beside the factors it has no column of numbers",
            instead="add the representation: one column for each feature, or one column of lists",
        )
    return np.concatenate(columns, axis=1)
