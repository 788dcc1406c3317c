"""What to collect so that everything can be worked out: `plan(support)` on large tables of every shape.

Measured, each in a fresh process, with time and peak memory, from distinct combinations that are already in memory:
10^6 combinations of 3 x 10^4 values, uniform and Zipf-distributed (one island, so nothing is missing), in 500 islands
that must be joined, with a tenth of the declared values never seen; and loose tables, where islands alone do not
tell. Goal: each below 120 seconds. Every plan is proved by the audit's own arithmetic before it is handed out.

Beside it, pairs covered: the number of rows, ours against covertable alone, on the sizes that its users publish.
"""
# ruff: noqa: PLC0415 - a process imports only what it measures

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

import measure
from determinacy import Table, draw, support_of

GOAL_SECONDS = 120
FULL = (
    Table(10**6, 3, 10**4),
    Table(10**6, 3, 10**4, "Zipf"),
    Table(10**6, 3, 10**4, "500 islands"),
    Table(10**6, 3, 10**4, "a tenth never seen"),
    Table(30_000, 3, 10**4),
    Table(15_000, 3, 10**4),
)
SMOKE = (
    Table(10**4, 3, 10**3),
    Table(10**4, 3, 10**3, "50 islands"),
    Table(10**4, 3, 10**3, "a tenth never seen"),
    Table(3_000, 3, 10**3),
)
ARRAYS = (((2,) * 4, 2), ((4,) * 6, 2), ((4,) * 6, 3), ((5,) * 10, 2), ((4,) * 20, 2))


def support_for(table: Table) -> Any:
    """The table as recombine holds it."""
    from recombine import Support

    if table.drawn in ("uniform", "Zipf"):
        return support_of(table)
    whole = support_of(replace(table, combinations=1, drawn="uniform"))
    if table.drawn == "a tenth never seen":
        codes = draw(replace(table, values=table.values * 9 // 10, drawn="uniform"))
    else:
        codes = _islands(table, int(table.drawn.split()[0]))
    return Support(whole.space, np.asfortranarray(codes), np.ones(len(codes)), rows=len(codes))


def _islands(table: Table, islands: int) -> np.ndarray:
    """Combinations whose values all lie in one of several equal parts."""
    rng = np.random.default_rng(0)
    width = table.values // islands
    home = rng.integers(0, islands, size=(2 * table.combinations, 1))
    drawn = np.unique(home * width + rng.integers(0, width, size=(len(home), table.factors)), axis=0)
    chosen = np.sort(rng.permutation(len(drawn))[: table.combinations])
    return drawn[chosen].astype(np.int32)


def planned(table: Table) -> Callable[[], tuple[int, bool, int]]:
    """Ours."""
    from recombine import plan

    support = support_for(table)

    def work() -> tuple[int, bool, int]:
        found = plan(support)
        return found.table.num_rows, found.reached, len(found.curve)

    return work


def covered(sizes: tuple[int, ...], order: int) -> Callable[[], int]:
    """Rows that cover every pair or triple of values, on top of one combination."""
    from recombine import Factor, Space, Support, plan

    space = Space(tuple(Factor(f"f{k}", tuple(range(size)), declared=True) for k, size in enumerate(sizes)))
    support = Support(space, np.zeros((1, len(sizes)), dtype=np.int32), np.ones(1), rows=1)
    return lambda: plan(support, goal="pairs" if order == 2 else "triples").table.num_rows + 1


def by_covertable(sizes: tuple[int, ...], order: int) -> Callable[[], int]:
    """The same by covertable alone."""
    from covertable import make

    return lambda: len(make([list(range(size)) for size in sizes], strength=order))


def main() -> None:
    """Run it."""
    given = measure.options(__doc__).parse_args()
    lines, figures = [], []
    for table in SMOKE if given.smoke else FULL:
        found = measure.take_turns({"ours": (planned, table)}, rounds=1)["ours"]
        rows, reached, points = found.answer
        lines.append([str(table), found.median, found.cpu, found.peak_gib, rows, str(reached), points])
        figures.append({"table": str(table), **found.plain()})
    measure.table(["combinations", "seconds", "CPU seconds", "peak GiB", "lines", "reached", "points"], lines)
    print(f"slowest {max(line[1] for line in lines):.1f} s (goal: below {GOAL_SECONDS})\n")
    arrays = []
    for sizes, order in ARRAYS[:2] if given.smoke else ARRAYS:
        turns = {"ours": (covered, sizes, order), "covertable": (by_covertable, sizes, order)}
        found_both = measure.take_turns(turns, rounds=1)
        mine, theirs = found_both["ours"], found_both["covertable"]
        arrays.append([f"{len(sizes)} x {sizes[0]}, t = {order}", mine.answer, theirs.answer, mine.cpu, theirs.cpu])
    measure.table(["covering array", "rows", "covertable's rows", "CPU seconds", "covertable's"], arrays)
    measure.write("plan", given, {"determined": figures, "covering": arrays})


if __name__ == "__main__":
    main()
