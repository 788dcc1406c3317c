"""What the influences of combinations come to: the strongest, how much comes from neighbours, and whether it is so."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from recombine.base.progress import Progress
from recombine.base.seeds import derived
from recombine.base.words import named
from recombine.numerics.intervals import interval, jackknife_interval
from recombine.numerics.rank_correlation import Rank, spearman
from recombine.numerics.resampling import FEWEST, IntervalSettings, mean
from recombine_lab.models.layers import Forward
from recombine_lab.probes.influence_probe.influence_functions import InfluenceMatrix
from recombine_lab.probes.influence_probe.module_answers import Flags, Floats, Network, loss_of
from recombine_lab.probes.influence_probe.probe_examples import Ints, ProbeExamples, combinations_of

NULLS = 400
Train = Callable[[Ints], nn.Module]
"""Trains the network anew on some rows of `seen`, given by their numbers."""


@dataclass(frozen=True)
class Summed:
    """The strongest influence, and the share of all that comes from combinations which share a value.

    `null` is where the share would lie (95 %) if influence had nothing to do with shared values; `rank` the rank
    correlation with the loss after training again, where that was done.
    """

    unseen: str
    seen: str
    most: float
    loss: float
    share: float | None
    interval: tuple[float, float] | None
    null: tuple[float, float] | None
    rank: Rank | None
    retrained: int


def summed(found: InfluenceMatrix, actual: Floats | None, *, seed: int) -> Summed:
    """The summary; `actual` (U, G) has what training again gave, NaN where it was not done."""
    size = np.where(np.isfinite(found.influence), np.abs(found.influence), 0.0)
    u, g = divmod(int(np.argmax(size)), size.shape[1])
    near = neighbours(found)
    share, ends, null = _share(size, near, seed)
    done = None if actual is None else np.isfinite(actual) & np.isfinite(found.influence)
    return Summed(
        unseen=named(found.unseen[u]),
        seen=named(found.seen[g]),
        most=float(np.nan_to_num(found.influence[u, g])),
        loss=float(found.loss[u]),
        share=share,
        interval=ends,
        null=null,
        rank=None if actual is None or done is None else _rank(found.influence, actual, done),
        retrained=0 if done is None else int(done.any(axis=0).sum()),
    )


def _rank(influence: Floats, actual: Floats, done: Flags) -> Rank:
    """The rank correlation over all pairs; its interval is over left-out combinations, whose pairs share their luck."""
    value = spearman(influence[done], actual[done]).value
    columns = np.flatnonzero(done.any(axis=0))
    if value is None or len(columns) < FEWEST:
        return Rank(value, None, None, len(columns))
    left = []
    for column in columns:
        some = done.copy()
        some[:, column] = False
        left.append(spearman(influence[some], actual[some]).value or 0.0)
    low, high = jackknife_interval(value, [np.array(left)], least=-1.0, most=1.0) or (None, None)
    return Rank(value, low, high, len(columns))


def neighbours(found: InfluenceMatrix) -> Flags:
    """(U, G) Which seen combinations share a value with an unseen one."""
    return np.array(
        [[any(one[name] == value for name, value in other.items()) for other in found.seen] for one in found.unseen]
    )


def _share(
    size: Floats, near: Flags, seed: int
) -> tuple[float | None, tuple[float, float] | None, tuple[float, float] | None]:
    """The mean over unseen combinations of the share of |influence| from neighbours, its interval, and by chance."""
    total = size.sum(axis=1)
    told = (total > 0) & near.any(axis=1) & ~near.all(axis=1)
    if not told.any() or size.shape[1] < FEWEST:
        return None, None, None
    shares = (size * near).sum(axis=1)[told] / total[told]
    rng = np.random.default_rng(derived(seed, "neighbours"))
    # One order of the seen combinations for all unseen ones: their influences go together.
    orders = [rng.permutation(size.shape[1]) for _ in range(NULLS)]
    null = [float(((size[:, order] * near).sum(axis=1)[told] / total[told]).mean()) for order in orders]
    ends = interval(mean(np.ones(len(shares)), shares), IntervalSettings(), "neighbours", share=True)
    low, high = np.quantile(null, [0.025, 0.975])
    return float(shares.mean()), ends, (float(low), float(high))


def retrained(
    train: Train,
    seen: ProbeExamples,
    unseen: ProbeExamples,
    *,
    loss: str,
    factors: list[str],
    forward: Forward | None,
    most: int,
    seed: int,
    progress: Progress,
) -> Floats:
    """(U, G) How the loss of unseen combinations changes when a network is trained again without a seen one."""
    groups, names = combinations_of(seen.table, factors)
    asked, unseen_names = combinations_of(unseen.table, factors)
    chosen = np.sort(np.random.default_rng(derived(seed, "retrained")).permutation(len(names))[:most])

    def losses(module: nn.Module) -> Floats:
        with torch.no_grad():
            rows = loss_of(loss, unseen.targets).value(
                Network.of(module, forward).outputs(unseen.inputs), unseen.targets
            )
        return np.asarray(np.bincount(asked, weights=rows.numpy()) / np.bincount(asked))

    found = np.full((len(unseen_names), len(names)), np.nan)
    every: Any = np.arange(len(seen))
    base = losses(train(every))
    for k, group in enumerate(chosen):
        progress("training again without a combination", k / len(chosen))
        found[:, group] = losses(train(every[groups != group])) - base
    return found
