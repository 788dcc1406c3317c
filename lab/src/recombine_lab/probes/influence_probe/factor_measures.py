"""The swap test and permutation importance: what happens to the answers when one factor is taken from another row.

A swap takes the factor from a row that has another value of it. Beside it stands the same with a row of the same value,
which exchanges all that the factor's inputs hold except its value, and the same with the factor's values shuffled.
Intervals are over combinations; with fewer than five of these they are over rows, and speak of these combinations only.

Mean |∂Ŷ_i/∂X_j|: how far each output moves when the inputs of a factor move a little.

For every output i and every factor j the length of the derivative over the entries that hold the factor (of a single
entry its absolute value), averaged over rows. Numbers are followed by column, pictures by region, tokens through their
embedding, since a token has no neighbours. Scores of classes are taken less their mean: a shift of all changes nothing.

Mutual information between an input factor and an output, in bits: counted, corrected for its bias, beside chance.

Counted frequencies tell too much: with n rows and K cells by (cells - rows - columns + 1) / (2 n) nats (Miller and
Madow), if answers were drawn. But rows are chosen, and a network answers one of them in one way: ten digits beside ten
others, each pair four times, answered by a rule that looks at the first digit alone, is counted as 0 bits, and there is
nothing to take off. So where the other factor is known the correction counts only how far answers scatter among rows
that share both (`corrected_bits`). What the same count gives for shuffled values of the factor stands beside it. A
factor that goes along with the target in these rows tells something of any good answer, whether or not the model looks
at it; so for each factor there is also what it tells once the target factor is known, and there the values are shuffled
within the target's groups.
"""

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from recombine.base.seeds import derived
from recombine.numerics.intervals import difference_interval, interval, student_interval
from recombine.numerics.resampling import FEWEST, IntervalSettings, difference, mean
from recombine_lab.models.layers import BATCH, evaluating, layer_of, length, rows_of, tensor_of
from recombine_lab.probes.influence_probe.factor_locations import Located, main_of, with_main
from recombine_lab.probes.influence_probe.module_answers import Asking, Floats
from recombine_lab.probes.influence_probe.probe_examples import Ints

NONE = -1


@dataclass(frozen=True)
class FactorEstimate:
    """A number with its interval over `n` combinations, or over rows where there are fewer than five of these."""

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    over: str = "combinations"


def donors(codes: Ints, rng: np.random.Generator, *, same: bool) -> Ints:
    """For each row another one, drawn among those with another value (or the same one); -1 where there is none.

    >>> donors(np.array([0, 0, 1]), np.random.default_rng(0), same=True).tolist()
    [1, 0, -1]
    """
    found = np.full(len(codes), NONE, dtype=np.int64)
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[order], codes, side="left")
    ends = np.searchsorted(codes[order], codes, side="right")
    sizes = ends - starts
    if same:
        place = np.empty(len(codes), dtype=np.int64)
        place[order] = np.arange(len(codes))
        able = sizes > 1
        drawn = starts[able] + rng.integers(0, sizes[able] - 1)
        found[able] = order[drawn + (drawn >= place[able])]
        return found
    able = sizes < len(codes)
    drawn = rng.integers(0, (len(codes) - sizes)[able])
    found[able] = order[np.where(drawn >= starts[able], drawn + sizes[able], drawn)]
    return found


def changes(
    module: nn.Module,
    asking: Asking,
    where: Located,
    factor: str,
    chosen: Ints,
    *,
    before: Tensor,
) -> Floats:
    """(n,) Whether each answer changes when the factor comes from the chosen row; NaN where there is none."""
    if not (chosen != NONE).any():
        return np.full(len(chosen), np.nan)
    safe = np.where(chosen == NONE, np.arange(len(chosen)), chosen)
    found = asking.changed(before, asking.scores(module, where.swapped(factor, safe)))
    return np.where(chosen == NONE, np.nan, found)


def swap(
    module: nn.Module,
    asking: Asking,
    where: Located,
    factor: str,
    codes: Ints,
    *,
    before: Tensor,
    seed: int,
    same: bool,
) -> Floats:
    """(n,) The share of swaps, of a few, that change each answer."""
    rng = np.random.default_rng(derived(seed, "swap", factor, "same" if same else "other"))
    drawn = [
        changes(module, asking, where, factor, donors(codes, rng, same=same), before=before) for _ in range(REPEATS)
    ]
    return np.asarray(np.mean(drawn, axis=0))


REPEATS = 4
"""Swaps of each row; rows and combinations, not repetitions, are the evidence."""


def lost(
    module: nn.Module, asking: Asking, where: Located, factor: str, *, before: Tensor, seed: int
) -> tuple[Floats, Floats] | None:
    """How good the answers are, and how good with the factor's inputs permuted among all rows (mean of a few)."""
    own = asking.right(before)
    if own is None:
        return None
    rng = np.random.default_rng(derived(seed, "permutation", factor))
    permuted = [
        asking.right(asking.scores(module, where.swapped(factor, rng.permutation(len(own))))) for _ in range(REPEATS)
    ]
    return own, np.asarray(np.mean([one for one in permuted if one is not None], axis=0))


def share(changed: Floats, combination: Ints, settings: IntervalSettings, name: str) -> FactorEstimate:
    """The share of changed answers with its interval."""
    known = np.isfinite(changed)
    if not known.any():
        return FactorEstimate(None)
    value = float(changed[known].mean())
    rows, total = _grouped(changed[known], combination[known])
    if len(rows) < FEWEST:
        return _over_rows(value, changed[known], settings, shares=True)
    low, high = interval(mean(rows, total), settings, name, share=True) or (None, None)
    return FactorEstimate(value, low, high, len(rows))


def drop(
    own: Floats, other: Floats, combination: Ints, settings: IntervalSettings, name: str, *, shares: bool
) -> FactorEstimate:
    """How much worse the answers become, with its interval."""
    value = float((own - other).mean())
    (rows, mine), (_, theirs) = _grouped(own, combination), _grouped(other, combination)
    if len(rows) < FEWEST:
        return _over_rows(value, own - other, settings, shares=False)
    low, high = difference_interval(difference(rows, theirs, mine), settings, name, share=shares) or (None, None)
    return FactorEstimate(value, low, high, len(rows))


def _over_rows(value: float, values: Floats, settings: IntervalSettings, *, shares: bool) -> FactorEstimate:
    """An interval by formula for the mean of rows, which are many: Student's, or Wilson's for a share."""
    count = len(values)
    error = float(values.std(ddof=1)) / count**0.5 if count > 1 else float("nan")
    low, high = student_interval(np.array([value]), np.array([error]), np.array([count]), settings, share=shares)
    if not np.isfinite(low[0]):
        return FactorEstimate(value, n=count, over="rows")
    return FactorEstimate(value, float(low[0]), float(high[0]), count, "rows")


def _grouped(values: Floats, combination: Ints) -> tuple[Floats, Floats]:
    """How many rows each combination has, and the sum of their values."""
    _, ids = np.unique(combination, return_inverse=True)
    return np.bincount(ids).astype(np.float64), np.bincount(ids, weights=values).astype(np.float64)


MOST_OUTPUTS = 32


def slopes(
    module: nn.Module, asking: Asking, where: Located, *, layer: str | None, seed: int
) -> tuple[dict[str, Floats], list[int]]:
    """The mean derivative of each output (outputs,) by each factor, and which outputs these are."""
    sums: dict[str, list[Floats]] = {factor: [] for factor in where.masks}
    chosen: list[int] = []
    with evaluating(module), frozen(module):
        for start in range(0, length(where.inputs), BATCH):
            batch = rows_of(where.inputs, slice(start, start + BATCH))
            leaf, scores = _followed(module, asking, batch, layer)
            flat = scores.float().reshape(len(scores), -1)
            centred = flat - flat.mean(dim=1, keepdim=True) if asking.kind == "classes" and flat.shape[1] > 1 else flat
            chosen = chosen or _outputs(flat.shape[1], seed)
            moved = [torch.autograd.grad(centred[:, i].sum(), leaf, retain_graph=True)[0] for i in chosen]
            for factor, mask in where.masks.items():
                sums[factor].append(np.stack([_length(one, mask) for one in moved]))
    return {factor: np.concatenate(found, axis=1).mean(axis=1) for factor, found in sums.items()}, chosen


def _outputs(count: int, seed: int) -> list[int]:
    """All of few outputs, some of many."""
    if count <= MOST_OUTPUTS:
        return list(range(count))
    return sorted(np.random.default_rng(seed).choice(count, MOST_OUTPUTS, replace=False).tolist())


def _length(gradient: Tensor, mask: Tensor) -> Floats:
    """(n,) The length of each row's derivative over the entries of a factor; an embedding has one axis more."""
    wide = mask.reshape(mask.shape + (1,) * (gradient.ndim - 1 - mask.ndim))
    found = (gradient * wide).flatten(1).double().norm(dim=1)
    return np.asarray(found.detach().cpu().numpy())


def _followed(module: nn.Module, asking: Asking, batch: Any, layer: str | None) -> tuple[Tensor, Tensor]:
    """What derivatives are taken by, and the scores that hang on it."""
    if layer is None:
        leaf = main_of(batch).detach().clone().requires_grad_()
        return leaf, asking.of_batch(module, with_main(batch, leaf))
    kept: dict[str, Tensor] = {}

    def cut(_module: Any, _inputs: Any, output: Any) -> Tensor:
        kept["leaf"] = tensor_of(output, layer).detach().requires_grad_()
        return kept["leaf"]

    hook = layer_of(module, layer).register_forward_hook(cut)
    try:
        scores = asking.of_batch(module, batch)
    finally:
        hook.remove()
    return kept["leaf"], scores


@contextmanager
def frozen(module: nn.Module) -> Iterator[None]:
    """Weights that want no gradient for a while, and do again afterwards as they did."""
    wanted: Mapping[Tensor, bool] = {weight: weight.requires_grad for weight in module.parameters()}
    for weight in wanted:
        weight.requires_grad_(False)
    try:
        yield
    finally:
        for weight, was in wanted.items():
            weight.requires_grad_(was)


NULLS = 100
BINS = 8
_MOST_CELLS = 2**22  # counted at once


@dataclass(frozen=True)
class Bits:
    """Mutual information: corrected, as counted, and the mean and 95 % end of the same with shuffled values."""

    value: float
    counted: float
    null: float
    null_high: float


def counted_bits(x: Ints, y: Ints) -> tuple[float, float]:
    """Mutual information in bits, as counted and with Miller and Madow's correction.

    >>> counted_bits(np.array([0, 0, 1, 1]), np.array([0, 0, 1, 1]))[0]
    1.0
    """
    counted, corrected = _within(x[None], y, np.zeros(len(x), dtype=np.int64))
    return max(float(counted[0]), 0.0), float(corrected[0])


def corrected_bits(factor: Ints, output: Ints, other: Ints) -> float:
    """Mutual information in bits, less its bias, where both factors of the rows were chosen and only answers scatter.

    To second order an entropy H(p) is counted too low by SUM_y Var(p_y) / (2 p_y) nats. With drawn rows that is Miller
    and Madow's (K - 1) / (2 n); here the variance is that of a sample with fixed numbers of rows in each stratum, a
    pair of values of both factors. A pair with one row has no variance of its own: it gets that of all rows with the
    same value of one factor, the one which explains answers better.

    >>> first, second = np.divmod(np.arange(100).repeat(4), 10)
    >>> float(round(corrected_bits(second, first, first), 6)), round(counted_bits(second, first)[1], 3)
    (0.0, -0.146)
    """
    answers = np.eye(int(output.max()) + 1)[output]
    scatter = _scatter(answers, factor, other)
    counted, _ = counted_bits(factor, output)
    one = np.zeros_like(factor)
    return counted + (_missed_entropy(answers, scatter, one) - _missed_entropy(answers, scatter, factor)) / math.log(2)


def _scatter(answers: Floats, factor: Ints, other: Ints) -> Floats:
    """(n, Y) The variance of each row's answer among rows like it."""
    both = np.unique(np.stack([factor, other]), axis=1, return_inverse=True)[1]
    pooled = min((_variance(answers, one)[0] for one in (factor, other)), key=np.sum)
    own, rows = _variance(answers, both)
    return np.where((rows > 1)[:, None], own, pooled)


def _variance(answers: Floats, group: Ints) -> tuple[Floats, Floats]:
    """(n, Y) For each row the variance of answers in its group, and (n,) how many rows that has."""
    rows = np.bincount(group).astype(np.float64)
    share = _sums(answers, group) / np.maximum(rows, 1)[:, None]
    unbiased = share * (1 - share) * (rows / np.maximum(rows - 1, 1))[:, None]
    return unbiased[group], rows[group]


def _missed_entropy(answers: Floats, scatter: Floats, group: Ints) -> float:
    """By how many nats the entropy of answers within groups is counted too low."""
    rows = np.bincount(group).astype(np.float64)
    share = _sums(answers, group) / np.maximum(rows, 1)[:, None]
    # of a group: SUM_y Var(p_y) / (2 p_y) with Var(p_y) = SUM_i v_i(y) / n²; weighted by n / all rows
    each = _sums(scatter, group) / np.maximum(rows, 1)[:, None]
    return float(np.divide(each, 2 * share, out=np.zeros_like(each), where=share > 0).sum() / len(group))


def _sums(values: Floats, group: Ints) -> Floats:
    found = np.zeros((int(group.max()) + 1, values.shape[1]))
    np.add.at(found, group, values)
    return found


def bits(factor: Ints, output: Ints, *, given: Ints | None = None, other: Ints | None = None, seed: int = 0) -> Bits:
    """What a factor tells of an output, or still tells once another factor is `given`.

    With the `other` factor of the same rows the correction knows that both were chosen (`corrected_bits`).

    >>> x = np.arange(400) % 2
    >>> found = bits(x, x)
    >>> round(found.value, 2), found.null_high < 0.05
    (1.0, True)
    """
    group = np.zeros(len(factor), dtype=np.int64) if given is None else given
    counted, corrected = _within(factor[None], output, group)
    null = _within(_shuffled(factor, group, derived(seed, "information")), output, group)[1]
    value = max(float(counted[0]), 0.0)
    told = float(corrected[0]) if other is None else corrected_bits(factor, output, other)
    return Bits(told, value, float(null.mean()), float(np.quantile(null, 0.95)))


def _within(x: Ints, y: Ints, group: Ints) -> tuple[Floats, Floats]:
    """(d,) For d versions of a factor (d, n), the mean over groups by their rows: as counted, and corrected."""
    shape = int(group.max()) + 1, int(x.max()) + 1, int(y.max()) + 1
    cells = int(np.prod(shape))
    place = group * shape[1] * shape[2] + y
    at_once = max(1, _MOST_CELLS // cells)
    found = [_counted(x[start : start + at_once] * shape[2] + place, shape) for start in range(0, len(x), at_once)]
    return np.concatenate([one for one, _ in found]), np.concatenate([two for _, two in found])


def _counted(place: Ints, shape: tuple[int, int, int]) -> tuple[Floats, Floats]:
    """The same from the cell (d, n) that each row falls into."""
    draws, rows = place.shape
    cells = int(np.prod(shape))
    flat = (place + np.arange(draws)[:, None] * cells).ravel()
    joint = np.bincount(flat, minlength=draws * cells).reshape(draws, *shape).astype(np.float64)
    by_x, by_y, by_group = joint.sum(3), joint.sum(2), joint.sum((2, 3))
    # H(x) + H(y) - H(xy) in each group, times its rows: the sums of n log n of the counts
    nats = _n_log_n(joint, 3) - _n_log_n(by_x, 2) - _n_log_n(by_y, 2) + _n_log_n(by_group, 1)
    there = [(part > 0).sum(axis=tuple(range(1, part.ndim))) for part in (joint, by_x, by_y, by_group)]
    counted = nats / (rows * math.log(2))
    return counted, counted - (there[0] - there[1] - there[2] + there[3]) / (2 * rows * math.log(2))


def _n_log_n(counts: Floats, axes: int) -> Floats:
    logs = np.log(np.where(counts > 0, counts, 1.0))
    return np.asarray((counts * logs).sum(axis=tuple(range(1, axes + 1))))


def _shuffled(x: Ints, group: Ints, seed: int) -> Ints:
    """(draws, n) The factor with its values shuffled within groups."""
    draws = max(1, min(NULLS, _MOST_CELLS // len(x)))
    own = np.argsort(group, kind="stable")
    order = np.argsort(group + np.random.default_rng(seed).random((draws, len(x))), axis=1)
    found = np.empty((draws, len(x)), dtype=np.int64)
    found[:, own] = x[order]
    return found


def binned(values: Floats) -> Ints:
    """Numbers as codes: each its own where they are few, else bins of equal count.

    >>> binned(np.array([0.5, 0.1, 0.5])).tolist()
    [1, 0, 1]
    """
    distinct, codes = np.unique(values, return_inverse=True)
    if len(distinct) <= BINS:
        return codes.reshape(-1).astype(np.int64)
    edges = np.quantile(values, np.linspace(0, 1, BINS + 1)[1:-1])
    return np.searchsorted(np.unique(edges), values, side="right").astype(np.int64)
