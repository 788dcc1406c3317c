"""Every measure of a layer that follows from the dot products of its combinations, with its interval."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from recombine.seeds import derived
from recombine_lab.probes.grids.cells import Cells
from recombine_lab.probes.grids.design import Flags
from recombine_lab.probes.grids.intervals import Ends, jackknife, left_out
from recombine_lab.probes.grids.linear import probes
from recombine_lab.probes.grids.separability import centred_separability, separability
from recombine_lab.probes.grids.shares import effective_rank, order_shares, salience_of
from recombine_lab.probes.grids.tangents import log_volumes, orthogonality, published_factorization, steps, warp

ORTHOGONALITY, PUBLISHED, WARP = "orthogonality", "F as published", "volume warp"
ADDITIVITY, SEPARABILITY, CENTRED = "additivity", "separability", "separability, centred"
PROBE, PROBE_UNSEEN = "linear probe", "linear probe, unseen"
RANK, RANK_99 = "effective rank", "directions of 99 %"


Estimate = Callable[[Flags], float | None]
"""A measure of some of the combinations."""


@dataclass(frozen=True)
class Found:
    """A measure and its interval."""

    value: float | None
    low: float | None = None
    high: float | None = None


def interaction(order: int) -> str:
    """The name of the share of variance of an order."""
    return f"interaction of {order}"


def salience_name(order: int) -> str:
    """The name of the salience of an order."""
    return f"salience of {order}"


def kernel_measures(
    every: Cells, whole: Cells | None, *, names: Sequence[str], seed: int, ranks: bool = True, sure: bool = False
) -> dict[str, Found]:
    """The measures by name: steps between neighbours of `every` combination, the others of a grid without holes.

    With `sure` they have intervals; `ranks` can be left out where they are known already.
    """
    found = _of_steps(every, sure=sure)
    if whole is None:
        return found
    found |= _of_shares(whole, sure=sure)
    found |= _of_probes(whole, names=names, seed=seed, sure=sure)
    if ranks:
        both = effective_rank(whole)
        found |= {RANK: Found(both[0]), RANK_99: Found(both[1])} if both else {RANK: Found(None), RANK_99: Found(None)}
    return found


def _of_steps(every: Cells, *, sure: bool) -> dict[str, Found]:
    taken = steps(every)
    if taken is None:
        return {}
    blocks = left_out(every.codes[taken.rows]) if sure else []
    found = {
        ORTHOGONALITY: _sure(orthogonality(taken.metric), lambda rows: orthogonality(taken.metric[rows]), blocks, 0, 1)
    }
    if taken.metric.shape[-1] == 2:
        found[PUBLISHED] = _sure(
            published_factorization(taken.metric),
            lambda rows: published_factorization(taken.metric[rows]),
            blocks,
            0.5,
            1,
        )
    if every.seen is not None:
        seen, volumes = every.seen[taken.rows], log_volumes(taken.metric)
        found[WARP] = _sure(warp(volumes, seen), lambda rows: warp(volumes[rows], seen[rows]), blocks)
    return found


def _of_shares(whole: Cells, *, sure: bool) -> dict[str, Found]:
    blocks = left_out(whole.codes) if sure else []
    without = {id(mask): _shares(whole.part(mask)) for masks in blocks for mask in masks}
    values = _shares(whole) | {SEPARABILITY: separability(whole)}
    limits = dict.fromkeys(values, (0.0, 1.0))
    limits |= {salience_name(order + 1): (-np.inf, np.inf) for order in range(len(whole.sizes))}

    def other(name: str) -> Estimate:
        return lambda mask: without[id(mask)].get(name)

    return {name: _sure(value, other(name), blocks, *limits[name]) for name, value in values.items()}


def _shares(cells: Cells) -> dict[str, float | None]:
    """What is measured again and again, without each block: shares of variance, centred separability, salience."""
    shares, salience = order_shares(cells), salience_of(cells)
    orders = range(1, len(cells.sizes) + 1)
    found: dict[str, float | None] = {
        ADDITIVITY if order == 1 else interaction(order): None if shares is None else shares[order - 1]
        for order in orders
    }
    found[CENTRED] = centred_separability(cells)
    return found | {
        salience_name(order): None if salience is None else salience.saliences[order - 1] for order in orders
    }


def _of_probes(whole: Cells, *, names: Sequence[str], seed: int, sure: bool) -> dict[str, Found]:
    blocks = left_out(whole.codes) if sure else []
    read, unseen = probes(whole, seed=derived(seed, "folds"))
    found = {PROBE: _sure(read.mean(), read.mean, blocks, most=1)}
    for factor, name in enumerate(names):
        found[f"{PROBE} of {name}"] = _sure(read.score(factor), partial(read.score, factor), blocks, most=1)
    if unseen is not None:
        found[PROBE_UNSEEN] = _sure(unseen.mean(), unseen.mean, blocks, most=1)
    return found


def _sure(
    value: float | None,
    without: Estimate,
    blocks: list[list[Flags]],
    least: float = -np.inf,
    most: float = np.inf,
) -> Found:
    ends: Ends = jackknife(without, value, blocks, least=least, most=most) if blocks else (None, None)
    return Found(value, *ends)
