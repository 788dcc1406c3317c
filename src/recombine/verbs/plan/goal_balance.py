"""The goal "balance": bring the thinnest combinations up, in rows.

A combination with a handful of rows among thousands was seen, so no other goal speaks of it; but a model hardly learns
it, and its score is measured on a handful of rows. Rows are poured where there are fewest until all stand equally high:
no other way of spending the budget leaves the thinnest with more.

Without a budget, every combination is brought up to the median of all. Where most possible combinations were never
seen, only the seen ones are levelled: what is missing altogether is a matter for the other goals.
"""

import math

import numpy as np

from recombine.base.errors import SettingError
from recombine.base.progress import Progress
from recombine.base.words import count
from recombine.numerics.groups import Codes, Numbers
from recombine.verbs.plan.choice import Choice, PlanMeasure, PlanNeed
from recombine.verbs.plan.collectable import Collectable

_HALF = 0.5  # of the possible combinations must have been seen for the others to be cells as well


def plan_balance(collectable: Collectable, *, budget: float | None, tell: Progress) -> Choice:
    """Pour rows where there are fewest."""
    tell("levelling", None)
    codes, rows, notes = _cells(collectable)
    prices = collectable.price(codes)
    if np.isinf(prices).all():
        raise SettingError(
            "a plan for balance in which nothing can be collected",
            why="every combination that was seen has an empty cost",
            instead="give some of them a price",
        )
    had = np.isfinite(prices)
    if not had.all():
        notes.append(f"{count(int((~had).sum()))} combinations cannot be collected and are left as they are.")
    codes, rows, prices = codes[had], rows[had], prices[had]
    goal = max(1.0, math.floor(float(np.median(rows))))
    level = goal if budget is None else water_fill(rows, prices, budget)
    more = np.maximum(np.ceil(level - rows), 0.0)
    if budget is not None:
        more = _left_over(rows, prices, more, budget)
    return _choice(codes, rows, prices, more, goal, notes, collectable)


def _cells(collectable: Collectable) -> tuple[Codes, Numbers, list[str]]:
    """The combinations that are levelled, with the rows of each, and what must be said of the choice."""
    support = collectable.support
    notes: list[str] = []
    seen_share = len(support) / max(support.space.size, 1)
    if collectable.listable and seen_share >= _HALF:
        unseen = collectable.possible_unseen
        return (
            np.concatenate([support.codes, unseen]),
            np.concatenate([support.counts, np.zeros(len(unseen))]),
            notes,
        )
    notes.append(
        f"Only the {len(support):,} seen combinations are levelled, of {support.space.size:,} possible ones: "
        "for those that were never seen, take another goal."
    )
    return support.codes, support.counts.astype(np.float64), notes


def water_fill(rows: Numbers, prices: Numbers, budget: float) -> float:
    """The highest whole level to which all can be brought within a budget.

    >>> water_fill(np.array([1.0, 4.0, 10.0]), np.ones(3), 9)
    7.0
    """
    low, high = math.floor(rows.min()), math.floor(rows.max() + budget / max(float(prices.min()), 1e-9)) + 1
    while high - low > 1:
        middle = (low + high) // 2
        cost = float((prices * np.maximum(np.ceil(middle - rows), 0.0)).sum())
        low, high = (middle, high) if cost <= budget * (1 + 1e-12) else (low, middle)
    return float(low)


def _left_over(rows: Numbers, prices: Numbers, more: Numbers, budget: float) -> Numbers:
    """What is left of the budget, a row each to the thinnest, the cheapest first."""
    left = budget * (1 + 1e-12) - float((prices * more).sum())
    more = more.copy()
    for place in np.lexsort((prices, rows + more)).tolist():
        if prices[place] <= left:
            more[place] += 1
            left -= float(prices[place])
        if left < float(prices.min()):
            break
    return more


def _choice(
    codes: Codes, rows: Numbers, prices: Numbers, more: Numbers, goal: float, notes: list[str], collectable: Collectable
) -> Choice:
    short = np.maximum(np.ceil(goal - rows), 0.0)
    plausible = collectable.plausible(codes)
    order = np.lexsort((-plausible, prices, rows))
    order = order[more[order] > 0]
    standing = rows.copy()
    after, words = [], []
    for place in order.tolist():
        standing[place] += more[place]
        after.append(float(standing.min()))
        words.append(f"rows {count(float(rows[place]))} → {count(float(standing[place]))}")
    return Choice(
        codes=codes[order],
        prices=(prices * more)[order],
        after=np.array(after),
        words=tuple(words),
        measure=PlanMeasure("rows in the thinnest combination", float(rows.min()), "higher", goal),
        needed=PlanNeed(
            int((short > 0).sum()),
            float((prices * short).sum()),
            True,
            f"So many combinations have fewer than {count(goal)} rows, the median.",
        ),
        reached=bool((rows + more).min() >= goal),
        notes=tuple(notes),
        extra={"rows": more[order]},
        share=min(1.0, float((rows + more).min()) / goal),
    )
