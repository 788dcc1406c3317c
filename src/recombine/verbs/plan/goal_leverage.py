"""The goal "leverage": make the unseen combinations that hang on least evidence hang on more.

What is not determined at all comes first. After that, each line is the combination after which the worst leverage,
then the mean, is lowest for its price, and of equal ones the most plausible. Lines at the end that lower neither by a
hundredth are not sold. How firm the whole is then is told smoothly: each unseen combination counts as the part of one
example that it is worth, 1 / leverage and at most 1, and 0 where it is undetermined.

Leverages are kept up to date by `numerics.additive_design.LeverageUpdates`: one matrix over all values, inverted once,
and a rank-one update for each line.
"""

from dataclasses import dataclass, replace

import numpy as np

from recombine.base.errors import TableError
from recombine.base.progress import Progress
from recombine.base.words import measure
from recombine.data.support import Support
from recombine.numerics.additive_design import AdditiveDesign, Inverse, LeverageUpdates, inverse_on_range
from recombine.numerics.groups import Codes, Flags, Ints, Numbers
from recombine.numerics.incidence_fit import IncidenceFit
from recombine.verbs.audit.determinacy import determinacy
from recombine.verbs.audit.determined_space import Determinacy
from recombine.verbs.audit.leverage import WEAK
from recombine.verbs.plan.choice import NOTHING_LEFT, Choice, PlanMeasure, PlanNeed, first_best
from recombine.verbs.plan.collectable import Collectable, add_combinations
from recombine.verbs.plan.goal_determined import plan_determined
from recombine.verbs.plan.set_basis import plan_set_basis

LISTED = 3 * 10**5  # combinations of a space up to which every leverage is kept
DEFAULT_BUDGET = 50.0  # there is no end to reach for, so without a budget it is a list that can be read
_DRAWN = 20_000  # combinations that stand for a space too large to list
_LARGEST_INVERSE = 3_000  # values of all factors: the matrix takes 72 MB, and each line touches all of it
_WORST_CONDITION = 1e11  # of 16 digits five are left, and a rank-one update loses a little more each time
_TRIED = 12  # candidates whose effect on every leverage is worked out, of the most promising of each kind
_NOTICED = 0.01  # what lowers neither the worst nor the mean by this share is not sold
_NOISE = 1e-9  # a worst leverage is known to so many digits; what lies below is the arithmetic's


def leverage_updates(support: Support, solved: Determinacy, codes: Codes) -> LeverageUpdates:
    """Leverages of determined combinations that rows can be added to, from one inverse over all values."""
    effects = support.space.effects
    if effects.width > _LARGEST_INVERSE:
        raise TableError(
            f"the factors have {effects.width:,} {support.space.effect_unit.replace(' ', 's ')}s together",
            why=f"every leverage is kept up to date in one matrix of all values, {_LARGEST_INVERSE:,} at most",
            instead="group rare values, plan for fewer factors, or take goal='determined'",
        )
    inverse = _incidence_inverse(support, solved) if support.space.set_factors else _one_hot_inverse(support, solved)
    if not inverse.condition <= _WORST_CONDITION:
        raise TableError(
            "the leverages of this table cannot be computed to their last digits",
            why="some differences between values are fixed by the seen combinations only through very long detours",
            instead="take goal='determined' or 'pairs', plan for fewer factors, or leave out values that hardly occur",
        )
    return LeverageUpdates.of(effects.rows(codes), inverse.matrix)


def _incidence_inverse(support: Support, solved: Determinacy) -> Inverse:
    fit = IncidenceFit.of(support.space.effects.rows(support.codes), rank=solved.rank)
    return Inverse(fit.inverse, fit.condition)


def _one_hot_inverse(support: Support, solved: Determinacy) -> Inverse:
    seen = AdditiveDesign(support.codes, support.space.sizes)
    islands, factors = np.concatenate(solved.islands), len(solved.islands)
    factor = np.repeat(np.arange(factors), [len(island) for island in solved.islands])
    # a constant may be added to one factor and taken from the first: Σ (e_k - e_0)(e_k - e_0)' over the factors k
    shifts = np.eye(factors)
    shifts[0], shifts[:, 0] = -1.0, -1.0
    shifts[0, 0] = factors - 1
    return inverse_on_range(seen.gram(), islands, factor, shifts, rank=solved.rank if solved.deficit else None)


def plan_leverage(
    collectable: Collectable, *, budget: float | None, seed: int, tell: Progress, pool: Codes | None = None
) -> Choice:
    """Choose what lowers the worst leverage most."""
    first = (
        plan_set_basis(collectable, budget=budget, seed=seed, tell=tell)
        if collectable.space.set_factors
        else plan_determined(collectable, budget=budget, seed=seed, tell=tell, pool=pool, spread=False)
    )
    support = add_combinations(collectable.support, first.codes)
    whole = Collectable(support, collectable.costs)
    found = determinacy(support, seed=seed)
    asked, sampled = whole.unseen(listed=LISTED, drawn=_DRAWN, seed=seed)
    unseen = len(asked)
    asked = asked[found.determined(asked)]
    left = max((DEFAULT_BUDGET if budget is None else budget) - float(first.prices.sum()), 0.0)
    leverages = leverage_updates(support, found, asked) if len(asked) else None
    start = float(leverages.leverage.max()) if leverages else None
    undetermined = int(unseen - len(asked))
    lines = _CandidateLines(
        firm=(_firm(leverages.leverage if leverages else np.zeros(0), undetermined),) if unseen else ()
    )
    if leverages and (first.reached or first.blocked is not None or pool is not None):
        prices = whole.price(asked) if pool is None else _in_pool(whole, asked, pool)
        plausible = np.zeros(len(asked)) if pool is not None else collectable.plausible(asked)
        found_lines = _greedy(leverages, prices, plausible, left, undetermined, stop=budget is None, tell=tell)
        lines = found_lines if pool is not None else _worth_buying(found_lines, start)
    today = start
    if len(first.codes) or not (first.reached or first.blocked is not None):
        today = None if first.blocked is None else _worst_today(collectable, seed)
    return _choice(first, lines, asked, today=today, start=start, sampled=sampled)


def _worst_today(collectable: Collectable, seed: int) -> float | None:
    """The worst leverage of what can be worked out today."""
    found = determinacy(collectable.support, seed=seed)
    asked, _ = collectable.unseen(listed=LISTED, drawn=_DRAWN, seed=seed)
    asked = asked[found.determined(asked)]
    return float(leverage_updates(collectable.support, found, asked).leverage.max()) if len(asked) else None


@dataclass(frozen=True, eq=False)
class _CandidateLines:
    chosen: tuple[int, ...] = ()
    prices: tuple[float, ...] = ()
    worst: tuple[float, ...] = ()
    mean: tuple[float, ...] = ()
    firm: tuple[float, ...] = ()  # today, then after each line
    mean_today: float | None = None
    refused: str | None = None  # what the lines that are not worth their price would have bought

    def first(self, number: int) -> "_CandidateLines":
        cut = {name: getattr(self, name)[:number] for name in ("chosen", "prices", "worst", "mean")}
        return replace(self, **cut, firm=self.firm[: number + 1])


def _worth_buying(lines: _CandidateLines, start: float | None) -> _CandidateLines:
    """The lines without those at the end that change next to nothing."""
    if not lines.chosen or start is None or lines.mean_today is None or not np.isfinite(lines.worst[-1]):
        return lines
    worst, mean = np.array([start, *lines.worst]), np.array([lines.mean_today, *lines.mean])
    as_good = (worst <= (1 + _NOTICED) * worst[-1]) & (mean <= (1 + _NOTICED) * mean[-1])
    enough = int(np.argmax(as_good))
    if enough:
        return lines.first(enough)
    many = len(lines.chosen)
    said = (
        f"Nothing worth collecting for this goal: {many:,} more combination{'s' * (many != 1)} would leave the worst "
        f"leverage of an unseen combination at {measure(worst[-1])} and the mean at {measure(mean[-1])}."
    )
    return replace(lines.first(0), refused=said)


def _in_pool(collectable: Collectable, candidates: Codes, pool: Codes) -> Numbers:
    """Prices of what is in the pool; the rest cannot be had."""
    there = (
        add_combinations(Support(collectable.space, pool[:0], np.zeros(0)), pool)
        .groups(range(pool.shape[1]))
        .lookup(candidates)
    )
    return np.where(there >= 0, collectable.price(candidates), np.inf)


def _greedy(
    leverages: LeverageUpdates,
    prices: Numbers,
    plausible: Numbers,
    left: float,
    undetermined: int,
    *,
    stop: bool,
    tell: Progress,
) -> _CandidateLines:
    open_ = np.ones(len(prices), dtype=bool)
    rows: list[tuple[int, float, float, float]] = []
    firm = [_firm(leverages.leverage, undetermined)]
    mean_today = float(leverages.leverage.mean())
    budget = max(left, 1e-9)
    while open_.any():
        if stop and leverages.leverage[open_].max() <= WEAK:
            break
        usable = open_ & (prices <= left * (1 + 1e-12))
        best = _best(leverages, prices, plausible, open_, usable)
        if best is None:
            break
        leverages.add(best)
        open_[best] = False
        left -= float(prices[best])
        rest = leverages.leverage[open_]
        worst, mean = (float(rest.max()), float(rest.mean())) if len(rest) else (np.nan, np.nan)
        rows.append((best, float(prices[best]), worst, mean))
        firm.append(_firm(rest, undetermined))
        tell("lowering the worst leverage", 1 - left / budget)
    if not rows:
        return _CandidateLines(firm=tuple(firm), mean_today=mean_today)
    chosen, paid, worsts, means = zip(*rows, strict=True)
    return _CandidateLines(chosen, paid, worsts, means, tuple(firm), mean_today)


def _firm(leverage: Numbers, undetermined: int) -> float:
    """The part of one example that an unseen combination is worth, on average; 1 where nothing is unseen.

    >>> _firm(np.array([0.5, 1.0, 2.0]), 1)
    0.625
    """
    total = len(leverage) + undetermined
    return float((1 / np.maximum(leverage, WEAK)).sum() / total) if total else 1.0


def _best(leverages: LeverageUpdates, prices: Numbers, plausible: Numbers, open_: Flags, usable: Flags) -> int | None:
    """Of the worst ones, and of those that help the very worst, the one that lowers the worst most for its price."""
    if not usable.any():
        return None
    level = np.where(open_, leverages.leverage, -np.inf)
    worst = first_best(level)
    cost = np.maximum(prices, 1e-9)
    helps = np.where(usable, leverages.between(worst) ** 2 / (1 + leverages.leverage) / cost, -np.inf)
    weak = np.where(usable, leverages.leverage / cost, -np.inf)
    tried = np.unique(np.concatenate([_top(helps, plausible), _top(weak, plausible)]))
    tried = tried[usable[tried]]
    now, mean = float(level[worst]), float(leverages.leverage[open_].mean())
    scores = []
    for line in tried:
        after = leverages.after(int(line))
        rest = open_.copy()
        rest[line] = False
        left = after[rest] if rest.any() else np.zeros(1)
        scores.append(((now - float(left.max())) / cost[line], (mean - float(left.mean())) / cost[line]))
    likely = plausible[tried]
    best = max(
        range(len(tried)),
        key=lambda i: (round(scores[i][0] / _NOISE), round(scores[i][1] / _NOISE), likely[i], -tried[i]),
    )
    return int(tried[best])


def _top(score: Numbers, plausible: Numbers) -> Ints:
    """The most promising; of equal ones the most plausible."""
    if len(score) <= _TRIED:
        return np.arange(len(score))
    least = np.partition(score, -_TRIED)[-_TRIED]
    near = (
        np.flatnonzero(score >= least - _NOISE * abs(least)) if np.isfinite(least) else np.flatnonzero(score >= least)
    )
    return near[np.lexsort((-plausible[near], -np.round(score[near] / _NOISE)))][:_TRIED]


def _choice(
    first: Choice, lines: _CandidateLines, candidates: Codes, *, today: float | None, start: float | None, sampled: bool
) -> Choice:
    before = len(first.codes)
    undetermined = np.full(before, np.nan)
    if before and (first.reached or first.blocked is not None) and start is not None:
        undetermined[-1] = start
    after = np.concatenate([undetermined, lines.worst])
    codes = np.concatenate([first.codes, candidates[list(lines.chosen)]])
    words = list(first.words)
    for worst, mean in zip(lines.worst, lines.mean, strict=True):
        told = f"worst leverage {measure(worst)}, mean {measure(mean)}"
        words.append(told if np.isfinite(worst) else NOTHING_LEFT)
    level = float(after[-1]) if len(after) else start
    reached = first.reached and (level is None or level <= WEAK or (len(words) > 0 and words[-1] == NOTHING_LEFT))
    prices = np.concatenate([first.prices, lines.prices])
    enough = np.flatnonzero(after <= WEAK)[0] + 1 if (after <= WEAK).any() else len(codes)
    if not first.reached and first.blocked is None:
        said = "So many are needed before leverage has any bound."
        needed = PlanNeed(first.needed.combinations, first.needed.cost, False, said)
    elif reached:
        said = "The worst leverage is at most 1 then; fewer may do, as each line was chosen on its own."
        needed = PlanNeed(int(enough), float(prices[:enough].sum()), False, said)
    else:
        needed = PlanNeed(None, None, False, "More than these are needed to bring every leverage down to 1.")
    name = "worst leverage" if first.blocked is None else "worst leverage of what can be worked out"
    notes = [*first.notes]
    if sampled:
        notes.append(
            f"The space is too large to list: the worst is that of {len(candidates):,} unseen combinations drawn at "
            "random."
        )
    return Choice(
        codes=codes,
        prices=prices,
        after=after,
        words=tuple(words),
        measure=PlanMeasure(name, today, "lower", WEAK),
        needed=needed,
        reached=reached,
        blocked=first.blocked,
        notes=tuple(notes),
        extra={"mean_leverage": np.concatenate([np.full(before, np.nan), lines.mean])},
        share=lines.firm[-1] if lines.firm else None,
        refused=lines.refused if not len(codes) else None,
    )
